//! lazyxla: lazy tensors on XLA, behind a C ABI.
#![allow(missing_docs)]
pub mod engine;
pub mod error;
pub mod types;
pub mod capi {}
