//! Tensors of the results of a recorded operation, and the begin of recording one: its device is locked, and has room.
//! An operation without operands is recorded here.

use crate::device::{Cut, Device, DeviceState, Handles, PendingLimitPolicy, TensorHandle, Value, Values, scopes};
use crate::sync;
use base::allocation::{probe, with_room};
use base::error;
use base::error::{Code, Result};
use base::label;
use base::log::{Level, log};
use base::metrics::Counter;
use base::types::check_rank;
use ir::{NodeId, ShapeId, Trace};
use parking_lot::MutexGuard;

/// The locked state of a device.
pub type Locked = MutexGuard<'static, DeviceState>;

/// Locks a device with room to record one more operation. Fails if the environment was released, or too much is
/// pending.
#[inline]
pub fn to_record(device: &'static Device) -> Result<Locked> {
    let mut state = device.state();
    if !state.has_room() {
        state = to_record_when_full(device, state)?;
    }
    state.begin_call();
    if label::in_use() {
        state.trace.set_label(label::current());
        if label::is_watched() {
            state.owner()?.shared.timeline().recorded();
        }
    }
    Ok(state)
}

/// Result of recording an operation: one node, or several.
pub trait Recorded {
    /// Handles of the tensors that are made of the nodes.
    type Tensors;

    /// Creates a tensor for each node. On an XLA device they are pending; on cpu they are evaluated now, by this thread
    /// (up to 1 KiB under the lock, else without it), unless they depend on a placeholder.
    fn finish(self, state: Locked) -> Result<Self::Tensors>;
}

impl Recorded for NodeId {
    type Tensors = TensorHandle;

    #[inline]
    fn finish(self, state: Locked) -> Result<TensorHandle> {
        finish(state, self)
    }
}

impl<const N: usize> Recorded for [NodeId; N] {
    type Tensors = [TensorHandle; N];

    fn finish(self, state: Locked) -> Result<[TensorHandle; N]> {
        Ok(finish_all(state, &self)?.try_into().expect("a tensor for each node"))
    }
}

impl Recorded for Vec<NodeId> {
    type Tensors = Vec<TensorHandle>;

