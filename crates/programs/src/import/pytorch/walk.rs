//! Walks a graph and records its operations.

use super::arguments::{Scope, Value, value_of};
use super::call::Call;
use super::operators;
use super::recorder::Recorder;
use super::regions;
use super::vmap;
use super::vmap::{Mark, Own};
use base::error;
use base::error::{Error, Result};
use base::label::Label;
use lazyxla_pytorch::{Argument, Graph, Node, Size, Symbolic};
use ops::shape::broadcast_to;

/// Records the operations of a graph whose inputs are defined. Returns the values of its outputs.
pub fn walk<'p>(recorder: &mut Recorder, graph: &'p Graph, scope: &mut Scope<'p>) -> Result<Vec<Value<'p>>> {
    walk_nodes(recorder, graph, &graph.nodes, scope, &mut |_, _, _| Ok(false))?;
    graph.outputs.iter().map(|output| value_of(scope, output)).collect()
}

/// Records the operations of these nodes, of which `own` records some.
fn walk_nodes<'p>(
    recorder: &mut Recorder,
    graph: &'p Graph,
    nodes: &'p [Node],
    scope: &mut Scope<'p>,
    own: &mut Own<'_, 'p>,
) -> Result<()> {
    let outer = recorder.trace.label();
    let mut at = 0;
    while let Some(node) = nodes.get(at) {
        if !node.module.is_empty() {
            recorder.trace.set_label(Label::of_path(&node.module));
        }
        at += match vmap::mark(&node.target) {
            Some(Mark::Begin) => vmap::region(recorder, graph, &nodes[at..], scope, walk_nodes)
                .map_err(|e| e.context(operators::described(node)))?,
            _ if own(recorder, node, scope)? => 1,
            _ => {
                record(recorder, graph, node, scope).map_err(|e| e.context(operators::described(node)))?;
                1
            }
        };
        recorder.trace.set_label(outer);
    }
    Ok(())
}

/// Records a node, and gives its results their names.
fn record<'p>(recorder: &mut Recorder, graph: &'p Graph, node: &'p Node, scope: &mut Scope<'p>) -> Result<()> {
    let name = operators::short_name(&node.target);
    if operators::is_ignored(name) || vmap::mark(name) == Some(Mark::Ignored) {
        return Ok(());
    }
    let given = node.inputs.iter().map(|input| Ok((&*input.name, value_of(scope, &input.argument)?)));
    let given = given.collect::<Result<Vec<(&str, Value)>>>()?;
    let made = if let Some(region) = regions::operator(name) {
        let values = given.into_iter().map(|(_, value)| value).collect();
        region(recorder, scope, values)?
    } else if let Some(symbolic) = operators::symbolic(name) {
        let values: Vec<Value> = given.into_iter().map(|(_, value)| value).collect();
        let made = match values.iter().any(|value| matches!(value, Value::Computed(_))) {
            true => operators::computed(&mut recorder.trace, name, &values)?,
            false => symbolic(&values),
        };
        made.ok_or_else(|| error!(Unimplemented, "arguments of these kinds"))?
    } else {
        operator(recorder, graph, node, name, given)?
    };
    if operators::is_seen_otherwise(name)
        && let Some(Argument::Tensor(first)) = node.inputs.first().map(|input| &input.argument)
    {
        scope.insert(first, made.clone());
    }
    define(scope, &node.outputs, made)
}

/// Records an operator of the table. An in-place operator writes its result to its first argument.
fn operator<'p>(
    recorder: &mut Recorder,
    graph: &Graph,
    node: &Node,
    name: &str,
    given: Vec<(&'p str, Value<'p>)>,
) -> Result<Value<'p>> {
    let operator = operators::find(name).ok_or_else(|| error!(Unimplemented, "it is not supported"))?;
    let first = node.inputs.first().map(|input| &input.argument);
    let is_contiguous = matches!(first, Some(Argument::Tensor(name)) if is_contiguous(graph, name));
    let mut call = Call::new(recorder, operator.arguments, given, is_contiguous)?;
    let made = (operator.record)(&mut call)?;
    if !operators::writes(name) {
        return Ok(made);
    }
    let written = call.id("self")?;
    let Value::Tensor(made) = made else {
        return Err(error!(Internal, "an in-place operator has {}", made.kind()));
    };
    let (value, old) = (recorder.read(made)?, recorder.read(written)?);
    if value != old {
        let dims = recorder.trace.ty(old).dims;
        let value = broadcast_to(&mut recorder.trace, value, &dims)?;
        recorder.tensors.write(&mut recorder.trace, written, value)?;
    }
    Ok(Value::Tensor(written))
}

/// Whether the strides in the file make the tensor contiguous for all values of its free sizes.
fn is_contiguous(graph: &Graph, name: &str) -> bool {
    let Some(meta) = graph.tensors.get(name) else { return false };
    let mut wanted = Some(1i64);
    meta.strides.len() == meta.sizes.len()
        && meta.sizes.iter().zip(&meta.strides).rev().all(|(size, stride)| {
            let fits =
                matches!(size, Size::Fixed(1)) || matches!((stride, wanted), (Size::Fixed(s), Some(w)) if *s == w);
            wanted = match size {
                Size::Fixed(size) => wanted.and_then(|wanted| wanted.checked_mul(*size)),
                Size::Expression(_) => None,
            };
            fits
        })
}

/// Gives the results of a node their names.
fn define<'p>(scope: &mut Scope<'p>, outputs: &'p [Argument], made: Value<'p>) -> Result<()> {
    let mut named = |output: &'p Argument, value: Value<'p>| -> Result<()> {
        match (output, value) {
            (Argument::Tensor(name), value) => drop(scope.insert(name, value)),
            (Argument::Tensors(names), Value::List(values)) if names.len() == values.len() => {
                scope.extend(names.iter().map(String::as_str).zip(values));
            }
            (Argument::SymInt(name), value) => insert_symbolic(scope, name, value),
            (Argument::SymFloat(name), value) => insert_symbolic(scope, name, value),
            (Argument::SymBool(name), value) => insert_symbolic(scope, name, value),
            (Argument::None, _) => {}
            (_, value) => {
                return Err(error!(InvalidArgument, "the program names its result otherwise than {}", value.kind()));
            }
        }
        Ok(())
    };
    match (outputs, made) {
        ([], _) => Ok(()),
        ([output @ Argument::Tensor(_)], Value::List(values)) => {
            // Of several results, the others are not used.
            let first = values.into_iter().next();
            named(output, first.ok_or_else(|| error!(InvalidArgument, "it has no result"))?)
        }
        ([output], value) => named(output, value),
        (outputs, Value::List(values)) if outputs.len() <= values.len() => {
            outputs.iter().zip(values).try_for_each(|(output, value)| named(output, value))
        }
        (outputs, value) => {
            Err(error!(InvalidArgument, "the program names {} results; it has {}", outputs.len(), value.kind()))
        }
    }
}

fn insert_symbolic<'p, T>(scope: &mut Scope<'p>, name: &'p Symbolic<T>, value: Value<'p>) {
    if let Symbolic::Name(name) = name {
        scope.insert(name, value);
    }
}

/// An operator that is not supported, for a list of them.
pub fn refusal(node: &Node) -> Option<Error> {
    let name = operators::short_name(&node.target);
    let is_known = operators::is_ignored(name)
        || vmap::mark(name).is_some()
        || regions::operator(name).is_some()
        || operators::symbolic(name).is_some()
        || operators::find(name).is_some();
    (!is_known).then(|| error!(Unimplemented, "{}", operators::reason(name)))
}
