//! Programs of real numbers, on which native and lazy agree within an error bound: XLA contracts and reassociates, and
//! flushes denormal numbers. Beside each tensor goes what it would be in f64, and how far it may be from that.

mod action;
mod bounded;
mod functions;
mod world;

pub use action::{Deed, action};
pub use world::{Approximate, Tally};
