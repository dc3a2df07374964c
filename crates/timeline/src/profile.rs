//! Writes the profile of a plugin as events of a Chrome trace: a process for each plane, a row for each line.

use super::event::{write_text, write_time};
use super::xspace::{Described, Event, Line, Number, Plane, each};
use base::error::Error;
use base::protobuf::Value;
use serde_json::json;
use std::fmt::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Most bytes of text that a profile adds to a trace. Viewers in browsers open files of some hundred megabytes.
pub const MOST_TEXT: usize = 256 << 20;

/// Most events of a line that are held in memory. More than [`MOST_TEXT`] has room for.
const MOST_EVENTS: usize = 4 << 20;

/// Number of bytes that are collected before they are written.
const MOST_BUFFERED: usize = 64 << 10;

/// Most bytes of a name or of the text of a statistic.
const LONGEST: usize = 400;

/// Most statistics of an event.
const MOST_STATISTICS: usize = 40;

/// Most rows of a line. Events of a row nest; events that overlap are in rows of their own.
const MOST_ROWS: usize = 32;

/// Most messages of the plugin's profiler that are passed on.
const MOST_MESSAGES: usize = 16;

/// Number that the first plane has in place of a process id. Linux has no ids above 2^22.
const FIRST_PLANE: u32 = 1_000_000_000;

/// Times below this, in nanoseconds since 1970, are not times since 1970, but since the begin of the profile: it is
/// March 1973.
const IS_SINCE_1970: i64 = 100_000_000_000_000_000;

/// The time of the begin of a profile on two clocks, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Since 1970: the times of a profile.
    pub unix: i64,
    /// Since the timeline was made.
    pub timeline: u64,
}

impl Clock {
    /// The present, which `now` says for the timeline. Reads both clocks several times, since the thread may be
    /// interrupted in between, and takes the readings that were nearest.
    pub fn now(now: impl Fn() -> u64) -> Clock {
        let read = |_| {
            let before = now();
            let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
            let between = now().saturating_sub(before);
            (between, Clock { unix: unix.as_nanos() as i64, timeline: before + between / 2 })
        };
        (0..8).map(read).min_by_key(|(between, _)| *between).expect("eight readings").1
    }
}

/// Result of adding a profile to a trace.
#[derive(Default)]
pub struct Written {
    pub events: u64,
    /// Number of events for which there was no room, or no time.
    pub left_out: u64,
    /// Messages of the plugin's profiler.
    pub messages: Vec<String>,
    /// The first error in the bytes.
    pub failure: Option<Error>,
}

/// Calls `write` with the whole lines of the events of a profile, at most `most` bytes.
pub fn convert(space: &[u8], clock: Clock, most: usize, write: &mut dyn FnMut(&str)) -> Written {
    let mut converter =
        Converter { clock, left: most, out: String::new(), line: String::new(), write, done: Written::default() };
    let (mut failure, mut number) = (None, 0);
    each(space, &mut failure, |field, value| match (field, value) {
        (1, Value::Bytes(plane)) => {
            converter.plane(FIRST_PLANE.saturating_add(number), plane);
            number += 1;
        }
        (2 | 3, Value::Bytes(text)) if converter.done.messages.len() < MOST_MESSAGES => {
            converter.done.messages.push(shown(text));
        }
        _ => {}
    });
    converter.flush();
    let mut done = converter.done;
    done.failure = done.failure.or(failure);
    done
}

/// The first bytes of a text.
fn shown(bytes: &[u8]) -> String {
    if bytes.len() <= LONGEST {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let mut end = LONGEST;
    // Not within a character.
    while end > 0 && bytes[end] & 0xC0 == 0x80 {
        end -= 1;
    }
    format!("{}...", String::from_utf8_lossy(&bytes[..end]))
}

/// An event with its times in nanoseconds of the timeline.
struct Timed<'a> {
    start: u64,
    end: u64,
    event: Event<'a>,
}

struct Converter<'w> {
    clock: Clock,
    /// Number of bytes that may still be written.
    left: usize,
    out: String,
    /// Text of one event.
    line: String,
    write: &'w mut dyn FnMut(&str),
    done: Written,
}

