//! Kinds of programs: programs of the same operations. Two of a kind that are equal but for sizes get a pattern, and for
//! each list of bounds a program that serves all sizes up to them.

use super::memory::lru;
use super::served::{Served, Serving, Stated};
use base::types::Scalar;
use ir::sizes::{Guess, Pattern, Seen, Spread};
use ir::{Op, Program};
use lowering::transform::Refusal;
use lru::LruCache;
use parking_lot::Mutex;
use rustc_hash::FxBuildHasher;
use std::cmp::Reverse;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of programs of a kind that a new program is compared with.
const MOST_SEEN: usize = 64;
/// Number of patterns that a kind keeps: those used last.
const MOST_PATTERNS: usize = 32;
/// Number of programs that a pattern is made of.
const MOST_MEMBERS: usize = 4;
/// Number of patterns and of programs that a new program is tried with.
const MOST_TRIED: usize = 4;
/// Number of patterns that may be made of a kind. After that, programs that no pattern serves are compiled for their
/// sizes.
const MOST_MADE: usize = 128;
/// Number of similar programs, of different sizes, for which no pattern was found. After that, no pattern is looked for
/// if a program is most like one of them.
const MOST_FAILURES: usize = 8;

/// The kinds of an environment, by the hash of what their programs have in common. Those used last are kept.
pub struct Kinds {
    kinds: Mutex<LruCache<u64, Arc<Mutex<Kind>>, FxBuildHasher>>,
    /// Whether a program for sizes that recur is being compiled in the background.
    pub is_compiling: AtomicBool,
    /// Whether a program was served by one for bounds, whose results may be padded.
    has_served: AtomicBool,
}

/// Programs of the same operations, which differ in sizes and attributes: for example, sums over the rows of matrices and
/// sums over their columns, each for several sizes. Programs that differ in sizes only form a group.
#[derive(Default)]
struct Kind {
    /// Programs that were compiled for their sizes, the latest last.
    seen: Vec<Sighting>,
    /// Patterns, the one that was used last in front.
    groups: Vec<Group>,
    made: usize,
}

/// A program that was compiled for its sizes.
struct Sighting {
    known: Arc<Known>,
    /// Number of failures so far to find a pattern for this program and for programs like it.
    failures: usize,
    /// Why the last attempt failed.
    refusal: Option<Refusal>,
}

/// Programs that are equal but for sizes.
struct Group {
    members: Vec<Arc<Known>>,
    served: Arc<Served>,
}

