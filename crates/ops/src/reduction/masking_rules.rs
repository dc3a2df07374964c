//! Masking of reductions.

use super::reduce::ReduceAttributes;
use super::reduce_with::{ReduceWithAttributes, reduce_with, worst};
use super::select_and_scatter::{SelectAndScatterAttributes, select_and_scatter};
use super::windows::{ReduceWindowAttributes, reduce_window};
use crate::control::apply::Applied;
use crate::control::bodies::combiner;
use crate::emit::identity;
use crate::masking::{Factors, Layout, Made, Outcome, PaddedSite, is_padded, merged, refused};
use crate::padding::one;
use base::types::{DType, Scalar};
use ir::sizes::Form;
use ir::{BinaryOp, Body, NodeId, Op, ReduceOp, Window};
use std::sync::Arc;

/// The identity of a reduction, as a scalar of the dtype.
fn identity_of(op: ReduceOp, dtype: DType) -> Scalar {
    match op {
        ReduceOp::Max => worst(dtype, true),
        ReduceOp::Min => worst(dtype, false),
        _ => Scalar::from_bytes(dtype, &identity(op, dtype).to_le_bytes()[..dtype.size_bytes()]),
    }
}

/// Masks `reduce`: padding along the axes becomes the identity.
pub(super) fn reduce(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let Op::Reduce(op) = site.value.instruction.op else { return Err(refused("not a reduction")) };
    let ReduceAttributes { axes } = site.attributes();
    let axes: Vec<usize> = axes.iter().map(|&axis| axis as usize).collect();
    let masks = site.padded_axes(0, &axes)?;
    let mut x = site.operands[0].node;
    if !masks.is_empty() {
        let fill = site.recorder.constant(identity_of(op, site.operand_ty(0).dtype));
        x = site.recorder.filled(x, &masks, fill)?;
    }
    let own = &site.operands[0].layouts;
    let keeps = site.value.dims.len() == own.len();
    let mut layouts: Vec<Layout> = Vec::new();
    for (axis, layout) in own.iter().enumerate() {
        if !axes.contains(&axis) {
            layouts.push(layout.clone());
        } else if keeps {
            layouts.push(Some(Factors::new()));
        }
    }
    one(site.record(&[x])?, layouts)
}

impl PaddedSite<'_, '_> {
    /// The only body, which does not change.
    fn reducer(&self) -> Outcome<Arc<Body>> {
        match (&self.value.bodies[..], &self.value.instruction.bodies[..]) {
            ([scope], [body]) if !scope.changes => Ok(body.clone()),
            _ => Err(refused("its computation changes")),
        }
    }

    /// Layouts of the first operands, which are arrays of one shape.
    fn common_layouts(&self, arrays: usize) -> Outcome<Vec<Layout>> {
        let mut layouts = self.operands[0].layouts.clone();
        for array in &self.operands[1..arrays] {
            for (layout, other) in layouts.iter_mut().zip(&array.layouts) {
                *layout = merged(layout, other)?;
            }
        }
        Ok(layouts)
    }

    /// Records the first operands with the initial values, the next ones, in the padding along axes. They are the
    /// identity of the reducer, which may combine them any number of times.
    fn filled_arrays(&mut self, arrays: usize, masks: &[(usize, Factors)]) -> Outcome<Vec<NodeId>> {
        let nodes = self.nodes();
        (0..arrays).map(|array| self.recorder.filled(nodes[array], masks, nodes[arrays + array])).collect()
    }

    /// Padded axes with their factors, of arrays with these layouts.
    fn masks_of(&self, layouts: &[Layout], axes: &[usize]) -> Outcome<Vec<(usize, Factors)>> {
        let mut masks = Vec::new();
        for &axis in axes {
            let factors = match &layouts[axis] {
                Some(factors) => factors.clone(),
                None => self.recorder.simple(&self.operands[0].dims[axis])?,
            };
            if is_padded(&factors) {
                masks.push((axis, factors));
            }
        }
        Ok(masks)
    }
}

/// Masks `reduce_with`: padding becomes the initial values.
pub(super) fn reduced_with(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let ReduceWithAttributes { axes } = site.attributes();
    let body = site.reducer()?;
    let count = body.results().len();
    let layouts = site.common_layouts(count)?;
    let along: Vec<usize> = axes.iter().map(|&axis| axis as usize).collect();
    let masks = site.masks_of(&layouts, &along)?;
    let arrays = site.filled_arrays(count, &masks)?;
    let nodes = site.nodes();
    let applied = Applied { body: &body, captures: &nodes[2 * count..] };
    let made = reduce_with(&mut site.recorder.trace, &applied, &arrays, &nodes[count..2 * count], &axes)?;
    let kept: Vec<Layout> =
        (0..layouts.len()).filter(|axis| !along.contains(axis)).map(|axis| layouts[axis].clone()).collect();
    Ok(made.into_iter().map(|node| Made { node, layouts: kept.clone() }).collect())
}

