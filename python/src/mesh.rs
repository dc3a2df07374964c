//! Meshes of devices, shardings, and what devices of a mesh exchange.

use crate::array::Array;
use crate::computation::{Computation, results};
use crate::device::{Device, HAS_MESH, check_detached, env, text};
use crate::error::check;
use crate::files::Names;
use crate::functions::{add, handles, one};
use crate::sys::*;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::ffi::CString;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

/// Axes, ordinals and handle of a mesh that was made.
struct Made {
    axes: Vec<(String, i64)>,
    ordinals: Vec<i32>,
    mesh: lxla_mesh,
    device: lxla_device,
}

/// All meshes: equal ones are one device, and stay as long as arrays on them may be used.
static MADE: Mutex<Vec<Made>> = Mutex::new(Vec::new());

/// Devices that are arranged along named axes: ``lx.Mesh({"data": 2, "model": 4})``.
///
/// The last axis counts fastest. ``devices`` lists the devices, ``xla:0``, ``xla:1`` and so on by default; on a CPU
/// plugin, ``lx.initialize(device_count=8)`` asks for several. Equal meshes are the same device. An array on the mesh
/// (``lx.shard``, or any function that takes a device) has its whole shape; XLA divides the work among the devices.
#[pyclass(frozen, module = "lazyxla")]
pub struct Mesh {
    axes: Vec<(String, i64)>,
    ordinals: Vec<i32>,
    mesh: lxla_mesh,
    pub device: lxla_device,
}

impl Mesh {
    pub fn handle(&self) -> lxla_mesh {
        self.mesh
    }
}

fn ordinal(device: &Bound<'_, PyAny>) -> PyResult<i32> {
    let device: crate::device::On = device.extract()?;
    if device.0.kind != LXLA_DEVICE_XLA {
        return Err(PyValueError::new_err("devices of a mesh are XLA devices, such as 'xla:1'"));
    }
    Ok(device.0.ordinal)
}

#[pymethods]
impl Mesh {
    #[new]
    #[pyo3(signature = (axes, devices = None))]
    fn new(py: Python<'_>, axes: &Bound<'_, PyDict>, devices: Option<&Bound<'_, PyAny>>) -> PyResult<Mesh> {
        let mut named = Vec::new();
        for (name, size) in axes.iter() {
            let wrong = |_| PyTypeError::new_err("axes of a mesh are a dictionary of sizes by names: {'data': 4}");
            named.push((name.extract::<String>().map_err(wrong)?, size.extract::<i64>().map_err(wrong)?));
        }
        let count = named.iter().try_fold(1usize, |product, (_, size)| {
            usize::try_from(*size).ok().and_then(|size| product.checked_mul(size))
        });
        let ordinals = match devices {
            None => (0..count.unwrap_or(0).min(1 << 20) as i32).collect(),
            Some(list) => list.try_iter()?.map(|each| ordinal(&each?)).collect::<PyResult<Vec<_>>>()?,
        };
        if devices.is_some() && Some(ordinals.len()) != count {
            let found = ordinals.len();
            return Err(PyValueError::new_err(format!(
                "devices: {found} given; the axes {named:?} want their product"
            )));
        }
        let find = |all: &[Made]| {
            let found = all.iter().find(|made| made.axes == named && made.ordinals == ordinals);
            found.map(|made| (made.mesh, made.device))
        };
        let lock = || MADE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let known = find(&lock());
        let (mesh, device) = match known {
            Some(found) => found,
            None => {
                let (mesh, device) = create(py, &named, &ordinals)?;
                lock().push(Made { axes: named.clone(), ordinals: ordinals.clone(), mesh, device });
                (mesh, device)
            }
        };
        HAS_MESH.store(true, Ordering::Relaxed);
        Ok(Mesh { axes: named, ordinals, mesh, device })
    }

    /// The sizes of the axes by their names.
    #[getter]
    fn axes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let axes = PyDict::new(py);
        for (name, size) in &self.axes {
            axes.set_item(name, size)?;
        }
        Ok(axes)
    }

    /// The mesh as a device.
    #[getter(device)]
    fn device_object(&self) -> Device {
        Device { device: self.device }
    }

    /// The devices, row-major over the axes.
    #[getter]
    fn devices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let device = |&ordinal| Device { device: lxla_device { kind: LXLA_DEVICE_XLA, ordinal } };
        let objects = self.ordinals.iter().map(|ordinal| Py::new(py, device(ordinal))).collect::<PyResult<Vec<_>>>()?;
        PyList::new(py, objects)
    }

    fn __repr__(&self) -> String {
        let axes: Vec<String> = self.axes.iter().map(|(name, size)| format!("'{name}': {size}")).collect();
        format!("lazyxla.Mesh({{{}}})", axes.join(", "))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Mesh>().is_ok_and(|other| other.get().device.ordinal == self.device.ordinal)
    }

    fn __hash__(&self) -> isize {
        self.device.ordinal as isize
    }
}

