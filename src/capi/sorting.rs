//! Chapter Sorting: sorts, top-k, unique elements and binary search.

use super::abi::arguments::{flag, index_dtype_of};
use super::abi::guard::guard_into;
use super::abi::pointers::{List, Out, OutList};
use super::abi::results::OptionalOutput;
use super::abi::types::{lxla_computation, lxla_status, lxla_tensor};
use super::computation::computation_of;
use super::tensor::{handles, optional_handle};
use crate::computation;
use crate::tensor::{record, record_optional};
use ir::NodeId;
use ops::sorting;

/// Records the sort of StableHLO: `n` tensors of one shape, reordered jointly along `axis`. `comparator` takes two
/// elements of the first tensor, then two of the second, and so on, and returns `pred[]`: whether the first of each
/// pair precede the second. It must be a strict weak order, false for equal elements (INVALID_ARGUMENT for a single
/// comparison by LE, GE, EQ or NE); it may capture scalars. A single comparison by LT or GT of two elements of a
/// tensor orders NaN as `lxla_sort_along` does; any other comparator determines the position of NaN itself. With
/// `stable` 1 equal elements keep their order; eager sorts always do. Returns `n` tensors.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_sort(
    comparator: lxla_computation,
    inputs: List<lxla_tensor>,
    n: usize,
    axis: i64,
    stable: i32,
    out_results: OutList<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_sort", out_results.list("out_results", n), || {
        let inputs = handles("inputs", inputs, n)?;
        let stable = flag("stable", stable)?;
        computation::sort(&*computation_of("comparator", comparator)?, &inputs, axis, stable)
    })
}

/// Records x sorted along `axis`, in ascending order, or with `descending` 1 in descending order. NaN counts as
/// greater than every number: last in ascending order, as in NumPy, and first in descending order. -0 and 0 are
/// equal; on XLA's CPU, so may be 0 and denormal numbers, which keep their values. Complex numbers are ordered as in
/// NumPy: by real part, then by imaginary part, followed by numbers with a NaN imaginary part, NaN real part, and
/// both. With `stable` 1 equal elements keep their order. All dtypes.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_sort_along(
    x: lxla_tensor,
    axis: i64,
    descending: i32,
    stable: i32,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_sort_along", out_tensor.named("out_tensor"), || {
        let (descending, stable) = (flag("descending", descending)?, flag("stable", stable)?);
        record([("x", x.into())], |trace, [x]| sorting::sort_along(trace, x, axis, descending, stable))
    })
}

/// Records the indices, of `index_dtype`, that sort x as `lxla_sort_along`. `lxla_topk` with `k` the size of the axis
/// returns the sorted values and their indices in one call.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_argsort(
    x: lxla_tensor,
    axis: i64,
    descending: i32,
    stable: i32,
    index_dtype: i32,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_argsort", out_tensor.named("out_tensor"), || {
        let (descending, stable) = (flag("descending", descending)?, flag("stable", stable)?);
        let index_dtype = index_dtype_of(index_dtype)?;
        record([("x", x.into())], |trace, [x]| sorting::argsort(trace, x, axis, descending, stable, index_dtype))
    })
}

/// Records the `k` largest elements of x along `axis`, or with `largest` 0 the smallest, in order, and their indices,
/// of `index_dtype`. Equal elements are in order of their indices. NaN, denormal and complex numbers are ordered as
/// in `lxla_sort_along`: NaN of either sign is the largest, and -0 equals 0, unlike in `chlo.top_k` (see
/// `lxla_topk_total_order`). INVALID_ARGUMENT unless 0 <= k <= size of the axis. All dtypes.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_topk(
    x: lxla_tensor,
    k: i64,
    axis: i64,
    largest: i32,
    index_dtype: i32,
    out_values: Out<lxla_tensor>,
    out_indices: Out<lxla_tensor>,
) -> lxla_status {
    let outputs = [out_values.named("out_values"), out_indices.named("out_indices")];
    guard_into("lxla_topk", outputs, || {
        let (largest, index_dtype) = (flag("largest", largest)?, index_dtype_of(index_dtype)?);
        record([("x", x.into())], |trace, [x]| sorting::top_k(trace, x, k, axis, largest, index_dtype))
    })
}

