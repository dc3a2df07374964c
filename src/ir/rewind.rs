//! Truncation of a trace to an earlier state.

use super::leaf::LeafData;
use super::trace::Trace;
use std::sync::Arc;

/// Position in a trace to which it can be truncated.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mark {
    nodes: usize,
    pub(super) spilled: usize,
    pub(super) attributes: usize,
    pub(super) scalars: usize,
    pub(super) leaves: usize,
    pub(super) bodies: usize,
}

impl Mark {
    /// Number of nodes before the mark.
    #[inline]
    pub fn nodes(&self) -> usize {
        self.nodes
    }
}

impl Trace {
    /// Current end of the trace.
    pub fn mark(&self) -> Mark {
        Mark {
            nodes: self.nodes.len(),
            spilled: self.spilled.len(),
            attributes: self.attributes.len(),
            scalars: self.scalars.len(),
            leaves: self.leaves.len(),
            bodies: self.bodies.len(),
        }
    }

    /// Removes everything recorded after a mark. No tensor may have a removed node as its value, and nothing before the
    /// mark may have changed or moved since. The caller drops the returned data without holding a lock.
    #[must_use]
    pub fn rewind(&mut self, mark: Mark) -> Vec<Arc<dyn LeafData>> {
        self.nodes.truncate(mark.nodes);
        self.spilled.truncate(mark.spilled);
        self.attributes.truncate(mark.attributes);
        self.scalars.truncate(mark.scalars);
        self.bodies.truncate(mark.bodies);
        self.forget_shapes();
        self.leaves.split_off(mark.leaves)
    }
}

#[cfg(test)]
mod tests {
    use super::super::leaf::{LeafPlace, Parameter};
    use super::super::members::BinaryOp;
    use super::*;
    use crate::ir::NodeId;
    use crate::ops::{elementwise, shape};
    use crate::types::{DType, ScalarValue, TensorType};

    #[test]
    fn what_came_after_a_mark_is_taken_back_and_can_come_again() {
        let mut trace = Trace::new();
        let data = || Arc::new(Parameter { ty: TensorType::new(DType::F32, &[2]), place: LeafPlace::default() });
        let (first, second) = (data(), data());
        let x = trace.leaf(&first);
        let record = |trace: &mut Trace| -> NodeId {
            let y = trace.leaf(&second);
            let sum = elementwise::binary(trace, BinaryOp::Add, x, y).unwrap();
            let more = elementwise::binary_scalar(trace, BinaryOp::Add, sum, ScalarValue::Float(1.0), false).unwrap();
            shape::concatenate(trace, &[more, sum, x, y], 0).unwrap()
        };
        let mark = trace.mark();
        let made = record(&mut trace);
        assert_eq!(trace.rewind(mark).len(), 1);
        assert_eq!((trace.len(), trace.leaves().len()), (mark.nodes(), 1));
        assert_eq!(trace.leaf(&first), x);
        // The same ids are assigned again, and the removed data becomes a leaf again.
        assert_eq!(record(&mut trace), made);
        assert_eq!(trace.operands(trace.node(made)).len(), 4);
        assert!(std::ptr::addr_eq(Arc::as_ptr(&trace.leaves()[1]), Arc::as_ptr(&second)));
    }
}
