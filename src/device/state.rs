//! What a device's lock protects: the tensor table and the trace, kept in agreement.

use super::arrays::ArrayLeaves;
use super::registry;
use super::shared::Shared;
use super::table::{Table, Value};
use super::work::{self, Input, Inputs, Work};
use super::{Device, Place, TensorHandle};
use crate::device_data::DeviceData;
use crate::error;
use crate::error::{Error, Result};
use crate::ir::{Mark, NONE, NodeId, Trace};
use crate::later;
use crate::native::Array;
use crate::types::TensorType;
use std::sync::Arc;

/// Below this many nodes a trace is not worth compacting.
const COMPACT_FROM: usize = 1 << 16;

/// What something let go of under the lock. Dropped by the caller after the lock, since it may free memory.
#[derive(Default)]
pub struct Garbage {
    data: Vec<Arc<DeviceData>>,
    array: Option<Array>,
}

impl Garbage {
    /// Whether nothing was let go of.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.data.is_empty() && self.array.is_none()
    }
}

impl From<Vec<Arc<DeviceData>>> for Garbage {
    fn from(data: Vec<Arc<DeviceData>>) -> Garbage {
        Garbage { data, array: None }
    }
}

/// The environment's part of a device.
#[derive(Clone)]
pub struct Owner {
    /// What the environment's devices share.
    pub shared: Arc<Shared>,
    /// Where its tensors are.
    pub place: Place,
}

impl Owner {
    /// The number of an XLA device.
    pub fn ordinal(&self) -> usize {
        match self.place {
            Place::Xla(ordinal) => ordinal,
            Place::Cpu => unreachable!("nothing is enqueued on cpu"),
        }
    }
}

/// See the module's documentation.
pub struct DeviceState {
    table: Table,
    /// What was recorded. On cpu, what waits for placeholders, and behind it what one call is about to evaluate.
    pub trace: Trace,
    /// On cpu, what the trace's leaves are, as long as nothing waits for a placeholder.
    inputs: Vec<Input>,
    /// On cpu, up to where the trace waits for placeholders.
    pub(super) kept: Mark,
    /// How many tensors have a value that is no array of the host. On cpu: placeholders, and what waits for them.
    pub(super) recorded: usize,
    /// On cpu, the leaves of native tensors among what waits, by address.
    pub(super) arrays: ArrayLeaves,
    owner: Option<Owner>,
    is_native: bool,
    /// The environment was released: tensors can be read, and nothing else.
    closed: bool,
    /// A sync is between its collection and its commit: node ids must hold.
    pub syncing: bool,
    steps: u64,
    compact_at: usize,
}

impl DeviceState {
    pub(super) fn new(table: u32) -> DeviceState {
        DeviceState {
            table: Table::new(table),
            trace: Trace::new(),
            inputs: Vec::new(),
            kept: Mark::default(),
            recorded: 0,
            arrays: ArrayLeaves::default(),
            owner: None,
            is_native: false,
            closed: false,
            syncing: false,
            steps: 0,
            compact_at: COMPACT_FROM,
        }
    }

    /// The environment that it belongs to.
    pub fn owner(&self) -> Result<&Owner> {
        self.owner.as_ref().ok_or_else(|| error!(FailedPrecondition, "the environment of this device was released"))
    }

    /// An error if the environment was released: then nothing is recorded or stepped any more.
    #[inline]
    pub fn check_open(&self) -> Result<()> {
        if self.closed || self.owner.is_none() { Err(released()) } else { Ok(()) }
    }

    /// Whether one more operation may be recorded.
    #[inline]
    pub fn has_room(&self) -> bool {
        match &self.owner {
            Some(owner) => !self.closed && self.trace.len() < owner.shared.options.max_pending_ops(),
            None => false,
        }
    }

    /// Forgets what is dead, which does not count as pending.
    pub fn forget_dead(&mut self) {
        if !self.syncing {
            later::drop_later(self.compact());
        }
    }

