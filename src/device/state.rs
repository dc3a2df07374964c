//! State protected by a device's lock: the tensor table and the trace, kept consistent.

use super::evaluation::{ArrayLeaves, Evaluation};
use super::known::KnownCalls;
use super::owner::Owner;
use super::pending_calls::Effect;
use super::registry;
use super::repeats::{Cut, Cuts, FEWEST};
use super::scopes;
use super::shared::Shared;
use super::table::{Table, Value};
use super::{Device, PendingLimitPolicy, Place, TensorHandle};
use crate::device_data::{self, DeviceData, Spares};
use base::error;
use base::error::{Error, Result};
use base::types::TensorType;
use ir::{GradientMemory, LeafData, NONE, NodeId, Op, Planner, ShapeId, Trace};
use mesh::Mesh;
use std::sync::Arc;

/// Number of nodes below which a trace is not compacted.
pub(super) const COMPACT_FROM: usize = 1 << 16;

/// Values released under the lock. The caller drops them after unlocking, because that may free memory.
#[derive(Default)]
pub struct DeferredDrop {
    /// Data to which the trace referred, if there is any.
    pub(super) leaves: Option<Vec<Arc<dyn LeafData>>>,
    /// Value of a tensor.
    pub(super) value: Option<Value>,
}

impl DeferredDrop {
    /// Whether there is nothing to drop.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.leaves.is_none() && self.value.is_none()
    }
}

impl From<Vec<Arc<dyn LeafData>>> for DeferredDrop {
    fn from(leaves: Vec<Arc<dyn LeafData>>) -> DeferredDrop {
        DeferredDrop { leaves: Some(leaves).filter(|leaves| !leaves.is_empty()), value: None }
    }
}

/// Tensor table and trace of a device.
pub struct DeviceState {
    pub(super) table: Table,
    /// Recorded operations. On an eager device: operations that depend on placeholders, followed by the operations of
    /// the current call.
    pub trace: Trace,
    /// Gradients that were recorded at the end of earlier traces.
    pub gradients: Box<GradientMemory>,
    pub(super) evaluation: Evaluation,
    /// Data of arrays on which operations that wait for a placeholder depend, on an eager device.
    pub(super) arrays: ArrayLeaves,
    /// Operations on small arrays that calls recorded, on an eager device.
    pub(super) known: KnownCalls,
    /// Number of tensors whose value is not an array in host memory. On an eager device: placeholders and tensors that
    /// depend on them.
    pub(super) not_native: usize,
    /// Calls of kernels with effects that may not have been made yet, in recording order.
    pub(super) effects: Vec<Effect>,
    /// Empty objects of device data, for the results of the next sync.
    pub spares: Spares,
    owner: Option<Owner>,
    /// Set after the environment was released. Tensors can then only be read and released.
    closed: bool,
    /// Set while a sync is between its collection and its commit: node ids must remain valid.
    pub syncing: bool,
    steps: u64,
    /// Number of operations up to which more than `max_pending_ops` may be pending: a step has computed the others.
    pub granted: usize,
    /// Number of nodes up to which recording needs no decision about a step, if it is above `free_ops` of the options.
    pub(super) decided: usize,
    /// The places where loops that never step were cut.
    pub(super) cuts: Cuts,
    /// Number of operations that the last read left pending, although they could be computed.
    pub left_by_read: usize,
    /// Whether a computation was called since the last step, and something is pending since then.
    pub has_calls: bool,
    /// Number of nodes from which the trace is compacted, if most of them are dead.
    pub(super) compact_at: usize,
}

impl DeviceState {
    pub(super) fn new(table: u32) -> DeviceState {
        DeviceState {
            table: Table::new(table),
            trace: Trace::new(),
            gradients: Box::default(),
            evaluation: Evaluation::Lazy,
            arrays: ArrayLeaves::default(),
            known: KnownCalls::default(),
            not_native: 0,
            effects: Vec::new(),
            spares: Spares::default(),
            owner: None,
            closed: false,
            syncing: false,
            steps: 0,
            granted: 0,
            decided: 0,
            cuts: Cuts::default(),
            left_by_read: 0,
            has_calls: false,
            compact_at: COMPACT_FROM,
        }
    }

    /// Environment to which the device belongs.
    pub fn owner(&self) -> Result<&Owner> {
        self.owner.as_ref().ok_or_else(|| error!(FailedPrecondition, "the environment of this device was released"))
    }

    /// Returns an error if the environment was released: nothing can be recorded or stepped any more.
    #[inline]
    pub fn check_open(&self) -> Result<()> {
        if self.closed || self.owner.is_none() { Err(released()) } else { Ok(()) }
    }

