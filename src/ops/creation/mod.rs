//! Tensors made from values: constants, ranges, triangles and one-hot encodings.

pub mod constants;
pub mod masks;
pub mod ranges;
