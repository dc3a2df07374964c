//! Imports a function of a program.

use super::functions::{argument_attributes, body_of, main_function, platform_indices, result_attributes};
use super::importer::{Function, Importer};
use super::mesh::own_mesh;
use super::operations;
use super::tuples::without_tuples;
use super::types::{dtype_of, resolved, shape_of};
use base::error;
use base::error::{Code, Error, Result};
use base::stack::{MOST_DEPTH, with_stack};
use base::types::{DType, Dims, TensorType};
use engine::kernels::Kernel;
use ir::Body;
use mesh::MeshAxes;
use mlir::{Module, Operation, TensorShape, Value};
use native::Array;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Options of an import: the function, and the types of its parameters.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Name of the function; None for `main`, or for the only public function.
    pub function: Option<String>,
    /// Shapes of the parameters, for a module whose types have free sizes; None for those of the module.
    pub shapes: Option<Vec<Dims>>,
    /// Axes of the mesh on which the computation will be called; None for one device.
    pub mesh: Option<MeshAxes>,
    /// Kernels of the environment by name, which custom calls may name.
    pub kernels: BTreeMap<String, Arc<Kernel>>,
    /// Number of the wanted platform in the list of those that the module was exported for.
    pub platform: i32,
    /// Parameters of the exported function that the module's function does not have, with their places among all.
    pub unused: Vec<(usize, TensorShape)>,
    /// Parameters of the module's function, by their numbers, that become constants.
    pub constants: Vec<(usize, Array)>,
    /// Places of the other parameters among those of the imported function; None: in their order.
    pub order: Option<Vec<usize>>,
}

/// An imported function.
pub struct Imported {
    /// Its body. Its captures are `constants`.
    pub body: Arc<Body>,
    /// Values of its captures: the constants of the module that are not splats.
    pub constants: Vec<Array>,
}

/// Stack on which functions and regions of a module are walked, which may be nested deeply.
pub const STACK: usize = 256 << 20;

/// Imports a function of a module.
pub fn import(module: &Module, wanted: &Wanted) -> Result<Imported> {
    with_stack(STACK, MOST_DEPTH, || imported(without_tuples(module)?.as_ref().unwrap_or(module), wanted))
}

/// Imports the wanted function on the current stack.
fn imported(module: &Module, wanted: &Wanted) -> Result<Imported> {
    let function = main_function(module, wanted.function.as_deref())?;
    let block = body_of(function)?;
    let platform = Array::from_bytes(&TensorType::new(DType::S32, &[]), &wanted.platform.to_le_bytes())?;
    let parameters = parameters(module, function, wanted)?;
    let numbers: FxHashMap<Value, usize> = block.arguments.iter().enumerate().map(|(i, &value)| (value, i)).collect();
    let (of_parameters, of_results) = (argument_attributes(function), result_attributes(function));
    let mut importer = Importer::new(module, operations::record);
    importer.kernels = wanted.kernels.clone();
    // On one device a sharding changes nothing.
    importer.placing.target = wanted.mesh.clone().filter(|mesh| mesh.device_count() > 1);
    let Function { body, constants, .. } = importer.closed(|importer| {
        let mut nodes = Vec::new();
        for (value, ty) in parameters {
            let node = importer.trace.parameter(ty);
            nodes.push(node);
            if let Some(value) = value {
                let attributes = numbers.get(&value).and_then(|&number| of_parameters.get(number).copied());
                let node = importer.placed(node, attributes)?;
                importer.define(value, node)?;
            }
        }
        for (number, array) in &wanted.constants {
            let node = importer.constant(array);
            importer
                .define(block.arguments[*number], node)
                .map_err(|e| e.context(format_args!("argument {number}")))?;
        }
        for value in platform_indices(function, block) {
            let node = importer.constant(&platform);
            importer.define(value, node)?;
        }
        let mut results = importer.block(block)?;
        for (node, attributes) in results.iter_mut().zip(&of_results) {
            *node = importer.placed(*node, Some(attributes))?;
        }
        Ok((nodes, results))
    })?;
    Ok(Imported { body, constants })
}

