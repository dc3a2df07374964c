//! Vector norms, recorded as several operations.

use crate::error;
use crate::error::Result;
use crate::ir::{BinaryOp, CompareOp, NodeId, ReduceOp, Trace, UnaryOp};
use crate::ops::creation::constants::full;
use crate::ops::definition::Composed;
use crate::ops::elementwise::binary::{binary, binary_scalar};
use crate::ops::elementwise::compare_select::compare;
use crate::ops::elementwise::complex::{imag, real};
use crate::ops::elementwise::convert::convert;
use crate::ops::elementwise::formula::{check_wide, widened};
use crate::ops::elementwise::unary::unary;
use crate::ops::reduction::reduce::reduce;
use crate::types::{Kind, ScalarValue, TensorType};

/// Table entries of the composed operations.
pub(in crate::ops) const COMPOSED: &[Composed] =
    &[Composed { name: "norm", function: "lxla_norm", dtypes: "floats, 8-bit floats, complex numbers" }];

/// Records the norm of order `order` over axes: the largest or smallest absolute value for infinite orders, the number
/// of nonzero elements for 0. 8-bit and 16-bit floats are computed in f32, because their squares easily overflow. The
/// derivative of the 2-norm of zeros is NaN, as in JAX: the derivative of the square root is infinite there.
pub fn norm(trace: &mut Trace, x: NodeId, order: f64, axes: &[i64], keep_dims: bool) -> Result<NodeId> {
    let ty = trace.ty(x);
    if !ty.dtype.is_float() && ty.dtype.kind() != Kind::Complex {
        return Err(error!(InvalidArgument, "x: norm takes floats and complex numbers, not {ty}"));
    }
    if order.is_nan() {
        return Err(error!(InvalidArgument, "ord: it is NaN; want a number or an infinity"));
    }
    if order.is_finite() {
        check_wide("ord", trace, x, order)?;
    }
    let dtype = ty.dtype.real();
    let result = if order == 2.0 {
        let squares = squares(trace, x)?;
        let sum = reduce(trace, ReduceOp::Sum, squares, axes, keep_dims)?;
        unary(trace, UnaryOp::Sqrt, sum)?
    } else {
        let absolute = unary(trace, UnaryOp::Abs, x)?;
        let absolute = convert(trace, absolute, widened(dtype));
        of_absolute(trace, absolute, order, axes, keep_dims)?
    };
    Ok(convert(trace, result, dtype))
}

/// Records the squares of absolute values. They are not computed from the absolute value: its derivative is 0 at 0, so
/// that the second derivative of the squares would be 0 there, too.
fn squares(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    let dtype = trace.node(x).dtype;
    if dtype.kind() != Kind::Complex {
        let x = convert(trace, x, widened(dtype));
        return binary(trace, BinaryOp::Multiply, x, x);
    }
    let (re, im) = (real(trace, x)?, imag(trace, x)?);
    let re = binary(trace, BinaryOp::Multiply, re, re)?;
    let im = binary(trace, BinaryOp::Multiply, im, im)?;
    binary(trace, BinaryOp::Add, re, im)
}

fn of_absolute(trace: &mut Trace, x: NodeId, order: f64, axes: &[i64], keep_dims: bool) -> Result<NodeId> {
    let reduced = |trace: &mut Trace, op: ReduceOp, x: NodeId| reduce(trace, op, x, axes, keep_dims);
    if order == f64::INFINITY {
        // The maximum with 0 makes the norm of an empty axis 0.
        let largest = reduced(trace, ReduceOp::Max, x)?;
        return binary_scalar(trace, BinaryOp::Maximum, largest, ScalarValue::Float(0.0), false);
    }
    if order == f64::NEG_INFINITY {
        return reduced(trace, ReduceOp::Min, x);
    }
    if order == 0.0 {
        let dtype = trace.node(x).dtype;
        let zero = full(trace, &TensorType::new(dtype, &[]), ScalarValue::Float(0.0))?;
        let is_not_zero = compare(trace, CompareOp::Ne, x, zero)?;
        let ones = convert(trace, is_not_zero, dtype);
        return reduced(trace, ReduceOp::Sum, ones);
    }
    if order == 1.0 {
        return reduced(trace, ReduceOp::Sum, x);
    }
    let powers = binary_scalar(trace, BinaryOp::Power, x, ScalarValue::Float(order), false)?;
    let sum = reduced(trace, ReduceOp::Sum, powers)?;
    binary_scalar(trace, BinaryOp::Power, sum, ScalarValue::Float(1.0 / order), false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::DType;

    #[test]
    fn norms_are_real_and_keep_the_width() {
        let mut trace = Trace::new();
        for (dtype, real) in [(DType::C64, DType::F32), (DType::BF16, DType::BF16), (DType::F64, DType::F64)] {
            let x = trace.parameter(TensorType::new(dtype, &[2, 3]));
            for order in [0.0, 1.0, 2.0, 2.5, f64::INFINITY, f64::NEG_INFINITY] {
                let result = norm(&mut trace, x, order, &[-1], true).unwrap();
                assert_eq!(trace.ty(result), TensorType::new(real, &[2, 1]));
            }
            assert!(norm(&mut trace, x, f64::NAN, &[0], false).is_err());
        }
    }
}
