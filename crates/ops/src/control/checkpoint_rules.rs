//! Derivatives and batching of computations with a checkpoint policy: those of a call, whose derived computations have
//! the policy too.

use super::apply::Applied;
use super::batch;
use super::checkpoint::Checkpoint;
use super::custom::{CustomAttributes, checkpoint_call_of};
use super::derivative::{flat, present, pushed, split, vjp_by_policy};
use crate::rules::{Forward, Site, Tangent};
use base::error::Result;
use ir::NodeId;

fn policy(site: &Site) -> Checkpoint {
    site.attributes::<CustomAttributes>().checkpoint
}

/// Records the tangents, by an application of the body with tangents under the same policy.
pub fn jvp(site: &mut Site, tangents: &[Tangent]) -> Result<Forward> {
    let (policy, body) = (policy(site), site.bodies[0].clone());
    let made = pushed(site.transforms, &body, &present(tangents), None, &[site.operands.len()])?;
    let arguments = [&site.operands[..], &flat(tangents)].concat();
    let applied = Applied { body: &made.body, captures: &[] };
    let results = checkpoint_call_of(site.trace, &policy, &applied, &arguments);
    Ok(split(results, &made.has_tangent))
}

/// Records the cotangents. The application is extended to return what its policy saves.
pub fn vjp(site: &mut Site, cotangents: &[Tangent], wanted: &[bool]) -> Result<Vec<Tangent>> {
    let attributes: CustomAttributes = site.attributes();
    let (body, operands) = (site.bodies[0].clone(), site.operands.clone());
    let count = body.results().len();
    let policy = Some(&attributes.checkpoint);
    vjp_by_policy(site, policy, &body, &operands, cotangents, wanted, |site, forward, added| {
        site.trace.extend_results(site.node, &attributes, &[forward], count, added)
    })
}

/// Batches the body, and applies it under the same policy.
pub fn batched(site: &mut Site, mapped: &[bool], size: i64) -> Result<Vec<(NodeId, bool)>> {
    let (policy, body) = (policy(site), site.bodies[0].clone());
    let made = batch::batched(site.transforms, &body, mapped, None, size)?;
    let (arguments, captures) = site.operands.split_at(body.parameters().len());
    let applied = Applied { body: &made.body, captures };
    let results = checkpoint_call_of(site.trace, &policy, &applied, arguments);
    Ok(results.into_iter().zip(made.mapped.iter().copied()).collect())
}
