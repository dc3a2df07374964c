//! Masking of gathers and scatters.

use super::gather::{GatherAttributes, gather};
use super::scatter::{IndexHints, ScatterAttributes, scatter};
use crate::control::apply::Applied;
use crate::elementwise::compare_select::{compare, select};
use crate::masking::{Factors, Layout, Made, Outcome, PaddedSite, is_padded, merged, refused};
use crate::padding::one;
use crate::reduction::reduce::reduce;
use crate::shape::axes::reshape;
use crate::shape::slicing::concatenate;
use base::types::{DType, Kind, Scalar, ScalarValue};
use ir::sizes::Form;
use ir::{CompareOp, DimensionNumbers, NodeId, ReduceOp};

impl PaddedSite<'_, '_> {
    /// Records the last starts of slices along the axes of the index map, in a dtype and in a shape that broadcasts to
    /// the indices. `sizes` are those of the slices along the axes of the array.
    fn last_starts(&mut self, numbers: &DimensionNumbers, sizes: &[Form], indices: NodeId) -> Outcome<NodeId> {
        let ty = self.recorder.trace.ty(indices);
        let rank = ty.dims.len();
        let mut lasts = Vec::with_capacity(numbers.index_map.len());
        for &axis in &numbers.index_map {
            let (whole, part) = (&self.operands[0].dims[axis as usize], &sizes[axis as usize]);
            let last = whole.minus(part).ok_or_else(|| refused("a size overflows"))?;
            let last = self.recorder.size_in(&last, ty.dtype)?;
            lasts.push(last);
        }
        if numbers.index_vector_dim as usize == rank {
            return Ok(lasts[0]);
        }
        let trace = &mut self.recorder.trace;
        for last in &mut lasts {
            *last = reshape(trace, *last, &vec![1; rank])?;
        }
        Ok(concatenate(trace, &lasts, numbers.index_vector_dim)?)
    }

    /// Whether an index selects along an axis of the array whose size changes, where slices are not whole.
    fn is_indexed(&self, numbers: &DimensionNumbers, sizes: &[Form]) -> Outcome<bool> {
        let mut found = false;
        for axis in numbers.index_map.iter().map(|&axis| axis as usize) {
            if sizes[axis] == self.operands[0].dims[axis] {
                continue;
            }
            if sizes[axis].as_constant().is_none() {
                return Err(refused("slices whose size changes, at indices"));
            }
            self.row(0, axis)?;
            found |= self.changes(0, axis);
        }
        Ok(found)
    }
}

/// Layouts of the axes of slices, in the order of the window axes.
fn window_layouts(site: &PaddedSite, numbers: &DimensionNumbers, sizes: &[Form]) -> Outcome<Vec<Layout>> {
    let x = &site.operands[0];
    let mut layouts = Vec::new();
    for axis in numbers.array_axes(x.dims.len()) {
        if sizes[axis] == x.dims[axis] {
            layouts.push(x.layouts[axis].clone());
        } else if sizes[axis].as_constant().is_some() {
            site.row(0, axis)?;
            layouts.push(Some(site.recorder.simple(&sizes[axis])?));
        } else {
            return Err(refused("slices whose size changes along an axis of another size"));
        }
    }
    Ok(layouts)
}

