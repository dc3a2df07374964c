//! Elementwise operations: arithmetic, real and complex functions, comparisons, conversions, bit operations.

pub mod arc;
pub mod binary;
pub mod bits;
pub mod builder;
pub mod clamp;
pub mod compare_select;
pub mod complex;
pub mod complex_circle;
pub mod complex_exponential;
pub mod complex_functions;
pub mod convert;
pub mod erf_inv;
pub mod float8;
pub mod fold_barrier;
pub mod formula;
pub mod functions;
pub mod functions_of_one;
pub mod functions_of_two;
pub mod integers;
pub mod members;
pub mod special;
pub mod unary;
