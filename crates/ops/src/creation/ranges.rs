//! Evenly spaced values (arange, linspace): exact for integers of any size, computed in the dtype for floats.

use crate::creation::constants::{constant, full, iota};
use crate::definition::Composed;
use crate::elementwise::binary::binary_scalar;
use crate::elementwise::compare_select::{compare, select};
use crate::elementwise::complex::complex;
use crate::elementwise::convert::convert;
use crate::elementwise::formula::widened;
use base::error;
use base::error::{Error, Result};
use base::types::{DType, Kind, Scalar, ScalarValue, TensorType, element_count};
use ir::{BinaryOp, CompareOp, NodeId, Trace};

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] = &[
    Composed { name: "arange", function: "lxla_arange", dtypes: "all" },
    Composed { name: "linspace", function: "lxla_linspace", dtypes: "all" },
];

/// Maximum divisor of an integer linspace: above it, the product of a position and a remainder may exceed 64 bits.
const MOST_GAPS: i64 = 1 << 32;

/// Records `start`, `start + step`, ..., up to `stop` exclusive.
pub fn arange(trace: &mut Trace, dtype: DType, [start, stop, step]: [ScalarValue; 3]) -> Result<NodeId> {
    if let [Some(start), Some(stop), Some(step)] = [start.whole(), whole_stop(stop, step), step.whole()]
        && step != 0
    {
        return arange_of_integers(trace, dtype, start, stop, step);
    }
    let wrong = |shown: [ScalarValue; 3]| {
        let [start, stop, step] = shown;
        error!(
            InvalidArgument,
            "start, stop, step: {start}, {stop} and {step} given; want finite numbers without imaginary parts, and a step that is not 0"
        )
    };
    let [Some(first), Some(end), Some(by)] = [start, stop, step].map(ScalarValue::real) else {
        return Err(wrong([start, stop, step]));
    };
    if !first.is_finite() || !end.is_finite() || !by.is_finite() || by == 0.0 {
        return Err(wrong([start, stop, step]));
    }
    let count = ((end - first) / by).ceil().max(0.0);
    if count >= i64::MAX as f64 {
        return Err(too_many(format_args!("{count:e}")));
    }
    let dims = [count as i64];
    element_count(&dims).map_err(|_| too_many(format_args!("{count:e}")))?;
    let last = first + (count - 1.0).max(0.0) * by;
    for value in [first, last] {
        Scalar::new(dtype, ScalarValue::Float(value)).map_err(|e| e.context("start, stop, step"))?;
    }
    of_reals(trace, dtype, |trace, dtype| {
        let ty = TensorType::new(dtype, &dims);
        if count <= 1.0 {
            return full(trace, &ty, ScalarValue::Float(first));
        }
        scaled(trace, &ty, ScalarValue::Float(by), ScalarValue::Float(first))
    })
}

/// Rounds `stop` to the integer that ends the same integer sequence: up for a positive step, down otherwise.
fn whole_stop(stop: ScalarValue, step: ScalarValue) -> Option<i128> {
    match stop {
        ScalarValue::Float(stop) if step.real()? > 0.0 => ScalarValue::Float(stop.ceil()).whole(),
        ScalarValue::Float(stop) => ScalarValue::Float(stop.floor()).whole(),
        other => other.whole(),
    }
}

fn too_many(count: impl std::fmt::Display) -> Error {
    error!(InvalidArgument, "start, stop, step: they give {count} elements, more than an address space has bytes")
}

/// Records an arange with integer arguments; an error if its first or last value does not fit the dtype. Exact for
/// integer dtypes.
fn arange_of_integers(trace: &mut Trace, dtype: DType, start: i128, stop: i128, step: i128) -> Result<NodeId> {
    let (distance, by) = if step > 0 { (stop - start, step) } else { (start - stop, -step) };
    let count = if distance <= 0 { 0 } else { (distance - 1) / by + 1 };
    let size = i64::try_from(count).map_err(|_| too_many(count))?;
    element_count(&[size]).map_err(|_| too_many(count))?;
    let last = start + (count - 1).max(0) * step;
    for value in [start, last] {
        Scalar::new(dtype, ScalarValue::of_whole(value)).map_err(|e| e.context("start, stop, step"))?;
    }
    let dims = [size];
    match dtype.wide().kind() {
        // All results fit, so the arithmetic may wrap around: bits that products have beyond the dtype cancel in the
        // sum.
        Kind::Signed | Kind::Unsigned | Kind::Pred => {
            let counted = if dtype.size_bytes() < 4 { DType::S32 } else { dtype };
            let places = iota(trace, &TensorType::new(counted, &dims), 0)?;
            let numbers = linear(trace, places, wrapped(counted, step), wrapped(counted, start));
            Ok(convert(trace, numbers, dtype))
        }
        _ => of_reals(trace, dtype, |trace, dtype| {
            let ty = TensorType::new(dtype, &dims);
            if count <= 1 {
                return full(trace, &ty, ScalarValue::of_whole(start));
            }
            scaled(trace, &ty, ScalarValue::of_whole(step), ScalarValue::of_whole(start))
        }),
    }
}

/// Truncates an integer to the bits of a dtype.
fn wrapped(dtype: DType, value: i128) -> Scalar {
    Scalar::from_bytes(dtype, &value.to_le_bytes()[..dtype.size_bytes()])
}

/// Records `places * step + start` with wrap-around.
fn linear(trace: &mut Trace, places: NodeId, step: Scalar, start: Scalar) -> NodeId {
    let (dtype, shape) = (trace.node(places).dtype, trace.node(places).shape);
    let mut with = |op, x, scalar| trace.operation_with_scalar(ir::Op::BinaryScalar(op), dtype, shape, &[x], scalar);
    let distances = with(BinaryOp::Multiply, places, step);
    with(BinaryOp::Add, distances, start)
}

