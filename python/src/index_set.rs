//! Writing by `x[key] = value`: the array's value is replaced; other arrays that had it keep the old one.

use crate::array::Array;
use crate::dtype::{kind, name};
use crate::index::{Key, Region, expanded, flag, operands, parse, ranges, reshape, shape, slice};
use crate::sys::*;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

pub fn set(py: Python<'_>, array: &Array, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let mask = key.cast::<Array>().ok().map(|mask| mask.get());
    if let Some(mask) = mask
        && mask.dtype()? == LXLA_DTYPE_PRED
    {
        let value = value_of(py, array, value)?;
        if let Some(result) = by_mask(py, array, mask, &value)? {
            return array.assign(&result);
        }
    }
    if let Some(flag) = flag(py, key)? {
        return by_flag(py, array, flag, value_of(py, array, value)?);
    }
    let key = parse(py, array, key)?;
    let value = value_of(py, array, value)?;
    let widened = key.widened(py, array)?;
    let wide = widened.as_ref().unwrap_or(array);
    let result = if key.has_arrays() {
        by_arrays(py, LXLA_SCATTER_COPY, wide, &key, value)?
    } else {
        by_ranges(py, wide, &key, value)?
    };
    array.assign(&reshape(py, result, &array.dims()?)?)
}

/// Returns the array with a value combined with the elements at `key`, by each of its updates where indices are equal;
/// None if the key has no index arrays.
#[pyfunction]
fn index_put(
    py: Python<'_>,
    op: i32,
    x: &Array,
    key: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
) -> PyResult<Option<Array>> {
    let key = parse(py, x, key)?;
    if !key.has_arrays() {
        return Ok(None);
    }
    let value = value_of(py, x, value)?;
    let widened = key.widened(py, x)?;
    let result = by_arrays(py, op, widened.as_ref().unwrap_or(x), &key, value)?;
    reshape(py, result, &x.dims()?).map(Some)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(index_put, module)?)
}

/// Returns the value in the array's dtype and on its device.
fn value_of(py: Python<'_>, array: &Array, value: &Bound<'_, PyAny>) -> PyResult<Array> {
    let (dtype, device) = (array.dtype()?, array.device()?);
    let object = Py::new(py, crate::device::Device { device })?;
    if let Some(scalar) = crate::scalar::Scalar::of(value)? {
        scalar.beside(dtype)?;
        let options = (value, crate::dtype::object(py, dtype)?, object);
        let made = py.import("lazyxla._core")?.getattr("from_nested")?.call1(options)?;
        return made.cast::<Array>()?.get().convert(py, dtype);
    }
    let made = match value.cast::<Array>() {
        Ok(array) => array.clone(),
        Err(_) => {
            let options = pyo3::types::PyDict::new(py);
            options.set_item("device", object)?;
            py.import("lazyxla")?.getattr("asarray")?.call((value,), Some(&options))?.cast_into::<Array>()?
        }
    };
    let given = made.get().dtype()?;
    if order(given) > order(dtype) {
        let (given, dtype) = (name(given), name(dtype));
        return Err(PyTypeError::new_err(format!("values of {given} in an array of {dtype}; convert them by astype")));
    }
    made.get().convert(py, dtype)
}

fn order(dtype: i32) -> i32 {
    match kind(dtype) {
        LXLA_KIND_PRED => 0,
        LXLA_KIND_SIGNED | LXLA_KIND_UNSIGNED => 1,
        LXLA_KIND_FLOAT => 2,
        _ => 3,
    }
}

/// `x[mask] = value` by a selection, if the value broadcasts to the rows of x. Reads nothing.
fn by_mask(py: Python<'_>, array: &Array, mask: &Array, value: &Array) -> PyResult<Option<Array>> {
    let (dims, mut shape, mut values) = (array.dims()?, mask.dims()?, value.dims()?);
    if shape.len() > dims.len() || dims[..shape.len()] != shape {
        return Ok(None);
    }
    let surplus = values.len().saturating_sub(dims.len() - shape.len());
    if values.drain(..surplus).any(|size| size != 1) {
        return Ok(None);
    }
    // Values that do not fit the rows are an error of the general way.
    let fits = values.iter().rev().zip(dims.iter().rev()).all(|(&given, &size)| given == size || given == 1);
    if !fits {
        return Ok(None);
    }
    shape.resize(dims.len(), 1);
    let mask = reshape(py, mask.convert(py, LXLA_DTYPE_PRED)?, &shape)?;
    let value = reshape(py, value.copy()?, &values)?;
    let (chosen, value, handle) = (mask.operand(), value.operand(), array.operand());
    // SAFETY: a writable output.
    Array::detached(py, move |out| unsafe { lxla_select(chosen, value, handle, out) }).map(Some)
}

