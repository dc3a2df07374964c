//! A sync in progress: from the moment its roots become InFlight until they have data, or the recorded operations are
//! pending again. If it is dropped without a commit (also on panic), it rolls back.

use super::exhausted::{explain, explain_run};
use super::live::note_live;
use super::nonfinite::check_results;
use super::padded::Ready;
use super::plan::{Plan, Run, RunArgument};
use super::run::{Outputs, run_compiled};
use crate::device::{DeferredDrop, Device, DeviceState, Kind, Owner, Place};
use crate::device_data::{DeviceData, Name, Origin, Ran, Serials, Spare, State};
use base::error::{Error, Result};
use base::metrics::Counter;
use engine::{self, Buffer};
use ir::{Node, NodeId, Scheme};
use parking_lot::MutexGuard;
use std::fmt;
use std::sync::Arc;

/// State of a sync in progress.
pub struct Transaction {
    device: &'static Device,
    /// Keeps the environment alive.
    pub owner: Owner,
    /// Name used in error messages.
    name: Name,
    /// Plan that is run.
    pub plan: Plan,
    /// Outputs made so far, by number.
    made: Outputs,
    roots: Vec<Root>,
    recomputed: u64,
    ended: bool,
    /// Origin of the outputs.
    origin: Arc<Origin>,
}

/// Keeps the ids of a device's nodes valid while no sync is in flight: the trace is not compacted. Made and dropped
/// under the lock that serializes the syncs.
pub struct Pinned(&'static Device);

impl Pinned {
    /// Pins the nodes of the device's trace.
    pub fn new(device: &'static Device, state: &mut DeviceState) -> Pinned {
        state.syncing = true;
        Pinned(device)
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.syncing = false;
        let garbage: DeferredDrop = state.tidy();
        let unused = state.abandon_if_unused();
        drop(state);
        engine::free(garbage);
        drop(unused);
    }
}

/// Name of a sync: "step 7 on xla:0".
struct SyncName {
    kind: &'static str,
    step: u64,
    place: Place,
}

impl fmt::Display for SyncName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} on {}", self.kind, self.step, self.place)
    }
}

/// A held operation that the plan computes. Its node is a leaf until the sync has ended; the leaf's data is in flight.
struct Root {
    id: NodeId,
    recorded: Node,
    /// Number of the plan's output that is the root's result.
    output: usize,
    /// Data of the leaf.
    data: Arc<DeviceData>,
}

impl Root {
    /// Gives the root's data its buffer, and the root's tensors the data.
    fn materialize(self, state: &mut DeviceState, buffer: Arc<dyn Buffer>) {
        self.data.set_buffer(buffer);
        state.materialize(self.id, self.data);
    }
}

impl Transaction {
    /// Makes the plan's roots InFlight: from here on, other threads use them as leaves.
    pub fn start(
        device: &'static Device,
        state: &mut DeviceState,
        owner: Owner,
        kind: &'static str,
        plan: Plan,
    ) -> Transaction {
        let step = state.next_step();
        let name: Name = Arc::new(SyncName { kind, step, place: owner.place });
        state.syncing = true;
        state.forget_cut();
        let Scheme { roots, outputs, recomputed, left, .. } = &*plan.scheme;
        state.left_by_read = *left;
        let serials = Serials::take(roots.len());
        let origin = Arc::new(origin_of(&name, &plan, &serials));
        let roots = roots.iter().zip(serials).map(|(&(id, output), serial)| {
            let data = state.spares.computed(state.trace.ty(id), step, serial, (origin.clone(), output));
            Root { id, recorded: state.trace.replace_by_leaf(id, data.clone()), output, data }
        });
        let roots: Vec<Root> = roots.collect();
        let (made, recomputed) = (vec![None; outputs.len()], *recomputed);
        Transaction { device, owner, name, plan, made, roots, recomputed, ended: false, origin }
    }

    /// Runs the compiled plan, and commits. Returns the outcome of the option `check_nonfinite`: a value that it refuses
    /// is committed, too.
    pub fn run(mut self, kind: Kind, compiled: &[Ready]) -> Result<Result<()>> {
        let Transaction { device, owner, name, plan, made, .. } = &mut self;
        run_compiled(owner, plan, kind, compiled, made)
            .map_err(|e| explain_run(e, device, plan, compiled).context(&*name))?;
        let device = *device;
        let checked = check_results(owner, plan, made).map_err(|e| self.explain(e));
        self.commit();
        device.release_effects(false);
        Ok(checked)
    }

    /// Returns a failure of the sync with its name, and with the largest tensors if the device lacks memory.
    pub fn explain(&self, error: Error) -> Error {
        explain(error, self.device, Some(self.plan.scheme.output_bytes)).context(&*self.name)
    }

