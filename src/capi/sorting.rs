//! Chapter Sorting: sorts, top-k, unique elements and binary search.

use super::abi::arguments::{flag, index_dtype_of, optional_out, out};
use super::abi::guard::guard;
use super::abi::results::Results;
use super::computation::computation_of;
use super::tensor::handles;
use super::types::*;
use crate::{computation, tensor};

/// Records StableHLO's sort: `n` tensors of one shape, reordered alike along `axis` (negative: from the end). `comparator`
/// takes two elements of the first tensor, then two of the second, and so on, and gives `pred[]`: whether the first of each two
/// come before the second. It must be a strict order, false for equal elements: one comparison by LE, GE, EQ or NE is
/// INVALID_ARGUMENT. One comparison by LT or GT of the elements of a tensor sorts as `lxla_sort_along` does, NaN included;
/// otherwise NaN is the comparator's affair. It may capture scalars. With `stable` 1 equal elements stay in their order; natively they do in any case. Gives `n` tensors, one
/// reference each. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_sort(
    comparator: lxla_computation,
    inputs: *const lxla_tensor,
    n: usize,
    axis: i64,
    stable: i32,
    out_results: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_sort", || {
        // SAFETY: the caller's promise, see `capi`.
        let (inputs, mut places) =
            unsafe { (handles("inputs", inputs, n)?, Results::at("out_results", out_results, n)?) };
        let stable = flag("stable", stable)?;
        places.set(&computation::sort(&*computation_of("comparator", comparator)?, &inputs, axis, stable)?);
        Ok(())
    })
}

/// Records x sorted along `axis` (negative: from the end), ascending, or with `descending` 1 descending. NaN counts as greater
/// than every number, so that it is last (as in NumPy), or descending first; -0 and 0 are equal. On XLA's CPU so may
/// be 0 and denormal numbers, which stay as they are. Complex numbers are sorted as in NumPy, by real parts and where these are
/// equal by imaginary parts, with those behind all others of which the imaginary part is NaN, then the real part, then both. With
/// `stable` 1 equal elements stay in their order. Takes every dtype. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_sort_along(
    x: lxla_tensor,
    axis: i64,
    descending: i32,
    stable: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_sort_along", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        let (descending, stable) = (flag("descending", descending)?, flag("stable", stable)?);
        place.set(tensor::sort_along(x.into(), axis, descending, stable)?.into())
    })
}

/// Records the indices, of an integer dtype that can count the axis, that sort x as `lxla_sort_along` does. Gives one
/// reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_argsort(
    x: lxla_tensor,
    axis: i64,
    descending: i32,
    stable: i32,
    index_dtype: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_argsort", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        let (descending, stable) = (flag("descending", descending)?, flag("stable", stable)?);
        place.set(tensor::argsort(x.into(), axis, descending, stable, index_dtype_of(index_dtype)?)?.into())
    })
}

/// Records the `k` greatest elements of x along `axis` (negative: from the end), or with `largest` 0 the smallest, in order,
/// and their indices, of an integer dtype that can count the axis. Of equal ones the first come first; NaN and denormal
/// numbers count as in `lxla_sort_along`: NaN is the greatest, of either sign, and -0 equals 0, unlike in `chlo.top_k`, for
/// which there is `lxla_topk_total_order`. Complex numbers are ordered as there, too. Takes every dtype. Gives two tensors, one reference each. Any
/// thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_topk(
    x: lxla_tensor,
    k: i64,
    axis: i64,
    largest: i32,
    index_dtype: i32,
    out_values: *mut lxla_tensor,
    out_indices: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_topk", || {
        // SAFETY: the caller's promise, see `capi`.
        let (values, indices) = unsafe { (out("out_values", out_values)?, out("out_indices", out_indices)?) };
        let made = tensor::top_k(x.into(), k, axis, flag("largest", largest)?, index_dtype_of(index_dtype)?)?;
        values.set(made[0].into())?;
        indices.set(made[1].into())
    })
}

