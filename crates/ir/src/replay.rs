//! Replay of a body in a trace: its operations are recorded again, on other operands.

use super::program::{Body, Instruction};
use super::trace::{NodeId, Trace};
use base::allocation::probe;
use base::error::Result;
use base::types::Scalar;

impl Trace {
    /// Records the operations of `body` on `arguments` (its parameters, then its captures). Returns its results.
    pub fn replay(&mut self, body: &Body, arguments: &[NodeId]) -> Result<Vec<NodeId>> {
        probe(2 * body.program().decoded_bytes(), "the body of a computation")?;
        let (values, results) = body.decode();
        let mut arguments = arguments.iter().copied();
        let mut scalars = body.scalars().iter().copied();
        let mut nodes: Vec<NodeId> = Vec::with_capacity(values.len());
        let outer = self.label();
        for value in &values {
            self.check_room()?;
            let id = if value.op == super::Op::Leaf {
                arguments.next().expect("one argument for each parameter and capture")
            } else {
                let operands: Vec<NodeId> = value.operands.iter().map(|&operand| nodes[operand]).collect();
                let scalar = if value.op.has_scalar() { scalars.next() } else { None };
                self.set_label(value.label.or(outer));
                self.record_again(value, &operands, scalar)
            };
            nodes.push(id);
        }
        self.set_label(outer);
        Ok(results.iter().map(|&result| nodes[result]).collect())
    }

    /// Records the operation of a node on other operands of the same types, and further ones.
    pub fn copy(&mut self, id: NodeId, operands: &[NodeId]) -> NodeId {
        let node = *self.node(id);
        if let Some(scalar) = self.scalar(&node) {
            return self.operation_with_scalar(node.op, node.dtype, node.shape, operands, scalar);
        }
        if !node.op.has_attributes() && !node.op.has_results() {
            return self.operation(node.op, node.dtype, node.shape, operands);
        }
        let words = self.words(&node).to_vec();
        let bodies: Vec<_> = self.bodies(&node).cloned().collect();
        let bodies: Vec<_> = bodies.iter().collect();
        self.operation_with_words(node.op, node.dtype, node.shape, operands, &words, &bodies)
    }

    /// Records the operation of an instruction on operands of the same types. The node of an application precedes its
    /// results, which are instructions of their own.
    pub fn record_again(&mut self, value: &Instruction, operands: &[NodeId], scalar: Option<Scalar>) -> NodeId {
        let shape = self.intern(&value.ty.dims);
        if let Some(scalar) = scalar {
            return self.operation_with_scalar(value.op, value.ty.dtype, shape, operands, scalar);
        }
        if !value.op.has_attributes() && !value.op.has_results() {
            return self.operation(value.op, value.ty.dtype, shape, operands);
        }
        let bodies: Vec<_> = value.bodies.iter().collect();
        self.operation_with_words(value.op, value.ty.dtype, shape, operands, &value.words, &bodies)
    }
}
