//! One event of a timeline, and its text.

use super::threads::thread_id;
use base::label::Label;
use serde_json::json;
use std::borrow::Cow;
use std::fmt::Write;

/// Row in which an event is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// A thread of this process, by its id.
    Thread(u32),
    /// A device, by its ordinal.
    Device(usize),
}

/// Number that rows of devices have in place of a process id: real ones are positive.
const DEVICES: u32 = 0;

/// End of an arrow that is at an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// The arrow with this number starts within the event.
    Start(u64),
    /// The arrow with this number ends at the start of the event.
    End(u64),
}

/// Something that took time.
#[derive(Clone, Debug)]
pub struct Event {
    /// Name of the work, such as `step` or `to device`.
    pub name: Cow<'static, str>,
    /// Kind of work: record, label, step, plan, compile, transfer, execute, run, save or wait.
    pub category: &'static str,
    /// Begin in nanoseconds since the timeline was made.
    pub start: u64,
    /// Duration in nanoseconds.
    pub duration: u64,
    /// Thread or device that did it.
    pub row: Row,
    /// Label of the operations, or of the thread.
    pub label: Label,
    /// Number of the program in the log of compiles.
    pub program: Option<u64>,
    /// Further numbers, such as bytes.
    pub numbers: Vec<(&'static str, u64)>,
    /// Arrow from or to the event.
    pub flow: Option<Flow>,
}

/// Appends a time in microseconds.
pub(super) fn write_time(out: &mut String, nanoseconds: u64) {
    let _ = write!(out, "{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
}

/// Appends a string of JSON.
pub(super) fn write_text(out: &mut String, text: &str) {
    let is_plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
    if text.bytes().all(is_plain) {
        out.extend(["\"", text, "\""]);
    } else {
        out.push_str(&json!(text).to_string());
    }
}

impl Row {
    /// Process and thread of the row in the format.
    fn ids(self) -> (u32, u64) {
        match self {
            Row::Thread(id) => (std::process::id(), id.into()),
            Row::Device(ordinal) => (DEVICES, ordinal as u64),
        }
    }

    /// Events that give the row its name.
    pub fn named(self, name: &str) -> String {
        let (pid, tid) = self.ids();
        let process = match self {
            Row::Thread(_) => "threads",
            Row::Device(_) => "devices",
        };
        let of = |name: &str, value: &str| {
            json!({"name": name, "ph": "M", "pid": pid, "tid": tid, "args": {"name": value}}).to_string()
        };
        format!("{},\n{},\n", of("process_name", process), of("thread_name", name))
    }
}

/// Appends a line with a note of the calling thread, which viewers show at a time.
pub fn write_note(out: &mut String, text: &str, at: u64) {
    let (pid, tid) = Row::Thread(thread_id()).ids();
    out.push_str("{\"name\":");
    write_text(out, text);
    out.push_str(",\"cat\":\"note\",\"ph\":\"i\",\"s\":\"p\",\"ts\":");
    write_time(out, at);
    let _ = writeln!(out, ",\"pid\":{pid},\"tid\":{tid}}},");
}

impl Event {
    /// Appends the event as an object of a Chrome trace. Not made of values of `serde_json`, which takes longer than a
    /// microsecond.
    pub fn write(&self, out: &mut String) {
        let (pid, tid) = self.row.ids();
        out.push_str("{\"name\":");
        write_text(out, &self.name);
        out.extend([",\"cat\":\"", self.category, "\",\"ph\":\"X\",\"ts\":"]);
        write_time(out, self.start);
        out.push_str(",\"dur\":");
        write_time(out, self.duration);
        let _ = write!(out, ",\"pid\":{pid},\"tid\":{tid},\"args\":{{");
        let mut comma = "";
        if !self.label.is_none() {
            out.push_str("\"label\":");
            write_text(out, &self.label.to_string());
            comma = ",";
        }
        for (name, number) in self.program.iter().map(|&number| ("program", number)).chain(self.numbers.iter().copied())
        {
            let _ = write!(out, "{comma}\"{name}\":{number}");
            comma = ",";
        }
        out.push_str("}}");
    }

    /// Appends the lines of a trace file: the event, and its arrow if it has one.
    pub fn write_lines(&self, out: &mut String) {
        self.write(out);
        out.push_str(",\n");
        let (phase, number) = match self.flow {
            None => return,
            Some(Flow::Start(number)) => ("\"s\"", number),
            Some(Flow::End(number)) => ("\"f\",\"bp\":\"e\"", number),
        };
        let (pid, tid) = self.row.ids();
        let _ = write!(out, "{{\"name\":\"run\",\"cat\":\"flow\",\"ph\":{phase},\"id\":{number},\"ts\":");
        write_time(out, self.start);
        let _ = writeln!(out, ",\"pid\":{pid},\"tid\":{tid}}},");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn texts_are_escaped_and_times_exact() {
        let label = Label::NONE.child("a \"b\"\n\\").unwrap();
        let row = Row::Device(3);
        let numbers = vec![("bytes", 7)];
        let event = Event {
            name: "r\tun".into(),
            category: "run",
            start: 1_000_001,
            duration: 20,
            row,
            label,
            program: Some(5),
            numbers,
            flow: Some(Flow::End(9)),
        };
        let mut text = String::new();
        event.write_lines(&mut text);
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line.strip_suffix(',').unwrap()).unwrap()).collect();
        assert_eq!(
            lines,
            [
                json!({"name": "r\tun", "cat": "run", "ph": "X", "ts": 1000.001, "dur": 0.02, "pid": 0, "tid": 3,
                    "args": {"label": "a \"b\"\n\\", "program": 5, "bytes": 7}}),
                json!({"name": "run", "cat": "flow", "ph": "f", "bp": "e", "id": 9, "ts": 1000.001, "pid": 0, "tid": 3})
            ]
        );
        assert!(row.named("xla:3").lines().all(|line| line.ends_with("},")));
    }
}