/// As `lxla_topk`, in the total order of floats (IEEE 754), as `chlo.top_k` has it: NaN with a sign bit,
/// -infinity, negative numbers, -0, 0, positive numbers, infinity, NaN without a sign bit; two NaN by their bits. Denormal
/// numbers are told from 0 on every device. 8-bit floats are ordered as the f32 that they convert to. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_topk_total_order(
    x: lxla_tensor,
    k: i64,
    axis: i64,
    largest: i32,
    index_dtype: i32,
    out_values: *mut lxla_tensor,
    out_indices: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_topk_total_order", || {
        // SAFETY: the caller's promise, see `capi`.
        let (values, indices) = unsafe { (out("out_values", out_values)?, out("out_indices", out_indices)?) };
        let largest = flag("largest", largest)?;
        let made = tensor::top_k_total_order(x.into(), k, axis, largest, index_dtype_of(index_dtype)?)?;
        values.set(made[0].into())?;
        indices.set(made[1].into())
    })
}

/// Records the different elements of x in ascending order, in a tensor `[size]`: JAX's `unique(size=, fill_value=)`. Where there
/// are fewer than `size`, the rest is `fill`, a scalar tensor of x's dtype, or if its id is 0 the least element; where there are
/// more, the first `size` are given. As in NumPy, NaN is greater than every number and all NaN are one (of complex numbers those
/// with a NaN in either part); 0 and -0 are equal, and of equal elements the first in row-major order is given. Complex numbers
/// are ordered by their real, then by their imaginary part.
///
/// Four more results, each if its place is not NULL, of `index_dtype`, an integer dtype that can count x's elements:
/// `out_indices`, `[size]`, where in row-major order each is first (where it is filled up: the least element's); `out_inverse`,
/// of x's shape, which of the different ones each element is (`size` or more, if there are more); `out_counts`, `[size]`, how
/// often each is there (where it is filled up: 0); `out_count`, a scalar, how many different ones there are in all.
///
/// Takes all dtypes and shapes. INVALID_ARGUMENT for an x without elements, if `size` is not 0 and `fill` is none. Gives one
/// reference each. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_unique(
    x: lxla_tensor,
    size: i64,
    fill: lxla_tensor,
    index_dtype: i32,
    out_values: *mut lxla_tensor,
    out_indices: *mut lxla_tensor,
    out_inverse: *mut lxla_tensor,
    out_counts: *mut lxla_tensor,
    out_count: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_unique", || {
        // SAFETY: the caller's promise, see `capi`.
        let (values, others) = unsafe {
            let others = [
                optional_out("out_indices", out_indices)?,
                optional_out("out_inverse", out_inverse)?,
                optional_out("out_counts", out_counts)?,
                optional_out("out_count", out_count)?,
            ];
            (out("out_values", out_values)?, others)
        };
        let is_wanted = others.each_ref().map(Option::is_some);
        let made = tensor::unique(x.into(), size, fill.into(), index_dtype_of(index_dtype)?, is_wanted)?;
        values.set(made[0].into())?;
        others.into_iter().flatten().zip(&made[1..]).try_for_each(|(place, &tensor)| place.set(tensor.into()))
    })
}

/// Records NumPy's searchsorted: for each of `values`, of any shape, the place in `sorted`, which has one axis and ascends, before
/// which it would be put: with `right` 0 before elements that are equal, with 1 behind them. NaN is greater than every number
/// and equal to itself, 0 and -0 are equal, complex numbers are in the order of `lxla_sort_along`. Both are converted to the dtype
/// that `lxla_binary` gives them. The result has the shape of `values` and an integer dtype that can count `sorted`. What comes
/// of a row that does not ascend is unspecified. Takes all dtypes. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_searchsorted(
    sorted: lxla_tensor,
    values: lxla_tensor,
    right: i32,
    index_dtype: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_searchsorted", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        let right = flag("right", right)?;
        place.set(tensor::searchsorted(sorted.into(), values.into(), right, index_dtype_of(index_dtype)?)?.into())
    })
}
