//! Top-k: the k largest or smallest elements along an axis, and their indices.

use crate::emit::{Emitter, emit, mlir};
use base::error;
use base::error::Result;
use ir::{BinaryOp, NodeId, Op, Trace, attributes};

use crate::batch_axis::record_batched;
use crate::control::regions::scalar;
use crate::creation::constants::nothing;
use crate::definition::Composed;
use crate::elementwise::binary::{binary, binary_scalar};
use crate::elementwise::bits::bitcast_convert;
use crate::elementwise::convert::convert;
use crate::indexing::along::take_along_axis;
use crate::infer::{check_index_dtype, places_dtype};
use crate::rules::Site;
use crate::shape::axes::transpose;
use crate::shape::rearrange::slice_axis;
use crate::sorting::keys::canonical;
use crate::sorting::packed::{is_packed, sorted_places};
use crate::sorting::sort::{argsort, check_ordered, key};
use base::types::{DType, Dims, Kind, ScalarValue, TensorType, normalize_axis};

attributes! {
    /// Attributes of `top_k`.
    pub struct TopKAttributes {
        /// Number of elements that are selected.
        pub k: i64,
        /// True for the largest elements, false for the smallest.
        pub largest: bool,
    }
}

/// With fewer elements than this for each that is selected, all are sorted: XLA's search without sorting takes longer.
const MOST_SEARCHED: i64 = 8;

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] =
    &[Composed { name: "top_k_total_order", function: "lxla_topk_total_order", dtypes: "all but complex numbers" }];

/// Records the `k` largest (or smallest) elements along an axis, in order, and their indices.
pub fn top_k(
    trace: &mut Trace,
    x: NodeId,
    k: i64,
    axis: i64,
    largest: bool,
    index_dtype: DType,
) -> Result<[NodeId; 2]> {
    let ty = trace.ty(x);
    let axis = normalize_axis("axis", axis, ty.dims.len())?;
    let dim = ty.dims[axis];
    if k < 0 || k > dim {
        return Err(error!(InvalidArgument, "k: {k} given; x is {ty}, want 0 to {dim}"));
    }
    check_index_dtype(index_dtype, dim)?;
    let mut dims = ty.dims.clone();
    dims[axis] = k;
    if TensorType::new(ty.dtype, &dims).elements() == 0 {
        let none = |trace: &mut Trace, dtype| nothing(trace, &TensorType { dtype, dims: dims.clone() });
        return Ok([none(trace, ty.dtype)?, none(trace, index_dtype)?]);
    }
    if ty.dtype.kind() == Kind::Complex {
        let order = argsort(trace, x, axis as i64, largest, true, places_dtype(dim))?;
        let places = slice_axis(trace, order, axis as i64, 0, k, 1)?;
        return Ok([take_along_axis(trace, x, places, axis as i64)?, convert(trace, places, index_dtype)]);
    }
    let key = key(trace, x);
    let places = places(trace, key, k, axis, largest)?;
    Ok([take_along_axis(trace, x, places, axis as i64)?, convert(trace, places, index_dtype)])
}

/// Like [`top_k`], in the total order of floats (IEEE 754, section 5.10), as `chlo.top_k`: NaNs with a sign bit,
/// negative numbers, -0, 0, positive numbers, NaNs without a sign bit.
pub fn top_k_total_order(
    trace: &mut Trace,
    x: NodeId,
    k: i64,
    axis: i64,
    largest: bool,
    index_dtype: DType,
) -> Result<[NodeId; 2]> {
    let ty = trace.ty(x);
    check_ordered("topk_total_order", "x", &ty)?;
    let key = key(trace, x);
    if trace.node(key).dtype.kind() != Kind::Float {
        return top_k(trace, x, k, axis, largest, index_dtype);
    }
    let key = total_order(trace, key)?;
    let [_, places] = top_k(trace, key, k, axis, largest, index_dtype)?;
    Ok([take_along_axis(trace, x, places, axis)?, places])
}

/// Records signed integers in the total order of floats: their bits, with all but the sign inverted for negative
/// floats.
fn total_order(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    let (dtype, width) = match trace.node(x).dtype {
        DType::F64 => (DType::S64, 64),
        DType::F32 => (DType::S32, 32),
        _ => (DType::S16, 16),
    };
    let bits = bitcast_convert(trace, x, dtype)?;
    let all = binary_scalar(trace, BinaryOp::ShiftRightArithmetic, bits, ScalarValue::Signed(width - 1), false)?;
    let others = ScalarValue::Signed(i64::MAX >> (64 - width));
    let flipped = binary_scalar(trace, BinaryOp::And, all, others, false)?;
    binary(trace, BinaryOp::Xor, bits, flipped)
}

