//! Maxima of windows with their places, and the inverse.

use super::super::arguments::Value;
use super::super::call::Call;
use super::super::operator::{Operator, operator};
use super::convolution::{batched, for_axes};
use super::pooling::{MAX, Pool, highest_of_windows, pools, unbatched};
use base::error;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType};
use ir::{NodeId, ScatterOp, Trace};
use ops::creation::{full, iota};
use ops::elementwise::formula::record;
use ops::indexing::{scatter_along, take, take_along_axis};
use ops::reduction::arg_extreme;
use ops::shape::{reshape, squeeze, transpose};

pub(super) const TABLE: &[Operator] = &[
    operator(&["max_pool1d_with_indices.default"], MAX, |call| with_places(call, 1)),
    operator(&["max_pool2d_with_indices.default"], MAX, |call| with_places(call, 2)),
    operator(&["max_pool3d_with_indices.default"], MAX, |call| with_places(call, 3)),
    operator(&["adaptive_max_pool1d.default"], "self output_size", |call| adaptive(call, 1)),
    operator(&["adaptive_max_pool2d.default"], "self output_size", |call| adaptive(call, 2)),
    operator(&["adaptive_max_pool3d.default"], "self output_size", |call| adaptive(call, 3)),
    operator(&["max_unpool2d.default"], "self indices output_size", |call| unpooled(call, 2)),
    operator(&["max_unpool3d.default"], "self indices output_size stride=[] padding=[]", |call| unpooled(call, 3)),
];

/// Records the elements of the windows of the spatial axes, window by window, as the last axis.
fn windows(trace: &mut Trace, mut x: NodeId, places: &[NodeId]) -> Result<NodeId> {
    let spatial = places.len();
    for (i, &place) in places.iter().enumerate().rev() {
        x = take(trace, x, place, i as i64 + 2)?;
    }
    let order = [0, 1].into_iter().chain((0..spatial).map(|i| 2 + 2 * i)).chain((0..spatial).map(|i| 3 + 2 * i));
    let order: Vec<i64> = order.map(|axis| axis as i64).collect();
    let turned = transpose(trace, x, &order)?;
    let dims = trace.ty(turned).dims;
    let (kept, inner) = dims.split_at(2 + spatial);
    reshape(trace, turned, &[kept, &[inner.iter().product()]].concat())
}

/// Records the largest element of each window, and its place in the plane. Of equal elements, the first is taken, and
/// has the gradient. `places` are the places of the elements of each window of an axis; an element may occur twice.
fn largest(trace: &mut Trace, x: NodeId, places: &[NodeId]) -> Result<[NodeId; 2]> {
    let dims = trace.ty(x).dims;
    let plane = &dims[2..];
    let flat = iota(trace, &TensorType::new(DType::S64, &[plane.iter().product()]), 0)?;
    let flat = reshape(trace, flat, &[&[1, 1], plane].concat())?;
    let (elements, numbers) = (windows(trace, x, places)?, windows(trace, flat, places)?);
    let last = dims.len() as i64;
    let index = arg_extreme(trace, elements, last, true, true, DType::S64)?;
    let (value, place) =
        (take_along_axis(trace, elements, index, last)?, take_along_axis(trace, numbers, index, last)?);
    Ok([squeeze(trace, value, &[last])?, squeeze(trace, place, &[last])?])
}

/// Maxima with their places. The places are not part of the program if nothing reads them.
fn with_places<'p>(call: &mut Call<'_, 'p>, spatial: usize) -> Result<Value<'p>> {
    let made = highest_of_windows(call, spatial)?;
    let (x, is_single) = batched(call, "self", spatial)?;
    let pools = pools(call, &call.dims(x)[2..])?;
    let places = places_of_largest(call.trace(), x, &pools)?;
    let places = unbatched(call, places, is_single)?;
    Ok(Value::List(vec![made, places]))
}

