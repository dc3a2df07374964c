//! Chapter Shape: operations that rearrange elements.

use super::abi::arguments::{axes_of, optional_slice, ranked, ranked_or, scalar};
use super::abi::guard::guard_into;
use super::abi::pointers::{In, List, Out, OutList};
use super::abi::types::{lxla_scalar, lxla_status, lxla_tensor};
use super::tensor::some_handles;
use crate::tensor::{self, record, record_list};
use base::error;
use base::error::Result;
use ir::{NodeId, Trace};
use ops::shape;
use std::borrow::Cow;

/// Records x with another shape of the same number of elements, in row-major order.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_reshape(
    x: lxla_tensor,
    dims: List<i64>,
    rank: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_reshape", out_tensor.named("out_tensor"), || {
        let dims = ranked("dims", dims, rank)?;
        record([("x", x.into())], |trace, [x]| shape::reshape(trace, x, dims))
    })
}

/// Records x broadcast to a shape by NumPy's rules.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_broadcast_to(
    x: lxla_tensor,
    dims: List<i64>,
    rank: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_broadcast_to", out_tensor.named("out_tensor"), || {
        let dims = ranked("dims", dims, rank)?;
        record([("x", x.into())], |trace, [x]| shape::broadcast_to(trace, x, dims))
    })
}

/// Records a permutation of the axes: axis i of the result is axis `perm[i]` of x. `perm` lists each axis once.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_transpose(
    x: lxla_tensor,
    perm: List<i64>,
    rank: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_transpose", out_tensor.named("out_tensor"), || {
        let perm = ranked("perm", perm, rank)?;
        record([("x", x.into())], |trace, [x]| shape::transpose(trace, x, perm))
    })
}

/// Records x with the order of the elements reversed along the axes. The same as `lxla_flip`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_reverse(
    x: lxla_tensor,
    axes: List<i64>,
    n_axes: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_reverse", out_tensor.named("out_tensor"), || {
        let axes = axes_of(x, axes, n_axes)?;
        record([("x", x.into())], |trace, [x]| shape::reverse(trace, x, &axes))
    })
}

/// Records x with the order of the elements reversed along the axes.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_flip(
    x: lxla_tensor,
    axes: List<i64>,
    n_axes: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_flip", out_tensor.named("out_tensor"), || {
        let axes = axes_of(x, axes, n_axes)?;
        record([("x", x.into())], |trace, [x]| shape::flip(trace, x, &axes))
    })
}

/// Records x with its elements shifted forward by `shifts[i]` (negative: backward) along `axes[i]`, for i < `n`.
/// Elements shifted beyond one end reenter at the other. An axis may be listed several times; its shifts add up.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_roll(
    x: lxla_tensor,
    shifts: List<i64>,
    axes: List<i64>,
    n: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_roll", out_tensor.named("out_tensor"), || {
        let (shifts, axes) = (ranked("shifts", shifts, n)?, ranked("axes", axes, n)?);
        record([("x", x.into())], |trace, [x]| shape::roll(trace, x, shifts, axes))
    })
}

/// Records x without the listed axes, which must be of size 1; with `axes` NULL, without all axes of size 1.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_squeeze(
    x: lxla_tensor,
    axes: List<i64>,
    n_axes: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_squeeze", out_tensor.named("out_tensor"), || {
        let mut axes = axes_of(x, axes, n_axes)?;
        if let Cow::Owned(all) = &mut axes {
            let dims = tensor::ty(x.into()).map(|ty| ty.dims).unwrap_or_default();
            all.retain(|&axis| dims.get(axis as usize) == Some(&1));
        }
        record([("x", x.into())], |trace, [x]| shape::squeeze(trace, x, &axes))
    })
}

/// Records x with `n_axes` new axes of size 1; `axes` are their positions in the result. `axes` may be NULL only if
/// `n_axes` is 0, and then adds none.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_expand_dims(
    x: lxla_tensor,
    axes: List<i64>,
    n_axes: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_expand_dims", out_tensor.named("out_tensor"), || {
        let axes = ranked("axes", axes, n_axes)?;
        record([("x", x.into())], |trace, [x]| shape::expand_dims(trace, x, axes))
    })
}

/// Records the concatenation of `n` tensors (at least 1) along an axis. Their dtypes promote; their sizes on all
/// other axes must be equal.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_concatenate(
    tensors: List<lxla_tensor>,
    n: usize,
    axis: i64,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_concatenate", out_tensor.named("out_tensor"), || {
        let tensors = some_handles(tensors, n)?;
        record_list([], ("tensors", &tensors), |trace, [], tensors| shape::concatenate(trace, tensors, axis))
    })
}

