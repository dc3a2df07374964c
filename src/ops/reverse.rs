//! Backwards along axes.

use super::definition::{Call, Definition, Native};
use super::distinct_axes;
use crate::emit::Emitter;
use crate::error::Result;
use crate::ir::{NodeId, Op, Trace};
use crate::native::{self, Array};

/// Along the axes in the attributes.
pub const REVERSE: Definition = Definition {
    name: "reverse",
    stablehlo: "reverse",
    function: "lxla_flip",
    dtypes: "all",
    lower: |e: &mut Emitter, at| e.one_operand(at, "reverse", &format!(", dims = {:?}", e.instruction(at).attributes)),
    native: Native::One(native_reverse),
};

/// Backwards along axes.
pub fn reverse(trace: &mut Trace, x: NodeId, axes: &[i64]) -> Result<NodeId> {
    let ty = trace.ty(x);
    let mut axes = distinct_axes("axes", axes, ty.dims.len())?;
    axes.retain(|&axis| ty.dims[axis as usize] > 1);
    axes.sort_unstable();
    if axes.is_empty() {
        return Ok(x);
    }
    let shape = trace.node(x).shape;
    Ok(trace.operation_with_attributes(Op::Reverse, ty.dtype, shape, &[x], &axes))
}

fn native_reverse(call: &Call) -> Result<Array> {
    native::reverse(call.attributes, call.operands[0])
}
