//! The library's functions on arrays, each as a function of Python with the same arguments: creation, elementwise
//! operations, shapes, indexing, sorting, reductions.

use crate::array::Array;
use crate::device::{On, env};
use crate::dtype::Code;
use crate::operators::{Operation, apply};
use crate::scalar::Scalar;
use crate::sys::*;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::ffi::CString;
use std::ptr::null;

/// A call with one result, of handles, numbers and lists that live until it has returned.
macro_rules! one {
    ($py:expr, |$out:ident| $call:expr) => {
        // SAFETY: lists are passed with their lengths, and the output is writable.
        Array::detached($py, move |$out| unsafe { $call })
    };
}
pub(crate) use one;

/// A list of axes, or None for all of them.
pub type Axes = Option<Vec<i64>>;

/// Pointer and length of a list of axes. An empty list, which selects none, is not NULL.
pub fn list(axes: &Axes) -> (*const i64, usize) {
    axes.as_ref().map_or((null(), 0), |axes| (axes.as_ptr(), axes.len()))
}

pub fn scalar(object: &Bound<'_, PyAny>) -> PyResult<Scalar> {
    crate::host::leaf(object)
}

#[pyfunction]
fn full(py: Python<'_>, shape: Vec<i64>, value: &Bound<'_, PyAny>, dtype: Code, device: On) -> PyResult<Array> {
    let value = scalar(value)?;
    crate::host::refuse_lossy(value, dtype.0)?;
    let value = value.cast(dtype.0)?;
    one!(py, |out| lxla_tensor_full_with_scalar(env(), device.0, dtype.0, shape.as_ptr(), shape.len(), &value, out))
}

#[pyfunction]
fn arange(
    py: Python<'_>,
    start: &Bound<'_, PyAny>,
    stop: &Bound<'_, PyAny>,
    step: &Bound<'_, PyAny>,
    dtype: Code,
    device: On,
) -> PyResult<Array> {
    let (start, stop, step) = (scalar(start)?.in_c(), scalar(stop)?.in_c(), scalar(step)?.in_c());
    one!(py, |out| lxla_arange_with_scalars(env(), device.0, dtype.0, &start, &stop, &step, out))
}

#[pyfunction]
fn linspace(
    py: Python<'_>,
    start: &Bound<'_, PyAny>,
    stop: &Bound<'_, PyAny>,
    count: i64,
    endpoint: bool,
    dtype: Code,
    device: On,
) -> PyResult<Array> {
    let (start, stop) = (scalar(start)?.in_c(), scalar(stop)?.in_c());
    one!(py, |out| lxla_linspace_with_scalars(env(), device.0, dtype.0, &start, &stop, count, endpoint.into(), out))
}

#[pyfunction]
fn eye(py: Python<'_>, rows: i64, columns: i64, k: i64, dtype: Code, device: On) -> PyResult<Array> {
    one!(py, |out| lxla_eye(env(), device.0, dtype.0, rows, columns, k, out))
}

#[pyfunction]
fn placeholder_like(py: Python<'_>, x: &Array) -> PyResult<Array> {
    let x = x.handle;
    one!(py, |out| lxla_tensor_placeholder_like(x, out))
}

#[pyfunction]
fn placeholder(py: Python<'_>, shape: Vec<i64>, dtype: Code, device: On) -> PyResult<Array> {
    one!(py, |out| lxla_tensor_placeholder(env(), device.0, dtype.0, shape.as_ptr(), shape.len(), out))
}

#[pyfunction]
fn triangle(py: Python<'_>, x: &Array, k: i64, upper: bool) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| if upper { lxla_triu(x, k, out) } else { lxla_tril(x, k, out) })
}

#[pyfunction]
fn one_hot(py: Python<'_>, indices: &Array, depth: i64, axis: i64, dtype: Code) -> PyResult<Array> {
    let x = indices.operand();
    one!(py, |out| lxla_one_hot(x, depth, axis, dtype.0, out))
}

#[pyfunction]
fn unary(py: Python<'_>, op: i32, x: &Array) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| lxla_unary(op, x, out))
}

#[pyfunction]
fn special(py: Python<'_>, op: i32, x: &Array) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| lxla_special(op, x, out))
}

