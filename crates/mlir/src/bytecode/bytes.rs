//! A place in the bytes of a file. Every read is checked; errors name the place by its byte offset in the file.

use base::error::{Error, Result};
use std::ops::Range;

/// Byte that fills the gap before an aligned section or blob.
const PADDING: u8 = 0xCB;

/// A part of a file, and a place in it.
#[derive(Clone, Copy)]
pub struct Cursor<'a> {
    file: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> Cursor<'a> {
    /// Creates a cursor at the beginning of a file.
    pub fn new(file: &'a [u8]) -> Cursor<'a> {
        Cursor { file, at: 0, end: file.len() }
    }

    /// Number of bytes up to the end of the part.
    pub fn remaining(&self) -> usize {
        self.end - self.at
    }

    /// Whether the part has no more bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.at == self.end
    }

    /// Creates an error that names the place.
    pub fn error(&self, message: impl std::fmt::Display) -> Error {
        base::error!(InvalidArgument, "MLIR bytecode, byte {}: {message}", self.at)
    }

    /// Creates an error for something valid that the library does not read.
    pub fn unimplemented(&self, message: impl std::fmt::Display) -> Error {
        base::error!(Unimplemented, "MLIR bytecode, byte {}: {message}", self.at)
    }

    /// Reads one byte.
    #[inline]
    pub fn byte(&mut self) -> Result<u8> {
        if self.is_empty() {
            return Err(self.error("the section or file ends where a byte was expected"));
        }
        self.at += 1;
        Ok(self.file[self.at - 1])
    }

    /// Reads bytes as a part of its own.
    pub fn take(&mut self, length: u64) -> Result<Cursor<'a>> {
        if length > self.remaining() as u64 {
            return Err(self.error(format_args!("{length} bytes were expected, {} are left", self.remaining())));
        }
        let at = self.at;
        self.at += length as usize;
        Ok(Cursor { end: self.at, at, ..*self })
    }

    /// The bytes up to the end of the part.
    pub fn rest(&self) -> &'a [u8] {
        &self.file[self.at..self.end]
    }

    /// Where the bytes up to the end of the part are in the file.
    pub fn range(&self) -> Range<usize> {
        self.at..self.end
    }

    /// Reads an integer of variable length: the zeros at the low end of its first byte count the bytes that follow.
    #[inline]
    pub fn varint(&mut self) -> Result<u64> {
        let first = self.byte()?;
        if first & 1 == 1 { Ok(u64::from(first >> 1)) } else { self.long_varint(first) }
    }

    /// Reads the bytes of an integer after its first one, which is even.
    fn long_varint(&mut self, first: u8) -> Result<u64> {
        // Most numbers have one or two bytes.
        if first & 2 == 2 {
            let word = u64::from(self.byte()?) << 8 | u64::from(first);
            return Ok(word >> 2);
        }
        let more = first.trailing_zeros() as usize;
        let mut word = [0; 8];
        if first == 0 {
            word.copy_from_slice(self.take(8)?.rest());
            return Ok(u64::from_le_bytes(word));
        }
        word[0] = first;
        word[1..=more].copy_from_slice(self.take(more as u64)?.rest());
        Ok(u64::from_le_bytes(word) >> (more + 1))
    }

    /// Reads a signed integer of variable length, whose lowest bit is its sign.
    pub fn svarint(&mut self) -> Result<i64> {
        let word = self.varint()?;
        Ok((word >> 1) as i64 ^ -((word & 1) as i64))
    }

    /// Reads an integer whose lowest bit is a flag.
    pub fn flagged(&mut self) -> Result<(u64, bool)> {
        let word = self.varint()?;
        Ok((word >> 1, word & 1 == 1))
    }

    /// Reads the number of items that follow. An item takes at least one byte, so a number larger than that of the
    /// remaining bytes is an error.
    pub fn count(&mut self) -> Result<usize> {
        let count = self.varint()?;
        self.check_count(count)
    }

    /// Returns a number of things that follow if there are at least that many bytes.
    pub fn check_count(&self, count: u64) -> Result<usize> {
        if count > self.remaining() as u64 {
            return Err(self.error(format_args!("{count} elements were expected in {} bytes", self.remaining())));
        }
        Ok(count as usize)
    }

    /// Reads an index below `count` into the table of `what`.
    pub fn index(&mut self, count: usize, what: &str) -> Result<usize> {
        let index = self.varint()?;
        self.check_index(index, count, what)
    }

    /// Returns an index into the table of `what` if it is below `count`.
    pub fn check_index(&self, index: u64, count: usize, what: &str) -> Result<usize> {
        if index >= count as u64 {
            return Err(self.error(format_args!("there is no {what} {index}: the file has {count}")));
        }
        Ok(index as usize)
    }

    /// Moves to the next multiple of an alignment in the file.
    pub fn align(&mut self, alignment: u64) -> Result<()> {
        if !alignment.is_power_of_two() {
            return Err(self.error(format_args!("an alignment is a power of two, {alignment} is not")));
        }
        while self.at as u64 & (alignment - 1) != 0 {
            if self.byte()? != PADDING {
                self.at -= 1;
                return Err(self.error("padding byte 0xCB expected"));
            }
        }
        Ok(())
    }

    /// Reads bytes up to a NUL, and the NUL.
    pub fn nul_terminated(&mut self) -> Result<&'a [u8]> {
        let Some(length) = self.rest().iter().position(|&byte| byte == 0) else {
            return Err(self.error("a string has no end"));
        };
        let text = self.take(length as u64)?;
        self.byte()?;
        Ok(text.rest())
    }

    /// Reads a length and that many bytes.
    pub fn blob(&mut self) -> Result<Cursor<'a>> {
        let length = self.varint()?;
        self.take(length)
    }

    /// Reads an alignment, a length, padding and that many bytes.
    pub fn aligned_blob(&mut self) -> Result<Cursor<'a>> {
        let (alignment, length) = (self.varint()?, self.varint()?);
        self.align(alignment)?;
        self.take(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn varint(bytes: &[u8]) -> Option<u64> {
        let mut cursor = Cursor::new(bytes);
        let value = cursor.varint().ok()?;
        assert!(cursor.is_empty());
        Some(value)
    }

    #[test]
    fn variable_integers() {
        assert_eq!(varint(&[0x01]), Some(0));
        assert_eq!(varint(&[0xFF]), Some(127));
        assert_eq!(varint(&[0x02, 0x02]), Some(128));
        assert_eq!(varint(&[0xFE, 0xFF]), Some((1 << 14) - 1));
        assert_eq!(varint(&[0x80, 1, 0, 0, 0, 0, 0, 0x80]), Some(1 | 0x80 << 48));
        assert_eq!(varint(&[0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]), Some(u64::MAX));
        assert_eq!(varint(&[0x02]), None);
        assert_eq!(varint(&[0, 1, 2]), None);
        assert_eq!(varint(&[]), None);
    }

    #[test]
    fn signed_integers() {
        let signed = |bytes: &[u8]| Cursor::new(bytes).svarint().unwrap();
        assert_eq!([signed(&[0x01]), signed(&[0x03]), signed(&[0x05])], [0, -1, 1]);
        assert_eq!(signed(&[0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]), i64::MIN);
        assert_eq!(signed(&[0, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]), i64::MAX);
    }

    #[test]
    fn errors_name_the_place() {
        let mut cursor = Cursor::new(&[1, 2, 3, 4]);
        cursor.take(2).unwrap();
        assert_eq!(
            cursor.take(3).err().unwrap().to_string(),
            "MLIR bytecode, byte 2: 3 bytes were expected, 2 are left"
        );
        assert!(cursor.align(3).is_err() && cursor.align(4).is_err());
        assert!(cursor.take(u64::MAX).is_err() && cursor.check_count(5).is_err());
    }
}
