//! Normalizations. `batch_norm` in train mode changes its running statistics.

use super::super::arguments::Value;
use super::super::call::Call;
use super::super::operator::{Operator, operator};
use super::elementwise::{number_like, scaled};
use base::error;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType};
use ir::{BinaryOp, NodeId, UnaryOp};
use ops::control::stop_gradient;
use ops::elementwise::{binary, convert, unary};
use ops::nn::{self, batch_norm_inference, batch_norm_training, layer_norm_with_statistics};
use ops::shape::reshape;

pub(super) const TABLE: &[Operator] = &[
    operator(
        &["layer_norm.default"],
        "input normalized_shape weight=none bias=none eps=1e-5 cudnn_enable=true",
        |call| {
            let [made, ..] = layer_norm(call)?;
            Ok(call.made(made))
        },
    ),
    operator(&["native_layer_norm.default"], "input normalized_shape weight bias eps", |call| {
        let [made, mean, inverse] = layer_norm(call)?;
        // PyTorch has no derivatives through the statistics.
        let trace = call.trace();
        let made = [made, stop_gradient(trace, mean)?, stop_gradient(trace, inverse)?];
        Ok(Value::List(made.map(|node| call.made(node)).into()))
    }),
    operator(&["rms_norm.default"], "input normalized_shape weight=none eps=none", rms_norm),
    operator(&["group_norm.default"], "input num_groups weight=none bias=none eps=1e-5 cudnn_enabled=true", |call| {
        let groups = call.int("num_groups")?;
        let made = group_norm(call, groups)?;
        Ok(call.made(made))
    }),
    operator(&["native_group_norm.default"], "input weight bias N C HxW group eps", |call| {
        let groups = call.int("group")?;
        let made = group_norm(call, groups)?;
        Ok(Value::List(vec![call.made(made), Value::Absent("the mean"), Value::Absent("the deviation")]))
    }),
    operator(
        &["instance_norm.default"],
        "input weight=none bias=none running_mean=none running_var=none use_input_stats=true momentum=0.1 eps=1e-5 \
         cudnn_enabled=true",
        |call| {
            let is_plain = matches!(call.value("running_mean"), Value::None) && call.bool("use_input_stats")?;
            call.refuse_unless("running_mean", is_plain)?;
            let x = call.tensor("input")?;
            let groups = call.dims(x).get(1).copied().unwrap_or(0);
            let made = group_norm(call, groups)?;
            Ok(call.made(made))
        },
    ),
    operator(
        &["batch_norm.default"],
        "input weight=none bias=none running_mean=none running_var=none training=false momentum=0.1 eps=1e-5 \
         cudnn_enabled=true",
        |call| {
            let training = call.bool("training")?;
            batch_norm(call, training).map(|made| made.into_iter().next().unwrap_or(Value::None))
        },
    ),
    operator(
        &["native_batch_norm.default", "_native_batch_norm_legit.default"],
        "input weight bias running_mean running_var training momentum eps",
        |call| {
            let training = call.bool("training")?;
            batch_norm(call, training).map(Value::List)
        },
    ),
    operator(
        &["_native_batch_norm_legit_no_training.default"],
        "input weight bias running_mean running_var momentum eps",
        |call| batch_norm(call, false).map(Value::List),
    ),
    operator(&["_native_batch_norm_legit.no_stats"], "input weight bias training momentum eps", |call| {
        batch_norm(call, true).map(Value::List)
    }),
    operator(
        &["_native_batch_norm_legit_functional.default"],
        "input weight bias running_mean running_var training momentum eps",
        functional_batch_norm,
    ),
];

/// The last axes of `input`, which `normalized_shape` states.
fn last_axes(call: &mut Call) -> Result<(NodeId, Vec<i64>)> {
    let (x, shape) = (call.tensor("input")?, call.ints("normalized_shape")?);
    let rank = call.dims(x).len();
    if !call.dims(x).ends_with(&shape) || shape.is_empty() {
        return Err(error!(InvalidArgument, "normalized_shape {shape:?} of an input of sizes {:?}", call.dims(x)));
    }
    Ok((x, ((rank - shape.len()) as i64..rank as i64).collect()))
}

