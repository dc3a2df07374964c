//! Tensors made from values: constants, ranges, triangles and one-hot encodings.

pub(super) mod constants;
pub(super) mod definitions;
pub(super) mod masking_rules;
pub(super) mod masks;
pub(super) mod ranges;

pub use constants::{IotaAttributes, constant, full, iota, varying};
pub use masks::{eye, one_hot, tril, triu};
pub use ranges::{arange, linspace};
