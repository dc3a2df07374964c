//! Derivatives and batching of `shard_map`, with the conventions of JAX's `shard_map` without `check_vma`. A result
//! that is the same on several devices has one cotangent, of which each device gets an equal part. An argument that
//! several devices hold has as cotangent the sum of theirs.

use super::attributes::{unsplit, whole};
use super::collectives::all_reduce;
use super::constraint::with_leading_axis;
use super::shard_map::{ShardMapAttributes, shard_map};
use crate::control::apply::Applied;
use crate::control::derivative::{chosen, flat, leaves, leaves_where, present, split};
use crate::control::ordered::in_recording_order;
use crate::elementwise::binary::binary_scalar;
use crate::elementwise::convert::convert;
use crate::rules::{Forward, Mapped, Site, Tangent, Transforms};
use crate::shape::axes::reshape;
use crate::tangents::sum_dtype;
use base::error::Result;
use base::types::{Dims, ScalarValue, TensorType};
use ir::{BinaryOp, Body, NodeId, ReduceOp, Trace, take_closed_body};
use mesh::{MeshAxes, Sharding, Split};
use std::ops::Range;
use std::sync::Arc;

/// Tangents of a `shard_map`: a `shard_map` of the body with tangents, which are split like their values.
pub fn jvp(site: &mut Site, tangents: &[Tangent]) -> Result<Forward> {
    let ShardMapAttributes { mesh, mut inputs, mut outputs } = site.attributes();
    let (operands, body, transforms) = (site.operands.clone(), site.bodies[0].clone(), site.transforms);
    let explicit = inputs.len();
    let mut trace = Trace::new();
    let primals = leaves(&mut trace, body.parameters().iter().chain(body.captures()));
    let given = leaves_where(&mut trace, &primals, &present(tangents));
    let (results, made) = transforms.jvp(&mut trace, &body, &primals, &given)?;
    let followed = |all: &[NodeId], tangents: &[Tangent], part: Range<usize>| {
        [&all[part.clone()], &flat(&tangents[part])].concat()
    };
    let (of_arguments, of_captures) = (0..explicit, explicit..primals.len());
    let parameters = followed(&primals, &given, of_arguments.clone());
    let captures = followed(&primals, &given, of_captures.clone());
    let with_tangents = take_closed_body(&trace, &parameters, &captures, &[&results[..], &flat(&made)].concat())?;

    let has_tangent = present(&made);
    add_chosen(&mut inputs, &present(&tangents[..explicit]));
    add_chosen(&mut outputs, &has_tangent);
    let arguments = followed(&operands, tangents, of_arguments);
    let captures = followed(&operands, tangents, of_captures);
    let applied = Applied { body: &with_tangents, captures: &captures };
    let results = shard_map(site.trace, &applied, &mesh, &inputs, &arguments, &outputs)?;
    Ok(split(results, &has_tangent))
}

/// Appends the shardings in the mask once more, for tangents.
fn add_chosen(shardings: &mut Vec<Sharding>, mask: &[bool]) {
    let more: Vec<Sharding> = shardings.iter().zip(mask).filter(|(_, is)| **is).map(|(s, _)| s.clone()).collect();
    shardings.extend(more);
}

/// Forward and backward pass of one device, in one trace.
struct Local {
    trace: Trace,
    /// Leaves: parameters, captures.
    primals: Vec<NodeId>,
    results: Vec<NodeId>,
    /// Leaves for the cotangents that are given.
    arrived: Vec<NodeId>,
    /// Cotangents of the operands.
    gradients: Vec<Tangent>,
}

impl Local {
    /// `given` are the results with a cotangent, `wanted` the operands that want one.
    fn of(
        transforms: &dyn Transforms,
        body: &Body,
        attributes: &ShardMapAttributes,
        given: &[bool],
        wanted: &[bool],
    ) -> Result<Local> {
        let ShardMapAttributes { mesh, inputs, outputs } = attributes;
        let mut trace = Trace::new();
        let primals = leaves(&mut trace, body.parameters().iter().chain(body.captures()));
        let results = trace.replay(body, &primals)?;
        let (mut arrived, mut pulled) = (Vec::new(), Vec::new());
        for i in (0..given.len()).filter(|&i| given[i]) {
            let cotangent = trace.parameter(body.results()[i].clone());
            let holders = mesh.size_of(&unsplit(mesh, &outputs[i]));
            pulled.push((results[i], part(&mut trace, cotangent, holders)?));
            arrived.push(cotangent);
        }
        let mut found = transforms.vjp(&mut trace, &pulled, &chosen(&primals, wanted))?.into_iter();
        let mut gradients = Vec::with_capacity(wanted.len());
        for (i, is_wanted) in wanted.iter().enumerate() {
            let own = if *is_wanted { found.next().flatten() } else { None };
            let holders = match inputs.get(i) {
                Some(sharding) => unsplit(mesh, sharding),
                None => (0..mesh.axes().len()).collect(),
            };
            let sum = |own| all_reduce(&mut trace, ReduceOp::Sum, own, mesh, &holders);
            gradients.push(own.map(sum).transpose()?);
        }
        Ok(Local { trace, primals, results, arrived, gradients })
    }
}

