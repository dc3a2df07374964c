//! Operations that rearrange elements: reshapes, transposes, slices, concatenation, padding.

pub mod axes;
pub mod rearrange;
pub mod rules;
pub mod slicing;
