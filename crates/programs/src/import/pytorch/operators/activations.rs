//! Activation functions. At their kinks, derivatives are PyTorch's.

use super::super::arguments::Value;
use super::super::call::Call;
use super::super::operator::{Operator, operator};
use super::compositions::record as another;
use super::elementwise::{is_greater, number_like, scaled, with_number};
use base::error;
use base::error::Result;
use base::types::{DType, ScalarValue};
use ir::{BinaryOp, CompareOp, NodeId, Trace, UnaryOp};
use ops::elementwise::{binary, compare_scalar, convert, select, unary};
use ops::nn::{ActivationOp, activation};
use ops::shape::{reshape, split_equally};

pub(super) const TABLE: &[Operator] = &[
    operator(&["relu.default"], "self", |call| of_self(call, relu)),
    operator(&["relu6.default"], "self", |call| of_self(call, |trace, x| activation(trace, ActivationOp::Relu6, x))),
    operator(&["silu.default"], "self", |call| of_self(call, |trace, x| activation(trace, ActivationOp::Silu, x))),
    operator(&["mish.default"], "self", |call| of_self(call, |trace, x| activation(trace, ActivationOp::Mish, x))),
    operator(&["selu.default"], "self", |call| of_self(call, |trace, x| activation(trace, ActivationOp::Selu, x))),
    operator(&["log_sigmoid.default"], "self", |call| {
        of_self(call, |trace, x| activation(trace, ActivationOp::LogSigmoid, x))
    }),
    operator(&["gelu.default"], "self approximate='none'", gelu),
    operator(&["hardswish.default"], "self", |call| of_self(call, hard_swish)),
    operator(&["hardsigmoid.default"], "self", |call| of_self(call, hard_sigmoid)),
    operator(&["leaky_relu.default"], "self negative_slope=0.01", leaky_relu),
    operator(&["rrelu.default"], "self lower=0.125 upper=0.3333333333333333 training=false generator=none", |call| {
        call.refuse_unless("training", !call.bool("training")?)?;
        let slope = (call.float("lower")? + call.float("upper")?) / 2.0;
        let given = [("self", call.value("self").clone()), ("negative_slope", Value::Float(slope))];
        another(call, "leaky_relu.default", given)
    }),
    operator(
        &["rrelu_with_noise_functional.default"],
        "self noise lower=0.125 upper=0.3333333333333333 training=false generator=none",
        |call| {
            let given = ["self", "lower", "upper", "training"].map(|name| (name, call.value(name).clone()));
            let made = another(call, "rrelu.default", given)?;
            Ok(Value::List(vec![made, call.value("noise").clone()]))
        },
    ),
    operator(&["elu.default"], "self alpha=1 scale=1 input_scale=1", elu),
    operator(&["celu.default"], "self alpha=1", celu),
    operator(&["softplus.default"], "self beta=1 threshold=20", softplus),
    operator(&["threshold.default"], "self threshold value", threshold),
    operator(&["prelu.default", "_prelu_kernel.default"], "self weight", prelu),
    operator(&["glu.default"], "self dim=-1", glu),
];

fn of_self<'p>(
    call: &mut Call<'_, 'p>,
    record: impl FnOnce(&mut Trace, NodeId) -> Result<NodeId>,
) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let made = record(call.trace(), x)?;
    Ok(call.made(made))
}

/// Records `max(x, 0)`, with derivative 0 at 0. Integers too.
pub(super) fn relu(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    match trace.node(x).dtype.is_float() {
        true => activation(trace, ActivationOp::Relu, x),
        false => {
            let zero = number_like(trace, x, 0.0)?;
            binary(trace, BinaryOp::Maximum, x, zero)
        }
    }
}

fn gelu<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let op = match call.text("approximate")? {
        "none" => ActivationOp::Gelu,
        "tanh" => ActivationOp::GeluTanh,
        other => return Err(error!(Unimplemented, "the approximation {other:?}")),
    };
    of_self(call, |trace, x| activation(trace, op, x))
}

/// Computes in f32 what PyTorch computes in f32 for narrower floats.
fn in_wide(trace: &mut Trace, x: NodeId, record: impl FnOnce(&mut Trace, NodeId) -> Result<NodeId>) -> Result<NodeId> {
    let dtype = trace.node(x).dtype;
    let wide = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let x = convert(trace, x, wide);
    let made = record(trace, x)?;
    Ok(convert(trace, made, dtype))
}

fn at_most(trace: &mut Trace, x: NodeId, bound: f64) -> Result<NodeId> {
    compare_scalar(trace, CompareOp::Le, x, ScalarValue::Float(bound), false)
}

