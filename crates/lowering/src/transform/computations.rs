//! Transformations of computations: derived bodies. Each has the captures of the given body, in the same order.

use super::Transformer;
use super::batch::{batch_at, batch_body, move_axis};
use super::forward::push_body;
use super::residuals::{recomputed_from, residuals};
use super::reverse::pull_back;
use base::error;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType};
use ir::{Body, NodeId, Trace, take_closed_body};
use ops::control::{self, Checkpoint};
use ops::creation;
use ops::rules::{Tangent, is_differentiable};
use ops::tangents::{or_zeros, zeros};
use std::sync::Arc;

/// The forward and the backward pass of a computation.
pub struct Differentiated {
    /// Parameters to results, then residuals.
    pub forward: Arc<Body>,
    /// Residuals, then one cotangent for each differentiable result, to gradients.
    pub backward: Arc<Body>,
    /// Number of residuals.
    pub residuals: usize,
}

/// Derivatives that a caller requests of a computation.
pub struct Wanted<'a> {
    /// Parameters, as indices.
    pub parameters: &'a [usize],
    /// Whether the gradients of the differentiable captures are wanted, after those of the parameters.
    pub captures: bool,
}

/// Leaves for the parameters and the captures of a body.
struct Leaves {
    parameters: Vec<NodeId>,
    captures: Vec<NodeId>,
}

impl Leaves {
    fn of(trace: &mut Trace, body: &Body) -> Leaves {
        let mut leaves = |types: &[TensorType]| types.iter().map(|ty| trace.parameter(ty.clone())).collect();
        Leaves { parameters: leaves(body.parameters()), captures: leaves(body.captures()) }
    }

    fn all(&self) -> Vec<NodeId> {
        [&self.parameters[..], &self.captures].concat()
    }

    /// Leaves of the parameters and captures whose derivatives are wanted.
    fn wanted(&self, trace: &Trace, wanted: &Wanted) -> Vec<NodeId> {
        let mut inputs: Vec<NodeId> = wanted.parameters.iter().map(|&i| self.parameters[i]).collect();
        if wanted.captures {
            inputs.extend(self.captures.iter().filter(|id| is_differentiable(trace.node(**id).dtype)));
        }
        inputs
    }
}

/// Returns the body that maps the parameters, then one tangent for each wanted parameter, to the results, then one
/// tangent for each differentiable result.
pub fn jvp(transformer: &Transformer, body: &Body, wrt: &[usize]) -> Result<Arc<Body>> {
    let mut trace = Trace::new();
    let leaves = Leaves::of(&mut trace, body);
    let primals = leaves.all();
    let mut tangents = vec![None; primals.len()];
    let mut parameters = leaves.parameters.clone();
    for &index in wrt {
        let tangent = trace.parameter(body.parameters()[index].clone());
        tangents[index] = Some(tangent);
        parameters.push(tangent);
    }
    let (mut results, tangents) = push_body(transformer, &mut trace, body, &primals, &tangents)?;
    let differentiable = |(id, _): &(NodeId, Tangent)| is_differentiable(trace.node(*id).dtype);
    let (like, tangents): (Vec<NodeId>, Vec<Tangent>) =
        results.iter().copied().zip(tangents).filter(differentiable).unzip();
    results.extend(or_zeros(&mut trace, &tangents, &like)?);
    take_closed_body(&trace, &parameters, &leaves.captures, &results)
}

/// Returns the body without captures whose parameters are those of `body`, then its captures.
pub fn lifted(body: &Body) -> Result<Arc<Body>> {
    let mut trace = Trace::new();
    let leaves = Leaves::of(&mut trace, body).all();
    let results = trace.replay(body, &leaves)?;
    take_closed_body(&trace, &leaves, &[], &results)
}

/// A body in a trace together with its backward pass.
struct Joint {
    trace: Trace,
    leaves: Leaves,
    results: Vec<NodeId>,
    /// Leaves for the cotangents of the differentiable results.
    cotangents: Vec<NodeId>,
    gradients: Vec<NodeId>,
}

