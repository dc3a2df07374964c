//! Programs of real numbers, on which native and lazy tensors agree within an error bound: XLA contracts and
//! reassociates operations, and flushes denormal numbers to 0. Each tensor is accompanied by its reference value in f64
//! and a bound on its difference from that.

mod action;
mod attention;
mod bounded;
mod functions;
mod systems;
mod world;

pub use action::{Deed, action};
pub use world::{Approximate, Tally, decode};
