//! The step: computes all live pending tensors of a device, or a list and what it needs. The only sync that donates.

use super::collect::{Obstacle, Obstacles};
use super::culprits::step_without_culprits;
use super::exhausted::explain;
use super::partial::{Closure, closure, listed};
use super::plan::{Plan, begin, is_unreferenced, partial_scheme};
use super::run::compile_all;
use super::transaction::Transaction;
use crate::device::{
    DeferredDrop, Device, DeviceState, Kind, OperandName, Owner, TensorHandle, common_device_of_list, scopes,
};
use crate::device_data::{self, DeviceData, State};
use base::error::Result;
use base::metrics::Counter;
use ir::{NodeId, Planner, Scheme, Trace, Wanted, Workspace};
use std::sync::Arc;
use std::time::Instant;
use timeline::Span;

/// Enqueues all pending work of a device, except values that depend on a placeholder. Does not wait for it. If it
/// cannot be compiled as a whole, enqueues what does not depend on what cannot be compiled, and returns the error.
pub fn mark_step(device: &'static Device) -> Result<()> {
    scopes::refuse("a step")?;
    // Declared first, so that the step ends after its work.
    let _step: Span;
    let mut planner = device.order();
    let transaction = {
        let mut state = device.state();
        state.check_open()?;
        if state.is_native() {
            // Operations that are pending on cpu wait for a placeholder, or belong to a trace.
            return Ok(());
        }
        let owner = state.owner()?.clone();
        let (step, mut planning) = begin(&state, &owner, "step")?;
        _step = step;
        owner.shared.metrics.add(Counter::MarkStep, 1);
        state.has_calls = false;
        let obstacles = settle_lost(&mut state);
        let plan = plan_with(&state, &mut planner, &owner, &obstacles);
        planning.number("results", plan.scheme.roots.len() as u64);
        if plan.scheme.roots.is_empty() {
            let garbage = if state.trace.pending() == 0 { state.tidy() } else { DeferredDrop::default() };
            drop(state);
            drop(garbage);
            return Ok(());
        }
        Transaction::start(device, &mut state, owner, "step", plan)
    };
    finish(device, &mut planner, transaction, |state, _| {
        let obstacles = Obstacles::find(&state.trace);
        Ok(state.trace.held_operations().into_iter().filter(|&id| obstacles.of(id).is_none()).collect())
    })
}

/// Enqueues the computation of the listed tensors, which are on one device, and of all live pending tensors on which
/// they depend, as a step: donates what nothing needs afterwards, and does without what cannot be compiled. Fails as a
/// sync if a listed tensor cannot get a value: nothing is run then. Then waits, if asked to and if nothing failed.
pub fn step_tensors(tensors: &[TensorHandle], is_waiting: bool) -> Result<()> {
    scopes::refuse("a step")?;
    let named: Vec<(OperandName, TensorHandle)> =
        tensors.iter().enumerate().map(|(place, &handle)| (OperandName::Element("tensors", place), handle)).collect();
    if named.is_empty() {
        return Ok(());
    }
    let device = common_device_of_list(&named)?;
    let group: Vec<(usize, TensorHandle)> = tensors.iter().copied().enumerate().collect();
    if device.state().is_native() {
        return listed(&device.state(), &group).map(drop);
    }
    step_group(device, &group)?;
    if is_waiting { wait(device) } else { Ok(()) }
}

/// Does the step of tensors of one device.
fn step_group(device: &'static Device, group: &[(usize, TensorHandle)]) -> Result<()> {
    let _step: Span;
    let mut planner = device.order();
    let transaction = {
        let mut state = device.state();
        state.check_open()?;
        let owner = state.owner()?.clone();
        let nodes = listed(&state, group)?;
        let (step, mut planning) = begin(&state, &owner, "step")?;
        _step = step;
        owner.shared.metrics.add(Counter::MarkStep, 1);
        if nodes.is_empty() {
            return Ok(());
        }
        let closure = closure(&state, &mut planner.workspace, &nodes);
        let plan = plan_some(&state, &mut planner, &owner, closure);
        planning.number("results", plan.scheme.roots.len() as u64);
        Transaction::start(device, &mut state, owner, "step", plan)
    };
    finish(device, &mut planner, transaction, |state, workspace| {
        Ok(closure(state, workspace, &listed(state, group)?).kept)
    })
}

