//! Computations with derivatives of their own, and marks on values for derivatives: stopped gradients, checkpoint names.

use super::apply::{self, Applied};
use crate::emit::Emitter;
use crate::error;
use crate::error::{Error, Result};
use crate::ir::{Body, NodeId, Op, Trace, attributes, members, numbered, take_closed_body};
use crate::native::Array;
use crate::ops;
use crate::ops::control::lower;
use crate::ops::definition::{Call, Definition, InPlace, Native};
use crate::ops::rules::{
    Batching, Derivative, Forward, Site, is_differentiable, no_derivative, with_batch_axis, zeros,
};
use crate::types::TensorType;
use std::sync::Arc;

/// Definition of `stop_gradient`: returns its operand, which derivatives treat as a constant.
pub(in crate::ops) const STOP_GRADIENT: Definition = Definition {
    name: "stop_gradient",
    stablehlo: "",
    function: "lxla_stop_gradient",
    dtypes: "all",
    lower: identity,
    native: Native::One(|call| Ok(call.operands[0].clone())),
    in_place: InPlace::Elementwise,
    derivative: Derivative::Zero,
    batching: Batching::Elementwise,
    ..Definition::DEFAULT
};

/// Definition of `checkpoint_name`: returns its operand, which a checkpoint policy can save by the name.
pub(in crate::ops) const CHECKPOINT_NAME: Definition = Definition {
    name: "checkpoint_name",
    function: "lxla_checkpoint_name",
    derivative: Derivative::Linear {
        jvp: |_, _, tangent| Ok(Some(tangent)),
        vjp: |_, _, cotangent| Ok(Some(cotangent)),
    },
    ..STOP_GRADIENT
};

/// Definition of a computation with rules of its own.
pub(in crate::ops) const CUSTOM: Definition = Definition {
    name: "computation_with_rule",
    stablehlo: "func.call",
    function: "lxla_computation_with_vjp",
    dtypes: "all",
    lower: lower_custom,
    native: Native::Several(native_custom),
    derivative: Derivative::Several { jvp, vjp },
    batching: Batching::Several(batch),
    ..Definition::DEFAULT
};

attributes! {
    /// Attributes of `checkpoint_name`.
    pub struct CheckpointNameAttributes {
        /// The name.
        pub name: String,
    }

    /// Attributes of a computation with rules of its own.
    pub struct CustomAttributes {
        /// Number of captures of each body.
        pub captured: Vec<usize>,
        /// Rule that the bodies after the first one are.
        pub kind: CustomKind,
        /// Index of the body that is applied: the computation, or its forward pass.
        pub applied: usize,
    }
}

numbered! {
    /// Rule of a computation.
    CustomKind, "kind", "rule", {
        Vjp = 1 => "vjp",
        Jvp = 2 => "jvp",
    }
}

members!(CustomKind);

/// Records `x`, whose derivative is zero.
pub fn stop_gradient(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    let node = *trace.node(x);
    Ok(trace.operation(Op::StopGradient, node.dtype, node.shape, &[x]))
}

/// Records `x` with a name.
pub fn checkpoint_name(trace: &mut Trace, x: NodeId, name: &str) -> Result<NodeId> {
    if name.is_empty() {
        return Err(error!(InvalidArgument, "name: it is empty"));
    }
    let node = *trace.node(x);
    let attributes = CheckpointNameAttributes { name: name.to_string() };
    Ok(trace.operation_with_attributes(Op::CheckpointName, node.dtype, node.shape, &[x], &attributes))
}

/// Name of a node that is a checkpoint name.
pub fn checkpoint_name_of(trace: &Trace, id: NodeId) -> String {
    trace.attributes::<CheckpointNameAttributes>(trace.node(id)).name
}

/// Writes nothing: the value has the name of the operand.
fn identity(e: &mut Emitter, at: usize) {
    let name = e.name(e.instruction(at).operands[0]);
    e.rename(at, name);
}

/// Records the application of a computation with rules to arguments: `bodies` are the computation, then the rules.
pub fn custom_call_of(
    trace: &mut Trace,
    kind: CustomKind,
    bodies: &[Applied],
    arguments: &[NodeId],
) -> Result<Vec<NodeId>> {
    let captured: Vec<usize> = bodies.iter().map(|applied| applied.captures.len()).collect();
    let mut operands = arguments.to_vec();
    bodies.iter().for_each(|applied| operands.extend_from_slice(applied.captures));
    let all: Vec<&Arc<Body>> = bodies.iter().map(|applied| applied.body).collect();
    let attributes = CustomAttributes { captured, kind, applied: 0 };
    Ok(trace.application(Op::Custom, &operands, &attributes, &all, bodies[0].body.results()))
}

/// Positions of the operands that the applied body takes: the arguments, then its captures.
fn taken(attributes: &CustomAttributes, operands: usize) -> Vec<usize> {
    let total: usize = attributes.captured.iter().sum();
    let explicit = operands - total;
    let before: usize = attributes.captured[..attributes.applied].iter().sum();
    let start = explicit + before;
    (0..explicit).chain(start..start + attributes.captured[attributes.applied]).collect()
}

