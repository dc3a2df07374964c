//! A device: its tensors, its trace, and the one lock over both. Devices are never freed, so that a handle can be
//! looked up without counting references; the device of an environment that is gone serves the next one.

mod arrays;
mod handle;
mod lifetime;
mod options;
mod registry;
mod shared;
mod state;
mod table;
mod work;

pub use handle::{MOST_DEVICES, Place, TensorHandle};
pub use lifetime::{release, retain};
pub use options::{MixedDevicePolicy, OPTION_NAMES, Options, PendingLimitPolicy};
pub use registry::{common_device, device_of};
pub use shared::{Compiled, Runtime, Shared};
pub use state::{DeviceState, Garbage, Owner};
pub use table::Value;
pub use work::Results;

use crate::ir::Workspace;
use parking_lot::{Mutex, MutexGuard};

/// See the module's documentation.
pub struct Device {
    state: Mutex<DeviceState>,
    /// Held by the one sync that is under way. Recording needs only `state`, so a long compile stops nobody from it.
    order: Mutex<Workspace>,
}

impl Device {
    fn new(table: u32) -> Device {
        Device { state: Mutex::new(DeviceState::new(table)), order: Mutex::default() }
    }

    /// The lock for looking at tensors and recording. Never held while compiling, executing or copying.
    #[inline]
    pub fn state(&self) -> MutexGuard<'_, DeviceState> {
        self.state.lock()
    }

    /// The lock that puts the syncs of this device in order. Taken before `state`.
    pub fn order(&self) -> MutexGuard<'_, Workspace> {
        self.order.lock()
    }
}
