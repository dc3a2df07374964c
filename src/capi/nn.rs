//! Chapter Neural networks: activations, attention, normalizations, convolutions.

use super::abi::arguments::{axes_of, flag, optional_dtype, optional_ranked, optional_slice, switch};
use super::abi::guard::{guard, guard_into};
use super::abi::options;
use super::abi::pointers::{In, List, Out};
use super::abi::types::{lxla_attention_options, lxla_convolution_options, lxla_status, lxla_tensor};
use super::tensor::optional_handle;
use crate::tensor::{record, record_optional};
use base::error::Result;
use ops::nn::{self, ActivationOp, AttentionOptions, ConvolutionOptions};

/// Records an activation function, one of `LXLA_ACTIVATION_*`. Takes floats; RELU and RELU6 take integers, SILU complex
/// numbers, too. At
/// infinities the result is the limit of the function; SILU, GELU, GELU_TANH, MISH and HARD_SWISH of -infinity are 0.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_activation(op: i32, x: lxla_tensor, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_activation", out_tensor.named("out_tensor"), || {
        let op = ActivationOp::from_number(op)?;
        record([("x", x.into())], |trace, [x]| nn::activation(trace, op, x))
    })
}

/// Records e^x / sum(e^x) along an axis, without intermediate overflow. If the axis contains +infinity or NaN, or
/// -infinity only, the whole axis is NaN.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_softmax(x: lxla_tensor, axis: i64, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_softmax", out_tensor.named("out_tensor"), || {
        record([("x", x.into())], |trace, [x]| nn::softmax(trace, x, axis))
    })
}

/// Records the logarithm of `lxla_softmax`, accurate where it is near 0.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_log_softmax(x: lxla_tensor, axis: i64, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_log_softmax", out_tensor.named("out_tensor"), || {
        record([("x", x.into())], |trace, [x]| nn::log_softmax(trace, x, axis))
    })
}

/// Records (x - mean) / sqrt(variance + epsilon) * scale + offset, with mean and variance over `n_axes` axes (at
/// least 1; all axes if `axes` is NULL). `scale` and `offset` may each be omitted (id 0); they broadcast to x's
/// shape, and have x's dtype, or f32 for an x of f16 or bf16. INVALID_ARGUMENT if epsilon is negative or not finite.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_layer_norm(
    x: lxla_tensor,
    axes: List<i64>,
    n_axes: usize,
    scale: lxla_tensor,
    offset: lxla_tensor,
    epsilon: f64,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_layer_norm", out_tensor.named("out_tensor"), || {
        let axes = axes_of(x, axes, n_axes)?;
        let optional = [("scale", optional_handle(scale)), ("offset", optional_handle(offset))];
        record_optional([("x", x.into())], optional, |trace, [x], given| {
            nn::layer_norm(trace, x, &axes, given[0], given[1], epsilon)
        })
    })
}

/// Records `lxla_layer_norm`, and returns the mean and 1 / sqrt(variance + epsilon), too. These have the dims of x, with
/// size 1 for each axis that is normalized, and x's dtype, or f32 for floats of 8 and 16 bits.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_layer_norm_with_statistics(
    x: lxla_tensor,
    axes: List<i64>,
    n_axes: usize,
    scale: lxla_tensor,
    offset: lxla_tensor,
    epsilon: f64,
    out_tensor: Out<lxla_tensor>,
    out_mean: Out<lxla_tensor>,
    out_inverse_deviation: Out<lxla_tensor>,
) -> lxla_status {
    let outputs = [
        out_tensor.named("out_tensor"),
        out_mean.named("out_mean"),
        out_inverse_deviation.named("out_inverse_deviation"),
    ];
    guard_into("lxla_layer_norm_with_statistics", outputs, || {
        let axes = axes_of(x, axes, n_axes)?;
        let optional = [("scale", optional_handle(scale)), ("offset", optional_handle(offset))];
        record_optional([("x", x.into())], optional, |trace, [x], given| {
            nn::layer_norm_with_statistics(trace, x, &axes, given[0], given[1], epsilon)
        })
    })
}

/// Records x / sqrt(mean(x^2) + epsilon) * weight, with the mean over the last axis. `weight` may be omitted (id 0); it
/// broadcasts to x's shape, and has x's dtype, or f32 for an x of f16 or bf16, which are computed in f32 and rounded
/// once. INVALID_ARGUMENT if epsilon is negative or not finite.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_rms_norm(
    x: lxla_tensor,
    weight: lxla_tensor,
    epsilon: f64,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_rms_norm", out_tensor.named("out_tensor"), || {
        record_optional([("x", x.into())], [("weight", optional_handle(weight))], |trace, [x], given| {
            nn::rms_norm(trace, x, &[-1], given[0], epsilon)
        })
    })
}

