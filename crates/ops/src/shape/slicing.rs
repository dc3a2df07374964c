//! Slices, concatenation and padding.

use crate::creation::constants::constant;
use crate::definition::OpenAxes;
use crate::emit::{Emitter, emit, mlir};
use crate::shape::axes::broadcast_to;
use base::error;
use base::error::Result;
use base::types::{Dims, Scalar, ScalarValue, TensorType, element_count, normalize_axis};
use ir::{NodeId, Op, Trace, attributes};

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
        /// Number of values before the first element, at least 0.
        pub low: Dims,
        /// Number of values after the last element, at least 0.
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
/// negative `low` and `high` remove elements. Elements that are removed are not padded first: no array in between is
/// larger than the result or `x`.
pub fn pad(trace: &mut Trace, x: NodeId, value: NodeId, low: &[i64], high: &[i64], interior: &[i64]) -> Result<NodeId> {
    let (ty, value_ty) = (trace.ty(x), trace.ty(value));
    if value_ty != TensorType::new(ty.dtype, &[]) {
        return Err(error!(InvalidArgument, "value: it is {value_ty}; x is {ty}, and wants {}[]", ty.dtype));
    }
    let mut dims = Dims::new();
    for axis in 0..ty.dims.len() {
        dims.push(padded_size(&ty, axis, [low[axis], high[axis], interior[axis]])?);
    }
    element_count(&dims)?;
    let kept = (0..dims.len()).map(|axis| Kept::of(ty.dims[axis], dims[axis], low[axis], interior[axis]));
    let Some(kept) = kept.collect::<Option<Vec<Kept>>>() else {
        return broadcast_to(trace, value, &dims);
    };
    let of = |field: fn(&Kept) -> i64| kept.iter().map(field).collect::<Dims>();
    let x = slice(trace, x, &of(|kept| kept.start), &of(|kept| kept.limit), &of(|_| 1))?;
    let attributes =
        PadAttributes { low: of(|kept| kept.low), high: of(|kept| kept.high), interior: of(|kept| kept.interior) };
    if trace.ty(x).dims == dims {
        return Ok(x);
    }
    let shape = trace.intern(&dims);
    Ok(trace.operation_with_attributes(Op::Pad, ty.dtype, shape, &[x, value], &attributes))
}

/// Returns the size of an axis of `x` with this low, high and interior padding.
fn padded_size(x: &TensorType, axis: usize, [low, high, interior]: [i64; 3]) -> Result<i64> {
    if interior < 0 {
        return Err(error!(InvalidArgument, "interior: interior[{axis}] is {interior}; want at least 0"));
    }
    let dim = i128::from(x.dims[axis]);
    let size = dim + (dim - 1).max(0) * i128::from(interior) + i128::from(low) + i128::from(high);
    i64::try_from(size).ok().filter(|size| *size >= 0).ok_or_else(|| {
        error!(InvalidArgument, "low, high: {low} and {high} on axis {axis} of x, which is {x}, give an invalid size")
    })
}

/// The elements of an axis that a pad does not remove, and the padding around them.
struct Kept {
    start: i64,
    limit: i64,
    low: i64,
    high: i64,
    interior: i64,
}

impl Kept {
    /// Returns the kept elements of an axis of `dim` elements that is padded to `size`. None if the pad removes all of
    /// several elements, or the only one.
    fn of(dim: i64, size: i64, low: i64, interior: i64) -> Option<Kept> {
        if dim == 0 {
            return Some(Kept { start: 0, limit: 0, low: size, high: 0, interior: 0 });
        }
        let (last, end, low, step) =
            (i128::from(dim) - 1, i128::from(size) - 1, i128::from(low), i128::from(interior) + 1);
        // An element is at `low + i * step` in the result.
        let first = ((-low).max(0) + step - 1) / step;
        let last = last.min((end - low).div_euclid(step));
        (first <= last).then(|| Kept {
            start: first as i64,
            limit: last as i64 + 1,
            low: (low + first * step) as i64,
            high: (end - low - last * step) as i64,
            // A single element has nothing between.
            interior: if first < last { interior } else { 0 },
        })
    }
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
    let rank = x.dims.len();
    if [starts.len(), limits.len(), strides.len()] != [rank; 3] {
        return Err(error!(InvalidArgument, "starts, limits: {} numbers for {x}, of rank {rank}", limits.len()));
    }
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
    /// Whether there is interior padding. Where such an axis is split, XLA's partitioner computes wrong elements.
    fn dilates(&self) -> bool {
        self.interior.iter().any(|&padding| padding > 0)
    }

    /// Axes of a pad with interior padding that may be split: the axes without padding. None for other pads.
    pub(super) fn open_axes(&self) -> Option<OpenAxes> {
        let is_open = |&axis: &usize| [&self.low, &self.high, &self.interior].iter().all(|list| list[axis] == 0);
        let open: Vec<usize> = (0..self.low.len()).filter(is_open).collect();
        self.dilates().then(|| OpenAxes { operands: vec![open.clone()], results: open })
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
    use base::types::DType;

    #[test]
    fn pads_keep_elements_within_the_result() {
        for number in 0..3000i64 {
            let digit = |i: u32, base: i64| number * 7919 / 3i64.pow(i) % base;
            let (dim, low, high, interior) = (digit(0, 5), digit(1, 9) - 6, digit(2, 9) - 6, digit(3, 4));
            let x = TensorType::new(DType::F32, &[dim]);
            let Ok(size) = padded_size(&x, 0, [low, high, interior]) else { continue };
            // For each place of the result the element there.
            let element = |place: i64| {
                let from = place - low;
                (from >= 0 && from % (interior + 1) == 0 && from / (interior + 1) < dim).then(|| from / (interior + 1))
            };
            let want: Vec<Option<i64>> = (0..size).map(element).collect();
            let made = match Kept::of(dim, size, low, interior) {
                None => vec![None; size as usize],
                Some(kept) => {
                    assert!(
                        kept.low >= 0 && kept.high >= 0 && (0..=kept.limit).contains(&kept.start) && kept.limit <= dim
                    );
                    let mut made = vec![None; kept.low as usize];
                    for i in kept.start..kept.limit {
                        made.push(Some(i));
                        made.extend(vec![None; if i + 1 < kept.limit { kept.interior as usize } else { 0 }]);
                    }
                    made.extend(vec![None; kept.high as usize]);
                    made
                }
            };
            assert_eq!(made, want, "{dim} elements, low {low}, high {high}, interior {interior}");
        }
    }

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
