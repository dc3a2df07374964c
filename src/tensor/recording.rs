//! Begin and end of recording an operation: checks that the device has room for it, and creates tensors for its
//! results. An operation without operands is recorded here.

use crate::allocation::with_room;
use crate::device::{self, Device, DeviceState, PendingLimitPolicy, Results, TensorHandle, Value};
use crate::error;
use crate::error::Result;
use crate::ir::{NodeId, Trace};
use crate::log::{Level, log};
use crate::native::Array;
use crate::sync;
use crate::types::check_rank;
use parking_lot::MutexGuard;

/// The locked state of a device.
pub type State = MutexGuard<'static, DeviceState>;

/// Locks a device with room to record one more operation. Fails if the environment was released, or too much is
/// pending.
#[inline]
pub fn to_record(device: &'static Device) -> Result<State> {
    let mut state = device.state();
    if !state.has_room() {
        return make_room(device, state);
    }
    if state.has_leftovers() {
        clear(&mut state)?;
    }
    Ok(state)
}

/// Discards what an earlier call recorded on an eager device and did not evaluate.
#[cold]
fn clear(state: &mut State) -> Result<()> {
    let garbage = state.clear_native();
    if !garbage.is_empty() {
        // Dropping this memory may call the deleter of the library that lent it.
        MutexGuard::unlocked(state, || drop(garbage));
        state.check_open()?;
    }
    Ok(())
}

/// Result of recording an operation: one node, or several.
pub trait Recorded {
    /// Handles of the tensors that are made of the nodes.
    type Tensors;

    /// Creates a tensor for each node. On an XLA device they are pending; on cpu they are evaluated now, by this thread
    /// and without the lock, unless they depend on a placeholder.
    fn finish(self, state: State) -> Result<Self::Tensors>;
}

impl Recorded for NodeId {
    type Tensors = TensorHandle;

    #[inline]
    fn finish(self, state: State) -> Result<TensorHandle> {
        finish(state, self)
    }
}

impl<const N: usize> Recorded for [NodeId; N] {
    type Tensors = [TensorHandle; N];

    fn finish(self, state: State) -> Result<[TensorHandle; N]> {
        Ok(finish_all(state, &self)?.try_into().expect("a tensor for each node"))
    }
}

impl Recorded for Vec<NodeId> {
    type Tensors = Vec<TensorHandle>;

    fn finish(self, state: State) -> Result<Vec<TensorHandle>> {
        finish_all(state, &self)
    }
}

/// Records an operation without operands.
pub fn create<R: Recorded>(
    device: &'static Device,
    operation: impl FnOnce(&mut Trace) -> Result<R>,
) -> Result<R::Tensors> {
    let mut state = to_record(device)?;
    let made = operation(&mut state.trace)?;
    made.finish(state)
}

/// Creates a tensor with the recorded result as its value.
#[inline]
fn finish(mut state: State, id: NodeId) -> Result<TensorHandle> {
    check_ranks(&state, &[id])?;
    if !state.is_native() {
        return state.new_tensor(id);
    }
    if let Some(made) = state.small_work(id) {
        return state.new_tensor_of_array(made?);
    }
    if state.waits(id) {
        let made = state.new_waiting(id)?;
        state.compact_if_large();
        return Ok(made);
    }
    let (mut state, mut made) = evaluated(state, &[id])?;
    state.new_tensor_of_array(made.remove(0))
}

/// Returns an error for results of more axes than the library supports, whatever the operation's own checks allow.
#[inline]
fn check_ranks(state: &State, ids: &[NodeId]) -> Result<()> {
    ids.iter().try_for_each(|&id| check_rank(state.trace.dims(state.trace.node(id).shape)))
}

/// Creates a tensor for each of several recorded results; on an error, creates none.
pub fn finish_all(mut state: State, ids: &[NodeId]) -> Result<Vec<TensorHandle>> {
    check_ranks(&state, ids)?;
    let mut tensors = Unfinished(with_room(ids.len(), "the handles of results")?);
    let made = if state.is_native() {
        let waits: Vec<bool> = ids.iter().map(|&id| state.waits(id)).collect();
        if waits.contains(&true) {
            return finish_mixed(state, ids, &waits);
        }
        let (mut state, arrays) = evaluated(state, ids)?;
        arrays.into_iter().try_for_each(|array| {
            tensors.0.push(state.new_tensor_of(Value::Native(array))?);
            Ok(())
        })
    } else {
        let made = ids.iter().try_for_each(|&id| {
            tensors.0.push(state.new_tensor_at(id)?);
            Ok(())
        });
        // Dropping unfinished tensors takes the lock itself.
        drop(state);
        made
    };
    made.map(|()| std::mem::take(&mut tensors.0))
}

