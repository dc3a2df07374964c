//! The library's log. Off until someone listens; the library itself never prints.

use parking_lot::RwLock;
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

static SINK: RwLock<Option<Arc<Sink>>> = RwLock::new(None);

/// Sends the log there from now on.
pub fn set_sink(sink: Option<Sink>) {
    *SINK.write() = sink.map(Arc::new);
}

thread_local! {
    /// The function of the ABI that this thread is in.
    static CALL: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Says that this thread enters a function of the ABI, or leaves it.
#[inline]
pub fn set_call(function: Option<&'static str>) {
    CALL.with(|call| call.set(function));
}

/// The function of the ABI that this thread is in.
pub fn current_call() -> Option<&'static str> {
    CALL.try_with(Cell::get).ok().flatten()
}

/// Tells whoever listens; the words are put together only if someone does.
pub fn log(level: Level, message: impl FnOnce() -> String) {
    let sink = SINK.read().clone();
    if let Some(sink) = sink
        && let Ok(text) = CString::new(message().replace('\0', " "))
    {
        sink(level, &text);
    }
}