impl Converter<'_> {
    fn plane(&mut self, pid: u32, message: &[u8]) {
        let plane = Plane::read(message, &mut self.done.failure);
        let mut is_named = false;
        for (index, message) in plane.lines.iter().enumerate() {
            let line = Line::read(message, &mut self.done.failure);
            let events = self.timed(&line);
            if events.is_empty() {
                continue;
            }
            if !is_named {
                let name = format!("plugin {}", shown(plane.name));
                self.name("process_name", pid, 0, &name);
                is_named = true;
            }
            self.line(pid, 1 + (index * MOST_ROWS) as u64, &plane, &line, events);
        }
    }

    /// The events of a line with their times, in the order of their begin; of those that begin together, the longest
    /// first.
    fn timed<'a>(&mut self, line: &Line<'a>) -> Vec<Timed<'a>> {
        let (mut events, mut left_out) = (Vec::new(), 0);
        let base = match line.start {
            since_1970 if since_1970 >= IS_SINCE_1970 => i128::from(since_1970) - i128::from(self.clock.unix),
            since_begin => i128::from(since_begin),
        };
        let base = (base + i128::from(self.clock.timeline)) * 1000;
        let nanoseconds = |picoseconds: i128| u64::try_from(picoseconds.div_euclid(1000)).ok();
        line.events(&mut self.done.failure, |event| {
            // An event that stands for several has no time.
            let Some(offset) = event.offset else { return };
            let start = base + i128::from(offset);
            let end = nanoseconds(start + i128::from(event.duration.max(0)));
            match end.filter(|&end| end <= i64::MAX as u64 && events.len() < MOST_EVENTS) {
                Some(end) => events.push(Timed { start: nanoseconds(start).unwrap_or(0), end, event }),
                None => left_out += 1,
            }
        });
        self.done.left_out += left_out;
        events.sort_by_key(|event| (event.start, u64::MAX - event.end));
        events
    }

    /// Writes the events of a line in as many rows as it takes for them to nest.
    fn line(&mut self, pid: u32, first: u64, plane: &Plane<'_>, line: &Line<'_>, events: Vec<Timed<'_>>) {
        // For each row, the ends of the events around the last one.
        let mut rows: Vec<Vec<u64>> = Vec::new();
        for timed in events {
            let has_room = |ends: &mut Vec<u64>| {
                while ends.last().is_some_and(|&end| end <= timed.start) {
                    ends.pop();
                }
                ends.last().is_none_or(|&end| timed.end <= end)
            };
            let mut row = rows.iter_mut().position(has_room);
            if row.is_none() && rows.len() < MOST_ROWS {
                let name = if line.name.is_empty() { "events".to_string() } else { shown(line.name) };
                let name = if rows.is_empty() { name } else { format!("{name} ({})", rows.len() + 1) };
                self.name("thread_name", pid, first + rows.len() as u64, &name);
                rows.push(Vec::new());
                row = Some(rows.len() - 1);
            }
            let Some(row) = row else {
                self.done.left_out += 1;
                continue;
            };
            rows[row].push(timed.end);
            self.event(pid, first + row as u64, plane, &timed);
        }
    }

    fn event(&mut self, pid: u32, tid: u64, plane: &Plane<'_>, timed: &Timed<'_>) {
        let described = plane.describe(timed.event.metadata);
        self.line.push_str("{\"name\":");
        let name = if described.name.is_empty() { "event".to_string() } else { shown(described.name) };
        write_text(&mut self.line, &name);
        self.line.push_str(",\"cat\":\"plugin\",\"ph\":\"X\",\"ts\":");
        write_time(&mut self.line, timed.start);
        self.line.push_str(",\"dur\":");
        write_time(&mut self.line, timed.end - timed.start);
        let _ = write!(self.line, ",\"pid\":{pid},\"tid\":{tid},\"args\":{{");
        self.statistics(plane, timed, &described);
        self.line.push_str("}},\n");
        if self.add_line() {
            self.done.events += 1;
        } else {
            self.done.left_out += 1;
        }
    }

    fn statistics(&mut self, plane: &Plane<'_>, timed: &Timed<'_>, described: &Described<'_>) {
        let out = &mut self.line;
        let mut names: Vec<&[u8]> = Vec::new();
        if !described.long_name.is_empty() && described.long_name != described.name {
            names.push(b"long_name");
            out.push_str("\"long_name\":");
            write_text(out, &shown(described.long_name));
        }
        plane.statistics(&timed.event, described, |name, value| {
            // Names that begin with _ are for XLA's own analyses.
            if name.starts_with(b"_") || names.len() == MOST_STATISTICS || names.contains(&name) {
                return;
            }
            out.push_str(if names.is_empty() { "" } else { "," });
            names.push(name);
            write_text(out, &shown(name));
            out.push(':');
            let _ = match value {
                Number::Unsigned(number) => write!(out, "{number}"),
                Number::Signed(number) => write!(out, "{number}"),
                Number::Float(number) => write!(out, "{}", json!(number)),
                Number::Text(text) => {
                    write_text(out, &shown(text.as_bytes()));
                    Ok(())
                }
            };
        });
    }

    /// Gives a process or a row its name.
    fn name(&mut self, kind: &str, pid: u32, tid: u64, name: &str) {
        let named = json!({"name": kind, "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}});
        let _ = writeln!(self.line, "{named},");
        self.add_line();
    }

    /// Adds the line to what is written. False if there is no room.
    fn add_line(&mut self) -> bool {
        let has_room = self.line.len() <= self.left;
        // Nothing follows that is shorter, because it would belong to a row without a name.
        self.left = if has_room { self.left - self.line.len() } else { 0 };
        if has_room {
            self.out.push_str(&self.line);
        }
        self.line.clear();
        if self.out.len() >= MOST_BUFFERED {
            self.flush();
        }
        has_room
    }

    fn flush(&mut self) {
        if !self.out.is_empty() {
            (self.write)(&self.out);
            self.out.clear();
        }
    }
}
