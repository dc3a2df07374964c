//! Where the recording of a loop that never steps is cut into programs, under the policy
//! [`PendingLimitPolicy::Loop`](super::PendingLimitPolicy::Loop).
//!
//! A limit alone falls anywhere in an iteration, and the next one somewhere else, so that each program is compiled anew.
//! So a recording that repeats its last operations is stepped, and stepped again where the operations before it are
//! those before the last cut: at the same place of a later iteration.

use ir::{Node, NodeId, Op, Trace};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Number of pending operations from which a recording may be a loop. It is looked at again at each doubling.
pub const FIRST_LOOK: usize = 1024;

/// Number of last operations that are compared: more than an iteration repeats within itself by chance.
const COMPARED: usize = 32;

/// Fewest operations between two cuts. Beside a program of so many, the cost of a step is small.
pub const FEWEST: usize = 256;

/// The place at which a loop was last cut.
pub struct Cut {
    /// Hashes of the operations before it, the last one first.
    before: Vec<u64>,
    /// Length of the trace from which the next cut may follow.
    from: usize,
}

impl Cut {
    /// Returns the place after the last operation; None if the trace has too few operations to tell it from others.
    pub fn after(trace: &Trace) -> Option<Cut> {
        let before: Vec<u64> = latest(trace).take(COMPARED).collect();
        (before.len() == COMPARED).then_some(Cut { before, from: FEWEST })
    }

    /// Sets the length of the trace after the step at the cut.
    pub(super) fn set_start(&mut self, len: usize) {
        self.from = len + FEWEST;
    }

    /// Length of the trace, of `len` nodes now, at which the next cut may be.
    pub(super) fn next_look(&self, len: usize) -> usize {
        self.from.max(len + 1)
    }

    /// Whether the last operations are those before the cut, and enough are pending.
    pub(super) fn is_like_end_of(&self, trace: &Trace) -> bool {
        let mut latest = latest(trace);
        trace.len() >= self.from && self.before.iter().all(|&hash| latest.next() == Some(hash))
    }
}

/// Whether the last operations repeat those before them: a whole period, and at least [`COMPARED`] operations.
pub(super) fn is_loop(trace: &Trace) -> bool {
    let latest: Vec<u64> = latest(trace).collect();
    let most = latest.len().saturating_sub(COMPARED).min(latest.len() / 2);
    (1..=most).any(|period| {
        let compared = period.max(COMPARED);
        latest.len() >= period + compared && latest[..compared] == latest[period..period + compared]
    })
}

/// Hashes of the recorded operations, the last one first.
fn latest(trace: &Trace) -> impl Iterator<Item = u64> {
    let nodes = (0..trace.len()).rev().map(|i| trace.node(NodeId(i as u32)));
    nodes.filter(|node| node.op != Op::Leaf).map(|node| hash(trace, node))
}

/// Hashes the operation, dtype and dims of a node. Shapes have other numbers after a step.
fn hash(trace: &Trace, node: &Node) -> u64 {
    let mut hasher = DefaultHasher::new();
    (node.op.code(), node.dtype as u32, trace.dims(node.shape)).hash(&mut hasher);
    hasher.finish()
}
