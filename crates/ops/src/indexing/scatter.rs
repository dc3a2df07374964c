//! Scatter with all of StableHLO's dimension numbers.

use crate::control::apply::Applied;
use crate::control::bodies;
use crate::control::regions::{
    begin, check_alike, check_scalars, combining, each, end, pass, passed, restore_results, spread,
};
use crate::creation::constants::full;
use crate::definition::{EvalContext, OpenAxes};
use crate::elementwise::fold_barrier::{with_zero, zero_of_all};
use crate::emit::{Emitter, emit, mlir};
use crate::indexing::dimension_numbers::{self, SCATTER as NAMES};
use base::error;
use base::error::Result;
use ir::{BinaryOp, Body, DimensionNumbers, NodeId, Op, Trace, attributes};
use native::{self, Array, Known};

use crate::shape::axes::reshape;
use base::types::{DType, Scalar, ScalarValue, TensorType};

attributes! {
    /// Attributes of `scatter`.
    pub struct ScatterAttributes {
        /// Whether the caller guarantees that the indices are in ascending order.
        pub indices_are_sorted: bool,
        /// Whether the caller guarantees that no element is updated twice.
        pub unique_indices: bool,
        /// Dimension numbers.
        pub numbers: DimensionNumbers,
    }
}

/// Axes of a scatter with batching axes that may be split: only these.
pub(super) fn open_axes(e: &Emitter, at: usize) -> Option<OpenAxes> {
    let value = e.instruction(at);
    let ScatterAttributes { numbers, .. } = value.attributes();
    if numbers.batching_dims.is_empty() {
        return None;
    }
    let arrays = value.bodies[0].results().len();
    let axes = |list: &[i64]| list.iter().map(|&axis| axis as usize).collect::<Vec<usize>>();
    let own = axes(&numbers.batching_dims);
    let of_updates = numbers.batching_dims_of_slices(e.values[value.operands[arrays + 1]].ty.dims.len());
    let mut operands = vec![own.clone(); arrays];
    operands.push(axes(&numbers.indices_batching_dims));
    operands.extend(vec![of_updates; arrays]);
    Some(OpenAxes { operands, results: own })
}

/// Hints about scatter indices, guaranteed by the caller.
#[derive(Clone, Copy, Debug, Default)]
pub struct IndexHints {
    /// Indices are in ascending order.
    pub sorted: bool,
    /// No element is updated twice.
    pub unique: bool,
}

/// Records a scatter: `arrays` with slices of `updates` combined into them.
pub fn scatter(
    trace: &mut Trace,
    combiner: &Applied,
    arrays: &[NodeId],
    indices: NodeId,
    updates: &[NodeId],
    numbers: &DimensionNumbers,
    hints: IndexHints,
) -> Result<Vec<NodeId>> {
    let types = check_alike(trace, "inputs", arrays)?;
    check_updates(&types, &check_alike(trace, "updates", updates)?, &trace.ty(indices), numbers)?;
    let dtypes: Vec<DType> = types.iter().map(|ty| ty.dtype).collect();
    check_scalars("combiner", combiner, &[&dtypes[..], &dtypes].concat(), &dtypes)?;
    if types[0].elements() == 0 || trace.ty(updates[0]).elements() == 0 {
        return Ok(arrays.to_vec());
    }
    if let Some(axis) = axis_for_nothing(numbers, types[0].dims.len()) {
        return scatter_at_start(trace, combiner, arrays, indices, updates, numbers, axis);
    }
    let operands = [arrays, &[indices], updates, combiner.captures].concat();
    let attributes =
        ScatterAttributes { indices_are_sorted: hints.sorted, unique_indices: hints.unique, numbers: numbers.clone() };
    Ok(trace.application(Op::Scatter, &operands, &attributes, &[combiner.body], &types))
}

/// Axis by which an empty index map can be extended; for a scalar 0, an axis that is to be added. None if the index map
/// is not empty.
fn axis_for_nothing(numbers: &DimensionNumbers, rank: usize) -> Option<usize> {
    let is_free = |axis: &usize| !numbers.batching_dims.contains(&(*axis as i64));
    if numbers.index_map.is_empty() { (0..rank.max(1)).find(is_free) } else { None }
}

