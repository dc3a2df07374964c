//! Reads and writes the wire format of protocol buffers, as far as the edits of HLO modules need it: fields are copied
//! as they are, or replaced.

use crate::error;
use crate::error::Result;

/// One field of a message.
#[derive(Clone, Copy)]
pub struct Field<'a> {
    /// Number of the field.
    pub number: u64,
    /// The varint; 0 for other kinds of fields.
    pub value: u64,
    /// Content of a message, a string or a packed list; empty for other kinds of fields.
    pub content: &'a [u8],
    /// The whole field, with its key.
    pub whole: &'a [u8],
}

/// Returns the fields of a message, in order.
pub fn fields(message: &[u8]) -> Result<Vec<Field<'_>>> {
    let (mut rest, mut all) = (message, Vec::new());
    while !rest.is_empty() {
        let start = rest;
        let key = varint(&mut rest)?;
        let (mut value, mut content) = (0, &rest[..0]);
        match key & 7 {
            0 => value = varint(&mut rest)?,
            1 => drop(take(&mut rest, 8)?),
            2 => {
                let size = varint(&mut rest)?;
                content = take(&mut rest, size)?;
            }
            5 => drop(take(&mut rest, 4)?),
            kind => return Err(error!(Internal, "an HLO module has a field of wire type {kind}")),
        }
        all.push(Field { number: key >> 3, value, content, whole: &start[..start.len() - rest.len()] });
    }
    Ok(all)
}

impl Field<'_> {
    /// The numbers of a list of numbers, packed or not.
    pub fn numbers(&self) -> Result<Vec<u64>> {
        if self.content.is_empty() {
            return Ok(vec![self.value]);
        }
        let (mut rest, mut numbers) = (self.content, Vec::new());
        while !rest.is_empty() {
            numbers.push(varint(&mut rest)?);
        }
        Ok(numbers)
    }

    /// The text of a string.
    pub fn text(&self) -> &str {
        std::str::from_utf8(self.content).unwrap_or_default()
    }
}

fn varint(rest: &mut &[u8]) -> Result<u64> {
    let mut value = 0u64;
    for (i, &byte) in rest.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7F) << (7 * i);
        if byte & 0x80 == 0 {
            *rest = &rest[i + 1..];
            return Ok(value);
        }
    }
    Err(error!(Internal, "an HLO module has a number that does not end"))
}

fn take<'a>(rest: &mut &'a [u8], size: u64) -> Result<&'a [u8]> {
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let (taken, after) =
        rest.split_at_checked(size).ok_or_else(|| error!(Internal, "an HLO module has a field that does not end"))?;
    *rest = after;
    Ok(taken)
}

/// A message that is being written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message(Vec<u8>);

impl Message {
    /// An empty message.
    pub fn new() -> Message {
        Message::default()
    }

    /// Bytes written so far.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Appends a number, a flag or a member of an enum. Negative numbers are in two's complement.
    pub fn number(mut self, field: u64, value: i64) -> Message {
        self.varint(field << 3);
        self.varint(value as u64);
        self
    }

    /// Appends a string, or bytes.
    pub fn content(mut self, field: u64, content: &[u8]) -> Message {
        self.varint(field << 3 | 2);
        self.varint(content.len() as u64);
        self.0.extend_from_slice(content);
        self
    }

    /// Appends a message.
    pub fn message(self, field: u64, message: &Message) -> Message {
        self.content(field, &message.0)
    }

    /// Appends a packed list of numbers; nothing if it is empty.
    pub fn numbers(self, field: u64, numbers: impl IntoIterator<Item = i64>) -> Message {
        let mut list = Message::new();
        numbers.into_iter().for_each(|number| list.varint(number as u64));
        if list.0.is_empty() { self } else { self.message(field, &list) }
    }

    /// Appends fields that are written already.
    pub fn fields(mut self, bytes: &[u8]) -> Message {
        self.0.extend_from_slice(bytes);
        self
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let inner = Message::new().number(9, -1).content(1, b"text");
        let all = Message::new().number(35, 1 << 40).message(2, &inner).numbers(36, [3, 300]).numbers(37, []);
        let read = fields(all.bytes()).unwrap();
        assert_eq!(read.iter().map(|field| field.number).collect::<Vec<_>>(), [35, 2, 36]);
        assert_eq!((read[0].value, read[2].numbers().unwrap()), (1 << 40, vec![3, 300]));
        let read_inner = fields(read[1].content).unwrap();
        assert_eq!((read_inner[0].value as i64, read_inner[1].text()), (-1, "text"));
        let copied = read.iter().fold(Message::new(), |copy, field| copy.fields(field.whole));
        assert_eq!(copied, all);
    }

    #[test]
    fn what_does_not_end_is_refused() {
        for bytes in [&[0x80][..], &[0x0A, 5, 1], &[0x0B], &[0x09, 1]] {
            assert!(fields(bytes).is_err(), "{bytes:?}");
        }
    }
}