/// Masks `gather`: starts are clamped by the sizes of the axes.
pub(super) fn gathered(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let GatherAttributes { numbers, slice_sizes, indices_are_sorted } = site.attributes_at_bounds()?;
    let words = &site.value.words;
    let sizes: Vec<Form> = words[2..2 + slice_sizes.len()].to_vec();
    let others = words[..2].iter().chain(&words[2 + sizes.len()..]);
    if others.into_iter().any(|word| word.as_constant().is_none()) {
        return Err(refused("dimension numbers that change"));
    }
    let vector = numbers.index_vector_dim as usize;
    if vector < site.operands[1].dims.len() && site.changes(1, vector) {
        return Err(refused("index vectors whose length changes"));
    }
    let mut windows = window_layouts(site, &numbers, &sizes)?.into_iter();
    let mut of_indices = index_layouts(site, &numbers, 1)?.into_iter();
    let rank = site.value.dims.len();
    let mut layouts = Vec::with_capacity(rank);
    for axis in 0..rank as i64 {
        let next = if numbers.window_dims.contains(&axis) { windows.next() } else { of_indices.next() };
        layouts.push(next.ok_or_else(|| refused("dimension numbers of another rank"))?);
    }
    let [x, mut indices] = [0, 1].map(|operand| site.operands[operand].node);
    let mut is_sorted = indices_are_sorted;
    if site.is_indexed(&numbers, &sizes)? {
        indices = site.recorder.wide(indices);
        let lasts = site.last_starts(&numbers, &sizes, indices)?;
        indices = site.recorder.clamped(indices, lasts)?;
    }
    // Padding among the indices is in no order.
    is_sorted &= (0..site.operands[1].dims.len()).all(|axis| !site.changes(1, axis));
    one(gather(&mut site.recorder.trace, x, indices, &numbers, &slice_sizes, is_sorted)?, layouts)
}

/// Layouts of the axes of the indices, operand `at`, that enumerate slices. Batching axes are those of the array, too.
fn index_layouts(site: &PaddedSite, numbers: &DimensionNumbers, at: usize) -> Outcome<Vec<Layout>> {
    let indices = &site.operands[at];
    let mut layouts = Vec::new();
    for axis in numbers.indices_axes(indices.dims.len()) {
        let mut layout = indices.layouts[axis].clone();
        for (&own, &theirs) in numbers.batching_dims.iter().zip(&numbers.indices_batching_dims) {
            if theirs as usize == axis {
                layout = merged(&layout, &site.operands[0].layouts[own as usize])?;
            }
        }
        layouts.push(layout);
    }
    Ok(layouts)
}

/// Masks `scatter`: updates in padding, and beyond the size of an axis, are dropped by indices that are out of range.
pub(super) fn scattered(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let ScatterAttributes { numbers, indices_are_sorted, unique_indices } = site.attributes();
    let body = match (&site.value.bodies[..], &site.value.instruction.bodies[..]) {
        ([scope], [body]) if !scope.changes => body.clone(),
        _ => return Err(refused("its computation changes")),
    };
    let count = body.results().len();
    let vector = numbers.index_vector_dim as usize;
    if vector < site.operands[count].dims.len() && site.changes(count, vector) {
        return Err(refused("index vectors whose length changes"));
    }
    let sizes = update_sizes(site, &numbers, count);
    let (layouts, enumerating) = scatter_layouts(site, &numbers, &sizes, count)?;
    let mut masks = Vec::new();
    for (axis, factors) in numbers.indices_axes(site.operands[count].dims.len()).into_iter().zip(enumerating) {
        if is_padded(&factors) {
            masks.push((axis, factors));
        }
    }
    let nodes = site.nodes();
    let is_indexed = site.is_indexed(&numbers, &sizes)?;
    let (mut indices, mut hints) = (nodes[count], IndexHints { sorted: indices_are_sorted, unique: unique_indices });
    if is_indexed || !masks.is_empty() {
        indices = dropping(site, &numbers, &sizes, indices, &masks, is_indexed)?;
        hints = IndexHints::default();
    }
    let applied = Applied { body: &body, captures: &nodes[2 * count + 1..] };
    let (arrays, updates) = (&nodes[..count], &nodes[count + 1..2 * count + 1]);
    let made = scatter(&mut site.recorder.trace, &applied, arrays, indices, updates, &numbers, hints)?;
    Ok(made.into_iter().map(|node| Made { node, layouts: layouts.clone() }).collect())
}

/// Sizes of the slices of updates along the axes of the arrays.
fn update_sizes(site: &PaddedSite, numbers: &DimensionNumbers, count: usize) -> Vec<Form> {
    let (rank, updates) = (site.operands[0].dims.len(), &site.operands[count + 1]);
    let mut sizes = vec![Form::constant(1); rank];
    for (axis, &at) in numbers.array_axes(rank).into_iter().zip(&numbers.window_dims) {
        sizes[axis] = updates.dims[at as usize].clone();
    }
    sizes
}

