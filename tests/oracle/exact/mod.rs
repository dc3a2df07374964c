//! Programs of whole numbers and of bits, on which native and lazy agree exactly. Each family of operations has its file: what
//! there is, how often it comes, what is done, and what bounds the results.

mod action;
mod control;
mod creation;
mod elementwise;
mod folding;
mod indexing;
mod life;
mod movement;
mod ordering;
mod products;
mod selection;
mod twin;
mod values;

pub use action::{Kind, action};
pub use movement::Movement;
pub use products::{convolution, equation};
pub use twin::Twin;
pub use values::shape;
