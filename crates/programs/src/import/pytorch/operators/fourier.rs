//! Fourier transforms, with PyTorch's norms.

use super::super::arguments::Value;
use super::super::call::Call;
use super::super::operator::{Operator, operator};
use super::elementwise::scaled;
use base::error;
use base::error::Result;
use base::types::{DType, Kind, ScalarValue, TensorType, normalize_axis};
use ir::{FftOp, NodeId, Trace};
use ops::creation::iota;
use ops::elementwise::convert;
use ops::elementwise::formula::record;
use ops::linalg::fft;
use ops::shape::{pad_scalar, roll, slice_axis, transpose};

const ONE: &str = "self n=none dim=-1 norm=none";
const TWO: &str = "self s=none dim=[-2,-1] norm=none";
const MANY: &str = "self s=none dim=none norm=none";

pub(super) const TABLE: &[Operator] = &[
    operator(&["fft_fft.default"], ONE, |call| transformed(call, Kinds::Forward, false)),
    operator(&["fft_ifft.default"], ONE, |call| transformed(call, Kinds::Inverse, false)),
    operator(&["fft_rfft.default"], ONE, |call| transformed(call, Kinds::Real, false)),
    operator(&["fft_irfft.default"], ONE, |call| transformed(call, Kinds::ToReal, false)),
    operator(&["fft_hfft.default"], ONE, |call| transformed(call, Kinds::ToReal, true)),
    operator(&["fft_ihfft.default"], ONE, |call| transformed(call, Kinds::Real, true)),
    operator(&["fft_fft2.default"], TWO, |call| transformed(call, Kinds::Forward, false)),
    operator(&["fft_ifft2.default"], TWO, |call| transformed(call, Kinds::Inverse, false)),
    operator(&["fft_rfft2.default"], TWO, |call| transformed(call, Kinds::Real, false)),
    operator(&["fft_irfft2.default"], TWO, |call| transformed(call, Kinds::ToReal, false)),
    operator(&["fft_fftn.default"], MANY, |call| transformed(call, Kinds::Forward, false)),
    operator(&["fft_ifftn.default"], MANY, |call| transformed(call, Kinds::Inverse, false)),
    operator(&["fft_rfftn.default"], MANY, |call| transformed(call, Kinds::Real, false)),
    operator(&["fft_irfftn.default"], MANY, |call| transformed(call, Kinds::ToReal, false)),
    operator(&["_fft_c2c.default"], "self dim normalization forward", |call| {
        let (axes, kind) = (core_axes(call)?, if call.bool("forward")? { Kinds::Forward } else { Kinds::Inverse });
        core(call, kind, axes, None)
    }),
    operator(&["_fft_r2c.default"], "self dim normalization onesided", |call| {
        let (axes, kind) = (core_axes(call)?, if call.bool("onesided")? { Kinds::Real } else { Kinds::Forward });
        core(call, kind, axes, None)
    }),
    operator(&["_fft_c2r.default"], "self dim normalization last_dim_size", |call| {
        let (axes, size) = (core_axes(call)?, call.int("last_dim_size")?);
        core(call, Kinds::ToReal, axes, Some(size))
    }),
    operator(&["fft_fftshift.default"], "self dim=none", |call| shifted(call, |size| size / 2)),
    operator(&["fft_ifftshift.default"], "self dim=none", |call| shifted(call, |size| (size + 1) / 2)),
    operator(&["fft_fftfreq.default"], FREQUENCIES, |call| frequencies(call, false)),
    operator(&["fft_rfftfreq.default"], FREQUENCIES, |call| frequencies(call, true)),
];

const FREQUENCIES: &str = "n d=1.0 dtype=none layout=none device=none pin_memory=none";

/// Kinds of transforms, by their arrays: complex to complex in both directions, real to half of the spectrum and back.
#[derive(Clone, Copy, PartialEq)]
enum Kinds {
    Forward,
    Inverse,
    Real,
    ToReal,
}

/// The tensor in the dtype that a transform takes.
fn operand(call: &mut Call, kind: Kinds) -> Result<NodeId> {
    let x = call.floats("self")?;
    let dtype = call.dtype_of(x);
    let wide = match (dtype.kind(), kind) {
        (Kind::Complex, Kinds::Real) => return Err(error!(InvalidArgument, "{dtype} given; want real numbers")),
        (_, Kinds::Real) | (Kind::Complex, _) => dtype,
        _ if dtype == DType::F64 => DType::C128,
        _ => DType::C64,
    };
    Ok(convert(call.trace(), x, wide))
}

