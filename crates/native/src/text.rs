//! Elements as text, for people.

use super::array::Array;
use super::convert::convert;
use base::types::{DType, Kind, Scalar, ScalarValue, TensorType};

/// Value of a scalar in decimal.
pub fn text_of(scalar: Scalar) -> String {
    let dtype = scalar.dtype();
    let bytes = scalar.bits().to_le_bytes();
    let wide = match dtype.wide().kind() {
        Kind::Pred => return (scalar.bits() != 0).to_string(),
        Kind::Unsigned | Kind::Subbyte => DType::U64,
        Kind::Signed => DType::S64,
        Kind::Float | Kind::Float8 => DType::F64,
        Kind::Complex => DType::C128,
    };
    let element = Array::from_bytes(&TensorType::new(dtype, &[]), &bytes[..dtype.size_bytes()]);
    let Ok(wide) = element.and_then(|element| convert(&element, wide)) else { return format!("{:#x}", scalar.bits()) };
    let half = |start: usize| wide.bytes()[start..start + 8].try_into().expect("8 bytes");
    let value = match dtype.wide().kind() {
        Kind::Pred | Kind::Unsigned | Kind::Subbyte => ScalarValue::Unsigned(u64::from_le_bytes(half(0))),
        Kind::Signed => ScalarValue::Signed(i64::from_le_bytes(half(0))),
        Kind::Float | Kind::Float8 => ScalarValue::Float(f64::from_le_bytes(half(0))),
        Kind::Complex => ScalarValue::Complex(f64::from_le_bytes(half(0)), f64::from_le_bytes(half(8))),
    };
    value.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decimal() {
        let text = |dtype, value| text_of(Scalar::new(dtype, value).unwrap());
        assert_eq!(text(DType::BF16, ScalarValue::Float(0.5)), "0.5");
        assert_eq!(text(DType::F32, ScalarValue::Float(f64::NEG_INFINITY)), "-inf");
        assert_eq!(text(DType::S8, ScalarValue::Signed(-3)), "-3");
        assert_eq!(text(DType::S4, ScalarValue::Signed(-3)), "-3");
        assert_eq!(text(DType::F4E2M1FN, ScalarValue::Float(1.5)), "1.5");
        assert_eq!(text(DType::Pred, ScalarValue::Signed(1)), "true");
        assert_eq!(text(DType::C64, ScalarValue::Complex(1.0, -2.0)), "1.0-2.0i");
    }
}
