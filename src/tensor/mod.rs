//! Recording of operations on tensors named by handles, one file for each subject; values and metadata of tensors.

mod control;
mod creation;
mod derivatives;
mod elementwise;
mod indexing;
mod linalg;
mod mesh;
mod mixing;
mod nn;
mod operands;
mod random;
mod recording;
mod reduction;
mod shape;
mod sorting;
mod values;

pub use control::*;
pub use creation::*;
pub use derivatives::*;
pub use elementwise::*;
pub use indexing::*;
pub use linalg::*;
pub use mesh::*;
pub use mixing::brought;
pub use nn::*;
pub use random::*;
pub use recording::{State, finish_all, to_record};
pub use reduction::*;
pub use shape::*;
pub use sorting::*;
pub use values::*;
