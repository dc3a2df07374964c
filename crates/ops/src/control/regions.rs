//! Operations whose StableHLO has a region that applies a traced computation. XLA's regions cannot use values from
//! outside, so captures, which must be scalars, are broadcast and passed as additional array operands.

use crate::control::apply::{Applied, check_types};
use crate::control::lower::apply;
use crate::definition::EvalContext;
use crate::emit::{Emitter, Reducer, emit, mlir};
use base::error;
use base::error::Result;
use base::types::{DType, TensorType};
use ir::{Body, Instruction, NodeId, Op, Trace};
use native::Array;
use std::sync::Arc;

/// Type of a scalar of this dtype.
pub fn scalar(dtype: DType) -> TensorType {
    TensorType::new(dtype, &[])
}

/// Returns an error unless all captures are scalars, and the body contains no mesh operation.
pub fn check_captures(name: &str, applied: &Applied) -> Result<()> {
    if applied.body.has_collectives() || applied.body.has_shardings() {
        return Err(error!(InvalidArgument, "{name}: it has operations of a mesh; want operations on scalars only"));
    }
    match applied.body.captures().iter().find(|ty| !ty.dims.is_empty()) {
        Some(ty) => Err(error!(InvalidArgument, "{name}: it captured {ty}; want scalars only")),
        None => Ok(()),
    }
}

/// Returns an error unless the computation takes scalars of the dtypes `takes`, returns scalars of the dtypes `gives`,
/// and captures only scalars.
pub fn check_scalars(name: &str, applied: &Applied, takes: &[DType], gives: &[DType]) -> Result<()> {
    let listed = |dtypes: &[DType]| dtypes.iter().map(|&dtype| scalar(dtype)).collect::<Vec<TensorType>>();
    check_types(&format!("{name}: its parameters"), applied.body.parameters(), "those wanted", &listed(takes))?;
    check_types(&format!("{name}: its results"), applied.body.results(), "those wanted", &listed(gives))?;
    check_captures(name, applied)
}

/// Returns the types of tensors; an error unless all have the same dims.
pub fn check_alike(trace: &Trace, name: &str, nodes: &[NodeId]) -> Result<Vec<TensorType>> {
    let types: Vec<TensorType> = nodes.iter().map(|&id| trace.ty(id)).collect();
    let first = types.first().ok_or_else(|| error!(InvalidArgument, "n: 0 tensors given; want at least 1"))?;
    match types.iter().position(|ty| ty.dims != first.dims) {
        Some(i) => {
            Err(error!(InvalidArgument, "{name}: {name}[{i}] is {} and {name}[0] is {first}; want one shape", types[i]))
        }
        None => Ok(types),
    }
}

/// Returns a function that applies body `number` elementwise to arguments and `captures`.
pub fn each<'a>(
    cx: &'a EvalContext,
    number: usize,
    captures: &'a [Array],
) -> impl Fn(&[Array]) -> Result<Vec<Array>> + 'a {
    move |arguments| (cx.apply_each)(number, &[arguments, captures].concat())
}

/// Broadcasts captured scalars to `dims`, as operands of an operation, and returns their names and types.
pub fn spread(e: &mut Emitter, captures: &[usize], dims: &[i64]) -> (Vec<String>, Vec<String>) {
    let mut names = Vec::new();
    let mut types = Vec::new();
    for &capture in captures {
        let ty = TensorType::new(e.values[capture].ty.dtype, dims);
        names.push(e.cast(capture, &ty));
        types.push(mlir(&ty));
    }
    (names, types)
}

/// Writes the region of a comparator: two parameters for each array, then two for each capture.
pub fn comparing(e: &mut Emitter, position: usize, body: &Arc<Body>) {
    let dtypes = body.parameters().iter().map(|ty| ty.dtype);
    let captures = body.captures().iter().flat_map(|ty| [ty.dtype; 2]);
    let parameters: Vec<DType> = dtypes.chain(captures).collect();
    let names = open(e, position, &parameters);
    let explicit = body.parameters().len();
    let captured = (0..body.captures().len()).map(|i| names[explicit + 2 * i].clone());
    let arguments: Vec<String> = names[..explicit].iter().cloned().chain(captured).collect();
    let results = written_out(e, &format!("%next{position}"), body, &arguments);
    let dtypes: Vec<DType> = body.results().iter().map(|ty| ty.dtype).collect();
    return_values(e, &results, &dtypes);
}

/// A value that a reducer combines: a result of its body, or a capture.
#[derive(Clone, Copy)]
pub struct Passed {
    /// Dtype of the value.
    pub dtype: DType,
    /// Dtype as which the operation passes it: see [`passed`].
    pub as_dtype: DType,
}

/// Returns the values that a reducer combines: the results of its body, and its captures. XLA's verifier rejects
/// reductions and scatters of floats of different dtypes. All floats but those of the first dtype are therefore passed
/// as unsigned integers with the same bits.
pub fn passed(body: &Body) -> Vec<Passed> {
    let dtypes = || body.results().iter().chain(body.captures()).map(|ty| ty.dtype);
    let first = dtypes().find(|dtype| dtype.is_float());
    let as_dtype = |dtype: DType| match dtype.is_float() && Some(dtype) != first {
        true => dtype.bits(),
        false => dtype,
    };
    dtypes().map(|dtype| Passed { dtype, as_dtype: as_dtype(dtype) }).collect()
}

