//! Sampling of images at computed places, and patches of images.

use super::super::arguments::Value;
use super::super::call::Call;
use super::super::operator::{Operator, operator};
use super::convolution::for_axes;
use super::resizing::keys;
use base::error;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType};
use ir::{NodeId, Trace};
use ops::control::stop_gradient;
use ops::creation::{full, iota};
use ops::elementwise::formula::{Expr, record};
use ops::elementwise::{binary, select};
use ops::indexing::index;
use ops::linalg::matmul;
use ops::shape::{broadcast_to, concatenate, expand_dims, pad_scalar, reshape, slice, squeeze, stack, transpose};

pub(super) const TABLE: &[Operator] = &[
    operator(&["grid_sampler.default", "grid_sampler_2d.default", "grid_sampler_3d.default"], GRID, sampled),
    operator(&["affine_grid_generator.default"], "theta size align_corners", affine_grid),
    operator(&["im2col.default"], "self kernel_size dilation padding stride", patches),
    operator(&["col2im.default"], "self output_size kernel_size dilation padding stride", from_patches),
];

const GRID: &str = "input grid interpolation_mode padding_mode align_corners";

/// How places outside of an image are read.
#[derive(Clone, Copy, PartialEq)]
enum Outside {
    Zeros,
    Border,
    Reflected,
}