/// Compiles and runs a step. If it does not compile, does without what cannot be compiled of its `values`.
fn finish(
    device: &'static Device,
    planner: &mut Planner,
    transaction: Transaction,
    values: impl Fn(&DeviceState, &mut Workspace) -> Result<Vec<NodeId>>,
) -> Result<()> {
    match compile_all(&transaction.owner, &transaction.plan) {
        Ok(compiled) => transaction.run(Kind::Step, &compiled)?,
        Err(e) => {
            let failure = transaction.explain(e);
            drop(transaction);
            Err(step_without_culprits(device, planner, failure, values))
        }
    }
}

/// Blocks until all work enqueued on a device has ended.
pub fn wait(device: &'static Device) -> Result<()> {
    let owner = device.state().owner()?.clone();
    owner.wait().map_err(|e| explain(e, device, None))
}

/// Waits for the work on some devices with numbers up to `last`, at most until `deadline`. Returns whether it has
/// ended; if it has, an error that no earlier wait reported is returned instead.
pub fn wait_for(devices: &[&'static Device], last: u64, deadline: Instant) -> Result<bool> {
    let owners = devices.iter().map(|device| device.state().owner().cloned()).collect::<Result<Vec<_>>>()?;
    if !owners.iter().all(|owner| owner.has_ended_by(last, deadline)) {
        return Ok(false);
    }
    let waited = owners.iter().zip(devices);
    let waited = waited.map(|(owner, device)| owner.wait_for(last).map_err(|e| explain(e, device, None)));
    waited.collect::<Vec<_>>().into_iter().collect::<Result<()>>().map(|()| true)
}

/// Returns the plan of a step. A step that repeats an earlier one has its scheme.
pub(super) fn plan_step(state: &DeviceState, planner: &mut Planner, owner: &Owner) -> Plan {
    plan_with(state, planner, owner, &Obstacles::find(&state.trace))
}

/// Does what [`plan_step`] does, with the obstacles of the trace.
fn plan_with(state: &DeviceState, planner: &mut Planner, owner: &Owner, obstacles: &Obstacles) -> Plan {
    let trace = &state.trace;
    let scheme = if obstacles.is_empty() {
        whole_scheme(trace, planner, owner)
    } else {
        Arc::new(partial_scheme(trace, &mut planner.workspace, owner, |id| obstacles.of(id).is_none()))
    };
    Plan::new(trace, scheme)
}

/// Returns the plan of a step of a closure. The other held operations stay pending, and what they need is not donated.
fn plan_some(state: &DeviceState, planner: &mut Planner, owner: &Owner, closure: Closure) -> Plan {
    let trace = &state.trace;
    let scheme = if closure.kept.len() == trace.pending() {
        whole_scheme(trace, planner, owner)
    } else {
        let mut is_root = vec![false; trace.len()];
        closure.kept.iter().for_each(|id| is_root[id.0 as usize] = true);
        let mut scheme = partial_scheme(trace, &mut planner.workspace, owner, |id| is_root[id.0 as usize]);
        scheme.passed = closure.passed;
        Arc::new(scheme)
    };
    Plan::new(trace, scheme)
}

/// Scheme of all pending work, from an earlier step with the same operations if there is one.
fn whole_scheme(trace: &Trace, planner: &mut Planner, owner: &Owner) -> Arc<Scheme> {
    let options = &owner.shared.options;
    let donation = options.donation() && !trace.has_kernels();
    let may_donate = |leaf: usize| donation && is_unreferenced(trace, leaf);
    let max_ops = options.max_program_ops();
    let (scheme, is_repeated) = planner.scheme(trace, Wanted::All, max_ops, may_donate, |workspace| {
        Scheme::of(trace, workspace.linearize(trace, &trace.held_operations()), max_ops, may_donate)
    });
    if is_repeated && !scheme.roots.is_empty() {
        owner.shared.metrics.add(Counter::RepeatedStep, 1);
    }
    scheme
}

/// Marks pending values that depend on lost data as failed, with the same error. Returns the obstacles that are left.
fn settle_lost(state: &mut DeviceState) -> Obstacles {
    let obstacles = Obstacles::find(&state.trace);
    if obstacles.is_empty() {
        return obstacles;
    }
    for id in state.trace.held_operations() {
        if let Some(Obstacle::Lost(leaf)) = obstacles.of(id) {
            let failure = device_data::of_node(&state.trace, state.trace.node(leaf)).and_then(DeviceData::failure);
            let failure = failure.expect("lost data carries its failure");
            let data = DeviceData::new(state.trace.ty(id), State::Failed(failure));
            state.trace.replace_by_leaf(id, data.clone());
            state.materialize(id, data);
        }
    }
    Obstacles::find(&state.trace)
}