    /// Sets the results of the roots; their tensors have data from here on.
    fn commit(mut self) {
        self.ended = true;
        // Dropped after the lock: it has the values that only the plan's own runs needed.
        let mut made = std::mem::take(&mut self.made);
        let mut state = self.device.state();
        for root in std::mem::take(&mut self.roots) {
            let buffer = made[root.output].take().expect("a run makes all its outputs, and roots are kept");
            root.materialize(&mut state, buffer);
        }
        if state.trace.pending() > 0 {
            self.plan.scheme.passed.iter().for_each(|&id| state.trace.mark_computed(id));
        }
        if self.owner.shared.timeline().is_on() {
            note_live(&self.owner, &state);
        }
        if self.recomputed > 0 {
            self.owner.shared.metrics.add(Counter::RecomputedOps, self.recomputed);
        }
        self.leave(state);
    }

    /// Restores the recorded operations, except for outputs that an earlier run of the plan has finished: those are
    /// kept, because the data from which they were computed may have been consumed. Data that the engine consumed
    /// although the run failed is marked as donated.
    fn roll_back(&mut self) {
        self.ended = true;
        let mut state = self.device.state();
        let mut is_root = vec![false; self.made.len()];
        for root in std::mem::take(&mut self.roots) {
            is_root[root.output] = true;
            if let Some(buffer) = &self.made[root.output] {
                root.materialize(&mut state, buffer.clone());
            } else {
                root.data.set_state(State::Abandoned);
                state.trace.restore(root.id, root.recorded);
            }
        }
        for (number, &id) in self.plan.scheme.outputs.iter().enumerate() {
            if let Some(buffer) = &self.made[number]
                && !is_root[number]
            {
                let data = DeviceData::with_origin(self.kept(buffer), self.origin.clone(), number);
                state.trace.replace_by_leaf(id, data.clone());
                // A tensor may hold the operation since the sync began.
                state.materialize(id, data);
            }
        }
        self.mark_consumed();
        self.leave(state);
    }

    /// Data of an earlier run's output. Marked as donated if the failed run consumed it.
    fn kept(&self, buffer: &Arc<dyn Buffer>) -> Arc<DeviceData> {
        if buffer.is_deleted() {
            return DeviceData::new(buffer.tensor_type().clone(), State::Donated(self.name.clone()));
        }
        DeviceData::ready(buffer.clone())
    }

    /// Marks data whose buffer was consumed as donated. After a commit, such data is unreachable.
    fn mark_consumed(&self) {
        for run in &self.plan.runs {
            for &donor in &run.stage.donors {
                if let RunArgument::Data(data) = &run.arguments[donor]
                    && data.buffer().is_ok_and(|buffer| buffer.is_deleted())
                {
                    data.set_state(State::Donated(self.name.clone()));
                }
            }
        }
    }

    /// Wakes the threads that wait for data in flight. Releases the lock before dropping data that is no longer needed,
    /// because that may run foreign code; then takes it again, to keep the objects of the data for the next sync.
    fn leave(&mut self, mut state: MutexGuard<DeviceState>) {
        state.syncing = false;
        let garbage: DeferredDrop = state.tidy();
        let unused = state.abandon_if_unused();
        self.device.notify_settled();
        drop(state);
        engine::free(garbage);
        let spares = retired(std::mem::take(&mut self.plan.runs));
        drop(unused);
        let mut state = self.device.state();
        // Another thread may have released the environment meanwhile, and another environment may have the device.
        if state.owner().is_ok_and(|owner| Arc::ptr_eq(&owner.shared, &self.owner.shared)) {
            state.spares.adapt(self.plan.scheme.roots.len());
            spares.into_iter().for_each(|spare| state.spares.add(spare));
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if !self.ended {
            self.roll_back();
        }
    }
}

/// Frees the arguments of runs to which nothing else refers, and returns what can be used again.
fn retired(runs: Vec<Run>) -> Vec<Spare> {
    let most = runs.iter().map(|run| run.arguments.len()).sum();
    let (mut spares, mut buffers) = (Vec::with_capacity(most), Vec::with_capacity(most));
    for argument in runs.into_iter().flat_map(|run| run.arguments) {
        if let RunArgument::Data(data) = argument
            && let Some((spare, buffer)) = DeviceData::retire(data)
        {
            spares.push(spare);
            buffers.push(buffer);
        }
    }
    engine::free_buffers(buffers);
    spares
}

/// The origin of the roots of a plan, whose data gets these serial numbers.
fn origin_of(name: &Name, plan: &Plan, serials: &Serials) -> Origin {
    let ran = |run: &Run| {
        let mut ran = Ran::new(run.stage.program.clone(), run.stage.first_output, run.arguments.len());
        for argument in &run.arguments {
            match argument {
                RunArgument::Data(data) => ran.add_data(data),
                RunArgument::Output(number) => ran.add_made(*number),
            }
        }
        ran
    };
    Origin {
        name: name.clone(),
        runs: plan.runs.iter().map(ran).collect(),
        scheme: Some(plan.scheme.clone()),
        first_serial: serials.first(),
    }
}
