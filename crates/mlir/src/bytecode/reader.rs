//! Reads the encoding of one attribute or type.

use super::bytes::Cursor;
use super::numbers;
use super::tables::{Extent, Found, MOST_LEVELS, MOST_PARTS, References, State, Tables};
use crate::{Attribute, Dictionary, Element, Location, Record, Type};
use base::error::{Error, Result};
use base::types::DType;
use std::sync::Arc;

/// A place in the encoding of an attribute or type. Reads placeholders for attributes and types that are not decoded
/// yet, and collects them.
pub struct Reader<'a, 't> {
    tables: &'t Tables<'a>,
    cursor: Cursor<'a>,
    /// Number of bytes of the entry.
    length: usize,
    missing: References,
    extent: Extent,
}

impl<'a, 't> Reader<'a, 't> {
    /// Creates a reader of an entry.
    pub fn new(tables: &'t Tables<'a>, cursor: Cursor<'a>) -> Reader<'a, 't> {
        Reader {
            tables,
            cursor,
            length: cursor.remaining(),
            missing: References::new(),
            extent: Extent { depth: 0, count: 1 },
        }
    }

    /// Ends the decoding. Whatever was decoded, or the error, is dropped if placeholders were read.
    pub fn finish<T>(self, value: Result<T>) -> Result<(State<T>, References)> {
        if !self.missing.is_empty() {
            return Ok((State::Open, self.missing));
        }
        let value = value?;
        if !self.cursor.is_empty() {
            return Err(self.error("an attribute or type has bytes after its end"));
        }
        if self.extent.depth > MOST_LEVELS || self.extent.count > MOST_PARTS {
            return Err(self.error("an attribute or type is nested too deeply"));
        }
        Ok((State::Read(value, self.extent), self.missing))
    }

    /// The tables of the file.
    pub fn tables(&self) -> &'t Tables<'a> {
        self.tables
    }

    /// Creates an error that names the place.
    pub fn error(&self, message: impl std::fmt::Display) -> Error {
        self.cursor.error(message)
    }

    /// Creates an error for something valid that the library does not read.
    pub fn unimplemented(&self, what: impl std::fmt::Display) -> Error {
        self.cursor.unimplemented(format_args!("{what} is not read"))
    }

