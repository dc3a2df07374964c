//! Matrix products, einsum, factorizations, norms and Fourier transforms.

mod balancing;
pub(super) mod batch;
pub(super) mod decomposition;
pub(super) mod decomposition_definitions;
pub(super) mod decomposition_lower;
pub(super) mod decomposition_rules;
pub(super) mod definitions;
pub(super) mod derivative;
pub(super) mod determinant;
pub(super) mod dot_general;
pub(super) mod einsum;
mod exponential;
pub(super) mod factorization;
pub(super) mod fourier;
pub mod lapack;
pub(super) mod ldl;
pub(super) mod ldl_rules;
mod lu_solve;
pub(super) mod masking_rules;
pub(super) mod matmul;
pub(super) mod matrices;
pub(super) mod narrow;
pub(super) mod norm;
mod portable;
pub(crate) mod precision;
mod product;
pub(super) mod ragged;
pub(super) mod systems;
pub(super) mod tridiagonal;

pub use decomposition::{eig, eigh, lu, pinv, qr, schur, singular_values, svd};
pub use determinant::{determinant, slogdet};
pub use dot_general::{DotAxes, DotGeneralAttributes, dot_general, dot_general_with};
pub use einsum::einsum;
pub use exponential::matrix_exponential;
pub use factorization::{CholeskyAttributes, cholesky, triangular_solve};
pub use fourier::{FftAttributes, fft, fft_lengths};
pub use ldl::{ldl, ldl_solve};
pub use matmul::matmul;
pub use norm::norm;
#[doc(hidden)]
pub use portable::swept;
pub use ragged::ragged_dot;
pub use systems::{inverse, lstsq, matrix_power, matrix_rank, solve};
pub use tridiagonal::tridiagonal_solve;
