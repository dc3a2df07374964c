//! Runs deeply recursive work (nested computations) on a stack that is large enough. The stacks of callers' threads
//! differ: 8 MB for the main thread, 1 MB for a JVM thread.

use crate::call;
use crate::error;
use crate::error::Result;
use crate::threads::Limits;
use parking_lot::Mutex;

/// Maximum nesting depth of computations. XLA's compile time is quadratic in the depth, and XLA recurses on threads
/// whose stack size this library does not control: at this depth calls, scans and branches compile and run on every
/// plugin that was tested.
pub const MOST_DEPTH: usize = 1000;

/// Work up to this depth may run on the caller's stack.
pub const SHALLOW: usize = 16;

/// Runs `work` on a new thread with a stack of `bytes` bytes and waits for it. The stack is reserved and takes memory
/// only as it is used. Returns `work`, not started, if the thread cannot be created.
fn on_thread<T: Send, F: FnOnce() -> T + Send>(bytes: usize, work: F) -> std::result::Result<T, F> {
    let (call, limits) = (call::current(), Limits::current());
    let work = Mutex::new(Some(work));
    let done = std::thread::scope(|scope| {
        let named = std::thread::Builder::new().name("lazyxla-deep".to_string()).stack_size(bytes);
        let run = || {
            // Marks this thread as inside the ABI call: the guard reports its panic, and the panic hook does not print
            // it.
            call::set_current(call);
            limits.set();
            let work = work.lock().take();
            work.map(|work| work())
        };
        named.spawn_scoped(scope, run).ok().map(|thread| match thread.join() {
            Ok(made) => made,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    });
    match done.flatten() {
        Some(made) => Ok(made),
        None => Err(work.into_inner().expect("a thread that was not started took nothing")),
    }
}

/// Runs `work` on a stack of `bytes` bytes. If there is no memory for it, work of depth up to [`SHALLOW`] runs on the
/// caller's stack; deeper work fails with RESOURCE_EXHAUSTED.
pub fn with_stack<T: Send>(bytes: usize, depth: usize, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    match on_thread(bytes, work) {
        Ok(made) => made,
        Err(work) if depth <= SHALLOW => work(),
        Err(_) => Err(error!(
            ResourceExhausted,
            "computations call each other {depth} deep; there is no memory for a stack of {bytes} bytes, or no thread"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    fn recurse(depth: usize) -> usize {
        let frame = std::hint::black_box([depth; 512]);
        if depth == 0 { 0 } else { recurse(depth - 1) + frame[0] - depth + 1 }
    }

    #[test]
    fn deep_work_has_room_and_what_cannot_have_it_is_refused() {
        // 4 KB per frame: 40 MB.
        assert_eq!(with_stack(256 << 20, 10_000, || Ok(recurse(10_000))).unwrap(), 10_000);
        assert_eq!(with_stack(1 << 60, SHALLOW, || Ok(7)).unwrap(), 7);
        assert_eq!(with_stack(1 << 60, SHALLOW + 1, || Ok(7)).unwrap_err().code, Code::ResourceExhausted);
        let panicking = || with_stack::<()>(1 << 20, 1, || panic!("planted"));
        assert!(std::panic::catch_unwind(panicking).is_err());
    }
}
