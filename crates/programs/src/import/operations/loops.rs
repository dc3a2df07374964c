//! Loops. A loop that counts from one constant to another becomes a scan, which has a reverse-mode derivative; every
//! loop that JAX's `scan` and `fori_loop` with constant bounds export is one.

use super::super::attributes::Attributes;
use super::super::importer::{Importer, is_call};
use super::super::regions::block;
use super::slices::{Loop, Slices};
use super::{Call, Results, applied};
use base::error::Result;
use base::types::{DType, Scalar, ScalarValue, TensorType};
use ir::{NodeId, take_body};
use mlir::{Block, Operation, Value};
use rustc_hash::FxHashSet;

/// A loop that runs while a counter is less than a constant, and adds 1 to the counter, which starts at a constant.
struct Counted {
    /// Number of the counter among the carried values.
    place: usize,
    /// First value of the counter.
    start: i64,
    /// Number of iterations.
    iterations: i64,
}

/// `stablehlo.while`.
pub fn while_loop(call: Call) -> Result<Results> {
    let (condition, body) = (block(call.operation, 0)?, block(call.operation, 1)?);
    if let Some(loops) = counted(call.importer, condition, body, call.operands) {
        return scan(call, body, &loops);
    }
    let types: Vec<TensorType> = call.operands.iter().map(|&operand| call.ty(operand)).collect();
    let condition = call.importer.region(condition, &types)?;
    let body = call.importer.region(body, &types)?;
    let (condition, body) = (applied(&condition), applied(&body));
    ops::control::while_loop(&mut call.importer.trace, &condition, &body, call.operands).map(Results::from_vec)
}

/// Returns the counter of a loop; None if the loop does not count from one constant to another.
fn counted(importer: &mut Importer, condition: &Block, body: &Block, init: &[NodeId]) -> Option<Counted> {
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
        (&[start], [1], &[bound]) if is_signed || start >= 0 && bound >= 0 => {
            Some(Counted { place, start, iterations: bound.checked_sub(start)?.max(0) })
        }
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

/// Records a loop of a known number of iterations as a scan. Arrays that it reads or writes one slice at a time, as JAX's
/// `scan` does, are the scan's arrays. Values that it does not change are captured. So the derivative carries neither.
fn scan<'m>(call: Call<'_, 'm>, body: &'m Block, counted: &Counted) -> Result<Results> {
    let mut results = Results::from_slice(call.operands);
    if counted.iterations == 0 {
        return Ok(results);
    }
    let returned = body.operations.last().map_or(&[][..], |last| &last.operands[..]);
    let changes = |place: usize| returned.get(place) != Some(&body.arguments[place]);
    let mut carried: Vec<usize> = (0..call.operands.len()).filter(|&place| changes(place)).collect();
    let importer = call.importer;
    let first = importer.trace.len();
    let mut inner = call.operands.to_vec();
    for &place in &carried {
        let ty = importer.trace.ty(inner[place]);
        inner[place] = importer.trace.parameter(ty);
    }
    body.arguments.iter().zip(&inner).try_for_each(|(&value, &node)| importer.define(value, node))?;
    let made = recorded(importer, body)?;
    if made.len() != results.len() {
        return Err(base::error!(InvalidArgument, "its body returns {} values; want {}", made.len(), results.len()));
    }
    let counter = inner[counted.place];
    let looped = Loop { first, counter, start: counted.start, iterations: counted.iterations };
    let values: Vec<(NodeId, NodeId)> = carried.iter().map(|&place| (inner[place], made[place])).collect();
    let Slices { reads, writes, reverse } = looped.slices(importer, &values)?;
    let stacked: Vec<usize> = writes.iter().map(|write| carried[write.value]).collect();
    let is_stacked: FxHashSet<usize> = stacked.iter().copied().collect();
    carried.retain(|place| !is_stacked.contains(place));

    let slices: Vec<NodeId> = reads.iter().map(|read| read.slice).collect();
    let pieces: Vec<NodeId> = writes.iter().map(|write| write.piece).collect();
    let next = |carried: &[usize]| -> Vec<NodeId> {
        carried.iter().map(|&place| made[place]).chain(pieces.iter().copied()).collect()
    };
    let uncounted: Vec<usize> = carried.iter().copied().filter(|&place| place != counted.place).collect();
    if !super::slices::is_needed(&importer.trace, counter, &next(&uncounted), &slices) {
        let last = ScalarValue::Signed(counted.start + counted.iterations);
        let last = Scalar::new(importer.trace.ty(counter).dtype, last)?;
        results[counted.place] = ops::creation::constant(&mut importer.trace, &[], last);
        carried = uncounted;
    }
    if carried.is_empty() && stacked.is_empty() {
        return Ok(results);
    }
    let parameters: Vec<NodeId> = carried.iter().map(|&place| inner[place]).chain(slices).collect();
    let (body, captures) = take_body(&importer.trace, &parameters, &next(&carried))?;
    let step = ops::control::Applied { body: &body, captures: &captures };
    let init: Vec<NodeId> = carried.iter().map(|&place| call.operands[place]).collect();
    let arrays: Vec<NodeId> = reads.iter().map(|read| read.array).collect();
    let last = ops::control::scan(&mut importer.trace, &step, &init, &arrays, counted.iterations, reverse)?;
    carried.iter().chain(&stacked).zip(last).for_each(|(&place, node)| results[place] = node);
    Ok(results)
}

/// Records the block of a loop. Functions that only index arrays are recorded in place of their calls, so that the slices
/// are found; so is the only other function that is called, which then is the body of the scan.
fn recorded<'m>(importer: &mut Importer<'m>, block: &'m Block) -> Result<Vec<NodeId>> {
    let indexing = |importer: &Importer, call: &Operation| importer.callee(call).is_ok_and(only_indexes);
    let calls = || block.operations.iter().filter(|operation| is_call(operation));
    let (inlined, others): (Vec<&Operation>, Vec<&Operation>) = calls().partition(|call| indexing(importer, call));
    let mut inlined: FxHashSet<*const Operation> = inlined.into_iter().map(std::ptr::from_ref).collect();
    if let [only] = others[..] {
        inlined.insert(only);
    }
    importer.block_with(block, |operation| inlined.contains(&std::ptr::from_ref(operation)))
}

/// Whether a function only reads or writes a slice, as JAX's `dynamic_index_in_dim` and `dynamic_update_index_in_dim`.
fn only_indexes(function: &Block) -> bool {
    const INDEXING: [&str; 10] = [
        "stablehlo.constant",
        "stablehlo.dynamic_slice",
        "stablehlo.dynamic_update_slice",
        "stablehlo.reshape",
        "stablehlo.broadcast_in_dim",
        "stablehlo.convert",
        "stablehlo.compare",
        "stablehlo.add",
        "stablehlo.subtract",
        "stablehlo.select",
    ];
    let Some((_, operations)) = function.operations.split_last() else { return false };
    operations.len() <= 16 && operations.iter().all(|operation| INDEXING.contains(&&*operation.name))
}
