//! Converts raw arguments to the types of the library. Pointers of the caller are dereferenced only here; the safety
//! requirements of each function are those of [`crate::capi`].

use crate::capi::types::{lxla_scalar, lxla_tensor};
use crate::error;
use crate::error::{Error, Result};
use crate::tensor;
use crate::types::{DType, Kind, MAX_RANK, ScalarValue, TensorType, element_count};
use std::borrow::Cow;
use std::ffi::{CStr, CString, c_char};

/// Returns the `length` elements at `start`. If `length` is 0, `start` is ignored and may be NULL.
pub unsafe fn slice<'a, T>(name: &str, start: *const T, length: usize) -> Result<&'a [T]> {
    if length == 0 {
        return Ok(&[]);
    }
    check_pointer(name, start)?;
    if length > isize::MAX as usize / size_of::<T>() {
        return Err(error!(InvalidArgument, "{name}: {length} elements are more than an address space holds"));
    }
    // SAFETY: not null, aligned, and as long as the caller says.
    Ok(unsafe { std::slice::from_raw_parts(start, length) })
}

/// Returns `length` elements at `start`, or None if it is NULL.
pub unsafe fn optional_slice<'a, T>(name: &str, start: *const T, length: usize) -> Result<Option<&'a [T]>> {
    // SAFETY: the caller's promise.
    if start.is_null() { Ok(None) } else { unsafe { slice(name, start, length) }.map(Some) }
}

/// Like [`slice()`], for writable elements.
pub unsafe fn slice_mut<'a, T>(name: &str, start: *mut T, length: usize) -> Result<&'a mut [T]> {
    if length == 0 {
        return Ok(&mut []);
    }
    check_pointer(name, start)?;
    if length > isize::MAX as usize / size_of::<T>() {
        return Err(error!(InvalidArgument, "{name}: {length} elements are more than an address space holds"));
    }
    // SAFETY: not null, aligned, and as long as the caller says.
    Ok(unsafe { std::slice::from_raw_parts_mut(start, length) })
}

#[inline]
fn check_pointer<T>(name: &str, pointer: *const T) -> Result<()> {
    if pointer.is_null() || !pointer.is_aligned() {
        return Err(bad_pointer(name, pointer.cast(), align_of::<T>()));
    }
    Ok(())
}

#[cold]
fn bad_pointer(name: &str, pointer: *const u8, alignment: usize) -> Error {
    if pointer.is_null() {
        error!(NullArgument, "{name}: it is NULL")
    } else {
        error!(InvalidArgument, "{name}: {pointer:?} is not aligned to {alignment} bytes")
    }
}

/// Returns a list with one entry per axis.
pub unsafe fn ranked<'a>(name: &str, start: *const i64, rank: usize) -> Result<&'a [i64]> {
    check_rank(rank)?;
    // SAFETY: the caller's promise.
    unsafe { slice(name, start, rank) }
}

fn check_rank(rank: usize) -> Result<()> {
    if rank > MAX_RANK {
        return Err(error!(InvalidArgument, "rank: {rank} given; want at most {MAX_RANK}"));
    }
    Ok(())
}

/// Returns a list with one entry per axis, or None if it is NULL.
pub unsafe fn optional_ranked<'a>(name: &str, start: *const i64, rank: usize) -> Result<Option<&'a [i64]>> {
    // SAFETY: the caller's promise.
    if start.is_null() { Ok(None) } else { unsafe { ranked(name, start, rank) }.map(Some) }
}

/// Returns a list with one entry per axis, or `default` for every axis if it is NULL.
pub unsafe fn ranked_or<'a>(name: &str, start: *const i64, rank: usize, default: i64) -> Result<Cow<'a, [i64]>> {
    check_rank(rank)?;
    // SAFETY: the caller's promise.
    let given = unsafe { optional_ranked(name, start, rank)? };
    Ok(given.map_or_else(|| Cow::Owned(vec![default; rank]), Cow::Borrowed))
}

/// Returns the listed axes of `x`: none for a list of length 0, all for NULL with length 0.
pub unsafe fn axes_of<'a>(x: lxla_tensor, start: *const i64, n_axes: usize) -> Result<Cow<'a, [i64]>> {
    if start.is_null() && n_axes == 0 {
        // An invalid handle is reported by the operation, under its argument name there.
        let rank = tensor::ty(x.into()).map_or(0, |ty| ty.dims.len());
        return Ok((0..rank as i64).collect());
    }
    // SAFETY: the caller's promise.
    unsafe { ranked("axes", start, n_axes) }.map(Cow::Borrowed)
}

