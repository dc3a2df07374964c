//! Derivative and batching of sort. A sort permutes elements: tangents are permuted in the same way, and cotangents by
//! the inverse permutation.

use crate::control::apply::Applied;
use crate::control::bodies;
use crate::creation::constants::iota;
use crate::indexing::along::elements_along;
use crate::indexing::gather::gather;
use crate::indexing::scatter::{IndexHints, scatter};
use crate::infer::places_dtype;
use crate::rules::{Forward, Site, no_tangents};
use crate::sorting::sort::{SortAttributes, sort};
use crate::tangents::zeros;
use base::error;
use base::error::Result;
use base::types::TensorType;
use ir::{NodeId, Trace, take_closed_body};

/// Number of sorted arrays. They are followed by the captures of the comparator.
fn arrays(site: &Site) -> usize {
    site.bodies[0].parameters().len() / 2
}

/// Records the sort again, with the positions along the axis as an additional array, which the comparator ignores.
/// Returns the sorted arrays, and the positions from which their elements come.
fn sorted_with_places(site: &mut Site) -> Result<(Vec<NodeId>, NodeId)> {
    let (body, count) = (site.bodies[0].clone(), arrays(site));
    let SortAttributes { axis, mut stable } = site.attributes();
    let dims = site.operand_ty(0).dims;
    let dtype = places_dtype(dims[axis]);
    if !stable && count > 1 {
        // The sort must be stable: other arrays may differ where the keys are equal, and both sorts must order them
        // alike.
        stable = true;
        let attributes = SortAttributes { axis, stable };
        site.trace.extend_results(site.node, &attributes, &[&body], count, &[]);
    }

    let mut inner = Trace::new();
    let mut parameters = Vec::with_capacity(2 * count + 2);
    for ty in body.parameters() {
        parameters.push(inner.parameter(ty.clone()));
    }
    let mut captured = Vec::with_capacity(body.captures().len());
    for ty in body.captures() {
        captured.push(inner.parameter(ty.clone()));
    }
    let precedes = inner.replay(&body, &[&parameters[..], &captured].concat())?;
    for _ in 0..2 {
        parameters.push(inner.parameter(TensorType::new(dtype, &[])));
    }
    let comparator = take_closed_body(&inner, &parameters, &captured, &precedes)?;

    let places = iota(site.trace, &TensorType { dtype, dims }, axis as i64)?;
    let (mut all, captures) = (site.operands[..count].to_vec(), site.operands[count..].to_vec());
    all.push(places);
    let applied = Applied { body: &comparator, captures: &captures };
    let mut sorted = sort(site.trace, &applied, &all, axis as i64, stable)?;
    let places = sorted.pop().expect("as many results as arrays");
    Ok((sorted, places))
}

/// Tangents of the results: the tangents of the arrays, permuted. The results are taken from the same sort as the
/// permutation.
pub fn jvp(site: &mut Site, tangents: &[Option<NodeId>]) -> Result<Forward> {
    let mut made = no_tangents(site, tangents)?;
    let moved: Vec<(usize, NodeId)> = (0..site.results.len().min(arrays(site)))
        .filter_map(|i| tangents[i].filter(|_| site.results[i].is_some()).map(|tangent| (i, tangent)))
        .collect();
    if moved.is_empty() {
        return Ok(made);
    }
    let SortAttributes { axis, .. } = site.attributes();
    let rank = site.operand_ty(0).dims.len();
    let (results, places) = sorted_with_places(site)?;
    let numbers = elements_along(axis, rank);
    for (i, tangent) in moved {
        made.tangents[i] = Some(gather(site.trace, tangent, places, &numbers, &vec![1; rank], false)?);
    }
    made.results = Some(results);
    Ok(made)
}

/// Cotangents of the arrays: the cotangents of the results, moved to the positions from which the elements come.
pub fn vjp(site: &mut Site, cotangents: &[Option<NodeId>], wanted: &[bool]) -> Result<Vec<Option<NodeId>>> {
    let mut gradients = vec![None; wanted.len()];
    let moved: Vec<(usize, NodeId)> = (0..cotangents.len().min(arrays(site)))
        .filter_map(|i| cotangents[i].filter(|_| wanted[i]).map(|cotangent| (i, cotangent)))
        .collect();
    if moved.is_empty() {
        return Ok(gradients);
    }
    let SortAttributes { axis, .. } = site.attributes();
    let (_, places) = sorted_with_places(site)?;
    let hints = IndexHints { sorted: false, unique: true };
    for (i, cotangent) in moved {
        let ty = site.operand_ty(i);
        let body = bodies::replace(ty.dtype)?;
        let replace = Applied { body: &body, captures: &[] };
        let numbers = elements_along(axis, ty.dims.len());
        let empty = zeros(site.trace, &ty)?;
        let back = scatter(site.trace, &replace, &[empty], places, &[cotangent], &numbers, hints)?;
        gradients[i] = Some(back[0]);
    }
    Ok(gradients)
}

/// Batches a sort: all arrays get the batch axis.
pub fn batch(site: &mut Site, mapped: &[bool], size: i64) -> Result<Vec<(NodeId, bool)>> {
    let (body, count) = (site.bodies[0].clone(), arrays(site));
    if mapped[count..].contains(&true) {
        return Err(error!(Unimplemented, "sort cannot be batched over values that its comparator captured"));
    }
    let SortAttributes { axis, stable } = site.attributes();
    let captures = site.operands[count..].to_vec();
    let mut all = Vec::with_capacity(count);
    for i in 0..count {
        all.push(site.mapped_operand(i, mapped, size)?);
    }
    let applied = Applied { body: &body, captures: &captures };
    let sorted = sort(site.trace, &applied, &all, axis as i64 + 1, stable)?;
    Ok(sorted.into_iter().map(|id| (id, true)).collect())
}
