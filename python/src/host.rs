//! Values between Python and the library: nested lists, bytes, scalars, memory of NumPy's arrays.

use crate::array::Array;
use crate::device::{On, env, wait_for_value};
use crate::dtype::{Code, kind, object};
use crate::error::check;
use crate::scalar::Scalar;
use crate::sys::*;
use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyList, PyTuple};

/// Returns the values of an array, row-major. Computes them first if they are pending.
pub fn read(py: Python<'_>, array: &Array) -> PyResult<Vec<u8>> {
    let size = array.dims()?.iter().product::<i64>() as usize * object(py, array.dtype()?)?.get().itemsize()?;
    let (handle, mut bytes) = (array.handle, Vec::new());
    let lacking = |_| PyMemoryError::new_err(format!("no memory for the {size} bytes of an array on the host"));
    bytes.try_reserve_exact(size).map_err(lacking)?;
    bytes.resize(size, 0);
    wait_for_value(py, array)?;
    let space = &mut bytes;
    // SAFETY: `space` has `size` writable bytes.
    crate::device::check_outside(py, move || unsafe { lxla_tensor_read(handle, space.as_mut_ptr().cast(), size) })?;
    Ok(bytes)
}

/// Returns the values in dtypes that Python has: small floats as f32.
fn read_plain(py: Python<'_>, array: &Array) -> PyResult<(i32, Vec<u8>)> {
    let dtype = array.dtype()?;
    if kind(dtype) != LXLA_KIND_FLOAT || matches!(dtype, LXLA_DTYPE_F32 | LXLA_DTYPE_F64) {
        return Ok((dtype, read(py, array)?));
    }
    // The values are computed as recorded, and converted on the host.
    let cpu = array.moved(py, lxla_device { kind: LXLA_DEVICE_CPU, ordinal: 0 })?;
    Ok((LXLA_DTYPE_F32, read(py, &cpu.convert(py, LXLA_DTYPE_F32)?)?))
}

/// Returns element `i` of values of a dtype.
fn element(dtype: i32, bytes: &[u8], i: usize) -> Scalar {
    macro_rules! at {
        ($type:ty, $i:expr) => {{
            let size = size_of::<$type>();
            let mut raw = [0; size_of::<$type>()];
            raw.copy_from_slice(&bytes[$i * size..($i + 1) * size]);
            <$type>::from_ne_bytes(raw)
        }};
    }
    match dtype {
        LXLA_DTYPE_PRED => Scalar::Bool(bytes[i] != 0),
        LXLA_DTYPE_S8 | LXLA_DTYPE_S4 | LXLA_DTYPE_S2 => Scalar::Int(at!(i8, i).into()),
        LXLA_DTYPE_S16 => Scalar::Int(at!(i16, i).into()),
        LXLA_DTYPE_S32 => Scalar::Int(at!(i32, i).into()),
        LXLA_DTYPE_S64 => Scalar::Int(at!(i64, i)),
        LXLA_DTYPE_U8 | LXLA_DTYPE_U4 | LXLA_DTYPE_U2 => Scalar::Int(at!(u8, i).into()),
        LXLA_DTYPE_U16 => Scalar::Int(at!(u16, i).into()),
        LXLA_DTYPE_U32 => Scalar::Int(at!(u32, i).into()),
        LXLA_DTYPE_U64 => Scalar::Large(at!(u64, i)),
        LXLA_DTYPE_F32 => Scalar::Float(at!(f32, i).into()),
        LXLA_DTYPE_F64 => Scalar::Float(at!(f64, i)),
        LXLA_DTYPE_C64 => Scalar::Complex(at!(f32, 2 * i).into(), at!(f32, 2 * i + 1).into()),
        _ => Scalar::Complex(at!(f64, 2 * i), at!(f64, 2 * i + 1)),
    }
}

/// Returns the smallest and the largest of some integers; None if there are none.
pub fn extremes(dtype: i32, bytes: &[u8], count: usize) -> Option<(i128, i128)> {
    let numbers = (0..count).map(|i| match element(dtype, bytes, i) {
        Scalar::Int(value) => i128::from(value),
        Scalar::Large(value) => i128::from(value),
        _ => 0,
    });
    numbers.fold(None, |found, n| Some(found.map_or((n, n), |(low, high): (i128, i128)| (low.min(n), high.max(n)))))
}

