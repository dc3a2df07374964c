//! Copies of traces, with which later traces are compared to recognize that a program repeats itself.

use crate::labels::{Labels, Renaming};
use crate::program::Body;
use crate::trace::{Node, NodeId, Trace};
use std::sync::Arc;

/// A copy of a trace without the data of its leaves and the values of its scalars. It has the ids of shapes, and is
/// equal to no trace any more after these changed.
pub(super) struct TraceCopy {
    pub nodes: Vec<Node>,
    shape_generation: u32,
    spilled: Vec<NodeId>,
    attributes: Vec<i64>,
    bodies: Vec<Arc<Body>>,
    labels: Labels,
}

impl TraceCopy {
    pub fn of(trace: &Trace) -> TraceCopy {
        TraceCopy {
            nodes: trace.nodes.clone(),
            shape_generation: trace.shape_generation(),
            spilled: trace.spilled.clone(),
            attributes: trace.attributes.clone(),
            bodies: trace.bodies.clone(),
            labels: trace.labels.clone(),
        }
    }

    /// How the labels of the trace, which has the same operations, differ; None if one label became two.
    pub fn renaming(&self, trace: &Trace) -> Option<Renaming> {
        self.labels.renaming(&trace.labels)
    }

    /// Takes the labels of a trace with the same operations.
    pub fn relabel(&mut self, trace: &Trace) {
        self.labels = trace.labels.clone();
    }

    /// Whether the trace has the same operations on the same operands in the same order, under whatever labels, and
    /// `is_same` is true for each of them. Equal leaves are equal nodes, so that the data of the leaves follows the
    /// same pattern.
    #[inline]
    pub fn is_of(&self, trace: &Trace, is_same: impl Fn(&Node, &Node) -> bool) -> bool {
        let is_same_body = |(a, b): (&Arc<Body>, &Arc<Body>)| Arc::ptr_eq(a, b) || a == b;
        self.nodes.len() == trace.nodes.len()
            && self.shape_generation == trace.shape_generation()
            && self.bodies.len() == trace.bodies.len()
            && self.attributes == trace.attributes
            && self.nodes.iter().zip(&trace.nodes).all(|(a, b)| is_same_operation(a, b) & is_same(a, b))
            && self.spilled == trace.spilled
            && self.bodies.iter().zip(&trace.bodies).all(is_same_body)
    }
}

/// Whether two nodes are the same operation on the same operands.
#[inline]
fn is_same_operation(a: &Node, b: &Node) -> bool {
    // Combined without branches: all fields of almost all nodes are equal.
    (a.op == b.op)
        & (a.dtype == b.dtype)
        & (a.shape == b.shape)
        & (a.arity == b.arity)
        & (a.operands == b.operands)
        & (a.payload == b.payload)
        & (a.attributes == b.attributes)
}
