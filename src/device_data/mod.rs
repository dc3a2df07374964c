//! Device data: the owned slot of one engine buffer, with a typed state. It is identified by the object itself, never by
//! its contents, shape or buffer address.

mod origin;
mod spares;

pub use origin::{Origin, Ran, lost_path};
pub use spares::{Spare, Spares};

use base::error;
use base::error::{Error, Result};
use base::types::TensorType;
use engine::Buffer;
use ir::{LeafData, LeafPlace, Node, Trace};
use mesh::Sharding;
use native::Array;
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::any::Any;
use std::fmt::Display;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Name of a sync, or of a copy between devices. It is formatted only for a message.
pub type Name = Arc<dyn Display + Send + Sync>;

/// Current state of device data.
#[derive(Clone)]
pub enum State {
    /// Placeholder: stands for a value, and never had a buffer.
    Placeholder,
    /// The sync with this number is in flight. It will make the data Ready, or Abandoned if it fails.
    InFlight(u64),
    /// Array in host memory: the leaf of an eager tensor among operations that depend on a placeholder.
    Host(Array),
    /// Has a buffer, whose computation may still be in progress.
    Ready(Arc<dyn Buffer>),
    /// The buffer was consumed by the step with this name.
    Donated(Name),
    /// The buffer was given to a run of the executable with this name.
    Consumed(Name),
    /// The computation failed with this error.
    Failed(Error),
    /// The sync that was computing it failed, and restored the recorded values of its tensors. Only waiters still refer
    /// to this data; they look at the tensor again.
    Abandoned,
}

/// Slot of one buffer, with its state. Shared by reference counting; compared by address.
pub struct DeviceData {
    ty: TensorType,
    /// Set once, before the kind becomes [`READY`]. Remains until the data is dropped or retired, also if it is lost:
    /// then its memory was consumed, or its computation failed.
    buffer: OnceLock<Arc<dyn Buffer>>,
    /// State, unless the kind is [`READY`].
    other: Mutex<State>,
    /// Kind of the state.
    kind: AtomicU8,
    /// Number of live tensors with this value. Changed under the device's lock.
    pub tensors: Count,
    /// Number of reads and saves in flight. Incremented under the device's lock, decremented at any time.
    holds: AtomicU32,
    /// Node of this data's leaf in the device's trace.
    leaf: LeafPlace,
    /// Number in the order of creation.
    serial: u64,
    /// The sync that computed the data, or the copy that made it, and the index of its output.
    origin: Option<(Arc<Origin>, usize)>,
    /// Sharding of a placeholder on a mesh.
    sharding: Option<Sharding>,
    /// Axes whose size changes, as the caller states.
    stated: OnceLock<Mutex<StatedAxes>>,
}

/// Axes whose size changes, with the largest size, or 0 if that is not known.
pub type StatedAxes = SmallVec<[(usize, i64); 2]>;

/// Consecutive serial numbers for new data.
pub struct Serials(Range<u64>);

impl Serials {
    /// Takes the next `count` numbers.
    pub fn take(count: usize) -> Serials {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let first = NEXT.fetch_add(count as u64, Ordering::Relaxed);
        Serials(first..first + count as u64)
    }

    /// The first of them.
    pub fn first(&self) -> u64 {
        self.0.start
    }
}

impl Iterator for Serials {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        self.0.next()
    }

    // `collect` on an iterator that is zipped with the numbers allocates once, because the length is known.
    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

const READY: u8 = 0;
const HOST: u8 = 1;
const IN_FLIGHT: u8 = 2;
const UNUSABLE: u8 = 3;

fn kind_of(state: &State) -> u8 {
    match state {
        State::Ready(_) => READY,
        State::Host(_) => HOST,
        State::InFlight(_) => IN_FLIGHT,
        _ => UNUSABLE,
    }
}

/// A count that changes only under the device's lock, and is therefore exact. It is atomic to avoid unsafe code.
#[derive(Default)]
pub struct Count(AtomicU32);

impl Count {
    /// Adds one.
    pub fn add(&self) {
        self.0.store(self.get() + 1, Ordering::Relaxed);
    }

    /// Subtracts one.
    pub fn remove(&self) {
        self.0.store(self.get() - 1, Ordering::Relaxed);
    }

    /// Current count.
    pub fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Keeps data from being consumed: while the hold is alive, no run donates the data's buffer.
pub struct Hold(Arc<DeviceData>);

impl Hold {
    /// Data that is held.
    pub fn data(&self) -> &DeviceData {
        &self.0
    }

    /// Data that is held, with its reference count.
    pub fn shared(&self) -> &Arc<DeviceData> {
        &self.0
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.holds.fetch_sub(1, Ordering::Release);
    }
}

impl DeviceData {
    /// Creates data in this state.
    pub fn new(ty: TensorType, state: State) -> Arc<DeviceData> {
        Arc::new(DeviceData::with(ty, state, Serials::take(1).first()))
    }

