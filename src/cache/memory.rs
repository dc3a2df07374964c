//! In-memory cache of compiled programs. A program is found by its encoding, compared in full. The cache remembers
//! which of its scalar slots have become parameters; its compiled variants differ by constants and donors.

use super::flight::Flight;
use base::error::Result;
use base::types::{Encoding, Scalar};
use lru::LruCache;
use parking_lot::Mutex;
use rustc_hash::FxBuildHasher;
use std::hash::Hash;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// A cache lookup.
pub struct Lookup<'a> {
    /// Canonical encoding of the program.
    pub encoding: &'a Encoding,
    /// Values of the scalar slots.
    pub scalars: &'a [Scalar],
    /// Indices of the parameters that may be donated, ascending.
    pub donors: &'a [usize],
}

/// LRU cache of compiled programs of type `T`.
pub struct ProgramCache<T> {
    inner: Mutex<Inner<T>>,
}

struct Inner<T> {
    /// Programs by encoding. Has the same capacity as `variants` and is used together with it, so that a program always
    /// outlives its variants.
    families: LruCache<Encoding, Family, FxBuildHasher>,
    variants: LruCache<VariantKey, Arc<Flight<T>>, FxBuildHasher>,
    next_family: u64,
    /// The last lookup, if it found a program. That program and its family were used last, so that finding them again
    /// changes neither LRU cache.
    last: Option<Found<T>>,
}

/// A lookup that found a program.
struct Found<T> {
    encoding: Encoding,
    scalars: Box<[Scalar]>,
    donors: Box<[usize]>,
    flight: Arc<Flight<T>>,
}

impl<T> Found<T> {
    fn of(wanted: &Lookup, flight: Arc<Flight<T>>) -> Found<T> {
        let Lookup { encoding, scalars, donors } = *wanted;
        Found { encoding: encoding.clone(), scalars: scalars.into(), donors: donors.into(), flight }
    }

    fn is_for(&self, wanted: &Lookup) -> bool {
        let same_scalars = || self.scalars.iter().zip(wanted.scalars).all(|(known, now)| known.is_same(now));
        self.encoding == *wanted.encoding
            && self.scalars.len() == wanted.scalars.len()
            && same_scalars()
            && *self.donors == *wanted.donors
    }
}

/// A program with all its variants.
struct Family {
    /// Represents the encoding in the keys of the variants.
    number: u64,
    /// Initial values of the scalar slots.
    constants: Box<[Scalar]>,
    /// Slots whose value has changed since, or whose scalar varies. They remain parameters from then on.
    varying: Arc<[bool]>,
    /// Sets of donors for which the program is compiled; see [`MOST_DONOR_SETS`].
    donor_sets: Vec<Arc<[usize]>>,
}

/// Maximum number of donor sets for which a program is compiled. The inputs that a frontend has released by the time of
/// a step may vary at random; beyond this number, the nearest known set is used, and arguments that must not be
/// consumed are excluded from donation in that run.
const MOST_DONOR_SETS: usize = 4;

/// Parameters of a compilation.
#[derive(Clone)]
pub struct Variant {
    /// For each scalar slot, whether it is a parameter.
    pub varying: Arc<[bool]>,
    /// Indices of the parameters that may be donated, ascending.
    pub donors: Arc<[usize]>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct VariantKey {
    family: u64,
    rest: Vec<u64>,
}

/// Removes a variant whose compile failed or panicked, so that the next request compiles again.
struct Removal<'a, T> {
    cache: &'a ProgramCache<T>,
    flight: &'a Arc<Flight<T>>,
    key: Option<VariantKey>,
}

impl<T> Drop for Removal<'_, T> {
    fn drop(&mut self) {
        if let Some(key) = &self.key {
            let mut inner = self.cache.inner.lock();
            // The variant may have been evicted, and requested again, in the meantime.
            if inner.variants.peek(key).is_some_and(|found| Arc::ptr_eq(found, self.flight)) {
                inner.variants.pop(key);
            }
            inner.last = None;
        }
    }
}

impl<T> ProgramCache<T> {
    /// Creates an empty cache with a capacity for `capacity` compiled programs.
    pub fn new(capacity: NonZeroUsize) -> ProgramCache<T> {
        ProgramCache {
            inner: Mutex::new(Inner { families: lru(capacity), variants: lru(capacity), next_family: 0, last: None }),
        }
    }

