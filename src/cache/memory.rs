//! The programs of this process. A program is found by its words, compared whole; which of its scalar holes are
//! parameters is remembered with it; what was compiled for it differs by constants and donors.

use super::flight::Flight;
use crate::error::Result;
use crate::types::Scalar;
use lru::LruCache;
use parking_lot::Mutex;
use rustc_hash::FxBuildHasher;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// What is looked up.
pub struct Lookup<'a> {
    /// The program's canonical words.
    pub words: &'a [u32],
    /// The values for its holes.
    pub scalars: &'a [Scalar],
    /// The parameters that may be consumed, ascending.
    pub donors: &'a [usize],
}

/// Least recently used programs give way when there are more than its capacity. `T` is what was compiled.
pub struct ProgramCache<T> {
    inner: Mutex<Inner<T>>,
}

struct Inner<T> {
    /// Programs by their words. Has as many places as `variants`, and is touched together with it, so that a program
    /// always outlives what was compiled for it.
    families: LruCache<Box<[u32]>, Family, FxBuildHasher>,
    variants: LruCache<VariantKey, Arc<Flight<T>>, FxBuildHasher>,
    next_family: u64,
}

/// One program, whatever its scalars and donors.
struct Family {
    /// Stands for the words in the keys of its variants.
    number: u64,
    /// The values that its holes had at first.
    constants: Box<[Scalar]>,
    /// The holes that have changed since: parameters for good.
    varying: Arc<[bool]>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct VariantKey {
    family: u64,
    rest: Vec<u64>,
}

/// Takes a variant out again if its compile failed or panicked, so that the next who asks tries again.
struct Removal<'a, T> {
    cache: &'a ProgramCache<T>,
    flight: &'a Arc<Flight<T>>,
    key: Option<VariantKey>,
}

impl<T> Drop for Removal<'_, T> {
    fn drop(&mut self) {
        if let Some(key) = &self.key {
            let variants = &mut self.cache.inner.lock().variants;
            // It may have been evicted meanwhile, and be under way anew.
            if variants.peek(key).is_some_and(|found| Arc::ptr_eq(found, self.flight)) {
                variants.pop(key);
            }
        }
    }
}

impl<T> ProgramCache<T> {
    /// An empty cache for so many compiled programs.
    pub fn new(capacity: NonZeroUsize) -> ProgramCache<T> {
        ProgramCache {
            inner: Mutex::new(Inner {
                families: LruCache::with_hasher(capacity, FxBuildHasher),
                variants: LruCache::with_hasher(capacity, FxBuildHasher),
                next_family: 0,
            }),
        }
    }

    /// What was compiled for this, compiled now by `make` if it was not: one compile however many threads ask, with no
    /// lock held. `make` is told which holes are parameters. Also says whether this call compiled.
    pub fn get_or_make(&self, wanted: &Lookup, make: impl FnOnce(&[bool]) -> Result<T>) -> Result<(Arc<T>, bool)> {
        let (flight, key, varying) = {
            let mut inner = self.inner.lock();
            let (key, varying) = inner.key(wanted);
            if let Some(flight) = inner.variants.get(&key).cloned() {
                drop(inner);
                return flight.wait().map(|made| (made, false));
            }
            let flight = Flight::new();
            let evicted = inner.variants.push(key.clone(), flight.clone());
            drop(inner);
            // It may be the last owner of an executable, which is freed without the lock.
            drop(evicted);
            (flight, key, varying)
        };
        let mut unless_made = Removal { cache: self, flight: &flight, key: Some(key) };
        let made = flight.make(|| make(&varying))?;
        unless_made.key = None;
        Ok((made, true))
    }

    /// Which holes of this program are parameters if it runs with these scalars now. Changes nothing.
    pub fn peek_varying(&self, wanted: &Lookup) -> Vec<bool> {
        match self.inner.lock().families.peek(wanted.words) {
            Some(family) => changed(family, wanted.scalars),
            None => vec![false; wanted.scalars.len()],
        }
    }
}