/// `lxla_binary`, or with `compare` `lxla_compare`, of two arrays, or of an array and a scalar on either side.
#[pyfunction]
fn binary(
    py: Python<'_>,
    op: i32,
    x1: &Bound<'_, PyAny>,
    x2: &Bound<'_, PyAny>,
    compare: bool,
    right_shift: bool,
) -> PyResult<Array> {
    let (array, other, swapped) = match (x1.cast::<Array>(), x2.cast::<Array>()) {
        (Ok(lhs), _) => (lhs.get(), x2, false),
        (_, Ok(rhs)) => (rhs.get(), x1, true),
        _ => return Err(PyTypeError::new_err("one of the two operands has to be an array")),
    };
    let op = if right_shift { crate::operators::shift_right(array)? } else { op };
    let op = if compare { Operation::Compare(op) } else { Operation::Binary(op) };
    let kind = other.get_type().name()?;
    let found = apply(py, op, array, other, swapped)?;
    found.ok_or_else(|| PyTypeError::new_err(format!("an array or a Python scalar is wanted, not a {kind}")))
}

#[pyfunction]
fn select(py: Python<'_>, condition: &Array, x1: &Array, x2: &Array) -> PyResult<Array> {
    let (p, a, b) = (condition.operand(), x1.operand(), x2.operand());
    one!(py, |out| lxla_select(p, a, b, out))
}

/// Returns a scalar as an array of rank 0 for an operation with x: in x's dtype, or in the complex one for a complex
/// number beside floats. A scalar of NumPy keeps its dtype.
#[pyfunction]
fn scalar_like(py: Python<'_>, value: &Bound<'_, PyAny>, x: &Array) -> PyResult<Array> {
    let (dtype, device) = (x.dtype()?, x.device()?);
    let Some(given) = Scalar::of(value)? else {
        let kind = value.get_type().name()?;
        let made = crate::host::numpy_operand(value, device)?;
        return made.ok_or_else(|| PyTypeError::new_err(format!("an array or a scalar is wanted, not a {kind}")));
    };
    let dtype = given.widened(dtype).unwrap_or(dtype);
    let given = given.beside(dtype)?;
    crate::host::refuse_lossy(given, dtype)?;
    let given = given.cast(dtype)?;
    one!(py, |out| lxla_tensor_full_with_scalar(env(), device, dtype, null(), 0, &given, out))
}

#[pyfunction]
fn clamp(py: Python<'_>, min: &Array, x: &Array, max: &Array) -> PyResult<Array> {
    let (min, x, max) = (min.operand(), x.operand(), max.operand());
    one!(py, |out| lxla_clamp(min, x, max, out))
}

#[pyfunction]
fn convert(py: Python<'_>, x: &Array, dtype: Code) -> PyResult<Array> {
    x.convert(py, dtype.0)
}

#[pyfunction]
fn complex_of(py: Python<'_>, re: &Array, im: &Array) -> PyResult<Array> {
    let (re, im) = (re.operand(), im.operand());
    one!(py, |out| lxla_complex(re, im, out))
}

#[pyfunction]
fn part(py: Python<'_>, x: &Array, imaginary: bool) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| if imaginary { lxla_imag(x, out) } else { lxla_real(x, out) })
}

#[pyfunction]
fn bitcast(py: Python<'_>, x: &Array, dtype: Code) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| lxla_bitcast_convert(x, dtype.0, out))
}

#[pyfunction]
fn stop_gradient(py: Python<'_>, x: &Array) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| lxla_stop_gradient(x, out))
}

#[pyfunction]
fn reshape(py: Python<'_>, x: &Array, shape: Vec<i64>) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| lxla_reshape(x, shape.as_ptr(), shape.len(), out))
}

#[pyfunction]
fn broadcast_to(py: Python<'_>, x: &Array, shape: Vec<i64>) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| lxla_broadcast_to(x, shape.as_ptr(), shape.len(), out))
}

#[pyfunction]
fn transpose(py: Python<'_>, x: &Array, axes: Vec<i64>) -> PyResult<Array> {
    if axes.len() != x.dims()?.len() {
        return Err(PyValueError::new_err(format!("{} axes for an array of rank {}", axes.len(), x.dims()?.len())));
    }
    let x = x.operand();
    one!(py, |out| lxla_transpose(x, axes.as_ptr(), axes.len(), out))
}

#[pyfunction]
fn flip(py: Python<'_>, x: &Array, axes: Axes) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| {
        let (axes, n) = list(&axes);
        lxla_flip(x, axes, n, out)
    })
}

#[pyfunction]
fn roll(py: Python<'_>, x: &Array, shifts: Vec<i64>, axes: Vec<i64>) -> PyResult<Array> {
    if shifts.len() != axes.len() {
        return Err(PyValueError::new_err(format!("{} shifts for {} axes", shifts.len(), axes.len())));
    }
    let x = x.operand();
    one!(py, |out| lxla_roll(x, shifts.as_ptr(), axes.as_ptr(), axes.len(), out))
}

