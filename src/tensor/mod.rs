//! What a frontend does with tensors between syncs: recording operations on them, asking what they are, giving them other
//! values.

mod composed;
mod mixing;
mod operands;
mod operations;
mod recording;
mod values;

pub use composed::*;
pub use operations::*;
pub use recording::{State, finish_all, to_record};
pub use values::*;
