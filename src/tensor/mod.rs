//! Everything that a tensor does without running anything: being counted, telling what it is, taking another value, being
//! an operand.

mod operations;
mod values;

pub use operations::*;
pub use values::*;
