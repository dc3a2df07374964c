//! Random numbers, by a key that is the last parameter of the computation.

use super::super::arguments::Value;
use super::super::call::Call;
use super::super::operator::{Operator, operator};
use super::super::tensors::{Sight, View};
use super::elementwise::{number_like, scaled};
use base::error;
use base::error::Result;
use base::types::{DType, TensorType};
use ir::NodeId;
use ops::elementwise::{convert, select};
use ops::random::{RngAlgorithm, random_bernoulli, random_integers, random_normal, random_uniform};

pub(super) const TABLE: &[Operator] = &[
    operator(&["dropout.default", "dropout_.default"], "self=none p=0.5 train=true input=none", |call| {
        dropout(call, false)
    }),
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
];

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
            let kept = base::types::ScalarValue::Signed((probability == 0.0).into());
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
    let (high, size) = (call.int("high")?, call.ints("size")?);
    let dtype = call.dtype("dtype")?.unwrap_or(DType::S64);
    let key = call.recorder.draw()?;
    let trace = call.trace();
    let made = random_integers(trace, RngAlgorithm::ThreeFry, key, &TensorType::new(DType::S64, &size), [low, high])?;
    let made = convert(trace, made, dtype);
    Ok(call.made(made))
}
