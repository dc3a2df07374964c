//! Operations that XLA's partitioner may split along some axes only. The operands and the results are constrained: the
//! partitioner chooses how the open axes are split, and every device has the others whole.

use super::whole::{self, Alone};
use crate::definition::OpenAxes;
use crate::emit::{Emitter, emit, mlir};
use base::types::TensorType;
use mesh::MeshAxes;

/// Writes the instruction at a position, which has no scalar, between constraints.
pub fn lower(e: &mut Emitter, at: usize, axes: &MeshAxes, open: &OpenAxes) {
    let alone = Alone::of(e, at);
    let (value, values) = (e.instruction(at), e.values);
    if value.operands.iter().chain(&alone.outside).any(|&i| values[i].ty.elements() == 0) {
        // Nothing can be split.
        whole::lower(e, at, axes);
        return;
    }
    let mut arguments = Vec::with_capacity(value.operands.len());
    for (i, &operand) in value.operands.iter().enumerate() {
        let name = e.name(operand);
        arguments.push(match open.operands.get(i) {
            Some(open) => constrained(e, name, &values[operand].ty, open),
            None => name,
        });
    }
    let names = e.write_out(&alone.values, &[], &format!("open{at}_"), &arguments, &alone.results);
    for (&position, name) in alone.outside.iter().zip(names) {
        let made = constrained(e, name, &values[position].ty, &open.results);
        e.rename(position, made);
    }
}

/// Writes a constraint that leaves only these axes to the partitioner, if there are others. Returns the name of the
/// result.
fn constrained(e: &mut Emitter, x: String, ty: &TensorType, open: &[usize]) -> String {
    let rank = ty.dims.len();
    if (0..rank).all(|axis| open.contains(&axis)) {
        return x;
    }
    let entries: Vec<&str> = (0..rank).map(|axis| if open.contains(&axis) { "{?}" } else { "{}" }).collect();
    let made = e.temporary();
    emit!(e, "    {made} = sdy.sharding_constraint {x} <@mesh, [{}]> : {}", entries.join(", "), mlir(ty));
    made
}
