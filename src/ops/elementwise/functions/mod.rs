//! Elementwise functions without a StableHLO operation, one file for each subject, and functions of complex numbers.

pub mod bessel;
pub mod body;
pub mod complex;
pub mod complex_inverse;
pub mod derivative;
pub mod division;
pub mod erf;
pub mod erf_inv;
pub mod gamma;
pub mod hyperbolic;
pub mod inverse_circle;
pub mod logarithm;
pub mod next_after;
pub mod of_one;
pub mod of_two;
pub mod zeta;