/// Records a scatter with empty index vectors as one with indices 0 on `axis`: of several updates with empty index
/// vectors, XLA applies only one, or fails.
fn scatter_at_start(
    trace: &mut Trace,
    combiner: &Applied,
    arrays: &[NodeId],
    indices: NodeId,
    updates: &[NodeId],
    numbers: &DimensionNumbers,
    axis: usize,
) -> Result<Vec<NodeId>> {
    let vector_dim = numbers.index_vector_dim;
    let mut dims = trace.ty(indices).dims;
    dims.remove(vector_dim as usize);
    let zeros = full(trace, &TensorType { dtype: DType::S32, dims: dims.clone() }, ScalarValue::Unsigned(0))?;
    let mut numbers = numbers.clone();
    numbers.index_map.push(axis as i64);
    numbers.index_vector_dim = dims.len() as i64;
    numbers.indices_batching_dims.iter_mut().filter(|at| **at > vector_dim).for_each(|at| *at -= 1);
    let is_scalar = trace.ty(arrays[0]).dims.is_empty();
    if !is_scalar {
        return scatter(trace, combiner, arrays, zeros, updates, &numbers, IndexHints::default());
    }
    numbers.collapsed_dims.push(0);
    let rows: Vec<NodeId> = arrays.iter().map(|&x| reshape(trace, x, &[1])).collect::<Result<_>>()?;
    let made = scatter(trace, combiner, &rows, zeros, updates, &numbers, IndexHints::default())?;
    made.into_iter().map(|x| reshape(trace, x, &[])).collect()
}

fn check_updates(
    arrays: &[TensorType],
    updates: &[TensorType],
    indices: &TensorType,
    numbers: &DimensionNumbers,
) -> Result<()> {
    let (x, side) = (&arrays[0], &updates[0]);
    dimension_numbers::check(&NAMES, numbers, x, indices, side.dims.len())?;
    if let Some(i) = (0..arrays.len()).find(|&i| updates.get(i).is_none_or(|ty| ty.dtype != arrays[i].dtype)) {
        let given = updates.get(i).map_or("not there".to_string(), TensorType::to_string);
        return Err(error!(InvalidArgument, "updates: updates[{i}] is {given}; inputs[{i}] is {}", arrays[i]));
    }
    let between: Vec<i64> =
        numbers.indices_axes(indices.dims.len()).into_iter().map(|axis| indices.dims[axis]).collect();
    let given: Vec<i64> = numbers.batch_axes(side.dims.len()).into_iter().map(|axis| side.dims[axis]).collect();
    if between != given {
        return Err(error!(
            InvalidArgument,
            "updates: they are {side}, with {given:?} beside update_window_dims; indices are {indices} with index_vector_dim {}: want {between:?}",
            numbers.index_vector_dim
        ));
    }
    for (axis, &at) in numbers.array_axes(x.dims.len()).into_iter().zip(&numbers.window_dims) {
        if side.dims[at as usize] > x.dims[axis] {
            return Err(error!(
                InvalidArgument,
                "updates: they are {side}; axis {at} indexes axis {axis} of {x}, and is longer"
            ));
        }
    }
    Ok(())
}

pub(super) fn native_scatter(cx: &EvalContext) -> Result<Vec<Array>> {
    let ScatterAttributes { numbers, .. } = cx.attributes();
    let count = cx.bodies[0].results().len();
    let (indices, updates) = (cx.operands[count], cx.operands[count + 1]);
    let place = (&numbers, indices);
    if let Some(known) = known(&cx.bodies[0])
        && let Some(made) = native::combine_known(cx.operands[0], updates, place, known)
    {
        return Ok(vec![made?]);
    }
    let pairs = native::targets(&cx.operands[0].ty().dims, &updates.ty().dims, &numbers, indices)?;
    let captures = cx.arrays(2 * count + 1..cx.operands.len());
    let (arrays, updates) = (cx.arrays(0..count), cx.arrays(count + 1..2 * count + 1));
    native::combine_at(&arrays, &updates, &pairs, &each(cx, 0, &captures))
}

/// Returns the kernel that does what a combiner of one array does: replaces elements, or adds to them. None for any other
/// combiner.
fn known(body: &Body) -> Option<Known> {
    if bodies::combiner(body) == Some(BinaryOp::Add) {
        return Some(Known::Add);
    }
    let [ty] = body.results() else { return None };
    let is_replaced = body.captures().is_empty() && bodies::replace(ty.dtype).is_ok_and(|made| *made == *body);
    is_replaced.then_some(Known::Replace)
}

/// Whether XLA's partitioner computes wrong numbers: if it can split the axis of the index vectors, if there is only
/// one index vector, or if it combines elements of several devices other than by sums (an all-reduce by maximum loses
/// NaN).
pub(super) fn is_hard_to_split(e: &Emitter, at: usize) -> bool {
    let value = e.instruction(at);
    let ScatterAttributes { numbers, .. } = value.attributes();
    let (values, results) = value.bodies[0].decode();
    let indices = &e.values[value.operands[results.len()]].ty;
    let is_sum = |&result: &usize| values[result].op == Op::Binary(BinaryOp::Add);
    indices.elements() <= 1 || numbers.index_map.len() > 1 || !results.iter().all(is_sum)
}

