//! Chapter Reduction: reductions over axes and windows, statistics, cumulative operations.

use super::abi::arguments::{axes_of, flag, index_dtype_of, ranked, ranked_or};
use super::abi::guard::{guard, guard_into};
use super::abi::options;
use super::abi::pointers::{In, List, Out, OutList};
use super::abi::types::{lxla_computation, lxla_status, lxla_tensor, lxla_window_options};
use super::computation::computation_of;
use super::tensor::handles;
use crate::computation;
use crate::device::{CallKey, Function};
use crate::tensor::{record, record_known};
use base::error::Result;
use ir::{NodeId, ReduceOp, Trace, Window};
use ops::reduction;

/// Records a reduction over axes, one of `LXLA_REDUCE_*`. SUM and PRODUCT keep the dtype, except that pred is summed
/// and multiplied as 0 and 1 in s64, as in NumPy. MAX and MIN of no elements are the lowest and highest value of the
/// dtype (infinities for floats). ALL and ANY take pred.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_reduce(
    op: i32,
    x: lxla_tensor,
    axes: List<i64>,
    n_axes: usize,
    keep_dims: i32,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_reduce", out_tensor.named("out_tensor"), || {
        let axes = axes_of(x, axes, n_axes)?;
        let (number, op, keep_dims) = (op as u32, ReduceOp::from_number(op)?, flag("keep_dims", keep_dims)?);
        let reduce = |trace: &mut Trace, [x]: [NodeId; 1]| reduction::reduce(trace, op, x, &axes, keep_dims);
        match CallKey::with_axes(Function::Reduce, number, &axes, keep_dims) {
            Some(key) => record_known(key, [("x", x.into())], reduce),
            None => record([("x", x.into())], reduce),
        }
    })
}

/// Records the mean of floats over axes. The mean of no elements is NaN.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_mean(
    x: lxla_tensor,
    axes: List<i64>,
    n_axes: usize,
    keep_dims: i32,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_mean", out_tensor.named("out_tensor"), || {
        let axes = axes_of(x, axes, n_axes)?;
        let keep_dims = flag("keep_dims", keep_dims)?;
        record([("x", x.into())], |trace, [x]| reduction::mean(trace, x, &axes, keep_dims))
    })
}

/// Records the variance of floats over axes: sum((x - mean)^2) / max(count - correction, 0). `correction` is finite:
/// 0 for a population, 1 for a sample. NaN or infinity if count <= correction, as in NumPy.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_variance(
    x: lxla_tensor,
    axes: List<i64>,
    n_axes: usize,
    correction: f64,
    keep_dims: i32,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_variance", out_tensor.named("out_tensor"), || {
        let axes = axes_of(x, axes, n_axes)?;
        let keep_dims = flag("keep_dims", keep_dims)?;
        record([("x", x.into())], |trace, [x]| reduction::variance(trace, x, &axes, correction, keep_dims))
    })
}

/// Records the standard deviation of floats over axes: the square root of `lxla_variance`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_standard_deviation(
    x: lxla_tensor,
    axes: List<i64>,
    n_axes: usize,
    correction: f64,
    keep_dims: i32,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_standard_deviation", out_tensor.named("out_tensor"), || {
        let axes = axes_of(x, axes, n_axes)?;
        let keep_dims = flag("keep_dims", keep_dims)?;
        record([("x", x.into())], |trace, [x]| reduction::standard_deviation(trace, x, &axes, correction, keep_dims))
    })
}

/// Records log(sum(e^x)) of floats or complex numbers over axes, without intermediate overflow. -infinity for no
/// elements. The imaginary part of a complex result is between -pi and pi.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_logsumexp(
    x: lxla_tensor,
    axes: List<i64>,
    n_axes: usize,
    keep_dims: i32,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_logsumexp", out_tensor.named("out_tensor"), || {
        let axes = axes_of(x, axes, n_axes)?;
        let keep_dims = flag("keep_dims", keep_dims)?;
        record([("x", x.into())], |trace, [x]| reduction::logsumexp(trace, x, &axes, keep_dims))
    })
}

/// Records the index, of `index_dtype`, of the largest element of x along `axis`: the first of equal elements, or the
/// first NaN if there is one, as in NumPy. Takes pred, integers and floats. INVALID_ARGUMENT if the axis is empty.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_argmax(
    x: lxla_tensor,
    axis: i64,
    keep_dims: i32,
    index_dtype: i32,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_argmax", out_tensor.named("out_tensor"), || {
        let (keep_dims, index_dtype) = (flag("keep_dims", keep_dims)?, index_dtype_of(index_dtype)?);
        record([("x", x.into())], |trace, [x]| reduction::arg_extreme(trace, x, axis, keep_dims, true, index_dtype))
    })
}

/// Records the index of the smallest element of x along `axis`: the first of equal elements, or the first NaN;
/// otherwise as `lxla_argmax`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_argmin(
    x: lxla_tensor,
    axis: i64,
    keep_dims: i32,
    index_dtype: i32,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_argmin", out_tensor.named("out_tensor"), || {
        let (keep_dims, index_dtype) = (flag("keep_dims", keep_dims)?, index_dtype_of(index_dtype)?);
        record([("x", x.into())], |trace, [x]| reduction::arg_extreme(trace, x, axis, keep_dims, false, index_dtype))
    })
}

