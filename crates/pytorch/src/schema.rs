//! A program as JSON.

use crate::error::{Error, Result, shown};
use crate::graph::{GraphJson, argument, graph_of, name_of, only_entry};
use crate::program::{Argument, Graph, Input, InputKind, Output, OutputKind, Symbols};
use crate::stored::Element;
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;

/// Newest version of the schema whose programs were tried; newer minor versions are read too.
const NEWEST: (u64, u64) = (8, 20);
/// Major versions that are read: of PyTorch 2.4, and of PyTorch 2.6 and newer.
const MAJORS: [u64; 2] = [5, 8];

/// The version of the schema, which is read before anything else.
#[derive(Deserialize)]
pub struct Versioned {
    schema_version: Version,
    #[serde(default)]
    torch_version: Option<String>,
}

#[derive(Deserialize)]
struct Version {
    major: u64,
    minor: u64,
}

#[derive(Deserialize)]
pub struct Exported {
    graph_module: Module,
    #[serde(default)]
    range_constraints: HashMap<String, Bounds>,
}

#[derive(Deserialize)]
struct Bounds {
    min_val: Option<i64>,
    max_val: Option<i64>,
}

#[derive(Deserialize)]
struct Module {
    graph: GraphJson,
    signature: Signature,
}

#[derive(Deserialize)]
struct Signature {
    input_specs: Vec<Value>,
    output_specs: Vec<Value>,
}

#[derive(Deserialize)]
struct TensorJson {
    dtype: i64,
    sizes: Value,
    #[serde(default)]
    strides: Value,
    #[serde(default)]
    storage_offset: Value,
    #[serde(default)]
    requires_grad: bool,
}

/// The type and the place of a tensor in its storage, as configurations of weights state it.
pub struct Layout {
    pub element: Element,
    pub sizes: Vec<i64>,
    pub strides: Vec<i64>,
    pub offset: i64,
    pub requires_grad: bool,
}

impl Versioned {
    /// Returns the version of the schema and of PyTorch; UNSUPPORTED for a version that is not read.
    pub fn checked(self) -> Result<((u64, u64), String)> {
        let Version { major, minor } = self.schema_version;
        let torch = self.torch_version.unwrap_or_default();
        match MAJORS.contains(&major) {
            true => Ok(((major, minor), torch)),
            false => {
                let by = if torch.is_empty() { String::new() } else { format!(", by PyTorch {}", shown(&torch)) };
                Err(Error::unsupported(format!(
                    "the program is written in schema {major}.{minor}{by}; this library reads the schemas 5 and 8 \
                     (PyTorch 2.4, and 2.6 and newer) up to {}.{}: export it by such a version",
                    NEWEST.0, NEWEST.1
                )))
            }
        }
    }
}

/// A program without its weights.
pub struct Parts {
    pub graph: Graph,
    pub inputs: Vec<Input>,
    pub outputs: Vec<Output>,
    pub symbols: Symbols,
}

impl Exported {
    /// Reads the parts of a program.
    pub fn parts(self) -> Result<Parts> {
        let Module { graph, signature } = self.graph_module;
        let mut graph = graph_of(graph).map_err(Error::invalid)?;
        let numbered = |what: &str, i: usize, reason: String| Error::invalid(format!("{what}[{i}]: {reason}"));
        let inputs = signature.input_specs.into_iter().enumerate();
        let inputs = inputs.map(|(i, spec)| input(spec).map_err(|e| numbered("input_specs", i, e)));
        // The last of the tokens that order effects is an output, but no value.
        let mut specs = signature.output_specs;
        let are_tokens: Vec<bool> = specs.iter().map(|spec| spec.get("token").is_some()).collect();
        let is_token = |i: usize| are_tokens.get(i).copied().unwrap_or(false);
        let outputs = graph.outputs.into_iter().enumerate().filter(|(i, _)| !is_token(*i));
        graph.outputs = outputs.map(|(_, output)| output).collect();
        specs.retain(|spec| spec.get("token").is_none());
        let outputs = specs.into_iter().enumerate();
        let outputs = outputs.map(|(i, spec)| output(spec).map_err(|e| numbered("output_specs", i, e)));
        let bounds = self.range_constraints.into_iter();
        let symbols = bounds.map(|(symbol, bounds)| (symbol, (bounds.min_val, bounds.max_val))).collect();
        let (inputs, outputs) = (inputs.collect::<Result<Vec<Input>>>()?, outputs.collect::<Result<Vec<Output>>>()?);
        Ok(Parts { graph, inputs, outputs, symbols })
    }
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_string)
}

