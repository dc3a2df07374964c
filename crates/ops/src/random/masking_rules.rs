//! Masking of random bits.

use crate::masking::{Made, Outcome, PaddedSite, refused};
use crate::padding::one;

/// Masks `random_bits`. An element depends on its position in the row of its key: only the first axis of a row may
/// change.
pub(super) fn random_bits(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let key = &site.operands[0];
    let keys = key.dims.len() - 1;
    let dims = &site.value.dims;
    if !key.dims[keys].is(2) || dims.get(..keys) != Some(&key.dims[..keys]) {
        return Err(refused("keys that do not go with the leading axes"));
    }
    if dims.iter().skip(keys + 1).any(|dim| dim.as_constant().is_none()) {
        return Err(refused("an axis that changes behind the first one"));
    }
    let mut layouts = key.layouts[..keys].to_vec();
    for dim in &dims[keys..] {
        layouts.push(Some(site.recorder.simple(dim)?));
    }
    let nodes = site.nodes();
    one(site.record(&nodes)?, layouts)
}
