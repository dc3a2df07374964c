//! Process exit. A plugin's static destructors run while its worker threads may still be computing, which crashes. An
//! exit handler that is registered after the plugin was loaded, and therefore runs before those destructors, blocks new
//! calls of the plugin and waits for work in flight. Plugins create some static objects when a program first runs, in
//! threads of their own: `exit` destroys the thread-local objects of the calling thread before it calls handlers, so one
//! of the main thread registers the handler once more.
//!
//! The wait is limited, because a step may never end. After [`DEFAULT_LIMIT`], or the number of seconds in
//! [`LIMIT_VARIABLE`], without progress of a save, the process ends by `_exit` with its exit status. Handlers that were
//! registered before this one, and the plugin's destructors, which would crash while its threads are running, are
//! skipped in that case; stdio's buffers are flushed.
//!
//! Calls by other threads that fail meanwhile do not return ([`hold`]).

use base::error;
use base::error::Result;
use base::log::{Level, log};
use base::variables;
use parking_lot::Mutex;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

static EXITING: AtomicBool = AtomicBool::new(false);
/// Id of the process in which the handler was registered.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// Number of threads inside the plugin.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
static LAST_WORK: Mutex<Vec<LastWork>> = Mutex::new(Vec::new());
/// Called at the end of the handler.
static ENDINGS: Mutex<Vec<fn()>> = Mutex::new(Vec::new());
/// The thread that runs the handler.
static LEAVER: AtomicI32 = AtomicI32::new(0);
/// When the handler ended.
static LEFT_AT: Mutex<Option<Instant>> = Mutex::new(None);
static CLIENTS: Mutex<Vec<Weak<dyn Settle>>> = Mutex::new(Vec::new());

/// A client that has work in flight.
pub trait Settle: Send + Sync {
    /// Blocks until no work is in flight.
    fn settle(&self);
}

/// Time limit of waits during process exit.
const DEFAULT_LIMIT: Duration = Duration::from_secs(60);
/// Environment variable with another limit in seconds.
const LIMIT_VARIABLE: &str = "LXLA_EXIT_TIMEOUT_SECONDS";
/// Time limit for flushing stdio's buffers after that: a thread that never ends may hold their locks.
const FLUSH_LIMIT: Duration = Duration::from_secs(1);
/// Time for which other threads are held after the handler: longer than destructors need.
const GRACE: Duration = Duration::from_secs(5);
/// Interval at which time and progress are checked.
const TICK: Duration = Duration::from_millis(20);

/// Work that the handler runs while the plugin can still be used.
#[derive(Clone, Copy)]
struct LastWork {
    run: fn(),
    /// Returns a number that changes while the work makes progress.
    progress: fn() -> u64,
}

thread_local! {
    /// Number of [`Inside`] of this thread. Only the first one is counted in [`INSIDE`].
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// Registers the handler when the main thread calls `exit`, or returns from `main`.
    static MAIN_THREAD: MainThread = const { MainThread };
}

/// Its destructor is the first thing that `exit` runs, if the main thread has entered the plugin.
struct MainThread;

impl Drop for MainThread {
    fn drop(&mut self) {
        // Other threads' ends are not the process's, and each call would take memory. The thread that forked is the
        // main thread of the child, which has nothing to wait for.
        if std::process::id() as i32 == this_thread() && PROCESS.load(Ordering::SeqCst) == std::process::id() {
            register_again();
        }
    }
}

/// Marks that a thread is inside the plugin, until it is dropped by the same thread.
pub struct Inside(PhantomData<*const ()>);

/// Announces that this thread is about to call the plugin, so that process exit waits for it. Fails if the process is
/// exiting and this thread was not inside before.
pub fn enter() -> Result<Inside> {
    let depth = DEPTH.get();
    if depth == 0 {
        // Fails in exit handlers, where it has been destroyed.
        let _ = MAIN_THREAD.try_with(|_| ());
        INSIDE.fetch_add(1, Ordering::SeqCst);
        if is_exiting() {
            INSIDE.fetch_sub(1, Ordering::SeqCst);
            return Err(error!(FailedPrecondition, "the process is exiting"));
        }
    }
    DEPTH.set(depth + 1);
    Ok(Inside(PhantomData))
}