/// Reinterprets operands of the same dims, and their types, as the dtypes as which they are passed.
pub fn pass(e: &mut Emitter, values: &[Passed], names: &mut [String], types: &mut [String], dims: &[i64]) {
    for ((value, name), ty) in values.iter().zip(names).zip(types) {
        let own = TensorType::new(value.dtype, dims);
        *name = reinterpreted(e, name, &own, value.as_dtype);
        *ty = mlir(&TensorType::new(value.as_dtype, dims));
    }
}

/// Gives the results of the operation at `position`, which have these dims, their own dtypes again.
pub fn restore_results(e: &mut Emitter, position: usize, values: &[Passed], dims: &[i64]) {
    if values.iter().all(|value| value.dtype == value.as_dtype) {
        return;
    }
    for (i, result) in e.values.iter().enumerate().filter(|(_, value)| value.op == Op::Result) {
        if result.operands[0] == position {
            let Passed { dtype, as_dtype } = values[result.attributes::<usize>()];
            let (name, from) = (e.name(i), TensorType::new(as_dtype, dims));
            let own = reinterpreted(e, &name, &from, dtype);
            e.rename(i, own);
        }
    }
}

/// Reinterprets the bits of a value as another dtype of the same width. Returns the name of the result.
fn reinterpreted(e: &mut Emitter, name: &str, from: &TensorType, dtype: DType) -> String {
    if from.dtype == dtype {
        return name.to_string();
    }
    let made = e.temporary();
    let to = TensorType { dtype, dims: from.dims.clone() };
    e.changing(&made, "bitcast_convert", &[name], from, &to);
    made
}

/// Writes the region of a reducer: parameters are the accumulators and captures, then the next elements and captures.
pub fn combining(e: &mut Emitter, position: usize, body: &Arc<Body>) {
    let (values, count) = (passed(body), body.results().len());
    let dtypes: Vec<DType> = values.iter().map(|value| value.as_dtype).collect();
    let inside = open(e, position, &[&dtypes[..], &dtypes].concat());
    let (so_far, next) = inside.split_at(values.len());
    let combined = || values.iter().take(count);
    let explicit = so_far.iter().zip(combined()).chain(next.iter().zip(&values));
    let arguments: Vec<String> =
        explicit.map(|(name, value)| reinterpreted(e, name, &scalar(value.as_dtype), value.dtype)).collect();
    let made = written_out(e, &format!("%next{position}"), body, &arguments);
    let mut results: Vec<String> = made
        .iter()
        .zip(combined())
        .map(|(name, value)| reinterpreted(e, name, &scalar(value.dtype), value.as_dtype))
        .collect();
    results.extend_from_slice(&next[count..]);
    return_values(e, &results, &dtypes);
}

/// Writes the region of a reducer over axes or windows, as [`combining`].
pub fn reducing(e: &mut Emitter, position: usize, body: &Arc<Body>, reducer: Reducer) {
    e.reducer = Some(reducer);
    combining(e, position, body);
    e.reducer = None;
}

/// Writes `({ ^bb0(parameters):` and returns the parameters' names.
fn open(e: &mut Emitter, position: usize, parameters: &[DType]) -> Vec<String> {
    let names: Vec<String> = (0..parameters.len()).map(|i| format!("%in{position}_{i}")).collect();
    let typed: Vec<String> =
        names.iter().zip(parameters).map(|(name, &dtype)| format!("{name}: {}", mlir(&scalar(dtype)))).collect();
    emit!(e, "    ^bb0({}):", typed.join(", "));
    names
}

/// Maximum number of values of a body that is inlined in a region.
pub(super) const MOST_VALUES: usize = 256;

/// Applies a body in a region: inlined, unless it is large or contains bodies or custom calls. XLA removes an operation
/// with unused results only if it can see that the operation has no side effect, and it cannot see that through a call;
/// an unused reduction that remains crashes the process.
pub fn written_out(e: &mut Emitter, name: &str, body: &Arc<Body>, arguments: &[String]) -> Vec<String> {
    let (values, results) = body.decode();
    let is_plain = |value: &Instruction| value.bodies.is_empty() && value.op != Op::CustomCall;
    if values.len() > MOST_VALUES || !values.iter().all(is_plain) {
        return apply(e, name, body, arguments);
    }
    e.write_out(&values, body.scalars(), &format!("{}_", name.trim_start_matches('%')), arguments, &results)
}

/// Ends a region with scalars of these dtypes as its results.
fn return_values(e: &mut Emitter, results: &[String], dtypes: &[DType]) {
    let types: Vec<String> = dtypes.iter().map(|&dtype| mlir(&scalar(dtype))).collect();
    emit!(e, "    stablehlo.return {} : {}", results.join(", "), types.join(", "));
}

/// Writes `name:n = "stablehlo.op"(operands) <{attributes}> (`, which precedes the regions.
pub fn begin(e: &mut Emitter, results: &str, op: &str, operands: &[String], attributes: &str) {
    emit!(e, "    {results} = \"stablehlo.{op}\"({}) <{{{attributes}}}> ({{", operands.join(", "));
}

/// Writes `}) : (types) -> (types)`, which follows the regions.
pub fn end(e: &mut Emitter, operands: &[String], results: &[String]) {
    emit!(e, "    }}) : ({}) -> ({})", operands.join(", "), results.join(", "));
}
