//! Where every recorded operation begins and ends: a device with room for it, and a tensor for its result.

use crate::device::{Device, DeviceState, PendingLimitPolicy, TensorHandle, Value};
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
    let mut state = device.state();
    if !state.has_room() {
        return make_room(device, state);
    }
    if state.is_native() {
        state.clear_native();
    }
    Ok(state)
}

/// A new tensor with the result of what was recorded as its value: pending; or on cpu evaluated now, by this thread and
/// without the lock.
#[inline]
pub fn finish(mut state: State, id: NodeId) -> Result<TensorHandle> {
    if !state.is_native() {
        return state.new_tensor(id);
    }
    let work = state.take_work(id);
    let device = MutexGuard::mutex(&state);
    drop(state);
    let array = work.run()?;
    let mut state = device.lock();
    state.check_open()?;
    state.new_tensor_of(Value::Native(array))
}

/// Gives a tensor the result of what was recorded on it as its value. On cpu it is evaluated under the lock, so that no
/// other thread's update is lost.
pub fn finish_in_place(mut state: State, dst: TensorHandle, id: NodeId) -> Result<()> {
    let slot = state.check("dst", dst)?;
    let garbage = if state.is_native() {
        let array = state.take_work(id).run()?;
        state.replace_value(slot, Value::Native(array))
    } else {
        state.set_value(slot, id)
    };
    drop(state);
    drop(garbage);
    Ok(())
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
