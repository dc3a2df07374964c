//! Partial sync: computes the listed tensors, every live pending tensor on which they depend, and, by the option
//! `read_scope`, those that share work with them, so that nothing is computed twice. Never donates, because other pending
//! work may read the same buffers. Atomic on each device.

use super::collect::{Obstacles, is_pending};
use super::plan::{Plan, begin};
use super::run::compile_all;
use super::transaction::Transaction;
use crate::device::{Device, DeviceState, Kind, Owner, ReadScope, TensorHandle, Value, device_of, scopes};
use base::error;
use base::error::{Code, Error, Result};
use base::log::{Level, log};
use base::metrics::Counter;
use ir::{NodeId, Op, Planner, Scheme, Trace, Wanted, Workspace};
use rustc_hash::FxHashSet;
use std::sync::Arc;
use timeline::Span;

/// Enqueues the computation of these tensors, and does not wait for it. Runs nothing if one of them cannot be computed.
pub fn sync(tensors: &[TensorHandle]) -> Result<()> {
    scopes::refuse("tensors: their values are needed")?;
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

/// Syncs tensors of one device. If what is connected to them makes the sync fail, computes them without it.
pub(super) fn sync_on(device: &'static Device, group: &[(usize, TensorHandle)]) -> Result<()> {
    // Tensors that are computed or in flight do not wait for other syncs on the device.
    if listed(&device.state(), group)?.is_empty() {
        return Ok(());
    }
    let mut planner = device.order();
    let scope = {
        let state = device.state();
        scope_of(&state, state.owner()?)
    };
    let mut scope = scope;
    loop {
        match sync_in(device, &mut planner, group, scope) {
            Err(failure) if failure.can_be_of_others && has_others(device, &mut planner, group, failure.values) => {
                log(Level::Information, || format!("a read is tried with fewer values: {}", failure.error));
                scope = if scope == ReadScope::All { ReadScope::Connected } else { ReadScope::Listed };
            }
            outcome => return outcome.map_err(|failure| failure.error)?,
        }
    }
}

/// A sync that failed.
struct Failure {
    error: Error,
    /// Whether the sync of fewer values may succeed, and repeats no call of a kernel with effects.
    can_be_of_others: bool,
    /// Number of values of the sync.
    values: usize,
}

impl Failure {
    /// Failure of a sync before its values are known.
    fn early(error: Error) -> Failure {
        Failure { error, can_be_of_others: false, values: 0 }
    }
}

/// Whether a sync of this number of values was to compute more than these tensors need.
fn has_others(device: &'static Device, planner: &mut Planner, group: &[(usize, TensorHandle)], values: usize) -> bool {
    let state = device.state();
    let needed = |roots: Vec<NodeId>| closure(&state, &mut planner.workspace, &roots).kept.len();
    listed(&state, group).map(needed).is_ok_and(|needed| needed < values)
}

/// Syncs tensors of one device, and what else the scope says. Returns the outcome of the option `check_nonfinite`.
fn sync_in(
    device: &'static Device,
    planner: &mut Planner,
    group: &[(usize, TensorHandle)],
    scope: ReadScope,
) -> std::result::Result<Result<()>, Failure> {
    // Declared first, so that the sync ends after its work.
    let _step: Span;
    let transaction = {
        let mut state = device.state();
        // Not `check_open`: pending tensors of an environment that was released can be read.
        let owner = state.owner().map_err(Failure::early)?.clone();
        let roots = listed(&state, group).map_err(Failure::early)?;
        if roots.is_empty() {
            return Ok(Ok(()));
        }
        let (step, mut planning) = begin(&state, &owner, "sync").map_err(Failure::early)?;
        _step = step;
        let plan = plan_read(&state, planner, &owner, roots, scope);
        planning.number("results", plan.scheme.roots.len() as u64);
        Transaction::start(device, &mut state, owner, "sync", plan)
    };
    let values = transaction.plan.scheme.roots.len();
    let has_effects = transaction.plan.runs.iter().any(|run| run.stage.program.kernels().effects);
    let failed = |error: Error, can_be_of_others: bool| {
        let can_be_of_others = can_be_of_others && !error.code.is_of_plugin();
        Failure { error, can_be_of_others, values }
    };
    let compiled = compile_all(&transaction.owner, &transaction.plan);
    let compiled = compiled.map_err(|e| failed(transaction.explain(e), true))?;
    transaction.run(Kind::Sync, &compiled).map_err(|e| failed(e, !has_effects))
}

/// Returns what a read computes now besides its closure: what the option says, or all if reads have left too much.
pub(super) fn scope_of(state: &DeviceState, owner: &Owner) -> ReadScope {
    let options = &owner.shared.options;
    if state.left_by_read > options.max_left_pending() { ReadScope::All } else { options.read_scope() }
}

/// Returns the plan of a read of these nodes. A read that repeats an earlier one has its scheme.
pub(super) fn plan_read(
    state: &DeviceState,
    planner: &mut Planner,
    owner: &Owner,
    roots: Vec<NodeId>,
    scope: ReadScope,
) -> Plan {
    let trace = &state.trace;
    let max_ops = owner.shared.options.max_program_ops();
    let make = |workspace: &mut Workspace, roots: &[NodeId]| {
        let (wanted, total) = wanted(trace, roots, scope);
        let closure = closure(state, workspace, &wanted);
        let mut scheme = Scheme::of(trace, workspace.linearize(trace, &closure.kept), max_ops, |_| false);
        scheme.left = total.saturating_sub(closure.kept.len() + closure.passed.len());
        scheme.passed = closure.passed;
        scheme
    };
    // Obstacles and calls with effects do not follow from the operations of the trace alone.
    let is_known_by_trace = Obstacles::find(trace).is_empty() && !trace.has_kernels();
    if scope != ReadScope::Connected || !is_known_by_trace {
        return Plan::new(trace, Arc::new(make(&mut planner.workspace, &roots)));
    }
    let wanted = Wanted::Connected(roots.clone());
    let (scheme, is_repeated) = planner.scheme(trace, wanted, max_ops, |_| false, |workspace| make(workspace, &roots));
    if is_repeated {
        owner.shared.metrics.add(Counter::RepeatedStep, 1);
    }
    Plan::new(trace, scheme)
}

/// Returns the values that a read of `roots` computes, without those on which they depend; and the number of operations
/// that all live values need which can be computed.
fn wanted(trace: &Trace, roots: &[NodeId], scope: ReadScope) -> (Vec<NodeId>, usize) {
    let obstacles = Obstacles::find(trace);
    let mut all = trace.held_operations();
    all.retain(|&id| obstacles.of(id).is_none());
    // Inspection also plans reads of values that cannot be computed.
    all.extend(roots.iter().filter(|&&id| obstacles.of(id).is_some()));
    let groups = trace.groups(&all);
    match scope {
        ReadScope::All => {}
        ReadScope::Listed => all = roots.to_vec(),
        ReadScope::Connected => {
            let connected: FxHashSet<u32> = roots.iter().filter_map(|&id| groups.of(id)).collect();
            all.retain(|&id| groups.of(id).is_some_and(|group| connected.contains(&group)));
        }
    }
    (all, groups.len())
}

/// Values that a sync computes, and what it computes on the way.
pub(super) struct Closure {
    /// Live values, in recording order, as in a step, so that both make the same program of the same work.
    pub kept: Vec<NodeId>,
    /// Other operations.
    pub passed: Vec<NodeId>,
}

/// Returns the closure of these nodes: the operations on which they depend, and they themselves.
pub(super) fn closure(state: &DeviceState, workspace: &mut Workspace, roots: &[NodeId]) -> Closure {
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
    let (mut kept, mut passed): (Vec<NodeId>, Vec<NodeId>) =
        closure.order().iter().copied().partition(|&id| is_pending(trace, id));
    if trace.has_kernels() {
        keep_effects(trace, &mut kept, &mut passed);
    }
    kept.sort_unstable_by_key(|id| id.0);
    Closure { kept, passed }
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

/// The error of a value on cpu that was not evaluated, because it was recorded in a trace, and depends on no placeholder.
fn recorded_in_trace(trace: &Trace, id: NodeId) -> Error {
    let ty = trace.ty(id);
    error!(
        FailedPrecondition,
        "{ty} was recorded while a computation was traced, and has no value: return it as a result"
    )
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
                    if state.is_native() {
                        return Err(named(recorded_in_trace(&state.trace, *id)));
                    }
                    roots.push(*id);
                }
            }
        }
    }
    Ok(roots)
}
