//! Loops. A loop that counts from one constant to another becomes a scan, which has a reverse-mode derivative; every
//! loop that JAX's `scan` and `fori_loop` with constant bounds export is one.

use super::super::attributes::Attributes;
use super::super::importer::Importer;
use super::super::regions::block;
use super::{Call, Results, applied};
use crate::error::Result;
use crate::ir::{NodeId, take_body};
use crate::mlir::{Block, Operation, Value};
use crate::ops;
use crate::types::{DType, TensorType};

/// `stablehlo.while`.
pub fn while_loop(call: Call) -> Result<Results> {
    let (condition, body) = (block(call.operation, 0)?, block(call.operation, 1)?);
    if let Some(iterations) = iterations(call.importer, condition, body, call.operands) {
        return counted(call, body, iterations);
    }
    let types: Vec<TensorType> = call.operands.iter().map(|&operand| call.ty(operand)).collect();
    let condition = call.importer.region(condition, &types)?;
    let body = call.importer.region(body, &types)?;
    let (condition, body) = (applied(&condition), applied(&body));
    ops::control::while_loop(&mut call.importer.trace, &condition, &body, call.operands).map(Results::from_vec)
}

/// Returns the number of iterations of a loop that runs while a counter is less than a constant, and adds 1 to the
/// counter, which starts at a constant. None for any other loop.
fn iterations(importer: &mut Importer, condition: &Block, body: &Block, init: &[NodeId]) -> Option<i64> {
    if condition.arguments.len() != init.len() || body.arguments.len() != init.len() {
        return None;
    }
    let compare = defined_by(condition, condition.operations.last()?.operands.first()?, "stablehlo.compare")?;
    let [counter, bound] = compare.operands[..] else { return None };
    if Attributes::of(compare).keyword("comparison_direction").ok()? != "LT" {
        return None;
    }
    let place = condition.arguments.iter().position(|&argument| argument == counter)?;
    let add = defined_by(body, body.operations.last()?.operands.get(place)?, "stablehlo.add")?;
    let counter = body.arguments[place];
    let step = match add.operands[..] {
        [lhs, rhs] if lhs == counter => rhs,
        [lhs, rhs] if rhs == counter => lhs,
        _ => return None,
    };
    let is_signed = importer.trace.ty(init[place]).dtype != DType::U64;
    let start = importer.known.integers(&importer.trace, init[place]).ok()?;
    match (&start[..], &constant(importer, body, step)?[..], &constant(importer, condition, bound)?[..]) {
        // Integers of u64 beyond s64 are read as negative ones.
        (&[start], [1], &[bound]) if is_signed || start >= 0 && bound >= 0 => Some(bound.checked_sub(start)?.max(0)),
        _ => None,
    }
}

/// The operation of a block that defines a value, if it has this name.
fn defined_by<'m>(block: &'m Block, value: &Value, name: &str) -> Option<&'m Operation> {
    block.operations.iter().find(|operation| operation.results.contains(value) && &*operation.name == name)
}

/// The integers of a constant that is defined in a block or outside of it.
fn constant(importer: &mut Importer, block: &Block, value: Value) -> Option<Vec<i64>> {
    if let Some(constant) = defined_by(block, &value, "stablehlo.constant") {
        return Attributes::of(constant).integers("value").ok();
    }
    let node = importer.node(value).ok()?;
    importer.known.integers(&importer.trace, node).ok()
}

/// A loop of a known number of iterations. Values that it does not change are captured, so that the derivative does not
/// carry them.
fn counted<'m>(call: Call<'_, 'm>, body: &'m Block, iterations: i64) -> Result<Results> {
    let mut results = Results::from_slice(call.operands);
    if iterations == 0 {
        return Ok(results);
    }
    let returned = body.operations.last().map_or(&[][..], |last| &last.operands[..]);
    let changes = |place: usize| returned.get(place) != Some(&body.arguments[place]);
    let carried: Vec<usize> = (0..call.operands.len()).filter(|&place| changes(place)).collect();
    let importer = call.importer;
    let mut inner = call.operands.to_vec();
    let mut parameters = Vec::new();
    for &place in &carried {
        let ty = importer.trace.ty(inner[place]);
        inner[place] = importer.trace.parameter(ty);
        parameters.push(inner[place]);
    }
    body.arguments.iter().zip(inner).try_for_each(|(&value, node)| importer.define(value, node))?;
    let made = importer.block(body)?;
    if made.len() != results.len() {
        return Err(crate::error!(InvalidArgument, "its body returns {} values; want {}", made.len(), results.len()));
    }
    let next: Vec<NodeId> = carried.iter().map(|&place| made[place]).collect();
    let init: Vec<NodeId> = carried.iter().map(|&place| call.operands[place]).collect();
    let (body, captures) = take_body(&importer.trace, &parameters, &next)?;
    let step = ops::control::Applied { body: &body, captures: &captures };
    let last = ops::control::scan(&mut importer.trace, &step, &init, &[], iterations, false)?;
    carried.iter().zip(last).for_each(|(&place, node)| results[place] = node);
    Ok(results)
}
