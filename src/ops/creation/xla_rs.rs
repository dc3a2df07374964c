//! Constants with the crate `xla`.

use super::constants::IotaAttributes;
use crate::emit::xla_rs::{Graph, element_type, failed};
use crate::error::Result;

pub(in crate::ops) fn full(g: &mut Graph, at: usize) -> Result<()> {
    let made = g.scalar(g.ty(at))?;
    g.define(at, made);
    Ok(())
}

pub(in crate::ops) fn iota(g: &mut Graph, at: usize) -> Result<()> {
    let ty = g.ty(at);
    let IotaAttributes { axis } = g.instruction(at).attributes();
    let made = g.builder.iota(element_type(ty.dtype), &ty.dims, axis as i64).map_err(failed)?;
    g.define(at, made);
    Ok(())
}
