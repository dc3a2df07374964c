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

#[cfg(test)]
mod tests {
    use super::super::members::{BinaryOp, UnaryOp};
    use super::*;
    use crate::ops::elementwise;
    use crate::types::{DType, TensorType};

    #[test]
    fn operations_are_connected_by_operands_but_not_by_leaves_or_dead_users() {
        let mut t = Trace::new();
        let tanh = |t: &mut Trace, x| elementwise::unary(t, UnaryOp::Tanh, x).unwrap();
        let add = |t: &mut Trace, x, y| elementwise::binary(t, BinaryOp::Add, x, y).unwrap();
        let a = t.parameter(TensorType::new(DType::F32, &[2]));
        let (left, right) = (tanh(&mut t, a), tanh(&mut t, a));
        let dead = add(&mut t, left, right);
        let (of_left, other) = (tanh(&mut t, left), add(&mut t, left, a));
        let groups = t.groups(&[of_left, other, right]);
        assert_eq!([of_left, other, left].map(|id| groups.of(id)), [Some(left.0); 3]);
        assert_eq!([right, dead, a].map(|id| groups.of(id)), [Some(right.0), None, None]);
        assert_eq!(groups.len(), 4);
        // A value that is needed connects what it needs.
        let groups = t.groups(&[dead, other]);
        assert_eq!([dead, other, left, right].map(|id| groups.of(id)), [Some(left.0); 4]);
    }

    #[test]
    fn groups_that_meet_late_are_one() {
        let mut t = Trace::new();
        let a = t.parameter(TensorType::new(DType::F32, &[2]));
        let mut sums: Vec<NodeId> = (0..64).map(|_| elementwise::unary(&mut t, UnaryOp::Tanh, a).unwrap()).collect();
        let first = sums[0];
        while sums.len() > 1 {
            let add = |pair: &[NodeId]| elementwise::binary(&mut t, BinaryOp::Add, pair[0], pair[1]).unwrap();
            sums = sums.chunks(2).map(add).collect();
        }
        let groups = t.groups(&sums);
        assert_eq!((groups.len(), groups.of(sums[0])), (127, Some(first.0)));
    }
}
