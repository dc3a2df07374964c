//! Batching: records a body with a new leading axis on some of its values.

use super::Transformer;
use super::site::of_instruction;
use base::allocation::probe;
use base::error;
use base::error::Result;
use base::types::{Dims, TensorType};
use ir::{Body, Instruction, NodeId, Op, Positions, Trace, take_closed_body};
use ops::batch_axis::with_batch_axis;
use ops::control::{self, Applied};
use ops::rules::{Batching, Mapped, Site};
use ops::{definition, operation_name, shape};
use rustc_hash::FxHashMap;

/// Records `body` on arguments; those in the mask have a leading batch axis of this size. Returns each result, and
/// whether it has the axis.
pub fn batch_body(
    transformer: &Transformer,
    trace: &mut Trace,
    body: &Body,
    arguments: &[NodeId],
    mapped: &[bool],
    size: i64,
) -> Result<Vec<Mapped>> {
    // Instructions, and what is known of each of them.
    probe(body.program().decoded_bytes().saturating_mul(3), "the batching of a computation")?;
    let (values, results) = body.decode();
    let mut scalars = body.scalars().iter().copied();
    let mut arguments = arguments.iter().copied().zip(mapped.iter().copied());
    let mut known: Vec<Mapped> = Vec::with_capacity(values.len());
    let mut applied: FxHashMap<usize, Vec<Mapped>> = FxHashMap::default();
    let outer = trace.label();
    for (position, value) in values.iter().enumerate() {
        trace.check_room()?;
        trace.set_label(value.label.or(outer));
        let made = match value.op {
            Op::Leaf => arguments.next().expect("one argument for each parameter and capture"),
            Op::Result => match applied.get(&value.operands[0]) {
                Some(results) => results[value.attributes::<usize>()],
                None => (trace.record_again(value, &[known[value.operands[0]].0], None), false),
            },
            op => {
                let operands: Vec<NodeId> = value.operands.iter().map(|&operand| known[operand].0).collect();
                let mask: Vec<bool> = value.operands.iter().map(|&operand| known[operand].1).collect();
                let scalar = if op.has_scalar() { scalars.next() } else { None };
                if !mask.contains(&true) {
                    (trace.record_again(value, &operands, scalar), false)
                } else {
                    // The search takes time in proportion to the body.
                    let used = if op.has_results() { used_results(&values, position) } else { Vec::new() };
                    let mut site = of_instruction(transformer, trace, value, scalar, operands);
                    let made = batch_one(&mut site, value, &used, &mask, size)?;
                    if op.has_results() {
                        // The entry of the application itself is never read; this value fills it.
                        let first = made[0];
                        applied.insert(position, made);
                        first
                    } else {
                        made[0]
                    }
                }
            }
        };
        known.push(made);
    }
    trace.set_label(outer);
    Ok(results.iter().map(|&result| known[result]).collect())
}

/// Indices and types of the results of an application that instructions use.
fn used_results(values: &[Instruction], application: usize) -> Vec<(usize, TensorType)> {
    let is_result = |value: &&Instruction| value.op == Op::Result && value.operands[0] == application;
    values[application..].iter().filter(is_result).map(|value| (value.attributes(), value.ty.clone())).collect()
}

/// Records one operation with at least one mapped operand. For an application, `used` lists its used results.
fn batch_one(
    site: &mut Site,
    value: &Instruction,
    used: &[(usize, TensorType)],
    mapped: &[bool],
    size: i64,
) -> Result<Vec<Mapped>> {
    let found = definition(site.op);
    match found.batching {
        Batching::Elementwise => Ok(vec![(elementwise(site, mapped, size)?, true)]),
        Batching::Rule(rule) => Ok(vec![(rule(site, mapped, size)?, true)]),
        Batching::Several(rule) => rule(site, mapped, size),
        Batching::Expanded => {
            let expand = found.expand.expect("an expanded operation says how");
            let body = expanded_body(site, mapped, expand)?;
            let operands = site.operands.clone();
            let transforms = site.transforms;
            transforms.batch(site.trace, &body, &operands, mapped, size)
        }
        Batching::Loop => looped(site, value, used, mapped, size),
    }
}

