//! The library's log. Disabled until a sink is set. The library itself prints nothing, except for compiles where the
//! environment variable LXLA_LOG_COMPILES asks for them and there is no sink.

use parking_lot::{Condvar, Mutex, RwLock};
use std::cell::Cell;
use std::ffi::{CStr, CString};
use std::sync::Arc;

/// Severity of a message. The numbers are those of the C ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// A failure that is not reported in any other way.
    Error = 1,
    /// Something is not as requested, but work continues.
    Warning = 2,
    /// Progress information.
    Information = 3,
}

/// Function that receives the messages.
pub type Sink = Box<dyn Fn(Level, &CStr) + Send + Sync>;

/// A sink with the number of its calls in progress.
struct Listener {
    sink: Sink,
    running: Mutex<usize>,
    ended: Condvar,
}

static LISTENER: RwLock<Option<Arc<Listener>>> = RwLock::new(None);

/// Sets or removes the sink. Waits for calls of the previous sink on other threads, so that it is unused afterwards.
/// Does not wait if this thread is itself in a call of a sink: it could wait for its own end, or for a thread that
/// waits for this one.
pub fn set_sink(sink: Option<Sink>) {
    let listener = sink.map(|sink| Arc::new(Listener { sink, running: Mutex::new(0), ended: Condvar::new() }));
    let before = std::mem::replace(&mut *LISTENER.write(), listener);
    if let Some(before) = before
        && LISTENING.with(Cell::get) == 0
    {
        let mut running = before.running.lock();
        while *running > 0 {
            before.ended.wait(&mut running);
        }
    }
}

thread_local! {
    /// Number of sink calls in progress on this thread.
    static LISTENING: Cell<usize> = const { Cell::new(0) };
}

/// Marks a sink call as in progress until it is dropped.
struct Running(Arc<Listener>);

impl Running {
    fn start() -> Option<Running> {
        // Counted under the lock, so that a thread that replaces the listener sees the call.
        let known = LISTENER.read();
        let listener = known.as_ref()?.clone();
        *listener.running.lock() += 1;
        let _ = LISTENING.try_with(|count| count.set(count.get() + 1));
        Some(Running(listener))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = LISTENING.try_with(|count| count.set(count.get() - 1));
        *self.0.running.lock() -= 1;
        self.0.ended.notify_all();
    }
}

/// Sends a message to the sink. `message` is called only if there is a sink; returns whether there is.
pub fn log(level: Level, message: impl FnOnce() -> String) -> bool {
    let Some(running) = Running::start() else { return false };
    if let Ok(text) = CString::new(message().replace('\0', " ")) {
        (running.0.sink)(level, &text);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;

    /// A single test, because the listener is global to the process.
    #[test]
    fn taking_a_sink_away_waits_for_its_calls_but_not_for_its_own() {
        static IS_IN: AtomicBool = AtomicBool::new(false);
        static ENDED: AtomicUsize = AtomicUsize::new(0);
        set_sink(Some(Box::new(|_, _| {
            IS_IN.store(true, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(50));
            ENDED.fetch_add(1, Ordering::SeqCst);
        })));
        std::thread::scope(|s| {
            s.spawn(|| log(Level::Warning, || "slow".to_string()));
            while !IS_IN.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            set_sink(None);
            assert_eq!(ENDED.load(Ordering::SeqCst), 1);
        });
        set_sink(Some(Box::new(|_, _| set_sink(None))));
        log(Level::Error, || "unset from within".to_string());
        log(Level::Error, || panic!("nobody listens"));
    }
}