    /// Returns the compiled program, and whether this call compiled it. On a miss, `make` compiles the variant passed
    /// to it, whose donors may differ from those wanted. Concurrent requests share one compile, during which no lock is
    /// held.
    pub fn get_or_make(&self, wanted: &Lookup, make: impl FnOnce(&Variant) -> Result<T>) -> Result<(Arc<T>, bool)> {
        let (flight, key, variant) = {
            let mut inner = self.inner.lock();
            if let Some(last) = inner.last.as_ref().filter(|last| last.is_for(wanted)) {
                let flight = last.flight.clone();
                drop(inner);
                return flight.wait().map(|made| (made, false));
            }
            let last = inner.last.take();
            let (key, variant) = inner.key(wanted);
            if let Some(flight) = inner.variants.get(&key).cloned() {
                inner.last = Some(Found::of(wanted, flight.clone()));
                drop(inner);
                drop(last);
                return flight.wait().map(|made| (made, false));
            }
            let flight = Flight::new();
            let evicted = inner.variants.push(key.clone(), flight.clone());
            drop(inner);
            // These may be the last owners of an executable, which is freed without the lock.
            drop((evicted, last));
            (flight, key, variant)
        };
        let mut unless_made = Removal { cache: self, flight: &flight, key: Some(key) };
        let made = flight.make(|| make(&variant))?;
        unless_made.key = None;
        Ok((made, true))
    }

    /// Returns whether the program is compiled in the variant that is wanted. One that is being compiled is not.
    pub fn has(&self, wanted: &Lookup) -> bool {
        let mut inner = self.inner.lock();
        if inner.last.as_ref().is_some_and(|last| last.is_for(wanted)) {
            return true;
        }
        if !inner.families.contains(wanted.encoding) {
            return false;
        }
        let (key, _) = inner.key(wanted);
        inner.variants.peek(&key).is_some_and(|flight| flight.made().is_some())
    }

    /// Number of programs, and number of compiled variants.
    pub fn sizes(&self) -> (usize, usize) {
        let inner = self.inner.lock();
        (inner.families.len(), inner.variants.len())
    }

    /// Compiled programs, the one used last first. Has no side effects.
    pub fn made(&self) -> Vec<Arc<T>> {
        let flights: Vec<Arc<Flight<T>>> =
            self.inner.lock().variants.iter().map(|(_, flight)| flight.clone()).collect();
        flights.iter().filter_map(|flight| flight.made()).collect()
    }

    /// Returns the variant that would run now. Has no side effects.
    pub fn peek(&self, wanted: &Lookup) -> Variant {
        match self.inner.lock().families.peek(wanted.encoding) {
            Some(family) => {
                let donors = family.nearest(wanted.donors).unwrap_or_else(|| wanted.donors.into());
                Variant { varying: changed(family, wanted.scalars).into(), donors }
            }
            None => Variant { varying: varying(wanted.scalars), donors: wanted.donors.into() },
        }
    }
}

/// Returns an empty cache with this capacity. Its memory grows with its contents; `LruCache::new` would allocate for
/// the whole capacity at once.
pub(super) fn lru<K: Hash + Eq, V>(capacity: NonZeroUsize) -> LruCache<K, V, FxBuildHasher> {
    let mut cache = LruCache::unbounded_with_hasher(FxBuildHasher);
    cache.resize(capacity);
    cache
}

/// For each slot, whether it is a parameter or becomes one with these values.
fn changed(family: &Family, scalars: &[Scalar]) -> Vec<bool> {
    let holes = family.constants.iter().zip(scalars).zip(family.varying.iter());
    holes.map(|((constant, now), &varying)| varying || now.varies() || constant != now).collect()
}

/// For each slot of a new program, whether it is a parameter.
fn varying(scalars: &[Scalar]) -> Arc<[bool]> {
    scalars.iter().map(Scalar::varies).collect()
}

impl Family {
    /// Returns the donor set to use instead of `wanted`: the set itself if it is known; if there are too many sets, the
    /// first one with the fewest differences; None if `wanted` should be added as a new set.
    fn nearest(&self, wanted: &[usize]) -> Option<Arc<[usize]>> {
        if let Some(same) = self.donor_sets.iter().find(|set| ***set == *wanted) {
            return Some(same.clone());
        }
        if self.donor_sets.len() < MOST_DONOR_SETS {
            return None;
        }
        let differences = |set: &&Arc<[usize]>| {
            let common = set.iter().filter(|donor| wanted.binary_search(donor).is_ok()).count();
            set.len() + wanted.len() - 2 * common
        };
        self.donor_sets.iter().min_by_key(differences).cloned()
    }
}

