//! Counts runs of programs, and of each kind of step and sync.

use super::Place;
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Number of kinds of steps and syncs that are told apart. Those that come later count as others.
const MOST_KINDS: usize = 256;

/// How often a program ran, and how long its calls of the engine took.
#[derive(Default)]
pub struct Usage {
    runs: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Usage {
    /// Adds a run that began at `start`.
    pub fn add(&self, start: Instant) {
        self.runs.fetch_add(1, Ordering::Relaxed);
        self.nanoseconds.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }

    /// Number of runs, and nanoseconds that they took together. An engine that works asynchronously returns before the
    /// device has ended.
    pub fn get(&self) -> (u64, u64) {
        (self.runs.load(Ordering::Relaxed), self.nanoseconds.load(Ordering::Relaxed))
    }
}

/// The call that made programs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A step: `lxla_mark_step` or `lxla_step_tensors`.
    Step,
    /// A sync: `lxla_sync`, a read, or a save.
    Sync,
}

/// Steps, or syncs, that ran the same programs on one device.
#[derive(Clone)]
pub struct Ran {
    /// Steps or syncs.
    pub kind: Kind,
    /// Device on which they ran.
    pub place: Place,
    /// Numbers of the compiles of the programs, in the order of their runs.
    pub programs: SmallVec<[u64; 2]>,
    /// Number of them.
    pub count: u64,
    /// End of the first one: its programs were handed to the engine.
    pub first: Instant,
    /// End of the last one.
    pub last: Instant,
}

impl Ran {
    fn is(&self, kind: Kind, place: Place, programs: &[u64]) -> bool {
        self.kind == kind && self.place == place && self.programs[..] == *programs
    }
}

/// Kinds of steps and syncs that ran, the latest last.
#[derive(Default)]
pub struct RanLog(Mutex<Vec<Ran>>);

impl RanLog {
    /// Adds a step or sync that ran these programs. Of more than [`MOST_KINDS`] kinds, the one whose last one is the
    /// earliest is forgotten.
    pub fn add(&self, kind: Kind, place: Place, programs: impl Iterator<Item = u64>) {
        let (programs, now): (SmallVec<[u64; 2]>, _) = (programs.collect(), Instant::now());
        let mut kinds = self.0.lock();
        // In a loop, the step before was most often of the same kind.
        if let Some(at) = kinds.iter().rposition(|known| known.is(kind, place, &programs)) {
            kinds[at].count += 1;
            kinds[at].last = now;
            return;
        }
        if kinds.len() == MOST_KINDS {
            let oldest = (0..kinds.len()).min_by_key(|&at| kinds[at].last).expect("there are some");
            kinds.remove(oldest);
        }
        kinds.push(Ran { kind, place, programs, count: 1, first: now, last: now });
    }

    /// All kinds.
    pub fn all(&self) -> Vec<Ran> {
        self.0.lock().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_steps_are_one_kind_and_kinds_are_bounded() {
        let log = RanLog::default();
        (0..5).for_each(|_| log.add(Kind::Step, Place::Xla(0), [1, 2].into_iter()));
        log.add(Kind::Sync, Place::Xla(0), [1, 2].into_iter());
        log.add(Kind::Step, Place::Xla(1), [1, 2].into_iter());
        let counts = |log: &RanLog| log.all().iter().map(|ran| ran.count).collect::<Vec<_>>();
        assert_eq!(counts(&log), [5, 1, 1]);
        (0..MOST_KINDS as u64).for_each(|number| log.add(Kind::Step, Place::Xla(0), [number].into_iter()));
        let all = log.all();
        assert_eq!(all.len(), MOST_KINDS);
        assert!(all.iter().all(|ran| ran.programs.len() == 1));
    }
}
