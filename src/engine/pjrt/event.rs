//! An event of a plugin: something enqueued that will end, well or badly.

use super::api::{Api, Args, call, function};
use super::sys;
use crate::error::Result;
use crate::types::SharedBytes;
use std::ffi::c_void;
use std::sync::Arc;

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

/// What a callback has to let go of.
struct Kept {
    api: &'static Api,
    _memory: Arc<dyn SharedBytes>,
}

impl Event {
    /// Lets go of `memory` when the event has ended, on whatever thread that is known.
    pub fn keep_until_ended(self, memory: Arc<dyn SharedBytes>) {
        let kept = Box::into_raw(Box::new(Kept { api: self.api, _memory: memory }));
        let mut args = Args::<sys::PJRT_Event_OnReady_Args>::new(self.api);
        args.event = self.raw;
        args.callback = Some(let_go);
        args.user_arg = kept.cast();
        // If the plugin does not take the callback, the memory is kept for good: nobody will say when it is free.
        let _ = call!(self.api, PJRT_Event_OnReady, args);
    }
}

/// Ends the keeping. How the event ended is no matter here: whoever reads the buffer is told.
unsafe extern "C" fn let_go(error: *mut sys::PJRT_Error, kept: *mut c_void) {
    // SAFETY: it is the box that `keep_until_ended` gave to this one callback, which the plugin calls once.
    let kept = unsafe { Box::from_raw(kept.cast::<Kept>()) };
    // SAFETY: the plugin gave us the error to own.
    let _ = unsafe { kept.api.check(error) };
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