#[pyfunction]
fn squeeze(py: Python<'_>, x: &Array, axes: Vec<i64>) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| lxla_squeeze(x, axes.as_ptr(), axes.len(), out))
}

#[pyfunction]
fn expand_dims(py: Python<'_>, x: &Array, axes: Vec<i64>) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| lxla_expand_dims(x, axes.as_ptr(), axes.len(), out))
}

/// The handles of arrays, which have to be held until the call has returned.
pub fn handles(arrays: &[PyRef<'_, Array>]) -> Vec<lxla_tensor> {
    arrays.iter().map(|array| array.operand()).collect()
}

/// Concatenation along an axis, or with `stack` along a new one.
#[pyfunction]
fn join(py: Python<'_>, arrays: Vec<PyRef<'_, Array>>, axis: i64, stack: bool) -> PyResult<Array> {
    let of = handles(&arrays);
    if of.is_empty() {
        return Err(PyValueError::new_err("at least one array is wanted"));
    }
    one!(py, |out| {
        let join = if stack { lxla_stack } else { lxla_concatenate };
        join(of.as_ptr(), of.len(), axis, out)
    })
}

#[pyfunction]
fn tile(py: Python<'_>, x: &Array, repeats: Vec<i64>) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| lxla_tile(x, repeats.as_ptr(), repeats.len(), out))
}

#[pyfunction]
fn repeat(py: Python<'_>, x: &Array, repeats: i64, axis: i64) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| lxla_repeat(x, repeats, axis, out))
}

#[pyfunction]
fn slice_axis(py: Python<'_>, x: &Array, axis: i64, start: i64, stop: i64, step: i64) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| lxla_slice_axis(x, axis, start, stop, step, out))
}

#[pyfunction]
fn pad(py: Python<'_>, x: &Array, value: &Bound<'_, PyAny>, low: Vec<i64>, high: Vec<i64>) -> PyResult<Array> {
    let rank = x.dims()?.len();
    if low.len() != rank || high.len() != rank {
        return Err(PyValueError::new_err(format!("paddings are lists of {rank} numbers, one for each axis")));
    }
    let (x, value) = (x.operand(), scalar(value)?.in_c());
    one!(py, |out| lxla_pad_with_scalar(x, &value, low.as_ptr(), high.as_ptr(), null(), rank, out))
}

#[pyfunction]
fn take(py: Python<'_>, x: &Array, indices: &Array, axis: i64) -> PyResult<Array> {
    let (x, indices) = (x.operand(), indices.operand());
    one!(py, |out| lxla_take(x, indices, axis, out))
}

#[pyfunction]
fn take_along_axis(py: Python<'_>, x: &Array, indices: &Array, axis: i64) -> PyResult<Array> {
    let (x, indices) = (x.operand(), indices.operand());
    one!(py, |out| lxla_take_along_axis(x, indices, axis, out))
}

/// Returns the indices of the elements of x that are not 0. Reads x.
#[pyfunction]
fn nonzero(py: Python<'_>, x: &Array) -> PyResult<Vec<Array>> {
    let x = x.value()?;
    crate::device::wait_for_value(py, &x)?;
    let mask = crate::trace::outside(|| Python::attach(|py| x.convert(py, LXLA_DTYPE_PRED)))?;
    crate::masks::places(py, &mask)
}

/// Returns a snapshot of an array, with a value even if a function is traced that captures the array.
#[pyfunction]
fn value_of(py: Python<'_>, x: &Array) -> PyResult<Array> {
    crate::device::wait_for_value(py, x)?;
    x.value()
}

#[pyfunction]
fn mask_count(py: Python<'_>, mask: &Array) -> PyResult<i64> {
    crate::index::count(py, mask)
}

/// Values, indices, inverse, counts, and the number of distinct elements.
#[pyfunction]
#[pyo3(signature = (x, size, fill=None))]
fn unique(py: Python<'_>, x: &Array, size: i64, fill: Option<&Array>) -> PyResult<[Array; 5]> {
    let x = x.operand();
    let fill = fill.map_or(lxla_tensor { id: 0 }, Array::operand);
    Array::several(py, move |out| {
        let at: *mut lxla_tensor = out.as_mut_ptr();
        // SAFETY: five outputs in one array.
        unsafe { lxla_unique(x, size, fill, LXLA_DTYPE_S64, at, at.add(1), at.add(2), at.add(3), at.add(4)) }
    })
}

/// The array under a name, which checkpoint policies list.
#[pyfunction]
fn checkpoint_name(py: Python<'_>, x: &Array, name: String) -> PyResult<Array> {
    let (x, name) = (x.operand(), CString::new(name)?);
    one!(py, |out| lxla_checkpoint_name(x, name.as_ptr(), out))
}

#[pyfunction]
fn searchsorted(py: Python<'_>, sorted: &Array, values: &Array, right: bool) -> PyResult<Array> {
    let (sorted, values) = (sorted.operand(), values.operand());
    one!(py, |out| lxla_searchsorted(sorted, values, right.into(), LXLA_DTYPE_S64, out))
}

#[pyfunction]
fn sort(py: Python<'_>, x: &Array, axis: i64, descending: bool, stable: bool) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| lxla_sort_along(x, axis, descending.into(), stable.into(), out))
}

#[pyfunction]
fn argsort(py: Python<'_>, x: &Array, axis: i64, descending: bool, stable: bool) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| lxla_argsort(x, axis, descending.into(), stable.into(), LXLA_DTYPE_S64, out))
}

#[pyfunction]
fn topk(py: Python<'_>, x: &Array, k: i64, axis: i64, largest: bool) -> PyResult<[Array; 2]> {
    let x = x.operand();
    Array::several(py, move |[values, indices]| {
        // SAFETY: writable outputs.
        unsafe { lxla_topk(x, k, axis, largest.into(), LXLA_DTYPE_S64, values, indices) }
    })
}

#[pyfunction]
fn reduce(py: Python<'_>, op: i32, x: &Array, axes: Axes, keepdims: bool) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| {
        let (axes, n) = list(&axes);
        lxla_reduce(op, x, axes, n, keepdims.into(), out)
    })
}