/// Records an axis with `size` elements: cut, or with zeros behind.
fn resized(trace: &mut Trace, x: NodeId, axis: usize, size: i64) -> Result<NodeId> {
    let dims = trace.ty(x).dims;
    if dims[axis] >= size {
        return slice_axis(trace, x, axis as i64, 0, size, 1);
    }
    let (none, mut high) = (vec![0; dims.len()], vec![0; dims.len()]);
    high[axis] = size - dims[axis];
    pad_scalar(trace, x, ScalarValue::Signed(0), &none, &high, &none)
}

/// Records transforms of one axis, not normalized.
fn along(trace: &mut Trace, op: FftOp, x: NodeId, axis: usize, size: i64) -> Result<NodeId> {
    let rank = trace.ty(x).dims.len();
    let mut order: Vec<i64> = (0..rank as i64).collect();
    order.swap(axis, rank - 1);
    let turned = transpose(trace, x, &order)?;
    let mut made = fft(trace, op, turned, &[size])?;
    if matches!(op, FftOp::Ifft | FftOp::Irfft) {
        made = scaled(trace, made, size as f64)?;
    }
    transpose(trace, made, &order)
}

/// Records a transform of these axes. Of a half spectrum, the last axis has `last` elements as real numbers.
fn over_axes(trace: &mut Trace, kind: Kinds, mut x: NodeId, axes: &[usize], last: i64) -> Result<NodeId> {
    let Some((&half, rest)) = axes.split_last() else { return Ok(x) };
    let op = if matches!(kind, Kinds::Forward | Kinds::Real) { FftOp::Fft } else { FftOp::Ifft };
    if kind == Kinds::Real {
        x = along(trace, FftOp::Rfft, x, half, last)?;
    }
    for &axis in rest.iter().rev() {
        let size = trace.ty(x).dims[axis];
        x = along(trace, op, x, axis, size)?;
    }
    match kind {
        Kinds::Real => Ok(x),
        Kinds::ToReal => along(trace, FftOp::Irfft, x, half, last),
        _ => along(trace, op, x, half, last),
    }
}

/// The axes and their sizes, which functions of `torch.fft` take.
fn axes_and_sizes(call: &Call, dims: &[i64], kind: Kinds) -> Result<(Vec<usize>, Vec<i64>)> {
    let rank = dims.len();
    let sizes = call.optional_ints(if call.has("n") { "n" } else { "s" })?;
    let axes: Vec<usize> = match (call.optional_ints("dim")?, &sizes) {
        (Some(axes), _) => axes.iter().map(|&axis| normalize_axis("dim", axis, rank)).collect::<Result<_>>()?,
        (None, Some(sizes)) => (rank.saturating_sub(sizes.len())..rank).collect(),
        (None, None) => (0..rank).collect(),
    };
    let mut wanted: Vec<i64> = axes.iter().map(|&axis| dims[axis]).collect();
    if let (Kinds::ToReal, Some(last)) = (kind, wanted.last_mut()) {
        *last = 2 * (*last - 1);
    }
    for (i, size) in sizes.iter().flatten().enumerate().filter(|(_, size)| **size != -1) {
        match wanted.get_mut(i) {
            Some(place) => *place = *size,
            None => return Err(error!(InvalidArgument, "{} sizes for {} axes", i + 1, axes.len())),
        }
    }
    match wanted.iter().all(|size| (1..=1 << 31).contains(size)) {
        true => Ok((axes, wanted)),
        false => Err(error!(InvalidArgument, "sizes {wanted:?} of transformed axes; want at least 1")),
    }
}

