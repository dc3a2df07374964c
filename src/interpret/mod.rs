//! Interprets programs on arrays in host memory, without XLA.

mod fused;
mod kept;
mod program;

pub use program::{evaluate, run};
