//! Background writer: one thread for the process, fed by a channel, with a limit on the bytes in flight.

use base::error;
use base::error::{Error, Result};
use crossbeam::channel::{Sender, unbounded};
use parking_lot::{Condvar, Mutex};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// A save blocks while this many bytes are in flight. A single save may be larger.
const MOST_BYTES_IN_FLIGHT: u64 = 4 << 30;

/// Writes a file, and adds the bytes written to the counter.
pub type Write = Box<dyn FnOnce(&AtomicU64) -> Result<()> + Send>;

/// A queued save.
struct Job {
    write: Write,
    size: u64,
    ticket: Arc<Ticket>,
}

/// Progress and result of an asynchronous save.
pub struct Ticket {
    outcome: Mutex<Option<Result<()>>>,
    ended: Condvar,
    written: AtomicU64,
    total: u64,
}

impl Ticket {
    /// Whether the save has finished or failed.
    pub fn is_done(&self) -> bool {
        self.outcome.lock().is_some()
    }

    /// Waits until the save has ended, and returns its result.
    pub fn wait(&self) -> Result<()> {
        let mut outcome = self.outcome.lock();
        loop {
            match &*outcome {
                Some(ended) => return ended.clone(),
                None => self.ended.wait(&mut outcome),
            }
        }
    }

    /// Bytes of tensors passed to the file system so far, and in total.
    pub fn progress(&self) -> (u64, u64) {
        (self.written.load(Ordering::Relaxed), self.total)
    }

    fn end(&self, outcome: Result<()>) {
        *self.outcome.lock() = Some(outcome);
        self.ended.notify_all();
    }
}

/// Bytes of the saves in flight, and a condition variable that is notified when they decrease.
struct Load {
    bytes: Mutex<u64>,
    less: Condvar,
}

/// Ticket of the save that is being written, and the number of saves that have ended.
static CURRENT: Mutex<(Option<Arc<Ticket>>, u64)> = Mutex::new((None, 0));

static LOAD: Load = Load { bytes: Mutex::new(0), less: Condvar::new() };
static QUEUE: OnceLock<Sender<Job>> = OnceLock::new();

/// Saves in flight, with the absolute paths of their files.
static PENDING: Mutex<Vec<(PathBuf, Arc<Ticket>)>> = Mutex::new(Vec::new());

/// Waits until no save to this file is in flight, so that none of them replaces a file written after this call.
pub fn wait_for(path: &Path) {
    let earlier: Vec<Arc<Ticket>> =
        PENDING.lock().iter().filter(|(pending, _)| pending == path).map(|(_, ticket)| ticket.clone()).collect();
    for ticket in earlier {
        // The failure is reported to the owner of the ticket.
        let _ = ticket.wait();
    }
}

fn forget(ticket: &Arc<Ticket>) {
    PENDING.lock().retain(|(_, pending)| !Arc::ptr_eq(pending, ticket));
}

/// Queues a save of `total` bytes to an absolute path. Blocks while too many bytes are in flight.
pub fn enqueue(path: PathBuf, total: u64, write: Write) -> Result<Arc<Ticket>> {
    // At least 1, so that an empty save also counts as one in flight.
    let size = total.max(1);
    let ticket =
        Arc::new(Ticket { outcome: Mutex::new(None), ended: Condvar::new(), written: AtomicU64::new(0), total });
    {
        let mut bytes = LOAD.bytes.lock();
        while *bytes > 0 && *bytes + size > MOST_BYTES_IN_FLIGHT {
            LOAD.less.wait(&mut bytes);
        }
        *bytes += size;
    }
    PENDING.lock().push((path, ticket.clone()));
    let sent = queue().and_then(|queue| {
        queue
            .send(Job { write, size, ticket: ticket.clone() })
            .map_err(|_| error!(Internal, "the background writer has ended"))
    });
    if sent.is_err() {
        forget(&ticket);
        unload(size);
    }
    sent.map(|()| ticket)
}

fn unload(size: u64) {
    *LOAD.bytes.lock() -= size;
    LOAD.less.notify_all();
}

/// Returns the channel to the writer. The first save starts the writer's thread.
fn queue() -> Result<&'static Sender<Job>> {
    if let Some(queue) = QUEUE.get() {
        return Ok(queue);
    }
    let (sender, receiver) = unbounded::<Job>();
    let writer = move || {
        for Job { write, size, ticket } in receiver {
            CURRENT.lock().0 = Some(ticket.clone());
            let write = std::panic::AssertUnwindSafe(|| write(&ticket.written));
            let outcome = std::panic::catch_unwind(write).unwrap_or_else(|_| Err(writer_panicked()));
            ticket.end(outcome);
            forget(&ticket);
            let mut current = CURRENT.lock();
            *current = (None, current.1 + 1);
            drop(current);
            unload(size);
        }
    };
    let named = std::thread::Builder::new().name("lazyxla-save".to_string());
    named.spawn(writer).map_err(|e| error!(Unavailable, "cannot start the background writer: {e}"))?;
    engine::register_last_work(settle, progress);
    // If another thread was first, its channel is kept; this one closes, and its writer thread ends.
    Ok(QUEUE.get_or_init(|| sender))
}

fn writer_panicked() -> Error {
    error!(Panic, "internal error: the background writer panicked")
}

/// Called at process exit: waits for all saves in flight, without a time limit. The exit handler ends the wait when
/// [`progress`] stalls.
fn settle() {
    let mut bytes = LOAD.bytes.lock();
    while *bytes > 0 {
        LOAD.less.wait(&mut bytes);
    }
}

/// Returns a number that changes while saves make progress.
fn progress() -> u64 {
    let current = CURRENT.lock();
    let written = current.0.as_ref().map_or(0, |ticket| ticket.progress().0);
    written.wrapping_add(current.1 << 48)
}
