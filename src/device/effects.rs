//! Calls of kernels with effects that were recorded and not made yet. The last result of such a call is a tensor of the
//! device's own, so that the next step makes the call; it is released when it has a value.
//!
//! A call that depends on a placeholder is not made by a step. It belongs to every computation that is traced over the
//! placeholder, until nothing holds the placeholder any more. Of several placeholders, those of the first computation
//! count: a call in the body of a loop may depend on values of the computation around the loop. A call on collectives
//! alone (the index of a device) belongs to a computation over a placeholder that was held when it was recorded.

use super::pending_calls::{Effect, Parameters, is_among};
use super::registry;
use super::scopes;
use super::state::{DeferredDrop, DeviceState};
use super::table::Value;
use super::{Device, TensorHandle, release};
use crate::device_data::{self, DeviceData};
use ir::{NodeId, Op};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A call that belongs to a computation.
pub struct CallOver {
    /// Last result of the call.
    pub done: TensorHandle,
    /// Node of the call.
    pub node: NodeId,
    /// Whether the call keeps the order of recording.
    pub is_ordered: bool,
}

impl DeviceState {
    /// Node of the last result of a call, unless the call was made.
    fn pending_effect(&self, handle: TensorHandle) -> Option<NodeId> {
        match self.value(self.check("", handle).ok()?) {
            Value::Pending(id) if self.trace.node(*id).op != Op::Leaf => Some(*id),
            Value::Pending(_) | Value::Native(_) | Value::Data(_) => None,
        }
    }

    /// Last result of the last ordered call that steps make and have not made.
    pub fn last_effect(&self) -> Option<NodeId> {
        if scopes::number() != 0 {
            // The end of the trace orders its calls.
            return None;
        }
        let ordered = self.effects.iter().rev().filter(|effect| effect.is_ordered && effect.is_of_steps());
        { ordered }.find_map(|effect| self.pending_effect(effect.done))
    }

    /// The calls that steps make, and have not made: the node of each, and that of its last result.
    pub fn effects_of_steps(&self) -> Vec<(NodeId, NodeId)> {
        let of_steps = self.effects.iter().filter(|effect| effect.is_of_steps());
        let pending = of_steps.filter_map(|effect| self.pending_effect(effect.done));
        pending.filter_map(|done| Some((self.trace.effect_before(done)?, done))).collect()
    }

    /// Parameters of computations on which nodes depend. Visits all nodes on which they depend, if there may be any.
    pub fn parameters_of(&self, nodes: &[NodeId]) -> Parameters {
        let mut found = Parameters::default();
        let is_placeholder = |leaf| device_data::of_leaf(leaf).is_some_and(DeviceData::is_placeholder);
        if !self.trace.has_collectives() && !self.trace.leaves().iter().any(is_placeholder) {
            return found;
        }
        self.trace.search(nodes, |_, node| {
            let data = device_data::shared_of_node(&self.trace, node);
            let is_operation = data.is_none();
            found.has_collective |= is_operation && self.trace.is_collective(node);
            found.placeholders.extend(data.filter(|data| data.is_placeholder()));
            ControlFlow::Continue(is_operation)
        });
        found
    }

    /// Calls that belong to a computation over `parameters`, or of this scope, in recording order.
    pub fn effects_over(&self, parameters: &[Arc<DeviceData>], scope: u16) -> Vec<CallOver> {
        let call = |effect: &Effect| {
            let Effect { done, is_ordered, .. } = *effect;
            Some(CallOver { done, node: self.pending_effect(done)?, is_ordered })
        };
        let belongs = |effect: &&Effect| effect.is_left_in(scope) || effect.is_over(parameters);
        self.effects.iter().filter(belongs).filter_map(call).collect()
    }

    /// Forgets the calls that depend on a placeholder that nothing holds any more.
    #[cold]
    pub(super) fn abandon_effects(&mut self) -> Vec<DeferredDrop> {
        let abandoned: Vec<Effect> = self.effects.extract_if(.., |effect| effect.is_abandoned()).collect();
        let slots: Vec<u32> = abandoned.iter().filter_map(|effect| self.check("", effect.done).ok()).collect();
        slots.into_iter().map(|slot| self.release(slot)).collect()
    }
}

impl DeferredDrop {
    /// Whether this is a placeholder that nothing holds any more.
    #[inline]
    pub(super) fn is_placeholder(&self) -> bool {
        matches!(&self.value, Some(Value::Data(data)) if data.is_placeholder() && data.tensors.get() == 0)
    }
}

impl Device {
    /// Keeps the last result of a call until the call is made, or cannot be made any more.
    pub fn keep_effect(&'static self, done: TensorHandle, is_ordered: bool, parameters: Parameters) {
        let mut state = self.state();
        let is_on_collectives = parameters.has_collective && parameters.placeholders.is_empty();
        let mut around = if is_on_collectives { state.live_data() } else { Vec::new() };
        around.retain(|data| data.is_placeholder());
        let scope = scopes::number();
        if scope != 0
            && let Some(call) = state.pending_effect(done).and_then(|done| state.trace.effect_before(done))
        {
            state.trace.mark_traced(call);
        }
        state.effects.push(Effect { done, is_ordered, parameters, scope, around, traced: Vec::new() });
        drop(state);
        // On cpu, the call has been made, unless it waits for a placeholder.
        self.release_effects(false);
    }

    /// Says that a computation over `parameters` makes these calls. Other computations over the same ones make them,
    /// too.
    pub fn effects_traced(&'static self, calls: &[TensorHandle], parameters: &[Arc<DeviceData>]) {
        let mut state = self.state();
        let first = |effect: &&mut Effect| calls.contains(&effect.done) && effect.traced.is_empty();
        for effect in state.effects.iter_mut().filter(first) {
            let of_any = effect.candidates().is_empty();
            let own = |data: &&Arc<DeviceData>| of_any || is_among(data, effect.candidates());
            let traced = parameters.iter().filter(own).cloned().collect();
            effect.traced = traced;
        }
        // No other computation can be found to have a call that a computation without parameters made.
        let is_lost = |effect: &mut Effect| calls.contains(&effect.done) && effect.traced.is_empty();
        let lost: Vec<Effect> = state.effects.extract_if(.., is_lost).collect();
        drop(state);
        lost.iter().for_each(|effect| drop(release(effect.done)));
    }

    /// Forgets the calls that were recorded in a scope, which has ended, on any device.
    pub fn forget_effects_in(scope: u16) {
        for device in registry::all() {
            let of_scope = |effect: &mut Effect| effect.scope == scope;
            let ended: Vec<Effect> = device.state().effects.extract_if(.., of_scope).collect();
            ended.iter().for_each(|effect| drop(release(effect.done)));
        }
    }

    /// Releases the last results of the calls that were made or cannot be made any more; with `all`, those of the
    /// others, too, which are then never made.
    pub fn release_effects(&'static self, all: bool) {
        let mut state = self.state();
        if state.effects.is_empty() {
            return;
        }
        let effects = std::mem::take(&mut state.effects);
        let is_waiting =
            |effect: &Effect| !all && !effect.is_abandoned() && state.pending_effect(effect.done).is_some();
        let (waiting, over): (Vec<Effect>, Vec<Effect>) = effects.into_iter().partition(is_waiting);
        state.effects = waiting;
        drop(state);
        over.iter().for_each(|effect| drop(release(effect.done)));
    }
}