fn lower_custom(e: &mut Emitter, at: usize) {
    let (value, name) = (e.instruction(at), e.name_of(at));
    let attributes: CustomAttributes = value.attributes();
    let positions: Vec<usize> =
        taken(&attributes, value.operands.len()).into_iter().map(|i| value.operands[i]).collect();
    let (names, _) = e.listed(&positions);
    lower::apply(e, &name, &value.bodies[attributes.applied], &names);
}

fn native_custom(call: &Call) -> Result<Vec<Array>> {
    let attributes: CustomAttributes = call.attributes();
    let operands: Vec<Array> =
        taken(&attributes, call.operands.len()).into_iter().map(|i| call.operands[i].clone()).collect();
    (call.apply)(attributes.applied, &operands)
}

/// The arguments of a site, and the captures of each of its bodies.
fn parts(site: &Site) -> (CustomAttributes, Vec<NodeId>, Vec<Vec<NodeId>>) {
    let attributes: CustomAttributes = site.attributes();
    let explicit = site.operands.len() - attributes.captured.iter().sum::<usize>();
    let (arguments, mut rest) = site.operands.split_at(explicit);
    let captures = attributes.captured.iter().map(|&count| {
        let (own, others) = rest.split_at(count);
        rest = others;
        own.to_vec()
    });
    let captures = captures.collect();
    (attributes, arguments.to_vec(), captures)
}

/// Tangents, by the rule given.
fn jvp(site: &mut Site, tangents: &[Option<NodeId>]) -> Result<Forward> {
    let (attributes, arguments, captures) = parts(site);
    let explicit = arguments.len();
    match attributes.kind {
        // The forward pass, of a derivative that is differentiated again.
        CustomKind::Vjp if attributes.applied == 1 => {
            let positions = taken(&attributes, site.operands.len());
            let primals: Vec<NodeId> = positions.iter().map(|&i| site.operands[i]).collect();
            let given: Vec<Option<NodeId>> = positions.iter().map(|&i| tangents[i]).collect();
            let (body, transforms) = (site.bodies[1].clone(), site.transforms);
            let (results, tangents) = transforms.jvp(site.trace, &body, &primals, &given)?;
            Ok(Forward { results: Some(results), tangents })
        }
        CustomKind::Vjp => Err(no_derivative("forward mode of a computation with a vjp of its own")),
        CustomKind::Jvp => {
            check_captures(&tangents[explicit..])?;
            let mut all = arguments.clone();
            for (i, &argument) in arguments.iter().enumerate() {
                let ty = site.trace.ty(argument);
                if is_differentiable(ty.dtype) {
                    all.push(match tangents[i] {
                        Some(tangent) => tangent,
                        None => zeros(site.trace, &ty)?,
                    });
                }
            }
            let rule = Applied { body: &site.bodies[1].clone(), captures: &captures[1] };
            let mut results = apply::call(site.trace, &rule, &all)?;
            let count = site.bodies[0].results().len();
            let mut made = results.split_off(count).into_iter();
            let of = |ty: &TensorType| if is_differentiable(ty.dtype) { made.next() } else { None };
            let tangents = site.bodies[0].results().iter().map(of).collect();
            Ok(Forward { results: Some(results), tangents })
        }
    }
}

/// Returns an error if a captured value has a tangent, of which a rule for the parameters alone knows nothing.
fn check_captures(tangents: &[Option<NodeId>]) -> Result<()> {
    if tangents.iter().any(Option::is_some) {
        return Err(error!(
            Unimplemented,
            "a computation with a rule of its own has no derivative by what it captured; make it a parameter"
        ));
    }
    Ok(())
}