/// The holes that are parameters, or become so now.
fn changed(family: &Family, scalars: &[Scalar]) -> Vec<bool> {
    let holes = family.constants.iter().zip(scalars).zip(family.varying.iter());
    holes.map(|((constant, now), &varying)| varying || constant != now).collect()
}

impl<T> Inner<T> {
    /// The key of a variant, and which holes are parameters in it.
    fn key(&mut self, wanted: &Lookup) -> (VariantKey, Arc<[bool]>) {
        if self.families.get(wanted.words).is_none() {
            let family = Family {
                number: self.next_family,
                constants: wanted.scalars.into(),
                varying: vec![false; wanted.scalars.len()].into(),
            };
            self.next_family += 1;
            self.families.put(wanted.words.into(), family);
        }
        let family = self.families.get_mut(wanted.words).expect("it was just put there");
        let mut holes = family.constants.iter().zip(wanted.scalars).zip(family.varying.iter());
        if holes.any(|((constant, now), &varying)| !varying && constant != now) {
            family.varying = changed(family, wanted.scalars).into();
        }
        (VariantKey { family: family.number, rest: rest(wanted, &family.varying) }, family.varying.clone())
    }
}

/// What tells the variants of one program apart: constants (with their place) and donors.
fn rest(wanted: &Lookup, varying: &[bool]) -> Vec<u64> {
    let mut rest = Vec::with_capacity(2 + 2 * wanted.scalars.len() + wanted.donors.len());
    rest.push(wanted.donors.len() as u64);
    rest.extend(wanted.donors.iter().map(|&i| i as u64));
    for (i, scalar) in wanted.scalars.iter().enumerate().filter(|(i, _)| !varying[*i]) {
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
    use crate::error;
    use crate::types::{DType, ScalarValue};
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn scalars(values: &[f64]) -> Vec<Scalar> {
        values.iter().map(|&v| Scalar::new(DType::F32, ScalarValue::Float(v)).unwrap()).collect()
    }

    fn cache(capacity: usize) -> ProgramCache<Vec<bool>> {
        ProgramCache::new(NonZeroUsize::new(capacity).unwrap())
    }

    fn get(cache: &ProgramCache<Vec<bool>>, words: &[u32], values: &[f64], donors: &[usize]) -> (Vec<bool>, bool) {
        let scalars = scalars(values);
        let lookup = Lookup { words, scalars: &scalars, donors };
        let (made, compiled) = cache.get_or_make(&lookup, |varying| Ok(varying.to_vec())).unwrap();
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
        // Made equal, or back at its first value: nothing new.
        assert_eq!(get(&cache, &[1], &[2.0, 2.0], &[]), (vec![true, false], false));
        assert_eq!(get(&cache, &[1], &[0.1, 2.0], &[]), (vec![true, false], false));
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
    fn k9_the_least_recently_used_give_way() {
        let cache = cache(4);
        for word in 0..8 {
            assert!(get(&cache, &[word], &[1.0], &[]).1);
        }
        assert!(!get(&cache, &[7], &[1.0], &[]).1);
        assert!(get(&cache, &[0], &[1.0], &[]).1);
    }

    #[test]
    fn k7_one_compile_for_all_who_ask() {
        let cache = cache(4);
        let compiles = AtomicUsize::new(0);
        std::thread::scope(|s| {
            for _ in 0..8 {
                s.spawn(|| {
                    let lookup = Lookup { words: &[1], scalars: &[], donors: &[] };
                    let make = |_: &[bool]| {
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
    fn a_failed_compile_is_tried_again_also_after_a_panic() {
        let cache = cache(4);
        let lookup = Lookup { words: &[1], scalars: &[], donors: &[] };
        assert!(cache.get_or_make(&lookup, |_| Err(error!(Internal, "no"))).is_err());
        let panicking = || cache.get_or_make(&lookup, |_| panic!("planted"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panicking)).is_err());
        assert!(cache.get_or_make(&lookup, |_| Ok(vec![])).is_ok());
    }
}
