//! Graphs of programs and of the computations that they apply, in columns, with numbers for texts that are there often.

use base::label::Label;
use base::types::Scalar;
use ir::{Body, Instruction, Op, Program};
use native::text_of;
use ops::operation_name;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::hash::Hash;
use std::sync::Arc;

/// Number of operations in all graphs. Programs for which there is no room have none.
const MOST_OPERATIONS: usize = 50_000;

/// Numbers of values, by first use.
struct Numbers<T> {
    numbers: FxHashMap<T, usize>,
    values: Vec<Value>,
}

impl<T> Default for Numbers<T> {
    fn default() -> Numbers<T> {
        Numbers { numbers: FxHashMap::default(), values: Vec::new() }
    }
}

impl<T: Hash + Eq> Numbers<T> {
    fn of(&mut self, key: T, value: impl FnOnce() -> Value) -> usize {
        let Numbers { numbers, values } = self;
        *numbers.entry(key).or_insert_with(|| {
            values.push(value());
            values.len() - 1
        })
    }
}

/// The graphs, and what they refer to by number.
#[derive(Default)]
pub struct Graphs {
    operations: Numbers<&'static str>,
    types: Numbers<String>,
    labels: Numbers<Label>,
    graphs: Vec<Value>,
    /// Numbers of the graphs of bodies, by their digests.
    bodies: FxHashMap<Vec<u32>, usize>,
    count: usize,
}

impl Graphs {
    /// Adds the graph of a program, with what is known of its scalars, and returns its number; None if there is no room
    /// for it.
    pub fn add(&mut self, program: &Program, scalars: &[Scalar], varying: &[bool]) -> Option<usize> {
        if !self.has_room(program) {
            return None;
        }
        let text = |i: usize| match varying.get(i) {
            Some(true) => "scalar parameter".to_string(),
            _ => scalars.get(i).map_or_else(String::new, |&scalar| text_of(scalar)),
        };
        Some(self.add_values(program.decode(), text))
    }

    /// The document of the graphs: `graphs`, and the texts to which they refer.
    ///
    /// A graph has in `op`, `type`, `label` a number for each node, and in `in` the nodes of its operands; in `outputs`
    /// the nodes that are results; and for some nodes, by their number, `scalar`, and `bodies`, the graphs of the
    /// computations that it applies, or null if there was no room for it.
    pub fn document(self) -> Value {
        json!({
            "operations": self.operations.values,
            "types": self.types.values,
            "labels": self.labels.values,
            "graphs": self.graphs,
        })
    }

    /// Whether there is room for a program with the bodies that are not there yet.
    fn has_room(&self, program: &Program) -> bool {
        self.count + program.words().len() / 3 <= MOST_OPERATIONS || {
            let operations = program.decode().0.len();
            self.count + operations <= MOST_OPERATIONS
        }
    }

    fn body(&mut self, body: &Arc<Body>) -> Option<usize> {
        if let Some(&known) = self.bodies.get(body.digest()) {
            return Some(known);
        }
        if !self.has_room(body.program()) {
            return None;
        }
        let number =
            self.add_values(body.decode(), |i| body.scalars().get(i).map_or_else(String::new, |&s| text_of(s)));
        self.bodies.insert(body.digest().to_vec(), number);
        Some(number)
    }

    /// Adds a graph. Recursion is as deep as bodies are nested.
    fn add_values(
        &mut self,
        (values, results): (Vec<Instruction>, Vec<usize>),
        scalar: impl Fn(usize) -> String,
    ) -> usize {
        let (mut ops, mut types, mut labels, mut operands) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (mut scalars, mut bodies) = (serde_json::Map::new(), serde_json::Map::new());
        // For each value, its node: a result of an operation with several is the operation.
        let mut nodes: Vec<usize> = Vec::with_capacity(values.len());
        let mut slots = 0;
        self.count += values.len();
        for value in &values {
            if value.op == Op::Result {
                nodes.push(nodes[value.operands[0]]);
                continue;
            }
            let node = ops.len();
            nodes.push(node);
            ops.push(self.operations.of(operation_name(value.op), || operation_name(value.op).into()));
            let ty = if value.op.has_results() { String::new() } else { value.ty.to_string() };
            let bytes = if value.op.has_results() { 0 } else { value.ty.size_bytes() };
            types.push(self.types.of(ty.clone(), || json!([ty, bytes])));
            labels.push(self.labels.of(value.label, || json!(value.label.names())));
            operands.push(value.operands.iter().map(|&operand| nodes[operand]).collect::<Vec<_>>());
            if value.op.has_scalar() {
                // 1 / x and x / 1 have the same operation and operands.
                let place = if matches!(value.op, Op::ScalarBinary(_)) { " (lhs)" } else { "" };
                scalars.insert(node.to_string(), format!("{}{place}", scalar(slots)).into());
                slots += 1;
            }
            if !value.bodies.is_empty() {
                let numbers: Vec<Option<usize>> = value.bodies.iter().map(|body| self.body(body)).collect();
                bodies.insert(node.to_string(), json!(numbers));
            }
        }
        let outputs: Vec<usize> = results.iter().map(|&result| nodes[result]).collect();
        self.graphs.push(json!({
            "op": ops, "type": types, "label": labels, "in": operands, "outputs": outputs, "scalar": scalars,
            "bodies": bodies,
        }));
        self.graphs.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::types::{DType, ScalarValue, TensorType};
    use ir::{BinaryOp, Trace, UnaryOp, take_body};
    use ops::elementwise;

    /// The program of `length` operations on an array of `size` elements.
    fn program(size: i64, length: usize) -> Program {
        let mut trace = Trace::new();
        let x = trace.parameter(TensorType::new(DType::F32, &[size]));
        let y = (0..length).fold(x, |y, _| elementwise::unary(&mut trace, UnaryOp::Tanh, y).unwrap());
        take_body(&trace, &[x], &[y]).unwrap().0.program().clone()
    }

    #[test]
    fn a_scalar_on_the_left_is_told_apart() {
        let mut trace = Trace::new();
        let x = trace.parameter(TensorType::new(DType::F32, &[2]));
        let divided = |trace: &mut Trace, is_left| {
            elementwise::binary_scalar(trace, BinaryOp::Divide, x, ScalarValue::Float(3.0), is_left).unwrap()
        };
        let results = [divided(&mut trace, true), divided(&mut trace, false)];
        let body = take_body(&trace, &[x], &results).unwrap().0;
        let mut graphs = Graphs::default();
        graphs.add(body.program(), body.scalars(), &[]);
        assert_eq!(graphs.document()["graphs"][0]["scalar"], json!({"1": "3.0 (lhs)", "2": "3.0"}));
    }

    #[test]
    fn graphs_are_bounded() {
        let mut graphs = Graphs::default();
        assert_eq!(graphs.add(&program(2, 30_000), &[], &[]), Some(0));
        assert_eq!(graphs.add(&program(3, 30_000), &[], &[]), None);
        assert_eq!(graphs.add(&program(3, 10_000), &[], &[]), Some(1));
        assert!(graphs.count <= MOST_OPERATIONS);
        let document = graphs.document();
        assert_eq!(document["operations"], json!(["parameter", "tanh"]));
        assert_eq!(document["types"], json!([["f32[2]", 8], ["f32[3]", 12]]));
        let graph = &document["graphs"][1];
        assert_eq!(graph["op"].as_array().unwrap().len(), 10_001);
        assert_eq!((&graph["in"][10_000], &graph["outputs"]), (&json!([9_999]), &json!([10_000])));
    }
}
