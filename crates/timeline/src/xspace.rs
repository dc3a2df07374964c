//! Reads XLA's profiles: `XSpace`, a protocol buffer of planes (devices, or a host), of lines (streams, or threads), of
//! events, whose names are in tables of the plane. Declared in tsl/profiler/protobuf/xplane.proto.
//!
//! Content of the wrong wire type is passed over, as protocol buffers do. What is malformed ends its message.

use base::error::Error;
use base::protobuf::{Value, fields};
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// Most entries of a table of names. Further names are unknown.
const MOST_NAMES: usize = 1 << 20;

/// Calls `take` with the number and the value of each field. Notes the first error.
pub fn each<'a>(message: &'a [u8], failure: &mut Option<Error>, mut take: impl FnMut(u64, Value<'a>)) {
    for field in fields(message) {
        match field {
            Ok((number, value)) => take(number, value),
            Err(e) => {
                failure.get_or_insert(e);
            }
        }
    }
}

/// An integer: negative ones are varints of 64 bits.
fn integer(value: Value<'_>) -> i64 {
    value.number().unwrap_or(0) as i64
}

fn bytes(value: Value<'_>) -> &[u8] {
    value.bytes().unwrap_or(&[])
}

/// A plane, with its lines and tables as messages.
#[derive(Default)]
pub struct Plane<'a> {
    pub name: &'a [u8],
    pub lines: Vec<&'a [u8]>,
    /// `XEventMetadata`, by id.
    events: FxHashMap<i64, &'a [u8]>,
    /// Names of statistics, by id.
    statistics: FxHashMap<i64, &'a [u8]>,
}

/// A line, with its events as messages.
#[derive(Default)]
pub struct Line<'a> {
    pub name: &'a [u8],
    /// Begin of the line in nanoseconds.
    pub start: i64,
    /// Events are read by [`Event::read`].
    pub message: &'a [u8],
}

/// An event.
#[derive(Clone, Copy, Default)]
pub struct Event<'a> {
    pub metadata: i64,
    /// Begin in picoseconds since that of the line; None if the event stands for several, without times.
    pub offset: Option<i64>,
    /// In picoseconds.
    pub duration: i64,
    pub message: &'a [u8],
}

/// Name of an event, and statistics of all events with this name.
#[derive(Default)]
pub struct Described<'a> {
    pub name: &'a [u8],
    /// The name in full, if it differs.
    pub long_name: &'a [u8],
    message: &'a [u8],
}

/// Value of a statistic.
#[derive(Debug, PartialEq)]
pub enum Number<'a> {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(Cow<'a, str>),
}

/// Number of a field with a line of a plane, and of one with an event of a line.
const LINES: u64 = 3;
/// See [`LINES`].
const EVENTS: u64 = 4;

impl<'a> Plane<'a> {
    /// Reads the plane, except for its lines.
    pub fn read(message: &'a [u8], failure: &mut Option<Error>) -> Plane<'a> {
        let mut plane = Plane::default();
        let mut inner = None;
        each(message, failure, |number, value| match number {
            2 => plane.name = bytes(value),
            LINES => plane.lines.push(bytes(value)),
            4 => add(&mut plane.events, bytes(value), &mut inner),
            5 => add(&mut plane.statistics, bytes(value), &mut inner),
            _ => {}
        });
        // Of the statistics, only the name is used.
        for known in plane.statistics.values_mut() {
            let mut name: &[u8] = &[];
            each(known, &mut inner, |number, value| {
                if number == 2 {
                    name = bytes(value);
                }
            });
            *known = name;
        }
        *failure = failure.take().or(inner);
        plane
    }

    /// Describes the events with this id of their metadata.
    pub fn describe(&self, metadata: i64) -> Described<'a> {
        let mut described = Described::default();
        let Some(&message) = self.events.get(&metadata) else { return described };
        described.message = message;
        each(message, &mut None, |number, value| match number {
            2 => described.long_name = bytes(value),
            4 => described.name = bytes(value),
            _ => {}
        });
        if described.name.is_empty() {
            described.name = described.long_name;
        }
        described
    }

    /// Calls `take` with the names and values of the statistics of an event, then with those of all events of its name.
    pub fn statistics(&self, event: &Event<'a>, described: &Described<'a>, mut take: impl FnMut(&'a [u8], Number<'a>)) {
        let mut statistic = |value: Value<'a>| {
            if let Some((name, value)) = self.statistic(bytes(value)) {
                take(name, value);
            }
        };
        each(event.message, &mut None, |number, value| {
            if number == 4 {
                statistic(value)
            }
        });
        each(described.message, &mut None, |number, value| {
            if number == 5 {
                statistic(value)
            }
        });
    }

    fn statistic(&self, message: &'a [u8]) -> Option<(&'a [u8], Number<'a>)> {
        let (mut name, mut found) = (None, None);
        each(message, &mut None, |number, value| match (number, value) {
            (1, value) => name = self.statistics.get(&integer(value)).copied(),
            (2, Value::Bytes(bytes)) => found = bytes.try_into().ok().map(|b| Number::Float(f64::from_le_bytes(b))),
            (3, Value::Number(number)) => found = Some(Number::Unsigned(number)),
            (4, Value::Number(number)) => found = Some(Number::Signed(number as i64)),
            (5, Value::Bytes(bytes)) => found = Some(Number::Text(String::from_utf8_lossy(bytes))),
            (6, Value::Bytes(bytes)) => found = Some(Number::Text(format!("{} bytes", bytes.len()).into())),
            // A text that several events have is the name of a statistic.
            (7, Value::Number(number)) => {
                let text = self.statistics.get(&(number as i64)).copied();
                found = text.map(|text| Number::Text(String::from_utf8_lossy(text)));
            }
            _ => {}
        });
        Some((name?, found?))
    }
}

/// Adds an entry of a map to a table.
fn add<'a>(table: &mut FxHashMap<i64, &'a [u8]>, entry: &'a [u8], failure: &mut Option<Error>) {
    let (mut key, mut message) = (0, &[][..]);
    each(entry, failure, |number, value| match number {
        1 => key = integer(value),
        2 => message = bytes(value),
        _ => {}
    });
    if table.len() < MOST_NAMES {
        table.insert(key, message);
    }
}

impl<'a> Line<'a> {
    /// Reads the line, except for its events.
    pub fn read(message: &'a [u8], failure: &mut Option<Error>) -> Line<'a> {
        let mut line = Line { message, ..Line::default() };
        let mut shown: &[u8] = &[];
        each(message, failure, |number, value| match number {
            2 => line.name = bytes(value),
            3 => line.start = integer(value),
            11 => shown = bytes(value),
            _ => {}
        });
        if !shown.is_empty() {
            line.name = shown;
        }
        line
    }

    /// Calls `take` with each event.
    pub fn events(&self, failure: &mut Option<Error>, mut take: impl FnMut(Event<'a>)) {
        let mut inner = None;
        each(self.message, &mut None, |number, value| {
            if number == EVENTS {
                take(Event::read(bytes(value), &mut inner));
            }
        });
        *failure = failure.take().or(inner);
    }
}

impl<'a> Event<'a> {
    fn read(message: &'a [u8], failure: &mut Option<Error>) -> Event<'a> {
        let mut event = Event { message, offset: Some(0), ..Event::default() };
        each(message, failure, |number, value| match number {
            1 => event.metadata = integer(value),
            2 => event.offset = Some(integer(value)),
            3 => event.duration = integer(value),
            5 => event.offset = None,
            _ => {}
        });
        event
    }
}
