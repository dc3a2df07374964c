//! Random bits and distributions.

pub mod distributions;
pub mod random_bits;
pub mod rng;
