//! Elementwise operations on tensors, recorded, or evaluated without a trace if they are small and native.

use super::record::record_uniform;
use crate::device::TensorHandle;
use crate::error::Result;
use crate::ops::{self, BinaryMember, UnaryMember};
use crate::types::ScalarValue;

/// Records an elementwise operation of one tensor.
#[inline]
pub fn unary(op: UnaryMember, x: TensorHandle) -> Result<TensorHandle> {
    record_uniform([("x", x)], |dtype| ops::uniform_unary(op, dtype), |trace, [x]| ops::unary_member(trace, op, x))
}

/// Records lhs (op) rhs, with broadcasting and type promotion.
#[inline]
pub fn binary(op: BinaryMember, lhs: TensorHandle, rhs: TensorHandle) -> Result<TensorHandle> {
    record_uniform(
        [("lhs", lhs), ("rhs", rhs)],
        |dtype| ops::uniform_binary(op, dtype),
        |trace, [lhs, rhs]| ops::binary_member(trace, op, lhs, rhs),
    )
}

/// Records lhs (op) rhs, or with `scalar_on_left` rhs (op) lhs. The scalar is converted to the tensor's dtype.
#[inline]
pub fn binary_scalar(
    op: BinaryMember,
    lhs: TensorHandle,
    rhs: ScalarValue,
    scalar_on_left: bool,
) -> Result<TensorHandle> {
    record_uniform(
        [("lhs", lhs)],
        |dtype| ops::uniform_scalar(op, dtype, rhs, scalar_on_left),
        |trace, [lhs]| ops::binary_member_scalar(trace, op, lhs, rhs, scalar_on_left),
    )
}
