//! Recording of operations with one operand, and of creations.

use super::operands::operands;
use super::recording::{finish, to_record};
use crate::device::{Device, TensorHandle};
use crate::error::Result;
use crate::ir::{NodeId, Trace};

/// What one operand gives.
pub fn of_one(
    name: &str,
    x: TensorHandle,
    record: impl FnOnce(&mut Trace, NodeId) -> Result<NodeId>,
) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([(name, x)])?;
    let id = record(&mut state.trace, x)?;
    finish(state, id)
}

/// A tensor made from nothing but its type and an attribute.
pub fn create(device: &'static Device, record: impl FnOnce(&mut Trace) -> Result<NodeId>) -> Result<TensorHandle> {
    let mut state = to_record(device)?;
    let id = record(&mut state.trace)?;
    finish(state, id)
}