/// Records the place of the largest element of each window, which is counted in the plane.
fn places_of_largest(trace: &mut Trace, x: NodeId, pools: &[Pool]) -> Result<NodeId> {
    let places = pools.iter().map(|pool| places_of(trace, pool)).collect::<Result<Vec<NodeId>>>()?;
    largest(trace, x, &places).map(|[_, place]| place)
}

/// Records the places `[windows, elements]` of an axis. Places in the padding are replaced by the next ones of their
/// window that are inside.
fn places_of(trace: &mut Trace, pool: &Pool) -> Result<NodeId> {
    let ty = TensorType::new(DType::S64, &[pool.count, pool.window.size]);
    let (window, element) = (iota(trace, &ty, 0)?, iota(trace, &ty, 1)?);
    // The dilation of a window of one element is without meaning, and may be any number.
    let step = if pool.window.size == 1 { 1 } else { pool.window.dilation };
    let (stride, low, last) = (pool.window.stride, pool.padding, pool.size - 1);
    let reach = step * pool.window.size;
    record(trace, [window, element], |[window, element]| {
        let place = window * stride + element * step - low;
        let inside = place.lt(0i64).select((place + low * step) % step, place);
        inside.gt(last).select((inside * -1i64 + (last + (reach + low) * step)) % step * -1i64 + last, inside)
    })
}

/// Maxima of parts of an axis, which reach as those of averages do.
fn adaptive<'p>(call: &mut Call<'_, 'p>, spatial: usize) -> Result<Value<'p>> {
    let (x, is_single) = batched(call, "self", spatial)?;
    let (parts, dims) = (for_axes(call, "output_size", spatial)?, call.dims(x));
    let mut places = Vec::new();
    for (&parts, &size) in parts.iter().zip(&dims[2..]) {
        if !(1..=1 << 31).contains(&parts) || size < 1 {
            return Err(error!(InvalidArgument, "an output size of {parts} for an axis of {size} elements"));
        }
        let most = if size % parts == 0 { size / parts } else { ((size - 1) / parts + 2).min(size) };
        let ty = TensorType::new(DType::S64, &[parts, most]);
        let trace = call.trace();
        let (part, element) = (iota(trace, &ty, 0)?, iota(trace, &ty, 1)?);
        places.push(record(trace, [part, element], |[part, element]| {
            let (start, end) = (part * size / parts, ((part + 1i64) * size + (parts - 1)) / parts);
            (start + element).min(end - 1i64)
        })?);
    }
    let made = largest(call.trace(), x, &places)?;
    let made = made.map(|node| unbatched(call, node, is_single));
    made.into_iter().collect::<Result<Vec<Value>>>().map(Value::List)
}

/// Elements at their places in planes of zeros.
fn unpooled<'p>(call: &mut Call<'_, 'p>, spatial: usize) -> Result<Value<'p>> {
    let ((x, is_single), (at, _)) = (batched(call, "self", spatial)?, batched(call, "indices", spatial)?);
    let (ty, plane) = (call.ty(x), for_axes(call, "output_size", spatial)?);
    if call.dims(at) != ty.dims[..] || plane.iter().any(|&size| size < 1) {
        return Err(error!(InvalidArgument, "indices of {} for {ty}, in planes of {plane:?}", call.ty(at)));
    }
    let lead = &ty.dims[..2];
    let flat = [lead, &[ty.dims[2..].iter().product()]].concat();
    let count = plane.iter().try_fold(1i64, |count, &size| count.checked_mul(size));
    let count = count.ok_or_else(|| error!(InvalidArgument, "planes of {plane:?}"))?;
    let trace = call.trace();
    let zeros = full(trace, &TensorType::new(ty.dtype, &[lead, &[count]].concat()), ScalarValue::Signed(0))?;
    let (x, at) = (reshape(trace, x, &flat)?, reshape(trace, at, &flat)?);
    let made = scatter_along(trace, ScatterOp::Copy, zeros, at, x, 2)?;
    let made = reshape(trace, made, &[lead, &plane].concat())?;
    unbatched(call, made, is_single)
}
