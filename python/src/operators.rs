//! Operators of arrays: arithmetic, bits, comparisons, with arrays and with Python's scalars.

use crate::array::Array;
use crate::device::env;
use crate::dtype::{kind, name, object};
use crate::error::error;
use crate::host;
use crate::scalar::Scalar;
use crate::sys::*;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use std::cmp::Ordering;

/// A function of the library on two arrays: `lxla_binary` or `lxla_compare`, with one of their operations.
#[derive(Clone, Copy)]
pub enum Operation {
    Binary(i32),
    Compare(i32),
}

use Operation::*;

impl Operation {
    /// Whether arrays of a dtype have the operation.
    fn takes(self, dtype: i32) -> bool {
        let (kind, is_integer) = (kind(dtype), is_integer(dtype));
        match self {
            Compare(LXLA_COMPARE_EQ | LXLA_COMPARE_NE) => true,
            Compare(_) => kind != LXLA_KIND_COMPLEX,
            Binary(LXLA_BINARY_AND | LXLA_BINARY_OR | LXLA_BINARY_XOR) => is_integer || kind == LXLA_KIND_PRED,
            Binary(LXLA_BINARY_SHIFT_LEFT | LXLA_BINARY_SHIFT_RIGHT_ARITHMETIC | LXLA_BINARY_SHIFT_RIGHT_LOGICAL) => {
                is_integer
            }
            Binary(LXLA_BINARY_FLOOR_DIVIDE | LXLA_BINARY_MODULO) => is_integer || kind == LXLA_KIND_FLOAT,
            Binary(_) => kind != LXLA_KIND_PRED,
        }
    }

    /// # Safety
    /// `out` is writable.
    unsafe fn on_arrays(self, lhs: lxla_tensor, rhs: lxla_tensor, out: *mut lxla_tensor) -> lxla_status {
        // SAFETY: as promised by the caller.
        unsafe {
            match self {
                Binary(op) => lxla_binary(op, lhs, rhs, out),
                Compare(op) => lxla_compare(op, lhs, rhs, out),
            }
        }
    }

    /// # Safety
    /// `out` is writable.
    unsafe fn on_scalar(
        self,
        lhs: lxla_tensor,
        rhs: &lxla_scalar,
        (swapped, varies): (bool, bool),
        out: *mut lxla_tensor,
    ) -> lxla_status {
        // SAFETY: as promised by the caller.
        unsafe {
            match self {
                Binary(op) if varies => lxla_binary_with_varying_scalar(op, lhs, rhs, swapped.into(), out),
                Binary(op) => lxla_binary_with_scalar(op, lhs, rhs, swapped.into(), out),
                Compare(op) => lxla_compare_with_scalar(op, lhs, rhs, swapped.into(), out),
            }
        }
    }
}

fn is_integer(dtype: i32) -> bool {
    matches!(kind(dtype), LXLA_KIND_SIGNED | LXLA_KIND_UNSIGNED)
}

/// Returns lhs (op) rhs, or with `swapped` rhs (op) lhs; None if rhs is neither an array nor a scalar.
pub fn apply(
    py: Python<'_>,
    op: Operation,
    lhs: &Array,
    rhs: &Bound<'_, PyAny>,
    swapped: bool,
) -> PyResult<Option<Array>> {
    if let Ok(rhs) = rhs.cast::<Array>() {
        let rhs = rhs.get();
        return if swapped { on_arrays(py, op, rhs, lhs) } else { on_arrays(py, op, lhs, rhs) }.map(Some);
    }
    match (Scalar::of(rhs), op) {
        (Ok(Some(scalar)), _) => return on_scalar(py, op, lhs, scalar, swapped).map(Some),
        (Ok(None), _) => {}
        // An int beyond the largest float is compared with integers by value.
        (Err(error), Compare(op)) if is_integer(lhs.dtype()?) && error.is_instance_of::<PyOverflowError>(py) => {
            let order = if rhs.lt(0)? { Ordering::Less } else { Ordering::Greater };
            return beyond_all(py, op, lhs, if swapped { order } else { order.reverse() }).map(Some);
        }
        (Err(error), _) => return Err(error),
    }
    let Some(rhs) = host::numpy_operand(rhs, lhs.device()?)? else { return Ok(None) };
    if swapped { on_arrays(py, op, &rhs, lhs) } else { on_arrays(py, op, lhs, &rhs) }.map(Some)
}

