//! Operators of higher order, whose arguments are graphs: branches, loops, and regions in which gradients are off.

use super::arguments::{Scope, Value};
use super::recorder::Recorder;
use super::tensors::{Sight, TensorId, View};
use base::error;
use base::error::Result;
use base::types::TensorType;
use ir::{Body, NodeId, take_body};
use lazyxla_pytorch::{Argument, Graph};
use ops::control::{Applied, branch, scan, stop_gradient, while_loop};
use ops::elementwise::formula::record;
use std::sync::Arc;

/// Records an operator of higher order.
type Record = for<'r, 'p> fn(&'r mut Recorder, &Scope<'p>, Vec<Value<'p>>) -> Result<Value<'p>>;

/// Returns the function of an operator of higher order.
pub fn operator(name: &str) -> Option<Record> {
    Some(match name {
        "higher_order.cond" => conditional,
        "higher_order.map_impl" => map,
        "higher_order.while_loop" => repeated,
        "higher_order.scan" => scanned,
        "higher_order.wrap_with_set_grad_enabled" => gradients_switched,
        "higher_order.with_effects" => checked,
        _ => return None,
    })
}

/// A graph as a body, with the nodes that it captures.
struct Region {
    body: Arc<Body>,
    captures: Vec<NodeId>,
}

impl Region {
    fn applied(&self) -> Applied<'_> {
        Applied { body: &self.body, captures: &self.captures }
    }
}

fn malformed<T>() -> Result<T> {
    Err(error!(InvalidArgument, "its arguments are not those of the operator"))
}

fn tensors_of(value: &Value) -> Result<Vec<TensorId>> {
    let one = |value: &Value| match value {
        Value::Tensor(id) => Ok(*id),
        other => Err(error!(Unimplemented, "{} among the values of a branch or a loop", other.kind())),
    };
    match value {
        Value::List(list) => list.iter().map(one).collect(),
        other => one(other).map(|id| vec![id]),
    }
}

impl Recorder {
    fn nodes(&mut self, value: &Value) -> Result<Vec<NodeId>> {
        tensors_of(value)?.into_iter().map(|id| self.read(id)).collect()
    }

    /// Makes tensors of results.
    fn results<'p>(&mut self, nodes: Vec<NodeId>) -> Value<'p> {
        Value::List(nodes.into_iter().map(|node| Value::Tensor(self.tensors.base(node))).collect())
    }

    /// Records a graph for inputs of these types. The graph may write none of them.
    fn region(&mut self, graph: &Graph, types: &[TensorType]) -> Result<Region> {
        if graph.inputs.len() != types.len() {
            return malformed();
        }
        let parameters: Vec<NodeId> = types.iter().map(|ty| self.trace.parameter(ty.clone())).collect();
        let mut scope = Scope::default();
        let mut inputs = Vec::new();
        for (input, &node) in graph.inputs.iter().zip(&parameters) {
            let Argument::Tensor(name) = input else { return malformed() };
            let id = self.tensors.base(node);
            inputs.push(id);
            scope.insert(name, Value::Tensor(id));
        }
        let outputs = self.nested(|recorder| recorder.graph(graph, &mut scope))?;
        if inputs.iter().any(|&id| self.tensors.writes(id) > 0) {
            return Err(error!(Unimplemented, "a graph of a branch or a loop that changes its inputs"));
        }
        let results = self.nodes(&Value::List(outputs))?;
        let (body, captures) = take_body(&self.trace, &parameters, &results)?;
        Ok(Region { body, captures })
    }

    fn types(&self, nodes: &[NodeId]) -> Vec<TensorType> {
        nodes.iter().map(|&node| self.trace.ty(node)).collect()
    }
}

