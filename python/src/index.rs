//! Reading by `x[key]`: integers, slices, None, ..., arrays of integers and masks, as NumPy has them.

use crate::array::Array;
use crate::device::env;
use crate::dtype::kind;
use crate::host;
use crate::scalar::Scalar;
use crate::sys::*;
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyList, PySlice, PyTuple};

/// Elements that are read from one axis of the array.
pub enum Axis {
    /// `start`, then `size` elements at a distance of `step`; removed from the result with `drop`.
    Range { start: i64, size: i64, step: i64, drop: bool },
    /// By an array of integers.
    By(Array),
}

/// A key, taken apart: one entry for each axis of the array, and the places of new axes among them.
pub struct Key {
    pub axes: Vec<Axis>,
    /// Before which axis a new one stands, once for each None.
    pub new_axes: Vec<usize>,
    /// Before which axis a `...` of no axes stands that separates index arrays: the axes of the arrays come first then.
    pub gap: Option<usize>,
    /// The shape with an axis of size 1 for each bool, which is an index array of this axis: empty, or a single 0.
    pub wide: Vec<i64>,
}

enum Item {
    Int(i64),
    Slice(Py<PySlice>),
    New,
    Ellipsis,
    By(Array, Bounds),
    Mask(Array),
    Flag(bool),
}

impl Item {
    /// Whether NumPy counts it among the index arrays of a key that has one.
    fn is_advanced(&self) -> bool {
        matches!(self, Item::Int(_) | Item::By(..) | Item::Mask(_) | Item::Flag(_))
    }
}

/// The smallest and the largest index of an array; None if the array is empty or on a device.
type Bounds = Option<(i128, i128)>;

fn item(object: &Bound<'_, PyAny>, device: lxla_device) -> PyResult<Item> {
    let py = object.py();
    if object.is_none() {
        return Ok(Item::New);
    }
    if object.is(py.Ellipsis()) {
        return Ok(Item::Ellipsis);
    }
    if let Ok(slice) = object.cast::<PySlice>() {
        return Ok(Item::Slice(slice.clone().unbind()));
    }
    if object.is_instance_of::<PyInt>() && !object.is_instance_of::<PyBool>() {
        return object.extract().map(Item::Int).map_err(|_| PyIndexError::new_err("an index of more than 64 bits"));
    }
    if let Some(flag) = flag(py, object)? {
        return Ok(Item::Flag(flag));
    }
    if let Ok(array) = object.cast::<Array>() {
        return of_array(py, array.get());
    }
    let is_array = object.hasattr("__array_interface__")?;
    // An integer of NumPy is one, and so is an array of rank 0.
    if object.hasattr("__index__")? && (!is_array || object.getattr("shape")?.eq(PyTuple::empty(py))?) {
        match object.call_method0("__index__") {
            Ok(found) => {
                return found.extract().map(Item::Int).map_err(|_| PyIndexError::new_err("an index beyond 64 bits"));
            }
            Err(error) if !is_array => return Err(error),
            Err(_) => {}
        }
    }
    if object.is_instance_of::<PyList>() || is_array {
        return of_host(object, device);
    }
    let name = object.get_type().name()?;
    Err(PyIndexError::new_err(format!(
        "an index is an integer, a slice, None, ..., or an array of integers or bools, not a {name}"
    )))
}