fn on_arrays(py: Python<'_>, op: Operation, lhs: &Array, rhs: &Array) -> PyResult<Array> {
    let (a, b, is_large) = (lhs.operand(), rhs.operand(), lhs.is_large || rhs.is_large);
    if matches!(op, Binary(LXLA_BINARY_DIVIDE)) && !is_inexact(lhs.dtype()?) {
        // The library truncates quotients of integers; the standard has none.
        let lhs = lhs.convert(py, LXLA_DTYPE_F32)?;
        return match is_inexact(rhs.dtype()?) {
            true => on_arrays(py, op, &lhs.convert(py, promoted(lhs.dtype()?, rhs.dtype()?)?)?, rhs),
            false => on_arrays(py, op, &lhs, &rhs.convert(py, LXLA_DTYPE_F32)?),
        };
    }
    let mut out = lxla_tensor { id: 0 };
    let status = if is_large {
        // SAFETY: a writable output.
        py.detach(|| unsafe { op.on_arrays(a, b, &mut out) })
    } else {
        // SAFETY: a writable output.
        unsafe { op.on_arrays(a, b, &mut out) }
    };
    if status == LXLA_OK { Ok(Array::new(out, is_large)) } else { mixed(py, op, lhs, rhs, status) }
}

fn is_inexact(dtype: i32) -> bool {
    matches!(kind(dtype), LXLA_KIND_FLOAT | LXLA_KIND_COMPLEX)
}

/// Returns the common dtype of two by JAX's rules.
fn promoted(a: i32, b: i32) -> PyResult<i32> {
    let mut out = 0;
    // SAFETY: a writable output.
    crate::error::check(unsafe { lxla_dtype_promote(a, b, &mut out) })?;
    Ok(out)
}

/// Returns the dtype in which an operation takes arrays of two kinds, of which the standard has no result: bools,
/// integers and floats promote as in JAX. None where an error stays: dtypes of one kind, and 8-bit floats.
fn mixed_dtype(op: Operation, a: i32, b: i32) -> Option<i32> {
    if group(a) == group(b) {
        return None;
    }
    // A comparison has no dtype to keep: in float64, integers below 2^53 are exact.
    let has_integers = is_integer(a) || is_integer(b);
    let found = promoted(a, b).ok()?;
    let compares = matches!(op, Compare(_)) && has_integers && kind(found) == LXLA_KIND_FLOAT;
    Some(if compares { LXLA_DTYPE_F64 } else { found })
}

/// Returns arrays of two kinds in their common dtype; None if there is none.
#[cold]
pub fn in_common(py: Python<'_>, op: Operation, lhs: &Array, rhs: &Array) -> PyResult<Option<(Array, Array)>> {
    let Some(dtype) = mixed_dtype(op, lhs.dtype()?, rhs.dtype()?) else { return Ok(None) };
    Ok(Some((lhs.convert(py, dtype)?, rhs.convert(py, dtype)?)))
}

/// Returns the matrix product; arrays of two kinds promote as in other operations.
pub fn matmul(py: Python<'_>, lhs: &Array, rhs: &Array) -> PyResult<Array> {
    let (a, b) = (lhs.operand(), rhs.operand());
    // SAFETY: a writable output.
    let found = Array::detached(py, move |out| unsafe { lxla_matmul(a, b, out) });
    let Err(error) = found else { return found };
    if !error.is_instance_of::<PyTypeError>(py) {
        return Err(error);
    }
    match in_common(py, Binary(LXLA_BINARY_MULTIPLY), lhs, rhs)? {
        Some((lhs, rhs)) => matmul(py, &lhs, &rhs),
        None => Err(error),
    }
}

