//! Which operations take types of 2 and 4 bits. Arithmetic on them is recorded in their wide type; an operation that
//! neither moves nor converts elements, and was not recorded so, is refused.

use super::op::Op;
use super::trace::{NodeId, Trace};
use base::error;
use base::error::Result;
use base::types::DType;

impl Op {
    /// Whether the operation is evaluated and lowered for types of 2 and 4 bits: it moves elements, converts them, or
    /// applies computations.
    fn takes_subbyte(self) -> bool {
        matches!(
            self,
            Op::Leaf
                | Op::Full
                | Op::Select
                | Op::Convert
                | Op::BitcastConvert
                | Op::Reshape
                | Op::BroadcastTo
                | Op::Transpose
                | Op::Reverse
                | Op::Slice
                | Op::Concatenate
                | Op::DynamicSlice
                | Op::DynamicUpdateSlice
                | Op::Take
                | Op::Pad
                | Op::Gather
                | Op::Scatter
                | Op::Sort
                | Op::ReduceWith
                | Op::ReduceWindow
                | Op::Call
                | Op::While
                | Op::If
                | Op::Case
                | Op::Scan
                | Op::Custom
                | Op::Result
                | Op::StopGradient
                | Op::CheckpointName
                | Op::OptimizationBarrier
                | Op::ShardingConstraint
                | Op::ShardMap
                | Op::AllGather
                | Op::AllToAll
                | Op::CollectivePermute
        )
    }
}

impl Trace {
    /// Returns an error if an operation recorded since the last call has an operand or a result of a type of 2 or 4 bits
    /// and does not take it.
    #[inline]
    pub fn check_subbyte(&mut self) -> Result<()> {
        if !self.has_subbyte {
            return Ok(());
        }
        let first = std::mem::replace(&mut self.subbyte_checked, self.nodes.len());
        (first..self.nodes.len()).try_for_each(|id| self.check_types(NodeId(id as u32)))
    }

    /// Returns an error if one of these operations does not take its operands or its result because of their types of 2
    /// or 4 bits.
    pub(super) fn check_subbyte_of(&self, ids: &[NodeId]) -> Result<()> {
        if self.has_subbyte { ids.iter().try_for_each(|&id| self.check_types(id)) } else { Ok(()) }
    }

    fn check_types(&self, id: NodeId) -> Result<()> {
        let node = self.node(id);
        // A result is of the operation that has it.
        let op = if node.op == Op::Result { self.node(self.operands(node)[0]).op } else { node.op };
        if op.takes_subbyte() {
            return Ok(());
        }
        let operands = self.operands(node).iter().map(|&operand| self.node(operand).dtype);
        match operands.chain([node.dtype]).find(|dtype| dtype.is_subbyte()) {
            Some(dtype) => Err(refused(op, dtype)),
            None => Ok(()),
        }
    }
}

#[cold]
fn refused(op: Op, dtype: DType) -> base::error::Error {
    error!(
        InvalidArgument,
        "{op:?} does not take {dtype}, which is stored, moved, compared and converted, and has elementwise arithmetic \
         and reductions; convert it to {} first",
        dtype.wide()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::types::TensorType;

    #[test]
    fn operations_that_compute_on_few_bits_are_refused_once() {
        let mut trace = Trace::new();
        let x = trace.parameter(TensorType::new(DType::S4, &[2]));
        let shape = trace.node(x).shape;
        let moved = trace.operation(Op::Reverse, DType::S4, shape, &[x]);
        assert!(trace.check_subbyte().is_ok());
        trace.operation(Op::Matmul, DType::S32, shape, &[moved, moved]);
        let error = trace.check_subbyte().unwrap_err();
        assert!(error.message.contains("Matmul does not take s4") && error.message.contains("to s8"), "{error}");
        trace.operation(Op::Convert, DType::S8, shape, &[moved]);
        assert!(trace.check_subbyte().is_ok(), "what was refused is not checked again");
        let bits = trace.application(Op::RngBitGenerator, &[moved], &0usize, &[], &[TensorType::new(DType::U4, &[2])]);
        assert!(!bits.is_empty() && trace.check_subbyte().is_err(), "the results of an operation are its own");
    }
}
