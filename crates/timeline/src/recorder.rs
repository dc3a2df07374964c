//! The recorder of one environment's events: which events are wanted, and where they go.

use super::event::{Event, Flow, Row, write_note};
use super::events::{Events, KEPT, WRITTEN, write_name};
use super::file::TraceFile;
use super::profile::{self, Clock, MOST_TEXT, Written};
use base::error;
use base::error::Result;
use base::label::{self, Label};
use base::log::{Level, log};
use parking_lot::{Condvar, Mutex, MutexGuard};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// Longest wait for the runs of devices at the end of a trace.
const MOST_WAITED: Duration = Duration::from_secs(60);

/// The timelines that are on. Locked before [`Timeline::events`].
static ACTIVE: Mutex<Vec<Weak<Timeline>>> = Mutex::new(Vec::new());

/// Held while a trace is started, so that two do not take one file.
static STARTING: Mutex<()> = Mutex::new(());

/// The events of an environment.
pub struct Timeline {
    /// Time 0.
    epoch: Instant,
    wanted: AtomicU8,
    /// Number of times that the timeline was turned on.
    periods: AtomicU64,
    pub(super) events: Mutex<Events>,
    /// Notified when a run of a device has ended.
    ran: Condvar,
}

impl Default for Timeline {
    fn default() -> Timeline {
        let (wanted, periods) = (AtomicU8::new(0), AtomicU64::new(0));
        Timeline { epoch: Instant::now(), wanted, periods, events: Mutex::default(), ran: Condvar::new() }
    }
}

