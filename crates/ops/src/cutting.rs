//! Cuts long chains of operations that XLA's CPU backend would fuse to one loop. The time and the memory of compiling a
//! fusion grow by the square of its operations (`docs/xla-workarounds.md`, "Long chains of elementwise operations").

use crate::emit::{Emitter, Extent, emit, mlir};
use ir::{Op, Trace, take_closed_body};

/// Number of operations in a chain that is cut.
const LONG: usize = 500;

/// Cuts long chains that end with an operand: the operand passes a call of an identity that XLA does not inline. Barriers
/// would not do: the CPU backend removes them before it fuses. Programs that XLA partitions are not cut.
pub fn cut_chains(e: &mut Emitter, position: usize) {
    let value = e.instruction(position);
    // The operand of a result is a list.
    if !is_cut(e) || value.op == Op::Result {
        return;
    }
    for &operand in value.operands.iter() {
        if e.instruction(operand).ty.elements() > 0 && e.lengths[operand] >= LONG {
            cut(e, operand);
        }
    }
}

/// Whether the chains of a function are cut.
fn is_cut(e: &Emitter) -> bool {
    e.platform == "cpu" && e.extent == Extent::Device && e.reducer.is_none()
}

/// Whether the function may be called for single elements, by a comparator or a combiner, where XLA knows no calls.
fn is_of_elements(e: &Emitter) -> bool {
    let mut leaves = e.values.iter().filter(|value| value.op == Op::Leaf);
    e.is_called && leaves.all(|leaf| leaf.ty.dims.is_empty())
}

fn cut(e: &mut Emitter, operand: usize) {
    e.lengths[operand] = 0;
    if is_of_elements(e) {
        return;
    }
    let ty = &e.instruction(operand).ty;
    let mut trace = Trace::new();
    let x = trace.parameter(ty.clone());
    // Without memory, the chain stays long.
    let Ok(identity) = take_closed_body(&trace, &[x], &[], &[x]) else { return };
    let (name, text, kept, function) = (e.name(operand), mlir(ty), e.temporary(), e.callee(&identity));
    emit!(
        e,
        "    {kept} = func.call @{function}({name}) {{mhlo.frontend_attributes = {{inlineable = \"false\"}}}} : ({text}) \
         -> {text}"
    );
    e.rename(operand, kept);
}

/// Notes the length of the chain that ends with a value, whose text begins at `start`.
pub fn note_length(e: &mut Emitter, position: usize, start: usize) {
    if !is_cut(e) {
        return;
    }
    let operations = e.text.operations_from(start);
    e.lengths[position] = e.values[position].chain(&e.lengths, operations);
}
