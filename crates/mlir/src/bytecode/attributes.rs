//! Reads attributes, by the tables of their encodings.

use super::codes;
use super::dense;
use super::forms::{Dialect, Field, Flag, Form, LocationForm};
use super::numbers;
use super::reader::{Reader, integer, record};
use super::upgrade;
use crate::{Attribute, Dictionary, Element, FREE, Location, Numbers};
use base::error::Result;
use base::types::DType;
use std::sync::Arc;

/// Reads an attribute of a dialect.
pub fn attribute(reader: &mut Reader, dialect: Dialect, name: &str) -> Result<Attribute> {
    let place = *reader.cursor();
    let code = reader.varint()?;
    let found = codes::attributes(dialect).iter().find(|known| known.code == code);
    match (found, dialect) {
        (Some(known), _) => of_form(reader, known.form),
        (None, Dialect::Vhlo) => Err(upgrade::unknown(place, format_args!("attribute {code}"))),
        (None, _) => Err(reader.unimplemented(format_args!("attribute {code} of {name}"))),
    }
}

fn of_form(reader: &mut Reader, form: Form) -> Result<Attribute> {
    match form {
        Form::Array => reader.array(),
        Form::Dictionary => {
            let entries = reader.list(|reader| Ok((reader.name()?, reader.attribute()?)))?;
            Ok(Attribute::Dictionary(Dictionary(entries.into())))
        }
        Form::String => reader.string(),
        Form::TypedString => {
            let string = reader.string()?;
            reader.ty()?;
            Ok(string)
        }
        Form::Symbol => Ok(Attribute::Symbol([reader.name()?].into())),
        Form::Path => symbol(reader),
        Form::Type => reader.type_attribute(),
        Form::Unit => Ok(Attribute::Unit),
        Form::Bool => match reader.varint()? {
            value @ 0..=1 => Ok(Attribute::Bool(value == 1)),
            value => Err(reader.error(format_args!("a truth value is 0 or 1, not {value}"))),
        },
        Form::Integer => {
            let element = reader.element()?;
            let value = reader.integer(&element)?;
            Ok(match element {
                Element::DType(DType::Pred) => Attribute::Bool(value != 0),
                element => Attribute::Integer(value, element),
            })
        }
        Form::Float => {
            let element = reader.element()?;
            Ok(Attribute::Float(reader.float(&element)?, element))
        }
        Form::Dense => {
            let ty = reader.ty()?;
            let content = reader.cursor().blob()?;
            dense::dense(reader, ty, content)
        }
        Form::Resource => {
            let ty = reader.ty()?;
            let resources = &reader.tables().file.resources;
            let index = reader.cursor().index(resources.len(), "resource")?;
            let content = resources[index].clone().aligned_blob()?;
            dense::dense(reader, ty, content)
        }
        Form::Numbers => numbers_of(reader),
        Form::Distinct => reader.attribute(),
        Form::Location(place) => Ok(Attribute::Location(location(reader, place)?)),
        Form::Case(keywords) => reader.keyword(keywords),
        Form::Record(name, fields) => {
            let mut values = Vec::with_capacity(fields.len());
            for &(name, form) in fields {
                if let Some(value) = field(reader, form)? {
                    values.push((name, value));
                }
            }
            Ok(record(name, values))
        }
    }
}

/// Reads a field of a record; None if it is absent.
fn field(reader: &mut Reader, field: Field) -> Result<Option<Attribute>> {
    Ok(Some(match field {
        Field::Attribute => reader.attribute()?,
        Field::Optional(Flag::LowBit) => return reader.optional_attribute(),
        Field::Optional(Flag::Byte) => return if reader.bool()? { reader.attribute().map(Some) } else { Ok(None) },
        Field::Optional(Flag::Number) => {
            return if reader.varint()? == 0 { Ok(None) } else { reader.attribute().map(Some) };
        }
        Field::Mesh => match reader.attribute()? {
            Attribute::String(name) => Attribute::Symbol([reader.tables().name(&name)].into()),
            mesh => mesh,
        },
        Field::List => reader.array()?,
        Field::String => reader.string()?,
        Field::Type => reader.type_attribute()?,
        Field::Integer => reader.integer_attribute()?,
        Field::Integers => reader.integers_attribute()?,
        Field::Bounds => {
            let bounds = reader.integers()?;
            Attribute::Integers(bounds.into_iter().map(|bound| bound.max(FREE)).collect())
        }
        Field::Double => Attribute::Float(reader.double()?, Element::DType(DType::F64)),
        Field::Bool => Attribute::Bool(reader.bool()?),
        Field::Priority => match reader.cursor().flagged()? {
            (_, false) => return Ok(None),
            (value, true) => integer(value as i64),
        },
    }))
}

/// Reads a symbol in another.
fn symbol(reader: &mut Reader) -> Result<Attribute> {
    let mut parts = vec![reader.name()?];
    for part in reader.list(Reader::attribute)? {
        if let Attribute::Symbol(names) = part {
            parts.extend(names.iter().cloned());
        }
    }
    Ok(Attribute::Symbol(parts.into()))
}

fn location(reader: &mut Reader, place: LocationForm) -> Result<Location> {
    let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    Ok(match place {
        LocationForm::Call => {
            let callee = reader.location()?;
            Location::Call(Arc::new(callee), Arc::new(reader.location()?))
        }
        LocationForm::File => {
            Location::File { name: reader.name()?, line: narrow(reader.varint()?), column: narrow(reader.varint()?) }
        }
        LocationForm::Range => {
            let name = reader.name()?;
            let numbers = reader.list(Reader::varint)?;
            let number = |i: usize| numbers.get(i).map_or(0, |&number| narrow(number));
            Location::File { name, line: number(0), column: number(1) }
        }
        LocationForm::Fused => Location::Fused(reader.list(Reader::location)?.into()),
        LocationForm::FusedWith => {
            let locations = reader.list(Reader::location)?;
            reader.attribute()?;
            Location::Fused(locations.into())
        }
        LocationForm::Name => {
            let name = reader.name()?;
            Location::Name(name, Arc::new(reader.location()?))
        }
        LocationForm::Unknown => Location::Unknown,
    })
}

/// Reads `array<i64: 1, 2>`.
fn numbers_of(reader: &mut Reader) -> Result<Attribute> {
    let element = reader.element()?;
    let count = reader.varint()?;
    let content = reader.cursor().blob()?;
    let size = numbers::stored_bytes(&element)
        .filter(|&size| count.checked_mul(size as u64) == Some(content.remaining() as u64));
    let Some(size) = size else {
        let bytes = content.remaining();
        return Err(reader.error(format_args!("an array of {count} elements of type {element} in {bytes} bytes")));
    };
    let bytes = content.rest();
    Ok(match element {
        Element::DType(dtype @ DType::S64) => {
            Attribute::Integers(bytes.chunks_exact(size).map(|bytes| numbers::integer(dtype, bytes)).collect())
        }
        Element::DType(dtype @ DType::Pred) => {
            let bytes = bytes.iter().map(|&byte| u8::from(byte != 0)).collect();
            Attribute::Numbers(Numbers { dtype, bytes })
        }
        Element::DType(dtype) if dtype.is_integer() || dtype.is_float() => {
            Attribute::Numbers(Numbers { dtype, bytes: bytes.into() })
        }
        _ => return Err(reader.unimplemented(format_args!("an array of elements of type {element}"))),
    })
}
