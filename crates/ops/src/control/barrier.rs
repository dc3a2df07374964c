//! Optimization barriers: XLA does not move computations across them.

use crate::emit::{Emitter, emit};
use base::error;
use base::error::Result;
use ir::{Body, NodeId, Op, Trace, take_closed_body};

use crate::elementwise::fold_barrier::{with_zero, zero_of_all};

use base::types::TensorType;
use std::sync::Arc;

/// Records a barrier: the same values, none of which is available before all are computed.
pub fn optimization_barrier(trace: &mut Trace, tensors: &[NodeId]) -> Result<Vec<NodeId>> {
    if tensors.is_empty() {
        return Err(error!(InvalidArgument, "n: 0 tensors given; want at least 1"));
    }
    let types: Vec<TensorType> = tensors.iter().map(|&id| trace.ty(id)).collect();
    Ok(trace.application(Op::OptimizationBarrier, tensors, &(), &[], &types))
}

/// Returns `backward`, a backward pass, with an optimization barrier: the operands in the mask (parameters, then
/// captures) pass it together. With the cotangents in the mask, and with the values from which something is recomputed,
/// XLA neither merges the recomputation with the forward pass, nor starts it before the cotangents are known.
pub fn held_back(backward: &Arc<Body>, held: &[bool]) -> Result<Arc<Body>> {
    let mut trace = Trace::new();
    let types = backward.parameters().iter().chain(backward.captures());
    let leaves: Vec<NodeId> = types.map(|ty| trace.parameter(ty.clone())).collect();
    let passing: Vec<usize> = (0..leaves.len()).filter(|&i| held[i]).collect();
    let values: Vec<NodeId> = passing.iter().map(|&i| leaves[i]).collect();
    let mut arguments = leaves.clone();
    for (&i, passed) in passing.iter().zip(optimization_barrier(&mut trace, &values)?) {
        arguments[i] = passed;
    }
    let results = trace.replay(backward, &arguments)?;
    let (parameters, captures) = leaves.split_at(backward.parameters().len());
    take_closed_body(&trace, parameters, captures, &results)
}

/// Writes the StableHLO of a barrier. XLA's CPU backend removes barriers and merges equal computations afterwards
/// (CSE), so the values that a checkpoint recomputes would be kept instead. On cpu, each value therefore also passes
/// through an identity that XLA cannot fold.
pub(super) fn lower(e: &mut Emitter, at: usize) {
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