/// Records the part of a cotangent that one of several holders of a result gets; 8-bit and 16-bit floats are divided in
/// f32.
fn part(trace: &mut Trace, cotangent: NodeId, holders: usize) -> Result<NodeId> {
    if holders == 1 {
        return Ok(cotangent);
    }
    let dtype = trace.node(cotangent).dtype;
    let wide = convert(trace, cotangent, sum_dtype(dtype));
    let part = binary_scalar(trace, BinaryOp::Divide, wide, ScalarValue::Signed(holders as i64), false)?;
    Ok(convert(trace, part, dtype))
}

/// Backward pass of one device as a body: from the operands that it reads, the residuals as rows, and the cotangents.
struct Backward {
    body: Arc<Body>,
    /// Positions of the arguments that it reads.
    arguments: Vec<usize>,
    /// Positions of the captures that it reads, among the operands.
    captures: Vec<usize>,
}

impl Backward {
    /// `explicit` is the number of arguments among the operands.
    fn of(local: &Local, explicit: usize, saved: &[NodeId], gradients: &[NodeId]) -> Result<Backward> {
        let Local { trace, primals, arrived, .. } = local;
        let read = read_by(trace, gradients, &[&primals[..], saved, arrived].concat());
        let is_read = |i: &usize| read[primals[*i].0 as usize];
        let arguments: Vec<usize> = (0..explicit).filter(is_read).collect();
        let captures: Vec<usize> = (explicit..primals.len()).filter(is_read).collect();
        let parameters = [&at(primals, &arguments)[..], saved, arrived].concat();
        let body = take_closed_body(trace, &parameters, &at(primals, &captures), gradients)?;
        let body = with_rows(&body, arguments.len()..arguments.len() + saved.len())?;
        Ok(Backward { body, arguments, captures })
    }
}

/// The nodes at some positions.
fn at(nodes: &[NodeId], positions: &[usize]) -> Vec<NodeId> {
    positions.iter().map(|&i| nodes[i]).collect()
}

/// For each node, whether the computation of `results` from the `given` nodes reads it.
fn read_by(trace: &Trace, results: &[NodeId], given: &[NodeId]) -> Vec<bool> {
    let mut is_given = vec![false; trace.len()];
    given.iter().for_each(|id| is_given[id.0 as usize] = true);
    let mut read = vec![false; trace.len()];
    let mut stack = results.to_vec();
    while let Some(id) = stack.pop() {
        let i = id.0 as usize;
        if !std::mem::replace(&mut read[i], true) && !is_given[i] {
            stack.extend_from_slice(trace.operands(trace.node(id)));
        }
    }
    read
}

/// Cotangents of a `shard_map`: a `shard_map` of the backward pass, on the operands that it reads, the residuals and
/// the cotangents. The recorded `shard_map` is extended to return the residuals. Each device has its own, so a residual
/// becomes an array with one row for each device.
pub fn vjp(site: &mut Site, cotangents: &[Tangent], wanted: &[bool]) -> Result<Vec<Tangent>> {
    let attributes: ShardMapAttributes = site.attributes();
    let (operands, body, transforms) = (site.operands.clone(), site.bodies[0].clone(), site.transforms);
    let (mesh, explicit) = (&attributes.mesh, attributes.inputs.len());
    let mut local = Local::of(transforms, &body, &attributes, &present(cotangents), wanted)?;
    let mut gradients = flat(&local.gradients);
    if gradients.is_empty() {
        return Ok(vec![None; wanted.len()]);
    }
    let saved = transforms.residuals(&local.trace, &local.primals, &[], &local.arrived, &gradients)?;
    in_recording_order(&mut local.trace, &saved, &mut gradients)?;
    let backward = Backward::of(&local, explicit, &saved, &gradients)?;
    let (residuals, by_device) = extended(site, &mut local, &attributes, &saved)?;

    let mut inputs: Vec<Sharding> = backward.arguments.iter().map(|&i| attributes.inputs[i].clone()).collect();
    inputs.extend(by_device);
    let of_cotangents = cotangents.iter().zip(&attributes.outputs).filter(|(cotangent, _)| cotangent.is_some());
    inputs.extend(of_cotangents.map(|(_, sharding)| sharding.clone()));
    let sharding_of = |i: usize| match attributes.inputs.get(i) {
        Some(sharding) => sharding.clone(),
        None => Sharding::replicated(body.captures()[i - explicit].dims.len()),
    };
    let outputs: Vec<Sharding> = (0..wanted.len()).filter(|&i| local.gradients[i].is_some()).map(sharding_of).collect();
    let arguments = [&at(&operands, &backward.arguments)[..], &residuals, &flat(cotangents)].concat();
    let applied = Applied { body: &backward.body, captures: &at(&operands, &backward.captures) };
    let mut found = shard_map(site.trace, &applied, mesh, &inputs, &arguments, &outputs)?.into_iter();
    Ok(local.gradients.iter().map(|gradient| gradient.and_then(|_| found.next())).collect())
}

