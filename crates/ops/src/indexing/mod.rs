//! Reads and writes at computed indices: gather, scatter, masks, NumPy's advanced indexing.

pub(super) mod advanced;
pub(super) mod along;
pub(super) mod batch;
pub(super) mod bounds;
pub(super) mod definitions;
pub(super) mod derivative;
pub(super) mod dimension_numbers;
pub(super) mod dynamic;
pub(super) mod gather;
pub(super) mod gather_masking_rules;
pub(super) mod masking_rules;
mod overlaps;
pub(super) mod scatter;
pub(super) mod scatter_derivative;
pub(super) mod segment;
pub(super) mod selection;

pub use advanced::{index, index_put, slice_assign};
pub use along::{index_combine, scatter_along, take_along_axis};
pub use dynamic::{TakeAttributes, dynamic_slice, dynamic_update_slice, take};
pub use gather::{GatherAttributes, gather};
pub use scatter::{IndexHints, ScatterAttributes, scatter};
pub use segment::segment_reduce;
pub use selection::{mask_assign, mask_select, nonzero};
