//! Values that cannot be computed yet: they depend on a placeholder, or on a collective outside of a `shard_map`.

use super::scopes;
use super::state::DeviceState;
use crate::device_data;
use ir::NodeId;
use std::ops::ControlFlow;

impl DeviceState {
    /// Whether a node is computed from tensor data, and depends neither on a placeholder nor on a collective outside of
    /// a `shard_map`. False for constants. Visits all nodes on which the node depends.
    pub fn is_of_data(&self, id: NodeId) -> bool {
        let mut has_data = false;
        let is_unbound = self.trace.search(&[id], |_, node| match device_data::of_node(&self.trace, node) {
            Some(data) if data.is_placeholder() && !scopes::is_stand_in(data) => ControlFlow::Break(()),
            Some(_) => {
                has_data = true;
                ControlFlow::Continue(false)
            }
            None if self.trace.is_collective(node) => ControlFlow::Break(()),
            None => ControlFlow::Continue(true),
        });
        has_data && !is_unbound
    }
}
