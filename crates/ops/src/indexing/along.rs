//! Gathers and scatters along one axis. Negative indices count from the end. Other indices out of bounds are clamped by
//! reads; writes drop their updates.

use crate::control::apply::Applied;
use crate::control::bodies;
use crate::creation::constants::{full, nothing};
use crate::definition::Composed;
use crate::elementwise::binary::binary_scalar;
use crate::elementwise::compare_select::{compare, select};
use crate::elementwise::convert::convert;
use crate::elementwise::formula::widened;
use crate::indexing::gather::gather;
use crate::indexing::scatter::{IndexHints, scatter};
use crate::shape::axes::broadcast_to;
use base::error;
use base::error::Result;
use base::types::{DType, Dims, Kind, ScalarValue, TensorType, broadcast, element_count, normalize_axis};
use ir::{BinaryOp, CompareOp, DimensionNumbers, NodeId, ScatterOp, Trace};

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] = &[
    Composed { name: "take_along_axis", function: "lxla_take_along_axis", dtypes: "all; indices integers" },
    Composed { name: "scatter_along", function: "lxla_scatter_along", dtypes: "all; indices integers" },
    Composed { name: "index_add", function: "lxla_index_add", dtypes: "all; indices integers" },
    Composed { name: "index_copy", function: "lxla_index_copy", dtypes: "all; indices integers" },
];

/// Records NumPy's take_along_axis: one element of `x` for each index.
pub fn take_along_axis(trace: &mut Trace, x: NodeId, indices: NodeId, axis: i64) -> Result<NodeId> {
    let (ty, at) = (trace.ty(x), trace.ty(indices));
    let axis = check_along(&ty, &at, axis)?;
    let (dims, at_dims) = common(&ty, &at, axis)?;
    if TensorType::new(at.dtype, &at_dims).elements() == 0 {
        return nothing(trace, &TensorType { dtype: ty.dtype, dims: at_dims });
    }
    if dims[axis] == 0 {
        return Err(error!(InvalidArgument, "x: it is {ty}; want at least 1 element on axis {axis}"));
    }
    let indices = from_start(trace, indices, dims[axis])?;
    let (x, indices) = (broadcast_to(trace, x, &dims)?, broadcast_to(trace, indices, &at_dims)?);
    gather(trace, x, indices, &elements_along(axis, dims.len()), &vec![1; dims.len()], false)
}

/// Records `x` with one element of `updates` combined into it for each index.
pub fn scatter_along(
    trace: &mut Trace,
    op: ScatterOp,
    x: NodeId,
    indices: NodeId,
    updates: NodeId,
    axis: i64,
) -> Result<NodeId> {
    let (ty, at, from) = (trace.ty(x), trace.ty(indices), trace.ty(updates));
    let axis = check_along(&ty, &at, axis)?;
    let fits = (0..at.dims.len()).all(|a| a == axis || at.dims[a] == ty.dims[a]);
    if !fits {
        return Err(error!(
            InvalidArgument,
            "indices: they are {at}, and x is {ty}; they may differ on axis {axis} only"
        ));
    }
    if from != (TensorType { dtype: ty.dtype, dims: at.dims.clone() }) {
        return Err(error!(
            InvalidArgument,
            "updates: they are {from}; indices are {at} and x is {ty}, want {}",
            TensorType::new(ty.dtype, &at.dims)
        ));
    }
    let indices = from_start(trace, indices, ty.dims[axis])?;
    combined(trace, op, x, indices, updates, &elements_along(axis, ty.dims.len()))
}

/// Records `x` with one slice of `source` combined into it for each of `indices`, a vector.
pub fn index_combine(
    trace: &mut Trace,
    op: ScatterOp,
    x: NodeId,
    axis: i64,
    indices: NodeId,
    source: NodeId,
) -> Result<NodeId> {
    let (ty, at, from) = (trace.ty(x), trace.ty(indices), trace.ty(source));
    let axis = normalize_axis("axis", axis, ty.dims.len())?;
    if !at.dtype.is_integer() || at.dims.len() != 1 {
        return Err(error!(InvalidArgument, "indices: they are {at}; want integers in a row"));
    }
    let mut wanted = ty.clone();
    wanted.dims[axis] = at.dims[0];
    if from != wanted {
        return Err(error!(InvalidArgument, "source: it is {from}; x is {ty} and indices are {at}, want {wanted}"));
    }
    let indices = from_start(trace, indices, ty.dims[axis])?;
    combined_slices(trace, op, x, axis, indices, source)
}

