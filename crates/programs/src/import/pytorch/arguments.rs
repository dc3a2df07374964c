//! Arguments of operators. A file leaves out arguments that equal the defaults of an operator, so the table lists them.

use super::tensors::TensorId;
use base::error;
use base::error::{Result, quoted};
use base::types::{DType, ScalarValue};
use ir::{BinaryOp, NodeId, Trace};
use lazyxla_pytorch::{Argument, Element, Graph, Symbolic};
use ops::elementwise::binary_scalar;
use rustc_hash::FxHashMap;

/// A value of a graph: a tensor, or what is known when the program is imported.
#[derive(Clone, Debug)]
pub enum Value<'p> {
    None,
    Tensor(TensorId),
    Bool(bool),
    Int(i64),
    Float(f64),
    Complex(f64, f64),
    /// A number that the program computes.
    Computed(Number),
    Text(&'p str),
    Dtype(DType),
    List(Vec<Value<'p>>),
    Graph(&'p Graph),
    /// A result of an operator that is not computed, by its name.
    Absent(&'static str),
    /// A device, a layout or a memory format, which change no value.
    Ignored,
}

/// A number that the program computes: the sum of an element of a tensor and an integer.
#[derive(Clone, Copy, Debug)]
pub struct Number {
    /// The element, of rank 0: s64, f64, c128 or pred.
    pub node: NodeId,
    /// The integer.
    pub plus: i64,
}

impl Number {
    /// The number in a node of rank 0.
    pub fn of(node: NodeId) -> Number {
        Number { node, plus: 0 }
    }

    /// Records the number as a tensor of rank 0.
    pub fn record(self, trace: &mut Trace) -> Result<NodeId> {
        match self.plus {
            0 => Ok(self.node),
            plus => binary_scalar(trace, BinaryOp::Add, self.node, ScalarValue::Signed(plus), false),
        }
    }

    /// The difference to another number; None if the difference depends on data.
    pub fn above(self, other: Number) -> Option<i64> {
        if self.node == other.node { self.plus.checked_sub(other.plus) } else { None }
    }
}

impl Value<'_> {
    /// The kind of value, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::None => "None",
            Value::Tensor(_) => "a tensor",
            Value::Bool(_) => "a bool",
            Value::Int(_) => "an integer",
            Value::Float(_) => "a float",
            Value::Complex(..) => "a complex number",
            Value::Computed(_) => "a number that depends on data",
            Value::Text(_) => "a text",
            Value::Dtype(_) => "a dtype",
            Value::List(_) => "a list",
            Value::Graph(_) => "a graph",
            Value::Absent(_) => "a result that is not computed",
            Value::Ignored => "a device or a layout",
        }
    }
}

impl Value<'_> {
    /// The value in messages: a number, a text or the first of a list; otherwise its kind.
    pub fn shown(&self) -> String {
        match self {
            Value::Bool(value) => value.to_string(),
            Value::Int(value) => value.to_string(),
            Value::Float(value) => value.to_string(),
            Value::Text(text) => quoted(text).to_string(),
            Value::List(list) => list.iter().take(8).map(Value::shown).collect::<Vec<String>>().join(", "),
            other => other.kind().to_string(),
        }
    }
}

/// Values of a graph by name.
pub type Scope<'p> = FxHashMap<&'p str, Value<'p>>;

/// The library's dtype of a dtype of PyTorch.
pub fn dtype_of(element: Element) -> DType {
    use Element::*;
    match element {
        U8 => DType::U8,
        S8 => DType::S8,
        S16 => DType::S16,
        S32 => DType::S32,
        S64 => DType::S64,
        F16 => DType::F16,
        F32 => DType::F32,
        F64 => DType::F64,
        C64 => DType::C64,
        C128 => DType::C128,
        Bool => DType::Pred,
        BF16 => DType::BF16,
        U16 => DType::U16,
        F8E4M3FN => DType::F8E4M3FN,
        F8E5M2 => DType::F8E5M2,
    }
}

/// Number of dense tensors among layouts.
const STRIDED: i64 = 7;

