//! Tests of the reader of text.

mod forms;
mod hostile;
mod literals;

use super::read;
use crate::{Attribute, Module, Operation};

/// A program with most kinds of operations, in its pretty form and its generic form, as JAX and MLIR wrote them.
const MODEL: [&str; 2] = [
    include_str!("../../../../../tests/data/mlir/model.mlir"),
    include_str!("../../../../../tests/data/mlir/model_generic.mlir"),
];

/// A program with shardings, in both forms.
const SHARDED: [&str; 2] = [
    include_str!("../../../../../tests/data/mlir/sharded.mlir"),
    include_str!("../../../../../tests/data/mlir/sharded_generic.mlir"),
];

/// Returns all that a module holds, with sorted attributes. Locations are left out if `with_locations` is false.
fn shown(module: &Module, with_locations: bool) -> String {
    fn dictionary(entries: &crate::Dictionary) -> String {
        let mut entries: Vec<String> =
            entries.0.iter().map(|(name, value)| format!("{name}={}", attribute(value))).collect();
        entries.sort();
        format!("{{{}}}", entries.join(", "))
    }
    fn attribute(value: &Attribute) -> String {
        match value {
            Attribute::Dictionary(entries) => dictionary(entries),
            Attribute::Array(items) => format!("[{}]", items.iter().map(attribute).collect::<Vec<_>>().join(", ")),
            Attribute::Record(record) => format!("{}<{}>", record.name, dictionary(&record.fields)),
            Attribute::Dense(dense) => format!("{:?} {:?} {:?}", dense.ty, dense.data, dense.data.bytes()),
            other => format!("{other:?}"),
        }
    }
    fn operations(all: &[Operation], with_locations: bool, text: &mut Vec<String>) {
        for operation in all {
            let Operation { name, operands, results, attributes, regions, location } = operation;
            let location = if with_locations { format!("{location:?}") } else { String::new() };
            text.push(format!("{results:?} {name} {operands:?} {} {location}", dictionary(attributes)));
            for block in regions.iter().flat_map(|region| &region.blocks) {
                text.push(format!("{:?}", block.arguments));
                operations(&block.operations, with_locations, text);
            }
        }
    }
    let mut text = vec![dictionary(&module.attributes), format!("{:?}", module.types)];
    operations(&module.operations, with_locations, &mut text);
    text.join("\n")
}

/// Checks that two texts are read as equal modules; returns the module.
#[track_caller]
fn assert_same(one: &str, other: &str, with_locations: bool) -> Module {
    let [one, other] = [one, other].map(|text| read(text).unwrap_or_else(|error| panic!("{error} in {text}")));
    assert_eq!(shown(&one, with_locations), shown(&other, with_locations));
    one
}

/// Returns the message of the error of a text.
#[track_caller]
fn message(text: &str) -> String {
    let error = read(text).err().unwrap_or_else(|| panic!("{text} was read"));
    assert_eq!(error.code, base::error::Code::InvalidArgument);
    error.message.to_string()
}

/// Returns the operations of the function at a position of a module.
fn body(module: &Module, function: usize) -> &[Operation] {
    &module.operations[function].regions[0].blocks[0].operations
}

/// Returns the attribute of an operation.
#[track_caller]
fn attribute<'a>(operation: &'a Operation, name: &str) -> &'a Attribute {
    operation
        .attributes
        .get(name)
        .unwrap_or_else(|| panic!("{} has no {name}: {:?}", operation.name, operation.attributes))
}

fn string(text: &str) -> Attribute {
    Attribute::String(text.as_bytes().into())
}
