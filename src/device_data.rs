//! Device data: the owned slot of one PJRT buffer, with a typed state. Its identity is the identity of this object, never
//! its contents, shape or buffer address.

use crate::engine::Buffer;
use crate::error;
use crate::error::{Error, Result};
use crate::native::Array;
use crate::types::TensorType;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// What a piece of device data is at the moment.
#[derive(Clone)]
pub enum State {
    /// Never had a buffer: it stands for one.
    Placeholder,
    /// A sync with this number is under way and will fill it, or give it up.
    InFlight(u64),
    /// It is an array of the host: the leaf of a native tensor among operations that wait for a placeholder.
    Host(Array),
    /// It has a buffer, which may still be being computed.
    Ready(Arc<dyn Buffer>),
    /// The step with this name consumed its buffer.
    Donated(Arc<str>),
    /// Whatever should have made it failed.
    Failed(Error),
    /// The sync that was to fill it failed and gave its tensors back their recorded values: nothing holds this any more
    /// but those who were waiting, and they look at the tensor again.
    Abandoned,
}

/// See the module's documentation. Shared by reference counting; compared by address.
pub struct DeviceData {
    ty: TensorType,
    state: Mutex<State>,
    changed: Condvar,
    /// The kind of `state`, to be asked without a lock.
    kind: AtomicU8,
    /// Live tensors whose value this is. Changed under the device's lock.
    pub tensors: Count,
    /// Reads and saves under way. Begun under the device's lock, ended at any time.
    holds: AtomicU32,
    /// Where the device's trace has its leaf, see [`DeviceData::leaf`].
    leaf: AtomicU64,
}

const SOUND: u8 = 0;
const IN_FLIGHT: u8 = 1;
const UNUSABLE: u8 = 2;

fn kind_of(state: &State) -> u8 {
    match state {
        State::Ready(_) | State::Host(_) => SOUND,
        State::InFlight(_) => IN_FLIGHT,
        _ => UNUSABLE,
    }
}

/// A count that is exact because it changes only under the device's lock; atomic so that no unsafe code is needed.
#[derive(Default)]
pub struct Count(AtomicU32);

impl Count {
    /// One more.
    pub fn add(&self) {
        self.0.store(self.get() + 1, Ordering::Relaxed);
    }

    /// One less.
    pub fn remove(&self) {
        self.0.store(self.get() - 1, Ordering::Relaxed);
    }

    /// How many.
    pub fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A promise that a read or a copy of some data is under way: while it lives, no run consumes the data's buffer.
pub struct Hold(Arc<DeviceData>);

impl Hold {
    /// The data held.
    pub fn data(&self) -> &DeviceData {
        &self.0
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.holds.fetch_sub(1, Ordering::Release);
    }
}

impl DeviceData {
    /// Data in this state.
    pub fn new(ty: TensorType, state: State) -> Arc<DeviceData> {
        Arc::new(DeviceData {
            ty,
            kind: AtomicU8::new(kind_of(&state)),
            state: Mutex::new(state),
            changed: Condvar::new(),
            tensors: Count::default(),
            holds: AtomicU32::new(0),
            leaf: AtomicU64::new(u64::MAX),
        })
    }

    /// Data that has its buffer.
    pub fn ready(buffer: Arc<dyn Buffer>) -> Arc<DeviceData> {
        DeviceData::new(buffer.tensor_type().clone(), State::Ready(buffer))
    }

    /// Data whose buffer lies in memory that others use, too: no run may ever consume it.
    pub fn lent(buffer: Arc<dyn Buffer>) -> Arc<DeviceData> {
        let data = DeviceData::ready(buffer);
        data.holds.fetch_add(1, Ordering::Relaxed);
        data
    }

    /// Its dtype and shape.
    pub fn ty(&self) -> &TensorType {
        &self.ty
    }

    /// Its state now.
    pub fn state(&self) -> State {
        self.state.lock().clone()
    }

    /// Whether it is an unbound placeholder.
    pub fn is_placeholder(&self) -> bool {
        matches!(*self.state.lock(), State::Placeholder)
    }

    /// The array that it is, if it is one.
    pub fn host_array(&self) -> Option<Array> {
        match &*self.state.lock() {
            State::Host(array) => Some(array.clone()),
            _ => None,
        }
    }

    /// Whether a sync is going to fill it.
    pub fn is_in_flight(&self) -> bool {
        self.kind.load(Ordering::Acquire) == IN_FLIGHT
    }

    /// Whether it has a buffer.
    pub fn has_buffer(&self) -> bool {
        self.kind.load(Ordering::Acquire) == SOUND
    }

