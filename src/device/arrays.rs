//! Operations on cpu that depend on a placeholder. They are recorded as on an XLA device; the arrays of their eager
//! operands become leaves of the trace.

use super::TensorHandle;
use super::state::{DeviceState, Garbage};
use crate::device_data::{self, DeviceData, State};
use crate::error::Result;
use crate::ir::{NONE, NodeId, Op};
use crate::native::Array;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Arc, Weak};

/// Maps arrays to their leaves, so that an array has at most one leaf. A live leaf keeps its memory alive, so that no
/// other array has the same address; entries of dropped leaves are ignored.
#[derive(Default)]
pub struct ArrayLeaves {
    known: FxHashMap<usize, Weak<DeviceData>>,
    prune_at: usize,
}

impl ArrayLeaves {
    pub(super) fn of(&mut self, array: &Array) -> Arc<DeviceData> {
        let address = array.address().addr();
        let known = self.known.get(&address).and_then(Weak::upgrade);
        if let Some(data) = known.filter(|data| data.ty() == array.ty()) {
            return data;
        }
        if self.known.len() >= self.prune_at {
            self.known.retain(|_, data| data.strong_count() > 0);
            self.prune_at = (2 * self.known.len()).max(64);
        }
        let data = DeviceData::new(array.ty().clone(), State::Host(array.clone()));
        self.known.insert(address, Arc::downgrade(&data));
        data
    }
}

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
    pub fn set_waiting(&mut self, slot: u32, id: NodeId) -> Garbage {
        let garbage = self.set_value(slot, id);
        self.keep_recorded();
        garbage
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{DType, TensorType};

    fn array() -> Array {
        Array::from_bytes(&TensorType::new(DType::F32, &[2]), &[0; 8]).unwrap()
    }

    #[test]
    fn one_array_is_one_leaf_as_long_as_the_leaf_lives() {
        let mut leaves = ArrayLeaves::default();
        let (a, b) = (array(), array());
        let first = leaves.of(&a);
        assert!(Arc::ptr_eq(&first, &leaves.of(&a)));
        assert!(!Arc::ptr_eq(&first, &leaves.of(&b)));
        drop(first);
        assert_eq!(leaves.of(&a).ty(), a.ty());
        for _ in 0..1000 {
            leaves.of(&array());
        }
        assert!(leaves.known.len() <= 128, "{}", leaves.known.len());
    }
}
