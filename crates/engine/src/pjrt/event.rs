//! An event of a plugin, which is triggered when enqueued work has ended, with success or an error.

use super::api::{Api, Args, call, function, threw};
use super::sys;
use crate::Tell;
use crate::exceptions::catching;
use base::error::{Error, Result};
use base::types::SharedBytes;
use parking_lot::{Condvar, Mutex};
use std::any::Any;
use std::ffi::c_void;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Number of times that a thread asks whether work has ended, before it blocks: at least 50 us.
const QUESTIONS: u32 = 25;

/// Time from one question to the next.
const PAUSE: Duration = Duration::from_micros(2);

/// Owns a `PJRT_Event`.
pub struct Event {
    api: &'static Api,
    raw: *mut sys::PJRT_Event,
    /// Made by the first wait with a limit, for all of them: the plugin keeps a callback until the event is triggered.
    signal: OnceLock<Arc<Signal>>,
}

// SAFETY: PJRT events may be used from any thread.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// Takes ownership of an event.
    ///
    /// # Safety
    /// `raw` is an event of this plugin that is not freed elsewhere.
    pub unsafe fn new(api: &'static Api, raw: *mut sys::PJRT_Event) -> Event {
        Event { api, raw, signal: OnceLock::new() }
    }

    /// Whether the work has ended. If the status cannot be queried, returns false, so that callers wait for the event.
    pub fn is_ready(&self) -> bool {
        let mut args = Args::<sys::PJRT_Event_IsReady_Args>::new(self.api);
        args.event = self.raw;
        call!(self.api, PJRT_Event_IsReady, args).is_ok() && args.is_ready
    }

    /// Blocks until the work has ended, and returns its status. The status is also queried if the event is ready, so
    /// that no error is lost.
    pub fn wait(&self) -> Result<()> {
        self.is_ready_soon();
        let mut args = Args::<sys::PJRT_Event_Await_Args>::new(self.api);
        args.event = self.raw;
        call!(self.api, PJRT_Event_Await, args)
    }

    /// Returns whether the work has ended, or ends within a short time, for which this thread asks again and again: to wake
    /// a thread that blocks takes as long as a small program.
    fn is_ready_soon(&self) -> bool {
        // A number of questions, not a time: the tests of faults count the calls of the plugin.
        (0..QUESTIONS).any(|_| {
            let is_ready = self.is_ready();
            let start = Instant::now();
            while !is_ready && start.elapsed() < PAUSE {
                std::hint::spin_loop();
            }
            is_ready
        })
    }

    /// Blocks until the work has ended, at most until `deadline`. Returns whether it has ended.
    pub fn has_ended_by(&self, deadline: Instant) -> bool {
        if Instant::now() >= deadline {
            return self.is_ready();
        }
        if self.is_ready_soon() {
            return true;
        }
        let signal = self.signal.get_or_init(|| {
            let signal = Arc::new(Signal::default());
            // A plugin that refuses the callback drops the value, which raises the flag.
            let _ = self.drop_when_ended(Box::new(RaisedByDrop(signal.clone())));
            signal
        });
        let is_raised = signal.is_raised_by(deadline);
        if is_raised && !self.is_ready() {
            // The plugin refused the callback: there is no wait with a limit.
            let _ = self.wait();
        }
        is_raised
    }
}

/// A flag that a callback of the plugin raises.
#[derive(Default)]
struct Signal {
    is_raised: Mutex<bool>,
    raised: Condvar,
}

impl Signal {
    /// Blocks until the flag is raised, at most until `deadline`. Returns whether it is.
    fn is_raised_by(&self, deadline: Instant) -> bool {
        let mut is_raised = self.is_raised.lock();
        while !*is_raised && !self.raised.wait_until(&mut is_raised, deadline).timed_out() {}
        *is_raised
    }
}

/// Raises the flag when it is dropped.
struct RaisedByDrop(Arc<Signal>);

impl Drop for RaisedByDrop {
    fn drop(&mut self) {
        *self.0.is_raised.lock() = true;
        self.0.raised.notify_all();
    }
}

/// Work of a callback that the plugin calls when an event is triggered.
struct WhenEnded {
    api: &'static Api,
    /// Dropped after `tell` was called.
    kept: Box<dyn Any + Send>,
    tell: Option<Tell>,
}

impl Event {
    /// Keeps `memory` alive until the event is triggered. It is dropped on the thread that runs the callback; at once,
    /// with an error, if the plugin does not accept the callback.
    pub fn keep_until_ended(&self, memory: Arc<dyn SharedBytes>) -> Result<()> {
        self.drop_when_ended(Box::new(memory))
    }

    /// Drops a value when the event is triggered, on the thread that runs the callback; at once, with an error, if the
    /// plugin does not accept the callback.
    pub fn drop_when_ended(&self, value: Box<dyn Any + Send>) -> Result<()> {
        let when = WhenEnded { api: self.api, kept: value, tell: None };
        self.call_when_ended(Box::new(when)).map_err(|(error, _)| error)
    }

    /// Calls `tell` with the event's status when the event is triggered, on the thread that runs the callback. Waits
    /// here if the plugin does not accept the callback.
    pub fn tell_when_ended(self, tell: Tell) {
        let (api, event) = (self.api, Arc::new(self));
        // The callback destroys the event, as in JAX: a plugin may need it until then.
        let when = WhenEnded { api, kept: Box::new(event.clone()), tell: Some(tell) };
        if let Err((_, Some(when))) = event.call_when_ended(Box::new(when))
            && let Some(tell) = when.tell
        {
            tell(event.wait());
        }
    }

    /// Passes `when` to a callback of the plugin. If the plugin does not accept the callback, returns why, with `when`;
    /// without it after an exception, when nobody knows whether the plugin will call the callback.
    fn call_when_ended(&self, when: Box<WhenEnded>) -> std::result::Result<(), (Error, Option<Box<WhenEnded>>)> {
        let when = Box::into_raw(when);
        let mut args = Args::<sys::PJRT_Event_OnReady_Args>::new(self.api);
        args.event = self.raw;
        args.callback = Some(ended);
        args.user_arg = when.cast();
        let args = args.as_mut_ptr();
        let refused = match function!(self.api, PJRT_Event_OnReady) {
            // SAFETY: the arguments are the function's own, and outlive the call.
            Ok(function) => unsafe {
                let called = catching(move || function(args));
                self.api.check(called.map_err(|thrown| (threw("PJRT_Event_OnReady", thrown), None))?)
            },
            Err(missing) => Err(missing),
        };
        // SAFETY: the box from above, which the plugin does not pass to a callback that it refused.
        refused.map_err(|error| (error, Some(unsafe { Box::from_raw(when) })))
    }
}

/// Callback of the plugin. Without `tell`, the status is ignored: readers of the buffer get it.
unsafe extern "C" fn ended(error: *mut sys::PJRT_Error, when: *mut c_void) {
    // SAFETY: this is the box that `call_when_ended` passed to this callback, which the plugin calls once.
    let WhenEnded { api, kept, tell } = *unsafe { Box::from_raw(when.cast::<WhenEnded>()) };
    // SAFETY: the plugin transferred ownership of the error.
    let outcome = unsafe { api.check(error) };
    if let Some(tell) = tell {
        tell(outcome);
    }
    drop(kept);
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
