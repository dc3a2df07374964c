//! Reads types, by the tables of their encodings.

use super::codes::{self, BOUNDS};
use super::forms::{Dialect, TypeForm};
use super::quant;
use super::reader::Reader;
use super::upgrade;
use crate::{Attribute, Element, FREE, TensorShape, Type};
use base::error::Result;
use base::types::MAX_RANK;
use smallvec::SmallVec;

/// Reads a type of a dialect.
pub fn ty(reader: &mut Reader, dialect: Dialect, name: &str) -> Result<Type> {
    let place = *reader.cursor();
    let code = reader.varint()?;
    let found = codes::types(dialect).iter().find(|known| known.code == code);
    match (found, dialect) {
        (Some(known), _) => of_form(reader, known.form),
        (None, Dialect::Vhlo) => Err(upgrade::unknown(place, format_args!("type {code}"))),
        (None, _) => Err(reader.unimplemented(format_args!("type {code} of {name}"))),
    }
}

fn of_form(reader: &mut Reader, form: TypeForm) -> Result<Type> {
    match form {
        TypeForm::Element(text) => Ok(Type::Scalar(Element::of_text(text))),
        TypeForm::Integer => {
            let code = reader.varint()?;
            let sign = ["i", "si", "ui", "i"][code as usize & 3];
            Ok(Type::Scalar(Element::of_text(&format!("{sign}{}", code >> 2))))
        }
        TypeForm::Complex => complex(reader),
        TypeForm::Function => Ok(Type::Function { inputs: reader.types()?, results: reader.types()? }),
        TypeForm::Tensor => tensor(reader),
        TypeForm::BoundedTensor => bounded_tensor(reader),
        TypeForm::Shaped(name) => shaped(reader, name),
        TypeForm::Memref(has_space) => {
            if has_space {
                reader.attribute()?;
            }
            let ty = shaped(reader, "memref")?;
            reader.attribute()?;
            Ok(ty)
        }
        TypeForm::Unranked(name) => unranked(reader, name),
        TypeForm::UnrankedIn(name) => {
            reader.attribute()?;
            unranked(reader, name)
        }
        TypeForm::Other(text) => Ok(Type::Other(text.into())),
        TypeForm::Token => Ok(Type::Token),
        TypeForm::Tuple => Ok(Type::Tuple(reader.types()?)),
        TypeForm::None => Ok(Type::None),
        TypeForm::Quantized(by_axis) => quant::read(reader, by_axis),
        TypeForm::Future => future(reader),
    }
}

fn complex(reader: &mut Reader) -> Result<Type> {
    let element = reader.element()?;
    match &element {
        Element::DType(dtype) if dtype.is_float() => Ok(Type::Scalar(Element::of_text(&format!("complex<{element}>")))),
        _ => Err(reader.error(format_args!("a complex number has parts of a floating-point type, not of {element}"))),
    }
}

fn tensor(reader: &mut Reader) -> Result<Type> {
    let dims = dims(reader)?;
    Ok(Type::Tensor(TensorShape::new(reader.element()?, dims)))
}

/// Reads an encoding and a tensor. Encodings other than bounds are dropped.
fn bounded_tensor(reader: &mut Reader) -> Result<Type> {
    let encoding = reader.attribute()?;
    let dims = dims(reader)?;
    let shape = TensorShape::new(reader.element()?, dims);
    let bounds = match &encoding {
        Attribute::Record(record) if &*record.name == BOUNDS => record.fields.get("bounds"),
        _ => None,
    };
    match bounds {
        Some(Attribute::Integers(bounds)) => {
            shape.with_bounds(bounds.clone()).map(Type::Tensor).map_err(|reason| reader.error(reason))
        }
        _ => Ok(Type::Tensor(shape)),
    }
}

/// Reads the sizes of a tensor: a negative one stands for `?`.
fn dims(reader: &mut Reader) -> Result<SmallVec<[i64; 4]>> {
    let count = reader.cursor().count()?;
    if count > MAX_RANK {
        return Err(reader.unimplemented(format_args!("a tensor of {count} axes")));
    }
    (0..count).map(|_| Ok(reader.svarint()?.max(FREE))).collect()
}

fn shaped(reader: &mut Reader, name: &str) -> Result<Type> {
    let dims = dims(reader)?;
    let tensor = TensorShape::new(reader.element()?, dims).to_string();
    reader.other_type(tensor.replacen("tensor", name, 1))
}

fn unranked(reader: &mut Reader, name: &str) -> Result<Type> {
    let element = reader.element()?;
    reader.other_type(format!("{name}<*x{element}>"))
}

fn future(reader: &mut Reader) -> Result<Type> {
    let mut text = String::from("!stablehlo.future<");
    for (i, ty) in reader.types()?.iter().enumerate() {
        text += if i == 0 { "" } else { ", " };
        match &**ty {
            Type::Tensor(_) | Type::Token | Type::Scalar(_) => text += &ty.to_string(),
            _ => return Err(reader.unimplemented("a future of something other than tensors")),
        }
        if text.len() > reader.most_text() {
            break;
        }
    }
    reader.other_type(text + ">")
}
