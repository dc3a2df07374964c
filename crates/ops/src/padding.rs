//! What masking rules record: masks of valid elements, operands with other values in their padding, and indices that
//! are clamped by sizes.

use crate::creation::constants::iota;
use crate::elementwise::binary::{binary, binary_scalar};
use crate::elementwise::compare_select::{compare, select};
use crate::elementwise::convert::convert;
use crate::masking::{
    Factors, Given, Layout, Made, Outcome, PaddedSite, Recorder, is_padded, merged, placeholder, refused,
};
use crate::shape::axes::broadcast_to;
use crate::shape::slicing::pad;
use base::types::{DType, Dims, Kind, Scalar, ScalarValue, TensorType};
use ir::sizes::Form;
use ir::{BinaryOp, CompareOp, Instruction, NodeId, Op};

impl Recorder<'_> {
    /// Records where the elements along an axis are valid: pred of this rank, with one element on the other axes. None
    /// if all are.
    pub fn validity(&mut self, rank: usize, axis: usize, factors: &Factors) -> Outcome<Option<NodeId>> {
        let bound: i64 = factors.iter().map(|factor| factor.bound).product();
        let mut dims = vec![1; rank];
        dims[axis] = bound;
        let (mut minor, mut all) = (1, None);
        for factor in factors.iter().rev() {
            if factor.size.as_constant().is_none() {
                let mut digit = iota(&mut self.trace, &TensorType::new(DType::S32, &dims), axis as i64)?;
                if minor > 1 {
                    let by = ScalarValue::Signed(minor);
                    digit = binary_scalar(&mut self.trace, BinaryOp::Divide, digit, by, false)?;
                }
                if minor.saturating_mul(factor.bound) < bound {
                    let by = ScalarValue::Signed(factor.bound);
                    digit = binary_scalar(&mut self.trace, BinaryOp::Remainder, digit, by, false)?;
                }
                let size = self.size(&factor.size)?;
                let is_below = compare(&mut self.trace, CompareOp::Lt, digit, size)?;
                all = Some(self.both(all, is_below)?);
            }
            minor = minor.saturating_mul(factor.bound);
        }
        Ok(all)
    }

    fn both(&mut self, a: Option<NodeId>, b: NodeId) -> Outcome<NodeId> {
        Ok(match a {
            Some(a) => binary(&mut self.trace, BinaryOp::And, a, b)?,
            None => b,
        })
    }

    /// Records `x` with `fill`, a scalar tensor of its dtype, in the padding along these axes.
    pub fn filled(&mut self, x: NodeId, axes: &[(usize, Factors)], fill: NodeId) -> Outcome<NodeId> {
        let rank = self.trace.ty(x).dims.len();
        let mut all = None;
        for (axis, factors) in axes {
            if let Some(valid) = self.validity(rank, *axis, factors)? {
                all = Some(self.both(all, valid)?);
            }
        }
        match all {
            Some(valid) => Ok(select(&mut self.trace, valid, x, fill)?),
            None => Ok(x),
        }
    }

    /// Records `x` with zeros in the padding along these axes.
    pub fn with_zeros(&mut self, x: NodeId, axes: &[(usize, Factors)]) -> Outcome<NodeId> {
        if !axes.iter().any(|(_, factors)| is_padded(factors)) {
            return Ok(x);
        }
        let zero = self.zero(self.trace.ty(x).dtype)?;
        self.filled(x, axes, zero)
    }

    /// Records zero. A float of 8 bits that has no zero is refused.
    pub fn zero(&mut self, dtype: DType) -> Outcome<NodeId> {
        let zero = Scalar::new(dtype, ScalarValue::Signed(0))?;
        Ok(self.constant(zero))
    }

    /// Records integers in a dtype that represents every size: those of fewer than 32 bits in s32.
    pub fn wide(&mut self, x: NodeId) -> NodeId {
        let dtype = self.trace.ty(x).dtype;
        let is_wide = matches!(dtype, DType::S32 | DType::U32 | DType::S64 | DType::U64);
        if is_wide { x } else { convert(&mut self.trace, x, DType::S32) }
    }

    /// Records a size in a dtype that represents it.
    pub fn size_in(&mut self, form: &Form, dtype: DType) -> Outcome<NodeId> {
        let size = self.size(form)?;
        Ok(convert(&mut self.trace, size, dtype))
    }

    /// Records indices, which are wide, clamped from 0 to a scalar or an array that broadcasts to them.
    pub fn clamped(&mut self, indices: NodeId, last: NodeId) -> Outcome<NodeId> {
        let mut indices = binary(&mut self.trace, BinaryOp::Minimum, indices, last)?;
        if self.trace.ty(indices).dtype.kind() == Kind::Signed {
            indices = binary_scalar(&mut self.trace, BinaryOp::Maximum, indices, ScalarValue::Signed(0), false)?;
        }
        Ok(indices)
    }

    /// Records `x` with more elements, of any value, at the ends of axes.
    pub fn extended(&mut self, x: NodeId, more: &[i64]) -> Outcome<NodeId> {
        if more.iter().all(|&more| more == 0) {
            return Ok(x);
        }
        let none = vec![0; more.len()];
        let fill = self.constant(placeholder(self.trace.ty(x).dtype));
        Ok(pad(&mut self.trace, x, fill, &none, more, &none)?)
    }
}

