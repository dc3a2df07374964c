//! Walks functions and regions of a module, and records their operations.

use super::attributes::{Attributes, array_of, scalar_of};
use super::functions::{argument_attributes, body_of, described, name_of};
use super::mesh::{Manual, Placing};
use super::sizes::Known;
use super::types::{check_fits, is_free, shape_of};
use base::error;
use base::error::{Result, quoted};
use base::label::Label;
use base::stack::MOST_DEPTH;
use base::types::{DType, TensorType};
use engine::kernels::Kernel;
use ir::{Body, NodeId, Trace, take_closed_body};
use mlir::{Block, Dense, Module, Operation, TensorShape, Value};
use native::Array;
use ops::{control, creation};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Nodes of the operands of an operation.
pub type Operands = SmallVec<[NodeId; 4]>;

/// Nodes of the results of an operation.
pub type Results = SmallVec<[NodeId; 1]>;

/// Records an operation of a module; returns the nodes of its results.
pub type Record = for<'i, 'm> fn(&'i mut Importer<'m>, &'m Operation, &'i [NodeId]) -> Result<Results>;

/// A region or a function as a body, with the nodes of the values that it captures.
pub struct Applied {
    /// The body.
    pub body: Arc<Body>,
    /// One node for each capture, in order.
    pub captures: Vec<NodeId>,
}

/// Number of operations that may be recorded for a small module.
const MOST_OPERATIONS: usize = 1 << 16;

/// Maximum depth of calls between functions of a module.
const MOST_CALLS: usize = 200;

/// The function that JAX calls from `main` of a program with free sizes or several platforms, once they are checked. It
/// is recorded in place, so that the program has the body of one with fixed sizes.
const JAX_MAIN: &str = "_wrapped_jax_export_main";

/// An argument of a function of the module, as far as it changes what the function becomes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Argument {
    /// A value of this type.
    Value(TensorType),
    /// A constant of this type with these bytes, from which sizes may be computed.
    Constant(TensorType, Vec<u8>),
}

/// A function of the module, imported for arguments of certain types and constants.
#[derive(Clone)]
pub struct Function {
    /// Its body, whose captures are `constants`.
    pub body: Arc<Body>,
    /// Values of the constants that it needs.
    pub constants: Vec<Array>,
    /// Values of the results that follow from constants and sizes alone.
    pub known: Vec<Option<Array>>,
}

/// State of an import.
pub struct Importer<'m> {
    /// The module.
    pub module: &'m Module,
    /// Where operations are recorded. Functions, and regions that use nothing from outside, have traces of their own.
    pub trace: Trace,
    /// Constants, and values computed from constants.
    pub known: Known,
    /// The mesh for which the module is imported, and the place on it.
    pub placing: Placing,
    /// Kernels of the environment by name, which custom calls may name.
    pub kernels: BTreeMap<String, Arc<Kernel>>,
    /// Nodes of the values that are defined where the import is now.
    values: FxHashMap<Value, NodeId>,
    /// Functions of the module by name.
    functions: FxHashMap<&'m str, &'m Operation>,
    /// Functions that were imported for the current place on the mesh, by name and arguments.
    imported: FxHashMap<(Arc<str>, Vec<Argument>), Function>,
    /// Names of the functions that call each other on the way to the current operation.
    calls: Vec<Arc<str>>,
    /// Whether the module has types with free sizes.
    has_free_sizes: bool,
    /// Number of functions and regions in which the import is.
    depth: usize,
    /// Number of operations that may still be recorded. Functions that call functions with changing sizes can need
    /// exponentially many.
    left: usize,
    /// Arrays of the constants of the module, by the addresses of their attributes.
    arrays: FxHashMap<usize, Array>,
    /// Records an operation: the table of operations, which stands above.
    record: Record,
}

impl<'m> Importer<'m> {
    /// Starts the import of a module, whose operations `record` records.
    pub fn new(module: &'m Module, record: Record) -> Importer<'m> {
        let functions = module.operations.iter().filter(|operation| &*operation.name == "func.func");
        let functions = functions.filter_map(|function| Some((name_of(function)?, function))).collect();
        Importer {
            module,
            trace: Trace::new(),
            known: Known::default(),
            placing: Placing::default(),
            kernels: BTreeMap::new(),
            values: FxHashMap::default(),
            functions,
            imported: FxHashMap::default(),
            calls: Vec::new(),
            has_free_sizes: module.types.iter().any(|ty| is_free(ty)),
            depth: 0,
            left: MOST_OPERATIONS + 64 * module.types.len(),
            arrays: FxHashMap::default(),
            record,
        }
    }

    /// The type of a value; an error unless it is a tensor.
    pub fn shape(&self, value: Value) -> Result<&'m TensorShape> {
        shape_of(self.module, value)
    }

