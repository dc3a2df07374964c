//! Values that cannot be computed yet: they depend on a placeholder, or on a collective that no `shard_map` applies.

use super::state::DeviceState;
use crate::device_data::{self, DeviceData};
use crate::error::Result;
use crate::ir::NodeId;
use crate::mesh::Mesh;
use rustc_hash::FxHashSet;
use std::sync::Arc;

impl DeviceState {
    /// Mesh of the device, or an error that names the argument.
    pub fn mesh(&self, argument: &str) -> Result<&Arc<Mesh>> {
        self.owner()?.mesh(argument)
    }

    /// Whether a node depends on a placeholder or on a collective outside `shard_map`. Visits everything on which the
    /// node depends.
    pub fn is_unbound(&self, id: NodeId) -> bool {
        let (mut seen, mut stack) = (FxHashSet::default(), vec![id]);
        while let Some(id) = stack.pop() {
            let node = self.trace.node(id);
            let is_placeholder = device_data::of_node(&self.trace, node).is_some_and(DeviceData::is_placeholder);
            if is_placeholder || self.trace.is_collective(node) {
                return true;
            }
            stack.extend(self.trace.operands(node).iter().copied().filter(|operand| seen.insert(operand.0)));
        }
        false
    }
}
