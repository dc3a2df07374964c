//! Functions composed of decompositions: linear systems, least squares and powers.

use super::decomposition::{self, Matrices, lu, pinv, singular_values};
use super::derivative::product;
use super::lu_solve;
use crate::creation::masks::eye;
use crate::definition::Composed;
use crate::elementwise::convert::convert;
use crate::elementwise::formula::{Expr, record, widened};
use crate::infer::{common_dtype_of, places_dtype};
use crate::shape::axes::broadcast_to;
use crate::shape::rearrange::{expand_dims, squeeze};
use base::error;
use base::error::Result;
use base::types::{DType, broadcast};
use ir::{NodeId, ReduceOp, Trace};

pub(super) const DTYPES: &str = "floats, 8-bit floats, complex numbers";

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] = &[
    Composed { name: "singular_values", function: "lxla_singular_values", dtypes: DTYPES },
    Composed { name: "lstsq", function: "lxla_lstsq", dtypes: DTYPES },
    Composed { name: "matrix_rank", function: "lxla_matrix_rank", dtypes: DTYPES },
    Composed { name: "matrix_power", function: "lxla_matrix_power", dtypes: DTYPES },
    Composed { name: "matrix_exponential", function: "lxla_matrix_exponential", dtypes: DTYPES },
];

/// Records the solution of `a x = b` for square matrices. `b` is a vector, or has matrices in its last two axes; batch
/// axes broadcast.
pub fn solve(trace: &mut Trace, a: NodeId, b: NodeId) -> Result<NodeId> {
    let (a_ty, b_ty) = (trace.ty(a), trace.ty(b));
    let of = Matrices::square("solve", "a", &a_ty)?;
    let (dtype, is_vector) = (common_dtype_of(["a", "b"], &a_ty, &b_ty)?, b_ty.dims.len() == 1);
    let b = if is_vector { expand_dims(trace, b, &[-1])? } else { b };
    let of_b = Matrices::of("solve", "b", &trace.ty(b))?;
    let batch = broadcast(&of.batch, &of_b.batch);
    let (Some(batch), true) = (batch, of_b.rows == of.rows) else {
        return Err(error!(
            InvalidArgument,
            "b: it is {b_ty}; a is {a_ty}, and wants {} rows and batch axes that broadcast", of.rows
        ));
    };
    let wide = widened(dtype);
    let [a, b] = [a, b].map(|id| convert(trace, id, wide));
    let with_batch = |dims: &[i64]| batch.iter().chain(dims).copied().collect::<Vec<i64>>();
    let [factors, _, permutation] = lu(trace, a)?;
    let factors = broadcast_to(trace, factors, &with_batch(&[of.rows, of.rows]))?;
    let permutation = broadcast_to(trace, permutation, &with_batch(&[of.rows]))?;
    let b = broadcast_to(trace, b, &with_batch(&[of_b.rows, of_b.columns]))?;
    let x = lu_solve::solved(trace, factors, permutation, b);
    let x = convert(trace, x, dtype);
    if is_vector { squeeze(trace, x, &[-1]) } else { Ok(x) }
}

/// Records the inverses of square matrices.
pub fn inverse(trace: &mut Trace, a: NodeId) -> Result<NodeId> {
    let of = Matrices::square("inverse", "a", &trace.ty(a))?;
    let a = convert(trace, a, widened(of.dtype));
    let [factors, _, permutation] = lu(trace, a)?;
    let x = lu_solve::inverted(trace, factors, permutation);
    Ok(convert(trace, x, of.dtype))
}

/// Records the least-squares solution of `a x = b` with the smallest norm.
pub fn lstsq(trace: &mut Trace, a: NodeId, b: NodeId, rtol: f64) -> Result<NodeId> {
    let (a_ty, b_ty) = (trace.ty(a), trace.ty(b));
    let of = Matrices::of("lstsq", "a", &a_ty)?;
    let dtype = common_dtype_of(["a", "b"], &a_ty, &b_ty)?;
    // The singular values are computed in the promoted dtype.
    let of = Matrices { dtype, ..of };
    let (is_vector, wide) = (b_ty.dims.len() == 1, widened(dtype));
    let rtol = decomposition::tolerance(&of, rtol)?;
    let [a, b] = [a, b].map(|id| convert(trace, id, wide));
    let b = if is_vector { expand_dims(trace, b, &[-1])? } else { b };
    let of_b = Matrices::of("lstsq", "b", &trace.ty(b))?;
    let Some(batch) = broadcast(&of.batch, &of_b.batch).filter(|_| of_b.rows == of.rows) else {
        return Err(error!(
            InvalidArgument,
            "b: it is {b_ty}; a is {a_ty}, and wants {} rows and batch axes that broadcast", of.rows
        ));
    };
    let inverse = pinv(trace, a, rtol)?;
    let inverse = broadcast_to(trace, inverse, &[&batch[..], &[of.columns, of.rows]].concat())?;
    let b = broadcast_to(trace, b, &[&batch[..], &[of_b.rows, of_b.columns]].concat())?;
    let x = product(trace, inverse, b, [1, 0])?;
    let x = convert(trace, x, dtype);
    if is_vector { squeeze(trace, x, &[-1]) } else { Ok(x) }
}

/// Records the number of singular values greater than `rtol` times the largest one.
pub fn matrix_rank(trace: &mut Trace, a: NodeId, rtol: f64) -> Result<NodeId> {
    let of = Matrices::of("matrix_rank", "a", &trace.ty(a))?;
    let rtol = decomposition::tolerance(&of, rtol)?;
    let wide = convert(trace, a, widened(of.dtype));
    let values = singular_values(trace, wide)?;
    record(trace, [values], |[values]| {
        let last = values.ty().dims.len() as i64 - 1;
        let largest = values.reduce(ReduceOp::Max, &[last], true);
        let counted = values.gt(largest * rtol).convert(places_dtype(of.least()));
        counted.reduce(ReduceOp::Sum, &[last], false).convert(DType::S32)
    })
}

/// Records a power of square matrices; a negative one is that of the inverse.
pub fn matrix_power(trace: &mut Trace, a: NodeId, n: i64) -> Result<NodeId> {
    let ty = trace.ty(a);
    let of = Matrices::square("matrix_power", "a", &ty)?;
    let wide = convert(trace, a, widened(of.dtype));
    let wide = if n < 0 { inverse(trace, wide)? } else { wide };
    if n == 0 {
        let one = eye(trace, of.dtype, of.rows, of.rows, 0)?;
        return broadcast_to(trace, one, &ty.dims);
    }
    let power = record(trace, [wide], |[a]| {
        let (mut left, mut square, mut made) = (n.unsigned_abs(), a, None);
        loop {
            if left & 1 == 1 {
                made = Some(made.map_or(square, |made: Expr| made.at(square)));
            }
            left >>= 1;
            match (left, made) {
                (0, Some(made)) => return made,
                _ => square = square.at(square),
            }
        }
    })?;
    Ok(convert(trace, power, of.dtype))
}
