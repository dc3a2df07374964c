//! Says what an archive holds, without reading a weight.

use super::arguments::dtype_of;
use super::errors::error_of;
use super::names::{described, described_input, entry, user_tensors};
use super::operators;
use super::refusals::{refused, visit};
use super::sizes::shown;
use base::error::Result;
use lazyxla_pytorch::{self as reader, Argument, InputKind, Size};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// Describes the only program of an archive, or the program with the name `model`.
pub fn describe(bytes: &[u8]) -> Result<String> {
    let program = reader::read(bytes, None).map_err(error_of)?;
    let mut parameters = Vec::new();
    for (name, dtype, sizes) in user_tensors(&program) {
        let mut parameter = entry([("name", name.into()), ("kind", "input".into())]);
        parameter.insert("dtype".into(), dtype.map(|dtype| dtype.to_string()).into());
        parameter.insert("dims".into(), dims_of(sizes));
        parameter.insert("sizes".into(), sizes.iter().map(shown).collect::<Vec<String>>().into());
        parameters.push(parameter);
    }
    let results = program.outputs.iter().filter_map(|output| {
        let Argument::Tensor(name) = &output.argument else { return None };
        let mut result = described(&output.kind, &output.argument);
        let meta = program.graph.tensors.get(name);
        let dtype = meta.and_then(|meta| meta.element).map(|element| dtype_of(element).to_string());
        result.insert("dtype".into(), dtype.into());
        result.insert("dims".into(), meta.map_or(Json::Null, |meta| dims_of(&meta.sizes)));
        Some(result)
    });
    let function = json!({
        "name": program.name,
        "public": true,
        "parameters": parameters,
        "results": results.collect::<Vec<_>>(),
    });
    let captured = program.inputs.iter().filter_map(|input| {
        let stored = program.stored.get(&input.name)?;
        let mut value = described_input(&program, input);
        value.insert("dtype".into(), dtype_of(stored.element).to_string().into());
        value.insert("dims".into(), stored.sizes.clone().into());
        (!matches!(input.kind, InputKind::User | InputKind::Fixed)).then_some(value)
    });
    let symbols = program.symbols.iter().map(|(name, (low, high))| (name.clone(), json!({"min": low, "max": high})));
    let mut operations: BTreeMap<&str, usize> = BTreeMap::new();
    visit(&program.graph, &mut |node| *operations.entry(operators::display_name(&node.target)).or_default() += 1);
    let producer = if program.torch.is_empty() { "PyTorch".into() } else { format!("PyTorch {}", program.torch) };
    Ok(json!({
        "producer": producer,
        "stablehlo_version": null,
        "schema_version": format!("{}.{}", program.schema.0, program.schema.1),
        "functions": [function],
        "meshes": [],
        "captured": captured.collect::<Vec<_>>(),
        "symbols": symbols.collect::<serde_json::Map<String, Json>>(),
        "operations": operations,
        "unsupported": refused(&program.graph).into_iter().map(|refused| {
            json!({
                "operation": refused.name,
                "reason": refused.reason,
                "location": refused.module,
                "count": refused.count,
            })
        }).collect::<Vec<_>>(),
    })
    .to_string())
}

/// Sizes as numbers: -1 for a free one.
fn dims_of(sizes: &[Size]) -> Json {
    let size = |size: &Size| match size {
        Size::Fixed(size) => *size,
        Size::Expression(_) => -1,
    };
    sizes.iter().map(size).collect::<Vec<i64>>().into()
}
