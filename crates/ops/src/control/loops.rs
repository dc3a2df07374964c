//! Loops that operations of the library record. Bodies are recorded in traces of their own; values from outside are
//! passed to them.

use super::apply::{Applied, scan, while_loop};
use super::derivative::leaves;
use base::error::Result;
use base::types::TensorType;
use ir::{Body, NodeId, Trace, take_closed_body};
use std::sync::Arc;

/// Records a loop. `goes_on` gives a pred scalar of the carried values and the given ones; `step` gives the next carried
/// values.
pub(crate) fn repeat_while(
    trace: &mut Trace,
    carried: &[NodeId],
    given: &[NodeId],
    goes_on: impl FnOnce(&mut Trace, &[NodeId], &[NodeId]) -> Result<NodeId>,
    step: impl FnOnce(&mut Trace, &[NodeId], &[NodeId]) -> Result<Vec<NodeId>>,
) -> Result<Vec<NodeId>> {
    let (of_carried, of_given) = (types(trace, carried), types(trace, given));
    let condition = body(&of_carried, &of_given, |trace, carried, given| Ok(vec![goes_on(trace, carried, given)?]))?;
    let step = body(&of_carried, &of_given, step)?;
    let applied = |body| Applied { body, captures: given };
    while_loop(trace, &applied(&condition), &applied(&step), carried)
}

/// Records a scan over the first axis of arrays. `step` gives the next carried values of the carried ones, the slices and
/// the given values.
pub(crate) fn scan_over(
    trace: &mut Trace,
    carried: &[NodeId],
    arrays: &[NodeId],
    given: &[NodeId],
    length: i64,
    step: impl FnOnce(&mut Trace, &[NodeId], &[NodeId], &[NodeId]) -> Result<Vec<NodeId>>,
) -> Result<Vec<NodeId>> {
    let slices = types(trace, arrays).into_iter().map(|mut ty| {
        ty.dims.remove(0);
        ty
    });
    let parameters: Vec<TensorType> = types(trace, carried).into_iter().chain(slices).collect();
    let of_given = types(trace, given);
    let body = body(&parameters, &of_given, |trace, parameters, given| {
        let (carried, slices) = parameters.split_at(carried.len());
        step(trace, carried, slices, given)
    })?;
    scan(trace, &Applied { body: &body, captures: given }, carried, arrays, length, false)
}

fn types(trace: &Trace, nodes: &[NodeId]) -> Vec<TensorType> {
    nodes.iter().map(|&node| trace.ty(node)).collect()
}

/// Returns a body of parameters and captures of these types.
pub(crate) fn body(
    parameters: &[TensorType],
    captures: &[TensorType],
    record: impl FnOnce(&mut Trace, &[NodeId], &[NodeId]) -> Result<Vec<NodeId>>,
) -> Result<Arc<Body>> {
    let mut trace = Trace::new();
    let (parameters, captures) = (leaves(&mut trace, parameters), leaves(&mut trace, captures));
    let results = record(&mut trace, &parameters, &captures)?;
    take_closed_body(&trace, &parameters, &captures, &results)
}
