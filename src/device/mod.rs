//! A lazy device: its tensors, its trace, and the one lock over both. Devices are never freed, so that a handle can be
//! looked up without counting references; the device of an environment that is gone serves the next one.

mod handle;
mod options;
mod registry;
mod shared;
mod state;
mod table;

pub use handle::TensorHandle;
pub use options::{MixedDevicePolicy, OPTION_NAMES, Options, PendingLimitPolicy};
pub use registry::{common_device, device_of};
pub use shared::{Compiled, Shared};
pub use state::{DeviceState, Garbage, Owner};
pub use table::Value;

use crate::error;
use crate::error::Result;
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

    /// [`Device::state`], with room to record one more operation. An error if nothing may be recorded: the environment was
    /// released, or too much is pending already.
    #[inline]
    pub fn to_record(&'static self) -> Result<MutexGuard<'static, DeviceState>> {
        let state = self.state();
        if state.has_room() { Ok(state) } else { self.make_room(state) }
    }

    #[cold]
    fn make_room(
        &'static self,
        mut state: MutexGuard<'static, DeviceState>,
    ) -> Result<MutexGuard<'static, DeviceState>> {
        state.check_open()?;
        state.forget_dead();
        let shared = state.owner()?.shared.clone();
        if !state.has_room() && shared.options.pending_limit_policy() == PendingLimitPolicy::Step {
            drop(state);
            (shared.step)(self)
                .map_err(|e| e.context("max_pending_ops was reached, and the step that it set off failed"))?;
            state = self.state();
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

    /// The lock that puts the syncs of this device in order. Taken before `state`.
    pub fn order(&self) -> MutexGuard<'_, Workspace> {
        self.order.lock()
    }
}
