//! The types of the arguments of a function that is traced once for each of them.

use crate::array::Array;
use crate::device::{Device, On};
use crate::dtype::DType;
use crate::functions::add;
use crate::tree::Flat;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyFloat, PyInt, PyList, PyString, PyTuple};

/// The leaves of arguments, as they are collected.
struct Leaves<'py> {
    /// Types of arrays, and numbers with their bits: -0.0, 0.0, 0 and False are different arguments.
    text: Vec<u8>,
    arrays: Vec<Bound<'py, PyAny>>,
    /// Other objects, which are compared by `==`, each with its type.
    others: Vec<Bound<'py, PyAny>>,
}

impl<'py> Leaves<'py> {
    fn array(&mut self, object: Bound<'py, PyAny>) -> PyResult<()> {
        let array = object.cast::<Array>()?.get();
        let device = array.device()?;
        let dims = array.dims()?;
        self.text.extend([b'A', array.dtype()? as u8, device.kind as u8, dims.len() as u8]);
        self.text.extend(device.ordinal.to_ne_bytes());
        dims.iter().for_each(|size| self.text.extend(size.to_ne_bytes()));
        self.arrays.push(object);
        Ok(())
    }

    fn number(&mut self, kind: u8, bits: u64) {
        self.text.push(kind);
        self.text.extend(bits.to_ne_bytes());
    }

    /// Adds a leaf that has no values of an array; false if it may have some.
    fn fixed(&mut self, leaf: &Bound<'py, PyAny>) -> PyResult<bool> {
        if leaf.is_none() {
            self.text.push(b'n');
        } else if leaf.is_exact_instance_of::<PyBool>() {
            self.text.extend([b'b', u8::from(leaf.is_truthy()?)]);
        } else if leaf.is_exact_instance_of::<PyFloat>() {
            self.number(b'f', leaf.cast::<PyFloat>()?.value().to_bits());
        } else if leaf.is_exact_instance_of::<PyComplex>() {
            let value = leaf.cast::<PyComplex>()?;
            self.number(b'c', value.real().to_bits());
            self.number(b'c', value.imag().to_bits());
        } else if leaf.is_exact_instance_of::<PyInt>() {
            match leaf.extract::<i64>() {
                Ok(value) => self.number(b'i', value as u64),
                Err(_) => self.other(leaf)?,
            }
        } else if leaf.is_exact_instance_of::<PyString>()
            || leaf.is_instance_of::<DType>()
            || leaf.is_instance_of::<Device>()
        {
            self.other(leaf)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn other(&mut self, leaf: &Bound<'py, PyAny>) -> PyResult<()> {
        let kind = leaf.get_type();
        if leaf.hasattr("__next__")? || leaf.hash().is_err() {
            return Err(PyTypeError::new_err(format!(
                "a jitted function takes trees of arrays, and other arguments that have a hash; {} has none, or is used \
                 up by a call: pass a list or a tuple",
                kind.name()?
            )));
        }
        self.text.push(b'o');
        self.others.push(kind.into_any());
        self.others.push(leaf.clone());
        Ok(())
    }
}

/// Returns the types of leaves, and the leaves that are arrays. Arrays of NumPy become arrays on the device of the first
/// array, or else on `device`.
fn types_of<'py>(leaves: &[Bound<'py, PyAny>], device: &On) -> PyResult<Leaves<'py>> {
    let mut found =
        Leaves { text: Vec::with_capacity(256), arrays: Vec::with_capacity(leaves.len()), others: Vec::new() };
    found.text.push(device.0.kind as u8);
    found.text.extend(device.0.ordinal.to_ne_bytes());
    for leaf in leaves {
        if leaf.is_instance_of::<Array>() {
            found.array(leaf.clone())?;
        } else if !found.fixed(leaf)? {
            if leaf.hasattr("__array_interface__")? {
                let py = leaf.py();
                let on = leaves.iter().find_map(|each| each.cast::<Array>().ok().map(|array| array.get().device()));
                let device = Py::new(py, Device { device: on.transpose()?.unwrap_or(device.0) })?;
                let made = py.import("lazyxla._numpy")?.getattr("from_numpy")?.call1((leaf, py.None(), device))?;
                found.array(made)?;
            } else {
                found.other(leaf)?;
            }
        }
    }
    Ok(found)
}

/// Returns a key of the types of leaves, and the leaves that are arrays.
#[pyfunction]
fn signature<'py>(
    leaves: Vec<Bound<'py, PyAny>>,
    spec: Bound<'py, PyAny>,
    device: On,
) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyList>)> {
    let py = spec.py();
    let mut found = types_of(&leaves, &device)?;
    let mut parts = vec![PyBytes::new(py, &found.text).into_any(), spec];
    parts.append(&mut found.others);
    Ok((PyTuple::new(py, parts)?, PyList::new(py, found.arrays)?))
}

/// Returns a key of the structure and the types of arguments, and the arrays among their leaves; None for arguments that
/// only `optree` knows, or that are compared by `==`.
#[pyfunction]
fn plain_signature<'py>(
    args: Bound<'py, PyAny>,
    kwargs: Bound<'py, PyAny>,
    device: On,
) -> PyResult<Option<(Bound<'py, PyBytes>, Bound<'py, PyList>)>> {
    let py = args.py();
    let Some(Flat { mut structure, leaves }) = Flat::of(PyTuple::new(py, [args, kwargs])?.as_any())? else {
        return Ok(None);
    };
    let found = types_of(&leaves, &device)?;
    if !found.others.is_empty() {
        return Ok(None);
    }
    structure.extend(found.text);
    Ok(Some((PyBytes::new(py, &structure), PyList::new(py, found.arrays)?)))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    add!(module, signature, plain_signature);
    Ok(())
}
