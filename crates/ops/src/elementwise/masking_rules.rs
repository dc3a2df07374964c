//! Masking of the elementwise operation that may add an axis or remove one.

use crate::masking::{Made, Outcome, PaddedSite, refused};
use crate::padding::one;

/// Masks `bitcast_convert`: an axis that is added at the end, or removed there, has a constant size.
pub(super) fn bitcast(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let (from, to) = (&site.operands[0], &site.value.dims);
    let common = from.dims.len().min(to.len());
    if from.dims[..common] != to[..common] {
        return Err(refused("other dimensions than its operand"));
    }
    if from.dims[common..].iter().any(|dim| dim.as_constant().is_none()) {
        return Err(refused("an axis that changes is removed"));
    }
    let mut layouts = from.layouts[..common].to_vec();
    layouts.resize(to.len(), None);
    let nodes = site.nodes();
    one(site.record(&nodes)?, layouts)
}