    /// Whether one more operation may be recorded without a decision, and there is memory for it. If not, see
    /// [`DeviceState::is_full`] and [`DeviceState::is_cut_here`].
    #[inline]
    pub fn has_room(&self) -> bool {
        match &self.owner {
            Some(owner) => {
                let most = owner.shared.options.free_ops().max(self.decided);
                !self.closed && self.trace.len() < most && self.trace.has_room()
            }
            None => false,
        }
    }

    /// Whether `max_pending_ops` operations are pending.
    pub fn is_full(&self) -> bool {
        self.trace.len() >= self.most_pending()
    }

    /// Whether the recording is a loop that is to be cut here. False while calls of computations are pending: they may
    /// repeat operations inside, and the next call steps them.
    pub fn is_cut_here(&self) -> bool {
        self.cuts_loops() && self.cuts.is_at_end_of(&self.trace, self.has_calls)
    }

    /// Decides that the operations up to the next possible cut may be recorded, but not many more: the options may
    /// change. The device is not full, or this thread traces.
    pub fn decide(&mut self) {
        if self.cuts_loops() {
            let len = self.trace.len();
            self.decided = self.cuts.next_look(len).min(len + FEWEST).min(self.most_pending());
        } else {
            self.decided = self.granted;
        }
    }

    /// Whether the policy is [`PendingLimitPolicy::Loop`].
    fn cuts_loops(&self) -> bool {
        self.owner.as_ref().is_some_and(|owner| owner.shared.options.pending_limit_policy() == PendingLimitPolicy::Loop)
    }

    /// Forgets where a loop was cut: the caller steps or reads.
    pub fn forget_cut(&mut self) {
        self.cuts.forget_last();
        self.decided = 0;
    }

    /// Remembers where the step that was just made cut a loop, and whether it compiled a program, or failed.
    pub fn set_cut(&mut self, cut: Option<Cut>, has_compiled: bool) {
        self.cuts.add(cut, self.trace.len(), has_compiled);
        self.decided = 0;
    }

    fn most_pending(&self) -> usize {
        self.owner.as_ref().map_or(0, |owner| owner.shared.options.max_pending_ops().max(self.granted))
    }

    /// Number of the environment, and location within it.
    pub fn place(&self) -> Option<(u64, Place)> {
        self.owner.as_ref().map(|owner| (owner.shared.number, owner.place))
    }

    /// Mesh of the device, or an error that names the argument.
    pub fn mesh(&self, argument: &str) -> Result<&Arc<Mesh>> {
        self.owner()?.mesh(argument)
    }

    /// Whether recorded operations wait for a sync.
    #[inline]
    pub(super) fn is_lazy(&self) -> bool {
        matches!(self.evaluation, Evaluation::Lazy)
    }

    /// Whether the device evaluates eagerly (cpu).
    #[inline]
    pub fn is_native(&self) -> bool {
        matches!(self.evaluation, Evaluation::Eager)
    }

    /// Returns a new number for a sync.
    pub fn next_step(&mut self) -> u64 {
        self.steps += 1;
        self.steps
    }

    /// Number of tensors created and destroyed so far.
    pub fn tensor_counts(&self) -> (u64, u64) {
        (self.table.created, self.table.destroyed)
    }

    /// Resets the counts of created and destroyed tensors.
    pub fn reset_tensor_counts(&mut self) {
        (self.table.created, self.table.destroyed) = (0, 0);
    }

    /// Returns the slot of a live tensor, or an error that names the argument.
    #[inline]
    pub fn check(&self, argument: &str, handle: TensorHandle) -> Result<u32> {
        self.table.find(handle).ok_or_else(|| Device::no_such_tensor(argument, handle))
    }

    /// Value in a slot.
    pub fn value(&self, slot: u32) -> &Value {
        &self.table.slot(slot).value
    }

    /// Dtype and shape of the value in a slot.
    pub fn ty(&self, slot: u32) -> TensorType {
        match self.value(slot) {
            Value::Pending(id) => self.trace.ty(*id),
            Value::Data(data) => data.ty().clone(),
            Value::Native(array) => array.ty().clone(),
        }
    }

    /// Device data of the value in a slot, including data that a sync in flight is computing.
    pub fn data(&self, slot: u32) -> Option<Arc<DeviceData>> {
        match self.value(slot) {
            Value::Pending(id) => device_data::shared_of_node(&self.trace, self.trace.node(*id)),
            Value::Data(data) => Some(data.clone()),
            Value::Native(_) => None,
        }
    }

    /// Returns the node of a tensor that is used as an operand: the node of its result, or the leaf of its data.
    #[inline(always)]
    pub fn operand(&mut self, argument: &str, handle: TensorHandle) -> Result<NodeId> {
        let index = self.check(argument, handle)?;
        if scopes::number() != 0 {
            return self.operand_in_scope(index);
        }
        let slot = self.table.slot(index);
        Ok(match &slot.value {
            Value::Pending(id) => *id,
            Value::Data(data) => self.trace.leaf(data),
            Value::Native(array) if self.not_native > 0 => {
                let array = array.clone();
                self.leaf_of(&array)
            }
            Value::Native(array) => self.trace.input(array.ty().dtype, slot.shape, index),
        })
    }

