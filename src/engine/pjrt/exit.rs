//! Leaving the process. A plugin's static destructors run while its worker threads may still be computing, which
//! crashes; so a handler, registered after the plugin was loaded and therefore run before those destructors, closes
//! the door to the plugin and waits for what is under way.
//!
//! Not for ever: a step may never end. After [`DEFAULT_LIMIT`], or as many seconds as [`LIMIT_VARIABLE`] says, without a byte
//! written by a save, the process ends by `_exit` with the status that it was leaving with. Handlers that were registered
//! before ours, and the plugin's destructors, which would crash beside its running threads, are left out then; stdio's
//! buffers are written.

use crate::error;
use crate::error::Result;
use crate::log::{Level, log};
use parking_lot::Mutex;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

static EXITING: AtomicBool = AtomicBool::new(false);
/// The process in which the handler was registered.
static PROCESS: AtomicU32 = AtomicU32::new(0);
static INSIDE: AtomicUsize = AtomicUsize::new(0);
static LAST_WORK: Mutex<Vec<LastWork>> = Mutex::new(Vec::new());
static CLIENTS: Mutex<Vec<Weak<dyn Settle>>> = Mutex::new(Vec::new());

/// Something that has work in flight.
pub trait Settle: Send + Sync {
    /// Blocks until it has none.
    fn settle(&self);
}

/// How long leaving the process waits for what is under way.
const DEFAULT_LIMIT: Duration = Duration::from_secs(60);
/// The environment variable that gives another limit, in seconds.
const LIMIT_VARIABLE: &str = "LXLA_EXIT_TIMEOUT_SECONDS";
/// How long writing stdio's buffers may take after that: a thread that never ends may hold their locks.
const FLUSH_LIMIT: Duration = Duration::from_secs(1);
/// How often the time and the progress are looked at.
const TICK: Duration = Duration::from_millis(20);

/// Work that the handler does while the plugin can still be used.
#[derive(Clone, Copy)]
struct LastWork {
    run: fn(),
    /// A number that changes as the work goes on.
    progress: fn() -> u64,
}

/// A thread's presence inside the plugin.
pub struct Inside(());

/// Announces that this thread is about to call the plugin for work that must not be torn off.
pub fn enter() -> Result<Inside> {
    INSIDE.fetch_add(1, Ordering::SeqCst);
    let inside = Inside(());
    if is_exiting() {
        return Err(error!(FailedPrecondition, "the process is exiting"));
    }
    Ok(inside)
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Whether the exit handler has run: nothing of the plugin may be touched any more, not even to free it.
pub fn is_exiting() -> bool {
    EXITING.load(Ordering::SeqCst)
}

/// Makes the handler call `run` once, while the plugin can still be used. `progress` gives a number that changes as that goes
/// on: as long as it does, leaving is not cut off.
pub fn register_last_work(run: fn(), progress: fn() -> u64) {
    LAST_WORK.lock().push(LastWork { run, progress });
}

/// Makes the handler wait for this client's work too. Call after the client was made.
pub fn register<T: Settle + 'static>(client: &Arc<T>) {
    let mut clients = CLIENTS.lock();
    clients.retain(|known| known.strong_count() > 0);
    let client: Weak<T> = Arc::downgrade(client);
    clients.push(client);
    drop(clients);
    register_again();
}

/// A handler runs before the destructors of those statics only that existed when it was registered; and compilers make
/// some of theirs late. So it is registered again after whatever may have made some: it costs nothing beside a compile.
pub fn register_again() {
    PROCESS.store(std::process::id(), Ordering::SeqCst);
    // SAFETY: the handler is a plain function of this library, which is never unmapped.
    unsafe { on_exit(leave, std::ptr::null_mut()) };
}

unsafe extern "C" {
    /// glibc's atexit whose handler is told the status.
    fn on_exit(handler: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

extern "C" fn leave(status: c_int, _: *mut c_void) {
    // A panic must not leave an exit handler; there is nobody left to tell.
    let _ = std::panic::catch_unwind(|| {
        // A forked child has none of the threads whose work would be waited for.
        let forked = PROCESS.load(Ordering::SeqCst) != std::process::id();
        if is_exiting() || forked {
            return;
        }
        let last_work = LAST_WORK.try_lock_for(Duration::from_secs(1)).map(|mut list| std::mem::take(&mut *list));
        let last_work = last_work.unwrap_or_default();
        let limit = limit();
        let watch = Watch::start(status, limit, last_work.clone());
        last_work.into_iter().for_each(|work| (work.run)());
        EXITING.store(true, Ordering::SeqCst);
        let start = Instant::now();
        while INSIDE.load(Ordering::SeqCst) > 0 && (watch.is_some() || start.elapsed() < limit) {
            std::thread::sleep(Duration::from_micros(100));
        }
        // try_lock: a thread may have been killed by the host while it held the list.
        if let Some(clients) = CLIENTS.try_lock_for(Duration::from_secs(1)) {
            for client in clients.iter().filter_map(Weak::upgrade) {
                client.settle();
                // Never destroyed: its destructor would call the plugin.
                std::mem::forget(client);
            }
        }
        drop(watch);
    });
}

/// How long to wait: what the variable says, if that is a number of seconds.
fn limit() -> Duration {
    let given = std::env::var(LIMIT_VARIABLE).ok().and_then(|text| text.trim().parse().ok());
    given.map_or(DEFAULT_LIMIT, Duration::from_secs)
}

/// A thread that ends the process if the handler has not ended in time. The handler itself is blocked meanwhile: in the plugin,
/// which waits without a limit, or for a save.
struct Watch {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// None if there can be no such thread: then nothing but the wait for threads inside the plugin has a limit.
    fn start(status: c_int, limit: Duration, last_work: Vec<LastWork>) -> Option<Watch> {
        let ended = Arc::new(AtomicBool::new(false));
        let watched = ended.clone();
        let watch = move || {
            let progress = || last_work.iter().map(|work| (work.progress)()).fold(0, u64::wrapping_add);
            let (mut seen, mut since) = (progress(), Instant::now());
            while !watched.load(Ordering::SeqCst) {
                if since.elapsed() >= limit {
                    end(status, limit);
                }
                std::thread::park_timeout(TICK.min(limit));
                let now = progress();
                if now != seen {
                    (seen, since) = (now, Instant::now());
                }
            }
        };
        let thread = std::thread::Builder::new().name("lazyxla-exit".to_string()).spawn(watch).ok();
        thread.map(|thread| Watch { ended, thread: Some(thread) })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        // It ends before the process does: no thread of ours runs beside the destructors that come next.
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// Ends the process without its remaining handlers.
fn end(status: c_int, limit: Duration) -> ! {
    log(Level::Error, || {
        format!("work was still under way {} s after the process began to leave; it ends now", limit.as_secs())
    });
    let flushed = Arc::new(AtomicBool::new(false));
    let done = flushed.clone();
    let _ = std::thread::Builder::new().spawn(move || {
        // SAFETY: a null stream means all of them.
        unsafe { libc::fflush(std::ptr::null_mut()) };
        done.store(true, Ordering::SeqCst);
    });
    let start = Instant::now();
    while !flushed.load(Ordering::SeqCst) && start.elapsed() < FLUSH_LIMIT {
        std::thread::sleep(Duration::from_millis(1));
    }
    // SAFETY: nothing of this process goes on behind it.
    unsafe { libc::_exit(status) }
}
