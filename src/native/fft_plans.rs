//! Plans of Fourier transforms: what a transform of one length needs to know, kept for the next one of that length.

use super::element::Element;
use lru::LruCache;
use parking_lot::Mutex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftDirection, FftNum, FftPlanner};
use std::num::NonZeroUsize;
use std::sync::{Arc, LazyLock};

/// How many plans of a kind are kept.
const KEPT: NonZeroUsize = NonZeroUsize::new(32).unwrap();
/// A longer plan is not kept: beside the transform it costs little, and it takes memory.
const LONG: usize = 1 << 20;

/// Plans for one type of floats.
pub struct Plans<T> {
    complex: LruCache<(usize, bool), Arc<dyn Fft<T>>>,
    of_reals: LruCache<usize, Arc<dyn RealToComplex<T>>>,
    to_reals: LruCache<usize, Arc<dyn ComplexToReal<T>>>,
}

/// A float that is transformed.
pub trait Planned: FftNum + Element {
    /// Its plans.
    fn plans() -> &'static Mutex<Plans<Self>>;
}

macro_rules! planned {
    ($($T:ty)*) => {
        $(impl Planned for $T {
            fn plans() -> &'static Mutex<Plans<$T>> {
                static PLANS: LazyLock<Mutex<Plans<$T>>> = LazyLock::new(|| Mutex::new(Plans::new()));
                &PLANS
            }
        })*
    };
}

planned! { f32 f64 }

impl<T: Planned> Plans<T> {
    fn new() -> Plans<T> {
        Plans { complex: LruCache::new(KEPT), of_reals: LruCache::new(KEPT), to_reals: LruCache::new(KEPT) }
    }
}

/// For complex numbers.
pub fn complex<T: Planned>(length: usize, direction: FftDirection) -> Arc<dyn Fft<T>> {
    let make = || FftPlanner::new().plan_fft(length, direction);
    if length > LONG {
        return make();
    }
    T::plans().lock().complex.get_or_insert((length, direction == FftDirection::Forward), make).clone()
}

/// From reals.
pub fn of_reals<T: Planned>(length: usize) -> Arc<dyn RealToComplex<T>> {
    let make = || RealFftPlanner::new().plan_fft_forward(length);
    if length > LONG { make() } else { T::plans().lock().of_reals.get_or_insert(length, make).clone() }
}

/// To reals.
pub fn to_reals<T: Planned>(length: usize) -> Arc<dyn ComplexToReal<T>> {
    let make = || RealFftPlanner::new().plan_fft_inverse(length);
    if length > LONG { make() } else { T::plans().lock().to_reals.get_or_insert(length, make).clone() }
}
