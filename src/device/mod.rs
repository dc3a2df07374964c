//! A device: its tensors, its trace, and the one lock that protects both. Devices are never freed, so that a handle can
//! be resolved without reference counting; the device of a released environment is reused by the next one.

mod captures;
mod compaction;
mod compiles;
mod dynamic_sizes;
mod eager;
mod effects;
mod evaluation;
mod handle;
mod known;
mod lifetime;
mod live;
mod memory_callback;
mod options;
mod owner;
mod pending_calls;
mod ran;
mod registry;
mod repeats;
pub mod scopes;
mod shared;
mod state;
mod table;
mod unbound;
mod work;

pub use compiles::{CompileLog, CompileRecord, Compiling, Cost, DynamicAxis, Sizes};
pub use dynamic_sizes::DynamicSizes;
pub use handle::{MOST_DEVICES, OperandName, Place, TensorHandle};
pub use known::{CallKey, Function};
pub use lifetime::{Handles, release, release_many, retain};
pub use memory_callback::{AskForMemory, MemoryCallback};
pub use options::{MixedDevicePolicy, OPTION_NAMES, Options, PendingLimitPolicy, ReadScope};
pub use owner::Owner;
pub use pending_calls::Parameters;
pub use ran::{Kind, Ran, RanLog, Usage};
pub use registry::{common_device, common_device_of_list, device_of, with_names};
pub use repeats::Cut;
pub use shared::{Compiled, Peaks, Runtime, Shared};
pub use state::{DeferredDrop, DeviceState};
pub use table::Value;
pub use work::Values;

use ir::Planner;
use parking_lot::{Condvar, Mutex, MutexGuard};

/// The state of a device behind its locks.
pub struct Device {
    state: Mutex<DeviceState>,
    /// Held by the sync in progress. Recording needs only `state`, so that a long compile does not block it.
    order: Mutex<Planner>,
    /// Notified, under the lock of `state`, at the end of each sync: the data that was in flight has buffers, or is
    /// abandoned.
    settled: Condvar,
}

impl Device {
    fn new(table: u32) -> Device {
        Device { state: Mutex::new(DeviceState::new(table)), order: Mutex::default(), settled: Condvar::new() }
    }

    /// Lock for accessing tensors and recording. Never held while compiling, executing or copying.
    #[inline]
    pub fn state(&self) -> MutexGuard<'_, DeviceState> {
        self.state.lock()
    }

    /// Blocks until the condition is true; returns at once if it is. Checks it again at the end of each sync of this
    /// device. Unlocks the state while it waits.
    pub fn wait_until(&self, state: &mut MutexGuard<'_, DeviceState>, is_true: impl Fn() -> bool) {
        self.settled.wait_while(state, |_| !is_true());
    }

    /// Wakes the threads in [`Device::wait_until`]. Called under the lock of the state.
    pub fn notify_settled(&self) {
        self.settled.notify_all();
    }

    /// Forgets the schemes of earlier syncs, unless a sync is in progress: a closed device makes no more steps.
    pub fn forget_schemes(&self) {
        if let Some(mut planner) = self.order.try_lock() {
            *planner = Planner::default();
        }
    }

    /// Lock that serializes the syncs of this device. Taken before `state`.
    pub fn order(&self) -> MutexGuard<'_, Planner> {
        self.order.lock()
    }
}
