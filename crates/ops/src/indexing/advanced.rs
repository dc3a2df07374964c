//! NumPy's advanced indexing with several integer arrays, and slice assignment.

use crate::creation::constants::{full, nothing};
use crate::definition::Composed;
use crate::elementwise::binary::binary_scalar;
use crate::elementwise::compare_select::select;
use crate::elementwise::convert::convert;
use crate::indexing::along::{combined, from_start, index_combine};
use crate::indexing::dynamic::{dynamic_update_slice, take};
use crate::indexing::gather::gather;
use crate::infer::refuse;
use crate::shape::axes::{broadcast_to, reshape};
use crate::shape::slicing::{concatenate, pad, slice};
use base::error;
use base::error::Result;
use base::types::{DType, Dims, Kind, MAX_RANK, Scalar, ScalarValue, TensorType, broadcast, element_count};
use ir::{BinaryOp, DimensionNumbers, NodeId, ScatterOp, Trace};

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] = &[
    Composed { name: "index", function: "lxla_index", dtypes: "all; indices integers" },
    Composed { name: "index_put", function: "lxla_index_put", dtypes: "as lxla_scatter_along; indices integers" },
    Composed { name: "slice_assign", function: "lxla_slice_assign", dtypes: "all" },
];

/// Layout of an advanced index, with an index array for some of the axes.
struct Advanced {
    /// Axes that have an index array.
    axes: Vec<usize>,
    /// Shape to which all index arrays broadcast.
    common: Dims,
    /// First axis of the result that belongs to the common shape.
    position: usize,
    /// Shape of the result.
    dims: Dims,
}

/// Checks an advanced index and computes its layout. `indices` are for the first axes of `x`; None selects the whole
/// axis.
fn lay_out(trace: &Trace, x: &TensorType, indices: &[Option<NodeId>]) -> Result<Advanced> {
    let rank = x.dims.len();
    if indices.len() > rank {
        return Err(error!(InvalidArgument, "n_indices: {} given; x is {x}, of rank {rank}", indices.len()));
    }
    let mut common = Dims::new();
    let mut axes = Vec::new();
    for (axis, index) in indices.iter().enumerate() {
        let Some(index) = *index else { continue };
        let ty = trace.ty(index);
        if !ty.dtype.is_integer() {
            return Err(refuse("indexing", &format!("indices[{axis}]"), &ty, "integers"));
        }
        common = broadcast(&common, &ty.dims).ok_or_else(|| {
            let known = TensorType { dtype: ty.dtype, dims: common.clone() };
            error!(
                InvalidArgument,
                "indices[{axis}]: it is {ty}; those before are {known}: their shapes do not broadcast"
            )
        })?;
        axes.push(axis);
    }
    let is_together = axes.windows(2).all(|pair| pair[1] == pair[0] + 1);
    let position = if is_together { axes.first().copied().unwrap_or(0) } else { 0 };
    let rest: Dims = (0..rank).filter(|axis| !axes.contains(axis)).map(|axis| x.dims[axis]).collect();
    let mut dims = Dims::from_slice(&rest[..position]);
    dims.extend_from_slice(&common);
    dims.extend_from_slice(&rest[position..]);
    if dims.len() > MAX_RANK {
        return Err(error!(InvalidArgument, "indices: the result has {} axes; want at most {MAX_RANK}", dims.len()));
    }
    element_count(&dims)?;
    element_count(&[&common[..], &[axes.len() as i64]].concat())?;
    Ok(Advanced { axes, common, position, dims })
}

impl Advanced {
    /// Dimension numbers with one index vector for each element of the common shape.
    fn numbers(&self) -> DimensionNumbers {
        let common = self.position..self.position + self.common.len();
        let axes: Vec<i64> = self.axes.iter().map(|&axis| axis as i64).collect();
        DimensionNumbers {
            window_dims: (0..self.dims.len()).filter(|axis| !common.contains(axis)).map(|axis| axis as i64).collect(),
            collapsed_dims: axes.clone(),
            index_map: axes,
            index_vector_dim: self.common.len() as i64,
            ..DimensionNumbers::default()
        }
    }

    /// Records the index vectors, with indices counted from the start of each axis; indices out of bounds stay out of
    /// bounds.
    fn vectors(&self, trace: &mut Trace, x: &TensorType, indices: &[Option<NodeId>]) -> Result<NodeId> {
        let is_small = self.axes.iter().all(|&axis| x.dims[axis] < i64::from(i32::MAX));
        let dtype = if is_small { DType::S32 } else { DType::S64 };
        let column = [&self.common[..], &[1]].concat();
        let mut columns = Vec::with_capacity(self.axes.len());
        for &axis in &self.axes {
            let index = indices[axis].expect("an axis with indices");
            let near = near(trace, index, x.dims[axis], dtype)?;
            let spread = broadcast_to(trace, near, &self.common)?;
            columns.push(reshape(trace, spread, &column)?);
        }
        concatenate(trace, &columns, self.common.len() as i64)
    }
}

