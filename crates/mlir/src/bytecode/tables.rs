//! The tables of attributes and types of a file, and how far their entries are decoded.

use super::bytes::Cursor;
use super::sections::File;
use crate::{Attribute, Type};
use base::error::Result;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::sync::Arc;

/// The attributes and types of a file.
pub struct Tables<'a> {
    /// The other tables.
    pub file: File<'a>,
    /// Attributes.
    pub attributes: Vec<Entry<'a, Attribute>>,
    /// Types.
    pub types: Vec<Entry<'a, Arc<Type>>>,
    /// Strings that were used, by their indices.
    strings: RefCell<Vec<Option<Arc<[u8]>>>>,
    /// Those that are names of attributes, files or functions, by their addresses, which stay as they are.
    names: RefCell<FxHashMap<*const u8, Arc<str>>>,
    /// Stands for a type that is not decoded yet.
    pub placeholder: Arc<Type>,
}

/// An attribute or type.
pub struct Entry<'a, T> {
    /// Its encoding.
    pub content: Cursor<'a>,
    /// Index of its dialect.
    pub dialect: usize,
    /// Whether it has an encoding of its dialect; otherwise it is text.
    pub encoded: bool,
    /// How far it is decoded.
    pub state: State<T>,
}

/// How far an entry is decoded.
pub enum State<T> {
    /// Not at all.
    Unread,
    /// Waits for entries that it refers to.
    Open,
    /// It is decoded.
    Read(T, Extent),
}

/// Extent of an attribute or type with all that it refers to. Limits keep functions that walk through attributes from
/// deep recursion and, as an attribute may be shared, from exponential time.
#[derive(Clone, Copy, Default)]
pub struct Extent {
    /// Levels below it.
    pub depth: u32,
    /// Number of attributes and types, each counted as often as it is referred to.
    pub count: u32,
}

/// Most levels of attributes, types and locations.
pub const MOST_LEVELS: u32 = 200;
/// Most attributes and types in one.
pub const MOST_PARTS: u32 = 1 << 20;

/// An attribute or type that another refers to.
pub enum Found<T> {
    /// It is decoded.
    Value(T, Extent),
    /// It is not.
    Missing(Reference),
}

/// Refers to an attribute or a type by its index.
#[derive(Clone, Copy)]
pub enum Reference {
    Attribute(usize),
    Type(usize),
}

/// References of an entry that are not decoded yet.
pub type References = SmallVec<[Reference; 6]>;

impl<'a> Tables<'a> {
    /// Reads the sizes of the entries.
    pub fn read(file: File<'a>) -> Result<Tables<'a>> {
        let mut offsets = file.attribute_offsets;
        let (attributes, types) = (offsets.count()?, offsets.count()?);
        let mut contents = file.attributes;
        let attributes = entries(&mut offsets, attributes, file.dialects.len(), &mut contents)?;
        let types = entries(&mut offsets, types, file.dialects.len(), &mut contents)?;
        if !offsets.is_empty() {
            return Err(offsets.error("the section of sizes of attributes has bytes after the last size"));
        }
        let strings = RefCell::new(vec![None; file.strings.len()]);
        let placeholder = Arc::new(Type::None);
        Ok(Tables { file, attributes, types, strings, names: RefCell::default(), placeholder })
    }

    /// Returns the attribute with an index if it is decoded, otherwise what to decode.
    pub fn decoded_attribute(&self, place: &Cursor, index: u64) -> Result<Found<&Attribute>> {
        let index = place.check_index(index, self.attributes.len(), "attribute")?;
        Ok(self.attributes[index].found(Reference::Attribute(index)))
    }

    /// Returns the type with an index if it is decoded, otherwise what to decode.
    pub fn decoded_type(&self, place: &Cursor, index: u64) -> Result<Found<&Arc<Type>>> {
        let index = place.check_index(index, self.types.len(), "type")?;
        Ok(self.types[index].found(Reference::Type(index)))
    }

    /// Returns the string with an index, which is stored once.
    pub fn string(&self, index: usize) -> Arc<[u8]> {
        let string = &mut self.strings.borrow_mut()[index];
        string.get_or_insert_with(|| self.file.strings[index].into()).clone()
    }

    /// Returns a string as text.
    pub fn name(&self, string: &Arc<[u8]>) -> Arc<str> {
        let mut names = self.names.borrow_mut();
        names.entry(string.as_ptr()).or_insert_with(|| String::from_utf8_lossy(string).into()).clone()
    }

    /// Whether an entry waits for those that it refers to.
    pub fn is_open(&self, reference: Reference) -> bool {
        match reference {
            Reference::Attribute(index) => matches!(self.attributes[index].state, State::Open),
            Reference::Type(index) => matches!(self.types[index].state, State::Open),
        }
    }
}

impl<T> Entry<'_, T> {
    fn found(&self, reference: Reference) -> Found<&T> {
        match &self.state {
            State::Read(value, extent) => Found::Value(value, *extent),
            _ => Found::Missing(reference),
        }
    }
}

/// Reads the sizes of attributes or types, which are in groups of one dialect.
fn entries<'a, T>(
    offsets: &mut Cursor<'a>,
    count: usize,
    dialects: usize,
    contents: &mut Cursor<'a>,
) -> Result<Vec<Entry<'a, T>>> {
    let mut entries = Vec::with_capacity(count.min(contents.remaining()));
    while entries.len() < count {
        let dialect = offsets.index(dialects, "dialect")?;
        let group = offsets.count()?;
        if group > count - entries.len() {
            return Err(offsets.error(format_args!("{group} more attributes or types, of {count} in all")));
        }
        for _ in 0..group {
            let (size, encoded) = offsets.flagged()?;
            let content = contents.take(size)?;
            if content.is_empty() {
                return Err(offsets.error("an attribute or type without content"));
            }
            entries.push(Entry { content, dialect, encoded, state: State::Unread });
        }
    }
    Ok(entries)
}
