//! From a program to what an engine compiles: StableHLO text and a signature.

/// Adds a line to an emitter's text. Writing to a string cannot fail.
macro_rules! emit {
    ($emitter:expr, $($message:tt)*) => {
        let _ = writeln!($emitter.text, $($message)*);
    };
}

mod aliasing;
mod control;
mod function;
mod indexing;
mod integers;
mod module;
mod operations;
mod pack;
mod text;

pub use module::{Module, lower, lower_body};
pub use pack::Pack;
