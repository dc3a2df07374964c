//! The array type: a handle of the library, its properties and operators.

use crate::device::{Device, check_detached, wait_for_value};
use crate::dtype::{Code, DType, kind, name, object};
use crate::error::check;
use crate::operators::Operation::{Binary, Compare};
use crate::operators::{Operation, apply, apply_in_place, matmul, shift_right};
use crate::scalar::Scalar;
use crate::sys::*;
use crate::{dlpack, host, index, index_set, trace};
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// From this number of elements on, the interpreter's lock is released while an eager operation computes.
const LARGE: i64 = 1 << 15;

/// Number of arrays made so far: arrays of smaller numbers are older.
static MADE: AtomicU64 = AtomicU64::new(0);

/// Returns the number of arrays made so far by all threads.
pub fn made() -> u64 {
    MADE.load(Ordering::Relaxed)
}

/// Largest rank of the library.
pub const MAX_RANK: usize = 64;

/// An array of one dtype on a device, by the Python array API standard.
///
/// On an XLA device (``"xla:0"``), operations are recorded, and run at the next step (``lx.step()``) or when a value
/// is read: by ``float(x)``, ``bool(x)``, ``x.tolist()``, ``numpy.asarray(x)``. On ``"cpu"`` they run at once.
/// Arrays are made by ``lx.asarray``, ``lx.zeros`` and other functions, not by calling this class.
#[pyclass(frozen, module = "lazyxla", weakref)]
pub struct Array {
    pub handle: lxla_tensor,
    /// Whether an eager operation on it takes so long that other threads should go on.
    pub is_large: bool,
    /// The dtype, or 0 before it was asked for: it never changes.
    dtype: AtomicI32,
    /// Sequence number of creation: the number of arrays made before this one.
    pub number: u64,
    /// Whether it was made in a function while that was traced.
    pub is_traced: bool,
    /// Number of operations in place on it.
    pub changes: AtomicU64,
}

impl Drop for Array {
    fn drop(&mut self) {
        // SAFETY: the reference that this object owns. In a child of fork, the call does nothing.
        unsafe { lxla_tensor_release(self.handle) };
    }
}

impl Array {
    /// Takes over a reference.
    pub fn new(handle: lxla_tensor, is_large: bool) -> Array {
        Array {
            handle,
            is_large,
            dtype: AtomicI32::new(0),
            number: MADE.fetch_add(1, Ordering::Relaxed),
            is_traced: trace::is_tracing(),
            changes: AtomicU64::new(0),
        }
    }

    /// Takes over a reference, and asks for the size.
    pub fn sized(handle: lxla_tensor) -> Array {
        let mut array = Array::new(handle, false);
        array.is_large = array.dims().is_ok_and(|dims| dims.iter().product::<i64>() >= LARGE);
        array
    }

    /// Returns the result of a call without the interpreter's lock.
    pub fn detached(py: Python<'_>, call: impl FnOnce(*mut lxla_tensor) -> lxla_status + Send) -> PyResult<Array> {
        let mut out = lxla_tensor { id: 0 };
        check_detached(py, || call(&mut out))?;
        Ok(Array::sized(out))
    }

    /// As `detached`, for a call of N results.
    pub fn several<const N: usize>(
        py: Python<'_>,
        call: impl FnOnce(&mut [lxla_tensor; N]) -> lxla_status + Send,
    ) -> PyResult<[Array; N]> {
        let mut out = [lxla_tensor { id: 0 }; N];
        check_detached(py, || call(&mut out))?;
        Ok(out.map(Array::sized))
    }

    pub fn dtype(&self) -> PyResult<i32> {
        let mut dtype = self.dtype.load(Ordering::Relaxed);
        if dtype == 0 {
            // SAFETY: a writable output.
            check(unsafe { lxla_tensor_dtype(self.handle, &mut dtype) })?;
            self.dtype.store(dtype, Ordering::Relaxed);
        }
        Ok(dtype)
    }

    pub fn dims(&self) -> PyResult<Vec<i64>> {
        let (mut rank, mut dims) = (0, [0; MAX_RANK]);
        let (none, space) = (std::ptr::null_mut(), dims.as_mut_ptr());
        // SAFETY: the outputs are writable, `dims` for MAX_RANK entries.
        check(unsafe { lxla_tensor_info(self.handle, none, &mut rank, space, MAX_RANK) })?;
        Ok(dims[..rank].to_vec())
    }

