//! Values that cannot be computed yet: they depend on a placeholder, or on a collective outside of a `shard_map`.

use super::state::DeviceState;
use crate::device_data;
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

    /// Whether a node is computed from tensor data, and depends neither on a placeholder nor on a collective outside of
    /// a `shard_map`. False for constants. Visits all nodes on which the node depends.
    pub fn is_of_data(&self, id: NodeId) -> bool {
        let (mut seen, mut stack) = (FxHashSet::default(), vec![id]);
        let mut has_data = false;
        while let Some(id) = stack.pop() {
            let node = self.trace.node(id);
            match device_data::of_node(&self.trace, node) {
                Some(data) if data.is_placeholder() => return false,
                Some(_) => has_data = true,
                None if self.trace.is_collective(node) => return false,
                None => {
                    stack.extend(self.trace.operands(node).iter().copied().filter(|operand| seen.insert(operand.0)))
                }
            }
        }
        has_data
    }
}