/// 0 to -3, x from 3 on, x (x + 3) / 6 between.
fn hard_swish(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    in_wide(trace, x, |trace, x| {
        let shifted = with_number(trace, BinaryOp::Add, x, 3.0)?;
        let product = binary(trace, BinaryOp::Multiply, x, shifted)?;
        let curve = with_number(trace, BinaryOp::Divide, product, 6.0)?;
        let is_above = compare_scalar(trace, CompareOp::Ge, x, ScalarValue::Float(3.0), false)?;
        let upper = select(trace, is_above, x, curve)?;
        let (is_below, zero) = (at_most(trace, x, -3.0)?, number_like(trace, x, 0.0)?);
        select(trace, is_below, zero, upper)
    })
}

/// min(max(x + 3, 0), 6) / 6, with derivative 0 at -3 and 3.
fn hard_sigmoid(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    in_wide(trace, x, |trace, x| {
        let shifted = with_number(trace, BinaryOp::Add, x, 3.0)?;
        let line = with_number(trace, BinaryOp::Divide, shifted, 6.0)?;
        let is_above = compare_scalar(trace, CompareOp::Ge, x, ScalarValue::Float(3.0), false)?;
        let (zero, one) = (number_like(trace, x, 0.0)?, number_like(trace, x, 1.0)?);
        let upper = select(trace, is_above, one, line)?;
        let is_below = at_most(trace, x, -3.0)?;
        select(trace, is_below, zero, upper)
    })
}

fn leaky_relu<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let slope = call.float("negative_slope")?;
    of_self(call, |trace, x| {
        let (is_above, below) = (is_greater(trace, x, 0.0)?, scaled(trace, x, slope)?);
        select(trace, is_above, x, below)
    })
}

/// `scale x` above 0, `scale alpha (e^(input_scale x) - 1)` elsewhere.
fn elu_of(trace: &mut Trace, x: NodeId, [alpha, scale, input_scale]: [f64; 3]) -> Result<NodeId> {
    in_wide(trace, x, |trace, x| {
        let (is_above, zero) = (is_greater(trace, x, 0.0)?, number_like(trace, x, 0.0)?);
        // So that no power of the other side overflows.
        let below = select(trace, is_above, zero, x)?;
        let power = scaled(trace, below, input_scale)?;
        let power = unary(trace, UnaryOp::ExponentialMinusOne, power)?;
        let (below, above) = (scaled(trace, power, alpha * scale)?, scaled(trace, x, scale)?);
        select(trace, is_above, above, below)
    })
}

fn elu<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let factors = [call.float("alpha")?, call.float("scale")?, call.float("input_scale")?];
    of_self(call, |trace, x| elu_of(trace, x, factors))
}

fn celu<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let alpha = call.float("alpha")?;
    of_self(call, |trace, x| elu_of(trace, x, [alpha, 1.0, 1.0 / alpha]))
}

/// `log(1 + e^(beta x)) / beta`, and x where `beta x` exceeds the threshold.
fn softplus<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let (beta, bound) = (call.float("beta")?, call.float("threshold")?);
    of_self(call, |trace, x| {
        in_wide(trace, x, |trace, x| {
            let product = scaled(trace, x, beta)?;
            let (is_above, zero) = (is_greater(trace, product, bound)?, number_like(trace, x, 0.0)?);
            let below = select(trace, is_above, zero, product)?;
            let power = unary(trace, UnaryOp::Exponential, below)?;
            let log = unary(trace, UnaryOp::LogPlusOne, power)?;
            let soft = with_number(trace, BinaryOp::Divide, log, beta)?;
            select(trace, is_above, x, soft)
        })
    })
}

fn threshold<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let (bound, value) = (call.float("threshold")?, call.float("value")?);
    of_self(call, |trace, x| {
        let (is_below, value) = (at_most(trace, x, bound)?, number_like(trace, x, value)?);
        select(trace, is_below, value, x)
    })
}

fn prelu<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let (x, mut weight) = (call.tensor("self")?, call.tensor("weight")?);
    let rank = call.dims(x).len();
    let weights: i64 = call.dims(weight).iter().product();
    if call.dims(weight).len() < 2 && rank != 1 {
        let mut dims = vec![1; rank];
        if let Some(channels) = dims.get_mut(1) {
            *channels = weights;
        }
        weight = reshape(call.trace(), weight, &dims)?;
    }
    let trace = call.trace();
    let (is_above, below) = (is_greater(trace, x, 0.0)?, binary(trace, BinaryOp::Multiply, weight, x)?);
    let made = select(trace, is_above, x, below)?;
    Ok(call.made(made))
}

fn glu<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let axis = call.axis("dim", call.dims(x).len())? as i64;
    let trace = call.trace();
    let halves = split_equally(trace, x, 2, axis)?;
    let gate = unary(trace, UnaryOp::Logistic, halves[1])?;
    let made = binary(trace, BinaryOp::Multiply, halves[0], gate)?;
    Ok(call.made(made))
}

/// Records `1 - x`.
pub fn complement(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    let one = number_like(trace, x, 1.0)?;
    binary(trace, BinaryOp::Subtract, one, x)
}
