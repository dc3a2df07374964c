//! Runs programs on arrays of the host.

mod program;

pub use program::run;
