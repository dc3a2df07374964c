//! Masking of constants and ranges.

use super::constants::IotaAttributes;
use crate::masking::{Made, Outcome, PaddedSite};
use crate::padding::one;

/// Masks `full`: all elements are equal, padding included.
pub(super) fn full(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    one(site.record(&[])?, vec![None; site.value.dims.len()])
}

/// Masks `iota`: elements are equal along the other axes.
pub(super) fn iota(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let IotaAttributes { axis } = site.attributes();
    let mut layouts = vec![None; site.value.dims.len()];
    layouts[axis] = Some(site.recorder.simple(&site.value.dims[axis])?);
    one(site.record(&[])?, layouts)
}
