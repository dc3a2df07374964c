//! Masking of operations that rearrange elements.

use super::axes::{ReverseAttributes, TransposeAttributes};
use super::slicing::{ConcatenateAttributes, PadAttributes, SliceAttributes};
use crate::creation::constants::constant;
use crate::elementwise::convert::convert;
use crate::indexing::dynamic::{dynamic_slice, dynamic_update_slice};
use crate::masking::{
    Factors, Layout, Made, Outcome, Padded, PaddedSite, canonical, is_padded, merged, placeholder, refused,
};
use crate::padding::one;
use crate::shape::axes::{broadcast_to, reverse};
use crate::shape::slicing::{pad, slice};
use base::types::Dims;
use ir::NodeId;
use ir::sizes::{Factor, Form};

/// Masks `reshape`: the factors of the axes are distributed anew.
pub(super) fn reshape(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let nodes = site.nodes();
    let layouts = reshaped(site)?;
    one(site.record(&nodes)?, layouts)
}

/// Layouts of a reshaped array. Axes of both shapes with equal products at the bounds are taken in groups.
fn reshaped(site: &PaddedSite) -> Outcome<Vec<Layout>> {
    let (x, to) = (&site.operands[0], &site.value.dims);
    let (from_bounds, to_bounds) = (site.recorder.dims(&x.dims)?, site.recorder.dims(to)?);
    if from_bounds.contains(&0) || to_bounds.contains(&0) {
        return Err(refused("an axis without elements is reshaped"));
    }
    let mut layouts = Vec::with_capacity(to.len());
    let (mut from, mut at) = (0, 0);
    while from < from_bounds.len() || at < to_bounds.len() {
        let (first_from, first_at) = (from, at);
        let (mut a, mut b) = (1i64, 1i64);
        loop {
            if a <= b && from < from_bounds.len() && (a < b || first_from == from) {
                a = a.saturating_mul(from_bounds[from]);
                from += 1;
            } else if b <= a && at < to_bounds.len() && (b < a || first_at == at) {
                b = b.saturating_mul(to_bounds[at]);
                at += 1;
            } else if a == b {
                break;
            } else {
                return Err(refused("shapes with different numbers of elements at the bounds"));
            }
        }
        // Axes with one element at the end belong to the last group.
        if to_bounds[at..].iter().all(|&dim| dim == 1) && from_bounds[from..].iter().all(|&dim| dim == 1) {
            (from, at) = (from_bounds.len(), to_bounds.len());
        }
        layouts.extend(distributed(site, first_from..from, &to[first_at..at])?);
    }
    Ok(layouts)
}

/// Distributes the factors of a group of axes of the operand over axes of these sizes.
fn distributed(site: &PaddedSite, from: std::ops::Range<usize>, to: &[Form]) -> Outcome<Vec<Layout>> {
    let x = &site.operands[0];
    let is_uniform = |axis: usize| x.layouts[axis].is_none() || x.dims[axis].is(1);
    if from.clone().all(is_uniform) && from.clone().any(|axis| x.layouts[axis].is_none()) {
        return Ok(vec![None; to.len()]);
    }
    let mut rest: Vec<Factor> = Vec::new();
    for axis in from {
        rest.extend(site.factors(0, axis)?);
    }
    rest.reverse();
    let mut layouts = Vec::with_capacity(to.len());
    for (number, form) in to.iter().enumerate() {
        let taken = if number + 1 == to.len() {
            let mut all = std::mem::take(&mut rest);
            all.reverse();
            all
        } else {
            taken(&mut rest, form, site.recorder.at_bounds(form)?)?
        };
        layouts.push(Some(canonical(taken)));
    }
    Ok(layouts)
}

/// Takes factors with a product of `form` from the end of `rest`, the major ones first. A factor may be split if its
/// minor part is constant.
fn taken(rest: &mut Vec<Factor>, form: &Form, bound: i64) -> Outcome<Vec<Factor>> {
    let (mut found, mut product) = (Vec::new(), 1i64);
    while product < bound {
        let factor = rest.pop().ok_or_else(|| refused("a reshape with too few factors"))?;
        if product.saturating_mul(factor.bound) <= bound {
            product *= factor.bound;
            found.push(factor);
            continue;
        }
        let major = bound / product;
        let minor = factor.bound / major;
        if major * minor != factor.bound || product * major != bound {
            return Err(refused("a reshape that splits a factor unevenly"));
        }
        let size = match factor.size.as_constant() {
            Some(_) => Form::constant(major),
            None if found.is_empty() => form.clone(),
            None => return Err(refused("a reshape that splits a factor after another one")),
        };
        if size.times(&Form::constant(minor)).as_ref() != Some(&factor.size) {
            return Err(refused(format!("a reshape that splits an axis of {}", factor.size)));
        }
        rest.push(Factor { size: Form::constant(minor), bound: minor });
        found.push(Factor { size, bound: major });
        product = bound;
    }
    Ok(found)
}

