//! Transformations of programs: forward-mode and reverse-mode derivatives, batching, masking. They apply the rules of the
//! operations' definitions to a trace or a body. Rules record ordinary operations, so every result can be transformed
//! again.

mod batch;
mod computations;
mod forward;
mod gradients;
mod mask;
mod residuals;
mod reverse;
mod site;

pub use computations::{Differentiated, Wanted, batched, jvp, lifted, pulled_back, value_and_grad, vjp};
pub use gradients::gradients_of;
pub use mask::{Masked, Refusal, ScalarSource, mask};
pub use ops::control::Checkpoint;
pub use reverse::pull_back;

use base::error;
use base::error::Result;
use base::stack::{SHALLOW, with_stack};
use base::types::DType;
use ir::{Body, NodeId, Op, Trace};
use ops::control::Memo;
use ops::rules::Transforms;
use parking_lot::Mutex;
use std::sync::Arc;

/// Stack size for each level of nested bodies: several times the size of its frames.
const LEVEL: usize = 64 << 10;
/// Stack size for the rules of the innermost body.
const ROOM: usize = 8 << 20;

/// Maximum number of operations of a body that is transformed, counting those of applied bodies at each application.
const MOST_OPERATIONS: usize = 1 << 22;

/// Runs a transformation of bodies on a stack that is large enough for the deepest one. RESOURCE_EXHAUSTED if a body
/// has more than [`MOST_OPERATIONS`].
pub fn with_room<'a, T: Send>(
    bodies: impl IntoIterator<Item = &'a Arc<Body>>,
    work: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    let mut depth = 0;
    for body in bodies {
        depth = depth.max(body.depth());
        if body.weight() > MOST_OPERATIONS {
            return Err(error!(
                ResourceExhausted,
                "a computation has {} operations, counted at each call; at most {MOST_OPERATIONS} are transformed",
                body.weight()
            ));
        }
    }
    match depth {
        0..=SHALLOW => work(),
        _ => with_stack(ROOM + depth * LEVEL, depth, work),
    }
}

/// Memos by checkpoint policy.
type Memos = Vec<(Checkpoint, Arc<Memo>)>;

/// One transformation of a body or a trace, with a memo of the bodies that rules derive in it.
pub struct Transformer {
    /// Values that the backward pass of a body reads from the forward pass; it recomputes all others.
    checkpoint: Checkpoint,
    memo: Arc<Memo>,
    /// The memo of each policy: bodies that are applied under a policy of their own have another one.
    memos: Arc<Mutex<Memos>>,
}

impl Default for Transformer {
    fn default() -> Transformer {
        Transformer::new(Checkpoint::default())
    }
}

impl Transformer {
    /// Creates a transformation with this policy for all bodies that operations apply.
    pub fn new(checkpoint: Checkpoint) -> Transformer {
        let memo = Arc::<Memo>::default();
        let memos = Arc::new(Mutex::new(vec![(checkpoint.clone(), memo.clone())]));
        Transformer { checkpoint, memo, memos }
    }

    /// Number of bodies that rules have derived so far.
    pub fn derived(&self) -> usize {
        self.memos.lock().iter().map(|(_, memo)| memo.derived()).sum()
    }
}

impl Transforms for Transformer {
    fn memo(&self) -> &Memo {
        &self.memo
    }

    fn with_policy(&self, checkpoint: &Checkpoint) -> Box<dyn Transforms> {
        let mut memos = self.memos.lock();
        let found = memos.iter().find(|(policy, _)| policy == checkpoint).map(|(_, memo)| memo.clone());
        let memo = found.unwrap_or_else(|| {
            let memo = Arc::<Memo>::default();
            memos.push((checkpoint.clone(), memo.clone()));
            memo
        });
        Box::new(Transformer { checkpoint: checkpoint.clone(), memo, memos: self.memos.clone() })
    }

    fn jvp(
        &self,
        trace: &mut Trace,
        body: &Body,
        primals: &[NodeId],
        tangents: &[Option<NodeId>],
    ) -> Result<(Vec<NodeId>, Vec<Option<NodeId>>)> {
        forward::push_body(self, trace, body, primals, tangents)
    }

    fn passes_tangents(&self, op: Op, dtype: DType) -> bool {
        ops::passes_tangents(op, dtype)
    }

    fn reached(&self, body: &Body, active: &[bool]) -> Vec<bool> {
        forward::reached(body, active)
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
    ) -> Result<Vec<NodeId>> {
        residuals::residuals(&self.checkpoint, trace, free, invariant, cotangents, gradients)
    }

    fn held(&self, trace: &Trace, given: &[NodeId], cotangents: &[NodeId], gradients: &[NodeId]) -> Vec<bool> {
        match self.checkpoint {
            Checkpoint::SaveAll => vec![false; given.len()],
            _ => residuals::held(trace, given, cotangents, gradients),
        }
    }
}
