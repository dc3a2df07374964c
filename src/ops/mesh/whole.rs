//! Operations that XLA's partitioner cannot split: each device of the mesh computes them on copies of the whole operands.

use crate::emit::{Emitter, emit, mlir};
use crate::ir::{Instruction, Op};
use crate::mesh::{MeshAxes, Sharding};
use crate::types::TensorType;

/// Writes the instruction at a position (one without a scalar) as a manual computation on replicated operands, which
/// the partitioner does not split.
pub fn lower(e: &mut Emitter, at: usize, axes: &MeshAxes) {
    let value = e.instruction(at);
    // Positions of the results; an operation with one result has its own position.
    let of_application =
        |(i, result): (usize, &Instruction)| (result.op == Op::Result && result.operands[0] == at).then_some(i);
    let several: Vec<usize> = e.values.iter().enumerate().filter_map(of_application).collect();
    let results = if several.is_empty() { vec![at] } else { several };

    let mut inner: Vec<Instruction> = value.operands.iter().map(|&i| parameter(&e.values[i].ty)).collect();
    let count = inner.len();
    inner.push(Instruction { operands: (0..count).collect(), ..value.clone() });
    let is_application = results != [at];
    let named: Vec<usize> = match is_application {
        true => (count + 1..=count + results.len()).collect(),
        false => vec![count],
    };
    if is_application {
        inner.extend(results.iter().map(|&i| Instruction { operands: vec![count], ..e.values[i].clone() }));
    }

    let (operands, types) = e.listed(&value.operands);
    let arguments: Vec<String> = (0..count).map(|i| format!("%whole{at}_{i}")).collect();
    let typed: Vec<String> = arguments.iter().zip(&types).map(|(name, ty)| format!("{name}: {ty}")).collect();
    let replicated = |ty: &TensorType| Sharding::replicated(ty.dims.len()).sdy(axes);
    let copies = |positions: &[usize]| {
        positions.iter().map(|&i| replicated(&e.values[i].ty)).collect::<Vec<String>>().join(", ")
    };
    let (of_operands, of_results) = (copies(&value.operands), copies(&results));
    let names: Vec<String> = axes.axes().iter().map(|axis| format!("\"{}\"", axis.name)).collect();
    let made = format!("%copies{at}");
    emit!(
        e,
        "    {made}:{} = sdy.manual_computation({}) in_shardings=[{of_operands}] out_shardings=[{of_results}] \
         manual_axes={{{}}} ({}) {{",
        results.len(),
        operands.join(", "),
        names.join(", "),
        typed.join(", ")
    );
    let returned = e.write_out(&inner, &[], &format!("whole{at}_"), &arguments, &named);
    let of_each: Vec<String> = results.iter().map(|&i| mlir(&e.values[i].ty)).collect();
    emit!(e, "    sdy.return {} : {}", returned.join(", "), of_each.join(", "));
    emit!(e, "    }} : ({}) -> ({})", types.join(", "), of_each.join(", "));
    for (number, &position) in results.iter().enumerate() {
        e.rename(position, format!("{made}#{number}"));
    }
}

fn parameter(ty: &TensorType) -> Instruction {
    Instruction { op: Op::Leaf, ty: ty.clone(), operands: vec![], words: Default::default(), bodies: vec![] }
}
