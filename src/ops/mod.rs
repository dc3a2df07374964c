//! Operations, one folder for each subject and one file for each kind of operation: shape and dtype inference (a
//! function that refuses operands that do not fit and records one or more nodes), the lowering to StableHLO, the
//! evaluation on host arrays, and the rules for derivatives and batching ([`rules`]). [`definition()`] returns the
//! table's entry for an operation.
//!
//! An operation whose result equals its operand returns that operand: values are immutable, so no node is needed.
//!
//! A file of operations is exported whole: `pub` items are for the layers above, `pub(in crate::ops)` items for this
//! one.

pub mod control;
pub mod creation;
mod definition;
pub mod elementwise;
pub mod indexing;
mod infer;
pub mod linalg;
pub mod mesh;
pub mod nn;
pub mod random;
pub mod reduction;
pub mod rules;
pub mod shape;
pub mod sorting;
mod table;

pub use definition::{Call, Composed, Definition, InPlace, Native};
pub use table::{COMPOSED, LOWERING, definition, evaluate};
