//! Elementwise operations on tensors: recorded, or evaluated without a trace if the operands are small native arrays of
//! one shape.

use super::record::{record_direct, record_direct_in_place};
use crate::device::TensorHandle;
use crate::error::Result;
use crate::interpret;
use crate::ir::CompareOp;
use crate::native::Array;
use crate::ops::elementwise::{self, BinaryMember, UnaryMember, Uniform};
use crate::types::{DType, ScalarValue, TensorType};

/// Records an elementwise operation of one tensor.
#[inline]
pub fn unary(op: UnaryMember, x: TensorHandle) -> Result<TensorHandle> {
    record_direct(
        [("x", x)],
        |arrays| evaluate(arrays, |dtypes| elementwise::uniform_unary(op, dtypes)),
        |trace, [x]| elementwise::unary_member(trace, op, x),
    )
}

/// Records lhs (op) rhs, with broadcasting and type promotion.
#[inline]
pub fn binary(op: BinaryMember, lhs: TensorHandle, rhs: TensorHandle) -> Result<TensorHandle> {
    record_direct(
        [("lhs", lhs), ("rhs", rhs)],
        |arrays| evaluate(arrays, |dtypes| elementwise::uniform_binary(op, dtypes)),
        |trace, [lhs, rhs]| elementwise::binary_member(trace, op, lhs, rhs),
    )
}

/// Replaces the value of `dst` by dst (op) rhs, which has the type of `dst`.
pub fn binary_in_place(op: BinaryMember, dst: TensorHandle, rhs: TensorHandle) -> Result<()> {
    record_direct_in_place(
        [("dst", dst), ("rhs", rhs)],
        |arrays| evaluate(arrays, |dtypes| elementwise::uniform_binary(op, dtypes)),
        |trace, [dst, rhs]| elementwise::binary_member_in_place(trace, op, dst, rhs),
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
    record_direct(
        [("lhs", lhs)],
        |arrays| evaluate(arrays, |dtypes| elementwise::uniform_scalar(op, dtypes, rhs, scalar_on_left)),
        |trace, [lhs]| elementwise::binary_member_scalar(trace, op, lhs, rhs, scalar_on_left),
    )
}

/// Replaces the value of `dst` by the result that [`binary_scalar`] has for it.
pub fn binary_scalar_in_place(
    op: BinaryMember,
    dst: TensorHandle,
    rhs: ScalarValue,
    scalar_on_left: bool,
) -> Result<()> {
    record_direct_in_place(
        [("dst", dst)],
        |arrays| evaluate(arrays, |dtypes| elementwise::uniform_scalar(op, dtypes, rhs, scalar_on_left)),
        |trace, [dst]| elementwise::binary_member_scalar(trace, op, dst, rhs, scalar_on_left),
    )
}

/// Records a comparison, with broadcasting and type promotion; the result is pred.
#[inline]
pub fn compare(op: CompareOp, lhs: TensorHandle, rhs: TensorHandle) -> Result<TensorHandle> {
    record_direct(
        [("lhs", lhs), ("rhs", rhs)],
        |arrays| evaluate(arrays, |dtypes| elementwise::uniform_compare(op, dtypes)),
        |trace, [lhs, rhs]| elementwise::compare(trace, op, lhs, rhs),
    )
}

/// Records `pred ? on_true : on_false`, with broadcasting and type promotion.
#[inline]
pub fn select(pred: TensorHandle, on_true: TensorHandle, on_false: TensorHandle) -> Result<TensorHandle> {
    record_direct(
        [("pred", pred), ("on_true", on_true), ("on_false", on_false)],
        |arrays| evaluate(arrays, elementwise::uniform_select),
        |trace, [pred, on_true, on_false]| elementwise::select(trace, pred, on_true, on_false),
    )
}

/// Evaluates the operation that `uniform` returns for the dtypes of the arrays. Returns None if it returns none, or if
/// the arrays differ in shape.
#[inline]
fn evaluate<const N: usize>(
    arrays: [&Array; N],
    uniform: impl FnOnce([DType; N]) -> Option<Uniform>,
) -> Option<Result<Array>> {
    let dims = &arrays[0].ty().dims;
    if arrays[1..].iter().any(|array| !array.ty().dims.iter().eq(dims)) {
        return None;
    }
    let Uniform { op, scalar, dtype } = uniform(arrays.map(|array| array.ty().dtype))?;
    let run = |ty| interpret::evaluate(op, ty, &[], scalar, &arrays);
    Some(match arrays.iter().find(|array| array.ty().dtype == dtype) {
        Some(like) => run(like.ty()),
        None => run(&TensorType::new(dtype, dims)),
    })
}
