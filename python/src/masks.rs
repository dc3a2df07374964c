//! Masks as indices: the places of their true elements, whose number is a size.

use crate::array::Array;
use crate::device::{check_detached, env, wait_for_value};
use crate::host;
use crate::index::count;
use crate::sys::*;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of elements of the largest mask that is copied to the host from a device that is not a processor's.
const MOST_ON_HOST: i64 = 1 << 20;
/// Number of elements of the largest mask whose uses are compiled once for all numbers of true elements. The uses of
/// larger ones are compiled for the bounds of `dynamic_sizes`.
const MOST_FOR_ONE_PROGRAM: i64 = 1 << 10;

/// Whether places have been made, on a device that compiles, since masks stepped one.
static HAS_PLACES: AtomicBool = AtomicBool::new(false);

/// Returns the indices of the true elements of a mask, which is read, as an array for each axis.
///
/// The host finds them, and states that their number changes: a program that uses them is compiled for bounds of it, not
/// for each number. A device that is not a processor's searches large masks itself.
pub fn places(py: Python<'_>, mask: &Array) -> PyResult<Vec<Array>> {
    let (dims, device) = (mask.dims()?, mask.device()?);
    let elements = dims.iter().product::<i64>();
    step_uses(py, device)?;
    if !is_for_host(device, elements) {
        wait_for_value(py, mask)?;
        return crate::trace::outside(|| Python::attach(|py| searched(py, mask)));
    }
    let mask = host::read(py, mask)?;
    let indices = py.detach(|| indices_of(&mask, &dims))?;
    indices.iter().map(|bytes| sized(device, LXLA_DTYPE_S64, bytes, bytes.len() / 8, elements)).collect()
}

/// Whether the host finds the distinct elements of an array faster than its device, which is not `cpu`.
#[pyfunction]
fn is_for_the_host(x: &Array) -> PyResult<bool> {
    let (device, elements) = (x.device()?, x.dims()?.iter().product::<i64>());
    Ok(device.kind == LXLA_DEVICE_XLA && is_for_host(device, elements))
}

/// Copies arrays of rank 1 on `cpu` to the device of `like`. Their sizes change: they depend on the elements of `like`,
/// and are at most the number of its elements.
#[pyfunction]
fn copy_sized(py: Python<'_>, arrays: Vec<PyRef<'_, Array>>, like: &Array) -> PyResult<Vec<Array>> {
    let (device, elements) = (like.device()?, like.dims()?.iter().product::<i64>());
    step_uses(py, device)?;
    let copy = |x: &PyRef<'_, Array>| {
        let (bytes, count) = (host::read(py, x)?, x.dims()?[0] as usize);
        sized(device, x.dtype()?, &bytes, count, elements)
    };
    arrays.iter().map(copy).collect()
}

/// Whether the host finds the places in an array of a device with this number of elements.
fn is_for_host(device: lxla_device, elements: i64) -> bool {
    match device.kind {
        LXLA_DEVICE_CPU => true,
        LXLA_DEVICE_XLA => elements <= MOST_ON_HOST || is_on_processor(),
        _ => false,
    }
}

/// Steps what uses the places in earlier masks. A program would have a size for each of these masks otherwise, and would
/// be compiled for each combination of bounds.
fn step_uses(py: Python<'_>, device: lxla_device) -> PyResult<()> {
    if device.kind == LXLA_DEVICE_CPU || crate::trace::is_tracing() || !HAS_PLACES.swap(false, Ordering::Relaxed) {
        return Ok(());
    }
    crate::device::step_before_read(py, device)
}

/// Returns an array of `count` elements from the host. Their number changes, up to `elements`.
fn sized(device: lxla_device, dtype: i32, bytes: &[u8], count: usize, elements: i64) -> PyResult<Array> {
    let array = host::from_slice(device, dtype, &[count as i64], bytes)?;
    if device.kind == LXLA_DEVICE_XLA {
        let bound = if elements <= MOST_FOR_ONE_PROGRAM { elements } else { 0 };
        // SAFETY: values only.
        crate::error::check(unsafe { lxla_tensor_set_dynamic(array.handle, 0, bound) })?;
        HAS_PLACES.store(true, Ordering::Relaxed);
    }
    Ok(array)
}

/// Whether the devices of the environment are a processor's, whose memory is the host's.
fn is_on_processor() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    let find = || {
        // SAFETY: a writable output.
        let metrics = crate::device::text(|out| unsafe { lxla_env_metrics_json(env(), out) });
        metrics.is_ok_and(|metrics| metrics.replace(' ', "").contains("\"platform\":\"cpu\""))
    };
    *FOUND.get_or_init(find)
}

/// Returns the bytes of the indices of the true elements for each axis, in row-major order.
fn indices_of(mask: &[u8], dims: &[i64]) -> PyResult<Vec<Vec<u8>>> {
    let count = mask.iter().filter(|&&element| element != 0).count();
    let mut indices = Vec::with_capacity(dims.len());
    for _ in dims {
        let mut bytes: Vec<u8> = Vec::new();
        let lacking = |_| PyMemoryError::new_err(format!("no memory for the indices of {count} elements of a mask"));
        bytes.try_reserve_exact(8 * count).map_err(lacking)?;
        indices.push(bytes);
    }
    let mut index = vec![0_i64; dims.len()];
    for &element in mask {
        if element != 0 {
            for (bytes, at) in indices.iter_mut().zip(&index) {
                bytes.extend_from_slice(&at.to_ne_bytes());
            }
        }
        for axis in (0..dims.len()).rev() {
            index[axis] += 1;
            if index[axis] < dims[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    Ok(indices)
}

/// Searches a mask on its device, for a number of elements that is rounded up to a power of two, and cuts the indices
/// afterwards: the search takes most of the time to compile, and is compiled for few numbers.
fn searched(py: Python<'_>, mask: &Array) -> PyResult<Vec<Array>> {
    let count = count(py, mask)?;
    let mask = mask.value()?;
    let (handle, dims) = (mask.handle, mask.dims()?);
    let size = dims.iter().product::<i64>();
    let capacity = (count as u64).next_power_of_two().min(size.max(1) as u64) as i64;
    let mut out = vec![lxla_tensor { id: 0 }; dims.len()];
    let space = &mut out;
    check_detached(py, move || {
        let (rank, none) = (space.len(), std::ptr::null_mut());
        // SAFETY: `space` has one entry for each axis of the mask.
        unsafe { lxla_nonzero(handle, capacity, 0, LXLA_DTYPE_S64, space.as_mut_ptr(), rank, none) }
    })?;
    let found: Vec<Array> = out.into_iter().map(Array::sized).collect();
    let handles: Vec<lxla_tensor> = found.iter().map(|array| array.handle).collect();
    // SAFETY: the handles belong to `found`.
    check_detached(py, || unsafe { lxla_sync(handles.as_ptr(), handles.len()) })?;
    let cut = |array: &Array| {
        let handle = array.handle;
        // SAFETY: a writable output.
        Array::detached(py, move |out| unsafe { lxla_slice_axis(handle, 0, 0, count, 1, out) })
    };
    if capacity == count { Ok(found) } else { found.iter().map(cut).collect() }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(is_for_the_host, module)?)?;
    module.add_function(wrap_pyfunction!(copy_sized, module)?)
}
