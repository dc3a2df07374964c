//! The order of calls with effects that no value connects.

use super::barrier::optimization_barrier;
use super::kernel::{done, is_ordered};
use crate::creation;
use base::allocation::probe;
use base::error::Result;
use base::types::ScalarValue;
use ir::{NodeId, Op, Trace};
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns a result of each ordered call recorded from node number `first` on that `values` need, in recording order.
pub fn ordered_calls(trace: &Trace, first: usize, values: &[NodeId]) -> Result<Vec<NodeId>> {
    calls_since(trace, first, &[], values)
}

/// Like [`ordered_calls`], without those that only `given` nodes need.
fn calls_since(trace: &Trace, first: usize, given: &[NodeId], values: &[NodeId]) -> Result<Vec<NodeId>> {
    if !trace.has_kernels() {
        return Ok(Vec::new());
    }
    let needed = needed_since(trace, first, given, values.iter().copied())?;
    let calls: Vec<u32> =
        (first as u32..trace.len() as u32).filter(|&id| needed[id as usize] && is_ordered(trace, NodeId(id))).collect();
    let mut results: FxHashMap<u32, NodeId> = FxHashMap::default();
    for id in (first as u32..trace.len() as u32).map(NodeId).filter(|&id| trace.node(id).op == Op::Result) {
        results.entry(trace.operands(trace.node(id))[0].0).or_insert(id);
    }
    Ok(calls.iter().filter_map(|call| results.get(call).copied()).collect())
}

/// Makes the ordered calls that `values` need follow one another in recording order. Those of a backward pass are
/// recorded in the reverse order of the calls that they differentiate, and behind those that it makes again. `given`
/// nodes become parameters of the body that computes the values: it does not make the calls behind them.
pub fn in_recording_order(trace: &mut Trace, given: &[NodeId], values: &mut [NodeId]) -> Result<()> {
    let calls = calls_since(trace, 0, given, values)?;
    follow(trace, &calls, given, &mut [values])
}

/// Returns the operand that [`wait_for`] was given where `id` is its copy that waits for an ordered call. A backward
/// pass uses the operand itself: with the copy, it would make that call again.
pub fn before_waiting(trace: &Trace, mut id: NodeId) -> NodeId {
    while let Some(barrier) = application_of(trace, id).filter(|&from| is_barrier(trace, from)) {
        let (operands, number) = (trace.operands(trace.node(barrier)), trace.attributes::<usize>(trace.node(id)));
        let is_copy = number + 1 < operands.len() && operands.last().is_some_and(|&last| ends_call(trace, last));
        if !is_copy {
            break;
        }
        id = operands[number];
    }
    id
}

/// Whether the node is a result of an ordered call, or the zero that is there when one is.
fn ends_call(trace: &Trace, id: NodeId) -> bool {
    let Some(from) = application_of(trace, id) else { return false };
    let call =
        if is_barrier(trace, from) { application_of(trace, trace.operands(trace.node(from))[0]) } else { Some(from) };
    call.is_some_and(|call| is_ordered(trace, call))
}

fn is_barrier(trace: &Trace, id: NodeId) -> bool {
    trace.node(id).op == Op::OptimizationBarrier
}

/// The application of which the node is a result.
fn application_of(trace: &Trace, id: NodeId) -> Option<NodeId> {
    let node = trace.node(id);
    (node.op == Op::Result).then(|| trace.operands(node)[0])
}

/// Records a zero of type [`done`] that is there when `result` is.
pub fn done_after(trace: &mut Trace, result: NodeId) -> Result<NodeId> {
    let zero = creation::full(trace, &done(), ScalarValue::Signed(0))?;
    Ok(optimization_barrier(trace, &[result, zero])?[1])
}

