//! Distinct elements of arrays in host memory that have few of them.

use crate::array::Array;
use crate::device::wait_for_value;
use crate::dtype::object;
use crate::sys::*;
use crate::{dlpack, host};
use pyo3::prelude::*;
use rustc_hash::FxHashSet;
use std::hash::Hash;

/// A table of more distinct elements than one for this many is slower than a sort.
const PER_DISTINCT: usize = 8;

/// Returns an array of rank 1 on `cpu` with all elements of an array there, each pattern of bits once, in the order of
/// their first occurrences; None if it has many.
#[pyfunction]
fn few_distinct(py: Python<'_>, x: &Array) -> PyResult<Option<Array>> {
    let (dtype, device) = (x.dtype()?, x.device()?);
    // DLPack has no types of few bits, which are sorted fast.
    if matches!(dtype, LXLA_DTYPE_S2 | LXLA_DTYPE_U2 | LXLA_DTYPE_S4 | LXLA_DTYPE_U4 | LXLA_DTYPE_F4E2M1FN) {
        return Ok(None);
    }
    let width = object(py, dtype)?.get().itemsize()?;
    let size = x.dims()?.iter().product::<i64>() as usize * width;
    wait_for_value(py, x)?;
    let found = dlpack::with_bytes(x, size, |bytes| {
        py.detach(|| match width {
            1 => distinct(bytes, u8::from_ne_bytes),
            2 => distinct(bytes, u16::from_ne_bytes),
            4 => distinct(bytes, u32::from_ne_bytes),
            8 => distinct(bytes, spread),
            _ => None,
        })
    })?;
    found.map(|found| host::from_slice(device, dtype, &[(found.len() / width) as i64], &found)).transpose()
}

/// Returns the bytes of the distinct elements; None if they are many.
fn distinct<T: Copy + Eq + Hash, const N: usize>(bytes: &[u8], element: impl Fn([u8; N]) -> T) -> Option<Vec<u8>> {
    let (elements, _) = bytes.as_chunks::<N>();
    let most = elements.len() / PER_DISTINCT;
    let (mut seen, mut found) = (FxHashSet::default(), Vec::new());
    for &bytes in elements {
        let x = element(bytes);
        if seen.insert(x) {
            if seen.len() > most {
                return None;
            }
            found.extend(bytes);
        }
    }
    Some(found)
}

/// Returns another number for each 8 bytes, whose low half depends on all of them: the hash of numbers that differ in
/// their high bits alone, as small integers in f64, has few different low ones.
fn spread(bytes: [u8; 8]) -> u64 {
    let x = u64::from_ne_bytes(bytes);
    x ^ x >> 32
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(few_distinct, module)?)
}
