//! Recurrent layers: LSTM, GRU and RNN of several layers, in one or both directions, as scans; and their cells.

use super::super::arguments::Value;
use super::super::call::Call;
use super::super::operator::{Operator, operator};
use super::activations::relu;
use super::products::linear;
use super::random::dropped;
use base::error;
use base::error::Result;
use base::types::TensorType;
use ir::{BinaryOp, NodeId, Trace, UnaryOp, take_body};
use ops::control::{Applied, scan};
use ops::elementwise::{binary, unary};
use ops::linalg::{DotAxes, dot_general};
use ops::shape::{concatenate, slice_axis, split_equally, squeeze, stack, transpose};

pub(super) const TABLE: &[Operator] = &[
    operator(&["lstm.input"], ARGUMENTS, |call| layers(call, Kind::Lstm)),
    operator(&["gru.input"], ARGUMENTS, |call| layers(call, Kind::Gru)),
    operator(&["rnn_tanh.input"], ARGUMENTS, |call| layers(call, Kind::Tanh)),
    operator(&["rnn_relu.input"], ARGUMENTS, |call| layers(call, Kind::Relu)),
    operator(&["lstm_cell.default"], CELL, |call| single(call, Kind::Lstm)),
    operator(&["gru_cell.default"], CELL, |call| single(call, Kind::Gru)),
    operator(&["rnn_tanh_cell.default"], CELL, |call| single(call, Kind::Tanh)),
    operator(&["rnn_relu_cell.default"], CELL, |call| single(call, Kind::Relu)),
];

const CELL: &str = "input hx w_ih w_hh b_ih=none b_hh=none";

const ARGUMENTS: &str = "input hx params has_biases num_layers dropout train bidirectional batch_first";

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Lstm,
    Gru,
    Tanh,
    Relu,
}

/// Records a cell: the next state, of the carried state and the products of the input and of the state with their
/// weights. The first value of the state is the output.
fn cell(trace: &mut Trace, kind: Kind, state: &[NodeId], of_input: NodeId, of_state: NodeId) -> Result<Vec<NodeId>> {
    let add = |trace: &mut Trace, a, b| binary(trace, BinaryOp::Add, a, b);
    let times = |trace: &mut Trace, a, b| binary(trace, BinaryOp::Multiply, a, b);
    if kind == Kind::Lstm {
        let sum = add(trace, of_input, of_state)?;
        let gates = split_equally(trace, sum, 4, 1)?;
        let mut gate = |number: usize| unary(trace, UnaryOp::Logistic, gates[number]);
        let (input, forget, output) = (gate(0)?, gate(1)?, gate(3)?);
        let new = unary(trace, UnaryOp::Tanh, gates[2])?;
        let (kept, new) = (times(trace, forget, state[1])?, times(trace, input, new)?);
        let memory = add(trace, kept, new)?;
        let shown = unary(trace, UnaryOp::Tanh, memory)?;
        return Ok(vec![times(trace, output, shown)?, memory]);
    }
    if kind != Kind::Gru {
        let sum = add(trace, of_input, of_state)?;
        return Ok(vec![if kind == Kind::Tanh { unary(trace, UnaryOp::Tanh, sum)? } else { relu(trace, sum)? }]);
    }
    let (inputs, states) = (split_equally(trace, of_input, 3, 1)?, split_equally(trace, of_state, 3, 1)?);
    let mut gate = |number: usize| {
        let sum = add(trace, inputs[number], states[number])?;
        unary(trace, UnaryOp::Logistic, sum)
    };
    let (reset, update) = (gate(0)?, gate(1)?);
    let part = times(trace, reset, states[2])?;
    let sum = add(trace, inputs[2], part)?;
    let new = unary(trace, UnaryOp::Tanh, sum)?;
    // (1 - update) new + update old.
    let difference = binary(trace, BinaryOp::Subtract, state[0], new)?;
    let change = times(trace, update, difference)?;
    Ok(vec![add(trace, new, change)?])
}

/// Weights of one direction of a layer.
struct Weights {
    input: NodeId,
    state: NodeId,
    input_bias: Option<NodeId>,
    state_bias: Option<NodeId>,
    /// Of an LSTM, what makes its output narrower.
    projection: Option<NodeId>,
}

