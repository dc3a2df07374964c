//! Lowers a program to the input of an engine: StableHLO text and a signature.

mod aliasing;
mod function;
mod module;

pub use module::{Module, lower, lower_body};