fn create(py: Python<'_>, axes: &[(String, i64)], ordinals: &[i32]) -> PyResult<(lxla_mesh, lxla_device)> {
    let names = Names::new(axes.iter().map(|(name, _)| name.clone()).collect())?;
    let sizes: Vec<i64> = axes.iter().map(|(_, size)| *size).collect();
    let (mut mesh, mut device) = (lxla_mesh { id: 0 }, lxla_device { kind: 0, ordinal: 0 });
    check_detached(py, || {
        let pointers = names.pointers();
        // SAFETY: lists of their lengths, one ordinal for each device, and a writable output.
        unsafe { lxla_mesh_create(env(), pointers.as_ptr(), sizes.as_ptr(), sizes.len(), ordinals.as_ptr(), &mut mesh) }
    })?;
    // SAFETY: a writable output.
    check(unsafe { lxla_mesh_device(mesh, &mut device) })?;
    Ok((mesh, device))
}

/// Returns an array on a mesh with a sharding. One that is on the mesh already gets a constraint.
#[pyfunction]
fn shard(py: Python<'_>, x: &Array, mesh: &Mesh, sharding: &str) -> PyResult<Array> {
    let sharding = CString::new(sharding)?;
    let device = x.device()?;
    let is_there = device.kind == LXLA_DEVICE_MESH && device.ordinal == mesh.device.ordinal;
    // Else the value is read.
    let x = if is_there { x.operand() } else { crate::device::read_of(x) };
    let mesh = mesh.mesh;
    one!(py, |out| lxla_tensor_shard(x, mesh, sharding.as_ptr(), out))
}

#[pyfunction]
fn constrained(py: Python<'_>, x: &Array, sharding: &str) -> PyResult<Array> {
    let sharding = CString::new(sharding)?;
    let x = x.operand();
    one!(py, |out| lxla_sharding_constraint(x, sharding.as_ptr(), out))
}

#[pyfunction]
fn sharding_of(py: Python<'_>, x: &Array) -> PyResult<String> {
    let x = crate::device::read_of(x);
    // SAFETY: a writable output.
    py.detach(|| text(|out| unsafe { lxla_tensor_sharding(x, out) }))
}

#[pyfunction]
fn shard_map(
    py: Python<'_>,
    body: &Computation,
    mesh: &Mesh,
    in_shardings: Vec<String>,
    arguments: Vec<PyRef<'_, Array>>,
    out_shardings: Vec<String>,
) -> PyResult<Vec<Array>> {
    let n = body.info()?.1;
    if in_shardings.len() != arguments.len() || out_shardings.len() != n {
        return Err(PyValueError::new_err("one sharding is wanted for each argument and each result"));
    }
    let (inputs, outputs, of) = (Names::new(in_shardings)?, Names::new(out_shardings)?, handles(&arguments));
    let (body, mesh) = (body.handle(), mesh.mesh);
    results(py, n, move |out| {
        let (inputs, outputs) = (inputs.pointers(), outputs.pointers());
        // SAFETY: lists with their lengths.
        unsafe { lxla_shard_map(body, mesh, inputs.as_ptr(), of.as_ptr(), of.len(), outputs.as_ptr(), out, n) }
    })
}

#[pyfunction]
fn all_reduce(py: Python<'_>, op: i32, x: &Array, axes: &str) -> PyResult<Array> {
    let (x, axes) = (x.operand(), CString::new(axes)?);
    one!(py, |out| lxla_all_reduce(op, x, axes.as_ptr(), out))
}

#[pyfunction]
fn all_gather(py: Python<'_>, x: &Array, axes: &str, axis: i64) -> PyResult<Array> {
    let (x, axes) = (x.operand(), CString::new(axes)?);
    one!(py, |out| lxla_all_gather(x, axes.as_ptr(), axis, out))
}

#[pyfunction]
fn reduce_scatter(py: Python<'_>, op: i32, x: &Array, axes: &str, axis: i64) -> PyResult<Array> {
    let (x, axes) = (x.operand(), CString::new(axes)?);
    one!(py, |out| lxla_reduce_scatter(op, x, axes.as_ptr(), axis, out))
}

#[pyfunction]
fn all_to_all(py: Python<'_>, x: &Array, axes: &str, split_axis: i64, concat_axis: i64) -> PyResult<Array> {
    let (x, axes) = (x.operand(), CString::new(axes)?);
    one!(py, |out| lxla_all_to_all(x, axes.as_ptr(), split_axis, concat_axis, out))
}

#[pyfunction]
fn collective_permute(py: Python<'_>, x: &Array, axis: &str, pairs: Vec<(i64, i64)>) -> PyResult<Array> {
    let (x, axis) = (x.operand(), CString::new(axis)?);
    let flat: Vec<i64> = pairs.iter().flat_map(|&(from, to)| [from, to]).collect();
    one!(py, |out| lxla_collective_permute(x, axis.as_ptr(), flat.as_ptr(), flat.len() / 2, out))
}

#[pyfunction]
fn axis_index(py: Python<'_>, mesh: &Mesh, axes: &str) -> PyResult<Array> {
    let (device, axes) = (mesh.device, CString::new(axes)?);
    one!(py, |out| lxla_axis_index(env(), device, axes.as_ptr(), out))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Mesh>()?;
    add!(module, shard, sharding_of, constrained, shard_map, all_reduce, all_gather, reduce_scatter, all_to_all);
    add!(module, collective_permute, axis_index);
    Ok(())
}
