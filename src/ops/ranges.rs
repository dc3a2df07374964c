//! Numbers at equal distances.

use super::binary::binary_scalar;
use super::choice::{compare, select};
use super::convert::convert;
use super::creation::{full, iota};
use super::definition::Composed;
use super::formula::widened;
use crate::error;
use crate::error::Result;
use crate::ir::{BinaryOp, CompareOp, NodeId, Trace};
use crate::types::{DType, Scalar, ScalarValue, TensorType, element_count};

/// By their distance.
pub const ARANGE: Composed =
    Composed { name: "arange", function: "lxla_arange", dtypes: "integers, floats, 8-bit floats" };
/// By their number.
pub const LINSPACE: Composed = Composed { name: "linspace", function: "lxla_linspace", dtypes: "floats, 8-bit floats" };

/// `start`, `start + step`, ..., as long as they do not reach `stop`.
pub fn arange(trace: &mut Trace, dtype: DType, start: f64, stop: f64, step: f64) -> Result<NodeId> {
    if !(dtype.is_integer() || dtype.is_float()) {
        return Err(error!(InvalidArgument, "dtype: arange counts in integers and floats, not {dtype}"));
    }
    if !start.is_finite() || !stop.is_finite() || !step.is_finite() || step == 0.0 {
        return Err(error!(
            InvalidArgument,
            "start, stop, step: {start}, {stop} and {step} given; want finite numbers, and a step that is not 0"
        ));
    }
    let count = ((stop - start) / step).ceil().max(0.0);
    let too_many = || {
        error!(
            InvalidArgument,
            "start, stop, step: {start:?}, {stop:?} and {step:?} give {count:?}, more elements than an address space has bytes"
        )
    };
    if count >= 1e18 {
        return Err(too_many());
    }
    let dims = [count as i64];
    element_count(&dims).map_err(|_| too_many())?;
    let last = start + (count - 1.0).max(0.0) * step;
    for value in [start, last] {
        Scalar::new(dtype, ScalarValue::Float(value)).map_err(|e| e.context("start, stop, step"))?;
    }
    let ty = TensorType::new(widened(dtype), &dims);
    let numbers = if count <= 1.0 {
        full(trace, &ty, ScalarValue::Float(start))?
    } else {
        // An unsigned dtype has no negative step.
        let op = if step < 0.0 { BinaryOp::Subtract } else { BinaryOp::Add };
        let places = iota(trace, &ty, 0)?;
        let distances = binary_scalar(trace, BinaryOp::Multiply, places, ScalarValue::Float(step.abs()), false)?;
        binary_scalar(trace, op, distances, ScalarValue::Float(start), true)?
    };
    Ok(convert(trace, numbers, dtype))
}

/// `count` numbers from `start` to `stop`, which is the last one, or with `endpoint` false the one that would follow.
pub fn linspace(trace: &mut Trace, dtype: DType, start: f64, stop: f64, count: i64, endpoint: bool) -> Result<NodeId> {
    if !dtype.is_float() {
        return Err(error!(InvalidArgument, "dtype: linspace divides into floats, not {dtype}"));
    }
    element_count(&[count]).map_err(|_| {
        error!(InvalidArgument, "count: {count} given; want 0 or more, and no more than an address space has bytes")
    })?;
    for value in [start, stop] {
        Scalar::new(dtype, ScalarValue::Float(value)).map_err(|e| e.context("start, stop"))?;
        if !value.is_finite() {
            return Err(error!(InvalidArgument, "start, stop: {start} and {stop} given; want finite numbers"));
        }
    }
    let ty = TensorType::new(widened(dtype), &[count]);
    let gaps = count - i64::from(endpoint);
    if gaps <= 0 {
        let all = full(trace, &ty, ScalarValue::Float(start))?;
        return Ok(convert(trace, all, dtype));
    }
    let places = iota(trace, &ty, 0)?;
    let step = stop / gaps as f64 - start / gaps as f64;
    let distances = binary_scalar(trace, BinaryOp::Multiply, places, ScalarValue::Float(step), false)?;
    let mut numbers = binary_scalar(trace, BinaryOp::Add, distances, ScalarValue::Float(start), true)?;
    if endpoint {
        let at = TensorType::new(DType::S64, &[count]);
        let place = iota(trace, &at, 0)?;
        let last = full(trace, &TensorType::new(DType::S64, &[]), ScalarValue::Signed(gaps))?;
        let is_last = compare(trace, CompareOp::Eq, place, last)?;
        let stop = full(trace, &TensorType::new(ty.dtype, &[]), ScalarValue::Float(stop))?;
        numbers = select(trace, is_last, stop, numbers)?;
    }
    Ok(convert(trace, numbers, dtype))
}
