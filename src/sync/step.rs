//! The step: computes all live pending tensors of a device. The only sync that donates.

use super::collect::{Obstacle, Obstacles, needed_data, pending};
use super::exhausted::explain;
use super::plan::{Plan, plan};
use super::run::run;
use super::transaction::Transaction;
use crate::device::{Device, DeviceState, Garbage, Owner};
use crate::device_data::{self, DeviceData, State};
use crate::error::Result;
use crate::ir::{NodeId, Workspace};
use crate::metrics::Counter;
use std::sync::Arc;

/// Enqueues all pending work of a device, except values that depend on a placeholder. Does not wait for it.
pub fn mark_step(device: &'static Device) -> Result<()> {
    let mut workspace = device.order();
    let mut transaction = {
        let mut state = device.state();
        state.check_open()?;
        let owner = state.owner()?.clone();
        owner.shared.metrics.add(Counter::MarkStep, 1);
        settle_lost(&mut state);
        let plan = plan_step(&state, &mut workspace, &owner);
        if plan.roots.is_empty() {
            let garbage = if state.trace.pending() == 0 { state.tidy() } else { Garbage::default() };
            drop(state);
            drop(garbage);
            return Ok(());
        }
        Transaction::start(device, &mut state, owner, "step", plan, Vec::new())
    };
    let Transaction { owner, plan, made, name, .. } = &mut transaction;
    run(owner, plan, made).map_err(|e| explain(e, device, Some(plan.output_bytes)).context(name))?;
    transaction.commit();
    Ok(())
}

/// Blocks until all work enqueued on a device has ended.
pub fn wait(device: &'static Device) -> Result<()> {
    let owner = device.state().owner()?.clone();
    owner.wait().map_err(|e| explain(e, device, None))
}

/// Returns the plan of a step.
pub(super) fn plan_step(state: &DeviceState, workspace: &mut Workspace, owner: &Owner) -> Plan {
    let trace = &state.trace;
    let obstacles = Obstacles::find(trace);
    let (roots, left): (Vec<NodeId>, Vec<NodeId>) =
        pending(trace).into_iter().partition(|&id| obstacles.of(id).is_none());
    // Work that stays pending still needs its data, even if no tensor refers to it.
    let mut needed = if obstacles.is_empty() { Vec::new() } else { needed_data(trace, &left) };
    needed.sort_unstable_by_key(Arc::as_ptr);
    let needs = |data: &DeviceData| needed.binary_search_by_key(&std::ptr::from_ref(data), Arc::as_ptr).is_ok();
    let donation = owner.shared.options.donation();
    let linear = workspace.linearize(trace, &roots);
    plan(trace, linear, owner.shared.options.max_program_ops(), |data| {
        donation && data.tensors.get() == 0 && !needs(data)
    })
}

/// Marks pending values that depend on lost data as failed, with the same error.
fn settle_lost(state: &mut DeviceState) {
    let obstacles = Obstacles::find(&state.trace);
    if obstacles.is_empty() {
        return;
    }
    for id in pending(&state.trace) {
        if let Some(Obstacle::Lost(leaf)) = obstacles.of(id) {
            let failure = device_data::of_node(&state.trace, state.trace.node(leaf)).and_then(DeviceData::failure);
            let failure = failure.expect("lost data carries its failure");
            let data = DeviceData::new(state.trace.ty(id), State::Failed(failure));
            state.trace.replace_by_leaf(id, &data);
            state.settle(id, &data);
        }
    }
}
