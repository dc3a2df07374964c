//! Masking of sorts and of top-k.

use super::sort::{SortAttributes, sort};
use super::top_k::TopKAttributes;
use crate::control::apply::Applied;
use crate::elementwise::formula::record;
use crate::elementwise::unary::unary;
use crate::masking::{Layout, Made, Outcome, PaddedSite, is_padded, merged, refused};
use crate::padding::one;
use crate::reduction::reduce_with::worst;
use crate::shape::axes::broadcast_to;
use base::types::{DType, Kind, Scalar, ScalarValue, TensorType};
use ir::{Body, NodeId, Trace, UnaryOp, take_closed_body};
use std::sync::Arc;

/// Masks `sort`: along a padded axis, an array that says what is padding is the first key.
pub(super) fn sorted(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let SortAttributes { axis, stable } = site.attributes();
    let comparator = match (&site.value.bodies[..], &site.value.instruction.bodies[..]) {
        ([scope], [body]) if !scope.changes => body.clone(),
        _ => return Err(refused("its computation changes")),
    };
    let count = comparator.parameters().len() / 2;
    let mut layouts: Vec<Layout> = site.operands[0].layouts.clone();
    for array in &site.operands[1..count] {
        for (layout, other) in layouts.iter_mut().zip(&array.layouts) {
            *layout = merged(layout, other)?;
        }
    }
    // A comparator may not be an order of the values of padding, for example of NaN: rows of padding become zeros.
    let mut rows = Vec::new();
    for (other, layout) in layouts.iter().enumerate() {
        if let Some(factors) = layout.as_ref().filter(|factors| other != axis && is_padded(factors)) {
            rows.push((other, factors.clone()));
        }
    }
    let nodes = site.nodes();
    let mut arrays = Vec::with_capacity(count + 1);
    for &array in &nodes[..count] {
        arrays.push(site.recorder.with_zeros(array, &rows)?);
    }
    let factors = match &layouts[axis] {
        Some(factors) => factors.clone(),
        None => site.recorder.simple(&site.operands[0].dims[axis])?,
    };
    let captures = &nodes[count..];
    let rank = layouts.len();
    let made = match site.recorder.validity(rank, axis, &factors)? {
        None => {
            let applied = Applied { body: &comparator, captures };
            sort(&mut site.recorder.trace, &applied, &arrays, axis as i64, stable)?
        }
        Some(valid) => {
            let trace = &mut site.recorder.trace;
            let padding = unary(trace, UnaryOp::Not, valid)?;
            let dims = trace.ty(arrays[0]).dims;
            arrays.push(broadcast_to(trace, padding, &dims)?);
            let body = padding_last(&comparator)?;
            let applied = Applied { body: &body, captures };
            sort(trace, &applied, &arrays, axis as i64, stable)?
        }
    };
    if is_padded(&factors) {
        layouts[axis] = Some(site.recorder.simple(&site.operands[0].dims[axis])?);
    }
    Ok(made.into_iter().take(count).map(|node| Made { node, layouts: layouts.clone() }).collect())
}

/// Returns the comparator of arrays and one more, which says what is padding: valid elements are compared as before,
/// and precede padding.
fn padding_last(comparator: &Body) -> Outcome<Arc<Body>> {
    let mut trace = Trace::new();
    let mut leaves =
        |types: &[TensorType]| -> Vec<NodeId> { types.iter().map(|ty| trace.parameter(ty.clone())).collect() };
    let mut parameters = leaves(comparator.parameters());
    let flags = leaves(&[TensorType::new(DType::Pred, &[]), TensorType::new(DType::Pred, &[])]);
    let captures = leaves(comparator.captures());
    let precedes = trace.replay(comparator, &[&parameters[..], &captures].concat())?[0];
    let result = record(&mut trace, [flags[0], flags[1], precedes], |[a, b, precedes]| !a & (b | precedes))?;
    parameters.extend(flags);
    Ok(take_closed_body(&trace, &parameters, &captures, &[result])?)
}

/// Masks `top_k`: padding becomes the value that is selected last. Of equal elements, the first one is selected.
pub(super) fn top_k(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let TopKAttributes { largest, .. } = site.attributes();
    let axis = site.value.dims.len() - 1;
    let mut layouts = site.operands[0].layouts.clone();
    layouts[axis] = Some(site.recorder.simple(&site.value.dims[axis])?);
    let mut x = site.operands[0].node;
    let factors = site.row(0, axis)?;
    if is_padded(&factors) {
        let dtype = site.operand_ty(0).dtype;
        // NaN is greater than every number.
        let last = match dtype.kind() {
            Kind::Float if !largest => Scalar::new(dtype, ScalarValue::Float(f64::NAN))?,
            _ => worst(dtype, largest),
        };
        let fill = site.recorder.constant(last);
        x = site.recorder.filled(x, &[(axis, factors)], fill)?;
    }
    one(site.record(&[x])?, layouts)
}
