//! Versioned options structs: the caller's struct may be shorter or longer than the library's, as `struct_size` says.

use super::arguments::out;
use crate::error;
use crate::error::Result;

/// An options struct of the ABI.
///
/// # Safety
/// `repr(C)`; the first field is `struct_size: usize`; zero is valid for every field, and its default.
pub unsafe trait Options: Sized {
    /// Name of the struct in the header.
    const NAME: &'static str;
}

/// Zeroes all fields after `struct_size`.
pub unsafe fn init<T: Options>(options: *mut T) -> Result<()> {
    // SAFETY: the caller's promise, see `capi`.
    unsafe { out("options", options)? };
    // SAFETY: checked just now; only the first field is read, which the caller has set.
    let size = unsafe { options.cast::<usize>().read() };
    check_size::<T>("options", size)?;
    let defaults = size.min(size_of::<T>()) - size_of::<usize>();
    // SAFETY: the caller guarantees that the struct has `size` bytes; all defaults are zero.
    unsafe { options.cast::<u8>().add(size_of::<usize>()).write_bytes(0, defaults) };
    Ok(())
}

/// Reads the caller's options. Fields beyond the caller's `struct_size` have their defaults, as have all if `options`
/// is NULL.
pub unsafe fn read<T: Options>(options: *const T) -> Result<T> {
    // SAFETY: the caller's promise, see `capi`.
    unsafe { read_argument("options", options) }
}

/// Like [`read`], with the name of the argument for error messages.
pub unsafe fn read_argument<T: Options>(argument: &str, options: *const T) -> Result<T> {
    // SAFETY: zero is valid for every field.
    let mut given: T = unsafe { std::mem::zeroed() };
    if options.is_null() {
        return Ok(given);
    }
    // SAFETY: not null; only the first field is read, which the caller has set.
    let size = unsafe { options.cast::<usize>().read_unaligned() };
    check_size::<T>(argument, size)?;
    let known = size.min(size_of::<T>());
    // SAFETY: the caller guarantees that its struct has `size` bytes, and `given` has at least `known`.
    unsafe { std::ptr::copy_nonoverlapping(options.cast::<u8>(), (&raw mut given).cast::<u8>(), known) };
    Ok(given)
}

/// Like [`read`], but NULL is an error.
pub unsafe fn read_given<T: Options>(options: *const T) -> Result<T> {
    if options.is_null() {
        return Err(error!(NullArgument, "options: it is NULL"));
    }
    // SAFETY: the caller's promise, see `capi`.
    unsafe { read(options) }
}

fn check_size<T: Options>(argument: &str, size: usize) -> Result<()> {
    if size < size_of::<usize>() {
        return Err(error!(
            InvalidArgument,
            "{argument}: struct_size is {size}; set it to sizeof({}), {}",
            T::NAME,
            size_of::<T>()
        ));
    }
    Ok(())
}