/// Reads the argument of a specification: an argument, or the name of a tensor alone.
fn spec_argument(value: &Value) -> std::result::Result<Argument, String> {
    let given = value.get("arg").ok_or("it has no arg")?;
    match name_of(given) {
        Some(name) => Ok(Argument::Tensor(name)),
        None => argument(given.clone()),
    }
}

fn input(spec: Value) -> std::result::Result<Input, String> {
    let (kind, content) = only_entry(spec)?;
    let missing = || format!("{} has no name", shown(&kind));
    let stored = |kind, key: &str| {
        let name = text(&content, key).ok_or_else(missing)?;
        Ok(Input { kind, argument: spec_argument(&content)?, name })
    };
    match kind.as_str() {
        "parameter" => stored(InputKind::Parameter, "parameter_name"),
        "buffer" => stored(InputKind::Buffer, "buffer_name"),
        "tensor_constant" => stored(InputKind::Constant, "tensor_constant_name"),
        "user_input" => {
            let argument = spec_argument(&content)?;
            let name = match &argument {
                Argument::Tensor(name) => name.clone(),
                _ => String::new(),
            };
            Ok(Input { kind: InputKind::User, argument, name })
        }
        "constant_input" => {
            let name = text(&content, "name").ok_or_else(missing)?;
            let value = content.get("value").cloned().ok_or_else(missing)?;
            Ok(Input { kind: InputKind::Fixed, argument: argument(value)?, name })
        }
        "token" => {
            let name = content.get("arg").and_then(|arg| text(arg, "name")).ok_or_else(missing)?;
            Ok(Input { kind: InputKind::Fixed, argument: Argument::None, name })
        }
        _ => Ok(Input { kind: InputKind::Fixed, argument: Argument::Other(kind.clone()), name: kind }),
    }
}

fn output(spec: Value) -> std::result::Result<Output, String> {
    let (kind, content) = only_entry(spec)?;
    let name = |key: &str| text(&content, key).ok_or_else(|| format!("{} has no {key}", shown(&kind)));
    let argument = spec_argument(&content)?;
    let kind = match kind.as_str() {
        "user_output" => OutputKind::User,
        "loss_output" => OutputKind::Loss,
        "gradient_to_parameter" => OutputKind::Gradient(name("parameter_name")?),
        "gradient_to_user_input" => OutputKind::Gradient(name("user_input_name")?),
        "buffer_mutation" => OutputKind::Changed(name("buffer_name")?),
        "parameter_mutation" => OutputKind::Changed(name("parameter_name")?),
        "user_input_mutation" => OutputKind::Changed(name("user_input_name")?),
        other => return Err(format!("an output of the kind {} is not known", shown(other))),
    };
    Ok(Output { kind, argument })
}

/// Reads the type and the place of a tensor in its storage.
pub fn layout(value: Value) -> Result<Layout> {
    let malformed = || Error::invalid("its tensor_meta is malformed");
    let meta: TensorJson = serde_json::from_value(value).map_err(|_| malformed())?;
    let numbers = |value: &Value| -> Option<Vec<i64>> {
        value.as_array()?.iter().map(|value| value.get("as_int")?.as_i64()).collect()
    };
    let element = Element::of_number(meta.dtype)
        .ok_or_else(|| Error::unsupported(format!("its dtype has the number {}, which is not known", meta.dtype)))?;
    Ok(Layout {
        element,
        sizes: numbers(&meta.sizes).ok_or_else(malformed)?,
        strides: numbers(&meta.strides).ok_or_else(malformed)?,
        offset: meta.storage_offset.get("as_int").and_then(Value::as_i64).ok_or_else(malformed)?,
        requires_grad: meta.requires_grad,
    })
}
