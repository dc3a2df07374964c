//! Which output takes over which donor's memory. XLA is told the pair where one output is an update of the donor (so that
//! it runs in place); elsewhere it is left to XLA. Depends on the program and its donors alone, which are in the key.

use crate::ir::Instruction;

/// What XLA is told of a donor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Donation {
    /// `tf.aliasing_output`: this output is to be written over it.
    Output(usize),
    /// `jax.buffer_donor`: its memory may be used for any output.
    Any,
}

/// How far from an output its donor is searched.
const REACH: usize = 64;

/// For each donor (a position in `values`), what to tell XLA. No output is named twice: that would be a compile error.
pub fn pair(values: &[Instruction], outputs: &[usize], donors: &[usize]) -> Vec<Donation> {
    let mut pairs = vec![Donation::Any; donors.len()];
    if donors.is_empty() {
        return pairs;
    }
    for (output, &position) in outputs.iter().enumerate() {
        let free = |candidate: usize| {
            let slot = donors.binary_search(&candidate).ok()?;
            (pairs[slot] == Donation::Any).then_some(slot)
        };
        if let Some(slot) = nearest(values, position, free) {
            pairs[slot] = Donation::Output(output);
        }
    }
    pairs
}

/// The nearest free donor from which the value at `position` is made elementwise, in its own type: breadth first, so that
/// in `p - lr * (mu * v + g)` it is `p`.
fn nearest(values: &[Instruction], position: usize, free: impl Fn(usize) -> Option<usize>) -> Option<usize> {
    let ty = &values[position].ty;
    let mut queue = vec![position];
    let mut next = 0;
    while next < queue.len() && next < REACH {
        let value = &values[queue[next]];
        next += 1;
        if !value.op.is_elementwise() {
            continue;
        }
        for &operand in value.operands.iter().filter(|&&operand| values[operand].ty == *ty) {
            if let Some(slot) = free(operand) {
                return Some(slot);
            }
            if !queue.contains(&operand) {
                queue.push(operand);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{BinaryOp, Op};
    use crate::types::{DType, TensorType};

    fn value(op: Op, operands: &[usize]) -> Instruction {
        let ty = TensorType::new(DType::F32, &[4]);
        Instruction { op, ty, operands: operands.to_vec(), attributes: vec![] }
    }

    #[test]
    fn a_momentum_step_updates_each_buffer_in_its_own_place() {
        let values = [
            value(Op::Leaf, &[]), // 0: v
            value(Op::Leaf, &[]), // 1: g
            value(Op::BinaryScalar(BinaryOp::Multiply), &[0]),
            value(Op::Binary(BinaryOp::Add), &[2, 1]), // 3: v' = mu * v + g
            value(Op::Leaf, &[]),                      // 4: p
            value(Op::BinaryScalar(BinaryOp::Multiply), &[3]),
            value(Op::Binary(BinaryOp::Subtract), &[4, 5]), // 6: p' = p - lr * v'
        ];
        assert_eq!(pair(&values, &[3, 6], &[0, 4]), [Donation::Output(0), Donation::Output(1)]);
    }

    #[test]
    fn no_output_is_named_twice_and_strangers_are_left_to_xla() {
        let values = [
            value(Op::Leaf, &[]),
            value(Op::Leaf, &[]),
            value(Op::Binary(BinaryOp::Add), &[0, 1]),
            value(Op::Leaf, &[]),
            value(Op::Matmul, &[3, 3]),
        ];
        assert_eq!(pair(&values, &[2, 4], &[0, 1, 3]), [Donation::Output(0), Donation::Any, Donation::Any]);
    }
}