impl Timeline {
    /// Whether events are wanted.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) != 0
    }

    /// Number of the time from which it is on, or was on last: 0 before the first, 1, 2, ...
    pub fn period(&self) -> u64 {
        self.periods.load(Ordering::Relaxed)
    }

    fn now(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    /// Keeps the last events from now on, or removes those that are kept.
    pub fn keep(self: &Arc<Timeline>, is_wanted: bool) {
        let mut events = self.events.lock();
        if !is_wanted {
            events.kept = VecDeque::new();
        }
        self.set(&mut events, KEPT, is_wanted, self.now());
        drop(events);
        self.announce();
    }

    /// Whether the last events are kept.
    pub fn is_kept(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) & KEPT != 0
    }

    /// The events that are kept, as objects of a Chrome trace, in the order in which they ended.
    pub fn kept(&self) -> Vec<Value> {
        // Written without the lock.
        let events: Vec<Event> = self.events.lock().kept.iter().cloned().collect();
        let mut text = String::new();
        let value = |event: &Event| {
            text.clear();
            event.write(&mut text);
            serde_json::from_str(&text).expect("an event is an object of JSON")
        };
        events.iter().map(value).collect()
    }

    /// Sets a bit of what is wanted from `now` on.
    fn set(&self, events: &mut Events, bit: u8, is_wanted: bool, now: u64) {
        let before = if is_wanted {
            self.wanted.fetch_or(bit, Ordering::Relaxed)
        } else {
            self.wanted.fetch_and(!bit, Ordering::Relaxed)
        };
        if is_wanted && before == 0 {
            events.since = now;
            self.periods.fetch_add(1, Ordering::Relaxed);
        }
        if !self.is_on() {
            events.threads.clear();
            events.devices.clear();
        }
    }

    /// Adds the timeline to those that are on, or removes it. Recording threads ask for labels and timelines at once.
    fn announce(self: &Arc<Timeline>) {
        let mut active = ACTIVE.lock();
        active.retain(|known| known.strong_count() > 0 && !std::ptr::eq(known.as_ptr(), Arc::as_ptr(self)));
        if self.is_on() {
            active.push(Arc::downgrade(self));
        }
        label::set_watched(!active.is_empty());
    }

    /// Writes all events to a file from now on.
    pub fn start(self: &Arc<Timeline>, path: &Path) -> Result<()> {
        let _one = STARTING.lock();
        if let Some(known) = &self.events.lock().file {
            return Err(error!(
                AlreadyExists,
                "env: a trace is being written to {:?}; call lxla_trace_stop first",
                known.path()
            ));
        }
        let others: Vec<Arc<Timeline>> = active();
        let mut file = TraceFile::create(path)?;
        let is_same = |other: &Arc<Timeline>| {
            !Arc::ptr_eq(other, self) && other.events.lock().file.as_ref().is_some_and(|known| known.id() == file.id())
        };
        if others.iter().any(is_same) {
            return Err(error!(AlreadyExists, "path: {path:?} is the trace of another environment; stop that first"));
        }
        file.begin()?;
        let mut events = self.events.lock();
        events.file = Some(file);
        let now = self.now();
        events.written_since = now;
        // Spans under way stay, because they may be kept.
        events.name_rows();
        self.set(&mut events, WRITTEN, true, now);
        drop(events);
        self.announce();
        Ok(())
    }

    /// Waits for the runs of devices that have begun, calls `last` with the path of the file, and ends the file. Labels
    /// and recording under way end now. `last` is called without locks, and may add to the file.
    pub fn stop(self: &Arc<Timeline>, last: impl FnOnce(&Path)) -> Result<()> {
        let mut events = self.events.lock();
        let none = || error!(FailedPrecondition, "env: no trace is being written; call lxla_trace_start first");
        let path = events.file.as_ref().ok_or_else(none)?.path().to_path_buf();
        if events.is_ending {
            return Err(error!(FailedPrecondition, "env: another thread is ending the trace"));
        }
        events.is_ending = true;
        drop(events);
        // Before the lock, so that it is dropped after it.
        let ending = Ending(self);
        let mut events = self.events.lock();
        let begun = events.runs;
        let is_running = |events: &mut Events| events.running.first().is_some_and(|&first| first < begun);
        self.ran.wait_while_for(&mut events, is_running, MOST_WAITED);
        MutexGuard::unlocked(&mut events, || last(&path));
        let now = self.now();
        events.end_file(now);
        // Ended under the lock, so that a start on the same path does not find it half written.
        let ended = events.file.take().map(TraceFile::end);
        events.is_ending = false;
        mem::forget(ending);
        self.set(&mut events, WRITTEN, false, now);
        drop(events);
        self.announce();
        ended.ok_or_else(none)?
    }

    /// Path of the trace that is being written and that no thread is ending.
    pub fn written_to(&self) -> Option<PathBuf> {
        let events = self.events.lock();
        events.file.as_ref().filter(|_| !events.is_ending).map(|file| file.path().to_path_buf())
    }

    /// The present on the clock of the timeline, and on that of profiles.
    pub fn clock(&self) -> Clock {
        Clock::now(|| self.now())
    }

    /// Adds a profile that a plugin has recorded to the file: an `XSpace`, of which `clock` is the begin.
    pub fn add_profile(&self, space: &[u8], clock: Clock) -> Written {
        profile::convert(space, clock, MOST_TEXT, &mut |lines| {
            if let Some(file) = &mut self.events.lock().file {
                file.add_lines(lines);
            }
        })
    }

    /// Adds a note to the file, which viewers show at the present time.
    pub fn note(&self, text: &str) {
        let mut events = self.events.lock();
        let now = self.now();
        let Events { threads, file, .. } = &mut *events;
        threads.this(|id, name| write_name(file, Row::Thread(id), name));
        if let Some(file) = file {
            file.add(|out| write_note(out, text, now));
        }
    }

    /// Ends the trace and forgets the events of an environment that is destroyed.
    pub fn close(self: &Arc<Timeline>, last: impl FnOnce(&Path)) {
        let is_written = self.events.lock().file.is_some();
        if is_written && let Err(e) = self.stop(last) {
            log(Level::Error, || format!("the trace of a destroyed environment: {e}"));
        }
        self.keep(false);
    }

    /// Begins a span of the calling thread; it ends when it is dropped.
    #[inline]
    pub fn span(self: &Arc<Timeline>, category: &'static str, name: &'static str) -> Span {
        Span(if self.is_on() { Some(self.open(category, name)) } else { None })
    }

    /// Like [`Timeline::span`], and ends the thread's span of recording.
    #[inline]
    pub fn sync_span(self: &Arc<Timeline>, category: &'static str, name: &'static str) -> Span {
        if self.is_on() {
            self.end_recording();
        }
        self.span(category, name)
    }

    #[cold]
    fn end_recording(&self) {
        let mut events = self.events.lock();
        let wanted = self.wanted.load(Ordering::Relaxed);
        if wanted != 0 {
            events.end_recording(self.now(), wanted);
        }
    }

    #[cold]
    fn open(self: &Arc<Timeline>, category: &'static str, name: &'static str) -> Box<Open> {
        let now = self.now();
        let event = Event::of_thread(category, name.into(), now, now, label::current());
        Box::new(Open { timeline: self.clone(), event })
    }

    fn add(&self, event: Event) {
        let mut events = self.events.lock();
        let wanted = self.wanted.load(Ordering::Relaxed);
        // Events that began before the timeline was on are not shown.
        if wanted == 0 || event.start < events.since {
            return;
        }
        if let Row::Thread(_) = event.row {
            let Events { threads, file, .. } = &mut *events;
            threads.this(|id, name| write_name(file, Row::Thread(id), name));
        }
        events.add(event, wanted);
    }

    /// Notes that the calling thread records an operation. Called for each while a timeline is on.
    #[cold]
    pub fn recorded(&self) {
        if !self.is_on() {
            return;
        }
        let mut events = self.events.lock();
        // Another thread may have turned the timeline off.
        if !self.is_on() {
            return;
        }
        let Events { threads, file, .. } = &mut *events;
        let thread = threads.this(|id, name| write_name(file, Row::Thread(id), name));
        if thread.recording.is_none() {
            thread.recording = Some(self.now());
        }
    }

    /// Notes that the calling thread pushed a label, or popped this one.
    fn labelled(&self, popped: Option<Label>) {
        let mut events = self.events.lock();
        let (now, wanted, since) = (self.now(), self.wanted.load(Ordering::Relaxed), events.since);
        if wanted == 0 {
            return;
        }
        // The operations before belong to the label that the thread had, so that spans nest.
        let Events { threads, file, .. } = &mut *events;
        let thread = threads.this(|id, name| write_name(file, Row::Thread(id), name));
        let recording = thread.recording.take();
        let begun = match popped {
            None => {
                thread.labels.push(now);
                None
            }
            // A label that was pushed before the timeline was on begins with it.
            Some(label) => Some((label, thread.labels.pop().unwrap_or(since))),
        };
        if let Some(start) = recording {
            let label = popped.unwrap_or_else(|| label::current().parent());
            events.add(Event::of_thread("record", "record".into(), start, now, label), wanted);
        }
        if let Some((label, start)) = begun {
            events.add(Event::of_thread("label", label.name().into(), start, now, label), wanted);
        }
    }

    /// Notes that a device has been given a run within a span; it ends when the result is dropped. None if nothing is
    /// wanted.
    pub fn run_on(self: &Arc<Timeline>, ordinal: usize, span: &mut Span) -> Option<DeviceRun> {
        let of = &mut span.0.as_mut()?.event;
        let mut events = self.events.lock();
        let number = events.runs;
        events.runs += 1;
        events.running.insert(number);
        // One arrow leaves the span, to the first of its devices.
        let flow = of.flow.is_none().then(|| {
            events.flows += 1;
            of.flow = Some(Flow::Start(events.flows));
            Flow::End(events.flows)
        });
        let name: Cow<'static, str> = match (of.label.path(), of.program) {
            (Some(path), _) => path.into(),
            (None, Some(number)) => format!("program {number}").into(),
            (None, None) => "program".into(),
        };
        let event = Event { name, category: "run", row: Row::Device(ordinal), flow, ..of.clone() };
        Some(DeviceRun { timeline: self.clone(), number, ordinal, event: Some(event) })
    }
}