    /// Imports a function for certain arguments, or returns it if it was imported for them before.
    fn function(&mut self, function: &'m Operation, arguments: &[Argument]) -> Result<Function> {
        let name: Arc<str> = name_of(function).unwrap_or_default().into();
        let key = (name.clone(), arguments.to_vec());
        if let Some(known) = self.imported.get(&key) {
            return Ok(known.clone());
        }
        if self.calls.contains(&name) {
            return Err(error!(InvalidArgument, "function {} calls itself", quoted(&name)));
        }
        if self.calls.len() >= MOST_CALLS {
            return Err(error!(Unimplemented, "functions call each other more than {MOST_CALLS} deep"));
        }
        self.calls.push(name.clone());
        let made = self.recorded(function, arguments);
        self.calls.pop();
        let made = made.map_err(|e| if self.calls.is_empty() { e } else { e.context(format_args!("in @{name}")) })?;
        self.imported.insert(key, made.clone());
        Ok(made)
    }

    fn recorded(&mut self, function: &'m Operation, arguments: &[Argument]) -> Result<Function> {
        let block = body_of(function)?;
        if block.arguments.len() != arguments.len() {
            return Err(error!(
                InvalidArgument,
                "{} arguments; the function has {} parameters",
                arguments.len(),
                block.arguments.len()
            ));
        }
        self.closed(|importer| {
            let mut parameters = Vec::new();
            for (&parameter, argument) in block.arguments.iter().zip(arguments) {
                let node = match argument {
                    Argument::Value(ty) => {
                        let node = importer.trace.parameter(ty.clone());
                        parameters.push(node);
                        node
                    }
                    Argument::Constant(ty, bytes) => importer.constant(&Array::from_bytes(ty, bytes)?),
                };
                importer.define(parameter, node)?;
            }
            Ok((parameters, importer.block(block)?))
        })
    }

    /// Records a body in a trace of its own. `record` returns the parameters and the results.
    pub fn closed(
        &mut self,
        record: impl FnOnce(&mut Importer<'m>) -> Result<(Vec<NodeId>, Vec<NodeId>)>,
    ) -> Result<Function> {
        let outer = (std::mem::replace(&mut self.trace, Trace::new()), std::mem::take(&mut self.known));
        let values = std::mem::take(&mut self.values);
        let made = record(self);
        let inner = (std::mem::replace(&mut self.trace, outer.0), std::mem::replace(&mut self.known, outer.1));
        self.values = values;
        let ((parameters, results), (trace, mut known)) = (made?, inner);
        let leaves = known.constants_of(&trace, &results);
        let body = take_closed_body(&trace, &parameters, &leaves, &results)?;
        let constants = leaves.iter().map(|&leaf| known.constant(leaf).clone()).collect();
        let value = |&result| if self.has_free_sizes { known.value(&trace, result) } else { None };
        let known = results.iter().map(value).collect();
        Ok(Function { body, constants, known })
    }

    /// Records at another place on the mesh, where functions of the module become other bodies.
    pub fn placed_at<T>(&mut self, manual: Option<Manual>, record: impl FnOnce(&mut Importer<'m>) -> T) -> T {
        let outer = std::mem::replace(&mut self.placing.manual, manual);
        let imported = std::mem::take(&mut self.imported);
        let made = record(self);
        self.placing.manual = outer;
        self.imported = imported;
        made
    }

    /// Returns the leaf of a constant, whose value is known.
    pub fn constant(&mut self, array: &Array) -> NodeId {
        self.known.leaf(&mut self.trace, array)
    }

    fn named(&self, name: &str) -> Result<&'m Operation> {
        let function = self.functions.get(name).copied();
        function.ok_or_else(|| error!(InvalidArgument, "the module has no function {}", quoted(name)))
    }

    /// Imports a function of the module that an operation applies to values of these types.
    pub fn applied_function(&mut self, name: &str, types: &[TensorType]) -> Result<Applied> {
        let arguments: Vec<Argument> = types.iter().cloned().map(Argument::Value).collect();
        let function = self.named(name)?;
        let Function { body, constants, .. } = self.function(function, &arguments)?;
        let captures = constants.iter().map(|array| self.constant(array)).collect();
        Ok(Applied { body, captures })
    }

    /// Records the body of the function that `main` of jax.export's files calls, in place of the call.
    fn main_in_place(&mut self, function: &'m Operation, operands: &[NodeId]) -> Result<Vec<NodeId>> {
        let block = body_of(function)?;
        if block.arguments.len() != operands.len() {
            let (given, wanted) = (operands.len(), block.arguments.len());
            return Err(error!(InvalidArgument, "{given} arguments; the function has {wanted} parameters"));
        }
        self.calls.push(JAX_MAIN.into());
        let defined = block.arguments.iter().zip(operands).try_for_each(|(&value, &node)| self.define(value, node));
        let made = defined.and_then(|()| self.block(block));
        self.calls.pop();
        made
    }

    /// Calls a function of the module.
    pub fn call(&mut self, name: &str, operands: &[NodeId]) -> Result<Vec<NodeId>> {
        self.applied(name, operands, |trace, body, captures, passed| {
            control::call(trace, &control::Applied { body, captures }, passed)
        })
    }

    /// Records the operations of the function that an operation calls, in place of the call.
    pub fn inlined(&mut self, call: &'m Operation, operands: &[NodeId]) -> Result<Results> {
        let before = self.trace.len();
        let name = Attributes::of(call).symbol("callee")?;
        let replay = |trace: &mut Trace, body: &Arc<Body>, captures: &[NodeId], passed: &[NodeId]| {
            trace.replay(body, &[passed, captures].concat())
        };
        let made = self.applied(name, operands, replay)?;
        self.spend(self.trace.len() - before)?;
        Ok(Results::from_vec(made))
    }

    /// Returns the block of the function that an operation calls.
    pub fn callee(&self, call: &Operation) -> Result<&'m Block> {
        body_of(self.named(Attributes::of(call).symbol("callee")?)?)
    }

