//! Which pending values a sync computes, and which it cannot.

use crate::device_data::DeviceData;
use crate::ir::{NONE, NodeId, Op, Trace};
use std::sync::Arc;

/// What stands in the way of computing a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// It depends on this leaf, a placeholder: it waits for a value.
    Unbound(NodeId),
    /// It depends on this leaf, whose value is lost: it is lost too.
    Lost(NodeId),
}

/// For every node what stands in its way; empty if nothing stands in any node's way.
pub struct Obstacles(Vec<Option<Obstacle>>);

impl Obstacles {
    /// Looks at all leaves, and only if one is a placeholder or lost at all nodes. Operands come before their users, so
    /// one pass in the order of recording is enough.
    pub fn find(trace: &Trace) -> Obstacles {
        if trace.leaves().iter().all(|data| data.is_sound()) {
            return Obstacles(Vec::new());
        }
        let mut found: Vec<Option<Obstacle>> = Vec::with_capacity(trace.len());
        for id in (0..trace.len() as u32).map(NodeId) {
            let node = trace.node(id);
            let obstacle = match trace.data(node) {
                Some(data) if data.is_sound() => None,
                Some(data) if data.is_placeholder() => Some(Obstacle::Unbound(id)),
                Some(_) => Some(Obstacle::Lost(id)),
                // What is lost is lost, whatever else is missing.
                None => {
                    let of_operands = || trace.operands(node).iter().filter_map(|id| found[id.0 as usize]);
                    of_operands().find(|o| matches!(o, Obstacle::Lost(_))).or_else(|| of_operands().next())
                }
            };
            found.push(obstacle);
        }
        Obstacles(found)
    }

    /// What stands in this node's way.
    pub fn of(&self, id: NodeId) -> Option<Obstacle> {
        self.0.get(id.0 as usize).copied().flatten()
    }

    /// Whether there are none at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The operations that live tensors have as their values, in the order of recording.
pub fn pending(trace: &Trace) -> Vec<NodeId> {
    if trace.pending() == 0 {
        return Vec::new();
    }
    (0..trace.len() as u32).map(NodeId).filter(|&id| is_pending(trace, id)).collect()
}

/// Whether a live tensor has this operation as its value.
pub fn is_pending(trace: &Trace, id: NodeId) -> bool {
    trace.holder(id) != NONE && trace.node(id).op != Op::Leaf
}

/// The data that the nodes in `roots` need, by walking the trace backwards.
pub fn needed_data(trace: &Trace, roots: &[NodeId]) -> Vec<Arc<DeviceData>> {
    let mut needed = vec![false; trace.len()];
    roots.iter().for_each(|id| needed[id.0 as usize] = true);
    let mut data = Vec::new();
    for id in (0..trace.len() as u32).rev().map(NodeId) {
        if !needed[id.0 as usize] {
            continue;
        }
        let node = trace.node(id);
        data.extend(trace.data(node).cloned());
        trace.operands(node).iter().for_each(|operand| needed[operand.0 as usize] = true);
    }
    data
}
