//! Cache of Fourier transform plans, by length.

use super::element::Element;
use lazyxla_fourier::{ComplexToReal, Fft, FftDirection, Planned, RealToComplex};
use lru::LruCache;
use parking_lot::Mutex;
use std::num::NonZeroUsize;
use std::sync::{Arc, LazyLock};

/// Maximum number of cached plans of each kind.
const KEPT: NonZeroUsize = NonZeroUsize::new(32).unwrap();
/// Maximum length of a transform whose plan is cached. Planning a longer one costs little compared with the transform,
/// and its plan takes much memory.
const LONG: usize = 1 << 20;

/// The cached plans for one float type.
pub struct Plans<T> {
    complex: LruCache<(usize, bool), Arc<dyn Fft<T>>>,
    of_reals: LruCache<usize, Arc<dyn RealToComplex<T>>>,
    to_reals: LruCache<usize, Arc<dyn ComplexToReal<T>>>,
}

/// A float type with cached plans: f32 or f64.
pub trait Float: Planned + Element {
    /// The plan cache of this type.
    fn plans() -> &'static Mutex<Plans<Self>>;
}

macro_rules! floats {
    ($($T:ty)*) => {
        $(impl Float for $T {
            fn plans() -> &'static Mutex<Plans<$T>> {
                static PLANS: LazyLock<Mutex<Plans<$T>>> = LazyLock::new(|| Mutex::new(Plans::new()));
                &PLANS
            }
        })*
    };
}

floats! { f32 f64 }

impl<T: Float> Plans<T> {
    fn new() -> Plans<T> {
        Plans { complex: LruCache::new(KEPT), of_reals: LruCache::new(KEPT), to_reals: LruCache::new(KEPT) }
    }
}

/// Plan of a complex transform.
pub fn complex<T: Float>(length: usize, direction: FftDirection) -> Arc<dyn Fft<T>> {
    let make = || T::plan_complex(length, direction);
    if length > LONG {
        return make();
    }
    T::plans().lock().complex.get_or_insert((length, direction == FftDirection::Forward), make).clone()
}

/// Plan of a transform from `length` reals to complex numbers.
pub fn of_reals<T: Float>(length: usize) -> Arc<dyn RealToComplex<T>> {
    let make = || T::plan_of_reals(length);
    if length > LONG { make() } else { T::plans().lock().of_reals.get_or_insert(length, make).clone() }
}

/// Plan of a transform from complex numbers to `length` reals.
pub fn to_reals<T: Float>(length: usize) -> Arc<dyn ComplexToReal<T>> {
    let make = || T::plan_to_reals(length);
    if length > LONG { make() } else { T::plans().lock().to_reals.get_or_insert(length, make).clone() }
}
