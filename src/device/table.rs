//! Tensor table: reference-counted slots behind generational handles.

use super::handle::{LAST_GENERATION, SLOTS, TensorHandle};
use super::scopes;
use crate::device_data::DeviceData;
use base::allocation::probe;
use base::error;
use base::error::Result;
use ir::{NONE, NodeId, ShapeId};
use native::Array;
use std::sync::Arc;

/// Value of a tensor. Immutable and shared; an in-place operation replaces it.
#[derive(Clone)]
pub enum Value {
    /// Result of a node of the trace: recorded, or in flight.
    Pending(NodeId),
    /// Device data.
    Data(Arc<DeviceData>),
    /// Array in host memory.
    Native(Array),
}

impl Value {
    /// Whether both are one value: the same node, data or array.
    pub fn is(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Pending(a), Value::Pending(b)) => a == b,
            (Value::Data(a), Value::Data(b)) => Arc::ptr_eq(a, b),
            (Value::Native(a), Value::Native(b)) => a.address() == b.address() && a.ty() == b.ty(),
            _ => false,
        }
    }

    /// Device data of the value, if it has any.
    pub fn data(&self) -> Option<&Arc<DeviceData>> {
        match self {
            Value::Data(data) => Some(data),
            Value::Pending(_) | Value::Native(_) => None,
        }
    }
}

/// One tensor, or a free slot (with 0 references).
pub(super) struct Slot {
    generation: u32,
    references: u32,
    pub value: Value,
    /// Shape of the value in the trace, if the value is an array.
    pub shape: ShapeId,
    /// Previous tensor with the same node as its value.
    pub previous: u32,
    /// Next tensor with the same node as its value; in a free slot, the next free slot.
    pub next: u32,
    pub requires_grad: bool,
    /// Number of the scope of tracing in which the tensor was made; 0 if in none.
    pub scope: u16,
}

/// Number of new slots after which it is checked again that there is memory for the values of so many tensors.
const CHECKED: usize = 1 << 12;

/// Bytes of the values of [`CHECKED`] tensors: those of large arrays are allocated fallibly.
const VALUES: usize = CHECKED * 2048;

/// Tensors of one device.
pub(super) struct Table {
    number: u32,
    slots: Vec<Slot>,
    first_free: u32,
    live: usize,
    pub created: u64,
    pub destroyed: u64,
}

impl Table {
    pub fn new(number: u32) -> Table {
        Table { number, slots: Vec::new(), first_free: NONE, live: 0, created: 0, destroyed: 0 }
    }

    pub fn number(&self) -> u32 {
        self.number
    }

    /// Number of live tensors.
    pub fn live(&self) -> usize {
        self.live
    }

    /// Returns the slot of a live tensor.
    #[inline]
    pub fn find(&self, handle: TensorHandle) -> Option<u32> {
        let slot = self.slots.get(handle.slot() as usize)?;
        let fits = handle.table() == self.number && slot.generation == handle.generation() && slot.references > 0;
        fits.then_some(handle.slot())
    }

    /// Returns the handle of a live tensor.
    pub fn handle(&self, index: u32) -> TensorHandle {
        TensorHandle::new(self.slot(index).generation, self.number, index)
    }

    #[inline]
    pub fn slot(&self, index: u32) -> &Slot {
        &self.slots[index as usize]
    }

    #[inline]
    pub fn slot_mut(&mut self, index: u32) -> &mut Slot {
        &mut self.slots[index as usize]
    }

    /// Array in a slot. None if the slot has another value, or for [`NONE`].
    #[inline]
    pub fn array(&self, index: u32) -> Option<&Array> {
        match &self.slots.get(index as usize)?.value {
            Value::Native(array) => Some(array),
            Value::Pending(_) | Value::Data(_) => None,
        }
    }

    /// Shapes of all arrays.
    pub fn shapes(&mut self) -> impl Iterator<Item = &mut ShapeId> {
        self.slots.iter_mut().filter(|slot| matches!(slot.value, Value::Native(_))).map(|slot| &mut slot.shape)
    }

