//! The trace: an arena of the recorded operations of one device. Nodes have a fixed size, ids are u32 in recording
//! order (so that operands always come before their users), and there is neither reference counting nor recursion.

use super::attributes::{Attributes, decode};
use super::caches::inferences::Inferences;
use super::labels::Labels;
use super::leaf::LeafData;
use super::op::Op;
use super::program::Body;
use super::shapes::{ShapeId, Shapes};
use base::label::Label;
use base::types::{DType, Dims, Scalar, TensorType};
use std::sync::Arc;

/// Id of a node in the trace. Valid until the trace is compacted or cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeId(pub u32);

/// Number of nodes up to which a trace grows unchecked, see [`Trace::make_room`].
pub(super) const FEW_NODES: usize = 512;

/// Marks an absent holder or node.
pub const NONE: u32 = u32::MAX;

/// One recorded operation.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// Operation of the node.
    pub op: Op,
    /// Dtype of the result.
    pub dtype: DType,
    /// Whether a partial sync has already run the operation without keeping its result: running it again is a
    /// recomputation.
    pub computed: bool,
    /// Whether the operation belongs to a trace by a scope, so that no step runs it.
    pub traced: bool,
    /// Shape of the result.
    pub shape: ShapeId,
    /// Number of operands.
    pub(super) arity: u32,
    /// Operands. If there are more than three, the first entry is the index of their start in `spilled`. In a leaf
    /// without data, the first entry is its place, see [`Trace::input`].
    pub(super) operands: [NodeId; 3],
    /// Leaf: index of its data, or [`NONE`]. Operation with a scalar: index of the scalar. Operation with attributes:
    /// index of their start.
    pub(super) payload: u32,
    /// Number of attributes. They are followed by the numbers of the node's bodies.
    pub(super) attributes: u32,
    /// First tensor with this value, used by the tensor table; [`NONE`] if there is none.
    pub(super) holder: u32,
}

impl Node {
    /// Slot of a leaf without data, see [`Trace::input`]; [`NONE`] for other nodes.
    #[inline]
    pub fn slot(&self) -> u32 {
        if self.op == Op::Leaf && self.payload == NONE { self.operands[0].0 } else { NONE }
    }
}

/// Recorded operations of one device.
pub struct Trace {
    pub(super) nodes: Vec<Node>,
    pub(super) spilled: Vec<NodeId>,
    pub(super) attributes: Vec<i64>,
    pub(super) scalars: Vec<Scalar>,
    pub(super) leaves: Vec<Arc<dyn LeafData>>,
    pub(super) bodies: Vec<Arc<Body>>,
    /// Labels of the nodes by id. Those of leaves have no meaning.
    pub(super) labels: Labels,
    pub(super) shapes: Shapes,
    pub(super) inferences: Inferences,
    /// Number of compactions and clears, by which stale leaf indices stored in device data are detected.
    pub(super) epoch: u32,
    /// Number of operations that are the value of a tensor.
    pub(super) pending: usize,
    /// Whether an operation exchanges values between the devices of a mesh outside `shard_map`.
    pub(super) has_collectives: bool,
    /// Whether an operation belongs to a trace by a scope.
    pub(super) has_traced: bool,
    /// Whether a node has a type of 2 or 4 bits.
    pub(super) has_subbyte: bool,
    /// Number of nodes that [`Trace::check_subbyte`] has checked.
    pub(super) subbyte_checked: usize,
    /// Number of nodes up to which there is memory, see [`Trace::make_room`].
    pub(super) room_until: usize,
}

