//! What a frontend does with tensors between syncs: recording operations on them, asking what they are, giving them other
//! values.

mod composed;
mod elements;
mod linear_algebra;
mod mixing;
mod normalization;
mod operands;
mod operations;
mod ordering;
mod places;
mod products;
mod random;
mod recording;
mod selection;
mod values;

pub use composed::*;
pub use elements::*;
pub use linear_algebra::*;
pub use mixing::brought;
pub use normalization::*;
pub use operations::*;
pub use ordering::*;
pub use places::*;
pub use products::*;
pub use random::*;
pub use recording::{State, finish_all, to_record};
pub use selection::*;
pub use values::*;
