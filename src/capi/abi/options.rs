//! Structs of options, which a caller may know shorter or longer than we do: `struct_size` says how long.

use super::arguments::out;
use crate::error;
use crate::error::Result;

/// A struct of options.
///
/// # Safety
/// It is `repr(C)`, its first field is `struct_size: usize`, and zero is a value of every field: its default.
pub unsafe trait Options: Sized {
    /// What the header calls it.
    const NAME: &'static str;
}

/// Sets everything behind `struct_size` to its default.
pub unsafe fn init<T: Options>(options: *mut T) -> Result<()> {
    // SAFETY: the caller's promise, see `capi`.
    unsafe { out("options", options)? };
    // SAFETY: checked just now; only the first field is read, which the caller has set.
    let size = unsafe { options.cast::<usize>().read() };
    check_size::<T>(size)?;
    let defaults = size.min(size_of::<T>()) - size_of::<usize>();
    // SAFETY: the caller says that the struct is `size` bytes long; all defaults are zero.
    unsafe { options.cast::<u8>().add(size_of::<usize>()).write_bytes(0, defaults) };
    Ok(())
}

/// The caller's options; what its struct is too short for is the default, and so is everything if there is none.
pub unsafe fn read<T: Options>(options: *const T) -> Result<T> {
    // SAFETY: zero is a value of every field.
    let mut given: T = unsafe { std::mem::zeroed() };
    if options.is_null() {
        return Ok(given);
    }
    // SAFETY: not null; only the first field is read, which the caller has set.
    let size = unsafe { options.cast::<usize>().read_unaligned() };
    check_size::<T>(size)?;
    let known = size.min(size_of::<T>());
    // SAFETY: the caller says that its struct is `size` bytes long, and ours has room for `known`.
    unsafe { std::ptr::copy_nonoverlapping(options.cast::<u8>(), (&raw mut given).cast::<u8>(), known) };
    Ok(given)
}

/// The same for options that have to be given.
pub unsafe fn read_given<T: Options>(options: *const T) -> Result<T> {
    if options.is_null() {
        return Err(error!(NullArgument, "options: it is NULL"));
    }
    // SAFETY: the caller's promise, see `capi`.
    unsafe { read(options) }
}

fn check_size<T: Options>(size: usize) -> Result<()> {
    if size < size_of::<usize>() {
        return Err(error!(
            InvalidArgument,
            "options: struct_size is {size}; set it to sizeof({}), {}",
            T::NAME,
            size_of::<T>()
        ));
    }
    Ok(())
}
