//! Records tensors made from values, by tensor handles.

use super::operands::of_one;
use super::recording::create;
use crate::device::{Device, TensorHandle};
use crate::error::Result;
use crate::ops;
use crate::types::{DType, ScalarValue, TensorType};

/// `value` in every element.
pub fn full(device: &'static Device, ty: &TensorType, value: ScalarValue) -> Result<TensorHandle> {
    create(device, |trace| ops::full(trace, ty, value))
}

/// 0, 1, 2, ... along an axis.
pub fn iota(device: &'static Device, ty: &TensorType, axis: i64) -> Result<TensorHandle> {
    create(device, |trace| ops::iota(trace, ty, axis))
}

/// Numbers by their distance.
pub fn arange(device: &'static Device, dtype: DType, start_stop_step: [ScalarValue; 3]) -> Result<TensorHandle> {
    create(device, |trace| ops::arange(trace, dtype, start_stop_step))
}

/// Numbers by how many they are.
pub fn linspace(
    device: &'static Device,
    dtype: DType,
    ends: [ScalarValue; 2],
    count: i64,
    endpoint: bool,
) -> Result<TensorHandle> {
    create(device, |trace| ops::linspace(trace, dtype, ends, count, endpoint))
}

/// Ones on a diagonal.
pub fn eye(device: &'static Device, dtype: DType, rows: i64, columns: i64, k: i64) -> Result<TensorHandle> {
    create(device, |trace| ops::eye(trace, dtype, rows, columns, k))
}

/// Rows of zeros with a one.
pub fn one_hot(indices: TensorHandle, depth: i64, axis: i64, dtype: DType) -> Result<TensorHandle> {
    of_one("indices", indices, |trace, indices| ops::one_hot(trace, indices, depth, axis, dtype))
}

/// The lower triangle.
pub fn tril(x: TensorHandle, k: i64) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::tril(trace, x, k))
}

/// The upper triangle.
pub fn triu(x: TensorHandle, k: i64) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::triu(trace, x, k))
}