impl Trace {
    /// Creates an empty trace.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Trace {
        Trace {
            nodes: Vec::new(),
            spilled: Vec::new(),
            attributes: Vec::new(),
            scalars: Vec::new(),
            leaves: Vec::new(),
            bodies: Vec::new(),
            labels: Labels::default(),
            shapes: Shapes::default(),
            inferences: Inferences::default(),
            epoch: 0,
            pending: 0,
            has_collectives: false,
            has_traced: false,
            has_subbyte: false,
            subbyte_checked: 0,
            room_until: FEW_NODES,
        }
    }

    /// Number of nodes, including dead ones.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether the trace contains no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Number of operations that are the value of a tensor.
    pub fn pending(&self) -> usize {
        self.pending
    }

    /// Whether the trace may contain a node for which [`Trace::is_collective`] returns true.
    pub fn has_collectives(&self) -> bool {
        self.has_collectives
    }

    /// Whether the trace may contain a node that belongs to a trace by a scope.
    pub fn has_traced(&self) -> bool {
        self.has_traced
    }

    /// Says that an operation belongs to a trace by a scope.
    pub fn mark_traced(&mut self, id: NodeId) {
        self.nodes[id.0 as usize].traced = true;
        self.has_traced = true;
    }

    /// Whether a node exchanges values between the devices of a mesh, itself or in a body that it applies. Its value
    /// exists only in the body of a `shard_map`.
    pub fn is_collective(&self, node: &Node) -> bool {
        let in_body = || node.op != Op::ShardMap && self.bodies(node).any(|body| body.has_collectives());
        node.op.is_collective() || (node.op.has_results() && in_body())
    }

    /// Whether a node calls a kernel with effects, itself or in a body that it applies.
    pub fn has_effects(&self, node: &Node) -> bool {
        let in_body = || self.bodies(node).any(|body| body.kernels().effects);
        node.op.has_results() && (node.op == Op::Kernel && self.words(node)[0] == 1 || in_body())
    }

    /// Node of the call with effects that has this last result; None if it was made.
    pub fn effect_before(&self, done: NodeId) -> Option<NodeId> {
        let mut id = done;
        while !self.has_effects(self.node(id)) {
            id = *self.operands(self.node(id)).first()?;
        }
        Some(id)
    }

    /// Whether a node may call a kernel, itself or in a body that it applies.
    pub fn has_kernels(&self) -> bool {
        self.bodies.iter().any(|body| body.kernels().any)
    }

    /// Operations that are the values of tensors, in recording order.
    pub fn held_operations(&self) -> Vec<NodeId> {
        if self.pending == 0 {
            return Vec::new();
        }
        let is_held = |(_, node): &(usize, &Node)| node.holder != NONE && node.op != Op::Leaf;
        self.nodes.iter().enumerate().filter(is_held).map(|(id, _)| NodeId(id as u32)).collect()
    }

    /// Label that the next recorded operation gets.
    pub fn label(&self) -> Label {
        self.labels.last()
    }

    /// Sets the label of the operations that are recorded from here on.
    #[inline]
    pub fn set_label(&mut self, label: Label) {
        self.labels.begin(self.nodes.len() as u32, label);
    }

    /// Whether a node may have a label.
    #[inline]
    pub fn has_labels(&self) -> bool {
        !self.labels.is_empty()
    }

    /// Label of an operation.
    pub fn label_of(&self, id: NodeId) -> Label {
        self.labels.at(id.0)
    }

    /// All bodies that nodes apply.
    pub fn all_bodies(&self) -> &[Arc<Body>] {
        &self.bodies
    }

    /// Node with this id.
    #[inline]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// Operands of a node.
    #[inline]
    pub fn operands<'a>(&'a self, node: &'a Node) -> &'a [NodeId] {
        operands_of(&self.spilled, node)
    }

    /// Attributes of a node.
    pub fn attributes<A: Attributes>(&self, node: &Node) -> A {
        decode(self.words(node))
    }

    /// Encoded attributes of a node.
    #[inline]
    pub fn words(&self, node: &Node) -> &[i64] {
        let start = node.payload as usize;
        if node.op.has_attributes() { &self.attributes[start..start + node.attributes as usize] } else { &[] }
    }

    /// Traced computations that a node applies.
    pub fn bodies(&self, node: &Node) -> impl Iterator<Item = &Arc<Body>> {
        self.body_numbers(node).iter().map(|&number| &self.bodies[number as usize])
    }

    pub(super) fn body_numbers(&self, node: &Node) -> &[i64] {
        let start = if node.op.has_results() { node.payload as usize + node.attributes as usize } else { 0 };
        let count = node.op.body_count(self.words(node));
        &self.attributes[start..start + count]
    }

    /// Scalar of a node, if its operation has one.
    #[inline]
    pub fn scalar(&self, node: &Node) -> Option<Scalar> {
        node.op.has_scalar().then(|| self.scalars[node.payload as usize])
    }

    /// Scalars at these indices.
    pub fn scalars_at(&self, indices: &[u32]) -> Vec<Scalar> {
        indices.iter().map(|&index| self.scalars[index as usize]).collect()
    }

    /// Data of a node, if it is a leaf.
    #[inline]
    pub fn data(&self, node: &Node) -> Option<&Arc<dyn LeafData>> {
        if node.op == Op::Leaf { self.leaves.get(node.payload as usize) } else { None }
    }

    /// All device data that the trace refers to.
    pub fn leaves(&self) -> &[Arc<dyn LeafData>] {
        &self.leaves
    }

    /// Dtype and shape of a node.
    #[inline]
    pub fn ty(&self, id: NodeId) -> TensorType {
        let node = self.node(id);
        TensorType::new(node.dtype, self.dims(node.shape))
    }

    /// Dimensions of a shape.
    #[inline]
    pub fn dims(&self, shape: ShapeId) -> &Dims {
        self.shapes.dims(shape)
    }

    /// Returns the id of a shape, and interns it if it is new.
    #[inline]
    pub fn intern(&mut self, dims: &[i64]) -> ShapeId {
        self.shapes.intern(dims)
    }

    /// Removes shapes that no node has and that are not among `others`, if there are many. Ids of shapes change, and
    /// what was remembered by them is forgotten. Returns whether that was so.
    #[inline]
    pub fn forget_shapes<'a, I: Iterator<Item = &'a mut ShapeId>>(&'a mut self, others: impl FnOnce() -> I) -> bool {
        if !self.shapes.are_many() {
            return false;
        }
        self.shapes.keep(self.nodes.iter_mut().map(|node| &mut node.shape).chain(others()));
        self.inferences = Inferences::default();
        true
    }

    /// Number of times that ids of shapes changed.
    pub(super) fn shape_generation(&self) -> u32 {
        self.shapes.generation
    }

    /// First tensor with this node as its value, or [`NONE`].
    #[inline]
    pub fn holder(&self, id: NodeId) -> u32 {
        self.nodes[id.0 as usize].holder
    }

    /// Sets the first holder. For the tensor table only.
    #[inline(always)]
    pub fn set_holder(&mut self, id: NodeId, holder: u32) {
        let node = &mut self.nodes[id.0 as usize];
        if node.op != Op::Leaf {
            self.pending += usize::from(node.holder == NONE);
            self.pending -= usize::from(holder == NONE);
        }
        node.holder = holder;
    }

    /// Replaces an operation by a leaf of `data`, which will hold its result. Returns the operation.
    pub fn replace_by_leaf<D: LeafData>(&mut self, id: NodeId, data: Arc<D>) -> Node {
        let old = self.nodes[id.0 as usize];
        self.pending -= usize::from(old.holder != NONE);
        let payload = self.leaves.len() as u32;
        data.place().set(self.epoch, id.0);
        self.leaves.push(data);
        self.nodes[id.0 as usize] = Node { payload, holder: old.holder, ..node(Op::Leaf, old.dtype, old.shape) };
        old
    }

    /// Reverts [`Trace::replace_by_leaf`]: the recorded operation is pending again.
    pub fn restore(&mut self, id: NodeId, old: Node) {
        let holder = self.holder(id);
        self.nodes[id.0 as usize] = Node { holder, ..old };
        self.pending += usize::from(holder != NONE);
    }

    /// Marks an operation as run by a partial sync that did not keep its result.
    pub fn mark_computed(&mut self, id: NodeId) {
        self.nodes[id.0 as usize].computed = true;
    }
}