/// Records the cumulative reduction of x along `axis` by `op`, one of `LXLA_REDUCE_*`: `cumsum`, `cumprod`, `cummax`,
/// `cummin`. Element i reduces the elements up to and including i; with `reverse` 1, those from i on. The result has
/// x's shape; dtypes are as in `lxla_reduce`. Work is at most proportional to the length of the axis times its
/// logarithm.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_cumulative(
    op: i32,
    x: lxla_tensor,
    axis: i64,
    reverse: i32,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_cumulative", out_tensor.named("out_tensor"), || {
        let (op, reverse) = (ReduceOp::from_number(op)?, flag("reverse", reverse)?);
        record([("x", x.into())], |trace, [x]| reduction::cumulative(trace, op, x, axis, reverse))
    })
}

/// Records `log(e^x[0] + ... + e^x[i])` for each element i along `axis`, as `jax.lax.cumlogsumexp`, without
/// intermediate overflow; with `reverse` 1, of the elements from i on. x is of floats or complex numbers, and of rank
/// 1 or more; the result has x's dtype and shape. The imaginary parts of complex results are between -pi and pi. Work
/// is proportional to the length of the axis times its logarithm.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_cumulative_logaddexp(
    x: lxla_tensor,
    axis: i64,
    reverse: i32,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_cumulative_logaddexp", out_tensor.named("out_tensor"), || {
        let reverse = flag("reverse", reverse)?;
        record([("x", x.into())], |trace, [x]| reduction::cumulative_logaddexp(trace, x, axis, reverse))
    })
}

/// Records a joint reduction of `n` inputs of one shape over axes by a computation. `body` takes `n` accumulators,
/// then `n` elements (all scalars), and returns `n`; it may capture scalars. `inits` are scalar tensors of the dtypes
/// of the inputs. `body` must be associative with `inits` as its identity: elements are combined in an order that
/// depends on the plugin, and `inits` any number of times. Returns `n` tensors.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_reduce_with(
    body: lxla_computation,
    inputs: List<lxla_tensor>,
    inits: List<lxla_tensor>,
    n: usize,
    axes: List<i64>,
    n_axes: usize,
    out_results: OutList<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_reduce_with", out_results.list("out_results", n), || {
        let (inputs, inits) = (handles("inputs", inputs, n)?, handles("inits", inits, n)?);
        let first = inputs.first().map_or(lxla_tensor { id: 0 }, |&input| input.into());
        let axes = axes_of(first, axes, n_axes)?;
        computation::reduce_with(&*computation_of("body", body)?, &inputs, &inits, &axes)
    })
}

/// Sets all fields after `struct_size` to their defaults.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_window_options_init(options: Out<lxla_window_options>) -> lxla_status {
    guard("lxla_window_options_init", || options::init(options))
}

/// Records the reduce_window of StableHLO: reduces the elements in each window over `n` inputs of one shape, as
/// `lxla_reduce_with`. Padding elements are `inits`. The options must not be NULL. Returns `n` tensors with one
/// element per window.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_reduce_window(
    body: lxla_computation,
    inputs: List<lxla_tensor>,
    inits: List<lxla_tensor>,
    n: usize,
    options: In<lxla_window_options>,
    out_results: OutList<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_reduce_window", out_results.list("out_results", n), || {
        let (inputs, inits) = (handles("inputs", inputs, n)?, handles("inits", inits, n)?);
        let windows = windows(options)?;
        computation::reduce_window(&*computation_of("body", body)?, &inputs, &inits, &windows)
    })
}

/// Records the select_and_scatter of StableHLO, the gradient of a pooling. In each window over x, `select` chooses
/// one element: it takes two elements in their order in x, and returns `pred[]`, true to keep the first. GE chooses
/// the first of the largest elements, GT the last of them. Padding is never chosen. The result has x's shape. It
/// starts as `init`, a scalar tensor of x's dtype; then each element of `source`, which has one element per window,
/// is combined into the position chosen in its window: `combiner` takes the element there and the element of source.
///
/// Elements removed by negative padding stay `init`. INVALID_ARGUMENT if padding removes more than an axis has, or a
/// dilation is not 1. The options must not be NULL. Neither computation may capture values.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_select_and_scatter(
    select: lxla_computation,
    combiner: lxla_computation,
    x: lxla_tensor,
    source: lxla_tensor,
    init: lxla_tensor,
    options: In<lxla_window_options>,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_select_and_scatter", out_tensor.named("out_tensor"), || {
        let windows = windows(options)?;
        let (select, combiner) = (computation_of("select", select)?, computation_of("combiner", combiner)?);
        computation::select_and_scatter(&select, &combiner, x.into(), source.into(), init.into(), &windows)
    })
}

/// Converts the caller's options to one window per axis.
fn windows(options: In<lxla_window_options>) -> Result<Vec<Window>> {
    let given = options::read_given(options)?;
    let rank = given.rank;
    let optional = |name, list, default| ranked_or(name, list, rank, default);
    let sizes = ranked("options.window_dimensions", given.window_dimensions, rank)?;
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
