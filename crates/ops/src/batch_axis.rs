//! What batching rules record: operations and operands with the batch as their leading axis.

use crate::rules::Site;
use crate::shape::axes::broadcast_to;
use base::error::Result;
use base::types::Dims;
use ir::{Attributes, NodeId, Trace};

impl Site<'_> {
    /// The operand with a leading batch axis, broadcast if it has none.
    pub fn mapped_operand(&mut self, operand: usize, mapped: &[bool], size: i64) -> Result<NodeId> {
        let id = self.operands[operand];
        if mapped[operand] { Ok(id) } else { with_batch_axis(self.trace, id, size) }
    }
}

/// Records `x` repeated along a new leading axis.
pub fn with_batch_axis(trace: &mut Trace, x: NodeId, size: i64) -> Result<NodeId> {
    let mut dims = Dims::from_slice(&[size]);
    dims.extend_from_slice(&trace.ty(x).dims);
    broadcast_to(trace, x, &dims)
}

/// Records the operation of a site with other attributes, on operands that all have the batch as leading axis.
pub fn record_batched(site: &mut Site, operands: &[NodeId], attributes: &impl Attributes, size: i64) -> NodeId {
    let mut dims = Dims::from_slice(&[size]);
    dims.extend_from_slice(&site.ty.dims);
    let shape = site.trace.intern(&dims);
    if site.op.has_attributes() {
        site.trace.operation_with_attributes(site.op, site.ty.dtype, shape, operands, attributes)
    } else {
        site.trace.operation(site.op, site.ty.dtype, shape, operands)
    }
}
