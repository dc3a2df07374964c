//! Recording: the nodes of operations, leaves and results.

use super::attributes::{Attributes, Words, encode};
use super::caches::inferences::{self, Arguments};
use super::leaf::{LeafData, LeafPlace, Parameter};
use super::op::Op;
use super::program::Body;
use super::shapes::ShapeId;
use super::trace::{NONE, Node, NodeId, Trace, node};
use base::types::{DType, Scalar, TensorType};
use std::sync::Arc;

impl Trace {
    /// Returns the leaf of this data. There is only one leaf for the same data.
    #[inline]
    pub fn leaf<D: LeafData>(&mut self, data: &Arc<D>) -> NodeId {
        // The remembered node is checked, so that even an epoch that wrapped around cannot mislead.
        if let Some(id) = data.place().get(self.epoch).filter(|&id| (id as usize) < self.nodes.len()).map(NodeId)
            && self.data(self.node(id)).is_some_and(|found| std::ptr::addr_eq(Arc::as_ptr(found), Arc::as_ptr(data)))
        {
            return id;
        }
        let shape = self.intern(&data.ty().dims);
        let payload = self.leaves.len() as u32;
        self.leaves.push(data.clone());
        let id = self.push(Node { payload, ..node(Op::Leaf, data.ty().dtype, shape) });
        data.place().set(self.epoch, id.0);
        id
    }

    /// A new leaf that stands for a parameter of a computation.
    pub fn parameter(&mut self, ty: TensorType) -> NodeId {
        self.leaf(&Arc::new(Parameter { ty, place: LeafPlace::default() }))
    }

    /// Adds a leaf without data. The caller knows its value by `slot`.
    #[inline(always)]
    pub fn input(&mut self, dtype: DType, shape: ShapeId, slot: u32) -> NodeId {
        let operands = [NodeId(slot), NodeId(NONE), NodeId(NONE)];
        self.push(Node { operands, ..node(Op::Leaf, dtype, shape) })
    }

    /// Records an operation.
    #[inline]
    pub fn operation(&mut self, op: Op, dtype: DType, shape: ShapeId, operands: &[NodeId]) -> NodeId {
        const NO: NodeId = NodeId(NONE);
        // Operands are copied one by one: a copy of variable length costs a call and a store-forwarding stall.
        let first = match *operands {
            [] => [NO; 3],
            [a] => [a, NO, NO],
            [a, b] => [a, b, NO],
            [a, b, c] => [a, b, c],
            _ => {
                let start = self.spilled.len() as u32;
                self.spilled.extend_from_slice(operands);
                [NodeId(start), NO, NO]
            }
        };
        self.push(Node { arity: operands.len() as u32, operands: first, ..node(op, dtype, shape) })
    }

    /// Result type of an operation on operands of these types, if it was remembered.
    #[inline]
    pub fn inferred<const N: usize>(&self, op: Op, operands: [NodeId; N]) -> Option<(DType, ShapeId)> {
        let (dtype, shape) = self.inferences.get(op, operands.map(|id| self.type_of(id)))?;
        Some((dtype, ShapeId(shape)))
    }

    /// Remembers the result type of an operation, which depends on the operation and the types of its operands only.
    pub fn remember_inference<const N: usize>(&mut self, op: Op, operands: [NodeId; N], result: (DType, ShapeId)) {
        let operands = operands.map(|id| self.type_of(id));
        self.inferences.insert(op, operands, (result.0, result.1.0));
    }

    /// Records an operation whose result type and attributes were remembered for these arguments. Returns None if they
    /// were not.
    #[inline]
    pub fn remembered_operation(&mut self, op: Op, x: NodeId, arguments: Arguments) -> Option<NodeId> {
        let ((dtype, shape), words) = self.inferences.get_detailed(op, self.type_of(x), arguments)?;
        let (payload, count) = (self.attributes.len() as u32, words.len() as u32);
        // One by one: a copy of variable length costs a call.
        words.iter().for_each(|&word| self.attributes.push(word));
        let id = self.operation(op, dtype, ShapeId(shape), &[x]);
        if count > 0 {
            let new = &mut self.nodes[id.0 as usize];
            (new.payload, new.attributes) = (payload, count);
        }
        Some(id)
    }

    /// Remembers the result type and the attributes of a node, which depend only on its operation, the type of its only
    /// operand, and `arguments`.
    pub fn remember_operation(&mut self, id: NodeId, arguments: Arguments) {
        let node = self.node(id);
        debug_assert!(node.arity == 1 && !node.op.has_scalar() && !node.op.has_results() && !node.op.is_collective());
        let (op, operand) = (node.op, self.type_of(node.operands[0]));
        let words = Words::from_slice(self.words(node));
        debug_assert_eq!(op.has_attributes(), !words.is_empty());
        self.inferences.insert_detailed(op, operand, arguments, self.type_of(id), &words);
    }

