//! Attributes and types of a file. They refer to each other by index, and are decoded when they are needed.

use super::bytes::Cursor;
use super::reader::Reader;
use super::sections::{Dialect, File};
use super::{builtin, quant, sdy, stablehlo, text, vhlo};
use crate::error::Result;
use crate::mlir::{Attribute, Type};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::sync::Arc;

/// The attributes and types of a file.
pub struct Tables<'a> {
    /// The other tables.
    pub file: File<'a>,
    attributes: Vec<Entry<'a, Attribute>>,
    types: Vec<Entry<'a, Arc<Type>>>,
    /// Strings that were used, by their indices.
    strings: RefCell<Vec<Option<Arc<[u8]>>>>,
    /// Those that are names of attributes, files or functions, by their addresses.
    names: RefCell<FxHashMap<*const u8, Arc<str>>>,
    /// Memory of [`Tables::resolve`].
    waiting: Vec<Reference>,
    /// Stands for a type that is not decoded yet.
    pub placeholder: Arc<Type>,
}

/// An attribute or type.
struct Entry<'a, T> {
    content: Cursor<'a>,
    /// Index of its dialect.
    dialect: usize,
    /// Whether it has an encoding of its dialect; otherwise it is text.
    encoded: bool,
    state: State<T>,
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
        Ok(Tables { file, attributes, types, strings, names: RefCell::default(), waiting: Vec::new(), placeholder })
    }

    /// Returns the attribute with an index, which was read at `place`.
    pub fn attribute(&mut self, place: &Cursor, index: u64) -> Result<Attribute> {
        let index = place.check_index(index, self.attributes.len(), "attribute")?;
        loop {
            match &self.attributes[index].state {
                State::Read(attribute, _) => return Ok(attribute.clone()),
                _ => self.resolve(Reference::Attribute(index))?,
            }
        }
    }

    /// Returns the type with an index, which was read at `place`.
    pub fn ty(&mut self, place: &Cursor, index: u64) -> Result<Arc<Type>> {
        let index = place.check_index(index, self.types.len(), "type")?;
        loop {
            match &self.types[index].state {
                State::Read(ty, _) => return Ok(ty.clone()),
                _ => self.resolve(Reference::Type(index))?,
            }
        }
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

    /// Decodes an entry and all that it refers to. An entry is decoded up to the end with placeholders for what it
    /// refers to, which is then decoded; then once more. So each is decoded about twice, and nothing recurses.
    fn resolve(&mut self, wanted: Reference) -> Result<()> {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.push(wanted);
        while let Some(&reference) = waiting.last() {
            let missing = match reference {
                Reference::Attribute(index) => match self.attributes[index].state {
                    State::Read(..) => Vec::new(),
                    _ => self.decode_attribute(index)?,
                },
                Reference::Type(index) => match self.types[index].state {
                    State::Read(..) => Vec::new(),
                    _ => self.decode_type(index)?,
                },
            };
            if missing.is_empty() {
                waiting.pop();
            }
            if missing.iter().any(|&missing| self.is_open(missing)) {
                return Err(self.file.attributes.error("an attribute or type refers to itself"));
            }
            waiting.extend(missing);
        }
        self.waiting = waiting;
        Ok(())
    }

    /// Whether an entry waits for those that it refers to.
    fn is_open(&self, reference: Reference) -> bool {
        match reference {
            Reference::Attribute(index) => matches!(self.attributes[index].state, State::Open),
            Reference::Type(index) => matches!(self.types[index].state, State::Open),
        }
    }

    /// Decodes an attribute. Returns what it refers to and is not decoded yet.
    fn decode_attribute(&mut self, index: usize) -> Result<Vec<Reference>> {
        let entry = &self.attributes[index];
        let (dialect, name) = self.file.dialects[entry.dialect];
        let mut reader = Reader::new(self, entry.content);
        let attribute = match dialect {
            _ if !entry.encoded => text::attribute(&mut reader),
            Dialect::Builtin => builtin::attribute(&mut reader),
            Dialect::Vhlo => vhlo::attribute(&mut reader),
            Dialect::StableHlo => stablehlo::attribute(&mut reader),
            Dialect::Chlo => stablehlo::chlo_attribute(&mut reader),
            Dialect::Sdy => sdy::attribute(&mut reader),
            Dialect::Quant | Dialect::Other => {
                Err(reader.unimplemented(format_args!("the encoding of attributes of {name:?}")))
            }
        };
        let (state, missing) = reader.finish(attribute)?;
        self.attributes[index].state = state;
        Ok(missing)
    }

    /// Decodes a type. Returns what it refers to and is not decoded yet.
    fn decode_type(&mut self, index: usize) -> Result<Vec<Reference>> {
        let entry = &self.types[index];
        let (dialect, name) = self.file.dialects[entry.dialect];
        let mut reader = Reader::new(self, entry.content);
        let ty = match dialect {
            _ if !entry.encoded => text::ty(&mut reader),
            Dialect::Builtin => builtin::ty(&mut reader),
            Dialect::Vhlo => vhlo::ty(&mut reader),
            Dialect::StableHlo => stablehlo::ty(&mut reader),
            Dialect::Quant => quant::ty(&mut reader),
            _ => Err(reader.unimplemented(format_args!("the encoding of types of {name:?}"))),
        };
        let (state, missing) = reader.finish(ty.map(Arc::new))?;
        self.types[index].state = state;
        Ok(missing)
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
