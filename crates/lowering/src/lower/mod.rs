//! Lowers a program to the input of an engine: StableHLO text and a signature.

mod aliasing;
mod function;
mod module;
mod partition;

pub use function::Annotations;
pub use module::{Module, Target, lower, lower_annotated, lower_body, lower_body_with_calls};
pub use partition::Layout;