    pub fn device(&self) -> PyResult<lxla_device> {
        let mut device = lxla_device { kind: 0, ordinal: 0 };
        // SAFETY: a writable output.
        check(unsafe { lxla_tensor_device(self.handle, &mut device) })?;
        Ok(device)
    }

    pub fn convert(&self, py: Python<'_>, dtype: i32) -> PyResult<Array> {
        let handle = self.operand();
        // SAFETY: a writable output.
        Array::detached(py, move |out| unsafe { lxla_convert(handle, dtype, out) })
    }

    /// Replaces the value by that of another array of the same type.
    pub fn assign(&self, value: &Array) -> PyResult<()> {
        trace::before_change(self)?;
        let value = value.operand();
        // SAFETY: handles are values.
        check(unsafe { lxla_tensor_assign(self.handle, value) })
    }

    /// Returns a snapshot of a tensor of this type.
    pub fn copy_of(&self, tensor: lxla_tensor) -> PyResult<Array> {
        let mut out = lxla_tensor { id: 0 };
        // SAFETY: a writable output.
        check(unsafe { lxla_tensor_snapshot(tensor, &mut out) })?;
        Ok(Array::new(out, self.is_large))
    }

    /// The tensor to record operations with: the array's own, or what stands for it in a function that is traced.
    pub fn operand(&self) -> lxla_tensor {
        trace::operand(self)
    }

    /// Returns a snapshot of the value, which is then read: of an array from outside, also in a function that is
    /// traced.
    pub fn value(&self) -> PyResult<Array> {
        let tensor = crate::device::read_of(self);
        trace::outside(|| self.copy_of(tensor))
    }

    fn unary(&self, py: Python<'_>, op: i32) -> PyResult<Array> {
        let handle = self.operand();
        // SAFETY: a writable output.
        let found = Array::detached(py, move |out| unsafe { lxla_unary(op, handle, out) });
        found.map_err(|error| if error.is_instance_of::<PyValueError>(py) { type_error(py, &error) } else { error })
    }

    fn quotient_and_remainder(&self, other: &Bound<'_, PyAny>, swapped: bool) -> PyResult<Py<PyAny>> {
        let (py, quotient) = (other.py(), self.operator(Binary(LXLA_BINARY_FLOOR_DIVIDE), other, swapped)?);
        if quotient.is(py.NotImplemented()) {
            return Ok(quotient);
        }
        let remainder = self.operator(Binary(LXLA_BINARY_MODULO), other, swapped)?;
        Ok(PyTuple::new(py, [quotient, remainder])?.into_any().unbind())
    }

    fn operator(&self, op: Operation, other: &Bound<'_, PyAny>, swapped: bool) -> PyResult<Py<PyAny>> {
        let py = other.py();
        match apply(py, op, self, other, swapped)? {
            Some(array) => Ok(Py::new(py, array)?.into_any()),
            // Other classes may have a reflected operator.
            None => Ok(py.NotImplemented()),
        }
    }

    /// The matrix product of two arrays, or with `swapped` of the second and the first; of one of NumPy, too.
    fn product(&self, other: &Bound<'_, PyAny>, swapped: bool) -> PyResult<Py<PyAny>> {
        let py = other.py();
        let given = match other.cast::<Array>() {
            Ok(_) => None,
            Err(_) => match host::numpy_operand(other, self.device()?)? {
                Some(array) => Some(array),
                None => return Ok(py.NotImplemented()),
            },
        };
        let other = given.as_ref().map_or_else(|| Ok(other.cast::<Array>()?.get()), Ok::<&Array, PyErr>)?;
        let (lhs, rhs) = if swapped { (other, self) } else { (self, other) };
        Ok(Py::new(py, matmul(py, lhs, rhs)?)?.into_any())
    }
}

/// An operation of one array fails by its dtype alone.
fn type_error(py: Python<'_>, error: &PyErr) -> PyErr {
    PyTypeError::new_err(error.value(py).to_string())
}

