//! Random numbers, by a key that is the last parameter of the computation.

use super::super::arguments::Value;
use super::super::call::{Call, scalar};
use super::super::operator::{Operator, operator};
use super::super::tensors::{Sight, View};
use super::elementwise::{number_like, scaled};
use base::error;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType, broadcast};
use ir::{BinaryOp, CompareOp, NodeId};
use ops::control::stop_gradient;
use ops::elementwise::formula::{Expr, in_wide, record};
use ops::elementwise::{binary, compare, convert, select};
use ops::nn::softmax;
use ops::random::{
    GammaScale, RngAlgorithm, random_bernoulli, random_categorical, random_gamma, random_gumbel, random_integers,
    random_normal, random_poisson, random_uniform,
};
use ops::shape::transpose;
use ops::sorting::{argsort, top_k};

pub(super) const TABLE: &[Operator] = &[
    operator(&["dropout.default"], "self=none p=0.5 train=true input=none", |call| dropout(call, false)),
    operator(&["feature_dropout.default"], "input p train", |call| dropout(call, true)),
    operator(&["native_dropout.default"], "input p train", |call| {
        let (x, train) = (call.tensor("input")?, call.bool("train")?);
        let probability = if train { call.float("p")? } else { 0.0 };
        let (made, mask) = dropped(call, x, probability)?;
        Ok(Value::List(vec![call.made(made), call.made(mask)]))
    }),
    operator(&["rand.default"], NEW, |call| drawn(call, Draw::Uniform)),
    operator(&["randn.default"], NEW, |call| drawn(call, Draw::Normal)),
    operator(&["rand_like.default"], LIKE, |call| drawn(call, Draw::Uniform)),
    operator(&["randn_like.default"], LIKE, |call| drawn(call, Draw::Normal)),
    operator(&["randint.low"], "low high size dtype=none layout=none device=none pin_memory=none", |call| {
        integers(call, true)
    }),
    operator(&["randint.default"], "high size dtype=none layout=none device=none pin_memory=none", |call| {
        integers(call, false)
    }),
    operator(&["randint_like.default"], HIGH_LIKE, |call| integers(call, false)),
    operator(
        &["randint_like.low_dtype"],
        "self low high dtype=none layout=none device=none pin_memory=none memory_format=none",
        |call| integers(call, true),
    ),
    operator(&["randperm.default"], "n dtype=none layout=none device=none pin_memory=none", |call| {
        let (n, dtype) = (call.int("n")?, call.dtype("dtype")?.unwrap_or(DType::S64));
        let numbers = uniform(call, &TensorType::new(DType::F64, &[n]), [0.0, 1.0])?;
        let order = argsort(call.trace(), numbers, 0, false, true, DType::S64)?;
        let made = convert(call.trace(), order, dtype);
        Ok(call.made(made))
    }),
    operator(&["bernoulli.default"], "self generator=none", |call| {
        let p = call.tensor("self")?;
        chosen(call, p)
    }),
    operator(&["bernoulli.Tensor", "bernoulli_.Tensor"], "self p generator=none", |call| {
        let p = call.tensor("p")?;
        chosen(call, p)
    }),
    operator(&["bernoulli.p", "bernoulli_.float"], "self p=0.5 generator=none", |call| {
        let p = call.float("p")?;
        let p = scalar(call.trace(), DType::F64, ScalarValue::Float(p))?;
        chosen(call, p)
    }),
    operator(&["uniform.default"], "self from=0.0 to=1.0 generator=none", |call| {
        let bounds = [call.float("from")?, call.float("to")?];
        let x = call.tensor("self")?;
        let ty = call.ty(x);
        let made = uniform(call, &ty, bounds)?;
        Ok(call.made(made))
    }),
    operator(&["normal_functional.default", "normal_.default"], "self mean=0.0 std=1.0 generator=none", |call| {
        let (mean, deviation) = (call.float("mean")?, call.float("std")?);
        let x = call.tensor("self")?;
        let ty = call.ty(x);
        moved_normal(call, &ty, |x| x * deviation + mean)
    }),
    operator(
        &["normal.float_float"],
        "mean std size generator=none dtype=none layout=none device=none pin_memory=none",
        |call| {
            let (mean, deviation) = (call.float("mean")?, call.float("std")?);
            let ty = TensorType::new(call.dtype("dtype")?.unwrap_or(DType::F32), &call.ints("size")?);
            moved_normal(call, &ty, |x| x * deviation + mean)
        },
    ),
    operator(
        &["normal.Tensor_float", "normal.float_Tensor", "normal.Tensor_Tensor"],
        "mean=0.0 std=1.0 generator=none",
        |call| {
            // PyTorch has no derivative by the mean or the deviation.
            let [mean, deviation] = call.promoted(["mean", "std"], true)?;
            let dims = broadcast(&call.dims(mean), &call.dims(deviation));
            let dims = dims.ok_or_else(|| error!(InvalidArgument, "mean and std do not broadcast"))?;
            let ty = TensorType { dtype: call.dtype_of(mean), dims };
            let key = call.recorder.draw()?;
            let trace = call.trace();
            let drawn = random_normal(trace, RngAlgorithm::ThreeFry, key, &ty)?;
            let made = record(trace, [drawn, mean, deviation], |[x, mean, deviation]| x * deviation + mean)?;
            let made = stop_gradient(trace, made)?;
            Ok(call.made(made))
        },
    ),
    operator(&["exponential.default"], "self lambd=1.0 generator=none", |call| {
        let rate = call.float("lambd")?;
        // Numbers above 0: their logarithms are Gumbel numbers, which are finite.
        by_uniform(call, |u| -u.max(f64::from(f32::MIN_POSITIVE)).log() / rate)
    }),
    operator(&["cauchy.default"], "self median=0.0 sigma=1.0 generator=none", |call| {
        let (median, sigma) = (call.float("median")?, call.float("sigma")?);
        by_uniform(call, |u| ((u - 0.5) * std::f64::consts::PI).tan() * sigma + median)
    }),
    operator(&["geometric.default"], "self p generator=none", |call| {
        let p = call.float("p")?;
        by_uniform(call, |u| ((-u).log_plus_one() / (-p).ln_1p()).floor() + 1.0)
    }),
    operator(&["log_normal.default"], "self mean=1.0 std=2.0 generator=none", |call| {
        let (mean, deviation) = (call.float("mean")?, call.float("std")?);
        let x = call.tensor("self")?;
        let ty = call.ty(x);
        moved_normal(call, &ty, |x| (x * deviation + mean).exp())
    }),
    operator(&["poisson.default"], "self generator=none", |call| {
        let x = call.tensor("self")?;
        let (rate, ty) = (stop_gradient(call.trace(), x)?, call.ty(x));
        let key = call.recorder.draw()?;
        let trace = call.trace();
        let counts = TensorType { dtype: DType::S64, dims: ty.dims };
        let drawn = random_poisson(trace, RngAlgorithm::ThreeFry, key, rate, &counts)?;
        let made = convert(trace, drawn, ty.dtype);
        Ok(call.made(made))
    }),
    operator(&["_standard_gamma.default"], "self generator=none", |call| {
        let x = call.tensor("self")?;
        let made = gamma(call, x, GammaScale::Number)?;
        Ok(call.made(made))
    }),
    operator(&["_sample_dirichlet.default"], "self generator=none", |call| {
        let x = call.tensor("self")?;
        let logs = gamma(call, x, GammaScale::Logarithm)?;
        let made = softmax(call.trace(), logs, -1)?;
        Ok(call.made(made))
    }),
    operator(&["multinomial.default"], "self num_samples replacement=false generator=none", multinomial),
    operator(&["alpha_dropout.default"], "input p train", |call| alpha_dropout(call, false)),
    operator(&["feature_alpha_dropout.default"], "input p train", |call| alpha_dropout(call, true)),
];

