//! Files of StableHLO, JAX and TensorFlow, and files that are wrong.

mod counts;
mod memory;

use super::*;
use crate::{Attribute, Data, Dense, Element, FREE, Location, Operation, Type};
use base::error::Code;
use base::types::DType;

fn file(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../../tests/data/mlir/{name}.mlirbc", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn sample(name: &str) -> Module {
    read(Arc::new(file(name))).unwrap()
}

/// Returns the operations of a function.
fn body<'a>(module: &'a Module, function: &str) -> &'a [Operation] {
    let name = Attribute::String(function.as_bytes().into());
    let found = module.operations.iter().find(|operation| operation.attributes.get("sym_name") == Some(&name));
    let blocks = &found.unwrap_or_else(|| panic!("no function {function}")).regions[0].blocks;
    blocks.first().map_or(&[], |block| &block.operations)
}

fn count(operations: &[Operation]) -> usize {
    let blocks = |operation: &Operation| {
        operation.regions.iter().flat_map(|region| &region.blocks).map(|block| count(&block.operations)).sum::<usize>()
    };
    operations.iter().map(|operation| 1 + blocks(operation)).sum()
}

/// Returns the integers of a list or of a constant of i64 or of truth values.
fn integers(attribute: Option<&Attribute>) -> Vec<i64> {
    match attribute.unwrap() {
        Attribute::Integers(integers) => integers.to_vec(),
        Attribute::Dense(dense) => elements(dense),
        other => panic!("{other:?} is not a list of integers"),
    }
}

fn elements(Dense { ty, data }: &Dense) -> Vec<i64> {
    let Type::Tensor(shape) = &**ty else { panic!("{ty}") };
    let elements: Vec<i64> = match shape.element {
        Element::DType(DType::S64) => {
            data.bytes().chunks(8).map(|bytes| i64::from_le_bytes(bytes.try_into().unwrap())).collect()
        }
        Element::DType(DType::Pred) => data.bytes().iter().map(|&byte| byte.into()).collect(),
        _ => panic!("{ty}"),
    };
    let count = shape.dims.iter().product::<i64>() as usize;
    if elements.len() == count { elements } else { elements.repeat(count) }
}

fn i64_of(value: i64) -> Option<Attribute> {
    Some(Attribute::Integer(value, Element::DType(DType::S64)))
}

const ALL: [(&str, Version, usize, usize); 4] = [
    ("vhlo_0_9_0", Version(0, 9, 0), 192, 610),
    ("vhlo_0_12_0", Version(0, 12, 0), 195, 619),
    ("vhlo_0_14_0", Version(0, 14, 0), 195, 619),
    ("vhlo_1_20_0", Version(1, 20, 0), 252, 827),
];

#[test]
fn every_format_has_the_same_operations() {
    for (name, version, functions, operations) in ALL {
        let module = sample(name);
        assert_eq!(module.version, Some(version));
        assert_eq!(module.producer, format!("StableHLO_v{version}"));
        assert_eq!((module.operations.len(), count(&module.operations)), (functions, operations), "{name}");
        let [gather, end] = body(&module, "op_gather") else { panic!() };
        assert_eq!((&*gather.name, &*end.name), ("stablehlo.gather", "func.return"));
        assert_eq!(end.operands[0], gather.results[0]);
        assert_eq!(module.ty(gather.results[0]).to_string(), "tensor<1x5x1xf32>");
        assert_eq!(integers(gather.attributes.get("slice_sizes")), [1, 1, 1]);
        assert_eq!(integers(gather.attributes.get("collapsed_slice_dims")), [0, 1]);
        assert_eq!(gather.attributes.get("index_vector_dim"), i64_of(2).as_ref());
        assert_eq!(gather.attributes.get("indices_are_sorted"), Some(&Attribute::Bool(true)));
    }
}

#[test]
fn older_operations_are_those_of_today() {
    for (name, ..) in ALL {
        let module = sample(name);
        let highest = Attribute::Array([(); 2].map(|()| Attribute::Enum("HIGHEST".into())).into());
        let dot = &body(&module, "op_dot_general")[0];
        assert_eq!(integers(dot.attributes.get("lhs_contracting_dimensions")), [2]);
        assert_eq!(dot.attributes.get("precision_config"), Some(&highest));
        assert!(dot.attributes.get("lhs_precision_type").is_none());
        let conv = &body(&module, "op_dynamic_conv")[0];
        assert_eq!((&*conv.name, conv.operands.len()), ("stablehlo.dynamic_conv", 3));
        assert!(conv.attributes.get("padding").is_none());
        assert_eq!(integers(conv.attributes.get("window_reversal")), [1, 1]);
        let Type::Tensor(shape) = &**module.ty(conv.results[0]) else { panic!() };
        assert_eq!(*shape.dims, [1, FREE, FREE, 16]);
        let call = &body(&module, "op_custom_call")[0];
        let symbol = Attribute::Symbol(["foo".into()].into());
        assert_eq!(call.attributes.get("called_computations"), Some(&Attribute::Array([symbol].into())));
        assert_eq!(call.attributes.get("api_version"), Some(&Attribute::Enum("API_VERSION_STATUS_RETURNING".into())));
        let compare = &body(&module, "op_compare")[0];
        assert_eq!(compare.attributes.get("compare_type"), Some(&Attribute::Enum("TOTALORDER".into())));
        let scatter = &body(&module, "op_scatter")[0];
        let [add, end] = &scatter.regions[0].blocks[0].operations[..] else { panic!() };
        assert_eq!((&*add.name, &*end.name), ("stablehlo.add", "stablehlo.return"));
        assert_eq!(add.operands[..], scatter.regions[0].blocks[0].arguments);
    }
}

