//! Interprets programs on arrays in host memory, without XLA.

mod fused;
mod grouping;
mod kept;
mod places;
mod plan;
mod program;
mod watch;

pub use plan::Plan;
pub use program::{evaluate, run, run_watched};
pub use watch::{
    NonFinite, Watch, array_of_scalar, element, first_nonfinite, first_nonfinite_of, index_of, operands_shown,
};
