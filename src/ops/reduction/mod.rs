//! Reductions over axes and windows, statistics, cumulative operations.

pub mod reduce;
pub mod reduce_with;
pub mod select_and_scatter;
pub mod statistics;
pub mod windows;
