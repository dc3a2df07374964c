//! Derivatives of pending values, by tensor handles.

use super::operands::{numbered, operand_list};
use super::results::{Locked, finish_all};
use crate::device::{DeviceState, OperandName, Parameters, TensorHandle, common_device_of_list, device_of};
use crate::device_data::{self, DeviceData};
use base::error;
use base::error::Result;
use base::log::{Level, log};
use base::metrics::Counter;
use ir::{Gradients, NodeId, Request, Trace};
use lowering::transform::gradients_of;
use ops::control;
use ops::rules::is_differentiable;
use std::sync::Arc;

/// Records the gradients of `ys` with respect to `xs`, summed over `ys`, each with its cotangent. Without cotangents,
/// all `ys` are scalars with cotangent 1. One of `xs` to which no derivative passes is an error with
/// `requires_connected`; else its gradient is zero, and the log says so.
pub fn gradients(
    ys: &[TensorHandle],
    cotangents: Option<&[TensorHandle]>,
    xs: &[TensorHandle],
    requires_connected: bool,
) -> Result<Vec<TensorHandle>> {
    for (name, list) in [("ys", ys), ("xs", xs)] {
        if list.is_empty() {
            return Err(error!(InvalidArgument, "n_{name}: 0 given; want at least 1"));
        }
    }
    check_device(ys, xs)?;
    let given = cotangents.unwrap_or_default();
    let named = numbered("ys", ys).chain(numbered("xs", xs)).chain(numbered("cotangents", given));
    let (mut state, nodes) = operand_list(named)?;
    let (ys, rest) = nodes.split_at(ys.len());
    let (xs, given) = rest.split_at(xs.len());
    check(&state, ys, cotangents.map(|_| given), xs)?;
    let request = Request { ys, cotangents: given, xs };
    let check_path = |trace: &Trace, leaves: &[NodeId]| check_history(trace, leaves, xs);
    let DeviceState { trace, gradients, .. } = &mut *state;
    let recorded = trace.len();
    let Gradients { values, unconnected, is_repeated } = gradients_of(trace, gradients, request, check_path)?;
    let named: Vec<String> = unconnected.iter().map(|&i| format!("xs[{i}] ({})", trace.ty(xs[i]))).collect();
    if requires_connected && !named.is_empty() {
        return Err(error!(InvalidArgument, "xs: {} given; want values that {CONNECTED}", named.join(", ")));
    }
    if is_repeated {
        state.owner()?.shared.metrics.add(Counter::RepeatedGradients, 1);
    }
    let calls = control::ordered_calls(&state.trace, recorded, &values)?;
    let made = if calls.is_empty() { finish_all(state, &values) } else { finish_ordered(state, values, calls) }?;
    // A loop is told once or twice: what it repeats is copied. The device is no longer locked.
    if !named.is_empty() && !is_repeated {
        let list = named.join(", ");
        log(Level::Warning, || {
            format!("lxla_gradients: the gradients by {list} are zero; want values that {CONNECTED}")
        });
    }
    Ok(made)
}

/// Which values have a gradient.
const CONNECTED: &str = "ys depend on by a path with a derivative (a tensor that was updated in place after ys were \
                           recorded has another value: keep a snapshot from before)";

/// Creates tensors for gradients with ordered calls, each of which is given by a result. The calls follow one another,
/// and those that were recorded before; steps make them, as all ordered calls.
fn finish_ordered(mut state: Locked, mut results: Vec<NodeId>, calls: Vec<NodeId>) -> Result<Vec<TensorHandle>> {
    let before = if state.parameters_of(&calls).is_empty() { state.last_effect() } else { None };
    let mut calls: Vec<NodeId> = before.into_iter().chain(calls).collect();
    let listed = calls.clone();
    control::one_after_another(&mut state.trace, &listed, &mut [&mut results, &mut calls])?;
    // A result stands for its call: it is recorded before the next call, which waits for it.
    let calls = &calls[before.iter().len()..];
    let parameters: Vec<Parameters> = calls.iter().map(|&call| state.parameters_of(&[call])).collect();
    let mut tensors = finish_all(state, &[&results[..], calls].concat())?;
    for (done, parameters) in tensors.split_off(results.len()).into_iter().zip(parameters) {
        device_of("out_gradients", done)?.keep_effect(done, true, parameters);
    }
    Ok(tensors)
}

