//! Reductions over axes and windows, statistics, cumulative operations.

pub(super) mod batch;
pub(super) mod cumulative;
pub(super) mod definitions;
pub(super) mod derivative;
pub(super) mod extremes;
pub(super) mod masking_rules;
pub(super) mod reduce;
pub(super) mod reduce_with;
pub(super) mod select_and_scatter;
pub(super) mod statistics;
pub(super) mod window_derivative;
pub(super) mod windows;

pub use cumulative::cumulative_logaddexp;
pub use reduce::{ReduceAttributes, reduce};
pub use reduce_with::{ReduceWithAttributes, arg_extreme, counts_along, reduce_with};
pub use select_and_scatter::{SelectAndScatterAttributes, select_and_scatter};
pub use statistics::{logsumexp, mean, standard_deviation, variance};
pub use windows::{ReduceWindowAttributes, cumulative, reduce_window};