    /// Returns the node of a value that belongs to no tensor.
    pub fn operand_of(&mut self, value: Value) -> NodeId {
        match value {
            Value::Pending(id) => id,
            Value::Data(data) => self.trace.leaf(&data),
            Value::Native(array) => self.leaf_of(&array),
        }
    }

    /// Returns a new tensor with this value. Ids of nodes remain valid.
    pub fn new_tensor_of(&mut self, value: Value) -> Result<TensorHandle> {
        let shape = self.shape_of(&value);
        self.new_tensor(value, shape)
    }

    /// Like [`DeviceState::new_tensor_of`], for a tensor that is marked as requiring gradients, or not.
    pub fn new_tensor_marked(&mut self, value: Value, requires_grad: bool) -> Result<TensorHandle> {
        let shape = self.shape_of(&value);
        let (slot, handle) = self.table.insert(shape, || value)?;
        self.link(slot);
        self.set_requires_grad(slot, requires_grad);
        Ok(handle)
    }

    /// Creates a tensor with the value and the `requires_grad` mark of the tensor in a slot.
    pub fn snapshot(&mut self, slot: u32) -> Result<TensorHandle> {
        let value = self.value_to_share(slot)?;
        self.new_tensor_marked(value, self.requires_grad(slot))
    }

    /// Returns the value of the tensor in a slot, for another tensor. If this thread traces, and the tensor is from before,
    /// returns the placeholder that stands for the value.
    pub fn value_to_share(&mut self, slot: u32) -> Result<Value> {
        if scopes::number() == 0 {
            return Ok(self.value(slot).clone());
        }
        let id = self.operand_in_scope(slot)?;
        Ok(self.value_in_scope(id))
    }

    /// Like [`DeviceState::new_tensor_of`], for a value with the shape of a node.
    #[inline(always)]
    pub fn new_tensor_like(&mut self, id: NodeId, value: Value) -> Result<TensorHandle> {
        let shape = self.trace.node(id).shape;
        self.new_tensor(value, shape)
    }

    /// Like [`DeviceState::new_tensor_of`], for a value of this shape.
    #[inline(always)]
    pub fn new_tensor(&mut self, value: Value, shape: ShapeId) -> Result<TensorHandle> {
        let (slot, handle) = self.table.insert(shape, || value)?;
        self.link(slot);
        Ok(handle)
    }

    /// Shape of a value that is an array.
    fn shape_of(&mut self, value: &Value) -> ShapeId {
        let Value::Native(array) = value else { return ShapeId::default() };
        self.forget_shapes();
        self.trace.intern(&array.ty().dims)
    }

    /// Value that a node represents. The leaf of available data becomes that data; the leaf of data in flight remains a
    /// node, because a failed sync restores the recorded operation.
    #[inline(always)]
    pub(super) fn value_of(&self, id: NodeId) -> Value {
        if self.trace.node(id).op == Op::Leaf { self.value_of_leaf(id) } else { Value::Pending(id) }
    }

    fn value_of_leaf(&self, id: NodeId) -> Value {
        match device_data::shared_of_node(&self.trace, self.trace.node(id)) {
            Some(data) if !data.is_in_flight() => Value::Data(data),
            _ => Value::Pending(id),
        }
    }

    /// Replaces a tensor's value by one of the same dtype and shape.
    pub fn replace_value(&mut self, slot: u32, value: Value) -> DeferredDrop {
        let shape = self.shape_of(&value);
        self.replace(slot, value, shape)
    }

    /// Like [`DeviceState::replace_value`], for a value of this shape.
    #[inline]
    pub fn replace(&mut self, slot: u32, value: Value, shape: ShapeId) -> DeferredDrop {
        self.unlink(slot);
        let tensor = self.table.slot_mut(slot);
        tensor.shape = shape;
        let old = std::mem::replace(&mut tensor.value, value);
        self.link(slot);
        self.garbage_of(old)
    }

    /// Adds the slot to the holders of its value.
    #[inline(always)]
    fn link(&mut self, slot: u32) {
        match &self.table.slot(slot).value {
            Value::Native(_) => {}
            Value::Data(data) => {
                self.not_native += 1;
                data.tensors.add();
            }
            &Value::Pending(id) => {
                self.not_native += 1;
                let next = self.trace.holder(id);
                let new = self.table.slot_mut(slot);
                new.previous = NONE;
                new.next = next;
                if next != NONE {
                    self.table.slot_mut(next).previous = slot;
                }
                self.trace.set_holder(id, slot);
            }
        }
    }