/// Records the rotary position embedding of x, which turns pairs of elements of the last axis: (a, b) becomes
/// `(a cos - b sin, b cos + a sin)`. `interleaved` 0: element i of the first half of the axis is paired with element i of
/// the second half; 1: adjacent elements are paired. The last axis of x has an even size. `cosines` and `sines`
/// broadcast to x's shape with half of that size, as `[length, width / 2]` to `[..., heads, length, width]`. They have
/// x's dtype, or f32 for an x of f16 or bf16, which are computed in f32 and rounded once.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_rotary_embedding(
    x: lxla_tensor,
    cosines: lxla_tensor,
    sines: lxla_tensor,
    interleaved: i32,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_rotary_embedding", out_tensor.named("out_tensor"), || {
        let is_interleaved = flag("interleaved", interleaved)?;
        let operands = [("x", x.into()), ("cosines", cosines.into()), ("sines", sines.into())];
        record(operands, |trace, [x, cosines, sines]| nn::rotary_embedding(trace, x, cosines, sines, is_interleaved))
    })
}

/// Sets all fields after `struct_size` to their defaults.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_attention_options_init(options: Out<lxla_attention_options>) -> lxla_status {
    guard("lxla_attention_options_init", || options::init(options))
}

/// Records `softmax(scale * query key^T) value`, the scaled dot product attention. query is `[..., heads, length,
/// width]`, key `[..., heads, length_k, width]`, value `[..., heads, length_k, width_v]`; the result is `[..., heads,
/// length, width_v]`. Axes before the heads broadcast. Where key and value have fewer heads than query, each of their
/// heads serves a group of adjacent heads of query, and is not repeated in memory; the number of heads of query is a
/// multiple of theirs, or 1, which broadcasts. Operands of two axes have one head.
///
/// `mask` may be omitted (id 0); it broadcasts to `[..., heads, length, length_k]`. A mask of pred is true where a row
/// attends to a column. A mask of floats is added to the scores; it has the common dtype of the operands, or f32 if
/// they have 8 or 16 bits. With `options->causal`, row i attends to columns 0 to i that the mask admits, also where the
/// lengths differ. `options` may be NULL.
///
/// A row that may attend to nothing is 0, and its derivatives are 0. NaN of key where a mask of pred or `causal`
/// excludes it has no effect on the result; NaN and infinities of value have one, as they are multiplied by 0.
///
/// Scores and softmax are f32 for floats of 8 and 16 bits; weights of 16-bit floats are rounded to the common dtype
/// before they are multiplied by value. The products are summed before they are divided by the sum of the weights, so
/// the sum overflows where values exceed the largest finite number of f32 or f64, divided by length_k.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_attention(
    query: lxla_tensor,
    key: lxla_tensor,
    value: lxla_tensor,
    mask: lxla_tensor,
    options: In<lxla_attention_options>,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_attention", out_tensor.named("out_tensor"), || {
        let given = options::read(options)?;
        let is_causal = switch("options.causal", given.causal)?.unwrap_or(false);
        let options = AttentionOptions { scale: (given.scale != 0.0).then_some(given.scale), is_causal };
        let operands = [("query", query.into()), ("key", key.into()), ("value", value.into())];
        record_optional(operands, [("mask", optional_handle(mask))], |trace, operands, given| {
            nn::attention(trace, operands, given[0], options)
        })
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
pub extern "C" fn lxla_batch_norm_training(
    x: lxla_tensor,
    scale: lxla_tensor,
    offset: lxla_tensor,
    epsilon: f64,
    feature_axis: i64,
    out_tensor: Out<lxla_tensor>,
    out_mean: Out<lxla_tensor>,
    out_variance: Out<lxla_tensor>,
) -> lxla_status {
    let outputs = [out_tensor.named("out_tensor"), out_mean.named("out_mean"), out_variance.named("out_variance")];
    guard_into("lxla_batch_norm_training", outputs, || {
        let operands = [("x", x.into()), ("scale", scale.into()), ("offset", offset.into())];
        record(operands, |trace, [x, scale, offset]| {
            nn::batch_norm_training(trace, x, scale, offset, epsilon, feature_axis)
        })
    })
}

