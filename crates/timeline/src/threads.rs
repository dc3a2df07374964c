//! The threads of a timeline: their names, and the spans that they have begun.

use rustc_hash::FxHashMap;
use std::cell::Cell;

/// Number of threads beyond which those that have begun nothing are forgotten.
const MOST: usize = 4096;

thread_local! {
    static ID: Cell<u32> = const { Cell::new(0) };
}

/// Id of the calling thread in the operating system.
pub fn thread_id() -> u32 {
    ID.with(|id| {
        if id.get() == 0 {
            // The link names the thread as `123/task/456`.
            let link = std::fs::read_link("/proc/thread-self").ok();
            let number = link.and_then(|path| path.file_name()?.to_str()?.parse().ok());
            id.set(number.unwrap_or_else(std::process::id));
        }
        id.get()
    })
}

/// Name of the calling thread.
fn name() -> String {
    let read = std::fs::read_to_string("/proc/thread-self/comm");
    read.map_or_else(|_| "thread".to_string(), |name| name.trim_end().to_string())
}

/// Spans that a thread has begun.
#[derive(Default)]
pub struct Thread {
    pub name: String,
    /// When it recorded the first operation since the last event.
    pub recording: Option<u64>,
    /// When it pushed the labels that it has not popped, since the timeline is on.
    pub labels: Vec<u64>,
}

/// The threads that have events.
#[derive(Default)]
pub struct Threads(FxHashMap<u32, Thread>);

impl Threads {
    /// The calling thread. `named` is called with its id and name when it is seen for the first time.
    pub fn this(&mut self, named: impl FnOnce(u32, &str)) -> &mut Thread {
        let id = thread_id();
        if self.0.len() >= MOST && !self.0.contains_key(&id) {
            self.0.retain(|_, thread| thread.recording.is_some() || !thread.labels.is_empty());
        }
        self.0.entry(id).or_insert_with(|| {
            let name = name();
            named(id, &name);
            Thread { name, ..Thread::default() }
        })
    }

    /// Removes all threads.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// All threads, with their ids.
    pub fn all(&self) -> impl Iterator<Item = (u32, &Thread)> {
        self.0.iter().map(|(&id, thread)| (id, thread))
    }
}
