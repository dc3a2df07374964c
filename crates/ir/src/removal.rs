//! Removal of nodes from a trace: of all, of the last ones, or of those that no held node needs.

use super::leaf::LeafData;
use super::op::Op;
use super::trace::{FEW_NODES, NONE, NodeId, Trace, operands_of};
use std::sync::Arc;

/// Number of leaves up to which a new list of leaves starts empty.
const FEW_LEAVES: usize = 16;

impl Trace {
    /// Removes everything if there are neither leaves with data nor bodies, and no operation is the value of a tensor.
    /// Returns whether it removed everything. The epoch stays, because no data has a leaf in it.
    #[inline]
    pub fn clear_operations(&mut self) -> bool {
        if !self.leaves.is_empty() || !self.bodies.is_empty() || self.pending > 0 {
            return false;
        }
        self.nodes.clear();
        self.spilled.clear();
        self.attributes.clear();
        self.scalars.clear();
        self.labels.clear();
        self.has_collectives = false;
        self.has_traced = false;
        (self.has_subbyte, self.subbyte_checked) = (false, 0);
        true
    }

    /// Removes the last nodes, up to one that is the value of a tensor: nothing depends on them. The caller drops the
    /// returned data without holding a lock.
    #[must_use]
    pub fn remove_last(&mut self) -> Vec<Arc<dyn LeafData>> {
        let (mut data, mut had_bodies) = (Vec::new(), false);
        while let Some(last) = self.nodes.pop_if(|last| last.holder == NONE) {
            // The node's list entries are last, unless `extend_results` appended entries for an earlier node.
            let start = last.payload as usize;
            if last.op == Op::Leaf {
                if start + 1 == self.leaves.len() {
                    data.extend(self.leaves.pop());
                }
            } else if last.op.has_scalar() {
                if start + 1 == self.scalars.len() {
                    self.scalars.pop();
                }
            } else if last.op.has_attributes() || last.op.has_results() {
                let bodies = last.op.body_count(self.words(&last));
                had_bodies |= bodies > 0;
                if start + last.attributes as usize + bodies == self.attributes.len() {
                    self.attributes.truncate(start);
                }
            }
            if last.arity > 3 && (last.operands[0].0 + last.arity) as usize == self.spilled.len() {
                self.spilled.truncate(last.operands[0].0 as usize);
            }
        }
        self.labels.truncate(self.nodes.len() as u32);
        self.subbyte_checked = self.subbyte_checked.min(self.nodes.len());
        if had_bodies {
            let numbers = self.nodes.iter().flat_map(|node| self.body_numbers(node));
            let used = numbers.max().map_or(0, |&last| last as usize + 1);
            self.bodies.truncate(used);
        }
        data
    }

    /// Removes everything. The caller drops the returned data without holding a lock, because that may free buffers.
    #[must_use]
    pub fn clear(&mut self) -> Vec<Arc<dyn LeafData>> {
        self.nodes.clear();
        self.spilled.clear();
        self.attributes.clear();
        self.scalars.clear();
        self.bodies.clear();
        self.labels.clear();
        self.epoch = self.epoch.wrapping_add(1);
        self.pending = 0;
        self.has_collectives = false;
        self.has_traced = false;
        (self.has_subbyte, self.subbyte_checked) = (false, 0);
        // The next step of a loop has as many leaves.
        let mut leaves = Vec::new();
        if self.leaves.len() > FEW_LEAVES {
            // Without memory, they find it when they come, or report that there is none.
            let _ = leaves.try_reserve_exact(self.leaves.len());
        }
        self.room_until = FEW_NODES;
        std::mem::replace(&mut self.leaves, leaves)
    }

    /// Keeps the nodes that held nodes need, in recording order, and removes the rest. Calls `moved` with the first
    /// holder and the new id of each kept node that is held. The caller drops the returned data without holding a lock.
    #[must_use]
    pub fn compact(&mut self, mut moved: impl FnMut(u32, NodeId)) -> Vec<Arc<dyn LeafData>> {
        let needed = self.needed_by_holders();
        let mut old = std::mem::replace(self, Trace::new());
        self.shapes = std::mem::take(&mut old.shapes);
        self.inferences = std::mem::take(&mut old.inferences);
        self.epoch = old.epoch.wrapping_add(1);
        self.has_collectives = old.has_collectives;
        self.has_traced = old.has_traced;
        self.has_subbyte = old.has_subbyte;
        let mut new_ids = vec![NONE; old.nodes.len()];
        for (i, node) in old.nodes.iter().enumerate().filter(|(i, _)| needed[*i]) {
            let mut kept = *node;
            let operands = operands_of(&old.spilled, node).iter().map(|id| NodeId(new_ids[id.0 as usize]));
            if node.arity > 3 {
                kept.operands[0] = NodeId(self.spilled.len() as u32);
                self.spilled.extend(operands);
            } else {
                kept.operands.iter_mut().zip(operands).for_each(|(to, from)| *to = from);
            }
            if node.op == Op::Leaf {
                kept.payload = self.leaves.len() as u32;
                self.leaves.push(old.leaves[node.payload as usize].clone());
            } else if node.op.has_scalar() {
                kept.payload = self.scalars.len() as u32;
                self.scalars.push(old.scalars[node.payload as usize]);
            } else if node.op.has_attributes() || node.op.has_results() {
                kept.payload = self.attributes.len() as u32;
                self.attributes.extend_from_slice(old.words(node));
                for body in old.bodies(node) {
                    let number = self.body_number(body) as i64;
                    self.attributes.push(number);
                }
            }
            self.set_label(old.label_of(NodeId(i as u32)));
            let id = self.push(kept);
            new_ids[i] = id.0;
            if let Some(data) = self.data(&kept) {
                data.place().set(self.epoch, id.0);
            }
            if kept.holder != NONE {
                self.pending += usize::from(kept.op != Op::Leaf);
                moved(kept.holder, id);
            }
        }
        self.subbyte_checked = self.nodes.len();
        old.leaves
    }

