//! Collects the pending values that a sync computes, and finds those that cannot be computed.

use crate::device_data::{self, DeviceData};
use base::error;
use base::error::Error;
use ir::{NONE, Node, NodeId, Op, Trace};
use ops::{self, mesh};
use std::sync::Arc;

/// Reason why a node cannot be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The node depends on this node: a placeholder without a value, a collective outside `shard_map`, or a call that
    /// belongs to a trace.
    Unbound(NodeId),
    /// The node depends on this leaf, whose value is lost, so that the node is lost too.
    Lost(NodeId),
}

/// Obstacle of each node, by node number. Empty if every node can be computed.
pub struct Obstacles(Vec<Option<Obstacle>>);

impl Obstacles {
    /// Finds the obstacles of all nodes. Visits nodes only if a leaf is a placeholder or lost, or if there are
    /// collectives. Operands come before their users, so one pass in recording order is enough.
    pub fn find(trace: &Trace) -> Obstacles {
        let is_sound = trace.leaves().iter().filter_map(device_data::of_leaf).all(DeviceData::is_sound);
        if is_sound && !trace.has_collectives() && !trace.has_traced() {
            return Obstacles(Vec::new());
        }
        let mut found: Vec<Option<Obstacle>> = Vec::with_capacity(trace.len());
        for id in (0..trace.len() as u32).map(NodeId) {
            let node = trace.node(id);
            let obstacle = match device_data::of_node(trace, node) {
                Some(data) if data.is_sound() => None,
                Some(data) if data.is_placeholder() => Some(Obstacle::Unbound(id)),
                Some(_) => Some(Obstacle::Lost(id)),
                // A lost operand takes precedence over an unbound one.
                None => {
                    let of_operands = || trace.operands(node).iter().filter_map(|id| found[id.0 as usize]);
                    let of_operands =
                        of_operands().find(|o| matches!(o, Obstacle::Lost(_))).or_else(|| of_operands().next());
                    of_operands.or_else(|| (node.traced || trace.is_collective(node)).then_some(Obstacle::Unbound(id)))
                }
            };
            found.push(obstacle);
        }
        Obstacles(found)
    }

    /// The error of an operation that cannot be computed.
    pub fn why(trace: &Trace, obstacle: Obstacle) -> Error {
        let (Obstacle::Unbound(id) | Obstacle::Lost(id)) = obstacle;
        match device_data::of_node(trace, trace.node(id)) {
            Some(data) => data.failure().unwrap_or_else(|| data.unbound()),
            None => outside(trace, trace.node(id)),
        }
    }

    /// Obstacle of this node, if any.
    pub fn of(&self, id: NodeId) -> Option<Obstacle> {
        self.0.get(id.0 as usize).copied().flatten()
    }

    /// Whether every node can be computed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The error of a collective that is outside of `shard_map`, itself or in a computation that the node applies.
fn outside(trace: &Trace, node: &Node) -> Error {
    let name = |op: Op| ops::definition(op).name;
    if node.traced {
        return error!(FailedPrecondition, "{} belongs to a computation that was traced", name(node.op));
    }
    let what = match mesh::collective_in(trace.bodies(node)) {
        Some(collective) if !node.op.is_collective() => {
            format!("{}, in a computation that {} applies,", name(collective), name(node.op))
        }
        _ => name(node.op).to_string(),
    };
    error!(FailedPrecondition, "{what} has a value only in the body of lxla_shard_map, on each device its own")
}

/// Whether the node is an operation that is the value of a live tensor.
pub fn is_pending(trace: &Trace, id: NodeId) -> bool {
    trace.holder(id) != NONE && trace.node(id).op != Op::Leaf
}

/// Data of all leaves that the operations `left` need once every node of `computed` has a value of its own.
pub fn needed_data(trace: &Trace, left: &[NodeId], computed: &[NodeId]) -> Vec<Arc<DeviceData>> {
    let mut needed = vec![false; trace.len()];
    left.iter().for_each(|id| needed[id.0 as usize] = true);
    let mut is_computed = vec![false; trace.len()];
    computed.iter().for_each(|id| is_computed[id.0 as usize] = true);
    let mut data = Vec::new();
    for id in (0..trace.len() as u32).rev().map(NodeId) {
        if !needed[id.0 as usize] || is_computed[id.0 as usize] {
            continue;
        }
        let node = trace.node(id);
        data.extend(device_data::shared_of_node(trace, node));
        trace.operands(node).iter().for_each(|operand| needed[operand.0 as usize] = true);
    }
    data
}