/// Writes the StableHLO of a scatter. Captures are broadcast, and passed as additional inputs and as their own updates.
pub(super) fn lower(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let body = &value.bodies[0];
    let ScatterAttributes { indices_are_sorted, unique_indices, numbers } = value.attributes();
    let count = body.results().len();
    let dims_of = |position: usize| e.values[value.operands[position]].ty.dims.clone();
    let (dims, side) = (dims_of(0), dims_of(count + 1));
    let (values, captures) = (passed(body), &value.operands[2 * count + 1..]);
    let together = |(a, b): (Vec<String>, Vec<String>), (c, d)| ([a, c].concat(), [b, d].concat());
    let spread_over = |e: &mut Emitter, arrays: &[usize], dims: &[i64]| {
        let (mut names, mut types) = together(e.listed(arrays), spread(e, captures, dims));
        pass(e, &values, &mut names, &mut types, dims);
        (names, types)
    };
    let (mut inputs, input_types) = spread_over(e, &value.operands[..count], &dims);
    let arrays: Vec<TensorType> = values.iter().map(|value| TensorType::new(value.as_dtype, &dims)).collect();
    let (indices, indices_ty) = indices_apart(e, value.operands[count], &arrays[..count]);
    if e.platform == "cpu" {
        tell_apart(e, &mut inputs, &arrays, (&indices, &indices_ty));
    }
    let updates = spread_over(e, &value.operands[count + 1..2 * count + 1], &side);
    let (names, types) =
        together(together((inputs, input_types.clone()), (vec![indices], vec![mlir(&indices_ty)])), updates);
    let attributes = format!(
        "scatter_dimension_numbers = {}, indices_are_sorted = {indices_are_sorted}, unique_indices = {unique_indices}",
        dimension_numbers::text(&NAMES, &numbers)
    );
    begin(e, &format!("{}:{}", e.name_of(at), values.len()), "scatter", &names, &attributes);
    combining(e, at, body);
    end(e, &types, &input_types);
    restore_results(e, at, &values, &dims);
}

/// Makes inputs distinct values. XLA's CPU backend keeps operands that are the same value in the same memory and
/// updates them there, out of bounds. So each input with the dtype of an earlier one passes through an identity that
/// XLA cannot fold.
fn tell_apart(e: &mut Emitter, inputs: &mut [String], types: &[TensorType], indices: (&String, &TensorType)) {
    for i in 1..types.len() {
        if types[..i].contains(&types[i]) {
            let known = [(inputs[i].clone(), &types[i]), (indices.0.clone(), indices.1)];
            let zero = zero_of_all(e, &known, i as u128);
            inputs[i] = with_zero(e, &inputs[i], &types[i], &zero);
        }
    }
}

/// Writes the indices such that they are never the same value as an array: XLA's CPU backend merges equal operands into
/// one, and updates it in place while it still reads indices from it. Only arrays with the indices' dtype and number of
/// elements can be equal to them. In that case negative indices are clamped to -1, which is out of bounds too.
fn indices_apart(e: &mut Emitter, position: usize, arrays: &[TensorType]) -> (String, TensorType) {
    let (indices, ty) = dimension_numbers::indices(e, position, &arrays[0].dims);
    let is_alike = |array: &TensorType| array.dtype == ty.dtype && array.elements() == ty.elements();
    if !arrays.iter().any(is_alike) {
        return (indices, ty);
    }
    let apart = e.temporary();
    let outside = e.constant(&ty, Scalar::new(ty.dtype, ScalarValue::Signed(-1)).expect("it is signed").bits());
    emit!(e, "    {apart} = stablehlo.maximum {indices}, {outside} : {}", mlir(&ty));
    (apart, ty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_that_do_not_fit_are_named() {
        let rows = DimensionNumbers {
            window_dims: vec![1],
            collapsed_dims: vec![0],
            index_map: vec![0],
            index_vector_dim: 1,
            ..Default::default()
        };
        let f32s = |dims: &[i64]| TensorType::new(DType::F32, dims);
        let indices = TensorType::new(DType::S32, &[2]);
        let check = |updates: &[TensorType]| check_updates(&[f32s(&[5, 7])], updates, &indices, &rows);
        assert!(check(&[f32s(&[2, 7])]).is_ok());
        assert!(check(&[f32s(&[2, 3])]).is_ok());
        for (updates, words) in [
            (f32s(&[3, 7]), "updates: they are f32[3,7], with [3] beside update_window_dims; indices are s32[2]"),
            (f32s(&[2, 8]), "axis 1 indexes axis 1 of f32[5,7], and is longer"),
            (TensorType::new(DType::S32, &[2, 7]), "updates[0] is s32[2,7]; inputs[0] is f32[5,7]"),
            (f32s(&[2]), "update_window_dims: 1 is not an axis; there are 1"),
        ] {
            let said = check(&[updates]).unwrap_err().message.clone();
            assert!(said.contains(words), "{said}");
        }
    }
}
