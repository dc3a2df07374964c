//! Floats of 8 and 4 bits as defined by XLA and Python's ml_dtypes: OCP 8-bit Floating Point Specification, revision
//! 1.0; the formats without infinities ("FN") and without a negative zero ("UZ") of arXiv:2206.02915; and the scale
//! format E8M0 and the 4-bit format E2M1 of OCP's Microscaling Formats Specification, version 1.0. The tests of the C
//! ABI compare every code with ml_dtypes.

use super::DType;

/// Special values of a format, and the codes that represent them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Infinities and NaN, as in IEEE 754.
    Ieee,
    /// No infinities; NaN has all exponent and mantissa bits set, with either sign.
    Finite,
    /// Neither infinities nor -0; the code of -0 is NaN.
    FiniteOneZero,
    /// Powers of two only, without a sign and 0; NaN is the code with all bits set.
    Scale,
    /// Neither infinities nor NaN: values beyond the largest one become the largest one, and NaN becomes -0.
    Saturating,
}

/// Bit layout of a float type of 8 or 4 bits.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Number of bits.
    width: u32,
    mantissa: i32,
    bias: i32,
    kind: Kind,
}

/// Layout of a float type of 8 or 4 bits. Panics for other types.
pub fn format(dtype: DType) -> Format {
    let (mantissa, bias, kind) = match dtype {
        DType::F8E5M2 => (2, 15, Kind::Ieee),
        DType::F8E4M3 => (3, 7, Kind::Ieee),
        DType::F8E3M4 => (4, 3, Kind::Ieee),
        DType::F8E4M3FN => (3, 7, Kind::Finite),
        DType::F8E4M3B11FNUZ => (3, 11, Kind::FiniteOneZero),
        DType::F8E5M2FNUZ => (2, 16, Kind::FiniteOneZero),
        DType::F8E4M3FNUZ => (3, 8, Kind::FiniteOneZero),
        DType::F8E8M0FNU => (0, 127, Kind::Scale),
        DType::F4E2M1FN => (1, 1, Kind::Saturating),
        other => unreachable!("{other} is not a float of 8 or 4 bits"),
    };
    Format { width: dtype.bit_width(), mantissa, bias, kind }
}

impl Format {
    /// Returns the value of a code, which is exact in f32.
    pub fn decode(self, code: u8) -> f32 {
        if self.kind == Kind::Scale {
            return if code == 0xFF { f32::NAN } else { power_of_two(i32::from(code) - self.bias) as f32 };
        }
        let (size, is_negative) = (i32::from(code & (self.sign() - 1)), code & self.sign() != 0);
        let sign = if is_negative { -1.0 } else { 1.0 };
        match self.kind {
            Kind::Finite if size == 0x7F => return f32::NAN,
            Kind::FiniteOneZero if code == 0x80 => return f32::NAN,
            Kind::Ieee if size == self.infinity() => return sign * f32::INFINITY,
            Kind::Ieee if size > self.infinity() => return f32::NAN,
            _ => {}
        }
        let (exponent, fraction) = (size >> self.mantissa, size & ((1 << self.mantissa) - 1));
        let (exponent, digits) =
            if exponent == 0 { (1, fraction) } else { (exponent, fraction + (1 << self.mantissa)) };
        sign * (f64::from(digits) * power_of_two(exponent - self.bias - self.mantissa)) as f32
    }

    /// The sign bit.
    fn sign(self) -> u8 {
        1 << (self.width - 1)
    }

    /// Number of mantissa bits, without the leading 1.
    pub fn mantissa_bits(self) -> i32 {
        self.mantissa
    }

    /// Returns the code of the nearest value, ties to even. Values beyond the largest finite one become infinite, or
    /// NaN in formats without infinities.
    pub fn encode(self, x: f64) -> u8 {
        if self.kind == Kind::Scale {
            return self.encode_scale(x);
        }
        let sign = u8::from(x.is_sign_negative()) << (self.width - 1);
        let one_zero = self.kind == Kind::FiniteOneZero;
        let nan = match self.kind {
            Kind::Ieee => sign | self.infinity() as u8 | 1 << (self.mantissa - 1),
            Kind::Finite => sign | 0x7F,
            _ => self.sign(),
        };
        if x.is_nan() {
            return nan;
        }
        let largest = match self.kind {
            Kind::Ieee => self.infinity() - 1,
            Kind::Finite => 0x7E,
            _ => i32::from(self.sign() - 1),
        };
        match self.size(x.abs()) {
            Some(size) if size <= largest => {
                if one_zero && size == 0 {
                    0
                } else {
                    sign | size as u8
                }
            }
            _ if self.kind == Kind::Ieee => sign | self.infinity() as u8,
            _ if self.kind == Kind::Saturating => sign | (self.sign() - 1),
            _ => nan,
        }
    }