/// Records the expansion of an operation in a separate trace, on parameters without the batch axis, and returns it as a
/// body to be batched.
fn expanded_body(
    site: &mut Site,
    mapped: &[bool],
    expand: fn(&mut Site) -> Result<NodeId>,
) -> Result<std::sync::Arc<Body>> {
    let mut inner = Trace::new();
    let parameters: Vec<NodeId> =
        (0..mapped.len()).map(|operand| inner.parameter(site.unbatched_ty(operand, mapped))).collect();
    let mut plain = Site {
        trace: &mut inner,
        node: site.node,
        op: site.op,
        ty: site.ty.clone(),
        operands: parameters.iter().copied().collect(),
        results: Default::default(),
        words: site.words.clone(),
        scalar: site.scalar,
        bodies: site.bodies.clone(),
        transforms: site.transforms,
    };
    let result = expand(&mut plain)?;
    take_closed_body(&inner, &parameters, &[], &[result])
}

/// Records an elementwise operation with broadcasting: mapped operands of lower rank than the result get axes of size 1
/// behind the batch axis.
fn elementwise(site: &mut Site, mapped: &[bool], size: i64) -> Result<NodeId> {
    let rank = site.ty.dims.len();
    let mut operands = site.operands.clone();
    for (operand, id) in operands.iter_mut().enumerate().filter(|(operand, _)| mapped[*operand]) {
        let dims = site.unbatched_ty(operand, mapped).dims;
        if dims.len() < rank {
            let mut wide = Dims::from_slice(&[size]);
            wide.extend(std::iter::repeat_n(1, rank - dims.len()));
            wide.extend_from_slice(&dims);
            *id = shape::reshape(site.trace, *id, &wide)?;
        }
    }
    let mut ty = site.ty.clone();
    ty.dims.insert(0, size);
    let (words, label) = (site.words.clone(), site.trace.label());
    let value = Instruction { op: site.op, ty, operands: Positions::new(), words, bodies: vec![], label };
    Ok(site.trace.record_again(&value, &operands, site.scalar))
}

/// Records a scan over the batch, for an operation without another batching rule.
fn looped(
    site: &mut Site,
    value: &Instruction,
    used: &[(usize, TensorType)],
    mapped: &[bool],
    size: i64,
) -> Result<Vec<Mapped>> {
    // The body of a kernel's call is not applied.
    if !site.bodies.is_empty() && site.op != Op::Kernel {
        return Err(error!(Unimplemented, "{} cannot be batched", operation_name(site.op)));
    }
    let mut inner = Trace::new();
    let leaves: Vec<NodeId> =
        (0..mapped.len()).map(|operand| inner.parameter(site.unbatched_ty(operand, mapped))).collect();
    let id = inner.record_again(value, &leaves, site.scalar);
    let results: Vec<NodeId> = match site.op.has_results() {
        false => vec![id],
        true => used.iter().map(|(number, ty)| inner.result(id, *number, ty)).collect(),
    };
    let of = |is: bool| (0..mapped.len()).filter(move |&operand| mapped[operand] == is);
    let slices: Vec<NodeId> = of(true).map(|operand| leaves[operand]).collect();
    let captures: Vec<NodeId> = of(false).map(|operand| leaves[operand]).collect();
    let body = take_closed_body(&inner, &slices, &captures, &results)?;
    let arrays: Vec<NodeId> = of(true).map(|operand| site.operands[operand]).collect();
    let given: Vec<NodeId> = of(false).map(|operand| site.operands[operand]).collect();
    let made = control::scan(site.trace, &Applied { body: &body, captures: &given }, &[], &arrays, size, false)?;
    if !site.op.has_results() {
        return Ok(vec![(made[0], true)]);
    }
    let count = used.iter().map(|(number, _)| number + 1).max().unwrap_or(0);
    let mut by_number = vec![(made[0], true); count];
    used.iter().zip(made).for_each(|((number, _), id)| by_number[*number] = (id, true));
    Ok(by_number)
}

/// Records a result with the batch axis at `axis`; a result that is not mapped is repeated along it.
pub fn batch_at(trace: &mut Trace, (id, is_mapped): Mapped, axis: i64, size: i64) -> Result<NodeId> {
    let id = if is_mapped { id } else { with_batch_axis(trace, id, size)? };
    move_axis(trace, id, 0, axis as usize)
}

/// Records `x` with the axis at `from` moved to `to`.
pub fn move_axis(trace: &mut Trace, x: NodeId, from: usize, to: usize) -> Result<NodeId> {
    if from == to {
        return Ok(x);
    }
    let rank = trace.ty(x).dims.len();
    let mut order: Vec<i64> = (0..rank as i64).filter(|&axis| axis != from as i64).collect();
    order.insert(to, from as i64);
    shape::transpose(trace, x, &order)
}