/// Whether Python would compare the object with an array by identity, which is false whatever the values.
fn has_values(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let is_sequence = object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>();
    Ok(is_sequence || object.hasattr("__array_interface__")? || object.hasattr("__dlpack__")?)
}

/// `__add__` and `__radd__`, and so on for other names.
#[pymethods]
impl Array {
    fn __add__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operator(Binary(LXLA_BINARY_ADD), other, false)
    }
    fn __radd__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operator(Binary(LXLA_BINARY_ADD), other, true)
    }
    fn __iadd__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        apply_in_place(py, LXLA_BINARY_ADD, self, other)
    }
    fn __sub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operator(Binary(LXLA_BINARY_SUBTRACT), other, false)
    }
    fn __rsub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operator(Binary(LXLA_BINARY_SUBTRACT), other, true)
    }
    fn __isub__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        apply_in_place(py, LXLA_BINARY_SUBTRACT, self, other)
    }
    fn __mul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operator(Binary(LXLA_BINARY_MULTIPLY), other, false)
    }
    fn __rmul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operator(Binary(LXLA_BINARY_MULTIPLY), other, true)
    }
    fn __imul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        apply_in_place(py, LXLA_BINARY_MULTIPLY, self, other)
    }
    fn __truediv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operator(Binary(LXLA_BINARY_DIVIDE), other, false)
    }
    fn __rtruediv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operator(Binary(LXLA_BINARY_DIVIDE), other, true)
    }
    fn __itruediv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        apply_in_place(py, LXLA_BINARY_DIVIDE, self, other)
    }
    fn __floordiv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operator(Binary(LXLA_BINARY_FLOOR_DIVIDE), other, false)
    }
    fn __rfloordiv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operator(Binary(LXLA_BINARY_FLOOR_DIVIDE), other, true)
    }
    fn __ifloordiv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        apply_in_place(py, LXLA_BINARY_FLOOR_DIVIDE, self, other)
    }
    fn __mod__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operator(Binary(LXLA_BINARY_MODULO), other, false)
    }
    fn __rmod__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operator(Binary(LXLA_BINARY_MODULO), other, true)
    }
    fn __imod__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        apply_in_place(py, LXLA_BINARY_MODULO, self, other)
    }
    fn __pow__(&self, other: &Bound<'_, PyAny>, modulo: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        no_modulo(modulo)?;
        self.operator(Binary(LXLA_BINARY_POWER), other, false)
    }
    fn __rpow__(&self, other: &Bound<'_, PyAny>, modulo: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        no_modulo(modulo)?;
        self.operator(Binary(LXLA_BINARY_POWER), other, true)
    }
    fn __ipow__(&self, py: Python<'_>, other: &Bound<'_, PyAny>, modulo: &Bound<'_, PyAny>) -> PyResult<()> {
        no_modulo(modulo)?;
        apply_in_place(py, LXLA_BINARY_POWER, self, other)
    }
    fn __divmod__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.quotient_and_remainder(other, false)
    }
    fn __rdivmod__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.quotient_and_remainder(other, true)
    }
    fn __and__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operator(Binary(LXLA_BINARY_AND), other, false)
    }
    fn __rand__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operator(Binary(LXLA_BINARY_AND), other, true)
    }
    fn __iand__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        apply_in_place(py, LXLA_BINARY_AND, self, other)
    }
    fn __or__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operator(Binary(LXLA_BINARY_OR), other, false)
    }
    fn __ror__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operator(Binary(LXLA_BINARY_OR), other, true)
    }
    fn __ior__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        apply_in_place(py, LXLA_BINARY_OR, self, other)
    }
    fn __xor__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operator(Binary(LXLA_BINARY_XOR), other, false)
    }
    fn __rxor__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operator(Binary(LXLA_BINARY_XOR), other, true)
    }
    fn __ixor__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        apply_in_place(py, LXLA_BINARY_XOR, self, other)
    }
    fn __lshift__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operator(Binary(LXLA_BINARY_SHIFT_LEFT), other, false)
    }
    fn __rlshift__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operator(Binary(LXLA_BINARY_SHIFT_LEFT), other, true)
    }
    fn __ilshift__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        apply_in_place(py, LXLA_BINARY_SHIFT_LEFT, self, other)
    }
    fn __rshift__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operator(Binary(shift_right(self)?), other, false)
    }
    fn __rrshift__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.operator(Binary(shift_right(self)?), other, true)
    }
    fn __irshift__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        apply_in_place(py, shift_right(self)?, self, other)
    }
    fn __matmul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.product(other, false)
    }
    fn __rmatmul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.product(other, true)
    }
    fn __imatmul__(&self, py: Python<'_>, other: &Bound<'_, Array>) -> PyResult<()> {
        self.assign(&matmul(py, self, other.get())?)
    }
    fn __richcmp__(&self, other: &Bound<'_, PyAny>, op: CompareOp) -> PyResult<Py<PyAny>> {
        let op = match op {
            CompareOp::Eq => LXLA_COMPARE_EQ,
            CompareOp::Ne => LXLA_COMPARE_NE,
            CompareOp::Lt => LXLA_COMPARE_LT,
            CompareOp::Le => LXLA_COMPARE_LE,
            CompareOp::Gt => LXLA_COMPARE_GT,
            CompareOp::Ge => LXLA_COMPARE_GE,
        };
        let found = self.operator(Compare(op), other, false)?;
        if found.is(other.py().NotImplemented()) && has_values(other)? {
            let kind = other.get_type().name()?;
            return Err(PyTypeError::new_err(format!("an array is not compared with a {kind}; take lx.asarray of it")));
        }
        Ok(found)
    }
    fn __neg__(&self, py: Python<'_>) -> PyResult<Array> {
        self.unary(py, LXLA_UNARY_NEGATE)
    }
    fn __pos__(&self) -> PyResult<Array> {
        self.copy()
    }
    fn __abs__(&self, py: Python<'_>) -> PyResult<Array> {
        self.unary(py, LXLA_UNARY_ABS)
    }
    fn __invert__(&self, py: Python<'_>) -> PyResult<Array> {
        self.unary(py, LXLA_UNARY_NOT)
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(match host::read_one(py, self)? {
            Scalar::Bool(value) => value,
            Scalar::Int(value) => value != 0,
            Scalar::Large(value) => value != 0,
            Scalar::Float(value) | Scalar::Huge(value) => value != 0.0,
            Scalar::Complex(re, im) => re != 0.0 || im != 0.0,
        })
    }
    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        match host::read_one(py, self)? {
            Scalar::Bool(value) => Ok(f64::from(u8::from(value))),
            Scalar::Int(value) => Ok(value as f64),
            Scalar::Large(value) => Ok(value as f64),
            Scalar::Float(value) | Scalar::Huge(value) => Ok(value),
            Scalar::Complex(..) => Err(PyTypeError::new_err("a complex number is not a float; take lx.real(x)")),
        }
    }
    fn __complex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyComplex>> {
        let (re, im) = match host::read_one(py, self)? {
            Scalar::Complex(re, im) => (re, im),
            _ => (self.__float__(py)?, 0.0),
        };
        Ok(pyo3::types::PyComplex::from_doubles(py, re, im))
    }
    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let value = host::scalar_object(py, host::read_one(py, self)?)?;
        py.get_type::<pyo3::types::PyInt>().call1((value,))
    }
    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match host::read_one(py, self)? {
            value @ (Scalar::Int(_) | Scalar::Large(_)) => host::scalar_object(py, value),
            _ => Err(PyTypeError::new_err("only an array of one integer is an index")),
        }
    }
    fn __len__(&self) -> PyResult<usize> {
        match self.dims()?.first() {
            Some(&size) => Ok(size as usize),
            None => Err(PyTypeError::new_err("an array of rank 0 has no len()")),
        }
    }
    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let rows = rows(slf)?;
        Ok(PyTuple::new(slf.py(), rows)?.try_iter()?.into_any())
    }
    fn __reversed__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let rows = rows(slf)?.into_iter().rev().collect::<Vec<_>>();
        Ok(PyTuple::new(slf.py(), rows)?.try_iter()?.into_any())
    }
    /// The nearest integers, ties to even.
    #[pyo3(signature = (ndigits = None))]
    fn __round__<'py>(slf: &Bound<'py, Self>, ndigits: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        if ndigits.is_some() {
            return Err(PyTypeError::new_err("round() of an array takes no digits; take lx.round(x * 10**n) / 10**n"));
        }
        slf.py().import("lazyxla")?.getattr("round")?.call1((slf,))
    }
    /// Returns the bytes of the elements in row-major order, as NumPy's ``tobytes``.
    fn __bytes__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.tobytes(py)
    }
    /// The data type, such as ``lx.float32``.
    #[getter(dtype)]
    fn dtype_object(&self, py: Python<'_>) -> PyResult<Py<DType>> {
        object(py, self.dtype()?)
    }
    /// The device.
    #[getter(device)]
    fn device_object(&self) -> PyResult<Device> {
        Ok(Device { device: self.device()? })
    }
    /// The sizes of the axes: a tuple of ints.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.dims()?)
    }
    /// The number of axes.
    #[getter]
    fn ndim(&self) -> PyResult<usize> {
        Ok(self.dims()?.len())
    }
    /// The number of elements.
    #[getter]
    fn size(&self) -> PyResult<i64> {
        Ok(self.dims()?.iter().product())
    }
    /// The number of bytes of all elements.
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> PyResult<i64> {
        Ok(self.size()? * object(py, self.dtype()?)?.get().itemsize()? as i64)
    }
    /// The transposed matrix; an error unless the rank is 2.
    #[getter(T)]
    fn transposed(&self, py: Python<'_>) -> PyResult<Array> {
        if self.ndim()? != 2 {
            return Err(PyValueError::new_err(".T takes a matrix; for other ranks, use .mT or lx.permute_dims"));
        }
        self.matrix_transposed(py)
    }
    /// The array with its last two axes exchanged.
    #[getter(mT)]
    fn matrix_transposed(&self, py: Python<'_>) -> PyResult<Array> {
        let rank = self.ndim()?;
        if rank < 2 {
            return Err(PyValueError::new_err(format!(".mT takes arrays of rank 2 and more, not of rank {rank}")));
        }
        let mut axes: Vec<i64> = (0..rank as i64).collect();
        axes.swap(rank - 1, rank - 2);
        let handle = self.operand();
        // SAFETY: a list of its length, and a writable output.
        Array::detached(py, move |out| unsafe { lxla_transpose(handle, axes.as_ptr(), axes.len(), out) })
    }
    /// The library's handle, for ``lazyxla.c``; it stays the array's.
    #[getter]
    fn handle(&self) -> u64 {
        trace::before_read(self);
        self.handle.id
    }
    /// Number of operations in place that were recorded on this object.
    #[getter]
    fn _changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }
    /// ``"pending"``, ``"ready"``, ``"placeholder"``, ``"native"`` or ``"failed"``. Does not wait, and runs nothing.
    #[getter]
    fn state(&self) -> PyResult<&'static str> {
        let mut state = 0;
        // SAFETY: a writable output.
        check(unsafe { lxla_tensor_state(self.handle, &mut state) })?;
        Ok(match state {
            LXLA_STATE_PENDING => "pending",
            LXLA_STATE_READY => "ready",
            LXLA_STATE_PLACEHOLDER => "placeholder",
            LXLA_STATE_NATIVE => "native",
            _ => "failed",
        })
    }

    /// Returns the array with another dtype. ``copy=False`` returns the array itself if it has the dtype already.
    #[pyo3(signature = (dtype, /, *, copy = true, device = None))]
    fn astype(
        slf: &Bound<'_, Self>,
        dtype: Code,
        copy: bool,
        device: Option<crate::device::On>,
    ) -> PyResult<Py<Array>> {
        let (py, array) = (slf.py(), slf.get());
        let (from, to) = (array.dtype()?, dtype.0);
        if kind(from) == LXLA_KIND_COMPLEX && !matches!(kind(to), LXLA_KIND_COMPLEX | LXLA_KIND_PRED) {
            let (from, to) = (name(from), name(to));
            return Err(PyTypeError::new_err(format!("{from} to {to} drops imaginary parts; take lx.real(x)")));
        }
        let moved = match device {
            Some(on) => Some(array.moved(py, on.0)?),
            None => None,
        };
        if moved.is_none() && !copy && array.dtype()? == dtype.0 {
            return Ok(slf.clone().unbind());
        }
        Py::new(py, moved.as_ref().unwrap_or(array).convert(py, dtype.0)?)
    }
    /// Returns the array on a device; computes a pending value first.
    #[pyo3(signature = (device, /, *, stream = None))]
    fn to_device(&self, py: Python<'_>, device: crate::device::On, stream: Option<Py<PyAny>>) -> PyResult<Array> {
        if stream.is_some() {
            return Err(PyValueError::new_err("streams are not supported: stream has to be None"));
        }
        self.moved(py, device.0)
    }
    /// Returns the values as nested lists of Python's scalars, or for rank 0 the scalar. Computes pending values.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        host::to_list(py, self)
    }
    /// Returns the value of an array of one element as a Python scalar.
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        host::scalar_object(py, host::read_one(py, self)?)
    }
    /// Returns the values as bytes, row-major. Computes pending values.
    fn tobytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &host::read(py, self)?))
    }
    /// Returns the elements at ``key``. Integers out of range, also those of lists and of NumPy's arrays, are an
    /// IndexError; an array of this package is clamped, since its values are not known when the read is recorded.
    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Array> {
        index::get(py, self, key)
    }
    /// Replaces the elements at ``key``. Integers out of range, also those of lists and of NumPy's arrays, are an
    /// IndexError; elements at places out of range that an array of this package gives are dropped.
    fn __setitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        index_set::set(py, self, key, value)
    }
    /// Returns a new array with the current value; operations in place on either do not affect the other.
    pub fn copy(&self) -> PyResult<Array> {
        self.copy_of(self.operand())
    }
    fn __copy__(&self) -> PyResult<Array> {
        self.copy()
    }
    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> PyResult<Array> {
        self.copy()
    }
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, array) = (slf.py(), slf.get());
        let parts = (array.tobytes(py)?, array.dtype_object(py)?, array.shape(py)?, array.device_object()?);
        Ok((py.import("lazyxla._core")?.getattr("from_bytes")?, parts.into_pyobject(py)?))
    }
    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("lazyxla._format")?.getattr("array_repr")?.call1((slf,))
    }
    fn __format__<'py>(slf: &Bound<'py, Self>, spec: &str) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let plain = spec.is_empty() || slf.get().ndim()? > 0;
        let value = if plain { slf.str()?.into_any() } else { slf.get().item(py)? };
        py.import("builtins")?.getattr("format")?.call1((value, spec))
    }
    #[pyo3(signature = (*, api_version = None))]
    fn __array_namespace__<'py>(&self, py: Python<'py>, api_version: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
        match api_version {
            None | Some("2021.12" | "2022.12" | "2023.12" | "2024.12") => Ok(py.import("lazyxla")?.into_any()),
            Some(other) => Err(PyValueError::new_err(format!("version {other:?} of the standard; there is 2024.12"))),
        }
    }
    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("lazyxla._numpy")?.getattr("to_numpy")?.call1((slf, dtype, copy))
    }
    /// NumPy's operators leave the operation to this class; its functions take the values, by `__array__`.
    #[classattr]
    fn __array_priority__() -> f64 {
        100.0
    }
    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        dlpack::export(slf, stream.is_some(), max_version, dl_device, copy)
    }
    fn __dlpack_device__(&self) -> (i32, i32) {
        dlpack::CPU
    }
}

impl Array {
    pub fn moved(&self, py: Python<'_>, device: lxla_device) -> PyResult<Array> {
        trace::before_read(self);
        if device.kind == LXLA_DEVICE_CPU {
            wait_for_value(py, self)?;
        }
        let (handle, mut out) = (self.handle, lxla_tensor { id: 0 });
        // SAFETY: a writable output.
        crate::device::check_outside(py, || unsafe { lxla_tensor_to_device(handle, device, &mut out) })?;
        Ok(Array::sized(out))
    }
}

fn rows<'py>(array: &Bound<'py, Array>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let n = array.get().__len__().map_err(|_| PyTypeError::new_err("an array of rank 0 cannot be iterated over"))?;
    (0..n).map(|i| array.get_item(i)).collect()
}

fn no_modulo(modulo: &Bound<'_, PyAny>) -> PyResult<()> {
    if modulo.is_none() { Ok(()) } else { Err(PyTypeError::new_err("pow() of arrays takes no modulus")) }
}
