//! NumPy's matmul.

use crate::emit::Emitter;
use base::error;
use base::error::Result;
use ir::{NodeId, Op, Trace};

use crate::elementwise::wide;
use crate::infer::{common_dtype, inferred};
use crate::linalg::narrow;
use crate::linalg::product::{Factor, product};
use base::types::{DType, Dims, TensorType, broadcast, element_count};

/// Records NumPy's matmul.
pub fn matmul(trace: &mut Trace, lhs: NodeId, rhs: NodeId) -> Result<NodeId> {
    if wide::is_any(trace, &[lhs, rhs]) {
        infer(&trace.ty(lhs), &trace.ty(rhs))?;
        return wide::in_wide(trace, [lhs, rhs], |trace, [lhs, rhs]| matmul(trace, lhs, rhs));
    }
    inferred(trace, Op::Matmul, [lhs, rhs], |trace| infer(&trace.ty(lhs), &trace.ty(rhs)))
}

/// Infers the type of a matmul: axes before the last two are batch axes and broadcast; a rank-1 operand loses its axis.
fn infer(lhs: &TensorType, rhs: &TensorType) -> Result<TensorType> {
    let both = || format!("lhs is {lhs} and rhs is {rhs}");
    let dtype = common_dtype(lhs, rhs)?;
    if dtype == DType::Pred {
        return Err(error!(InvalidArgument, "{}: matmul takes numbers", both()));
    }
    let (l, r) = (&lhs.dims, &rhs.dims);
    if l.is_empty() || r.is_empty() {
        return Err(error!(InvalidArgument, "{}: matmul takes no scalars", both()));
    }
    let contracted = (l[l.len() - 1], r[r.len().saturating_sub(2)]);
    if contracted.0 != contracted.1 {
        return Err(error!(
            InvalidArgument,
            "{}: the contracted sizes are {} and {}",
            both(),
            contracted.0,
            contracted.1
        ));
    }
    let batch = |dims: &Dims| Dims::from_slice(&dims[..dims.len().saturating_sub(2)]);
    let mut dims = broadcast(&batch(l), &batch(r))
        .ok_or_else(|| error!(InvalidArgument, "{}: their batch axes do not broadcast", both()))?;
    if l.len() > 1 {
        dims.push(l[l.len() - 2]);
    }
    if r.len() > 1 {
        dims.push(r[r.len() - 1]);
    }
    element_count(&dims)?;
    Ok(TensorType { dtype, dims })
}

/// Writes matmul as a dot_general that contracts the last axis of lhs with the last but one axis of rhs. Batch axes are
/// broadcast first, unless rhs has none: then it is multiplied with all rows of lhs in one product.
pub(super) fn lower(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let name = e.name_of(at);
    let (l, r) = (value.operands[0], value.operands[1]);
    let dtype = value.ty.dtype;
    let (l_dims, r_dims) = (e.values[l].ty.dims.clone(), e.values[r].ty.dims.clone());
    let transposed = narrow::transposed_matrix(e, l);
    if let Some(x) = transposed.filter(|&x| narrow::is_narrow(e, dtype, &e.values[x].ty.dims, &r_dims)) {
        return narrow::product(e, &name, [x, r], &value.ty, None);
    }
    let batch = if l_dims.len() >= 2 && r_dims.len() > 2 { value.ty.dims.len() - 2 } else { 0 };
    let with_batch = |dims: &[i64]| {
        if batch == 0 {
            TensorType::new(dtype, dims)
        } else {
            TensorType::new(dtype, &[&value.ty.dims[..batch], &dims[dims.len() - 2..]].concat())
        }
    };
    let (l_ty, r_ty) = (with_batch(&l_dims), with_batch(&r_dims));
    let lhs = e.cast(l, &l_ty);
    let rhs = e.cast(r, &r_ty);
    let batching: Vec<i64> = (0..batch as i64).collect();
    let contracting = [l_ty.dims.len() as i64 - 1, (r_ty.dims.len() as i64 - 2).max(0)];
    let [lhs, rhs] = [(&lhs, &l_ty, &contracting[..1]), (&rhs, &r_ty, &contracting[1..])]
        .map(|(name, ty, contracting)| Factor { name, ty, batching: &batching, contracting });
    product(e, &name, [l, r], [&lhs, &rhs], &value.ty, None);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f32s(dims: &[i64]) -> TensorType {
        TensorType::new(DType::F32, dims)
    }

    #[test]
    fn matmul_follows_numpy() {
        type Row = (&'static [i64], &'static [i64], Option<&'static [i64]>);
        let rows: [Row; 9] = [
            (&[3], &[3], Some(&[])),
            (&[2, 3], &[3], Some(&[2])),
            (&[3], &[3, 4], Some(&[4])),
            (&[2, 3], &[3, 4], Some(&[2, 4])),
            (&[5, 1, 2, 3], &[7, 3, 4], Some(&[5, 7, 2, 4])),
            (&[3], &[5, 3, 4], Some(&[5, 4])),
            (&[0, 3], &[3, 0], Some(&[0, 0])),
            (&[2, 3], &[4, 3], None),
            (&[], &[3], None),
        ];
        for (l, r, want) in rows {
            let got = infer(&f32s(l), &f32s(r)).ok().map(|t| t.dims.to_vec());
            assert_eq!(got, want.map(<[i64]>::to_vec), "{l:?} {r:?}");
        }
    }
}