    /// Removes the slot from the holders of its value.
    // `always`, here and in `release`: else lxla_tensor_release_many takes a quarter more instructions for each handle.
    #[inline(always)]
    fn unlink(&mut self, slot: u32) {
        let old = self.table.slot(slot);
        match &old.value {
            Value::Native(_) => {}
            Value::Data(data) => {
                self.not_native -= 1;
                data.tensors.remove();
            }
            &Value::Pending(id) => {
                self.not_native -= 1;
                let (previous, next) = (old.previous, old.next);
                if next != NONE {
                    self.table.slot_mut(next).previous = previous;
                }
                if previous != NONE {
                    self.table.slot_mut(previous).next = next;
                } else {
                    self.trace.set_holder(id, next);
                }
            }
        }
    }

    /// Adds a reference.
    pub fn retain(&mut self, slot: u32) -> Result<()> {
        self.table.retain(slot)
    }

    /// Removes a reference; the last one destroys the tensor.
    #[inline(always)]
    pub fn release(&mut self, slot: u32) -> DeferredDrop {
        if !self.table.drop_reference(slot) {
            return DeferredDrop::default();
        }
        self.unlink(slot);
        match self.table.free(slot) {
            // The common case in long computations, and therefore the fast path.
            Value::Pending(_) if self.trace.pending() > 0 => DeferredDrop::default(),
            old => self.garbage_of(old),
        }
    }

    /// Whether the tensor is marked as requiring gradients.
    pub fn requires_grad(&self, slot: u32) -> bool {
        self.table.slot(slot).requires_grad
    }

    /// Marks the tensor as requiring gradients, or clears the mark.
    pub fn set_requires_grad(&mut self, slot: u32, on: bool) {
        self.table.slot_mut(slot).requires_grad = on;
    }

    /// Sets `data` as the value of all tensors whose value is this node.
    pub fn materialize(&mut self, id: NodeId, data: Arc<DeviceData>) {
        let mut slot = self.trace.holder(id);
        self.trace.set_holder(id, NONE);
        while slot != NONE {
            data.tensors.add();
            let tensor = self.table.slot_mut(slot);
            slot = tensor.next;
            (tensor.previous, tensor.next) = (NONE, NONE);
            if slot == NONE {
                tensor.value = Value::Data(data);
                return;
            }
            tensor.value = Value::Data(data.clone());
        }
    }

    /// Assigns the device to an environment.
    pub(super) fn open(&mut self, owner: Owner) {
        self.evaluation = Evaluation::at(owner.place);
        self.owner = Some(owner);
        self.closed = false;
        self.steps = 0;
        self.left_by_read = 0;
        self.has_calls = false;
        self.cuts = Cuts::default();
        self.decided = 0;
        self.reset_tensor_counts();
    }

    /// Marks the environment as released. Its state is freed with the device's last tensor.
    pub fn close(&mut self) -> (Option<Owner>, DeferredDrop) {
        self.closed = true;
        *self.gradients = GradientMemory::default();
        self.abandon_if_unused()
    }

    /// Whether the environment was released and no tensor of the device is left.
    #[inline]
    pub fn is_unused(&self) -> bool {
        self.closed && self.table.live() == 0 && !self.syncing && self.owner.is_some()
    }

    /// If the device is unused, drops its environment and returns it to the registry.
    pub fn abandon_if_unused(&mut self) -> (Option<Owner>, DeferredDrop) {
        if !self.is_unused() {
            return (None, DeferredDrop::default());
        }
        self.spares = Spares::default();
        let garbage = self.clear_trace().into();
        // A trace keeps its memory for the next step; that of another environment may be much smaller.
        self.trace.release_memory();
        self.known.clear();
        self.compact_at = COMPACT_FROM;
        registry::give_back(self.table.number());
        (self.owner.take(), garbage)
    }
}

#[cold]
fn released() -> Error {
    error!(
        FailedPrecondition,
        "the mesh or environment was released; its tensors can be read and released, and nothing else"
    )
}

impl Device {
    /// Opens a device, or a mesh, for an environment.
    pub fn open(shared: &Arc<Shared>, place: Place, mesh: Option<Arc<Mesh>>) -> Result<&'static Device> {
        let device = registry::take()?;
        // Schemes of the syncs of an earlier environment are not needed any more.
        *device.order() = Planner::default();
        device.state().open(Owner { shared: shared.clone(), place, mesh });
        Ok(device)
    }

    /// Environment to which the device belongs, or an error if it was released.
    pub fn open_owner(&self) -> Result<Owner> {
        let state = self.state();
        state.check_open()?;
        Ok(state.owner()?.clone())
    }
}
