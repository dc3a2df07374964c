//! Chapter Neural networks: activations, normalizations, convolutions.

use super::abi::arguments::{axes_of, optional_dtype, out, ranked, slice};
use super::abi::guard::guard;
use super::abi::options;
use super::types::*;
use crate::error::Result;
use crate::ops::{ActivationOp, ConvolutionOptions};
use crate::tensor;

/// Records an activation, one of `LXLA_ACTIVATION_*`, of floats; RELU and RELU6 take integers, too. GELU is x times the share
/// of the normal distribution below x; GELU_TANH its approximation by the hyperbolic tangent; ELU has alpha 1. Each has its
/// limit at -infinity (SILU, GELU, MISH and HARD_SWISH 0). f16 and bf16 are computed in f32, and rounded once. Gives one
/// reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_activation(op: i32, x: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status {
    guard("lxla_activation", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::activation(ActivationOp::from_number(op)?, x.into())?.into())
    })
}

/// Records e^x, divided by their sum over an axis (negative: from the end), without overflow on the way. f16 and bf16 are
/// computed in f32, and rounded once. Beside +infinity or NaN, or of -infinity alone, all of the axis is NaN. Gives one
/// reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_softmax(x: lxla_tensor, axis: i64, out_tensor: *mut lxla_tensor) -> lxla_status {
    guard("lxla_softmax", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::softmax(x.into(), axis)?.into())
    })
}

/// Records the logarithm of `lxla_softmax`, which is accurate where that is near 0. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_log_softmax(x: lxla_tensor, axis: i64, out_tensor: *mut lxla_tensor) -> lxla_status {
    guard("lxla_log_softmax", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::log_softmax(x.into(), axis)?.into())
    })
}

/// Records (x - mean) / sqrt(variance + epsilon) over `n_axes` axes (at least 1; negative: from the end; all if `axes` is
/// NULL), times `scale`, plus `offset`, of which each may be none (id 0). They broadcast to x's shape, and have x's dtype, or f32 beside f16 and bf16,
/// which are computed in f32, and rounded once. epsilon is finite, and at least 0. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_layer_norm(
    x: lxla_tensor,
    axes: *const i64,
    n_axes: usize,
    scale: lxla_tensor,
    offset: lxla_tensor,
    epsilon: f64,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_layer_norm", || {
        // SAFETY: the caller's promise, see `capi`.
        let (over, place) = unsafe { (axes_of(x, axes, n_axes)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::layer_norm(x.into(), &over, scale.into(), offset.into(), epsilon)?.into())
    })
}

/// Records the batch normalization of x: for each place on `feature_axis` (negative: from the end), over all other axes,
/// (x - mean) / sqrt(variance + epsilon) * scale + offset; and the mean and the variance (of the whole batch: divided by the
/// number of elements, not by one less), which have the shape of scale and offset, `[features]`.
///
/// x is f16, bf16, f32 or f64. scale and offset have its dtype, or for f16 and bf16 f32, and so have mean and variance.
/// f16 and bf16 are computed in f32 and rounded once. The variance is the mean of the squared distances from the mean, which
/// keeps its precision however large the mean is (StableHLO's batch_norm_training as XLA computes it, from the mean of the
/// squares, does not). An empty batch has NaN for its mean and variance.
///
/// The mean is within a few units in the last place of the largest element; the variance of itself, or within the square of
/// such a unit if that is more (of equal elements it is mostly 0, but not always); the result within a few units of its largest
/// element and of the mean's, divided by the deviation.
/// Gives three references. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_batch_norm_training(
    x: lxla_tensor,
    scale: lxla_tensor,
    offset: lxla_tensor,
    epsilon: f64,
    feature_axis: i64,
    out_tensor: *mut lxla_tensor,
    out_mean: *mut lxla_tensor,
    out_variance: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_batch_norm_training", || {
        // SAFETY: the caller's promise, see `capi`.
        let places =
            unsafe { [out("out_tensor", out_tensor)?, out("out_mean", out_mean)?, out("out_variance", out_variance)?] };
        let made = tensor::batch_norm_training(x.into(), scale.into(), offset.into(), epsilon, feature_axis)?;
        places.into_iter().zip(made).try_for_each(|(place, tensor)| place.set(tensor.into()))
    })
}

/// Records (x - mean) / sqrt(variance + epsilon) * scale + offset, where all but x is `[features]`, a number for each place on
/// `feature_axis` (negative: from the end). dtypes as in `lxla_batch_norm_training`. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_batch_norm_inference(
    x: lxla_tensor,
    scale: lxla_tensor,
    offset: lxla_tensor,
    mean: lxla_tensor,
    variance: lxla_tensor,
    epsilon: f64,
    feature_axis: i64,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_batch_norm_inference", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        let operands = [x, scale, offset, mean, variance].map(Into::into);
        place.set(tensor::batch_norm_inference(operands, epsilon, feature_axis)?.into())
    })
}

