//! On cpu, operations that wait for a placeholder's value: they are recorded as on an XLA device, and what they need of native
//! tensors are leaves of the trace.

use super::TensorHandle;
use super::state::{DeviceState, Garbage};
use crate::device_data::{DeviceData, State};
use crate::error::Result;
use crate::ir::{NONE, NodeId, Op};
use crate::native::Array;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Arc, Weak};

/// The leaves that arrays have, so that one array is one leaf. As long as a leaf lives, so does its memory, and no other array
/// has its address; what is remembered of leaves that are gone is not found.
#[derive(Default)]
pub struct ArrayLeaves {
    known: FxHashMap<usize, Weak<DeviceData>>,
    prune_at: usize,
}

impl ArrayLeaves {
    fn of(&mut self, array: &Array) -> Arc<DeviceData> {
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
    /// The leaf of an array.
    #[cold]
    pub(super) fn leaf_of(&mut self, array: &Array) -> NodeId {
        let data = self.arrays.of(array);
        self.trace.leaf(&data)
    }

    /// On cpu, whether a node that was just recorded waits for a placeholder's value. The nodes that tensors have do, so
    /// that no more is looked at than one call recorded.
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
                if self.trace.data(node).is_some_and(|data| data.is_placeholder()) {
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

    /// On cpu, a new tensor that waits, with the result of a node as its value. The ids of other nodes hold.
    pub fn new_waiting(&mut self, id: NodeId) -> Result<TensorHandle> {
        let made = self.new_tensor_at(id);
        self.kept = self.trace.mark();
        made
    }

    /// On cpu, gives a tensor the result of a node that waits.
    pub fn set_waiting(&mut self, slot: u32, id: NodeId) -> Garbage {
        let garbage = self.set_value(slot, id);
        self.kept = self.trace.mark();
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