/// Returns the value of a bool, of a bool of NumPy, or of an array of rank 0 with a bool, which is read.
pub fn flag(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Option<bool>> {
    if object.is_instance_of::<PyBool>() {
        return object.is_truthy().map(Some);
    }
    if let Ok(array) = object.cast::<Array>() {
        let array = array.get();
        let is_flag = array.dtype()? == LXLA_DTYPE_PRED && array.dims()?.is_empty();
        return if is_flag { count(py, array).map(|count| Some(count == 1)) } else { Ok(None) };
    }
    if !object.hasattr("__array_interface__")? || !object.getattr("shape")?.eq(PyTuple::empty(py))? {
        return Ok(None);
    }
    let is_flag = object.getattr("dtype")?.getattr("kind")?.eq("b")?;
    if is_flag { object.is_truthy().map(Some) } else { Ok(None) }
}

/// An index of a list or of an array of another library: its values are known.
fn of_host(object: &Bound<'_, PyAny>, device: lxla_device) -> PyResult<Item> {
    let py = object.py();
    let holds_arrays: bool = py.import("lazyxla._creation")?.getattr("holds_lazy")?.call1((object,))?.extract()?;
    let on = if holds_arrays { device } else { lxla_device { kind: LXLA_DEVICE_CPU, ordinal: 0 } };
    let options = pyo3::types::PyDict::new(py);
    options.set_item("device", Py::new(py, crate::device::Device { device: on })?)?;
    let array = py.import("lazyxla")?.getattr("asarray")?.call((object,), Some(&options))?;
    let array = array.cast::<Array>()?.get();
    let dims = array.dims()?;
    if dims == [0] && object.is_instance_of::<PyList>() {
        return Ok(Item::By(host::from_slice(device, LXLA_DTYPE_S64, &dims, &[])?, None));
    }
    if holds_arrays {
        return of_array(py, array);
    }
    let (dtype, count) = (array.dtype()?, dims.iter().product::<i64>() as usize);
    let bytes = host::read(py, array)?;
    let bounds = match kind(dtype) {
        LXLA_KIND_SIGNED | LXLA_KIND_UNSIGNED => host::extremes(dtype, &bytes, count),
        _ => None,
    };
    match of_array(py, &host::from_slice(device, dtype, &dims, &bytes)?)? {
        Item::By(array, _) => Ok(Item::By(array, bounds)),
        other => Ok(other),
    }
}

fn of_array(py: Python<'_>, array: &Array) -> PyResult<Item> {
    let dtype = array.dtype()?;
    match kind(dtype) {
        LXLA_KIND_PRED => Ok(Item::Mask(array.value()?)),
        LXLA_KIND_SIGNED | LXLA_KIND_UNSIGNED => Ok(Item::By(array.convert(py, dtype)?, None)),
        _ => Err(PyIndexError::new_err(format!("an array of {} is not an index", crate::dtype::name(dtype)))),
    }
}

/// Takes a key apart. Masks are read: their number of true elements is a size of the result.
pub fn parse(py: Python<'_>, array: &Array, key: &Bound<'_, PyAny>) -> PyResult<Key> {
    let device = array.device()?;
    let objects = match key.cast::<PyTuple>() {
        Ok(tuple) => tuple.iter().collect(),
        Err(_) => vec![key.clone()],
    };
    let items = objects.iter().map(|object| item(object, device)).collect::<PyResult<Vec<_>>>()?;
    let mut dims = array.dims()?;
    let mut used = 0;
    for item in &items {
        used += match item {
            Item::New | Item::Ellipsis | Item::Flag(_) => 0,
            Item::Mask(mask) => mask.dims()?.len(),
            _ => 1,
        };
    }
    if used > dims.len() {
        let rank = dims.len();
        return Err(PyIndexError::new_err(format!("{used} indices for an array of rank {rank}")));
    }
    if items.iter().filter(|item| matches!(item, Item::Ellipsis)).count() > 1 {
        return Err(PyIndexError::new_err("a key has at most one ..."));
    }
    used += widen(&items, &mut dims, used)?;
    let mut key = Key { axes: Vec::new(), new_axes: Vec::new(), gap: None, wide: dims.clone() };
    let gap = gap(&items, dims.len() - used);
    check_bounds(&items, &dims, used)?;
    for (i, item) in items.into_iter().enumerate() {
        let at = key.axes.len();
        if gap == Some(i) {
            key.gap = Some(at);
        }
        match item {
            Item::New => key.new_axes.push(at),
            Item::Ellipsis => key.whole(&dims[at..at + dims.len() - used]),
            Item::Int(i) => key.axes.push(one(i, dims[at])),
            Item::Slice(slice) => key.axes.push(range(slice.bind(py), dims[at])?),
            Item::By(indices, _) => key.axes.push(Axis::By(indices)),
            Item::Mask(mask) => mask_axes(py, &mut key, &mask, &dims[at..])?,
            Item::Flag(flag) => key.axes.push(Axis::By(zeros(device, flag.into())?)),
        }
    }
    let rest = key.axes.len();
    key.whole(&dims[rest..]);
    Ok(key)
}

/// Inserts the axes of bools into the shape, and returns their number. The other items stand for `used` axes.
fn widen(items: &[Item], dims: &mut Vec<i64>, used: usize) -> PyResult<usize> {
    let (mut at, rest) = (0, dims.len() - used);
    for item in items {
        at += match item {
            Item::New => 0,
            Item::Ellipsis => rest,
            Item::Mask(mask) => mask.dims()?.len(),
            Item::Flag(_) => {
                dims.insert(at, 1);
                1
            }
            _ => 1,
        };
    }
    Ok(items.iter().filter(|item| matches!(item, Item::Flag(_))).count())
}

/// Returns an index array of `count` zeros.
fn zeros(device: lxla_device, count: usize) -> PyResult<Array> {
    host::from_slice(device, LXLA_DTYPE_S64, &[count as i64], &vec![0; 8 * count])
}

/// Returns the place of a `...` of no axes that alone separates the index arrays of a key.
fn gap(items: &[Item], size: usize) -> Option<usize> {
    let first = items.iter().position(Item::is_advanced)?;
    let last = items.iter().rposition(Item::is_advanced)?;
    let mut between = (first..last).filter(|&i| !items[i].is_advanced());
    let found = between.next().filter(|&i| size == 0 && matches!(items[i], Item::Ellipsis));
    found.filter(|_| between.next().is_none())
}

impl Key {
    /// Returns the places of the new axes, an axis for the gap among them.
    fn places(&self) -> Vec<usize> {
        self.new_axes.iter().copied().chain(self.gap).collect()
    }

    /// The number of axes of the result behind that of the gap.
    pub fn behind(&self, gap: usize) -> usize {
        let whole = self.axes[gap..].iter().filter(|axis| matches!(axis, Axis::Range { drop: false, .. })).count();
        whole + self.new_axes.iter().filter(|&&place| place >= gap).count()
    }

    /// The rank of the elements that a key with index arrays selects.
    pub fn rank(&self) -> PyResult<usize> {
        let (mut of_arrays, mut others) = (0, self.new_axes.len());
        for axis in &self.axes {
            match axis {
                Axis::By(indices) => of_arrays = of_arrays.max(indices.dims()?.len()),
                Axis::Range { drop, .. } => others += usize::from(!drop),
            }
        }
        Ok(of_arrays + others)
    }

    fn whole(&mut self, sizes: &[i64]) {
        self.axes.extend(sizes.iter().map(|&size| Axis::Range { start: 0, size, step: 1, drop: false }));
    }

    /// Returns the array with the axes of the bools; None if the key has none.
    pub fn widened(&self, py: Python<'_>, array: &Array) -> PyResult<Option<Array>> {
        if self.wide == array.dims()? { Ok(None) } else { reshape(py, array.copy()?, &self.wide).map(Some) }
    }

    pub fn has_arrays(&self) -> bool {
        self.axes.iter().any(|axis| matches!(axis, Axis::By(_)))
    }
}

fn within(i: i128, size: i64, axis: usize) -> PyResult<()> {
    if i < -i128::from(size) || i >= i128::from(size) {
        return Err(PyIndexError::new_err(format!("index {i} is out of bounds for axis {axis} of size {size}")));
    }
    Ok(())
}

/// Checks the indices that are known on the host, before a mask is read.
fn check_bounds(items: &[Item], dims: &[i64], used: usize) -> PyResult<()> {
    let mut at = 0;
    for item in items {
        at += match item {
            Item::New => 0,
            Item::Ellipsis => dims.len() - used,
            Item::Mask(mask) => mask.dims()?.len(),
            Item::Int(i) => within((*i).into(), dims[at], at).map(|()| 1)?,
            Item::By(_, Some((low, high))) => {
                within(*low, dims[at], at)?;
                within(*high, dims[at], at).map(|()| 1)?
            }
            Item::By(_, None) | Item::Slice(_) | Item::Flag(_) => 1,
        };
    }
    Ok(())
}

/// An integer that is within the axis.
fn one(i: i64, size: i64) -> Axis {
    Axis::Range { start: if i < 0 { i + size } else { i }, size: 1, step: 1, drop: true }
}

fn range(slice: &Bound<'_, PySlice>, size: i64) -> PyResult<Axis> {
    let found = slice.indices(size as isize)?;
    Ok(Axis::Range { start: found.start as i64, size: found.slicelength as i64, step: found.step as i64, drop: false })
}

/// Adds the axes of a mask: the indices of its true elements. An axis of size 0 of the mask fits every axis.
fn mask_axes(py: Python<'_>, key: &mut Key, mask: &Array, dims: &[i64]) -> PyResult<()> {
    let shape = mask.dims()?;
    if shape.iter().zip(dims).any(|(&given, &size)| given != size && given != 0) {
        return Err(PyIndexError::new_err(format!("a mask of shape {shape:?} for axes of sizes {dims:?}")));
    }
    key.axes.extend(crate::masks::places(py, mask)?.into_iter().map(Axis::By));
    Ok(())
}

/// Returns the number of true elements of a mask, which is read.
pub fn count(py: Python<'_>, mask: &Array) -> PyResult<i64> {
    crate::device::wait_for_value(py, mask)?;
    crate::trace::outside(|| Python::attach(|py| counted(py, mask)))
}

fn counted(py: Python<'_>, mask: &Array) -> PyResult<i64> {
    let numbers = mask.value()?.convert(py, LXLA_DTYPE_S64)?;
    let handle = numbers.operand();
    let none = || std::ptr::null();
    // SAFETY: NULL axes are all axes; a writable output.
    let sum = Array::detached(py, move |out| unsafe { lxla_reduce(LXLA_REDUCE_SUM, handle, none(), 0, 0, out) })?;
    match host::read_one(py, &sum)? {
        Scalar::Int(count) => Ok(count),
        other => Err(PyTypeError::new_err(format!("a count is an integer, not {other:?}"))),
    }
}

/// `x[flag]`: a new first axis, of size 1 if the bool is true, else 0.
fn by_flag(py: Python<'_>, array: &Array, flag: bool) -> PyResult<Array> {
    let mut dims = array.dims()?;
    dims.insert(0, 1);
    let wide = reshape(py, array.copy()?, &dims)?;
    let (handle, count) = (wide.operand(), flag.into());
    // SAFETY: a writable output.
    Array::detached(py, move |out| unsafe { lxla_slice_axis(handle, 0, 0, count, 1, out) })
}

pub fn get(py: Python<'_>, array: &Array, key: &Bound<'_, PyAny>) -> PyResult<Array> {
    if let Some(flag) = flag(py, key)? {
        return by_flag(py, array, flag);
    }
    let key = parse(py, array, key)?;
    let widened = key.widened(py, array)?;
    let part = slice(py, widened.as_ref().unwrap_or(array), &key.axes)?;
    if !key.has_arrays() {
        let dims = part.dims()?;
        return reshape(py, part, &shape(&key, &dims));
    }
    by_arrays(py, part, &key)
}

/// The shape of a slice with new axes and without dropped ones.
pub fn shape(key: &Key, dims: &[i64]) -> Vec<i64> {
    let mut result = Vec::new();
    for (i, (axis, &size)) in key.axes.iter().zip(dims).enumerate() {
        result.extend(key.new_axes.iter().filter(|&&place| place == i).map(|_| 1));
        if !matches!(axis, Axis::Range { drop: true, .. }) {
            result.push(size);
        }
    }
    result.extend(key.new_axes.iter().filter(|&&place| place == key.axes.len()).map(|_| 1));
    result
}

pub fn reshape(py: Python<'_>, array: Array, dims: &[i64]) -> PyResult<Array> {
    if array.dims()? == dims {
        return Ok(array);
    }
    let (handle, dims) = (array.operand(), dims.to_vec());
    // SAFETY: a list of its length, and a writable output.
    Array::detached(py, move |out| unsafe { lxla_reshape(handle, dims.as_ptr(), dims.len(), out) })
}

/// The ranges of a key as they are in memory: lowest index, size, distance, and whether the order is reversed.
pub struct Region {
    pub starts: Vec<i64>,
    pub limits: Vec<i64>,
    pub strides: Vec<i64>,
    pub reversed: Vec<i64>,
    pub is_whole: bool,
}

pub fn ranges(axes: &[Axis], dims: &[i64]) -> Region {
    let mut found =
        Region { starts: Vec::new(), limits: Vec::new(), strides: Vec::new(), reversed: Vec::new(), is_whole: true };
    for (i, (axis, &full)) in axes.iter().zip(dims).enumerate() {
        let (mut start, size, mut step) = match axis {
            Axis::Range { start, size, step, .. } => (*start, *size, *step),
            Axis::By(_) => (0, full, 1),
        };
        if size == 0 {
            (start, step) = (0, 1);
        } else if step < 0 {
            start += (size - 1) * step;
            step = -step;
            found.reversed.push(i as i64);
        }
        let limit = if size == 0 { start } else { start + (size - 1) * step + 1 };
        // A single element has no distance, which would be another program.
        step = if size <= 1 { 1 } else { step };
        found.is_whole &= start == 0 && limit == full && step == 1;
        found.starts.push(start);
        found.limits.push(limit);
        found.strides.push(step);
    }
    found
}

/// Returns the ranges of a key, with all axes. Positions of slices without steps are operands of the program.
pub fn slice(py: Python<'_>, array: &Array, axes: &[Axis]) -> PyResult<Array> {
    let dims = array.dims()?;
    let part = ranges(axes, &dims);
    let handle = array.operand();
    let taken = if part.is_whole {
        // SAFETY: a writable output.
        Array::detached(py, move |out| unsafe { lxla_tensor_snapshot(handle, out) })?
    } else if array.device()?.kind != LXLA_DEVICE_CPU && part.strides.iter().all(|&step| step == 1) {
        at_positions(py, array, &part)?
    } else {
        let (starts, limits, strides) = (&part.starts, &part.limits, &part.strides);
        // SAFETY: three lists of one length, and a writable output.
        Array::detached(py, move |out| unsafe {
            lxla_slice(handle, starts.as_ptr(), limits.as_ptr(), strides.as_ptr(), starts.len(), out)
        })?
    };
    if part.reversed.is_empty() {
        return Ok(taken);
    }
    let (handle, axes) = (taken.operand(), &part.reversed);
    // SAFETY: a list of its length, and a writable output.
    Array::detached(py, move |out| unsafe { lxla_flip(handle, axes.as_ptr(), axes.len(), out) })
}

fn at_positions(py: Python<'_>, array: &Array, part: &Region) -> PyResult<Array> {
    let device = array.device()?;
    let positions = part.starts.iter().map(|&at| integer(py, at, device)).collect::<PyResult<Vec<_>>>()?;
    let starts: Vec<lxla_tensor> = positions.iter().map(|position| position.operand()).collect();
    let sizes: Vec<i64> = part.starts.iter().zip(&part.limits).map(|(start, limit)| limit - start).collect();
    let handle = array.operand();
    // SAFETY: two lists of one length, and a writable output; `positions` live until the call has returned.
    Array::detached(py, move |out| unsafe {
        lxla_dynamic_slice(handle, starts.as_ptr(), sizes.as_ptr(), sizes.len(), out)
    })
}

/// Returns an array of rank 0 with an integer.
fn integer(py: Python<'_>, value: i64, device: lxla_device) -> PyResult<Array> {
    let scalar = Scalar::Int(value).in_c();
    // SAFETY: rank 0, and a writable output.
    Array::detached(py, move |out| unsafe {
        lxla_tensor_full_with_scalar(env(), device, LXLA_DTYPE_S64, std::ptr::null(), 0, &scalar, out)
    })
}

/// The index arrays of a key for an array with the new axes; 0 for whole axes. Integers are arrays of rank 0: zeros,
/// since the slice has one element there.
pub fn operands(py: Python<'_>, key: &Key, device: lxla_device) -> PyResult<(Vec<Array>, Vec<lxla_tensor>)> {
    let (mut kept, mut handles, places) = (Vec::new(), Vec::new(), key.places());
    for (i, axis) in key.axes.iter().enumerate() {
        handles.extend(places.iter().filter(|&&place| place == i).map(|_| lxla_tensor { id: 0 }));
        handles.push(match axis {
            Axis::By(indices) => indices.operand(),
            Axis::Range { drop: true, .. } => {
                kept.push(integer(py, 0, device)?);
                kept[kept.len() - 1].operand()
            }
            Axis::Range { .. } => lxla_tensor { id: 0 },
        });
    }
    Ok((kept, handles))
}

/// The shape of a slice with all its axes and the new ones.
pub fn expanded(key: &Key, dims: &[i64]) -> Vec<i64> {
    let (mut result, places) = (Vec::new(), key.places());
    for (i, &size) in dims.iter().enumerate() {
        result.extend(places.iter().filter(|&&place| place == i).map(|_| 1));
        result.push(size);
    }
    result.extend(places.iter().filter(|&&place| place == dims.len()).map(|_| 1));
    result
}

fn by_arrays(py: Python<'_>, part: Array, key: &Key) -> PyResult<Array> {
    let dims = part.dims()?;
    let wide = reshape(py, part, &expanded(key, &dims))?;
    let (_kept, handles) = operands(py, key, wide.device()?)?;
    let handle = wide.operand();
    let (list, n) = (&handles, handles.len());
    // SAFETY: a list of its length, with handles that `key` and `_kept` hold, and a writable output.
    let found = Array::detached(py, move |out| unsafe { lxla_index(handle, list.as_ptr(), n, out) })?;
    let Some(gap) = key.gap else { return Ok(found) };
    let mut dims = found.dims()?;
    dims.remove(dims.len() - 1 - key.behind(gap));
    reshape(py, found, &dims)
}