/// Returns the parameters of the imported function with their types: those of the module's function, None for
/// parameters that the module's function lacks.
fn parameters(module: &Module, function: &Operation, wanted: &Wanted) -> Result<Vec<(Option<Value>, TensorType)>> {
    let block = body_of(function)?;
    let platform = platform_indices(function, block);
    if let Some((number, _)) = wanted.constants.iter().find(|(number, _)| *number >= block.arguments.len()) {
        let count = block.arguments.len();
        return Err(error!(
            InvalidArgument,
            "the function has {count} parameters; a value is given for number {number}"
        ));
    }
    let constants: FxHashSet<usize> = wanted.constants.iter().map(|(number, _)| *number).collect();
    let mut listed: Vec<(Option<Value>, &TensorShape)> = Vec::new();
    for (number, &value) in block.arguments.iter().enumerate() {
        if platform.contains(&value) || constants.contains(&number) {
            continue;
        }
        let shape = shape_of(module, value).map_err(|e| e.context(format_args!("parameter {}", listed.len())))?;
        listed.push((Some(value), shape));
    }
    if let Some(order) = &wanted.order {
        if order.len() != listed.len() {
            let (given, number) = (order.len(), listed.len());
            return Err(error!(InvalidArgument, "places of {given} parameters are given; the function has {number}"));
        }
        let mut placed: Vec<_> = order.iter().copied().zip(listed).collect();
        placed.sort_by_key(|(place, _)| *place);
        listed = placed.into_iter().map(|(_, parameter)| parameter).collect();
    }
    let count = listed.len() + wanted.unused.len();
    let (mut used, mut unused) = (listed.into_iter(), wanted.unused.iter().peekable());
    let next = |i: usize| match unused.next_if(|(place, _)| *place <= i) {
        Some((_, shape)) => Some((None, shape)),
        None => used.next().or_else(|| unused.next().map(|(_, shape)| (None, shape))),
    };
    let listed: Vec<(Option<Value>, &TensorShape)> = (0..count).map_while(next).collect();
    if let Some(shapes) = wanted.shapes.as_ref().filter(|shapes| shapes.len() != listed.len()) {
        let (given, number) = (shapes.len(), listed.len());
        return Err(error!(InvalidArgument, "n_parameters: {given} given; the function has {number} parameters"));
    }
    let mut made = Vec::new();
    let mut free = Vec::new();
    for (i, (value, shape)) in listed.into_iter().enumerate() {
        let given = wanted.shapes.as_ref().map(|shapes| &shapes[i]);
        match resolved(shape, given).map_err(|e| e.context(format_args!("parameter {i}")))? {
            Some(ty) => made.push((value, ty)),
            None => free.push(format!("parameter {i} ({shape})")),
        }
    }
    match free.is_empty() {
        true => Ok(made),
        false => Err(error!(InvalidArgument, "ranks, dims: none given; want sizes for the ? of {}", free.join(", "))),
    }
}

/// Finds operations that cannot be imported.
pub struct Probe<'m> {
    importer: Importer<'m>,
}

impl<'m> Probe<'m> {
    pub fn new(module: &'m Module) -> Probe<'m> {
        let mut importer = Importer::new(module, operations::record);
        importer.placing.target = own_mesh(module);
        Probe { importer }
    }

    /// Returns why an operation cannot be imported whatever its operands are; None if it can.
    pub fn failure(&mut self, operation: &'m Operation) -> Option<Error> {
        for &value in operation.operands.iter().chain(&operation.results) {
            if let Err(e) = self.importer.shape(value).and_then(|shape| dtype_of(&shape.element)) {
                return Some(e);
            }
        }
        if &*operation.name == "stablehlo.constant" {
            return None;
        }
        // An operation that is known refuses to be recorded without operands as INVALID_ARGUMENT.
        let made = operations::record(&mut self.importer, operation, &[]);
        made.err().filter(|e| e.code == Code::Unimplemented)
    }
}