/// The place of a coordinate from -1 to 1 on an axis.
fn place_of(x: Expr<'_>, size: i64, align_corners: bool) -> Expr<'_> {
    let size = size as f64;
    if align_corners { (x + 1.0) * ((size - 1.0) / 2.0) } else { ((x + 1.0) * size - 1.0) * 0.5 }
}

/// The place on an axis at which an image is read. At the edges and beyond, the derivative is 0.
fn kept_inside(place: Expr<'_>, size: i64, outside: Outside, align_corners: bool) -> Expr<'_> {
    let last = (size - 1) as f64;
    let inside = match outside {
        Outside::Zeros => return place,
        Outside::Border => place,
        Outside::Reflected => {
            let (low, span) = if align_corners { (0.0, last) } else { (-0.5, size as f64) };
            if span == 0.0 {
                return place * 0.0;
            }
            let moved = (place - low).abs();
            let flips = (moved * (1.0 / span)).floor().apply(stop_gradient);
            let rest = moved - flips * span;
            let is_even = (flips - (flips * 0.5).floor() * 2.0).eq(0.0);
            is_even.select(rest + low, rest * -1.0 + (span + low))
        }
    };
    let above = inside.ge(last).select(last, inside);
    inside.le(0.0).select(0.0, above)
}

/// An image with its channels last, and the grid.
struct Sampler {
    image: NodeId,
    dims: Vec<i64>,
    /// Of each axis, the coordinates.
    places: Vec<NodeId>,
    outside: Outside,
    align_corners: bool,
}

/// Reads an image at whole places, which are floats; with zeros outside.
fn read(trace: &mut Trace, sampler: &Sampler, at: &[NodeId]) -> Result<NodeId> {
    let mut indices = Vec::new();
    let mut is_inside = None;
    let shape = trace.ty(at[0]).dims;
    let mut column = vec![1; shape.len()];
    column[0] = shape[0];
    let batch = iota(trace, &TensorType::new(DType::S64, &column), 0)?;
    indices.push(Some(broadcast_to(trace, batch, &shape)?));
    for (&place, &size) in at.iter().zip(&sampler.dims[2..]) {
        let inside = record(trace, [place], |[place]| place.ge(0.0) & place.le((size - 1) as f64))?;
        is_inside = Some(match is_inside {
            Some(before) => binary(trace, ir::BinaryOp::And, before, inside)?,
            None => inside,
        });
        indices
            .push(Some(record(trace, [place], |[place]| place.max(0.0).min((size - 1) as f64).convert(DType::S64))?));
    }
    let made = index(trace, sampler.image, &indices)?;
    let Some(is_inside) = is_inside else { return Ok(made) };
    let is_inside = expand_dims(trace, is_inside, &[-1])?;
    let zero = full(trace, &TensorType::new(trace.node(made).dtype, &[]), ScalarValue::Signed(0))?;
    select(trace, is_inside, made, zero)
}

fn times_column(trace: &mut Trace, x: NodeId, weight: NodeId) -> Result<NodeId> {
    let weight = expand_dims(trace, weight, &[-1])?;
    binary(trace, ir::BinaryOp::Multiply, x, weight)
}

fn whole(trace: &mut Trace, x: NodeId, round: impl FnOnce(Expr<'_>) -> Expr<'_>) -> Result<NodeId> {
    let made = record(trace, [x], |[x]| round(x))?;
    stop_gradient(trace, made)
}

/// Taps of an axis: places with weights.
fn taps(trace: &mut Trace, sampler: &Sampler, axis: usize, is_cubic: bool) -> Result<Vec<(NodeId, NodeId)>> {
    let (place, size) = (sampler.places[axis], sampler.dims[axis + 2]);
    let first = whole(trace, place, |x| x.floor())?;
    let offsets: &[f64] = if is_cubic { &[-1.0, 0.0, 1.0, 2.0] } else { &[0.0, 1.0] };
    let one = |&offset: &f64| {
        let weight = record(trace, [place, first], |[place, first]| {
            let distance = place - first - offset;
            match is_cubic {
                true => keys(if offset > 0.0 { -distance } else { distance }, -0.75),
                false if offset == 0.0 => 1.0 - distance,
                false => distance + 1.0,
            }
        })?;
        let at = whole(trace, first, |first| {
            let at = first + offset;
            if is_cubic { kept_inside(at, size, sampler.outside, sampler.align_corners) } else { at }
        })?;
        Ok((at, weight))
    };
    offsets.iter().map(one).collect()
}

fn sampled<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let [x, grid] = call.promoted(["input", "grid"], true)?;
    let (dims, of_grid, mode) = (call.dims(x), call.dims(grid), call.int("interpolation_mode")?);
    let spatial = dims.len().saturating_sub(2);
    let fits = (1..=3).contains(&spatial) && of_grid.len() == dims.len() && of_grid[0] == dims[0];
    if !fits || of_grid.last() != Some(&(spatial as i64)) || dims[2..].iter().any(|&size| size < 1) {
        return Err(error!(InvalidArgument, "a grid of {} for {}", call.ty(grid), call.ty(x)));
    }
    let outside = match call.int("padding_mode")? {
        0 => Outside::Zeros,
        1 => Outside::Border,
        2 => Outside::Reflected,
        other => return Err(error!(InvalidArgument, "padding_mode {other}; want 0, 1 or 2")),
    };
    if !(0..=2).contains(&mode) || (mode == 2 && spatial != 2) {
        return Err(error!(InvalidArgument, "interpolation_mode {mode} of {spatial} axes"));
    }
    let align_corners = call.bool("align_corners")?;
    let trace = call.trace();
    let order: Vec<i64> = [0].into_iter().chain(2..dims.len() as i64).chain([1]).collect();
    let image = transpose(trace, x, &order)?;
    let mut sampler = Sampler { image, places: Vec::new(), outside, align_corners, dims };
    for axis in 0..spatial {
        // The first coordinate is of the last axis.
        let at = (spatial - 1 - axis) as i64;
        let part = ops::shape::slice_axis(trace, grid, spatial as i64 + 1, at, at + 1, 1)?;
        let part = squeeze(trace, part, &[spatial as i64 + 1])?;
        let size = sampler.dims[axis + 2];
        let place = record(trace, [part], |[x]| {
            let place = place_of(x, size, align_corners);
            if mode == 2 { place } else { kept_inside(place, size, outside, align_corners) }
        })?;
        sampler.places.push(place);
    }
    let made = mixed(trace, &sampler, mode)?;
    let back: Vec<i64> = [0, spatial as i64 + 1].into_iter().chain(1..=spatial as i64).collect();
    let made = transpose(trace, made, &back)?;
    Ok(call.made(made))
}

/// The sum over the taps of all axes.
fn mixed(trace: &mut Trace, sampler: &Sampler, mode: i64) -> Result<NodeId> {
    let spatial = sampler.places.len();
    if mode == 1 {
        let at = sampler.places.iter().map(|&place| whole(trace, place, |x| x.round()));
        let at = at.collect::<Result<Vec<NodeId>>>()?;
        return read(trace, sampler, &at);
    }
    let axes = (0..spatial).map(|axis| taps(trace, sampler, axis, mode == 2)).collect::<Result<Vec<_>>>()?;
    let each = axes[0].len();
    let mut sum = None;
    for number in 0..each.pow(spatial as u32) {
        let chosen: Vec<(NodeId, NodeId)> =
            (0..spatial).map(|axis| axes[axis][number / each.pow(axis as u32) % each]).collect();
        let at: Vec<NodeId> = chosen.iter().map(|(at, _)| *at).collect();
        let mut part = read(trace, sampler, &at)?;
        for (_, weight) in chosen {
            part = times_column(trace, part, weight)?;
        }
        sum = Some(match sum {
            Some(sum) => binary(trace, ir::BinaryOp::Add, sum, part)?,
            None => part,
        });
    }
    sum.ok_or_else(|| error!(Internal, "a sampler without taps"))
}

/// The places `theta (x, y, 1)` of the elements of an image.
fn affine_grid<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let (theta, size, align_corners) = (call.tensor("theta")?, call.ints("size")?, call.bool("align_corners")?);
    let ty = call.ty(theta);
    let spatial = size.len().saturating_sub(2);
    if !(2..=3).contains(&spatial) || ty.dims[..] != [size[0], spatial as i64, spatial as i64 + 1] {
        return Err(error!(InvalidArgument, "theta is {ty}, for an image of {size:?}"));
    }
    base::types::element_count(&size)?;
    let plane = &size[2..];
    let trace = call.trace();
    let mut columns = Vec::new();
    for axis in (0..spatial).rev() {
        let count = plane[axis];
        let place = iota(trace, &TensorType::new(ty.dtype, plane), axis as i64)?;
        columns.push(record(trace, [place], |[place]| match (align_corners, count) {
            (_, 1) => place * 0.0,
            (true, _) => place * (2.0 / (count - 1) as f64) - 1.0,
            (false, _) => (place * 2.0 + 1.0) * (1.0 / count as f64) - 1.0,
        })?);
    }
    columns.push(full(trace, &TensorType::new(ty.dtype, plane), ScalarValue::Signed(1))?);
    let rows = stack(trace, &columns, -1)?;
    let rows = reshape(trace, rows, &[1, plane.iter().product(), spatial as i64 + 1])?;
    let turned = transpose(trace, theta, &[0, 2, 1])?;
    let rows = broadcast_to(trace, rows, &[size[0], plane.iter().product(), spatial as i64 + 1])?;
    let made = matmul(trace, rows, turned)?;
    let made = reshape(trace, made, &[&[size[0]], plane, &[spatial as i64]].concat())?;
    Ok(call.made(made))
}

/// The kernel of patches on one axis.
struct Axis {
    kernel: i64,
    dilation: i64,
    padding: i64,
    stride: i64,
    size: i64,
    count: i64,
}

fn axes_of(call: &Call, sizes: &[i64]) -> Result<[Axis; 2]> {
    let of = |name: &str| for_axes(call, name, 2);
    let (kernel, dilation, padding, stride) = (of("kernel_size")?, of("dilation")?, of("padding")?, of("stride")?);
    let one = |i: usize| {
        let (kernel, dilation, padding, stride, size) = (kernel[i], dilation[i], padding[i], stride[i], sizes[i]);
        let fits = |number: i64, least: i64| (least..=1 << 31).contains(&number);
        if !fits(dilation, 1) || !fits(padding, 0) || !fits(stride, 1) || !fits(size, 1) {
            return Err(error!(InvalidArgument, "patches {stride} apart, dilated by {dilation}, padded by {padding}"));
        }
        let room = size + 2 * padding - dilation * (kernel - 1) - 1;
        if !(1..=1 << 10).contains(&kernel) || room < 0 {
            return Err(error!(InvalidArgument, "patches of {kernel} of an axis of {size} elements"));
        }
        Ok(Axis { kernel, dilation, padding, stride, size, count: room / stride + 1 })
    };
    Ok([one(0)?, one(1)?])
}

/// The first place, the place behind the last one and the step of an element of all patches, in the padded image.
fn reach(axis: &Axis, element: i64) -> (i64, i64, i64) {
    let start = element * axis.dilation;
    (start, start + (axis.count - 1) * axis.stride + 1, axis.stride)
}

fn with_batch(call: &mut Call, rank: usize) -> Result<(NodeId, bool)> {
    let x = call.tensor("self")?;
    let dims = call.dims(x);
    match dims.len() {
        own if own == rank => Ok((x, false)),
        own if own + 1 == rank => Ok((reshape(call.trace(), x, &[&[1], &dims[..]].concat())?, true)),
        own => Err(error!(InvalidArgument, "a tensor of {own} axes; want {rank}")),
    }
}

fn patches<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let (x, is_single) = with_batch(call, 4)?;
    let dims = call.dims(x);
    let [rows, columns] = axes_of(call, &dims[2..])?;
    let trace = call.trace();
    let low = [0, 0, rows.padding, columns.padding];
    let padded = pad_scalar(trace, x, ScalarValue::Signed(0), &low, &low, &[0; 4])?;
    let mut parts = Vec::new();
    for i in 0..rows.kernel {
        for j in 0..columns.kernel {
            let ((r0, r1, rs), (c0, c1, cs)) = (reach(&rows, i), reach(&columns, j));
            let part = slice(trace, padded, &[0, 0, r0, c0], &[dims[0], dims[1], r1, c1], &[1, 1, rs, cs])?;
            parts.push(reshape(trace, part, &[dims[0], dims[1], 1, rows.count * columns.count])?);
        }
    }
    let joined = concatenate(trace, &parts, 2)?;
    let made = reshape(trace, joined, &[dims[0], dims[1] * rows.kernel * columns.kernel, rows.count * columns.count])?;
    let made = if is_single { squeeze(trace, made, &[0])? } else { made };
    Ok(call.made(made))
}

