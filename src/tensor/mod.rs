//! What a frontend does with tensors between syncs: recording operations on them, asking what they are, giving them other
//! values.

mod elements;
mod mixing;
mod operands;
mod operations;
mod random;
mod recording;
mod values;

pub use elements::*;
pub use operations::*;
pub use random::*;
pub use recording::{State, finish_all, to_record};
pub use values::*;
