//! Brings operations into the plain form: names of StableHLO rather than of VHLO, and attributes of VHLO rather than
//! the structures of StableHLO.

use super::super::{Attribute, Block, Dictionary, Operation};
use super::draft::Draft;
use std::sync::Arc;

/// Cases of `api_version` of a custom call, by their numbers.
const API_VERSIONS: [&str; 5] = [
    "API_VERSION_UNSPECIFIED",
    "API_VERSION_ORIGINAL",
    "API_VERSION_STATUS_RETURNING",
    "API_VERSION_STATUS_RETURNING_UNIFIED",
    "API_VERSION_TYPED_FFI",
];

/// Cases of `allowed_direction` of a barrier of shardings, by their numbers.
const DIRECTIONS: [&str; 4] = ["NONE", "FORWARD", "BACKWARD", "BOTH"];

/// Brings an operation into the plain form.
pub fn bring(draft: &mut Draft) {
    if let Some(name) = draft.name.strip_prefix("vhlo.") {
        draft.name = unversioned(name).into();
    }
    if &*draft.name == "func.func" {
        for operation in draft.regions.iter_mut().flat_map(|region| &mut region.blocks).filter_map(last_of) {
            if &*operation.name == "stablehlo.return" {
                operation.name = "func.return".into();
            }
        }
    }
    if !["stablehlo.", "chlo.", "func.", "sdy."].iter().any(|dialect| draft.name.starts_with(dialect)) {
        return;
    }
    if draft.attributes.iter().any(is_structure) {
        for (name, value) in std::mem::take(&mut draft.attributes) {
            match &value {
                Attribute::Record(record) if &*name == "channel_handle" => {
                    channel(&draft.name, &record.fields, &mut draft.attributes)
                }
                Attribute::Record(record) if is_group(&name) => {
                    draft.attributes.extend(record.fields.0.iter().cloned())
                }
                _ => draft.set(name, value),
            }
        }
    }
    // Dictionaries of parameters and results, none of which holds anything.
    draft.attributes.retain(|(name, value)| match value {
        Attribute::Array(all) => !(matches!(&**name, "arg_attrs" | "res_attrs") && all.iter().all(is_empty)),
        _ => true,
    });
    for (name, value) in &mut draft.attributes {
        if let Some(plain) = plain_value(name, value) {
            *value = plain;
        }
    }
}

/// True for attributes with fields that the plain form writes as separate attributes.
fn is_structure((name, value): &(Arc<str>, Attribute)) -> bool {
    matches!(value, Attribute::Record(_)) && (&**name == "channel_handle" || is_group(name))
}

fn is_group(name: &str) -> bool {
    matches!(
        name,
        "dimension_numbers"
            | "dot_dimension_numbers"
            | "ragged_dot_dimension_numbers"
            | "scatter_dimension_numbers"
            | "algorithm"
    )
}

/// Returns the plain form of an attribute that is not a structure; None if it has it.
fn plain_value(name: &str, value: &Attribute) -> Option<Attribute> {
    match value {
        Attribute::Unit if matches!(name, "use_global_device_ids" | "has_dynamic_root") => Some(Attribute::Bool(true)),
        Attribute::Integer(..) if name == "api_version" => Some(case_of(&API_VERSIONS, value)),
        Attribute::Integer(..) if name == "allowed_direction" => Some(case_of(&DIRECTIONS, value)),
        Attribute::String(text) if matches!(name, "callee" | "decomposition") => Some(symbol(text)),
        Attribute::Array(items) if name == "called_computations" => {
            let symbols = items.iter().map(|item| match item {
                Attribute::String(text) => symbol(text),
                other => other.clone(),
            });
            Some(Attribute::Array(symbols.collect()))
        }
        _ => None,
    }
}

fn last_of(block: &mut Block) -> Option<&mut Operation> {
    block.operations.last_mut()
}

/// Returns the case of an enumeration with a number.
fn case_of(cases: &[&str], number: &Attribute) -> Attribute {
    let Attribute::Integer(index, _) = number else { return number.clone() };
    let case = usize::try_from(*index).ok().and_then(|index| cases.get(index));
    case.map_or_else(|| number.clone(), |case| Attribute::Enum((*case).into()))
}

fn is_empty(attribute: &Attribute) -> bool {
    matches!(attribute, Attribute::Dictionary(entries) if entries.0.is_empty())
}

fn symbol(name: &[u8]) -> Attribute {
    Attribute::Symbol([Arc::from(String::from_utf8_lossy(name))].into())
}

/// Adds the fields of a channel: the type of a channel matters to operations that send and receive only.
fn channel(operation: &str, fields: &Dictionary, attributes: &mut Vec<(Arc<str>, Attribute)>) {
    let transfers = matches!(operation, "stablehlo.send" | "stablehlo.recv");
    let names = [("handle", "channel_id"), ("type", "channel_type")];
    for (field, name) in names.into_iter().take(if transfers { 2 } else { 1 }) {
        if let Some(value) = fields.get(field) {
            attributes.push((name.into(), value.clone()));
        }
    }
}

/// Returns the operation that an operation of VHLO stands for: `add_v1` for `stablehlo.add`.
fn unversioned(name: &str) -> String {
    let end = name.rfind("_v").filter(|end| name[end + 2..].bytes().all(|byte| byte.is_ascii_digit()));
    match &name[..end.unwrap_or(name.len())] {
        name @ ("func" | "call") => format!("func.{name}"),
        name => format!("stablehlo.{name}"),
    }
}
