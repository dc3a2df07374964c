//! The C ABI: the only `extern "C"` functions. Each function is three steps: guard, convert, call. The header
//! `include/lazyxla.h` is generated from this folder. `abi` has the types of arguments, and all `unsafe` code: the
//! chapters have none but the attribute `no_mangle` (`tests/layers.rs`). Its documentation says what C callers promise.
#![allow(non_camel_case_types)]

mod abi;
pub mod computation;
pub mod constants;
pub mod control;
pub mod creation;
pub mod device;
pub mod dlpack;
pub mod dtypes;
pub mod elementwise;
pub mod environment;
pub mod executable;
pub mod export;
pub mod factorization;
pub mod import;
pub mod indexing;
pub mod inspect;
pub mod kernels;
pub mod library;
pub mod linalg;
pub mod mesh;
pub mod meshes;
pub mod nn;
pub mod random;
pub mod reduction;
pub mod save;
pub mod seeing;
pub mod shape;
pub mod sorting;
pub mod sync;
pub mod tensor;
pub mod transform;
