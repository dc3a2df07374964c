//! Versioned structs: the caller's struct may be shorter or longer than the library's, as `struct_size` says.

use super::pointers::{In, Out};
use super::types::{
    lxla_attention_options, lxla_convolution_options, lxla_custom_call_options, lxla_dtype_limits, lxla_env_options,
    lxla_executable_options, lxla_export_options, lxla_gather_options, lxla_gradients_options, lxla_import_options,
    lxla_kernel_options, lxla_key_value_store, lxla_memory_stats, lxla_save_options, lxla_scatter_options,
    lxla_vjp_options, lxla_window_options,
};
use base::error;
use base::error::Result;
use std::mem::offset_of;

/// A struct of the ABI with a size.
///
/// # Safety
/// `repr(C)`; the first field is `struct_size: usize`; zero is valid for every field, and its default.
pub unsafe trait Options: Sized {
    /// Name of the struct in the header.
    const NAME: &'static str;
}

macro_rules! options {
    ($($name:ident $(<$lifetime:lifetime>)?),* $(,)?) => {
        $(
            const _: () = assert!(offset_of!($name, struct_size) == 0);
            // SAFETY: `repr(C)`, begins with struct_size, and zero is valid for every field: each is a number or a
            // pointer that may be NULL.
            unsafe impl Options for $name $(<$lifetime>)? {
                const NAME: &'static str = stringify!($name);
            }
        )*
    };
}

options! {
    lxla_attention_options,
    lxla_convolution_options<'_>,
    lxla_custom_call_options<'_>,
    lxla_dtype_limits,
    lxla_env_options<'_>,
    lxla_executable_options<'_>,
    lxla_export_options<'_>,
    lxla_gather_options<'_>,
    lxla_gradients_options,
    lxla_import_options<'_>,
    lxla_kernel_options,
    lxla_key_value_store,
    lxla_memory_stats,
    lxla_save_options<'_>,
    lxla_scatter_options<'_>,
    lxla_vjp_options<'_>,
    lxla_window_options<'_>,
}

/// Zeroes all fields after `struct_size`.
pub fn init<T: Options>(options: Out<T>) -> Result<()> {
    options.checked("options")?;
    // SAFETY: checked just now; only the first field is read, which the caller has set.
    let size = unsafe { options.address().cast::<usize>().read() };
    check_size::<T>("options", size)?;
    let defaults = size.min(size_of::<T>()) - size_of::<usize>();
    // SAFETY: the caller promises that the struct has `size` bytes; all defaults are zero.
    unsafe { options.address().cast::<u8>().add(size_of::<usize>()).write_bytes(0, defaults) };
    Ok(())
}

/// Reads the caller's options. Fields beyond the caller's `struct_size` have their defaults, as have all if `options`
/// is NULL.
pub fn read<T: Options>(options: In<T>) -> Result<T> {
    read_argument("options", options)
}

/// Like [`read`], with the name of the argument for error messages.
pub fn read_argument<T: Options>(argument: &str, options: In<T>) -> Result<T> {
    // SAFETY: zero is valid for every field.
    let mut given: T = unsafe { std::mem::zeroed() };
    if options.is_null() {
        return Ok(given);
    }
    // SAFETY: not NULL; only the first field is read, which the caller has set.
    let size = unsafe { options.address().cast::<usize>().read_unaligned() };
    check_size::<T>(argument, size)?;
    let known = size.min(size_of::<T>());
    // SAFETY: the caller promises that its struct has `size` bytes, and `given` has at least `known`.
    unsafe { std::ptr::copy_nonoverlapping(options.address().cast::<u8>(), (&raw mut given).cast::<u8>(), known) };
    Ok(given)
}

/// Like [`read`], but NULL is an error.
pub fn read_given<T: Options>(options: In<T>) -> Result<T> {
    if options.is_null() {
        return Err(error!(NullArgument, "options: it is NULL"));
    }
    read(options)
}

/// Returns an error unless a struct of this size has the field `struct_size`.
pub fn check_size<T: Options>(argument: &str, size: usize) -> Result<()> {
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
