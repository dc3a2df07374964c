//! Guard around every ABI function: converts panics to a status, stores the error message of the thread, and rejects
//! calls in a forked child before they can acquire a lock.

use super::results::Outputs;
use super::types::lxla_status;
use base::call;
use base::error;
use base::error::{Error, Result, quoted};
use base::label;
use engine::exit;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// Message of a call by a thread that is in a kernel, as far as the library knows.
const IN_KERNEL: &str =
    "a kernel called it, or this thread left a kernel by longjmp; a kernel must not call the library";

thread_local! {
    /// Message of the thread's last failed call.
    static MESSAGE: RefCell<Option<CString>> = const { RefCell::new(None) };
}

static FORKED: AtomicBool = AtomicBool::new(false);
static PREPARED: AtomicBool = AtomicBool::new(false);
static PREPARE: Once = Once::new();

/// Runs the body of an ABI function: converts errors and panics to a status, records the message, and refuses to run
/// in a forked child.
#[inline]
pub fn guard(function: &'static str, body: impl FnOnce() -> Result<()>) -> lxla_status {
    if !PREPARED.load(Ordering::Acquire) {
        prepare();
    }
    if FORKED.load(Ordering::Relaxed) {
        return fail(function, error!(Forked, "the process was forked; the library works in the parent only"));
    }
    // Unwind safety: state changes only after everything that may panic, or through types that roll back on drop.
    // Destructors that the call deferred have run before the error is stored: they may call the library and fail.
    let outcome = call::within(function, || catch_unwind(AssertUnwindSafe(body)));
    match outcome {
        Some(Ok(Ok(()))) => 0,
        Some(Ok(Err(error))) => fail(function, error),
        Some(Err(payload)) => fail(function, error!(Panic, "internal error: {}", panic_text(&*payload))),
        None => fail(function, error!(FailedPrecondition, "{IN_KERNEL}")),
    }
}

/// Runs the body of a function with output arguments. All outputs are validated before the body runs, and written only
/// if it succeeds.
#[inline]
pub fn guard_into<V>(
    function: &'static str,
    outputs: impl Outputs<V>,
    body: impl FnOnce() -> Result<V>,
) -> lxla_status {
    guard(function, || {
        outputs.check()?;
        outputs.set(body()?)
    })
}

#[cold]
fn fail(function: &str, error: Error) -> lxla_status {
    // Errors name the label under which the thread records.
    let label = label::current().path().map_or_else(String::new, |path| format!(" (label {})", quoted(&path)));
    set_message(format!("{function}: {}{label}", error.message).replace('\0', " "));
    // The outermost call holds no lock.
    if call::current().is_none() {
        exit::hold();
    }
    error.code as lxla_status
}

/// Sets the message of the calling thread's last failed call. The text has no NUL.
pub fn set_message(text: String) {
    // During thread exit the message is gone; the status still reports the error.
    let _ = MESSAGE.try_with(|message| *message.borrow_mut() = CString::new(text).ok());
}

fn panic_text(payload: &(dyn std::any::Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message")
}

/// Returns the message of the calling thread's last failed call, valid until its next failed call.
pub fn last_message() -> *const c_char {
    let found = MESSAGE.try_with(|message| message.borrow().as_deref().unwrap_or(c"").as_ptr());
    found.unwrap_or(c"".as_ptr())
}

/// Runs once per process: installs a fork handler, and a panic hook that does not print panics that [`guard`]
/// reports.
#[cold]
fn prepare() {
    PREPARE.call_once(|| {
        // SAFETY: the handler only stores to an atomic, which is allowed in a forked child.
        unsafe { libc::pthread_atfork(None, None, Some(in_forked_child)) };
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            // The library never prints: its panics are returned as a status. Panics outside it go to the previous hook.
            if call::current().is_none() {
                previous(info);
            }
        }));
        PREPARED.store(true, Ordering::Release);
    });
}

extern "C" fn in_forked_child() {
    FORKED.store(true, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::Code;
    use std::ffi::CStr;

    fn message() -> String {
        // SAFETY: the pointer is valid until this thread's next failure.
        unsafe { CStr::from_ptr(last_message()) }.to_str().unwrap().to_string()
    }

    #[test]
    fn a_panic_becomes_a_status_with_its_words() {
        assert_eq!(guard("lxla_test", || panic!("planted")), Code::Panic as i32);
        assert_eq!(message(), "lxla_test: internal error: planted");
    }

    #[test]
    fn messages_stay_until_the_next_failure_and_belong_to_a_thread() {
        assert_eq!(guard("lxla_a", || Err(error!(NotFound, "no\0thing"))), Code::NotFound as i32);
        assert_eq!(guard("lxla_b", || Ok(())), 0);
        assert_eq!(message(), "lxla_a: no thing");
        assert_eq!(std::thread::spawn(message).join().unwrap(), "");
    }
}
