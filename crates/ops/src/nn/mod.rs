//! Activations, attention, normalizations and convolutions of neural networks.

pub(super) mod activation;
pub(super) mod attention;
pub(super) mod batch_norm;
pub(super) mod convolution;
pub(super) mod convolution_rules;
pub(super) mod definitions;
pub(super) mod masking_rules;
pub(super) mod normalize;
pub(super) mod rotary;

pub use activation::{ActivationOp, activation};
pub use attention::{AttentionOptions, AttentionWeights, attended, attention, attention_weights};
pub use batch_norm::{batch_norm_grad, batch_norm_inference, batch_norm_training};
pub use convolution::{ConvolutionAttributes, ConvolutionOptions, convolution};
pub use normalize::{layer_norm, layer_norm_with_statistics, log_softmax, rms_norm, softmax};
pub use rotary::rotary_embedding;
