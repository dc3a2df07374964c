//! Chapter Normalization.

use super::arguments::out;
use super::guard::guard;
use super::types::*;
use crate::tensor;

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
