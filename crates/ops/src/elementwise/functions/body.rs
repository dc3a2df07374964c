//! Elementwise functions without a StableHLO operation. Those with a formula are one node. The formula, a list of simpler
//! operations, is used to lower and to evaluate it, but not to differentiate it: formulas split bits and select between
//! approximations, so that their derivatives would be wrong or inaccurate. Derivatives are rules of their own.

use super::{erf, of_one, of_two};
use crate::emit::Emitter;
use base::error::Result;
use ir::{Body, NodeId, Op, Trace, take_closed_body};

use crate::elementwise::formula::Formula;
use crate::rules::Site;
use base::types::{DType, TensorType};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::{Arc, LazyLock};

/// Records the formula of a function.
fn formula(trace: &mut Trace, op: Op, operands: &[NodeId]) -> Result<NodeId> {
    let f = Formula::new(trace);
    let operand = |i: usize| f.operand(operands[i]);
    f.finish(match op {
        Op::UnaryFunction(function) => of_one::formula(function, operand(0)),
        Op::BinaryFunction(function) => of_two::formula(function, operand(0), operand(1)),
        Op::Special(op) => erf::formula(op, operand(0)),
        _ => unreachable!("asked for {op:?}"),
    })
}

pub(crate) fn expand(site: &mut Site) -> Result<NodeId> {
    let operands = site.operands.clone();
    formula(site.trace, site.op, &operands)
}

/// Returns the formula of a function of operands of these types, as a body.
pub(crate) fn body_of(op: Op, types: &[TensorType]) -> Result<Arc<Body>> {
    let mut trace = Trace::new();
    let parameters: Vec<NodeId> = types.iter().map(|ty| trace.parameter(ty.clone())).collect();
    let result = formula(&mut trace, op, &parameters)?;
    take_closed_body(&trace, &parameters, &[], &[result])
}

type Cache = FxHashMap<(u32, DType), Arc<Body>>;

/// Formulas of scalars. There are few, so no entry is ever removed.
static CACHE: LazyLock<Mutex<Cache>> = LazyLock::new(Default::default);

/// Returns the formula of a function of scalars of one dtype, as a cached body.
pub fn formula_body(op: Op, dtype: DType) -> Result<Arc<Body>> {
    if let Some(body) = CACHE.lock().get(&(op.code(), dtype)) {
        return Ok(body.clone());
    }
    let body = body_of(op, &vec![TensorType::new(dtype, &[]); op.arity().unwrap_or(1)])?;
    CACHE.lock().insert((op.code(), dtype), body.clone());
    Ok(body)
}

/// Writes the StableHLO of the formula.
pub(crate) fn lower(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let types: Vec<TensorType> = value.operands.iter().map(|&operand| e.values[operand].ty.clone()).collect();
    let body = body_of(value.op, &types).expect("a recorded function has a formula");
    let (names, _) = e.listed(&value.operands);
    let (values, results) = body.decode();
    let made = e.write_out(&values, body.scalars(), &format!("f{at}_"), &names, &results);
    e.rename(at, made[0].clone());
}