impl<T> Inner<T> {
    /// Returns the key of a variant, and the parameters of its compilation.
    fn key(&mut self, wanted: &Lookup) -> (VariantKey, Variant) {
        let next = &mut self.next_family;
        let family = self.families.get_or_insert_mut_ref(wanted.encoding, || {
            *next += 1;
            Family {
                number: *next,
                constants: wanted.scalars.into(),
                varying: varying(wanted.scalars),
                donor_sets: Vec::new(),
            }
        });
        let mut slots = family.constants.iter().zip(wanted.scalars).zip(family.varying.iter());
        if slots.any(|((constant, now), &varying)| !varying && (now.varies() || constant != now)) {
            family.varying = changed(family, wanted.scalars).into();
        }
        let donors = family.nearest(wanted.donors).unwrap_or_else(|| {
            family.donor_sets.push(wanted.donors.into());
            wanted.donors.into()
        });
        let variant = Variant { varying: family.varying.clone(), donors };
        (VariantKey { family: family.number, rest: rest(wanted.scalars, &variant) }, variant)
    }
}

/// Returns the part of a key that distinguishes the variants of one program: constants (with their indices) and donors.
fn rest(scalars: &[Scalar], variant: &Variant) -> Vec<u64> {
    let mut rest = Vec::with_capacity(2 + 2 * scalars.len() + variant.donors.len());
    rest.push(variant.donors.len() as u64);
    rest.extend(variant.donors.iter().map(|&i| i as u64));
    for (i, scalar) in scalars.iter().enumerate().filter(|(i, _)| !variant.varying[*i]) {
        let bits = scalar.bits();
        rest.extend([i as u64, bits as u64]);
        if scalar.dtype().size_bytes() > 8 {
            rest.push((bits >> 64) as u64);
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error;
    use base::types::{DType, Encoding, ScalarValue};
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn scalars(values: &[f64]) -> Vec<Scalar> {
        values.iter().map(|&v| Scalar::new(DType::F32, ScalarValue::Float(v)).unwrap()).collect()
    }

    fn cache(capacity: usize) -> ProgramCache<Vec<bool>> {
        ProgramCache::new(NonZeroUsize::new(capacity).unwrap())
    }

    fn get(cache: &ProgramCache<Vec<bool>>, words: &[u32], values: &[f64], donors: &[usize]) -> (Vec<bool>, bool) {
        let scalars = scalars(values);
        let lookup = Lookup { encoding: &Encoding::new(words.to_vec()), scalars: &scalars, donors };
        let (made, compiled) = cache.get_or_make(&lookup, |variant| Ok(variant.varying.to_vec())).unwrap();
        (made.to_vec(), compiled)
    }

    #[test]
    fn k5_a_scalar_that_changes_costs_one_compile_ever() {
        let cache = cache(8);
        assert_eq!(get(&cache, &[1], &[0.1, 2.0], &[]), (vec![false, false], true));
        assert_eq!(get(&cache, &[1], &[0.1, 2.0], &[]), (vec![false, false], false));
        assert_eq!(get(&cache, &[1], &[0.2, 2.0], &[]), (vec![true, false], true));
        for i in 0..50 {
            assert_eq!(get(&cache, &[1], &[f64::from(i), 2.0], &[]), (vec![true, false], false));
        }
        // Values that become equal, or return to their first values, do not compile again.
        assert_eq!(get(&cache, &[1], &[2.0, 2.0], &[]), (vec![true, false], false));
        assert_eq!(get(&cache, &[1], &[0.1, 2.0], &[]), (vec![true, false], false));
    }

    #[test]
    fn k5_a_varying_scalar_is_a_parameter_from_the_start() {
        let cache: ProgramCache<Vec<bool>> = ProgramCache::new(NonZeroUsize::new(8).unwrap());
        let encoding = Encoding::new(vec![1]);
        let get = |scalars: [Scalar; 2]| {
            let lookup = Lookup { encoding: &encoding, scalars: &scalars, donors: &[] };
            let peeked = cache.peek(&lookup).varying.to_vec();
            let (made, now) = cache.get_or_make(&lookup, |variant| Ok(variant.varying.to_vec())).unwrap();
            assert_eq!(peeked, *made);
            (made.to_vec(), now)
        };
        let of = |value| Scalar::new(DType::F32, ScalarValue::Float(value)).unwrap();
        assert_eq!(get([of(1.0).varying(), of(2.0)]), (vec![true, false], true));
        assert_eq!(get([of(3.0).varying(), of(2.0)]), (vec![true, false], false));
        assert_eq!(get([of(4.0), of(2.0)]), (vec![true, false], false));
        assert_eq!(get([of(4.0), of(2.0).varying()]), (vec![true, true], true));
    }

    #[test]
    fn k2_donors_and_words_tell_programs_apart() {
        let cache = cache(8);
        assert!(get(&cache, &[1], &[], &[]).1);
        assert!(get(&cache, &[1], &[], &[0]).1);
        assert!(get(&cache, &[2], &[], &[0]).1);
        assert!(!get(&cache, &[1], &[], &[0]).1);
        assert!(!get(&cache, &[1], &[], &[]).1);
    }

    #[test]
    fn k10_donor_sets_are_bounded_and_the_nearest_one_serves() {
        let cache: ProgramCache<Vec<usize>> = ProgramCache::new(NonZeroUsize::new(64).unwrap());
        let encoding = Encoding::new(vec![1]);
        let get = |donors: &[usize]| {
            let lookup = Lookup { encoding: &encoding, scalars: &[], donors };
            let peeked = cache.peek(&lookup).donors.to_vec();
            let (made, now) = cache.get_or_make(&lookup, |variant| Ok(variant.donors.to_vec())).unwrap();
            assert_eq!(peeked, *made);
            (made.to_vec(), now)
        };
        for known in [&[0usize, 1, 2, 3][..], &[], &[0], &[5, 6]] {
            assert_eq!(get(known), (known.to_vec(), true));
        }
        assert_eq!(get(&[0, 1, 2]), (vec![0, 1, 2, 3], false));
        assert_eq!(get(&[1]), (vec![], false));
        assert_eq!(get(&[5, 6, 7]), (vec![5, 6], false));
        assert_eq!(get(&[0]), (vec![0], false));
    }

    #[test]
    fn k9_the_least_recently_used_give_way() {
        let cache = cache(4);
        for word in 0..8 {
            assert!(get(&cache, &[word], &[1.0], &[]).1);
        }
        assert!(!get(&cache, &[7], &[1.0], &[]).1);
        assert!(get(&cache, &[0], &[1.0], &[]).1);
        assert_eq!(cache.made().len(), 4);
    }

    #[test]
    fn k9_repeated_lookups_count_as_use() {
        let cache = cache(2);
        for word in [1, 2] {
            assert!(get(&cache, &[word], &[1.0], &[]).1);
        }
        for _ in 0..3 {
            assert!(!get(&cache, &[1], &[1.0], &[]).1);
        }
        assert!(get(&cache, &[3], &[1.0], &[]).1);
        assert!(!get(&cache, &[1], &[1.0], &[]).1);
        assert!(get(&cache, &[2], &[1.0], &[]).1);
    }

    #[test]
    fn k5_a_lookup_that_differs_from_the_last_in_one_part_finds_its_own_program() {
        let cache = cache(8);
        for _ in 0..2 {
            get(&cache, &[1], &[1.0], &[0]);
        }
        assert_eq!(get(&cache, &[1], &[1.0], &[]), (vec![false], true));
        assert_eq!(get(&cache, &[1], &[1.0], &[0]), (vec![false], false));
        assert_eq!(get(&cache, &[1], &[2.0], &[0]), (vec![true], true));
        assert_eq!(get(&cache, &[2], &[2.0], &[0]), (vec![false], true));
        assert_eq!(get(&cache, &[1], &[1.0], &[0]), (vec![true], false));
        assert_eq!(get(&cache, &[1], &[1.0], &[0]), (vec![true], false));
    }

    #[test]
    fn k7_one_compile_for_all_who_ask() {
        let cache = cache(4);
        let compiles = AtomicUsize::new(0);
        std::thread::scope(|s| {
            for _ in 0..8 {
                s.spawn(|| {
                    let lookup = Lookup { encoding: &Encoding::new(vec![1]), scalars: &[], donors: &[] };
                    let make = |_: &Variant| {
                        compiles.fetch_add(1, Ordering::SeqCst);
                        std::thread::sleep(std::time::Duration::from_millis(20));
                        Ok(vec![])
                    };
                    cache.get_or_make(&lookup, make).unwrap();
                });
            }
        });
        assert_eq!(compiles.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn k7_a_program_is_there_once_it_is_compiled() {
        let cache = cache(4);
        let (encoding, scalars) = (Encoding::new(vec![1]), scalars(&[0.5]));
        let lookup = Lookup { encoding: &encoding, scalars: &scalars, donors: &[] };
        assert!(!cache.has(&lookup));
        cache
            .get_or_make(&lookup, |_| {
                assert!(!cache.has(&lookup));
                Ok(vec![])
            })
            .unwrap();
        assert!(cache.has(&lookup) && !cache.has(&Lookup { donors: &[0], ..lookup }));
        assert!(!cache.has(&Lookup { encoding: &Encoding::new(vec![2]), ..lookup }));
        assert_eq!(cache.sizes(), (1, 1));
    }

    #[test]
    fn a_failed_compile_is_tried_again_also_after_a_panic() {
        let cache = cache(4);
        let lookup = Lookup { encoding: &Encoding::new(vec![1]), scalars: &[], donors: &[] };
        assert!(cache.get_or_make(&lookup, |_| Err(error!(Internal, "no"))).is_err());
        let panicking = || cache.get_or_make(&lookup, |_| panic!("planted"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panicking)).is_err());
        assert!(cache.get_or_make(&lookup, |_| Ok(vec![])).is_ok());
    }
}
