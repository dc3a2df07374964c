//! The events of a timeline, and what is under way.

use super::event::{Event, Row};
use super::file::TraceFile;
use super::threads::{Threads, thread_id};
use base::label::{self, Label};
use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};

/// Number of the last events that are kept for a report.
pub const MOST_KEPT: usize = 20_000;

/// Bits of what is wanted: the last events are kept; a trace is written.
pub const KEPT: u8 = 1;
/// See [`KEPT`].
pub const WRITTEN: u8 = 2;

/// Events of an environment, and what is under way.
#[derive(Default)]
pub struct Events {
    /// The last events, the oldest first.
    pub kept: VecDeque<Event>,
    pub file: Option<TraceFile>,
    /// Whether a thread is ending the file.
    pub is_ending: bool,
    pub threads: Threads,
    /// For each device, the end of its last run; 0 for none.
    pub devices: Vec<Option<u64>>,
    /// Runs of devices that have not ended, by the order of their begin, and the number of all runs.
    pub running: BTreeSet<u64>,
    pub runs: u64,
    /// Number of arrows so far.
    pub flows: u64,
    /// When the timeline was turned on.
    pub since: u64,
    /// When the file was started.
    pub written_since: u64,
}

impl Events {
    /// Adds an event to what is wanted.
    pub fn add(&mut self, event: Event, wanted: u8) {
        self.write(&event);
        if wanted & KEPT != 0 {
            if self.kept.len() == MOST_KEPT {
                self.kept.pop_front();
            }
            self.kept.push_back(event);
        }
    }

    /// Adds an event to the file. What began before the file was started begins with it, and has no arrow, because the
    /// other end of it may be missing.
    pub fn write(&mut self, event: &Event) {
        let Some(file) = &mut self.file else { return };
        let (end, since) = (event.start + event.duration, self.written_since);
        if event.start >= since {
            file.add(|out| event.write_lines(out));
        } else if end >= since {
            let cut = Event { start: since, duration: end - since, flow: None, ..event.clone() };
            file.add(|out| cut.write_lines(out));
        }
    }

    /// Names the rows that are known already in a file that was started.
    pub fn name_rows(&mut self) {
        let Events { file, threads, devices, .. } = self;
        threads.all().for_each(|(id, thread)| write_name(file, Row::Thread(id), &thread.name));
        for (ordinal, _) in devices.iter().enumerate().filter(|(_, end)| end.is_some()) {
            write_name(file, Row::Device(ordinal), &device_name(ordinal));
        }
    }

    /// Ends the spans under way in the file, not in the events that are kept.
    pub fn end_file(&mut self, now: u64) {
        let (this, current) = (thread_id(), label::current());
        let mut ended = Vec::new();
        for (id, thread) in self.threads.all() {
            let row = Row::Thread(id);
            if let Some(start) = thread.recording {
                ended.push(Event { row, ..Event::of_thread("record", "record".into(), start, now, Label::NONE) });
            }
            let mut label = if id == this { current } else { Label::NONE };
            for &start in thread.labels.iter().rev() {
                let name = if label.is_none() { "label" } else { label.name() };
                ended.push(Event { row, ..Event::of_thread("label", name.into(), start, now, label) });
                label = label.parent();
            }
        }
        ended.iter().for_each(|event| self.write(event));
    }

    /// Ends the span of recording of the calling thread, if it has begun one.
    pub fn end_recording(&mut self, now: u64, wanted: u8) {
        let file = &mut self.file;
        let thread = self.threads.this(|id, name| write_name(file, Row::Thread(id), name));
        if let Some(start) = thread.recording.take() {
            self.add(Event::of_thread("record", "record".into(), start, now, label::current()), wanted);
        }
    }

    /// Names the row of a device that is seen for the first time.
    pub fn name_device(&mut self, ordinal: usize) {
        if self.devices.len() <= ordinal {
            self.devices.resize(ordinal + 1, None);
        }
        if self.devices[ordinal].is_none() {
            self.devices[ordinal] = Some(0);
            write_name(&mut self.file, Row::Device(ordinal), &device_name(ordinal));
        }
    }
}

fn device_name(ordinal: usize) -> String {
    format!("xla:{ordinal}")
}

/// Names a row of the file.
pub fn write_name(file: &mut Option<TraceFile>, row: Row, name: &str) {
    if let Some(file) = file {
        file.add(|out| out.push_str(&row.named(name)));
    }
}

impl Event {
    /// An event of the calling thread.
    pub fn of_thread(category: &'static str, name: Cow<'static, str>, start: u64, end: u64, label: Label) -> Event {
        let row = Row::Thread(thread_id());
        let duration = end.saturating_sub(start);
        Event { name, category, start, duration, row, label, program: None, numbers: Vec::new(), flow: None }
    }
}
