//! Encodes programs as u32 words.

use super::labels::Labels;
use super::op::Op;
use super::program::{Body, DECODED_BYTES, DIGEST_WORDS, END, Program};
use super::trace::{NONE, NodeId, Trace};
use base::types::Encoding;
use std::sync::{Arc, OnceLock};

/// Lookup tables that are reused from program to program. Between programs, all entries are [`NONE`].
#[derive(Default)]
pub struct Tables {
    /// Position of each node in the program.
    positions: Vec<u32>,
    /// Number of each shape in the program.
    shapes: Vec<u32>,
}

/// A program that is being encoded.
pub struct Encoder<'a> {
    trace: &'a Trace,
    tables: &'a mut Tables,
    /// Shapes and nodes that have entries in the tables.
    known_shapes: Vec<u32>,
    known_nodes: Vec<NodeId>,
    words: Vec<u32>,
    bodies: Vec<Arc<Body>>,
    parameters: Vec<NodeId>,
    scalars: Vec<u32>,
}

/// An encoded program.
pub struct Encoded {
    /// Program in canonical form.
    pub program: Program,
    /// Nodes of the program's parameters.
    pub parameters: Vec<NodeId>,
    /// For each scalar slot, in the order of the operations, the index of the scalar in the trace.
    pub scalars: Vec<u32>,
}

impl<'a> Encoder<'a> {
    /// Upper bound on the memory of encoding these operations, and a number of parameters and results, as a body, which
    /// decodes them.
    pub fn bytes(trace: &Trace, operations: &[NodeId], others: usize) -> usize {
        let words = |id: &NodeId| {
            let node = trace.node(*id);
            let bodies = if node.op.has_results() { trace.bodies(node).count() } else { 0 };
            // An operand may be a parameter of its own.
            4 + 4 * trace.operands(node).len() + 2 * trace.words(node).len() + bodies * DIGEST_WORDS
        };
        let words: usize = operations.iter().map(words).sum();
        // Words in a list that grows and in their final place, positions of the nodes, and what is decoded.
        let of_words = (words + 4 * others).saturating_mul(4 * size_of::<u32>() + DECODED_BYTES);
        of_words.saturating_add(trace.len().saturating_mul(2 * size_of::<u32>()))
    }

    /// Creates an empty program, with a hint of its number of operations.
    pub fn new(trace: &'a Trace, tables: &'a mut Tables, operations: usize) -> Encoder<'a> {
        tables.positions.resize(trace.len().max(tables.positions.len()), NONE);
        Encoder {
            trace,
            tables,
            known_shapes: Vec::new(),
            known_nodes: Vec::with_capacity(operations),
            words: Vec::with_capacity(operations * 5 + 16),
            bodies: Vec::new(),
            parameters: Vec::new(),
            scalars: Vec::new(),
        }
    }

    /// Adds a parameter, unless the node already has a position.
    pub fn parameter(&mut self, id: NodeId) {
        if self.tables.positions[id.0 as usize] == NONE {
            self.parameters.push(id);
            self.value(Op::Leaf, id);
        }
    }

    /// Adds an operation. Operands without a position become parameters.
    pub fn operation(&mut self, id: NodeId) {
        let trace = self.trace;
        let node = trace.node(id);
        trace.operands(node).iter().for_each(|&operand| self.parameter(operand));
        self.value(node.op, id);
        if node.op.arity().is_none() {
            self.words.push(trace.operands(node).len() as u32);
        }
        for operand in trace.operands(node) {
            self.words.push(self.tables.positions[operand.0 as usize]);
        }
        if node.op.has_attributes() {
            let attributes = trace.words(node);
            self.words.push(attributes.len() as u32);
            attributes.iter().for_each(|&value| self.wide(value));
        } else if node.op.has_scalar() {
            self.scalars.push(node.payload);
        }
        if node.op.has_results() {
            trace.bodies(node).for_each(|body| self.body(body));
        }
    }

    #[inline]
    fn value(&mut self, op: Op, id: NodeId) {
        let node = self.trace.node(id);
        self.words.push(op.code() << 16 | (node.dtype as u32) << 8);
        let shape = node.shape.0 as usize;
        let shapes = &mut self.tables.shapes;
        if shape >= shapes.len() {
            shapes.resize(shape + 1, NONE);
        }
        if shapes[shape] == NONE {
            shapes[shape] = self.known_shapes.len() as u32;
            self.words.push(self.known_shapes.len() as u32);
            self.known_shapes.push(shape as u32);
            let dims = self.trace.dims(node.shape);
            self.words.push(dims.len() as u32);
            dims.iter().for_each(|&dim| self.wide(dim));
        } else {
            self.words.push(shapes[shape]);
        }
        self.tables.positions[id.0 as usize] = self.known_nodes.len() as u32;
        self.known_nodes.push(id);
    }

    fn wide(&mut self, value: i64) {
        self.words.extend([value as u32, (value >> 32) as u32]);
    }

    fn body(&mut self, body: &Arc<Body>) {
        self.words.extend(body.digest());
        if !self.bodies.contains(body) {
            self.bodies.push(body.clone());
        }
    }

    /// Finishes the program. All outputs have positions.
    pub fn finish(mut self, outputs: &[NodeId]) -> Encoded {
        self.words.push(END);
        self.words.extend(outputs.iter().map(|id| self.tables.positions[id.0 as usize]));
        for id in &self.known_nodes {
            self.tables.positions[id.0 as usize] = NONE;
        }
        for &shape in &self.known_shapes {
            self.tables.shapes[shape as usize] = NONE;
        }
        let mut labels = Labels::default();
        if self.trace.has_labels() {
            for (position, &id) in self.known_nodes.iter().enumerate() {
                // A leaf continues the run that it is in.
                if self.trace.node(id).op != Op::Leaf {
                    labels.begin(position as u32, self.trace.label_of(id));
                }
            }
        }
        let program = Program {
            encoding: Encoding::new(self.words),
            bodies: self.bodies,
            labels,
            output_labels: OnceLock::new(),
        };
        Encoded { program, parameters: self.parameters, scalars: self.scalars }
    }
}
