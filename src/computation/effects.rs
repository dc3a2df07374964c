//! Kernels with effects in computations: a computation that is traced makes the calls that depend on its parameters;
//! one that is applied is itself a call with effects, in the order of the others.

use crate::device::{Device, DeviceState, TensorHandle, device_of};
use crate::device_data::{self, DeviceData};
use crate::tensor::{Locked, finish_all};
use base::error::Result;
use ir::{Body, NodeId};
use ops::control;
use std::sync::Arc;

/// Calls that a computation makes.
pub(super) struct TracedCalls {
    calls: Vec<TensorHandle>,
    parameters: Vec<Arc<DeviceData>>,
}

impl TracedCalls {
    /// Says that the computation was traced. Without that, the calls wait for another one.
    pub(super) fn keep(self, device: &'static Device) {
        if !self.calls.is_empty() {
            device.effects_traced(&self.calls, &self.parameters);
        }
    }
}

/// Makes the first of the results of a computation depend on the calls that depend on its parameters, or were recorded in
/// its scope if that is not 0, one after another, so that they are made where it is applied.
pub(super) fn make_calls(
    state: &mut DeviceState,
    parameters: &[NodeId],
    results: &mut [NodeId],
    scope: u16,
) -> Result<TracedCalls> {
    let data = |id: &NodeId| device_data::shared_of_node(&state.trace, state.trace.node(*id));
    let parameters: Vec<Arc<DeviceData>> = parameters.iter().filter_map(data).collect();
    let calls = state.effects_over(&parameters, scope);
    if !calls.is_empty() {
        let mut done: Vec<NodeId> = calls.iter().map(|call| call.node).collect();
        let ordered: Vec<NodeId> = calls.iter().filter(|call| call.is_ordered).map(|call| call.node).collect();
        control::one_after_another(&mut state.trace, &ordered, &mut [&mut *results, &mut done])?;
        let all = [&results[..1], &done].concat();
        results[0] = control::optimization_barrier(&mut state.trace, &all)?[0];
    }
    Ok(TracedCalls { calls: calls.iter().map(|call| call.done).collect(), parameters })
}

fn have_effects(applied: &[&Arc<Body>]) -> bool {
    applied.iter().any(|body| body.kernels().effects)
}

/// Makes the application of computations with effects depend on the calls that were recorded before, if a step makes
/// it. `arguments` are those that may be needed first: all of a call, which XLA replaces by the body.
pub(super) fn after_others(state: &mut DeviceState, applied: &[&Arc<Body>], arguments: &mut [NodeId]) -> Result<()> {
    if arguments.is_empty() || !have_effects(applied) || !state.parameters_of(arguments).is_empty() {
        return Ok(());
    }
    match state.last_effect() {
        Some(last) => control::wait_for(&mut state.trace, arguments, last),
        None => Ok(()),
    }
}

/// Creates a tensor for each result of an application. If a computation has effects, the application is made by the
/// next step even if nothing holds the results.
pub(super) fn finish_applied(
    mut state: Locked,
    applied: &[&Arc<Body>],
    results: &[NodeId],
) -> Result<Vec<TensorHandle>> {
    if !have_effects(applied) {
        return finish_all(state, results);
    }
    let done = control::done_after(&mut state.trace, results[0])?;
    let parameters = state.parameters_of(&[done]);
    let mut tensors = finish_all(state, &[results, &[done]].concat())?;
    let done = tensors.pop().expect("one tensor for each node");
    device_of("out_results", done)?.keep_effect(done, true, parameters);
    Ok(tensors)
}
