//! Interprets programs on arrays in host memory, without XLA.

mod fused;
mod program;

pub use program::{evaluate, run};
