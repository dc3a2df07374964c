//! The C ABI: the only `extern "C"` functions and the only raw pointers from C. Each function is three steps: guard,
//! convert, call. The header `include/lazyxla.h` is generated from this folder.
//!
//! # Safety
//! Requirements on the caller of every function, which cannot be checked: a pointer that is not NULL is valid during
//! the call for the number of elements given by its length argument (a string: up to its NUL), for reads, or for writes
//! if it is named `out_*`.
#![allow(non_camel_case_types)]
// The section above covers all functions.
#![allow(clippy::missing_safety_doc)]

mod abi;
mod computation;
mod constants;
mod control;
mod creation;
mod device;
mod dlpack;
mod dtypes;
mod elementwise;
mod environment;
mod indexing;
mod inspect;
mod library;
mod linalg;
mod mesh;
mod nn;
mod places;
mod random;
mod reduction;
mod save;
mod shape;
mod sorting;
mod sync;
mod tensor;
mod transform;
mod types;

pub use computation::*;
pub use constants::*;
pub use control::*;
pub use creation::*;
pub use device::*;
pub use dlpack::*;
pub use dtypes::*;
pub use elementwise::*;
pub use environment::*;
pub use indexing::*;
pub use inspect::*;
pub use library::*;
pub use linalg::*;
pub use mesh::*;
pub use nn::*;
pub use places::*;
pub use random::*;
pub use reduction::*;
pub use save::*;
pub use shape::*;
pub use sorting::*;
pub use sync::*;
pub use tensor::*;
pub use transform::*;
pub use types::*;
