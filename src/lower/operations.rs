//! Operations that take more than a line of StableHLO.

use super::function::Emitter;
use super::text::{identity, mlir};
use crate::ir::{CompareOp, Instruction, ReduceOp, reduction_dtype};
use crate::types::{DType, Kind, TensorType};
use std::fmt::Write;

impl Emitter<'_> {
    /// StableHLO converts complex numbers to complex numbers only: what is left is their real part, or whether it is not 0.
    pub(super) fn convert(&mut self, name: &str, value: &Instruction) {
        let x = value.operands[0];
        let (x, from) = (self.name(x), self.values[x].ty.clone());
        let (from_text, to_text) = (mlir(&from), mlir(&value.ty));
        if from.dtype.kind() != Kind::Complex || value.ty.dtype.kind() == Kind::Complex {
            emit!(self, "    {name} = stablehlo.convert {x} : ({from_text}) -> {to_text}");
        } else if value.ty.dtype == DType::Pred {
            let zero = self.constant(&from, 0);
            emit!(
                self,
                "    {name} = stablehlo.compare NE, {x}, {zero}, FLOAT : ({from_text}, {from_text}) -> {to_text}"
            );
        } else {
            let real = self.temporary();
            let part = TensorType { dtype: from.dtype.real(), dims: from.dims.clone() };
            emit!(self, "    {real} = stablehlo.real {x} : ({from_text}) -> {}", mlir(&part));
            emit!(self, "    {name} = stablehlo.convert {real} : ({}) -> {to_text}", mlir(&part));
        }
    }

    pub(super) fn compare(&mut self, name: &str, op: CompareOp, value: &Instruction) {
        let (l, r) = (value.operands[0], value.operands[1]);
        let common = TensorType { dtype: self.promoted(&[l, r]), dims: value.ty.dims.clone() };
        let lhs = self.cast(l, &common);
        let rhs = self.cast(r, &common);
        let kind = match common.dtype.kind() {
            Kind::Signed => "SIGNED",
            Kind::Unsigned | Kind::Pred => "UNSIGNED",
            Kind::Float | Kind::Complex => "FLOAT",
        };
        let from = mlir(&common);
        let ty = mlir(&value.ty);
        emit!(self, "    {name} = stablehlo.compare {}, {lhs}, {rhs}, {kind} : ({from}, {from}) -> {ty}", op.name());
    }

    pub(super) fn select(&mut self, name: &str, value: &Instruction) {
        let pred_ty = TensorType { dtype: DType::Pred, dims: value.ty.dims.clone() };
        let pred = self.cast(value.operands[0], &pred_ty);
        let on_true = self.cast(value.operands[1], &value.ty);
        let on_false = self.cast(value.operands[2], &value.ty);
        let ty = mlir(&value.ty);
        emit!(self, "    {name} = stablehlo.select {pred}, {on_true}, {on_false} : {}, {ty}", mlir(&pred_ty));
    }

    /// Accumulates in [`reduction_dtype`]; the axes that are kept come back by a reshape.
    pub(super) fn reduce(&mut self, name: &str, op: ReduceOp, value: &Instruction) {
        let x = value.operands[0];
        let dtype = reduction_dtype(op, value.ty.dtype);
        let from = TensorType { dtype, dims: self.values[x].ty.dims.clone() };
        let kept = |axis: &usize| !value.attributes.contains(&(*axis as i64));
        let dims = (0..from.dims.len()).filter(kept).map(|axis| from.dims[axis]).collect();
        let reduced = TensorType { dtype, dims };
        let operand = self.cast(x, &from);
        let element = TensorType::new(dtype, &[]);
        let init = self.constant(&element, identity(op, dtype));
        let total = self.temporary();
        emit!(
            self,
            "    {total} = stablehlo.reduce({operand} init: {init}) applies stablehlo.{} across dimensions = {:?} : ({}, {}) -> {}",
            op.name(),
            value.attributes,
            mlir(&from),
            mlir(&element),
            mlir(&reduced)
        );
        let shaped = self.temporary();
        let wide = TensorType { dtype, dims: value.ty.dims.clone() };
        emit!(self, "    {shaped} = stablehlo.reshape {total} : ({}) -> {}", mlir(&reduced), mlir(&wide));
        emit!(self, "    {name} = stablehlo.convert {shaped} : ({}) -> {}", mlir(&wide), mlir(&value.ty));
    }

    /// A dot product over the last axis of the left and the last but one of the right; batch axes are broadcast first,
    /// unless the right operand has none, which then meets all rows of the left at once.
    pub(super) fn matmul(&mut self, name: &str, value: &Instruction) {
        let (l, r) = (value.operands[0], value.operands[1]);
        let dtype = value.ty.dtype;
        let (l_dims, r_dims) = (self.values[l].ty.dims.clone(), self.values[r].ty.dims.clone());
        let batch = if l_dims.len() >= 2 && r_dims.len() > 2 { value.ty.dims.len() - 2 } else { 0 };
        let with_batch = |dims: &[i64]| {
            if batch == 0 {
                TensorType::new(dtype, dims)
            } else {
                TensorType::new(dtype, &[&value.ty.dims[..batch], &dims[dims.len() - 2..]].concat())
            }
        };
        let (l_ty, r_ty) = (with_batch(&l_dims), with_batch(&r_dims));
        let lhs = self.cast(l, &l_ty);
        let rhs = self.cast(r, &r_ty);
        let axes: Vec<usize> = (0..batch).collect();
        let contracted = (l_ty.dims.len() - 1, r_ty.dims.len().saturating_sub(2));
        emit!(
            self,
            "    {name} = stablehlo.dot_general {lhs}, {rhs}, batching_dims = {axes:?} x {axes:?}, contracting_dims = [{}] x [{}], precision = [HIGHEST, HIGHEST] : ({}, {}) -> {}",
            contracted.0,
            contracted.1,
            mlir(&l_ty),
            mlir(&r_ty),
            mlir(&value.ty)
        );
    }

    pub(super) fn slice(&mut self, name: &str, value: &Instruction) {
        let x = value.operands[0];
        let rank = value.ty.dims.len();
        let at = |part: usize, axis: usize| value.attributes[part * rank + axis];
        let ranges: Vec<String> =
            (0..rank).map(|axis| format!("{}:{}:{}", at(0, axis), at(1, axis), at(2, axis))).collect();
        let (x, from) = (self.name(x), mlir(&self.values[x].ty));
        emit!(self, "    {name} = stablehlo.slice {x} [{}] : ({from}) -> {}", ranges.join(", "), mlir(&value.ty));
    }

    pub(super) fn concatenate(&mut self, name: &str, value: &Instruction) {
        let mut names = Vec::new();
        let mut types = Vec::new();
        for &operand in &value.operands {
            let ty = TensorType { dtype: value.ty.dtype, dims: self.values[operand].ty.dims.clone() };
            names.push(self.cast(operand, &ty));
            types.push(mlir(&ty));
        }
        emit!(
            self,
            "    {name} = stablehlo.concatenate {}, dim = {} : ({}) -> {}",
            names.join(", "),
            value.attributes[0],
            types.join(", "),
            mlir(&value.ty)
        );
    }
}
