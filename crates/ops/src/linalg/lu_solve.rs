//! Solutions of systems and inverses from LU factors: one call of native code on CPUs, products and triangular solves
//! elsewhere.

use super::batch::by_merged_columns;
use super::decomposition::permuted;
use crate::control::lower::apply;
use crate::creation::masks::eye;
use crate::elementwise::formula::record;
use crate::emit::Emitter;
use crate::host_call::lower_native;
use crate::rules::Site;
use crate::shape::axes::broadcast_to;
use base::error::Result;
use ir::{NodeId, Op, Trace, take_closed_body};

/// Records the solution of `a x = b` from both LU factors of `a` in one matrix and the permutation. All have the same
/// batch axes, factors and `b` the same dtype, of at least 32 bits.
pub(super) fn solved(trace: &mut Trace, factors: NodeId, permutation: NodeId, b: NodeId) -> NodeId {
    let (dtype, shape) = (trace.node(b).dtype, trace.node(b).shape);
    trace.operation(Op::LuSolve, dtype, shape, &[factors, permutation, b])
}

/// Likewise the inverse of `a`.
pub(super) fn inverted(trace: &mut Trace, factors: NodeId, permutation: NodeId) -> NodeId {
    let (dtype, shape) = (trace.node(factors).dtype, trace.node(factors).shape);
    trace.operation(Op::LuInverse, dtype, shape, &[factors, permutation])
}

/// Records a solution or an inverse as two triangular solves.
pub(super) fn expand(site: &mut Site) -> Result<NodeId> {
    expanded(site.trace, &site.operands)
}

/// Batches a solution or an inverse. For one matrix and a batch of right-hand sides, the batch is merged into their
/// columns.
pub(super) fn batch(site: &mut Site, mapped: &[bool], size: i64) -> Result<NodeId> {
    if let (&[factors, permutation, b], [false, false, true]) = (&site.operands[..], mapped) {
        return by_merged_columns(site.trace, b, 0, |trace, sides| Ok(solved(trace, factors, permutation, sides)));
    }
    let all = (0..site.operands.len()).map(|i| site.mapped_operand(i, mapped, size));
    Ok(match all.collect::<Result<Vec<NodeId>>>()?[..] {
        [factors, permutation, b] => solved(site.trace, factors, permutation, b),
        ref rest => inverted(site.trace, rest[0], rest[1]),
    })
}

fn expanded(trace: &mut Trace, operands: &[NodeId]) -> Result<NodeId> {
    let (factors, permutation) = (operands[0], operands[1]);
    let b = match operands.get(2) {
        Some(&b) => b,
        None => {
            let ty = trace.ty(factors);
            let n = *ty.dims.last().expect("factors are matrices");
            let one = eye(trace, ty.dtype, n, n, 0)?;
            broadcast_to(trace, one, &ty.dims)?
        }
    };
    let b = permuted(trace, b, permutation)?;
    record(trace, [factors, b], |[factors, b]| factors.solve(factors.solve(b, true, true), false, false))
}

/// Writes a solution or an inverse.
pub(super) fn lower(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    if e.calls_host {
        return lower_native(e, at, std::slice::from_ref(&value.ty));
    }
    let mut trace = Trace::new();
    let types = value.operands.iter().map(|&operand| e.values[operand].ty.clone());
    let parameters: Vec<NodeId> = types.map(|ty| trace.parameter(ty)).collect();
    let x = expanded(&mut trace, &parameters).expect("it was recorded for operands of these types");
    let body = take_closed_body(&trace, &parameters, &[], &[x]).expect("the body has no other operands");
    let (name, (operands, _)) = (e.name_of(at), e.listed(&value.operands));
    apply(e, &name, &body, &operands);
}