/// Masks `broadcast_to`.
pub(super) fn broadcast(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let layouts = site.broadcast_layouts()?;
    let dims = site.recorder.dims(&site.value.dims)?;
    one(broadcast_to(&mut site.recorder.trace, site.operands[0].node, &dims)?, layouts)
}

/// Masks `transpose`.
pub(super) fn transpose(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let TransposeAttributes { permutation } = site.attributes();
    let layouts = permutation.iter().map(|&axis| site.operands[0].layouts[axis as usize].clone()).collect();
    let nodes = site.nodes();
    one(site.record(&nodes)?, layouts)
}

/// Masks `reverse`: padding comes first after it, and is cut off.
pub(super) fn reversed(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let ReverseAttributes { axes } = site.attributes();
    let mut node = reverse(&mut site.recorder.trace, site.operands[0].node, &axes)?;
    let layouts = site.operands[0].layouts.clone();
    for axis in axes.iter().map(|&axis| axis as usize) {
        if layouts[axis].is_some() && is_padded(&site.row(0, axis)?) {
            let size = site.operands[0].dims[axis].clone();
            let bound = Form::constant(site.recorder.at_bounds(&size)?);
            let start = bound.minus(&size).ok_or_else(|| refused("a size overflows"))?;
            node = site.moved(node, axis, &start, bound.as_constant().unwrap_or(0))?;
        }
    }
    one(node, layouts)
}

impl PaddedSite<'_, '_> {
    /// Records `length` elements of `x` along an axis, from `start`. Elements beyond the end of `x` have any value.
    fn moved(&mut self, x: NodeId, axis: usize, start: &Form, length: i64) -> Outcome<NodeId> {
        let mut dims = self.recorder.trace.ty(x).dims;
        let mut more = vec![0; dims.len()];
        more[axis] = length;
        let long = self.recorder.extended(x, &more)?;
        let zero = self.recorder.size(&Form::constant(0))?;
        let mut starts = vec![zero; dims.len()];
        starts[axis] = self.recorder.size(start)?;
        dims[axis] = length;
        Ok(dynamic_slice(&mut self.recorder.trace, long, &starts, &dims)?)
    }

    /// Words of the attributes as lists with one form for each axis.
    fn lists<const N: usize>(&self) -> Outcome<[Vec<Form>; N]> {
        let rank = self.operands[0].dims.len();
        let words = &self.value.words;
        if words.len() != N * (rank + 1) || (0..N).any(|list| !words[list * (rank + 1)].is(rank as i64)) {
            return Err(refused("lists of attributes of another rank"));
        }
        Ok(std::array::from_fn(|list| words[list * (rank + 1) + 1..][..rank].to_vec()))
    }
}

/// Masks `slice`. Starts that change become dynamic slices.
pub(super) fn sliced(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let [starts, limits, strides] = site.lists()?;
    let SliceAttributes { starts: first, limits: mut last, strides: steps } = site.attributes_at_bounds()?;
    let mut first = first;
    let from = site.operand_ty(0).dims;
    let mut layouts = Vec::with_capacity(starts.len());
    let mut moves = Vec::new();
    for axis in 0..starts.len() {
        let (x, to) = (&site.operands[0], &site.value.dims[axis]);
        if strides[axis].as_constant().is_none() {
            return Err(refused("a stride that changes"));
        }
        if starts[axis].is(0) && limits[axis] == x.dims[axis] && strides[axis].is(1) {
            layouts.push(x.layouts[axis].clone());
            continue;
        }
        site.row(0, axis)?;
        let is_uniform = x.layouts[axis].is_none();
        layouts.push(if is_uniform { None } else { Some(site.recorder.simple(to)?) });
        if starts[axis].as_constant().is_none() {
            if !strides[axis].is(1) {
                return Err(refused("a stride behind a start that changes"));
            }
            let length = site.recorder.at_bounds(to)?;
            (first[axis], last[axis]) = (0, from[axis]);
            if is_uniform {
                last[axis] = length;
            } else {
                moves.push((axis, starts[axis].clone(), length));
            }
        }
    }
    let mut node = slice(&mut site.recorder.trace, site.operands[0].node, &first, &last, &steps)?;
    for (axis, start, length) in moves {
        node = site.moved(node, axis, &start, length)?;
    }
    one(node, layouts)
}

