//! JAX's random bits on GPUs: a custom call of the block cipher Threefry-2x32 (Salmon et al., "Parallel random numbers:
//! as easy as 1, 2, 3", 2011) with 20 rounds, for each element of arrays. Programs for CPUs have it as operations.

use super::{Call, Results};
use base::error;
use base::error::Result;
use base::types::{DType, ScalarValue};
use ir::{BinaryOp, NodeId, Trace};

/// Bits by which the four rounds of a group rotate, in groups of even and of odd number.
const ROTATIONS: [[u64; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];

/// Parity constant of the third word of the key.
const PARITY: u64 = 0x1bd1_1bda;

/// The two words of the cipher, for arrays of two words of the key and two of the counter. Further operands are the
/// length of arrays of free size.
pub fn threefry2x32(mut call: Call) -> Result<Results> {
    let (words, _) = call.at_least::<4>()?;
    let ty = call.common(&words)?;
    if ty.dtype != DType::U32 {
        return Err(error!(InvalidArgument, "operands of type {ty}; want u32"));
    }
    let trace = call.trace();
    let [first, second, mut x, mut y] = words;
    let mixed = ops::elementwise::binary(trace, BinaryOp::Xor, first, second)?;
    let keys = [first, second, with_word(trace, BinaryOp::Xor, mixed, PARITY)?];
    x = ops::elementwise::binary(trace, BinaryOp::Add, x, first)?;
    y = ops::elementwise::binary(trace, BinaryOp::Add, y, second)?;
    for group in 0..5 {
        for bits in ROTATIONS[group % 2] {
            x = ops::elementwise::binary(trace, BinaryOp::Add, x, y)?;
            let rotated = rotated(trace, y, bits)?;
            y = ops::elementwise::binary(trace, BinaryOp::Xor, x, rotated)?;
        }
        x = ops::elementwise::binary(trace, BinaryOp::Add, x, keys[(group + 1) % 3])?;
        let key = with_word(trace, BinaryOp::Add, keys[(group + 2) % 3], group as u64 + 1)?;
        y = ops::elementwise::binary(trace, BinaryOp::Add, y, key)?;
    }
    Ok([x, y].into_iter().collect())
}

fn rotated(trace: &mut Trace, x: NodeId, bits: u64) -> Result<NodeId> {
    let left = with_word(trace, BinaryOp::ShiftLeft, x, bits)?;
    let right = with_word(trace, BinaryOp::ShiftRightLogical, x, 32 - bits)?;
    ops::elementwise::binary(trace, BinaryOp::Or, left, right)
}

fn with_word(trace: &mut Trace, op: BinaryOp, x: NodeId, word: u64) -> Result<NodeId> {
    ops::elementwise::binary_scalar(trace, op, x, ScalarValue::Unsigned(word), false)
}