#[test]
fn attributes_of_the_newest_version() {
    let module = sample("vhlo_1_20_0");
    let Some(Attribute::Record(groups)) =
        body(&module, "attr_replica_group_mesh_axes")[0].attributes.get("replica_groups")
    else {
        panic!()
    };
    assert_eq!(&*groups.name, "stablehlo.replica_group_mesh_axes");
    assert_eq!(groups.fields.get("mesh"), Some(&Attribute::Symbol(["mesh".into()].into())));
    let gather = &body(&module, "op_gather_with_batching_dims")[0];
    assert_eq!(integers(gather.attributes.get("start_indices_batching_dims")), [1]);
}

#[test]
fn a_training_step_of_jax() {
    let module = sample("train");
    assert_eq!(module.version, Some(Version(1, 15, 0)));
    let names = |operation: &Operation| operation.attributes.get("sym_name").cloned();
    assert_eq!(&*module.operations[0].name, "sdy.mesh");
    assert_eq!(names(&module.operations[1]), Some(Attribute::String((*b"main").into())));
    let Some(Attribute::Array(arguments)) = module.operations[1].attributes.get("arg_attrs") else { panic!() };
    let Attribute::Dictionary(first) = &arguments[0] else { panic!() };
    assert_eq!(first.get("tf.aliasing_output"), Some(&Attribute::Integer(0, Element::DType(DType::S32))));
    let main = body(&module, "main");
    assert!(main.iter().all(|operation| !operation.name.starts_with("builtin.")));
    let constraint = main.iter().find(|operation| &*operation.name == "sdy.sharding_constraint").unwrap();
    assert_eq!(constraint.operands[0], module.operations[1].regions[0].blocks[0].arguments[4]);
    let Some(Attribute::Record(sharding)) = constraint.attributes.get("sharding") else { panic!() };
    assert_eq!(&*sharding.name, "sdy.sharding");
    assert_eq!(sharding.fields.get("mesh_or_ref"), Some(&Attribute::Symbol(["empty_mesh".into()].into())));
    let call = main.iter().find(|operation| &*operation.name == "func.call").unwrap();
    assert_eq!(call.operands[0], constraint.results[0]);
    assert_eq!(call.attributes.get("callee"), Some(&Attribute::Symbol(["_bernoulli".into()].into())));
    let dot = main.iter().find(|operation| &*operation.name == "stablehlo.dot_general").unwrap();
    assert_eq!(dot.location.name(), Some("jit(<lambda>)/jvp()/dot_general"));
    let Location::Name(_, place) = &dot.location else { panic!() };
    assert!(place.to_string().contains("make_jax.py:29:"), "{place}");
}

#[test]
fn regions_of_sdy() {
    let module = sample("manual");
    let manual = &body(&module, "main")[0];
    assert_eq!(&*manual.name, "sdy.manual_computation");
    let inner = &manual.regions[0].blocks[0].operations;
    assert_eq!(&*inner[0].name, "stablehlo.all_reduce");
    assert_eq!(&*inner.last().unwrap().name, "sdy.return");
    let Some(Attribute::Record(axes)) = manual.attributes.get("manual_axes") else { panic!() };
    let names = ["a", "b"].map(|name| Attribute::String(name.as_bytes().into()));
    assert_eq!(axes.fields.get("value"), Some(&Attribute::Array(names.into())));
}

#[test]
fn tensorflow_writes_stablehlo_itself() {
    let module = sample("tensorflow");
    assert_eq!((module.version, &*module.producer), (None, "MLIR23.0.0git"));
    assert_eq!((module.operations.len(), count(&module.operations)), (4, 139));
    let main = body(&module, "main");
    let transpose = main.iter().find(|operation| &*operation.name == "stablehlo.transpose").unwrap();
    assert_eq!(integers(transpose.attributes.get("permutation")), [0, 1]);
    let constant = main.iter().find(|operation| &*operation.name == "stablehlo.constant").unwrap();
    assert!(matches!(constant.attributes.get("value"), Some(Attribute::Dense(_))));
    assert_eq!(&*main.last().unwrap().name, "func.return");
}

