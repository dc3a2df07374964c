//! Random bits and distributions.

pub(super) mod continuous;
pub(super) mod definitions;
pub(super) mod discrete;
pub(super) mod distributions;
pub(super) mod gamma;
pub(super) mod masking_rules;
pub(super) mod poisson;
pub(super) mod random_bits;
pub(super) mod rng;

pub use continuous::{random_categorical, random_exponential, random_gumbel, random_laplace, random_truncated_normal};
pub use discrete::{random_choice, random_integers};
pub use distributions::{random_bernoulli, random_bits, random_normal, random_split, random_uniform};
pub use gamma::{GammaScale, random_beta, random_gamma};
pub use poisson::random_poisson;
pub use rng::{RngAlgorithm, RngBitGeneratorAttributes, rng_bit_generator};
