//! Tensors made from values: constants, ranges, triangles and one-hot rows.

pub mod constants;
pub mod masks;
pub mod ranges;
