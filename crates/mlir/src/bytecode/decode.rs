//! Decodes attributes and types, which refer to each other by index, when they are needed.

use super::bytes::Cursor;
use super::reader::Reader;
use super::tables::{Found, Reference, References, State, Tables};
use super::{attributes, text, types};
use crate::{Attribute, Location, Type};
use base::error::Result;
use std::sync::Arc;

/// Returns the attribute with an index, which was read at `place`.
pub fn attribute(tables: &mut Tables, place: &Cursor, index: u64) -> Result<Attribute> {
    let index = place.check_index(index, tables.attributes.len(), "attribute")?;
    loop {
        match &tables.attributes[index].state {
            State::Read(attribute, _) => return Ok(attribute.clone()),
            _ => resolve(tables, Reference::Attribute(index))?,
        }
    }
}

/// Returns the location with an index; an unknown one if the attribute is none.
pub fn location(tables: &mut Tables, place: &Cursor, index: u64) -> Result<Location> {
    if let Found::Value(Attribute::Location(location), _) = tables.decoded_attribute(place, index)? {
        return Ok(location.clone());
    }
    match attribute(tables, place, index)? {
        Attribute::Location(location) => Ok(location),
        _ => Ok(Location::Unknown),
    }
}

/// Returns the type with an index, which was read at `place`.
pub fn ty(tables: &mut Tables, place: &Cursor, index: u64) -> Result<Arc<Type>> {
    let index = place.check_index(index, tables.types.len(), "type")?;
    loop {
        match &tables.types[index].state {
            State::Read(ty, _) => return Ok(ty.clone()),
            _ => resolve(tables, Reference::Type(index))?,
        }
    }
}

/// Decodes an entry and all that it refers to. An entry is decoded up to the end with placeholders for what it refers
/// to, which is then decoded; then once more. So each is decoded about twice, and nothing recurses.
fn resolve(tables: &mut Tables, wanted: Reference) -> Result<()> {
    let mut waiting = References::from_slice(&[wanted]);
    while let Some(&reference) = waiting.last() {
        let missing = match reference {
            Reference::Attribute(index) => match tables.attributes[index].state {
                State::Read(..) => References::new(),
                _ => decode_attribute(tables, index)?,
            },
            Reference::Type(index) => match tables.types[index].state {
                State::Read(..) => References::new(),
                _ => decode_type(tables, index)?,
            },
        };
        if missing.is_empty() {
            waiting.pop();
        }
        if missing.iter().any(|&missing| tables.is_open(missing)) {
            return Err(tables.file.attributes.error("an attribute or type refers to itself"));
        }
        waiting.extend(missing);
    }
    Ok(())
}

/// Decodes an attribute. Returns what it refers to and is not decoded yet.
fn decode_attribute(tables: &mut Tables, index: usize) -> Result<References> {
    let entry = &tables.attributes[index];
    let (dialect, name) = tables.file.dialects[entry.dialect];
    let mut reader = Reader::new(tables, entry.content);
    let attribute = match entry.encoded {
        true => attributes::attribute(&mut reader, dialect, name),
        false => text::attribute(&mut reader),
    };
    let (state, missing) = reader.finish(attribute)?;
    tables.attributes[index].state = state;
    Ok(missing)
}

/// Decodes a type. Returns what it refers to and is not decoded yet.
fn decode_type(tables: &mut Tables, index: usize) -> Result<References> {
    let entry = &tables.types[index];
    let (dialect, name) = tables.file.dialects[entry.dialect];
    let mut reader = Reader::new(tables, entry.content);
    let ty = match entry.encoded {
        true => types::ty(&mut reader, dialect, name),
        false => text::ty(&mut reader),
    };
    let (state, missing) = reader.finish(ty.map(Arc::new))?;
    tables.types[index].state = state;
    Ok(missing)
}
