//! The body of a traced computation: a program whose parameters are placeholders and captures, and whose scalars are
//! constants. It is taken out of the trace, so that it lives on however the trace changes.

use super::encode::Encoder;
use super::linear::Workspace;
use super::op::Op;
use super::program::{Instruction, Program};
use super::trace::{NodeId, Trace};
use crate::types::{Scalar, TensorType};
use std::sync::Arc;

/// Words of a digest.
pub const DIGEST_WORDS: usize = 8;

/// See the module's documentation. Two bodies are equal if they compute the same: their digests, blake3 of all that they
/// are, stand for them in the words of the programs that apply them.
#[derive(Debug)]
pub struct Body {
    program: Program,
    scalars: Vec<Scalar>,
    parameters: Vec<TensorType>,
    explicit: usize,
    results: Vec<TensorType>,
    passed_through: Vec<Option<usize>>,
    digest: [u32; DIGEST_WORDS],
    weight: usize,
}

impl PartialEq for Body {
    fn eq(&self, other: &Body) -> bool {
        self.digest == other.digest
    }
}

impl Eq for Body {}

impl Body {
    /// Takes the computation of `results` from `parameters` (different leaves) out of a trace. What does not depend on a
    /// parameter is captured, except what is made of constants alone. Gives the captured nodes, too.
    pub fn take(trace: &Trace, parameters: &[NodeId], results: &[NodeId]) -> (Arc<Body>, Vec<NodeId>) {
        let captured = capturable(trace, parameters);
        let mut workspace = Workspace::default();
        let order = workspace.linearize_until(trace, results, |id| captured[id.0 as usize]).order().to_vec();
        let mut tables = Default::default();
        let mut encoder = Encoder::new(trace, &mut tables, order.len());
        parameters.iter().for_each(|&id| encoder.parameter(id));
        order.iter().for_each(|&id| encoder.operation(id));
        // What is left without a position is captured, and a result as it is.
        results.iter().for_each(|&id| encoder.parameter(id));
        let encoded = encoder.finish(results);
        let captures = encoded.parameters[parameters.len()..].to_vec();
        (Arc::new(Body::new(encoded.program, encoded.scalars, parameters.len())), captures)
    }

    fn new(program: Program, scalars: Vec<Scalar>, explicit: usize) -> Body {
        let (values, outputs) = program.decode();
        let leaves: Vec<usize> = (0..values.len()).filter(|&i| values[i].op == Op::Leaf).collect();
        let within: usize = values.iter().flat_map(|value| &value.bodies).map(|body| body.weight).sum();
        Body {
            parameters: leaves.iter().map(|&i| values[i].ty.clone()).collect(),
            explicit,
            results: outputs.iter().map(|&i| values[i].ty.clone()).collect(),
            passed_through: outputs.iter().map(|output| leaves.binary_search(output).ok()).collect(),
            digest: digest(&program, &scalars, explicit),
            weight: values.len() - leaves.len() + within,
            program,
            scalars,
        }
    }

    /// The program; its parameters are those of [`Body::parameters`], in that order.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The constants in the program's holes.
    pub fn scalars(&self) -> &[Scalar] {
        &self.scalars
    }

    /// Its values in order, and the positions of its results.
    pub fn decode(&self) -> (Vec<Instruction>, Vec<usize>) {
        self.program.decode()
    }

    /// Types of the explicit parameters.
    pub fn parameters(&self) -> &[TensorType] {
        &self.parameters[..self.explicit]
    }

    /// Types of the captures, which are parameters behind the explicit ones.
    pub fn captures(&self) -> &[TensorType] {
        &self.parameters[self.explicit..]
    }

    /// Types of the results.
    pub fn results(&self) -> &[TensorType] {
        &self.results
    }

    /// The parameter (explicit or captured) that a result is, if it is one unchanged.
    pub fn passed_through(&self, result: usize) -> Option<usize> {
        self.passed_through[result]
    }

    /// blake3 of all that it computes.
    pub fn digest(&self) -> &[u32] {
        &self.digest
    }

