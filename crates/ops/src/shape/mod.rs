//! Operations that rearrange elements: reshapes, transposes, slices, concatenation, padding.

pub(super) mod axes;
pub(super) mod definitions;
pub(super) mod masking_rules;
pub(super) mod rearrange;
pub(super) mod rules;
pub(super) mod slicing;

pub use axes::{ReverseAttributes, TransposeAttributes, broadcast_to, reshape, reverse, transpose};
pub use rearrange::{expand_dims, flip, repeat, roll, slice_axis, split, split_equally, squeeze, stack, tile};
pub use slicing::{ConcatenateAttributes, PadAttributes, SliceAttributes, concatenate, pad, pad_scalar, slice};
