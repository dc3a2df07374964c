//! The C ABI: the only `extern "C"` functions and the only raw pointers from C. Each function is three steps: guard,
//! convert, call. The header `include/lazyxla.h` is generated from this folder.
//!
//! # Safety
//! What every function asks of its caller, and cannot check: a pointer that is not null is valid for as many elements as
//! the argument beside it says (for a string, up to its NUL), for reading or, named `out_*`, for writing, during the call.
#![allow(non_camel_case_types)]
// Said once, above, for all functions.
#![allow(clippy::missing_safety_doc)]

mod activation;
mod arguments;
mod computation;
mod constants;
mod creation;
mod device;
mod dlpack;
mod dtypes;
mod elements;
mod environment;
mod gather;
mod guard;
mod indexing;
mod inspect;
mod library;
mod linear_algebra;
mod normalization;
mod operations;
mod options;
mod products;
mod random;
mod rearrange;
mod references;
mod save;
mod scalars;
mod selection;
mod sort;
mod statistics;
mod sync;
mod tensor;
mod types;
mod windows;

pub use activation::*;
pub use computation::*;
pub use constants::*;
pub use creation::*;
pub use device::*;
pub use dlpack::*;
pub use dtypes::*;
pub use elements::*;
pub use environment::*;
pub use gather::*;
pub use indexing::*;
pub use inspect::*;
pub use library::*;
pub use linear_algebra::*;
pub use normalization::*;
pub use operations::*;
pub use products::*;
pub use random::*;
pub use rearrange::*;
pub use save::*;
pub use scalars::*;
pub use selection::*;
pub use sort::*;
pub use statistics::*;
pub use sync::*;
pub use tensor::*;
pub use types::*;
pub use windows::*;
