//! Chapter Reduction: reductions over axes and windows, statistics, cumulative operations.

use super::abi::arguments::{axes_of, flag, index_dtype_of, out, ranked};
use super::abi::guard::guard;
use super::abi::options;
use super::abi::options::Options;
use super::abi::results::Results;
use super::computation::computation_of;
use super::tensor::handles;
use super::types::*;
use crate::error::Result;
use crate::ir::{ReduceOp, Window};
use crate::{computation, tensor};

/// Records a reduction, one of `LXLA_REDUCE_*`, over `n_axes` axes (negative: from the end), each once, or over all axes if
/// `axes` is NULL. With `keep_dims` 1 the axes stay, of size 1. SUM and PRODUCT keep the dtype, and accumulate f16 and bf16 in
/// f32; of pred they take 0 and 1 as numbers and give s64, as NumPy does (a sum counts what is true). MAX and MIN of nothing
/// are the dtype's lowest and highest value (infinities for floats); ALL and ANY take pred. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_reduce(
    op: i32,
    x: lxla_tensor,
    axes: *const i64,
    n_axes: usize,
    keep_dims: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_reduce", || {
        // SAFETY: the caller's promise, see `capi`.
        let (over, place) = unsafe { (axes_of(x, axes, n_axes)?, out("out_tensor", out_tensor)?) };
        let keep_dims = flag("keep_dims", keep_dims)?;
        place.set(tensor::reduce(ReduceOp::from_number(op)?, x.into(), &over, keep_dims)?.into())
    })
}

/// Records the mean of floats over `n_axes` axes (negative: from the end), each once, or over all axes if `axes` is NULL. With
/// `keep_dims` 1 the axes stay, of size 1. f16 and bf16 are computed in f32, and rounded once. The mean of nothing is NaN. Gives one
/// reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_mean(
    x: lxla_tensor,
    axes: *const i64,
    n_axes: usize,
    keep_dims: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_mean", || {
        // SAFETY: the caller's promise, see `capi`.
        let (over, place) = unsafe { (axes_of(x, axes, n_axes)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::mean(x.into(), &over, flag("keep_dims", keep_dims)?)?.into())
    })
}

/// Records the variance of floats over axes, as `lxla_mean`: the sum of the squares of what differs from the mean, divided
/// by the number of elements less `correction` (0 for all there are, 1 for a sample), but not by less than 0: with too few
/// elements it is NaN or infinity, as in NumPy. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_variance(
    x: lxla_tensor,
    axes: *const i64,
    n_axes: usize,
    correction: f64,
    keep_dims: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_variance", || {
        // SAFETY: the caller's promise, see `capi`.
        let (over, place) = unsafe { (axes_of(x, axes, n_axes)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::variance(x.into(), &over, correction, flag("keep_dims", keep_dims)?)?.into())
    })
}

/// Records the standard deviation: the square root of `lxla_variance`, rounded once. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_standard_deviation(
    x: lxla_tensor,
    axes: *const i64,
    n_axes: usize,
    correction: f64,
    keep_dims: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_standard_deviation", || {
        // SAFETY: the caller's promise, see `capi`.
        let (over, place) = unsafe { (axes_of(x, axes, n_axes)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::standard_deviation(x.into(), &over, correction, flag("keep_dims", keep_dims)?)?.into())
    })
}

/// Records the logarithm of the sum of the exponentials of floats over axes, as `lxla_mean`, without overflow on the way. Of
/// nothing, and of -infinity alone, it is -infinity. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_logsumexp(
    x: lxla_tensor,
    axes: *const i64,
    n_axes: usize,
    keep_dims: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_logsumexp", || {
        // SAFETY: the caller's promise, see `capi`.
        let (over, place) = unsafe { (axes_of(x, axes, n_axes)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::logsumexp(x.into(), &over, flag("keep_dims", keep_dims)?)?.into())
    })
}

/// Records the index of the greatest element of x along `axis` (negative: from the end), of an integer dtype that can count
/// the axis: of the first NaN, if there is one (as in NumPy), and of equal elements of the first. With `keep_dims` 1 the axis
/// stays, of size 1. An axis without elements is INVALID_ARGUMENT. Takes pred, integers and floats. Gives one reference. Any
/// thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_argmax(
    x: lxla_tensor,
    axis: i64,
    keep_dims: i32,
    index_dtype: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_argmax", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        let keep_dims = flag("keep_dims", keep_dims)?;
        place.set(tensor::arg_extreme(x.into(), axis, keep_dims, true, index_dtype_of(index_dtype)?)?.into())
    })
}

/// Records the index of the smallest element of x along an axis, as `lxla_argmax` does that of the greatest; of the first NaN,
/// too. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_argmin(
    x: lxla_tensor,
    axis: i64,
    keep_dims: i32,
    index_dtype: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_argmin", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        let keep_dims = flag("keep_dims", keep_dims)?;
        place.set(tensor::arg_extreme(x.into(), axis, keep_dims, false, index_dtype_of(index_dtype)?)?.into())
    })
}

/// Records what a reduction, one of `LXLA_REDUCE_*`, gives for the elements of x along `axis` (negative: from the end) up to
/// each: cumsum, cumprod, cummax, cummin. With `reverse` 1 from each on to the end. x's shape and dtype, and the dtypes of
/// `lxla_reduce`; f16 and bf16 sums and products are kept in f32 and rounded once each. The work grows with the axis' length
/// times its logarithm at most. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_cumulative(
    op: i32,
    x: lxla_tensor,
    axis: i64,
    reverse: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_cumulative", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        let reverse = flag("reverse", reverse)?;
        place.set(tensor::cumulative(ReduceOp::from_number(op)?, x.into(), axis, reverse)?.into())
    })
}

