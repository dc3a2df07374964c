//! Rust types of elements, and their choice by dtype.

use base::error;
use base::error::Error;
use base::types::{DType, Scalar};
use bytemuck::Pod;

/// An element type of arrays. pred is stored as `u8`, 0 or 1; kernels that only move elements use the unsigned integer
/// of the same width.
pub trait Element: Pod + Send + Sync + PartialEq {}

impl<T: Pod + Send + Sync + PartialEq> Element for T {}

/// The scalar's value as an element.
pub fn element<T: Element>(scalar: &Scalar) -> T {
    let bytes = scalar.bits().to_le_bytes();
    // Assumes a little-endian machine: the element is in the low bytes of `bits`.
    bytemuck::pod_read_unaligned(&bytes[..size_of::<T>()])
}

/// Error for a dtype without a kernel. Shape inference rejects such operations before they are evaluated.
#[cold]
pub fn unsupported(name: &str, dtype: DType) -> Error {
    error!(Internal, "{name} of {dtype} has no native kernel")
}

/// Evaluates an expression with `$T` defined as the unsigned integer of the dtype's width.
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

/// Evaluates an expression with `$T` defined as the unsigned integer of an integer dtype's width.
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
