//! Functions of floats, evaluated as steps over blocks of elements. All that a step reads and writes is in the L1
//! cache, and no step allocates. Results have the bits of the operations that the function was built from.
//!
//! [`Builder`] takes these operations one by one. A polynomial becomes one step, and so do a selection and the
//! comparison with a constant that decides it. Predicates are masks with the width of the floats.

mod builder;
mod lane;
mod polynomial;
mod run;
mod step;

pub use builder::{Builder, Value};
pub use lane::Lane;
pub use run::{Fused, FusedAll};
