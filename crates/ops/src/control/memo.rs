//! Memo of derived bodies, kept during one transformation. A body that several operations apply is derived once. So is
//! a body within a loop whose own body is derived repeatedly until its mask of carried values no longer changes: n
//! nested loops take a number of derivations that is linear in n.

use base::error::Result;
use base::types::TensorType;
use ir::Body;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Key of a derivation: all inputs of the rule. Bodies are compared by content, so that equal bodies share derived
/// ones.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Derivation {
    bodies: Vec<Arc<Body>>,
    numbers: Vec<i64>,
    masks: Vec<Vec<bool>>,
}

impl Derivation {
    /// Creates the key of a derivation from several bodies.
    pub fn new(bodies: &[Arc<Body>], numbers: &[i64], masks: &[&[bool]]) -> Derivation {
        let masks = masks.iter().map(|mask| mask.to_vec()).collect();
        Derivation { bodies: bodies.to_vec(), numbers: numbers.to_vec(), masks }
    }

    /// Creates the key of a derivation from one body.
    pub fn of(body: &Arc<Body>, numbers: &[i64], masks: &[&[bool]]) -> Derivation {
        Derivation::new(std::slice::from_ref(body), numbers, masks)
    }
}

/// Bodies that one rule has derived so far, by key. No lock is held during a derivation, because it derives nested
/// bodies.
pub(super) struct Table<T> {
    known: Mutex<FxHashMap<Derivation, Arc<T>>>,
    derived: AtomicUsize,
}

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table { known: Mutex::default(), derived: AtomicUsize::new(0) }
    }
}

impl<T> Table<T> {
    /// Returns the derived bodies of this key; None if there are none yet.
    pub fn find(&self, derivation: &Derivation) -> Option<Arc<T>> {
        self.known.lock().get(derivation).cloned()
    }

    /// Adds the derived bodies of a key.
    pub fn keep(&self, derivation: Derivation, made: T) -> Arc<T> {
        let made = Arc::new(made);
        self.derived.fetch_add(1, Ordering::Relaxed);
        self.known.lock().insert(derivation, made.clone());
        made
    }

    /// Returns the derived bodies of this key; derives them if there are none yet.
    pub fn find_or(&self, derivation: Derivation, derive: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        match self.find(&derivation) {
            Some(known) => Ok(known),
            None => Ok(self.keep(derivation, derive()?)),
        }
    }

    /// Number of derivations.
    fn count(&self) -> usize {
        self.derived.load(Ordering::Relaxed)
    }
}

/// Bodies that the rules of operations that apply bodies have derived in one transformation.
#[derive(Default)]
pub struct Memo {
    /// Bodies with tangents.
    pub(super) tangents: Table<Pushed>,
    /// Conditions of loops that carry tangents too.
    pub(super) conditions: Table<Arc<Body>>,
    /// Passes of calls; `None` where no operand has a cotangent.
    pub(super) calls: Table<Option<CallPasses>>,
    /// Backward passes of all branches of an operation.
    pub(super) branches: Table<Vec<Arc<Body>>>,
    /// Passes of one iteration of a scan, whose masks of cotangents no longer change.
    pub(super) scans: Table<ScanPasses>,
    /// Fixed-point steps: for a mask that still changes, the mask with the cotangents that one iteration adds.
    pub(super) mask_steps: Table<Vec<bool>>,
    /// Bodies with a batch axis.
    pub(super) batches: Table<BatchedBody>,
}

impl Memo {
    /// Number of derivations so far.
    pub fn derived(&self) -> usize {
        self.tangents.count()
            + self.conditions.count()
            + self.calls.count()
            + self.branches.count()
            + self.scans.count()
            + self.mask_steps.count()
            + self.batches.count()
    }
}

/// A body with tangents.
pub(super) struct Pushed {
    pub body: Arc<Body>,
    /// Which results have tangents.
    pub has_tangent: Vec<bool>,
}

/// A body with a batch axis.
pub(super) struct BatchedBody {
    pub body: Arc<Body>,
    /// Which results have the batch axis.
    pub mapped: Vec<bool>,
}

/// Forward and backward pass of a called body.
pub(super) struct CallPasses {
    /// The body, extended by the residuals that it did not return.
    pub forward: Arc<Body>,
    /// Maps operands, residuals and cotangents to gradients.
    pub backward: Arc<Body>,
    pub residuals: Residuals,
    /// Which operands have a gradient.
    pub has_gradient: Vec<bool>,
}

/// Forward and backward pass of one iteration of a scan.
pub(super) struct ScanPasses {
    /// The body, extended by the residuals that it did not stack.
    pub forward: Arc<Body>,
    /// Maps carried cotangents, sums, residuals, slices and cotangents of stacked results to carried cotangents, sums
    /// and cotangents of slices.
    pub backward: Arc<Body>,
    pub residuals: Residuals,
    /// Carried values that have a cotangent.
    pub carries: Vec<usize>,
    /// Captures whose cotangents are summed, and the types of the sums.
    pub sums: Vec<(usize, TensorType)>,
    /// Operands of the body that are slices and have a cotangent.
    pub slices: Vec<usize>,
    /// Stacked results that have a cotangent.
    pub stacks: Vec<usize>,
}

/// Residuals of an applied body.
pub(super) struct Residuals {
    /// Index of each residual among the results of the forward body.
    pub numbers: Vec<usize>,
    /// Types of the residuals that the original body did not return.
    pub added: Vec<TensorType>,
}
