//! Random bits and distributions.

pub mod distributions;
pub mod random_bits;
pub mod rng;
#[cfg(feature = "engine-xla-rs")]
pub mod xla_rs;
