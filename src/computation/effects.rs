//! Kernels with effects in computations: a computation that is traced takes over the calls that depend on its
//! parameters; one that is applied is itself a call with effects, in the order of the others.

use crate::device::{DeviceState, TensorHandle, device_of};
use crate::error::Result;
use crate::ir::{Body, NodeId, Op};
use crate::ops::{control, creation};
use crate::tensor::{State, finish_all};
use crate::types::ScalarValue;
use std::sync::Arc;

/// Makes the first of the results of a computation depend on the calls that depend on its parameters, so that they are
/// made where it is applied. Returns the calls' tensors, which the caller releases.
pub(super) fn take_over(
    state: &mut DeviceState,
    parameters: &[NodeId],
    results: &mut [NodeId],
) -> Result<Vec<TensorHandle>> {
    let mut effects = state.pending_effects();
    if effects.is_empty() {
        return Ok(Vec::new());
    }
    let mut depends = vec![false; state.trace.len()];
    parameters.iter().for_each(|id| depends[id.0 as usize] = true);
    for id in 0..state.trace.len() {
        let node = state.trace.node(NodeId(id as u32));
        if node.op != Op::Leaf {
            let on = state.trace.operands(node).iter().any(|operand| depends[operand.0 as usize]);
            depends[id] |= on;
        }
    }
    effects.retain(|id| depends[id.0 as usize]);
    if !effects.is_empty() {
        let all = [&results[..1], &effects].concat();
        results[0] = control::optimization_barrier(&mut state.trace, &all)?[0];
    }
    Ok(state.take_effects(&effects))
}

fn have_effects(applied: &[&Arc<Body>]) -> bool {
    applied.iter().any(|body| body.kernels().effects)
}

/// Makes the application of computations with effects depend on the calls that were recorded before.
pub(super) fn after_others(state: &mut DeviceState, applied: &[&Arc<Body>], arguments: &mut [NodeId]) -> Result<()> {
    if let (true, Some(last), Some(first)) =
        (have_effects(applied), state.pending_effects().pop(), arguments.first_mut())
    {
        *first = control::optimization_barrier(&mut state.trace, &[*first, last])?[0];
    }
    Ok(())
}

/// Creates a tensor for each result of an application. If a computation has effects, the application is made by the
/// next step even if nothing holds the results.
pub(super) fn finish_applied(
    mut state: State,
    applied: &[&Arc<Body>],
    results: &[NodeId],
) -> Result<Vec<TensorHandle>> {
    if !have_effects(applied) {
        return finish_all(state, results);
    }
    let zero = creation::full(&mut state.trace, &control::done(), ScalarValue::Signed(0))?;
    let done = control::optimization_barrier(&mut state.trace, &[results[0], zero])?[1];
    let mut tensors = finish_all(state, &[results, &[done]].concat())?;
    let done = tensors.pop().expect("one tensor for each node");
    device_of("out_results", done)?.keep_effect(done);
    Ok(tensors)
}