pub fn scalar_object(py: Python<'_>, value: Scalar) -> PyResult<Bound<'_, PyAny>> {
    Ok(match value {
        Scalar::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        Scalar::Int(value) => value.into_pyobject(py)?.into_any(),
        Scalar::Large(value) => value.into_pyobject(py)?.into_any(),
        Scalar::Float(value) | Scalar::Huge(value) => value.into_pyobject(py)?.into_any(),
        Scalar::Complex(re, im) => PyComplex::from_doubles(py, re, im).into_any(),
    })
}

/// Returns the value of an array of one element.
pub fn read_one(py: Python<'_>, array: &Array) -> PyResult<Scalar> {
    let dims = array.dims()?;
    if dims.iter().any(|&size| size != 1) {
        return Err(PyTypeError::new_err(format!(
            "only an array of one element is a scalar; this one has shape {dims:?} (for a truth value, see lx.any and \
             lx.all)"
        )));
    }
    let (dtype, bytes) = read_plain(py, array)?;
    Ok(element(dtype, &bytes, 0))
}

pub fn to_list<'py>(py: Python<'py>, array: &Array) -> PyResult<Bound<'py, PyAny>> {
    let (dtype, bytes) = read_plain(py, array)?;
    let dims = array.dims()?;
    nested(py, dtype, &bytes, &dims, &mut 0)
}

fn nested<'py>(
    py: Python<'py>,
    dtype: i32,
    bytes: &[u8],
    dims: &[i64],
    place: &mut usize,
) -> PyResult<Bound<'py, PyAny>> {
    let Some((&size, inner)) = dims.split_first() else {
        *place += 1;
        return scalar_object(py, element(dtype, bytes, *place - 1));
    };
    let rows = (0..size).map(|_| nested(py, dtype, bytes, inner, place)).collect::<PyResult<Vec<_>>>()?;
    Ok(PyList::new(py, rows)?.into_any())
}

/// Returns an array of integers or bools with a copy of bytes.
pub fn from_slice(device: lxla_device, dtype: i32, dims: &[i64], bytes: &[u8]) -> PyResult<Array> {
    // SAFETY: a slice.
    unsafe { from_memory(device, dtype, dims, bytes.as_ptr(), bytes.len()) }
}

/// Returns an array with a copy of `size` bytes at `data`.
///
/// # Safety
/// `data` is valid for reads of `size` bytes.
unsafe fn from_memory(device: lxla_device, dtype: i32, dims: &[i64], data: *const u8, size: usize) -> PyResult<Array> {
    let mut out = lxla_tensor { id: 0 };
    // SAFETY: as promised by the caller.
    check(unsafe {
        lxla_tensor_from_host(env(), device, dtype, dims.as_ptr(), dims.len(), data.cast(), size, &mut out)
    })?;
    Ok(Array::sized(out))
}

#[pyfunction]
fn from_bytes(data: &[u8], dtype: Code, shape: Vec<i64>, device: On) -> PyResult<Array> {
    // SAFETY: a slice.
    unsafe { from_memory(device.0, dtype.0, &shape, data.as_ptr(), data.len()) }
}

/// Returns an array with a copy of memory at an address. The caller keeps the memory.
#[pyfunction]
fn from_address(address: usize, size: usize, dtype: Code, shape: Vec<i64>, device: On) -> PyResult<Array> {
    // SAFETY: the package passes the memory of a contiguous NumPy array, which it holds.
    unsafe { from_memory(device.0, dtype.0, &shape, address as *const u8, size) }
}

/// Copies the values of an array to memory at an address, which has `size` bytes.
#[pyfunction]
fn read_to_address(py: Python<'_>, array: &Array, address: usize, size: usize) -> PyResult<()> {
    wait_for_value(py, array)?;
    let handle = array.handle;
    // SAFETY: the package passes the memory of a new NumPy array.
    crate::device::check_outside(py, move || unsafe {
        lxla_tensor_read(handle, std::ptr::with_exposed_provenance_mut(address), size)
    })
}