impl PaddedSite<'_, '_> {
    /// Padded axes of an operand among these, with their factors.
    pub fn padded_axes(&self, operand: usize, axes: &[usize]) -> Outcome<Vec<(usize, Factors)>> {
        let mut found = Vec::new();
        for &axis in axes {
            let factors = self.factors(operand, axis)?;
            if is_padded(&factors) {
                found.push((axis, factors));
            }
        }
        Ok(found)
    }

    /// Records the operation of the site on other operands, with its dimensions and attributes at the bounds.
    pub fn record(&mut self, operands: &[NodeId]) -> Outcome<NodeId> {
        let (value, recorder) = (&self.value.instruction, &mut *self.recorder);
        let dims = recorder.dims(&self.value.dims)?;
        let ty = TensorType { dtype: value.ty.dtype, dims };
        if value.op.has_scalar() {
            return self.record_with_scalar(ty, operands);
        }
        let words = self.words_at_bounds()?;
        let again = Instruction { ty, words, ..self.value.instruction.clone() };
        Ok(self.recorder.trace.record_again(&again, operands, None))
    }

    /// Records an operation with a scalar: of the template, a constant, or in a body a parameter.
    fn record_with_scalar(&mut self, ty: TensorType, operands: &[NodeId]) -> Outcome<NodeId> {
        let recorder = &mut *self.recorder;
        let again = Instruction { ty, ..self.value.instruction.clone() };
        if let Some(constant) = self.value.constant {
            return Ok(recorder.trace.record_again(&again, operands, Some(constant)));
        }
        let number = self.value.scalar.ok_or_else(|| refused("its scalar has no number"))?;
        if !recorder.is_body() {
            let node = recorder.trace.record_again(&again, operands, Some(placeholder(again.ty.dtype)));
            recorder.given.push((Given::Scalar(number), node));
            return Ok(node);
        }
        let scalar = recorder.given(Given::Scalar(number), again.ty.dtype)?;
        let node = match again.op {
            Op::Full => broadcast_to(&mut recorder.trace, scalar, &again.ty.dims)?,
            Op::BinaryScalar(op) => binary(&mut recorder.trace, op, operands[0], scalar)?,
            Op::ScalarBinary(op) => binary(&mut recorder.trace, op, scalar, operands[0])?,
            _ => return Err(refused("its scalar changes")),
        };
        Ok(node)
    }

    /// Layouts of the result of an operation whose operands are broadcast.
    pub fn broadcast_layouts(&self) -> Outcome<Vec<Layout>> {
        let rank = self.value.dims.len();
        let mut layouts = vec![None; rank];
        for operand in &self.operands {
            let before = rank.checked_sub(operand.dims.len()).ok_or_else(|| refused("a rank above the result's"))?;
            for (axis, layout) in operand.layouts.iter().enumerate() {
                let to = &self.value.dims[before + axis];
                // One element is repeated: it fits every layout.
                if !operand.dims[axis].is(1) || to.is(1) {
                    layouts[before + axis] = merged(&layouts[before + axis], layout)?;
                }
            }
        }
        Ok(layouts)
    }
}

/// One result.
pub fn one(node: NodeId, layouts: Vec<Layout>) -> Outcome<Vec<Made>> {
    Ok(vec![Made { node, layouts }])
}

/// Masks an elementwise operation, with broadcasting.
pub fn elementwise(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let layouts = site.broadcast_layouts()?;
    let dims = site.recorder.dims(&site.value.dims)?;
    for operand in &site.operands {
        let own: Dims = site.recorder.trace.ty(operand.node).dims;
        let fits = own.iter().rev().zip(dims.iter().rev()).zip(operand.dims.iter().rev());
        if !fits.into_iter().all(|((own, dim), form)| own == dim || form.is(1)) {
            return Err(refused(format!("operands of {own:?} and {dims:?} at the bounds")));
        }
    }
    let nodes = site.nodes();
    let node = site.record(&nodes)?;
    one(node, layouts)
}