    fn applied(
        &mut self,
        name: &str,
        operands: &[NodeId],
        apply: impl FnOnce(&mut Trace, &Arc<Body>, &[NodeId], &[NodeId]) -> Result<Vec<NodeId>>,
    ) -> Result<Vec<NodeId>> {
        let function = self.named(name)?;
        if name == JAX_MAIN && self.calls.is_empty() {
            return self.main_in_place(function, operands);
        }
        let constants = argument_attributes(function);
        let mut arguments = Vec::new();
        let mut passed = Vec::new();
        for (i, &operand) in operands.iter().enumerate() {
            let ty = self.trace.ty(operand);
            // Sizes, and what is selected by comparisons of them.
            let is_whole = ty.dtype.is_integer() || ty.dtype == DType::Pred;
            let is_size = constants.get(i).is_some_and(|named| named.get("jax.global_constant").is_some())
                || (self.has_free_sizes && is_whole && ty.elements() <= Known::MOST_ELEMENTS);
            match self.known.value(&self.trace, operand).filter(|_| is_size) {
                Some(array) => arguments.push(Argument::Constant(ty, array.bytes().to_vec())),
                None => {
                    arguments.push(Argument::Value(ty));
                    passed.push(operand);
                }
            }
        }
        let Function { body, constants, known } = self.function(function, &arguments)?;
        let captures: Vec<NodeId> = constants.iter().map(|array| self.constant(array)).collect();
        let made = apply(&mut self.trace, &body, &captures, &passed)?;
        // Sizes that the function computes are sizes here too.
        let value = |(made, known): (NodeId, Option<Array>)| known.map_or(made, |array| self.constant(&array));
        Ok(made.into_iter().zip(known).map(value).collect())
    }
}

impl<'m> Importer<'m> {
    /// Gives a value of the module its node. Fails if the module's type of the value does not fit.
    pub fn define(&mut self, value: Value, node: NodeId) -> Result<()> {
        check_fits(self.shape(value)?, &self.trace.ty(node))?;
        self.values.insert(value, node);
        Ok(())
    }

    /// Returns the node of a value.
    pub fn node(&self, value: Value) -> Result<NodeId> {
        let undefined = || error!(InvalidArgument, "it uses a value that is not defined there");
        self.values.get(&value).copied().ok_or_else(undefined)
    }

    /// Replaces the nodes of values; returns the earlier ones, for [`Importer::restore`].
    pub fn overlay(&mut self, values: &[Value], nodes: &[NodeId]) -> Vec<Option<NodeId>> {
        values.iter().zip(nodes).map(|(&value, &node)| self.values.insert(value, node)).collect()
    }

