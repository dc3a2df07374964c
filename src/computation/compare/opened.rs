//! A computation whose intermediate values are results, so that each can be looked at: its operations in order, calls
//! inlined, in pieces that are programs of their own.

use base::allocation::probe;
use base::error::Result;
use base::label::Label;
use base::types::{Scalar, TensorType};
use ir::{Body, Instruction, NodeId, Op, Trace, take_closed_body};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

/// Largest number of operations of a piece, and bytes of its values: they are all in the device's memory at one time.
const MOST_OPERATIONS: usize = 400;
const MOST_BYTES: usize = 256 << 20;

/// An operation of an opened computation. Values have numbers: first those of the parameters and captures.
pub struct Operation {
    /// The instruction; its operands are positions of the body that it comes from.
    pub value: Instruction,
    /// Value of its scalar slot.
    pub scalar: Option<Scalar>,
    /// Numbers of the operands.
    pub operands: Vec<usize>,
    /// Numbers of the operands, each once.
    pub inputs: Vec<usize>,
    /// Numbers of the results that something uses.
    pub results: Vec<usize>,
    /// For an operation with several results, the instructions that select them.
    selectors: Vec<Instruction>,
    alone: OnceCell<Arc<Body>>,
    bodies: OnceCell<Vec<Opened>>,
}

/// Operations that run as one program.
pub struct Piece {
    /// Operations of the piece.
    pub operations: Range<usize>,
    /// Numbers of the values from before.
    pub inputs: Vec<usize>,
    /// Numbers of the values that it makes.
    pub outputs: Vec<usize>,
    /// The program.
    pub body: Arc<Body>,
}

/// A computation in pieces.
pub struct Opened {
    /// Types of the values.
    pub types: Vec<TensorType>,
    /// Operations, in order.
    pub operations: Vec<Operation>,
    /// The operations by programs, in order.
    pub pieces: Vec<Piece>,
    /// Numbers of the results.
    pub results: Vec<usize>,
    /// For each value, one more than the last operation that uses it; results are used after the last operation.
    pub used_until: Vec<usize>,
}

/// A position of a body.
enum Known {
    Value(usize),
    /// Operation with several results.
    Several(usize),
    /// Results of a call.
    Called(Vec<usize>),
}

impl Opened {
    /// Opens a body. Its parameters are followed by its captures.
    pub fn of(body: &Body) -> Result<Opened> {
        let types = [body.parameters(), body.captures()].concat();
        let parameters: Vec<usize> = (0..types.len()).collect();
        let (operations, pieces) = (Vec::new(), Vec::new());
        let mut opened = Opened { types, operations, pieces, results: Vec::new(), used_until: Vec::new() };
        opened.results = opened.inline(body, &parameters, Label::NONE)?;
        opened.used_until = vec![0; opened.types.len()];
        for (number, operation) in opened.operations.iter().enumerate() {
            operation.inputs.iter().for_each(|&input| opened.used_until[input] = number + 1);
        }
        opened.results.iter().for_each(|&result| opened.used_until[result] = usize::MAX);
        opened.divide()?;
        Ok(opened)
    }

    /// Appends the operations of a body that is applied to these values. Returns its results.
    fn inline(&mut self, body: &Body, arguments: &[usize], outer: Label) -> Result<Vec<usize>> {
        probe(body.program().decoded_bytes().saturating_mul(2), "the operations of a computation")?;
        let (values, outputs) = body.decode();
        let (mut arguments, mut scalars) = (arguments.iter(), body.scalars().iter());
        let mut known: Vec<Known> = Vec::with_capacity(values.len());
        for mut value in values {
            value.label = value.label.or(outer);
            let scalar = if value.op.has_scalar() { scalars.next().copied() } else { None };
            let made = match value.op {
                Op::Leaf => Known::Value(*arguments.next().expect("one argument for each parameter and capture")),
                Op::Result => {
                    let index = value.attributes::<usize>();
                    match &known[value.operands[0]] {
                        Known::Called(results) => Known::Value(results[index]),
                        Known::Several(operation) => Known::Value(self.select(*operation, value)),
                        Known::Value(_) => unreachable!("a result is that of an operation with several"),
                    }
                }
                op => {
                    let operands = value.operands.iter().map(|&operand| match known[operand] {
                        Known::Value(number) => number,
                        _ => unreachable!("operands are values"),
                    });
                    let operands: Vec<usize> = operands.collect();
                    match op {
                        Op::Call => Known::Called(self.inline(&value.bodies[0], &operands, value.label)?),
                        _ => self.push(value, scalar, operands),
                    }
                }
            };
            known.push(made);
        }
        let result = |&output: &usize| match known[output] {
            Known::Value(number) => number,
            _ => unreachable!("results are values"),
        };
        Ok(outputs.iter().map(result).collect())
    }

