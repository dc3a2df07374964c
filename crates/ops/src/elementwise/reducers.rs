//! Operations of reducers on CPU plugins. XLA hands reductions by a sum, a maximum or a minimum to YNNPACK, which loses
//! NaN in extremes and misreads windows (`docs/xla-workarounds.md`, "Reductions that go to YNNPACK"). XLA does not
//! recognise the forms here, and generates code for them.

use crate::emit::{Emitter, Reducer, emit, mlir};
use base::types::{DType, Kind, TensorType};
use ir::BinaryOp;

/// Returns whether [`write()`] writes an operation of the function: a part of a reducer for a CPU plugin.
pub fn is_rewritten(e: &Emitter, op: BinaryOp, dtype: DType) -> bool {
    let is_of_windows = e.reducer == Some(Reducer::OfAdjacentWindows);
    let is_extreme = matches!(op, BinaryOp::Maximum | BinaryOp::Minimum);
    e.platform == "cpu"
        && match dtype.kind() {
            Kind::Float => e.reducer.is_some() && is_extreme || is_of_windows && op == BinaryOp::Add,
            Kind::Signed | Kind::Unsigned => is_of_windows && is_extreme,
            _ => false,
        }
}

/// Writes `name`, a sum or extreme of two values: the sum by a selection, which returns `a` where `b` is 0; extremes as
/// the opposite extremes of negated floats, or of integers with all bits inverted.
pub fn write(e: &mut Emitter, name: &str, op: BinaryOp, [a, b]: [&str; 2], ty: &TensorType) {
    let (text, pred) = (mlir(ty), mlir(&TensorType { dtype: DType::Pred, dims: ty.dims.clone() }));
    if op == BinaryOp::Add {
        let (zero, is_zero, sum) = (e.constant(ty, 0), e.temporary(), e.temporary());
        emit!(e, "    {is_zero} = stablehlo.compare EQ, {b}, {zero}, FLOAT : ({text}, {text}) -> {pred}");
        emit!(e, "    {sum} = stablehlo.add {a}, {b} : {text}");
        emit!(e, "    {name} = stablehlo.select {is_zero}, {a}, {sum} : {pred}, {text}");
        return;
    }
    let opposite = if op == BinaryOp::Maximum { "minimum" } else { "maximum" };
    let inverse = if ty.dtype.kind() == Kind::Float { "negate" } else { "not" };
    let [of_a, of_b, found] = [(); 3].map(|()| e.temporary());
    emit!(e, "    {of_a} = stablehlo.{inverse} {a} : {text}");
    emit!(e, "    {of_b} = stablehlo.{inverse} {b} : {text}");
    emit!(e, "    {found} = stablehlo.{opposite} {of_a}, {of_b} : {text}");
    emit!(e, "    {name} = stablehlo.{inverse} {found} : {text}");
}
