//! Extracts the body of a computation from a trace, so that it is independent of later changes of the trace.

use super::encode::Encoder;
use super::linear::Workspace;
use super::op::Op;
use super::program::{Body, Program};
use super::trace::{NodeId, Trace};
use base::allocation::{filled, probe, with_room};
use base::error;
use base::error::Result;
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

/// Extracts the computation of `results` from `parameters` (distinct leaves), which are all leaves on which it depends.
/// Returns the program, whose parameters are these in order, and for each of its scalar slots the node of its scalar.
pub fn take_program(trace: &Trace, parameters: &[NodeId], results: &[NodeId]) -> Result<(Program, Vec<NodeId>)> {
    probe(Workspace::bytes(trace), PURPOSE)?;
    let mut workspace = Workspace::default();
    let order = workspace.linearize(trace, results).order().to_vec();
    probe(Encoder::bytes(trace, &order, parameters.len() + results.len()), PURPOSE)?;
    let mut tables = Default::default();
    let mut encoder = Encoder::new(trace, &mut tables, order.len());
    parameters.iter().for_each(|&id| encoder.parameter(id));
    order.iter().for_each(|&id| encoder.operation(id));
    results.iter().for_each(|&id| encoder.parameter(id));
    let encoded = encoder.finish(results);
    if encoded.parameters != parameters {
        return Err(error!(Internal, "a program depends on leaves that are not its parameters"));
    }
    let slots = order.into_iter().filter(|&id| trace.node(id).op.has_scalar()).collect();
    Ok((encoded.program, slots))
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
    trace.check_subbyte_of(&order)?;
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
    use super::*;
    use base::types::{DType, Scalar, ScalarValue, TensorType};

    #[test]
    fn a_program_names_the_nodes_of_its_scalars() {
        let mut trace = Trace::new();
        let [x, unused] = [(); 2].map(|()| trace.parameter(TensorType::new(DType::S32, &[])));
        let shape = trace.intern(&[]);
        let mut full = |value| {
            let scalar = Scalar::new(DType::S32, ScalarValue::Signed(value)).unwrap();
            trace.operation_with_scalar(Op::Full, DType::S32, shape, &[], scalar)
        };
        let [a, _, c] = [1, 2, 3].map(&mut full);
        let sum = trace.operation(Op::Binary(super::super::BinaryOp::Add), DType::S32, shape, &[c, a]);
        let (program, slots) = take_program(&trace, &[x, unused], &[sum, x]).unwrap();
        assert_eq!(slots, [c, a]);
        let (values, outputs) = program.decode();
        assert_eq!(values.iter().filter(|value| value.op == Op::Leaf).count(), 2);
        assert_eq!(outputs, [4, 0]);
        assert!(take_program(&trace, &[unused], &[x]).is_err());
    }
}