/// Records `0, 1, 2, ... * step + start`.
fn scaled(trace: &mut Trace, ty: &TensorType, step: ScalarValue, start: ScalarValue) -> Result<NodeId> {
    let places = iota(trace, ty, 0)?;
    let distances = binary_scalar(trace, BinaryOp::Multiply, places, step, false)?;
    binary_scalar(trace, BinaryOp::Add, distances, start, true)
}

/// Records values in the float dtype in which `dtype` (or its real part, if complex) is computed, and converts them.
fn of_reals(
    trace: &mut Trace,
    dtype: DType,
    record: impl FnOnce(&mut Trace, DType) -> Result<NodeId>,
) -> Result<NodeId> {
    let made = record(trace, widened(dtype.real()))?;
    Ok(convert(trace, made, dtype))
}

/// Records `count` evenly spaced values from `start` to `stop`. With `endpoint`, `stop` is the last value; without, it
/// is the value that would follow the last one.
pub fn linspace(
    trace: &mut Trace,
    dtype: DType,
    [start, stop]: [ScalarValue; 2],
    count: i64,
    endpoint: bool,
) -> Result<NodeId> {
    if count < 0 {
        return Err(error!(InvalidArgument, "count: {count} given; want 0 or more"));
    }
    element_count(&[count])
        .map_err(|_| error!(InvalidArgument, "count: {count} given; more elements than an address space has bytes"))?;
    for value in [start, stop] {
        Scalar::new(dtype, value).map_err(|e| e.context("start, stop"))?;
        if !value.is_finite() {
            return Err(error!(InvalidArgument, "start, stop: {start} and {stop} given; want finite numbers"));
        }
    }
    let gaps = count - i64::from(endpoint);
    let parts = |value: ScalarValue| match value {
        ScalarValue::Complex(re, im) => (re, im),
        other => (other.real().unwrap_or_default(), 0.0),
    };
    match (dtype.wide().kind(), start.whole(), stop.whole()) {
        (Kind::Signed | Kind::Unsigned, Some(first), Some(last)) => {
            linspace_of_integers(trace, dtype, [first, last], count, gaps)
        }
        (Kind::Complex, ..) => {
            let ((re, im), (last_re, last_im)) = (parts(start), parts(stop));
            let re = linspace_of_floats(trace, dtype.real(), [re, last_re], count, endpoint)?;
            let im = linspace_of_floats(trace, dtype.real(), [im, last_im], count, endpoint)?;
            complex(trace, re, im)
        }
        (kind, ..) => {
            let made = if kind == Kind::Pred { DType::F32 } else { widened(dtype) };
            let all = linspace_of_floats(trace, made, [parts(start).0, parts(stop).0], count, endpoint)?;
            Ok(convert(trace, all, dtype))
        }
    }
}

/// Records an integer linspace, rounded down as in NumPy: the whole part of each step times the position, plus the
/// remainders accumulated to that position.
fn linspace_of_integers(
    trace: &mut Trace,
    dtype: DType,
    [start, stop]: [i128; 2],
    count: i64,
    gaps: i64,
) -> Result<NodeId> {
    if gaps <= 0 {
        return full(trace, &TensorType::new(dtype, &[count]), ScalarValue::of_whole(start));
    }
    if gaps > MOST_GAPS {
        return Err(error!(InvalidArgument, "count: {count} given; of integers want at most {MOST_GAPS}"));
    }
    let (whole, rest) = ((stop - start).div_euclid(gaps.into()), (stop - start).rem_euclid(gaps.into()));
    let places = iota(trace, &TensorType::new(DType::U64, &[count]), 0)?;
    let unsigned = |value: i128| ScalarValue::Unsigned(value as u64);
    let products = binary_scalar(trace, BinaryOp::Multiply, places, unsigned(rest), false)?;
    let more = binary_scalar(trace, BinaryOp::Divide, products, unsigned(gaps.into()), false)?;
    let line = linear(trace, places, wrapped(DType::U64, whole), wrapped(DType::U64, start));
    let sum = crate::elementwise::binary::binary(trace, BinaryOp::Add, line, more)?;
    Ok(convert(trace, sum, dtype))
}

fn linspace_of_floats(
    trace: &mut Trace,
    dtype: DType,
    [start, stop]: [f64; 2],
    count: i64,
    endpoint: bool,
) -> Result<NodeId> {
    let ty = TensorType::new(dtype, &[count]);
    let gaps = count - i64::from(endpoint);
    if gaps <= 0 {
        return full(trace, &ty, ScalarValue::Float(start));
    }
    let distance = stop - start;
    let numbers = if distance.is_finite() && Scalar::new(dtype, ScalarValue::Float(distance)).is_ok() {
        scaled(trace, &ty, ScalarValue::Float(distance / gaps as f64), ScalarValue::Float(start))?
    } else {
        // The distance of the two is above the largest number: half of it is not.
        let half = stop / 2.0 / gaps as f64 - start / 2.0 / gaps as f64;
        let halves = scaled(trace, &ty, ScalarValue::Float(half), ScalarValue::Float(start / 2.0))?;
        binary_scalar(trace, BinaryOp::Multiply, halves, ScalarValue::Float(2.0), false)?
    };
    if !endpoint {
        return Ok(numbers);
    }
    let place = iota(trace, &TensorType::new(DType::S64, &[count]), 0)?;
    let last = full(trace, &TensorType::new(DType::S64, &[]), ScalarValue::Signed(gaps))?;
    let is_last = compare(trace, CompareOp::Eq, place, last)?;
    let stop = constant(trace, &[], Scalar::new(dtype, ScalarValue::Float(stop))?);
    select(trace, is_last, stop, numbers)
}
