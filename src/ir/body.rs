//! Extracts the body of a computation from a trace, so that it is independent of later changes of the trace.

use super::encode::Encoder;
use super::linear::Workspace;
use super::op::Op;
use super::program::Body;
use super::trace::{NodeId, Trace};
use crate::allocation::{filled, probe, with_room};
use crate::error::Result;
use std::sync::Arc;

/// Names the use of the memory in out-of-memory errors.
const PURPOSE: &str = "the body of a computation";

/// Extracts the computation of `results` from `parameters` (distinct nodes, whose own operands are not part of it).
/// Nodes that do not depend on a parameter are captured, except nodes computed from constants alone. Returns the body
/// and the captured nodes.
pub fn take_body(trace: &Trace, parameters: &[NodeId], results: &[NodeId]) -> Result<(Arc<Body>, Vec<NodeId>)> {
    let mut given = capturable(trace, parameters)?;
    parameters.iter().for_each(|id| given[id.0 as usize] = true);
    extract(trace, parameters, &[], results, &given)
}

/// Extracts the computation of `results` from `parameters` (distinct nodes) with all operations on which they depend.
/// Returns the body and the captured nodes, which are leaves.
pub fn take_whole_body(trace: &Trace, parameters: &[NodeId], results: &[NodeId]) -> Result<(Arc<Body>, Vec<NodeId>)> {
    let mut given = filled(false, trace.len(), PURPOSE)?;
    parameters.iter().for_each(|id| given[id.0 as usize] = true);
    extract(trace, parameters, &[], results, &given)
}

/// Extracts the computation of `results` from `parameters` (distinct nodes) and `captures` (leaves, in this order).
pub fn take_closed_body(
    trace: &Trace,
    parameters: &[NodeId],
    captures: &[NodeId],
    results: &[NodeId],
) -> Result<Arc<Body>> {
    let mut given = filled(false, trace.len(), PURPOSE)?;
    parameters.iter().chain(captures).for_each(|id| given[id.0 as usize] = true);
    extract(trace, parameters, captures, results, &given).map(|(body, _)| body)
}

fn extract(
    trace: &Trace,
    parameters: &[NodeId],
    captures: &[NodeId],
    results: &[NodeId],
    given: &[bool],
) -> Result<(Arc<Body>, Vec<NodeId>)> {
    probe(Workspace::bytes(trace), PURPOSE)?;
    let mut workspace = Workspace::default();
    let linear = workspace.linearize_until(trace, results, |id| given[id.0 as usize]);
    let mut order = with_room(linear.order().len(), PURPOSE)?;
    order.extend_from_slice(linear.order());
    let leaves = parameters.len() + captures.len() + results.len();
    probe(Encoder::bytes(trace, &order, leaves).saturating_mul(2), PURPOSE)?;
    let mut tables = Default::default();
    let mut encoder = Encoder::new(trace, &mut tables, order.len());
    parameters.iter().chain(captures).for_each(|&id| encoder.parameter(id));
    order.iter().for_each(|&id| encoder.operation(id));
    // Results without a position yet are captured nodes that are returned unchanged.
    results.iter().for_each(|&id| encoder.parameter(id));
    let encoded = encoder.finish(results);
    let captures = encoded.parameters[parameters.len()..].to_vec();
    Ok((Arc::new(Body::new(encoded.program, trace.scalars_at(&encoded.scalars), parameters.len())), captures))
}

/// For each node, whether a body captures it: it depends on a leaf, but neither on a parameter nor on a collective,
/// whose value exists only in the body of a `shard_map`.
fn capturable(trace: &Trace, parameters: &[NodeId]) -> Result<Vec<bool>> {
    let mut depends = filled(false, trace.len(), PURPOSE)?;
    let mut has_leaf = filled(false, trace.len(), PURPOSE)?;
    parameters.iter().for_each(|id| depends[id.0 as usize] = true);
    // Operands come before their users.
    for id in 0..trace.len() {
        let node = trace.node(NodeId(id as u32));
        has_leaf[id] = node.op == Op::Leaf;
        depends[id] |= trace.has_collectives() && trace.is_collective(node);
        for operand in trace.operands(node) {
            depends[id] |= depends[operand.0 as usize];
            has_leaf[id] |= has_leaf[operand.0 as usize];
        }
    }
    // Of these, what has a leaf and does not depend on a parameter is captured.
    depends.iter_mut().zip(&has_leaf).for_each(|(depends, has_leaf)| *depends = !*depends && *has_leaf);
    Ok(depends)
}

#[cfg(test)]
mod tests {
    use super::super::members::BinaryOp;
    use super::*;
    use crate::ops::{creation, elementwise};
    use crate::types::{DType, ScalarValue, TensorType};

    fn leaf(trace: &mut Trace) -> NodeId {
        trace.parameter(TensorType::new(DType::F32, &[2]))
    }

    fn add(trace: &mut Trace, a: NodeId, b: NodeId) -> NodeId {
        elementwise::binary(trace, BinaryOp::Add, a, b).unwrap()
    }

    fn scaled(trace: &mut Trace, x: NodeId, by: f64) -> NodeId {
        elementwise::binary_scalar(trace, BinaryOp::Multiply, x, ScalarValue::Float(by), false).unwrap()
    }

    #[test]
    fn what_does_not_depend_on_a_parameter_is_captured_whole() {
        let mut t = Trace::new();
        let (p, unused, data) = (leaf(&mut t), leaf(&mut t), leaf(&mut t));
        let outside = scaled(&mut t, data, 3.0);
        let constant = creation::full(&mut t, &TensorType::new(DType::F32, &[2]), ScalarValue::Float(1.0)).unwrap();
        let moved = add(&mut t, p, constant);
        let result = add(&mut t, moved, outside);
        let (body, captures) = take_body(&t, &[p, unused], &[result, p, outside, data]).unwrap();
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
            take_body(&t, &[p], &[x]).unwrap().0
        };
        assert_eq!(body(2.0), body(2.0));
        assert_ne!(body(2.0), body(3.0));
    }
}