/// Records a reduction by a computation: `n` tensors of one shape, reduced together over `n_axes` axes (negative: from the end),
/// each once, or over all axes if `axes` is NULL. `body` takes `n` scalars of what was combined so far, then `n` elements, and gives
/// `n`. `inits`, scalars of the tensors' dtypes, are what it starts from. The body is associative, and `inits` change
/// nothing: elements are combined in an order that is up to the plugin, and `inits` as often as it likes. It may capture
/// scalars. Gives `n` tensors, one reference each. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_reduce_with(
    body: lxla_computation,
    inputs: *const lxla_tensor,
    inits: *const lxla_tensor,
    n: usize,
    axes: *const i64,
    n_axes: usize,
    out_results: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_reduce_with", || {
        // SAFETY: the caller's promise, see `capi`.
        let (inputs, inits, mut places) = unsafe {
            (handles("inputs", inputs, n)?, handles("inits", inits, n)?, Results::at("out_results", out_results, n)?)
        };
        let first = inputs.first().map_or(lxla_tensor { id: 0 }, |&input| input.into());
        // SAFETY: likewise.
        let axes = unsafe { axes_of(first, axes, n_axes)? };
        places.set(&computation::reduce_with(&*computation_of("body", body)?, &inputs, &inits, &axes)?);
        Ok(())
    })
}

/// Fills options with the defaults. `options->struct_size` is set by the caller before, and at most that many bytes are
/// written. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_window_options_init(options: *mut lxla_window_options) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard("lxla_window_options_init", || unsafe { options::init(options) })
}

/// Records StableHLO's reduce_window: windows go over `n` tensors of one shape, and the elements in each are reduced together
/// as by `lxla_reduce_with`. The padding is `inits`. Gives `n` tensors with one element for each window, one reference each.
/// Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_reduce_window(
    body: lxla_computation,
    inputs: *const lxla_tensor,
    inits: *const lxla_tensor,
    n: usize,
    options: *const lxla_window_options,
    out_results: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_reduce_window", || {
        // SAFETY: the caller's promise, see `capi`.
        let (inputs, inits, windows, mut places) = unsafe {
            (
                handles("inputs", inputs, n)?,
                handles("inits", inits, n)?,
                windows(options)?,
                Results::at("out_results", out_results, n)?,
            )
        };
        places.set(&computation::reduce_window(&*computation_of("body", body)?, &inputs, &inits, &windows)?);
        Ok(())
    })
}

/// Records StableHLO's select_and_scatter: the gradient of a pooling. Of each window over x one element is selected, padding
/// excepted: `select` takes two elements, in their order in x, and gives `pred[]`, whether the first one is kept. By GE that is
/// the first of the greatest elements of a window, by GT the last one of them. The result has x's shape, with `init` (a
/// scalar of x's dtype) everywhere, and with each element of `source`, one for each window, combined into the place of its
/// window's selected element: `combiner` takes what is there and that element. What negative padding takes away stays
/// `init`; more than an axis has is INVALID_ARGUMENT. Dilations are 1. Neither computation captures anything. Gives one
/// reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_select_and_scatter(
    select: lxla_computation,
    combiner: lxla_computation,
    x: lxla_tensor,
    source: lxla_tensor,
    init: lxla_tensor,
    options: *const lxla_window_options,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_select_and_scatter", || {
        // SAFETY: the caller's promise, see `capi`.
        let (windows, place) = unsafe { (windows(options)?, out("out_tensor", out_tensor)?) };
        let (select, combiner) = (computation_of("select", select)?, computation_of("combiner", combiner)?);
        let made = computation::select_and_scatter(&select, &combiner, x.into(), source.into(), init.into(), &windows)?;
        place.set(made.into())
    })
}

// SAFETY: it is as the trait wants it.
unsafe impl Options for lxla_window_options {
    const NAME: &str = "lxla_window_options";
}

/// One window for each axis.
unsafe fn windows(options: *const lxla_window_options) -> Result<Vec<Window>> {
    // SAFETY: the caller's promise, see `capi`.
    let given = unsafe { options::read_given(options)? };
    let rank = given.rank;
    let optional = |name, list: *const i64, default| {
        if list.is_null() {
            return Ok(vec![default; rank]);
        }
        // SAFETY: likewise.
        unsafe { ranked(name, list, rank) }.map(<[i64]>::to_vec)
    };
    // SAFETY: likewise.
    let sizes = unsafe { ranked("options.window_dimensions", given.window_dimensions, rank)? };
    let strides = optional("options.strides", given.strides, 1)?;
    let base_dilations = optional("options.base_dilations", given.base_dilations, 1)?;
    let dilations = optional("options.window_dilations", given.window_dilations, 1)?;
    let low = optional("options.low", given.low, 0)?;
    let high = optional("options.high", given.high, 0)?;
    let window = |axis: usize| Window {
        size: sizes[axis],
        stride: strides[axis],
        base_dilation: base_dilations[axis],
        dilation: dilations[axis],
        low: low[axis],
        high: high[axis],
    };
    Ok((0..rank).map(window).collect())
}
