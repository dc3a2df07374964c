//! Operations of VHLO: which of their versions a target has, and with which attributes.

use super::super::operations::{self, KnownOperation, Property};
use super::defaults;
use super::entries::Entries;
use super::side::Side;
use crate::{Attribute, Dense, Module, Operation, Type, Version};
use base::error;
use base::error::Result;
use std::sync::Arc;

/// An operation as it is stored.
pub struct Stored {
    /// Its dialect and name in the file.
    pub name: Arc<str>,
    /// Its properties.
    pub layout: &'static [Property],
    /// Its attributes, properties included.
    pub attributes: Vec<(Arc<str>, Attribute)>,
}

/// Decides how an operation is stored.
pub fn stored(entries: &mut Entries, module: &Module, operation: &Operation) -> Result<Stored> {
    let name = &operation.name;
    let unknown = || error!(Unimplemented, "MLIR bytecode: {name} is not an operation of VHLO");
    if Side::of(name) == Side::Builtin {
        // Artifacts of JAX have operations of Shardy as they are, and of no other dialect.
        if !name.starts_with("sdy.") {
            return Err(unknown());
        }
        entries.need(Version(1, 11, 0), || format!("{name}, an operation of another dialect,"));
        let layout = operations::known(name).map_or(&[][..], |known| &known.layouts[0]);
        return Ok(Stored { name: name.clone(), layout, attributes: operation.attributes.0.to_vec() });
    }
    let versions = versions(name);
    let Some(oldest) = versions.first() else {
        return Err(unknown());
    };
    entries.need(oldest.since, || name.to_string());
    let target = versions.iter().rposition(|version| version.since <= entries.target).unwrap_or(0);
    let able = |version: &&&KnownOperation| expresses(version, &versions, operation);
    let chosen = versions[target..].iter().find(able).unwrap_or(&versions[versions.len() - 1]);
    entries.need(chosen.since, || format!("{name} with its attributes"));
    constraints(entries, module, operation);

    let layout = &chosen.layouts[0];
    let is_property = |name: &str| versions.iter().any(|version| has(version, name));
    let given = operation.attributes.0.iter();
    let mut attributes: Vec<_> = given.filter(|(name, _)| !is_property(name)).cloned().collect();
    for Property { name: property, .. } in layout {
        let value = match operation.attributes.get(property) {
            Some(Attribute::Unit) => Attribute::Bool(true),
            Some(value) => value.clone(),
            None => defaults::of(property, operation).ok_or_else(|| {
                error!(InvalidArgument, "MLIR bytecode: an operation {name} has no attribute {property}")
            })?,
        };
        attributes.push((property.clone(), value));
    }
    Ok(Stored { name: chosen.name.into(), layout, attributes })
}

/// Returns the versions of an operation in VHLO, the oldest first.
fn versions(name: &str) -> Vec<&'static KnownOperation> {
    let base = name.split_once('.').map_or(name, |(_, base)| base);
    (1..).map_while(|number| operations::known(&format!("vhlo.{base}_v{number}"))).collect()
}

fn has(version: &KnownOperation, attribute: &str) -> bool {
    version.layouts[0].iter().any(|property| &*property.name == attribute)
}

/// Whether a version has all that an operation says: attributes that only newer versions have are left out if they have
/// their defaults.
fn expresses(version: &KnownOperation, versions: &[&KnownOperation], operation: &Operation) -> bool {
    let is_first = version.name == versions[0].name;
    match &*operation.name {
        "stablehlo.all_gather" | "stablehlo.all_reduce" | "stablehlo.all_to_all" | "stablehlo.collective_broadcast"
            if is_first && operation.operands.len() != 1 =>
        {
            return false;
        }
        "stablehlo.composite" if is_first && !operation.regions.is_empty() => return false,
        _ => {}
    }
    operation.attributes.0.iter().all(|(name, value)| {
        let newer = !has(version, name) && versions.iter().any(|version| has(version, name));
        !newer || is_default(name, value, operation)
    })
}

/// Whether an attribute says no more than its absence.
fn is_default(name: &str, value: &Attribute, operation: &Operation) -> bool {
    let is_empty = |value: &Attribute| match value {
        Attribute::Integers(list) => list.is_empty(),
        Attribute::Numbers(list) => list.bytes.is_empty(),
        Attribute::Dense(dense) => matches!(&**dense, Dense { data, .. } if data.bytes().is_empty()),
        _ => false,
    };
    // The window of `dynamic_conv` is an operand.
    name == "padding" || defaults::of(name, operation).is_some_and(|default| *value == default || is_empty(value))
}

/// Demands versions that allow what older ones do not.
fn constraints(entries: &mut Entries, module: &Module, operation: &Operation) {
    let element = |value| if let Type::Tensor(shape) = &**module.ty(value) { Some(&shape.element) } else { None };
    let name = &operation.name;
    match &**name {
        "stablehlo.reduce"
        | "stablehlo.reduce_window"
        | "stablehlo.all_reduce"
        | "stablehlo.reduce_scatter"
        | "stablehlo.scatter"
        | "stablehlo.select_and_scatter" => {
            let mut pairs = operation.operands.iter().zip(&operation.results);
            if pairs.any(|(&operand, &result)| element(operand) != element(result)) {
                entries.need(Version(0, 17, 0), || format!("{name} with results of a wider type"));
            }
        }
        "stablehlo.custom_call" => {
            let typed = Attribute::Enum("API_VERSION_TYPED_FFI".into());
            let of = |key: &str| operation.attributes.get(key);
            if of("api_version") == Some(&typed) || matches!(of("backend_config"), Some(Attribute::Dictionary(_))) {
                entries.need(Version(1, 3, 0), || format!("{name} with a dictionary"));
            }
            let is_future = |ty: &Type| matches!(ty, Type::Other(text) if text.starts_with("!stablehlo.future"));
            if operation.operands.iter().any(|&operand| is_future(module.ty(operand))) {
                entries.need(Version(1, 17, 0), || format!("{name} of a future"));
            }
        }
        _ => {}
    }
}
