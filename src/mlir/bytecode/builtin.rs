//! Attributes, locations and types of MLIR's builtin dialect.

use super::dense;
use super::numbers;
use super::reader::Reader;
use crate::error::Result;
use crate::mlir::{Attribute, Dictionary, Element, FREE, Location, TensorShape, Type};
use crate::types::{DType, MAX_RANK};
use smallvec::SmallVec;
use std::sync::Arc;

/// Reads an attribute.
pub fn attribute(reader: &mut Reader) -> Result<Attribute> {
    let code = reader.varint()?;
    match code {
        0 => reader.array(),
        1 => dictionary(reader),
        2 => reader.string(),
        // With a type, which strings of StableHLO do not need.
        3 => {
            let string = reader.string()?;
            reader.ty()?;
            Ok(string)
        }
        4 => Ok(Attribute::Symbol([reader.name()?].into())),
        5 => symbol(reader),
        6 => reader.type_attribute(),
        7 => Ok(Attribute::Unit),
        8 => {
            let element = reader.element()?;
            let value = reader.integer(&element)?;
            Ok(match element {
                Element::DType(DType::Pred) => Attribute::Bool(value != 0),
                element => Attribute::Integer(value, element),
            })
        }
        9 => {
            let element = reader.element()?;
            Ok(Attribute::Float(reader.float(&element)?, element))
        }
        10..=15 | 22 => Ok(Attribute::Location(location(reader, code)?)),
        16 => {
            let ty = reader.ty()?;
            let resources = &reader.tables().file.resources;
            let index = reader.cursor().index(resources.len(), "resource")?;
            let content = resources[index].clone().aligned_blob()?;
            dense::dense(reader, ty, content)
        }
        17 => dense_array(reader),
        18 => {
            let ty = reader.ty()?;
            let content = reader.cursor().blob()?;
            dense::dense(reader, ty, content)
        }
        // A distinct attribute stands for what it refers to.
        21 => reader.attribute(),
        _ => Err(reader.unimplemented(format_args!("builtin attribute {code}"))),
    }
}

fn dictionary(reader: &mut Reader) -> Result<Attribute> {
    let entries = reader.list(|reader| Ok((reader.name()?, reader.attribute()?)))?;
    Ok(Attribute::Dictionary(Dictionary(entries.into())))
}

/// Reads a symbol in another: its root, and references to symbols for the other parts.
fn symbol(reader: &mut Reader) -> Result<Attribute> {
    let mut parts = vec![reader.name()?];
    for part in reader.list(Reader::attribute)? {
        if let Attribute::Symbol(names) = part {
            parts.extend(names.iter().cloned());
        }
    }
    Ok(Attribute::Symbol(parts.into()))
}

fn location(reader: &mut Reader, code: u64) -> Result<Location> {
    let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    Ok(match code {
        10 => {
            let callee = reader.location()?;
            Location::Call(Arc::new(callee), Arc::new(reader.location()?))
        }
        11 => Location::File { name: reader.name()?, line: narrow(reader.varint()?), column: narrow(reader.varint()?) },
        12 => Location::Fused(reader.list(Reader::location)?.into()),
        13 => {
            let locations = reader.list(Reader::location)?;
            reader.attribute()?;
            Location::Fused(locations.into())
        }
        14 => {
            let name = reader.name()?;
            Location::Name(name, Arc::new(reader.location()?))
        }
        // A range of a file: up to four numbers, which begin with a line and a column.
        22 => {
            let name = reader.name()?;
            let numbers = reader.list(Reader::varint)?;
            let number = |i: usize| numbers.get(i).map_or(0, |&number| narrow(number));
            Location::File { name, line: number(0), column: number(1) }
        }
        _ => Location::Unknown,
    })
}

/// Reads `array<i64: 1, 2>`.
fn dense_array(reader: &mut Reader) -> Result<Attribute> {
    let element = reader.element()?;
    let count = reader.varint()?;
    let content = reader.cursor().blob()?;
    let size = numbers::stored_bytes(&element)
        .filter(|&size| count.checked_mul(size as u64) == Some(content.remaining() as u64));
    let Some(size) = size else {
        let bytes = content.remaining();
        return Err(reader.error(format_args!("an array of {count} elements of type {element} in {bytes} bytes")));
    };
    let elements = content.rest().chunks_exact(size.max(1));
    match &element {
        Element::DType(dtype) if dtype.is_float() => Ok(Attribute::Array(
            elements.map(|bytes| Attribute::Float(numbers::float(*dtype, bytes), element.clone())).collect(),
        )),
        Element::DType(dtype) if dtype.is_integer() || *dtype == DType::Pred => {
            Ok(Attribute::Integers(elements.map(|bytes| numbers::integer(*dtype, bytes)).collect()))
        }
        _ => Err(reader.unimplemented(format_args!("an array of elements of type {element}"))),
    }
}

