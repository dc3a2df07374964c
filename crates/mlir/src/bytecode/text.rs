//! Attributes and types of dialects without an encoding: their text, which ends with a NUL.

use super::reader::Reader;
use crate::{Attribute, Element, Type};
use base::error::Result;

/// Reads an attribute.
pub fn attribute(reader: &mut Reader) -> Result<Attribute> {
    let text = text(reader)?;
    let other = |_| Attribute::Other(text.strip_prefix('#').unwrap_or(text).into());
    Ok(crate::text::attribute(text).unwrap_or_else(other))
}

/// Reads a type.
pub fn ty(reader: &mut Reader) -> Result<Type> {
    let text = text(reader)?;
    Ok(match (text, Element::of_text(text)) {
        ("none", _) => Type::None,
        ("!stablehlo.token", _) => Type::Token,
        (_, element @ (Element::DType(_) | Element::Index)) => Type::Scalar(element),
        _ if text.bytes().all(|byte| byte.is_ascii_alphanumeric()) => Type::Scalar(Element::Other(text.into())),
        _ => return reader.other_type(text.into()),
    })
}

fn text<'a>(reader: &mut Reader<'a, '_>) -> Result<&'a str> {
    let bytes = reader.cursor().nul_terminated()?;
    std::str::from_utf8(bytes).map_err(|_| reader.error("the text of an attribute or type is not UTF-8"))
}
