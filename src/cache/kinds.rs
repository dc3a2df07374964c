//! Kinds of programs: programs that are equal but for sizes. A kind that was seen twice gets a pattern, and for each list
//! of bounds a program that serves all sizes up to them.

use super::memory::lru;
use base::label::Label;
use base::types::Scalar;
use ir::Program;
use ir::sizes::{Guess, Pattern, Seen, Spread};
use lowering::transform::{Masked, Refusal, mask};
use lru::LruCache;
use parking_lot::Mutex;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Number of programs of a kind with which a new one is compared.
const MOST_SEEN: usize = 4;
/// Number of patterns that may be made of a kind. After that, its programs are compiled for their sizes.
const MOST_PATTERNS: usize = 8;

/// Number of lists of sizes of a kind whose runs are counted.
const MOST_COUNTED: usize = 4096;

/// The kinds of an environment, by the hash of what their programs have in common. Those used last are kept.
pub struct Kinds {
    kinds: Mutex<LruCache<u64, Arc<Mutex<Kind>>, FxBuildHasher>>,
    /// Whether a program for sizes that recur is being compiled in the background.
    pub is_compiling: AtomicBool,
    /// Whether a program was served by one for bounds, whose results may be padded.
    has_served: AtomicBool,
}

/// Programs that are equal but for sizes.
#[derive(Default)]
struct Kind {
    seen: Vec<Known>,
    patterns: usize,
    pattern: Option<Arc<Served>>,
}

/// A program that was compiled for its sizes.
struct Known {
    program: Program,
    spread: Spread,
    scalars: Vec<Scalar>,
}

/// A pattern, with its programs by the bounds of the variables.
struct Served {
    pattern: Pattern,
    /// Bounds of the variables that the caller stated, or 0.
    most: Vec<i64>,
    programs: Mutex<FxHashMap<Vec<i64>, Attempt>>,
    recurring: Mutex<FxHashMap<Vec<i64>, Arc<Recurring>>>,
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

/// An axis of a parameter that the caller states to change.
pub struct Stated {
    /// Index of the parameter.
    pub parameter: usize,
    /// Axis of the parameter.
    pub axis: usize,
    /// Largest size; 0 if it is not known.
    pub bound: i64,
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
    /// Share of the work that is done on padding, if the work is in proportion to each size.
    pub fn waste(&self) -> f64 {
        let filled =
            self.sizes.iter().zip(&self.bounded.bounds).map(|(&size, &bound)| size as f64 / bound.max(1) as f64);
        1.0 - filled.product::<f64>()
    }
}

/// How a program is served.
pub enum Service {
    /// By itself: it is the first of its kind, or cannot be compared.
    Alone,
    /// By a program for bounds.
    Bounded(Serving),
    /// By itself, since programs that differ from it in sizes only cannot be served together.
    Refused(Refusal),
}

impl Kinds {
    /// Creates an empty store for this number of kinds.
    pub fn new(capacity: NonZeroUsize) -> Kinds {
        Kinds {
            kinds: Mutex::new(lru(capacity)),
            is_compiling: AtomicBool::new(false),
            has_served: AtomicBool::new(false),
        }
    }

    /// Returns how a program that is not compiled for its sizes is served. `bound` gives the bound for a size; `stated`
    /// are axes of parameters that the caller states to change, with their bounds, or 0.
    pub fn serve(
        &self,
        program: &Program,
        scalars: &[Scalar],
        bound: impl Fn(i64) -> i64,
        stated: &[Stated],
    ) -> Service {
        let Some(spread) = Spread::of(program) else { return Service::Alone };
        let kind = self.kinds.lock().get_or_insert(spread.key(), Arc::default).clone();
        let service = kind.lock().service(program, spread, scalars, &bound, stated);
        if matches!(service, Service::Bounded(_)) {
            self.has_served.store(true, Ordering::Relaxed);
        }
        service
    }

