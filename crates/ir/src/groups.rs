//! Groups of connected operations: two operations that some values need are in one group if one is an operand of the
//! other, directly or through others. Leaves connect nothing.

use super::op::Op;
use super::trace::{NONE, NodeId, Trace};

/// The group of each operation that a list of values needs.
pub struct Groups(Vec<u32>);

#[allow(clippy::len_without_is_empty)]
impl Groups {
    /// Group of a node: the smallest number of an operation in it. None for a leaf, and for an operation that none of
    /// the values needs.
    pub fn of(&self, id: NodeId) -> Option<u32> {
        Some(self.0[id.0 as usize]).filter(|group| *group != NONE)
    }

    /// Number of operations that the values need.
    pub fn len(&self) -> usize {
        self.0.iter().filter(|&&group| group != NONE).count()
    }
}

impl Trace {
    /// Groups the operations that these values need.
    pub fn groups(&self, values: &[NodeId]) -> Groups {
        // The parent of each operation that is needed: itself, or an earlier one in its group.
        let mut parents = vec![NONE; self.len()];
        let is_operation = |id: NodeId| self.node(id).op != Op::Leaf;
        values.iter().filter(|id| is_operation(**id)).for_each(|id| parents[id.0 as usize] = id.0);
        for id in (0..self.len() as u32).rev().filter(|&id| self.node(NodeId(id)).op != Op::Leaf) {
            if parents[id as usize] != NONE {
                let operands = self.operands(self.node(NodeId(id))).iter();
                operands.filter(|id| is_operation(**id)).for_each(|id| parents[id.0 as usize] = id.0);
            }
        }
        for id in 0..self.len() as u32 {
            if parents[id as usize] == NONE {
                continue;
            }
            for operand in self.operands(self.node(NodeId(id))).iter().filter(|id| is_operation(**id)) {
                let (a, b) = (first(&mut parents, id), first(&mut parents, operand.0));
                parents[a.max(b) as usize] = a.min(b);
            }
        }
        // Parents come before their children, so that one pass finds the first of each group.
        for id in 0..parents.len() {
            if parents[id] != NONE {
                parents[id] = parents[parents[id] as usize];
            }
        }
        Groups(parents)
    }
}

/// Returns the first operation of the group of this one, and shortens the way to it.
fn first(parents: &mut [u32], mut id: u32) -> u32 {
    while parents[id as usize] != id {
        parents[id as usize] = parents[parents[id as usize] as usize];
        id = parents[id as usize];
    }
    id
}