fn layer_norm(call: &mut Call) -> Result<[NodeId; 3]> {
    let (x, axes) = last_axes(call)?;
    let (weight, bias) = (call.optional_tensor("weight")?, call.optional_tensor("bias")?);
    let epsilon = call.float("eps")?;
    layer_norm_with_statistics(call.trace(), x, &axes, weight, bias, epsilon)
}

fn rms_norm<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let (x, axes) = last_axes(call)?;
    let (dtype, weight) = (call.dtype_of(x), call.optional_tensor("weight")?);
    let epsilon = match (call.optional_float("eps")?, dtype) {
        (Some(epsilon), _) => epsilon,
        (None, DType::F64) => f64::EPSILON,
        // Narrower floats too: PyTorch computes them in f32.
        (None, _) => f32::EPSILON.into(),
    };
    let trace = call.trace();
    let wide = if dtype == DType::F64 { dtype } else { DType::F32 };
    let weight = weight.map(|weight| convert(trace, weight, wide));
    let made = nn::rms_norm(trace, x, &axes, weight, epsilon)?;
    Ok(call.made(made))
}

fn group_norm(call: &mut Call, groups: i64) -> Result<NodeId> {
    let (x, epsilon) = (call.tensor("input")?, call.float("eps")?);
    let (dims, dtype) = (call.dims(x), call.dtype_of(x));
    if dims.len() < 2 || groups < 1 || dims[1] % groups != 0 {
        return Err(error!(InvalidArgument, "{groups} groups of an input of sizes {dims:?}"));
    }
    let (weight, bias) = (call.optional_tensor("weight")?, call.optional_tensor("bias")?);
    let trace = call.trace();
    let wide = convert(trace, x, if dtype == DType::F64 { dtype } else { DType::F32 });
    let inner = dims[1..].iter().product::<i64>() / groups;
    let grouped = reshape(trace, wide, &[dims[0], groups, inner])?;
    let [made, ..] = layer_norm_with_statistics(trace, grouped, &[2], None, None, epsilon)?;
    let mut made = reshape(trace, made, &dims)?;
    let mut per_channel = vec![1; dims.len()];
    per_channel[1] = dims[1];
    for (op, factor) in [(BinaryOp::Multiply, weight), (BinaryOp::Add, bias)] {
        let Some(factor) = factor else { continue };
        let factor = reshape(trace, factor, &per_channel)?;
        let factor = convert(trace, factor, trace.node(made).dtype);
        made = binary(trace, op, made, factor)?;
    }
    Ok(convert(trace, made, dtype))
}

/// A batch normalization by the statistics of the batch: the result, the mean, the variance, and the variance with the
/// correction by which running statistics are updated.
struct Trained {
    result: NodeId,
    mean: NodeId,
    variance: NodeId,
    unbiased: NodeId,
}

/// The scale and the offset of the layer, by default 1 and 0; in f32 for narrower floats.
fn affine(call: &mut Call, x: NodeId) -> Result<[NodeId; 2]> {
    let (dims, dtype) = (call.dims(x), call.dtype_of(x));
    let channels = dims.get(1).copied();
    let channels = channels.ok_or_else(|| error!(InvalidArgument, "an input of {} axes", dims.len()))?;
    let wide = if dtype == DType::F64 { dtype } else { DType::F32 };
    let ty = TensorType::new(wide, &[channels]);
    let mut both = [NodeId(0); 2];
    for (place, (name, number)) in both.iter_mut().zip([("weight", 1), ("bias", 0)]) {
        *place = match call.optional_tensor(name)? {
            Some(given) => convert(call.trace(), given, wide),
            None => ops::creation::full(call.trace(), &ty, ScalarValue::Signed(number))?,
        };
    }
    Ok(both)
}

