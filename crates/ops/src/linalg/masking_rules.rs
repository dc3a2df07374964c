//! Masking of products and Fourier transforms.

use super::dot_general::DotGeneralAttributes;
use super::fourier::FftAttributes;
use crate::masking::{Factors, Layout, Made, Outcome, PaddedSite, is_padded, merged, refused};
use crate::padding::one;

impl PaddedSite<'_, '_> {
    /// Factors of an axis of the first operand and of an axis of the second, which go together.
    pub(crate) fn shared(&self, left: usize, right: usize) -> Outcome<Factors> {
        let (a, b) = (&self.operands[0], &self.operands[1]);
        match merged(&a.layouts[left], &b.layouts[right])? {
            Some(factors) => Ok(factors),
            None => self.recorder.simple(&a.dims[left]),
        }
    }
}

/// Masks `matmul`: padding along the contracted axis becomes zero in both operands, since zero times NaN is NaN.
pub(super) fn matmul(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let [left, right] = [0, 1].map(|operand| site.operands[operand].dims.len());
    let along = [left - 1, right.saturating_sub(2)];
    let factors = site.shared(along[0], along[1])?;
    let mut nodes = site.nodes();
    for (node, axis) in nodes.iter_mut().zip(along) {
        *node = site.recorder.with_zeros(*node, &[(axis, factors.clone())])?;
    }
    let mut layouts = batch_layouts(site, [left, right])?;
    if left > 1 {
        layouts.push(site.operands[0].layouts[left - 2].clone());
    }
    if right > 1 {
        layouts.push(site.operands[1].layouts[right - 1].clone());
    }
    one(site.record(&nodes)?, layouts)
}

/// Layouts of the batch axes of a matmul, which are broadcast.
fn batch_layouts(site: &PaddedSite, ranks: [usize; 2]) -> Outcome<Vec<Layout>> {
    let batch = ranks.map(|rank| rank.saturating_sub(2));
    let rank = batch[0].max(batch[1]);
    let mut layouts: Vec<Layout> = vec![None; rank];
    for (operand, own) in site.operands.iter().zip(batch) {
        for axis in 0..own {
            let at = rank - own + axis;
            if !operand.dims[axis].is(1) || site.value.dims[at].is(1) {
                layouts[at] = merged(&layouts[at], &operand.layouts[axis])?;
            }
        }
    }
    Ok(layouts)
}

/// Masks `dot_general` as [`matmul`].
pub(super) fn dot_general(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let attributes: DotGeneralAttributes = site.attributes();
    let axes = |list: &[i64]| list.iter().map(|&axis| axis as usize).collect::<Vec<usize>>();
    let batching = [axes(&attributes.lhs_batching), axes(&attributes.rhs_batching)];
    let contracting = [axes(&attributes.lhs_contracting), axes(&attributes.rhs_contracting)];
    let mut masks = [Vec::new(), Vec::new()];
    for (&left, &right) in contracting[0].iter().zip(&contracting[1]) {
        let factors = site.shared(left, right)?;
        if is_padded(&factors) {
            masks[0].push((left, factors.clone()));
            masks[1].push((right, factors));
        }
    }
    let mut nodes = site.nodes();
    for (node, masks) in nodes.iter_mut().zip(&masks) {
        *node = site.recorder.with_zeros(*node, masks)?;
    }
    let mut layouts: Vec<Layout> = Vec::new();
    for (&left, &right) in batching[0].iter().zip(&batching[1]) {
        layouts.push(merged(&site.operands[0].layouts[left], &site.operands[1].layouts[right])?);
    }
    for operand in 0..2 {
        let taken = |axis: &usize| batching[operand].contains(axis) || contracting[operand].contains(axis);
        let own = &site.operands[operand].layouts;
        layouts.extend((0..own.len()).filter(|axis| !taken(axis)).map(|axis| own[axis].clone()));
    }
    one(site.record(&nodes)?, layouts)
}

/// Masks `fft` along axes of constant size.
pub(super) fn fft(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let FftAttributes { lengths, .. } = site.attributes();
    let rank = site.value.dims.len();
    let first = rank - lengths.len();
    if (first..rank).any(|axis| site.changes(0, axis)) {
        return Err(refused("a transform along an axis that changes"));
    }
    let mut layouts = site.operands[0].layouts.clone();
    for (layout, dim) in layouts.iter_mut().zip(&site.value.dims).skip(first) {
        *layout = Some(site.recorder.simple(dim)?);
    }
    let nodes = site.nodes();
    one(site.record(&nodes)?, layouts)
}