const HIGH_LIKE: &str = "self high dtype=none layout=none device=none pin_memory=none memory_format=none";

fn uniform(call: &mut Call, ty: &TensorType, [low, high]: [f64; 2]) -> Result<NodeId> {
    let key = call.recorder.draw()?;
    random_uniform(call.trace(), RngAlgorithm::ThreeFry, key, ty, low, high)
}

/// Draws numbers from [0, 1) in the type of `self` and applies a function to them.
fn by_uniform<'p>(call: &mut Call<'_, 'p>, function: impl for<'f> FnOnce(Expr<'f>) -> Expr<'f>) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let ty = call.ty(x);
    let drawn = uniform(call, &ty, [0.0, 1.0])?;
    let made = in_wide(call.trace(), drawn, function)?;
    Ok(call.made(made))
}

/// Draws normal numbers of a type and applies a function to them.
fn moved_normal<'p>(
    call: &mut Call<'_, 'p>,
    ty: &TensorType,
    function: impl for<'f> FnOnce(Expr<'f>) -> Expr<'f>,
) -> Result<Value<'p>> {
    let key = call.recorder.draw()?;
    let trace = call.trace();
    let drawn = random_normal(trace, RngAlgorithm::ThreeFry, key, ty)?;
    let made = in_wide(trace, drawn, function)?;
    Ok(call.made(made))
}

