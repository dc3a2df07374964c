//! Remembered result types: for operations whose result type depends on the types of their operands alone. A training
//! step repeats the same few combinations of types, and shapes of a trace are interned, so that a lookup compares some
//! integers where inference builds shapes.

use super::op::Op;
use crate::types::DType;

/// Maximum number of operands of an operation that is remembered.
const MOST_OPERANDS: usize = 3;

/// Number of entries. An inference replaces the one whose hash is the same.
const ENTRIES: usize = 128;

/// Dtype of a node, and number of its shape in the trace.
pub type Type = (DType, u32);

#[derive(Clone, Copy)]
struct Inference {
    op: Op,
    operands: [Option<Type>; MOST_OPERANDS],
    result: Type,
}

/// Result types by operation and types of the operands. Empty until the first is remembered.
#[derive(Default)]
pub struct Inferences(Vec<Option<Inference>>);

impl Inferences {
    /// Result type of an operation on operands of these types, if it was remembered.
    #[inline]
    pub fn get<const N: usize>(&self, op: Op, operands: [Type; N]) -> Option<Type> {
        let operands = padded(operands);
        let entry = self.0.get(index(op, operands))?.as_ref()?;
        (entry.op == op && entry.operands == operands).then_some(entry.result)
    }

    /// Remembers the result type of an operation.
    pub fn insert<const N: usize>(&mut self, op: Op, operands: [Type; N], result: Type) {
        let operands = padded(operands);
        if self.0.is_empty() {
            self.0.resize(ENTRIES, None);
        }
        self.0[index(op, operands)] = Some(Inference { op, operands, result });
    }
}

#[inline]
fn padded<const N: usize>(operands: [Type; N]) -> [Option<Type>; MOST_OPERANDS] {
    const { assert!(N <= MOST_OPERANDS) };
    let mut padded = [None; MOST_OPERANDS];
    padded.iter_mut().zip(operands).for_each(|(to, from)| *to = Some(from));
    padded
}

#[inline]
fn index(op: Op, operands: [Option<Type>; MOST_OPERANDS]) -> usize {
    let mut hash = op.code();
    for (dtype, shape) in operands.into_iter().flatten() {
        hash = (hash.rotate_left(5) ^ (shape << 5 | dtype as u32)).wrapping_mul(0x9E37_79B9);
    }
    hash as usize >> (u32::BITS - ENTRIES.trailing_zeros())
}

#[cfg(test)]
mod tests {
    use super::super::members::BinaryOp;
    use super::*;

    #[test]
    fn a_type_is_remembered_for_its_operation_and_operands() {
        let mut known = Inferences::default();
        let [a, b, c] = [(DType::F32, 0), (DType::F32, 1), (DType::S32, 0)];
        let (add, sub) = (Op::Binary(BinaryOp::Add), Op::Binary(BinaryOp::Subtract));
        assert_eq!(known.get(add, [a, b]), None);
        known.insert(add, [a, b], b);
        assert_eq!(known.get(add, [a, b]), Some(b));
        assert_eq!(known.get(sub, [a, b]), None);
        assert_eq!(known.get(add, [b, a]), None);
        assert_eq!(known.get(add, [c, b]), None);
        assert_eq!(known.get(add, [a]), None);
        assert_eq!(known.get(add, [a, b, b]), None);
    }

    #[test]
    fn more_types_than_entries_replace_each_other() {
        let mut known = Inferences::default();
        for shape in 0..4 * ENTRIES as u32 {
            known.insert(Op::Matmul, [(DType::F32, shape)], (DType::F32, shape + 1));
            assert_eq!(known.get(Op::Matmul, [(DType::F32, shape)]), Some((DType::F32, shape + 1)));
        }
        let found = |shape: u32| known.get(Op::Matmul, [(DType::F32, shape)]);
        assert!((0..4 * ENTRIES as u32).all(|shape| found(shape).is_none_or(|found| found == (DType::F32, shape + 1))));
    }
}
