//! Inference shared by operations: broadcast shapes, promoted dtypes, axes, and recording a node of an inferred type.

use base::error;
use base::error::{Error, Result};
use base::types::{
    Axes, DType, Dims, MAX_RANK, Scalar, ScalarValue, TensorType, broadcast, element_count, normalize_axis,
};
use ir::{Arguments, Attributes, NodeId, Op, Trace};

pub fn refuse(name: &str, operand: &str, ty: &TensorType, wanted: &str) -> Error {
    error!(InvalidArgument, "{operand}: {name} takes {wanted}, not {ty}")
}

/// Returns an error, which names these parameters, unless an array of these extents could exist: an operand of type `ty`
/// after dilation and padding. A plugin computes with the number of its elements even where it does not store them.
pub fn check_extents(parameters: &str, ty: &TensorType, extents: impl Iterator<Item = Option<i64>>) -> Result<()> {
    let extents: Option<Dims> = extents.collect();
    match extents {
        Some(extents) if element_count(&extents).is_ok() => Ok(()),
        extents => Err(error!(
            InvalidArgument,
            "{parameters}: they extend {ty} to {}, which has more elements than an address space has bytes",
            extents.map_or("more than 2^63 elements on an axis".into(), |extents| format!("{extents:?}"))
        )),
    }
}

/// Shape to which two operands broadcast.
pub fn common_dims(lhs: &TensorType, rhs: &TensorType) -> Result<Dims> {
    let dims = broadcast(&lhs.dims, &rhs.dims)
        .ok_or_else(|| error!(InvalidArgument, "lhs is {lhs} and rhs is {rhs}: their shapes do not broadcast"))?;
    element_count(&dims)?;
    Ok(dims)
}

pub fn common_dtype(lhs: &TensorType, rhs: &TensorType) -> Result<DType> {
    common_dtype_of(["lhs", "rhs"], lhs, rhs)
}

/// Like [`common_dtype`], of operands with other names.
pub fn common_dtype_of(names: [&str; 2], lhs: &TensorType, rhs: &TensorType) -> Result<DType> {
    let [first, second] = names;
    lhs.dtype.promote(rhs.dtype).map_err(|e| e.context(format_args!("{first} is {lhs} and {second} is {rhs}")))
}

/// Normalizes axes and returns them as a bit set; an error if one is given twice.
pub fn axis_set(name: &str, axes: &[i64], rank: usize) -> Result<u64> {
    const { assert!(MAX_RANK <= u64::BITS as usize) };
    let mut set = 0;
    for &axis in axes {
        let this = 1 << normalize_axis(name, axis, rank)?;
        if set & this != 0 {
            return Err(error!(InvalidArgument, "{name}: axis {axis} is given twice"));
        }
        set |= this;
    }
    Ok(set)
}

/// Like [`axis_set`], but returns the normalized axes in the given order.
pub fn distinct_axes(name: &str, axes: &[i64], rank: usize) -> Result<Axes> {
    axis_set(name, axes, rank)?;
    // No axis is out of range.
    Ok(axes.iter().map(|&axis| if axis < 0 { axis + rank as i64 } else { axis }).collect())
}

pub fn typed(trace: &mut Trace, op: Op, ty: &TensorType, operands: &[NodeId]) -> NodeId {
    let shape = trace.intern(&ty.dims);
    trace.operation(op, ty.dtype, shape, operands)
}

/// Records an operation whose result type depends on the types of its operands only. `infer` is called unless the trace
/// remembers the result of operands of these types.
#[inline]
pub fn inferred<const N: usize>(
    trace: &mut Trace,
    op: Op,
    operands: [NodeId; N],
    infer: impl FnOnce(&Trace) -> Result<TensorType>,
) -> Result<NodeId> {
    let (dtype, shape) = match trace.inferred(op, operands) {
        Some(known) => known,
        None => {
            let ty = infer(trace)?;
            let result = (ty.dtype, trace.intern(&ty.dims));
            trace.remember_inference(op, operands, result);
            result
        }
    };
    Ok(trace.operation(op, dtype, shape, &operands))
}

/// Records an operation of one operand whose result type and attributes depend only on the operand's type and on
/// `arguments`. `infer` returns both, or None if the result is the operand. It is called unless the trace remembers the
/// result for an operand of this type and these arguments.
#[inline]
pub fn inferred_with_arguments<A: Attributes>(
    trace: &mut Trace,
    op: Op,
    x: NodeId,
    arguments: Arguments,
    infer: impl FnOnce(&TensorType) -> Result<Option<(TensorType, A)>>,
) -> Result<NodeId> {
    if let Some(id) = trace.remembered_operation(op, x, arguments) {
        return Ok(id);
    }
    let Some((ty, attributes)) = infer(&trace.ty(x))? else { return Ok(x) };
    let shape = trace.intern(&ty.dims);
    let id = if op.has_attributes() {
        trace.operation_with_attributes(op, ty.dtype, shape, &[x], &attributes)
    } else {
        trace.operation(op, ty.dtype, shape, &[x])
    };
    trace.remember_operation(id, arguments);
    Ok(id)
}

/// Integer dtype of positions on an axis of this size.
pub fn places_dtype(dim: i64) -> DType {
    if dim <= i64::from(i32::MAX) { DType::S32 } else { DType::S64 }
}

/// Returns an error unless the dtype can represent the positions on an axis of size `dim`.
pub fn check_index_dtype(dtype: DType, dim: i64) -> Result<()> {
    if !dtype.is_integer() {
        return Err(error!(InvalidArgument, "index_dtype: it is {dtype}; want an integer"));
    }
    if Scalar::new(dtype, ScalarValue::Signed((dim - 1).max(0))).is_err() {
        return Err(error!(
            InvalidArgument,
            "index_dtype: it is {dtype}, which cannot count the {dim} elements of the axis"
        ));
    }
    Ok(())
}
