//! Diagonals, windows, strides and parts of complex numbers: views through which programs write.

use super::super::arguments::Value;
use super::super::call::Call;
use super::super::operator::{Operator, operator};
use super::super::tensors::{Sight, TensorId, View};
use base::error;
use base::error::Result;
use base::types::{Kind, normalize_axis};
use ir::NodeId;

pub(super) const TABLE: &[Operator] = &[
    operator(&["diagonal.default"], "self offset=0 dim1=0 dim2=1", |call| {
        let x = call.id("self")?;
        diagonal(call, x, "self").map(Value::Tensor)
    }),
    operator(&["linalg_diagonal.default"], "A offset=0 dim1=-2 dim2=-1", |call| {
        let x = call.id("A")?;
        diagonal(call, x, "A").map(Value::Tensor)
    }),
    operator(&["diagonal_copy.default"], "self offset=0 dim1=0 dim2=1", |call| {
        let x = call.id("self")?;
        let part = diagonal(call, x, "self")?;
        let node = call.recorder.read(part)?;
        Ok(call.made(node))
    }),
    operator(&["diagonal_scatter.default"], "self src offset=0 dim1=0 dim2=1", |call| {
        let (x, source) = (call.tensor("self")?, call.tensor("src")?);
        let copy = call.recorder.tensors.base(x);
        let part = diagonal(call, copy, "self")?;
        let recorder = &mut *call.recorder;
        recorder.tensors.write(&mut recorder.trace, part, source)?;
        Ok(Value::Tensor(copy))
    }),
    operator(&["diag.default"], "self diagonal=0", diag),
    operator(&["unfold.default"], "self dimension size step", unfold),
    operator(&["as_strided.default"], "self size stride storage_offset=none", as_strided),
    operator(&["view_as_complex.default"], "self", |call| {
        let x = call.tensor("self")?;
        match call.dims(x).last() == Some(&2) && call.dtype_of(x).is_float() {
            true => call.viewed("self", View::Complex, Sight::Certain),
            false => Err(error!(InvalidArgument, "{} as complex numbers", call.ty(x))),
        }
    }),
    operator(&["view_as_real.default"], "self", |call| {
        let x = call.tensor("self")?;
        match call.dtype_of(x).kind() {
            Kind::Complex => call.viewed("self", View::Real, Sight::Certain),
            _ => Err(error!(InvalidArgument, "{} as pairs of real numbers", call.ty(x))),
        }
    }),
];

/// The diagonal of two axes, as the last axis: a strided part of the two axes as one.
fn diagonal(call: &mut Call, x: TensorId, name: &str) -> Result<TensorId> {
    let node = call.recorder.read(x)?;
    let dims = call.dims(node);
    let rank = dims.len();
    let axis = |name: &str| normalize_axis(name, call.int(name)?, rank);
    let (first, second, offset) = (axis("dim1")?, axis("dim2")?, call.int("offset")?);
    if first == second {
        return Err(error!(InvalidArgument, "the diagonal of the axis {first} with itself, of its argument {name}"));
    }
    let (rows, columns) = (dims[first], dims[second]);
    let rest: Vec<usize> = (0..rank).filter(|axis| ![first, second].contains(axis)).collect();
    let order = rest.iter().chain([&first, &second]).map(|&axis| axis as i64).collect();
    let mut flat: Vec<i64> = rest.iter().map(|&axis| dims[axis]).collect();
    flat.push(rows * columns);
    let below = offset.saturating_neg().max(0);
    let length = rows.saturating_sub(below).min(columns.saturating_sub(offset.max(0))).max(0);
    let start = if length == 0 { 0 } else { below * columns + offset.max(0) };
    let stop = if length == 0 { 0 } else { start + (length - 1) * (columns + 1) + 1 };
    let tensors = &mut call.recorder.tensors;
    let turned = tensors.view(x, View::Transposed(order), Sight::Certain);
    let flat = tensors.view(turned, View::Reshaped(flat), Sight::Certain);
    let view = View::Sliced { axis: rest.len(), start, stop, step: columns + 1 };
    Ok(tensors.view(flat, view, Sight::Certain))
}

/// The diagonal of a matrix, or a matrix of a diagonal.
fn diag<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let (x, offset) = (call.tensor("self")?, call.int("diagonal")?);
    let dims = call.dims(x);
    let made: NodeId = match dims[..] {
        [_] => super::rearrangements::on_diagonal(call.trace(), x, offset)?,
        [rows, columns] => {
            let below = offset.saturating_neg().max(0);
            let length = rows.saturating_sub(below).min(columns.saturating_sub(offset.max(0))).max(0);
            let start = if length == 0 { 0 } else { below * columns + offset.max(0) };
            let stop = if length == 0 { 0 } else { start + (length - 1) * (columns + 1) + 1 };
            let trace = call.trace();
            let flat = ops::shape::reshape(trace, x, &[rows * columns])?;
            ops::shape::slice(trace, flat, &[start], &[stop], &[columns + 1])?
        }
        _ => return Err(error!(InvalidArgument, "the diagonal of {}; want 1 or 2 axes", call.ty(x))),
    };
    Ok(call.made(made))
}

fn unfold<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let dims = call.dims(x);
    let (axis, size, step) = (call.axis("dimension", dims.len())?, call.int("size")?, call.int("step")?);
    let length = *dims.get(axis).unwrap_or(&0);
    if dims.is_empty() || size < 1 || size > length || step < 1 {
        return Err(error!(InvalidArgument, "windows of {size} elements, {step} apart, of {}", call.ty(x)));
    }
    call.viewed("self", View::Unfolded { axis, size, step }, Sight::Certain)
}

/// A view by strides. Those of a contiguous tensor are a view in another shape.
fn as_strided<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let (own, size, stride) = (call.dims(x), call.ints("size")?, call.ints("stride")?);
    let count = |sizes: &[i64]| sizes.iter().fold(1i64, |count, &size| count.saturating_mul(size));
    let is_whole = call.optional_int("storage_offset")?.unwrap_or(0) == 0
        && count(&size) == count(&own)
        && size.len() == stride.len();
    let mut wanted = 1i64;
    let is_row_major = size.iter().zip(&stride).rev().all(|(&size, &stride)| {
        let fits = size == 1 || stride == wanted;
        wanted = wanted.saturating_mul(size);
        fits
    });
    match is_whole && is_row_major && call.is_contiguous {
        true => call.viewed("self", View::Reshaped(size), Sight::Certain),
        false => Err(error!(Unimplemented, "strides {stride:?} for sizes {size:?} of a tensor of sizes {own:?}")),
    }
}