/// The sum of patches at their places.
fn from_patches<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let (x, is_single) = with_batch(call, 3)?;
    let (dims, sizes) = (call.dims(x), for_axes(call, "output_size", 2)?);
    let [rows, columns] = axes_of(call, &sizes)?;
    let kernel = rows.kernel * columns.kernel;
    if dims[1] % kernel != 0 || dims[2] != rows.count * columns.count {
        return Err(error!(InvalidArgument, "patches of {} for an image of {sizes:?}", call.ty(x)));
    }
    let channels = dims[1] / kernel;
    let trace = call.trace();
    let parts = reshape(trace, x, &[dims[0], channels, kernel, rows.count, columns.count])?;
    let mut sum = None;
    for number in 0..kernel {
        let part = ops::shape::slice_axis(trace, parts, 2, number, number + 1, 1)?;
        let part = squeeze(trace, part, &[2])?;
        let (r, c) = (reach(&rows, number / columns.kernel), reach(&columns, number % columns.kernel));
        let high = [rows.size + 2 * rows.padding - r.1, columns.size + 2 * columns.padding - c.1];
        let (low, high) = ([0, 0, r.0, c.0], [0, 0, high[0], high[1]]);
        let part = pad_scalar(trace, part, ScalarValue::Signed(0), &low, &high, &[0, 0, r.2 - 1, c.2 - 1])?;
        sum = Some(match sum {
            Some(sum) => binary(trace, ir::BinaryOp::Add, sum, part)?,
            None => part,
        });
    }
    let sum = sum.ok_or_else(|| error!(Internal, "patches of no elements"))?;
    let starts = [0, 0, rows.padding, columns.padding];
    let limits = [dims[0], channels, rows.padding + rows.size, columns.padding + columns.size];
    let made = slice(trace, sum, &starts, &limits, &[1; 4])?;
    let made = if is_single { squeeze(trace, made, &[0])? } else { made };
    Ok(call.made(made))
}
