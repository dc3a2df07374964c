//! Updates that read their array in another shape.

use crate::elementwise::fold_barrier::{with_zero, zero_of_all};
use crate::emit::{Emitter, emit, mlir};
use base::types::TensorType;
use ir::Op;
use rustc_hash::FxHashSet;
use std::collections::VecDeque;

/// Most values that are looked at for one update, the nearest ones first.
const MOST: usize = 256;

/// Returns whether the update of a `dynamic_update_slice` may read elements of the array that it is written to, in
/// another shape or order of axes, as `y.at[1].set(x[0, 2:5])` does if `y` is `x.reshape(5, 3)`. XLA's CPU backend
/// computes such updates in the memory of the array, element by element, and reads what it has written.
pub fn reads_other_shape(e: &Emitter, at: usize) -> bool {
    let operands = &e.instruction(at).operands;
    let (array, update) = (operands[0], operands[1]);
    let (mut open, mut seen) = (VecDeque::from([update]), FxHashSet::default());
    while let Some(value) = open.pop_front() {
        if value == array || !seen.insert(value) {
            continue;
        }
        if is_other_form(e, array, value) {
            return true;
        }
        if seen.len() > MOST {
            return source(e, array).0 != array;
        }
        open.extend(e.instruction(value).operands.iter());
    }
    false
}

/// Returns whether a value may be an array in another shape or order of axes. The caller of a function may pass one
/// array in two shapes.
fn is_other_form(e: &Emitter, array: usize, value: usize) -> bool {
    let [(a, a_is_turned), (b, b_is_turned)] = [array, value].map(|position| source(e, position));
    let [array, value, a_value, b_value] = [array, value, a, b].map(|position| e.instruction(position));
    if a == b {
        return a_is_turned || b_is_turned || array.ty.dims != value.ty.dims;
    }
    let are_passed = e.is_called && a_value.op == Op::Leaf && b_value.op == Op::Leaf;
    are_passed && a_value.ty.elements() == b_value.ty.elements() && a_value.ty.dims != b_value.ty.dims
}

/// Returns the value whose memory an array may share, and whether its axes were transposed since: XLA reshapes,
/// transposes, reinterprets and updates arrays in their memory.
fn source(e: &Emitter, mut position: usize) -> (usize, bool) {
    let mut is_turned = false;
    loop {
        let value = e.instruction(position);
        match value.op {
            Op::Reshape | Op::BitcastConvert | Op::DynamicUpdateSlice => {}
            Op::Transpose => is_turned = true,
            _ => return (position, is_turned),
        }
        position = value.operands[0];
    }
}

/// Writes an identity of an update that XLA neither removes nor fuses, so that the update is computed whole before any
/// of it is written: a loop that runs once, which XLA cannot know.
pub fn kept_apart(e: &mut Emitter, update: &str, ty: &TensorType) -> String {
    let (text, number) = (mlir(ty), "tensor<ui32>");
    let zero = zero_of_all(e, &[(update.to_string(), ty)], 0);
    let [made, index, carried, one, goes_on] = std::array::from_fn(|_| e.temporary());
    emit!(e, "    {made}:2 = stablehlo.while({index} = {zero}, {carried} = {update}) : {number}, {text}");
    emit!(e, "    cond {{");
    emit!(e, "      {one} = stablehlo.constant dense<1> : {number}");
    emit!(e, "      {goes_on} = stablehlo.compare LT, {index}, {one} : ({number}, {number}) -> tensor<i1>");
    emit!(e, "      stablehlo.return {goes_on} : tensor<i1>");
    emit!(e, "    }} do {{");
    let [step, next, leading, six, none] = std::array::from_fn(|_| e.temporary());
    emit!(e, "      {step} = stablehlo.constant dense<1> : {number}");
    emit!(e, "      {six} = stablehlo.constant dense<6> : {number}");
    emit!(e, "      {next} = stablehlo.add {index}, {step} : {number}");
    emit!(e, "      {leading} = stablehlo.count_leading_zeros {index} : {number}");
    emit!(e, "      {none} = stablehlo.shift_right_logical {leading}, {six} : {number}");
    let same = with_zero(e, &carried, ty, &none);
    emit!(e, "      stablehlo.return {next}, {same} : {number}, {text}");
    emit!(e, "    }}");
    format!("{made}#1")
}
