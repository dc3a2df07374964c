//! Building blocks with which the lowerings of operations write StableHLO text.

mod convert;
mod emitter;
mod pack;
mod text;
mod written;

/// Appends a line to an emitter's text. Exhausted memory is reported when the text is finished.
#[macro_export]
macro_rules! emit {
    ($emitter:expr, $($message:tt)*) => {{
        use std::fmt::Write as _;
        let _ = writeln!($emitter.text, $($message)*);
    }};
}

pub use emit;
pub use emitter::{Chain, Emitter, Extent, Folded, Lowering, Reducer, function_name};
pub use pack::{PackedScalars, gather};
pub use text::{identity, literal, mlir, mlir_packed, row_major, string};
pub use written::Written;
