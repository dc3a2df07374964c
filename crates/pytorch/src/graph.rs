//! A graph as JSON: its nodes and their arguments, which are objects of one key that names the kind.

use crate::error::shown;
use crate::program::{Argument, Graph, Named, Node, Size, Symbolic, TensorMeta};
use crate::stored::Element;
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;

/// A graph as it stands in the file.
#[derive(Deserialize)]
pub struct GraphJson {
    #[serde(default)]
    inputs: Vec<Value>,
    #[serde(default)]
    outputs: Vec<Value>,
    nodes: Vec<NodeJson>,
    #[serde(default)]
    tensor_values: HashMap<String, MetaJson>,
}

#[derive(Deserialize)]
struct NodeJson {
    target: String,
    inputs: Vec<NamedJson>,
    outputs: Vec<Value>,
    #[serde(default)]
    metadata: MetadataJson,
    #[serde(default)]
    name: Option<String>,
}

/// What is read of the annotations of a node. The others, above all stack traces, are most of a file.
#[derive(Default, Deserialize)]
struct MetadataJson {
    #[serde(default)]
    nn_module_stack: Value,
}

#[derive(Deserialize)]
struct NamedJson {
    #[serde(default)]
    name: String,
    arg: Value,
}

/// The type of a tensor of a graph.
#[derive(Deserialize)]
struct MetaJson {
    dtype: i64,
    sizes: Value,
    #[serde(default)]
    strides: Value,
}

/// Reads a graph within another one; the reason if it is malformed.
fn inner_graph(value: Value) -> Result<Graph, String> {
    graph_of(serde_json::from_value(value).map_err(|e| format!("the graph is malformed: {e}"))?)
}

/// Reads a graph; the reason if it is malformed.
pub fn graph_of(graph: GraphJson) -> Result<Graph, String> {
    let list = |values: Vec<Value>| values.into_iter().map(argument).collect::<Result<Vec<_>, _>>();
    let nodes = graph.nodes.into_iter().map(node).collect::<Result<Vec<Node>, String>>()?;
    let meta = |(name, tensor): (String, MetaJson)| {
        let malformed = || format!("the type of tensor {} is malformed", shown(&name));
        let meta = TensorMeta {
            element: Element::of_number(tensor.dtype),
            sizes: sizes(&tensor.sizes).ok_or_else(malformed)?,
            strides: sizes(&tensor.strides).unwrap_or_default(),
        };
        Ok::<_, String>((name, meta))
    };
    let tensors = graph.tensor_values.into_iter().map(meta).collect::<Result<_, _>>()?;
    Ok(Graph { inputs: list(graph.inputs)?, outputs: list(graph.outputs)?, nodes, tensors })
}

fn node(node: NodeJson) -> Result<Node, String> {
    let NodeJson { target, inputs, outputs, metadata, name } = node;
    let at = |reason: String| format!("node {}: {reason}", shown(&target));
    let named = |input: NamedJson| Ok::<_, String>(Named { name: input.name, argument: argument(input.arg)? });
    let inputs = inputs.into_iter().map(named).collect::<Result<Vec<_>, _>>().map_err(at)?;
    let outputs = outputs.into_iter().map(argument).collect::<Result<Vec<_>, _>>().map_err(at)?;
    let module = metadata.nn_module_stack.as_str().map(module_path).unwrap_or_default();
    Ok(Node { target, inputs, outputs, module, name: name.unwrap_or_default() })
}

/// The path of the innermost module of a stack: `key,path,class;key,path,class`.
fn module_path(stack: &str) -> String {
    let last = stack.rsplit(';').next().unwrap_or_default();
    let mut fields = last.split(',').skip(1);
    fields.next().unwrap_or_default().to_string()
}