    /// Code of a non-negative value, without its sign; it may exceed the largest finite code. None if the exponent is
    /// far too large.
    fn size(self, x: f64) -> Option<i32> {
        let least = 1 - self.bias;
        // Values far below the smallest one round to 0 with the smallest exponent; infinity has a large exponent.
        let exponent = ((x.to_bits() >> 52) as i32 - 1023).max(least);
        if exponent > self.bias + 1 {
            return None;
        }
        let digits = (x * power_of_two(self.mantissa - exponent)).round_ties_even() as i32;
        Some(((exponent + self.bias - 1) << self.mantissa) + digits)
    }

    fn encode_scale(self, x: f64) -> u8 {
        if x.is_nan() || x <= 0.0 {
            return 0xFF;
        }
        let code = self.size(x).map_or(0xFF, |size| size.clamp(0, 0xFF));
        code as u8
    }

    /// Code of positive infinity in IEEE formats.
    fn infinity(self) -> i32 {
        0x80 - (1 << self.mantissa)
    }
}

fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = (DType, u8)> {
        let floats = DType::ALL.into_iter().filter(|dtype| dtype.is_minifloat());
        floats.map(|dtype| (dtype, u8::MAX >> (8 - dtype.bit_width())))
    }

    #[test]
    fn codes_come_back() {
        for (dtype, last) in all() {
            let format = format(dtype);
            for code in 0..=last {
                let x = format.decode(code);
                let back = format.encode(x.into());
                assert!(back == code || x.is_nan() && format.decode(back).is_nan(), "{dtype} {code:#x} {x} {back:#x}");
            }
        }
    }

    #[test]
    fn the_nearest_code_is_chosen_and_the_even_one_of_two() {
        for (dtype, last) in all() {
            let format = format(dtype);
            let mut numbers: Vec<u8> = (0..=last).filter(|&code| format.decode(code).is_finite()).collect();
            numbers.sort_by(|a, b| format.decode(*a).total_cmp(&format.decode(*b)));
            for pair in numbers.windows(2) {
                let [low, high] = [pair[0], pair[1]].map(|code| f64::from(format.decode(code)));
                let middle = (low + high) / 2.0;
                let even = if pair[0] & 1 == 0 { pair[0] } else { pair[1] };
                let decoded = |x: f64| f64::from(format.decode(format.encode(x)));
                if low == high || dtype == DType::F8E8M0FNU {
                    continue;
                }
                assert_eq!(decoded(middle), f64::from(format.decode(even)), "{dtype} between {low} and {high}");
                assert_eq!(decoded(middle - (high - low) / 64.0), low, "{dtype}");
                assert_eq!(decoded(middle + (high - low) / 64.0), high, "{dtype}");
            }
        }
    }

    #[test]
    fn known_codes() {
        let rows = [
            (DType::F8E4M3FN, 448.0, 0x7E),
            (DType::F8E4M3FN, 465.0, 0x7F),
            (DType::F8E4M3FN, f64::INFINITY, 0x7F),
            (DType::F8E5M2, 57344.0, 0x7B),
            (DType::F8E5M2, 61440.0, 0x7C),
            (DType::F8E5M2, -1e-30, 0x80),
            (DType::F8E4M3FNUZ, -1e-30, 0),
            (DType::F8E4M3FNUZ, 240.0, 0x7F),
            (DType::F8E4M3FNUZ, 1e9, 0x80),
            (DType::F8E8M0FNU, 1.5, 128),
            (DType::F8E8M0FNU, 0.0, 255),
            (DType::F8E8M0FNU, 1e-45, 0),
            (DType::F4E2M1FN, 5.0, 6),
            (DType::F4E2M1FN, 5.01, 7),
            (DType::F4E2M1FN, -1e300, 15),
            (DType::F4E2M1FN, f64::INFINITY, 7),
            (DType::F4E2M1FN, -0.25, 8),
            (DType::F4E2M1FN, 0.26, 1),
            (DType::F4E2M1FN, f64::NAN, 8),
        ];
        for (dtype, x, code) in rows {
            assert_eq!(format(dtype).encode(x), code, "{x} in {dtype}");
        }
    }
}
