//! The program: the canonical form of what is reachable from a list of roots. Operations in post-order with operand
//! *positions*, parameters where they are first used, outputs by position, holes where scalars stand. It names no tensor,
//! no node and no address, so equal work gives equal words.
//!
//! The words of one value, in order: `op << 16 | dtype << 8`, the number of its shape (a shape that was not there yet is
//! followed by its rank and dimensions), then for operations the number of operands if it varies, the operands' positions,
//! and the number of attributes and the attributes if it has any. After the last value stands [`END`], then the outputs.

use super::op::Op;
use super::trace::{NONE, NodeId, Trace};
use crate::types::{DType, Dims, Scalar, TensorType};

/// Ends the values.
const END: u32 = u32::MAX;

/// See the module's documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    words: Vec<u32>,
}

/// One value of a program, decoded.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// What makes it; a leaf is a parameter.
    pub op: Op,
    /// Its dtype and shape.
    pub ty: TensorType,
    /// Positions of its operands.
    pub operands: Vec<usize>,
    /// Its integer attributes.
    pub attributes: Vec<i64>,
}

/// A program with what one run of it is about.
pub struct Segment {
    /// The canonical form.
    pub program: Program,
    /// The nodes that are its parameters: leaves, or results of an earlier segment.
    pub parameters: Vec<NodeId>,
    /// The nodes that are its outputs: roots, or what a later segment needs.
    pub outputs: Vec<NodeId>,
    /// The values for its holes, in the order of its operations.
    pub scalars: Vec<Scalar>,
}

/// The operations that a list of roots needs, operands first.
pub struct Linear<'a> {
    workspace: &'a mut Workspace,
}

/// Memory that is used again from sync to sync.
#[derive(Default)]
pub struct Workspace {
    order: Vec<NodeId>,
    stack: Vec<(NodeId, u32)>,
    marks: Vec<Mark>,
    positions: Vec<u32>,
    shapes: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct Mark {
    visited: bool,
    output: bool,
    segment: u32,
}

impl Workspace {
    /// Post-order of everything that `roots` need: first root first, operands left to right. An explicit stack, so that
    /// no chain is too long.
    pub fn linearize(&mut self, trace: &Trace, roots: &[NodeId]) -> Linear<'_> {
        self.order.clear();
        self.marks.clear();
        self.marks.resize(trace.len(), Mark::default());
        for &root in roots {
            self.marks[root.0 as usize].output = true;
            self.visit(trace, root);
            while let Some((id, next)) = self.stack.last_mut() {
                let node = trace.node(*id);
                match trace.operands(node).get(*next as usize) {
                    Some(&operand) => {
                        *next += 1;
                        self.visit(trace, operand);
                    }
                    None => {
                        self.order.push(*id);
                        self.stack.pop();
                    }
                }
            }
        }
        Linear { workspace: self }
    }

    #[inline]
    fn visit(&mut self, trace: &Trace, id: NodeId) {
        let mark = &mut self.marks[id.0 as usize];
        if !mark.visited {
            mark.visited = true;
            if trace.node(id).op != Op::Leaf {
                self.stack.push((id, 0));
            }
        }
    }
}

impl Linear<'_> {
    /// The operations, operands first.
    pub fn order(&self) -> &[NodeId] {
        &self.workspace.order
    }

    /// Cuts the order into programs of at most `max_ops` operations. The cut depends on the order alone, so that equal
    /// stretches become equal programs.
    pub fn segments(mut self, trace: &Trace, max_ops: usize) -> Vec<Segment> {
        let workspace = &mut *self.workspace;
        let order = std::mem::take(&mut workspace.order);
        if order.len() > max_ops {
            mark_crossings(trace, &order, max_ops, &mut workspace.marks);
        }
        workspace.positions.resize(trace.len().max(workspace.positions.len()), NONE);
        let segments = order.chunks(max_ops.max(1)).map(|chunk| self.encode(trace, chunk)).collect();
        self.workspace.order = order;
        segments
    }

    fn encode(&mut self, trace: &Trace, chunk: &[NodeId]) -> Segment {
        let workspace = &mut *self.workspace;
        let mut encoder = Encoder {
            trace,
            positions: &mut workspace.positions,
            shapes: &mut workspace.shapes,
            known_shapes: Vec::new(),
            words: Vec::with_capacity(chunk.len() * 5 + 16),
            values: 0,
            parameters: Vec::new(),
            scalars: Vec::new(),
        };
        for &id in chunk {
            encoder.operation(id);
        }
        encoder.words.push(END);
        let outputs: Vec<NodeId> = chunk.iter().copied().filter(|id| workspace.marks[id.0 as usize].output).collect();
        for id in &outputs {
            encoder.words.push(encoder.positions[id.0 as usize]);
        }
        encoder.finish(chunk, outputs)
    }
}