    fn finish(self, state: Locked) -> Result<Vec<TensorHandle>> {
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
fn finish(mut state: Locked, id: NodeId) -> Result<TensorHandle> {
    check_ranks(&state, &[id])?;
    state.trace.check_subbyte()?;
    let made = match state.value_now(id) {
        Some(value) => state.new_tensor_like(id, value?),
        None => {
            let (unlocked, mut values) = evaluated(state, &[id])?;
            state = unlocked;
            state.new_tensor_of(values.remove(0))
        }
    };
    state.end_call();
    made
}

/// Returns an error for results of more axes than the library supports, whatever the operation's own checks allow.
#[inline]
fn check_ranks(state: &Locked, ids: &[NodeId]) -> Result<()> {
    ids.iter().try_for_each(|&id| check_rank(state.trace.dims(state.trace.node(id).shape)))
}

/// Creates a tensor for each of several recorded results; on an error, creates none.
pub fn finish_all(mut state: Locked, ids: &[NodeId]) -> Result<Vec<TensorHandle>> {
    check_ranks(&state, ids)?;
    state.trace.check_subbyte()?;
    let mut tensors = Handles(with_room(ids.len(), "the handles of results")?);
    probe(ids.len() * size_of::<Value>(), "the values of results")?;
    // Results that wait become tensors first, which keeps their nodes while the others are evaluated without the lock.
    let mut waiting = Vec::new();
    let mut others = Vec::new();
    for (i, value) in state.pending_values(ids).into_iter().enumerate() {
        match value {
            Some(value) => waiting.push((i, value)),
            None => others.push(i),
        }
    }
    let mut order: Vec<usize> = waiting.iter().map(|(i, _)| *i).collect();
    let mut made = waiting.into_iter().try_for_each(|(_, value)| {
        tensors.0.push(state.new_tensor_of(value)?);
        Ok(())
    });
    if made.is_ok() && !others.is_empty() {
        let evaluable: Vec<NodeId> = others.iter().map(|&i| ids[i]).collect();
        let (unlocked, values) = evaluated(state, &evaluable)?;
        state = unlocked;
        made = values.into_iter().try_for_each(|value| {
            tensors.0.push(state.new_tensor_of(value)?);
            Ok(())
        });
    }
    state.end_call();
    // If not all tensors were made, those that were are released, which takes the lock itself.
    drop(state);
    made?;
    order.extend(others);
    let mut handles = vec![TensorHandle(0); ids.len()];
    order.into_iter().zip(tensors.take()).for_each(|(i, handle)| handles[i] = handle);
    Ok(handles)
}

/// Evaluates nodes on cpu, with nothing locked meanwhile.
fn evaluated(mut state: Locked, ids: &[NodeId]) -> Result<(Locked, Values)> {
    let work = state.take_work(ids);
    let bytes = ids.iter().map(|&id| state.trace.ty(id).size_bytes() as u64).sum();
    state.end_call();
    let device = MutexGuard::mutex(&state);
    let shared = state.owner()?.shared.clone();
    drop(state);
    let values = shared.with_memory(bytes, work)?;
    let state = device.lock();
    state.check_open()?;
    Ok((state, values))
}

/// Gives the tensor `dst` the recorded result as its value. On cpu it is evaluated under the lock, so that no other
/// thread's update is lost.
pub fn finish_in_place(mut state: Locked, dst: TensorHandle, id: NodeId) -> Result<()> {
    let slot = state.check("dst", dst)?;
    state.check_change(slot)?;
    state.trace.check_subbyte()?;
    let value = match state.value_now(id) {
        Some(value) => value?,
        None => state.take_work(&[id])()?.remove(0),
    };
    let shape = state.trace.node(id).shape;
    let garbage = state.replace(slot, value, shape);
    state.end_call();
    drop(state);
    drop(garbage);
    Ok(())
}

/// Gives the tensor `dst` a value of this shape.
pub fn replace(mut state: Locked, dst: TensorHandle, value: Value, shape: ShapeId) -> Result<()> {
    let slot = state.check("dst", dst)?;
    state.check_change(slot)?;
    let garbage = state.replace(slot, value, shape);
    drop(state);
    drop(garbage);
    Ok(())
}

/// Makes room for an operation, as the option `pending_limit_policy` says, or fails.
#[cold]
fn to_record_when_full(device: &'static Device, mut state: Locked) -> Result<Locked> {
    state.check_open()?;
    state.trace.check_room()?;
    // A trace has no limit: it ends with the function, and a step would not compute it.
    let is_cut = scopes::number() == 0 && state.is_cut_here();
    if scopes::number() != 0 || !is_cut && !state.is_full() {
        state.decide();
        return Ok(state);
    }
    let cut = Cut::after(&state.trace);
    state.forget_dead();
    // A compacted trace has no room beside its operations.
    state.trace.check_room()?;
    let shared = state.owner()?.shared.clone();
    let mut failure = None;
    if is_cut || state.is_full() && shared.options.pending_limit_policy() != PendingLimitPolicy::Error {
        drop(state);
        let compiles = shared.metrics.get(Counter::UncachedCompile);
        // A step that cannot compile some values computes the others, which may make room. But only the step that computes
        // a value reports that it is not finite.
        failure = sync::mark_step(device).err();
        let is_checked = shared.options.check_nonfinite();
        if failure.as_ref().is_some_and(|e| is_checked && e.code == Code::OutOfRange) {
            return Err(failure.expect("a failure").context("operations were pending, and their step failed"));
        }
        state = device.state();
        state.check_open()?;
        if failure.is_none() && state.is_full() {
            // The other operations wait for placeholders: a function that is traced has no limit.
            state.granted = 2 * state.trace.len();
        }
        state.set_cut(cut, failure.is_some() || shared.metrics.get(Counter::UncachedCompile) != compiles);
    }
    state.trace.check_room()?;
    if !state.is_full() {
        if let Some(e) = failure {
            let cause = if is_cut { "a loop was recorded" } else { "max_pending_ops was reached" };
            log(Level::Warning, || format!("{cause}, and the step that it set off failed: {e}"));
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
