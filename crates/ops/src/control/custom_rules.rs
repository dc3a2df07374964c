//! Derivatives and batching of computations with custom rules.

use super::apply::{self, Applied};
use super::batch;
use super::checkpoint_rules;
use super::custom::{CustomAttributes, CustomKind, taken};
use super::derivative::{jvp_of_applied, vjp_of_applied, with_cotangents};
use crate::batch_axis::with_batch_axis;
use crate::rules::{Forward, Site, Tangent, is_differentiable, no_derivative};
use crate::tangents::zeros;
use base::error;
use base::error::Result;
use base::types::TensorType;
use ir::{Body, NodeId, Op};
use std::sync::Arc;

/// Attributes, arguments and the captures of each body of a site.
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

/// Positions and nodes of the operands of the applied body.
fn operands_taken(site: &Site, attributes: &CustomAttributes) -> (Vec<usize>, Vec<NodeId>) {
    let positions = taken(attributes, site.operands.len());
    let nodes = positions.iter().map(|&i| site.operands[i]).collect();
    (positions, nodes)
}

/// Records the tangents, by the custom rule for forward mode if there is one.
pub fn jvp(site: &mut Site, tangents: &[Tangent]) -> Result<Forward> {
    let attributes: CustomAttributes = site.attributes();
    match attributes.kind {
        // The forward pass of a custom derivative, which is differentiated again.
        CustomKind::Vjp | CustomKind::Both if attributes.applied == 1 => jvp_of_taken(site, &attributes, tangents),
        CustomKind::Vjp => Err(no_derivative("forward mode of a computation with a custom vjp")),
        CustomKind::Jvp => jvp_by_rule(site, tangents, 1),
        CustomKind::Both => jvp_by_rule(site, tangents, 3),
        // The derivative is that of the computation, regardless of the captures of the batching rule.
        CustomKind::Vmap | CustomKind::Plain => jvp_of_taken(site, &attributes, tangents),
        CustomKind::Substitute => jvp_of_body(site, 1, tangents),
        CustomKind::Checkpoint => checkpoint_rules::jvp(site, tangents),
    }
}

/// Returns the nodes of all results of a site.
fn all_results(site: &mut Site) -> Vec<NodeId> {
    let types = site.bodies[0].results().to_vec();
    let node = |(number, ty): (usize, &TensorType)| {
        let used = site.results.get(number).copied().flatten();
        used.unwrap_or_else(|| site.trace.result(site.node, number, ty))
    };
    types.iter().enumerate().map(node).collect()
}

/// Records a call of the custom rule for forward mode, which is the body with this number. A rule that takes the results
/// gets those of the site, which have the rule again if they are differentiated.
fn jvp_by_rule(site: &mut Site, tangents: &[Tangent], number: usize) -> Result<Forward> {
    let (_, arguments, captures) = parts(site);
    let with_tangent: Vec<bool> = tangents[arguments.len()..].iter().map(Option::is_some).collect();
    check_captures(&with_tangent)?;
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
    let body = site.bodies[number].clone();
    if body.parameters().len() > all.len() {
        all.extend(all_results(site));
    }
    let rule = Applied { body: &body, captures: &captures[number] };
    let mut results = apply::call(site.trace, &rule, &all)?;
    let count = site.bodies[0].results().len();
    let mut made = results.split_off(count).into_iter();
    let of = |ty: &TensorType| if is_differentiable(ty.dtype) { made.next() } else { None };
    let tangents = site.bodies[0].results().iter().map(of).collect();
    Ok(Forward { results: Some(results), tangents })
}

/// Records the tangents of the applied body, as those of a call.
fn jvp_of_taken(site: &mut Site, attributes: &CustomAttributes, tangents: &[Tangent]) -> Result<Forward> {
    jvp_of_body(site, attributes.applied, tangents)
}

/// Records the tangents of the body with this number, as for a call of the body.
fn jvp_of_body(site: &mut Site, number: usize, tangents: &[Tangent]) -> Result<Forward> {
    let attributes = CustomAttributes { applied: number, ..site.attributes() };
    let (positions, primals) = operands_taken(site, &attributes);
    let given: Vec<Tangent> = positions.iter().map(|&i| tangents[i]).collect();
    if given.iter().all(Option::is_none) {
        return Ok(Forward { results: None, tangents: vec![None; site.results.len()] });
    }
    let body = site.bodies[number].clone();
    jvp_of_applied(site, &body, &primals, &given)
}

/// Returns an error if a captured value in the mask is differentiated: custom rules have derivatives by parameters
/// only.
fn check_captures(differentiated: &[bool]) -> Result<()> {
    if differentiated.contains(&true) {
        return Err(error!(
            Unimplemented,
            "a computation with a custom derivative has none by its captured values; make them parameters \
             (lxla_computation_lift)"
        ));
    }
    Ok(())
}

