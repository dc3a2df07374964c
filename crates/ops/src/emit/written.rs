//! Text that is written piece by piece. Exhausted memory is reported once, at its end.

use super::text::string;
use base::allocation::probe;
use base::error;
use base::error::Result;
use std::fmt;

/// A text that grows fallibly. After a failure, what is written is ignored.
#[derive(Default)]
pub struct Written {
    text: String,
    is_exhausted: bool,
}

impl Written {
    /// An empty text with room for this many bytes, if there is memory.
    pub fn with_room(bytes: usize) -> Written {
        let mut text = String::new();
        let is_exhausted = text.try_reserve(bytes).is_err();
        Written { text, is_exhausted }
    }

    /// Appends a text.
    pub fn push(&mut self, text: &str) {
        if text.len() > self.text.capacity() - self.text.len() {
            self.grow(text.len());
        }
        if !self.is_exhausted {
            self.text.push_str(text);
        }
    }

    /// Appends another text, and its failure.
    pub fn append(&mut self, other: Written) {
        self.is_exhausted |= other.is_exhausted;
        self.push(&other.text);
    }

    #[cold]
    fn grow(&mut self, bytes: usize) {
        // Names and types are formatted besides.
        self.is_exhausted |= self.text.try_reserve(bytes).is_err() || probe(self.text.len(), "a text").is_err();
        if self.is_exhausted {
            self.text = String::new();
        }
    }

    /// Number of bytes written so far.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Number of operations written from `start` on, one a line, without constants and broadcasts.
    pub fn operations_from(&self, start: usize) -> usize {
        let is_free = |line: &str| line.contains("stablehlo.constant") || line.contains("stablehlo.broadcast_in_dim");
        self.text.get(start..).map_or(0, |written| written.lines().filter(|line| !is_free(line)).count())
    }

    /// Gives the operations whose lines were written from `start` on a location with this name. A line that opens a
    /// region, or names the arguments of a block, does not end an operation; nor does one whose operation goes on in
    /// the next line with `cond {`, a region in parentheses or its types.
    pub fn locate(&mut self, start: usize, name: &str) {
        let Some(written) = self.text.get(start..) else { return };
        let location = format!(" loc({})\n", string(name));
        let mut located = Written::default();
        let mut lines = written.lines().peekable();
        while let Some(line) = lines.next() {
            located.push(line);
            let starts = ["cond {", "({", ": "];
            let goes_on =
                lines.peek().is_some_and(|next| starts.iter().any(|start| next.trim_start().starts_with(start)));
            let is_end = !goes_on && !line.trim().is_empty() && !line.ends_with(['{', ':', '(', ',']);
            located.push(if is_end { &location } else { "\n" });
        }
        self.text.truncate(start);
        self.append(located);
    }

    /// Returns the text so far.
    #[cfg(test)]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the text; RESOURCE_EXHAUSTED if there was no memory for all of it.
    pub fn finish(self) -> Result<String> {
        if self.is_exhausted {
            return Err(error!(ResourceExhausted, "no host memory for the StableHLO text of a program"));
        }
        Ok(self.text)
    }
}

impl fmt::Write for Written {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::Code;

    #[test]
    fn exhausted_memory_is_reported_at_the_end() {
        let mut text = Written::default();
        text.push("a");
        text.append(Written::with_room(1 << 60));
        text.push("b");
        assert_eq!(text.finish().unwrap_err().code, Code::ResourceExhausted);
        let mut text = Written::with_room(1);
        ["a", "", "bc"].into_iter().for_each(|piece| text.push(piece));
        assert_eq!(text.finish().unwrap(), "abc");
    }
}