/// Records (x - mean) / sqrt(variance + epsilon) * scale + offset. All operands but x have shape `[features]`, the
/// size of `feature_axis`. Dtypes are as in `lxla_batch_norm_training`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_batch_norm_inference(
    x: lxla_tensor,
    scale: lxla_tensor,
    offset: lxla_tensor,
    mean: lxla_tensor,
    variance: lxla_tensor,
    epsilon: f64,
    feature_axis: i64,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_batch_norm_inference", out_tensor.named("out_tensor"), || {
        let operands = [
            ("x", x.into()),
            ("scale", scale.into()),
            ("offset", offset.into()),
            ("mean", mean.into()),
            ("variance", variance.into()),
        ];
        record(operands, |trace, nodes| nn::batch_norm_inference(trace, nodes, epsilon, feature_axis))
    })
}

/// Records the gradients of the first result of `lxla_batch_norm_training` with respect to x, scale and offset.
/// `grad_output`, of x's type, is the gradient with respect to that result; `mean` and `variance` are those returned
/// by the training. The gradients include the dependence of mean and variance on x. Dtypes are as in
/// `lxla_batch_norm_training`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_batch_norm_grad(
    x: lxla_tensor,
    scale: lxla_tensor,
    mean: lxla_tensor,
    variance: lxla_tensor,
    grad_output: lxla_tensor,
    epsilon: f64,
    feature_axis: i64,
    out_grad_x: Out<lxla_tensor>,
    out_grad_scale: Out<lxla_tensor>,
    out_grad_offset: Out<lxla_tensor>,
) -> lxla_status {
    let outputs = [
        out_grad_x.named("out_grad_x"),
        out_grad_scale.named("out_grad_scale"),
        out_grad_offset.named("out_grad_offset"),
    ];
    guard_into("lxla_batch_norm_grad", outputs, || {
        let operands = [
            ("x", x.into()),
            ("scale", scale.into()),
            ("mean", mean.into()),
            ("variance", variance.into()),
            ("grad_output", grad_output.into()),
        ];
        record(operands, |trace, nodes| nn::batch_norm_grad(trace, nodes, epsilon, feature_axis))
    })
}

/// Sets all fields after `struct_size` to their defaults.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_convolution_options_init(options: Out<lxla_convolution_options>) -> lxla_status {
    guard("lxla_convolution_options_init", || options::init(options))
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
pub extern "C" fn lxla_convolution(
    lhs: lxla_tensor,
    rhs: lxla_tensor,
    options: In<lxla_convolution_options>,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_convolution", out_tensor.named("out_tensor"), || {
        let given = options::read(options)?;
        let reversal = optional_slice("options.window_reversal", given.window_reversal, given.spatial_rank)?;
        let reversal: Option<Vec<i64>> = reversal.map(|list| list.iter().map(|&value| value.into()).collect());
        let options = ConvolutionOptions { window_reversal: reversal.as_deref(), ..read_options(&given)? };
        record([("lhs", lhs.into()), ("rhs", rhs.into())], |trace, [lhs, rhs]| {
            nn::convolution(trace, lhs, rhs, &options)
        })
    })
}

/// Converts the caller's options, except for `window_reversal`.
fn read_options<'a>(given: &lxla_convolution_options<'a>) -> Result<ConvolutionOptions<'a>> {
    let (spatial, all) = (given.spatial_rank, given.spatial_rank.saturating_add(2));
    Ok(ConvolutionOptions {
        window_strides: optional_ranked("options.window_strides", given.window_strides, spatial)?,
        padding_low: optional_ranked("options.padding_low", given.padding_low, spatial)?,
        padding_high: optional_ranked("options.padding_high", given.padding_high, spatial)?,
        lhs_dilation: optional_ranked("options.lhs_dilation", given.lhs_dilation, spatial)?,
        rhs_dilation: optional_ranked("options.rhs_dilation", given.rhs_dilation, spatial)?,
        window_reversal: None,
        lhs_dimensions: optional_ranked("options.lhs_dimensions", given.lhs_dimensions, all)?,
        rhs_dimensions: optional_ranked("options.rhs_dimensions", given.rhs_dimensions, all)?,
        out_dimensions: optional_ranked("options.out_dimensions", given.out_dimensions, all)?,
        feature_groups: or_one(given.feature_group_count),
        batch_groups: or_one(given.batch_group_count),
        sums_batch: false,
        dtype: optional_dtype(given.dtype)?,
        precision: None,
    })
}

fn or_one(count: i64) -> i64 {
    if count == 0 { 1 } else { count }
}