/// Layouts of the arrays, and factors of the axes that enumerate slices.
fn scatter_layouts(
    site: &PaddedSite,
    numbers: &DimensionNumbers,
    sizes: &[Form],
    count: usize,
) -> Outcome<(Vec<Layout>, Vec<Factors>)> {
    let mut layouts: Vec<Layout> = site.operands[0].layouts.clone();
    for array in &site.operands[1..count] {
        for (layout, other) in layouts.iter_mut().zip(&array.layouts) {
            *layout = merged(layout, other)?;
        }
    }
    let rank = layouts.len();
    let mut enumerating = index_layouts(site, numbers, count)?;
    for updates in &site.operands[count + 1..2 * count + 1] {
        for (axis, &at) in numbers.array_axes(rank).into_iter().zip(&numbers.window_dims) {
            if sizes[axis] == site.operands[0].dims[axis] {
                layouts[axis] = merged(&layouts[axis], &updates.layouts[at as usize])?;
            } else if sizes[axis].as_constant().is_none() {
                return Err(refused("slices whose size changes along an axis of another size"));
            }
        }
        for (layout, at) in enumerating.iter_mut().zip(numbers.batch_axes(updates.dims.len())) {
            *layout = merged(layout, &updates.layouts[at])?;
        }
    }
    let indices = &site.operands[count];
    let axes = numbers.indices_axes(indices.dims.len());
    let mut factors = Vec::new();
    for (layout, &axis) in enumerating.into_iter().zip(&axes) {
        factors.push(match layout {
            Some(factors) => factors,
            None => site.recorder.simple(&indices.dims[axis])?,
        });
    }
    for (axis, layout) in layouts.iter_mut().enumerate() {
        let paired = numbers.batching_dims.iter().position(|&own| own as usize == axis);
        if let Some(pair) = paired {
            let theirs = axes.iter().position(|&at| at as i64 == numbers.indices_batching_dims[pair]);
            let theirs = theirs.ok_or_else(|| refused("dimension numbers of another rank"))?;
            *layout = merged(layout, &Some(factors[theirs].clone()))?;
        } else if layout.is_none() {
            *layout = Some(site.recorder.simple(&site.operands[0].dims[axis])?);
        }
        let is_whole = sizes[axis] == site.operands[0].dims[axis];
        let is_merged = layout.as_ref().is_some_and(|factors| factors.len() > 1 && is_padded(factors));
        if is_merged && !is_whole && paired.is_none() {
            return Err(refused("updates at positions along a merged axis"));
        }
    }
    Ok((layouts, factors))
}

/// Records indices that are out of range where a slice is in padding, or reaches beyond the size of an axis.
fn dropping(
    site: &mut PaddedSite,
    numbers: &DimensionNumbers,
    sizes: &[Form],
    indices: NodeId,
    masks: &[(usize, Factors)],
    is_indexed: bool,
) -> Outcome<NodeId> {
    let mut indices = site.recorder.wide(indices);
    let ty = site.recorder.trace.ty(indices);
    let out = site.recorder.constant(out_of_range(ty.dtype)?);
    if is_indexed {
        let lasts = site.last_starts(numbers, sizes, indices)?;
        let trace = &mut site.recorder.trace;
        let mut fits = compare(trace, CompareOp::Le, indices, lasts)?;
        let vector = numbers.index_vector_dim;
        if (vector as usize) < ty.dims.len() {
            fits = reduce(trace, ReduceOp::All, fits, &[vector], true)?;
        }
        indices = select(trace, fits, indices, out)?;
    }
    site.recorder.filled(indices, masks, out)
}

/// An index that is out of range of every axis.
fn out_of_range(dtype: DType) -> Outcome<Scalar> {
    match dtype.kind() {
        Kind::Signed => Ok(Scalar::new(dtype, ScalarValue::Signed(-1))?),
        _ => Ok(Scalar::from_bytes(dtype, &[0xFF; 16][..dtype.size_bytes()])),
    }
}
