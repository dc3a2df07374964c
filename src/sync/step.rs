//! The step: computes all live pending tensors of a device. The only sync that donates.

use super::collect::{Obstacle, Obstacles, needed_data};
use super::exhausted::explain;
use super::plan::Plan;
use super::run::run;
use super::transaction::Transaction;
use crate::device::{Device, DeviceState, Garbage, Owner};
use crate::device_data::{self, DeviceData, State};
use crate::error::Result;
use crate::ir::{NodeId, Planner, Scheme, Trace, Workspace};
use crate::metrics::Counter;
use std::sync::Arc;

/// Enqueues all pending work of a device, except values that depend on a placeholder. Does not wait for it.
pub fn mark_step(device: &'static Device) -> Result<()> {
    let mut planner = device.order();
    let mut transaction = {
        let mut state = device.state();
        state.check_open()?;
        let owner = state.owner()?.clone();
        owner.shared.metrics.add(Counter::MarkStep, 1);
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
    run(owner, plan, made).map_err(|e| explain(e, device, Some(plan.scheme.output_bytes)).context(name))?;
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
        Arc::new(partial_scheme(trace, &mut planner.workspace, owner, obstacles))
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

/// Scheme of the pending work that has no obstacle.
fn partial_scheme(trace: &Trace, workspace: &mut Workspace, owner: &Owner, obstacles: &Obstacles) -> Scheme {
    let (roots, left): (Vec<NodeId>, Vec<NodeId>) =
        trace.held_operations().into_iter().partition(|&id| obstacles.of(id).is_none());
    // Operations that stay pending still need their data, even if no tensor refers to it.
    let mut needed = needed_data(trace, &left);
    needed.sort_unstable_by_key(Arc::as_ptr);
    let is_needed = |leaf: usize| {
        let data = device_data::of_leaf(&trace.leaves()[leaf]);
        data.is_some_and(|data| needed.binary_search_by_key(&std::ptr::from_ref(data), Arc::as_ptr).is_ok())
    };
    let options = &owner.shared.options;
    let donation = options.donation();
    Scheme::of(trace, workspace.linearize(trace, &roots), options.max_program_ops(), |leaf| {
        donation && is_unreferenced(trace, leaf) && !is_needed(leaf)
    })
}

/// Whether no tensor has the data of a leaf as its value.
fn is_unreferenced(trace: &Trace, leaf: usize) -> bool {
    device_data::of_leaf(&trace.leaves()[leaf]).is_some_and(|data| data.tensors.get() == 0)
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