/// Records the cotangents. For a custom reverse-mode derivative, the forward pass is applied instead of the
/// computation, and the backward pass to its residuals.
pub fn vjp(site: &mut Site, cotangents: &[Tangent], wanted: &[bool]) -> Result<Vec<Tangent>> {
    match site.attributes::<CustomAttributes>().kind {
        CustomKind::Vjp | CustomKind::Both if cotangents.len() > site.bodies[0].results().len() => {
            vjp_of_forward_pass(site, cotangents, wanted)
        }
        CustomKind::Vjp | CustomKind::Both => vjp_by_backward_pass(site, cotangents, wanted),
        CustomKind::Jvp => vjp_by_transpose(site, cotangents, wanted),
        CustomKind::Vmap | CustomKind::Plain | CustomKind::Substitute => vjp_of_computation(site, cotangents, wanted),
        CustomKind::Checkpoint => checkpoint_rules::vjp(site, cotangents, wanted),
    }
}

/// Records the cotangents of a forward pass that is differentiated again: its residuals have cotangents too.
fn vjp_of_forward_pass(site: &mut Site, cotangents: &[Tangent], wanted: &[bool]) -> Result<Vec<Tangent>> {
    let attributes: CustomAttributes = site.attributes();
    let (positions, primals) = operands_taken(site, &attributes);
    let body = site.bodies[1].clone();
    let first = NodeId(site.trace.len() as u32);
    let results = site.trace.replay(&body, &primals)?;
    pulled(site, first, &results, cotangents, wanted, &positions)
}

/// Extends the recorded application to apply the forward pass, and records a call of the backward pass.
fn vjp_by_backward_pass(site: &mut Site, cotangents: &[Tangent], wanted: &[bool]) -> Result<Vec<Tangent>> {
    let (attributes, arguments, captures) = parts(site);
    let explicit = arguments.len();
    check_captures(&wanted[explicit..])?;
    let all = site.bodies.clone();
    let (primal, forward, backward) = (&all[0], &all[1], &all[2]);
    let count = primal.results().len();
    let residuals = forward.results()[count..].to_vec();
    let applied = CustomAttributes { applied: 1, ..attributes };
    let bodies: Vec<&Arc<Body>> = all.iter().collect();
    let mut given = site.trace.extend_results(site.node, &applied, &bodies, count, &residuals);
    for (i, ty) in primal.results().iter().enumerate().filter(|(_, ty)| is_differentiable(ty.dtype)) {
        given.push(match cotangents.get(i).copied().flatten() {
            Some(cotangent) => cotangent,
            None => zeros(site.trace, ty)?,
        });
    }
    let rule = Applied { body: backward, captures: &captures[2] };
    let mut made = apply::call(site.trace, &rule, &given)?.into_iter();
    let mut gradients = Vec::with_capacity(wanted.len());
    for (i, wanted) in wanted.iter().enumerate() {
        let has = i < explicit && is_differentiable(site.operand_ty(i).dtype);
        gradients.push(if has { made.next().filter(|_| *wanted) } else { None });
    }
    Ok(gradients)
}

/// Records the transpose of the custom forward-mode derivative, which is linear in the tangents: they start as zeros.
fn vjp_by_transpose(site: &mut Site, cotangents: &[Tangent], wanted: &[bool]) -> Result<Vec<Tangent>> {
    let explicit = parts(site).1.len();
    check_captures(&wanted[explicit..])?;
    let mut starts = vec![None; wanted.len()];
    for i in (0..explicit).filter(|&i| wanted[i]) {
        let ty = site.operand_ty(i);
        starts[i] = Some(zeros(site.trace, &ty)?);
    }
    let tangents = jvp(site, &starts)?.tangents;
    let outputs = tangents.iter().zip(cotangents).filter_map(|(tangent, c)| Some(((*tangent)?, (*c)?)));
    let outputs: Vec<(NodeId, NodeId)> = outputs.collect();
    let inputs: Vec<NodeId> = starts.iter().flatten().copied().collect();
    let transforms = site.transforms;
    let mut found = transforms.vjp(site.trace, &outputs, &inputs)?.into_iter();
    Ok(starts.iter().map(|start| start.and_then(|_| found.next().flatten())).collect())
}

/// Records the cotangents of a computation with a batching rule, or of the second body of a loop with a bound, by the
/// rules of its operations. Drops the other body: the forward pass may return residuals, which the other body does not.
/// Later batches of any size use the rules of the operations.
fn vjp_of_computation(site: &mut Site, cotangents: &[Tangent], wanted: &[bool]) -> Result<Vec<Tangent>> {
    let attributes: CustomAttributes = site.attributes();
    let (positions, primals) = operands_taken(site, &attributes);
    let asked: Vec<bool> = positions.iter().map(|&i| wanted[i]).collect();
    let mut gradients = vec![None; wanted.len()];
    if !asked.contains(&true) {
        return Ok(gradients);
    }
    let plain = CustomAttributes { kind: CustomKind::Plain, ..attributes.clone() };
    let (body, rule) = match attributes.kind {
        CustomKind::Substitute => (site.bodies[1].clone(), site.bodies[0].clone()),
        _ => (site.bodies[0].clone(), site.bodies[1].clone()),
    };
    let count = body.results().len();
    site.trace.extend_results(site.node, &plain, &[&body, &rule], count, &[]);
    let found = vjp_of_applied(site, &body, &primals, cotangents, &asked, |site, forward, added| {
        site.trace.extend_results(site.node, &plain, &[forward, &rule], count, added)
    })?;
    positions.iter().zip(found).for_each(|(&i, gradient)| gradients[i] = gradient);
    Ok(gradients)
}

