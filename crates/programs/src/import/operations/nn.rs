//! Convolutions and batch normalizations.

use super::linalg::product;
use super::precision::precision_of;
use super::{Call, Results, single};
use base::error;
use base::error::Result;
use ops::nn::ConvolutionOptions;

/// `stablehlo.convolution`.
pub fn convolution(call: Call) -> Result<Results> {
    let padding = call.attributes.optional_integers("padding")?;
    convolution_padded(call, padding)
}

/// Records a convolution with this padding: pairs of numbers, one for each spatial axis; None for no padding.
pub fn convolution_padded(mut call: Call, padding: Option<Vec<i64>>) -> Result<Results> {
    let ([lhs, rhs], _) = call.at_least()?;
    let attributes = call.attributes;
    let spatial = call.ty(lhs).dims.len().saturating_sub(2);
    let padding = padding.filter(|list| !list.is_empty()).unwrap_or_else(|| vec![0; 2 * spatial]);
    if padding.len() != 2 * spatial {
        return Err(error!(InvalidArgument, "padding: {} integers; want {}", padding.len(), 2 * spatial));
    }
    let side = |which: usize| padding.iter().copied().skip(which).step_by(2).collect::<Vec<i64>>();
    let axes = |first: &str, second: &str, others: &str| {
        let mut axes = vec![attributes.integer(first)?, attributes.integer(second)?];
        axes.extend(attributes.optional_integers(others)?.unwrap_or_default());
        Ok::<Vec<i64>, base::error::Error>(axes)
    };
    let input = axes("input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions")?;
    let kernel =
        axes("kernel_output_feature_dimension", "kernel_input_feature_dimension", "kernel_spatial_dimensions")?;
    let output = axes("output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions")?;
    let (low, high) = (side(0), side(1));
    let strides = attributes.integers_or("window_strides", spatial, 1)?;
    let lhs_dilation = attributes.integers_or("lhs_dilation", spatial, 1)?;
    let rhs_dilation = attributes.integers_or("rhs_dilation", spatial, 1)?;
    let reversal = attributes.integers_or("window_reversal", spatial, 0)?;
    let options = ConvolutionOptions {
        window_strides: Some(&strides),
        padding_low: Some(&low),
        padding_high: Some(&high),
        lhs_dilation: Some(&lhs_dilation),
        rhs_dilation: Some(&rhs_dilation),
        window_reversal: Some(&reversal),
        lhs_dimensions: Some(&input),
        rhs_dimensions: Some(&kernel),
        out_dimensions: Some(&output),
        feature_groups: attributes.integer("feature_group_count")?,
        batch_groups: attributes.integer("batch_group_count")?,
        sums_batch: false,
        dtype: None,
        precision: precision_of(attributes)?,
    };
    let stated = call.stated_dtype(0)?;
    Ok(single(product(call.trace(), [lhs, rhs], stated, |trace, [lhs, rhs], dtype| {
        ops::nn::convolution(trace, lhs, rhs, &ConvolutionOptions { dtype, ..options })
    })?))
}

/// Reads `epsilon` and `feature_index`.
fn settings(call: &Call) -> Result<(f64, i64)> {
    Ok((call.attributes.float("epsilon")?, call.attributes.integer("feature_index")?))
}

/// `stablehlo.batch_norm_training`.
pub fn batch_norm_training(mut call: Call) -> Result<Results> {
    let ([x, scale, offset], (epsilon, axis)) = (call.exactly()?, settings(&call)?);
    ops::nn::batch_norm_training(call.trace(), x, scale, offset, epsilon, axis).map(Results::from_iter)
}

/// `stablehlo.batch_norm_inference`.
pub fn batch_norm_inference(call: Call) -> Result<Results> {
    let (epsilon, axis) = settings(&call)?;
    call.one(|trace, operands| ops::nn::batch_norm_inference(trace, operands, epsilon, axis))
}

/// `stablehlo.batch_norm_grad`.
pub fn batch_norm_grad(mut call: Call) -> Result<Results> {
    let (operands, (epsilon, axis)) = (call.exactly()?, settings(&call)?);
    ops::nn::batch_norm_grad(call.trace(), operands, epsilon, axis).map(Results::from_iter)
}