/// The end of a trace under way. If it panics, the trace goes on, and may be ended again.
struct Ending<'a>(&'a Timeline);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.events.lock().is_ending = false;
    }
}

/// A span of a thread that has begun, or nothing if no timeline is on.
pub struct Span(Option<Box<Open>>);

struct Open {
    timeline: Arc<Timeline>,
    event: Event,
}

impl Span {
    /// Whether events are wanted.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Adds a number to the event.
    #[inline]
    pub fn number(&mut self, name: &'static str, number: u64) {
        if let Some(open) = &mut self.0 {
            open.event.numbers.push((name, number));
        }
    }

    /// Gives the event another name.
    pub fn rename(&mut self, name: &'static str) {
        if let Some(open) = &mut self.0 {
            open.event.name = name.into();
        }
    }

    /// Gives the event the number of a program and a label, if there is one.
    pub fn program(&mut self, number: u64, label: Label) {
        if let Some(open) = &mut self.0 {
            open.event.program = Some(number);
            open.event.label = label.or(open.event.label);
        }
    }
}

impl Drop for Span {
    #[inline]
    fn drop(&mut self) {
        if let Some(open) = self.0.take() {
            open.end();
        }
    }
}

impl Open {
    #[cold]
    fn end(self) {
        let Open { timeline, mut event } = self;
        event.duration = timeline.now().saturating_sub(event.start);
        timeline.add(event);
    }
}

/// A run that a device has been given. Dropped when it has ended.
pub struct DeviceRun {
    timeline: Arc<Timeline>,
    number: u64,
    ordinal: usize,
    event: Option<Event>,
}

impl Drop for DeviceRun {
    /// A device runs one program after another, so that a run begins when the one before has ended.
    fn drop(&mut self) {
        let mut events = self.timeline.events.lock();
        events.running.remove(&self.number);
        let wanted = self.timeline.wanted.load(Ordering::Relaxed);
        if let Some(mut event) = self.event.take()
            && wanted != 0
            && event.start >= events.since
        {
            if event.start < events.written_since {
                event.flow = None;
            }
            events.name_device(self.ordinal);
            let now = self.timeline.now();
            let before = events.devices[self.ordinal].replace(now).unwrap_or(0);
            event.start = event.start.max(before);
            event.duration = now.saturating_sub(event.start);
            events.add(event, wanted);
        }
        drop(events);
        self.timeline.ran.notify_all();
    }
}

/// The timelines that are on.
fn active() -> Vec<Arc<Timeline>> {
    ACTIVE.lock().iter().filter_map(Weak::upgrade).collect()
}

/// Notes that the calling thread pushed a label. Called while a timeline is on.
#[cold]
pub fn label_pushed() {
    active().iter().for_each(|timeline| timeline.labelled(None));
}

/// Notes that the calling thread popped this label. Called while a timeline is on.
#[cold]
pub fn label_popped(label: Label) {
    active().iter().for_each(|timeline| timeline.labelled(Some(label)));
}

/// Closes the files of all timelines, at the end of the process. Exit handlers may still stop a trace.
pub fn close_all() {
    let Some(active) = ACTIVE.try_lock_for(Duration::from_secs(1)) else { return };
    for timeline in active.iter().filter_map(Weak::upgrade) {
        if let Some(mut events) = timeline.events.try_lock_for(Duration::from_secs(1))
            && let Some(file) = &mut events.file
        {
            file.close();
        }
    }
}