/// Propagates cotangents from results, through the nodes from `first` on, to the wanted operands at these positions.
fn pulled(
    site: &mut Site,
    first: NodeId,
    results: &[NodeId],
    cotangents: &[Tangent],
    wanted: &[bool],
    positions: &[usize],
) -> Result<Vec<Tangent>> {
    let outputs = with_cotangents(results, cotangents);
    let inputs: Vec<NodeId> = positions.iter().filter(|&&i| wanted[i]).map(|&i| site.operands[i]).collect();
    let transforms = site.transforms;
    let found = transforms.vjp_since(site.trace, &outputs, &inputs, first)?;
    let mut gradients = vec![None; wanted.len()];
    for (&i, gradient) in positions.iter().filter(|&&i| wanted[i]).zip(found) {
        // An operand that occurs several times has its whole cotangent at the first position.
        let is_first = !positions
            .iter()
            .take_while(|&&before| before != i)
            .any(|&before| wanted[before] && site.operands[before] == site.operands[i]);
        gradients[i] = gradient.filter(|_| is_first);
    }
    Ok(gradients)
}

/// Batches the computation: by its batching rule, or together with its other rules.
pub fn batched(site: &mut Site, mapped: &[bool], size: i64) -> Result<Vec<(NodeId, bool)>> {
    let (attributes, mut arguments, captures) = parts(site);
    if attributes.kind == CustomKind::Checkpoint {
        return checkpoint_rules::batched(site, mapped, size);
    }
    if attributes.kind == CustomKind::Substitute {
        return batched_together(site, attributes, mapped, size);
    }
    if attributes.kind == CustomKind::Plain {
        let (positions, operands) = operands_taken(site, &attributes);
        let mask: Vec<bool> = positions.iter().map(|&i| mapped[i]).collect();
        let body = site.bodies[0].clone();
        return batch::applied(site, &body, &operands, &mask, size);
    }
    let of_captures = &mapped[arguments.len()..];
    for (argument, _) in arguments.iter_mut().zip(mapped).filter(|(_, mapped)| !**mapped) {
        *argument = with_batch_axis(site.trace, *argument, size)?;
    }
    let results = if attributes.kind == CustomKind::Vmap {
        if of_captures.contains(&true) {
            return Err(error!(
                Unimplemented,
                "a computation with a custom batching rule cannot be batched over its captured values; make them \
                 parameters (lxla_computation_lift)"
            ));
        }
        check_size(&site.bodies[1], size)?;
        let rule = Applied { body: &site.bodies[1].clone(), captures: &captures[1] };
        apply::call(site.trace, &rule, &arguments)?
    } else {
        over_batch(site, attributes, &arguments, &captures, of_captures, size)?
    };
    Ok(results.into_iter().map(|id| (id, true)).collect())
}

/// Batches both bodies of a loop with a bound, which have the same operands. All results have the batch axis.
fn batched_together(
    site: &mut Site,
    attributes: CustomAttributes,
    mapped: &[bool],
    size: i64,
) -> Result<Vec<(NodeId, bool)>> {
    let made = site.bodies.iter().map(|body| {
        let everywhere = vec![true; body.results().len()];
        Ok(batch::batched(site.transforms, body, mapped, Some(&everywhere), size)?.body.clone())
    });
    let made = made.collect::<Result<Vec<Arc<Body>>>>()?;
    let all: Vec<&Arc<Body>> = made.iter().collect();
    let results = site.trace.application(Op::Custom, &site.operands, &attributes, &all, made[0].results());
    Ok(results.into_iter().map(|id| (id, true)).collect())
}

/// Returns an error unless the batching rule is for batches of this size.
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

/// Records the application of the computation and its custom derivative over a batch; all arguments, and the captures
/// in the mask, have the batch axis.
fn over_batch(
    site: &mut Site,
    attributes: CustomAttributes,
    arguments: &[NodeId],
    captures: &[Vec<NodeId>],
    mapped: &[bool],
    size: i64,
) -> Result<Vec<NodeId>> {
    let mut made = Vec::with_capacity(site.bodies.len());
    let mut rest = mapped;
    for body in &site.bodies {
        let (own, others) = rest.split_at(body.captures().len());
        rest = others;
        let mask = [&vec![true; body.parameters().len()], own].concat();
        let everywhere = vec![true; body.results().len()];
        made.push(batch::batched(site.transforms, body, &mask, Some(&everywhere), size)?.body.clone());
    }
    let operands = [arguments, &captures.concat()].concat();
    let all: Vec<&Arc<Body>> = made.iter().collect();
    Ok(site.trace.application(Op::Custom, &operands, &attributes, &all, made[attributes.applied].results()))
}
