//! Regions of `torch.vmap`. The training form has them as plain nodes: one that begins a region and one that ends it,
//! nodes that take an axis from tensors, and nodes that give results the axis. A region becomes a body that is batched.

use super::arguments::{Scope, Value, value_of};
use super::operators::described;
use super::recorder::Recorder;
use base::error;
use base::error::Result;
use base::types::normalize_axis;
use ir::{NodeId, Trace, take_body};
use lazyxla_pytorch::{Argument, Graph, Node};
use lowering::transform::Transformer;
use ops::batch_axis::with_batch_axis;
use ops::rules::Transforms;
use ops::shape::transpose;

const PREFIX: &str = "torch._functorch.predispatch.";

/// A function that records nodes of its own, and returns whether a node was one.
pub type Own<'w, 'p> = dyn FnMut(&mut Recorder, &'p Node, &mut Scope<'p>) -> Result<bool> + 'w;

/// Records the operations of nodes, of which `own` records some.
pub type Walk<'p> = fn(&mut Recorder, &'p Graph, &'p [Node], &mut Scope<'p>, &mut Own<'_, 'p>) -> Result<()>;

/// A node of a region.
#[derive(Clone, Copy, PartialEq)]
pub enum Mark {
    /// Begins a region: its size, and how random numbers differ.
    Begin,
    /// Ends it.
    End,
    /// A tensor without an axis: `(tensor, axis, level)`.
    Take,
    /// A result with an axis: `(tensor, level, size, axis)`.
    Give,
    /// Changes no value.
    Ignored,
}

/// Returns the meaning of a node for regions.
pub fn mark(name: &str) -> Option<Mark> {
    Some(match name.strip_prefix(PREFIX)? {
        "_vmap_increment_nesting" => Mark::Begin,
        "_vmap_decrement_nesting" => Mark::End,
        "_add_batch_dim" => Mark::Take,
        "_remove_batch_dim" => Mark::Give,
        "lazy_load_decompositions" => Mark::Ignored,
        _ => return None,
    })
}

/// Returns the number of nodes within the region that the first node begins.
fn length(nodes: &[Node]) -> Result<usize> {
    let mut depth = 0usize;
    for (at, node) in nodes.iter().enumerate() {
        match mark(&node.target) {
            Some(Mark::Begin) => depth += 1,
            Some(Mark::End) if depth == 1 => return Ok(at - 1),
            Some(Mark::End) => depth -= 1,
            _ => {}
        }
    }
    Err(error!(InvalidArgument, "the region has no end"))
}

fn values<'p>(scope: &Scope<'p>, node: &'p Node) -> Result<Vec<Value<'p>>> {
    node.inputs.iter().map(|input| value_of(scope, &input.argument)).collect()
}

fn malformed<T>(node: &Node) -> Result<T> {
    Err(error!(InvalidArgument, "{}: its arguments are not those of the operator", described(node)))
}

fn result_of(node: &Node) -> Result<&str> {
    match &node.outputs[..] {
        [Argument::Tensor(name)] => Ok(name),
        _ => malformed(node),
    }
}

/// Records an axis at another place.
fn moved(trace: &mut Trace, x: NodeId, from: usize, to: usize) -> Result<NodeId> {
    let rank = trace.ty(x).dims.len();
    let mut axes: Vec<i64> = (0..rank as i64).filter(|&axis| axis != from as i64).collect();
    axes.insert(to, from as i64);
    transpose(trace, x, &axes)
}

/// The values of a region: arrays whose first axis it maps over, with the parameters that stand for their elements,
/// and the results with the places of their axes.
#[derive(Default)]
struct Mapped<'p> {
    arrays: Vec<NodeId>,
    parameters: Vec<NodeId>,
    tensors: Vec<super::tensors::TensorId>,
    results: Vec<(&'p str, NodeId, i64)>,
}

/// Records the region that the first of these nodes begins; returns the number of its nodes, both ends included.
pub fn region<'p>(
    recorder: &mut Recorder,
    graph: &'p Graph,
    nodes: &'p [Node],
    scope: &mut Scope<'p>,
    walk: Walk<'p>,
) -> Result<usize> {
    let Some((Value::Int(size), _)) =
        values(scope, &nodes[0])?.split_first().map(|(size, rest)| (size.clone(), rest.len()))
    else {
        return malformed(&nodes[0]);
    };
    let inner = length(nodes)?;
    let mut mapped = Mapped::default();
    recorder.nested(|recorder| walk_region(recorder, graph, &nodes[1..=inner], scope, (size, walk), &mut mapped))?;
    if mapped.tensors.iter().any(|&id| recorder.tensors.writes(id) > 0) {
        return Err(error!(Unimplemented, "a function under vmap that changes its inputs"));
    }
    let results: Vec<NodeId> = mapped.results.iter().map(|(_, node, _)| *node).collect();
    let trace = &mut recorder.trace;
    let (body, captures) = take_body(trace, &mapped.parameters, &results)?;
    let mask: Vec<bool> = mapped.arrays.iter().map(|_| true).chain(captures.iter().map(|_| false)).collect();
    let arguments = [&mapped.arrays[..], &captures].concat();
    let made = Transformer::default().batch(trace, &body, &arguments, &mask, size)?;
    for ((name, _, axis), (node, is_mapped)) in mapped.results.into_iter().zip(made) {
        let node = if is_mapped { node } else { with_batch_axis(trace, node, size)? };
        let axis = normalize_axis("out_dim", axis, trace.ty(node).dims.len())?;
        let node = moved(trace, node, 0, axis)?;
        scope.insert(name, Value::Tensor(recorder.tensors.base(node)));
    }
    Ok(inner + 2)
}

fn walk_region<'p>(
    recorder: &mut Recorder,
    graph: &'p Graph,
    nodes: &'p [Node],
    scope: &mut Scope<'p>,
    (size, walk): (i64, Walk<'p>),
    mapped: &mut Mapped<'p>,
) -> Result<()> {
    walk(recorder, graph, nodes, scope, &mut |recorder, node, scope| match mark(&node.target) {
        Some(Mark::Take) => {
            let [Value::Tensor(id), Value::Int(axis), ..] = values(scope, node)?[..] else { return malformed(node) };
            let x = recorder.read(id)?;
            let mut ty = recorder.trace.ty(x);
            let axis = normalize_axis("in_dim", axis, ty.dims.len())?;
            if ty.dims.remove(axis) != size {
                return Err(error!(InvalidArgument, "{}: the axis {axis} has not {size} elements", described(node)));
            }
            mapped.arrays.push(moved(&mut recorder.trace, x, axis, 0)?);
            let parameter = recorder.trace.parameter(ty);
            mapped.parameters.push(parameter);
            let tensor = recorder.tensors.base(parameter);
            mapped.tensors.push(tensor);
            scope.insert(result_of(node)?, Value::Tensor(tensor));
            Ok(true)
        }
        Some(Mark::Give) => {
            let [Value::Tensor(id), _, _, Value::Int(axis)] = values(scope, node)?[..] else { return malformed(node) };
            let made = recorder.read(id)?;
            mapped.results.push((result_of(node)?, made, axis));
            Ok(true)
        }
        _ => Ok(false),
    })
}