/// Marks as outputs the operations whose results a later chunk needs.
fn mark_crossings(trace: &Trace, order: &[NodeId], max_ops: usize, marks: &mut [Mark]) {
    for (segment, chunk) in order.chunks(max_ops).enumerate() {
        for &id in chunk {
            marks[id.0 as usize].segment = segment as u32;
            for operand in trace.operands(trace.node(id)) {
                let mark = &mut marks[operand.0 as usize];
                if mark.segment != segment as u32 && trace.node(*operand).op != Op::Leaf {
                    mark.output = true;
                }
            }
        }
    }
}

struct Encoder<'a> {
    trace: &'a Trace,
    /// Position of each node in this program, [`NONE`] if it has none. All [`NONE`] again when it is done.
    positions: &'a mut Vec<u32>,
    /// Number of each shape in this program, likewise.
    shapes: &'a mut Vec<u32>,
    known_shapes: Vec<u32>,
    words: Vec<u32>,
    values: u32,
    parameters: Vec<NodeId>,
    scalars: Vec<Scalar>,
}

impl Encoder<'_> {
    fn operation(&mut self, id: NodeId) {
        let trace = self.trace;
        let node = trace.node(id);
        for &operand in trace.operands(node) {
            if self.positions[operand.0 as usize] == NONE {
                self.parameters.push(operand);
                self.value(Op::Leaf, operand);
            }
        }
        self.value(node.op, id);
        if node.op == Op::Concatenate {
            self.words.push(trace.operands(node).len() as u32);
        }
        for operand in trace.operands(node) {
            self.words.push(self.positions[operand.0 as usize]);
        }
        if node.op.has_attributes() {
            let attributes = trace.attributes(node);
            self.words.push(attributes.len() as u32);
            attributes.iter().for_each(|&value| self.wide(value));
        } else if let Some(scalar) = trace.scalar(node) {
            self.scalars.push(scalar);
        }
    }

    #[inline]
    fn value(&mut self, op: Op, id: NodeId) {
        let node = self.trace.node(id);
        self.words.push(op.code() << 16 | (node.dtype as u32) << 8);
        let shape = node.shape.0 as usize;
        if shape >= self.shapes.len() {
            self.shapes.resize(shape + 1, NONE);
        }
        if self.shapes[shape] == NONE {
            self.shapes[shape] = self.known_shapes.len() as u32;
            self.words.push(self.known_shapes.len() as u32);
            self.known_shapes.push(shape as u32);
            let dims = self.trace.dims(node.shape);
            self.words.push(dims.len() as u32);
            dims.iter().for_each(|&dim| self.wide(dim));
        } else {
            self.words.push(self.shapes[shape]);
        }
        self.positions[id.0 as usize] = self.values;
        self.values += 1;
    }

    fn wide(&mut self, value: i64) {
        self.words.extend([value as u32, (value >> 32) as u32]);
    }

    fn finish(self, chunk: &[NodeId], outputs: Vec<NodeId>) -> Segment {
        for id in chunk.iter().chain(&self.parameters) {
            self.positions[id.0 as usize] = NONE;
        }
        for &shape in &self.known_shapes {
            self.shapes[shape as usize] = NONE;
        }
        Segment { program: Program { words: self.words }, parameters: self.parameters, outputs, scalars: self.scalars }
    }
}

impl Program {
    /// The canonical words.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// Its values in order, and the positions of its outputs.
    pub fn decode(&self) -> (Vec<Instruction>, Vec<usize>) {
        let mut reader = Reader { words: &self.words, at: 0, shapes: Vec::new() };
        let mut values = Vec::new();
        while reader.peek() != END {
            values.push(reader.instruction());
        }
        let outputs = self.words[reader.at + 1..].iter().map(|&w| w as usize).collect();
        (values, outputs)
    }
}

struct Reader<'a> {
    words: &'a [u32],
    at: usize,
    shapes: Vec<Dims>,
}

impl Reader<'_> {
    fn peek(&self) -> u32 {
        self.words[self.at]
    }

    fn word(&mut self) -> u32 {
        self.at += 1;
        self.words[self.at - 1]
    }

    fn wide(&mut self) -> i64 {
        let low = self.word();
        i64::from(self.word() as i32) << 32 | i64::from(low)
    }

    fn instruction(&mut self) -> Instruction {
        let head = self.word();
        let op = Op::from_code(head >> 16).expect("the encoder writes known operations");
        let dtype = DType::from_number((head >> 8 & 0xFF) as i32).expect("the encoder writes known dtypes");
        let shape = self.word() as usize;
        if shape == self.shapes.len() {
            let rank = self.word();
            let dims = (0..rank).map(|_| self.wide()).collect();
            self.shapes.push(dims);
        }
        let arity = match op {
            Op::Leaf | Op::Full | Op::Iota => 0,
            Op::Binary(_) | Op::Compare(_) | Op::Matmul => 2,
            Op::Select => 3,
            Op::Concatenate => self.word(),
            _ => 1,
        };
        let operands = (0..arity).map(|_| self.word() as usize).collect();
        let count = if op.has_attributes() { self.word() } else { 0 };
        let attributes = (0..count).map(|_| self.wide()).collect();
        Instruction { op, ty: TensorType { dtype, dims: self.shapes[shape].clone() }, operands, attributes }
    }
}

