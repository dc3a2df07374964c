//! Casts of single values between dtypes: conversions of arrays with one element, so that both give the same results.

use super::array::Array;
use super::convert::convert;
use super::creation::full;
use base::error::Result;
use base::types::{DType, Kind, Scalar, ScalarValue, TensorType};
use num_complex::Complex;

/// Converts a value of dtype `from` to dtype `to`, as [`convert`] does. A value that `from` cannot represent is
/// converted to it first.
pub fn cast(from: DType, value: ScalarValue, to: DType) -> Result<ScalarValue> {
    let given = match Scalar::new(from, value) {
        Ok(scalar) => single(scalar)?,
        Err(_) => {
            let wide = match value {
                ScalarValue::Float(_) => DType::F64,
                ScalarValue::Signed(_) => DType::S64,
                ScalarValue::Unsigned(_) => DType::U64,
                ScalarValue::Complex(..) => DType::C128,
            };
            convert(&single(Scalar::new(wide, value)?)?, from)?
        }
    };
    let result = convert(&given, to)?;
    let widened = |dtype| convert(&result, dtype);
    Ok(match to.wide().kind() {
        Kind::Float | Kind::Float8 => ScalarValue::Float(widened(DType::F64)?.elements()[0]),
        Kind::Signed => ScalarValue::Signed(widened(DType::S64)?.elements()[0]),
        Kind::Unsigned | Kind::Pred | Kind::Subbyte => ScalarValue::Unsigned(widened(DType::U64)?.elements()[0]),
        Kind::Complex => {
            let Complex { re, im } = widened(DType::C128)?.elements()[0];
            ScalarValue::Complex(re, im)
        }
    })
}

fn single(scalar: Scalar) -> Result<Array> {
    full(&TensorType::new(scalar.dtype(), &[]), scalar)
}

#[cfg(test)]
mod tests {
    use super::ScalarValue::*;
    use super::*;

    #[test]
    fn casts_wrap_saturate_and_overflow_to_infinity() {
        let to = |from, value, to| cast(from, value, to).unwrap();
        assert_eq!(to(DType::S64, Signed(300), DType::S8), Signed(44));
        assert_eq!(to(DType::S64, Signed(-1), DType::U64), Unsigned(u64::MAX));
        assert_eq!(to(DType::U64, Unsigned(u64::MAX), DType::S32), Signed(-1));
        assert_eq!(to(DType::S64, Signed(i64::MIN), DType::F64), Float(-9_223_372_036_854_775_808.0));
        assert_eq!(to(DType::F64, Float(1e300), DType::F32), Float(f64::INFINITY));
        assert_eq!(to(DType::F64, Float(-65_520.0), DType::F16), Float(f64::NEG_INFINITY));
        assert_eq!(to(DType::F64, Float(65_519.99), DType::F16), Float(65_504.0));
        assert_eq!(to(DType::F64, Float(0.1), DType::F32), Float(0.1f32.into()));
        assert_eq!(to(DType::F64, Float(300.7), DType::S8), Signed(127));
        assert_eq!(to(DType::F64, Float(f64::NAN), DType::S32), Signed(0));
        assert_eq!(to(DType::C128, Complex(2.5, 1.0), DType::S32), Signed(2));
        assert_eq!(to(DType::C128, Complex(0.0, 1.0), DType::Pred), Unsigned(1));
        assert_eq!(to(DType::F64, Float(-1.5), DType::C64), Complex(-1.5, 0.0));
        assert_eq!(to(DType::Pred, Unsigned(1), DType::BF16), Float(1.0));
    }

    #[test]
    fn values_take_their_own_dtype_first() {
        let to = |from, value, to| cast(from, value, to).unwrap();
        assert_eq!(to(DType::F32, Float(0.1), DType::F64), Float(0.1f32.into()));
        assert_eq!(to(DType::F32, Float(1e300), DType::F64), Float(f64::INFINITY));
        assert_eq!(to(DType::S8, Signed(300), DType::S64), Signed(44));
        assert_eq!(to(DType::Pred, Unsigned(7), DType::S32), Signed(1));
    }
}