/// Records `n` tensors (at least 1) of one shape stacked along a new axis, at position `axis` of the result. Their
/// dtypes promote.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_stack(
    tensors: List<lxla_tensor>,
    n: usize,
    axis: i64,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_stack", out_tensor.named("out_tensor"), || {
        let tensors = some_handles(tensors, n)?;
        record_list([], ("tensors", &tensors), |trace, [], tensors| shape::stack(trace, tensors, axis))
    })
}

/// Records the split of x along an axis into `n` parts of the given sizes, whose sum is the size of the axis. NULL
/// sizes split it equally.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_split(
    x: lxla_tensor,
    sizes: List<i64>,
    n: usize,
    axis: i64,
    out_tensors: OutList<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_split", out_tensors.list("out_tensors", n), || {
        let sizes = optional_slice("sizes", sizes, n)?;
        record([("x", x.into())], |trace, [x]| match sizes {
            Some(sizes) => shape::split(trace, x, sizes, axis),
            None => shape::split_equally(trace, x, n, axis),
        })
    })
}

/// Records `x[start : limit : stride]` on each of `rank` axes, with 0 <= start <= limit <= size and stride >= 1. NULL
/// strides are all 1.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_slice(
    x: lxla_tensor,
    starts: List<i64>,
    limits: List<i64>,
    strides: List<i64>,
    rank: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_slice", out_tensor.named("out_tensor"), || {
        let (starts, limits) = (ranked("starts", starts, rank)?, ranked("limits", limits, rank)?);
        let strides = ranked_or("strides", strides, rank, 1)?;
        record([("x", x.into())], |trace, [x]| {
            check_rank(trace, x, rank)?;
            shape::slice(trace, x, starts, limits, &strides)
        })
    })
}

/// Records `x[start : stop : step]` along an axis by Python's rules: a negative start or stop counts from the end,
/// one out of range is clamped, and a negative step reverses the order. INT64_MAX as stop (INT64_MIN for a negative
/// step) stands for an omitted stop. INVALID_ARGUMENT if step is 0.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_slice_axis(
    x: lxla_tensor,
    axis: i64,
    start: i64,
    stop: i64,
    step: i64,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_slice_axis", out_tensor.named("out_tensor"), || {
        record([("x", x.into())], |trace, [x]| shape::slice_axis(trace, x, axis, start, stop, step))
    })
}

/// Records x padded with `value`, a scalar tensor of x's dtype: on each of `rank` axes, `low` elements before the
/// first, `interior` between adjacent ones, `high` after the last. A negative low or high removes elements. NULL
/// interior is all 0.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_pad(
    x: lxla_tensor,
    value: lxla_tensor,
    low: List<i64>,
    high: List<i64>,
    interior: List<i64>,
    rank: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_pad", out_tensor.named("out_tensor"), || {
        let (low, high) = (ranked("low", low, rank)?, ranked("high", high, rank)?);
        let interior = ranked_or("interior", interior, rank, 0)?;
        record([("x", x.into()), ("value", value.into())], |trace, [x, value]| {
            check_rank(trace, x, rank)?;
            shape::pad(trace, x, value, low, high, &interior)
        })
    })
}

/// As `lxla_pad`, with a scalar as the padding value.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_pad_with_scalar(
    x: lxla_tensor,
    value: In<lxla_scalar>,
    low: List<i64>,
    high: List<i64>,
    interior: List<i64>,
    rank: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_pad_with_scalar", out_tensor.named("out_tensor"), || {
        let (_, value) = scalar("value", value)?;
        let (low, high) = (ranked("low", low, rank)?, ranked("high", high, rank)?);
        let interior = ranked_or("interior", interior, rank, 0)?;
        record([("x", x.into())], |trace, [x]| {
            check_rank(trace, x, rank)?;
            shape::pad_scalar(trace, x, value, low, high, &interior)
        })
    })
}

/// Records x repeated `repeats[i]` times along axis i, as `tile` of NumPy. If `n` is not x's rank, the shorter of the
/// shape and `repeats` is extended with leading ones.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tile(x: lxla_tensor, repeats: List<i64>, n: usize, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_tile", out_tensor.named("out_tensor"), || {
        let repeats = ranked("repeats", repeats, n)?;
        record([("x", x.into())], |trace, [x]| shape::tile(trace, x, repeats))
    })
}

/// Records x with each slice along an axis repeated `repeats` times in succession, as `repeat` of NumPy.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_repeat(x: lxla_tensor, repeats: i64, axis: i64, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_repeat", out_tensor.named("out_tensor"), || {
        record([("x", x.into())], |trace, [x]| shape::repeat(trace, x, repeats, axis))
    })
}

/// Returns an error unless `rank`, the length of the caller's lists, is the rank of `x`.
pub(super) fn check_rank(trace: &Trace, x: NodeId, rank: usize) -> Result<()> {
    let ty = trace.ty(x);
    if rank != ty.dims.len() {
        return Err(error!(InvalidArgument, "rank: {rank} given; x is {ty}, of rank {}", ty.dims.len()));
    }
    Ok(())
}
