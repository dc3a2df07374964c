//! A single value of a dtype. Conversions to it are checked.

use super::{DType, Kind, float8};
use crate::error;
use crate::error::Result;
use half::{bf16, f16};
use std::fmt;
use std::hash::{Hash, Hasher};

/// A value as passed by a caller, before it is converted to the dtype of a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum ScalarValue {
    Float(f64),
    Signed(i64),
    Unsigned(u64),
    Complex(f64, f64),
}

impl ScalarValue {
    /// The value as an integer; None if it has a fraction or an imaginary part, or its absolute value is not below
    /// 1e30.
    pub fn whole(self) -> Option<i128> {
        match self {
            ScalarValue::Signed(v) => Some(v.into()),
            ScalarValue::Unsigned(v) => Some(v.into()),
            ScalarValue::Float(v) | ScalarValue::Complex(v, 0.0) => {
                (v.trunc() == v && v.abs() < 1e30).then_some(v as i128)
            }
            ScalarValue::Complex(..) => None,
        }
    }

    /// The value as a real number; None if it has an imaginary part.
    pub fn real(self) -> Option<f64> {
        match self {
            ScalarValue::Float(v) | ScalarValue::Complex(v, 0.0) => Some(v),
            ScalarValue::Signed(v) => Some(v as f64),
            ScalarValue::Unsigned(v) => Some(v as f64),
            ScalarValue::Complex(..) => None,
        }
    }

    /// Wraps an integer: exactly if it fits i64 or u64, else as the nearest float.
    pub fn of_whole(value: i128) -> ScalarValue {
        match (i64::try_from(value), u64::try_from(value)) {
            (Ok(value), _) => ScalarValue::Signed(value),
            (_, Ok(value)) => ScalarValue::Unsigned(value),
            _ => ScalarValue::Float(value as f64),
        }
    }

    /// Returns true if no part is infinite or NaN.
    pub fn is_finite(self) -> bool {
        match self {
            ScalarValue::Float(v) => v.is_finite(),
            ScalarValue::Complex(re, im) => re.is_finite() && im.is_finite(),
            ScalarValue::Signed(_) | ScalarValue::Unsigned(_) => true,
        }
    }
}

impl fmt::Display for ScalarValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScalarValue::Float(v) => write!(f, "{v:?}"),
            ScalarValue::Signed(v) => write!(f, "{v}"),
            ScalarValue::Unsigned(v) => write!(f, "{v}"),
            ScalarValue::Complex(re, im) => write!(f, "{re:?}{im:+?}i"),
        }
    }
}

/// One element: its dtype and its bytes (little-endian, in the low [`DType::size_bytes`] bytes). Compared bit by bit,
/// so that NaN equals itself and -0.0 differs from 0.0.
#[derive(Clone, Copy, Debug)]
pub struct Scalar {
    dtype: DType,
    bits: [u64; 2],
    varies: bool,
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Scalar) -> bool {
        (self.dtype, self.bits) == (other.dtype, other.bits)
    }
}

impl Eq for Scalar {}

impl Hash for Scalar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.dtype, self.bits).hash(state);
    }
}

impl Scalar {
    /// Converts `value` to `dtype`. Floating-point targets round. A value that the type cannot represent (out of range,
    /// a fraction or NaN for an integer, anything but 0 and 1 for pred, an imaginary part) is an error, whose message
    /// does not name the argument.
    pub fn new(dtype: DType, value: ScalarValue) -> Result<Scalar> {
        let refuse = || error!(InvalidArgument, "{value} cannot be represented in {dtype}");
        let bits = match dtype.kind() {
            Kind::Pred => match value.whole() {
                Some(v @ 0..=1) => [v as u64, 0],
                _ => return Err(refuse()),
            },
            Kind::Subbyte if dtype == DType::F4E2M1FN => {
                let v = value.real().filter(|v| v.abs() < 7.0).ok_or_else(refuse)?;
                [float8::format(dtype).encode(v).into(), 0]
            }
            Kind::Signed | Kind::Unsigned | Kind::Subbyte => {
                let v = value.whole().ok_or_else(refuse)?;
                let (low, high) = range(dtype);
                if v < low || v > high {
                    return Err(refuse());
                }
                let mask = u64::MAX >> (64 - 8 * dtype.size_bytes());
                [v as u64 & mask, 0]
            }
            Kind::Float | Kind::Float8 => [float_bits(dtype, value.real().ok_or_else(refuse)?).ok_or_else(refuse)?, 0],
            Kind::Complex => {
                let (re, im) = match value {
                    ScalarValue::Complex(re, im) => (re, im),
                    other => (other.real().ok_or_else(refuse)?, 0.0),
                };
                let part = |v| float_bits(dtype.real(), v).ok_or_else(refuse);
                match dtype {
                    DType::C64 => [part(re)? | part(im)? << 32, 0],
                    _ => [part(re)?, part(im)?],
                }
            }
        };
        Ok(Scalar { dtype, bits, varies: false })
    }

