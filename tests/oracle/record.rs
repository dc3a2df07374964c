//! Records operations of `ops` on tensors, as the C functions do.

use base::error::Result;
use base::types::ScalarValue;
use ir::{BinaryOp, CompareOp, NodeId, ReduceOp, Trace};
use lazyxla::device::TensorHandle;
use lazyxla::tensor::{Recorded, record, record_in_place};
use ops::elementwise::{self, BinaryMember, UnaryMember};
use ops::reduction;

/// Records an operation on tensors.
pub fn on<const N: usize, R: Recorded>(
    tensors: [TensorHandle; N],
    operation: impl FnOnce(&mut Trace, [NodeId; N]) -> Result<R>,
) -> Result<R::Tensors> {
    record(tensors.map(|tensor| ("operand", tensor)), operation)
}

pub fn unary(op: impl Into<UnaryMember>, x: TensorHandle) -> Result<TensorHandle> {
    on([x], |trace, [x]| elementwise::unary_member(trace, op.into(), x))
}

pub fn binary(op: impl Into<BinaryMember>, a: TensorHandle, b: TensorHandle) -> Result<TensorHandle> {
    on([a, b], |trace, [a, b]| elementwise::binary_member(trace, op.into(), a, b))
}

/// Replaces the value of `dst` by `dst (op) b`.
pub fn binary_in_place(op: BinaryOp, dst: TensorHandle, b: TensorHandle) -> Result<()> {
    record_in_place([("dst", dst), ("b", b)], |trace, [dst, b]| {
        elementwise::binary_member_in_place(trace, op.into(), dst, b)
    })
}

/// Records `x (op) scalar`, or `scalar (op) x`.
pub fn binary_scalar(
    op: impl Into<BinaryMember>,
    x: TensorHandle,
    scalar: ScalarValue,
    scalar_on_left: bool,
) -> Result<TensorHandle> {
    on([x], |trace, [x]| elementwise::binary_member_scalar(trace, op.into(), x, scalar, scalar_on_left))
}

/// Replaces the value of `dst` by the result that [`binary_scalar`] has for it.
pub fn binary_scalar_in_place(op: BinaryOp, dst: TensorHandle, scalar: ScalarValue, on_left: bool) -> Result<()> {
    record_in_place([("dst", dst)], |trace, [x]| {
        elementwise::binary_member_scalar(trace, op.into(), x, scalar, on_left)
    })
}

pub fn compare(op: CompareOp, a: TensorHandle, b: TensorHandle) -> Result<TensorHandle> {
    on([a, b], |trace, [a, b]| elementwise::compare(trace, op, a, b))
}

pub fn select(pred: TensorHandle, on_true: TensorHandle, on_false: TensorHandle) -> Result<TensorHandle> {
    on([pred, on_true, on_false], |trace, [pred, a, b]| elementwise::select(trace, pred, a, b))
}

pub fn reduce(op: ReduceOp, x: TensorHandle, axes: &[i64], keep_dims: bool) -> Result<TensorHandle> {
    on([x], |trace, [x]| reduction::reduce(trace, op, x, axes, keep_dims))
}