    fn push(&mut self, value: Instruction, scalar: Option<Scalar>, operands: Vec<usize>) -> Known {
        let mut inputs: Vec<usize> = Vec::with_capacity(operands.len());
        let mut seen = FxHashSet::default();
        inputs.extend(operands.iter().filter(|&&operand| seen.insert(operand)));
        let has_several = value.op.has_results();
        let mut results = Vec::new();
        if !has_several {
            results.push(self.types.len());
            self.types.push(value.ty.clone());
        }
        let (selectors, alone, bodies) = (Vec::new(), OnceCell::new(), OnceCell::new());
        self.operations.push(Operation { value, scalar, operands, inputs, results, selectors, alone, bodies });
        match has_several {
            true => Known::Several(self.operations.len() - 1),
            false => Known::Value(self.types.len() - 1),
        }
    }

    /// Adds a result to an operation with several. Returns its number.
    fn select(&mut self, operation: usize, selector: Instruction) -> usize {
        self.types.push(selector.ty.clone());
        let operation = &mut self.operations[operation];
        operation.results.push(self.types.len() - 1);
        operation.selectors.push(selector);
        self.types.len() - 1
    }

    /// Divides the operations into pieces.
    fn divide(&mut self) -> Result<()> {
        let mut start = 0;
        while start < self.operations.len() {
            let mut bytes = 0usize;
            let mut end = start;
            while end < self.operations.len() && end - start < MOST_OPERATIONS {
                for &result in &self.operations[end].results {
                    bytes = bytes.saturating_add(self.types[result].size_bytes());
                }
                if end > start && bytes > MOST_BYTES {
                    break;
                }
                end += 1;
            }
            let operations = &self.operations[start..end];
            let outputs: Vec<usize> = operations.iter().flat_map(|operation| operation.results.clone()).collect();
            let own: FxHashSet<usize> = outputs.iter().copied().collect();
            let mut inputs: Vec<usize> = operations.iter().flat_map(|operation| operation.inputs.clone()).collect();
            inputs.retain(|input| !own.contains(input));
            inputs.sort_unstable();
            inputs.dedup();
            let body = body_of(&self.types, operations, &inputs, &outputs)?;
            self.pieces.push(Piece { operations: start..end, inputs, outputs, body });
            start = end;
        }
        Ok(())
    }
}

impl Operation {
    /// The operation alone, as a computation of its inputs.
    pub fn alone(&self, types: &[TensorType]) -> Result<&Arc<Body>> {
        if let Some(body) = self.alone.get() {
            return Ok(body);
        }
        let body = body_of(types, std::slice::from_ref(self), &self.inputs, &self.results)?;
        Ok(self.alone.get_or_init(|| body))
    }

    /// The computations that it applies, opened.
    pub fn bodies(&self) -> Result<&[Opened]> {
        if let Some(bodies) = self.bodies.get() {
            return Ok(bodies);
        }
        let opened = self.value.bodies.iter().map(|body| Opened::of(body)).collect::<Result<Vec<Opened>>>()?;
        Ok(self.bodies.get_or_init(|| opened))
    }
}

/// The computation of some values from others.
fn body_of(types: &[TensorType], operations: &[Operation], inputs: &[usize], outputs: &[usize]) -> Result<Arc<Body>> {
    let mut trace = Trace::new();
    let parameters: Vec<NodeId> = inputs.iter().map(|&input| trace.parameter(types[input].clone())).collect();
    let mut nodes: FxHashMap<usize, NodeId> = inputs.iter().copied().zip(parameters.iter().copied()).collect();
    for operation in operations {
        trace.check_room_for(1 + operation.results.len())?;
        trace.set_label(operation.value.label);
        let operands: Vec<NodeId> = operation.operands.iter().map(|operand| nodes[operand]).collect();
        let node = trace.record_again(&operation.value, &operands, operation.scalar);
        if !operation.value.op.has_results() {
            nodes.insert(operation.results[0], node);
        }
        for (selector, &result) in operation.selectors.iter().zip(&operation.results) {
            nodes.insert(result, trace.record_again(selector, &[node], None));
        }
    }
    let results: Vec<NodeId> = outputs.iter().map(|output| nodes[output]).collect();
    take_closed_body(&trace, &parameters, &[], &results)
}