    /// A name for it: the start of its digest.
    pub fn name(&self) -> String {
        format!("body_{:08x}{:08x}{:08x}", self.digest[0], self.digest[1], self.digest[2])
    }

    /// How many operations it has, with those of the bodies that it applies.
    pub fn weight(&self) -> usize {
        self.weight
    }
}

/// For every node whether a body takes it as it is: it needs some leaf, but no parameter.
fn capturable(trace: &Trace, parameters: &[NodeId]) -> Vec<bool> {
    let mut depends = vec![false; trace.len()];
    let mut has_leaf = vec![false; trace.len()];
    parameters.iter().for_each(|id| depends[id.0 as usize] = true);
    // Operands come before their users.
    for id in 0..trace.len() {
        let node = trace.node(NodeId(id as u32));
        has_leaf[id] = node.op == Op::Leaf;
        for operand in trace.operands(node) {
            depends[id] |= depends[operand.0 as usize];
            has_leaf[id] |= has_leaf[operand.0 as usize];
        }
    }
    depends.iter().zip(&has_leaf).map(|(depends, has_leaf)| !depends && *has_leaf).collect()
}

fn digest(program: &Program, scalars: &[Scalar], explicit: usize) -> [u32; DIGEST_WORDS] {
    let mut hasher = blake3::Hasher::new();
    let words = program.words();
    hasher.update(&(explicit as u64).to_le_bytes());
    hasher.update(&(words.len() as u64).to_le_bytes());
    for word in words {
        hasher.update(&word.to_le_bytes());
    }
    for scalar in scalars {
        hasher.update(&[scalar.dtype() as u8]);
        hasher.update(&scalar.bits().to_le_bytes());
    }
    let hash = hasher.finalize();
    let mut digest = [0; DIGEST_WORDS];
    for (word, bytes) in digest.iter_mut().zip(hash.as_bytes().chunks_exact(4)) {
        *word = u32::from_le_bytes(bytes.try_into().expect("4 bytes"));
    }
    digest
}

#[cfg(test)]
mod tests {
    use super::super::build;
    use super::super::op::BinaryOp;
    use super::*;
    use crate::device_data::{DeviceData, State};
    use crate::types::{DType, ScalarValue};

    fn leaf(trace: &mut Trace) -> NodeId {
        trace.leaf(&DeviceData::new(TensorType::new(DType::F32, &[2]), State::Placeholder))
    }

    fn add(trace: &mut Trace, a: NodeId, b: NodeId) -> NodeId {
        build::binary(trace, BinaryOp::Add, a, b).unwrap()
    }

    fn scaled(trace: &mut Trace, x: NodeId, by: f64) -> NodeId {
        build::binary_scalar(trace, BinaryOp::Multiply, x, ScalarValue::Float(by), false).unwrap()
    }

    #[test]
    fn what_does_not_depend_on_a_parameter_is_captured_whole() {
        let mut t = Trace::new();
        let (p, unused, data) = (leaf(&mut t), leaf(&mut t), leaf(&mut t));
        let outside = scaled(&mut t, data, 3.0);
        let constant = build::full(&mut t, &TensorType::new(DType::F32, &[2]), ScalarValue::Float(1.0)).unwrap();
        let moved = add(&mut t, p, constant);
        let result = add(&mut t, moved, outside);
        let (body, captures) = Body::take(&t, &[p, unused], &[result, p, outside, data]);
        assert_eq!(captures, [outside, data]);
        assert_eq!((body.parameters().len(), body.captures().len(), body.results().len()), (2, 2, 4));
        assert_eq!((0..4).map(|i| body.passed_through(i)).collect::<Vec<_>>(), [None, Some(0), Some(2), Some(3)]);
        assert_eq!(body.weight(), 3);
    }

    #[test]
    fn equal_traces_are_equal_bodies_and_constants_tell_them_apart() {
        let body = |by: f64| {
            let mut t = Trace::new();
            let _elsewhere = leaf(&mut t);
            let p = leaf(&mut t);
            let x = scaled(&mut t, p, by);
            Body::take(&t, &[p], &[x]).0
        };
        assert_eq!(body(2.0), body(2.0));
        assert_ne!(body(2.0), body(3.0));
    }
}
