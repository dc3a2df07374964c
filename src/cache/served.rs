//! A pattern of programs that are equal but for sizes, with its programs for bounds.

use base::label::Label;
use base::types::Scalar;
use ir::Program;
use ir::sizes::{Pattern, Spread};
use lowering::transform::{Masked, Refusal, mask};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Number of lists of sizes of a pattern whose runs are counted.
const MOST_COUNTED: usize = 4096;

/// A pattern, with its programs by the bounds of the variables.
pub(super) struct Served {
    pattern: Pattern,
    /// Bounds of the variables that the caller stated, or 0.
    most: Vec<i64>,
    programs: Mutex<FxHashMap<Vec<i64>, Attempt>>,
    recurring: Mutex<FxHashMap<Vec<i64>, Arc<Recurring>>>,
}

/// An axis of a parameter that the caller states to change.
pub struct Stated {
    /// Index of the parameter.
    pub parameter: usize,
    /// Axis of the parameter.
    pub axis: usize,
    /// Largest size; 0 if it is not known.
    pub bound: i64,
}

/// A program for bounds, or why there is none.
type Attempt = Result<Arc<Bounded>, Refusal>;

/// The runs of a program for bounds with some sizes.
#[derive(Default)]
pub struct Recurring {
    lost: AtomicU64,
    is_asked: AtomicBool,
}

impl Recurring {
    /// Adds the time that a run lost by computing padding.
    pub fn add_lost(&self, time: Duration) {
        self.lost.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
    }

    /// Whether the runs lost more time than the compile of a program for these sizes takes, which nobody has asked for.
    pub fn deserves_own(&self, compile: Duration) -> bool {
        u128::from(self.lost.load(Ordering::Relaxed)) > compile.as_nanos() && !self.is_asked.load(Ordering::Relaxed)
    }

    /// Says that the program for these sizes is asked for.
    pub fn ask(&self) {
        self.is_asked.store(true, Ordering::Relaxed);
    }
}

/// A program for bounds.
pub struct Bounded {
    /// The program, with the layouts of its parameters and outputs, and where its scalars come from.
    pub masked: Masked,
    /// The program, to be shared with the runs.
    pub program: Arc<Program>,
    /// Bounds of the variables.
    pub bounds: Vec<i64>,
    is_given_up: AtomicBool,
}

impl Bounded {
    /// Serves no further program: it could not be compiled.
    pub fn give_up(&self) {
        self.is_given_up.store(true, Ordering::Relaxed);
    }
}

/// How a program for bounds serves a program.
pub struct Serving {
    /// The program for bounds.
    pub bounded: Arc<Bounded>,
    /// Sizes of the variables.
    pub sizes: Vec<i64>,
    /// Values of its given scalars: the program's slots, then the scalars of its bodies. Scalars that changed
    /// between programs vary.
    pub given: Vec<Scalar>,
    /// Whether the program for bounds was made now.
    pub is_new: bool,
    /// The runs with these sizes.
    pub recurring: Arc<Recurring>,
}

impl Serving {
    /// Whether the program for bounds could be compiled, as far as is known.
    pub(super) fn is_usable(&self) -> bool {
        !self.bounded.is_given_up.load(Ordering::Relaxed)
    }

    /// Share of the work that is done on padding, if the work is in proportion to each size.
    pub fn waste(&self) -> f64 {
        let filled =
            self.sizes.iter().zip(&self.bounded.bounds).map(|(&size, &bound)| size as f64 / bound.max(1) as f64);
        1.0 - filled.product::<f64>()
    }
}

impl Served {
    /// A pattern, with the bounds that the caller states.
    pub fn new(pattern: Pattern, stated: &[Stated]) -> Served {
        let mut most = vec![0; pattern.template.variables];
        for axis in stated {
            if let Some(variable) = pattern.variable(axis.parameter, axis.axis) {
                most[variable] = axis.bound;
            }
        }
        Served { pattern, most, programs: Mutex::default(), recurring: Mutex::default() }
    }

    /// Serves a program; None if it is none of the pattern's, and why if there is no program for its bounds.
    pub fn serve(
        &self,
        spread: &Spread,
        scalars: &[Scalar],
        bound: &impl Fn(i64) -> i64,
    ) -> Option<Result<Serving, Refusal>> {
        let sizes = self.pattern.sizes(spread)?;
        let (made, is_new) = self.program(&self.bounds(&sizes, bound));
        Some(made.map(|bounded| {
            let (given, recurring) = (self.pattern.given(spread, scalars), self.recurring(&sizes));
            Serving { bounded, sizes, given, is_new, recurring }
        }))
    }

    /// Bounds for these sizes: those that the caller stated, or else those that `bound` gives.
    fn bounds(&self, sizes: &[i64], bound: &impl Fn(i64) -> i64) -> Vec<i64> {
        let of = |(&size, &most): (&i64, &i64)| if size <= most { most } else { bound(size) };
        sizes.iter().zip(&self.most).map(of).collect()
    }

    fn recurring(&self, sizes: &[i64]) -> Arc<Recurring> {
        let mut all = self.recurring.lock();
        if let Some(known) = all.get(sizes) {
            return known.clone();
        }
        if all.len() == MOST_COUNTED {
            all.clear();
        }
        all.entry(sizes.to_vec()).or_default().clone()
    }

    /// Returns the program for these bounds, and whether it was made now.
    fn program(&self, bounds: &[i64]) -> (Attempt, bool) {
        let mut programs = self.programs.lock();
        if let Some(known) = programs.get(bounds) {
            return (known.clone(), false);
        }
        // A fault of a rule is not a fault of the program, which runs for its sizes then.
        let masked = catch_unwind(AssertUnwindSafe(|| mask(&self.pattern.template, bounds)));
        let failed = |_| {
            let reason = "a masking rule of one of its operations failed".to_string();
            Err(Refusal { operation: "the program", label: Label::NONE, reason })
        };
        let made = masked.unwrap_or_else(failed).map(|masked| {
            let program = Arc::new(masked.program.clone());
            Arc::new(Bounded { masked, program, bounds: bounds.to_vec(), is_given_up: AtomicBool::new(false) })
        });
        programs.insert(bounds.to_vec(), made.clone());
        (made, true)
    }
}
