//! Elementwise functions without a StableHLO operation, one file for each subject, and functions of complex numbers.

pub mod airy;
mod airy_tables;
pub mod bessel;
pub mod bessel_j;
pub mod bessel_k;
pub mod body;
pub mod complex;
pub mod derivative;
pub mod division;
pub mod dual;
pub mod erf;
pub mod erf_inv;
pub mod gamma;
pub mod hyperbolic;
pub mod igamma;
mod igamma_tables;
pub mod inverse_circle;
pub mod logarithm;
pub mod next_after;
pub mod of_complex;
pub mod of_one;
pub mod of_two;
pub mod zeta;
