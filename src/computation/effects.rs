//! Kernels with effects in computations: a computation that is traced makes the calls that depend on its parameters;
//! one that is applied is itself a call with effects, in the order of the others.

use crate::allocation::probe;
use crate::device::{Device, DeviceState, TensorHandle, device_of};
use crate::device_data::{self, DeviceData};
use crate::error::Result;
use crate::ir::{Body, NodeId, Op, Trace};
use crate::ops::{control, creation};
use crate::tensor::{State, finish_all};
use crate::types::ScalarValue;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Calls that a computation makes.
pub(super) struct Made {
    calls: Vec<TensorHandle>,
    parameters: Vec<Arc<DeviceData>>,
}

impl Made {
    /// Says that the computation was traced. Without that, the calls wait for another one.
    pub(super) fn keep(self, device: &'static Device) {
        if !self.calls.is_empty() {
            device.effects_traced(&self.calls, &self.parameters);
        }
    }
}

/// Makes the first of the results of a computation depend on the calls that depend on its parameters, one after
/// another, so that they are made where it is applied.
pub(super) fn make_calls(state: &mut DeviceState, parameters: &[NodeId], results: &mut [NodeId]) -> Result<Made> {
    let data = |id: &NodeId| device_data::shared_of_node(&state.trace, state.trace.node(*id));
    let parameters: Vec<Arc<DeviceData>> = parameters.iter().filter_map(data).collect();
    let calls = state.effects_over(&parameters);
    if !calls.is_empty() {
        let mut done: Vec<NodeId> = calls.iter().map(|call| call.node).collect();
        let ordered: Vec<NodeId> = calls.iter().filter(|call| call.is_ordered).map(|call| call.node).collect();
        one_after_another(&mut state.trace, &ordered, &mut [&mut *results, &mut done])?;
        let all = [&results[..1], &done].concat();
        results[0] = control::optimization_barrier(&mut state.trace, &all)?[0];
    }
    Ok(Made { calls: calls.iter().map(|call| call.done).collect(), parameters })
}

/// Replaces `values` by copies in which each of the calls depends on the one before. A call is given by its last result.
/// The calls are recorded without order, because only here it is known to which computation they belong.
fn one_after_another(trace: &mut Trace, calls: &[NodeId], values: &mut [&mut [NodeId]]) -> Result<()> {
    let before = calls.iter().zip(calls.iter().skip(1));
    let before: FxHashMap<NodeId, NodeId> =
        before.filter_map(|(&last, &next)| Some((called(trace, next)?, last))).collect();
    let Some(first) = before.keys().map(|id| id.0 as usize).min() else { return Ok(()) };
    let recorded = trace.len();
    probe(recorded * (size_of::<NodeId>() + size_of::<bool>()), "the calls of a computation in order")?;
    let mut needed = vec![false; recorded];
    values.iter().flat_map(|list| list.iter()).for_each(|id| needed[id.0 as usize] = true);
    for id in (first..recorded).rev().filter(|&id| trace.node(NodeId(id as u32)).op != Op::Leaf) {
        if needed[id] {
            let node = trace.node(NodeId(id as u32));
            trace.operands(node).iter().for_each(|operand| needed[operand.0 as usize] = true);
        }
    }
    let mut copies: Vec<NodeId> = (0..recorded as u32).map(NodeId).collect();
    let outer = trace.label();
    for id in (first as u32..recorded as u32).map(NodeId).filter(|id| needed[id.0 as usize]) {
        let node = *trace.node(id);
        let mut operands: Vec<NodeId> =
            trace.operands(&node).iter().map(|operand| copies[operand.0 as usize]).collect();
        let last = before.get(&id).map(|last| copies[last.0 as usize]);
        if last.is_none() && operands == trace.operands(&node) {
            continue;
        }
        trace.check_room_for(operands.len() + 2)?;
        if let Some(last) = last {
            trace.set_label(trace.label_of(id));
            run_after(trace, node.op, &mut operands, last)?;
        }
        trace.set_label(trace.label_of(id));
        copies[id.0 as usize] = trace.copy(id, &operands);
    }
    trace.set_label(outer);
    values.iter_mut().flat_map(|list| list.iter_mut()).for_each(|id| *id = copies[id.0 as usize]);
    Ok(())
}

/// Node that makes the call with this last result.
fn called(trace: &Trace, done: NodeId) -> Option<NodeId> {
    let mut id = done;
    while !trace.has_effects(trace.node(id)) {
        id = *trace.operands(trace.node(id)).first()?;
    }
    Some(id)
}

/// Makes the operands of a call, or of an application of computations with effects, depend on the last result of the
/// call before.
fn run_after(trace: &mut Trace, op: Op, operands: &mut Vec<NodeId>, last: NodeId) -> Result<()> {
    match op {
        Op::Kernel => operands.push(last),
        // XLA replaces these by their bodies, in which any operand may be the one on which a call depends.
        Op::Call | Op::ShardMap => wait_for(trace, operands, last)?,
        _ => {
            let first = operands.len().min(1);
            wait_for(trace, &mut operands[..first], last)?;
        }
    }
    Ok(())
}

fn wait_for(trace: &mut Trace, values: &mut [NodeId], last: NodeId) -> Result<()> {
    let all = [&*values, &[last]].concat();
    let after = control::optimization_barrier(trace, &all)?;
    values.copy_from_slice(&after[..values.len()]);
    Ok(())
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
        Some(last) => wait_for(&mut state.trace, arguments, last),
        None => Ok(()),
    }
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
    let parameters = state.parameters_of(&[done]);
    let mut tensors = finish_all(state, &[results, &[done]].concat())?;
    let done = tensors.pop().expect("one tensor for each node");
    device_of("out_results", done)?.keep_effect(done, true, parameters);
    Ok(tensors)
}
