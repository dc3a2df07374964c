//! The plugin's own profile, which belongs to the trace of an environment. A trace is written without it if the plugin
//! has no profiler, and if the profiler fails: then the log and the trace say so.
//!
//! Functions of a profiler may take long, or hang. They are called without locks, in threads of their own, and are
//! awaited for a limited time.

use base::error;
use base::error::{Error, Result};
use base::io::{io_error, write_durably};
use base::log::{Level, log};
use engine::{Engine, Profile};
use parking_lot::{Condvar, Mutex};
use std::fs;
use std::io;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;
use timeline::{Clock, Timeline};

/// Longest wait for a function of a profiler.
const MOST_WAITED: Duration = Duration::from_secs(60);

/// The profile of a trace.
pub struct TraceProfile {
    slot: Mutex<Slot>,
    /// Notified when a start has ended.
    started: Condvar,
    most_waited: Duration,
}

enum Slot {
    Empty,
    Starting,
    Running(Box<dyn Profile>, Clock),
}

impl Default for TraceProfile {
    fn default() -> TraceProfile {
        TraceProfile { slot: Mutex::new(Slot::Empty), started: Condvar::new(), most_waited: MOST_WAITED }
    }
}

impl TraceProfile {
    /// Starts a profile if a trace is being written, the engine runs and has a profiler, and there is no profile yet.
    /// Called when a trace was started, and when the engine was.
    pub fn start(&self, timeline: &Timeline, engine: impl FnOnce() -> Option<Arc<dyn Engine>>) {
        let mut slot = self.slot.lock();
        // Asked under the lock, so that of a trace and an engine that start at the same time one sees the other.
        if !matches!(*slot, Slot::Empty) {
            return;
        }
        let Some(trace) = timeline.written_to() else { return };
        let Some(profiler) = engine().and_then(|engine| engine.profiler()) else { return };
        *slot = Slot::Starting;
        drop(slot);
        // The profile of an earlier trace with this path. Where it cannot be removed, writing the new one fails.
        let _ = remove(&whole_path(&trace));
        let clock = timeline.clock();
        let started = limited(self.most_waited, "start", move || profiler.start());
        let next = match started.and_then(|result| result) {
            Ok(profile) => Slot::Running(profile, clock),
            Err(e) => {
                is_missing(timeline, &e);
                Slot::Empty
            }
        };
        *self.slot.lock() = next;
        self.started.notify_all();
    }

    /// Ends the profile, if there is one. Adds its events to the trace, which has this path, and writes it to a file
    /// beside it.
    pub fn end(&self, timeline: &Timeline, trace: &Path) {
        let mut slot = self.slot.lock();
        self.started.wait_while(&mut slot, |slot| matches!(slot, Slot::Starting));
        let Slot::Running(mut profile, clock) = mem::replace(&mut *slot, Slot::Empty) else { return };
        drop(slot);
        let ended = limited(self.most_waited, "end", move || {
            let outcome = profile.end();
            (profile, outcome)
        });
        let profile = match ended {
            Ok((profile, outcome)) => {
                match outcome {
                    Ok(()) => write(timeline, trace, profile.space(), clock),
                    Err(e) => is_missing_beside(trace, timeline, &e),
                }
                profile
            }
            // Its thread frees it when the profiler returns.
            Err(e) => return is_missing_beside(trace, timeline, &e),
        };
        if let Err(e) = limited(self.most_waited, "free the profile", move || drop(profile)) {
            log(Level::Warning, || e.to_string());
        }
    }
}

/// Says that a trace has no profile.
fn is_missing(timeline: &Timeline, e: &Error) {
    let text = format!("the trace has no profile of the plugin: {e}");
    timeline.note(&text);
    log(Level::Warning, || text);
}

/// Says that a trace has no profile, and removes the file with that of an earlier trace.
fn is_missing_beside(trace: &Path, timeline: &Timeline, e: &Error) {
    is_missing(timeline, e);
    remove_old(trace);
}

/// Removes the profile of an earlier trace with the same path.
fn remove_old(trace: &Path) {
    let path = whole_path(trace);
    if let Err(e) = remove(&path) {
        log(Level::Warning, || format!("the profile of an earlier trace: {}", io_error(&path, &e)));
    }
}

/// Removes a file, if there is one.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Path of the file with the whole profile.
fn whole_path(trace: &Path) -> PathBuf {
    let mut path = trace.as_os_str().to_os_string();
    path.push(".xplane.pb");
    path.into()
}