#[cfg(test)]
mod tests {
    use super::super::build;
    use super::super::op::{BinaryOp, ReduceOp, UnaryOp};
    use super::*;
    use crate::device_data::{DeviceData, State};
    use crate::types::ScalarValue;

    fn leaf(trace: &mut Trace, dims: &[i64]) -> NodeId {
        trace.leaf(&DeviceData::new(TensorType::new(DType::F32, dims), State::Placeholder))
    }

    fn programs(trace: &Trace, roots: &[NodeId], max_ops: usize) -> Vec<Segment> {
        Workspace::default().linearize(trace, roots).segments(trace, max_ops)
    }

    #[test]
    fn decoding_gives_back_what_was_recorded() {
        let mut t = Trace::new();
        let (a, b) = (leaf(&mut t, &[2, 3]), leaf(&mut t, &[3]));
        let sum = build::binary(&mut t, BinaryOp::Add, a, b).unwrap();
        let half = build::binary_scalar(&mut t, BinaryOp::Multiply, sum, ScalarValue::Float(0.5), false).unwrap();
        let cat = build::concatenate(&mut t, &[half, a, sum, a], -2).unwrap();
        let total = build::reduce(&mut t, ReduceOp::Sum, cat, &[0], false).unwrap();
        let segments = programs(&t, &[sum, total], 100);
        assert_eq!(segments.len(), 1);
        let (values, outputs) = segments[0].program.decode();
        let names: Vec<String> = values.iter().map(|v| format!("{:?} {} {:?}", v.op, v.ty, v.operands)).collect();
        assert_eq!(
            names,
            [
                "Leaf f32[2,3] []",
                "Leaf f32[3] []",
                "Binary(Add) f32[2,3] [0, 1]",
                "BinaryScalar(Multiply) f32[2,3] [2]",
                "Concatenate f32[8,3] [3, 0, 2, 0]",
                "Reduce(Sum) f32[3] [4]",
            ]
        );
        assert_eq!(values[5].attributes, [0]);
        assert_eq!(outputs, [2, 5]);
        assert_eq!(segments[0].parameters, [a, b]);
        assert_eq!(segments[0].scalars.len(), 1);
    }

    #[test]
    fn k3_wiring_is_in_the_words() {
        let program = |second: usize, third: usize| {
            let mut t = Trace::new();
            let leaves = [leaf(&mut t, &[2]), leaf(&mut t, &[2]), leaf(&mut t, &[2])];
            let all = build::concatenate(&mut t, &leaves, 0).unwrap();
            let product = build::binary(&mut t, BinaryOp::Multiply, leaves[0], leaves[second]).unwrap();
            let sum = build::binary(&mut t, BinaryOp::Add, product, leaves[third]).unwrap();
            programs(&t, &[all, sum], 100).remove(0).program
        };
        assert_ne!(program(1, 2), program(2, 1));
        assert_eq!(program(1, 2), program(1, 2));
    }

    #[test]
    fn scalars_leave_holes() {
        let program = |value: f64| {
            let mut t = Trace::new();
            let a = leaf(&mut t, &[2]);
            let x = build::binary_scalar(&mut t, BinaryOp::Add, a, ScalarValue::Float(value), true).unwrap();
            programs(&t, &[x], 100).remove(0)
        };
        assert_eq!(program(1.0).program, program(2.0).program);
        assert_ne!(program(1.0).scalars, program(2.0).scalars);
    }

    #[test]
    fn a_long_chain_is_cut_into_equal_programs() {
        let mut t = Trace::new();
        let mut x = leaf(&mut t, &[2]);
        for _ in 0..100_000 {
            x = build::unary(&mut t, UnaryOp::Tanh, x).unwrap();
        }
        let segments = programs(&t, &[x], 1000);
        assert_eq!(segments.len(), 100);
        for pair in segments.windows(2) {
            assert_eq!(pair[0].program, pair[1].program);
            assert_eq!(pair[0].outputs, pair[1].parameters);
        }
        assert_eq!(segments[99].outputs, [x]);
    }

    #[test]
    fn a_value_that_skips_segments_stays_an_output_of_its_own() {
        let mut t = Trace::new();
        let a = leaf(&mut t, &[2]);
        let early = build::unary(&mut t, UnaryOp::Tanh, a).unwrap();
        let mut x = early;
        for _ in 0..5 {
            x = build::unary(&mut t, UnaryOp::Negate, x).unwrap();
        }
        let last = build::binary(&mut t, BinaryOp::Add, x, early).unwrap();
        let segments = programs(&t, &[last], 2);
        assert_eq!(segments.len(), 4);
        assert!(segments[0].outputs.contains(&early));
        assert!(segments[3].parameters.contains(&early));
    }
}
