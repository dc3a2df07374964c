//! Slices, concatenation and padding.

use crate::emit::{Emitter, emit, mlir};
use crate::error;
use crate::error::Result;
use crate::ir::{NodeId, Op, Trace, attributes};
use crate::ops::creation::constants::constant;
use crate::ops::definition::OpenAxes;
use crate::ops::shape::axes::broadcast_to;
use crate::types::{Dims, Scalar, ScalarValue, TensorType, element_count, normalize_axis};

attributes! {
    /// Attributes of `slice`. The lists have one entry for each axis.
    pub struct SliceAttributes {
        /// Positions of the first elements.
        pub starts: Dims,
        /// Ends of the ranges.
        pub limits: Dims,
        /// Distances between the elements.
        pub strides: Dims,
    }
}

attributes! {
    /// Attributes of `concatenate`.
    pub struct ConcatenateAttributes {
        /// Axis along which the operands are joined.
        pub axis: usize,
    }
}

attributes! {
    /// Attributes of `pad`. The lists have one entry for each axis.
    pub struct PadAttributes {
        /// Number of values before the first element. A negative number removes elements.
        pub low: Dims,
        /// Number of values after the last element. A negative number removes elements.
        pub high: Dims,
        /// Number of values between two elements.
        pub interior: Dims,
    }
}

/// Records `x[start:limit:stride]` on every axis; the three lists have one entry for each axis.
pub fn slice(trace: &mut Trace, x: NodeId, starts: &[i64], limits: &[i64], strides: &[i64]) -> Result<NodeId> {
    let ty = trace.ty(x);
    let dims = infer_slice(&ty, starts, limits, strides)?;
    if dims == ty.dims && strides.iter().all(|&s| s == 1) {
        return Ok(x);
    }
    let shape = trace.intern(&dims);
    // Strides are capped at the axis size, which selects the same elements: larger ones would overflow XLA's
    // arithmetic.
    let strides = strides.iter().zip(&ty.dims).map(|(&stride, &dim)| stride.min(dim.max(1))).collect();
    let attributes = SliceAttributes { starts: Dims::from_slice(starts), limits: Dims::from_slice(limits), strides };
    Ok(trace.operation_with_attributes(Op::Slice, ty.dtype, shape, &[x], &attributes))
}

/// Records a concatenation along an axis.
pub fn concatenate(trace: &mut Trace, tensors: &[NodeId], axis: i64) -> Result<NodeId> {
    let types: Vec<TensorType> = tensors.iter().map(|&id| trace.ty(id)).collect();
    let (axis, ty) = infer_concatenate(&types, axis)?;
    if let [only] = tensors {
        return Ok(*only);
    }
    let shape = trace.intern(&ty.dims);
    Ok(trace.operation_with_attributes(Op::Concatenate, ty.dtype, shape, tensors, &ConcatenateAttributes { axis }))
}

/// Records `x` padded with `value` before (`low`), after (`high`) and between (`interior`) its elements on each axis;
/// negative `low` and `high` remove elements.
pub fn pad(trace: &mut Trace, x: NodeId, value: NodeId, low: &[i64], high: &[i64], interior: &[i64]) -> Result<NodeId> {
    let (ty, value_ty) = (trace.ty(x), trace.ty(value));
    if value_ty != TensorType::new(ty.dtype, &[]) {
        return Err(error!(InvalidArgument, "value: it is {value_ty}; x is {ty}, and wants {}[]", ty.dtype));
    }
    let (mut dims, mut between_elements, mut removes_all) = (Dims::new(), Dims::new(), false);
    for (axis, &dim) in ty.dims.iter().enumerate() {
        // A single element has nothing between.
        between_elements.push(if dim < 2 { 0 } else { interior[axis] });
        if interior[axis] < 0 {
            return Err(error!(InvalidArgument, "interior: interior[{axis}] is {}; want at least 0", interior[axis]));
        }
        let between = (dim - 1).max(0).checked_mul(interior[axis]);
        let size = between.and_then(|n| n.checked_add(dim)?.checked_add(low[axis])?.checked_add(high[axis]));
        match size {
            Some(size) if size >= 0 => {
                dims.push(size);
                removes_all |= dim > 0 && low[axis].min(high[axis]) <= -(dim + between.unwrap_or(0));
            }
            _ => {
                return Err(error!(
                    InvalidArgument,
                    "low, high: {} and {} on axis {axis} of x, which is {ty}, give an invalid size",
                    low[axis],
                    high[axis]
                ));
            }
        }
    }
    element_count(&dims)?;
    if [low, high, &between_elements].iter().all(|list| list.iter().all(|&n| n == 0)) {
        return Ok(x);
    }
    // Only padding is left of the array. XLA's arithmetic on the sizes of such pads may overflow.
    if removes_all {
        return broadcast_to(trace, value, &dims);
    }
    let shape = trace.intern(&dims);
    let ([low, high], interior) = ([low, high].map(Dims::from_slice), between_elements);
    let attributes = PadAttributes { low, high, interior };
    Ok(trace.operation_with_attributes(Op::Pad, ty.dtype, shape, &[x, value], &attributes))
}

/// Like [`pad()`], with a scalar that is converted to the dtype of `x`.
pub fn pad_scalar(
    trace: &mut Trace,
    x: NodeId,
    value: ScalarValue,
    low: &[i64],
    high: &[i64],
    interior: &[i64],
) -> Result<NodeId> {
    let scalar = Scalar::new(trace.node(x).dtype, value).map_err(|e| e.context("value"))?;
    let value = constant(trace, &[], scalar);
    pad(trace, x, value, low, high, interior)
}

