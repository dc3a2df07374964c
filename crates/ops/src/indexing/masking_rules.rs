//! Masking of dynamic slices and of takes. Indices are clamped by the size of an axis, not by its bound.

use super::dynamic::{TakeAttributes, dynamic_slice, dynamic_update_slice, take};
use crate::elementwise::binary::binary;
use crate::elementwise::compare_select::{compare_scalar, select};
use crate::elementwise::convert::convert;
use crate::masking::{Layout, Made, Outcome, PaddedSite, is_padded, merged, refused};
use crate::padding::one;
use crate::shape::slicing::slice;
use base::types::{DType, Dims, Kind, ScalarValue};
use ir::sizes::Form;
use ir::{BinaryOp, CompareOp, NodeId};

impl PaddedSite<'_, '_> {
    /// Records a start, an operand, clamped to the last start of a slice of `part` elements along an axis of `whole`.
    fn start(&mut self, operand: usize, whole: &Form, part: &Form) -> Outcome<NodeId> {
        let last = whole.minus(part).ok_or_else(|| refused("a size overflows"))?;
        let start = self.recorder.wide(self.operands[operand].node);
        let last = self.recorder.size_in(&last, self.recorder.trace.ty(start).dtype)?;
        self.recorder.clamped(start, last)
    }

    /// Records the starts, which are operands from `first` on, wide. Those of axes in the mask are clamped by sizes.
    fn starts(&mut self, first: usize, parts: &[Form], clamped: &[bool]) -> Outcome<Vec<NodeId>> {
        let mut starts = Vec::with_capacity(parts.len());
        for (axis, part) in parts.iter().enumerate() {
            let whole = self.operands[0].dims[axis].clone();
            starts.push(match clamped[axis] {
                true => self.start(first + axis, &whole, part)?,
                false => self.recorder.wide(self.operands[first + axis].node),
            });
        }
        Ok(starts)
    }
}

/// Masks `dynamic_slice`.
pub(super) fn slice_at(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let (parts, rank) = (site.value.dims.clone(), site.value.dims.len());
    let sizes = site.recorder.dims(&parts)?;
    let (mut layouts, mut clamped, mut more) = (Vec::new(), vec![false; rank], vec![0; rank]);
    for (axis, part) in parts.iter().enumerate() {
        let x = &site.operands[0];
        if *part == x.dims[axis] || x.layouts[axis].is_none() {
            layouts.push(x.layouts[axis].clone());
            continue;
        }
        site.row(0, axis)?;
        layouts.push(Some(site.recorder.simple(part)?));
        clamped[axis] = site.changes(0, axis) || part.as_constant().is_none();
        if part.as_constant().is_none() {
            more[axis] = sizes[axis];
        }
    }
    let starts = site.starts(1, &parts, &clamped)?;
    let x = site.recorder.extended(site.operands[0].node, &more)?;
    one(dynamic_slice(&mut site.recorder.trace, x, &starts, &sizes)?, layouts)
}

/// Masks `dynamic_update_slice`. Padding of the update does not replace elements.
pub(super) fn update_at(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let (parts, rank) = (site.operands[1].dims.clone(), site.value.dims.len());
    let sizes = site.recorder.dims(&parts)?;
    let (mut layouts, mut masks) = (Vec::<Layout>::new(), Vec::new());
    let (mut clamped, mut more) = (vec![false; rank], vec![0; rank]);
    for (axis, part) in parts.iter().enumerate() {
        if *part == site.operands[0].dims[axis] {
            layouts.push(merged(&site.operands[0].layouts[axis], &site.operands[1].layouts[axis])?);
            continue;
        }
        layouts.push(Some(site.row(0, axis)?));
        let factors = site.row(1, axis)?;
        clamped[axis] = site.changes(0, axis) || part.as_constant().is_none();
        if is_padded(&factors) {
            more[axis] = sizes[axis];
            masks.push((axis, factors));
        }
    }
    let starts = site.starts(2, &parts, &clamped)?;
    let [x, mut update] = [0, 1].map(|operand| site.operands[operand].node);
    let whole: Dims = site.recorder.trace.ty(x).dims;
    let long = site.recorder.extended(x, &more)?;
    if !masks.is_empty() {
        let present = dynamic_slice(&mut site.recorder.trace, long, &starts, &sizes)?;
        let mut valid = None;
        for (axis, factors) in &masks {
            if let Some(along) = site.recorder.validity(rank, *axis, factors)? {
                valid = Some(match valid {
                    Some(valid) => binary(&mut site.recorder.trace, BinaryOp::And, valid, along)?,
                    None => along,
                });
            }
        }
        if let Some(valid) = valid {
            update = select(&mut site.recorder.trace, valid, update, present)?;
        }
    }
    let trace = &mut site.recorder.trace;
    let written = dynamic_update_slice(trace, long, update, &starts)?;
    one(slice(trace, written, &vec![0; rank], &whole, &vec![1; rank])?, layouts)
}

/// Masks `take`: negative indices count from the end of the valid elements.
pub(super) fn taken(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let TakeAttributes { axis } = site.attributes();
    let [x, mut indices] = [0, 1].map(|operand| site.operands[operand].node);
    if is_padded(&site.row(0, axis)?) {
        indices = site.recorder.wide(indices);
        let dtype = site.recorder.trace.ty(indices).dtype;
        let form = site.operands[0].dims[axis].clone();
        let last = form.minus(&Form::constant(1)).ok_or_else(|| refused("a size overflows"))?;
        let (size, last) = (site.recorder.size_in(&form, dtype)?, site.recorder.size(&last)?);
        if dtype.kind() == Kind::Signed {
            let trace = &mut site.recorder.trace;
            let from_end = binary(trace, BinaryOp::Add, indices, size)?;
            let is_negative = compare_scalar(trace, CompareOp::Lt, indices, ScalarValue::Signed(0), false)?;
            indices = select(trace, is_negative, from_end, indices)?;
        }
        // Without elements, the last index is -1: an unsigned one would be beyond the bound.
        let zero = site.recorder.zero(DType::S32)?;
        let last = binary(&mut site.recorder.trace, BinaryOp::Maximum, last, zero)?;
        let last = convert(&mut site.recorder.trace, last, dtype);
        indices = site.recorder.clamped(indices, last)?;
    }
    let (of_x, of_indices) = (&site.operands[0].layouts, &site.operands[1].layouts);
    let layouts = of_x[..axis].iter().chain(of_indices).chain(&of_x[axis + 1..]).cloned().collect();
    one(take(&mut site.recorder.trace, x, indices, axis as i64)?, layouts)
}