/// Cotangents: the forward pass is applied instead of the computation, and the backward pass to its residuals.
fn vjp(site: &mut Site, cotangents: &[Option<NodeId>], wanted: &[bool]) -> Result<Vec<Option<NodeId>>> {
    let (attributes, arguments, captures) = parts(site);
    let explicit = arguments.len();
    match attributes.kind {
        CustomKind::Vjp if cotangents.len() > site.bodies[0].results().len() => {
            // Residuals have cotangents: the forward pass of a derivative that is differentiated again.
            let positions = taken(&attributes, site.operands.len());
            let primals: Vec<NodeId> = positions.iter().map(|&i| site.operands[i]).collect();
            let body = site.bodies[1].clone();
            let first = NodeId(site.trace.len() as u32);
            let results = site.trace.replay(&body, &primals);
            pulled(site, first, &results, cotangents, wanted, &positions)
        }
        CustomKind::Vjp => {
            if wanted[explicit..].contains(&true) {
                check_captures(&[Some(site.node)])?;
            }
            let primal = site.bodies[0].clone();
            let (forward, backward) = (site.bodies[1].clone(), site.bodies[2].clone());
            let count = primal.results().len();
            let residuals = forward.results()[count..].to_vec();
            let applied = CustomAttributes { applied: 1, ..attributes };
            let bodies = [&primal, &forward, &backward];
            let mut given = site.trace.extend_results(site.node, &applied, &bodies, count, &residuals);
            for (i, ty) in primal.results().iter().enumerate().filter(|(_, ty)| is_differentiable(ty.dtype)) {
                given.push(match cotangents.get(i).copied().flatten() {
                    Some(cotangent) => cotangent,
                    None => zeros(site.trace, ty)?,
                });
            }
            let rule = Applied { body: &backward, captures: &captures[2] };
            let mut made = apply::call(site.trace, &rule, &given)?.into_iter();
            let mut gradients = Vec::with_capacity(wanted.len());
            for (i, wanted) in wanted.iter().enumerate() {
                let has = i < explicit && is_differentiable(site.operand_ty(i).dtype);
                gradients.push(if has { made.next().filter(|_| *wanted) } else { None });
            }
            Ok(gradients)
        }
        CustomKind::Jvp => {
            let mut starts = vec![None; wanted.len()];
            for i in (0..explicit).filter(|&i| wanted[i]) {
                let ty = site.operand_ty(i);
                starts[i] = Some(zeros(site.trace, &ty)?);
            }
            if wanted[explicit..].contains(&true) {
                check_captures(&[Some(site.node)])?;
            }
            let tangents = jvp(site, &starts)?.tangents;
            let outputs = tangents.iter().zip(cotangents).filter_map(|(tangent, c)| Some((((*tangent)?), ((*c)?))));
            let outputs: Vec<(NodeId, NodeId)> = outputs.collect();
            let inputs: Vec<NodeId> = starts.iter().flatten().copied().collect();
            let transforms = site.transforms;
            let mut found = transforms.vjp(site.trace, &outputs, &inputs)?.into_iter();
            Ok(starts.iter().map(|start| start.and_then(|_| found.next().flatten())).collect())
        }
    }
}

fn pulled(
    site: &mut Site,
    first: NodeId,
    results: &[NodeId],
    cotangents: &[Option<NodeId>],
    wanted: &[bool],
    positions: &[usize],
) -> Result<Vec<Option<NodeId>>> {
    let outputs: Vec<(NodeId, NodeId)> =
        results.iter().zip(cotangents).filter_map(|(&result, cotangent)| cotangent.map(|c| (result, c))).collect();
    let inputs: Vec<NodeId> = positions.iter().filter(|&&i| wanted[i]).map(|&i| site.operands[i]).collect();
    let transforms = site.transforms;
    let found = transforms.vjp_since(site.trace, &outputs, &inputs, first)?;
    let mut gradients = vec![None; wanted.len()];
    for (&i, gradient) in positions.iter().filter(|&&i| wanted[i]).zip(found) {
        // An operand given several times has its whole cotangent at the first place.
        let is_first = !positions
            .iter()
            .take_while(|&&before| before != i)
            .any(|&before| wanted[before] && site.operands[before] == site.operands[i]);
        gradients[i] = gradient.filter(|_| is_first);
    }
    Ok(gradients)
}

/// Batches the computation and its rules.
fn batch(site: &mut Site, mapped: &[bool], size: i64) -> Result<Vec<(NodeId, bool)>> {
    let (attributes, mut arguments, captures) = parts(site);
    if mapped[arguments.len()..].contains(&true) {
        return Err(error!(
            Unimplemented,
            "a computation with a rule of its own cannot be batched over what it captured; make it a parameter"
        ));
    }
    for (argument, _) in arguments.iter_mut().zip(mapped).filter(|(_, mapped)| !**mapped) {
        *argument = with_batch_axis(site.trace, *argument, size)?;
    }
    let bodies = site.bodies.clone();
    let mut made = Vec::with_capacity(bodies.len());
    for body in &bodies {
        made.push(over_batch(site, body, size)?);
    }
    let mut operands = arguments;
    captures.iter().for_each(|own| operands.extend_from_slice(own));
    let all: Vec<&Arc<Body>> = made.iter().collect();
    let results = site.trace.application(Op::Custom, &operands, &attributes, &all, made[attributes.applied].results());
    Ok(results.into_iter().map(|id| (id, true)).collect())
}

/// The body with a batch axis on every parameter and result.
fn over_batch(site: &Site, body: &Body, size: i64) -> Result<Arc<Body>> {
    let mut trace = Trace::new();
    let mut parameters = Vec::with_capacity(body.parameters().len());
    for ty in body.parameters() {
        let mut ty = ty.clone();
        ty.dims.insert(0, size);
        parameters.push(trace.parameter(ty));
    }
    let captures: Vec<NodeId> = body.captures().iter().map(|ty| trace.parameter(ty.clone())).collect();
    let mask: Vec<bool> = parameters.iter().map(|_| true).chain(captures.iter().map(|_| false)).collect();
    let made = site.transforms.batch(&mut trace, body, &[&parameters[..], &captures].concat(), &mask, size)?;
    let mut results = Vec::with_capacity(made.len());
    for (id, is_mapped) in made {
        results.push(if is_mapped { id } else { ops::rules::with_batch_axis(&mut trace, id, size)? });
    }
    Ok(take_closed_body(&trace, &parameters, &captures, &results))
}