    /// Removes everything, and frees the memory of the trace, shapes included. Data with a leaf is dropped.
    pub fn release_memory(&mut self) {
        *self = Trace { epoch: self.epoch.wrapping_add(1), ..Trace::new() };
    }

    /// Number of nodes that held nodes need, which a compaction would keep.
    pub fn count_needed(&self) -> usize {
        self.needed_by_holders().into_iter().filter(|needed| *needed).count()
    }

    /// For each node, whether a held node needs it.
    fn needed_by_holders(&self) -> Vec<bool> {
        let mut needed: Vec<bool> = self.nodes.iter().map(|node| node.holder != NONE).collect();
        for i in (0..self.nodes.len()).rev() {
            if needed[i] {
                for operand in self.operands(&self.nodes[i]) {
                    needed[operand.0 as usize] = true;
                }
            }
        }
        needed
    }
}

#[cfg(test)]
mod tests {
    use super::super::leaf::{LeafPlace, Parameter};
    use super::super::members::{BinaryOp, UnaryOp};
    use super::*;
    use base::types::{DType, Scalar, ScalarValue, TensorType};

    fn data() -> Arc<Parameter> {
        Arc::new(Parameter { ty: TensorType::new(DType::F32, &[2]), place: LeafPlace::default() })
    }

    #[test]
    fn compaction_keeps_what_is_held_in_order() {
        let mut trace = Trace::new();
        let leaf = trace.leaf(&data());
        let shape = trace.node(leaf).shape;
        let unary = |t: &mut Trace, x| t.operation(Op::Unary(UnaryOp::Tanh), DType::F32, shape, &[x]);
        let _dead = unary(&mut trace, leaf);
        let a = unary(&mut trace, leaf);
        let wide = trace.operation_with_attributes(Op::Concatenate, DType::F32, shape, &[a, leaf, a, leaf], &0usize);
        let sum = trace.operation(Op::Binary(BinaryOp::Add), DType::F32, shape, &[wide, a]);
        trace.set_holder(sum, 7);
        assert_eq!((trace.len(), trace.pending()), (5, 1));
        let mut moves = Vec::new();
        drop(trace.compact(|holder, id| moves.push((holder, id))));
        assert_eq!((trace.len(), trace.pending()), (4, 1));
        assert_eq!(moves, [(7, NodeId(3))]);
        let wide = trace.node(NodeId(2));
        assert_eq!(trace.operands(wide), [NodeId(1), NodeId(0), NodeId(1), NodeId(0)]);
        assert_eq!(trace.attributes::<usize>(wide), 0);
        trace.set_holder(NodeId(3), NONE);
        drop(trace.compact(|_, _| ()));
        assert!(trace.is_empty());
    }

    #[test]
    fn what_follows_the_last_held_node_is_removed() {
        let mut trace = Trace::new();
        let (first, second) = (data(), data());
        let x = trace.leaf(&first);
        let shape = trace.node(x).shape;
        let unary = |t: &mut Trace, x| t.operation(Op::Unary(UnaryOp::Tanh), DType::F32, shape, &[x]);
        let held = unary(&mut trace, x);
        trace.set_holder(held, 7);
        let y = trace.leaf(&second);
        let dead = unary(&mut trace, y);
        trace.operation_with_attributes(Op::Concatenate, DType::F32, shape, &[y, dead, y, dead], &0usize);
        let scalar = Scalar::new(DType::F32, ScalarValue::Float(2.0)).unwrap();
        trace.operation_with_scalar(Op::BinaryScalar(BinaryOp::Add), DType::F32, shape, &[dead], scalar);
        let removed = trace.remove_last();
        assert!(removed.len() == 1 && std::ptr::addr_eq(Arc::as_ptr(&removed[0]), Arc::as_ptr(&second)));
        assert_eq!((trace.len(), trace.leaves().len(), trace.pending()), (2, 1, 1));
        assert_eq!([trace.spilled.len(), trace.attributes.len(), trace.scalars.len()], [0; 3]);
        // The same id is assigned again, and the removed data becomes a leaf again.
        assert_eq!(trace.leaf(&second), y);
        trace.set_holder(held, NONE);
        assert_eq!((trace.remove_last().len(), trace.len()), (2, 0));
    }
}
