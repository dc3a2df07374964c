//! Chapter Operations: selections by masks and by values, several arrays of indices, and assignment to slices.

use super::arguments::{Out, flag, out, ranked, slice_mut};
use super::guard::guard;
use super::sort::index;
use super::tensor::handles;
use super::types::*;
use crate::error::Result;
use crate::ir::ScatterOp;
use crate::tensor;

/// A place for a result, or none where it is not wanted.
unsafe fn wanted(name: &str, place: *mut lxla_tensor) -> Result<Option<Out<lxla_tensor>>> {
    // SAFETY: the caller's promise.
    if place.is_null() { Ok(None) } else { unsafe { out(name, place) }.map(Some) }
}

/// Records where x is not 0 (NaN is not 0; a complex number is 0 if both its parts are): `n_indices` tensors of `index_dtype`,
/// one for each of x's axes, of shape `[size]`, with the places in row-major order; JAX's `nonzero(size=, fill_value=)`. Where
/// there are fewer places than `size`, the rest of each is `fill`; where there are more, the first `size` are given.
/// `out_count`, if it is not NULL, gets how many there are in all, a scalar of `index_dtype`, an integer dtype that can count
/// each axis. Takes all dtypes and at least one axis. Gives one reference each. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_nonzero(
    x: lxla_tensor,
    size: i64,
    fill: i64,
    index_dtype: i32,
    out_indices: *mut lxla_tensor,
    n_indices: usize,
    out_count: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_nonzero", || {
        // SAFETY: the caller's promise, see `capi`.
        let (places, count) =
            unsafe { (slice_mut("out_indices", out_indices, n_indices)?, wanted("out_count", out_count)?) };
        let mut made = tensor::nonzero(x.into(), size, fill, index(index_dtype)?, n_indices)?;
        let counted = made.pop().expect("the count is last");
        places.iter_mut().zip(made).for_each(|(place, tensor)| *place = tensor.into());
        give_or_release(count, counted.into())
    })
}

fn give_or_release(place: Option<Out<lxla_tensor>>, tensor: lxla_tensor) -> Result<()> {
    match place {
        Some(place) => place.set(tensor),
        None => crate::device::release(tensor.into()),
    }
}

/// Records NumPy's `x[mask]` of a stated size: the slices of x where `mask`, a pred tensor of the shape of x's first axes (at
/// least one), is true, in row-major order, in a tensor `[size, x's other axes]`. Where there are fewer than `size`, the rest
/// is `fill`, a scalar tensor of x's dtype; where there are more, the first `size` are given. `out_count`, if it is not NULL,
/// gets how many there are in all, a scalar of `index_dtype`, an integer dtype that can count the mask's elements. `x[mask] = y`
/// is `lxla_select` where y broadcasts. Takes all dtypes. Gives one reference each. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_mask_select(
    x: lxla_tensor,
    mask: lxla_tensor,
    size: i64,
    fill: lxla_tensor,
    index_dtype: i32,
    out_tensor: *mut lxla_tensor,
    out_count: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_mask_select", || {
        // SAFETY: the caller's promise, see `capi`.
        let (place, count) = unsafe { (out("out_tensor", out_tensor)?, wanted("out_count", out_count)?) };
        let made = tensor::mask_select(x.into(), mask.into(), size, fill.into(), index(index_dtype)?)?;
        place.set(made[0].into())?;
        give_or_release(count, made[1].into())
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
                wanted("out_indices", out_indices)?,
                wanted("out_inverse", out_inverse)?,
                wanted("out_counts", out_counts)?,
                wanted("out_count", out_count)?,
            ];
            (out("out_values", out_values)?, others)
        };
        let is_wanted = others.each_ref().map(Option::is_some);
        let made = tensor::unique(x.into(), size, fill.into(), index(index_dtype)?, is_wanted)?;
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
        place.set(tensor::searchsorted(sorted.into(), values.into(), right, index(index_dtype)?)?.into())
    })
}

/// Records NumPy's indexing by several arrays at once, `x[i, :, j]`: `indices[a]` is a tensor of integers of any shape for x's
/// axis `a`, or has id 0 for the whole axis; further axes are whole. The arrays broadcast together. In the result their common
/// shape stands where their axes were, if those are next to each other, else before all whole axes, as in NumPy. A negative
/// index counts from the end; one beyond either end is clamped to it. Dtypes of indices may differ; a mask is no index (see
/// `lxla_nonzero`). Without any array the result is x. Takes all dtypes. INVALID_ARGUMENT for an axis without elements, unless
/// the result has none. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_index(
    x: lxla_tensor,
    indices: *const lxla_tensor,
    n_indices: usize,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_index", || {
        // SAFETY: the caller's promise, see `capi`.
        let (indices, place) = unsafe { (handles("indices", indices, n_indices)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::index(x.into(), &indices)?.into())
    })
}

/// Records x with `values` combined into the elements that `lxla_index` would take with these indices, as `op`, one of
/// `LXLA_SCATTER_*`, says: `x[i, :, j] = y` and `x[i, :, j] += y`, NumPy's `add.at`. `values` have x's dtype and broadcast to
/// the shape that `lxla_index` gives. A negative index counts from the end; what is beyond an end is dropped. Where several
/// values meet one element, the same holds as for `lxla_scatter_along`, and the same dtypes are taken. Gives one reference. Any
/// thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_index_put(
    op: i32,
    x: lxla_tensor,
    indices: *const lxla_tensor,
    n_indices: usize,
    values: lxla_tensor,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_index_put", || {
        // SAFETY: the caller's promise, see `capi`.
        let (indices, place) = unsafe { (handles("indices", indices, n_indices)?, out("out_tensor", out_tensor)?) };
        let op = ScatterOp::from_number(op)?;
        place.set(tensor::index_put(op, x.into(), &indices, values.into())?.into())
    })
}

/// Records x with `values` in the place of `x[start : limit : stride]` on each of `rank` axes, which are given as to
/// `lxla_slice` (NULL strides are all 1): `x[a:b:c] = y`. `values` have x's dtype and broadcast to the slice's shape. Where x's
/// old buffer is donated, a slice without strides is written in place, and its starts are scalars: when they change, one more
/// program is compiled, once. The positions of a slice with strides are part of the program, like those of `lxla_slice`. Takes all
/// dtypes. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_slice_assign(
    x: lxla_tensor,
    starts: *const i64,
    limits: *const i64,
    strides: *const i64,
    rank: usize,
    values: lxla_tensor,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_slice_assign", || {
        // SAFETY: the caller's promise, see `capi`.
        let (starts, limits, strides, place) = unsafe {
            (
                ranked("starts", starts, rank)?,
                ranked("limits", limits, rank)?,
                if strides.is_null() { None } else { Some(ranked("strides", strides, rank)?) },
                out("out_tensor", out_tensor)?,
            )
        };
        place.set(tensor::slice_assign(x.into(), starts, limits, strides, values.into())?.into())
    })
}
