//! What a frontend does with tensors between syncs: recording operations on them, asking what they are, giving them other
//! values.

mod mixing;
mod operands;
mod operations;
mod ordering;
mod places;
mod recording;
mod values;

pub use operations::*;
pub use ordering::*;
pub use places::*;
pub use recording::{State, finish_all, to_record};
pub use values::*;
