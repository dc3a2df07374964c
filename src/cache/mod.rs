//! Compiled programs, found again.

mod flight;
mod memory;

pub use memory::{Lookup, ProgramCache};
