//! A traced computation and its calls.

use crate::device::{self, Device, DeviceState, TensorHandle, Value, common_device};
use crate::error;
use crate::error::Result;
use crate::ir::{Body, NodeId, take_body};
use crate::ops::{self, Applied};
use crate::stack::MOST_DEPTH;
use crate::tensor::{self, finish_all, to_record};
use crate::types::TensorType;
use std::sync::Arc;

/// See the module's documentation. It belongs to one device. What it captured is held by tensors of its own, so that no
/// step consumes it while the computation lives.
pub struct Computation {
    device: &'static Device,
    body: Arc<Body>,
    captures: Tensors,
}

/// Tensors that nobody else has a handle on.
struct Tensors(Vec<TensorHandle>);

impl Drop for Tensors {
    fn drop(&mut self) {
        for &handle in &self.0 {
            let _ = device::release(handle);
        }
    }
}

impl Computation {
    /// Takes the computation of `results` from `params`, which are different placeholders, out of what was recorded.
    pub fn trace(params: &[TensorHandle], results: &[TensorHandle]) -> Result<Computation> {
        if results.is_empty() {
            return Err(error!(InvalidArgument, "n_results: 0 given; want at least 1"));
        }
        let device = common_place(&named(&[Given::List("params", params), Given::List("results", results)]))?;
        let mut state = to_record(device)?;
        if state.is_native() {
            return Err(error!(InvalidArgument, "results: they are on cpu; computations are traced on XLA devices"));
        }
        let params = parameters(&mut state, params)?;
        let results = nodes(&mut state, "results", results)?;
        let (body, captured) = take_body(&state.trace, &params, &results);
        if body.depth() > MOST_DEPTH {
            return Err(error!(
                InvalidArgument,
                "results: computations call each other {} deep in them; want at most {MOST_DEPTH}",
                body.depth()
            ));
        }
        for &id in &captured {
            if let Some(failure) = state.trace.data(state.trace.node(id)).and_then(|data| data.failure()) {
                return Err(failure.context("results: they need a value that is lost"));
            }
        }
        let mut captures = Vec::with_capacity(captured.len());
        let made: Result<()> = captured.into_iter().try_for_each(|id| {
            captures.push(state.new_tensor_at(id)?);
            Ok(())
        });
        drop(state);
        let captures = Tensors(captures);
        made.map(|()| Computation { device, body, captures })
    }

    /// Types of its parameters.
    pub fn parameters(&self) -> &[TensorType] {
        self.body.parameters()
    }

    /// Types of its results.
    pub fn results(&self) -> &[TensorType] {
        self.body.results()
    }

    /// How many values it captured.
    pub fn captured(&self) -> usize {
        self.captures.0.len()
    }

    /// A new tensor with the value that it captured at this place.
    pub fn capture(&self, index: usize) -> Result<TensorHandle> {
        match self.captures.0.get(index) {
            Some(&handle) => tensor::snapshot(handle),
            None => Err(error!(InvalidArgument, "index: {index} given; {} values were captured", self.captured())),
        }
    }

    /// What it computes.
    pub fn body(&self) -> &Arc<Body> {
        &self.body
    }

    /// The nodes of what it captured, in the trace of the device on which it is applied.
    pub(super) fn captures(&self, state: &mut DeviceState) -> Result<Vec<NodeId>> {
        nodes(state, "captured", &self.captures.0)
    }

    /// Records its application to arguments; gives its results.
    pub fn call(&self, arguments: &[TensorHandle]) -> Result<Vec<TensorHandle>> {
        let device = place(&[("the computation", self)], &[Given::List("args", arguments)])?;
        let mut state = to_record(device)?;
        let arguments = nodes(&mut state, "args", arguments)?;
        let captures = self.captures(&mut state)?;
        let results = ops::call(&mut state.trace, &Applied { body: &self.body, captures: &captures }, &arguments)?;
        finish_all(state, &results)
    }
}

/// Operands of a call, as messages name them.
#[derive(Clone, Copy)]
pub(super) enum Given<'a> {
    One(&'a str, TensorHandle),
    List(&'a str, &'a [TensorHandle]),
}

/// Each with its name.
fn named(given: &[Given]) -> Vec<(String, TensorHandle)> {
    let of_one = |given: &Given| match *given {
        Given::One(name, handle) => vec![(name.to_string(), handle)],
        Given::List(name, list) => list.iter().enumerate().map(|(i, &handle)| (numbered(name, i), handle)).collect(),
    };
    given.iter().flat_map(of_one).collect()
}

/// Their one device.
fn common_place(named: &[(String, TensorHandle)]) -> Result<&'static Device> {
    let named: Vec<(&str, TensorHandle)> = named.iter().map(|(name, handle)| (name.as_str(), *handle)).collect();
    common_device(&named)
}

/// Where computations are applied: on the one device of the tensors, or on their own if there are none. What captured
/// nothing may be applied on any device of its environment.
pub(super) fn place(computations: &[(&str, &Computation)], given: &[Given]) -> Result<&'static Device> {
    let named = named(given);
    let device = if named.is_empty() { computations[0].1.device } else { common_place(&named)? };
    for (name, computation) in computations.iter().filter(|(_, computation)| !std::ptr::eq(computation.device, device))
    {
        let (own, other) = (computation.device.state().place(), device.state().place());
        let is_near = matches!((own, other), (Some(own), Some(other)) if own.0 == other.0);
        if !is_near || computation.captured() > 0 {
            return Err(error!(
                InvalidArgument,
                "{}: on another device, or in another environment, than {name}, which captured {} values there",
                named.first().map_or("the first computation", |(name, _)| name),
                computation.captured()
            ));
        }
    }
    Ok(device)
}

/// The leaves of params; an error for what is no placeholder, or is given twice.
fn parameters(state: &mut DeviceState, params: &[TensorHandle]) -> Result<Vec<NodeId>> {
    let mut leaves: Vec<NodeId> = Vec::with_capacity(params.len());
    for (i, &handle) in params.iter().enumerate() {
        let slot = state.check(&numbered("params", i), handle)?;
        let is_placeholder = matches!(state.value(slot), Value::Data(data) if data.is_placeholder());
        if !is_placeholder {
            let ty = state.ty(slot);
            return Err(error!(InvalidArgument, "params: params[{i}], {ty}, has a value; want a placeholder"));
        }
        let leaf = state.operand("params", handle)?;
        if let Some(first) = leaves.iter().position(|&known| known == leaf) {
            return Err(error!(InvalidArgument, "params: params[{i}] is the same placeholder as params[{first}]"));
        }
        leaves.push(leaf);
    }
    Ok(leaves)
}

fn numbered(name: &str, i: usize) -> String {
    format!("{name}[{i}]")
}

/// The nodes of tensors of one device.
pub(super) fn nodes(state: &mut DeviceState, name: &str, tensors: &[TensorHandle]) -> Result<Vec<NodeId>> {
    let node = |(i, &handle): (usize, &TensorHandle)| {
        // The name is needed only where there is an error.
        state.operand(name, handle).or_else(|_| state.operand(&numbered(name, i), handle))
    };
    tensors.iter().enumerate().map(node).collect()
}