    /// Undoes [`Importer::overlay`].
    pub fn restore(&mut self, values: &[Value], nodes: Vec<Option<NodeId>>) {
        for (&value, node) in values.iter().zip(nodes) {
            match node {
                Some(node) => self.values.insert(value, node),
                None => self.values.remove(&value),
            };
        }
    }

    /// Records the operations of a block; returns the nodes that it returns.
    pub fn block(&mut self, block: &'m Block) -> Result<Vec<NodeId>> {
        self.block_with(block, |_| false)
    }

    /// Records the operations of a block, with the functions of some calls in their place; returns the nodes that it
    /// returns.
    pub fn block_with(&mut self, block: &'m Block, is_inlined: impl Fn(&Operation) -> bool) -> Result<Vec<NodeId>> {
        if self.depth >= MOST_DEPTH {
            return Err(error!(Unimplemented, "regions and calls are nested more than {MOST_DEPTH} deep"));
        }
        self.depth += 1;
        let made = self.block_within(block, is_inlined);
        self.depth -= 1;
        made
    }

    fn block_within(&mut self, block: &'m Block, is_inlined: impl Fn(&Operation) -> bool) -> Result<Vec<NodeId>> {
        let Some((last, operations)) = block.operations.split_last() else {
            return Err(error!(InvalidArgument, "a block without operations; want at least a return"));
        };
        let outer = self.trace.label();
        for operation in operations {
            self.trace.set_label(operation.location.name().map_or(outer, Label::of_path));
            let made = self.operation(operation, is_inlined(operation));
            made.map_err(|e| e.context(described(operation)))?;
        }
        self.trace.set_label(outer);
        match &*last.name {
            _ if is_return(last) => last.operands.iter().map(|&value| self.node(value)).collect(),
            other => Err(error!(InvalidArgument, "a block ends with {other}; want a return")),
        }
    }

    /// Records the operations of a region. If it is no more than the call of a function, as the library itself writes
    /// regions, the region becomes the function, so that what is written and read again has no further level.
    pub fn region_block(&mut self, block: &'m Block) -> Result<Vec<NodeId>> {
        let is_call = match &block.operations[..] {
            [call, end] => is_call(call) && is_return(end) && end.operands[..] == call.results[..],
            _ => false,
        };
        self.block_with(block, |_| is_call)
    }

    /// Counts operations that are recorded; UNIMPLEMENTED if there are too many.
    fn spend(&mut self, operations: usize) -> Result<()> {
        let left = self.left.checked_sub(operations);
        self.left = left.ok_or_else(|| {
            error!(
                Unimplemented,
                "the program has too many operations: its functions are imported for each list of sizes"
            )
        })?;
        Ok(())
    }

    fn operation(&mut self, operation: &'m Operation, is_inlined: bool) -> Result<()> {
        self.spend(1)?;
        let nodes = operation.operands.iter().map(|&value| self.node(value)).collect::<Result<Operands>>()?;
        let made = match is_inlined {
            true => self.inlined(operation, &nodes)?,
            false => (self.record)(self, operation, &nodes)?,
        };
        if made.len() != operation.results.len() {
            return Err(error!(
                InvalidArgument,
                "the module states {} results; it has {}",
                operation.results.len(),
                made.len()
            ));
        }
        operation.results.iter().zip(made).try_for_each(|(&value, node)| self.define(value, node))
    }
}

impl Importer<'_> {
    /// Returns the node of a constant: a scalar in every element for a splat, otherwise a leaf.
    pub fn dense(&mut self, dense: &Dense, dims: &[i64]) -> Result<NodeId> {
        if let Some(scalar) = scalar_of(dense)? {
            return Ok(creation::constant(&mut self.trace, dims, scalar));
        }
        let key = std::ptr::from_ref(dense) as usize;
        let array = match self.arrays.get(&key) {
            Some(array) => array.clone(),
            None => {
                let array = array_of(dense)?;
                self.arrays.insert(key, array.clone());
                array
            }
        };
        Ok(self.constant(&array))
    }
}

/// Whether an operation calls a function of the module.
pub fn is_call(operation: &Operation) -> bool {
    &*operation.name == "func.call"
}

fn is_return(operation: &Operation) -> bool {
    matches!(&*operation.name, "func.return" | "stablehlo.return" | "sdy.return")
}
