//! Pooling over windows, and over parts of an axis.

use super::super::arguments::Value;
use super::super::call::{Call, scalar};
use super::super::operator::{Operator, operator};
use super::convolution::{batched, for_axes};
use super::elementwise::number_like;
use base::error;
use base::error::Result;
use base::types::{DType, Scalar, ScalarValue, TensorType};
use ir::{BinaryOp, CompareOp, NodeId, Trace, Window};
use ops::control::{Applied, bodies};
use ops::creation::{constant, iota};
use ops::elementwise::{binary, compare, convert};
use ops::linalg::{DotAxes, dot_general};
use ops::reduction::{mean, reduce_window};
use ops::shape::{reshape, transpose};

pub(super) const TABLE: &[Operator] = &[
    operator(&["max_pool1d.default"], MAX, |call| highest_of_windows(call, 1)),
    operator(&["max_pool2d.default"], MAX, |call| highest_of_windows(call, 2)),
    operator(&["max_pool3d.default"], MAX, |call| highest_of_windows(call, 3)),
    operator(&["avg_pool1d.default"], AVERAGE, |call| average(call, 1)),
    operator(&["avg_pool2d.default"], AVERAGE, |call| average(call, 2)),
    operator(&["avg_pool3d.default"], AVERAGE, |call| average(call, 3)),
    operator(&["adaptive_avg_pool1d.default"], "self output_size", |call| adaptive(call, 1)),
    operator(&["adaptive_avg_pool2d.default", "_adaptive_avg_pool2d.default"], "self output_size", |call| {
        adaptive(call, 2)
    }),
    operator(&["adaptive_avg_pool3d.default", "_adaptive_avg_pool3d.default"], "self output_size", |call| {
        adaptive(call, 3)
    }),
];

pub(super) const MAX: &str = "self kernel_size stride=[] padding=[0] dilation=[1] ceil_mode=false";
const AVERAGE: &str =
    "self kernel_size stride=[] padding=[0] ceil_mode=false count_include_pad=true divisor_override=none";

/// Windows on an axis, which are counted one by one.
const MOST_WINDOWS: i64 = 1 << 20;

/// A window along one axis of `size` elements.
pub(super) struct Pool {
    /// Elements of the axis.
    pub size: i64,
    /// Elements before the axis.
    pub padding: i64,
    /// The window.
    pub window: Window,
    /// Windows on the axis.
    pub count: i64,
}

/// The windows of the spatial axes.
pub(super) fn pools(call: &Call, sizes: &[i64]) -> Result<Vec<Pool>> {
    let spatial = sizes.len();
    let (kernel, padding) = (for_axes(call, "kernel_size", spatial)?, for_axes(call, "padding", spatial)?);
    let strides = if call.ints("stride")?.is_empty() { kernel.clone() } else { for_axes(call, "stride", spatial)? };
    let dilation = if call.has("dilation") { for_axes(call, "dilation", spatial)? } else { vec![1; spatial] };
    let is_ceil = call.bool("ceil_mode")?;
    let mut made = Vec::new();
    for axis in 0..spatial {
        let (size, kernel, stride, low, dilation) =
            (sizes[axis], kernel[axis], strides[axis], padding[axis], dilation[axis]);
        if kernel < 1 || stride < 1 || dilation < 1 || low < 0 {
            return Err(error!(InvalidArgument, "a window of {kernel}, stride {stride} and padding {low}"));
        }
        let extent = dilation * (kernel - 1) + 1;
        let room = size + 2 * low - extent;
        let mut count = if is_ceil { (room + stride - 1).div_euclid(stride) } else { room.div_euclid(stride) } + 1;
        // With ceil_mode, the last window begins within the array or its padding before.
        if is_ceil && (count - 1) * stride >= size + low {
            count -= 1;
        }
        if count > MOST_WINDOWS {
            return Err(error!(Unimplemented, "{count} windows on an axis; want at most {MOST_WINDOWS}"));
        }
        if count < 1 {
            return Err(error!(InvalidArgument, "a window of {extent} on an axis of {size} elements"));
        }
        // A negative amount removes elements that no window reaches.
        let high = (count - 1) * stride + extent - size - low;
        let window = Window { size: kernel, stride, base_dilation: 1, dilation, low, high };
        made.push(Pool { size, padding: low, window, count });
    }
    Ok(made)
}

fn windows(pools: &[Pool]) -> Vec<Window> {
    [Window::ONE; 2].into_iter().chain(pools.iter().map(|pool| pool.window)).collect()
}