/// 1 with the probability `p` and 0 otherwise, in the type of `self`.
fn chosen<'p>(call: &mut Call<'_, 'p>, p: NodeId) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let ty = call.ty(x);
    let wide = if call.dtype_of(p) == DType::F64 { DType::F64 } else { DType::F32 };
    let drawn = uniform(call, &TensorType { dtype: wide, dims: ty.dims.clone() }, [0.0, 1.0])?;
    let trace = call.trace();
    let p = convert(trace, p, wide);
    let is_chosen = compare(trace, CompareOp::Lt, drawn, p)?;
    let made = convert(trace, is_chosen, ty.dtype);
    Ok(call.made(made))
}

/// Numbers of the gamma distribution, with derivatives by the shape parameter.
fn gamma(call: &mut Call, x: NodeId, scale: GammaScale) -> Result<NodeId> {
    let dims = call.dims(x);
    let key = call.recorder.draw()?;
    random_gamma(call.trace(), (RngAlgorithm::ThreeFry, key), x, &dims, scale)
}

/// Places along the last axis with probabilities proportional to `self`: the largest sums of their logarithms and Gumbel
/// numbers.
fn multinomial<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let (x, count, again) = (call.tensor("self")?, call.int("num_samples")?, call.bool("replacement")?);
    let dims = call.dims(x);
    let classes = dims.last().copied().unwrap_or(0);
    if count < 1 || classes < 1 || !again && count > classes {
        return Err(error!(InvalidArgument, "{count} samples of {}", call.ty(x)));
    }
    let key = call.recorder.draw()?;
    let trace = call.trace();
    let fixed = stop_gradient(trace, x)?;
    let logs = in_wide(trace, fixed, |x| x.log())?;
    let last = dims.len() as i64 - 1;
    let made = if again {
        let drawn = random_categorical(trace, RngAlgorithm::ThreeFry, key, logs, last, &[count], DType::S64)?;
        let order: Vec<i64> = (1..=last).chain([0]).collect();
        transpose(trace, drawn, &order)?
    } else {
        let noise = random_gumbel(trace, RngAlgorithm::ThreeFry, key, &trace.ty(logs))?;
        let sums = binary(trace, BinaryOp::Add, logs, noise)?;
        top_k(trace, sums, count, last, true, DType::S64)?[1]
    };
    Ok(call.made(made))
}

/// Dropout that keeps the mean and the variance of elements that SELU made (Klambauer et al., "Self-normalizing neural
/// networks", 2017).
fn alpha_dropout<'p>(call: &mut Call<'_, 'p>, by_feature: bool) -> Result<Value<'p>> {
    const ALPHA: f64 = 1.758_099_340_847_376_6;
    let probability = if call.bool("train")? { call.float("p")? } else { 0.0 };
    if probability == 0.0 {
        return call.viewed("input", View::Alias, Sight::Certain);
    }
    let x = call.tensor("input")?;
    if probability == 1.0 {
        let zero = scaled(call.trace(), x, 0.0)?;
        return Ok(call.made(zero));
    }
    let mut dims = call.dims(x);
    if by_feature {
        dims.iter_mut().skip(2).for_each(|size| *size = 1);
    }
    let key = call.recorder.draw()?;
    let trace = call.trace();
    let is_kept = random_bernoulli(trace, RngAlgorithm::ThreeFry, key, 1.0 - probability, &dims)?;
    let factor = 1.0 / ((ALPHA * ALPHA * probability + 1.0) * (1.0 - probability)).sqrt();
    let made = record(trace, [x, is_kept], |[x, is_kept]| {
        let offset = ALPHA * factor * probability;
        is_kept.select(x * factor + offset, offset - ALPHA * factor)
    })?;
    Ok(call.made(made))
}

