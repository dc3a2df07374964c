//! Records reductions, by tensor handles.

use super::operands::of_one;
use super::operands::operands;
use super::recording::finish;
use crate::device::TensorHandle;
use crate::error::Result;
use crate::ir::ReduceOp;
use crate::ops;
use crate::types::DType;

/// Records a reduction over axes.
pub fn reduce(op: ReduceOp, x: TensorHandle, axes: &[i64], keep_dims: bool) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::reduce(&mut state.trace, op, x, axes, keep_dims)?;
    finish(state, id)
}

/// Records the mean over axes.
pub fn mean(x: TensorHandle, axes: &[i64], keep_dims: bool) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::mean(trace, x, axes, keep_dims))
}

/// Records the variance over axes.
pub fn variance(x: TensorHandle, axes: &[i64], correction: f64, keep_dims: bool) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::variance(trace, x, axes, correction, keep_dims))
}

/// Records the standard deviation over axes.
pub fn standard_deviation(x: TensorHandle, axes: &[i64], correction: f64, keep_dims: bool) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::standard_deviation(trace, x, axes, correction, keep_dims))
}

/// Records the logarithm of the sum of exponentials over axes.
pub fn logsumexp(x: TensorHandle, axes: &[i64], keep_dims: bool) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::logsumexp(trace, x, axes, keep_dims))
}

/// Records the index of the greatest (or smallest) element along an axis.
pub fn arg_extreme(
    x: TensorHandle,
    axis: i64,
    keep_dims: bool,
    greatest: bool,
    index_dtype: DType,
) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::arg_extreme(&mut state.trace, x, axis, keep_dims, greatest, index_dtype)?;
    finish(state, id)
}

/// Records a cumulative reduction along an axis.
pub fn cumulative(op: ReduceOp, x: TensorHandle, axis: i64, reverse: bool) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::cumulative(&mut state.trace, op, x, axis, reverse)?;
    finish(state, id)
}
