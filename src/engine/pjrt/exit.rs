//! Leaving the process. A plugin's static destructors run while its worker threads may still be computing, which
//! crashes; so a handler, registered after the plugin was loaded and therefore run before those destructors, closes
//! the door to the plugin and waits for what is under way.

use crate::error;
use crate::error::Result;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

static EXITING: AtomicBool = AtomicBool::new(false);
/// The process in which the handler was registered.
static PROCESS: AtomicU32 = AtomicU32::new(0);
static INSIDE: AtomicUsize = AtomicUsize::new(0);
static LAST_WORK: Mutex<Vec<fn()>> = Mutex::new(Vec::new());
static CLIENTS: Mutex<Vec<Weak<dyn Settle>>> = Mutex::new(Vec::new());

/// Something that has work in flight.
pub trait Settle: Send + Sync {
    /// Blocks until it has none.
    fn settle(&self);
}

/// How long leaving may wait for a thread that is inside the plugin, say in a long compile.
const PATIENCE: Duration = Duration::from_secs(60);

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

/// Makes the handler call this once, while the plugin can still be used.
pub fn register_last_work(work: fn()) {
    LAST_WORK.lock().push(work);
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
    unsafe { libc::atexit(on_exit) };
}

extern "C" fn on_exit() {
    // A panic must not leave an exit handler; there is nobody left to tell.
    let _ = std::panic::catch_unwind(|| {
        // A forked child has none of the threads whose work would be waited for.
        let forked = PROCESS.load(Ordering::SeqCst) != std::process::id();
        if is_exiting() || forked {
            return;
        }
        let last_work = LAST_WORK.try_lock_for(Duration::from_secs(1)).map(|mut list| std::mem::take(&mut *list));
        last_work.unwrap_or_default().into_iter().for_each(|work| work());
        EXITING.store(true, Ordering::SeqCst);
        let start = Instant::now();
        while INSIDE.load(Ordering::SeqCst) > 0 && start.elapsed() < PATIENCE {
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
    });
}
