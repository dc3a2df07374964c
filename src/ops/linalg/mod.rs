//! Matrix products, einsum, factorizations, norms and Fourier transforms.

pub mod batch;
pub mod derivative;
pub mod dot_general;
pub mod einsum;
pub mod factorization;
pub mod fourier;
pub mod matmul;
pub mod narrow;
pub mod norm;
