//! What XLA does not move computations across.

use crate::emit::{Emitter, emit};
use crate::error;
use crate::error::Result;
use crate::ir::{NodeId, Op, Trace};
use crate::ops::definition::{Definition, Native};
use crate::ops::elementwise::fold_barrier::{with_zero, zero_of_all};
use crate::types::TensorType;

/// The operands, unchanged.
pub const OPTIMIZATION_BARRIER: Definition = Definition {
    name: "optimization_barrier",
    stablehlo: "optimization_barrier",
    function: "lxla_optimization_barrier",
    dtypes: "all",
    lower,
    native: Native::Several(|call| Ok(call.arrays(0..call.operands.len()))),
};

/// The same values, none of which is known before all are computed.
pub fn optimization_barrier(trace: &mut Trace, tensors: &[NodeId]) -> Result<Vec<NodeId>> {
    if tensors.is_empty() {
        return Err(error!(InvalidArgument, "n: 0 tensors given; want at least 1"));
    }
    let types: Vec<TensorType> = tensors.iter().map(|&id| trace.ty(id)).collect();
    Ok(trace.application(Op::OptimizationBarrier, tensors, &[], &[], &types))
}

/// XLA's CPU backend takes barriers away, and merges equal computations again afterwards: what a checkpoint is to compute
/// again would be kept after all. There the values pass through an operation as well that changes nothing, and of which XLA
/// does not know that.
fn lower(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let (name, count) = (e.name_of(at), value.operands.len());
    let (mut names, types) = e.listed(&value.operands);
    if e.platform == "cpu" {
        let given: Vec<(String, &TensorType)> =
            names.into_iter().zip(value.operands.iter().map(|&operand| &e.values[operand].ty)).collect();
        let zero = zero_of_all(e, &given, 0);
        names = given.iter().map(|(name, ty)| with_zero(e, name, ty, &zero)).collect();
    }
    emit!(e, "    {name}:{count} = stablehlo.optimization_barrier {} : {}", names.join(", "), types.join(", "));
}
