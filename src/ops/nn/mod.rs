//! Activations, normalizations and convolutions of neural networks.

pub mod activation;
pub mod batch_norm;
pub mod convolution;
mod convolution_rules;
pub mod normalize;