/// `x[flag] = value`: a value with a new first axis, of size 1 if the bool is true, else 0.
fn by_flag(py: Python<'_>, array: &Array, flag: bool, value: Array) -> PyResult<()> {
    let dims = array.dims()?;
    let value = without_leading_ones(py, value, dims.len() + 1)?;
    let value = broadcast(py, &value, &[&[flag.into()], &dims[..]].concat())?;
    if flag { array.assign(&reshape(py, value, &dims)?) } else { Ok(()) }
}

fn broadcast(py: Python<'_>, value: &Array, dims: &[i64]) -> PyResult<Array> {
    let (handle, dims) = (value.operand(), dims.to_vec());
    // SAFETY: a list of its length, and a writable output.
    Array::detached(py, move |out| unsafe { lxla_broadcast_to(handle, dims.as_ptr(), dims.len(), out) })
}

/// `x[ranges] = value`.
fn by_ranges(py: Python<'_>, array: &Array, key: &Key, value: Array) -> PyResult<Array> {
    let dims = array.dims()?;
    let part = ranges(&key.axes, &dims);
    let sizes: Vec<i64> =
        (0..dims.len()).map(|i| (part.limits[i] - part.starts[i] + part.strides[i] - 1) / part.strides[i]).collect();
    let wanted = shape(key, &sizes);
    let value = without_leading_ones(py, value, wanted.len())?;
    let value = reshape(py, broadcast(py, &value, &wanted)?, &sizes)?;
    assign_box(py, array, &part, value)
}

/// NumPy drops leading axes of size 1 of a value that has more axes than its place.
fn without_leading_ones(py: Python<'_>, value: Array, rank: usize) -> PyResult<Array> {
    let dims = value.dims()?;
    let surplus = dims.len().saturating_sub(rank);
    if dims[..surplus].iter().any(|&size| size != 1) {
        return Err(PyValueError::new_err(format!("values of shape {dims:?} for a place of rank {rank}")));
    }
    reshape(py, value, &dims[surplus..])
}

fn assign_box(py: Python<'_>, array: &Array, part: &Region, value: Array) -> PyResult<Array> {
    let value = if part.reversed.is_empty() {
        value
    } else {
        let (handle, axes) = (value.operand(), &part.reversed);
        // SAFETY: a list of its length, and a writable output.
        Array::detached(py, move |out| unsafe { lxla_flip(handle, axes.as_ptr(), axes.len(), out) })?
    };
    let (x, values) = (array.operand(), value.operand());
    // SAFETY: three lists of one length, and a writable output.
    Array::detached(py, move |out| unsafe {
        let (starts, limits, strides) = (part.starts.as_ptr(), part.limits.as_ptr(), part.strides.as_ptr());
        lxla_slice_assign(x, starts, limits, strides, part.starts.len(), values, out)
    })
}

/// Inserts the axis of a gap, which has some axes behind it, into a value.
fn with_gap(py: Python<'_>, value: Array, behind: usize) -> PyResult<Array> {
    let mut dims = value.dims()?;
    if dims.len() > behind {
        dims.insert(dims.len() - behind, 1);
    }
    reshape(py, value, &dims)
}

/// Combines a value with the elements at a key with index arrays: within the part of x that the ranges select, which is
/// then written back.
fn by_arrays(py: Python<'_>, op: i32, array: &Array, key: &Key, value: Array) -> PyResult<Array> {
    let value = without_leading_ones(py, value, key.rank()?)?;
    let value = match key.gap {
        Some(gap) => with_gap(py, value, key.behind(gap))?,
        None => value,
    };
    let part = slice(py, array, &key.axes)?;
    let sizes = part.dims()?;
    let wide = reshape(py, part, &expanded(key, &sizes))?;
    let (_kept, handles) = operands(py, key, wide.device()?)?;
    let (x, values, list) = (wide.operand(), value.operand(), &handles);
    // SAFETY: a list of its length, with handles that `key` and `_kept` hold, and a writable output.
    let written =
        Array::detached(py, move |out| unsafe { lxla_index_put(op, x, list.as_ptr(), list.len(), values, out) })?;
    let written = reshape(py, written, &sizes)?;
    let region = ranges(&key.axes, &array.dims()?);
    if region.is_whole && region.reversed.is_empty() { Ok(written) } else { assign_box(py, array, &region, written) }
}
