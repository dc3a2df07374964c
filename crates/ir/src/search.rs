//! Searches from nodes down through their operands.

use super::trace::{Node, NodeId, Trace};
use rustc_hash::FxHashSet;
use std::ops::ControlFlow;

impl Trace {
    /// Visits nodes and those on which they depend, each at most once. `visit` returns whether to go on to the operands
    /// of a node, or ends the search. Returns whether it was ended.
    pub fn search(&self, from: &[NodeId], mut visit: impl FnMut(NodeId, &Node) -> ControlFlow<(), bool>) -> bool {
        let mut seen = FxHashSet::default();
        let mut stack: Vec<NodeId> = from.iter().copied().filter(|id| seen.insert(id.0)).collect();
        while let Some(id) = stack.pop() {
            let node = self.node(id);
            match visit(id, node) {
                ControlFlow::Break(()) => return true,
                ControlFlow::Continue(false) => {}
                ControlFlow::Continue(true) => {
                    stack.extend(self.operands(node).iter().copied().filter(|operand| seen.insert(operand.0)));
                }
            }
        }
        false
    }
}
