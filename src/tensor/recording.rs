//! What every recorded operation begins with: a device with room for it, and the nodes of its operands.

use crate::device::{Device, DeviceState, PendingLimitPolicy, TensorHandle, common_device};
use crate::error;
use crate::error::Result;
use crate::ir::NodeId;
use crate::sync;
use parking_lot::MutexGuard;

/// A device's state, locked.
pub type State = MutexGuard<'static, DeviceState>;

/// The state of a device with room to record one more operation. An error if nothing may be recorded: the environment was
/// released, or too much is pending already.
#[inline]
pub fn to_record(device: &'static Device) -> Result<State> {
    let state = device.state();
    if state.has_room() { Ok(state) } else { make_room(device, state) }
}

#[cold]
fn make_room(device: &'static Device, mut state: State) -> Result<State> {
    state.check_open()?;
    state.forget_dead();
    let shared = state.owner()?.shared.clone();
    if !state.has_room() && shared.options.pending_limit_policy() == PendingLimitPolicy::Step {
        drop(state);
        sync::mark_step(device)
            .map_err(|e| e.context("max_pending_ops was reached, and the step that it set off failed"))?;
        state = device.state();
        state.check_open()?;
    }
    if state.has_room() {
        return Ok(state);
    }
    Err(error!(
        ResourceExhausted,
        "{} operations are pending, and the option max_pending_ops allows {}; call lxla_mark_step now and then",
        state.trace.len(),
        shared.options.max_pending_ops()
    ))
}

/// The nodes of named operands on one device, and that device's state.
#[inline]
pub fn operands<const N: usize>(named: [(&str, TensorHandle); N]) -> Result<(State, [NodeId; N])> {
    let mut state = to_record(common_device(&named)?)?;
    let mut nodes = [NodeId(0); N];
    for (node, (name, handle)) in nodes.iter_mut().zip(named) {
        *node = state.operand(name, handle)?;
    }
    Ok((state, nodes))
}

/// Names for a list of operands, as messages call them.
pub fn numbered<'a>(name: &'a str, list: &'a [TensorHandle]) -> impl Iterator<Item = (String, TensorHandle)> + 'a {
    list.iter().enumerate().map(move |(i, &handle)| (format!("{name}[{i}]"), handle))
}

/// As [`operands`], for as many as there are.
pub fn operand_list(named: impl Iterator<Item = (String, TensorHandle)>) -> Result<(State, Vec<NodeId>)> {
    let named: Vec<(String, TensorHandle)> = named.collect();
    let named: Vec<(&str, TensorHandle)> = named.iter().map(|(name, handle)| (name.as_str(), *handle)).collect();
    let mut state = to_record(common_device(&named)?)?;
    let nodes = named.iter().map(|(name, handle)| state.operand(name, *handle)).collect::<Result<Vec<NodeId>>>()?;
    Ok((state, nodes))
}