    /// Whether a program was served by one for bounds, so that buffers may be padded.
    #[inline]
    pub fn has_served(&self) -> bool {
        self.has_served.load(Ordering::Relaxed)
    }
}

impl Kind {
    fn service(
        &mut self,
        program: &Program,
        spread: Spread,
        scalars: &[Scalar],
        bound: &impl Fn(i64) -> i64,
        stated: &[Stated],
    ) -> Service {
        if let Some(serving) = self.served(&spread, scalars, bound) {
            return Service::Bounded(serving);
        }
        let known = Known { program: program.clone(), spread, scalars: scalars.to_vec() };
        // A collision of hashes is another kind, which takes the place.
        if self.seen.iter().any(|seen| seen.spread.skeleton != known.spread.skeleton) {
            *self = Kind::default();
        }
        self.add(known, bound, stated)
    }

    /// Serves a program by the pattern.
    fn served(&self, spread: &Spread, scalars: &[Scalar], bound: &impl Fn(i64) -> i64) -> Option<Serving> {
        let served = self.pattern.as_ref()?;
        let sizes = served.pattern.sizes(spread)?;
        let (bounded, is_new) = served.program(&served.bounds(&sizes, bound));
        let (given, recurring) = (served.pattern.given(spread, scalars), served.recurring(&sizes));
        let bounded = bounded.ok().filter(|bounded| !bounded.is_given_up.load(Ordering::Relaxed));
        bounded.map(|bounded| Serving { bounded, sizes, given, is_new, recurring })
    }

    /// Adds a program that the pattern does not serve, and makes another pattern.
    fn add(&mut self, known: Known, bound: &impl Fn(i64) -> i64, stated: &[Stated]) -> Service {
        let is_seen = |seen: &Known| seen.program == known.program;
        if self.seen.iter().any(is_seen) || self.patterns == MOST_PATTERNS {
            return Service::Alone;
        }
        self.seen.push(known);
        if self.seen.len() > MOST_SEEN {
            self.seen.remove(0);
        }
        let guesses: &[Guess] = match self.seen.len() {
            1 if stated.is_empty() => return Service::Alone,
            1 => &[Guess::Stated],
            _ => &[Guess::Apart, Guess::Related],
        };
        self.patterns += 1;
        let mut refusal = None;
        for &guess in guesses {
            match self.attempt(guess, bound, stated) {
                Some(Ok((served, serving))) => {
                    self.pattern = Some(Arc::new(served));
                    return Service::Bounded(serving);
                }
                Some(Err(reason)) => refusal = refusal.or(Some(reason)),
                None => {}
            }
        }
        refusal.map_or(Service::Alone, Service::Refused)
    }

    /// Makes a pattern of the programs seen, by which the last one is served. None if there is none.
    fn attempt(
        &self,
        guess: Guess,
        bound: &impl Fn(i64) -> i64,
        stated: &[Stated],
    ) -> Option<Result<(Served, Serving), Refusal>> {
        let seen: Vec<Seen> = self.seen.iter().map(Known::seen).collect();
        let last = self.seen.last()?;
        let axes: Vec<(usize, usize)> = stated.iter().map(|stated| (stated.parameter, stated.axis)).collect();
        let pattern = Pattern::fit(&seen, guess, &axes)?;
        let sizes = pattern.sizes(&last.spread)?;
        let served = Served::new(pattern, stated);
        let (made, is_new) = served.program(&served.bounds(&sizes, bound));
        Some(made.map(|bounded| {
            let given = served.pattern.given(&last.spread, &last.scalars);
            let recurring = served.recurring(&sizes);
            (served, Serving { bounded, sizes, given, is_new, recurring })
        }))
    }
}

impl Known {
    fn seen(&self) -> Seen<'_> {
        Seen { program: &self.program, spread: &self.spread, scalars: &self.scalars }
    }
}

impl Served {
    fn new(pattern: Pattern, stated: &[Stated]) -> Served {
        let mut most = vec![0; pattern.template.variables];
        for axis in stated {
            if let Some(variable) = pattern.variable(axis.parameter, axis.axis) {
                most[variable] = axis.bound;
            }
        }
        Served { pattern, most, programs: Mutex::default(), recurring: Mutex::default() }
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
