//! Scopes of tracing: what a thread records between the begin and the end of a scope belongs to one computation,
//! whatever it depends on. A tensor from before that is an operand is captured: a placeholder, its stand-in, takes its
//! place among the operands, so that nothing recorded in the scope can be computed, or evaluated on cpu, meanwhile. Each
//! tensor has the number of the scope in which it was made. Scopes belong to a thread, and nest: to an inner scope, the
//! tensors of an outer one are from before.

use super::Device;
use super::handle::{Place, TensorHandle};
use super::lifetime::Handles;
use super::memory_callback::is_asking;
use crate::device_data::DeviceData;
use base::error;
use base::error::{Error, Result};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};

/// Number of open scopes of all threads. Without any, recording looks no further.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Number of the last scope. 0 stands for none; numbers come again after 65535 scopes, when the tensors of a scope that has
/// ended may still exist: they depend on placeholders that are gone, and have no value in any scope.
static LAST: AtomicU16 = AtomicU16::new(0);

thread_local! {
    /// Scopes that this thread has open, the innermost one last.
    static SCOPES: RefCell<Vec<Scope>> = const { RefCell::new(Vec::new()) };
}

/// A scope that is open.
pub struct Scope {
    number: u16,
    /// Number of the environment.
    env: u64,
    /// Device of the computation; None if its parameters and results decide.
    place: Option<Place>,
    captured: Vec<Captured>,
    /// Index in `captured` for each tensor from before.
    places: FxHashMap<u64, usize>,
}

/// A tensor from before the scope.
pub(super) struct Captured {
    /// Tensor with its value when it became an operand.
    pub value: TensorHandle,
    /// Tensor whose value is the placeholder.
    pub stand_in: TensorHandle,
    pub data: Arc<DeviceData>,
}

impl Drop for Scope {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
        let tensors = self.captured.iter().flat_map(|captured| [captured.value, captured.stand_in]);
        drop(Handles(tensors.collect()));
        Device::forget_effects_in(self.number);
    }
}

/// Number of the innermost scope of this thread; 0 if it has none.
#[inline]
pub fn number() -> u16 {
    if OPEN.load(Ordering::Relaxed) == 0 { 0 } else { innermost() }
}

#[cold]
fn innermost() -> u16 {
    // A thread that is exiting has no scope any more.
    let number = SCOPES.try_with(|scopes| scopes.borrow().last().map_or(0, |scope| scope.number));
    number.unwrap_or(0)
}

/// Opens a scope in this thread.
pub fn begin(env: u64, place: Option<Place>) {
    OPEN.fetch_add(1, Ordering::Relaxed);
    let number = loop {
        match LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1) {
            0 => continue,
            number => break number,
        }
    };
    let scope = Scope { number, env, place, captured: Vec::new(), places: FxHashMap::default() };
    SCOPES.with_borrow_mut(|scopes| scopes.push(scope));
}

/// Returns an error unless this thread has a scope, for computations on this device of an environment.
pub fn check_end(device: Option<(u64, Place)>) -> Result<()> {
    SCOPES.with_borrow(|scopes| {
        let scope = scopes.last().ok_or_else(none)?;
        let Some((env, place)) = device else { return Ok(()) };
        if env != scope.env {
            return Err(error!(InvalidArgument, "results: in another environment than lxla_tracing_begin was given"));
        }
        match scope.place.filter(|wanted| *wanted != place) {
            Some(wanted) => {
                Err(error!(InvalidArgument, "results: on {place}; lxla_tracing_begin was given the device {wanted}"))
            }
            None => Ok(()),
        }
    })
}

/// Closes the innermost scope of this thread. The caller drops it without holding a lock.
pub fn end() -> Result<Scope> {
    SCOPES.with_borrow_mut(Vec::pop).ok_or_else(none)
}

fn none() -> Error {
    error!(FailedPrecondition, "this thread traces nothing: lxla_tracing_begin was not called, or its trace has ended")
}

/// Returns an error if this thread has a scope, or is in a memory callback: `what` needs values, or changes what other
/// threads see.
#[inline]
pub fn refuse(what: &str) -> Result<()> {
    if is_asking() {
        return Err(error!(
            FailedPrecondition,
            "{what} in a memory callback, which may release values, not compute any"
        ));
    }
    if number() == 0 { Ok(()) } else { Err(refused(what)) }
}

#[cold]
pub(super) fn refused(what: &str) -> Error {
    error!(
        FailedPrecondition,
        "{what} while this thread traces a computation: call lxla_tracing_end or lxla_tracing_abandon first, or do it \
         outside of the function that is traced"
    )
}

/// Whether a placeholder stands for a tensor from before a scope of this thread.
pub fn is_stand_in(data: &DeviceData) -> bool {
    let is_of = |scope: &Scope| scope.captured.iter().any(|captured| std::ptr::eq(&*captured.data, data));
    number() != 0 && SCOPES.with_borrow(|scopes| scopes.iter().any(is_of))
}

/// The tensor for whose value a placeholder of the innermost scope stands; None if it is another placeholder, or data.
pub fn captured_by(data: &Arc<DeviceData>) -> Option<TensorHandle> {
    let is_it = |captured: &&Captured| Arc::ptr_eq(&captured.data, data);
    let of = |scope: &Scope| scope.captured.iter().find(is_it).map(|captured| captured.value);
    SCOPES.with_borrow(|scopes| scopes.last().and_then(of))
}

/// Calls a function with the innermost scope of this thread, which has one.
pub(super) fn with_innermost<R>(call: impl FnOnce(&mut Scope) -> R) -> R {
    SCOPES.with_borrow_mut(|scopes| call(scopes.last_mut().expect("a scope, since its number is not 0")))
}

impl Scope {
    /// Placeholder that stands for a tensor, if it has been captured.
    pub(super) fn stand_in_for(&self, tensor: TensorHandle) -> Option<Arc<DeviceData>> {
        self.places.get(&tensor.0).map(|&place| self.captured[place].data.clone())
    }

    /// Placeholder that stands for a captured value for which `is_same` returns true; from here on, also for `tensor`.
    pub(super) fn stand_in_like(
        &mut self,
        tensor: TensorHandle,
        is_same: impl Fn(TensorHandle) -> bool,
    ) -> Option<Arc<DeviceData>> {
        let place = self.captured.iter().position(|captured| is_same(captured.value))?;
        self.places.insert(tensor.0, place);
        Some(self.captured[place].data.clone())
    }

    /// Placeholders that stand for captured tensors of the device with this table.
    pub(super) fn stand_ins_of(&self, table: u32) -> Vec<Arc<DeviceData>> {
        let on_device = self.captured.iter().filter(|captured| captured.stand_in.table() == table);
        on_device.map(|captured| captured.data.clone()).collect()
    }

    /// Adds a captured tensor.
    pub(super) fn add(&mut self, tensor: TensorHandle, captured: Captured) {
        self.places.insert(tensor.0, self.captured.len());
        self.captured.push(captured);
    }
}