/// Returns an error unless the tensors are on one device. The option `mixed_device_policy` would make a copy of one of
/// `xs`, on which no y depends.
fn check_device(ys: &[TensorHandle], xs: &[TensorHandle]) -> Result<()> {
    let named: Vec<(OperandName, TensorHandle)> = numbered("ys", ys).chain(numbered("xs", xs)).collect();
    common_device_of_list(&named).map(|_| ())
}

/// Returns an error if a step or read has computed a value on a path from one of `xs` to one of `ys`, or if the path
/// goes through another device: its operations are not in the trace, and its part of the gradient would be missing.
/// `leaves` are those from which a tangent reaches one of `ys`.
fn check_history(trace: &Trace, leaves: &[NodeId], xs: &[NodeId]) -> Result<()> {
    let leaves: Vec<Arc<DeviceData>> = leaves
        .iter()
        .filter(|&&id| device_data::of_node(trace, trace.node(id)).is_some_and(|data| data.origin().is_some()))
        .filter_map(|&id| device_data::shared_of_node(trace, trace.node(id)))
        .collect();
    if leaves.is_empty() {
        return Ok(());
    }
    let data: Vec<(usize, u64)> = xs
        .iter()
        .enumerate()
        .filter_map(|(i, &x)| device_data::of_node(trace, trace.node(x)).map(|data| (i, data.serial())))
        .collect();
    let targets: Vec<u64> = data.iter().map(|(_, serial)| *serial).collect();
    let Some(path) = device_data::lost_path(&leaves, &targets)? else { return Ok(()) };
    let (x, name) = (data[path.target].0, path.name);
    if path.is_copy {
        return Err(error!(
            FailedPrecondition,
            "xs: a path from xs[{x}] to ys goes through {name}, which has no derivative; differentiate on one device, \
             or treat the copy as a constant (lxla_stop_gradient)"
        ));
    }
    Err(error!(
        FailedPrecondition,
        "xs: a path from xs[{x}] to ys was computed by {name}, and its operations are no longer recorded; take the gradient \
         before, or treat the computed value as a constant (lxla_stop_gradient)"
    ))
}

/// Returns an error unless the tensors are differentiable, and the cotangents fit `ys`.
fn check(state: &Locked, ys: &[NodeId], cotangents: Option<&[NodeId]>, xs: &[NodeId]) -> Result<()> {
    let trace = &state.trace;
    for (name, list) in [("ys", ys), ("xs", xs)] {
        for (i, &id) in list.iter().enumerate() {
            let ty = trace.ty(id);
            if !is_differentiable(ty.dtype) {
                return Err(error!(InvalidArgument, "{name}: {name}[{i}] is {ty}; want a float or complex dtype"));
            }
        }
    }
    if state.is_native() && !ys.iter().any(|&y| state.waits(y)) {
        return Err(error!(
            InvalidArgument,
            "ys: they are eager tensors, of which no operations are recorded; trace a computation, and use \
             lxla_computation_value_and_grad or lxla_computation_vjp"
        ));
    }
    if let Some(i) = xs.iter().position(|&x| state.is_native() && !state.waits(x)) {
        return Err(error!(
            InvalidArgument,
            "xs: xs[{i}] is an eager tensor, of which no operations are recorded; want a placeholder, or a value that \
             depends on one"
        ));
    }
    for (i, &y) in ys.iter().enumerate() {
        let ty = trace.ty(y);
        match cotangents {
            None if !ty.dims.is_empty() => {
                return Err(error!(
                    InvalidArgument,
                    "cotangents: NULL given, and ys[{i}] is {ty}; without cotangents, want scalars"
                ));
            }
            Some(list) if trace.ty(list[i]) != ty => {
                return Err(error!(
                    InvalidArgument,
                    "cotangents: cotangents[{i}] is {}; ys[{i}] is {ty}",
                    trace.ty(list[i])
                ));
            }
            _ => {}
        }
    }
    Ok(())
}