/// Returns the result of an operation that the library has refused for two arrays, if they are of two kinds; else its
/// error. Arrays of one kind, the usual ones, are not looked at before.
#[cold]
fn mixed(py: Python<'_>, op: Operation, lhs: &Array, rhs: &Array, status: lxla_status) -> PyResult<Array> {
    let found = mismatch(op, lhs, rhs, status);
    if status != LXLA_INVALID_ARGUMENT {
        return Err(found);
    }
    match in_common(py, op, lhs, rhs)? {
        Some((lhs, rhs)) => on_arrays(py, op, &lhs, &rhs),
        None => Err(found),
    }
}

/// Returns a TypeError for dtypes of different kinds, which the standard does not promote, else the library's error.
#[cold]
fn mismatch(op: Operation, lhs: &Array, rhs: &Array, status: lxla_status) -> PyErr {
    let found = error(status);
    match (lhs.dtype(), rhs.dtype()) {
        (Ok(a), Ok(b)) if status == LXLA_INVALID_ARGUMENT && (!op.takes(a) || a != b && has_no_result(a, b)) => {
            PyTypeError::new_err(crate::texts::in_python(&crate::error::message()))
        }
        _ => found,
    }
}

/// Bools, integers, and floats with complex numbers: within a group, the standard promotes.
fn group(dtype: i32) -> i32 {
    match kind(dtype) {
        LXLA_KIND_PRED => 0,
        LXLA_KIND_SIGNED | LXLA_KIND_UNSIGNED => 1,
        _ => 2,
    }
}

fn has_no_result(a: i32, b: i32) -> bool {
    group(a) != group(b) || group(a) == 1
}

fn on_scalar(py: Python<'_>, op: Operation, lhs: &Array, scalar: Scalar, swapped: bool) -> PyResult<Array> {
    let dtype = lhs.dtype()?;
    if let Some(wider) = scalar.widened(dtype) {
        // A comparison has no dtype to keep: in float64, integers below 2^53 are exact.
        let is_exact = matches!((op, wider), (Compare(_), LXLA_DTYPE_F32)) && is_integer(dtype);
        return on_scalar(py, op, &lhs.convert(py, if is_exact { LXLA_DTYPE_F64 } else { wider })?, scalar, swapped);
    }
    let scalar = scalar.beside(dtype)?;
    if let (Compare(op), Some(order)) = (op, scalar.beyond(dtype)) {
        return beyond_all(py, op, lhs, if swapped { order } else { order.reverse() });
    }
    if is_integer(dtype) {
        host::refuse_lossy(scalar, dtype)?;
    }
    if matches!(op, Compare(_)) && scalar.real().is_some_and(|value| is_beyond_minifloat(py, value, dtype)) {
        return on_scalar(py, op, &lhs.convert(py, LXLA_DTYPE_F32)?, scalar, swapped);
    }
    if matches!(op, Binary(LXLA_BINARY_DIVIDE)) && !is_inexact(dtype) {
        return on_scalar(py, op, &lhs.convert(py, LXLA_DTYPE_F32)?, scalar, swapped);
    }
    // A power by a constant may be a product.
    let varies = scalar.is_computed() && !matches!(op, Binary(LXLA_BINARY_POWER)) && !crate::trace::is_tracing();
    let how = (swapped, varies);
    let mut out = lxla_tensor { id: 0 };
    let handle = lhs.operand();
    let mut call = |scalar: &lxla_scalar| {
        if lhs.is_large {
            let scalar = *scalar;
            // SAFETY: valid for the call.
            py.detach(|| unsafe { op.on_scalar(handle, &scalar, how, &mut out) })
        } else {
            // SAFETY: valid for the call.
            unsafe { op.on_scalar(handle, scalar, how, &mut out) }
        }
    };
    let mut status = call(&scalar.in_c());
    if status == LXLA_INVALID_ARGUMENT && matches!(scalar, Scalar::Float(_) | Scalar::Complex(..)) {
        // A number too large for the dtype is an infinity there, as in NumPy.
        let found = error(status);
        status = call(&scalar.cast(dtype)?);
        if status != LXLA_OK {
            return Err(found);
        }
    }
    match status {
        LXLA_OK => Ok(Array::new(out, lhs.is_large)),
        _ => Err(error(status)),
    }
}

