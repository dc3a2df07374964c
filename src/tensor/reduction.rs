//! Reductions of tensors: recorded, or evaluated without a trace if the operand is a small native array.

use super::record::record_direct;
use crate::device::TensorHandle;
use crate::error::Result;
use crate::ir::ReduceOp;
use crate::ops::reduction;

/// Records a reduction over axes.
#[inline]
pub fn reduce(op: ReduceOp, x: TensorHandle, axes: &[i64], keep_dims: bool) -> Result<TensorHandle> {
    record_direct(
        [("x", x)],
        |[x]| reduction::direct_reduce(op, x, axes, keep_dims),
        |trace, [x]| reduction::reduce(trace, op, x, axes, keep_dims),
    )
}