    #[inline]
    fn with(ty: TensorType, state: State, serial: u64) -> DeviceData {
        DeviceData {
            ty,
            kind: AtomicU8::new(kind_of(&state)),
            buffer: OnceLock::new(),
            other: Mutex::new(state),
            tensors: Count::default(),
            holds: AtomicU32::new(0),
            leaf: LeafPlace::default(),
            serial,
            origin: None,
            sharding: None,
            stated: OnceLock::new(),
        }
    }

    /// Creates data that has a buffer.
    pub fn ready(buffer: Arc<dyn Buffer>) -> Arc<DeviceData> {
        // The state given here is never read: the next line makes it Ready.
        let data = DeviceData::new(buffer.tensor_type().clone(), State::Abandoned);
        data.set_buffer(buffer);
        data
    }

    /// Creates data for each of these buffers.
    pub fn all_ready(buffers: Vec<Arc<dyn Buffer>>) -> impl Iterator<Item = Arc<DeviceData>> {
        let serials = Serials::take(buffers.len());
        buffers.into_iter().zip(serials).map(|(buffer, serial)| {
            let data = DeviceData::with(buffer.tensor_type().clone(), State::Abandoned, serial);
            data.set_buffer(buffer);
            Arc::new(data)
        })
    }

    /// Creates data whose buffer aliases memory with other users. No run may ever consume it.
    pub fn aliased(buffer: Arc<dyn Buffer>) -> Arc<DeviceData> {
        let data = DeviceData::ready(buffer);
        data.holds.fetch_add(1, Ordering::Relaxed);
        data
    }

    /// Creates a placeholder on a mesh with this sharding.
    pub fn sharded_placeholder(ty: TensorType, sharding: Sharding) -> Arc<DeviceData> {
        let data = DeviceData::with(ty, State::Placeholder, Serials::take(1).first());
        Arc::new(DeviceData { sharding: Some(sharding), ..data })
    }

    /// Sharding of data on a mesh: the sharding of the buffer, or of the placeholder. Replicated if it has neither.
    pub fn sharding(&self) -> Sharding {
        let of_buffer = match self.ready_buffer() {
            Some(buffer) => buffer.placement().map(|placement| placement.sharding.clone()),
            None => self.sharding.clone(),
        };
        of_buffer.unwrap_or_else(|| Sharding::replicated(self.ty.dims.len()))
    }

    /// Dtype and shape.
    pub fn ty(&self) -> &TensorType {
        &self.ty
    }

    /// Number in the order of creation.
    pub fn serial(&self) -> u64 {
        self.serial
    }

    /// The sync that computed the data, or the copy that made it, and the index of its output; None for other data.
    pub fn origin(&self) -> Option<&(Arc<Origin>, usize)> {
        self.origin.as_ref()
    }

    /// Returns new data, to which nothing else refers, with its origin.
    pub fn with_origin(mut data: Arc<DeviceData>, origin: Arc<Origin>, output: usize) -> Arc<DeviceData> {
        Arc::get_mut(&mut data).expect("new data has one owner").origin = Some((origin, output));
        data
    }

    /// States that the size of an axis changes, up to `bound` (0: any size), or that it does not (None).
    pub fn state_axis(&self, axis: usize, bound: Option<i64>) {
        let mut stated = self.stated.get_or_init(Mutex::default).lock();
        stated.retain(|(known, _)| *known != axis);
        stated.extend(bound.map(|bound| (axis, bound)));
    }

    /// Axes whose size changes, as the caller states.
    #[inline]
    pub fn stated_axes(&self) -> Option<StatedAxes> {
        self.stated.get().map(|stated| stated.lock().clone())
    }

    /// Current state.
    pub fn state(&self) -> State {
        match self.ready_buffer() {
            Some(buffer) => State::Ready(buffer.clone()),
            None => self.other.lock().clone(),
        }
    }

    /// Whether it is an unbound placeholder.
    pub fn is_placeholder(&self) -> bool {
        self.kind.load(Ordering::Acquire) == UNUSABLE && matches!(*self.other.lock(), State::Placeholder)
    }

    /// Array of the data, if its state is [`State::Host`].
    pub fn host_array(&self) -> Option<Array> {
        match self.state() {
            State::Host(array) => Some(array),
            _ => None,
        }
    }

    /// Whether a sync is computing it.
    pub fn is_in_flight(&self) -> bool {
        self.kind.load(Ordering::Acquire) == IN_FLIGHT
    }

    /// Whether it has a buffer or an array in host memory.
    pub fn has_memory(&self) -> bool {
        matches!(self.kind.load(Ordering::Acquire), READY | HOST)
    }

    /// Whether the data has a buffer or will get one: false for placeholders and lost data.
    pub fn is_sound(&self) -> bool {
        self.kind.load(Ordering::Acquire) != UNUSABLE
    }

