//! Work that recurses as deep as computations call each other, on a stack that is large enough. The callers' threads have
//! stacks of any size: the main thread 8 MB, a thread of the JVM 1 MB.

use crate::error;
use crate::error::Result;
use crate::log;
use parking_lot::Mutex;

/// How deep computations may call each other. XLA's compiler takes the square of the depth in time, and recurses on threads
/// whose stacks are not ours: at this depth calls, scans and branches compile and run on every plugin that was tried.
pub const MOST_DEPTH: usize = 1000;

/// Up to this depth work may stay on the stack of its caller.
pub const SHALLOW: usize = 16;

/// Does this on a thread with a stack of so many bytes, and waits for it. The stack is reserved, and takes memory as it is
/// used. RESOURCE_EXHAUSTED if there can be no such thread; then the work was not begun, and is handed back.
fn on_thread<T: Send, F: FnOnce() -> T + Send>(bytes: usize, work: F) -> std::result::Result<T, F> {
    let call = log::current_call();
    let work = Mutex::new(Some(work));
    let done = std::thread::scope(|scope| {
        let named = std::thread::Builder::new().name("lazyxla-deep".to_string()).stack_size(bytes);
        let run = || {
            // What panics here is reported by the caller's guard, and not printed.
            log::set_call(call);
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

/// Does this on a stack of `bytes`. Where there can be none, what is [`SHALLOW`] is done on the caller's.
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
        // 4 KB a frame: 40 MB.
        assert_eq!(with_stack(256 << 20, 10_000, || Ok(recurse(10_000))).unwrap(), 10_000);
        assert_eq!(with_stack(1 << 60, SHALLOW, || Ok(7)).unwrap(), 7);
        assert_eq!(with_stack(1 << 60, SHALLOW + 1, || Ok(7)).unwrap_err().code, Code::ResourceExhausted);
        let panicking = || with_stack::<()>(1 << 20, 1, || panic!("planted"));
        assert!(std::panic::catch_unwind(panicking).is_err());
    }
}