#[pyfunction]
fn mean(py: Python<'_>, x: &Array, axes: Axes, keepdims: bool) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| {
        let (axes, n) = list(&axes);
        lxla_mean(x, axes, n, keepdims.into(), out)
    })
}

/// The variance, or with `root` the standard deviation.
#[pyfunction]
fn variance(py: Python<'_>, x: &Array, axes: Axes, correction: f64, keepdims: bool, root: bool) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| {
        let (axes, n) = list(&axes);
        let function = if root { lxla_standard_deviation } else { lxla_variance };
        function(x, axes, n, correction, keepdims.into(), out)
    })
}

#[pyfunction]
fn logsumexp(py: Python<'_>, x: &Array, axes: Axes, keepdims: bool) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| {
        let (axes, n) = list(&axes);
        lxla_logsumexp(x, axes, n, keepdims.into(), out)
    })
}

#[pyfunction]
fn arg_extreme(py: Python<'_>, x: &Array, axis: i64, keepdims: bool, largest: bool) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| {
        let function = if largest { lxla_argmax } else { lxla_argmin };
        function(x, axis, keepdims.into(), LXLA_DTYPE_S64, out)
    })
}

#[pyfunction]
fn cumulative(py: Python<'_>, op: i32, x: &Array, axis: i64) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| lxla_cumulative(op, x, axis, 0, out))
}

#[pyfunction]
fn promote(a: Code, b: Code) -> PyResult<Code> {
    let mut out = 0;
    // SAFETY: a writable output.
    crate::error::check(unsafe { lxla_dtype_promote(a.0, b.0, &mut out) })?;
    Ok(Code(out))
}

impl<'py> IntoPyObject<'py> for Code {
    type Target = crate::dtype::DType;
    type Output = Bound<'py, Self::Target>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, crate::dtype::DType>> {
        Ok(crate::dtype::object(py, self.0)?.into_bound(py))
    }
}

macro_rules! add {
    ($module:expr, $($name:ident),*) => { $($module.add_function(wrap_pyfunction!($name, $module)?)?;)* };
}
pub(crate) use add;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    add!(module, full, arange, linspace, eye, placeholder, placeholder_like, triangle, one_hot, unary, special, binary);
    add!(
        module, select, scalar_like, clamp, convert, complex_of, part, bitcast, stop_gradient, reshape, broadcast_to,
        transpose
    );
    add!(module, flip, roll, squeeze, expand_dims, join, tile, repeat, slice_axis, pad, take, take_along_axis, nonzero);
    add!(
        module, checkpoint_name, mask_count, value_of, unique, searchsorted, sort, argsort, topk, reduce, mean,
        variance, logsumexp
    );
    add!(module, arg_extreme, cumulative, promote);
    Ok(())
}
