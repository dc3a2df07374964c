//! Describes the functions, operations and unsupported parts of a program as JSON.

use super::file::Program;
use super::functions::{argument_attributes, body_of, is_public, is_string, name_of, place, result_attributes};
use super::mesh::FileMesh;
use super::program::{Probe, STACK};
use super::tuples::without_tuples;
use super::types::dtype_of;
use base::error::{Result, limited};
use base::stack::{MOST_DEPTH, with_stack};
use mlir::jax_file;
use mlir::{Attribute, Block, Dictionary, Element, Module, Operation, Type, Value};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

/// Describes a program.
pub fn describe(program: &Program) -> Result<String> {
    with_stack(STACK, MOST_DEPTH, || described(program))
}

fn described(program: &Program) -> Result<String> {
    let flat = without_tuples(&program.module)?;
    let module = flat.as_ref().unwrap_or(&program.module);
    let functions = module.operations.iter().filter(|operation| &*operation.name == "func.func");
    let mut described = json!({
        "producer": if module.producer.is_empty() { Json::Null } else { module.producer.as_str().into() },
        "stablehlo_version": module.version.map(|version| version.to_string()),
        "functions": functions.map(|function| describe_function(module, function)).collect::<Result<Vec<Json>>>()?,
        "meshes": meshes(module),
        "operations": counted(module),
        "unsupported": unsupported(module),
    });
    if let Some(exported) = &program.exported {
        described["jax"] = json!({
            "name": exported.name,
            "calling_convention": exported.calling_convention,
            "platforms": exported.platforms,
            "devices": exported.devices,
            "kept": exported.kept,
            "parameters": leaves(&exported.parameters, &exported.parameter_tree),
            "results": leaves(&exported.results, &exported.result_tree),
        });
    }
    Ok(described.to_string())
}

/// Describes the parameters or the results of an exported function, with their places in the caller's structure.
fn leaves(values: &[jax_file::Value], tree: &jax_file::Tree) -> Vec<Json> {
    let mut paths = tree.paths().into_iter();
    let described = |value: &jax_file::Value| {
        // JAX's names of integers and bools, `ui32` and `bool`, are not the library's.
        let dtype = match &value.element {
            Some(Element::DType(dtype)) => dtype.to_string(),
            _ => value.dtype.to_string(),
        };
        json!({"dtype": dtype, "dims": value.dims, "path": paths.next()})
    };
    values.iter().map(described).collect()
}

fn describe_function(module: &Module, function: &Operation) -> Result<Json> {
    let block = body_of(function)?;
    let of_parameters = argument_attributes(function);
    let of_results = result_attributes(function);
    let value = |value: Value, attributes: Option<&&Dictionary>| describe_value(module, value, attributes.copied());
    let results: &[Value] = block.operations.last().map_or(&[], |last| &last.operands);
    Ok(json!({
        "name": name_of(function),
        "public": is_public(function),
        "parameters": block.arguments.iter().enumerate().map(|(i, &v)| value(v, of_parameters.get(i))).collect::<Vec<_>>(),
        "results": results.iter().enumerate().map(|(i, &v)| value(v, of_results.get(i))).collect::<Vec<_>>(),
    }))
}

/// Describes a parameter or a result: its type, its name or place in the caller's tree, and whether it is donated.
fn describe_value(module: &Module, value: Value, attributes: Option<&Dictionary>) -> Json {
    let mut described = Map::new();
    match &**module.ty(value) {
        Type::Tensor(shape) => {
            described.insert("dtype".into(), dtype_of(&shape.element).map(|dtype| dtype.to_string()).ok().into());
            described.insert("dims".into(), shape.dims.to_vec().into());
            if let Some(bounds) = &shape.bounds {
                described.insert("bounds".into(), bounds.to_vec().into());
            }
        }
        other => {
            described.insert("type".into(), limited(other).into());
        }
    }
    let text = |name: &str| match attributes?.get(name) {
        Some(Attribute::String(bytes)) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    };
    if let Some(name) = text("jax.arg_info").or_else(|| text("jax.result_info")).or_else(|| text("mhlo.name")) {
        described.insert("name".into(), name.into());
    }
    let is_donated = attributes.is_some_and(|attributes| {
        attributes.get("tf.aliasing_output").is_some() || attributes.get("jax.buffer_donor").is_some()
    });
    described.insert("donated".into(), is_donated.into());
    if is_string(attributes.and_then(|attributes| attributes.get("jax.global_constant")), "_platform_index") {
        described.insert("platform_index".into(), true.into());
    }
    described.into()
}

/// Calls `visit` for each operation of the functions of a module, nested ones too.
fn visit<'m>(module: &'m Module, mut visit: impl FnMut(&'m Operation)) {
    let mut open: Vec<&Block> = Vec::new();
    let blocks = |operation: &'m Operation| operation.regions.iter().flat_map(|region| &region.blocks);
    module.operations.iter().for_each(|operation| open.extend(blocks(operation)));
    while let Some(block) = open.pop() {
        for operation in &block.operations {
            visit(operation);
            open.extend(blocks(operation));
        }
    }
}

/// Lists the meshes that have axes.
fn meshes(module: &Module) -> Vec<Json> {
    let listed = module.operations.iter().filter_map(|operation| {
        let mesh = FileMesh::of(operation, None)?.ok().filter(|mesh| !mesh.axes.is_empty())?;
        let axes = mesh.axes.iter().map(|(name, size)| json!({"name": String::from_utf8_lossy(name), "size": size}));
        Some(json!({"name": name_of(operation), "axes": axes.collect::<Vec<Json>>()}))
    });
    listed.collect()
}

/// Counts the operations by name.
fn counted(module: &Module) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    visit(module, |operation| *counts.entry(&*operation.name).or_default() += 1);
    counts
}

/// Lists the operations that cannot be imported: the first place of each, the reason and their number.
fn unsupported(module: &Module) -> Vec<Json> {
    let mut found: BTreeMap<(String, String), (String, usize)> = BTreeMap::new();
    let mut probe = Probe::new(module);
    visit(module, |operation| {
        let is_end = ["func.return", "stablehlo.return", "sdy.return"].contains(&&*operation.name);
        let failure = if is_end { None } else { probe.failure(operation) };
        if let Some(e) = failure {
            let key = (operation.name.to_string(), e.message.to_string());
            found.entry(key).or_insert_with(|| (place(operation), 0)).1 += 1;
        }
    });
    let listed = found.into_iter().map(|((name, reason), (place, count))| {
        json!({"operation": name, "reason": reason, "location": place, "count": count})
    });
    listed.collect()
}