    /// Changes the state to one without a buffer. Data that is in flight changes only under the device's lock.
    pub fn set_state(&self, state: State) {
        let kind = kind_of(&state);
        let old = {
            let mut other = self.other.lock();
            self.kind.store(kind, Ordering::Release);
            std::mem::replace(&mut *other, state)
        };
        // An array is freed outside the lock.
        drop(old);
    }

    /// Changes the state to [`State::Ready`]. Data has at most one buffer until it is retired. Data that is in flight
    /// changes only under the device's lock.
    pub fn set_buffer(&self, buffer: Arc<dyn Buffer>) {
        let is_first = self.buffer.set(buffer).is_ok();
        debug_assert!(is_first, "{} has a buffer already", self.ty);
        self.kind.store(READY, Ordering::Release);
    }

    #[inline]
    fn ready_buffer(&self) -> Option<&Arc<dyn Buffer>> {
        if self.kind.load(Ordering::Acquire) == READY { self.buffer.get() } else { None }
    }

    /// Returns the buffer, for a run or a read, or the error that explains its absence.
    #[inline]
    pub fn buffer(&self) -> Result<&Arc<dyn Buffer>> {
        self.ready_buffer().ok_or_else(|| self.why_not(&self.other.lock()))
    }

    /// Error for a state without a buffer.
    fn why_not(&self, state: &State) -> Error {
        match state {
            State::Placeholder => self.unbound(),
            State::Donated(step) => error!(
                FailedPrecondition,
                "the {} was consumed by {step}, which failed after the engine had taken it over", self.ty
            ),
            State::Consumed(executable) => error!(
                FailedPrecondition,
                "the {} was donated to {executable}, which consumed it: take a snapshot before the run to keep the value",
                self.ty
            ),
            State::Failed(error) => error.clone(),
            State::InFlight(_) | State::Abandoned | State::Ready(_) | State::Host(_) => {
                error!(Internal, "device data {} is used before its step has run", self.ty)
            }
        }
    }

    /// The error by which the data was lost; None if it is not lost.
    pub fn failure(&self) -> Option<Error> {
        match self.state() {
            state @ (State::Donated(_) | State::Consumed(_) | State::Failed(_)) => Some(self.why_not(&state)),
            _ => None,
        }
    }

    /// Error for uses of an unbound placeholder's value.
    pub fn unbound(&self) -> Error {
        error!(
            FailedPrecondition,
            "placeholder {} has no value: trace a computation over it (lxla_computation_trace) and call that with a \
             tensor in its place, or give it one with lxla_tensor_assign",
            self.ty
        )
    }

    /// Begins a hold. Must be called under the device's lock, on data of a live tensor.
    pub fn hold(self: &Arc<DeviceData>) -> Hold {
        self.holds.fetch_add(1, Ordering::Relaxed);
        Hold(self.clone())
    }

    /// Number of holds, and of users of aliased memory.
    pub fn holders(&self) -> u32 {
        self.holds.load(Ordering::Acquire)
    }

    /// Whether reads or saves are in flight, or the buffer aliases memory with other users.
    pub fn is_held(&self) -> bool {
        self.holds.load(Ordering::Acquire) > 0
    }
}

impl LeafData for DeviceData {
    #[inline]
    fn ty(&self) -> &TensorType {
        &self.ty
    }

    #[inline]
    fn place(&self) -> &LeafPlace {
        &self.leaf
    }
}

/// Returns the device data of a leaf; None if the leaf is a parameter of a computation.
#[inline]
pub fn of_leaf(leaf: &Arc<dyn LeafData>) -> Option<&DeviceData> {
    let any: &dyn Any = &**leaf;
    any.downcast_ref()
}

/// Like [`of_leaf`], as a shared reference.
pub fn shared_of_leaf(leaf: &Arc<dyn LeafData>) -> Option<Arc<DeviceData>> {
    let any: Arc<dyn Any + Send + Sync> = leaf.clone();
    any.downcast().ok()
}

/// Returns the device data of a node; None if the node is not a leaf with device data.
#[inline]
pub fn of_node<'a>(trace: &'a Trace, node: &Node) -> Option<&'a DeviceData> {
    trace.data(node).and_then(of_leaf)
}

/// Like [`of_node`], as a shared reference.
#[inline]
pub fn shared_of_node(trace: &Trace, node: &Node) -> Option<Arc<DeviceData>> {
    trace.data(node).and_then(shared_of_leaf)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::Code;
    use base::types::DType;

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
        data.set_state(State::Donated(Arc::new("step 7 on xla:0")));
        assert!(data.buffer().err().unwrap().message.contains("step 7 on xla:0"));
        data.set_state(State::Failed(error!(ResourceExhausted, "no room")));
        assert_eq!(data.failure().unwrap().code, Code::ResourceExhausted);
    }

    #[test]
    fn holds_are_counted() {
        let data = placeholder();
        let hold = data.hold();
        assert!(data.is_held());
        drop(hold);
        assert!(!data.is_held());
    }
}
