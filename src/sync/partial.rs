//! Partial sync: computes the listed tensors and every live pending tensor on which they depend, so that no live value
//! is computed twice. Never donates, because other pending work may read the same buffers. Atomic on each device.

use super::collect::{Obstacles, is_pending};
use super::plan::{Plan, begin};
use super::run::compile_all;
use super::transaction::Transaction;
use crate::device::{Device, DeviceState, Kind, Owner, TensorHandle, Value, device_of};
use crate::error::{Code, Error, Result};
use crate::ir::{NodeId, Op, Scheme, Trace, Workspace};
use crate::timeline::Span;
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// Enqueues the computation of these tensors, and does not wait for it. Runs nothing if one of them cannot be computed.
pub fn sync(tensors: &[TensorHandle]) -> Result<()> {
    let groups = by_device(tensors)?;
    for (device, group) in &groups {
        let state = device.state();
        state.check_open()?;
        listed(&state, group)?;
    }
    let mut checked = Ok(());
    for (device, group) in groups {
        match sync_on(device, &group) {
            // The option `check_nonfinite` found a NaN or an infinity: all values are computed nevertheless.
            Err(e) if e.code == Code::OutOfRange => checked = checked.and(Err(e)),
            other => other?,
        }
    }
    checked
}

/// A device, and the listed tensors on it with their indices in the list.
pub(super) type Group = (&'static Device, Vec<(usize, TensorHandle)>);

/// Groups the listed tensors by device. Each keeps its index in the list.
pub(super) fn by_device(tensors: &[TensorHandle]) -> Result<Vec<Group>> {
    let mut groups: Vec<Group> = Vec::new();
    for (place, &handle) in tensors.iter().enumerate() {
        let device = device_of("tensors", handle).map_err(|e| e.context(format_args!("tensors[{place}]")))?;
        match groups.iter_mut().find(|(known, _)| std::ptr::eq(*known, device)) {
            Some((_, group)) => group.push((place, handle)),
            None => groups.push((device, vec![(place, handle)])),
        }
    }
    Ok(groups)
}

/// Syncs tensors of one device.
pub(super) fn sync_on(device: &'static Device, group: &[(usize, TensorHandle)]) -> Result<()> {
    // Tensors that are computed or in flight do not wait for other syncs on the device.
    if listed(&device.state(), group)?.is_empty() {
        return Ok(());
    }
    // Declared first, so that the sync ends after its work.
    let _step: Span;
    let mut planner = device.order();
    let transaction = {
        let mut state = device.state();
        // Not `check_open`: pending tensors of an environment that was released can be read.
        let owner = state.owner()?.clone();
        let roots = listed(&state, group)?;
        if roots.is_empty() {
            return Ok(());
        }
        let (step, mut planning) = begin(&state, &owner, "sync")?;
        _step = step;
        let (plan, passed) = plan_partial(&state, &mut planner.workspace, &owner, &roots);
        planning.number("results", plan.scheme.roots.len() as u64);
        Transaction::start(device, &mut state, owner, "sync", plan, passed)
    };
    let compiled = compile_all(&transaction.owner, &transaction.plan).map_err(|e| transaction.explain(e))?;
    transaction.run(Kind::Sync, &compiled)?
}

/// Returns the plan of a sync of these nodes, and the operations on which they depend whose results are not kept.
pub(super) fn plan_partial(
    state: &DeviceState,
    workspace: &mut Workspace,
    owner: &Owner,
    roots: &[NodeId],
) -> (Plan, Vec<NodeId>) {
    let trace = &state.trace;
    let (all, passed) = closure(state, workspace, roots);
    let linear = workspace.linearize(trace, &all);
    let scheme = Scheme::of(trace, linear, owner.shared.options.max_program_ops(), |_| false);
    (Plan::new(trace, Arc::new(scheme)), passed)
}

/// Returns these nodes and the pending values on which they depend, in recording order, as in a step, so that both make
/// the same program of the same work; and the other operations on which they depend.
pub(super) fn closure(state: &DeviceState, workspace: &mut Workspace, roots: &[NodeId]) -> (Vec<NodeId>, Vec<NodeId>) {
    let trace = &state.trace;
    let mut closure = workspace.linearize(trace, roots);
    let mut effects = state.effects_of_steps();
    if !effects.is_empty() {
        // The value that marks an applied computation's calls as made depends on a result, but no result depends on it:
        // it is added to the roots.
        let needed: FxHashSet<u32> = closure.order().iter().map(|id| id.0).collect();
        effects.retain(|(call, _)| needed.contains(&call.0));
        let done = effects.into_iter().map(|(_, done)| done);
        let roots: Vec<NodeId> = roots.iter().copied().chain(done).collect();
        closure = workspace.linearize(trace, &roots);
    }
    let (mut all, mut passed): (Vec<NodeId>, Vec<NodeId>) =
        closure.order().iter().copied().partition(|&id| is_pending(trace, id));
    if trace.has_kernels() {
        keep_effects(trace, &mut all, &mut passed);
    }
    all.sort_unstable_by_key(|id| id.0);
    (all, passed)
}

/// Moves all results of calls with effects to the values that are kept: a later sync must not repeat the calls.
fn keep_effects(trace: &Trace, all: &mut Vec<NodeId>, passed: &mut Vec<NodeId>) {
    let called: Vec<NodeId> = passed.iter().copied().filter(|&id| trace.has_effects(trace.node(id))).collect();
    let is_kept = |id: NodeId| {
        let node = trace.node(id);
        node.op == Op::Result && called.contains(&trace.operands(node)[0])
    };
    passed.retain(|&id| !is_kept(id));
    let results = (0..trace.len() as u32).map(NodeId).filter(|&id| is_kept(id) && !all.contains(&id));
    let results: Vec<NodeId> = results.collect();
    all.extend(results);
}

/// Returns the pending nodes of the listed tensors. Fails for a tensor that has no value and cannot get one.
pub(super) fn listed(state: &DeviceState, group: &[(usize, TensorHandle)]) -> Result<Vec<NodeId>> {
    let obstacles = Obstacles::find(&state.trace);
    let mut roots = Vec::new();
    for &(place, handle) in group {
        let named = |e: Error| e.context(format_args!("tensors[{place}]"));
        let slot = state.check("tensors", handle).map_err(named)?;
        match state.value(slot) {
            Value::Native(_) => {}
            Value::Data(data) if data.is_placeholder() => return Err(named(data.unbound())),
            Value::Data(data) => data.failure().map_or(Ok(()), |failure| Err(named(failure)))?,
            Value::Pending(id) => {
                if let Some(obstacle) = obstacles.of(*id) {
                    let why = Obstacles::why(&state.trace, obstacle);
                    return Err(named(why.context("it depends on a value that is not there")));
                }
                if state.trace.node(*id).op != Op::Leaf {
                    roots.push(*id);
                }
            }
        }
    }
    Ok(roots)
}