    /// Number of the environment, and which of its devices this is.
    pub fn place(&self) -> Option<(u64, Place)> {
        self.owner.as_ref().map(|owner| (owner.shared.number, owner.place))
    }

    /// Whether its tensors are native.
    #[inline]
    pub fn is_native(&self) -> bool {
        self.is_native
    }

    /// A new number for a sync.
    pub fn next_step(&mut self) -> u64 {
        self.steps += 1;
        self.steps
    }

    /// Tensors made and destroyed so far.
    pub fn tensor_counts(&self) -> (u64, u64) {
        (self.table.created, self.table.destroyed)
    }

    /// Starts counting tensors anew.
    pub fn reset_tensor_counts(&mut self) {
        (self.table.created, self.table.destroyed) = (0, 0);
    }

    /// The slot of a live tensor, or an error that names the argument.
    #[inline]
    pub fn check(&self, argument: &str, handle: TensorHandle) -> Result<u32> {
        self.table.find(handle).ok_or_else(|| Device::no_such_tensor(argument, handle))
    }

    /// The value in a slot.
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

    /// The device data in a slot, whether the slot has it already or a sync in flight is filling it.
    pub fn data(&self, slot: u32) -> Option<&Arc<DeviceData>> {
        match self.value(slot) {
            Value::Pending(id) => self.trace.data(self.trace.node(*id)),
            Value::Data(data) => Some(data),
            Value::Native(_) => None,
        }
    }

    /// The node of a tensor, as an operand: its result, or the leaf of its data.
    #[inline]
    pub fn operand(&mut self, argument: &str, handle: TensorHandle) -> Result<NodeId> {
        let slot = self.check(argument, handle)?;
        Ok(match &self.table.slot(slot).value {
            Value::Pending(id) => *id,
            Value::Data(data) => self.trace.leaf(data),
            Value::Native(array) => {
                if self.recorded > 0 {
                    let array = array.clone();
                    return Ok(self.leaf_of(&array));
                }
                self.inputs.push(Input::Tensor(slot));
                self.trace.input(array.ty())
            }
        })
    }

    /// The node of a value that no tensor has.
    pub fn operand_of(&mut self, value: Value) -> NodeId {
        match value {
            Value::Pending(id) => id,
            Value::Data(data) => self.trace.leaf(&data),
            Value::Native(array) if self.recorded > 0 => self.leaf_of(&array),
            Value::Native(array) => {
                let id = self.trace.input(array.ty());
                self.inputs.push(Input::Array(array));
                id
            }
        }
    }

    /// On cpu, forgets an operation that was evaluated or given up. What is recorded next is evaluated alone, or waits.
    #[inline]
    pub fn clear_native(&mut self) -> Garbage {
        if self.trace.len() == self.kept.nodes() && self.inputs.is_empty() {
            return Garbage::default();
        }
        // The last reference to an array may be here, and its memory another library's.
        if self.inputs.iter().any(|input| matches!(input, Input::Array(_))) {
            later::drop_later(std::mem::take(&mut self.inputs));
        }
        self.inputs.clear();
        if self.kept.nodes() == 0 { self.clear_trace().into() } else { self.trace.rewind(self.kept).into() }
    }

    /// Forgets all that was recorded.
    pub(super) fn clear_trace(&mut self) -> Vec<Arc<DeviceData>> {
        self.kept = Mark::default();
        self.trace.clear()
    }

    /// On cpu, the value of a node that is one small operation: done at once, it is quicker than taking it out from under the
    /// lock. None if it is anything else.
    #[inline]
    pub fn small_work(&mut self, id: NodeId) -> Option<Result<Array>> {
        let made = work::at_once(&self.trace, Inputs::new(&self.inputs, &self.table, &self.trace), id)?;
        drop(self.clear_native());
        Some(made)
    }

