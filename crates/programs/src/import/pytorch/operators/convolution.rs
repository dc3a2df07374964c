//! Convolutions.

use super::super::arguments::Value;
use super::super::call::Call;
use super::super::operator::{Operator, operator};
use base::error;
use base::error::Result;
use ir::{BinaryOp, NodeId};
use ops::elementwise::binary;
use ops::nn::{ConvolutionOptions, convolution};
use ops::shape::{reshape, reverse, transpose};

pub(super) const TABLE: &[Operator] = &[
    operator(
        &["conv1d.default", "conv1d.padding"],
        "input weight bias=none stride=[1] padding=[0] dilation=[1] groups=1",
        |call| plain(call, 1),
    ),
    operator(
        &["conv2d.default", "conv2d.padding"],
        "input weight bias=none stride=[1] padding=[0] dilation=[1] groups=1",
        |call| plain(call, 2),
    ),
    operator(
        &["conv3d.default", "conv3d.padding"],
        "input weight bias=none stride=[1] padding=[0] dilation=[1] groups=1",
        |call| plain(call, 3),
    ),
    operator(
        &["convolution.default"],
        "input weight bias stride padding dilation transposed output_padding groups",
        |call| {
            let weight = call.tensor("weight")?;
            let spatial = call.dims(weight).len().saturating_sub(2);
            if call.bool("transposed")? { transposed(call, spatial) } else { plain(call, spatial) }
        },
    ),
    operator(&["conv_transpose1d.default"], TRANSPOSED, |call| transposed(call, 1)),
    operator(&["conv_transpose2d.input"], TRANSPOSED, |call| transposed(call, 2)),
    operator(&["conv_transpose3d.input"], TRANSPOSED, |call| transposed(call, 3)),
];

const TRANSPOSED: &str = "input weight bias=none stride=[1] padding=[0] output_padding=[0] groups=1 dilation=[1]";

/// A number for each spatial axis, of a list that may have one for all.
pub fn for_axes(call: &Call, name: &str, spatial: usize) -> Result<Vec<i64>> {
    // Sums and products of the numbers with sizes must not overflow.
    const MOST: u64 = 1 << 31;
    let list = call.ints(name)?;
    if let Some(number) = list.iter().find(|number| number.unsigned_abs() > MOST) {
        return Err(error!(InvalidArgument, "its argument {name} has the number {number}; want at most 2^31"));
    }
    match list.len() {
        1 => Ok(vec![list[0]; spatial]),
        count if count == spatial => Ok(list),
        count => Err(error!(InvalidArgument, "its argument {name} has {count} numbers; want {spatial}")),
    }
}

/// `input` with a batch axis, and whether it had none.
pub fn batched(call: &mut Call, name: &str, spatial: usize) -> Result<(NodeId, bool)> {
    let x = call.tensor(name)?;
    let mut dims = call.dims(x);
    match dims.len() {
        rank if rank == spatial + 2 => Ok((x, false)),
        rank if rank == spatial + 1 => {
            dims.insert(0, 1);
            Ok((reshape(call.trace(), x, &dims)?, true))
        }
        rank => Err(error!(InvalidArgument, "its argument {name} has {rank} axes; want {}", spatial + 2)),
    }
}

/// Adds a bias for each feature, and removes a batch axis that was added.
fn finished<'p>(call: &mut Call<'_, 'p>, mut made: NodeId, spatial: usize, is_single: bool) -> Result<Value<'p>> {
    if let Some(bias) = call.optional_tensor("bias")? {
        let mut dims = vec![1; spatial + 2];
        dims[1] = call.dims(bias).iter().product();
        let trace = call.trace();
        let bias = reshape(trace, bias, &dims)?;
        made = binary(trace, BinaryOp::Add, made, bias)?;
    }
    if is_single {
        let dims = call.dims(made);
        made = reshape(call.trace(), made, &dims[1..])?;
    }
    Ok(call.made(made))
}

