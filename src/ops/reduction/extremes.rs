//! The StableHLO of maxima and minima of floats on CPU plugins, which hand plain ones to a library that loses NaN
//! (`docs/xla-workarounds.md`, "NaN lost in reductions").

use crate::emit::{Emitter, emit, mlir};
use crate::types::{DType, TensorType};

/// XLA computes reductions of fewer elements itself; the limit in its source is 4,096.
const LEAST_OF_LIBRARIES: usize = 1024;

/// Writes `made`, the maximum or minimum of the array `x` along axes.
pub fn reduce(
    e: &mut Emitter,
    made: &str,
    is_maximum: bool,
    [x, init]: [&str; 2],
    axes: &[i64],
    [from, to]: [&TensorType; 2],
) {
    let listed: Vec<String> = axes.iter().map(i64::to_string).collect();
    emit!(e, "    {made} = \"stablehlo.reduce\"({x}, {init}) <{{dimensions = array<i64: {}>}}> ({{", listed.join(", "));
    region(e, is_maximum, from.dtype);
    emit!(e, "    }}) : ({}, {}) -> {}", mlir(from), mlir(&TensorType::new(from.dtype, &[])), mlir(to));
}

/// Whether a maximum or minimum of this array is written by [`reduce`].
pub fn is_lost(e: &Emitter, x: &TensorType) -> bool {
    e.platform == "cpu" && x.elements() >= LEAST_OF_LIBRARIES
}

/// Writes the region of a maximum or minimum of floats as the negated minimum or maximum of the negated elements, for
/// which XLA generates code.
pub fn region(e: &mut Emitter, is_maximum: bool, dtype: DType) {
    let opposite = if is_maximum { "minimum" } else { "maximum" };
    let ty = mlir(&TensorType::new(dtype, &[]));
    let [a, b, minus_a, minus_b, found, made] = [(); 6].map(|()| e.temporary());
    emit!(e, "    ^bb0({a}: {ty}, {b}: {ty}):");
    emit!(e, "    {minus_a} = stablehlo.negate {a} : {ty}");
    emit!(e, "    {minus_b} = stablehlo.negate {b} : {ty}");
    emit!(e, "    {found} = stablehlo.{opposite} {minus_a}, {minus_b} : {ty}");
    emit!(e, "    {made} = stablehlo.negate {found} : {ty}");
    emit!(e, "    stablehlo.return {made} : {ty}");
}
