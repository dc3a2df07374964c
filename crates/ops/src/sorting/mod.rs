//! Sorting, top-k and binary search.

pub(super) mod definitions;
pub(super) mod keys;
pub(super) mod masking_rules;
pub(super) mod ordered_bits;
pub(super) mod packed;
pub(super) mod sort;
pub(super) mod sort_rules;
pub(super) mod top_k;
pub(super) mod unique;

pub use sort::{SortAttributes, argsort, sort, sort_along};
pub use top_k::{TopKAttributes, top_k, top_k_total_order};
pub use unique::{searchsorted, unique};
