//! Sorting by a traced comparator, and in numeric order.

use crate::control::apply::Applied;
use crate::control::bodies::{self, KnownOrder, known_keys, known_order};
use crate::control::regions::{begin, check_alike, check_scalars, comparing, each, end, scalar, spread};
use crate::creation::constants::iota;
use crate::definition::{Composed, EvalContext};
use crate::elementwise::convert::convert;
use crate::elementwise::wide;
use crate::emit::{Emitter, emit, mlir};
use crate::infer::{check_index_dtype, places_dtype};
use base::error;
use base::error::Result;
use ir::{Body, CompareOp, Instruction, NodeId, Op, Trace, attributes};
use native::{self, Array};

use crate::sorting::keys::canonical;
use crate::sorting::ordered_bits::sort_keys;
use crate::sorting::packed::{elements_at, is_packed, sorted_places};

use base::types::{DType, Kind, TensorType, normalize_axis};

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] = &[
    Composed { name: "sort_along", function: "lxla_sort_along", dtypes: "all" },
    Composed { name: "argsort", function: "lxla_argsort", dtypes: "all" },
];

attributes! {
    /// Attributes of `sort`.
    pub struct SortAttributes {
        /// Axis along which the arrays are sorted.
        pub axis: usize,
        /// Whether equal elements keep their order.
        pub stable: bool,
    }
}

/// Records a joint sort of `arrays` along an axis. The comparator takes two elements of each array in turn.
pub fn sort(
    trace: &mut Trace,
    comparator: &Applied,
    arrays: &[NodeId],
    axis: i64,
    stable: bool,
) -> Result<Vec<NodeId>> {
    let types = check_alike(trace, "inputs", arrays)?;
    let axis = normalize_axis("axis", axis, types[0].dims.len())?;
    let dtypes: Vec<DType> = types.iter().flat_map(|ty| [ty.dtype; 2]).collect();
    check_scalars("comparator", comparator, &dtypes, &[DType::Pred])?;
    check_strict(comparator.body)?;
    if types[0].dims[axis] < 2 || types[0].elements() == 0 {
        return Ok(arrays.to_vec());
    }
    let operands = [arrays, comparator.captures].concat();
    Ok(trace.application(Op::Sort, &operands, &SortAttributes { axis, stable }, &[comparator.body], &types))
}

/// Returns an error for a comparator that is a single comparison other than LT or GT. Such a comparator is not a strict
/// order (LE is true for equal elements), and a sort with it may access its array out of bounds.
fn check_strict(comparator: &Body) -> Result<()> {
    let (values, results) = comparator.decode();
    match values[results[0]].op {
        Op::Compare(op) if !matches!(op, CompareOp::Lt | CompareOp::Gt) => Err(error!(
            InvalidArgument,
            "comparator: it compares by {}, which is not a strict order; want LT or GT",
            op.name()
        )),
        _ => Ok(()),
    }
}

/// Records `x` sorted along an axis. NaN is greater than every number.
pub fn sort_along(trace: &mut Trace, x: NodeId, axis: i64, descending: bool, stable: bool) -> Result<NodeId> {
    if trace.node(x).dtype.kind() == Kind::Complex {
        return sort_complex(trace, x, x, axis, descending, stable);
    }
    let key = key(trace, x);
    let arrays = if key == x { vec![x] } else { vec![key, x] };
    let dtypes: Vec<DType> = arrays.iter().map(|&id| trace.node(id).dtype).collect();
    let body = bodies::order(&dtypes, descending)?;
    let mut sorted = sort(trace, &Applied { body: &body, captures: &[] }, &arrays, axis, stable)?;
    Ok(sorted.pop().expect("as many results as arrays"))
}

/// Records `with`, which has the shape of `x`, sorted in the order of the complex numbers `x`: by real part, then by
/// imaginary part. As in NumPy, numbers with a NaN imaginary part come last, followed by numbers with a NaN real part,
/// and numbers with both. Descending order is the reverse.
fn sort_complex(
    trace: &mut Trace,
    x: NodeId,
    with: NodeId,
    axis: i64,
    descending: bool,
    stable: bool,
) -> Result<NodeId> {
    let arrays = [sort_keys(trace, x)?, vec![with]].concat();
    let dtypes: Vec<DType> = arrays.iter().map(|&id| trace.node(id).dtype).collect();
    let body = bodies::lexicographic(&dtypes, arrays.len() - 1, descending)?;
    let mut sorted = sort(trace, &Applied { body: &body, captures: &[] }, &arrays, axis, stable)?;
    Ok(sorted.pop().expect("as many results as arrays"))
}

/// Records the sort keys of elements: 8-bit floats are converted to f32, which preserves their order; other elements
/// are unchanged.
pub(crate) fn key(trace: &mut Trace, x: NodeId) -> NodeId {
    if wide::is_any(trace, &[x]) { convert(trace, x, DType::F32) } else { x }
}

/// Records the indices that sort `x` along an axis in the order of [`sort_along`].
pub fn argsort(
    trace: &mut Trace,
    x: NodeId,
    axis: i64,
    descending: bool,
    stable: bool,
    index_dtype: DType,
) -> Result<NodeId> {
    let ty = trace.ty(x);
    let axis = normalize_axis("axis", axis, ty.dims.len())?;
    check_index_dtype(index_dtype, ty.dims[axis])?;
    // XLA optimizes sorts with s32 indices best.
    let counted = places_dtype(ty.dims[axis]);
    let places = iota(trace, &TensorType { dtype: counted, dims: ty.dims.clone() }, axis as i64)?;
    if ty.dtype.kind() == Kind::Complex {
        let order = sort_complex(trace, x, places, axis as i64, descending, stable)?;
        return Ok(convert(trace, order, index_dtype));
    }
    let key = key(trace, x);
    let body = bodies::order(&[trace.node(key).dtype, counted], descending)?;
    let applied = Applied { body: &body, captures: &[] };
    let order = sort(trace, &applied, &[key, places], axis as i64, stable)?[1];
    Ok(convert(trace, order, index_dtype))
}

