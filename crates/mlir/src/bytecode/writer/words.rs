//! Words of a file: their bytes are known once everything that the file refers to has its place.

use crate::Dense;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A table of things that words refer to.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Table {
    Strings,
    Attributes,
    Types,
    Names,
    Properties,
}

/// A word.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Word {
    /// An integer of variable length.
    Number(u64),
    /// One byte.
    Byte(u8),
    /// Bytes as they are.
    Bytes(Box<[u8]>),
    /// Elements of a large constant.
    Elements(Elements),
    /// The index of a thing.
    Reference(Table, u32),
    /// The index of a thing, above a flag.
    Flagged(Table, u32, bool),
    /// A section in a section.
    Section(u8, Vec<Word>),
}

/// Elements of a large constant. They are not compared: a constant is equal to itself alone.
#[derive(Clone)]
pub struct Elements(pub Arc<Dense>);

impl PartialEq for Elements {
    fn eq(&self, other: &Elements) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Elements {}

impl Hash for Elements {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

/// Returns the word of a signed integer, whose lowest bit is its sign.
pub fn signed(value: i64) -> Word {
    Word::Number((value << 1 ^ value >> 63) as u64)
}

/// Writes an integer of variable length: the zeros at the low end of its first byte count the bytes that follow.
pub fn put_number(out: &mut Vec<u8>, value: u64) {
    match number_size(value) {
        9 => {
            out.push(0);
            out.extend(value.to_le_bytes());
        }
        size => out.extend(&((value << 1 | 1) << (size - 1)).to_le_bytes()[..size]),
    }
}

/// Number of bytes of an integer of variable length.
pub fn number_size(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    if bits > 56 { 9 } else { bits.div_ceil(7) }
}
