//! Recognition of repeated steps and reads. A training loop records the same operations in every iteration. A sync of a
//! trace that equals an earlier one, except for the data of its leaves and the values of its scalars, and of which the
//! same values are wanted, uses the earlier scheme again: nothing is linearized, encoded or selected. The comparison reads the whole trace, about 50 bytes per operation, and
//! nothing is assumed: the first difference, in any operation, makes the sync plan again. Labels may change, as in a loop
//! that numbers its steps, if each of them becomes one other: the programs of the scheme get the new ones.

use super::copy::TraceCopy;
use crate::linear::Workspace;
use crate::scheme::{Scheme, Source};
use crate::trace::{NONE, Node, NodeId, Trace};
use base::types::{DType, Scalar};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Number of schemes that are remembered, the most recently used first: a loop may alternate between training,
/// evaluation, reads of one and the other, and a few more.
const MOST: usize = 8;

/// Maximum number of nodes of a trace that is remembered; its copy takes about 12 MB.
const MOST_NODES: usize = 1 << 18;

/// The values of a trace that a sync computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All held operations: a step.
    All,
    /// These values, and the held operations that are connected to them: a read.
    Connected(Vec<NodeId>),
}

/// A copy of a trace, and its scheme.
struct KnownTrace {
    trace: TraceCopy,
    wanted: Wanted,
    /// Dtypes of the scalars; their values may change.
    scalars: Vec<DType>,
    max_ops: usize,
    scheme: Arc<Scheme>,
}

/// Makes the schemes of one device's syncs, and remembers the schemes of the last different traces.
#[derive(Default)]
pub struct Planner {
    /// Memory of linearizations.
    pub workspace: Workspace,
    known: Vec<KnownTrace>,
    /// Hashes of the programs of the last schemes.
    seen: [u64; 2 * MOST],
}

impl Planner {
    /// Scheme that computes the wanted values of a trace, and whether it is the scheme of an earlier trace, which this
    /// one repeats. `may_donate` returns whether a leaf, by number, may be donated now; a leaf for which that has
    /// changed is a difference. `make` makes the scheme of a trace that is new; the same one for equal traces.
    pub fn scheme(
        &mut self,
        trace: &Trace,
        wanted: Wanted,
        max_ops: usize,
        may_donate: impl Fn(usize) -> bool,
        make: impl FnOnce(&mut Workspace) -> Scheme,
    ) -> (Arc<Scheme>, bool) {
        let renaming = |known: &KnownTrace| {
            let is_same =
                known.max_ops == max_ops && known.wanted == wanted && known.is_of(trace) && known.donates(&may_donate);
            if is_same { known.trace.renaming(trace) } else { None }
        };
        let mut same = self.known.iter().enumerate().filter_map(|(i, known)| Some((i, renaming(known)?)));
        let first = same.next();
        // One with the same labels comes before one that would have to be relabelled.
        let has_new_labels = first.as_ref().is_some_and(|(_, renaming)| !renaming.is_empty());
        let exact = if has_new_labels { same.find(|(_, renaming)| renaming.is_empty()) } else { None };
        drop(same);
        if let Some((found, renaming)) = exact.or(first) {
            self.known[..=found].rotate_right(1);
            let known = &mut self.known[0];
            if !renaming.is_empty() {
                known.scheme = Arc::new(known.scheme.renamed(&renaming));
                known.trace.relabel(trace);
            }
            return (known.scheme.clone(), true);
        }
        let scheme = Arc::new(make(&mut self.workspace));
        self.remember(trace, wanted, max_ops, &scheme);
        (scheme, false)
    }

    /// Remembers the scheme of a trace, and forgets the least recently used one, if the same programs came before: a
    /// trace that does not repeat is not copied. Nor is one without held operations, of which a barrier between steps
    /// would make many, or a very large one.
    fn remember(&mut self, trace: &Trace, wanted: Wanted, max_ops: usize, scheme: &Arc<Scheme>) {
        if scheme.stages.is_empty() || trace.nodes.len() > MOST_NODES {
            return;
        }
        let mut hasher = FxHasher::default();
        scheme.stages.iter().for_each(|stage| stage.program.encoding().hash(&mut hasher));
        let hash = hasher.finish();
        if self.seen.contains(&hash) {
            self.known.truncate(MOST - 1);
            self.known.insert(0, KnownTrace::new(trace, wanted, max_ops, scheme.clone()));
        } else {
            self.seen.rotate_right(1);
            self.seen[0] = hash;
        }
    }
}

impl KnownTrace {
    fn new(trace: &Trace, wanted: Wanted, max_ops: usize, scheme: Arc<Scheme>) -> KnownTrace {
        KnownTrace {
            trace: TraceCopy::of(trace),
            wanted,
            scalars: trace.scalars.iter().map(|scalar| scalar.dtype()).collect(),
            max_ops,
            scheme,
        }
    }

    /// Whether the trace has the same operations in the same order, of which the same are held.
    fn is_of(&self, trace: &Trace) -> bool {
        let is_same_dtype = |(dtype, scalar): (&DType, &Scalar)| *dtype == scalar.dtype();
        self.scheme.donatable.len() == trace.leaves.len()
            && self.scalars.len() == trace.scalars.len()
            && self.trace.is_of(trace, is_as_held)
            && self.scalars.iter().zip(&trace.scalars).all(is_same_dtype)
    }

    /// Whether the same leaves of those that the scheme reads may be donated.
    fn donates(&self, may_donate: impl Fn(usize) -> bool) -> bool {
        let of_leaf = |argument: &Source| match *argument {
            Source::Leaf(leaf) => may_donate(leaf) == self.scheme.donatable[leaf],
            Source::Made(_) => true,
        };
        self.scheme.stages.iter().all(|stage| stage.arguments.iter().all(of_leaf))
    }
}

/// Whether both nodes are held, or neither; and both were run by a partial sync, or neither.
#[inline]
fn is_as_held(a: &Node, b: &Node) -> bool {
    (a.computed == b.computed) & ((a.holder == NONE) == (b.holder == NONE))
}
