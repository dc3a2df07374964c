//! Programs of whole numbers and bits, on which native and lazy tensors agree exactly. Each family of operations has
//! its own file, with its members, their weights, the actions and the bounds of the results.

mod action;
mod control;
mod creation;
mod elementwise;
mod indexing;
mod life;
mod products;
mod reduction;
mod selection;
mod shape;
mod sorting;
mod twin;
pub mod values;

pub use action::{Kind, action, action_on_specials, action_that_repeats_nothing};
pub use products::{convolution, equation};
pub use shape::Shape;
pub use twin::Twin;
pub use values::equal;
