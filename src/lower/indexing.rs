//! Operations that read or write at places that are computed, and padding.

use super::function::Emitter;
use super::text::mlir;
use crate::ir::Instruction;
use crate::types::{DType, Kind, TensorType};
use std::fmt::Write;

impl Emitter<'_> {
    pub(super) fn dynamic_slice(&mut self, name: &str, value: &Instruction) {
        let (names, types) = self.listed(&value.operands);
        let sizes = &value.ty.dims[..];
        emit!(
            self,
            "    {name} = stablehlo.dynamic_slice {}, sizes = {sizes:?} : ({}) -> {}",
            names.join(", "),
            types.join(", "),
            mlir(&value.ty)
        );
    }

    pub(super) fn dynamic_update_slice(&mut self, name: &str, value: &Instruction) {
        let (names, types) = self.listed(&value.operands);
        emit!(
            self,
            "    {name} = stablehlo.dynamic_update_slice {} : ({}) -> {}",
            names.join(", "),
            types.join(", "),
            mlir(&value.ty)
        );
    }

    /// A gather of whole slices. Negative indices count from the end, as in NumPy; the rest is clamped by the gather.
    pub(super) fn take(&mut self, name: &str, value: &Instruction) {
        let (x, at) = (value.operands[0], value.operands[1]);
        let axis = value.attributes[0] as usize;
        let (from, at_ty) = (self.values[x].ty.clone(), self.values[at].ty.clone());
        let (indices, indices_ty) = self.nonnegative(at, from.dims[axis]);
        let rank = at_ty.dims.len();
        let offsets: Vec<usize> = (0..axis).chain(axis + rank..value.ty.dims.len()).collect();
        let sizes: Vec<String> =
            from.dims.iter().enumerate().map(|(i, dim)| if i == axis { 1 } else { *dim }.to_string()).collect();
        emit!(
            self,
            "    {name} = \"stablehlo.gather\"({}, {indices}) <{{dimension_numbers = #stablehlo.gather<offset_dims = {offsets:?}, collapsed_slice_dims = [{axis}], start_index_map = [{axis}], index_vector_dim = {rank}>, slice_sizes = array<i64: {}>, indices_are_sorted = false}}> : ({}, {}) -> {}",
            self.name(x),
            sizes.join(", "),
            mlir(&from),
            mlir(&indices_ty),
            mlir(&value.ty)
        );
    }

    /// Indices of an axis of `dim`, with `dim` added to the negative ones; wide enough to hold that.
    fn nonnegative(&mut self, position: usize, dim: i64) -> (String, TensorType) {
        let given = self.values[position].ty.clone();
        if given.dtype.kind() != Kind::Signed {
            return (self.name(position), given);
        }
        let wide = if given.dtype == DType::S64 || dim > i64::from(i32::MAX) { DType::S64 } else { DType::S32 };
        let ty = TensorType { dtype: wide, dims: given.dims };
        let indices = self.cast(position, &ty);
        let (zero, size) = (self.constant(&ty, 0), self.constant(&ty, dim as u128));
        let (is_negative, moved, result) = (self.temporary(), self.temporary(), self.temporary());
        let (text, pred) = (mlir(&ty), mlir(&TensorType { dtype: DType::Pred, dims: ty.dims.clone() }));
        emit!(self, "    {is_negative} = stablehlo.compare LT, {indices}, {zero}, SIGNED : ({text}, {text}) -> {pred}");
        emit!(self, "    {moved} = stablehlo.add {indices}, {size} : {text}");
        emit!(self, "    {result} = stablehlo.select {is_negative}, {moved}, {indices} : {pred}, {text}");
        (result, ty)
    }

    pub(super) fn pad(&mut self, name: &str, value: &Instruction) {
        let (names, types) = self.listed(&value.operands);
        let rank = value.ty.dims.len();
        let part = |i: usize| &value.attributes[i * rank..(i + 1) * rank];
        emit!(
            self,
            "    {name} = stablehlo.pad {}, low = {:?}, high = {:?}, interior = {:?} : ({}) -> {}",
            names.join(", "),
            part(0),
            part(1),
            part(2),
            types.join(", "),
            mlir(&value.ty)
        );
    }
}
