//! The library's log. Off until someone listens; the library itself never prints.

use parking_lot::{Condvar, Mutex, RwLock};
use std::cell::Cell;
use std::ffi::{CStr, CString};
use std::sync::Arc;

/// How much a message matters. The numbers are those of the C contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Something failed and nobody was told otherwise.
    Error = 1,
    /// Something is not as asked for, and work goes on.
    Warning = 2,
    /// What is going on.
    Information = 3,
}

/// Who listens.
pub type Sink = Box<dyn Fn(Level, &CStr) + Send + Sync>;

/// Someone who listens, and the calls of it that are under way.
struct Listener {
    sink: Sink,
    running: Mutex<usize>,
    ended: Condvar,
}

static LISTENER: RwLock<Option<Arc<Listener>>> = RwLock::new(None);

/// Sends the log there from now on. Waits for calls of the sink before that other threads are in, so that nothing of it is
/// used any more; not where this thread is in such a call itself, which could then wait for its own end, or for another
/// thread's that waits for this one.
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
    /// The function of the ABI that this thread is in.
    static CALL: Cell<Option<&'static str>> = const { Cell::new(None) };
    /// How many calls of a sink this thread is in.
    static LISTENING: Cell<usize> = const { Cell::new(0) };
}

/// Says that this thread enters a function of the ABI, or leaves it; gives the function that it was in before.
#[inline]
pub fn set_call(function: Option<&'static str>) -> Option<&'static str> {
    CALL.with(|call| call.replace(function))
}

/// The function of the ABI that this thread is in.
pub fn current_call() -> Option<&'static str> {
    CALL.try_with(Cell::get).ok().flatten()
}

/// A call of a sink, from its begin to its end.
struct Running(Arc<Listener>);

impl Running {
    fn start() -> Option<Running> {
        // Counted under the lock, so that whoever takes the listener away sees the call.
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

/// Tells whoever listens; the words are put together only if someone does.
pub fn log(level: Level, message: impl FnOnce() -> String) {
    if let Some(running) = Running::start()
        && let Ok(text) = CString::new(message().replace('\0', " "))
    {
        (running.0.sink)(level, &text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;

    /// One test, since the listener is the process's.
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