impl Drop for Inside {
    fn drop(&mut self) {
        let depth = DEPTH.get() - 1;
        DEPTH.set(depth);
        if depth == 0 {
            INSIDE.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Whether the exit handler has closed the plugin: no plugin object may be used any more, not even to free it.
pub fn is_exiting() -> bool {
    EXITING.load(Ordering::SeqCst)
}

/// Makes the handler call `run` once, while the plugin can still be used. `progress` returns a number that changes
/// while `run` makes progress; as long as it changes, the time limit does not apply.
pub fn register_last_work(run: fn(), progress: fn() -> u64) {
    LAST_WORK.lock().push(LastWork { run, progress });
    register_again();
}

/// Makes the handler call `run` at its end, when all work in flight has ended or the time limit has passed. It must
/// not call the plugin, and must return soon.
pub fn register_ending(run: fn()) {
    ENDINGS.lock().push(run);
    register_again();
}

fn run_endings() {
    let endings = ENDINGS.try_lock_for(Duration::from_secs(1)).map(|mut list| std::mem::take(&mut *list));
    endings.unwrap_or_default().into_iter().for_each(|run| run());
}

/// Makes the handler also wait for this client's work. Must be called after the client was created.
pub fn register<T: Settle + 'static>(client: &Arc<T>) {
    let mut clients = CLIENTS.lock();
    clients.retain(|known| known.strong_count() > 0);
    let client: Weak<T> = Arc::downgrade(client);
    clients.push(client);
    drop(clients);
    register_again();
}

/// Registers the handler again. A handler runs only before the destructors of static objects that existed when it was
/// registered, and compilers create some of theirs late. The handler is therefore registered again after every
/// operation that may have created some; the cost is negligible compared to a compile.
pub fn register_again() {
    // The first process that uses the library is the only one that can: a forked child is never it.
    let _ = PROCESS.compare_exchange(0, std::process::id(), Ordering::SeqCst, Ordering::SeqCst);
    // SAFETY: the handler is a plain function of this library, which is never unmapped.
    unsafe { on_exit(leave, std::ptr::null_mut()) };
}

unsafe extern "C" {
    /// glibc's variant of atexit that passes the exit status to the handler.
    fn on_exit(handler: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

extern "C" fn leave(status: c_int, _: *mut c_void) {
    // A panic must not unwind out of an exit handler, and can no longer be reported.
    let _ = std::panic::catch_unwind(|| {
        // A forked child does not have the threads for whose work the handler would wait.
        let forked = PROCESS.load(Ordering::SeqCst) != std::process::id();
        if is_exiting() || forked {
            return;
        }
        LEAVER.store(this_thread(), Ordering::SeqCst);
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
        // With a timeout: a thread may have been killed by the host while it held the lock.
        if let Some(clients) = CLIENTS.try_lock_for(Duration::from_secs(1)) {
            for client in clients.iter().filter_map(Weak::upgrade) {
                client.settle();
                // Never destroyed, because its destructor would call the plugin.
                std::mem::forget(client);
            }
        }
        run_endings();
        drop(watch);
        *LEFT_AT.lock() = Some(Instant::now());
    });
}

fn this_thread() -> i32 {
    // SAFETY: takes no arguments, and cannot fail.
    unsafe { libc::gettid() }
}

/// Holds a thread whose call failed while another one leaves the process: it would take the failure for one of its
/// work, and perhaps call `exit` a second time, while destructors run. It is held without locks, until the process ends.
/// So that a destructor which joins the thread is not held for ever, it goes on [`GRACE`] after the handler has ended.
pub fn hold() {
    let is_other = LEAVER.load(Ordering::SeqCst) != this_thread();
    if !is_exiting() || !is_other || PROCESS.load(Ordering::SeqCst) != std::process::id() {
        return;
    }
    while LEFT_AT.lock().is_none_or(|left| left.elapsed() < GRACE) {
        std::thread::sleep(TICK);
    }
}

/// Time limit: the number of seconds in the variable if it is valid, or else the default.
fn limit() -> Duration {
    let given = variables::text(LIMIT_VARIABLE).and_then(|text| text.trim().parse().ok());
    given.map_or(DEFAULT_LIMIT, Duration::from_secs)
}

/// A thread that ends the process if the handler does not finish in time. The handler itself may be blocked meanwhile
/// in the plugin, which waits without a limit, or by a save.
struct Watch {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Starts the thread. Returns None if it cannot be started: then only the wait for threads inside the plugin is
    /// limited.
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
        // The thread is joined, so that it does not run concurrently with the destructors that follow.
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
        run_endings();
        // SAFETY: a null stream means all streams.
        unsafe { libc::fflush(std::ptr::null_mut()) };
        done.store(true, Ordering::SeqCst);
    });
    let start = Instant::now();
    while !flushed.load(Ordering::SeqCst) && start.elapsed() < FLUSH_LIMIT {
        std::thread::sleep(Duration::from_millis(1));
    }
    // SAFETY: ends the process.
    unsafe { libc::_exit(status) }
}