    /// On cpu, what there is to do for the values of nodes.
    pub fn take_work(&mut self, ids: &[NodeId]) -> Work {
        let work = Work::of(&self.trace, Inputs::new(&self.inputs, &self.table, &self.trace), ids);
        drop(self.clear_native());
        work
    }

    /// A new tensor with the result of a node as its value.
    #[inline]
    pub fn new_tensor(&mut self, id: NodeId) -> Result<TensorHandle> {
        let handle = self.new_tensor_at(id)?;
        self.compact_if_large();
        Ok(handle)
    }

    /// The same, but the ids of other nodes hold.
    #[inline]
    pub fn new_tensor_at(&mut self, id: NodeId) -> Result<TensorHandle> {
        let value = self.value_of(id);
        self.new_tensor_of(value)
    }

    /// Keeps memory in proportion to what is alive, however long nobody syncs.
    #[inline]
    pub fn compact_if_large(&mut self) {
        if self.trace.len() >= self.compact_at && !self.syncing {
            self.compact_if_mostly_dead();
        }
    }

    #[cold]
    fn compact_if_mostly_dead(&mut self) {
        if self.trace.count_needed() > self.trace.len() / 2 {
            self.compact_at = 2 * self.trace.len();
        } else {
            later::drop_later(self.compact());
        }
    }

    /// A new tensor with this value.
    #[inline(always)]
    pub fn new_tensor_of(&mut self, value: Value) -> Result<TensorHandle> {
        let (slot, handle) = self.table.insert(value)?;
        self.link(slot);
        Ok(handle)
    }

    /// The value that a node stands for. The leaf of settled data is that data; the leaf of data that a sync is filling
    /// stays a node, since the sync may still have to turn it back into what was recorded.
    #[inline]
    fn value_of(&self, id: NodeId) -> Value {
        match self.trace.data(self.trace.node(id)) {
            Some(data) if !data.is_in_flight() => Value::Data(data.clone()),
            _ => Value::Pending(id),
        }
    }

    /// Gives a tensor another value: what an in-place operation does.
    pub fn set_value(&mut self, slot: u32, id: NodeId) -> Garbage {
        let value = self.value_of(id);
        let garbage = self.replace_value(slot, value);
        self.compact_if_large();
        garbage
    }

    /// Gives a tensor this value.
    pub fn replace_value(&mut self, slot: u32, value: Value) -> Garbage {
        self.unlink(slot);
        let old = std::mem::replace(&mut self.table.slot_mut(slot).value, value);
        self.link(slot);
        self.garbage_of(old)
    }

