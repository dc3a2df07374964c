//! Structs that begin with their size as the caller knows it, so that they may grow.

use super::arguments::out;
use crate::error;
use crate::error::Result;

/// What such a struct is.
///
/// # Safety
/// It is `repr(C)`, its first field is `struct_size: usize`, and zero is a value of every field.
pub unsafe trait Grows {
    /// Its name in the header.
    const NAME: &str;
}

/// Fills a struct with zeros, which are the defaults: as much of it as the caller knows.
pub unsafe fn init<T: Grows>(options: *mut T) -> Result<()> {
    // SAFETY: the caller's promise, see `capi`.
    unsafe { out("options", options)? };
    // SAFETY: checked just now; the first field is read, which the caller has set.
    let size = unsafe { options.cast::<usize>().read() };
    check_size::<T>(size)?;
    let defaults = size.min(size_of::<T>()) - size_of::<usize>();
    // SAFETY: the caller says that the struct is `size` bytes long; zero is a value of every field.
    unsafe { options.cast::<u8>().add(size_of::<usize>()).write_bytes(0, defaults) };
    Ok(())
}

/// The caller's struct; what it is too short for is zero.
pub unsafe fn read<T: Grows>(options: *const T) -> Result<T> {
    if options.is_null() {
        return Err(error!(NullArgument, "options: it is NULL"));
    }
    // SAFETY: not null; the first field is read, which the caller has set.
    let size = unsafe { options.cast::<usize>().read_unaligned() };
    check_size::<T>(size)?;
    // SAFETY: zero is a value of every field.
    let mut given: T = unsafe { std::mem::zeroed() };
    let known = size.min(size_of::<T>());
    // SAFETY: the caller says that its struct is `size` bytes long, and ours has room for `known`.
    unsafe { std::ptr::copy_nonoverlapping(options.cast::<u8>(), (&raw mut given).cast::<u8>(), known) };
    Ok(given)
}

fn check_size<T: Grows>(size: usize) -> Result<()> {
    if size < size_of::<usize>() {
        let (name, wanted) = (T::NAME, size_of::<T>());
        return Err(error!(InvalidArgument, "options: struct_size is {size}; set it to sizeof({name}), {wanted}"));
    }
    Ok(())
}