/// Records indices into an axis of size `dim`, counted from its start, and clamped to the range from -1 to `dim`, both
/// of which are out of bounds, in a dtype that represents both.
fn near(trace: &mut Trace, index: NodeId, dim: i64, dtype: DType) -> Result<NodeId> {
    let mut index = from_start(trace, index, dim)?;
    let own = trace.node(index).dtype;
    if own.kind() == Kind::Signed {
        index = binary_scalar(trace, BinaryOp::Maximum, index, ScalarValue::Signed(-1), false)?;
    }
    if Scalar::new(own, ScalarValue::Signed(dim)).is_ok() {
        index = binary_scalar(trace, BinaryOp::Minimum, index, ScalarValue::Signed(dim), false)?;
    }
    Ok(convert(trace, index, dtype))
}

/// Records NumPy's advanced indexing, such as `x[i, :, j]`.
pub fn index(trace: &mut Trace, x: NodeId, indices: &[Option<NodeId>]) -> Result<NodeId> {
    let ty = trace.ty(x);
    let lay = lay_out(trace, &ty, indices)?;
    if lay.axes.is_empty() {
        return Ok(x);
    }
    let made = TensorType { dtype: ty.dtype, dims: lay.dims.clone() };
    if made.elements() == 0 {
        return nothing(trace, &made);
    }
    if let Some(axis) = lay.axes.iter().find(|&&axis| ty.dims[axis] == 0) {
        return Err(error!(InvalidArgument, "x: it is {ty}; want at least 1 element on axis {axis}"));
    }
    if let [axis] = lay.axes[..] {
        // One index array: its shape replaces the axis, as in a take, which needs no index vectors.
        return take(trace, x, indices[axis].expect("an axis with indices"), axis as i64);
    }
    let vectors = lay.vectors(trace, &ty, indices)?;
    let sizes: Vec<i64> =
        (0..ty.dims.len()).map(|axis| if lay.axes.contains(&axis) { 1 } else { ty.dims[axis] }).collect();
    gather(trace, x, vectors, &lay.numbers(), &sizes, false)
}

/// Records `x` with `values` combined into the elements that [`index`] would return. `values` broadcast to their shape.
pub fn index_put(
    trace: &mut Trace,
    op: ScatterOp,
    x: NodeId,
    indices: &[Option<NodeId>],
    values: NodeId,
) -> Result<NodeId> {
    let (ty, from) = (trace.ty(x), trace.ty(values));
    let lay = lay_out(trace, &ty, indices)?;
    check_values(&from, &TensorType { dtype: ty.dtype, dims: lay.dims.clone() })?;
    let values = broadcast_to(trace, values, &lay.dims)?;
    if lay.axes.is_empty() {
        // Without index arrays, the values are one slice: all of x, at position 0 of a new leading axis.
        let one = [&[1], &ty.dims[..]].concat();
        let (whole, values) = (reshape(trace, x, &one)?, reshape(trace, values, &one)?);
        let start = full(trace, &TensorType::new(DType::S32, &[1]), ScalarValue::Unsigned(0))?;
        let made = index_combine(trace, op, whole, 0, start, values)?;
        return reshape(trace, made, &ty.dims);
    }
    let vectors = lay.vectors(trace, &ty, indices)?;
    combined(trace, op, x, vectors, values, &lay.numbers())
}

fn check_values(values: &TensorType, wanted: &TensorType) -> Result<()> {
    let fits = values.dtype == wanted.dtype && broadcast(&values.dims, &wanted.dims).as_deref() == Some(&wanted.dims);
    if !fits {
        return Err(error!(InvalidArgument, "values: they are {values}; want {wanted}, or what broadcasts to it"));
    }
    Ok(())
}

/// Records `x` with its slice replaced by `values`, which broadcast to the slice's shape.
pub fn slice_assign(
    trace: &mut Trace,
    x: NodeId,
    starts: &[i64],
    limits: &[i64],
    strides: &[i64],
    values: NodeId,
) -> Result<NodeId> {
    let (ty, from) = (trace.ty(x), trace.ty(values));
    let cut = slice(trace, x, starts, limits, strides)?;
    let part = trace.ty(cut);
    check_values(&from, &part)?;
    if part.elements() == 0 {
        return Ok(x);
    }
    let values = broadcast_to(trace, values, &part.dims)?;
    let is_dense = part.dims.iter().zip(strides).all(|(&dim, &stride)| stride == 1 || dim == 1);
    if is_dense {
        let mut at = Vec::with_capacity(starts.len());
        for &start in starts {
            at.push(full(trace, &TensorType::new(DType::S64, &[]), ScalarValue::Signed(start))?);
        }
        return dynamic_update_slice(trace, x, values, &at);
    }
    // With a stride, `values` are padded to the shape of x, and a mask selects between the two.
    let mut high = Vec::new();
    let mut between = Vec::new();
    for (axis, (&start, &dim)) in starts.iter().zip(&part.dims).enumerate() {
        let gap = if dim == 1 { 0 } else { strides[axis] - 1 };
        between.push(gap);
        high.push(ty.dims[axis] - start - (dim + (dim - 1) * gap));
    }
    let none = nothing(trace, &TensorType::new(ty.dtype, &[]))?;
    let spread = pad(trace, values, none, starts, &high, &between)?;
    let inside = full(trace, &TensorType { dtype: DType::Pred, dims: part.dims }, ScalarValue::Unsigned(1))?;
    let outside = full(trace, &TensorType::new(DType::Pred, &[]), ScalarValue::Unsigned(0))?;
    let mask = pad(trace, inside, outside, starts, &high, &between)?;
    select(trace, mask, spread, x)
}
