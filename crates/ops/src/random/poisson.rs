//! Random integers of the Poisson distribution, by the algorithms of `jax.random.poisson`, from the same bits: in f32,
//! for rates below 10 by Knuth's product of uniform numbers, for others by transformed rejection (W. Hörmann, "The
//! transformed rejection method for generating Poisson random variables", 1993). Each iteration draws numbers for all
//! elements; those that are finished keep their results.

use crate::control::loops::repeat_while;
use crate::creation::constants::full;
use crate::definition::Composed;
use crate::elementwise::convert::convert;
use crate::elementwise::formula::{Expr, Formula, record};
use crate::infer::refuse;
use crate::random::distributions::{check_key, keys_of, random_uniform};
use crate::random::rng::RngAlgorithm;
use crate::shape::axes::broadcast_to;
use base::error;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType, integer_limits};
use ir::{NodeId, ReduceOp, Trace, UnaryFunction};

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] = &[Composed {
    name: "random_poisson",
    function: "lxla_random_poisson",
    dtypes: "floats, 8-bit floats; gives integers",
}];

/// Key, types and limit of a draw, for both algorithms.
struct Draw<'a> {
    algorithm: RngAlgorithm,
    key: NodeId,
    /// Type of the results.
    ty: &'a TensorType,
    /// Type of the numbers of an iteration.
    floats: TensorType,
    /// Most iterations, the largest integer of the dtype.
    turns: i64,
}

/// Records random integers of the Poisson distribution with these rates, which broadcast to `ty`.
pub fn random_poisson(
    trace: &mut Trace,
    algorithm: RngAlgorithm,
    key: NodeId,
    rate: NodeId,
    ty: &TensorType,
) -> Result<NodeId> {
    check_key(trace, key)?;
    let of = trace.ty(rate);
    if !of.dtype.is_float() {
        return Err(refuse("random_poisson", "rate", &of, "floats"));
    }
    let Some(limits) = integer_limits(ty.dtype).filter(|_| ty.dtype.is_integer()) else {
        return Err(error!(InvalidArgument, "dtype: {} given; want integers", ty.dtype));
    };
    let rate = convert(trace, rate, DType::F32);
    let rate = broadcast_to(trace, rate, &ty.dims).map_err(|e| e.context("rate"))?;
    let floats = TensorType { dtype: DType::F32, dims: ty.dims.clone() };
    let draw = Draw { algorithm, key, ty, floats, turns: limits.max.min(i32::MAX as u64) as i64 };
    // The other algorithm draws for a rate at which it ends soon.
    let small = record(trace, [rate], |[rate]| is_small(rate).select(rate, 0.0))?;
    let large = record(trace, [rate], |[rate]| is_small(rate).select(1e5, rate))?;
    let by_product = knuth(trace, &draw, small)?;
    let by_rejection = rejection(trace, &draw, large)?;
    record(trace, [rate, by_product, by_rejection], |[rate, by_product, by_rejection]| {
        rate.eq(0.0).select(0_i64, is_small(rate).select(by_product, by_rejection))
    })
}

/// Whether Knuth's algorithm draws for a rate; NaN is among them.
fn is_small(rate: Expr) -> Expr {
    rate.ne(rate) | rate.lt(10.0)
}

/// Whether an element is true.
fn any(x: Expr) -> Expr {
    let axes: Vec<i64> = (0..x.ty().dims.len() as i64).collect();
    x.reduce(ReduceOp::Any, &axes, false)
}

