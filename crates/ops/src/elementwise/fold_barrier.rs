//! Identities that XLA's simplifier cannot fold.

use crate::emit::{Emitter, emit, mlir};
use base::types::{DType, Kind, TensorType};

/// Unsigned integer type of the same width, for a type that is not complex.
pub fn unsigned(ty: &TensorType) -> TensorType {
    TensorType { dtype: ty.dtype.bits(), dims: ty.dims.clone() }
}

const NUMBER: &str = "tensor<ui32>";

/// Writes a u32 zero computed from one element of each value: a leading zero count, which is at most 32, without its
/// bits 0 to 5. XLA's simplifier can prove neither that it is 0, nor that it equals the zero of another `salt`.
pub fn zero_of_all(e: &mut Emitter, values: &[(String, &TensorType)], salt: u128) -> String {
    let number = TensorType::new(DType::U32, &[]);
    let mut bits = e.constant(&number, salt);
    for (value, ty) in values.iter().filter(|(_, ty)| ty.elements() > 0) {
        let (own, all) = (first_bits(e, value, ty), e.temporary());
        emit!(e, "    {all} = stablehlo.or {bits}, {own} : {NUMBER}");
        bits = all;
    }
    let (leading, six, zero) = (e.temporary(), e.constant(&number, 6), e.temporary());
    emit!(e, "    {leading} = stablehlo.count_leading_zeros {bits} : {NUMBER}");
    emit!(e, "    {zero} = stablehlo.shift_right_logical {leading}, {six} : {NUMBER}");
    zero
}

/// Writes the bits of the first element (of its real part, if complex), converted to u32.
fn first_bits(e: &mut Emitter, value: &str, ty: &TensorType) -> String {
    let rank = ty.dims.len();
    let (mut name, mut element) = (value.to_string(), TensorType::new(ty.dtype, &[]));
    if rank > 0 {
        let (cell, single) = (e.temporary(), e.temporary());
        let cell_ty = mlir(&TensorType::new(ty.dtype, &vec![1; rank]));
        emit!(
            e,
            "    {cell} = stablehlo.slice {value} [{}] : ({}) -> {cell_ty}",
            vec!["0:1"; rank].join(", "),
            mlir(ty)
        );
        emit!(e, "    {single} = stablehlo.reshape {cell} : ({cell_ty}) -> {}", mlir(&element));
        name = single;
    }
    if ty.dtype.kind() == Kind::Complex {
        let (real, part) = (e.temporary(), TensorType::new(ty.dtype.real(), &[]));
        emit!(e, "    {real} = stablehlo.real {name} : ({}) -> {}", mlir(&element), mlir(&part));
        (name, element) = (real, part);
    }
    if matches!(element.dtype.kind(), Kind::Float | Kind::Float8) {
        let (bits, wide) = (e.temporary(), unsigned(&element));
        emit!(e, "    {bits} = stablehlo.bitcast_convert {name} : ({}) -> {}", mlir(&element), mlir(&wide));
        (name, element) = (bits, wide);
    }
    let number = e.temporary();
    emit!(e, "    {number} = stablehlo.convert {name} : ({}) -> {NUMBER}", mlir(&element));
    number
}

/// Writes an identity of the value: the zero of [`zero_of_all`], OR-ed into the bits of every element.
pub fn with_zero(e: &mut Emitter, value: &str, ty: &TensorType, zero: &str) -> String {
    let text = mlir(ty);
    match ty.dtype.kind() {
        Kind::Complex => {
            let part = TensorType { dtype: ty.dtype.real(), dims: ty.dims.clone() };
            let (real, imag, result) = (e.temporary(), e.temporary(), e.temporary());
            emit!(e, "    {real} = stablehlo.real {value} : ({text}) -> {}", mlir(&part));
            emit!(e, "    {imag} = stablehlo.imag {value} : ({text}) -> {}", mlir(&part));
            let (real, imag) = (with_zero(e, &real, &part, zero), with_zero(e, &imag, &part, zero));
            emit!(e, "    {result} = stablehlo.complex {real}, {imag} : {text}");
            result
        }
        Kind::Float | Kind::Float8 => {
            let (bits, result, wide) = (e.temporary(), e.temporary(), unsigned(ty));
            emit!(e, "    {bits} = stablehlo.bitcast_convert {value} : ({text}) -> {}", mlir(&wide));
            let same = with_zero(e, &bits, &wide, zero);
            emit!(e, "    {result} = stablehlo.bitcast_convert {same} : ({}) -> {text}", mlir(&wide));
            result
        }
        Kind::Pred | Kind::Signed | Kind::Unsigned | Kind::Subbyte => {
            let (element, single) = (TensorType::new(ty.dtype, &[]), e.temporary());
            let (all, result) = (e.temporary(), e.temporary());
            emit!(e, "    {single} = stablehlo.convert {zero} : ({NUMBER}) -> {}", mlir(&element));
            e.broadcast(&all, &single, &element, ty);
            emit!(e, "    {result} = stablehlo.or {value}, {all} : {text}");
            result
        }
    }
}
