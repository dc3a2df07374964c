//! Reads and writes the wire format of protocol buffers: messages, strings, numbers, and lists of numbers, packed or
//! not. It is written by hand to avoid a protobuf compiler at build time, and to have stable bytes, because the options
//! of a compilation are part of the cache key.

use crate::error;
use crate::error::{Error, Result};

/// Encodes a field that holds a number.
pub fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

/// Encodes a field that holds a message or a string.
pub fn bytes(field: u64, value: &[u8]) -> Vec<u8> {
    [varint((field << 3) | 2), varint(value.len() as u64), value.to_vec()].concat()
}

/// Encodes a packed list of numbers. An empty list has no bytes.
pub fn packed(field: u64, values: impl IntoIterator<Item = u64>) -> Vec<u8> {
    let values: Vec<u8> = values.into_iter().flat_map(varint).collect();
    if values.is_empty() { values } else { bytes(field, &values) }
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// The value of one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A varint: integer, flag or member of an enum.
    Number(u64),
    /// A message, a string, a packed list, or a number of fixed width.
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    /// The number, or an error if it is something else.
    pub fn number(self) -> Result<u64> {
        match self {
            Value::Number(number) => Ok(number),
            Value::Bytes(_) => Err(malformed("a number is expected where bytes are")),
        }
    }

    /// The bytes, or an error if it is a number.
    pub fn bytes(self) -> Result<&'a [u8]> {
        match self {
            Value::Bytes(bytes) => Ok(bytes),
            Value::Number(_) => Err(malformed("bytes are expected where a number is")),
        }
    }

    /// Appends the numbers of a list to `list`: several if the field is packed, otherwise one.
    pub fn push_to(self, list: &mut Vec<usize>) -> Result<()> {
        match self {
            Value::Number(number) => list.push(number as usize),
            Value::Bytes(bytes) => {
                let mut packed = Fields { rest: bytes };
                while !packed.rest.is_empty() {
                    list.push(packed.varint()? as usize);
                }
            }
        }
        Ok(())
    }
}

/// Iterator over the fields of a message, with their numbers, in the order of the bytes. Ends after the first error.
pub struct Fields<'a> {
    rest: &'a [u8],
}

/// Iterates over the fields of a message.
pub fn fields(message: &[u8]) -> Fields<'_> {
    Fields { rest: message }
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Result<(u64, Value<'a>)> {
        let key = self.varint()?;
        let value = match key & 7 {
            0 => Value::Number(self.varint()?),
            1 => Value::Bytes(self.take(8)?),
            2 => {
                let size = self.varint()?;
                Value::Bytes(self.take(size)?)
            }
            5 => Value::Bytes(self.take(4)?),
            kind => return Err(malformed(&format!("wire type {kind} is unknown"))),
        };
        Ok((key >> 3, value))
    }

    fn varint(&mut self) -> Result<u64> {
        let bytes = self.rest;
        let mut value = 0u64;
        for (i, &byte) in bytes.iter().take(10).enumerate() {
            let bits = u64::from(byte & 0x7F);
            value |= bits << (7 * i);
            if value >> (7 * i) != bits {
                return Err(malformed("a number has more than 64 bits"));
            }
            if byte & 0x80 == 0 {
                self.rest = &bytes[i + 1..];
                return Ok(value);
            }
        }
        Err(malformed("a number does not end"))
    }

    fn take(&mut self, size: u64) -> Result<&'a [u8]> {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let (taken, rest) =
            self.rest.split_at_checked(size).ok_or_else(|| malformed("a field ends after its message"))?;
        self.rest = rest;
        Ok(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

#[cold]
fn malformed(problem: &str) -> Error {
    error!(Internal, "malformed protocol buffer: {problem}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(message: &[u8]) -> Result<Vec<(u64, Value<'_>)>> {
        fields(message).collect()
    }

    #[test]
    fn fields_are_read_in_order() {
        let fixed: Vec<u8> = [&[(3 << 3) | 1][..], &[1; 8], &[(4 << 3) | 5], &[2; 4]].concat();
        let message = [number(1, 300), bytes(2, b"abc"), fixed, number(1 << 20, u64::MAX)].concat();
        let wanted = [
            (1, Value::Number(300)),
            (2, Value::Bytes(b"abc")),
            (3, Value::Bytes(&[1; 8])),
            (4, Value::Bytes(&[2; 4])),
            (1 << 20, Value::Number(u64::MAX)),
        ];
        assert_eq!(all(&message).unwrap(), wanted);
        assert!(all(&[]).unwrap().is_empty());
    }

    #[test]
    fn fields_are_written_as_bytes() {
        assert_eq!(number(1, 0), [0x08, 0]);
        assert_eq!(number(1, 300), [0x08, 0xAC, 2]);
        assert_eq!(number(20, u64::MAX), [&[0xA0, 1][..], &[0xFF; 9], &[1]].concat());
        assert_eq!(bytes(2, b"abc"), *b"\x12\x03abc");
        assert_eq!(packed(9, [1, 200]), [0x4A, 3, 1, 0xC8, 1]);
        assert!(packed(9, []).is_empty());
    }

    #[test]
    fn lists_may_be_packed() {
        let message = [packed(9, [1, 200]), number(9, 3), bytes(9, &[]), packed(9, []), number(9, 4)].concat();
        let mut list = Vec::new();
        for field in fields(&message) {
            field.unwrap().1.push_to(&mut list).unwrap();
        }
        assert_eq!(list, [1, 200, 3, 4]);
        assert!(Value::Bytes(&[0x80]).push_to(&mut list).is_err());
    }

    #[test]
    fn malformed_messages_are_errors() {
        let is_refused = |message: &[u8]| all(message).is_err();
        assert!(is_refused(&[0x80]), "a key that does not end");
        assert!(is_refused(&[0x08]), "a number is missing");
        assert!(is_refused(&[vec![0x08], vec![0xFF; 10]].concat()), "a number of 11 bytes");
        assert!(is_refused(&[vec![0x08], vec![0x80; 9], vec![2]].concat()), "a number of 65 bits");
        assert!(is_refused(&[0x0A, 3, 1, 2]), "bytes are missing");
        assert!(is_refused(&[vec![0x0A], varint(u64::MAX)].concat()), "a size of 2^64 - 1");
        assert!(is_refused(&[0x09, 1, 2]) && is_refused(&[0x0D, 1, 2]), "fixed widths");
        assert!(is_refused(&[0x0B]) && is_refused(&[0x0F]), "groups and unknown wire types");
        assert!(Value::Number(1).bytes().is_err() && Value::Bytes(&[]).number().is_err());
        let error = all(&[0x0A, 3]).unwrap_err();
        assert_eq!(&*error.message, "malformed protocol buffer: a field ends after its message");
        assert_eq!(fields(&[0x0A, 3, 1]).count(), 1, "nothing follows an error");
    }
}
