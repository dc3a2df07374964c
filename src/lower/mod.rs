//! From a program to what an engine compiles: StableHLO text and a signature.

mod aliasing;
mod function;
mod module;

pub use module::{Module, lower, lower_body};