/// Records the indices of the first `k` elements along an axis, which is moved to the last position for the operation.
fn places(trace: &mut Trace, x: NodeId, k: i64, axis: usize, largest: bool) -> Result<NodeId> {
    let ty = trace.ty(x);
    let last = ty.dims.len() - 1;
    let to_last: Vec<i64> = (0..=last).filter(|&a| a != axis).chain([axis]).map(|a| a as i64).collect();
    let mut back: Vec<i64> = (0..last as i64).collect();
    back.insert(axis, last as i64);

    let turned = transpose(trace, x, &to_last)?;
    let mut dims: Dims = trace.ty(turned).dims;
    dims[last] = k;
    let shape = trace.intern(&dims);
    let dtype = places_dtype(ty.dims[axis]);
    let attributes = TopKAttributes { k, largest };
    let places = trace.operation_with_attributes(Op::TopK, dtype, shape, &[turned], &attributes);
    transpose(trace, places, &back)
}

/// Batches top-k: the batch is one more axis before the last.
pub(super) fn batch(site: &mut Site, _: &[bool], size: i64) -> Result<NodeId> {
    if size == 0 {
        let mut ty = site.ty.clone();
        ty.dims.insert(0, 0);
        return nothing(site.trace, &ty);
    }
    let (attributes, x): (TopKAttributes, NodeId) = (site.attributes(), site.operands[0]);
    Ok(record_batched(site, &[x], &attributes, size))
}

/// Writes top-k as a sort of keys with their positions and a slice of the first ones. XLA replaces this by a search
/// without sorting where it recognizes the pattern: f32 keys in the total order of floats, largest first.
pub(super) fn lower(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let ty = e.values[value.operands[0]].ty.clone();
    let TopKAttributes { k, largest } = value.attributes();
    let last = ty.dims.len() - 1;
    if ty.dims[last] < MOST_SEARCHED * k && is_packed(e, &ty, last) {
        let (places, places_ty) = sorted_places(e, value.operands[0], last, largest);
        return first_of(e, at, &places, &places_ty);
    }
    let keys = keys(e, value.operands[0], largest);
    let axis = ty.dims.len() - 1;
    let places_ty = TensorType { dtype: value.ty.dtype, dims: ty.dims.clone() };
    let (places, sorted) = (e.temporary(), e.temporary());
    let (keys_text, places_text) = (mlir(&keys.ty), mlir(&places_ty));
    let (key, place) = (mlir(&scalar(keys.ty.dtype)), mlir(&scalar(places_ty.dtype)));
    emit!(e, "    {places} = stablehlo.iota dim = {axis} : {places_text}");
    emit!(
        e,
        "    {sorted}:2 = \"stablehlo.sort\"({}, {places}) <{{dimension = {axis} : i64, is_stable = true}}> ({{",
        keys.name
    );
    emit!(e, "    ^bb0(%in{at}_0: {key}, %in{at}_1: {key}, %in{at}_2: {place}, %in{at}_3: {place}):");
    emit!(
        e,
        "    %next{at} = stablehlo.compare {}, %in{at}_0, %in{at}_1, {} : ({key}, {key}) -> tensor<i1>",
        keys.comes_first,
        keys.order
    );
    emit!(e, "    stablehlo.return %next{at} : tensor<i1>");
    emit!(e, "    }}) : ({keys_text}, {places_text}) -> ({keys_text}, {places_text})");
    first_of(e, at, &format!("{sorted}#1"), &places_ty);
}

/// Writes the first places along the last axis as the result.
fn first_of(e: &mut Emitter, at: usize, places: &str, places_ty: &TensorType) {
    let ty = &e.instruction(at).ty;
    let ranges: Vec<String> = ty.dims.iter().map(|dim| format!("0:{dim}")).collect();
    let (name, ranges) = (e.name_of(at), ranges.join(", "));
    emit!(e, "    {name} = stablehlo.slice {places} [{ranges}] : ({}) -> {}", mlir(places_ty), mlir(ty));
}

/// Sort keys of the elements.
struct Keys {
    name: String,
    ty: TensorType,
    /// Comparison direction that is true if the first key precedes the second.
    comes_first: &'static str,
    /// StableHLO's compare_type.
    order: &'static str,
}

fn keys(e: &mut Emitter, position: usize, largest: bool) -> Keys {
    let ty = e.values[position].ty.clone();
    let is_float = ty.dtype.kind() == Kind::Float;
    if !is_float && ty.dtype.size_bytes() > 2 {
        let order = if ty.dtype.kind() == Kind::Signed { "SIGNED" } else { "UNSIGNED" };
        return Keys { name: e.name(position), ty, comes_first: if largest { "GT" } else { "LT" }, order };
    }
    // f32 represents every value of the 16-bit dtypes.
    let dtype = if ty.dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let ty = TensorType { dtype, dims: ty.dims };
    let mut name = e.cast(position, &ty);
    if !largest {
        let negated = e.temporary();
        emit!(e, "    {negated} = stablehlo.negate {name} : {}", mlir(&ty));
        name = negated;
    }
    // For the smallest elements, keys are negated, and NaN is made negative so that it comes last.
    let name = canonical(e, &name, &ty, !largest);
    Keys { name, ty, comes_first: "GT", order: "TOTALORDER" }
}
