//! Forward mode: records a body together with the tangents of its results.

use super::Transformer;
use super::site::{forward, of_node};
use base::allocation::probe;
use base::error::Result;
use ir::{Body, Instruction, NodeId, Op, Trace};
use ops::rules::{Derivative, Forward, is_differentiable};
use ops::tangents::expanded;
use ops::{definition, passes_tangents};
use rustc_hash::FxHashMap;

/// A node in the trace, and its tangent; `None` is zero.
type Dual = (NodeId, Option<NodeId>);

/// Records `body` on primals and tangents. Returns its results and their tangents.
pub fn push_body(
    transformer: &Transformer,
    trace: &mut Trace,
    body: &Body,
    primals: &[NodeId],
    tangents: &[Option<NodeId>],
) -> Result<(Vec<NodeId>, Vec<Option<NodeId>>)> {
    // Instructions, and what is known of each of them.
    probe(body.program().decoded_bytes().saturating_mul(3), "the derivative of a computation")?;
    let (values, results) = body.decode();
    let needed = results_of_applications(&values);
    let mut scalars = body.scalars().iter().copied();
    let mut arguments = primals.iter().copied().zip(tangents.iter().copied());
    let mut duals: Vec<Dual> = Vec::with_capacity(values.len());
    let mut applied: FxHashMap<usize, Vec<Option<Dual>>> = FxHashMap::default();
    let outer = trace.label();
    for (position, value) in values.iter().enumerate() {
        trace.check_room()?;
        trace.set_label(value.label.or(outer));
        let dual = match value.op {
            Op::Leaf => arguments.next().expect("one argument for each parameter and capture"),
            Op::Result => {
                let number: usize = value.attributes();
                applied[&value.operands[0]][number].expect("a recorded result")
            }
            op => {
                let operands: Vec<NodeId> = value.operands.iter().map(|&operand| duals[operand].0).collect();
                let tangents: Vec<Option<NodeId>> = value.operands.iter().map(|&operand| duals[operand].1).collect();
                let scalar = if op.has_scalar() { scalars.next() } else { None };
                let id = trace.record_again(value, &operands, scalar);
                let none = vec![];
                let numbers = needed.get(&position).unwrap_or(&none);
                if op.has_results() {
                    applied.insert(position, push_application(transformer, trace, &values, id, numbers, &tangents)?);
                    (id, None)
                } else {
                    push_node(transformer, trace, id, &tangents)?
                }
            }
        };
        duals.push(dual);
    }
    trace.set_label(outer);
    Ok(results.iter().map(|&result| duals[result]).unzip())
}

/// For each application, the instructions of its results by index.
fn results_of_applications(values: &[Instruction]) -> FxHashMap<usize, Vec<(usize, usize)>> {
    let mut found: FxHashMap<usize, Vec<(usize, usize)>> = FxHashMap::default();
    for (position, value) in values.iter().enumerate().filter(|(_, value)| value.op == Op::Result) {
        found.entry(value.operands[0]).or_default().push((value.attributes(), position));
    }
    found
}

/// Records the used results of an application (pairs of an index and an instruction), and their tangents.
fn push_application(
    transformer: &Transformer,
    trace: &mut Trace,
    values: &[Instruction],
    id: NodeId,
    numbers: &[(usize, usize)],
    tangents: &[Option<NodeId>],
) -> Result<Vec<Option<Dual>>> {
    let count = numbers.iter().map(|(number, _)| number + 1).max().unwrap_or(0);
    let mut nodes = vec![None; count];
    for &(number, position) in numbers {
        nodes[number] = Some(trace.record_again(&values[position], &[id], None));
    }
    let plain = |nodes: &[Option<NodeId>]| nodes.iter().map(|node| node.map(|node| (node, None))).collect();
    if tangents.iter().all(Option::is_none) {
        return Ok(plain(&nodes));
    }
    let Forward { results, tangents } = forward(&mut of_node(transformer, trace, id, nodes.clone()), tangents)?;
    let dual = |(number, node): (usize, &Option<NodeId>)| {
        node.map(|node| {
            let primal = results.as_ref().map_or(node, |results| results[number]);
            (primal, tangents.get(number).copied().flatten())
        })
    };
    Ok(nodes.iter().enumerate().map(dual).collect())
}

/// Records the tangent of an operation with one result.
fn push_node(transformer: &Transformer, trace: &mut Trace, id: NodeId, tangents: &[Option<NodeId>]) -> Result<Dual> {
    let node = *trace.node(id);
    if tangents.iter().all(Option::is_none) || !is_differentiable(node.dtype) {
        return Ok((id, None));
    }
    let found = definition(node.op);
    let mut site = of_node(transformer, trace, id, vec![Some(id)]);
    if matches!(found.derivative, Derivative::Expanded) {
        return expanded(&mut site, tangents, found.expand.expect("an expanded operation says how"));
    }
    let mut made = forward(&mut site, tangents)?;
    let tangent = made.tangents.remove(0);
    debug_assert!(tangent.is_none_or(|tangent| trace.ty(tangent) == trace.ty(id)), "a tangent of {:?}", node.op);
    Ok((made.results.map_or(id, |results| results[0]), tangent))
}

/// For each result of a body, whether it may have a tangent if the operands in the mask have one.
pub fn reached(body: &Body, active: &[bool]) -> Vec<bool> {
    let (values, results) = body.decode();
    let mut active = active.iter().copied();
    let mut known: Vec<bool> = Vec::with_capacity(values.len());
    for value in &values {
        let is_reached = match value.op {
            Op::Leaf => active.next().expect("one for each parameter and capture"),
            op => value.operands.iter().any(|&operand| known[operand]) && passes_tangents(op, value.ty.dtype),
        };
        known.push(is_reached);
    }
    results.iter().map(|&result| known[result]).collect()
}
