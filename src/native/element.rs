//! Element types as Rust types, and choosing one by dtype.

use crate::error;
use crate::error::Error;
use crate::types::{DType, Scalar};
use bytemuck::Pod;

/// What arrays hold. Pred is held as `u8`, 0 or 1; what only moves elements takes any unsigned integer of their width.
pub trait Element: Pod + Send + Sync + PartialEq {}

impl<T: Pod + Send + Sync + PartialEq> Element for T {}

/// The element that a scalar holds.
pub fn element<T: Element>(scalar: &Scalar) -> T {
    let bytes = scalar.bits().to_le_bytes();
    // As numbers, so that it is right on a big-endian machine, too, but for complex numbers.
    bytemuck::pod_read_unaligned(&bytes[..size_of::<T>()])
}

/// What inference does not let through.
#[cold]
pub fn unsupported(name: &str, dtype: DType) -> Error {
    error!(Internal, "{name} of {dtype} has no native kernel")
}

/// Evaluates an expression with `$T` an unsigned integer as wide as the elements of a dtype.
macro_rules! by_width {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype.size_bytes() {
            1 => {
                type $T = u8;
                $body
            }
            2 => {
                type $T = u16;
                $body
            }
            4 => {
                type $T = u32;
                $body
            }
            8 => {
                type $T = u64;
                $body
            }
            _ => {
                type $T = u128;
                $body
            }
        }
    };
}
pub(super) use by_width;

/// The same for integers.
macro_rules! by_integer_width {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype.size_bytes() {
            1 => {
                type $T = u8;
                $body
            }
            2 => {
                type $T = u16;
                $body
            }
            4 => {
                type $T = u32;
                $body
            }
            _ => {
                type $T = u64;
                $body
            }
        }
    };
}
pub(super) use by_integer_width;
