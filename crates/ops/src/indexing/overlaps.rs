//! Updates that read the array that they are written to by another shape.

use crate::elementwise::fold_barrier::{with_zero, zero_of_all};
use crate::emit::{Emitter, emit, mlir};
use base::types::TensorType;
use ir::Op;
use rustc_hash::FxHashSet;

/// Most values that are looked at for one update.
const MOST: usize = 256;

/// Returns whether the update of a `dynamic_update_slice` may read elements of the array that it is written to by
/// another shape or order of axes, as `y.at[1].set(x[0, 2:5])` does if `y` is `x.reshape(5, 3)`. XLA's CPU backend
/// computes such updates in the memory of the array, element by element, and reads what it has written.
pub fn reads_other_shape(e: &Emitter, at: usize) -> bool {
    let operands = &e.instruction(at).operands;
    let (array, update) = (operands[0], operands[1]);
    let (source, is_turned) = source(e, array);
    let (mut open, mut seen) = (vec![update], FxHashSet::default());
    while let Some(value) = open.pop() {
        if value == array || !seen.insert(value) {
            continue;
        }
        let (own, own_turned) = self::source(e, value);
        let is_other = is_turned || own_turned || e.instruction(value).ty.dims != e.instruction(array).ty.dims;
        if own == source && is_other {
            return true;
        }
        if seen.len() > MOST {
            return source != array;
        }
        open.extend(e.instruction(value).operands.iter());
    }
    false
}

/// Returns the value whose memory an array may share: behind reshapes, transposes and updates. Whether there was a
/// transpose, too.
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

/// Writes a copy of an update that XLA computes whole before it writes any of it: the value of a loop that runs once,
/// which XLA can neither prove nor fuse.
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
