//! Limits on the number of threads that work for a thread. Kernels divide their work by sizes alone, and ask here how
//! many threads may take part: results do not depend on it.

use parking_lot::Mutex;
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// No limit: all threads of the pool.
const ALL: usize = usize::MAX;

thread_local! {
    /// The limit that the calling thread set for itself; 0 for none.
    static OWN: Cell<usize> = const { Cell::new(0) };
    /// The limit of the work that this thread does now.
    static NOW: Cell<usize> = const { Cell::new(ALL) };
}

/// Limits of environments, each for as long as it is set.
static ENVIRONMENTS: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// The least of [`ENVIRONMENTS`].
static LEAST: AtomicUsize = AtomicUsize::new(ALL);

/// Sets the limit of the calling thread, 0 for none, and returns the limit before.
pub fn set_own(threads: usize) -> usize {
    OWN.with(|own| own.replace(threads))
}

/// Whether the calling thread set a limit for itself.
#[inline]
pub fn has_own() -> bool {
    OWN.get() != 0
}

/// Does work for an environment with this limit, 0 for none. The limit that the thread set for itself comes first.
pub fn limited<R>(threads: usize, work: impl FnOnce() -> R) -> R {
    let limit = match (OWN.get(), threads) {
        (0, 0) => return work(),
        (0, threads) => threads,
        (own, _) => own,
    };
    within(limit, work)
}

/// Does work of which nobody knows the environment, on a thread of a plugin: with the least limit of all environments.
pub fn limited_by_all<R>(work: impl FnOnce() -> R) -> R {
    match LEAST.load(Ordering::Relaxed) {
        ALL => work(),
        least => within(least, work),
    }
}

/// Does work on at most `limit` threads, the calling one among them.
pub fn within<R>(limit: usize, work: impl FnOnce() -> R) -> R {
    struct Before(usize);
    impl Drop for Before {
        fn drop(&mut self) {
            NOW.set(self.0);
        }
    }
    let _before = Before(NOW.replace(limit));
    work()
}

/// The limits of a thread, for another one that works for it.
#[derive(Clone, Copy)]
pub struct Limits {
    own: usize,
    now: usize,
}

impl Limits {
    /// The limits of the calling thread.
    pub fn current() -> Limits {
        Limits { own: OWN.get(), now: NOW.get() }
    }

    /// Makes them the limits of the calling thread.
    pub fn set(self) {
        OWN.set(self.own);
        NOW.set(self.now);
    }
}

/// The number of threads that may do the present work, at least 1; `usize::MAX` for all.
#[inline]
pub fn limit() -> usize {
    NOW.get()
}

/// The limit of each of `count` threads that do the present work together.
pub fn share(count: usize) -> usize {
    match limit() {
        ALL => ALL,
        limit => (limit / count.max(1)).max(1),
    }
}

/// The limit of an environment. Dropping it removes it.
#[derive(Default)]
pub struct EnvironmentLimit(AtomicUsize);

impl EnvironmentLimit {
    /// The limit; 0 for none.
    #[inline]
    pub fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets the limit; 0 for none.
    pub fn set(&self, threads: usize) {
        let mut all = ENVIRONMENTS.lock();
        let before = self.0.swap(threads, Ordering::Relaxed);
        if let Some(place) = all.iter().position(|&known| before != 0 && known == before) {
            all.swap_remove(place);
        }
        if threads != 0 {
            all.push(threads);
        }
        LEAST.store(all.iter().copied().min().unwrap_or(ALL), Ordering::Relaxed);
    }
}

impl Drop for EnvironmentLimit {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_the_thread_comes_before_that_of_the_environment() {
        assert_eq!(limited(0, limit), ALL);
        assert_eq!(limited(3, limit), 3);
        assert_eq!(set_own(2), 0);
        assert_eq!((limited(0, limit), limited(3, limit), limited(1, limit)), (2, 2, 2));
        assert_eq!(std::thread::spawn(|| limited(3, limit)).join().unwrap(), 3);
        let (limits, inherited) = (Limits::current(), || (limited(3, limit), limit()));
        let of_other = move || {
            limits.set();
            inherited()
        };
        assert_eq!(std::thread::spawn(of_other).join().unwrap(), (2, ALL));
        assert_eq!(set_own(0), 2);
        assert_eq!(limit(), ALL);
    }

    #[test]
    fn shares_are_at_least_one_thread() {
        assert_eq!(within(8, || (share(2), share(3), share(20))), (4, 2, 1));
        assert_eq!(share(5), ALL);
        let panics = || within(2, || panic!("planted"));
        assert!(std::panic::catch_unwind(panics).is_err());
        assert_eq!(limit(), ALL);
    }

    #[test]
    fn the_least_limit_of_environments_is_that_of_plugins() {
        let (a, b) = (EnvironmentLimit::default(), EnvironmentLimit::default());
        a.set(5);
        b.set(4);
        assert_eq!(limited_by_all(limit), 4);
        b.set(7);
        assert_eq!((limited_by_all(limit), b.get()), (5, 7));
        drop(a);
        assert_eq!(limited_by_all(limit), 7);
        drop(b);
        assert_eq!(limited_by_all(limit), ALL);
    }
}