impl Joint {
    /// Records the body and its backward pass. Only the first `count` results are differentiated.
    fn of(transformer: &Transformer, body: &Body, wanted: &Wanted, count: usize) -> Result<Joint> {
        let mut trace = Trace::new();
        let leaves = Leaves::of(&mut trace, body);
        let results = trace.replay(body, &leaves.all())?;
        let mut cotangents = Vec::new();
        let mut outputs = Vec::new();
        for (&result, ty) in results.iter().zip(body.results()).take(count) {
            if is_differentiable(ty.dtype) {
                let cotangent = trace.parameter(ty.clone());
                cotangents.push(cotangent);
                outputs.push((result, cotangent));
            }
        }
        let inputs = leaves.wanted(&trace, wanted);
        let gradients = gradients(transformer, &mut trace, &outputs, &inputs)?;
        Ok(Joint { trace, leaves, results, cotangents, gradients })
    }
}

/// Records the gradients of the inputs; zeros for an input on which no output depends.
fn gradients(
    transformer: &Transformer,
    trace: &mut Trace,
    outputs: &[(NodeId, NodeId)],
    inputs: &[NodeId],
) -> Result<Vec<NodeId>> {
    let found = pull_back(transformer, trace, outputs, inputs)?;
    or_zeros(trace, &found, inputs)
}

/// Returns the forward and the backward pass of a body.
pub fn vjp(transformer: &Transformer, body: &Body, wanted: &Wanted) -> Result<Differentiated> {
    passes(transformer, body, wanted, body.results().len())
}

/// Returns the backward pass of a body with nothing saved, in the form of `Exported.vjp` of JAX: it maps the
/// parameters, then one cotangent for each result, to one cotangent for each parameter. A cotangent of a value of
/// integers is a pred of its shape; those returned are false.
pub fn pulled_back(transformer: &Transformer, body: &Body) -> Result<Arc<Body>> {
    let pred = |ty: &TensorType| TensorType { dtype: DType::Pred, dims: ty.dims.clone() };
    let is_wanted = |ty: &TensorType| is_differentiable(ty.dtype);
    let wrt: Vec<usize> = (0..body.parameters().len()).filter(|&i| is_wanted(&body.parameters()[i])).collect();
    let wanted = Wanted { parameters: &wrt, captures: false };
    let Joint { mut trace, leaves, cotangents, gradients, .. } =
        Joint::of(transformer, body, &wanted, body.results().len())?;
    let (mut cotangents, mut gradients) = (cotangents.into_iter(), gradients.into_iter());
    let mut parameters = leaves.parameters;
    for ty in body.results() {
        let cotangent = if is_wanted(ty) { cotangents.next() } else { None };
        parameters.push(cotangent.unwrap_or_else(|| trace.parameter(pred(ty))));
    }
    let mut results = Vec::with_capacity(body.parameters().len());
    for ty in body.parameters() {
        let gradient = if is_wanted(ty) { gradients.next() } else { None };
        results.push(gradient.map_or_else(|| zeros(&mut trace, &pred(ty)), Ok)?);
    }
    control::in_recording_order(&mut trace, &[], &mut results)?;
    take_closed_body(&trace, &parameters, &leaves.captures, &results)
}

