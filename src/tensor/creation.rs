//! Records tensors created from constants and ranges, by tensor handles.

use super::operands::of_one;
use super::recording::create;
use crate::device::{Device, TensorHandle};
use crate::error::Result;
use crate::ops;
use crate::types::{DType, ScalarValue, TensorType};

/// Records a tensor with `value` in every element.
pub fn full(device: &'static Device, ty: &TensorType, value: ScalarValue) -> Result<TensorHandle> {
    create(device, |trace| ops::full(trace, ty, value))
}

/// Records a tensor that counts 0, 1, 2, ... along an axis.
pub fn iota(device: &'static Device, ty: &TensorType, axis: i64) -> Result<TensorHandle> {
    create(device, |trace| ops::iota(trace, ty, axis))
}

/// Records evenly spaced values, by step.
pub fn arange(device: &'static Device, dtype: DType, start_stop_step: [ScalarValue; 3]) -> Result<TensorHandle> {
    create(device, |trace| ops::arange(trace, dtype, start_stop_step))
}

/// Records evenly spaced values, by count.
pub fn linspace(
    device: &'static Device,
    dtype: DType,
    ends: [ScalarValue; 2],
    count: i64,
    endpoint: bool,
) -> Result<TensorHandle> {
    create(device, |trace| ops::linspace(trace, dtype, ends, count, endpoint))
}

/// Records a matrix with ones on one diagonal and zeros elsewhere.
pub fn eye(device: &'static Device, dtype: DType, rows: i64, columns: i64, k: i64) -> Result<TensorHandle> {
    create(device, |trace| ops::eye(trace, dtype, rows, columns, k))
}

/// Records one-hot vectors: a one at each index, along a new axis of `depth` elements.
pub fn one_hot(indices: TensorHandle, depth: i64, axis: i64, dtype: DType) -> Result<TensorHandle> {
    of_one("indices", indices, |trace, indices| ops::one_hot(trace, indices, depth, axis, dtype))
}

/// Records the lower triangle of `x`; elements above diagonal `k` become 0.
pub fn tril(x: TensorHandle, k: i64) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::tril(trace, x, k))
}

/// Records the upper triangle of `x`; elements below diagonal `k` become 0.
pub fn triu(x: TensorHandle, k: i64) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::triu(trace, x, k))
}
