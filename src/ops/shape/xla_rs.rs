//! Operations that move elements, with the crate `xla`.

use super::axes::{ReverseAttributes, TransposeAttributes};
use super::slicing::{ConcatenateAttributes, PadAttributes, SliceAttributes};
use crate::emit::xla_rs::{Graph, failed};
use crate::error::Result;
use crate::ops::elementwise::xla_rs::with;

pub(in crate::ops) fn reshape(g: &mut Graph, at: usize) -> Result<()> {
    let made = g.site.reshape(&g.operand(at, 0)?, &g.ty(at).dims)?;
    g.define(at, made);
    Ok(())
}

pub(in crate::ops) fn broadcast_to(g: &mut Graph, at: usize) -> Result<()> {
    let rank = g.ty(g.instruction(at).operands[0]).dims.len();
    let made = g.broadcast(&g.operand(at, 0)?, rank, &g.ty(at).dims)?;
    g.define(at, made);
    Ok(())
}

pub(in crate::ops) fn transpose(g: &mut Graph, at: usize) -> Result<()> {
    let TransposeAttributes { permutation } = g.instruction(at).attributes();
    let made = g.operand(at, 0)?.transpose(&permutation).map_err(failed)?;
    g.define(at, made);
    Ok(())
}

pub(in crate::ops) fn reverse(g: &mut Graph, at: usize) -> Result<()> {
    let ReverseAttributes { axes } = g.instruction(at).attributes();
    let made = g.operand(at, 0)?.rev(&axes).map_err(failed)?;
    g.define(at, made);
    Ok(())
}

pub(in crate::ops) fn slice(g: &mut Graph, at: usize) -> Result<()> {
    let SliceAttributes { starts, limits, strides } = g.instruction(at).attributes();
    let made = g.site.slice(&g.operand(at, 0)?, &starts, &limits, &strides)?;
    g.define(at, made);
    Ok(())
}

pub(in crate::ops) fn concatenate(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let ConcatenateAttributes { axis } = value.attributes();
    let mut parts = Vec::with_capacity(value.operands.len());
    for &operand in &value.operands {
        parts.push(g.cast(operand, &with(value.ty.dtype, g.ty(operand)))?);
    }
    let first = parts.remove(0);
    let made = first.concat_in_dim(&parts, axis as i64).map_err(failed)?;
    g.define(at, made);
    Ok(())
}

pub(in crate::ops) fn pad(g: &mut Graph, at: usize) -> Result<()> {
    let PadAttributes { low, high, interior } = g.instruction(at).attributes();
    let config: Vec<(i64, i64, i64)> = (0..low.len()).map(|i| (low[i], high[i], interior[i])).collect();
    let made = g.operand(at, 0)?.pad(&g.operand(at, 1)?, &config).map_err(failed)?;
    g.define(at, made);
    Ok(())
}
