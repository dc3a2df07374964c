//! Lowers a program to the input of an engine: StableHLO text and a signature.

mod aliasing;
mod function;
mod module;
mod partition;
#[cfg(feature = "engine-xla-rs")]
mod xla_rs;

pub use module::{Module, Target, lower, lower_body};
pub use partition::Layout;
#[cfg(feature = "engine-xla-rs")]
pub use xla_rs::build;
