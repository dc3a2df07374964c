//! Transformations of programs: derivatives forward and backward, batching. They walk over a trace or a body and apply
//! the rules of the operations' definitions, which record ordinary operations; so the results can be transformed again.

mod batch;
mod computations;
mod forward;
mod residuals;
mod reverse;
mod site;

pub use computations::{Differentiated, Wanted, batched, jvp, value_and_grad, vjp};
pub use residuals::Checkpoint;
pub use reverse::pull_back;
pub use site::passes_tangents;

use crate::error::Result;
use crate::ir::{Body, NodeId, Trace};
use crate::ops::rules::Transforms;

/// The transformations, with the checkpoint policy of the bodies that operations apply.
#[derive(Clone, Debug, Default)]
pub struct Transformer {
    /// Which values the backward pass of a body reads from the forward pass, rather than computing them again.
    pub checkpoint: Checkpoint,
}

impl Transforms for Transformer {
    fn jvp(
        &self,
        trace: &mut Trace,
        body: &Body,
        primals: &[NodeId],
        tangents: &[Option<NodeId>],
    ) -> Result<(Vec<NodeId>, Vec<Option<NodeId>>)> {
        forward::push_body(self, trace, body, primals, tangents)
    }

    fn vjp(&self, trace: &mut Trace, outputs: &[(NodeId, NodeId)], inputs: &[NodeId]) -> Result<Vec<Option<NodeId>>> {
        reverse::pull_back(self, trace, outputs, inputs)
    }

    fn vjp_since(
        &self,
        trace: &mut Trace,
        outputs: &[(NodeId, NodeId)],
        inputs: &[NodeId],
        first: NodeId,
    ) -> Result<Vec<Option<NodeId>>> {
        reverse::pull_back_since(self, trace, outputs, inputs, first.0)
    }

    fn batch(
        &self,
        trace: &mut Trace,
        body: &Body,
        arguments: &[NodeId],
        mapped: &[bool],
        size: i64,
    ) -> Result<Vec<(NodeId, bool)>> {
        batch::batch_body(self, trace, body, arguments, mapped, size)
    }

    fn residuals(
        &self,
        trace: &Trace,
        free: &[NodeId],
        invariant: &[NodeId],
        cotangents: &[NodeId],
        gradients: &[NodeId],
    ) -> Vec<NodeId> {
        residuals::residuals(&self.checkpoint, trace, free, invariant, cotangents, gradients)
    }
}