/// Creates a node without operands, payload or holder.
#[inline]
pub(super) fn node(op: Op, dtype: DType, shape: ShapeId) -> Node {
    Node {
        op,
        dtype,
        computed: false,
        traced: false,
        shape,
        arity: 0,
        operands: [NodeId(NONE); 3],
        payload: NONE,
        attributes: 0,
        holder: NONE,
    }
}

#[inline]
pub(super) fn operands_of<'a>(spilled: &'a [NodeId], node: &'a Node) -> &'a [NodeId] {
    let arity = node.arity as usize;
    if arity > 3 {
        let start = node.operands[0].0 as usize;
        &spilled[start..start + arity]
    } else {
        &node.operands[..arity]
    }
}

#[cfg(test)]
mod tests {
    use super::super::leaf::{LeafPlace, Parameter};
    use super::super::members::UnaryOp;
    use super::*;

    fn data() -> Arc<Parameter> {
        Arc::new(Parameter { ty: TensorType::new(DType::F32, &[2]), place: LeafPlace::default() })
    }

    #[test]
    fn a_leaf_without_data_has_a_place() {
        let mut trace = Trace::new();
        let shape = trace.intern(&[2]);
        let x = trace.input(DType::F32, shape, 9);
        let y = trace.operation(Op::Unary(UnaryOp::Tanh), DType::F32, shape, &[x]);
        let z = trace.leaf(&data());
        assert_eq!([x, y, z].map(|id| trace.node(id).slot()), [9, NONE, NONE]);
        assert!(trace.data(trace.node(x)).is_none() && trace.operands(trace.node(x)).is_empty());
    }

    #[test]
    fn a_replaced_operation_comes_back() {
        let mut trace = Trace::new();
        let leaf = trace.leaf(&data());
        let x = trace.operation(Op::Unary(UnaryOp::Tanh), DType::F32, trace.node(leaf).shape, &[leaf]);
        trace.set_holder(x, 3);
        let result = data();
        let old = trace.replace_by_leaf(x, result.clone());
        assert_eq!((trace.pending(), trace.leaf(&result)), (0, x));
        trace.restore(x, old);
        assert_eq!((trace.pending(), trace.holder(x)), (1, 3));
        assert_eq!(trace.operands(trace.node(x)), [leaf]);
    }
}
