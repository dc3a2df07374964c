//! Inference that operations share: broadcast shapes, promoted dtypes, axes, and recording a node of an inferred type.

use crate::error;
use crate::error::{Error, Result};
use crate::ir::{NodeId, Op, Trace};
use crate::types::{Axes, DType, Dims, MAX_RANK, TensorType, broadcast, element_count, normalize_axis};

pub fn refuse(name: &str, operand: &str, ty: &TensorType, wanted: &str) -> Error {
    error!(InvalidArgument, "{operand}: {name} takes {wanted}, not {ty}")
}

/// The common shape of two operands.
pub fn common_dims(lhs: &TensorType, rhs: &TensorType) -> Result<Dims> {
    let dims = broadcast(&lhs.dims, &rhs.dims)
        .ok_or_else(|| error!(InvalidArgument, "lhs is {lhs} and rhs is {rhs}: their shapes do not broadcast"))?;
    element_count(&dims)?;
    Ok(dims)
}

pub fn common_dtype(lhs: &TensorType, rhs: &TensorType) -> Result<DType> {
    lhs.dtype.promote(rhs.dtype).map_err(|e| e.context(format_args!("lhs is {lhs} and rhs is {rhs}")))
}

/// Axes counted from the start, each at most once, as the bits of a number.
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

/// The same in the order in which they are given.
pub fn distinct_axes(name: &str, axes: &[i64], rank: usize) -> Result<Axes> {
    axis_set(name, axes, rank)?;
    axes.iter().map(|&axis| normalize_axis(name, axis, rank).map(|axis| axis as i64)).collect()
}

pub fn typed(trace: &mut Trace, op: Op, ty: &TensorType, operands: &[NodeId]) -> NodeId {
    let shape = trace.intern(&ty.dims);
    trace.operation(op, ty.dtype, shape, operands)
}
