//! Finds the places where a loop that never steps is cut into programs. Used under the policy
//! [`PendingLimitPolicy::Loop`](super::PendingLimitPolicy::Loop).
//!
//! A limit alone falls anywhere in an iteration, and the next one somewhere else, so that each program is compiled anew.
//! So a recording that repeats its last operations is stepped, and stepped again where its last operations equal
//! the ones before the previous cut: at the same place of a later iteration.

use ir::{Node, NodeId, Op, Trace};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Fewest pending operations of a cut. Beside a program of so many, the cost of a step is small, and XLA takes much
/// longer for one of twice as many.
pub const FEWEST: usize = 256;

/// Number of last operations among which a loop must repeat itself.
const MOST_LOOKED_AT: usize = 8192;

/// Number of cuts in a row that may compile. If iterations keep different values alive, every cut compiles.
const MOST_COMPILES: u32 = 4;

/// Number of last operations that are compared: more than an iteration repeats within itself by chance.
const COMPARED: usize = 32;

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
        (before.len() == COMPARED).then_some(Cut { before, from: 0 })
    }

    /// Whether the last operations equal the last ones before the cut, and enough are pending.
    fn is_like_end_of(&self, trace: &Trace) -> bool {
        let mut latest = latest(trace);
        trace.len() >= self.from && self.before.iter().all(|&hash| latest.next() == Some(hash))
    }
}

/// The cuts of the loops of a device.
pub struct Cuts {
    /// The last one, if no other step or read followed.
    pub(super) last: Option<Cut>,
    /// Fewest operations between two cuts. They become more as long as each cut compiles.
    fewest: usize,
    /// Number of last cuts each of which compiled.
    compiled: u32,
}

impl Default for Cuts {
    fn default() -> Cuts {
        Cuts { last: None, fewest: FEWEST, compiled: 0 }
    }
}

impl Cuts {
    /// Adds a cut, after whose step `len` nodes are left. `has_compiled` says whether the step compiled a program, or
    /// failed.
    pub(super) fn add(&mut self, cut: Option<Cut>, len: usize, has_compiled: bool) {
        self.compiled = if has_compiled { self.compiled + 1 } else { 0 };
        if self.compiled > MOST_COMPILES {
            (self.compiled, self.fewest) = (0, self.fewest.saturating_mul(2));
        }
        self.last = cut.map(|cut| Cut { from: len.saturating_add(self.fewest), ..cut });
    }

    /// Forgets the last cut.
    pub(super) fn forget_last(&mut self) {
        self.last = None;
    }

    /// Whether the trace is to be cut at its end.
    pub(super) fn is_at_end_of(&self, trace: &Trace, has_calls: bool) -> bool {
        match &self.last {
            Some(cut) => cut.is_like_end_of(trace),
            None => trace.len() >= self.fewest && !has_calls && is_loop(trace),
        }
    }

    /// Length of the trace, of `len` nodes now, at which the next cut may be.
    pub(super) fn next_look(&self, len: usize) -> usize {
        self.last.as_ref().map_or(len + FEWEST, |cut| cut.from.max(len + 1))
    }
}

/// Whether the last operations repeat the operations before them: a whole period, and at least [`COMPARED`] operations.
fn is_loop(trace: &Trace) -> bool {
    let latest: Vec<u64> = latest(trace).take(MOST_LOOKED_AT).collect();
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