    /// Values of all live tensors.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.slots.iter().filter(|slot| slot.references > 0).map(|slot| &slot.value)
    }

    /// Inserts a new tensor with one reference. The caller links its value.
    // Always inlined, and `value` is a function, so that the value is constructed in its slot instead of being copied
    // through the stack, which would cost a store-forwarding stall.
    #[inline(always)]
    pub fn insert(&mut self, shape: ShapeId, value: impl FnOnce() -> Value) -> Result<(u32, TensorHandle)> {
        let index = match self.first_free {
            NONE => self.grow()?,
            index => index,
        };
        let number = self.number;
        let slot = &mut self.slots[index as usize];
        self.first_free = slot.next;
        slot.generation += 1;
        slot.references = 1;
        slot.value = value();
        slot.shape = shape;
        slot.previous = NONE;
        slot.next = NONE;
        slot.requires_grad = false;
        slot.scope = scopes::number();
        let handle = TensorHandle::new(slot.generation, number, index);
        self.live += 1;
        self.created += 1;
        Ok((index, handle))
    }

    #[cold]
    fn grow(&mut self) -> Result<u32> {
        let index = self.slots.len();
        if index >= SLOTS {
            return Err(error!(ResourceExhausted, "{SLOTS} tensors are alive on this device; release some"));
        }
        let is_checked = index.is_multiple_of(CHECKED);
        if self.slots.try_reserve(1).is_err() || (is_checked && probe(VALUES, "values of tensors").is_err()) {
            return Err(error!(ResourceExhausted, "no host memory for more than {index} tensors; release some"));
        }
        self.slots.push(Slot {
            generation: 0,
            references: 0,
            value: Value::Pending(NodeId(NONE)),
            shape: ShapeId::default(),
            previous: NONE,
            next: NONE,
            requires_grad: false,
            scope: 0,
        });
        Ok(index as u32)
    }

    /// Adds a reference.
    pub fn retain(&mut self, index: u32) -> Result<()> {
        let references = &mut self.slots[index as usize].references;
        *references = references
            .checked_add(1)
            .ok_or_else(|| error!(ResourceExhausted, "tensor: it has 2^32 - 1 references already"))?;
        Ok(())
    }

    /// Removes a reference. Returns whether it was the last one; the caller then unlinks the value and calls
    /// [`Table::free`].
    #[inline]
    pub fn drop_reference(&mut self, index: u32) -> bool {
        let slot = &mut self.slots[index as usize];
        slot.references -= 1;
        slot.references == 0
    }

    /// Frees the slot and returns its value. A slot that has used up its generations is not reused.
    #[inline]
    pub fn free(&mut self, index: u32) -> Value {
        let slot = &mut self.slots[index as usize];
        let value = std::mem::replace(&mut slot.value, Value::Pending(NodeId(NONE)));
        if slot.generation < LAST_GENERATION {
            slot.next = self.first_free;
            self.first_free = index;
        }
        self.live -= 1;
        self.destroyed += 1;
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_and_foreign_handles_are_not_found() {
        let mut table = Table::new(3);
        let (index, handle) = table.insert(ShapeId::default(), || Value::Pending(NodeId(0))).unwrap();
        assert_eq!(table.find(handle), Some(index));
        assert_eq!(Table::new(3).find(handle), None);
        assert_eq!(Table::new(4).find(handle), None);
        table.retain(index).unwrap();
        assert!(!table.drop_reference(index));
        assert!(table.drop_reference(index));
        table.free(index);
        assert_eq!(table.find(handle), None);
        let (again, newer) = table.insert(ShapeId::default(), || Value::Pending(NodeId(0))).unwrap();
        assert_eq!(again, index);
        assert_ne!(newer, handle);
        assert_eq!((table.find(handle), table.find(newer)), (None, Some(index)));
        assert_eq!((table.live(), table.created, table.destroyed), (1, 2, 1));
    }

    #[test]
    fn a_slot_without_generations_left_is_retired() {
        let mut table = Table::new(0);
        let (index, _) = table.insert(ShapeId::default(), || Value::Pending(NodeId(0))).unwrap();
        table.slot_mut(index).generation = LAST_GENERATION;
        table.drop_reference(index);
        table.free(index);
        let (next, _) = table.insert(ShapeId::default(), || Value::Pending(NodeId(0))).unwrap();
        assert_ne!(next, index);
    }
}