/// Returns an array or a scalar of NumPy, such as `numpy.float32(1)`, as an array of its dtype; None for any other object.
pub fn numpy_operand(object: &Bound<'_, PyAny>, device: lxla_device) -> PyResult<Option<Array>> {
    let py = object.py();
    if !object.hasattr("__array_interface__")? {
        return Ok(None);
    }
    let device = Py::new(py, crate::device::Device { device })?;
    let made = py.import("lazyxla._numpy")?.getattr("from_numpy")?.call1((object, py.None(), device))?;
    let made = made.cast::<Array>()?.get();
    made.copy_handle().map(Some)
}

/// Returns an array that takes over a reference to a handle.
#[pyfunction]
fn from_handle(id: u64) -> PyResult<Array> {
    let (handle, mut dtype) = (lxla_tensor { id }, 0);
    // SAFETY: a writable output; a handle that is none is an error.
    check(unsafe { lxla_tensor_dtype(handle, &mut dtype) })?;
    Ok(Array::sized(handle))
}

impl Array {
    /// Returns an array of the same tensor, with the same sequence number of creation.
    pub fn copy_handle(&self) -> PyResult<Array> {
        // SAFETY: handles are values.
        check(unsafe { lxla_tensor_retain(self.handle) })?;
        let mut same = Array::new(self.handle, self.is_large);
        (same.number, same.is_traced) = (self.number, self.is_traced);
        Ok(same)
    }
}

/// Returns the shape of nested lists and tuples, and their scalars in row-major order.
fn collect(object: &Bound<'_, PyAny>, depth: usize, dims: &mut Vec<i64>, found: &mut Vec<Scalar>) -> PyResult<()> {
    let items = match (object.cast::<PyList>(), object.cast::<PyTuple>()) {
        (Ok(list), _) => list.iter().collect::<Vec<_>>(),
        (_, Ok(tuple)) => tuple.iter().collect(),
        _ => {
            if depth != dims.len() {
                return Err(PyValueError::new_err(format!("ragged lists: a scalar at depth {depth} among lists")));
            }
            found.push(leaf(object)?);
            return Ok(());
        }
    };
    if depth == dims.len() {
        if !found.is_empty() || depth == crate::array::MAX_RANK {
            return Err(PyValueError::new_err(format!("ragged lists: a list at depth {depth} among scalars")));
        }
        dims.push(items.len() as i64);
    } else if dims[depth] != items.len() as i64 {
        let (first, here) = (dims[depth], items.len());
        return Err(PyValueError::new_err(format!("ragged lists: {first} elements and {here} at depth {depth}")));
    }
    items.iter().try_for_each(|item| collect(item, depth + 1, dims, found))
}

pub fn leaf(object: &Bound<'_, PyAny>) -> PyResult<Scalar> {
    if let Some(scalar) = Scalar::of(object)? {
        return Ok(scalar);
    }
    // Scalars of NumPy, and arrays of rank 0.
    let is_scalar = object.hasattr("dtype")? && object.hasattr("item")?;
    let item = if is_scalar { Some(object.call_method0("item")?) } else { None };
    let scalar = item.map(|item| Scalar::of(&item)).transpose()?.flatten();
    let kind = object.get_type().name()?;
    scalar.ok_or_else(|| PyTypeError::new_err(format!("an array has numbers or bools, not a {kind}")))
}

/// Returns the dtype of Python's scalars: int64, float32 and complex64 are the defaults.
fn common(scalars: &[Scalar]) -> PyResult<i32> {
    let rank = |scalar: &Scalar| match scalar {
        Scalar::Bool(_) => 0,
        Scalar::Int(_) => 1,
        Scalar::Large(_) | Scalar::Huge(_) => 2,
        Scalar::Float(_) => 3,
        Scalar::Complex(..) => 4,
    };
    let dtypes = [LXLA_DTYPE_PRED, LXLA_DTYPE_S64, LXLA_DTYPE_U64, LXLA_DTYPE_F32, LXLA_DTYPE_C64];
    Ok(scalars.iter().map(rank).max().map_or(LXLA_DTYPE_F32, |widest| dtypes[widest]))
}

