//! Calls of kernels with effects that were recorded and not made yet. The last result of such a call is a tensor of the
//! device's own, so that the next step makes the call; it is released when it has a value.

use super::state::DeviceState;
use super::table::Value;
use super::{Device, TensorHandle, release};
use crate::ir::{NodeId, Op};

impl DeviceState {
    /// Nodes of the last results of calls that were not made yet, in recording order.
    pub fn pending_effects(&self) -> Vec<NodeId> {
        self.effects.iter().filter_map(|&handle| self.pending_effect(handle)).collect()
    }

    fn pending_effect(&self, handle: TensorHandle) -> Option<NodeId> {
        match self.value(self.check("", handle).ok()?) {
            Value::Pending(id) if self.trace.node(*id).op != Op::Leaf => Some(*id),
            Value::Pending(_) | Value::Native(_) | Value::Data(_) => None,
        }
    }

    /// Removes the calls with these nodes: a computation makes them. The caller releases the tensors.
    #[must_use]
    pub fn take_effects(&mut self, nodes: &[NodeId]) -> Vec<TensorHandle> {
        let effects = std::mem::take(&mut self.effects);
        let is_taken = |handle: &TensorHandle| self.pending_effect(*handle).is_some_and(|id| nodes.contains(&id));
        let (taken, kept) = effects.into_iter().partition(is_taken);
        self.effects = kept;
        taken
    }
}

impl Device {
    /// Keeps the last result of a call until it has a value.
    pub fn keep_effect(&'static self, done: TensorHandle) {
        self.state().effects.push(done);
        // On cpu, the call has been made, unless it waits for a placeholder.
        self.release_effects(false);
    }

    /// Releases the last results of the calls that were made; with `all`, those of the others, too, which are then
    /// never made.
    pub fn release_effects(&'static self, all: bool) {
        let mut state = self.state();
        if state.effects.is_empty() {
            return;
        }
        let effects = std::mem::take(&mut state.effects);
        let is_waiting = |handle: &TensorHandle| !all && state.pending_effect(*handle).is_some();
        let (waiting, done): (Vec<TensorHandle>, Vec<TensorHandle>) = effects.into_iter().partition(is_waiting);
        state.effects = waiting;
        drop(state);
        done.into_iter().for_each(|handle| drop(release(handle)));
    }
}