/// Returns an error for complex numbers, which have no order.
pub(crate) fn check_ordered(name: &str, operand: &str, ty: &TensorType) -> Result<()> {
    match ty.dtype.kind() {
        Kind::Complex => Err(crate::infer::refuse(name, operand, ty, "pred, integers and floats")),
        _ => Ok(()),
    }
}

pub(super) fn native_sort(cx: &EvalContext) -> Result<Vec<Array>> {
    let SortAttributes { axis, .. } = cx.attributes();
    let count = cx.bodies[0].parameters().len() / 2;
    let arrays = cx.arrays(0..count);
    if let Some(order) = known_order(&cx.bodies[0]) {
        return native::sort_by_key(&arrays, axis, order.key, order.descending);
    }
    if let Some((keys, descending)) = known_keys(&cx.bodies[0]) {
        // Sorts are stable, so they run from the last key to the first.
        let by = |arrays: Vec<Array>, key: usize| native::sort_by_key(&arrays, axis, key, descending);
        return (0..keys).rev().try_fold(arrays, by);
    }
    let captures = cx.arrays(count..cx.operands.len());
    native::sort_with(&arrays, axis, &each(cx, 0, &captures))
}

/// Writes the StableHLO of a sort. Captures are broadcast, and sorted as additional arrays.
pub(super) fn lower(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let body = &value.bodies[0];
    let count = body.parameters().len() / 2;
    let dims = e.values[value.operands[0]].ty.dims.clone();
    let SortAttributes { axis, stable } = value.attributes();
    if let Some(order) = known_order(body).filter(|order| is_packed_sort(e, at, *order, axis)) {
        return lower_packed(e, at, order, axis);
    }
    let (mut names, mut types) = e.listed(&value.operands[..count]);
    let (more, more_types) = spread(e, &value.operands[count..], &dims);
    names.extend(more);
    types.extend(more_types);
    let attributes = format!("dimension = {axis} : i64, is_stable = {stable}");
    begin(e, &format!("{}:{}", e.name_of(at), names.len()), "sort", &names, &attributes);
    match known_order(body) {
        Some(order) if is_float(body, order) && body.captures().is_empty() => numpys_order(e, at, body, order),
        _ => comparing(e, at, body),
    }
    end(e, &types, &types);
}

/// Whether a sort by a known order is written with packed keys. A single array of integers is sorted as it is.
fn is_packed_sort(e: &Emitter, at: usize, order: KnownOrder, axis: usize) -> bool {
    let value = e.instruction(at);
    let arrays = value.bodies[0].parameters().len() / 2;
    let key = &e.values[value.operands[order.key]].ty;
    let is_alone = arrays == 1 && key.dtype.kind() != Kind::Float;
    value.operands.len() == arrays && !is_alone && is_packed(e, key, axis)
}

/// Writes a sort with packed keys: the places of the elements, and the elements at these places.
fn lower_packed(e: &mut Emitter, at: usize, order: KnownOrder, axis: usize) {
    let value = e.instruction(at);
    let (places, ty) = sorted_places(e, value.operands[order.key], axis, order.descending);
    let is_result = |(_, other): &(usize, &Instruction)| other.op == Op::Result && other.operands[0] == at;
    let results: Vec<(usize, usize)> =
        e.values.iter().enumerate().filter(is_result).map(|(i, result)| (i, result.attributes())).collect();
    for (i, number) in results {
        let made = elements_at(e, value.operands[number], axis, (&places, &ty));
        e.rename(i, made);
    }
}

fn is_float(body: &Body, order: KnownOrder) -> bool {
    body.parameters()[2 * order.key].dtype.kind() == Kind::Float
}

/// Writes the region of a comparator of floats in total order, with all NaNs made equal and both zeros made equal. JAX
/// writes this form; XLA recognizes it, and sorts by bits on devices where that is fast. With a plain comparison, XLA's
/// CPU backend puts NaN at arbitrary positions; and if indices are sorted along and only the first few are used, it
/// puts -0 before 0.
fn numpys_order(e: &mut Emitter, at: usize, body: &Body, order: KnownOrder) {
    let parameters = body.parameters();
    let typed = |(i, ty): (usize, &TensorType)| format!("%in{at}_{i}: {}", mlir(ty));
    let parameters_text: Vec<String> = parameters.iter().enumerate().map(typed).collect();
    emit!(e, "    ^bb0({}):", parameters_text.join(", "));
    let ty = scalar(parameters[2 * order.key].dtype);
    let sides = [0, 1].map(|side| canonical(e, &format!("%in{at}_{}", 2 * order.key + side), &ty, false));
    let result = e.temporary();
    let (op, text) = (if order.descending { "GT" } else { "LT" }, mlir(&ty));
    emit!(
        e,
        "    {result} = stablehlo.compare {op}, {}, {}, TOTALORDER : ({text}, {text}) -> tensor<i1>",
        sides[0],
        sides[1]
    );
    emit!(e, "    stablehlo.return {result} : tensor<i1>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_must_fit_their_dtype() {
        assert!(check_index_dtype(DType::U8, 256).is_ok());
        assert!(check_index_dtype(DType::S8, 129).unwrap_err().message.contains("cannot count the 129 elements"));
        assert!(check_index_dtype(DType::F32, 1).unwrap_err().message.contains("want an integer"));
        assert!(check_index_dtype(DType::S8, 0).is_ok());
    }
}
