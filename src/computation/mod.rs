//! Traced computations: recorded once over placeholders, taken out of the trace, and applied to tensors as often as wanted.

mod control;
mod traced;

pub use control::{branch, case, scan, while_loop};
pub use traced::Computation;
