//! What each operation is, one file for each kind: the rule for its shape and dtype (a function that infers, refuses what
//! does not fit, and records one node), its StableHLO, and how arrays are put through it. The table names them all.
//!
//! A result that equals its operand is that operand: values are immutable, so nothing needs to be recorded.

mod activation;
mod binary;
mod choice;
mod control;
mod control_lower;
mod control_native;
mod convert;
mod creation;
mod definition;
mod formula;
mod functions;
mod indexing;
mod integers;
mod masks;
mod matmul;
mod normalize;
mod ranges;
mod rearrange;
mod reduce;
mod reverse;
mod shape;
mod slicing;
mod special;
mod statistics;
mod table;
mod unary;

pub use activation::{ActivationOp, activation};
pub use binary::{binary, binary_scalar};
pub use choice::{compare, compare_scalar, select};
pub use control::{Applied, branch, call, scan, while_loop};
pub use convert::convert;
pub use creation::{constant, full, iota};
pub use definition::{Call, Composed, Definition, Native};
pub use indexing::{dynamic_slice, dynamic_update_slice, take};
pub use masks::{eye, one_hot, tril, triu};
pub use matmul::matmul;
pub use normalize::{layer_norm, log_softmax, softmax};
pub use ranges::{arange, linspace};
pub use rearrange::{expand_dims, flip, repeat, roll, slice_axis, split, split_equally, squeeze, stack, tile};
pub use reduce::reduce;
pub use shape::{broadcast_to, reshape, transpose};
pub use slicing::{concatenate, pad, slice};
pub use special::{SpecialOp, special};
pub use statistics::{logsumexp, mean, standard_deviation, variance};
pub use table::{COMPOSED, definition, evaluate, lower};
pub use unary::unary;

use crate::error;
use crate::error::{Error, Result};
use crate::ir::{NodeId, Op, Trace};
use crate::types::{DType, Dims, TensorType, broadcast, element_count, normalize_axis};

fn refuse(name: &str, operand: &str, ty: &TensorType, wanted: &str) -> Error {
    error!(InvalidArgument, "{operand}: {name} takes {wanted}, not {ty}")
}

/// The common shape of two operands.
fn common_dims(lhs: &TensorType, rhs: &TensorType) -> Result<Dims> {
    let dims = broadcast(&lhs.dims, &rhs.dims)
        .ok_or_else(|| error!(InvalidArgument, "lhs is {lhs} and rhs is {rhs}: their shapes do not broadcast"))?;
    element_count(&dims)?;
    Ok(dims)
}

fn common_dtype(lhs: &TensorType, rhs: &TensorType) -> Result<DType> {
    lhs.dtype.promote(rhs.dtype).map_err(|e| e.context(format_args!("lhs is {lhs} and rhs is {rhs}")))
}

/// Axes counted from the start, each at most once.
fn distinct_axes(name: &str, axes: &[i64], rank: usize) -> Result<Vec<i64>> {
    let mut seen = vec![false; rank];
    let mut out = Vec::with_capacity(axes.len());
    for &axis in axes {
        let from_start = normalize_axis(name, axis, rank)?;
        if std::mem::replace(&mut seen[from_start], true) {
            return Err(error!(InvalidArgument, "{name}: axis {axis} is given twice"));
        }
        out.push(from_start as i64);
    }
    Ok(out)
}

fn typed(trace: &mut Trace, op: Op, ty: &TensorType, operands: &[NodeId]) -> NodeId {
    let shape = trace.intern(&ty.dims);
    trace.operation(op, ty.dtype, shape, operands)
}
