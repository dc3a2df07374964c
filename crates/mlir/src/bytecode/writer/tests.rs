//! What is written is read as the same.

use super::super::read;
use super::*;
use crate::{Attribute, Data, Dense, Operation, Type, Value, text};
use base::error::Code;
use base::types::DType;
use rustc_hash::FxHashMap;
use std::sync::Arc;

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../../tests/data/mlir/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn module(name: &str) -> Module {
    let file = fixture(name);
    match name.rsplit_once('.').unwrap().1 {
        "mlir" => text::read(std::str::from_utf8(&file).unwrap()).unwrap(),
        "jax" => read(Arc::new(crate::jax_file::read(Arc::new(file)).unwrap().artifact)).unwrap(),
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
        Attribute::Numbers(list) => elements(&Attribute::Dense(Arc::new(Dense::of_numbers(list)))),
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
                None => {
                    let is_default = defaults::of(key, a).as_ref() == Some(value) || elements(value) == Some(vec![]);
                    assert!(is_default, "{what} has no {key}");
                }
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
        "model.mlir", "model_generic.mlir", "sharded.mlir", "sharded_generic.mlir", "stablehlo.mlirbc",
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

/// The artifact is that of StableHLO's own writer.
#[test]
fn arrays_keep_their_element_types_and_free_sizes_their_bounds() {
    let (text, artifact) = (module("arrays.mlir"), module("arrays.mlirbc"));
    let written = again(&text, artifact.version);
    assert_eq!(artifact.operations.len(), written.operations.len());
    let mut both = Same { what: "arrays", values: FxHashMap::default() };
    artifact.operations.iter().zip(&written.operations).for_each(|(a, b)| both.operation(a, b));
    assert!(both.values.iter().all(|(&a, &b)| artifact.ty(a) == written.ty(b)));
    assert_equal(&artifact, &again(&artifact, artifact.version), "arrays");
    let Attribute::Dictionary(config) = call(&written).attributes.get("backend_config").unwrap() else { panic!() };
    let Attribute::Numbers(numbers) = config.get("i32").unwrap() else { panic!("{config:?}") };
    assert_eq!((numbers.dtype, &*numbers.bytes), (DType::S32, &[1, 0, 0, 0, 254, 255, 255, 255][..]));
    let of_artifact = call(&artifact).attributes.get("backend_config");
    assert_eq!(of_artifact, call(&written).attributes.get("backend_config"));
    assert_eq!(text.ty(call(&text).results[0]).to_string(), "tensor<?x4xf32, #stablehlo.bounds<8, ?>>");
}

/// The first operation of the function of a module.
fn call(module: &Module) -> &Operation {
    let function = module.operations.iter().find(|operation| &*operation.name == "func.func").unwrap();
    &function.regions[0].blocks[0].operations[0]
}

/// Returns a function of one operation on tensors of 4x4.
fn function(operation: &str) -> Module {
    let text = format!(
        "func.func @main(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x4xf32> {{ \
         %0 = {operation} \
         return %0 : tensor<4x4xf32> }}"
    );
    text::read(&text).unwrap()
}

const ADD: &str = "stablehlo.add %a, %b : tensor<4x4xf32>";
const TAN: &str = "stablehlo.tan %a : tensor<4x4xf32>";
const PRECISE: &str = "stablehlo.exponential %a {result_accuracy = #stablehlo.result_accuracy<atol = 1.0e-4, \
    rtol = 0.0, ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4x4xf32>";
const ALGORITHM: &str = "stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], \
    algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, \
    lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, \
    allow_imprecise_accumulation = false> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>";
const SMALL_FLOATS: &str = "\"stablehlo.custom_call\"(%a) {call_target_name = \"f\", \
    a = 1.0 : f8E4M3, b = 2.0 : f8E4M3FNUZ} : (tensor<4x4xf32>) -> tensor<4x4xf32>";
const TYPED_CALL: &str = "\"stablehlo.custom_call\"(%a) {call_target_name = \"f\", api_version = 4 : i32, \
    backend_config = {a = 1 : i64}} : (tensor<4x4xf32>) -> tensor<4x4xf32>";

#[test]
fn the_oldest_version_that_has_all_is_chosen() {
    let cases = [
        (ADD, Version(0, 9, 0)),
        (TAN, Version(1, 4, 0)),
        (PRECISE, Version(1, 9, 0)),
        (ALGORITHM, Version(1, 6, 0)),
        (SMALL_FLOATS, Version(1, 7, 0)),
        (TYPED_CALL, Version(1, 3, 0)),
    ];
    for (operation, version) in cases {
        let before = function(operation);
        let after = again(&before, None);
        assert_eq!(after.version, Some(version), "{operation}");
        let attributes = |module: &Module| module.operations[0].regions[0].blocks[0].operations[0].attributes.clone();
        let found = attributes(&after);
        for (key, value) in &*attributes(&before).0 {
            assert!(found.get(key).is_some_and(|other| same(value, other)), "{operation}: {key}");
        }
    }
    assert_eq!(again(&module("sharded.mlir"), None).version, Some(Version(1, 11, 0)));
}

#[test]
fn every_version_has_the_same_program() {
    let versions = (9..=20).map(|minor| Version(0, minor, 0)).chain((0..=20).map(|minor| Version(1, minor, 0)));
    let before = module("model.mlir");
    let newest = again(&before, Some(NEWEST));
    for version in versions {
        let after = again(&before, Some(version));
        assert_eq!((after.version, after.producer), (Some(version), format!("StableHLO_v{version}")));
        let mut same = Same { what: "model", values: FxHashMap::default() };
        assert_eq!(after.operations.len(), newest.operations.len());
        newest.operations.iter().zip(&after.operations).for_each(|(a, b)| same.operation(a, b));
    }
}

fn refusal(module: &Module, version: Version) -> (Code, String) {
    let error = write(module, Some(version)).unwrap_err();
    (error.code, error.message.to_string())
}

#[test]
fn what_a_version_does_not_have_is_refused() {
    let cases = [
        (TAN, "stablehlo.tan needs StableHLO 1.4.0, but 1.2.0 was asked for"),
        (PRECISE, "stablehlo.exponential with its attributes needs StableHLO 1.9.0, but 1.2.0 was asked for"),
        (ALGORITHM, "needs StableHLO 1.6.0, but 1.2.0 was asked for"),
        (SMALL_FLOATS, "the type f8E4M3 needs StableHLO 1.7.0, but 1.2.0 was asked for"),
        (TYPED_CALL, "stablehlo.custom_call with a dictionary needs StableHLO 1.3.0, but 1.2.0 was asked for"),
    ];
    for (operation, wanted) in cases {
        let (code, message) = refusal(&function(operation), Version(1, 2, 0));
        assert_eq!(code, Code::InvalidArgument);
        assert!(message.contains(wanted), "{message}");
    }
    for version in [Version(0, 8, 0), Version(1, 21, 0), Version(2, 0, 0)] {
        assert!(refusal(&function(ADD), version).1.contains("versions from 0.9.0 to 1.20.0 are written"));
    }
    let (code, message) = refusal(&function("chlo.erf %a : tensor<4x4xf32> -> tensor<4x4xf32>"), NEWEST);
    assert_eq!((code, &*message), (Code::Unimplemented, "MLIR bytecode: chlo.erf is not an operation of VHLO"));
}

/// The elements of a large constant are in the file once, as they are.
#[test]
fn large_constants_are_stored_once() {
    let elements: Vec<u8> = (0..1 << 16_u32).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let digits: String = elements.iter().map(|byte| format!("{byte:02X}")).collect();
    let text = format!(
        "func.func @main() -> tensor<65536xf32> {{ \
         %0 = stablehlo.constant dense<\"0x{digits}\"> : tensor<65536xf32> \
         return %0 : tensor<65536xf32> }}"
    );
    let file = write(&text::read(&text).unwrap(), None).unwrap();
    assert!(file.len() < elements.len() + 512, "{}", file.len());
    let after = read(Arc::new(file)).unwrap();
    let constant = &after.operations[0].regions[0].blocks[0].operations[0];
    let Some(Attribute::Dense(dense)) = constant.attributes.get("value") else { panic!() };
    assert_eq!(dense.data.bytes(), elements);
}

#[test]
fn a_splat_of_many_axes_is_refused_without_memory_for_them() {
    for axes in ["9223372036854775807", "1000000000000"] {
        let text = format!(
            "module {{ func.func @main(%x: tensor<4xf32>, %z: tensor<f32>) -> tensor<4xf32> {{ %0 = \
             \"stablehlo.reduce_window\"(%x, %z) <{{window_dimensions = dense<1> : tensor<{axes}xi64>}}> ({{ \
             ^bb0(%a: tensor<f32>, %b: tensor<f32>): stablehlo.return %a : tensor<f32> }}) : \
             (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> return %0 : tensor<4xf32> }} }}"
        );
        assert!(write(&text::read(&text).unwrap(), None).is_err());
    }
}

/// Values of regions in the first of several blocks have the indices after those of all blocks.
#[test]
fn regions_of_several_blocks_are_written_as_they_are() {
    let text = "func.func @main(%p: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
        %0 = \"stablehlo.if\"(%p) ({
        ^bb0:
          %1 = stablehlo.negate %x : tensor<f32>
          %2 = \"stablehlo.if\"(%p) ({
            %3 = stablehlo.sine %1 : tensor<f32>
            %4 = stablehlo.add %3, %1 : tensor<f32>
            stablehlo.return %4 : tensor<f32>
          }, {
            stablehlo.return %x : tensor<f32>
          }) : (tensor<i1>) -> tensor<f32>
          stablehlo.return %2 : tensor<f32>
        ^bb1:
          %5 = stablehlo.cosine %x : tensor<f32>
          %6 = stablehlo.multiply %5, %5 : tensor<f32>
          stablehlo.return %6 : tensor<f32>
        }, {
          stablehlo.return %x : tensor<f32>
        }) : (tensor<i1>) -> tensor<f32>
        return %0 : tensor<f32>
      }";
    let first = again(&text::read(text).unwrap(), None);
    let blocks = &first.operations[0].regions[0].blocks[0].operations[0].regions[0].blocks;
    let nested = &blocks[0].operations[1].regions[0].blocks[0].operations;
    assert_eq!((blocks.len(), nested.len()), (2, 3));
    assert_eq!(nested[0].operands[..], blocks[0].operations[0].results[..]);
    assert_eq!(nested[1].operands[..], [nested[0].results[0], blocks[0].operations[0].results[0]]);
    assert_eq!(blocks[1].operations[1].operands[..], [blocks[1].operations[0].results[0]; 2]);
    assert_equal(&first, &again(&first, first.version), "several blocks");
}
