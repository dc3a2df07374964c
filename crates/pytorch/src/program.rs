//! A program.

use crate::stored::{Element, Stored};
use std::collections::{BTreeMap, HashMap};

/// A program that PyTorch exported.
#[derive(Debug)]
pub struct Program {
    /// Name of the program in its archive.
    pub name: String,
    /// Major and minor version of the schema in which it is written.
    pub schema: (u64, u64),
    /// The version of PyTorch that wrote it; empty if the file does not say it.
    pub torch: String,
    /// The graph.
    pub graph: Graph,
    /// Meaning of the inputs of the graph, in order.
    pub inputs: Vec<Input>,
    /// Meaning of the outputs of the graph, in order.
    pub outputs: Vec<Output>,
    /// Smallest and largest value of the symbols of free sizes.
    pub symbols: Symbols,
    /// Parameters, buffers and constants by name.
    pub stored: BTreeMap<String, Stored>,
}

/// Symbols of sizes, with their smallest and largest values; None for no bound.
pub type Symbols = BTreeMap<String, (Option<i64>, Option<i64>)>;

/// Operations in the order in which they run.
#[derive(Debug, Default)]
pub struct Graph {
    /// Values that the graph is given.
    pub inputs: Vec<Argument>,
    /// Values that it returns.
    pub outputs: Vec<Argument>,
    /// Operations in execution order.
    pub nodes: Vec<Node>,
    /// Types of the tensors of the graph, by name.
    pub tensors: HashMap<String, TensorMeta>,
}

/// An operation of a graph.
#[derive(Debug)]
pub struct Node {
    /// The operator, as `torch.ops.aten.add.Tensor`.
    pub target: String,
    /// Arguments. Those that equal the operator's defaults are left out.
    pub inputs: Vec<Named>,
    /// Names of the results.
    pub outputs: Vec<Argument>,
    /// Path of the module that it comes from, as `layers.0.attention`; empty if the file does not say it.
    pub module: String,
    /// Name of the node; empty if the file does not say it.
    pub name: String,
}

/// An argument with its name in the operator's schema; operators of higher order have empty names.
#[derive(Debug)]
pub struct Named {
    /// The name.
    pub name: String,
    /// The argument.
    pub argument: Argument,
}

/// A number that a program may compute from sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum Symbolic<T> {
    /// A number.
    Value(T),
    /// Name of a number that a node computes.
    Name(String),
}

/// An argument of an operation.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum Argument {
    None,
    Tensor(String),
    Tensors(Vec<String>),
    OptionalTensors(Vec<Option<String>>),
    Bool(bool),
    Bools(Vec<bool>),
    Int(i64),
    Ints(Vec<i64>),
    Float(f64),
    Floats(Vec<f64>),
    Complex(f64, f64),
    Text(String),
    SymInt(Symbolic<i64>),
    SymInts(Vec<Symbolic<i64>>),
    SymFloat(Symbolic<f64>),
    SymBool(Symbolic<bool>),
    /// A dtype; None for a dtype that this reader does not know.
    Dtype(Option<Element>),
    Layout(i64),
    MemoryFormat(i64),
    Device(String),
    Graph(Box<Graph>),
    /// An argument of a kind that this reader does not know, by the name of the kind.
    Other(String),
}

/// A size of a tensor: a number, or an expression of symbols.
#[derive(Clone, Debug, PartialEq)]
pub enum Size {
    /// A number.
    Fixed(i64),
    /// An expression of SymPy, as `Symbol('s31', positive=True, integer=True)`.
    Expression(String),
}

/// The type of a tensor.
#[derive(Clone, Debug)]
pub struct TensorMeta {
    /// The dtype; None for a dtype that this reader does not know.
    pub element: Option<Element>,
    /// The sizes.
    pub sizes: Vec<Size>,
    /// The strides, in elements.
    pub strides: Vec<Size>,
}

/// An input of the graph, with its role in the model.
#[derive(Debug)]
pub struct Input {
    /// Role in the model.
    pub kind: InputKind,
    /// The input of the graph.
    pub argument: Argument,
    /// Name of the parameter, buffer or constant; of the user's inputs the name in the graph.
    pub name: String,
}

/// Role of an input of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// A parameter of the model.
    Parameter,
    /// A buffer of the model.
    Buffer,
    /// A constant.
    Constant,
    /// An input of the user.
    User,
    /// A number, a text or None that was given when the program was exported, and is part of it.
    Fixed,
}

/// An output of the graph, with its role in the model.
#[derive(Debug)]
pub struct Output {
    /// Role in the model.
    pub kind: OutputKind,
    /// The output of the graph.
    pub argument: Argument,
}

/// Role of an output of the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputKind {
    /// An output of the user.
    User,
    /// The loss of a program that computes gradients.
    Loss,
    /// The gradient by a parameter, or by an input of the user.
    Gradient(String),
    /// The new value of a buffer, a parameter, or an input of the user (by its name in the graph).
    Changed(String),
}