/// Records the gradients of `lxla_batch_norm_training`'s first result with respect to x, scale and offset, where
/// `grad_output` (of x's type) is the gradient with respect to that result, and `mean` and `variance` are what the training
/// gave; that both depend on x is part of the gradient. dtypes as there. Gives three references. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_batch_norm_grad(
    x: lxla_tensor,
    scale: lxla_tensor,
    mean: lxla_tensor,
    variance: lxla_tensor,
    grad_output: lxla_tensor,
    epsilon: f64,
    feature_axis: i64,
    out_grad_x: *mut lxla_tensor,
    out_grad_scale: *mut lxla_tensor,
    out_grad_offset: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_batch_norm_grad", || {
        // SAFETY: the caller's promise, see `capi`.
        let places = unsafe {
            [
                out("out_grad_x", out_grad_x)?,
                out("out_grad_scale", out_grad_scale)?,
                out("out_grad_offset", out_grad_offset)?,
            ]
        };
        let operands = [x, scale, mean, variance, grad_output].map(Into::into);
        let made = tensor::batch_norm_grad(operands, epsilon, feature_axis)?;
        places.into_iter().zip(made).try_for_each(|(place, tensor)| place.set(tensor.into()))
    })
}

/// Fills options with the defaults. `options->struct_size` is set by the caller before, and at most that many bytes are
/// written. INVALID_ARGUMENT if it is too small to hold itself. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_convolution_options_init(options: *mut lxla_convolution_options) -> lxla_status {
    guard("lxla_convolution_options_init", || {
        // SAFETY: the caller's promise, see `capi`.
        unsafe { options::init(options) }
    })
}

/// Records a convolution as neural networks have it, the cross-correlation of lhs with the kernel rhs, over any number of
/// spatial axes (the operands' rank - 2). NULL options are the defaults: windows next to each other without padding, lhs
/// batch x feature x spatial axes (NCHW), rhs output feature x input feature x spatial axes (OIHW), result as lhs.
///
/// On each spatial axis the padded and dilated input of size p has (p - w) / stride + 1 windows of the dilated kernel's size
/// w, and none if p < w. lhs has as many features as rhs has input features times `feature_group_count`. Gradients are
/// convolutions, too, with dilations, reversal and other dimensions. dtypes and precision are those of `lxla_dot_general`.
/// Where an infinity or NaN of rhs meets padding or a gap of a dilation, it counts as NaN or not at all, as the device has
/// it. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_convolution(
    lhs: lxla_tensor,
    rhs: lxla_tensor,
    options: *const lxla_convolution_options,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_convolution", || {
        // SAFETY: the caller's promise, see `capi`.
        let (given, place) = unsafe { (options::read(options)?, out("out_tensor", out_tensor)?) };
        let spatial = given.spatial_rank;
        let reversal = if given.window_reversal.is_null() {
            None
        } else {
            // SAFETY: the caller's promise, see `capi`.
            let list = unsafe { slice("options.window_reversal", given.window_reversal, spatial)? };
            Some(list.iter().map(|&value| value.into()).collect::<Vec<i64>>())
        };
        // SAFETY: the caller's promise, see `capi`.
        let options = unsafe {
            ConvolutionOptions {
                window_strides: optional("options.window_strides", given.window_strides, spatial)?,
                padding_low: optional("options.padding_low", given.padding_low, spatial)?,
                padding_high: optional("options.padding_high", given.padding_high, spatial)?,
                lhs_dilation: optional("options.lhs_dilation", given.lhs_dilation, spatial)?,
                rhs_dilation: optional("options.rhs_dilation", given.rhs_dilation, spatial)?,
                window_reversal: reversal.as_deref(),
                lhs_dimensions: optional("options.lhs_dimensions", given.lhs_dimensions, spatial.saturating_add(2))?,
                rhs_dimensions: optional("options.rhs_dimensions", given.rhs_dimensions, spatial.saturating_add(2))?,
                out_dimensions: optional("options.out_dimensions", given.out_dimensions, spatial.saturating_add(2))?,
                feature_groups: or_one(given.feature_group_count),
                batch_groups: or_one(given.batch_group_count),
                dtype: optional_dtype(given.dtype)?,
            }
        };
        place.set(tensor::convolution(lhs.into(), rhs.into(), &options)?.into())
    })
}

fn or_one(count: i64) -> i64 {
    if count == 0 { 1 } else { count }
}

/// A list, or none if it is null.
unsafe fn optional<'a>(name: &str, start: *const i64, length: usize) -> Result<Option<&'a [i64]>> {
    // SAFETY: the caller's promise, see `capi`.
    if start.is_null() { Ok(None) } else { unsafe { ranked(name, start, length) }.map(Some) }
}
