//! Records operations of `ops` on tensors, as the C functions do.

use lazyxla::testing::device::TensorHandle;
use lazyxla::testing::error::Result;
use lazyxla::testing::ir::{NodeId, ReduceOp, Trace};
use lazyxla::testing::ops::elementwise::{BinaryMember, UnaryMember};
use lazyxla::testing::tensor::{self, Recorded, record};
use lazyxla::testing::types::ScalarValue;

/// Records an operation on tensors.
pub fn on<const N: usize, R: Recorded>(
    tensors: [TensorHandle; N],
    operation: impl FnOnce(&mut Trace, [NodeId; N]) -> Result<R>,
) -> Result<R::Tensors> {
    record(tensors.map(|tensor| ("operand", tensor)), operation)
}

pub fn unary(op: impl Into<UnaryMember>, x: TensorHandle) -> Result<TensorHandle> {
    tensor::unary(op.into(), x)
}

pub fn binary(op: impl Into<BinaryMember>, a: TensorHandle, b: TensorHandle) -> Result<TensorHandle> {
    tensor::binary(op.into(), a, b)
}

/// Records `x (op) scalar`, or `scalar (op) x`.
pub fn binary_scalar(
    op: impl Into<BinaryMember>,
    x: TensorHandle,
    scalar: ScalarValue,
    scalar_on_left: bool,
) -> Result<TensorHandle> {
    tensor::binary_scalar(op.into(), x, scalar, scalar_on_left)
}

pub fn reduce(op: ReduceOp, x: TensorHandle, axes: &[i64], keep_dims: bool) -> Result<TensorHandle> {
    tensor::reduce(op, x, axes, keep_dims)
}