fn write(timeline: &Timeline, trace: &Path, space: &[u8], clock: Clock) {
    if space.is_empty() {
        return remove_old(trace);
    }
    let path = whole_path(trace);
    let warn = |text: &str| {
        log(Level::Warning, || format!("the profile of the plugin: {text}"));
    };
    let saved = write_durably(&path, space);
    if let Err(e) = &saved {
        warn(&e.to_string());
    }
    let written = timeline.add_profile(space, clock);
    written.messages.iter().for_each(|message| warn(message));
    if let Some(e) = written.failure {
        warn(&format!("{e}; the trace has the {} events before", written.events));
    }
    if written.left_out > 0 {
        let (events, all) = (written.events, written.events + written.left_out);
        let where_else = if saved.is_ok() { format!("; {path:?} has all") } else { String::new() };
        warn(&format!("the trace has {events} of {all} events{where_else}"));
    }
}

/// Calls `work` in another thread, and waits for its result. If that takes longer than `limit`, the result is dropped
/// by that thread.
fn limited<T: Send + 'static>(limit: Duration, what: &str, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let (sender, receiver) = mpsc::channel();
    let named = thread::Builder::new().name("lazyxla-profile".to_string());
    let spawned = named.spawn(move || {
        let _ = sender.send(work());
    });
    spawned.map_err(|e| error!(ResourceExhausted, "no thread for the plugin's profiler: {e}"))?;
    receiver.recv_timeout(limit).map_err(|e| match e {
        RecvTimeoutError::Timeout => {
            error!(DeadlineExceeded, "the plugin's profiler did not {what} within {} s", limit.as_secs_f64())
        }
        // The thread has panicked.
        RecvTimeoutError::Disconnected => error!(Internal, "the plugin's profiler failed to {what}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::Code;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A profile, of which the end waits until the test lets it go.
    struct Held {
        go: mpsc::Receiver<()>,
        freed: Arc<AtomicUsize>,
    }

    impl Profile for Held {
        fn end(&mut self) -> Result<()> {
            let _ = self.go.recv();
            Ok(())
        }

        fn space(&self) -> &[u8] {
            b"\x0A\x02\x12\x00"
        }
    }

    impl Drop for Held {
        fn drop(&mut self) {
            self.freed.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_profiler_that_hangs_does_not_hold_up_the_end_of_the_trace() {
        let folder = std::env::temp_dir().join(format!("lazyxla-held-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (path, timeline) = (folder.join("trace.json"), Arc::new(Timeline::default()));
        let (let_go, go) = mpsc::channel();
        let freed = Arc::new(AtomicUsize::new(0));
        let profile = TraceProfile { most_waited: Duration::from_millis(20), ..TraceProfile::default() };
        timeline.start(&path).unwrap();
        std::fs::write(whole_path(&path), "of an earlier trace").unwrap();
        *profile.slot.lock() = Slot::Running(Box::new(Held { go, freed: freed.clone() }), timeline.clock());
        timeline.stop(|path| profile.end(&timeline, path)).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.ends_with("}\n]\n") && text.contains("\"the trace has no profile of the plugin: "), "{text}");
        assert!(text.contains("did not end within 0.02 s"), "{text}");
        assert!(!whole_path(&path).exists());
        assert_eq!(freed.load(Ordering::SeqCst), 0);
        let_go.send(()).unwrap();
        while freed.load(Ordering::SeqCst) == 0 {
            thread::yield_now();
        }
        assert!(!whole_path(&path).exists(), "what comes late is not written");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_profiler_that_fails_has_not_timed_out() {
        let e = limited::<()>(MOST_WAITED, "start", || panic!("in a profiler")).unwrap_err();
        assert_eq!((e.code, &*e.message), (Code::Internal, "the plugin's profiler failed to start"));
        let (_kept, never) = mpsc::channel::<()>();
        let e = limited(Duration::from_millis(5), "end", move || never.recv()).unwrap_err();
        assert_eq!(e.code, Code::DeadlineExceeded);
    }

    #[test]
    fn a_trace_goes_on_if_its_end_panics() {
        let path = std::env::temp_dir().join(format!("lazyxla-panics-{}.json", std::process::id()));
        let timeline = Arc::new(Timeline::default());
        timeline.start(&path).unwrap();
        let ended = catch_unwind(AssertUnwindSafe(|| timeline.stop(|_| panic!("at the end"))));
        assert!(ended.is_err());
        assert_eq!(timeline.written_to().as_ref(), Some(&path));
        timeline.stop(|_| ()).unwrap();
        assert_eq!(timeline.written_to(), None);
        std::fs::remove_file(&path).unwrap();
    }
}
