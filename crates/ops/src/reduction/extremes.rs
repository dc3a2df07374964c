//! The StableHLO of maxima and minima of floats over axes on CPU plugins (`crates/ops/src/elementwise/reducers.rs`).

use crate::elementwise::reducers;
use crate::emit::{Emitter, emit, mlir};
use base::types::TensorType;
use ir::BinaryOp;

/// XLA computes reductions of fewer elements itself: plugins hand them to YNNPACK from 4,096 or 32,768 elements.
const LEAST_OF_LIBRARIES: usize = 1024;

/// Returns whether [`write()`] writes a maximum or minimum of this array, in place of a plain one.
pub fn is_rewritten(e: &Emitter, x: &TensorType) -> bool {
    e.platform == "cpu" && x.elements() >= LEAST_OF_LIBRARIES
}

/// Writes `made`, the maximum or minimum of the array `x` along axes.
pub fn write(
    e: &mut Emitter,
    made: &str,
    op: BinaryOp,
    [x, init]: [&str; 2],
    axes: &[i64],
    [from, to]: [&TensorType; 2],
) {
    let element = TensorType::new(from.dtype, &[]);
    let (listed, ty) = (axes.iter().map(i64::to_string).collect::<Vec<String>>().join(", "), mlir(&element));
    let [a, b, found] = [(); 3].map(|()| e.temporary());
    emit!(e, "    {made} = \"stablehlo.reduce\"({x}, {init}) <{{dimensions = array<i64: {listed}>}}> ({{");
    emit!(e, "    ^bb0({a}: {ty}, {b}: {ty}):");
    reducers::write(e, &found, op, [&a, &b], &element);
    emit!(e, "    stablehlo.return {found} : {ty}");
    emit!(e, "    }}) : ({}, {ty}) -> {}", mlir(from), mlir(to));
}
