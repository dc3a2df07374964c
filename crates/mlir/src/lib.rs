//! Programs in MLIR: modules of the dialects in which StableHLO programs are exchanged, their readers and a writer.
//! The semantics of operations are defined in `programs::import`.
//!
//! It uses `base`.

mod attribute;
pub mod bytecode;
pub mod jax_file;
mod location;
mod module;
pub mod text;
mod types;

pub use attribute::{Attribute, Data, Dense, Dictionary, Numbers, Record};
pub use location::Location;
pub use module::{Block, Module, Operation, Region, Value, Version};
pub use types::{Element, FREE, TensorShape, Type};