/// Which nodes from number `first` on values need, without those that only `given` nodes need.
fn needed_since(
    trace: &Trace,
    first: usize,
    given: &[NodeId],
    values: impl Iterator<Item = NodeId>,
) -> Result<Vec<bool>> {
    probe(trace.len() * size_of::<bool>(), "the calls of a computation in order")?;
    let mut needed = vec![false; trace.len()];
    values.for_each(|id| needed[id.0 as usize] = true);
    let given: FxHashSet<u32> = given.iter().map(|id| id.0).collect();
    for id in (first..trace.len()).rev().filter(|&id| trace.node(NodeId(id as u32)).op != Op::Leaf) {
        if needed[id] && !given.contains(&(id as u32)) {
            let node = trace.node(NodeId(id as u32));
            trace.operands(node).iter().for_each(|operand| needed[operand.0 as usize] = true);
        }
    }
    Ok(needed)
}

/// Replaces `values` by copies in which each of the calls depends on the one before. A call is given by a result. The
/// calls are recorded without order, because only later it is known to which computation they belong.
pub fn one_after_another(trace: &mut Trace, calls: &[NodeId], values: &mut [&mut [NodeId]]) -> Result<()> {
    follow(trace, calls, &[], values)
}

/// Like [`one_after_another`], where `given` nodes stay as they are.
fn follow(trace: &mut Trace, calls: &[NodeId], given: &[NodeId], values: &mut [&mut [NodeId]]) -> Result<()> {
    let before = calls.iter().zip(calls.iter().skip(1));
    let before: FxHashMap<NodeId, NodeId> =
        before.filter_map(|(&last, &next)| Some((trace.effect_before(next)?, last))).collect();
    let Some(first) = before.keys().map(|id| id.0 as usize).min() else { return Ok(()) };
    let recorded = trace.len();
    let all = values.iter().flat_map(|list| list.iter()).chain(calls).copied();
    let mut needed = needed_since(trace, first, given, all)?;
    given.iter().for_each(|id| needed[id.0 as usize] = false);
    probe(recorded * size_of::<NodeId>(), "the calls of a computation in order")?;
    let mut copies: Vec<NodeId> = (0..recorded as u32).map(NodeId).collect();
    let outer = trace.label();
    for id in (first as u32..recorded as u32).map(NodeId).filter(|id| needed[id.0 as usize]) {
        let node = *trace.node(id);
        let mut operands: Vec<NodeId> =
            trace.operands(&node).iter().map(|operand| copies[operand.0 as usize]).collect();
        let last = before.get(&id).map(|last| copies[last.0 as usize]);
        if last.is_none() && operands == trace.operands(&node) {
            continue;
        }
        trace.check_room_for(operands.len() + 2)?;
        if let Some(last) = last {
            trace.set_label(trace.label_of(id));
            run_after(trace, node.op, &mut operands, last)?;
        }
        trace.set_label(trace.label_of(id));
        copies[id.0 as usize] = trace.copy(id, &operands);
    }
    trace.set_label(outer);
    values.iter_mut().flat_map(|list| list.iter_mut()).for_each(|id| *id = copies[id.0 as usize]);
    Ok(())
}

/// Makes the operands of a call, or of an application of computations with effects, depend on the last result of the
/// call before.
fn run_after(trace: &mut Trace, op: Op, operands: &mut Vec<NodeId>, last: NodeId) -> Result<()> {
    match op {
        Op::Kernel => operands.push(last),
        // XLA replaces these by their bodies, in which any operand may be the one on which a call depends.
        Op::Call | Op::Custom | Op::ShardMap => wait_for(trace, operands, last)?,
        _ => {
            let first = operands.len().min(1);
            wait_for(trace, &mut operands[..first], last)?;
        }
    }
    Ok(())
}

/// Makes values depend on the last result of a call.
pub fn wait_for(trace: &mut Trace, values: &mut [NodeId], last: NodeId) -> Result<()> {
    let all = [&*values, &[last]].concat();
    let after = optimization_barrier(trace, &all)?;
    values.copy_from_slice(&after[..values.len()]);
    Ok(())
}
