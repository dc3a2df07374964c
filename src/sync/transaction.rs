//! A sync under way: from the moment when its roots become InFlight to the moment when they have data, or what was
//! recorded is pending again. Dropped without commit, also by a panic, it undoes itself.

use super::plan::{Plan, Source};
use super::run::Made;
use crate::device::{Device, DeviceState, Garbage, Owner};
use crate::device_data::{DeviceData, State};
use crate::engine::Buffer;
use crate::ir::{Node, NodeId};
use crate::metrics::Counter;
use parking_lot::MutexGuard;
use std::sync::Arc;

/// See the module's documentation.
pub struct Transaction {
    device: &'static Device,
    /// The environment, kept alive.
    pub owner: Owner,
    /// What messages call it.
    pub name: Arc<str>,
    /// What it runs.
    pub plan: Plan,
    /// What it has made so far, by number.
    pub made: Made,
    roots: Vec<Root>,
    /// Operations that it computes and nothing keeps: whoever runs them again computes them twice.
    passed: Vec<NodeId>,
    recomputed: u64,
    ended: bool,
}

struct Root {
    id: NodeId,
    recorded: Node,
    data: Arc<DeviceData>,
    /// Number of the plan's output that is its result.
    output: usize,
}

impl Transaction {
    /// Makes the plan's roots InFlight: from here on, other threads record on them as on leaves. `passed` are the
    /// operations on the way that stay recorded.
    pub fn start(
        device: &'static Device,
        state: &mut DeviceState,
        owner: Owner,
        kind: &str,
        plan: Plan,
        passed: Vec<NodeId>,
    ) -> Transaction {
        let step = state.next_step();
        let name: Arc<str> = format!("{kind} {step} on {}", owner.place).into();
        state.syncing = true;
        let roots = plan.roots.iter().map(|&(id, output)| {
            let data = DeviceData::new(state.trace.ty(id), State::InFlight(step));
            let recorded = state.trace.replace_by_leaf(id, &data);
            Root { id, recorded, data, output }
        });
        let roots = roots.collect();
        let (made, recomputed) = (vec![None; plan.outputs.len()], plan.recomputed);
        Transaction { device, owner, name, plan, made, roots, passed, recomputed, ended: false }
    }

    /// The roots' results are what was made; their tensors have them from now on.
    pub fn commit(mut self) {
        self.ended = true;
        let mut state = self.device.state();
        for root in &self.roots {
            self.settle(&mut state, root);
        }
        self.passed.iter().for_each(|&id| state.trace.mark_computed(id));
        if self.recomputed > 0 {
            self.owner.shared.metrics.add(Counter::RecomputedOps, self.recomputed);
        }
        self.leave(state);
    }

    fn settle(&self, state: &mut DeviceState, root: &Root) {
        let buffer = self.made[root.output].clone().expect("a run makes all its outputs, and roots are kept");
        root.data.set_state(State::Ready(buffer));
        state.settle(root.id, &root.data);
    }

    /// What was recorded is pending again, except what an earlier run of the plan had finished: that is kept, since the
    /// data from which it was made may have been consumed for it. Data that the engine consumed although it failed is
    /// gone, and says so.
    fn roll_back(&mut self) {
        self.ended = true;
        let mut state = self.device.state();
        for root in &self.roots {
            if self.made[root.output].is_some() {
                self.settle(&mut state, root);
            } else {
                state.trace.restore(root.id, root.recorded);
                root.data.set_state(State::Abandoned);
            }
        }
        let is_root = |number: usize| self.roots.iter().any(|root| root.output == number);
        for (number, &id) in self.plan.outputs.iter().enumerate() {
            if let Some(buffer) = &self.made[number]
                && !is_root(number)
            {
                state.trace.replace_by_leaf(id, &self.kept(buffer));
            }
        }
        self.mark_consumed();
        self.leave(state);
    }

    /// What an earlier run made, unless the one that failed consumed it.
    fn kept(&self, buffer: &Arc<dyn Buffer>) -> Arc<DeviceData> {
        if buffer.is_deleted() {
            return DeviceData::new(buffer.tensor_type().clone(), State::Donated(self.name.clone()));
        }
        DeviceData::ready(buffer.clone())
    }

    /// Data whose buffer a run consumed is Donated. After a commit nobody could see it.
    fn mark_consumed(&self) {
        for run in &self.plan.runs {
            for &donor in &run.donors {
                if let Source::Data(data) = &run.arguments[donor]
                    && data.buffer().is_ok_and(|buffer| buffer.is_deleted())
                {
                    data.set_state(State::Donated(self.name.clone()));
                }
            }
        }
    }

    /// Lets the lock go before what is no longer needed is freed.
    fn leave(&self, mut state: MutexGuard<DeviceState>) {
        state.syncing = false;
        let garbage: Garbage = state.tidy();
        let unused = state.abandon_if_unused();
        drop(state);
        drop((garbage, unused));
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if !self.ended {
            self.roll_back();
        }
    }
}