/// Returns the dtype and value of a required scalar.
pub unsafe fn scalar(name: &str, scalar: *const lxla_scalar) -> Result<(DType, ScalarValue)> {
    // SAFETY: the caller's promise.
    let scalar = unsafe { slice(name, scalar, 1)?[0] };
    let dtype = DType::from_number(scalar.dtype).map_err(|e| e.context(name))?;
    // SAFETY: every bit pattern is a value of every member, and the caller set the one that the dtype selects.
    let value = unsafe {
        match dtype.kind() {
            Kind::Float | Kind::Float8 => ScalarValue::Float(scalar.value.f),
            Kind::Signed => ScalarValue::Signed(scalar.value.i),
            Kind::Unsigned | Kind::Pred => ScalarValue::Unsigned(scalar.value.u),
            Kind::Complex => ScalarValue::Complex(scalar.value.c[0], scalar.value.c[1]),
        }
    };
    Ok((dtype, value))
}

/// Returns the value of a scalar, or None if it is NULL.
pub unsafe fn optional_scalar(name: &str, given: *const lxla_scalar) -> Result<Option<ScalarValue>> {
    if given.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    unsafe { scalar(name, given) }.map(|(_, value)| Some(value))
}

/// Returns a tensor type from a dtype and a shape.
pub unsafe fn tensor_type(dtype: i32, dims: *const i64, rank: usize) -> Result<TensorType> {
    let dtype = DType::from_number(dtype)?;
    // SAFETY: the caller's promise.
    let dims = unsafe { ranked("dims", dims, rank)? };
    element_count(dims)?;
    Ok(TensorType::new(dtype, dims))
}

/// Converts a flag, 0 or 1.
pub fn flag(name: &str, value: i32) -> Result<bool> {
    match value {
        0 | 1 => Ok(value == 1),
        _ => Err(error!(InvalidArgument, "{name}: {value} given; want 0 or 1")),
    }
}

/// Returns a NUL-terminated string; an error if it is NULL.
pub unsafe fn text<'a>(name: &str, start: *const c_char) -> Result<&'a str> {
    check_pointer(name, start)?;
    // SAFETY: not null, and NUL-terminated as the caller promises.
    unsafe { CStr::from_ptr(start) }.to_str().map_err(|_| error!(InvalidArgument, "{name}: it is not UTF-8"))
}

/// Returns a NUL-terminated string, or None if it is NULL.
pub unsafe fn optional_text<'a>(name: &str, start: *const c_char) -> Result<Option<&'a str>> {
    // SAFETY: the caller's promise.
    if start.is_null() { Ok(None) } else { unsafe { text(name, start) }.map(Some) }
}

/// An output argument, validated before the call has any effect, and written only on success.
pub struct Out<T>(*mut T);

/// Validates an output argument.
#[inline]
pub unsafe fn out<T>(name: &str, pointer: *mut T) -> Result<Out<T>> {
    check_pointer(name, pointer)?;
    Ok(Out(pointer))
}

impl<T> Out<T> {
    /// Writes the output.
    #[inline]
    pub fn set(self, value: T) -> Result<()> {
        // SAFETY: not null and aligned; `out` was given the caller's promise that it can be written.
        unsafe { self.0.write(value) };
        Ok(())
    }
}

/// Returns a string owned by the caller, who frees it with `lxla_string_free`.
pub fn owned_text(text: String) -> Result<*mut c_char> {
    let mut bytes = text.into_bytes();
    bytes.iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = b' ');
    let size = bytes.len();
    bytes.try_reserve_exact(1).map_err(|_| error!(ResourceExhausted, "no host memory for a text of {size} bytes"))?;
    Ok(CString::new(bytes).unwrap_or_default().into_raw())
}

/// Converts a dtype, or returns None for 0.
pub fn optional_dtype(number: i32) -> Result<Option<DType>> {
    if number == 0 { Ok(None) } else { DType::from_number(number).map(Some) }
}

/// Converts the `index_dtype` argument.
pub fn index_dtype_of(number: i32) -> Result<DType> {
    DType::from_number(number).map_err(|e| e.context("index_dtype"))
}

/// Validates an optional output argument; None if it is NULL.
pub unsafe fn optional_out<T>(name: &str, pointer: *mut T) -> Result<Option<Out<T>>> {
    // SAFETY: the caller's promise.
    if pointer.is_null() { Ok(None) } else { unsafe { out(name, pointer) }.map(Some) }
}
