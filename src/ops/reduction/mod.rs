//! Reductions over axes and windows, statistics, cumulative operations.

mod batch;
mod derivative;
pub mod reduce;
pub mod reduce_with;
pub mod select_and_scatter;
pub mod statistics;
mod window_derivative;
pub mod windows;
