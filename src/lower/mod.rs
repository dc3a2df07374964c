//! Lowers a program to the input of an engine: StableHLO text and a signature.

mod aliasing;
mod function;
mod module;
mod partition;

pub use function::Annotations;
pub use module::{Module, Target, lower, lower_annotated, lower_body};
pub use partition::Layout;