/// Extends the recorded `shard_map` by the saved values of each device. Returns the added results, and their shardings.
fn extended(
    site: &mut Site,
    local: &mut Local,
    attributes: &ShardMapAttributes,
    saved: &[NodeId],
) -> Result<(Vec<NodeId>, Vec<Sharding>)> {
    let (mesh, explicit) = (&attributes.mesh, attributes.inputs.len());
    let Local { trace, primals, results, .. } = local;
    let rows: Vec<NodeId> = saved.iter().map(|&id| as_row(trace, id)).collect::<Result<_>>()?;
    let all = [&results[..], &rows].concat();
    let forward = take_closed_body(trace, &primals[..explicit], &primals[explicit..], &all)?;
    let by_device: Vec<Sharding> = rows.iter().map(|&id| row_sharding(mesh, trace.ty(id).dims.len())).collect();
    let types: Vec<TensorType> =
        rows.iter().zip(&by_device).map(|(&id, by)| whole(&trace.ty(id), by, mesh)).collect::<Result<_>>()?;
    let mut attributes = attributes.clone();
    attributes.outputs.extend_from_slice(&by_device);
    let added = site.trace.extend_results(site.node, &attributes, &[&forward], results.len(), &types);
    Ok((added, by_device))
}

/// Sharding of an array with one row for each device of the mesh.
fn row_sharding(mesh: &MeshAxes, rank: usize) -> Sharding {
    let mut splits = vec![Split::new(); rank];
    splits[0] = (0..mesh.axes().len() as u8).collect();
    Sharding::new(splits)
}

/// Records `x` with a leading axis of size 1.
fn as_row(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    let mut dims = Dims::from_slice(&[1]);
    dims.extend_from_slice(&trace.ty(x).dims);
    reshape(trace, x, &dims)
}

/// The body, whose parameters in the range have a leading axis of size 1.
fn with_rows(body: &Body, range: Range<usize>) -> Result<Arc<Body>> {
    let mut trace = Trace::new();
    let mut parameters = Vec::with_capacity(body.parameters().len());
    let mut arguments = Vec::with_capacity(body.parameters().len());
    for (i, ty) in body.parameters().iter().enumerate() {
        if range.contains(&i) {
            let mut dims = Dims::from_slice(&[1]);
            dims.extend_from_slice(&ty.dims);
            let row = trace.parameter(TensorType { dtype: ty.dtype, dims });
            parameters.push(row);
            arguments.push(reshape(&mut trace, row, &ty.dims)?);
        } else {
            let leaf = trace.parameter(ty.clone());
            parameters.push(leaf);
            arguments.push(leaf);
        }
    }
    let captures = leaves(&mut trace, body.captures());
    let results = trace.replay(body, &[&arguments[..], &captures].concat())?;
    take_closed_body(&trace, &parameters, &captures, &results)
}

/// Batches a `shard_map`: the batch is an axis of the pieces, and is not split.
pub fn batch(site: &mut Site, mapped: &[bool], size: i64) -> Result<Vec<Mapped>> {
    let ShardMapAttributes { mesh, inputs, outputs } = site.attributes();
    let (operands, body, transforms) = (site.operands.clone(), site.bodies[0].clone(), site.transforms);
    let explicit = inputs.len();
    let mut trace = Trace::new();
    let types = body.parameters().iter().chain(body.captures());
    let leaf = |(ty, is): (&TensorType, &bool)| {
        let mut ty = ty.clone();
        if *is {
            ty.dims.insert(0, size);
        }
        trace.parameter(ty)
    };
    let leaves: Vec<NodeId> = types.zip(mapped).map(leaf).collect();
    let (results, of_results): (Vec<NodeId>, Vec<bool>) =
        transforms.batch(&mut trace, &body, &leaves, mapped, size)?.into_iter().unzip();
    let batched = take_closed_body(&trace, &leaves[..explicit], &leaves[explicit..], &results)?;
    let inputs = with_batch(&inputs, mapped);
    let outputs = with_batch(&outputs, &of_results);
    let applied = Applied { body: &batched, captures: &operands[explicit..] };
    let made = shard_map(site.trace, &applied, &mesh, &inputs, &operands[..explicit], &outputs)?;
    Ok(made.into_iter().zip(of_results).collect())
}

/// The shardings, with a leading axis that is not split on those in the mask.
fn with_batch(shardings: &[Sharding], mask: &[bool]) -> Vec<Sharding> {
    let one = |(sharding, is): (&Sharding, &bool)| if *is { with_leading_axis(sharding) } else { sharding.clone() };
    shardings.iter().zip(mask).map(one).collect()
}