/// Records `x` with slices combined into it at `indices`, a vector; those out of range are dropped, negative ones too.
pub(crate) fn combined_slices(
    trace: &mut Trace,
    op: ScatterOp,
    x: NodeId,
    axis: usize,
    indices: NodeId,
    source: NodeId,
) -> Result<NodeId> {
    let rank = trace.ty(x).dims.len();
    let numbers = DimensionNumbers {
        window_dims: (0..rank as i64).filter(|&a| a != axis as i64).collect(),
        collapsed_dims: vec![axis as i64],
        index_map: vec![axis as i64],
        index_vector_dim: 1,
        ..DimensionNumbers::default()
    };
    combined(trace, op, x, indices, source, &numbers)
}

/// Records a scatter with `op`. f16 and bf16 are summed and multiplied in f32; 8-bit floats are combined in f32 by
/// every `op` but COPY. Results are rounded once. COPY keeps the bits. Sums of preds are their disjunctions, products
/// their conjunctions.
pub(crate) fn combined(
    trace: &mut Trace,
    op: ScatterOp,
    x: NodeId,
    indices: NodeId,
    updates: NodeId,
    numbers: &DimensionNumbers,
) -> Result<NodeId> {
    let dtype = trace.node(x).dtype;
    let wide = match (op, dtype) {
        (ScatterOp::Copy, _) => dtype,
        (ScatterOp::Max | ScatterOp::Min, _) if !dtype.is_float8() => dtype,
        _ => widened(dtype),
    };
    let body = match op {
        ScatterOp::Copy => bodies::replace(wide),
        ScatterOp::Sum if dtype == DType::Pred => bodies::combine(BinaryOp::Or, wide),
        ScatterOp::Product if dtype == DType::Pred => bodies::combine(BinaryOp::And, wide),
        ScatterOp::Sum => bodies::combine(BinaryOp::Add, wide),
        ScatterOp::Product => bodies::combine(BinaryOp::Multiply, wide),
        ScatterOp::Max => bodies::combine(BinaryOp::Maximum, wide),
        ScatterOp::Min => bodies::combine(BinaryOp::Minimum, wide),
    }?;
    let (x, updates) = (convert(trace, x, wide), convert(trace, updates, wide));
    let applied = Applied { body: &body, captures: &[] };
    let made = scatter(trace, &applied, &[x], indices, &[updates], numbers, IndexHints::default())?[0];
    Ok(convert(trace, made, dtype))
}

/// Returns the normalized axis; an error unless indices are integers with as many axes as `x`.
fn check_along(x: &TensorType, indices: &TensorType, axis: i64) -> Result<usize> {
    if !indices.dtype.is_integer() {
        return Err(error!(InvalidArgument, "indices: they are {indices}; want integers"));
    }
    if indices.dims.len() != x.dims.len() {
        return Err(error!(InvalidArgument, "indices: they are {indices}, and x is {x}; want as many axes"));
    }
    normalize_axis("axis", axis, x.dims.len())
}

/// Shapes to which `x` and `indices` broadcast; on `axis`, each keeps its own size.
fn common(x: &TensorType, indices: &TensorType, axis: usize) -> Result<(Dims, Dims)> {
    let without = |ty: &TensorType| {
        let mut dims = ty.dims.clone();
        dims[axis] = 1;
        dims
    };
    let Some(mut dims) = broadcast(&without(x), &without(indices)) else {
        return Err(error!(
            InvalidArgument,
            "indices: they are {indices}, and x is {x}: beside axis {axis} their shapes do not broadcast"
        ));
    };
    let mut at_dims = dims.clone();
    (dims[axis], at_dims[axis]) = (x.dims[axis], indices.dims[axis]);
    element_count(&dims)?;
    element_count(&at_dims)?;
    Ok((dims, at_dims))
}

/// Dimension numbers that gather one element for each index, along one axis of `rank`.
pub(crate) fn elements_along(axis: usize, rank: usize) -> DimensionNumbers {
    let others: Vec<i64> = (0..rank).filter(|&a| a != axis).map(|a| a as i64).collect();
    DimensionNumbers {
        window_dims: vec![],
        collapsed_dims: vec![axis as i64],
        batching_dims: others.clone(),
        indices_batching_dims: others,
        index_map: vec![axis as i64],
        index_vector_dim: rank as i64,
    }
}

/// Records indices into an axis of size `dim`, with `dim` added to negative ones, in a dtype that can represent the
/// sum.
pub(crate) fn from_start(trace: &mut Trace, indices: NodeId, dim: i64) -> Result<NodeId> {
    let ty = trace.ty(indices);
    if ty.dtype.kind() != Kind::Signed {
        return Ok(indices);
    }
    let wide = if ty.dtype == DType::S64 || dim > i64::from(i32::MAX) { DType::S64 } else { DType::S32 };
    let indices = convert(trace, indices, wide);
    let zero = full(trace, &TensorType::new(wide, &[]), ScalarValue::Signed(0))?;
    let is_negative = compare(trace, CompareOp::Lt, indices, zero)?;
    let moved = binary_scalar(trace, BinaryOp::Add, indices, ScalarValue::Signed(dim), false)?;
    select(trace, is_negative, moved, indices)
}
