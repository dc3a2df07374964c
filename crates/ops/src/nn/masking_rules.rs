//! Masking of convolutions.

use super::convolution::ConvolutionAttributes;
use crate::masking::{Layout, Made, Outcome, PaddedSite, is_padded, refused};
use crate::padding::one;

/// Masks `convolution`: padding of the axes that it sums over becomes zero in both operands.
pub(super) fn convolution(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let attributes: ConvolutionAttributes = site.attributes();
    let axes = |list: &[i64]| list.iter().map(|&axis| axis as usize).collect::<Vec<usize>>();
    let [lhs, rhs, out] = [axes(&attributes.lhs), axes(&attributes.rhs), axes(&attributes.out)];
    check(site, &attributes, &lhs, &rhs)?;
    let features = if attributes.groups == [1, 1] { Some(site.shared(lhs[1], rhs[1])?) } else { None };
    let mut masks = [Vec::new(), Vec::new()];
    if let Some(factors) = features.filter(|factors| is_padded(factors)) {
        masks[0].push((lhs[1], factors.clone()));
        masks[1].push((rhs[1], factors));
    }
    for (operand, own) in [&lhs, &rhs].into_iter().enumerate() {
        for &axis in &own[2..] {
            let factors = site.row(operand, axis)?;
            if is_padded(&factors) {
                masks[operand].push((axis, factors));
            }
        }
    }
    let mut nodes = site.nodes();
    for (node, masks) in nodes.iter_mut().zip(&masks) {
        *node = site.recorder.with_zeros(*node, masks)?;
    }
    let mut layouts: Vec<Layout> = vec![None; out.len()];
    layouts[out[0]] = site.operands[0].layouts[lhs[0]].clone();
    layouts[out[1]] = site.operands[1].layouts[rhs[0]].clone();
    for &axis in &out[2..] {
        layouts[axis] = Some(site.recorder.simple(&site.value.dims[axis])?);
    }
    one(site.record(&nodes)?, layouts)
}

/// Refuses groups along axes that change, and windows that see other elements at the bound.
fn check(site: &PaddedSite, attributes: &ConvolutionAttributes, lhs: &[usize], rhs: &[usize]) -> Outcome<()> {
    let [feature_groups, batch_groups] = attributes.groups;
    let features = site.changes(0, lhs[1]) || site.changes(1, rhs[0]) || site.changes(1, rhs[1]);
    if (feature_groups > 1 || batch_groups > 1) && features || batch_groups > 1 && site.changes(0, lhs[0]) {
        return Err(refused("groups along an axis that changes"));
    }
    for i in 0..attributes.strides.len() {
        let changes = [site.changes(0, lhs[2 + i]), site.changes(1, rhs[2 + i])];
        let is_plain = attributes.strides[i] == 1 && attributes.lhs_dilation[i] == 1 && attributes.low[i] >= 0;
        if changes.contains(&true) && !is_plain {
            return Err(refused("strides, dilation or cuts along an axis that changes"));
        }
        if changes[1] && (attributes.reversal[i] != 0 || attributes.rhs_dilation[i] != 1) {
            return Err(refused("a kernel that changes is reversed or dilated"));
        }
    }
    Ok(())
}