    #[inline]
    fn type_of(&self, id: NodeId) -> inferences::Type {
        let node = self.node(id);
        (node.dtype, node.shape.0)
    }

    /// Records an operation with a scalar.
    pub fn operation_with_scalar(
        &mut self,
        op: Op,
        dtype: DType,
        shape: ShapeId,
        operands: &[NodeId],
        scalar: Scalar,
    ) -> NodeId {
        let payload = self.scalars.len() as u32;
        self.scalars.push(scalar);
        let id = self.operation(op, dtype, shape, operands);
        self.nodes[id.0 as usize].payload = payload;
        id
    }

    /// Records an operation with attributes.
    pub fn operation_with_attributes(
        &mut self,
        op: Op,
        dtype: DType,
        shape: ShapeId,
        operands: &[NodeId],
        attributes: &impl Attributes,
    ) -> NodeId {
        self.operation_with_words(op, dtype, shape, operands, &encode(attributes), &[])
    }

    /// Records an operation with encoded attributes that applies bodies.
    pub(super) fn operation_with_words(
        &mut self,
        op: Op,
        dtype: DType,
        shape: ShapeId,
        operands: &[NodeId],
        words: &[i64],
        bodies: &[&Arc<Body>],
    ) -> NodeId {
        let payload = self.push_words(words, bodies);
        let id = self.operation(op, dtype, shape, operands);
        let new = &mut self.nodes[id.0 as usize];
        new.payload = payload;
        new.attributes = words.len() as u32;
        self.has_collectives |=
            op.is_collective() || (op != Op::ShardMap && bodies.iter().any(|body| body.has_collectives()));
        id
    }

    /// Adds encoded attributes and the numbers of bodies. Returns where they begin.
    fn push_words(&mut self, words: &[i64], bodies: &[&Arc<Body>]) -> u32 {
        let start = self.attributes.len() as u32;
        self.attributes.extend_from_slice(words);
        for body in bodies {
            let number = self.body_number(body) as i64;
            self.attributes.push(number);
        }
        start
    }

    /// Records an operation with several results, such as an application of traced computations, and one node for each
    /// result. Returns the result nodes.
    pub fn application(
        &mut self,
        op: Op,
        operands: &[NodeId],
        attributes: &impl Attributes,
        bodies: &[&Arc<Body>],
        results: &[TensorType],
    ) -> Vec<NodeId> {
        let scalar = self.intern(&[]);
        let id = self.operation_with_words(op, DType::Pred, scalar, operands, &encode(attributes), bodies);
        results.iter().enumerate().map(|(number, ty)| self.result(id, number, ty)).collect()
    }

    /// Records one result of an application.
    pub fn result(&mut self, application: NodeId, number: usize, ty: &TensorType) -> NodeId {
        let shape = self.intern(&ty.dims);
        self.operation_with_attributes(Op::Result, ty.dtype, shape, &[application], &number)
    }

    /// Replaces the bodies of an application by bodies that return the same results, followed by `added` ones. Returns
    /// the nodes of the added results. The operands stay; new attributes must agree with them.
    pub fn extend_results(
        &mut self,
        application: NodeId,
        attributes: &impl Attributes,
        bodies: &[&Arc<Body>],
        present: usize,
        added: &[TensorType],
    ) -> Vec<NodeId> {
        let words = encode(attributes);
        let payload = self.push_words(&words, bodies);
        let node = &mut self.nodes[application.0 as usize];
        (node.payload, node.attributes) = (payload, words.len() as u32);
        added.iter().enumerate().map(|(i, ty)| self.result(application, present + i, ty)).collect()
    }

    /// Number of a body in the trace; a new one is added.
    pub(super) fn body_number(&mut self, body: &Arc<Body>) -> usize {
        // The body used last is the most likely; there are few in any case.
        self.bodies.iter().rposition(|known| Arc::ptr_eq(known, body)).unwrap_or_else(|| {
            self.bodies.push(body.clone());
            self.bodies.len() - 1
        })
    }

    /// Adds a node.
    #[inline(always)]
    pub(super) fn push(&mut self, new: Node) -> NodeId {
        let id = self.nodes.len() as u32;
        assert!(id < NONE, "a trace holds at most 2^32 - 1 operations");
        self.has_subbyte |= new.dtype.is_subbyte();
        self.nodes.push(new);
        NodeId(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data() -> Arc<Parameter> {
        Arc::new(Parameter { ty: TensorType::new(DType::F32, &[2]), place: LeafPlace::default() })
    }

    #[test]
    fn one_leaf_for_one_piece_of_data() {
        let mut trace = Trace::new();
        let (a, b) = (data(), data());
        assert_eq!(trace.leaf(&a), trace.leaf(&a));
        assert_ne!(trace.leaf(&a), trace.leaf(&b));
        drop(trace.clear());
        assert_eq!(trace.leaf(&b), NodeId(0));
    }
}
