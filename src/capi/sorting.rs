//! Chapter Sorting: sorts, top-k, unique elements and binary search.

use super::abi::arguments::{flag, index_dtype_of, optional_out, out};
use super::abi::guard::{guard, guard_out};
use super::abi::results::Results;
use super::computation::computation_of;
use super::tensor::handles;
use super::types::*;
use crate::{computation, tensor};

/// Records the sort of StableHLO: `n` tensors of one shape, reordered jointly along `axis`. `comparator` takes two
/// elements of the first tensor, then two of the second, and so on, and returns `pred[]`: whether the first of each
/// pair precede the second. It must be a strict weak order, false for equal elements (INVALID_ARGUMENT for a single
/// comparison by LE, GE, EQ or NE); it may capture scalars. A single comparison by LT or GT of two elements of a
/// tensor orders NaN as `lxla_sort_along` does; any other comparator determines the position of NaN itself. With
/// `stable` 1 equal elements keep their order; eager sorts always do. Returns `n` tensors.
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

/// Records x sorted along `axis`, in ascending order, or with `descending` 1 in descending order. NaN counts as
/// greater than every number: last in ascending order, as in NumPy, and first in descending order. -0 and 0 are
/// equal; on XLA's CPU, so may be 0 and denormal numbers, which keep their values. Complex numbers are ordered as in
/// NumPy: by real part, then by imaginary part, followed by numbers with a NaN imaginary part, NaN real part, and
/// both. With `stable` 1 equal elements keep their order. All dtypes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_sort_along(
    x: lxla_tensor,
    axis: i64,
    descending: i32,
    stable: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    unsafe {
        guard_out("lxla_sort_along", out_tensor, || {
            let (descending, stable) = (flag("descending", descending)?, flag("stable", stable)?);
            tensor::sort_along(x.into(), axis, descending, stable)
        })
    }
}

/// Records the indices, of `index_dtype`, that sort x as `lxla_sort_along`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_argsort(
    x: lxla_tensor,
    axis: i64,
    descending: i32,
    stable: i32,
    index_dtype: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    unsafe {
        guard_out("lxla_argsort", out_tensor, || {
            let (descending, stable) = (flag("descending", descending)?, flag("stable", stable)?);
            tensor::argsort(x.into(), axis, descending, stable, index_dtype_of(index_dtype)?)
        })
    }
}

/// Records the `k` largest elements of x along `axis`, or with `largest` 0 the smallest, in order, and their indices,
/// of `index_dtype`. Equal elements are in order of their indices. NaN, denormal and complex numbers are ordered as
/// in `lxla_sort_along`: NaN of either sign is the largest, and -0 equals 0, unlike in `chlo.top_k` (see
/// `lxla_topk_total_order`). INVALID_ARGUMENT unless 0 <= k <= size of the axis. All dtypes.
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

/// As `lxla_topk`, in the total order of IEEE 754, as `chlo.top_k`: NaN with its sign bit set, -infinity, negative
/// numbers, -0, 0, positive numbers, infinity, other NaN; two NaN by their bits. Denormal numbers are distinct from 0
/// on every device. 8-bit floats are ordered by their values in f32. Not for complex numbers.
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

/// Records the distinct elements of x in ascending order, with shape `[size]`, as `unique(size=, fill_value=)` of
/// JAX. If there are fewer than `size`, the rest is `fill`, a scalar tensor of x's dtype, or the smallest element if
/// its id is 0; if there are more, the first `size` are returned. As in NumPy, NaN is greater than every number, and
/// all NaN are equal (as are complex numbers with a NaN in either part). -0 and 0 are equal; of equal elements, the
/// first in row-major order is returned. Complex numbers are ordered by real, then imaginary part.
///
/// Four further results, each of which may be NULL, have dtype `index_dtype`, which must represent the number of
/// elements of x:
///
/// - `out_indices`, `[size]`: index of the first occurrence in row-major order (of the smallest element in the filled
///   part).
/// - `out_inverse`, x's shape: position of each element in the distinct ones (`size` or more if it was cut off).
/// - `out_counts`, `[size]`: number of occurrences (0 in the filled part).
/// - `out_count`, a scalar: number of distinct elements.
///
/// All dtypes and shapes. INVALID_ARGUMENT if x is empty, `size` is not 0 and `fill` is 0.
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

/// Records, for each of `values` (any shape), the position at which it would be inserted into `sorted`, which has
/// rank 1 and is ascending, as `searchsorted` of NumPy: before equal elements with `right` 0, after them with 1. NaN
/// is greater than every number and equal to itself, -0 and 0 are equal, and complex numbers are ordered as in
/// `lxla_sort_along`. Dtypes promote as in `lxla_binary`. The result has the shape of `values` and dtype
/// `index_dtype`, which must represent the size of `sorted`. Unspecified if `sorted` is not ascending. All dtypes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_searchsorted(
    sorted: lxla_tensor,
    values: lxla_tensor,
    right: i32,
    index_dtype: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    unsafe {
        guard_out("lxla_searchsorted", out_tensor, || {
            let right = flag("right", right)?;
            tensor::searchsorted(sorted.into(), values.into(), right, index_dtype_of(index_dtype)?)
        })
    }
}
