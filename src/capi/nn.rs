//! Chapter Neural networks: activations, normalizations, convolutions.

use super::abi::arguments::{axes_of, optional_dtype, out, ranked, slice};
use super::abi::guard::{guard, guard_out};
use super::abi::options::{self, Options};
use super::types::*;
use crate::error::Result;
use crate::ops::{ActivationOp, ConvolutionOptions};
use crate::tensor;

// SAFETY: `repr(C)`, begins with struct_size, and zero is valid: NULL or 0, the default.
unsafe impl Options for lxla_convolution_options {
    const NAME: &'static str = "lxla_convolution_options";
}

/// Records an activation function, one of `LXLA_ACTIVATION_*`. Takes floats; RELU and RELU6 take integers, too. At
/// infinities the result is the limit of the function; SILU, GELU, GELU_TANH, MISH and HARD_SWISH of -infinity are 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_activation(op: i32, x: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    unsafe { guard_out("lxla_activation", out_tensor, || tensor::activation(ActivationOp::from_number(op)?, x.into())) }
}

/// Records e^x / sum(e^x) along an axis, without intermediate overflow. If the axis contains +infinity or NaN, or
/// -infinity only, the whole axis is NaN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_softmax(x: lxla_tensor, axis: i64, out_tensor: *mut lxla_tensor) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    unsafe { guard_out("lxla_softmax", out_tensor, || tensor::softmax(x.into(), axis)) }
}

/// Records the logarithm of `lxla_softmax`, accurate where it is near 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_log_softmax(x: lxla_tensor, axis: i64, out_tensor: *mut lxla_tensor) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    unsafe { guard_out("lxla_log_softmax", out_tensor, || tensor::log_softmax(x.into(), axis)) }
}

/// Records (x - mean) / sqrt(variance + epsilon) * scale + offset, with mean and variance over `n_axes` axes (at
/// least 1; all axes if `axes` is NULL). `scale` and `offset` may each be omitted (id 0); they broadcast to x's
/// shape, and have x's dtype, or f32 for an x of f16 or bf16. INVALID_ARGUMENT if epsilon is negative or not finite.
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

/// Records the batch normalization of x: (x - mean) / sqrt(variance + epsilon) * scale + offset, with mean and
/// variance over all axes but `feature_axis`, and returns the mean and the variance, too. scale, offset, mean and
/// variance have shape `[features]`. The variance is that of a population: divided by the number of elements. Mean
/// and variance of an empty batch are NaN.
///
/// x is f16, bf16, f32 or f64. scale and offset have x's dtype, or f32 if x is f16 or bf16; mean and variance have
/// theirs. The variance is computed from the differences from the mean, which is accurate even if the mean is large,
/// unlike StableHLO's batch_norm_training as implemented by XLA, which uses the mean of the squares.
///
/// Errors: the mean a few units in the last place of the largest element; the variance a few units of itself, or the
/// square of such a unit of the largest element if that is more (for equal elements, it is mostly 0, but not always);
/// the result a few units of its largest element and of the mean divided by the standard deviation.
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

/// Records (x - mean) / sqrt(variance + epsilon) * scale + offset. All operands but x have shape `[features]`, the
/// size of `feature_axis`. Dtypes are as in `lxla_batch_norm_training`.
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
    // SAFETY: the caller's promise, see `capi`.
    unsafe {
        guard_out("lxla_batch_norm_inference", out_tensor, || {
            let operands = [x, scale, offset, mean, variance].map(Into::into);
            tensor::batch_norm_inference(operands, epsilon, feature_axis)
        })
    }
}

/// Records the gradients of the first result of `lxla_batch_norm_training` with respect to x, scale and offset.
/// `grad_output`, of x's type, is the gradient with respect to that result; `mean` and `variance` are those returned
/// by the training. The gradients include the dependence of mean and variance on x. Dtypes are as in
/// `lxla_batch_norm_training`.
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

/// Sets all fields after `struct_size` to their defaults.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_convolution_options_init(options: *mut lxla_convolution_options) -> lxla_status {
    guard("lxla_convolution_options_init", || {
        // SAFETY: the caller's promise, see `capi`.
        unsafe { options::init(options) }
    })
}

/// Records a convolution as in neural networks: the cross-correlation of lhs with the kernel rhs over the spatial
/// axes (the rank of the operands minus 2). By default strides are 1 and there is no padding; lhs and the result are
/// NCHW (batch, features, spatial axes), rhs is OIHW (output features, input features, spatial axes).
///
/// On each spatial axis, an input of padded and dilated size p and a kernel of dilated size w give (p - w) / stride +
/// 1 windows, and none if p < w. lhs must have `feature_group_count` times the input features of rhs. Gradients of a
/// convolution are convolutions with dilations, reversal and permuted dimensions. Dtypes and precision are those of
/// `lxla_dot_general`. Where an infinity or NaN of rhs is multiplied by padding or a gap of a dilation, the product
/// is NaN or 0, depending on the device.
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

/// Reads a list, or returns None if it is NULL.
unsafe fn optional<'a>(name: &str, start: *const i64, length: usize) -> Result<Option<&'a [i64]>> {
    // SAFETY: the caller's promise, see `capi`.
    if start.is_null() { Ok(None) } else { unsafe { ranked(name, start, length) }.map(Some) }
}