/// A result, without the batch axis if the operand had none.
pub(super) fn unbatched<'p>(call: &mut Call<'_, 'p>, mut made: NodeId, is_single: bool) -> Result<Value<'p>> {
    if is_single {
        let dims = call.dims(made);
        made = reshape(call.trace(), made, &dims[1..])?;
    }
    Ok(call.made(made))
}

fn reduced(trace: &mut Trace, op: BinaryOp, x: NodeId, init: NodeId, windows: &[Window]) -> Result<NodeId> {
    let body = bodies::combine(op, trace.node(x).dtype)?;
    let applied = Applied { body: &body, captures: &[] };
    Ok(reduce_window(trace, &applied, &[x], &[init], windows)?[0])
}

/// The smallest value of a dtype.
pub(super) fn lowest(dtype: DType) -> Result<Scalar> {
    match base::types::integer_limits(dtype) {
        Some(limits) => Scalar::new(dtype, ScalarValue::Signed(limits.min)),
        None => Scalar::new(dtype, ScalarValue::Float(f64::NEG_INFINITY)),
    }
}

/// The largest value of a dtype.
pub(super) fn highest(dtype: DType) -> Result<Scalar> {
    match base::types::integer_limits(dtype) {
        Some(limits) => Scalar::new(dtype, ScalarValue::Unsigned(limits.max)),
        None => Scalar::new(dtype, ScalarValue::Float(f64::INFINITY)),
    }
}

pub(super) fn highest_of_windows<'p>(call: &mut Call<'_, 'p>, spatial: usize) -> Result<Value<'p>> {
    let (x, is_single) = batched(call, "self", spatial)?;
    let pools = pools(call, &call.dims(x)[2..])?;
    let lowest = lowest(call.dtype_of(x))?;
    let trace = call.trace();
    let init = constant(trace, &[], lowest);
    let made = reduced(trace, BinaryOp::Maximum, x, init, &windows(&pools))?;
    unbatched(call, made, is_single)
}

/// The number of elements of each window of an axis, with the padding or without it.
fn counts(pool: &Pool, with_padding: bool) -> Vec<i64> {
    let one = |i: i64| {
        let start = i * pool.window.stride - pool.padding;
        let end = (start + pool.window.size).min(pool.size + pool.padding);
        match with_padding {
            true => end - start,
            false => end.min(pool.size) - start.max(0),
        }
    };
    (0..pool.count).map(one).collect()
}

fn average<'p>(call: &mut Call<'_, 'p>, spatial: usize) -> Result<Value<'p>> {
    let (x, is_single) = batched(call, "self", spatial)?;
    let dtype = call.dtype_of(x);
    let pools = pools(call, &call.dims(x)[2..])?;
    let (with_padding, divisor) = (call.bool("count_include_pad")?, call.optional_int("divisor_override")?);
    let trace = call.trace();
    let wide = if dtype == DType::F64 { dtype } else { DType::F32 };
    let x = convert(trace, x, wide);
    let zero = number_like(trace, x, 0.0)?;
    let mut made = reduced(trace, BinaryOp::Add, x, zero, &windows(&pools))?;
    if let Some(divisor) = divisor {
        let divisor = number_like(trace, made, divisor as f64)?;
        made = binary(trace, BinaryOp::Divide, made, divisor)?;
    } else {
        for (axis, pool) in pools.iter().enumerate() {
            let counts = counts(pool, with_padding);
            made = by_counts(trace, made, axis + 2, &counts, |trace, ty| {
                count_node(trace, ty, axis + 2, pool, with_padding)
            })?;
        }
    }
    let made = convert(call.trace(), made, dtype);
    unbatched(call, made, is_single)
}

/// Divides by the number of elements of each window of an axis.
fn by_counts(
    trace: &mut Trace,
    x: NodeId,
    axis: usize,
    counts: &[i64],
    node: impl FnOnce(&mut Trace, &TensorType) -> Result<NodeId>,
) -> Result<NodeId> {
    let count = match counts {
        [first, rest @ ..] if rest.iter().all(|count| count == first) => number_like(trace, x, *first as f64)?,
        _ => {
            let mut dims = vec![1; trace.ty(x).dims.len()];
            dims[axis] = counts.len() as i64;
            let dtype = trace.node(x).dtype;
            let made = node(trace, &TensorType::new(DType::S64, &dims))?;
            convert(trace, made, dtype)
        }
    };
    binary(trace, BinaryOp::Divide, x, count)
}

