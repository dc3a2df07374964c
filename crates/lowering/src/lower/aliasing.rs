//! Pairs donors with outputs for XLA's input-output aliasing. A pair is fixed where an output is an update of the
//! donor, so that it runs in place; otherwise the choice is left to XLA. The result depends only on the program and its
//! donors, which are both in the cache key.

use ir::{Instruction, Op};
use ops::{self, InPlace};

/// Donation attribute of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Donation {
    /// `tf.aliasing_output`: this output is written into the donor's memory.
    Output(usize),
    /// `jax.buffer_donor`: the donor's memory may be used for any output.
    Any,
}

/// Maximum number of instructions searched for the donor of an output.
const REACH: usize = 64;

/// Returns the donation attribute of each donor (a position in `values`). No output is paired twice: that would be a
/// compile error.
pub fn pair(values: &[Instruction], outputs: &[usize], donors: &[usize]) -> Vec<Donation> {
    let mut pairs = vec![Donation::Any; donors.len()];
    if donors.is_empty() {
        return pairs;
    }
    // First pairs outputs that update a donor through their first operands (`t = t + ...`), then outputs that reach one
    // through another operand.
    for search in [along_first_operands, breadth_first] {
        for (output, &position) in outputs.iter().enumerate() {
            if pairs.contains(&Donation::Output(output)) {
                continue;
            }
            let free = |candidate: usize| {
                let slot = donors.binary_search(&candidate).ok()?;
                (pairs[slot] == Donation::Any).then_some(slot)
            };
            if let Some(slot) = search(values, position, &free) {
                pairs[slot] = Donation::Output(output);
            }
        }
    }
    pairs
}

/// Maps a position to its index among the donors, if it is a donor that is not paired yet.
type Free<'a> = &'a dyn Fn(usize) -> Option<usize>;

/// Operands whose memory the value at `position` may reuse, as its operation says. They have its type.
fn replaceable(values: &[Instruction], position: usize) -> impl Iterator<Item = usize> + '_ {
    let value = &values[position];
    let operands: &[usize] = match ops::definition(value.op).in_place {
        _ if value.op == Op::Result => start_of(&values[value.operands[0]], value.attributes::<usize>()),
        InPlace::Elementwise => &value.operands,
        InPlace::First => &value.operands[..1],
        InPlace::Never | InPlace::Results(_) => &[],
    };
    operands.iter().copied().filter(move |&operand| values[operand].ty == value.ty)
}

/// Operand that corresponds to a result: the initial value of a loop's carry, the operand of a barrier, or the input of
/// a scatter.
fn start_of(application: &Instruction, result: usize) -> &[usize] {
    match ops::definition(application.op).in_place {
        InPlace::Results(count) if result < count(application) => std::slice::from_ref(&application.operands[result]),
        _ => &[],
    }
}

/// Follows first operands: from `mu * v + g` to `v`, and from `p - lr * v` to `p`.
fn along_first_operands(values: &[Instruction], position: usize, free: Free) -> Option<usize> {
    let mut position = position;
    for _ in 0..REACH {
        let first = replaceable(values, position).next()?;
        let operands = &values[position].operands;
        if values[position].op != Op::Result && operands.first() != Some(&first) {
            return None;
        }
        if values[first].op == Op::Leaf {
            return free(first);
        }
        position = first;
    }
    None
}

/// Finds the nearest free donor: from `g + mu * v` to `v`.
fn breadth_first(values: &[Instruction], position: usize, free: Free) -> Option<usize> {
    let mut queue = vec![position];
    let mut next = 0;
    while next < queue.len() && next < REACH {
        for operand in replaceable(values, queue[next]) {
            if let Some(slot) = free(operand) {
                return Some(slot);
            }
            if !queue.contains(&operand) {
                queue.push(operand);
            }
        }
        next += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::types::{DType, TensorType};
    use ir::{BinaryOp, Words, encode};

    fn value(op: Op, operands: &[usize]) -> Instruction {
        let ty = TensorType::new(DType::F32, &[4]);
        Instruction {
            op,
            ty,
            operands: operands.into(),
            words: Words::new(),
            bodies: vec![],
            label: Default::default(),
        }
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
    fn an_operand_of_another_update_does_not_mislead() {
        let values = [
            value(Op::Leaf, &[]), // 0: v
            value(Op::BinaryScalar(BinaryOp::Multiply), &[0]),
            value(Op::Leaf, &[]),                      // 2: p
            value(Op::Binary(BinaryOp::Add), &[1, 2]), // 3: v' = mu * v + p
            value(Op::BinaryScalar(BinaryOp::Multiply), &[3]),
            value(Op::Binary(BinaryOp::Subtract), &[2, 4]), // 5: p' = p - lr * v'
        ];
        assert_eq!(pair(&values, &[3, 5], &[0, 2]), [Donation::Output(0), Donation::Output(1)]);
        // With the operands swapped: v' = p + mu * v.
        let mut swapped = values.clone();
        swapped[3].operands.reverse();
        assert_eq!(pair(&swapped, &[5, 3], &[0, 2]), [Donation::Output(1), Donation::Output(0)]);
    }

    #[test]
    fn barriers_pass_memory_on() {
        let result = |number: usize| Instruction { words: encode(&number), ..value(Op::Result, &[2]) };
        let values = [
            value(Op::Leaf, &[]),
            value(Op::Leaf, &[]),
            value(Op::OptimizationBarrier, &[0, 1]),
            result(1),
            value(Op::BinaryScalar(BinaryOp::Add), &[3]),
            result(0),
        ];
        assert_eq!(pair(&values, &[4, 5], &[0, 1]), [Donation::Output(1), Donation::Output(0)]);
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
