//! Interprets programs on arrays in host memory, without XLA.

mod fused;
mod kept;
mod program;
mod watch;

pub use program::{evaluate, run, run_watched};
pub use watch::{NonFinite, Watch, first_nonfinite, first_nonfinite_of};
