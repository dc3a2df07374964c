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
    let dialect = draft.name.split('.').next();
    if !matches!(dialect, Some("stablehlo" | "chlo" | "func" | "sdy")) {
        return;
    }
    let given = std::mem::take(&mut draft.attributes);
    for (name, value) in given {
        match (&*name, &value) {
            (
                "dimension_numbers"
                | "dot_dimension_numbers"
                | "ragged_dot_dimension_numbers"
                | "scatter_dimension_numbers"
                | "algorithm",
                Attribute::Record(record),
            ) => draft.attributes.extend(record.fields.0.iter().cloned()),
            ("channel_handle", Attribute::Record(record)) => {
                channel(&draft.name, &record.fields, &mut draft.attributes)
            }
            ("use_global_device_ids" | "has_dynamic_root", Attribute::Unit) => draft.set(name, Attribute::Bool(true)),
            ("api_version", Attribute::Integer(..)) => draft.set(name, case_of(&API_VERSIONS, &value)),
            ("allowed_direction", Attribute::Integer(..)) => draft.set(name, case_of(&DIRECTIONS, &value)),
            ("callee" | "decomposition", Attribute::String(text)) => draft.set(name, symbol(text)),
            ("called_computations", Attribute::Array(items)) => {
                let items = items.iter().map(|item| match item {
                    Attribute::String(text) => symbol(text),
                    other => other.clone(),
                });
                let items = items.collect();
                draft.set(name, Attribute::Array(items));
            }
            // Dictionaries of parameters and results, none of which holds anything.
            ("arg_attrs" | "res_attrs", Attribute::Array(all)) if all.iter().all(is_empty) => {}
            _ => draft.set(name, value),
        }
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