/// Records one direction of a layer. Returns the outputs of all steps, and the last state.
fn direction(
    call: &mut Call,
    kind: Kind,
    x: NodeId,
    state: &[NodeId],
    weights: &Weights,
    reverse: bool,
) -> Result<(NodeId, Vec<NodeId>)> {
    // All steps at once, outside of the scan.
    let projected = linear(call, x, weights.input, weights.input_bias)?;
    let mut slice_ty = call.ty(projected);
    let length = slice_ty.dims.remove(0);
    let types: Vec<TensorType> = state.iter().map(|&node| call.ty(node)).chain([slice_ty]).collect();
    let trace = call.trace();
    let parameters: Vec<NodeId> = types.into_iter().map(|ty| trace.parameter(ty)).collect();
    let (carried, of_input) = (&parameters[..state.len()], parameters[state.len()]);
    let axes = DotAxes { lhs_batching: &[], rhs_batching: &[], lhs_contracting: &[1], rhs_contracting: &[1] };
    let mut of_state = dot_general(trace, carried[0], weights.state, &axes, None)?;
    if let Some(bias) = weights.state_bias {
        of_state = binary(trace, BinaryOp::Add, of_state, bias)?;
    }
    let mut results = cell(trace, kind, carried, of_input, of_state)?;
    if let Some(projection) = weights.projection {
        results[0] = dot_general(trace, results[0], projection, &axes, None)?;
    }
    results.push(results[0]);
    let (body, captures) = take_body(trace, &parameters, &results)?;
    let applied = Applied { body: &body, captures: &captures };
    let mut made = scan(trace, &applied, state, &[projected], length, reverse)?;
    let outputs = made.pop().ok_or_else(|| error!(Internal, "a scan without results"))?;
    Ok((outputs, made))
}

fn layers<'p>(call: &mut Call<'_, 'p>, kind: Kind) -> Result<Value<'p>> {
    let (mut x, params) = (call.tensor("input")?, call.tensors("params")?);
    let states = if kind == Kind::Lstm { call.tensors("hx")? } else { vec![call.tensor("hx")?] };
    let (has_biases, batch_first) = (call.bool("has_biases")?, call.bool("batch_first")?);
    let directions = if call.bool("bidirectional")? { 2 } else { 1 };
    let layers = usize::try_from(call.int("num_layers")?).unwrap_or(0).min(1 << 16);
    let (biased, cells) = (if has_biases { 4 } else { 2 }, layers * directions);
    // Projections are a further weight of each direction.
    let is_projected = kind == Kind::Lstm && cells > 0 && params.len() == cells * (biased + 1);
    let count = biased + usize::from(is_projected);
    let fits = |&state: &NodeId| call.dims(state).first() == Some(&(cells as i64)) && call.dims(state).len() == 3;
    let is_lstm_pair = states.len() == if kind == Kind::Lstm { 2 } else { 1 };
    if call.dims(x).len() != 3 || params.len() != cells * count || !is_lstm_pair || !states.iter().all(fits) {
        return Err(error!(Unimplemented, "{} weights and {} states of {cells} cells", params.len(), states.len()));
    }
    let dropout = if call.bool("train")? { call.float("dropout")? } else { 0.0 };
    if batch_first {
        x = transpose(call.trace(), x, &[1, 0, 2])?;
    }
    let mut last = vec![Vec::new(); states.len()];
    for layer in 0..layers {
        let mut outputs = Vec::new();
        for way in 0..directions {
            let at = layer * directions + way;
            let weights = &params[at * count..(at + 1) * count];
            let bias = |number: usize| has_biases.then(|| weights[number]);
            let weights = Weights {
                input: weights[0],
                state: weights[1],
                input_bias: bias(2),
                state_bias: bias(3),
                projection: is_projected.then(|| weights[biased]),
            };
            let mut state = Vec::new();
            for &all in &states {
                let one = slice_axis(call.trace(), all, 0, at as i64, at as i64 + 1, 1)?;
                state.push(squeeze(call.trace(), one, &[0])?);
            }
            let (made, end) = direction(call, kind, x, &state, &weights, way == 1)?;
            outputs.push(made);
            last.iter_mut().zip(end).for_each(|(list, node)| list.push(node));
        }
        x = if directions == 1 { outputs[0] } else { concatenate(call.trace(), &outputs, 2)? };
        if dropout > 0.0 && layer + 1 < layers {
            x = dropped(call, x, dropout)?.0;
        }
    }
    if batch_first {
        x = transpose(call.trace(), x, &[1, 0, 2])?;
    }
    let mut made = vec![call.made(x)];
    for nodes in last {
        let node = stack(call.trace(), &nodes, 0)?;
        made.push(call.made(node));
    }
    Ok(Value::List(made))
}

/// One cell for one step.
fn single<'p>(call: &mut Call<'_, 'p>, kind: Kind) -> Result<Value<'p>> {
    let states = if kind == Kind::Lstm { call.tensors("hx")? } else { vec![call.tensor("hx")?] };
    let (x, input, state) = (call.tensor("input")?, call.tensor("w_ih")?, call.tensor("w_hh")?);
    let biases = [call.optional_tensor("b_ih")?, call.optional_tensor("b_hh")?];
    if states.len() != if kind == Kind::Lstm { 2 } else { 1 } || call.dims(x).len() != 2 {
        return Err(error!(Unimplemented, "{} states of a cell for {}", states.len(), call.ty(x)));
    }
    let (of_input, of_state) = (linear(call, x, input, biases[0])?, linear(call, states[0], state, biases[1])?);
    let made = cell(call.trace(), kind, &states, of_input, of_state)?;
    let made: Vec<Value> = made.into_iter().map(|node| call.made(node)).collect();
    Ok(if kind == Kind::Lstm { Value::List(made) } else { made.into_iter().next().unwrap_or(Value::None) })
}
