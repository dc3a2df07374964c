//! Reductions of the slices of each segment, as `jax.ops.segment_sum`.

use crate::creation::constants::constant;
use crate::definition::Composed;
use crate::elementwise::wide;
use crate::emit::identity;
use crate::indexing::along::combined_slices;
use crate::reduction::reduce;
use base::error;
use base::error::Result;
use base::types::{Scalar, element_count};
use ir::{NodeId, ReduceOp, ScatterOp, Trace};

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] =
    &[Composed { name: "segment_reduce", function: "lxla_segment_reduce", dtypes: "as lxla_reduce; ids integers" }];

/// Records, for each of `count` segments, the reduction of the slices of `x` along its first axis whose id is the
/// segment's number; the identity of the reduction for segments without slices.
pub fn segment_reduce(trace: &mut Trace, op: ReduceOp, x: NodeId, ids: NodeId, count: i64) -> Result<NodeId> {
    if wide::is_any(trace, &[x]) {
        return wide::in_wide(trace, [x], |trace, [x]| segment_reduce(trace, op, x, ids, count));
    }
    let x = reduce::counted(trace, op, x);
    let (ty, at) = (trace.ty(x), trace.ty(ids));
    reduce::check(op, &ty)?;
    if !at.dtype.is_integer() || at.dims.len() != 1 {
        return Err(error!(InvalidArgument, "segment_ids: they are {at}; want integers in a row"));
    }
    if ty.dims.first() != at.dims.first() {
        return Err(error!(
            InvalidArgument,
            "segment_ids: they are {at}; x is {ty}, want an id for each slice of axis 0"
        ));
    }
    if count < 0 {
        return Err(error!(InvalidArgument, "num_segments: {count} given; want at least 0"));
    }
    let mut dims = ty.dims.clone();
    dims[0] = count;
    element_count(&dims)?;
    let bits = identity(op, ty.dtype).to_le_bytes();
    let start = constant(trace, &dims, Scalar::from_bytes(ty.dtype, &bits[..ty.dtype.size_bytes()]));
    // Of preds, the disjunction is the sum and the conjunction the product.
    let op = match op {
        ReduceOp::Sum | ReduceOp::Any => ScatterOp::Sum,
        ReduceOp::Product | ReduceOp::All => ScatterOp::Product,
        ReduceOp::Max => ScatterOp::Max,
        ReduceOp::Min => ScatterOp::Min,
    };
    combined_slices(trace, op, start, 0, ids, x)
}
