//! Remembered result types: for operations whose result type depends on the types of their operands alone. A training
//! step repeats the same few combinations of types, and shapes of a trace are interned, so that a lookup compares some
//! integers where inference builds shapes.

use super::op::Op;
use super::trace::{NodeId, ShapeId, Trace};
use crate::types::DType;

/// Maximum number of operands of an operation that is remembered.
const MOST_OPERANDS: usize = 3;

/// Number of entries. An inference replaces the one whose hash is the same.
const ENTRIES: usize = 128;

/// Dtype and shape of a node.
type Type = (DType, ShapeId);

#[derive(Clone, Copy)]
struct Inference {
    op: Op,
    operands: [Option<Type>; MOST_OPERANDS],
    result: Type,
}

/// Result types by operation and types of the operands. Empty until the first is remembered.
#[derive(Default)]
pub(super) struct Inferences(Vec<Option<Inference>>);

impl Trace {
    /// Result type of an operation on operands of these types, if it was remembered.
    #[inline]
    pub fn inferred<const N: usize>(&self, op: Op, operands: [NodeId; N]) -> Option<(DType, ShapeId)> {
        let operands = self.types_of(operands);
        let entry = self.inferences.0.get(index(op, operands))?.as_ref()?;
        (entry.op == op && entry.operands == operands).then_some(entry.result)
    }

    /// Remembers the result type of an operation, which depends on the operation and the types of its operands only.
    pub fn remember_inference<const N: usize>(&mut self, op: Op, operands: [NodeId; N], result: (DType, ShapeId)) {
        let operands = self.types_of(operands);
        if self.inferences.0.is_empty() {
            self.inferences.0.resize(ENTRIES, None);
        }
        self.inferences.0[index(op, operands)] = Some(Inference { op, operands, result });
    }

    #[inline]
    fn types_of<const N: usize>(&self, operands: [NodeId; N]) -> [Option<Type>; MOST_OPERANDS] {
        const { assert!(N <= MOST_OPERANDS) };
        let mut types = [None; MOST_OPERANDS];
        for (ty, id) in types.iter_mut().zip(operands) {
            let node = self.node(id);
            *ty = Some((node.dtype, node.shape));
        }
        types
    }
}

#[inline]
fn index(op: Op, operands: [Option<Type>; MOST_OPERANDS]) -> usize {
    let mut hash = op.code();
    for (dtype, shape) in operands.into_iter().flatten() {
        hash = (hash.rotate_left(5) ^ (shape.0 << 5 | dtype as u32)).wrapping_mul(0x9E37_79B9);
    }
    hash as usize >> (u32::BITS - ENTRIES.trailing_zeros())
}

#[cfg(test)]
mod tests {
    use super::super::members::BinaryOp;
    use super::*;
    use crate::types::TensorType;

    #[test]
    fn a_type_is_remembered_for_its_operation_and_operands() {
        let mut trace = Trace::new();
        let [a, b, c] = [(DType::F32, 2), (DType::F32, 3), (DType::S32, 2)]
            .map(|(dtype, size)| trace.parameter(TensorType::new(dtype, &[size])));
        let (add, sub) = (Op::Binary(BinaryOp::Add), Op::Binary(BinaryOp::Subtract));
        let result = (DType::F32, trace.node(b).shape);
        trace.remember_inference(add, [a, b], result);
        assert_eq!(trace.inferred(add, [a, b]), Some(result));
        assert_eq!(trace.inferred(sub, [a, b]), None);
        assert_eq!(trace.inferred(add, [b, a]), None);
        assert_eq!(trace.inferred(add, [c, b]), None);
        assert_eq!(trace.inferred(add, [a]), None);
        drop(trace.clear());
        let [a, b] = [2, 3].map(|size| trace.parameter(TensorType::new(DType::F32, &[size])));
        assert_eq!(trace.inferred(add, [a, b]), Some(result));
    }
}
