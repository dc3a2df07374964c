//! Operations that XLA's partitioner cannot split: each device of the mesh computes them on copies of the whole
//! operands.

use crate::emit::{Emitter, emit, mlir};
use base::types::TensorType;
use ir::{Instruction, Op, Positions};
use mesh::{MeshAxes, Sharding};
use smallvec::smallvec;

/// An instruction as a function of its own: one parameter for each operand, the instruction, and its results, if it
/// has a list of them.
pub(super) struct Alone {
    /// Instructions of the function.
    pub values: Vec<Instruction>,
    /// Positions of the results in the function.
    pub results: Vec<usize>,
    /// Positions of the same results among the values of the emitter. An operation with one result is its own.
    pub outside: Vec<usize>,
}

impl Alone {
    /// Takes out the instruction at a position, which has no scalar.
    pub fn of(e: &Emitter, at: usize) -> Alone {
        let value = e.instruction(at);
        let of_application =
            |(i, result): (usize, &Instruction)| (result.op == Op::Result && result.operands[0] == at).then_some(i);
        let several: Vec<usize> = match value.op.has_results() {
            true => e.values.iter().enumerate().filter_map(of_application).collect(),
            false => Vec::new(),
        };
        let count = value.operands.len();
        let mut values: Vec<Instruction> = value.operands.iter().map(|&i| parameter(&e.values[i].ty)).collect();
        values.push(Instruction { operands: (0..count).collect(), ..value.clone() });
        if several.is_empty() {
            return Alone { values, results: vec![count], outside: vec![at] };
        }
        values.extend(several.iter().map(|&i| Instruction { operands: smallvec![count], ..e.values[i].clone() }));
        Alone { values, results: (count + 1..=count + several.len()).collect(), outside: several }
    }
}

/// Writes the instruction at a position, which has no scalar, as a manual computation without split operands. Inside,
/// the partitioner leaves everything as it is.
pub fn lower(e: &mut Emitter, at: usize, axes: &MeshAxes) {
    let alone = Alone::of(e, at);
    let value = e.instruction(at);
    let (operands, types) = e.listed(&value.operands);
    let arguments: Vec<String> = (0..operands.len()).map(|i| format!("%whole{at}_{i}")).collect();
    let typed: Vec<String> = arguments.iter().zip(&types).map(|(name, ty)| format!("{name}: {ty}")).collect();
    let replicated = |ty: &TensorType| Sharding::replicated(ty.dims.len()).sdy(axes);
    let copies = |positions: &[usize]| {
        positions.iter().map(|&i| replicated(&e.values[i].ty)).collect::<Vec<String>>().join(", ")
    };
    let (of_operands, of_results) = (copies(&value.operands), copies(&alone.outside));
    let names: Vec<String> = axes.axes().iter().map(|axis| format!("\"{}\"", axis.name)).collect();
    let made = format!("%copies{at}");
    emit!(
        e,
        "    {made}:{} = sdy.manual_computation({}) in_shardings=[{of_operands}] out_shardings=[{of_results}] \
         manual_axes={{{}}} ({}) {{",
        alone.outside.len(),
        operands.join(", "),
        names.join(", "),
        typed.join(", ")
    );
    let returned = e.write_out(&alone.values, &[], &format!("whole{at}_"), &arguments, &alone.results);
    let of_each: Vec<String> = alone.outside.iter().map(|&i| mlir(&e.values[i].ty)).collect();
    emit!(e, "    sdy.return {} : {}", returned.join(", "), of_each.join(", "));
    emit!(e, "    }} : ({}) -> ({})", types.join(", "), of_each.join(", "));
    for (number, &position) in alone.outside.iter().enumerate() {
        e.rename(position, format!("{made}#{number}"));
    }
}

fn parameter(ty: &TensorType) -> Instruction {
    let (words, label) = Default::default();
    Instruction { op: Op::Leaf, ty: ty.clone(), operands: Positions::new(), words, bodies: vec![], label }
}