/// Floating-point types by their codes; empty for codes of other types.
const FLOATS: [&str; 33] = [
    "",
    "",
    "",
    "bf16",
    "f16",
    "f32",
    "f64",
    "f80",
    "f128",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "tf32",
    "f8E5M2",
    "f8E4M3",
    "f8E4M3FN",
    "f8E5M2FNUZ",
    "f8E4M3FNUZ",
    "f8E4M3B11FNUZ",
    "f8E3M4",
    "f4E2M1FN",
    "f6E2M3FN",
    "f6E3M2FN",
    "f8E8M0FNU",
];

/// Reads a type.
pub fn ty(reader: &mut Reader) -> Result<Type> {
    let code = reader.varint()?;
    if let Some(element) = element_of_code(&FLOATS, code) {
        return Ok(Type::Scalar(element));
    }
    match code {
        0 => Ok(Type::Scalar(integer_type(reader.varint()?))),
        1 => Ok(Type::Scalar(Element::Index)),
        2 => Ok(Type::Function { inputs: reader.types()?, results: reader.types()? }),
        9 => complex(reader),
        10 => memref(reader),
        11 => {
            reader.attribute()?;
            memref(reader)
        }
        12 => Ok(Type::None),
        13 => tensor(reader, false),
        14 => tensor(reader, true),
        15 => Ok(Type::Tuple(reader.types()?)),
        16 => unranked(reader, "memref"),
        17 => {
            reader.attribute()?;
            unranked(reader, "memref")
        }
        18 => unranked(reader, "tensor"),
        19 => shaped(reader, "vector"),
        _ => Err(reader.unimplemented(format_args!("builtin type {code}"))),
    }
}

/// Returns the element type with a code, given their texts from code 0 on, empty for other codes.
pub fn element_of_code(texts: &[&str], code: u64) -> Option<Element> {
    let text = texts.get(usize::try_from(code).ok()?)?;
    (!text.is_empty()).then(|| Element::of_text(text))
}

/// Returns an integer type given 4 times its number of bits, plus 1 for a signed and 2 for an unsigned one.
fn integer_type(code: u64) -> Element {
    let sign = ["i", "si", "ui", "i"][code as usize & 3];
    Element::of_text(&format!("{sign}{}", code >> 2))
}

/// Reads a complex type.
pub fn complex(reader: &mut Reader) -> Result<Type> {
    let element = reader.element()?;
    match &element {
        Element::DType(dtype) if dtype.is_float() => Ok(Type::Scalar(Element::of_text(&format!("complex<{element}>")))),
        _ => Err(reader.error(format_args!("a complex number has parts of a floating-point type, not of {element}"))),
    }
}

/// Reads a ranked tensor, whose encoding, if it has one, comes first. That of StableHLO is bounds of free sizes.
pub fn tensor(reader: &mut Reader, encoding: bool) -> Result<Type> {
    if encoding {
        reader.attribute()?;
    }
    let dims = dims(reader)?;
    Ok(Type::Tensor(TensorShape { element: reader.element()?, dims }))
}

/// Reads the sizes of a tensor: a negative one stands for `?`.
fn dims(reader: &mut Reader) -> Result<SmallVec<[i64; 4]>> {
    let count = reader.cursor().count()?;
    if count > MAX_RANK {
        return Err(reader.unimplemented(format_args!("a tensor of {count} axes")));
    }
    (0..count).map(|_| Ok(reader.svarint()?.max(FREE))).collect()
}

/// Reads a buffer, and its layout, which is dropped.
fn memref(reader: &mut Reader) -> Result<Type> {
    let ty = shaped(reader, "memref")?;
    reader.attribute()?;
    Ok(ty)
}

/// Reads a type with sizes and an element type, which is kept as text.
pub fn shaped(reader: &mut Reader, name: &str) -> Result<Type> {
    let dims = dims(reader)?;
    let tensor = TensorShape { element: reader.element()?, dims }.to_string();
    reader.other_type(tensor.replacen("tensor", name, 1))
}

/// Reads a type with an element type and without sizes, which is kept as text.
pub fn unranked(reader: &mut Reader, name: &str) -> Result<Type> {
    let element = reader.element()?;
    reader.other_type(format!("{name}<*x{element}>"))
}