/// Whether two attributes are equal, or have the same integers, or one is present and the other true.
fn same(a: &Attribute, b: &Attribute) -> bool {
    match (a, b) {
        (Attribute::Unit, Attribute::Bool(true)) => true,
        (Attribute::Integers(a), Attribute::Dense(dense)) => **a == elements(dense),
        (Attribute::Numbers(a), Attribute::Dense(dense)) => elements(&Dense::of_numbers(a)) == elements(dense),
        _ => a == b,
    }
}

/// StableHLO's own bytecode has other operations and attributes than VHLO, which are read as the same.
#[test]
fn stablehlo_and_vhlo_become_the_same() {
    let (plain, vhlo) = (sample("stablehlo"), sample("vhlo_1_20_0"));
    let mut compared = 0;
    for function in &plain.operations {
        let Some(Attribute::String(name)) = function.attributes.get("sym_name") else { panic!() };
        let name = std::str::from_utf8(name).unwrap();
        let (a, b) = (body(&plain, name), body(&vhlo, name));
        for (a, b) in a.iter().zip(b) {
            assert_eq!((&a.name, a.operands.len(), a.regions.len()), (&b.name, b.operands.len(), b.regions.len()));
            for (key, value) in &*a.attributes.0 {
                let other = b.attributes.get(key).unwrap_or_else(|| panic!("{name} {key}"));
                assert!(same(value, other), "{name} {key}: {value:?}, {other:?}");
                compared += 1;
            }
        }
        assert_eq!(a.len(), b.len(), "{name}");
    }
    assert!(compared > 350, "{compared}");
}

/// Elements of constants are those of the file, without a copy.
#[test]
fn constants_stay_where_they_are() {
    let owner = Arc::new(file("vhlo_1_20_0"));
    let module = read(owner.clone()).unwrap();
    let blocks = module.operations.iter().flat_map(|function| &function.regions[0].blocks);
    let attributes = blocks.flat_map(|block| &block.operations).flat_map(|operation| operation.attributes.0.iter());
    let mut whole = 0;
    for (_, attribute) in attributes {
        if let Attribute::Dense(dense) = attribute
            && let Data::Whole { bytes, .. } = &dense.data
            && !matches!(&*dense.ty, Type::Tensor(shape) if shape.element == Element::DType(DType::Pred))
        {
            whole += 1;
            assert_eq!(dense.data.bytes().as_ptr_range(), owner[bytes.clone()].as_ptr_range());
        }
    }
    assert!(whole > 50, "{whole}");
}

/// The error for a file.
fn refusal(file: Vec<u8>) -> (Code, String) {
    let error = read(Arc::new(file)).expect_err("a refusal");
    (error.code, error.message.to_string())
}

#[test]
fn newer_versions_are_refused_with_both_versions() {
    let (code, message) = refusal(file("vhlo_future"));
    assert_eq!(code, Code::Unimplemented);
    assert!(message.contains("vhlo.constant_v99") && message.contains("1.20.0"), "{message}");
    let mut newer = file("vhlo_1_1_0");
    assert_eq!(&newer[5..21], b"StableHLO_v1.1.0");
    newer[16] = b'3';
    let message = "MLIR bytecode: the artifact has VHLO 3.1.0, the library reads versions up to 1.20.0";
    assert_eq!(refusal(newer.clone()), (Code::Unimplemented, message.into()));
    newer[4] = 0x0F;
    let message =
        "MLIR bytecode, byte 4: the file has version 7 of the bytecode format, the library reads versions up to 6";
    assert_eq!(refusal(newer), (Code::Unimplemented, message.into()));
}

/// Writes an integer of variable length, in nine bytes.
fn varint(file: &mut Vec<u8>, value: u64) {
    file.push(0);
    file.extend(value.to_le_bytes());
}

fn section(file: &mut Vec<u8>, id: u8, content: &[u8]) {
    file.push(id);
    varint(file, content.len() as u64);
    file.extend(content);
}

/// Builds a file in which every attribute is one of the builtin dialect, with these contents, and the only operation
/// is a module with attribute 0 as its location and these bytes of regions.
fn hostile(attributes: &[Vec<u8>], regions: &[u8]) -> Vec<u8> {
    let mut file = b"ML\xEFR\x07test\0".to_vec();
    section(&mut file, 0, b"\x05\x0F\x11builtin\0module\0");
    section(&mut file, 1, &[0x03, 0x01, 0x01, 0x03, 0x03]);
    let mut offsets = Vec::new();
    varint(&mut offsets, attributes.len() as u64);
    offsets.push(0x01);
    offsets.push(0x01);
    varint(&mut offsets, attributes.len() as u64);
    for attribute in attributes {
        varint(&mut offsets, (attribute.len() as u64) << 1 | 1);
    }
    section(&mut file, 2, &attributes.concat());
    section(&mut file, 3, &offsets);
    let operation = [&[0x05, 0x01, if regions.is_empty() { 0 } else { 16 }, 0x01], regions].concat();
    section(&mut file, 4, &operation);
    file
}

