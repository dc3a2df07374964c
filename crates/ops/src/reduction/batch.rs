//! Batching of reductions over axes and windows.

use super::derivative::reduction;
use super::reduce::ReduceAttributes;
use super::reduce_with::ReduceWithAttributes;
use super::select_and_scatter::SelectAndScatterAttributes;
use super::windows::ReduceWindowAttributes;
use crate::control::apply::Applied;
use crate::control::bodies::combiner;
use crate::creation::constants::constant;
use crate::elementwise::binary::binary;
use crate::emit::identity;
use crate::rules::Site;
use crate::shape::axes::reshape;
use crate::tangents::zeros;
use base::error;
use base::error::Result;
use base::types::{Scalar, TensorType};
use ir::{BinaryOp, NodeId, Op, Window};

/// Batches a reduction over axes.
pub fn reduce(site: &mut Site, mapped: &[bool], _: i64) -> Result<NodeId> {
    let Op::Reduce(op) = site.op else { unreachable!("asked for {:?}", site.op) };
    let ReduceAttributes { axes } = site.attributes();
    let keep_dims = site.ty.dims.len() == site.unbatched_ty(0, mapped).dims.len();
    let axes: Vec<i64> = axes.iter().map(|axis| axis + 1).collect();
    super::reduce::reduce(site.trace, op, site.operands[0], &axes, keep_dims)
}

/// Operands of a reduction by a body, by role.
struct Parts {
    /// Arrays, all mapped.
    arrays: Vec<NodeId>,
    inits: Vec<NodeId>,
    captures: Vec<NodeId>,
    /// Set if the only initial value is mapped: the binary operation that the body consists of.
    varying_init: Option<BinaryOp>,
}

fn parts(site: &mut Site, name: &str, mapped: &[bool], size: i64) -> Result<Parts> {
    let count = site.bodies[0].results().len();
    let arrays = (0..count).map(|i| site.mapped_operand(i, mapped, size)).collect::<Result<Vec<NodeId>>>()?;
    let inits = site.operands[count..2 * count].to_vec();
    let captures = site.operands[2 * count..].to_vec();
    let mut varying_init = None;
    if mapped[count..].contains(&true) {
        let is_known = site.operand_ty(0).dtype.has_arithmetic();
        varying_init = combiner(&site.bodies[0]).filter(|_| is_known);
        if varying_init.is_none() {
            return Err(error!(
                Unimplemented,
                "{name} cannot be batched over an initial value or a capture, unless its body is a sum, product, \
                 maximum or minimum"
            ));
        }
    }
    Ok(Parts { arrays, inits, captures, varying_init })
}

/// Records reduced results, combined with an initial value for each element of the batch.
fn with_inits(site: &mut Site, op: BinaryOp, reduced: NodeId, inits: NodeId, size: i64) -> Result<NodeId> {
    let mut dims = vec![1; site.trace.ty(reduced).dims.len()];
    dims[0] = size;
    let inits = reshape(site.trace, inits, &dims)?;
    binary(site.trace, op, reduced, inits)
}

/// Batches `reduce_with`.
pub fn reduce_with(site: &mut Site, mapped: &[bool], size: i64) -> Result<Vec<(NodeId, bool)>> {
    let ReduceWithAttributes { axes } = site.attributes();
    let axes: Vec<i64> = axes.iter().map(|axis| axis + 1).collect();
    let found = parts(site, "reduce_with", mapped, size)?;
    if let Some(op) = found.varying_init {
        let reduced = super::reduce::reduce(site.trace, reduction(op), found.arrays[0], &axes, false)?;
        return Ok(vec![(with_inits(site, op, reduced, found.inits[0], size)?, true)]);
    }
    let body = site.bodies[0].clone();
    let applied = Applied { body: &body, captures: &found.captures };
    let results = super::reduce_with::reduce_with(site.trace, &applied, &found.arrays, &found.inits, &axes)?;
    Ok(results.into_iter().map(|id| (id, true)).collect())
}

fn with_batch_window(windows: Vec<Window>) -> Vec<Window> {
    let mut all = windows;
    all.insert(0, Window::ONE);
    all
}

/// Batches `reduce_window`.
pub fn reduce_window(site: &mut Site, mapped: &[bool], size: i64) -> Result<Vec<(NodeId, bool)>> {
    let ReduceWindowAttributes { windows } = site.attributes();
    let windows = with_batch_window(windows);
    let Parts { arrays, mut inits, captures, varying_init } = parts(site, "reduce_window", mapped, size)?;
    let given = inits[0];
    if let Some(op) = varying_init {
        let dtype = site.trace.node(given).dtype;
        let bits = identity(reduction(op), dtype).to_le_bytes();
        inits[0] = constant(site.trace, &[], Scalar::from_bytes(dtype, &bits[..dtype.size_bytes()]));
    }
    let body = site.bodies[0].clone();
    let applied = Applied { body: &body, captures: &captures };
    let results = super::windows::reduce_window(site.trace, &applied, &arrays, &inits, &windows)?;
    if let Some(op) = varying_init {
        return Ok(vec![(with_inits(site, op, results[0], given, size)?, true)]);
    }
    Ok(results.into_iter().map(|id| (id, true)).collect())
}

/// Batches `select_and_scatter`.
pub fn select_and_scatter(site: &mut Site, mapped: &[bool], size: i64) -> Result<Vec<(NodeId, bool)>> {
    let SelectAndScatterAttributes { windows } = site.attributes();
    let windows = with_batch_window(windows);
    let (x, source) = (site.mapped_operand(0, mapped, size)?, site.mapped_operand(1, mapped, size)?);
    let given = site.operands[2];
    let mut init = given;
    if mapped[2] {
        let dtype = site.trace.node(given).dtype;
        if combiner(&site.bodies[1]) != Some(BinaryOp::Add) || !dtype.has_arithmetic() {
            return Err(error!(
                Unimplemented,
                "select_and_scatter cannot be batched over an initial value, unless its combiner is a sum"
            ));
        }
        init = zeros(site.trace, &TensorType::new(dtype, &[]))?;
    }
    let bodies = site.bodies.clone();
    let [select, combine] = [0, 1].map(|i| Applied { body: &bodies[i], captures: &[] });
    let scattered =
        super::select_and_scatter::select_and_scatter(site.trace, &select, &combine, x, source, init, &windows)?;
    let result = if mapped[2] { with_inits(site, BinaryOp::Add, scattered, given, size)? } else { scattered };
    Ok(vec![(result, true)])
}
