//! LDL factorization of symmetric and Hermitian matrices, and solutions of systems from its results.

use super::decomposition::{LdlAttributes, Matrices, check_pivots, several};
use super::portable;
use crate::control::lower::apply;
use crate::elementwise::convert::convert;
use crate::emit::Emitter;
use crate::host_call::lower_native;
use crate::infer::common_dtype_of;
use crate::shape::axes::broadcast_to;
use crate::shape::rearrange::{expand_dims, squeeze};
use base::error;
use base::error::Result;
use base::types::{DType, Kind, broadcast};
use ir::{NodeId, Op, Trace};

/// Records the LDL factors of matrices, of which the lower triangle is read, and the pivots.
pub fn ldl(trace: &mut Trace, a: NodeId, hermitian: bool) -> Result<[NodeId; 2]> {
    let of = Matrices::square("ldl", "a", &trace.ty(a))?;
    check_pivots(&of)?;
    let attributes = LdlAttributes { hermitian: hermitian && of.dtype.kind() == Kind::Complex };
    Ok(several(trace, a, |trace, a, dtype| {
        let results = [of.ty(dtype, &[of.rows, of.rows]), of.ty(DType::S32, &[of.rows])];
        trace.application(Op::Ldl, &[a], &attributes, &[], &results)
    }))
}

/// Records the solution of `a x = b` from the results of [`ldl`] for `a`. `b` is a vector, or has matrices in its last
/// two axes; batch axes broadcast.
pub fn ldl_solve(trace: &mut Trace, factors: NodeId, pivots: NodeId, b: NodeId, hermitian: bool) -> Result<NodeId> {
    let (factors_ty, pivots_ty, b_ty) = (trace.ty(factors), trace.ty(pivots), trace.ty(b));
    let of = Matrices::square("ldl_solve", "factors", &factors_ty)?;
    let wanted = of.ty(DType::S32, &[of.rows]);
    if pivots_ty != wanted {
        return Err(error!(InvalidArgument, "pivots: it is {pivots_ty}; factors is {factors_ty}, and wants {wanted}"));
    }
    let dtype = common_dtype_of(["factors", "b"], &factors_ty, &b_ty)?;
    let is_vector = b_ty.dims.len() == 1;
    let b = if is_vector { expand_dims(trace, b, &[-1])? } else { b };
    let of_b = Matrices::of("ldl_solve", "b", &trace.ty(b))?;
    let (Some(batch), true) = (broadcast(&of.batch, &of_b.batch), of_b.rows == of.rows) else {
        return Err(error!(
            InvalidArgument,
            "b: it is {b_ty}; factors is {factors_ty}, and wants {} rows and batch axes that broadcast", of.rows
        ));
    };
    let own = if dtype.is_float8() { DType::F32 } else { dtype };
    let [factors, b] = [factors, b].map(|id| convert(trace, id, own));
    let with_batch = |dims: &[i64]| batch.iter().chain(dims).copied().collect::<Vec<i64>>();
    let factors = broadcast_to(trace, factors, &with_batch(&[of.rows, of.rows]))?;
    let pivots = broadcast_to(trace, pivots, &with_batch(&[of.rows]))?;
    let b = broadcast_to(trace, b, &with_batch(&[of_b.rows, of_b.columns]))?;
    let attributes = LdlAttributes { hermitian: hermitian && dtype.kind() == Kind::Complex };
    let x = solved(trace, [factors, pivots, b], attributes);
    let x = convert(trace, x, dtype);
    if is_vector { squeeze(trace, x, &[-1]) } else { Ok(x) }
}

/// Records the solution from factors, pivots and right-hand sides with the same batch axes.
pub(super) fn solved(trace: &mut Trace, operands: [NodeId; 3], attributes: LdlAttributes) -> NodeId {
    let ty = trace.ty(operands[2]);
    let shape = trace.intern(&ty.dims);
    trace.operation_with_attributes(Op::LdlSolve, ty.dtype, shape, &operands, &attributes)
}

/// Writes a solution: a call of its native evaluation, or a program of other operations.
pub(super) fn lower_solve(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    if e.calls_host {
        return lower_native(e, at, std::slice::from_ref(&value.ty));
    }
    let types = [0, 1, 2].map(|i| &e.values[value.operands[i]].ty);
    let body = portable::body_of_ldl_solve(value, types).expect("it was recorded for operands of these types");
    let (name, (operands, _)) = (e.name_of(at), e.listed(&value.operands));
    apply(e, &name, &body, &operands);
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::types::TensorType;

    #[test]
    fn operands_that_do_not_fit_are_named() {
        let mut trace = Trace::new();
        let mut given = |dtype, dims: &[i64]| trace.parameter(TensorType::new(dtype, dims));
        let (wide, matrix, other) =
            (given(DType::F32, &[2, 3]), given(DType::F32, &[5, 3, 3]), given(DType::S32, &[3, 3]));
        let (pivots, floats) = (given(DType::S32, &[5, 3]), given(DType::F32, &[5, 3]));
        let (few, b) = (given(DType::F32, &[2, 1]), given(DType::F32, &[4, 3, 1]));
        let message = |e: Result<NodeId>| e.unwrap_err().message.clone();
        let e = ldl(&mut trace, wide, false).unwrap_err().message.clone();
        assert!(e.contains("a: it is f32[2,3]; ldl takes square matrices"), "{e}");
        assert!(ldl(&mut trace, other, false).unwrap_err().message.contains("floats and complex numbers"));
        let e = message(ldl_solve(&mut trace, matrix, floats, b, false));
        assert!(e.contains("pivots: it is f32[5,3]; factors is f32[5,3,3], and wants s32[5,3]"), "{e}");
        let e = message(ldl_solve(&mut trace, matrix, pivots, few, false));
        assert!(e.contains("b: it is f32[2,1]; factors is f32[5,3,3], and wants 3 rows"), "{e}");
        assert!(message(ldl_solve(&mut trace, matrix, pivots, b, false)).contains("batch axes that broadcast"));
        assert!(message(ldl_solve(&mut trace, matrix, pivots, pivots, false)).contains("b is s32[5,3]"));
    }
}