/// Returns the value of an argument.
pub fn value_of<'p>(scope: &Scope<'p>, argument: &'p Argument) -> Result<Value<'p>> {
    let named = |name: &str| {
        let undefined = || error!(InvalidArgument, "it uses {}, which is not defined there", quoted(name));
        scope.get(name).cloned().ok_or_else(undefined)
    };
    let list = |values: Vec<Result<Value<'p>>>| values.into_iter().collect::<Result<Vec<_>>>().map(Value::List);
    Ok(match argument {
        Argument::None => Value::None,
        Argument::Tensor(name) => named(name)?,
        Argument::Tensors(names) => list(names.iter().map(|name| named(name)).collect())?,
        Argument::OptionalTensors(names) => {
            let optional = |name: &Option<String>| name.as_ref().map_or(Ok(Value::None), |name| named(name));
            list(names.iter().map(optional).collect())?
        }
        Argument::Bool(value) => Value::Bool(*value),
        Argument::Bools(values) => Value::List(values.iter().map(|&value| Value::Bool(value)).collect()),
        Argument::Int(value) => Value::Int(*value),
        Argument::Ints(values) => Value::List(values.iter().map(|&value| Value::Int(value)).collect()),
        Argument::Float(value) => Value::Float(*value),
        Argument::Floats(values) => Value::List(values.iter().map(|&value| Value::Float(value)).collect()),
        Argument::Complex(re, im) => Value::Complex(*re, *im),
        Argument::Text(text) => Value::Text(text),
        Argument::SymInt(value) => symbolic(value, Value::Int, named)?,
        Argument::SymInts(values) => list(values.iter().map(|value| symbolic(value, Value::Int, named)).collect())?,
        Argument::SymFloat(value) => symbolic(value, Value::Float, named)?,
        Argument::SymBool(value) => symbolic(value, Value::Bool, named)?,
        Argument::Dtype(Some(element)) => Value::Dtype(dtype_of(*element)),
        Argument::Dtype(None) => return Err(error!(Unimplemented, "a dtype that the library does not have")),
        Argument::Layout(STRIDED) => Value::Ignored,
        Argument::Layout(layout) => return Err(error!(Unimplemented, "the layout {layout}; want strided tensors")),
        Argument::MemoryFormat(_) | Argument::Device(_) => Value::Ignored,
        Argument::Graph(graph) => Value::Graph(graph),
        Argument::Other(kind) => return Err(error!(Unimplemented, "an argument of the kind {}", quoted(kind))),
    })
}

fn symbolic<'p, T: Copy>(
    value: &Symbolic<T>,
    fixed: fn(T) -> Value<'p>,
    named: impl Fn(&str) -> Result<Value<'p>>,
) -> Result<Value<'p>> {
    match value {
        Symbolic::Value(value) => Ok(fixed(*value)),
        Symbolic::Name(name) => named(name),
    }
}

/// Returns the names of an operator's arguments with their defaults, of a text as `self other alpha=1`. The defaults
/// are numbers, `true`, `false`, `none`, lists of integers and texts in quotes.
pub fn signature(text: &'static str) -> impl Iterator<Item = (&'static str, Option<Value<'static>>)> {
    text.split_ascii_whitespace().map(|argument| match argument.split_once('=') {
        Some((name, default)) => (name, Some(default_of(default))),
        None => (argument, None),
    })
}

fn default_of(text: &'static str) -> Value<'static> {
    let list = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let quoted = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    match (text, list, quoted) {
        ("none", ..) => Value::None,
        ("true", ..) => Value::Bool(true),
        ("false", ..) => Value::Bool(false),
        (_, Some(list), _) => {
            Value::List(list.split(',').filter_map(|number| number.parse().ok()).map(Value::Int).collect())
        }
        (.., Some(text)) => Value::Text(text),
        _ => match text.parse() {
            Ok(number) => Value::Int(number),
            Err(_) => Value::Float(text.parse().unwrap_or(f64::NAN)),
        },
    }
}