/// Creates tensors on cpu for results of which some depend on a placeholder, and others do not.
#[cold]
fn finish_mixed(mut state: State, ids: &[NodeId], waits: &[bool]) -> Result<Vec<TensorHandle>> {
    let mut waiting = Unfinished(Vec::new());
    let mut evaluable = Vec::new();
    for (&id, &waits) in ids.iter().zip(waits) {
        if !waits {
            evaluable.push(id);
            continue;
        }
        match state.new_waiting(id) {
            Ok(tensor) => waiting.0.push(tensor),
            Err(error) => {
                // Dropping unfinished tensors takes the lock itself.
                drop(state);
                return Err(error);
            }
        }
    }
    let mut evaluated_ones = Unfinished(Vec::new());
    if evaluable.is_empty() {
        drop(state);
    } else {
        let (mut state, arrays) = evaluated(state, &evaluable)?;
        let made: Result<()> = arrays.into_iter().try_for_each(|array| {
            evaluated_ones.0.push(state.new_tensor_of(Value::Native(array))?);
            Ok(())
        });
        drop(state);
        made?;
    }
    let (mut waiting, mut evaluated) =
        (std::mem::take(&mut waiting.0).into_iter(), std::mem::take(&mut evaluated_ones.0).into_iter());
    let next = |&waits: &bool| if waits { waiting.next() } else { evaluated.next() };
    Ok(waits.iter().map(next).map(|tensor| tensor.expect("a tensor for each")).collect())
}

/// Evaluates nodes on cpu, with nothing locked meanwhile.
fn evaluated(mut state: State, ids: &[NodeId]) -> Result<(State, Results)> {
    let work = state.take_work(ids);
    let device = MutexGuard::mutex(&state);
    drop(state);
    let made = work.run()?;
    let state = device.lock();
    state.check_open()?;
    Ok((state, made))
}

/// Releases its tensors when dropped, unless all of them were made.
struct Unfinished(Vec<TensorHandle>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        for &handle in &self.0 {
            let _ = device::release(handle);
        }
    }
}

/// Gives the tensor `dst` the recorded result as its value. On cpu it is evaluated under the lock, so that no other
/// thread's update is lost.
pub fn finish_in_place(mut state: State, dst: TensorHandle, id: NodeId) -> Result<()> {
    let slot = state.check("dst", dst)?;
    let garbage = if state.is_native() && state.waits(id) {
        state.set_waiting(slot, id)
    } else if state.is_native() {
        let array = state.take_work(&[id]).run()?.remove(0);
        state.replace_value(slot, Value::Native(array))
    } else {
        state.set_value(slot, id)
    };
    drop(state);
    drop(garbage);
    Ok(())
}

/// Gives the tensor `dst` on cpu an array as its value.
#[inline]
pub fn replace_array(mut state: State, dst: TensorHandle, array: Array) -> Result<()> {
    let slot = state.check("dst", dst)?;
    let garbage = state.replace_value(slot, Value::Native(array));
    drop(state);
    drop(garbage);
    Ok(())
}

#[cold]
fn make_room(device: &'static Device, mut state: State) -> Result<State> {
    state.check_open()?;
    state.trace.check_room()?;
    if state.has_room() {
        return Ok(state);
    }
    state.forget_dead();
    // A compacted trace has no room beside its operations.
    state.trace.check_room()?;
    let shared = state.owner()?.shared.clone();
    let mut failure = None;
    if !state.has_room() && shared.options.pending_limit_policy() == PendingLimitPolicy::Step {
        drop(state);
        // A step that cannot compile some values computes the others, which may make room.
        failure = sync::mark_step(device).err();
        state = device.state();
        state.check_open()?;
    }
    state.trace.check_room()?;
    if state.has_room() {
        if let Some(e) = failure {
            log(Level::Warning, || format!("max_pending_ops was reached, and the step that it set off failed: {e}"));
        }
        return Ok(state);
    }
    if let Some(e) = failure {
        return Err(e.context("max_pending_ops was reached, and the step that it set off failed"));
    }
    Err(error!(
        ResourceExhausted,
        "{} operations are pending, and the option max_pending_ops allows {}; call lxla_mark_step now and then",
        state.trace.len(),
        shared.options.max_pending_ops()
    ))
}