/// `with_effects(token, operator, operands...)`: an operator that is ordered by tokens. Checks change no value.
fn checked<'p>(_: &mut Recorder, _: &Scope<'p>, values: Vec<Value<'p>>) -> Result<Value<'p>> {
    match &values[..] {
        [_, Value::Text(name), ..] if name.ends_with("._linalg_check_errors.default") => {
            Ok(Value::List(vec![Value::None, Value::None]))
        }
        [_, Value::Text(name), ..] => Err(error!(Unimplemented, "the effects of {}", base::error::quoted(name))),
        _ => malformed(),
    }
}

/// `cond(pred, true_graph, false_graph, operands)`.
fn conditional<'p>(recorder: &mut Recorder, _: &Scope<'p>, values: Vec<Value<'p>>) -> Result<Value<'p>> {
    let [pred, Value::Graph(on_true), Value::Graph(on_false), rest @ ..] = &values[..] else { return malformed() };
    let arguments = match rest {
        [] => Vec::new(),
        [list] => recorder.nodes(list)?,
        _ => return malformed(),
    };
    let pred = match pred {
        // It follows from sizes.
        Value::Bool(taken) => {
            let graph = if *taken { on_true } else { on_false };
            let types = recorder.types(&arguments);
            let region = recorder.region(graph, &types)?;
            let made = recorder.trace.replay(&region.body, &[arguments, region.captures].concat())?;
            return Ok(recorder.results(made));
        }
        Value::Tensor(id) => recorder.read(*id)?,
        Value::Computed(number) => number.record(&mut recorder.trace)?,
        _ => return malformed(),
    };
    let types = recorder.types(&arguments);
    let [on_true, on_false] = [recorder.region(on_true, &types)?, recorder.region(on_false, &types)?];
    let pred = ops::shape::reshape(&mut recorder.trace, pred, &[])?;
    let made = branch(&mut recorder.trace, pred, &on_true.applied(), &on_false.applied(), &arguments)?;
    Ok(recorder.results(made))
}

/// `map_impl(graph, arrays, operands)`: the graph for each slice of the first axis.
fn map<'p>(recorder: &mut Recorder, _: &Scope<'p>, values: Vec<Value<'p>>) -> Result<Value<'p>> {
    let [Value::Graph(graph), arrays, operands] = &values[..] else { return malformed() };
    over_slices(recorder, graph, &Value::List(Vec::new()), arrays, operands)
}

/// `scan(graph, init, arrays, operands)`: the graph returns the carried values, and a slice of each stacked result.
fn scanned<'p>(recorder: &mut Recorder, _: &Scope<'p>, values: Vec<Value<'p>>) -> Result<Value<'p>> {
    let [Value::Graph(graph), init, arrays, operands] = &values[..] else { return malformed() };
    over_slices(recorder, graph, init, arrays, operands)
}

fn over_slices<'p>(
    recorder: &mut Recorder,
    graph: &'p Graph,
    init: &Value<'p>,
    arrays: &Value<'p>,
    operands: &Value<'p>,
) -> Result<Value<'p>> {
    let (init, arrays, operands) = (recorder.nodes(init)?, recorder.nodes(arrays)?, recorder.nodes(operands)?);
    let mut slices = recorder.types(&arrays);
    let Some(&length) = slices.first().and_then(|ty| ty.dims.first()) else { return malformed() };
    for ty in &mut slices {
        if ty.dims.first() != Some(&length) {
            return malformed();
        }
        ty.dims.remove(0);
    }
    let types = [recorder.types(&init), slices, recorder.types(&operands)].concat();
    let region = recorder.region(graph, &types)?;
    // Operands that are equal for all slices are captured, not carried.
    let (carried, sliced) = (init.len(), arrays.len());
    let trace = &mut recorder.trace;
    let parameters: Vec<NodeId> = types[..carried + sliced].iter().map(|ty| trace.parameter(ty.clone())).collect();
    let results = trace.replay(&region.body, &[&parameters[..], &operands, &region.captures].concat())?;
    let (body, captures) = take_body(trace, &parameters, &results)?;
    let made = scan(trace, &Applied { body: &body, captures: &captures }, &init, &arrays, length, false)?;
    Ok(recorder.results(made))
}