impl PaddedSite<'_, '_> {
    /// Whether the windows along an axis are more than single elements. Refused unless windows over valid elements see
    /// the same elements at the bound.
    fn has_windows(&self, axis: usize, window: &Window) -> Outcome<bool> {
        let words = self.value.words.get(1 + 6 * axis..).and_then(|words| words.get(..6));
        let Some([size, stride, base_dilation, dilation, low, high]) = words else {
            return Err(refused("windows of another rank"));
        };
        let changes = words.into_iter().flatten().any(|word| word.as_constant().is_none());
        if !changes && (*window == Window::ONE || !self.changes(0, axis)) {
            return Ok(*window != Window::ONE);
        }
        if !(stride.is(1) && base_dilation.is(1) && dilation.as_constant().is_some()) {
            return Err(refused("windows with strides or dilations along an axis that changes"));
        }
        if size.as_constant().is_some() && low.as_constant().is_some() {
            return Ok(true);
        }
        // Each window reaches from an element to one end of the axis.
        let before = size.minus(&Form::constant(1));
        let is_whole = *size == self.operands[0].dims[axis] && dilation.is(1);
        match before {
            Some(before) if is_whole && *low == before && high.is(0) => Ok(true),
            Some(before) if is_whole && low.is(0) && *high == before => Ok(true),
            _ => Err(refused(format!(
                "windows of {size} along {}, padded by {low} and {high}",
                self.operands[0].dims[axis]
            ))),
        }
    }

    /// Number of windows along an axis.
    fn windows_along(&self, axis: usize, window: &Window) -> Outcome<Form> {
        let size = &self.operands[0].dims[axis];
        if let Some(size) = size.as_constant() {
            return window.count(size).map(Form::constant).ok_or_else(|| refused("windows that do not fit"));
        }
        let words = &self.value.words[1 + 6 * axis..][..6];
        let before = words[0].minus(&Form::constant(1)).and_then(|before| before.times(&words[3]));
        let padded = size.plus(&words[4]).and_then(|size| size.plus(&words[5]));
        let count = padded.zip(before).and_then(|(padded, before)| padded.minus(&before));
        count.ok_or_else(|| refused("a size overflows"))
    }
}

/// Masks `reduce_window`: padding becomes the initial value, as what surrounds the array is.
pub(super) fn reduced_windows(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let body = site.reducer()?;
    let count = body.results().len();
    let ReduceWindowAttributes { windows } = site.attributes_at_bounds()?;
    let mut layouts = site.common_layouts(count)?;
    let mut wide = Vec::new();
    for (axis, window) in windows.iter().enumerate() {
        if site.has_windows(axis, window)? {
            if layouts[axis].as_ref().is_some_and(|factors| factors.len() > 1 && is_padded(factors)) {
                return Err(refused("windows along a merged axis"));
            }
            wide.push(axis);
        }
    }
    let masks = site.masks_of(&layouts, &wide)?;
    let (arrays, nodes) = (site.filled_arrays(count, &masks)?, site.nodes());
    for &axis in &wide {
        layouts[axis] = Some(site.recorder.simple(&site.windows_along(axis, &windows[axis])?)?);
    }
    let applied = Applied { body: &body, captures: &nodes[2 * count..] };
    let made = reduce_window(&mut site.recorder.trace, &applied, &arrays, &nodes[count..2 * count], &windows)?;
    Ok(made.into_iter().map(|node| Made { node, layouts: layouts.clone() }).collect())
}

/// Masks `select_and_scatter`. Windows over padding get the identity of the combiner.
pub(super) fn selected(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let [select, combine] = match (&site.value.bodies[..], &site.value.instruction.bodies[..]) {
        ([a, b], [select, combine]) if !a.changes && !b.changes => [select.clone(), combine.clone()],
        _ => return Err(refused("its computations change")),
    };
    let SelectAndScatterAttributes { windows } = site.attributes();
    let (mut layouts, mut masks) = (Vec::new(), Vec::new());
    for (axis, window) in windows.iter().enumerate() {
        if *window == Window::ONE || !site.changes(0, axis) {
            let both = if *window == Window::ONE {
                merged(&site.operands[0].layouts[axis], &site.operands[1].layouts[axis])?
            } else {
                site.operands[0].layouts[axis].clone()
            };
            layouts.push(both);
            continue;
        }
        if window.stride != 1 || window.low != 0 || window.high != 0 {
            return Err(refused("windows with strides or padding along an axis that changes"));
        }
        layouts.push(Some(site.row(0, axis)?));
        masks.push((axis, site.row(1, axis)?));
    }
    let [x, mut source, init] = [0, 1, 2].map(|operand| site.operands[operand].node);
    if !masks.is_empty() {
        let op = match combiner(&combine) {
            Some(BinaryOp::Add) => ReduceOp::Sum,
            Some(BinaryOp::Multiply) => ReduceOp::Product,
            Some(BinaryOp::Maximum) => ReduceOp::Max,
            Some(BinaryOp::Minimum) => ReduceOp::Min,
            _ => return Err(refused("a combiner that is not known")),
        };
        let fill = site.recorder.constant(identity_of(op, site.operand_ty(1).dtype));
        source = site.recorder.filled(source, &masks, fill)?;
    }
    let [select, combine] = [&select, &combine].map(|body| Applied { body, captures: &[] });
    one(select_and_scatter(&mut site.recorder.trace, &select, &combine, x, source, init, &windows)?, layouts)
}
