//! How StableHLO is written: what the lowerings of operations are put together from.

mod emitter;
mod pack;
mod text;

/// Adds a line to an emitter's text. Writing to a string cannot fail.
macro_rules! emit {
    ($emitter:expr, $($message:tt)*) => {{
        use std::fmt::Write as _;
        let _ = writeln!($emitter.text, $($message)*);
    }};
}

pub(crate) use emit;
pub use emitter::Emitter;
pub use pack::{Pack, gather};
pub use text::{identity, literal, mlir};
