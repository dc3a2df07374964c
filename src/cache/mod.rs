//! Caches of compiled programs, in memory and on disk.

mod disk;
mod flight;
mod memory;

pub use disk::DiskCache;
pub use memory::{Lookup, ProgramCache, Variant};
