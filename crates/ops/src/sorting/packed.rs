//! Sorts of 32-bit keys with their positions, as one array of 64-bit numbers. XLA's CPU backend calls a compiled
//! comparator for each pair of elements of several arrays, but sorts one array of integers by itself, several times as
//! fast. The key's rank is in the high half of a number, and its position in the low half, so that equal keys keep
//! their order.

use super::keys::nan_bits;
use crate::creation::constants::IotaAttributes;
use crate::emit::{Emitter, Extent, emit, mlir};
use crate::indexing::along::elements_along;
use crate::indexing::dimension_numbers::{self, GATHER, index_dtype};
use crate::infer::places_dtype;
use base::types::{DType, Kind, TensorType};
use ir::Op;

/// Length of an axis from which keys are packed: shorter rows are sorted by few comparisons.
const LEAST: i64 = 16;

/// Whether keys of type `ty` are packed when they are sorted along an axis.
pub fn is_packed(e: &Emitter, ty: &TensorType, axis: usize) -> bool {
    let is_narrow = ty.dtype.size_bytes() <= 4 && ty.dtype.has_arithmetic() && ty.dtype.kind() != Kind::Complex;
    let is_countable = (LEAST..=i64::from(u32::MAX)).contains(&ty.dims[axis]);
    e.platform == "cpu" && e.extent == Extent::Device && is_narrow && is_countable
}

/// Writes the positions of the elements of the value at `position` in sorted order along an axis. Returns their name
/// and type. NaN is greater than every number, and the zeros are equal.
pub fn sorted_places(e: &mut Emitter, position: usize, axis: usize, descending: bool) -> (String, TensorType) {
    let dims = e.values[position].ty.dims.clone();
    let of = |dtype: DType| TensorType { dtype, dims: dims.clone() };
    let (words, wide) = (of(DType::U32), of(DType::U64));
    let rank = rank(e, position, descending);
    let (word_text, text) = (mlir(&words), mlir(&wide));
    let by = e.constant(&wide, 32);
    let [high, shifted, low, packed, sorted, rest, made] = [(); 7].map(|()| e.temporary());
    emit!(e, "    {high} = stablehlo.convert {rank} : ({word_text}) -> {text}");
    emit!(e, "    {shifted} = stablehlo.shift_left {high}, {by} : {text}");
    emit!(e, "    {low} = stablehlo.iota dim = {axis} : {text}");
    emit!(e, "    {packed} = stablehlo.or {shifted}, {low} : {text}");
    emit!(e, "    {sorted} = \"stablehlo.sort\"({packed}) <{{dimension = {axis} : i64, is_stable = false}}> ({{");
    let [a, b, is_less] = [(); 3].map(|()| e.temporary());
    emit!(e, "    ^bb0({a}: tensor<ui64>, {b}: tensor<ui64>):");
    emit!(e, "    {is_less} = stablehlo.compare LT, {a}, {b}, UNSIGNED : (tensor<ui64>, tensor<ui64>) -> tensor<i1>");
    emit!(e, "    stablehlo.return {is_less} : tensor<i1>\n    }}) : ({text}) -> {text}");
    let mask = e.constant(&wide, u32::MAX.into());
    let places = of(places_dtype(dims[axis]));
    emit!(e, "    {rest} = stablehlo.and {sorted}, {mask} : {text}");
    emit!(e, "    {made} = stablehlo.convert {rest} : ({text}) -> {}", mlir(&places));
    (made, places)
}

/// Writes u32 numbers in the order of the elements.
fn rank(e: &mut Emitter, position: usize, descending: bool) -> String {
    let given = e.values[position].ty.clone();
    let of = |dtype: DType| TensorType { dtype, dims: given.dims.clone() };
    let words = of(DType::U32);
    let text = mlir(&words);
    let mut rank = match given.dtype.kind() {
        Kind::Float => {
            let own = of(DType::F32);
            let wide = e.cast(position, &own);
            let size_and_sign = ordered_bits(e, &wide, &own);
            moved(e, &size_and_sign, &words)
        }
        Kind::Signed => {
            let wide = e.cast(position, &of(DType::S32));
            moved(e, &wide, &words)
        }
        _ => e.cast(position, &words),
    };
    if descending {
        let opposite = e.temporary();
        emit!(e, "    {opposite} = stablehlo.not {rank} : {text}");
        rank = opposite;
    }
    rank
}

