//! What is written is read as the same.

use super::super::read;
use super::*;
use crate::mlir::{Attribute, Data, Dense, Operation, Type, Value, text};
use rustc_hash::FxHashMap;
use std::sync::Arc;

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/data/mlir/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn module(name: &str) -> Module {
    let file = fixture(name);
    match name.rsplit_once('.').unwrap().1 {
        "mlir" => text::read(std::str::from_utf8(&file).unwrap()).unwrap(),
        "jax" => read(Arc::new(crate::mlir::jax_file::read(Arc::new(file)).unwrap().artifact)).unwrap(),
        _ => read(Arc::new(file)).unwrap(),
    }
}

fn again(module: &Module, version: Option<Version>) -> Module {
    read(Arc::new(write(module, version).unwrap())).unwrap()
}

/// Fails at the first function that differs.
fn assert_equal(a: &Module, b: &Module, what: &str) {
    assert_eq!(a.attributes, b.attributes, "{what}");
    for (a, b) in a.operations.iter().zip(&b.operations) {
        assert_eq!(a, b, "{what}");
    }
    assert_eq!((a.operations.len(), &a.types), (b.operations.len(), &b.types), "{what}");
}

#[test]
fn artifacts_are_written_as_they_were_read() {
    for name in ["vhlo_0_9_0", "vhlo_0_12_0", "vhlo_0_14_0", "vhlo_1_1_0", "vhlo_1_20_0", "train", "manual"] {
        let before = module(&format!("{name}.mlirbc"));
        let after = again(&before, before.version);
        assert_equal(&before, &after, name);
        assert_eq!((&before.producer, before.version), (&after.producer, after.version));
    }
    for name in ["batch", "platforms", "sharded", "train"] {
        let before = module(&format!("{name}.jax"));
        assert_equal(&before, &again(&before, before.version), name);
    }
}

/// Elements of a constant, or integers of a list.
fn elements(value: &Attribute) -> Option<Vec<u8>> {
    match value {
        Attribute::Integers(list) => Some(list.iter().flat_map(|value| value.to_le_bytes()).collect()),
        Attribute::Dense(dense) => {
            let Dense { ty, data } = &**dense;
            let Type::Tensor(shape) = &**ty else { return None };
            let count = shape.dims.iter().product::<i64>() as usize;
            let elements = match data {
                Data::Splat(element) => element.repeat(count),
                Data::Whole { .. } => data.bytes().to_vec(),
            };
            let is_pred = shape.element.to_string() == "i1";
            Some(if is_pred {
                elements.iter().flat_map(|&bit| i64::from(bit).to_le_bytes()).collect()
            } else {
                elements
            })
        }
        _ => None,
    }
}

/// Whether two attributes have the same meaning. A module of text has lists and truth values in other forms.
fn same(a: &Attribute, b: &Attribute) -> bool {
    match (a, b) {
        (Attribute::Unit, Attribute::Bool(true)) => true,
        (Attribute::Array(a), Attribute::Array(b)) => a.len() == b.len() && a.iter().zip(&**b).all(|(a, b)| same(a, b)),
        (Attribute::Dictionary(a), Attribute::Dictionary(b)) => {
            a.0.len() == b.0.len() && a.0.iter().all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
        }
        _ => a == b || elements(a).is_some_and(|a| elements(b) == Some(a)),
    }
}

/// Operations that should be the same, and which values of one module those of the other are.
struct Same<'t> {
    what: &'t str,
    values: FxHashMap<Value, Value>,
}

impl Same<'_> {
    fn operation(&mut self, a: &Operation, b: &Operation) {
        let what = format!("{}: {}", self.what, a.name);
        assert_eq!((&a.name, &a.location, a.results.len()), (&b.name, &b.location, b.results.len()), "{what}");
        let operands: Vec<Value> = a.operands.iter().map(|operand| self.values[operand]).collect();
        assert_eq!(operands, b.operands[..], "{what}");
        for (key, value) in &*a.attributes.0 {
            match b.attributes.get(key) {
                Some(other) => assert!(same(value, other), "{what} {key}: {value:?}, {other:?}"),
                None => assert_eq!(elements(value), Some(vec![]), "{what} has no {key}"),
            }
        }
        self.values.extend(a.results.iter().copied().zip(b.results.iter().copied()));
        assert_eq!(a.regions.len(), b.regions.len());
        let blocks = |operation: &Operation| operation.regions.iter().map(|region| region.blocks.len()).sum::<usize>();
        assert_eq!(blocks(a), blocks(b));
        let a = a.regions.iter().flat_map(|region| &region.blocks);
        for (a, b) in a.zip(b.regions.iter().flat_map(|region| &region.blocks)) {
            assert_eq!((a.arguments.len(), a.operations.len()), (b.arguments.len(), b.operations.len()), "{what}");
            self.values.extend(a.arguments.iter().copied().zip(b.arguments.iter().copied()));
            a.operations.iter().zip(&b.operations).for_each(|(a, b)| self.operation(a, b));
        }
    }
}

#[test]
fn text_and_stablehlo_become_artifacts() {
    for name in [
        "model.mlir",
        "model_generic.mlir",
        "sharded.mlir",
        "sharded_generic.mlir",
        "stablehlo.mlirbc",
        "tensorflow.mlirbc",
    ] {
        let before = module(name);
        let after = again(&before, None);
        assert_eq!(before.operations.len(), after.operations.len());
        let mut same = Same { what: name, values: FxHashMap::default() };
        before.operations.iter().zip(&after.operations).for_each(|(a, b)| same.operation(a, b));
        assert!(same.values.iter().all(|(&a, &b)| before.ty(a) == after.ty(b)));
        assert_equal(&after, &again(&after, after.version), name);
    }
}