/// A function of `torch.fft`. `is_hermitian`: of conjugate numbers, in the other direction.
fn transformed<'p>(call: &mut Call<'_, 'p>, kind: Kinds, is_hermitian: bool) -> Result<Value<'p>> {
    let mut x = operand(call, kind)?;
    let (axes, sizes) = axes_and_sizes(call, &call.dims(x), kind)?;
    let norm = if matches!(call.value("norm"), Value::None) { "backward" } else { call.text("norm")? };
    let count = sizes.iter().map(|&size| size as f64).product::<f64>();
    let is_forward = matches!(kind, Kinds::Forward | Kinds::Real) != is_hermitian;
    let factor = match norm {
        "ortho" => 1.0 / count.sqrt(),
        "backward" | "forward" if (norm == "forward") == is_forward => 1.0 / count,
        "backward" | "forward" => 1.0,
        other => return Err(error!(InvalidArgument, "norm {other:?}; want forward, backward or ortho")),
    };
    let trace = call.trace();
    for (i, (&axis, &size)) in axes.iter().zip(&sizes).enumerate() {
        let is_half = kind == Kinds::ToReal && i + 1 == axes.len();
        x = resized(trace, x, axis, if is_half { size / 2 + 1 } else { size })?;
    }
    let conjugate = |trace: &mut Trace, x: NodeId| record(trace, [x], |[x]| x.real().complex(-x.imag()));
    if is_hermitian && kind == Kinds::ToReal {
        x = conjugate(trace, x)?;
    }
    let mut made = over_axes(trace, kind, x, &axes, sizes.last().copied().unwrap_or(1))?;
    if is_hermitian && kind == Kinds::Real {
        made = conjugate(trace, made)?;
    }
    let made = if factor == 1.0 { made } else { scaled(trace, made, factor)? };
    Ok(call.made(made))
}

fn core_axes(call: &mut Call) -> Result<Vec<usize>> {
    let x = call.tensor("self")?;
    let rank = call.dims(x).len();
    call.ints("dim")?.iter().map(|&axis| normalize_axis("dim", axis, rank)).collect()
}

/// An operator of the core form, whose norm is a number.
fn core<'p>(call: &mut Call<'_, 'p>, kind: Kinds, axes: Vec<usize>, last: Option<i64>) -> Result<Value<'p>> {
    let x = operand(call, kind)?;
    let dims = call.dims(x);
    let mut sizes: Vec<i64> = axes.iter().map(|&axis| dims[axis]).collect();
    if let (Some(size), Some(place)) = (last, sizes.last_mut()) {
        *place = size;
    }
    if !sizes.iter().all(|size| (1..=1 << 31).contains(size)) {
        return Err(error!(InvalidArgument, "sizes {sizes:?} of transformed axes; want at least 1"));
    }
    let count = sizes.iter().map(|&size| size as f64).product::<f64>();
    let factor = match call.int("normalization")? {
        0 => 1.0,
        1 => 1.0 / count.sqrt(),
        2 => 1.0 / count,
        other => return Err(error!(InvalidArgument, "normalization {other}; want 0, 1 or 2")),
    };
    let trace = call.trace();
    let given = match (last, axes.last()) {
        (Some(size), Some(&axis)) => resized(trace, x, axis, size / 2 + 1)?,
        _ => x,
    };
    let made = over_axes(trace, kind, given, &axes, sizes.last().copied().unwrap_or(1))?;
    let made = if factor == 1.0 { made } else { scaled(trace, made, factor)? };
    Ok(call.made(made))
}

fn shifted<'p>(call: &mut Call<'_, 'p>, by: fn(i64) -> i64) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let dims = call.dims(x);
    let axes = call.axes("dim", dims.len())?;
    let shifts: Vec<i64> = axes.iter().map(|&axis| by(dims[axis as usize])).collect();
    let made = if axes.is_empty() { x } else { roll(call.trace(), x, &shifts, &axes)? };
    Ok(call.made(made))
}

fn frequencies<'p>(call: &mut Call<'_, 'p>, is_half: bool) -> Result<Value<'p>> {
    let (n, d, dtype) = (call.int("n")?, call.float("d")?, call.dtype("dtype")?.unwrap_or(DType::F32));
    if !(1..=1 << 31).contains(&n) || !dtype.is_float() {
        return Err(error!(InvalidArgument, "{n} frequencies of {dtype}"));
    }
    let count = if is_half { n / 2 + 1 } else { n };
    let trace = call.trace();
    let place = iota(trace, &TensorType::new(DType::S64, &[count]), 0)?;
    let made = record(trace, [place], |[place]| {
        let number = if is_half { place } else { place.ge((n + 1) / 2).select(place - n, place) };
        number.convert(dtype) * (1.0 / (n as f64 * d))
    })?;
    Ok(call.made(made))
}
