//! From a program to what an engine compiles: StableHLO text and a signature.

mod aliasing;
mod stablehlo;

pub use stablehlo::{Module, Pack, lower};
