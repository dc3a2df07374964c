//! Vector norms, recorded as several operations.

use crate::definition::Composed;
use crate::elementwise::formula::{Expr, check_wide, record, widened};
use base::error;
use base::error::Result;
use base::types::Kind;
use ir::{NodeId, ReduceOp, Trace};

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] =
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
    record(trace, [x], |[x]| {
        let result = if order == 2.0 {
            squares(x).reduce(ReduceOp::Sum, axes, keep_dims).sqrt()
        } else {
            of_absolute(x.abs().convert(widened(dtype)), order, axes, keep_dims)
        };
        result.convert(dtype)
    })
}

/// The squares of absolute values. They are not computed from the absolute value: its derivative is 0 at 0, so that the
/// second derivative of the squares would be 0 there, too.
fn squares(x: Expr) -> Expr {
    if x.dtype().kind() != Kind::Complex {
        let x = x.convert(widened(x.dtype()));
        return x * x;
    }
    let (re, im) = (x.real(), x.imag());
    re * re + im * im
}

fn of_absolute<'f>(x: Expr<'f>, order: f64, axes: &[i64], keep_dims: bool) -> Expr<'f> {
    let sum = |x: Expr<'f>| x.reduce(ReduceOp::Sum, axes, keep_dims);
    match order {
        // The maximum with 0 makes the norm of an empty axis 0.
        f64::INFINITY => x.reduce(ReduceOp::Max, axes, keep_dims).max(0.0),
        f64::NEG_INFINITY => x.reduce(ReduceOp::Min, axes, keep_dims),
        0.0 => sum(x.ne(0.0).convert(x.dtype())),
        1.0 => sum(x),
        _ => sum(x.power(order)).power(1.0 / order),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::types::{DType, TensorType};

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
