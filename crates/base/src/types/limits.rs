//! Limits of element types, as NumPy's `iinfo` and `finfo`.

use super::{DType, Kind, float8};

/// Smallest and largest value of an integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntegerLimits {
    /// Smallest value.
    pub min: i64,
    /// Largest value.
    pub max: u64,
}

/// Limits of a floating-point type. All values are exact in f64.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloatLimits {
    /// Smallest (most negative) finite value.
    pub min: f64,
    /// Largest finite value.
    pub max: f64,
    /// Difference between 1 and the next larger value.
    pub eps: f64,
    /// Smallest positive normal value.
    pub smallest_normal: f64,
    /// Smallest positive value.
    pub smallest_subnormal: f64,
    /// Number of mantissa bits, without the leading 1.
    pub mantissa_bits: i32,
    /// Number of exponent bits.
    pub exponent_bits: i32,
    /// Number of decimal digits that every value preserves.
    pub digits: i32,
    /// True if the type has infinities.
    pub has_infinity: bool,
    /// True if the type has a -0.
    pub has_negative_zero: bool,
}

/// Limits of an integer type or pred; None for other types.
pub fn integer_limits(dtype: DType) -> Option<IntegerLimits> {
    let bits = dtype.bit_width();
    match dtype.kind() {
        Kind::Pred => Some(IntegerLimits { min: 0, max: 1 }),
        _ if dtype.wide().kind() == Kind::Signed => {
            Some(IntegerLimits { min: i64::MIN >> (64 - bits), max: i64::MAX as u64 >> (64 - bits) })
        }
        _ if dtype.wide().kind() == Kind::Unsigned => Some(IntegerLimits { min: 0, max: u64::MAX >> (64 - bits) }),
        _ => None,
    }
}

/// Limits of a floating-point type, or of the parts of a complex type; None for other types.
pub fn float_limits(dtype: DType) -> Option<FloatLimits> {
    let ieee = |mantissa_bits: i32, exponent_bits: i32| {
        let least = 2 - (1 << (exponent_bits - 1));
        let largest = 1 - least;
        let max = (2.0 - power(-mantissa_bits)) * power(largest);
        FloatLimits {
            min: -max,
            max,
            eps: power(-mantissa_bits),
            smallest_normal: power(least),
            smallest_subnormal: power(least - mantissa_bits),
            mantissa_bits,
            exponent_bits,
            digits: digits(mantissa_bits),
            has_infinity: true,
            has_negative_zero: true,
        }
    };
    match dtype.real() {
        DType::F16 => Some(ieee(10, 5)),
        DType::BF16 => Some(ieee(7, 8)),
        DType::F32 => Some(ieee(23, 8)),
        DType::F64 => Some(ieee(52, 11)),
        dtype if dtype.is_minifloat() => Some(of_codes(dtype)),
        _ => None,
    }
}

/// Like C's `FLT_DIG`, but at least 1.
fn digits(mantissa_bits: i32) -> i32 {
    ((f64::from(mantissa_bits) * std::f64::consts::LOG10_2) as i32).max(1)
}

/// Limits of a float type of 8 or 4 bits, found by decoding all codes.
fn of_codes(dtype: DType) -> FloatLimits {
    let format = float8::format(dtype);
    let all: Vec<f64> = (0..=u8::MAX >> (8 - dtype.bit_width())).map(|code| f64::from(format.decode(code))).collect();
    let finite = || all.iter().copied().filter(|x| x.is_finite());
    let positive = || finite().filter(|&x| x > 0.0);
    let (max, min) = (finite().fold(f64::MIN, f64::max), finite().fold(f64::MAX, f64::min));
    let next = positive().filter(|&x| x > 1.0).fold(f64::MAX, f64::min);
    let smallest_subnormal = positive().fold(f64::MAX, f64::min);
    let mantissa_bits = format.mantissa_bits();
    let has_sign = dtype != DType::F8E8M0FNU;
    FloatLimits {
        min,
        max,
        eps: next - 1.0,
        smallest_normal: smallest_subnormal * power(mantissa_bits),
        smallest_subnormal,
        mantissa_bits,
        exponent_bits: dtype.bit_width() as i32 - i32::from(has_sign) - mantissa_bits,
        digits: digits(mantissa_bits),
        has_infinity: all.iter().any(|x| x.is_infinite()),
        has_negative_zero: all.iter().any(|x| *x == 0.0 && x.is_sign_negative()),
    }
}

/// `2^exponent`, for exponents in the range of f64 including denormal numbers.
fn power(exponent: i32) -> f64 {
    if exponent >= -1022 {
        f64::from_bits(((exponent + 1023) as u64) << 52)
    } else {
        f64::from_bits(1 << (exponent + 1074))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    #[test]
    fn floats_have_the_limits_of_their_types() {
        let of = |dtype| float_limits(dtype).map(|l| (l.min, l.max, l.eps, l.smallest_normal, l.smallest_subnormal));
        let f32_bits = |bits| f64::from(f32::from_bits(bits));
        let wanted = (f32::MIN.into(), f32::MAX.into(), f32::EPSILON.into(), f32::MIN_POSITIVE.into(), f32_bits(1));
        assert_eq!((of(DType::F32), of(DType::C64)), (Some(wanted), Some(wanted)));
        let wanted = (f64::MIN, f64::MAX, f64::EPSILON, f64::MIN_POSITIVE, f64::from_bits(1));
        assert_eq!((of(DType::F64), of(DType::C128)), (Some(wanted), Some(wanted)));
        let half = [f16::MIN, f16::MAX, f16::EPSILON, f16::MIN_POSITIVE, f16::from_bits(1)].map(f64::from);
        assert_eq!(of(DType::F16), Some(half.into()));
        let brain = [bf16::MIN, bf16::MAX, bf16::EPSILON, bf16::MIN_POSITIVE, bf16::from_bits(1)].map(f64::from);
        assert_eq!(of(DType::BF16), Some(brain.into()));
        assert_eq!(of(DType::S32), None);
    }

    #[test]
    fn integers_have_the_limits_of_their_types() {
        let of = |dtype| integer_limits(dtype).map(|l| (l.min, l.max));
        assert_eq!(of(DType::S8), Some((-128, 127)));
        assert_eq!(of(DType::S64), Some((i64::MIN, i64::MAX as u64)));
        assert_eq!(of(DType::U16), Some((0, 65535)));
        assert_eq!(of(DType::U64), Some((0, u64::MAX)));
        assert_eq!((of(DType::S4), of(DType::U2)), (Some((-8, 7)), Some((0, 3))));
        assert_eq!((of(DType::Pred), of(DType::F32)), (Some((0, 1)), None));
    }
}
