//! Lengths of the chains of operations that a compiler may fuse to one loop.

use super::op::Op;

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

/// Returns the length of the longest chain of operations that ends with a value of this operation. Fusible operations
/// continue the chains of their operands, others begin anew. The value counts as a number of operations; `before` are
/// the lengths of the values before it, and `inside` returns the longest chain of the bodies that it applies.
pub fn length(
    op: Op,
    operands: &[usize],
    before: &[usize],
    operations: usize,
    inside: impl FnOnce() -> usize,
) -> usize {
    let longest = || operands.iter().map(|&operand| before[operand]).max().unwrap_or(0);
    match op {
        Op::Result => longest(),
        // Compilers inline calls.
        Op::Call | Op::Custom => longest().saturating_add(inside()),
        // The update of a large array stays in its place: what is computed for it does not make a long chain of the array.
        Op::DynamicUpdateSlice => before[operands[0]].saturating_add(1),
        op if is_fusible(op) => longest().saturating_add(operations),
        _ => 0,
    }
}
