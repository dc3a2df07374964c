//! Distinct elements of arrays in host memory that have few of them.

use crate::array::Array;
use crate::device::wait_for_value;
use crate::dtype::object;
use crate::sys::*;
use crate::{dlpack, host};
use pyo3::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::hash::Hash;

/// Number of elements for each distinct one from which a table is faster than a sort.
const PER_DISTINCT: usize = 8;

/// Makes a closure of the bytes of an array and the size of an element, which calls `$found` with the bytes and a function
/// from the bytes of one element to an integer.
macro_rules! by_width {
    ($found:ident) => {
        |bytes, width| match width {
            1 => $found(bytes, u8::from_ne_bytes),
            2 => $found(bytes, u16::from_ne_bytes),
            4 => $found(bytes, u32::from_ne_bytes),
            8 => $found(bytes, spread),
            _ => None,
        }
    };
}

/// Returns an array of rank 1 on `cpu` with all elements of an array there, each pattern of bits once, in the order of
/// their first occurrences; None if it has many.
#[pyfunction]
fn few_distinct(py: Python<'_>, x: &Array) -> PyResult<Option<Array>> {
    let (dtype, device) = (x.dtype()?, x.device()?);
    let found = with_table(py, x, by_width!(distinct))?;
    found.map(|found| listed(py, device, dtype, &found)).transpose()
}

/// Returns the distinct elements as [`few_distinct`], the places of their first occurrences, how often each occurs, and
/// for each element of `x`, the place of its value among them; None if there are many.
#[pyfunction]
fn few_counted(py: Python<'_>, x: &Array) -> PyResult<Option<[Array; 4]>> {
    let (dtype, device) = (x.dtype()?, x.device()?);
    let found = with_table(py, x, by_width!(counted))?;
    let Some(Counted { values, first, counts, places }) = found else { return Ok(None) };
    let numbers = |numbers: &[i64]| {
        // SAFETY: the bytes of a slice of integers.
        let bytes = unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast::<u8>(), size_of_val(numbers)) };
        listed(py, device, LXLA_DTYPE_S64, bytes)
    };
    Ok(Some([listed(py, device, dtype, &values)?, numbers(&first)?, numbers(&counts)?, numbers(&places)?]))
}

/// Calls a function with the bytes of an array and the size of an element, without the interpreter's lock.
fn with_table<R: Send>(
    py: Python<'_>,
    x: &Array,
    found: impl FnOnce(&[u8], usize) -> Option<R> + Send,
) -> PyResult<Option<R>> {
    let dtype = x.dtype()?;
    // DLPack has no types of few bits, which are sorted fast.
    if matches!(dtype, LXLA_DTYPE_S2 | LXLA_DTYPE_U2 | LXLA_DTYPE_S4 | LXLA_DTYPE_U4 | LXLA_DTYPE_F4E2M1FN) {
        return Ok(None);
    }
    let width = object(py, dtype)?.get().itemsize()?;
    let size = x.dims()?.iter().product::<i64>() as usize * width;
    wait_for_value(py, x)?;
    dlpack::with_bytes(x, size, |bytes| py.detach(|| found(bytes, width)))
}

/// Returns an array of rank 1 with these elements.
fn listed(py: Python<'_>, device: lxla_device, dtype: i32, bytes: &[u8]) -> PyResult<Array> {
    let count = bytes.len() / object(py, dtype)?.get().itemsize()?;
    host::from_slice(device, dtype, &[count as i64], bytes)
}

/// Returns the bytes of the distinct elements; None if they are many.
fn distinct<T: Copy + Eq + Hash, const N: usize>(bytes: &[u8], element: impl Fn([u8; N]) -> T) -> Option<Vec<u8>> {
    let (elements, _) = bytes.as_chunks::<N>();
    let most = elements.len() / PER_DISTINCT;
    let (mut seen, mut found) = (FxHashSet::default(), Vec::new());
    for &bytes in elements {
        if seen.insert(element(bytes)) {
            if seen.len() > most {
                return None;
            }
            found.extend(bytes);
        }
    }
    Some(found)
}

/// The distinct elements of an array, in the order of their first occurrences.
#[derive(Default)]
struct Counted {
    /// Their bytes.
    values: Vec<u8>,
    /// The place of each one's first occurrence.
    first: Vec<i64>,
    /// How often each one occurs.
    counts: Vec<i64>,
    /// For each element of the array, the place of its value in `values`.
    places: Vec<i64>,
}

/// Returns the distinct elements with their places and counts; None if they are many.
fn counted<T: Copy + Eq + Hash, const N: usize>(bytes: &[u8], element: impl Fn([u8; N]) -> T) -> Option<Counted> {
    let (elements, _) = bytes.as_chunks::<N>();
    let most = elements.len() / PER_DISTINCT;
    let (mut seen, mut found) = (FxHashMap::default(), Counted::default());
    found.places.try_reserve_exact(elements.len()).ok()?;
    for (at, &bytes) in elements.iter().enumerate() {
        let place = *seen.entry(element(bytes)).or_insert(found.first.len());
        if place == found.first.len() {
            if place == most {
                return None;
            }
            found.values.extend(bytes);
            found.first.push(at as i64);
            found.counts.push(0);
        }
        found.counts[place] += 1;
        found.places.push(place as i64);
    }
    Some(found)
}

/// Returns another number for each 8 bytes, whose low half depends on all of them: hashes of numbers that differ only in
/// their high bits, as small integers in f64, would have equal low bits.
fn spread(bytes: [u8; 8]) -> u64 {
    let x = u64::from_ne_bytes(bytes);
    x ^ x >> 32
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(few_distinct, module)?)?;
    module.add_function(wrap_pyfunction!(few_counted, module)?)
}