fn options<'a>(
    strides: &'a [i64],
    low: &'a [i64],
    high: &'a [i64],
    dilation: &'a [i64],
    groups: i64,
) -> ConvolutionOptions<'a> {
    ConvolutionOptions {
        window_strides: Some(strides),
        padding_low: Some(low),
        padding_high: Some(high),
        lhs_dilation: None,
        rhs_dilation: Some(dilation),
        window_reversal: None,
        lhs_dimensions: None,
        rhs_dimensions: None,
        out_dimensions: None,
        feature_groups: groups,
        batch_groups: 1,
        sums_batch: false,
        dtype: None,
        precision: None,
    }
}

fn plain<'p>(call: &mut Call<'_, 'p>, spatial: usize) -> Result<Value<'p>> {
    let (x, is_single) = batched(call, "input", spatial)?;
    let weight = call.tensor("weight")?;
    let (strides, dilation) = (for_axes(call, "stride", spatial)?, for_axes(call, "dilation", spatial)?);
    let (low, high) = match call.value("padding") {
        Value::Text("valid") => (vec![0; spatial], vec![0; spatial]),
        Value::Text("same") => {
            let sizes = call.dims(weight);
            let sizes = sizes.get(2..).unwrap_or_default();
            let totals = dilation.iter().zip(sizes).map(|(dilation, size)| dilation.saturating_mul(size - 1));
            let totals: Vec<i64> = totals.collect();
            (totals.iter().map(|total| total / 2).collect(), totals.iter().map(|total| total - total / 2).collect())
        }
        _ => {
            let padding = for_axes(call, "padding", spatial)?;
            (padding.clone(), padding)
        }
    };
    let options = options(&strides, &low, &high, &dilation, call.int("groups")?);
    let made = convolution(call.trace(), x, weight, &options)?;
    finished(call, made, spatial, is_single)
}

/// A transposed convolution: a convolution of the input with holes by the reversed kernel, whose input and output
/// features are exchanged within each group.
fn transposed<'p>(call: &mut Call<'_, 'p>, spatial: usize) -> Result<Value<'p>> {
    let (x, is_single) = batched(call, "input", spatial)?;
    let weight = call.tensor("weight")?;
    let [holes, padding, dilation, more] = ["stride", "padding", "dilation", "output_padding"];
    let (holes, padding) = (for_axes(call, holes, spatial)?, for_axes(call, padding, spatial)?);
    let (dilation, more) = (for_axes(call, dilation, spatial)?, for_axes(call, more, spatial)?);
    let (groups, dims) = (call.int("groups")?, call.dims(weight));
    if groups < 1 || dims.len() != spatial + 2 || dims[0] % groups != 0 {
        return Err(error!(InvalidArgument, "{groups} groups for a weight of sizes {dims:?}"));
    }
    let (inputs, outputs, kernel) = (dims[0] / groups, dims[1], &dims[2..]);
    let trace = call.trace();
    let grouped = reshape(trace, weight, &[&[groups, inputs, outputs], kernel].concat())?;
    let axes: Vec<i64> = [0, 2, 1].into_iter().chain(3..3 + spatial as i64).collect();
    let exchanged = transpose(trace, grouped, &axes)?;
    let exchanged = reshape(trace, exchanged, &[&[groups * outputs, inputs], kernel].concat())?;
    let spatial_axes: Vec<i64> = (2..2 + spatial as i64).collect();
    let reversed = reverse(trace, exchanged, &spatial_axes)?;
    let low: Vec<i64> =
        (0..spatial).map(|i| dilation[i].saturating_mul(kernel[i] - 1).saturating_sub(padding[i])).collect();
    let high: Vec<i64> = low.iter().zip(&more).map(|(low, more)| low.saturating_add(*more)).collect();
    let strides = vec![1; spatial];
    let options =
        ConvolutionOptions { lhs_dilation: Some(&holes), ..options(&strides, &low, &high, &dilation, groups) };
    let made = convolution(trace, x, reversed, &options)?;
    finished(call, made, spatial, is_single)
}