/// A program that was seen.
struct Known {
    program: Program,
    spread: Spread,
    scalars: Vec<Scalar>,
    /// Sizes of the parameters.
    sizes: Vec<i64>,
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
            // A program for bounds that failed to compile is not made again from another pattern.
            return if serving.is_usable() { Service::Bounded(serving) } else { Service::Alone };
        }
        let known = Known::new(program.clone(), spread, scalars.to_vec());
        // A collision of hashes is another kind, which takes the place.
        if self.seen.iter().any(|seen| seen.known.spread.skeleton != known.spread.skeleton) {
            *self = Kind::default();
        }
        self.add(&Arc::new(known), bound, stated)
    }

    /// Serves a program by one of the patterns.
    fn served(&mut self, spread: &Spread, scalars: &[Scalar], bound: &impl Fn(i64) -> i64) -> Option<Serving> {
        let served = |group: &Group| group.served.serve(spread, scalars, bound)?.ok();
        let (at, serving) = self.groups.iter().enumerate().find_map(|(at, group)| Some((at, served(group)?)))?;
        self.groups[..=at].rotate_right(1);
        Some(serving)
    }

    /// Adds a program that no pattern serves, and makes a pattern of it and others.
    fn add(&mut self, known: &Arc<Known>, bound: &impl Fn(i64) -> i64, stated: &[Stated]) -> Service {
        if self.seen.iter().any(|seen| seen.known.program == known.program) {
            return Service::Alone;
        }
        let like = self.seen.iter().rev().min_by_key(|seen| seen.known.distance(known));
        let has_new_sizes = known.sizes.is_empty() || like.is_some_and(|like| like.known.sizes != known.sizes);
        let (mut failures, mut refusal) = like.map_or((0, None), |like| (like.failures, like.refusal.clone()));
        let mut service = None;
        if self.made < MOST_MADE && failures < MOST_FAILURES {
            match self.group(known, bound, stated) {
                Ok(serving) => {
                    (self.made, failures, refusal) = (self.made + 1, 0, None);
                    service = Some(Service::Bounded(serving));
                }
                Err(reason) => {
                    failures += usize::from(has_new_sizes && !self.seen.is_empty());
                    refusal = reason.or(refusal);
                }
            }
        }
        self.seen.push(Sighting { known: known.clone(), failures, refusal: refusal.clone() });
        if self.seen.len() > MOST_SEEN {
            self.seen.remove(0);
        }
        service.unwrap_or_else(|| refusal.map_or(Service::Alone, Service::Refused))
    }

    /// Makes a pattern of a program and the members of a group, which it replaces; or else of the program and another
    /// one, or of the program alone, if the caller states which axes change. The most similar programs come first.
    fn group(
        &mut self,
        known: &Arc<Known>,
        bound: &impl Fn(i64) -> i64,
        stated: &[Stated],
    ) -> Result<Serving, Option<Refusal>> {
        let mut refusal = None;
        let distance = |group: &Group| group.members.iter().map(|member| member.distance(known)).min();
        for at in nearest(self.groups.iter().map(|group| distance(group).unwrap_or(usize::MAX))) {
            let mut members = self.groups[at].members.clone();
            members.push(known.clone());
            if members.len() > MOST_MEMBERS {
                members.remove(0);
            }
            if let Some(serving) = self.made_of(members, &BY_COMPARISON, Some(at), bound, stated, &mut refusal) {
                return Ok(serving);
            }
        }
        for at in nearest(self.seen.iter().map(|seen| seen.known.distance(known))) {
            let members = vec![self.seen[at].known.clone(), known.clone()];
            if let Some(serving) = self.made_of(members, &BY_COMPARISON, None, bound, stated, &mut refusal) {
                return Ok(serving);
            }
        }
        if stated.is_empty() {
            return Err(refusal);
        }
        let alone = vec![known.clone()];
        self.made_of(alone, &[Guess::Stated], None, bound, stated, &mut refusal).ok_or(refusal)
    }

    /// Makes a pattern of programs, by which the last one is served, in the place of a group or as a new one. Notes the
    /// first reason why there is none.
    fn made_of(
        &mut self,
        members: Vec<Arc<Known>>,
        guesses: &[Guess],
        place: Option<usize>,
        bound: &impl Fn(i64) -> i64,
        stated: &[Stated],
        refusal: &mut Option<Refusal>,
    ) -> Option<Serving> {
        for &guess in guesses {
            match pattern_of(&members, guess, bound, stated) {
                Some(Ok((served, serving))) => {
                    if let Some(at) = place {
                        self.groups.remove(at);
                    }
                    self.groups.insert(0, Group { members, served: Arc::new(served) });
                    self.groups.truncate(MOST_PATTERNS);
                    return Some(serving);
                }
                Some(Err(reason)) => {
                    refusal.get_or_insert(reason);
                }
                None => {}
            }
        }
        None
    }
}

/// How sizes of several programs are told apart.
const BY_COMPARISON: [Guess; 2] = [Guess::Apart, Guess::Related];

/// Makes a pattern of programs, by which the last one is served. None if there is none.
fn pattern_of(
    members: &[Arc<Known>],
    guess: Guess,
    bound: &impl Fn(i64) -> i64,
    stated: &[Stated],
) -> Option<Result<(Served, Serving), Refusal>> {
    let seen: Vec<Seen> = members.iter().map(|member| member.seen()).collect();
    let last = members.last()?;
    let axes: Vec<(usize, usize)> = stated.iter().map(|stated| (stated.parameter, stated.axis)).collect();
    let served = Served::new(Pattern::fit(&seen, guess, &axes)?, stated);
    let serving = served.serve(&last.spread, &last.scalars, bound)?;
    Some(serving.map(|serving| (served, serving)))
}

/// Places of the smallest distances, ascending; of equal ones, the latest first.
fn nearest(distances: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut places: Vec<(usize, Reverse<usize>)> = distances.enumerate().map(|(at, far)| (far, Reverse(at))).collect();
    places.sort_unstable();
    places.into_iter().take(MOST_TRIED).map(|(_, Reverse(at))| at).collect()
}

impl Known {
    fn new(program: Program, spread: Spread, scalars: Vec<Scalar>) -> Known {
        let (values, _) = program.decode();
        let leaves = values.iter().filter(|value| value.op == Op::Leaf);
        let sizes = leaves.flat_map(|value| value.ty.dims.iter().copied()).collect();
        Known { program, spread, scalars, sizes }
    }

    /// The number of sizes and attributes that differ between two programs of a kind.
    fn distance(&self, other: &Known) -> usize {
        self.spread.numbers.iter().zip(&other.spread.numbers).filter(|(a, b)| a != b).count()
    }

    fn seen(&self) -> Seen<'_> {
        Seen { program: &self.program, spread: &self.spread, scalars: &self.scalars }
    }
}
