//! Caches of compiled programs, in memory and on disk.

mod disk;
mod flight;
mod kinds;
mod memory;

pub use disk::DiskCache;
pub use kinds::{Bounded, Kinds, Recurring, Service, Serving, Stated};
pub use memory::{Lookup, ProgramCache, Variant};
