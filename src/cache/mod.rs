//! Compiled programs, found again.

mod disk;
mod flight;
mod memory;

pub use disk::DiskCache;
pub use memory::{Lookup, ProgramCache, Variant};
