//! How a computation is called: as one operation, or by recording its operations again.
//!
//! A transformed function that is not jitted (`grad(f)(x)` in a loop) is traced anew in each iteration, and its
//! computation is called once. If it has numbers of the loop, such as a rate that changes, each call would be another
//! operation, and compile another program. The operations recorded again have these numbers as scalars of the
//! trace, which are constants until they change, and parameters from then on.

use ir::Body;
use lru::LruCache;
use parking_lot::Mutex;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

/// Number of programs whose scalars are known.
const KNOWN: NonZeroUsize = NonZeroUsize::new(1024).expect("not 0");

/// Largest number of bytes of a decoded program that is recorded again.
const LARGEST: usize = 16 << 20;

/// The scalars of computations that were called once. The key hashes the environment and the program without its scalars;
/// if two programs have one key, their operations are recorded again without need, and the values are the same.
static SCALARS: LazyLock<Mutex<LruCache<u64, Scalars>>> = LazyLock::new(|| Mutex::new(LruCache::new(KNOWN)));

enum Scalars {
    /// The hash of the only scalars so far.
    Same(u64),
    Various,
}

/// The calls of a computation.
pub(super) struct Calls {
    body: Arc<Body>,
    /// Number of the environment; None if it was released.
    environment: Option<u64>,
    /// Whether calls record the operations again, once it was called.
    is_inlined: OnceLock<bool>,
    /// Whether it was called twice.
    is_kept: AtomicBool,
}

impl Calls {
    pub fn of(body: &Arc<Body>, environment: Option<u64>) -> Calls {
        Calls { body: body.clone(), environment, is_inlined: OnceLock::new(), is_kept: AtomicBool::new(false) }
    }

    /// The hash of the environment and of the program without its scalars.
    fn program(&self) -> u64 {
        let mut hasher = FxHasher::default();
        let program = self.body.program();
        (self.environment, program.words(), program.bodies(), self.body.parameters().len()).hash(&mut hasher);
        hasher.finish()
    }

    /// Adds a call. Returns whether it is to record the operations again: if computations with the same program and
    /// other scalars were called once each.
    pub fn add(&self) -> bool {
        if let Some(&is_inlined) = self.is_inlined.get() {
            self.is_kept.store(true, Ordering::Relaxed);
            return is_inlined;
        }
        *self.is_inlined.get_or_init(|| self.is_like_others())
    }

    fn is_like_others(&self) -> bool {
        if self.body.scalars().is_empty() || !can_be_inlined(&self.body) {
            return false;
        }
        match SCALARS.lock().get(&self.program()) {
            None => false,
            Some(Scalars::Same(scalars)) => *scalars != scalars_hash(&self.body),
            Some(Scalars::Various) => true,
        }
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        if self.is_inlined.get().is_none() || *self.is_kept.get_mut() || self.body.scalars().is_empty() {
            return;
        }
        let own = scalars_hash(&self.body);
        let mut known = SCALARS.lock();
        let known = known.get_or_insert_mut(self.program(), || Scalars::Same(own));
        if matches!(known, Scalars::Same(scalars) if *scalars != own) {
            *known = Scalars::Various;
        }
    }
}

/// Whether the operations of a body may be recorded outside of it.
fn can_be_inlined(body: &Body) -> bool {
    let program = body.program();
    !program.has_effects() && !body.has_collectives() && program.decoded_bytes() <= LARGEST
}

fn scalars_hash(body: &Body) -> u64 {
    let mut hasher = FxHasher::default();
    body.scalars().iter().for_each(|scalar| scalar.bits().hash(&mut hasher));
    hasher.finish()
}