/// Returns an array of a scalar, or of nested lists or tuples of scalars.
#[pyfunction]
fn from_nested(object: &Bound<'_, PyAny>, dtype: Option<Code>, device: On) -> PyResult<Array> {
    let (mut dims, mut scalars) = (Vec::new(), Vec::new());
    collect(object, 0, &mut dims, &mut scalars)?;
    let dtype = dtype.map_or_else(|| common(&scalars), |code| Ok(code.0))?;
    let mut bytes = Vec::new();
    for &scalar in &scalars {
        push(scalar, dtype, &mut bytes)?;
    }
    let wide = if is_small_float(dtype) { LXLA_DTYPE_F32 } else { dtype };
    // SAFETY: a slice.
    let array = unsafe { from_memory(device.0, wide, &dims, bytes.as_ptr(), bytes.len()) }?;
    if wide == dtype { Ok(array) } else { array.convert(object.py(), dtype) }
}

fn is_small_float(dtype: i32) -> bool {
    kind(dtype) == LXLA_KIND_FLOAT && !matches!(dtype, LXLA_DTYPE_F32 | LXLA_DTYPE_F64)
}

fn push(scalar: Scalar, dtype: i32, bytes: &mut Vec<u8>) -> PyResult<()> {
    let target = if is_small_float(dtype) { LXLA_DTYPE_F32 } else { dtype };
    refuse_lossy(scalar, dtype)?;
    let cast = scalar.cast(target)?;
    // SAFETY: the dtype of the scalar selects the member.
    unsafe {
        match target {
            LXLA_DTYPE_PRED => bytes.push(cast.value.u as u8),
            LXLA_DTYPE_S8 | LXLA_DTYPE_S4 | LXLA_DTYPE_S2 => bytes.extend((cast.value.i as i8).to_ne_bytes()),
            LXLA_DTYPE_S16 => bytes.extend((cast.value.i as i16).to_ne_bytes()),
            LXLA_DTYPE_S32 => bytes.extend((cast.value.i as i32).to_ne_bytes()),
            LXLA_DTYPE_S64 => bytes.extend(cast.value.i.to_ne_bytes()),
            LXLA_DTYPE_U8 | LXLA_DTYPE_U4 | LXLA_DTYPE_U2 => bytes.extend((cast.value.u as u8).to_ne_bytes()),
            LXLA_DTYPE_U16 => bytes.extend((cast.value.u as u16).to_ne_bytes()),
            LXLA_DTYPE_U32 => bytes.extend((cast.value.u as u32).to_ne_bytes()),
            LXLA_DTYPE_U64 => bytes.extend(cast.value.u.to_ne_bytes()),
            LXLA_DTYPE_F32 => bytes.extend((cast.value.f as f32).to_ne_bytes()),
            LXLA_DTYPE_F64 => bytes.extend(cast.value.f.to_ne_bytes()),
            LXLA_DTYPE_C64 => cast.value.c.iter().for_each(|part| bytes.extend((*part as f32).to_ne_bytes())),
            _ => cast.value.c.iter().for_each(|part| bytes.extend(part.to_ne_bytes())),
        }
    }
    Ok(())
}

/// An integer that the dtype lacks, and a complex number for a real dtype, are errors, as in NumPy.
pub fn refuse_lossy(scalar: Scalar, dtype: i32) -> PyResult<()> {
    let kind = kind(dtype);
    if scalar.beyond(dtype).is_some() {
        let name = crate::dtype::name(dtype);
        return Err(pyo3::exceptions::PyOverflowError::new_err(format!("{scalar} is out of bounds for {name}")));
    }
    match scalar {
        Scalar::Float(value) if !value.is_finite() && matches!(kind, LXLA_KIND_SIGNED | LXLA_KIND_UNSIGNED) => {
            Err(PyValueError::new_err(format!("{value} is not an integer")))
        }
        Scalar::Complex(..) if !matches!(kind, LXLA_KIND_COMPLEX | LXLA_KIND_PRED) => {
            Err(PyTypeError::new_err("a complex number has no value in a real dtype"))
        }
        _ => Ok(()),
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(from_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(from_address, module)?)?;
    module.add_function(wrap_pyfunction!(read_to_address, module)?)?;
    module.add_function(wrap_pyfunction!(from_handle, module)?)?;
    module.add_function(wrap_pyfunction!(from_nested, module)?)
}