/// A list of references to attributes.
fn list(references: &[u64]) -> Vec<u8> {
    let mut list = vec![0x01];
    varint(&mut list, references.len() as u64);
    references.iter().for_each(|&reference| varint(&mut list, reference));
    list
}

#[test]
fn attributes_that_refer_to_each_other() {
    let unknown = vec![0x1F];
    assert!(read(Arc::new(hostile(std::slice::from_ref(&unknown), &[]))).is_ok());
    for circle in [vec![list(&[0])], vec![list(&[1]), list(&[0])], vec![list(&[1, 1]), list(&[2, 2]), list(&[0])]] {
        let (code, message) = refusal(hostile(&circle, &[]));
        assert_eq!(code, Code::InvalidArgument);
        assert!(message.contains("refers to itself"), "{message}");
    }
    let chain = |references: usize| -> Vec<Vec<u8>> {
        (1..10_000).map(|next| list(&vec![next; references])).chain([unknown.clone()]).collect()
    };
    for references in [1, 2] {
        assert!(refusal(hostile(&chain(references), &[])).1.contains("nested too deeply"));
    }
    let shared: Vec<Vec<u8>> = (1..100).map(|next| list(&[next; 2])).chain([unknown]).collect();
    assert!(refusal(hostile(&shared, &[])).1.contains("nested too deeply"));
    assert!(refusal(hostile(&[list(&[7])], &[])).1.contains("there is no attribute 7"));
}

/// Locations of deep calls are cut, not refused.
#[test]
fn deep_locations_are_cut() {
    let call = |next: u64| {
        let mut call = vec![0x15];
        varint(&mut call, next);
        varint(&mut call, next);
        call
    };
    let file = hostile(&(1..10_000).map(call).chain([vec![0x1F]]).collect::<Vec<_>>(), &[]);
    assert!(read(Arc::new(file)).is_ok());
}

#[test]
fn wrong_regions_and_huge_counts() {
    let unknown = [vec![0x1F]];
    // One region with one block with one operation with one region ...
    let region = [0x05, 0x03, 0x01, 0x05, 0x01, 16, 0x01];
    let (code, message) = refusal(hostile(&unknown, &region.repeat(100_000)));
    assert!(code == Code::Unimplemented && message.contains("levels of regions"), "{message}");
    // One region with one block with one operation with operand 0.
    let (_, message) = refusal(hostile(&unknown, &[0x05, 0x03, 0x03, 0x05, 0x01, 4, 0x01, 0x03, 0x01]));
    assert!(message.contains("not defined before it"), "{message}");
    // Of regions, blocks, values, operations.
    for fields in 0..4 {
        let mut regions = vec![0x05, 0x03, 0x01, 0x05][..fields].to_vec();
        varint(&mut regions, u64::MAX);
        assert_eq!(refusal(hostile(&unknown, &regions)).0, Code::InvalidArgument, "{fields}");
    }
    for id in 0..=4 {
        let mut file = b"ML\xEFR\x07test\0".to_vec();
        for section_id in 0..=4 {
            let mut content = Vec::new();
            varint(&mut content, if section_id == id { u64::MAX } else { 0 });
            section(&mut file, section_id, &content);
        }
        assert_eq!(refusal(file).0, Code::InvalidArgument, "{id}");
    }
}

#[test]
fn every_prefix_is_refused() {
    for name in ["vhlo_1_1_0", "manual"] {
        let file = file(name);
        for length in 0..file.len() {
            let (code, message) = refusal(file[..length].to_vec());
            assert!(code == Code::InvalidArgument && message.contains("byte "), "{name} {length}: {message}");
        }
    }
}

/// Changed files are read or refused, without a panic.
#[test]
fn changed_files_are_read_or_refused() {
    let files = ["train", "manual", "tensorflow", "vhlo_1_1_0"].map(file);
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    for i in 0..3000 {
        let mut changed = files[i % 4].clone();
        for _ in 0..1 + random(3) {
            let (at, from, length) = (random(changed.len()), random(changed.len()), random(8));
            match random(5) {
                0 => changed[at] = random(256) as u8,
                1 => changed[at] ^= 1 << random(8),
                2 => changed.insert(at, random(256) as u8),
                3 => drop(changed.remove(at)),
                _ => (0..length.min(changed.len() - at.max(from))).for_each(|i| changed[at + i] = changed[from + i]),
            }
        }
        let _ = read(Arc::new(changed));
    }
}