/// `while_loop(condition, graph, carried, operands)`.
fn repeated<'p>(recorder: &mut Recorder, _: &Scope<'p>, values: Vec<Value<'p>>) -> Result<Value<'p>> {
    let [Value::Graph(condition), Value::Graph(graph), carried, operands] = &values[..] else { return malformed() };
    let (carried, operands) = (recorder.nodes(carried)?, recorder.nodes(operands)?);
    let types = [recorder.types(&carried), recorder.types(&operands)].concat();
    let mut regions = Vec::new();
    for graph in [condition, graph] {
        let region = recorder.region(graph, &types)?;
        let trace = &mut recorder.trace;
        let parameters: Vec<NodeId> = types[..carried.len()].iter().map(|ty| trace.parameter(ty.clone())).collect();
        let mut results = trace.replay(&region.body, &[&parameters[..], &operands, &region.captures].concat())?;
        if regions.is_empty() {
            for result in &mut results {
                *result = ops::shape::reshape(trace, *result, &[])?;
            }
        }
        let (body, captures) = take_body(trace, &parameters, &results)?;
        regions.push(Region { body, captures });
    }
    let made = while_loop(&mut recorder.trace, &regions[0].applied(), &regions[1].applied(), &carried)?;
    Ok(recorder.results(made))
}

/// `wrap_with_set_grad_enabled(enabled, graph, operands...)`: in a region without gradients, results are constants for
/// derivatives. The graph works on the tensors themselves, not on copies.
fn gradients_switched<'p>(recorder: &mut Recorder, _: &Scope<'p>, values: Vec<Value<'p>>) -> Result<Value<'p>> {
    let [Value::Bool(enabled), Value::Graph(graph), operands @ ..] = &values[..] else { return malformed() };
    let mut flat = Vec::new();
    for operand in operands {
        match operand {
            Value::List(list) => flat.extend(list.iter().cloned()),
            other => flat.push(other.clone()),
        }
    }
    if graph.inputs.len() != flat.len() {
        return malformed();
    }
    let mut scope = Scope::default();
    let mut given = Vec::new();
    for (input, value) in graph.inputs.iter().zip(flat) {
        match (input, &value) {
            (Argument::Tensor(name), Value::Tensor(id)) => {
                given.push((*id, recorder.tensors.writes(*id), recorder.read(*id).ok()));
                scope.insert(name, value);
            }
            _ => return malformed(),
        }
    }
    let outputs = recorder.graph(graph, &mut scope)?;
    if !enabled {
        for (id, writes, old) in given {
            if recorder.tensors.writes(id) > writes {
                unwatched(recorder, id, old)?;
            }
        }
    }
    let mut results = Vec::new();
    for value in outputs {
        results.push(match value {
            Value::Tensor(id) if !enabled => Value::Tensor(recorder.tensors.view(id, View::Detached, Sight::Certain)),
            value => value,
        });
    }
    Ok(Value::List(results))
}

/// Gives a tensor that was written without gradients the derivative from before: PyTorch does not see the write.
fn unwatched(recorder: &mut Recorder, id: TensorId, old: Option<NodeId>) -> Result<()> {
    let new = recorder.read(id)?;
    let trace = &mut recorder.trace;
    let mut value = stop_gradient(trace, new)?;
    if let Some(old) = old.filter(|&old| trace.node(old).dtype.is_float()) {
        let fixed = stop_gradient(trace, old)?;
        // The difference is 0, and has the derivative; of infinities and NaN it would be NaN.
        value = record(trace, [value, old, fixed], |[value, old, fixed]| {
            value + fixed.is_finite().select(old - fixed, fixed.number(0.0))
        })?;
    }
    recorder.tensors.write(&mut recorder.trace, id, value)
}
