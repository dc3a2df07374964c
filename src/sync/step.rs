//! The step: computes all live pending tensors of a device. The only sync that donates.

use super::collect::{Obstacle, Obstacles};
use super::culprits::step_without_culprits;
use super::exhausted::explain;
use super::plan::{Plan, check_memory, is_unreferenced, partial_scheme};
use super::run::{compile_all, run_compiled};
use super::transaction::Transaction;
use crate::device::{Device, DeviceState, Garbage, Owner};
use crate::device_data::{self, DeviceData, State};
use crate::error::Result;
use crate::ir::{Planner, Scheme, Trace};
use crate::metrics::Counter;
use std::sync::Arc;

/// Enqueues all pending work of a device, except values that depend on a placeholder. Does not wait for it. If it
/// cannot be compiled as a whole, enqueues what does not depend on what cannot be compiled, and returns the error.
pub fn mark_step(device: &'static Device) -> Result<()> {
    let mut planner = device.order();
    let mut transaction = {
        let mut state = device.state();
        state.check_open()?;
        let owner = state.owner()?.clone();
        owner.shared.metrics.add(Counter::MarkStep, 1);
        check_memory(&state.trace)?;
        let obstacles = settle_lost(&mut state);
        let plan = plan_with(&state, &mut planner, &owner, &obstacles);
        if plan.scheme.roots.is_empty() {
            let garbage = if state.trace.pending() == 0 { state.tidy() } else { Garbage::default() };
            drop(state);
            drop(garbage);
            return Ok(());
        }
        Transaction::start(device, &mut state, owner, "step", plan, Vec::new())
    };
    let Transaction { owner, plan, made, name, .. } = &mut transaction;
    let named = |e| explain(e, device, Some(plan.scheme.output_bytes)).context(&*name);
    match compile_all(owner, plan) {
        Ok(compiled) => run_compiled(owner, plan, &compiled, made).map_err(named)?,
        Err(e) => {
            let failure = named(e);
            drop(transaction);
            return Err(step_without_culprits(device, &mut planner, failure));
        }
    }
    transaction.commit();
    Ok(())
}

/// Blocks until all work enqueued on a device has ended.
pub fn wait(device: &'static Device) -> Result<()> {
    let owner = device.state().owner()?.clone();
    owner.wait().map_err(|e| explain(e, device, None))
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

/// Scheme of all pending work, from an earlier step with the same operations if there is one.
fn whole_scheme(trace: &Trace, planner: &mut Planner, owner: &Owner) -> Arc<Scheme> {
    let options = &owner.shared.options;
    let donation = options.donation();
    let may_donate = |leaf: usize| donation && is_unreferenced(trace, leaf);
    let (scheme, is_repeated) = planner.scheme(trace, options.max_program_ops(), may_donate);
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
            state.settle(id, data);
        }
    }
    Obstacles::find(&state.trace)
}