/// Returns the forward and the backward pass of a body whose first `count` results are differentiated.
fn passes(transformer: &Transformer, body: &Body, wanted: &Wanted, count: usize) -> Result<Differentiated> {
    let mut joint = Joint::of(transformer, body, wanted, count)?;
    let policy = &transformer.checkpoint;
    let saved = residuals(policy, &joint.trace, &joint.leaves.captures, &[], &joint.cotangents, &joint.gradients)?;
    let results = [&joint.results[..], &saved].concat();
    let forward = take_closed_body(&joint.trace, &joint.leaves.parameters, &joint.leaves.captures, &results)?;
    let parameters = [&saved[..], &joint.cotangents].concat();
    control::in_recording_order(&mut joint.trace, &saved, &mut joint.gradients)?;
    let backward = take_closed_body(&joint.trace, &parameters, &joint.leaves.captures, &joint.gradients)?;
    let backward = if *policy == Checkpoint::SaveAll {
        backward
    } else {
        let captures = &joint.leaves.captures;
        let mut held = recomputed_from(&joint.trace, &saved, captures, &joint.cotangents, &joint.gradients);
        // Without residuals, everything is recomputed from the captures.
        let from_captures = held.is_empty();
        held.resize(parameters.len(), true);
        held.resize(parameters.len() + captures.len(), from_captures);
        if joint.cotangents.is_empty() { backward } else { control::held_back(&backward, &held)? }
    };
    Ok(Differentiated { forward, backward, residuals: saved.len() })
}

/// Returns the body that maps the parameters to the results, then the gradients of the first result, a scalar.
pub fn value_and_grad(transformer: &Transformer, body: &Body, wanted: &Wanted) -> Result<Arc<Body>> {
    let mut trace = Trace::new();
    let leaves = Leaves::of(&mut trace, body);
    let mut results;
    if transformer.checkpoint == Checkpoint::SaveAll {
        results = trace.replay(body, &leaves.all())?;
        let one = creation::full(&mut trace, &body.results()[0], ScalarValue::Signed(1))?;
        let inputs = leaves.wanted(&trace, wanted);
        let first = results[0];
        results.extend(gradients(transformer, &mut trace, &[(first, one)], &inputs)?);
    } else {
        let made = passes(transformer, body, wanted, 1)?;
        results = trace.replay(&made.forward, &leaves.all())?;
        let mut arguments = results.split_off(body.results().len());
        arguments.push(creation::full(&mut trace, &body.results()[0], ScalarValue::Signed(1))?);
        arguments.extend_from_slice(&leaves.captures);
        results.extend(trace.replay(&made.backward, &arguments)?);
    }
    control::in_recording_order(&mut trace, &[], &mut results)?;
    take_closed_body(&trace, &leaves.parameters, &leaves.captures, &results)
}

/// Returns the body over a batch of this size. `in_axes` lists the batch axis of each parameter (-1: not mapped),
/// `out_axes` the batch axis of each result (-1: returned without one, if it is not mapped). All axes are in range.
pub fn batched(
    transformer: &Transformer,
    body: &Body,
    in_axes: &[i64],
    out_axes: &[i64],
    size: i64,
) -> Result<Arc<Body>> {
    let mut trace = Trace::new();
    let mut parameters = Vec::with_capacity(in_axes.len());
    let mut arguments = Vec::with_capacity(in_axes.len());
    for (ty, &axis) in body.parameters().iter().zip(in_axes) {
        let mut ty = ty.clone();
        if axis >= 0 {
            ty.dims.insert(axis as usize, size);
        }
        let leaf = trace.parameter(ty);
        parameters.push(leaf);
        arguments.push(if axis > 0 { move_axis(&mut trace, leaf, axis as usize, 0)? } else { leaf });
    }
    let captures: Vec<NodeId> = body.captures().iter().map(|ty| trace.parameter(ty.clone())).collect();
    arguments.extend_from_slice(&captures);
    let mapped: Vec<bool> = in_axes.iter().map(|&axis| axis >= 0).chain(captures.iter().map(|_| false)).collect();
    let made = batch_body(transformer, &mut trace, body, &arguments, &mapped, size)?;
    let mut results = Vec::with_capacity(made.len());
    for (i, (&result, &axis)) in made.iter().zip(out_axes).enumerate() {
        if axis >= 0 {
            results.push(batch_at(&mut trace, result, axis, size)?);
        } else if result.1 {
            return Err(error!(
                InvalidArgument,
                "out_axes: out_axes[{i}] is -1, and result {i} depends on a mapped argument; want an axis of it"
            ));
        } else {
            results.push(result.0);
        }
    }
    take_closed_body(&trace, &parameters, &captures, &results)
}
