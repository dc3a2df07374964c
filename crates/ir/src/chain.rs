//! Lengths of the chains of operations that a compiler may fuse to one loop.

use super::op::Op;
use super::program::Instruction;

/// Whether a compiler may compute the operation in one loop with the operations that compute its operands.
fn is_fusible(op: Op) -> bool {
    let is_of_elements = matches!(
        op,
        Op::Unary(_)
            | Op::Binary(_)
            | Op::BinaryScalar(_)
            | Op::ScalarBinary(_)
            | Op::Compare(_)
            | Op::UnaryFunction(_)
            | Op::BinaryFunction(_)
            | Op::Special(_)
            | Op::Select
            | Op::Clamp
            | Op::Convert
            | Op::BitcastConvert
            | Op::ReducePrecision
            | Op::Complex
            | Op::Real
            | Op::Imag
            | Op::StopGradient
            | Op::CheckpointName
            | Op::OptimizationBarrier
    );
    let is_of_places = matches!(
        op,
        Op::Reshape
            | Op::BroadcastTo
            | Op::Transpose
            | Op::Reverse
            | Op::Slice
            | Op::Pad
            | Op::Concatenate
            | Op::DynamicSlice
            | Op::Gather
            | Op::Take
    );
    is_of_elements || is_of_places
}

/// Returns the length of the longest chain of operations that ends with the value at a position. Fusible operations
/// continue the chains of their operands, others begin anew. The value counts as a number of operations; `before` are
/// the lengths of the values before it.
pub fn chain_length(values: &[Instruction], before: &[usize], position: usize, operations: usize) -> usize {
    let value = &values[position];
    let longest = value.operands.iter().map(|&operand| before[operand]).max().unwrap_or(0);
    match value.op {
        Op::Result => longest,
        // Compilers inline calls.
        Op::Call | Op::Custom => {
            let inside = value.bodies.iter().map(|body| body.chain()).max().unwrap_or(0);
            longest.saturating_add(inside)
        }
        // The update of a large array stays in its place: what is computed for it does not make a long chain of the array.
        Op::DynamicUpdateSlice => before[value.operands[0]].saturating_add(1),
        op if is_fusible(op) => longest.saturating_add(operations),
        _ => 0,
    }
}

/// Returns the length of the longest chain that ends with one of the values at `results`. Each operation counts once.
pub(super) fn longest_chain(values: &[Instruction], results: &[usize]) -> usize {
    let mut lengths = Vec::with_capacity(values.len());
    for position in 0..values.len() {
        lengths.push(chain_length(values, &lengths, position, 1));
    }
    results.iter().map(|&result| lengths[result]).max().unwrap_or(0)
}
