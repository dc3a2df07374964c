//! Caches of compiled programs, in memory and on disk.

mod disk;
mod flight;
mod kinds;
mod memory;
mod served;

pub use disk::DiskCache;
pub use kinds::{Kinds, Service};
pub use memory::{Lookup, ProgramCache, Variant};
pub use served::{Bounded, Recurring, Serving, Stated};
