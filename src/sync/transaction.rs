//! A sync under way: from the moment when its roots become InFlight to the moment when they have data, or what was
//! recorded is pending again. Dropped without commit, also by a panic, it undoes itself.

use super::plan::{Plan, Source};
use crate::device::{Device, DeviceState, Garbage, Owner};
use crate::device_data::{DeviceData, State};
use crate::engine::Buffer;
use crate::ir::{Node, NodeId};
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
    roots: Vec<Root>,
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
    /// Makes the plan's roots InFlight: from here on, other threads record on them as on leaves.
    pub fn start(
        device: &'static Device,
        state: &mut DeviceState,
        owner: Owner,
        kind: &str,
        plan: Plan,
    ) -> Transaction {
        let step = state.next_step();
        let name: Arc<str> = format!("{kind} {step} on xla:{}", owner.ordinal).into();
        state.syncing = true;
        let roots = plan.roots.iter().map(|&(id, output)| {
            let data = DeviceData::new(state.trace.ty(id), State::InFlight(step));
            let recorded = state.trace.replace_by_leaf(id, &data);
            Root { id, recorded, data, output }
        });
        let roots = roots.collect();
        Transaction { device, owner, name, plan, roots, ended: false }
    }

    /// The roots' results are what was made; their tensors have them from now on.
    pub fn commit(mut self, made: &[Option<Arc<dyn Buffer>>]) {
        self.ended = true;
        let mut state = self.device.state();
        for root in &self.roots {
            let buffer = made[root.output].clone().expect("a run makes all its outputs, and roots are kept");
            root.data.set_state(State::Ready(buffer));
            state.settle(root.id, &root.data);
        }
        state.syncing = false;
        let garbage = state.tidy();
        self.leave(state, garbage);
    }

    /// What was recorded is pending again. Data that the engine had consumed before it failed is gone, and says so.
    fn roll_back(&mut self) {
        self.ended = true;
        let mut state = self.device.state();
        for root in &self.roots {
            state.trace.restore(root.id, root.recorded);
            root.data.set_state(State::Abandoned);
        }
        state.syncing = false;
        self.mark_consumed();
        self.leave(state, Garbage::new());
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
    fn leave(&self, mut state: parking_lot::MutexGuard<DeviceState>, garbage: Garbage) {
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
