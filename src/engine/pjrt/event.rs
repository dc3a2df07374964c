//! An event of a plugin: something enqueued that will end, well or badly.

use super::api::{Api, Args, call, function};
use super::sys;
use crate::error::Result;

/// Owns a `PJRT_Event`.
pub struct Event {
    api: &'static Api,
    raw: *mut sys::PJRT_Event,
}

// SAFETY: PJRT events may be used from any thread.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// Takes an event over.
    ///
    /// # Safety
    /// `raw` is an event of this plugin that nobody else frees.
    pub unsafe fn new(api: &'static Api, raw: *mut sys::PJRT_Event) -> Event {
        Event { api, raw }
    }

    /// Whether it has ended. An event that cannot be asked counts as not ended, so that whoever cares waits for it.
    pub fn is_ready(&self) -> bool {
        let mut args = Args::<sys::PJRT_Event_IsReady_Args>::new(self.api);
        args.event = self.raw;
        call!(self.api, PJRT_Event_IsReady, args).is_ok() && args.is_ready
    }

    /// Blocks until it has ended. The status is asked for also when it is ready already: a failure is never lost.
    pub fn wait(&self) -> Result<()> {
        let mut args = Args::<sys::PJRT_Event_Await_Args>::new(self.api);
        args.event = self.raw;
        call!(self.api, PJRT_Event_Await, args)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if super::exit::is_exiting() {
            return;
        }
        let mut args = Args::<sys::PJRT_Event_Destroy_Args>::new(self.api);
        args.event = self.raw;
        let _ = call!(self.api, PJRT_Event_Destroy, args);
    }
}
