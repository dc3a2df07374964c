//! Types of the pointers that C passes. Each has the layout of the pointer, and can be made only by a C caller, who
//! makes the promise of [`crate::capi::abi`]. What they point to is read and written by the functions of `abi` only,
//! after a check for NULL and alignment. The lifetime is that of the call.
//!
//! They hold raw pointers, not references: C may pass one address for two arguments.
//!
//! `tests/header/source.rs` replaces each type by its pointer before cbindgen reads a signature: keep one definition
//! per line.

use base::error;
use base::error::{Error, Result};
use std::ffi::{CStr, CString, c_char, c_void};
use std::fmt::Display;
use std::marker::PhantomData;

/// A value to read, or NULL.
#[repr(transparent)]
pub struct In<'a, T>(*const T, PhantomData<&'a T>);

/// The first of several values to read, or NULL. Their number is another argument, or another field of the struct.
#[repr(transparent)]
pub struct List<'a, T>(*const T, PhantomData<&'a T>);

/// A NUL-terminated string, or NULL.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Text<'a>(*const c_char, PhantomData<&'a CStr>);

/// Bytes to read, or NULL. Their number is another argument.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Bytes<'a>(*const c_void, PhantomData<&'a [u8]>);

/// Bytes to write, or NULL. Their number is another argument.
#[repr(transparent)]
pub struct BytesMut<'a>(*mut c_void, PhantomData<&'a mut [u8]>);

/// Where to write one value, or NULL.
#[repr(transparent)]
pub struct Out<'a, T>(*mut T, PhantomData<&'a mut T>);

/// Where to write the first of several values, or NULL. Their number is another argument, or follows from the others.
#[repr(transparent)]
pub struct OutList<'a, T>(*mut T, PhantomData<&'a mut T>);

/// A struct of DLPack of type `M`, or NULL.
#[repr(transparent)]
pub struct Dlpack<'a, M>(*mut c_void, PhantomData<&'a mut M>);

/// A string that the library allocated and that the C caller frees, or NULL.
#[repr(transparent)]
pub struct OwnedText(*mut c_char);

impl<T> Copy for In<'_, T> {}
impl<T> Clone for In<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for List<'_, T> {}
impl<T> Clone for List<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'a, T> In<'a, T> {
    /// Whether the caller passed NULL.
    #[inline]
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Address of the value.
    #[inline]
    pub(super) fn address(self) -> *const T {
        self.0
    }

    /// Returns the value, or an error that names the argument if it is NULL or not aligned.
    #[inline]
    pub fn get(self, name: &str) -> Result<&'a T> {
        check_pointer(name, self.0)?;
        // SAFETY: not NULL, aligned, and readable during the call by the caller's promise.
        Ok(unsafe { &*self.0 })
    }
}

#[cfg(test)]
impl<'a, T> From<&'a T> for In<'a, T> {
    fn from(value: &'a T) -> In<'a, T> {
        In(value, PhantomData)
    }
}

#[cfg(test)]
impl<T> Default for In<'_, T> {
    fn default() -> Self {
        In(std::ptr::null(), PhantomData)
    }
}

impl<'a, T> List<'a, T> {
    /// Makes a list of an address that is not an argument of the C API, such as a field of a DLPack struct.
    ///
    /// # Safety
    /// The address must satisfy the promise of a C caller for the length that is passed to `get`.
    pub(super) unsafe fn at(start: *const T) -> List<'a, T> {
        List(start, PhantomData)
    }

    /// Whether the caller passed NULL.
    #[inline]
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Returns the values. `length` must be the argument or field that the header documents as their number. If it is
    /// 0, the pointer is ignored and may be NULL.
    #[inline]
    pub fn get(self, name: impl Display, length: usize) -> Result<&'a [T]> {
        if length == 0 {
            return Ok(&[]);
        }
        check_range(name, self.0, length)?;
        // SAFETY: not NULL, aligned, and readable for the length during the call by the caller's promise.
        Ok(unsafe { std::slice::from_raw_parts(self.0, length) })
    }
}

impl<'a> Text<'a> {
    /// Whether the caller passed NULL.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Returns the string, or an error that names the argument if it is NULL or not UTF-8.
    pub fn get(self, name: &str) -> Result<&'a str> {
        check_pointer(name, self.0)?;
        // SAFETY: not NULL, and NUL-terminated and readable during the call by the caller's promise.
        let text = unsafe { CStr::from_ptr(self.0) };
        text.to_str().map_err(|_| error!(InvalidArgument, "{name}: it is not UTF-8"))
    }
}

impl<'a> Bytes<'a> {
    /// Returns the bytes, whose number is `size`, as [`List::get`].
    pub fn get(self, name: impl Display, size: usize) -> Result<&'a [u8]> {
        List(self.0.cast::<u8>(), PhantomData).get(name, size)
    }
}

