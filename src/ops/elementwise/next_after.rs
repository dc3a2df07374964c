//! The next representable number after a float.

use crate::error::Result;
use crate::ir::{BinaryOp, CompareOp, NodeId, UnaryOp};
use crate::ops::elementwise::bits::bitcast_convert;
use crate::ops::elementwise::compare_select::{compare, compare_scalar};
use crate::ops::elementwise::formula::Formula;
use crate::types::{DType, ScalarValue};

/// Records the next number after `x` in the direction of `y`, for floats of one dtype of 16 bits or more: `y` where
/// they are equal, NaN where either is NaN. Computes with the bits as integers, because XLA treats denormal numbers as
/// 0.
pub fn next_after(f: &mut Formula, x: NodeId, y: NodeId) -> Result<NodeId> {
    let dtype = f.trace.node(x).dtype;
    let (bits, infinity) = match dtype {
        DType::F16 => (DType::S16, 0x7C00),
        DType::BF16 => (DType::S16, 0x7F80),
        DType::F32 => (DType::S32, 0x7F80_0000),
        _ => (DType::S64, 0x7FF0_0000_0000_0000),
    };
    let (x, y) = (bitcast_convert(f.trace, x, bits)?, bitcast_convert(f.trace, y, bits)?);
    let sign = i64::MIN >> (64 - 8 * dtype.size_bytes());
    let (x_size, y_size) = (masked(f, x, !sign)?, masked(f, y, !sign)?);
    let (x_place, y_place) = (place(f, x, x_size)?, place(f, y, y_size)?);

    // A step up increases the magnitude unless x is negative. From 0, the step leads to the smallest magnitude with the
    // sign of y.
    let is_up = compare(f.trace, CompareOp::Lt, x_place, y_place)?;
    let is_negative = compare_scalar(f.trace, CompareOp::Lt, x, ScalarValue::Signed(0), false)?;
    let is_away = f.binary(BinaryOp::Xor, is_up, is_negative)?;
    let one = ScalarValue::Signed(1);
    let (away, back) = (f.with_scalar(BinaryOp::Add, x, one)?, f.with_scalar(BinaryOp::Subtract, x, one)?);
    let step = f.select(is_away, away, back)?;
    let y_sign = masked(f, y, sign)?;
    let least = f.with_scalar(BinaryOp::Or, y_sign, one)?;
    let is_zero = compare_scalar(f.trace, CompareOp::Eq, x_size, ScalarValue::Signed(0), false)?;
    let step = f.select(is_zero, least, step)?;

    let are_equal = compare(f.trace, CompareOp::Eq, x_place, y_place)?;
    let next = f.select(are_equal, y, step)?;
    let next = nan_of(f, y, y_size, infinity, next)?;
    let next = nan_of(f, x, x_size, infinity, next)?;
    bitcast_convert(f.trace, next, dtype)
}

fn masked(f: &mut Formula, bits: NodeId, mask: i64) -> Result<NodeId> {
    f.with_scalar(BinaryOp::And, bits, ScalarValue::Signed(mask))
}

/// Records an integer key in the order of the floats; it is 0 for both zeros.
fn place(f: &mut Formula, bits: NodeId, size: NodeId) -> Result<NodeId> {
    let opposite = f.unary(UnaryOp::Negate, size)?;
    let is_negative = compare_scalar(f.trace, CompareOp::Lt, bits, ScalarValue::Signed(0), false)?;
    f.select(is_negative, opposite, size)
}

/// Records `bits` where they encode NaN, and `other` elsewhere.
fn nan_of(f: &mut Formula, bits: NodeId, size: NodeId, infinity: i64, other: NodeId) -> Result<NodeId> {
    let is_nan = compare_scalar(f.trace, CompareOp::Gt, size, ScalarValue::Signed(infinity), false)?;
    f.select(is_nan, bits, other)
}