/// Writes s32 numbers in the order of floats of type `ty`: their sizes with their signs, and for every NaN a number
/// that is greater than infinity's. No floats are compared, because XLA's CPU backend compares denormal numbers as 0.
fn ordered_bits(e: &mut Emitter, x: &str, ty: &TensorType) -> String {
    let signed = TensorType { dtype: DType::S32, dims: ty.dims.clone() };
    let (text, pred) = (mlir(&signed), mlir(&TensorType { dtype: DType::Pred, dims: ty.dims.clone() }));
    let [bits, size, negated, is_negative, with_sign, is_nan, made] = [(); 7].map(|()| e.temporary());
    let (mask, zero) = (e.constant(&signed, i32::MAX as u128), e.constant(&signed, 0));
    let infinity = e.constant(&signed, f32::INFINITY.to_bits().into());
    let nan = e.constant(&signed, nan_bits(DType::F32, false));
    emit!(e, "    {bits} = stablehlo.bitcast_convert {x} : ({}) -> {text}", mlir(ty));
    emit!(e, "    {size} = stablehlo.and {bits}, {mask} : {text}");
    emit!(e, "    {negated} = stablehlo.negate {size} : {text}");
    emit!(e, "    {is_negative} = stablehlo.compare LT, {bits}, {zero}, SIGNED : ({text}, {text}) -> {pred}");
    emit!(e, "    {with_sign} = stablehlo.select {is_negative}, {negated}, {size} : {pred}, {text}");
    emit!(e, "    {is_nan} = stablehlo.compare GT, {size}, {infinity}, SIGNED : ({text}, {text}) -> {pred}");
    emit!(e, "    {made} = stablehlo.select {is_nan}, {nan}, {with_sign} : {pred}, {text}");
    made
}

/// Writes u32 numbers in the order of s32 numbers: the least one becomes 0.
fn moved(e: &mut Emitter, x: &str, words: &TensorType) -> String {
    let signed = TensorType { dtype: DType::S32, dims: words.dims.clone() };
    let (top, [moved, made]) = (e.constant(&signed, 1 << 31), [(); 2].map(|()| e.temporary()));
    emit!(e, "    {moved} = stablehlo.xor {x}, {top} : {}", mlir(&signed));
    emit!(e, "    {made} = stablehlo.bitcast_convert {moved} : ({}) -> {}", mlir(&signed), mlir(words));
    made
}

/// Writes the elements of the value at `position` at the places along an axis. Positions along the axis are the places
/// themselves.
pub fn elements_at(e: &mut Emitter, position: usize, axis: usize, (places, places_ty): (&str, &TensorType)) -> String {
    let ty = e.values[position].ty.clone();
    let made = e.temporary();
    let counts_axis = || e.values[position].attributes::<IotaAttributes>().axis == axis;
    if e.values[position].op == Op::Iota && counts_axis() {
        emit!(e, "    {made} = stablehlo.convert {places} : ({}) -> {}", mlir(places_ty), mlir(&ty));
        return made;
    }
    let rank = ty.dims.len();
    let indices_ty = TensorType { dtype: index_dtype(places_ty.dtype, &ty.dims), dims: places_ty.dims.clone() };
    let mut indices = places.to_string();
    if indices_ty != *places_ty {
        indices = e.temporary();
        emit!(e, "    {indices} = stablehlo.convert {places} : ({}) -> {}", mlir(places_ty), mlir(&indices_ty));
    }
    emit!(
        e,
        "    {made} = \"stablehlo.gather\"({}, {indices}) <{{dimension_numbers = {}, slice_sizes = array<i64: {}>, indices_are_sorted = false}}> : ({}, {}) -> {}",
        e.name(position),
        dimension_numbers::text(&GATHER, &elements_along(axis, rank)),
        vec!["1"; rank].join(", "),
        mlir(&ty),
        mlir(&indices_ty),
        mlir(&ty)
    );
    made
}
