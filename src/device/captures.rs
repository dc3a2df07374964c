//! Tensors as operands while this thread traces by a scope: those from before are captured.

use super::TensorHandle;
use super::lifetime::Handles;
use super::scopes::{self, Captured};
use super::state::DeviceState;
use super::table::Value;
use crate::device_data::{self, DeviceData, State};
use base::call;
use base::error::Result;
use ir::NodeId;
use std::ops::ControlFlow;
use std::sync::Arc;

impl DeviceState {
    /// Returns the node of a tensor that is used as an operand while this thread traces: the node of its stand-in for a
    /// tensor from before.
    #[cold]
    pub(super) fn operand_in_scope(&mut self, index: u32) -> Result<NodeId> {
        let slot = self.table.slot(index);
        let is_own = slot.scope == scopes::number();
        match slot.value.clone() {
            // A placeholder has no value that could change, or be computed.
            Value::Data(data) if is_own || data.is_placeholder() => return Ok(self.trace.leaf(&data)),
            Value::Pending(id) if is_own => return Ok(id),
            Value::Native(array) if is_own => return Ok(self.leaf_of(&array)),
            // A thread of the function's own has made it of values of the trace.
            Value::Pending(id) if self.is_made_of_placeholders(index, id) => return Ok(id),
            _ => {}
        }
        let tensor = self.table.handle(index);
        let is_same = |captured| self.table.find(captured).is_some_and(|slot| self.value(slot).is(self.value(index)));
        let known =
            scopes::with_innermost(|scope| scope.stand_in_for(tensor).or_else(|| scope.stand_in_like(tensor, is_same)));
        let data = match known {
            Some(data) => data,
            None => self.capture(index, tensor)?,
        };
        Ok(self.trace.leaf(&data))
    }

    /// Whether a tensor that was made in no scope depends on a placeholder.
    fn is_made_of_placeholders(&self, index: u32, id: NodeId) -> bool {
        let is_placeholder = |data: Option<&DeviceData>| data.is_some_and(DeviceData::is_placeholder);
        self.table.slot(index).scope == 0
            && self.trace.search(&[id], |_, node| match is_placeholder(device_data::of_node(&self.trace, node)) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(true),
            })
    }

    /// Captures a tensor from before, and returns the data of its stand-in.
    fn capture(&mut self, index: u32, tensor: TensorHandle) -> Result<Arc<DeviceData>> {
        let (from, value, ty) = (self.table.slot(index).scope, self.value(index).clone(), self.ty(index));
        let value = self.new_tensor_of(value)?;
        let slot = self.check("", value)?;
        self.table.slot_mut(slot).scope = from;
        let data = DeviceData::new(ty, State::Placeholder);
        let stand_in = match self.new_tensor_of(Value::Data(data.clone())) {
            Ok(stand_in) => stand_in,
            Err(e) => {
                call::drop_later(Handles(vec![value]));
                return Err(e);
            }
        };
        scopes::with_innermost(|scope| scope.add(tensor, Captured { value, stand_in, data: data.clone() }));
        Ok(data)
    }

    /// Returns the leaves of the placeholders that stand for tensors of this device in the scope of this thread.
    pub fn stand_ins(&mut self) -> Vec<NodeId> {
        let table = self.table.number();
        let stand_ins = scopes::with_innermost(|scope| scope.stand_ins_of(table));
        stand_ins.iter().map(|data| self.trace.leaf(data)).collect()
    }

    /// Value of a result that was recorded while this thread traces: nothing is evaluated.
    pub(super) fn value_in_scope(&self, id: NodeId) -> Value {
        let data = device_data::of_node(&self.trace, self.trace.node(id));
        match data.and_then(DeviceData::host_array) {
            Some(array) => Value::Native(array),
            None => self.value_of(id),
        }
    }

    /// Returns an error for a tensor from before the scope of this thread, which must not change meanwhile.
    #[inline]
    pub fn check_change(&self, slot: u32) -> Result<()> {
        let number = scopes::number();
        if number == 0 || self.table.slot(slot).scope == number {
            return Ok(());
        }
        Err(scopes::refused("dst: it is from before the trace, and cannot change"))
    }
}
