//! Traced computations: recorded once over placeholders, taken out of the trace, and applied to tensors as often as wanted.

mod control;
mod regions;
mod traced;

pub use control::{branch, case, scan, while_loop};
pub use regions::{reduce_window, reduce_with, scatter, select_and_scatter, sort};
pub use traced::Computation;
