//! Operations on cpu that depend on a placeholder. They are recorded as on an XLA device; the arrays of their eager
//! operands become leaves of the trace.

use super::TensorHandle;
use super::state::{DeferredDrop, DeviceState};
use crate::device_data::{self, DeviceData};
use crate::error::Result;
use crate::ir::{NONE, NodeId, Op};
use crate::native::Array;
use rustc_hash::FxHashSet;

impl DeviceState {
    /// Returns the leaf of an array.
    #[cold]
    pub(super) fn leaf_of(&mut self, array: &Array) -> NodeId {
        let data = self.evaluation.leaf_data(array);
        self.trace.leaf(&data)
    }

    /// Whether a cpu node that was just recorded depends on a placeholder. Nodes that are values of tensors always do,
    /// so the search is limited to the nodes recorded by the current call.
    #[inline]
    pub fn waits(&self, id: NodeId) -> bool {
        self.recorded > 0 && self.needs_placeholder(id)
    }

    #[cold]
    fn needs_placeholder(&self, id: NodeId) -> bool {
        let (mut seen, mut stack) = (FxHashSet::default(), vec![id]);
        while let Some(id) = stack.pop() {
            let node = self.trace.node(id);
            if node.op == Op::Leaf {
                if device_data::of_node(&self.trace, node).is_some_and(DeviceData::is_placeholder) {
                    return true;
                }
            } else if self.trace.holder(id) != NONE {
                return true;
            } else {
                let operands = self.trace.operands(node).iter();
                stack.extend(operands.copied().filter(|operand| seen.insert(operand.0)));
            }
        }
        false
    }

    /// Returns a new cpu tensor whose value is a node that depends on a placeholder. Ids of other nodes remain valid.
    pub fn new_waiting(&mut self, id: NodeId) -> Result<TensorHandle> {
        let made = self.new_tensor_at(id);
        self.keep_recorded();
        made
    }

    /// Replaces the value of a cpu tensor by a node that depends on a placeholder.
    pub fn set_waiting(&mut self, slot: u32, id: NodeId) -> DeferredDrop {
        let garbage = self.set_value(slot, id);
        self.keep_recorded();
        garbage
    }
}
