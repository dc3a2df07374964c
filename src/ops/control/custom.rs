//! Computations with derivatives or a batching of their own, and marks on values for derivatives: stopped gradients,
//! checkpoint names.

use super::apply::{self, Applied};
use super::batch;
use super::derivative::{jvp_of_applied, vjp_of_applied, with_cotangents};
use crate::emit::Emitter;
use crate::error;
use crate::error::{Error, Result};
use crate::ir::{Body, NodeId, Op, Trace, attributes, members, numbered};
use crate::native::Array;
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
    #[cfg(feature = "engine-xla-rs")]
    build: crate::ops::elementwise::xla_rs::identity_of,
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
    #[cfg(feature = "engine-xla-rs")]
    build: crate::ops::control::xla_rs::custom,
    native: Native::Several(native_custom),
    derivative: Derivative::Several { jvp, vjp },
    batching: Batching::Several(batched),
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
        Vmap = 3 => "vmap",
        // The rule, for batches, is out of use, because the computation was differentiated: it is a call.
        Plain = 4 => "none",
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
pub(super) fn taken(attributes: &CustomAttributes, operands: usize) -> Vec<usize> {
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

/// Positions and nodes of the operands that the applied body takes.
fn operands_taken(site: &Site, attributes: &CustomAttributes) -> (Vec<usize>, Vec<NodeId>) {
    let positions = taken(attributes, site.operands.len());
    let nodes = positions.iter().map(|&i| site.operands[i]).collect();
    (positions, nodes)
}

/// Tangents, by the rule given.
fn jvp(site: &mut Site, tangents: &[Option<NodeId>]) -> Result<Forward> {
    let (attributes, arguments, captures) = parts(site);
    let explicit = arguments.len();
    match attributes.kind {
        // The forward pass, of a derivative that is differentiated again.
        CustomKind::Vjp if attributes.applied == 1 => {
            let (positions, primals) = operands_taken(site, &attributes);
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
        // The derivative is that of the computation, whatever its rule captured.
        CustomKind::Vmap | CustomKind::Plain => {
            let (positions, primals) = operands_taken(site, &attributes);
            let given: Vec<Option<NodeId>> = positions.iter().map(|&i| tangents[i]).collect();
            if given.iter().all(Option::is_none) {
                return Ok(Forward { results: None, tangents: vec![None; site.results.len()] });
            }
            let body = site.bodies[0].clone();
            jvp_of_applied(site, &body, &primals, &given)
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
            let (positions, primals) = operands_taken(site, &attributes);
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
        CustomKind::Vmap | CustomKind::Plain => {
            let (positions, primals) = operands_taken(site, &attributes);
            let asked: Vec<bool> = positions.iter().map(|&i| wanted[i]).collect();
            let mut gradients = vec![None; wanted.len()];
            if !asked.contains(&true) {
                return Ok(gradients);
            }
            // The forward pass may return residuals, which the rule does not: from now on, batches of any size go without
            // it.
            let plain = CustomAttributes { kind: CustomKind::Plain, ..attributes };
            let (body, rule) = (site.bodies[0].clone(), site.bodies[1].clone());
            let count = body.results().len();
            site.trace.extend_results(site.node, &plain, &[&body, &rule], count, &[]);
            let found = vjp_of_applied(site, &body, &primals, cotangents, &asked, |site, forward, added| {
                site.trace.extend_results(site.node, &plain, &[forward, &rule], count, added)
            })?;
            positions.iter().zip(found).for_each(|(&i, gradient)| gradients[i] = gradient);
            Ok(gradients)
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
    let outputs = with_cotangents(results, cotangents);
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

/// Batches the computation: by its batching rule, or together with its other rules.
fn batched(site: &mut Site, mapped: &[bool], size: i64) -> Result<Vec<(NodeId, bool)>> {
    let (attributes, mut arguments, captures) = parts(site);
    if attributes.kind == CustomKind::Plain {
        let (positions, operands) = operands_taken(site, &attributes);
        let mask: Vec<bool> = positions.iter().map(|&i| mapped[i]).collect();
        let body = site.bodies[0].clone();
        return batch::applied(site, &body, &operands, &mask, size);
    }
    if mapped[arguments.len()..].contains(&true) {
        return Err(error!(
            Unimplemented,
            "a computation with a rule of its own cannot be batched over what it captured; make it a parameter"
        ));
    }
    let of_rule = attributes.kind == CustomKind::Vmap;
    if of_rule {
        check_size(&site.bodies[1], size)?;
    }
    for (argument, _) in arguments.iter_mut().zip(mapped).filter(|(_, mapped)| !**mapped) {
        *argument = with_batch_axis(site.trace, *argument, size)?;
    }
    let results = if of_rule {
        let rule = Applied { body: &site.bodies[1].clone(), captures: &captures[1] };
        apply::call(site.trace, &rule, &arguments)?
    } else {
        over_batch(site, attributes, &arguments, &captures, size)?
    };
    Ok(results.into_iter().map(|id| (id, true)).collect())
}

/// Returns an error unless a batching rule is for batches of this size.
fn check_size(rule: &Body, size: i64) -> Result<()> {
    let wanted = rule.parameters()[0].dims[0];
    if size != wanted {
        return Err(error!(
            InvalidArgument,
            "a computation has a batching rule (lxla_computation_with_vmap) for a batch of {wanted}; size is {size}"
        ));
    }
    Ok(())
}

/// Records the application of the computation and its derivative over a batch, which all arguments have.
fn over_batch(
    site: &mut Site,
    attributes: CustomAttributes,
    arguments: &[NodeId],
    captures: &[Vec<NodeId>],
    size: i64,
) -> Result<Vec<NodeId>> {
    let mut made = Vec::with_capacity(site.bodies.len());
    for body in &site.bodies {
        let mut mask = vec![true; body.parameters().len()];
        mask.resize(mask.len() + body.captures().len(), false);
        let everywhere = vec![true; body.results().len()];
        made.push(batch::batched(site.transforms, body, &mask, Some(&everywhere), size)?.body.clone());
    }
    let operands = [arguments, &captures.concat()].concat();
    let all: Vec<&Arc<Body>> = made.iter().collect();
    Ok(site.trace.application(Op::Custom, &operands, &attributes, &all, made[attributes.applied].results()))
}