/// Records what [`counts`] computes.
fn count_node(trace: &mut Trace, ty: &TensorType, axis: usize, pool: &Pool, with_padding: bool) -> Result<NodeId> {
    let number = |trace: &mut Trace, value: i64| scalar(trace, DType::S64, ScalarValue::Signed(value));
    let place = iota(trace, ty, axis as i64)?;
    let (stride, padding) = (number(trace, pool.window.stride)?, number(trace, pool.padding)?);
    let place = binary(trace, BinaryOp::Multiply, place, stride)?;
    let start = binary(trace, BinaryOp::Subtract, place, padding)?;
    let size = number(trace, pool.window.size)?;
    let end = binary(trace, BinaryOp::Add, start, size)?;
    let last = number(trace, if with_padding { pool.size + pool.padding } else { pool.size })?;
    let end = binary(trace, BinaryOp::Minimum, end, last)?;
    let first = number(trace, if with_padding { -pool.padding } else { 0 })?;
    let start = binary(trace, BinaryOp::Maximum, start, first)?;
    binary(trace, BinaryOp::Subtract, end, start)
}

/// Means of parts of an axis: part j of `parts` reaches from `j size / parts` to `(j + 1) size / parts`, rounded to
/// whole elements.
fn adaptive<'p>(call: &mut Call<'_, 'p>, spatial: usize) -> Result<Value<'p>> {
    let (mut x, is_single) = batched(call, "self", spatial)?;
    let parts = for_axes(call, "output_size", spatial)?;
    let dtype = call.dtype_of(x);
    for (i, &parts) in parts.iter().enumerate() {
        let dims = call.dims(x);
        let axis = i + 2;
        if parts < 1 {
            return Err(error!(Unimplemented, "an output size of {parts}"));
        }
        let trace = call.trace();
        x = if dims[axis] % parts == 0 {
            let split = [&dims[..axis], &[parts, dims[axis] / parts], &dims[axis + 1..]].concat();
            let split = reshape(trace, x, &split)?;
            mean(trace, split, &[axis as i64 + 1], false)?
        } else {
            let wide = if dtype == DType::F64 { dtype } else { DType::F32 };
            let weights = part_weights(trace, dims[axis], parts, wide)?;
            let x = convert(trace, x, wide);
            let made = along_axis(trace, x, weights, axis)?;
            convert(trace, made, dtype)
        };
    }
    unbatched(call, x, is_single)
}

/// Records the matrix `[size, parts]` of the weights of elements in means of parts.
fn part_weights(trace: &mut Trace, size: i64, parts: i64, dtype: DType) -> Result<NodeId> {
    let ty = TensorType::new(DType::S64, &[size, parts]);
    let number = |trace: &mut Trace, value: i64| scalar(trace, DType::S64, ScalarValue::Signed(value));
    let (element, part) = (iota(trace, &ty, 0)?, iota(trace, &ty, 1)?);
    let (size, count, one) = (number(trace, size)?, number(trace, parts)?, number(trace, 1)?);
    let scaled = binary(trace, BinaryOp::Multiply, part, size)?;
    let start = binary(trace, BinaryOp::Divide, scaled, count)?;
    let next = binary(trace, BinaryOp::Add, scaled, size)?;
    let next = binary(trace, BinaryOp::Add, next, count)?;
    let next = binary(trace, BinaryOp::Subtract, next, one)?;
    let end = binary(trace, BinaryOp::Divide, next, count)?;
    let (after, before) =
        (compare(trace, CompareOp::Ge, element, start)?, compare(trace, CompareOp::Lt, element, end)?);
    let inside = binary(trace, BinaryOp::And, after, before)?;
    let length = binary(trace, BinaryOp::Subtract, end, start)?;
    let (inside, length) = (convert(trace, inside, dtype), convert(trace, length, dtype));
    binary(trace, BinaryOp::Divide, inside, length)
}

/// Records the product of an axis of `x` with the rows of a matrix.
pub fn along_axis(trace: &mut Trace, x: NodeId, matrix: NodeId, axis: usize) -> Result<NodeId> {
    let rank = trace.ty(x).dims.len() as i64;
    let at = [axis as i64];
    let axes = DotAxes { lhs_batching: &[], rhs_batching: &[], lhs_contracting: &at, rhs_contracting: &[0] };
    let made = dot_general(trace, x, matrix, &axes, None)?;
    // The product has the matrix's columns as its last axis.
    let order: Vec<i64> = (0..rank)
        .map(|i| {
            if i < at[0] {
                i
            } else if i == at[0] {
                rank - 1
            } else {
                i - 1
            }
        })
        .collect();
    transpose(trace, made, &order)
}