const NEW: &str = "size dtype=none layout=none device=none pin_memory=none";
const LIKE: &str = "self dtype=none layout=none device=none pin_memory=none memory_format=none";

/// Records elements that are 0 with a probability, and otherwise divided by the probability of being kept; and which
/// are kept.
pub fn dropped(call: &mut Call, x: NodeId, probability: f64) -> Result<(NodeId, NodeId)> {
    let dims = call.dims(x);
    dropped_by(call, x, probability, &dims)
}

/// The same with one draw for each element of `dims`, which broadcast to `x`.
fn dropped_by(call: &mut Call, x: NodeId, probability: f64, dims: &[i64]) -> Result<(NodeId, NodeId)> {
    if !(0.0..=1.0).contains(&probability) {
        return Err(error!(InvalidArgument, "a probability of {probability}"));
    }
    let key = if probability > 0.0 && probability < 1.0 { Some(call.recorder.draw()?) } else { None };
    let trace = call.trace();
    let is_kept = match key {
        Some(key) => random_bernoulli(trace, RngAlgorithm::ThreeFry, key, 1.0 - probability, dims)?,
        None => {
            let kept = ScalarValue::Signed((probability == 0.0).into());
            ops::creation::full(trace, &TensorType::new(DType::Pred, dims), kept)?
        }
    };
    let zero = number_like(trace, x, 0.0)?;
    let grown = if key.is_some() { scaled(trace, x, 1.0 / (1.0 - probability))? } else { x };
    Ok((select(trace, is_kept, grown, zero)?, is_kept))
}

/// `self` if nothing is dropped, otherwise a new tensor. `by_feature`: whole channels are dropped.
fn dropout<'p>(call: &mut Call<'_, 'p>, by_feature: bool) -> Result<Value<'p>> {
    // In place, the argument has the name `self`.
    let name = if matches!(call.value("input"), Value::None) { "self" } else { "input" };
    let probability = if call.bool("train")? { call.float("p")? } else { 0.0 };
    if probability == 0.0 {
        return call.viewed(name, View::Alias, Sight::Certain);
    }
    let x = call.tensor(name)?;
    let mut dims = call.dims(x);
    if by_feature {
        dims.iter_mut().skip(2).for_each(|size| *size = 1);
    }
    let (made, _) = dropped_by(call, x, probability, &dims)?;
    Ok(call.made(made))
}

enum Draw {
    Uniform,
    Normal,
}

fn drawn<'p>(call: &mut Call<'_, 'p>, draw: Draw) -> Result<Value<'p>> {
    let ty = match call.has("size") {
        true => TensorType::new(call.dtype("dtype")?.unwrap_or(DType::F32), &call.ints("size")?),
        false => {
            let x = call.tensor("self")?;
            TensorType::new(call.dtype("dtype")?.unwrap_or(call.dtype_of(x)), &call.dims(x))
        }
    };
    let key = call.recorder.draw()?;
    let trace = call.trace();
    let made = match draw {
        Draw::Uniform => random_uniform(trace, RngAlgorithm::ThreeFry, key, &ty, 0.0, 1.0)?,
        Draw::Normal => random_normal(trace, RngAlgorithm::ThreeFry, key, &ty)?,
    };
    Ok(call.made(made))
}

fn integers<'p>(call: &mut Call<'_, 'p>, has_low: bool) -> Result<Value<'p>> {
    let low = if has_low { call.int("low")? } else { 0 };
    let high = call.int("high")?;
    let (size, own) = match call.has("size") {
        true => (call.ints("size")?, DType::S64),
        false => {
            let x = call.tensor("self")?;
            (call.dims(x), call.dtype_of(x))
        }
    };
    let dtype = call.dtype("dtype")?.unwrap_or(own);
    let key = call.recorder.draw()?;
    let trace = call.trace();
    let made = random_integers(trace, RngAlgorithm::ThreeFry, key, &TensorType::new(DType::S64, &size), [low, high])?;
    let made = convert(trace, made, dtype);
    Ok(call.made(made))
}