/// Whether a number is beyond the range of a float dtype of 4 or 8 bits, or NaN: some of these have NaN in place of
/// infinities, and others the largest number in place of infinities and -0 in place of NaN.
fn is_beyond_minifloat(py: Python<'_>, value: f64, dtype: i32) -> bool {
    kind(dtype) == LXLA_KIND_FLOAT
        && object(py, dtype).is_ok_and(|dtype| {
            let limits = &dtype.get().limits;
            limits.bits <= 8 && !(limits.min..=limits.max).contains(&value)
        })
}

/// Returns a comparison with an integer that the dtype cannot represent; `order` is that of the left operand relative
/// to the right one.
fn beyond_all(py: Python<'_>, op: i32, array: &Array, order: Ordering) -> PyResult<Array> {
    let holds = match op {
        LXLA_COMPARE_EQ => false,
        LXLA_COMPARE_NE => true,
        LXLA_COMPARE_LT | LXLA_COMPARE_LE => order == Ordering::Less,
        _ => order == Ordering::Greater,
    };
    let (device, dims, value) = (array.device()?, array.dims()?, Scalar::Bool(holds).in_c());
    // SAFETY: a list of its length, a valid scalar, and a writable output.
    Array::detached(py, move |out| unsafe {
        lxla_tensor_full_with_scalar(env(), device, LXLA_DTYPE_PRED, dims.as_ptr(), dims.len(), &value, out)
    })
}

/// Replaces the value of lhs by lhs (op) rhs.
pub fn apply_in_place(py: Python<'_>, op: i32, lhs: &Array, rhs: &Bound<'_, PyAny>) -> PyResult<()> {
    let handle = lhs.handle;
    if op == LXLA_BINARY_DIVIDE && !is_inexact(lhs.dtype()?) {
        let dtype = name(lhs.dtype()?);
        return Err(PyTypeError::new_err(format!(
            "the result of / is a float, which an array of {dtype} cannot take in place; take x = x / y, or //="
        )));
    }
    if let Ok(rhs) = rhs.cast::<Array>() {
        let rhs = rhs.get();
        let common = mixed_dtype(Binary(op), lhs.dtype()?, rhs.dtype()?);
        if common == Some(lhs.dtype()?) {
            let rhs = Py::new(py, rhs.convert(py, lhs.dtype()?)?)?;
            return apply_in_place(py, op, lhs, rhs.bind(py));
        }
        let other = rhs.operand();
        crate::trace::before_change(lhs)?;
        // SAFETY: handles are values.
        let status = py.detach(|| unsafe { lxla_binary_inplace(op, handle, other) });
        return if status == LXLA_OK { Ok(()) } else { Err(mismatch(Binary(op), lhs, rhs, status)) };
    }
    // Refuses what has no result, and converts what overflows.
    let result = apply(py, Binary(op), lhs, rhs, false)?;
    let Some(result) = result else {
        let kind = rhs.get_type().name()?;
        return Err(PyTypeError::new_err(format!("an array or a scalar is wanted on the right, not a {kind}")));
    };
    if result.dtype()? != lhs.dtype()? {
        return Err(PyTypeError::new_err(format!(
            "the result has dtype {}, which an array of {} cannot take in place",
            name(result.dtype()?),
            name(lhs.dtype()?)
        )));
    }
    lhs.assign(&result)
}

/// Returns the operation of >>: unsigned integers are filled with zeros.
pub fn shift_right(lhs: &Array) -> PyResult<i32> {
    let is_unsigned = kind(lhs.dtype()?) == LXLA_KIND_UNSIGNED;
    Ok(if is_unsigned { LXLA_BINARY_SHIFT_RIGHT_LOGICAL } else { LXLA_BINARY_SHIFT_RIGHT_ARITHMETIC })
}
