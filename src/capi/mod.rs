//! The C ABI: the only `extern "C"` functions. Each function is three steps: guard, convert, call. The header
//! `include/lazyxla.h` is generated from this folder. `abi` has the types of arguments, and all `unsafe` code: the
//! chapters have none but the attribute `no_mangle` (`tests/layers.rs`). Its documentation says what C callers promise.
#![allow(non_camel_case_types)]

mod abi;
mod computation;
pub(crate) mod constants;
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

pub use abi::types::*;
pub use computation::*;
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