impl<'a> BytesMut<'a> {
    /// Whether the caller passed NULL.
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// Returns the bytes, whose number is `size`, as [`List::get`].
    pub fn get(self, name: impl Display, size: usize) -> Result<&'a mut [u8]> {
        if size == 0 {
            return Ok(&mut []);
        }
        let start = self.0.cast::<u8>();
        check_range(name, start, size)?;
        // SAFETY: not NULL, and writable for the size during the call by the caller's promise.
        Ok(unsafe { std::slice::from_raw_parts_mut(start, size) })
    }
}

impl List<'_, BytesMut<'_>> {
    /// Checks the address of each of these numbers of bytes, so that [`List::write_each`] fails in `write` only.
    pub fn check_each(self, name: &str, sizes: &[usize]) -> Result<()> {
        let check = |(i, (bytes, &size)): (usize, (&BytesMut, &usize))| match size {
            0 => Ok(()),
            size => check_range(format_args!("{name}[{i}]"), bytes.0.cast::<u8>(), size),
        };
        self.get(name, sizes.len())?.iter().zip(sizes).enumerate().try_for_each(check)
    }

    /// Writes these numbers of bytes, one place after the other: places may overlap.
    pub fn write_each(
        self,
        name: &str,
        sizes: &[usize],
        mut write: impl FnMut(usize, &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        self.check_each(name, sizes)?;
        let places = self.get(name, sizes.len())?.iter().zip(sizes);
        places.enumerate().try_for_each(|(i, (bytes, &size))| write(i, BytesMut(bytes.0, PhantomData).get(name, size)?))
    }
}

impl<'a, T> Out<'a, T> {
    /// Whether the caller passed NULL.
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// Address of the output.
    #[inline]
    pub(super) fn address(&self) -> *mut T {
        self.0
    }

    /// Validates the place of one value.
    #[inline]
    pub fn checked(&self, name: &str) -> Result<CheckedOut<'a, T>> {
        check_pointer(name, self.0)?;
        Ok(CheckedOut { start: self.0, n: 1, _call: PhantomData })
    }

    /// Writes one value, or returns an error that names the argument.
    #[inline]
    pub fn set(self, name: &str, value: T) -> Result<()> {
        check_pointer(name, self.0)?;
        // SAFETY: not NULL, aligned, and writable during the call by the caller's promise.
        unsafe { self.0.write(value) };
        Ok(())
    }

    /// Validates the place of one value; None if the caller passed NULL.
    pub fn checked_if_given(&self, name: &str) -> Result<Option<CheckedOut<'a, T>>> {
        if self.is_null() { Ok(None) } else { self.checked(name).map(Some) }
    }
}

impl<'a, T> OutList<'a, T> {
    /// Whether the caller passed NULL.
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// Validates the places of `n` values. `n` must be at most the number that the header documents. If it is 0, the
    /// pointer may be NULL.
    #[inline]
    pub fn checked_list(&self, name: &str, n: usize) -> Result<CheckedOut<'a, T>> {
        if n > 0 {
            check_range(name, self.0, n)?;
        }
        Ok(CheckedOut { start: self.0, n, _call: PhantomData })
    }
}

/// Validated places of outputs.
pub struct CheckedOut<'a, T> {
    start: *mut T,
    n: usize,
    _call: PhantomData<&'a mut T>,
}

impl<T> CheckedOut<'_, T> {
    /// Writes values to the first places; excess values are dropped.
    #[inline]
    pub fn fill(self, values: impl IntoIterator<Item = T>) {
        for (i, value) in values.into_iter().take(self.n).enumerate() {
            // SAFETY: not NULL, aligned, and writable for n values during the call by the caller's promise.
            unsafe { self.start.add(i).write(value) };
        }
    }
}

impl<M> Dlpack<'_, M> {
    /// Returns an error that names the argument if it is NULL or not aligned.
    pub fn check(&self) -> Result<()> {
        self.address().map(drop)
    }

    /// Address of the struct, after the same check.
    pub(super) fn address(&self) -> Result<*mut M> {
        let address = self.0.cast::<M>();
        check_pointer("managed", address)?;
        Ok(address)
    }
}

impl OwnedText {
    /// Allocates a string. NUL within the text is replaced by a space.
    pub fn new(text: String) -> Result<OwnedText> {
        let mut bytes = text.into_bytes();
        bytes.iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = b' ');
        let size = bytes.len();
        bytes
            .try_reserve_exact(1)
            .map_err(|_| error!(ResourceExhausted, "no host memory for a text of {size} bytes"))?;
        Ok(OwnedText(CString::new(bytes).unwrap_or_default().into_raw()))
    }

    /// Frees the string; nothing for NULL.
    pub fn free(self) {
        if !self.0.is_null() {
            // SAFETY: the string comes from `new`, and the caller promises to free it once.
            drop(unsafe { CString::from_raw(self.0) });
        }
    }
}

#[inline]
fn check_range<T>(name: impl Display, start: *const T, length: usize) -> Result<()> {
    if start.is_null() || !start.is_aligned() {
        return Err(bad_pointer(&name.to_string(), start.cast(), align_of::<T>()));
    }
    if length > isize::MAX as usize / size_of::<T>() {
        return Err(error!(InvalidArgument, "{name}: {length} elements are more than an address space holds"));
    }
    Ok(())
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