fn infer_slice(x: &TensorType, starts: &[i64], limits: &[i64], strides: &[i64]) -> Result<Dims> {
    let mut dims = Dims::new();
    for (axis, &dim) in x.dims.iter().enumerate() {
        let (start, limit, stride) = (starts[axis], limits[axis], strides[axis]);
        if stride < 1 {
            return Err(error!(InvalidArgument, "strides: strides[{axis}] is {stride}; want at least 1"));
        }
        if start < 0 || limit < start || limit > dim {
            return Err(error!(
                InvalidArgument,
                "starts, limits: [{start}, {limit}) on axis {axis} of {x}; want 0 <= start <= limit <= {dim}"
            ));
        }
        dims.push((limit - start) / stride + i64::from((limit - start) % stride != 0));
    }
    Ok(dims)
}

/// Returns the normalized axis and the result type.
fn infer_concatenate(tensors: &[TensorType], axis: i64) -> Result<(usize, TensorType)> {
    let first = tensors.first().ok_or_else(|| error!(InvalidArgument, "n: 0 tensors given; want at least 1"))?;
    let axis = normalize_axis("axis", axis, first.dims.len())?;
    let mut result = first.clone();
    for (i, ty) in tensors.iter().enumerate().skip(1) {
        let differs = || {
            error!(
                InvalidArgument,
                "tensors: tensors[{i}] is {ty} and tensors[0] is {first}; they may differ on axis {axis} only"
            )
        };
        if ty.dims.len() != first.dims.len() {
            return Err(differs());
        }
        if (0..ty.dims.len()).any(|a| a != axis && ty.dims[a] != first.dims[a]) {
            return Err(differs());
        }
        result.dtype = result.dtype.promote(ty.dtype).map_err(|e| e.context(format_args!("tensors[{i}]")))?;
        result.dims[axis] =
            result.dims[axis].checked_add(ty.dims[axis]).ok_or_else(|| error!(InvalidArgument, "dims: too large"))?;
    }
    element_count(&result.dims)?;
    Ok((axis, result))
}

pub(super) fn lower_slice(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let name = e.name_of(at);
    let x = value.operands[0];
    let SliceAttributes { starts, limits, strides } = value.attributes();
    let range = |axis: usize| format!("{}:{}:{}", starts[axis], limits[axis], strides[axis]);
    let ranges: Vec<String> = (0..starts.len()).map(range).collect();
    let (x, from) = (e.name(x), mlir(&e.values[x].ty));
    emit!(e, "    {name} = stablehlo.slice {x} [{}] : ({from}) -> {}", ranges.join(", "), mlir(&value.ty));
}

pub(super) fn lower_concatenate(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let name = e.name_of(at);
    let mut names = Vec::new();
    let mut types = Vec::new();
    for &operand in &value.operands {
        let ty = TensorType { dtype: value.ty.dtype, dims: e.values[operand].ty.dims.clone() };
        names.push(e.cast(operand, &ty));
        types.push(mlir(&ty));
    }
    emit!(
        e,
        "    {name} = stablehlo.concatenate {}, dim = {} : ({}) -> {}",
        names.join(", "),
        value.attributes::<ConcatenateAttributes>().axis,
        types.join(", "),
        mlir(&value.ty)
    );
}

impl PadAttributes {
    /// Whether some padding is negative. Where such an axis is split, XLA's partitioner loses elements, or ends the
    /// process (with interior padding).
    fn crops(&self) -> bool {
        self.low.iter().chain(&self.high).any(|&padding| padding < 0)
    }

    /// Whether there is interior padding. Where such an axis is split, XLA's partitioner computes wrong elements.
    fn dilates(&self) -> bool {
        self.interior.iter().any(|&padding| padding > 0)
    }

    /// Axes of a pad that crops or dilates which may be split: those without padding. None for other pads.
    pub(super) fn open_axes(&self) -> Option<OpenAxes> {
        let is_open = |&axis: &usize| [&self.low, &self.high, &self.interior].iter().all(|list| list[axis] == 0);
        let open: Vec<usize> = (0..self.low.len()).filter(is_open).collect();
        (self.crops() || self.dilates()).then(|| OpenAxes { operands: vec![open.clone()], results: open })
    }
}

pub(super) fn lower_pad(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let name = e.name_of(at);
    let (names, types) = e.listed(&value.operands);
    let PadAttributes { low, high, interior } = value.attributes();
    emit!(
        e,
        "    {name} = stablehlo.pad {}, low = {low:?}, high = {high:?}, interior = {interior:?} : ({}) -> {}",
        names.join(", "),
        types.join(", "),
        mlir(&value.ty)
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::DType;

    #[test]
    fn slices_count_partial_strides() {
        let x = TensorType::new(DType::F32, &[10]);
        assert_eq!(infer_slice(&x, &[1], &[10], &[3]).unwrap().to_vec(), [3]);
        assert_eq!(infer_slice(&x, &[0], &[10], &[3]).unwrap().to_vec(), [4]);
        assert_eq!(infer_slice(&x, &[4], &[4], &[1]).unwrap().to_vec(), [0]);
        assert_eq!(infer_slice(&x, &[0], &[10], &[i64::MAX]).unwrap().to_vec(), [1]);
        for (start, limit, stride) in [(-1, 3, 1), (3, 2, 1), (0, 11, 1), (0, 3, 0)] {
            assert!(infer_slice(&x, &[start], &[limit], &[stride]).is_err());
        }
    }
}