    /// Whether it has a buffer or is going to have one: neither a placeholder nor lost.
    pub fn is_sound(&self) -> bool {
        self.kind.load(Ordering::Acquire) != UNUSABLE
    }

    /// Changes the state and wakes whoever waits for it.
    pub fn set_state(&self, state: State) {
        let kind = kind_of(&state);
        let old = {
            let mut current = self.state.lock();
            self.kind.store(kind, Ordering::Release);
            std::mem::replace(&mut *current, state)
        };
        self.changed.notify_all();
        // A buffer is freed outside the lock.
        drop(old);
    }

    /// Blocks while a sync is going to fill it; then its state.
    pub fn settled(&self) -> State {
        let mut state = self.state.lock();
        while matches!(*state, State::InFlight(_)) {
            self.changed.wait(&mut state);
        }
        state.clone()
    }

    /// Its buffer, for a run or a read; an error that says what became of it otherwise.
    pub fn buffer(&self) -> Result<Arc<dyn Buffer>> {
        match &*self.state.lock() {
            State::Ready(buffer) => Ok(buffer.clone()),
            other => Err(self.why_not(other)),
        }
    }

    /// Why this state gives no buffer.
    fn why_not(&self, state: &State) -> Error {
        match state {
            State::Placeholder => self.unbound(),
            State::Donated(step) => error!(
                FailedPrecondition,
                "the {} was consumed by {step}, which failed after the engine had taken it over", self.ty
            ),
            State::Failed(error) => error.clone(),
            State::InFlight(_) | State::Abandoned | State::Ready(_) | State::Host(_) => {
                error!(Internal, "device data {} is used before its step has run", self.ty)
            }
        }
    }

    /// The failure that it carries, if it is lost.
    pub fn failure(&self) -> Option<Error> {
        match &*self.state.lock() {
            state @ (State::Donated(_) | State::Failed(_)) => Some(self.why_not(state)),
            _ => None,
        }
    }

    /// What whoever needs the value of a placeholder is told.
    pub fn unbound(&self) -> Error {
        error!(
            FailedPrecondition,
            "placeholder {} has no value: trace a computation over it (lxla_computation_trace) and call that with a \
             tensor in its place, or give it one with lxla_tensor_assign",
            self.ty
        )
    }

    /// Begins a hold. Call under the device's lock, on data that a live tensor has.
    pub fn hold(self: &Arc<DeviceData>) -> Hold {
        self.holds.fetch_add(1, Ordering::Relaxed);
        Hold(self.clone())
    }

    /// Whether reads or copies are under way.
    pub fn is_held(&self) -> bool {
        self.holds.load(Ordering::Acquire) > 0
    }

    /// The index of its leaf in the trace of this epoch, if it has one there.
    pub fn leaf(&self, epoch: u32) -> Option<u32> {
        let leaf = self.leaf.load(Ordering::Relaxed);
        (leaf >> 32 == u64::from(epoch)).then_some(leaf as u32)
    }

    /// Remembers the index of its leaf in the trace of this epoch.
    pub fn set_leaf(&self, epoch: u32, index: u32) {
        self.leaf.store(u64::from(epoch) << 32 | u64::from(index), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;
    use crate::types::DType;

    fn placeholder() -> Arc<DeviceData> {
        DeviceData::new(TensorType::new(DType::F32, &[2, 3]), State::Placeholder)
    }

    #[test]
    fn each_state_says_why_it_has_no_buffer() {
        let data = placeholder();
        let unbound = data.buffer().err().unwrap();
        assert_eq!(unbound.code, Code::FailedPrecondition);
        assert!(unbound.message.contains("f32[2,3]"), "{unbound}");
        assert!(data.failure().is_none());
        data.set_state(State::Donated("step 7 on xla:0".into()));
        assert!(data.buffer().err().unwrap().message.contains("step 7 on xla:0"));
        data.set_state(State::Failed(error!(ResourceExhausted, "no room")));
        assert_eq!(data.failure().unwrap().code, Code::ResourceExhausted);
    }

    #[test]
    fn waiting_ends_when_the_step_does() {
        let data = placeholder();
        data.set_state(State::InFlight(1));
        std::thread::scope(|s| {
            let waiter = s.spawn(|| matches!(data.settled(), State::Abandoned));
            data.set_state(State::Abandoned);
            assert!(waiter.join().unwrap());
        });
    }

    #[test]
    fn holds_and_leaves_are_remembered() {
        let data = placeholder();
        let hold = data.hold();
        assert!(data.is_held());
        drop(hold);
        assert!(!data.is_held());
        assert_eq!(data.leaf(0), None);
        data.set_leaf(3, 8);
        assert_eq!((data.leaf(3), data.leaf(4)), (Some(8), None));
    }
}