/// Masks `pad`: the padding of a padded axis becomes that of the operation.
pub(super) fn padded(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let [lows, highs, interiors] = site.lists()?;
    let mut attributes: PadAttributes = site.attributes_at_bounds()?;
    let (mut layouts, mut masks, mut moves) = (Vec::new(), Vec::new(), Vec::new());
    for axis in 0..lows.len() {
        if interiors[axis].as_constant().is_none() {
            return Err(refused("interior padding that changes"));
        }
        if lows[axis].is(0) && highs[axis].is(0) && interiors[axis].is(0) {
            layouts.push(site.operands[0].layouts[axis].clone());
            continue;
        }
        let factors = site.row(0, axis)?;
        if is_padded(&factors) {
            masks.push((axis, factors));
        }
        layouts.push(Some(site.recorder.simple(&site.value.dims[axis])?));
        if lows[axis].as_constant().is_none() {
            if !interiors[axis].is(0) {
                return Err(refused("interior padding behind low padding that changes"));
            }
            (attributes.low[axis], attributes.high[axis]) = (0, 0);
            moves.push((axis, lows[axis].clone(), site.recorder.at_bounds(&site.value.dims[axis])?));
        }
    }
    let value = site.operands[1].node;
    let x = site.recorder.filled(site.operands[0].node, &masks, value)?;
    let PadAttributes { low, high, interior } = attributes;
    let mut node = pad(&mut site.recorder.trace, x, value, &low, &high, &interior)?;
    for (axis, low, length) in moves {
        node = placed(site, node, value, axis, &low, length)?;
    }
    one(node, layouts)
}

/// Records an array of `length` elements of `value` along an axis, with `x` written over it from `low`. What does not
/// fit is cut off.
fn placed(site: &mut PaddedSite, x: NodeId, value: NodeId, axis: usize, low: &Form, length: i64) -> Outcome<NodeId> {
    let mut dims: Dims = site.recorder.trace.ty(x).dims;
    dims[axis] += length;
    let zero = site.recorder.size(&Form::constant(0))?;
    let mut starts = vec![zero; dims.len()];
    starts[axis] = site.recorder.size(low)?;
    let trace = &mut site.recorder.trace;
    let empty = broadcast_to(trace, value, &dims)?;
    let written = dynamic_update_slice(trace, empty, x, &starts)?;
    dims[axis] = length;
    let (none, steps) = (vec![0; dims.len()], vec![1; dims.len()]);
    Ok(slice(trace, written, &none, &dims, &steps)?)
}

/// Masks `concatenate`: operands behind a padded one are written over its padding.
pub(super) fn concatenated(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let ConcatenateAttributes { axis } = site.attributes();
    let mut layouts: Vec<Layout> = vec![None; site.value.dims.len()];
    let mut rows: Vec<Factors> = Vec::new();
    for (number, Padded { layouts: own, .. }) in site.operands.iter().enumerate() {
        for other in (0..own.len()).filter(|&other| other != axis) {
            layouts[other] = merged(&layouts[other], &own[other])?;
        }
        rows.push(site.row(number, axis)?);
    }
    layouts[axis] = Some(site.recorder.simple(&site.value.dims[axis])?);
    let (_, before) = rows.split_last().ok_or_else(|| refused("no operand"))?;
    if !before.iter().any(|row| is_padded(row)) {
        let nodes = site.nodes();
        return one(site.record(&nodes)?, layouts);
    }
    let (dtype, mut dims) = (site.value.instruction.ty.dtype, site.recorder.dims(&site.value.dims)?);
    // An update that does not fit is moved to fit. The bound of the result may be less than the sum of the parts' bounds,
    // if its size is a variable of its own.
    let (bound, parts) = (dims[axis], (0..site.operands.len()).map(|number| site.operand_ty(number).dims[axis]));
    dims[axis] = bound.max(parts.sum());
    let mut all = constant(&mut site.recorder.trace, &dims, placeholder(dtype));
    let zero = site.recorder.size(&Form::constant(0))?;
    let mut offset = Form::constant(0);
    for operand in site.operands.clone() {
        let mut starts = vec![zero; dims.len()];
        starts[axis] = site.recorder.size(&offset)?;
        let trace = &mut site.recorder.trace;
        let part = convert(trace, operand.node, dtype);
        all = dynamic_update_slice(trace, all, part, &starts)?;
        offset = offset.plus(&operand.dims[axis]).ok_or_else(|| refused("a size overflows"))?;
    }
    if dims[axis] > bound {
        dims[axis] = bound;
        let (none, steps) = (vec![0; dims.len()], vec![1; dims.len()]);
        all = slice(&mut site.recorder.trace, all, &none, &dims, &steps)?;
    }
    one(all, layouts)
}
