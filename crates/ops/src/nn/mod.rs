//! Activations, normalizations and convolutions of neural networks.

pub(super) mod activation;
pub(super) mod batch_norm;
pub(super) mod convolution;
pub(super) mod convolution_rules;
pub(super) mod definitions;
pub(super) mod masking_rules;
pub(super) mod normalize;

pub use activation::{ActivationOp, activation};
pub use batch_norm::{batch_norm_grad, batch_norm_inference, batch_norm_training};
pub use convolution::{ConvolutionAttributes, ConvolutionOptions, convolution};
pub use normalize::{layer_norm, layer_norm_with_statistics, log_softmax, softmax};