    /// Creates a scalar from its bytes; of a type of 2 or 4 bits, the low bits count. Panics unless `bytes` has
    /// [`DType::size_bytes`] bytes.
    pub fn from_bytes(dtype: DType, bytes: &[u8]) -> Scalar {
        let mut all = [0; 16];
        all[..dtype.size_bytes()].copy_from_slice(bytes);
        dtype.normalize(&mut all[..dtype.size_bytes()]);
        let bits = u128::from_le_bytes(all);
        Scalar { dtype, bits: [bits as u64, (bits >> 64) as u64], varies: false }
    }

    /// The same value, which the caller says changes from step to step: it is passed to programs as a parameter from
    /// the first compile on.
    pub fn varying(self) -> Scalar {
        Scalar { varies: true, ..self }
    }

    /// Whether the value is a parameter of programs from the first compile on. Equal scalars may differ in this.
    pub fn varies(&self) -> bool {
        self.varies
    }

    /// Whether the values are equal, and both vary, or neither does.
    pub fn is_same(&self, other: &Scalar) -> bool {
        self == other && self.varies == other.varies
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The bytes of the element, little-endian, in the low bytes of the integer.
    pub fn bits(&self) -> u128 {
        u128::from(self.bits[0]) | u128::from(self.bits[1]) << 64
    }
}

/// Encoding of `value` rounded to `dtype`; None if a finite value would become infinite or NaN.
fn float_bits(dtype: DType, value: f64) -> Option<u64> {
    let (bits, finite) = match dtype {
        // The const functions round only once, and identically on every processor.
        DType::F16 => (f16::from_f64_const(value).to_bits().into(), f16::from_f64_const(value).is_finite()),
        DType::BF16 => (bf16::from_f64_const(value).to_bits().into(), bf16::from_f64_const(value).is_finite()),
        DType::F32 => ((value as f32).to_bits().into(), (value as f32).is_finite()),
        dtype if dtype.is_float8() => {
            let format = float8::format(dtype);
            let code = format.encode(value);
            (code.into(), format.decode(code).is_finite())
        }
        _ => (value.to_bits(), value.is_finite()),
    };
    (finite || !value.is_finite()).then_some(bits)
}

fn range(dtype: DType) -> (i128, i128) {
    let bits = dtype.bit_width();
    match dtype.wide().kind() {
        Kind::Signed => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        _ => (0, (1i128 << bits) - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::ScalarValue::*;
    use super::*;

    fn bits(dtype: DType, value: ScalarValue) -> Option<u128> {
        Scalar::new(dtype, value).ok().map(|s| s.bits())
    }

    #[test]
    fn representable_values_keep_their_bits() {
        assert_eq!(bits(DType::F32, Float(1.0)), Some(0x3F80_0000));
        assert_eq!(bits(DType::F32, Float(0.1)), Some(u128::from(0.1f32.to_bits())));
        assert_eq!(bits(DType::F32, Float(-0.0)), Some(0x8000_0000));
        assert_eq!(bits(DType::BF16, Float(1.0)), Some(0x3F80));
        assert_eq!(bits(DType::F16, Signed(1)), Some(0x3C00));
        assert_eq!(bits(DType::S8, Signed(-1)), Some(0xFF));
        assert_eq!(bits(DType::S4, Signed(-1)), Some(0xFF));
        assert_eq!(bits(DType::U2, Unsigned(3)), Some(3));
        assert_eq!(bits(DType::F4E2M1FN, Float(-6.9)), Some(0xF));
        assert_eq!(bits(DType::S64, Signed(i64::MIN)), Some(1 << 63));
        assert_eq!(bits(DType::U64, Unsigned(u64::MAX)), Some(u128::from(u64::MAX)));
        assert_eq!(bits(DType::C64, Complex(1.0, -1.0)), Some(0xBF80_0000_3F80_0000));
        assert_eq!(bits(DType::Pred, Float(1.0)), Some(1));
        assert!(bits(DType::F32, Float(f64::INFINITY)).is_some());
        assert!(bits(DType::F16, Float(f64::NAN)).is_some());
    }

    #[test]
    fn others_are_refused() {
        for (dtype, value) in [
            (DType::S8, Signed(128)),
            (DType::U8, Float(-1.0)),
            (DType::S4, Signed(8)),
            (DType::U2, Signed(4)),
            (DType::F4E2M1FN, Float(7.0)),
            (DType::F4E2M1FN, Float(f64::NAN)),
            (DType::S32, Float(2.5)),
            (DType::S32, Float(f64::NAN)),
            (DType::U64, Signed(-1)),
            (DType::S64, Unsigned(1 << 63)),
            (DType::F32, Float(1e300)),
            (DType::F16, Float(65536.0)),
            (DType::F32, Complex(0.0, 1.0)),
            (DType::Pred, Signed(2)),
            (DType::C64, Float(1e300)),
        ] {
            assert_eq!(bits(dtype, value), None, "{dtype} {value:?}");
        }
    }
}