fn trained(call: &mut Call) -> Result<Trained> {
    let (x, epsilon) = (call.tensor("input")?, call.float("eps")?);
    let [scale, offset] = affine(call, x)?;
    let (dims, dtype) = (call.dims(x), call.dtype_of(x));
    let count = (dims.iter().product::<i64>() / dims[1].max(1)) as f64;
    let trace = call.trace();
    let wide = convert(trace, x, trace.node(scale).dtype);
    let [result, mean, variance] = batch_norm_training(trace, wide, scale, offset, epsilon, 1)?;
    let result = convert(trace, result, dtype);
    let unbiased = scaled(trace, variance, count / (count - 1.0))?;
    Ok(Trained { result, mean, variance, unbiased })
}

/// The running statistics after a batch: `(1 - momentum) old + momentum new`.
fn updated(call: &mut Call, old: NodeId, new: NodeId) -> Result<NodeId> {
    let momentum = call.float("momentum")?;
    let dtype = call.dtype_of(old);
    let trace = call.trace();
    let new = stop_gradient(trace, new)?;
    let new = convert(trace, new, dtype);
    let (old, new) = (scaled(trace, old, 1.0 - momentum)?, scaled(trace, new, momentum)?);
    binary(trace, BinaryOp::Add, old, new)
}

/// The mean and the inverse deviation as results, through which PyTorch has no derivatives.
fn statistics(call: &mut Call, made: &Trained) -> Result<[NodeId; 2]> {
    let epsilon = call.float("eps")?;
    let trace = call.trace();
    let (mean, variance) = (stop_gradient(trace, made.mean)?, stop_gradient(trace, made.variance)?);
    let epsilon = number_like(trace, variance, epsilon)?;
    let sum = binary(trace, BinaryOp::Add, variance, epsilon)?;
    Ok([mean, unary(trace, UnaryOp::Rsqrt, sum)?])
}

/// The result, and the statistics of the batch.
fn batch_norm<'p>(call: &mut Call<'_, 'p>, training: bool) -> Result<Vec<Value<'p>>> {
    let has_running = call.has("running_mean") && !matches!(call.value("running_mean"), Value::None);
    if training || !has_running {
        let made = trained(call)?;
        if training && has_running {
            for (name, new) in [("running_mean", made.mean), ("running_var", made.unbiased)] {
                let (id, old) = (call.id(name)?, call.tensor(name)?);
                let value = updated(call, old, new)?;
                let recorder = &mut *call.recorder;
                recorder.tensors.write(&mut recorder.trace, id, value)?;
            }
        }
        let [mean, inverse] = statistics(call, &made)?;
        return Ok([made.result, mean, inverse].map(|node| call.made(node)).into());
    }
    let (x, epsilon) = (call.tensor("input")?, call.float("eps")?);
    let [scale, offset] = affine(call, x)?;
    let (mean, variance) = (call.tensor("running_mean")?, call.tensor("running_var")?);
    let dtype = call.dtype_of(x);
    let trace = call.trace();
    let wide = trace.node(scale).dtype;
    let [x, mean, variance] = [x, mean, variance].map(|node| convert(trace, node, wide));
    let made = batch_norm_inference(trace, [x, scale, offset, mean, variance], epsilon, 1)?;
    let made = convert(trace, made, dtype);
    Ok(vec![call.made(made), Value::Absent("the mean"), Value::Absent("the deviation")])
}

/// The form without writes: the new running statistics are results.
fn functional_batch_norm<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let (mean, variance) = (call.tensor("running_mean")?, call.tensor("running_var")?);
    if !call.bool("training")? {
        let mut made = batch_norm(call, false)?;
        made.extend([call.made(mean), call.made(variance)]);
        return Ok(Value::List(made));
    }
    let made = trained(call)?;
    let new = [updated(call, mean, made.mean)?, updated(call, variance, made.unbiased)?];
    let [mean, inverse] = statistics(call, &made)?;
    let all = [made.result, mean, inverse, new[0], new[1]];
    Ok(Value::List(all.map(|node| call.made(node)).into()))
}
