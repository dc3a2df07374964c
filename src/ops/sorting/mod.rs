//! Sorting, top-k and binary search.

pub mod keys;
pub mod ordered_bits;
pub mod packed;
pub mod sort;
pub mod sort_rules;
pub mod top_k;
pub mod unique;