    /// The place in the file.
    pub fn cursor(&mut self) -> &mut Cursor<'a> {
        &mut self.cursor
    }

    /// Reads an unsigned integer.
    pub fn varint(&mut self) -> Result<u64> {
        self.cursor.varint()
    }

    /// Reads a signed integer.
    pub fn svarint(&mut self) -> Result<i64> {
        self.cursor.svarint()
    }

    /// Reads a list.
    pub fn list<T>(&mut self, mut element: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let count = self.cursor.count()?;
        // Reserves little: the count of a damaged file may be large, and elements take more memory than its bytes.
        let mut list = Vec::with_capacity(count.min(64));
        for _ in 0..count {
            list.push(element(self)?);
        }
        Ok(list)
    }

    /// Reads a list of signed integers.
    pub fn integers(&mut self) -> Result<Vec<i64>> {
        self.list(Reader::svarint)
    }

    /// Reads a list of signed integers as an attribute.
    pub fn integers_attribute(&mut self) -> Result<Attribute> {
        Ok(Attribute::Integers(self.integers()?.into()))
    }

    /// Reads a signed integer as an attribute.
    pub fn integer_attribute(&mut self) -> Result<Attribute> {
        Ok(integer(self.svarint()?))
    }

    /// Reads a truth value of one byte.
    pub fn bool(&mut self) -> Result<bool> {
        match self.cursor.byte()? {
            value @ 0..=1 => Ok(value == 1),
            value => Err(self.error(format_args!("a truth value is 0 or 1, not {value}"))),
        }
    }

    /// Reads a reference to an attribute.
    pub fn attribute(&mut self) -> Result<Attribute> {
        let place = self.cursor;
        let index = self.varint()?;
        self.attribute_at(place, index)
    }

    /// Reads a reference to an attribute that may be absent.
    pub fn optional_attribute(&mut self) -> Result<Option<Attribute>> {
        let place = self.cursor;
        match self.cursor.flagged()? {
            (index, true) => self.attribute_at(place, index).map(Some),
            (_, false) => Ok(None),
        }
    }

    fn attribute_at(&mut self, place: Cursor<'a>, index: u64) -> Result<Attribute> {
        match self.tables.decoded_attribute(&place, index)? {
            Found::Value(attribute, extent) => {
                self.add(extent);
                Ok(attribute.clone())
            }
            Found::Missing(reference) => {
                self.missing.push(reference);
                Ok(Attribute::Unit)
            }
        }
    }

    fn add(&mut self, part: Extent) {
        self.extent.depth = self.extent.depth.max(part.depth + 1);
        self.extent.count = self.extent.count.saturating_add(part.count);
    }

    /// Reads a list of references to attributes as an attribute.
    pub fn array(&mut self) -> Result<Attribute> {
        Ok(Attribute::Array(self.list(Reader::attribute)?.into()))
    }

    /// Reads a reference to a string attribute.
    pub fn name(&mut self) -> Result<Arc<str>> {
        match self.attribute()? {
            Attribute::String(string) => Ok(self.tables.name(&string)),
            _ if !self.missing.is_empty() => Ok(Arc::default()),
            other => Err(self.error(format_args!("a string was expected, not {}", kind(&other)))),
        }
    }

    /// Reads a reference to a location. A location below [`MOST_LEVELS`] others is dropped, and one of too many parts.
    pub fn location(&mut self) -> Result<Location> {
        let before = self.extent;
        let attribute = self.attribute()?;
        if self.extent.depth >= MOST_LEVELS || self.extent.count > MOST_PARTS / 4 {
            self.extent = before;
            return Ok(Location::Unknown);
        }
        match attribute {
            Attribute::Location(location) => Ok(location),
            _ => Ok(Location::Unknown),
        }
    }

    /// Reads a reference to a type.
    pub fn ty(&mut self) -> Result<Arc<Type>> {
        let place = self.cursor;
        let index = self.varint()?;
        match self.tables.decoded_type(&place, index)? {
            Found::Value(ty, extent) => {
                self.add(extent);
                Ok(ty.clone())
            }
            Found::Missing(reference) => {
                self.missing.push(reference);
                Ok(self.tables.placeholder.clone())
            }
        }
    }

    /// Reads a list of references to types.
    pub fn types(&mut self) -> Result<Vec<Arc<Type>>> {
        self.list(Reader::ty)
    }

    /// Reads a reference to a type as an attribute.
    pub fn type_attribute(&mut self) -> Result<Attribute> {
        Ok(Attribute::Type(self.ty()?))
    }

    /// Reads a reference to the type of an element.
    pub fn element(&mut self) -> Result<Element> {
        match &*self.ty()? {
            Type::Scalar(element) => Ok(element.clone()),
            Type::Other(text) => Ok(Element::Other(text.clone())),
            _ => Err(self.error("the type of an element was expected, not one of tensors, functions or tuples")),
        }
    }

    /// Reads the index of a string as an attribute.
    pub fn string(&mut self) -> Result<Attribute> {
        let index = self.cursor.index(self.tables.file.strings.len(), "string")?;
        Ok(Attribute::String(self.tables.string(index)))
    }

    /// Reads an integer of a known number of bits; those above are 0.
    pub fn bits(&mut self, bits: u32) -> Result<u64> {
        match bits {
            0..=8 => Ok(u64::from(self.cursor.byte()?) & ((1 << bits) - 1)),
            9..=64 => Ok(self.svarint()? as u64 & u64::MAX >> (64 - bits)),
            _ => Err(self.unimplemented(format_args!("a number of {bits} bits"))),
        }
    }

    /// Reads a number of type f64.
    pub fn double(&mut self) -> Result<f64> {
        Ok(f64::from_bits(self.bits(64)?))
    }

    /// Reads a floating-point number of a type.
    pub fn float(&mut self, element: &Element) -> Result<f64> {
        let Element::DType(dtype) = element else {
            return Err(self.unimplemented(format_args!("a number of type {element}")));
        };
        let bits = match dtype.kind() {
            _ if dtype.wide().is_float() => self.bits(dtype.bit_width())?,
            _ => return Err(self.error(format_args!("a number of floating-point type was expected, not of {element}"))),
        };
        Ok(numbers::float(*dtype, &bits.to_le_bytes()[..dtype.size_bytes()]))
    }

    /// Reads an integer of a type.
    pub fn integer(&mut self, element: &Element) -> Result<i64> {
        let Some((bits, signed)) = numbers::integer_bits(element) else {
            return Err(self.error(format_args!("an integer was expected, not a number of type {element}")));
        };
        let value = self.bits(bits)?;
        let unused = 64 - bits.clamp(1, 64);
        Ok(if signed { (value << unused) as i64 >> unused } else { value as i64 })
    }

    /// Reads a case of an enumeration, given the keywords from number 0 on.
    pub fn keyword(&mut self, keywords: &[&str]) -> Result<Attribute> {
        let before = self.cursor;
        match keywords.get(self.varint()? as usize) {
            Some(&keyword) if !keyword.is_empty() => Ok(Attribute::Enum(keyword.into())),
            _ => Err(before.error(format_args!("not a number of a case of {keywords:?}"))),
        }
    }

    /// Creates a type that is kept as text, of a length in proportion to that of its encoding.
    pub fn other_type(&self, text: String) -> Result<Type> {
        match text.len() > self.most_text() {
            true => Err(self.unimplemented("a type with so long a text")),
            false => Ok(Type::Other(text.into())),
        }
    }

    /// Most bytes of the text of the type.
    pub fn most_text(&self) -> usize {
        256 + 8 * self.length
    }
}

/// Creates an attribute with named fields.
pub fn record<'n>(name: &str, fields: impl IntoIterator<Item = (&'n str, Attribute)>) -> Attribute {
    let fields = fields.into_iter().map(|(name, value)| (Arc::from(name), value)).collect();
    Attribute::Record(Arc::new(Record { name: name.into(), fields: Dictionary(fields) }))
}

/// Creates an integer attribute.
pub fn integer(value: i64) -> Attribute {
    Attribute::Integer(value, Element::DType(DType::S64))
}

/// What an attribute is, for messages.
fn kind(attribute: &Attribute) -> &'static str {
    match attribute {
        Attribute::Integer(..) | Attribute::Float(..) | Attribute::Bool(_) => "a number",
        Attribute::Array(_) | Attribute::Integers(_) | Attribute::Numbers(_) => "a list",
        Attribute::Location(_) => "a location",
        Attribute::Type(_) => "a type",
        _ => "another attribute",
    }
}
