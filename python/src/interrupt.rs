//! Calls that may compile for long: Ctrl-C raises KeyboardInterrupt while they go on.

use crate::error::{error, message, with_message};
use crate::sys::*;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Time between two calls of Python's signal handlers while a thread waits.
pub const SIGNALS: Duration = Duration::from_millis(50);

/// Number of arrays whose operations compile for so long that another thread is worth its time: it takes some 30 us.
const MANY: u64 = 256;

/// Number of arrays that had been made when another thread made a call for the last time.
static MADE_BEFORE: AtomicU64 = AtomicU64::new(0);

/// Whether a computation was called for the first time since.
static HAS_NEW_CALL: AtomicBool = AtomicBool::new(false);

/// The latest computation that was called. Numbers of handles ascend.
static LATEST: AtomicU64 = AtomicU64::new(0);

/// Number of calls of other threads that go on. Later calls may wait for what they compile.
static GOING_ON: AtomicUsize = AtomicUsize::new(0);

/// A call of another thread.
struct GoesOn;

impl GoesOn {
    fn new() -> GoesOn {
        GOING_ON.fetch_add(1, Ordering::Relaxed);
        GoesOn
    }
}

impl Drop for GoesOn {
    fn drop(&mut self) {
        GOING_ON.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether calls of other threads go on.
pub fn goes_on() -> bool {
    GOING_ON.load(Ordering::Relaxed) > 0
}

/// Notes a call of a computation, whose operations no array counts.
pub fn note_call(computation: u64) {
    if LATEST.fetch_max(computation, Ordering::Relaxed) < computation {
        HAS_NEW_CALL.store(true, Ordering::Relaxed);
    }
}

/// Whether a computation was called whose operations may not be compiled yet.
pub fn has_new_call() -> bool {
    HAS_NEW_CALL.load(Ordering::Relaxed)
}

/// Whether the next call may compile for long.
fn may_be_long() -> bool {
    let made = crate::array::made();
    let is_new = HAS_NEW_CALL.swap(false, Ordering::Relaxed);
    let is_many = made.wrapping_sub(MADE_BEFORE.load(Ordering::Relaxed)) >= MANY;
    if !is_new && !is_many && !goes_on() {
        return false;
    }
    MADE_BEFORE.store(made, Ordering::Relaxed);
    true
}

/// A status other than OK, as an exception.
pub struct Failure {
    pub status: lxla_status,
    pub exception: PyErr,
}

/// Calls the library without the interpreter's lock, for what it may compile before it returns. If that may take long,
/// another thread makes the call, and Python's signal handlers are called meanwhile. If one raises, the call goes on, and
/// its result is in the cache later.
pub fn call(py: Python<'_>, call: impl FnOnce() -> lxla_status + Send + 'static) -> PyResult<Result<(), Failure>> {
    let is_long = !crate::trace::is_tracing() && may_be_long();
    called(py, is_long, call)
}

fn called(
    py: Python<'_>,
    is_long: bool,
    call: impl FnOnce() -> lxla_status + Send + 'static,
) -> PyResult<Result<(), Failure>> {
    if crate::trace::is_tracing() || !is_long {
        return Ok(match py.detach(call) {
            LXLA_OK => Ok(()),
            status => Err(Failure { status, exception: error(status) }),
        });
    }
    let ((sender, receiver), going_on) = (channel(), GoesOn::new());
    std::thread::Builder::new().name("lazyxla-python".to_string()).spawn(move || {
        let _going_on = going_on;
        let status = call();
        // The message belongs to the thread. Nobody waits for it after an interrupt.
        let _ = sender.send((status, if status == LXLA_OK { String::new() } else { message() }));
    })?;
    let mut receiver = Some(receiver);
    loop {
        let waiting = receiver.take().expect("put back below");
        let (answer, waiting) = py.detach(move || (waiting.recv_timeout(SIGNALS), waiting));
        match answer {
            Ok((LXLA_OK, _)) => return Ok(Ok(())),
            Ok((status, message)) => return Ok(Err(Failure { status, exception: with_message(status, &message) })),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                let lost = "the thread of a call to the library ended before the call did";
                return Err(pyo3::exceptions::PyRuntimeError::new_err(lost));
            }
        }
        receiver = Some(waiting);
        py.check_signals()?;
    }
}

/// Like [`check`], for a call that compiles: another thread makes it in any case.
pub fn check_long(py: Python<'_>, library: impl FnOnce() -> lxla_status + Send + 'static) -> PyResult<()> {
    called(py, true, library)?.map_err(|failure| failure.exception)
}

/// Like [`call`], with an exception for every status other than OK.
pub fn check(py: Python<'_>, library: impl FnOnce() -> lxla_status + Send + 'static) -> PyResult<()> {
    call(py, library)?.map_err(|failure| failure.exception)
}