/// As `lxla_topk`, in the total order of IEEE 754, as `chlo.top_k`: NaN with its sign bit set, -infinity, negative
/// numbers, -0, 0, positive numbers, infinity, other NaN; two NaN by their bits. Denormal numbers are distinct from 0
/// on every device. 8-bit floats are ordered by their values in f32. Not for complex numbers.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_topk_total_order(
    x: lxla_tensor,
    k: i64,
    axis: i64,
    largest: i32,
    index_dtype: i32,
    out_values: Out<lxla_tensor>,
    out_indices: Out<lxla_tensor>,
) -> lxla_status {
    let outputs = [out_values.named("out_values"), out_indices.named("out_indices")];
    guard_into("lxla_topk_total_order", outputs, || {
        let (largest, index_dtype) = (flag("largest", largest)?, index_dtype_of(index_dtype)?);
        record([("x", x.into())], |trace, [x]| sorting::top_k_total_order(trace, x, k, axis, largest, index_dtype))
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
pub extern "C" fn lxla_unique(
    x: lxla_tensor,
    size: i64,
    fill: lxla_tensor,
    index_dtype: i32,
    out_values: Out<lxla_tensor>,
    out_indices: Out<lxla_tensor>,
    out_inverse: Out<lxla_tensor>,
    out_counts: Out<lxla_tensor>,
    out_count: Out<lxla_tensor>,
) -> lxla_status {
    let others = [
        out_indices.optional("out_indices"),
        out_inverse.optional("out_inverse"),
        out_counts.optional("out_counts"),
        out_count.optional("out_count"),
    ];
    let wanted = others.each_ref().map(OptionalOutput::is_wanted);
    guard_into("lxla_unique", (out_values.named("out_values"), others), || {
        let index_dtype = index_dtype_of(index_dtype)?;
        let fill = [("fill", optional_handle(fill))];
        let made = record_optional([("x", x.into())], fill, |trace, [x], fill| {
            let [values, others @ ..] = sorting::unique(trace, x, size, fill[0], index_dtype)?;
            let asked = others.into_iter().zip(wanted).filter(|(_, is_wanted)| *is_wanted).map(|(id, _)| id);
            Ok(std::iter::once(values).chain(asked).collect::<Vec<NodeId>>())
        })?;
        let mut made = made.into_iter();
        let values = made.next().expect("values are first");
        Ok((values, wanted.map(|is_wanted| if is_wanted { made.next() } else { None })))
    })
}

/// Records, for each of `values` (any shape), the position at which it would be inserted into `sorted`, which has
/// rank 1 and is ascending, as `searchsorted` of NumPy: before equal elements with `right` 0, after them with 1. With
/// more axes, `sorted` has ascending rows along its last axis, and each is searched for the row of `values` at the same
/// position of the other axes, which are equal, as `torch.searchsorted`. NaN is greater than every number and equal to
/// itself, -0 and 0 are equal, and complex numbers are ordered as in `lxla_sort_along`. Dtypes promote as in
/// `lxla_binary`. The result has the shape of `values` and dtype `index_dtype`, which must represent the size of a row.
/// Unspecified if `sorted` is not ascending. All dtypes.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_searchsorted(
    sorted: lxla_tensor,
    values: lxla_tensor,
    right: i32,
    index_dtype: i32,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_searchsorted", out_tensor.named("out_tensor"), || {
        let (right, index_dtype) = (flag("right", right)?, index_dtype_of(index_dtype)?);
        let operands = [("sorted", sorted.into()), ("values", values.into())];
        record(operands, |trace, [sorted, values]| sorting::searchsorted(trace, sorted, values, right, index_dtype))
    })
}
