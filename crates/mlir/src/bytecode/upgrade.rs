//! Brings operations of every version of VHLO, and those of StableHLO, into one form: names of StableHLO and `func`,
//! attributes of VHLO's newest version. An attribute that a newer version added is left out where it has the value that
//! the older version implies.

use super::bytes::Cursor;
use super::forms::keywords;
use crate::{Attribute, Type, Version};
use base::error::Error;
use std::sync::Arc;

/// The newest VHLO that is read.
pub const NEWEST: Version = Version(1, 20, 0);

/// Name of an operation that returns from a function or from the region of an operation.
pub const RETURN: &str = "vhlo.return_v1";

/// Returns the version of VHLO that the name of a writer gives: `StableHLO_v1.15.0`.
pub fn version(producer: &str) -> Option<Version> {
    let mut numbers = producer.strip_prefix("StableHLO_v")?.split('.').map(|number| number.parse().ok());
    Some(Version(numbers.next()??, numbers.next()??, numbers.next()??))
}

/// Creates the error for an operation, attribute or type of VHLO that is not known.
pub fn unknown(place: Cursor, what: impl std::fmt::Display) -> Error {
    place.unimplemented(format_args!("{what} is not part of VHLO {NEWEST}, the newest that the library reads"))
}

/// Returns the name of an operation of VHLO in StableHLO or `func`.
pub fn name(original: &str) -> Arc<str> {
    let name = original.strip_prefix("vhlo.").unwrap_or(original);
    let name = name.rsplit_once("_v").map_or(name, |(name, _)| name);
    match name {
        "func" | "call" => format!("func.{name}").into(),
        _ => format!("stablehlo.{name}").into(),
    }
}

/// Whether the attributes of an operation may have another form in the file, given the names of its properties.
pub fn changes<'a>(original: &str, mut properties: impl Iterator<Item = &'a str>) -> bool {
    match original {
        "vhlo.dynamic_conv_v1" | "vhlo.dot_general_v2" => true,
        _ => properties.any(|name| is_symbol(name) || name == "api_version" || is_group(name)),
    }
}

/// Brings the attributes of an operation into their form.
/// `text` returns a string as text.
pub fn attributes(original: &str, attributes: &mut Vec<(Arc<str>, Attribute)>, text: &dyn Fn(&Arc<[u8]>) -> Arc<str>) {
    match original {
        // The operand of that name takes precedence.
        "vhlo.dynamic_conv_v1" => attributes.retain(|(name, _)| &**name != "padding"),
        // A type `none` stands for an absent part of an algorithm.
        "vhlo.dot_general_v2" => attributes.retain(|(_, value)| !is_none(value)),
        original if original.starts_with("vhlo.") => {
            for (name, value) in attributes {
                if is_symbol(name) {
                    *value = symbol(value, text);
                }
            }
        }
        original if original.starts_with("stablehlo.") => of_stablehlo(original, attributes),
        _ => {}
    }
}

/// Whether an attribute is the name of a function or a list of them, which are strings in VHLO.
fn is_symbol(name: &str) -> bool {
    matches!(name, "callee" | "decomposition" | "called_computations")
}

/// Whether an attribute of StableHLO has fields that are attributes in VHLO.
fn is_group(name: &str) -> bool {
    matches!(
        name,
        "dimension_numbers" | "dot_dimension_numbers" | "scatter_dimension_numbers" | "channel_handle" | "algorithm"
    )
}

fn is_none(attribute: &Attribute) -> bool {
    matches!(attribute, Attribute::Type(ty) if **ty == Type::None)
}

/// Returns a name of a function, or a list of them, as a symbol.
fn symbol(value: &Attribute, text: &dyn Fn(&Arc<[u8]>) -> Arc<str>) -> Attribute {
    let of_name = |value: &Attribute| match value {
        Attribute::String(name) => Attribute::Symbol([text(name)].into()),
        other => other.clone(),
    };
    match value {
        Attribute::Array(names) => Attribute::Array(names.iter().map(of_name).collect()),
        name => of_name(name),
    }
}

/// Brings the attributes of an operation of StableHLO into their form: the fields of dimension numbers, channel handles
/// and algorithms are attributes. The type of a channel is an attribute of operations that send and receive only, as in
/// VHLO.
fn of_stablehlo(original: &str, attributes: &mut Vec<(Arc<str>, Attribute)>) {
    let is_transfer = matches!(original, "stablehlo.send" | "stablehlo.recv");
    for (name, value) in std::mem::take(attributes) {
        match &value {
            Attribute::Record(record) if &*name == "channel_handle" => {
                let fields = record.fields.0.iter().filter(|(field, _)| is_transfer || &**field != "channel_type");
                attributes.extend(fields.cloned());
            }
            Attribute::Record(record) if is_group(&name) => attributes.extend(record.fields.0.iter().cloned()),
            Attribute::Integer(version, _) if &*name == "api_version" => {
                let keyword = usize::try_from(*version).ok().and_then(|version| keywords::API_VERSION.get(version));
                attributes.push((name, keyword.map_or(value, |&keyword| Attribute::Enum(keyword.into()))));
            }
            _ => attributes.push((name, value)),
        }
    }
}