/// Reads an argument; the reason if it is malformed.
pub fn argument(value: Value) -> Result<Argument, String> {
    let (kind, content) = only_entry(value)?;
    let malformed = || format!("an argument {kind} is malformed");
    let read = || -> Option<Argument> {
        let list = || content.as_array();
        Some(match kind.as_str() {
            "as_none" => Argument::None,
            "as_tensor" => Argument::Tensor(name_of(&content)?),
            "as_tensors" => Argument::Tensors(list()?.iter().map(name_of).collect::<Option<_>>()?),
            "as_optional_tensors" => {
                let optional = |value: &Value| match value.get("as_tensor") {
                    Some(tensor) => name_of(tensor).map(Some),
                    None => value.get("as_none").map(|_| None),
                };
                Argument::OptionalTensors(list()?.iter().map(optional).collect::<Option<_>>()?)
            }
            "as_bool" => Argument::Bool(content.as_bool()?),
            "as_bools" => Argument::Bools(list()?.iter().map(Value::as_bool).collect::<Option<_>>()?),
            "as_int" => Argument::Int(content.as_i64()?),
            "as_ints" => Argument::Ints(list()?.iter().map(Value::as_i64).collect::<Option<_>>()?),
            "as_float" => Argument::Float(float(&content)?),
            "as_floats" => Argument::Floats(list()?.iter().map(float).collect::<Option<_>>()?),
            "as_complex" => Argument::Complex(float(content.get("real")?)?, float(content.get("imag")?)?),
            "as_string" | "as_operator" => Argument::Text(content.as_str()?.to_string()),
            "as_sym_int" => Argument::SymInt(symbolic(&content, "as_int", Value::as_i64)?),
            "as_sym_ints" => {
                let one = |value: &Value| symbolic(value, "as_int", Value::as_i64);
                Argument::SymInts(list()?.iter().map(one).collect::<Option<_>>()?)
            }
            "as_sym_float" => Argument::SymFloat(symbolic(&content, "as_float", float)?),
            "as_sym_bool" => Argument::SymBool(symbolic(&content, "as_bool", Value::as_bool)?),
            "as_scalar_type" => Argument::Dtype(Element::of_number(content.as_i64()?)),
            "as_layout" => Argument::Layout(content.as_i64()?),
            "as_memory_format" => Argument::MemoryFormat(content.as_i64()?),
            "as_device" => Argument::Device(content.get("type")?.as_str()?.to_string()),
            _ => return None,
        })
    };
    if kind == "as_graph" {
        let Value::Object(mut graph) = content else { return Err(malformed()) };
        let graph = graph.remove("graph").ok_or_else(malformed)?;
        return Ok(Argument::Graph(Box::new(inner_graph(graph)?)));
    }
    match read() {
        Some(argument) => Ok(argument),
        None if KNOWN.contains(&kind.as_str()) => Err(malformed()),
        None => Ok(Argument::Other(kind)),
    }
}

/// Kinds that are read.
const KNOWN: [&str; 20] = [
    "as_none", "as_tensor", "as_tensors", "as_optional_tensors", "as_bool", "as_bools", "as_int", "as_ints",
    "as_float", "as_floats", "as_complex", "as_string", "as_sym_int", "as_sym_ints", "as_sym_float", "as_sym_bool",
    "as_scalar_type", "as_layout", "as_memory_format", "as_device",
];

/// The key and the value of an object of one key.
pub fn only_entry(value: Value) -> Result<(String, Value), String> {
    match value {
        Value::Object(object) if object.len() == 1 => {
            object.into_iter().next().ok_or_else(|| "an object without a key".to_string())
        }
        _ => Err("want an object of one key".into()),
    }
}

/// The name of a tensor.
pub fn name_of(value: &Value) -> Option<String> {
    Some(value.get("name")?.as_str()?.to_string())
}

/// A number, or its name as a text: infinities and NaN.
fn float(value: &Value) -> Option<f64> {
    match value.as_str() {
        None => value.as_f64(),
        Some("Infinity") => Some(f64::INFINITY),
        Some("-Infinity") => Some(f64::NEG_INFINITY),
        Some("NaN") => Some(f64::NAN),
        Some(_) => None,
    }
}

fn symbolic<T>(value: &Value, kind: &str, read: impl Fn(&Value) -> Option<T>) -> Option<Symbolic<T>> {
    match value.get("as_name") {
        Some(name) => Some(Symbolic::Name(name.as_str()?.to_string())),
        None => read(value.get(kind)?).map(Symbolic::Value),
    }
}

/// Reads a size or a stride of a tensor.
pub fn size(value: &Value) -> Option<Size> {
    match value.get("as_expr") {
        Some(expression) => Some(Size::Expression(expression.get("expr_str")?.as_str()?.to_string())),
        None => value.get("as_int")?.as_i64().map(Size::Fixed),
    }
}

/// Reads a list of sizes or strides.
pub fn sizes(value: &Value) -> Option<Vec<Size>> {
    value.as_array()?.iter().map(size).collect()
}
