//! Makes the plans of Fourier transforms: rustfft's and realfft's planners, instantiated for f32 and f64.
//!
//! A crate of its own because those planners are generic, and a third of the library's code. In the library itself they
//! would be compiled again with each change and for its unit tests.

pub use realfft::{ComplexToReal, RealToComplex};
pub use rustfft::{Fft, FftDirection, FftNum};

use realfft::RealFftPlanner;
use rustfft::FftPlanner;
use std::sync::Arc;

/// A float type that can be transformed: f32 or f64.
pub trait Planned: FftNum {
    /// Plans a transform of `length` complex numbers. An inverse transform is not divided by `length`.
    fn plan_complex(length: usize, direction: FftDirection) -> Arc<dyn Fft<Self>>;
    /// Plans the transform of `length` reals to `length / 2 + 1` complex numbers.
    fn plan_of_reals(length: usize) -> Arc<dyn RealToComplex<Self>>;
    /// Plans the inverse of [`Planned::plan_of_reals`], not divided by `length`.
    fn plan_to_reals(length: usize) -> Arc<dyn ComplexToReal<Self>>;
}

macro_rules! planned {
    ($($T:ty)*) => {
        $(impl Planned for $T {
            fn plan_complex(length: usize, direction: FftDirection) -> Arc<dyn Fft<$T>> {
                FftPlanner::new().plan_fft(length, direction)
            }

            fn plan_of_reals(length: usize) -> Arc<dyn RealToComplex<$T>> {
                RealFftPlanner::new().plan_fft_forward(length)
            }

            fn plan_to_reals(length: usize) -> Arc<dyn ComplexToReal<$T>> {
                RealFftPlanner::new().plan_fft_inverse(length)
            }
        })*
    };
}

planned! { f32 f64 }
