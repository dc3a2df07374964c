//! Elementwise operations: arithmetic, real and complex functions, comparisons, conversions, bit operations.

pub mod binary;
pub mod bits;
pub mod clamp;
pub mod compare_select;
pub mod complex;
pub mod convert;
pub mod derivative;
pub mod float8;
pub mod fold_barrier;
pub mod formula;
pub mod functions;
pub mod integers;
pub mod lower;
pub mod members;
pub mod signs;
pub mod total_order;
pub mod unary;
pub mod uniform;