    /// Adds the slot to those that have its value.
    #[inline]
    fn link(&mut self, slot: u32) {
        match &self.table.slot(slot).value {
            Value::Native(_) => {}
            Value::Data(data) => {
                self.recorded += 1;
                data.tensors.add();
            }
            &Value::Pending(id) => {
                self.recorded += 1;
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

    /// Takes the slot out of those that have its value.
    #[inline]
    fn unlink(&mut self, slot: u32) {
        let old = self.table.slot(slot);
        match &old.value {
            Value::Native(_) => {}
            Value::Data(data) => {
                self.recorded -= 1;
                data.tensors.remove();
            }
            &Value::Pending(id) => {
                self.recorded -= 1;
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

    /// One reference more.
    pub fn retain(&mut self, slot: u32) -> Result<()> {
        self.table.retain(slot)
    }

    /// One reference less; the last one ends the tensor.
    #[inline]
    pub fn release(&mut self, slot: u32) -> Garbage {
        if !self.table.drop_reference(slot) {
            return Garbage::default();
        }
        self.unlink(slot);
        match self.table.free(slot) {
            // The common case of a long computation, and the one that has to be fast.
            Value::Pending(_) if self.trace.pending() > 0 => Garbage::default(),
            old => self.garbage_of(old),
        }
    }

    /// What goes with a value that a tensor let go of: its data, and the trace if that was the last thing pending.
    #[inline]
    fn garbage_of(&mut self, value: Value) -> Garbage {
        if let Value::Native(array) = value {
            // Nothing that was recorded goes with an array.
            return Garbage { data: Vec::new(), array: Some(array) };
        }
        let idle = self.trace.pending() == 0 && !self.trace.is_empty() && !self.syncing;
        let mut data = if idle { self.clear_trace() } else { Vec::new() };
        if let Value::Data(own) = value {
            data.push(own);
        }
        data.into()
    }

    /// Whether the tensor is marked as requiring gradients.
    pub fn requires_grad(&self, slot: u32) -> bool {
        self.table.slot(slot).requires_grad
    }

    /// Marks the tensor.
    pub fn set_requires_grad(&mut self, slot: u32, on: bool) {
        self.table.slot_mut(slot).requires_grad = on;
    }

    /// All tensors that have this node as their value get `data` instead.
    pub fn settle(&mut self, id: NodeId, data: &Arc<DeviceData>) {
        let mut slot = self.trace.holder(id);
        self.trace.set_holder(id, NONE);
        while slot != NONE {
            let tensor = self.table.slot_mut(slot);
            let next = tensor.next;
            tensor.value = Value::Data(data.clone());
            (tensor.previous, tensor.next) = (NONE, NONE);
            data.tensors.add();
            slot = next;
        }
    }

    /// The data that live tensors have as their values.
    pub fn live_data(&self) -> Vec<Arc<DeviceData>> {
        let mut live: Vec<Arc<DeviceData>> = self.table.values().filter_map(Value::data).cloned().collect();
        live.sort_by_key(Arc::as_ptr);
        live.dedup_by(|a, b| Arc::ptr_eq(a, b));
        live
    }

    /// Forgets what no tensor needs: all of the trace if nothing is pending.
    pub fn tidy(&mut self) -> Garbage {
        if self.trace.pending() == 0 { self.clear_trace().into() } else { self.compact() }
    }

    fn compact(&mut self) -> Garbage {
        let table = &mut self.table;
        let data = self.trace.compact(|mut slot, id| {
            while slot != NONE {
                let tensor = table.slot_mut(slot);
                tensor.value = Value::Pending(id);
                slot = tensor.next;
            }
        });
        self.compact_at = (2 * self.trace.len()).max(COMPACT_FROM);
        self.kept = self.trace.mark();
        data.into()
    }

    /// Gives the device to an environment.
    pub(super) fn open(&mut self, owner: Owner) {
        self.is_native = owner.place == Place::Cpu;
        self.owner = Some(owner);
        self.closed = false;
        self.steps = 0;
        self.reset_tensor_counts();
    }

    /// The environment was released. What it leaves behind goes with its last tensor.
    pub fn close(&mut self) -> (Option<Owner>, Garbage) {
        self.closed = true;
        self.abandon_if_unused()
    }

    /// Whether the environment is gone and nothing can use the device any more.
    #[inline]
    pub fn is_unused(&self) -> bool {
        self.closed && self.table.live() == 0 && !self.syncing && self.owner.is_some()
    }

    /// Lets the environment go, and the device back to those without one, if it is unused.
    pub fn abandon_if_unused(&mut self) -> (Option<Owner>, Garbage) {
        if !self.is_unused() {
            return (None, Garbage::default());
        }
        let garbage = self.clear_trace().into();
        registry::give_back(self.table.number());
        (self.owner.take(), garbage)
    }
}

#[cold]
fn released() -> Error {
    error!(FailedPrecondition, "the environment was released; its tensors can be read and released, and nothing else")
}

impl Device {
    /// A device for an environment.
    pub fn open(shared: &Arc<Shared>, place: Place) -> Result<&'static Device> {
        let device = registry::take()?;
        device.state().open(Owner { shared: shared.clone(), place });
        Ok(device)
    }
}
