//! Masking of random bits.

use crate::creation::constants::iota;
use crate::elementwise::binary::binary;
use crate::indexing::dynamic::take;
use crate::infer::typed;
use crate::masking::{Made, Outcome, PaddedSite, refused};
use crate::padding::one;
use base::types::{DType, TensorType};
use ir::sizes::Form;
use ir::{BinaryOp, NodeId, Op};

/// Masks `random_bits`. An element depends on its position in the row of its key. If only the first axis of a row
/// changes, the positions are those of the elements at the bound; otherwise they are looked up by the true sizes.
pub(super) fn random_bits(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let key = &site.operands[0];
    let keys = key.dims.len() - 1;
    let dims = &site.value.dims;
    if !key.dims[keys].is(2) || dims.get(..keys) != Some(&key.dims[..keys]) {
        return Err(refused("keys that do not go with the leading axes"));
    }
    let is_by_rows = dims.iter().skip(keys + 1).all(|dim| dim.as_constant().is_some());
    let mut layouts = key.layouts[..keys].to_vec();
    for dim in &dims[keys..] {
        layouts.push(Some(site.recorder.simple(dim)?));
    }
    let nodes = site.nodes();
    match (is_by_rows, keys) {
        (true, _) => one(site.record(&nodes)?, layouts),
        (false, 0) => one(by_positions(site, nodes[0])?, layouts),
        _ => Err(refused("an axis that changes behind the first one of each key")),
    }
}

/// Records as many bits as there are elements at the bounds, and takes each element at its position by the true sizes.
fn by_positions(site: &mut PaddedSite, key: NodeId) -> Outcome<NodeId> {
    let forms = site.value.dims.clone();
    let bounds = site.recorder.dims(&forms)?;
    let count = bounds.iter().try_fold(1i64, |count, &bound| count.checked_mul(bound));
    let count = count.filter(|&count| i32::try_from(count).is_ok()).ok_or_else(|| refused("too many random bits"))?;
    let (mut stride, mut positions) = (Form::constant(1), None);
    for axis in (0..bounds.len()).rev() {
        let by = site.recorder.size(&stride)?;
        let trace = &mut site.recorder.trace;
        let along = iota(trace, &TensorType::new(DType::S32, &bounds), axis as i64)?;
        let along = binary(trace, BinaryOp::Multiply, along, by)?;
        positions = Some(match positions {
            Some(others) => binary(trace, BinaryOp::Add, others, along)?,
            None => along,
        });
        stride = stride.times(&forms[axis]).ok_or_else(|| refused("a size overflows"))?;
    }
    let positions = positions.ok_or_else(|| refused("a scalar that changes"))?;
    let trace = &mut site.recorder.trace;
    let flat = typed(trace, Op::RandomBits, &TensorType::new(site.value.instruction.ty.dtype, &[count]), &[key]);
    Ok(take(trace, flat, positions, 0)?)
}