/// Counts uniform numbers until their product is below `e^-rate`.
fn knuth(trace: &mut Trace, draw: &Draw, rate: NodeId) -> Result<NodeId> {
    let below = record(trace, [rate], |[rate]| -rate)?;
    let turn = full(trace, &TensorType::new(DType::S32, &[]), ScalarValue::Signed(0))?;
    let count = full(trace, draw.ty, ScalarValue::Unsigned(0))?;
    let sum = full(trace, &draw.floats, ScalarValue::Float(0.0))?;
    let goes_on = |trace: &mut Trace, carried: &[NodeId], given: &[NodeId]| {
        record(trace, [carried[0], carried[3], given[0]], |[turn, sum, below]| any(sum.gt(below)) & turn.lt(draw.turns))
    };
    let step = |trace: &mut Trace, carried: &[NodeId], given: &[NodeId]| {
        let keys = keys_of(trace, draw.algorithm, carried[2], 2)?;
        let uniform = random_uniform(trace, draw.algorithm, keys[1], &draw.floats, 0.0, 1.0)?;
        let f = Formula::new(trace);
        let [turn, count, sum, u] = [carried[0], carried[1], carried[3], uniform].map(|node| f.operand(node));
        let counted = sum.gt(f.operand(given[0])).select(count + 1_i64, count);
        let [turn, count, sum] = f.finish_all([turn + 1_i64, counted, sum + u.log()])?;
        Ok(vec![turn, count, keys[0], sum])
    };
    let made = repeat_while(trace, &[turn, count, draw.key, sum], &[below], goes_on, step)?;
    record(trace, [made[1]], |[count]| count - 1_i64)
}

/// Draws until a number is accepted.
fn rejection(trace: &mut Trace, draw: &Draw, rate: NodeId) -> Result<NodeId> {
    let turn = full(trace, &TensorType::new(DType::S32, &[]), ScalarValue::Signed(0))?;
    let nothing = full(trace, &draw.floats, ScalarValue::Float(-1.0))?;
    let done = full(trace, &TensorType { dtype: DType::Pred, dims: draw.ty.dims.clone() }, ScalarValue::Unsigned(0))?;
    let goes_on = |trace: &mut Trace, carried: &[NodeId], _: &[NodeId]| {
        record(trace, [carried[0], carried[2]], |[turn, done]| any(!done) & turn.lt(draw.turns))
    };
    let step = |trace: &mut Trace, carried: &[NodeId], given: &[NodeId]| {
        let keys = keys_of(trace, draw.algorithm, carried[3], 3)?;
        let u = random_uniform(trace, draw.algorithm, keys[1], &draw.floats, 0.0, 1.0)?;
        let v = random_uniform(trace, draw.algorithm, keys[2], &draw.floats, 0.0, 1.0)?;
        let f = Formula::new(trace);
        let [turn, number, done, u, v, rate] =
            [carried[0], carried[1], carried[2], u, v, given[0]].map(|node| f.operand(node));
        let (drawn, is_accepted) = proposed(rate, u - 0.5, v);
        let results = [turn + 1_i64, is_accepted.select(drawn, number), done | is_accepted];
        let [turn, number, done] = f.finish_all(results)?;
        Ok(vec![turn, number, done, keys[0]])
    };
    let made = repeat_while(trace, &[turn, nothing, done, draw.key], &[rate], goes_on, step)?;
    Ok(convert(trace, made[1], draw.ty.dtype))
}

/// A number from two uniform ones, and whether it is accepted.
fn proposed<'f>(rate: Expr<'f>, u: Expr<'f>, v: Expr<'f>) -> (Expr<'f>, Expr<'f>) {
    let b = rate.sqrt() * 2.53 + 0.931;
    let a = b * 0.02483 - 0.059;
    let inverse_alpha = 1.1328 / (b - 3.4) + 1.1239;
    let v_r = 0.9277 - 3.6224 / (b - 2.0);
    let shifted = 0.5 - u.abs();
    let k = ((a * 2.0 / shifted + b) * u + rate + 0.43).floor();
    let s = (v * inverse_alpha / (a / (shifted * shifted) + b)).log();
    let t = k * rate.log() - rate - (k + 1.0).function(UnaryFunction::Lgamma);
    let is_inside = shifted.ge(0.07) & v.le(v_r);
    let is_outside = k.lt(0.0) | (shifted.lt(0.013) & v.gt(shifted));
    (k, is_inside | (!is_outside & s.le(t)))
}
