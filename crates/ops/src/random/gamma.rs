//! Random numbers of the gamma and beta distributions, by the algorithms of `jax.random`, from the same bits: rejection
//! (G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", 2000). Each element has a key of its
//! own, split from the given one, and draws until its number is accepted; the loop goes on while any element draws.
//! 8-bit and 16-bit floats are drawn in f32 and rounded once.
//!
//! Derivatives by the parameters are implicit (M. Figurnov, S. Mohamed and A. Mnih, 2018), as JAX's: of the number with
//! the same probability, `-P_a(a, x) / P_x(a, x)` for the incomplete gamma function `P`. Differentiating the operations
//! of the loop would ignore that the parameters decide which draws are accepted.

use crate::control::apply::Applied;
use crate::control::custom::{CustomKind, custom_call_of, stop_gradient};
use crate::control::loops::{body, repeat_while};
use crate::creation::constants::{full, nothing};
use crate::definition::Composed;
use crate::elementwise::bits::bitcast_convert;
use crate::elementwise::convert::convert;
use crate::elementwise::formula::{Expr, Formula, record, widened};
use crate::elementwise::functions::igamma::density;
use crate::infer::{refuse, typed};
use crate::random::distributions::{check_key, keys_of, normal_of_bits, random_split, unit_of_bits};
use crate::random::rng::RngAlgorithm;
use crate::shape::axes::{broadcast_to, reshape, reverse};
use crate::shape::slicing::slice;
use base::error;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType, broadcast, element_count, float_limits};
use ir::{BinaryFunction, NodeId, Op, ReduceOp, Trace, UnaryFunction};

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] = &[
    Composed { name: "random_gamma", function: "lxla_random_gamma", dtypes: "floats, 8-bit floats" },
    Composed { name: "random_log_gamma", function: "lxla_random_log_gamma", dtypes: "floats, 8-bit floats" },
    Composed { name: "random_beta", function: "lxla_random_beta", dtypes: "floats, 8-bit floats" },
];

/// Scale on which gamma numbers are drawn. The logarithm keeps its digits where the number underflows to 0.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum GammaScale {
    /// Draws the number itself.
    Number,
    /// Draws the natural logarithm of the number.
    Logarithm,
}

/// Records random floats of the gamma distribution with shape parameters `alpha`, which broadcast to `dims`.
pub fn random_gamma(
    trace: &mut Trace,
    (algorithm, key): (RngAlgorithm, NodeId),
    alpha: NodeId,
    dims: &[i64],
    scale: GammaScale,
) -> Result<NodeId> {
    check_key(trace, key)?;
    let ty = trace.ty(alpha);
    if !ty.dtype.is_float() {
        return Err(refuse("random_gamma", "alpha", &ty, "floats"));
    }
    let alpha = broadcast_to(trace, alpha, dims).map_err(|e| e.context("alpha"))?;
    let count = element_count(dims)? as i64;
    if count == 0 {
        return nothing(trace, &TensorType::new(ty.dtype, dims));
    }
    let row = reshape(trace, alpha, &[count])?;
    let row = convert(trace, row, widened(ty.dtype));
    let keys = random_split(trace, algorithm, key, count)?;
    let parameters = stop_gradient(trace, row)?;
    let drawn = drawn(trace, keys, parameters, scale)?;
    let drawn = with_derivative(trace, row, drawn, scale)?;
    let made = reshape(trace, drawn, dims)?;
    Ok(convert(trace, made, ty.dtype))
}

/// Records random floats of the beta distribution with parameters `a` and `b`, which broadcast to `dims`: the share of
/// a gamma number in the sum of two.
pub fn random_beta(
    trace: &mut Trace,
    (algorithm, key): (RngAlgorithm, NodeId),
    [a, b]: [NodeId; 2],
    dims: &[i64],
) -> Result<NodeId> {
    check_key(trace, key)?;
    let (of_a, of_b) = (trace.ty(a), trace.ty(b));
    if !of_a.dtype.is_float() || of_a.dtype != of_b.dtype {
        return Err(error!(InvalidArgument, "a is {of_a} and b is {of_b}; want floats of one dtype"));
    }
    for (name, ty) in [("a", &of_a), ("b", &of_b)] {
        if broadcast(&ty.dims, dims).as_deref() != Some(dims) {
            return Err(error!(InvalidArgument, "{name}: it is {ty}, which does not broadcast to {dims:?}"));
        }
    }
    let keys = keys_of(trace, algorithm, key, 2)?;
    let wide = widened(of_a.dtype);
    let (a, b) = (convert(trace, a, wide), convert(trace, b, wide));
    let (a, b) = (with_finite_logarithms(trace, [a, b])?, with_finite_logarithms(trace, [b, a])?);
    let a = random_gamma(trace, (algorithm, keys[0]), a, dims, GammaScale::Logarithm)?;
    let b = random_gamma(trace, (algorithm, keys[1]), b, dims, GammaScale::Logarithm)?;
    record(trace, [a, b], |[a, b]| {
        let top = a.max(b);
        let (a, b) = ((a - top).exp(), (b - top).exp());
        (a / (a + b)).convert(of_a.dtype)
    })
}

/// Returns the first of two parameters of the beta distribution, so large that the logarithm of a gamma number, about
/// `log(u) / alpha` for a small `alpha`, is finite for the larger parameter. If both are tiny, the numbers are 0 and 1
/// with probabilities in the ratio of the parameters, which a common factor does not change. 0 is taken for the least
/// normal number.
fn with_finite_logarithms(trace: &mut Trace, [own, other]: [NodeId; 2]) -> Result<NodeId> {
    const FACTOR: f64 = (1u64 << 60) as f64;
    let least = float_limits(trace.node(own).dtype).expect("the limits of a float").smallest_normal;
    record(trace, [own, other], |[own, other]| {
        let [own, other] = [own, other].map(|x| (x.ge(0.0) & x.lt(least)).select(least, x));
        let are_tiny = own.max(other).lt(1.0 / FACTOR);
        own * are_tiny.select(own.number(FACTOR), 1.0)
    })
}

/// Records numbers with their derivatives by the parameters.
fn with_derivative(trace: &mut Trace, alpha: NodeId, drawn: NodeId, scale: GammaScale) -> Result<NodeId> {
    let ty = trace.ty(alpha);
    let numbers = body(&[ty.clone(), ty.clone()], &[], |_, given, _| Ok(vec![given[1]]))?;
    let forward = body(&[ty.clone(), ty.clone(), ty.clone(), ty], &[], |trace, given, _| {
        let tangent = record(trace, [given[0], given[1], given[2]], |[alpha, drawn, tangent]| {
            tangent * slope(alpha, drawn, scale)
        })?;
        Ok(vec![given[1], tangent])
    })?;
    let bodies = [&numbers, &forward].map(|body| Applied { body, captures: &[] });
    Ok(custom_call_of(trace, CustomKind::Jvp, &bodies, &[alpha, drawn])?[0])
}

/// The derivative by its parameter of a number, or of its logarithm. Small numbers are `(P gamma(a + 1))^(1 / a)`. For
/// large parameters, where the quotient loses its digits, see [`slope_of_large`].
fn slope<'f>(alpha: Expr<'f>, drawn: Expr<'f>, scale: GammaScale) -> Expr<'f> {
    let is_large = alpha.gt(if alpha.is_double() { 1e9 } else { 3e3 });
    let large = slope_of_large(is_large.select(alpha, 1.0), is_large.select(drawn, 0.0), scale);
    is_large.select(large, slope_of_small(is_large.select(1.0, alpha), is_large.select(0.0, drawn), scale))
}

/// The derivative by the expansion of Cornish and Fisher (1938) for a fixed probability, in `u = (x - a) / a`:
/// `dx / da = 1 + u / 2 - u^2 / 6 + u^3 / 12 + (1 + u / 2) / (6 a) + ...`.
fn slope_of_large<'f>(alpha: Expr<'f>, drawn: Expr<'f>, scale: GammaScale) -> Expr<'f> {
    let u = match scale {
        GammaScale::Number => (drawn - alpha) / alpha,
        GammaScale::Logarithm => (drawn - alpha.log()).exp_minus_one(),
    };
    let u = alpha.is_infinite().select(0.0, u);
    let quotient = u * (u * (u * (1.0 / 12.0) - 1.0 / 6.0) + 0.5) + 1.0 + (u * 0.5 + 1.0) / alpha * (1.0 / 6.0);
    match scale {
        GammaScale::Number => quotient,
        GammaScale::Logarithm => quotient / alpha / (u + 1.0),
    }
}

fn slope_of_small<'f>(alpha: Expr<'f>, drawn: Expr<'f>, scale: GammaScale) -> Expr<'f> {
    let (x, log) = match scale {
        GammaScale::Number => (drawn, drawn.log()),
        GammaScale::Logarithm => (drawn.exp(), drawn),
    };
    let is_small = x.lt(if x.is_double() { 1e-18 } else { 1e-9 });
    let near = ((alpha + 1.0).function(UnaryFunction::Digamma) - log) / alpha;
    let usual = is_small.select(1.0, x);
    let far = -(alpha.function_with(BinaryFunction::IgammaGradA, usual) / (density(alpha, usual) * usual));
    let of_log = is_small.select(near, far);
    match scale {
        GammaScale::Number => x.eq(0.0).select(0.0, x * of_log),
        GammaScale::Logarithm => of_log,
    }
}

/// Records `n` new keys of each row of keys, a node for each.
fn split_each(trace: &mut Trace, keys: NodeId, n: i64) -> Result<Vec<NodeId>> {
    let rows = trace.ty(keys).dims[0];
    let bits = typed(trace, Op::RandomBits, &TensorType::new(DType::U64, &[rows, n]), &[keys]);
    let words = bitcast_convert(trace, bits, DType::U32)?;
    let words = reverse(trace, words, &[2])?;
    let mut of = |i| {
        let part = slice(trace, words, &[0, i, 0], &[rows, i + 1, 2], &[1, 1, 1])?;
        reshape(trace, part, &[rows, 2])
    };
    (0..n).map(&mut of).collect()
}

/// Records random bits for a float of each key.
fn bits_of_each(trace: &mut Trace, keys: NodeId, dtype: DType) -> NodeId {
    let rows = trace.ty(keys).dims[0];
    typed(trace, Op::RandomBits, &TensorType::new(dtype.bits(), &[rows]), &[keys])
}

/// Records a uniform float in [0, 1) for each key.
fn uniform_of_each(trace: &mut Trace, keys: NodeId, dtype: DType) -> Result<NodeId> {
    let bits = bits_of_each(trace, keys, dtype);
    unit_of_bits(trace, bits, dtype)
}

/// Whether an element of a row is true.
fn any(x: Expr) -> Expr {
    x.reduce(ReduceOp::Any, &[0], false)
}

/// `alpha`, or `alpha + 1` below 1, minus 1/3.
fn shifted(alpha: Expr) -> Expr {
    alpha.ge(1.0).select(alpha, alpha + 1.0) - 1.0 / 3.0
}

/// Records a number for each key and parameter. Below 1, it is drawn with the parameter increased by 1, and multiplied
/// by a power of a uniform number. Parameters below 0 give NaN, also those that stay positive when they are increased.
fn drawn(trace: &mut Trace, keys: NodeId, alpha: NodeId, scale: GammaScale) -> Result<NodeId> {
    let ty = trace.ty(alpha);
    let split = split_each(trace, keys, 2)?;
    let one = full(trace, &ty, ScalarValue::Float(1.0))?;
    let draws = full(trace, &TensorType { dtype: DType::Pred, dims: ty.dims.clone() }, ScalarValue::Unsigned(1))?;
    let goes_on =
        |trace: &mut Trace, carried: &[NodeId], _: &[NodeId]| record(trace, [carried[2]], |[draws]| any(draws));
    let step = |trace: &mut Trace, carried: &[NodeId], given: &[NodeId]| proposal(trace, carried, given[0]);
    let made = repeat_while(trace, &[split[0], one, draws], &[alpha], goes_on, step)?;
    let uniform = uniform_of_each(trace, split[1], ty.dtype)?;
    record(trace, [alpha, made[1], uniform], |[alpha, v, u]| {
        let (is_whole, d, inverse) = (alpha.ge(1.0), shifted(alpha), 1.0 / alpha.abs());
        let made = match scale {
            GammaScale::Number => d * v * is_whole.select(1.0, (1.0 - u).power(inverse)),
            GammaScale::Logarithm => {
                let log = (-u).log_plus_one();
                d.log() + v.log() + (is_whole | log.eq(0.0)).select(0.0, log * inverse)
            }
        };
        alpha.lt(0.0).select(f64::NAN, made)
    })
}

/// Records one iteration: new keys; cubes `v` for the elements that draw; and those that draw again.
fn proposal(trace: &mut Trace, carried: &[NodeId], alpha: NodeId) -> Result<Vec<NodeId>> {
    let dtype = trace.node(alpha).dtype;
    let split = split_each(trace, carried[0], 3)?;
    let (x, root) = normal_above(trace, split[1], alpha)?;
    let uniform = uniform_of_each(trace, split[2], dtype)?;
    let rows = trace.ty(alpha).dims[0];
    let f = Formula::new(trace);
    let [keys, next, v, draws, alpha, x, root, u] =
        [carried[0], split[0], carried[1], carried[2], alpha, x, root, uniform].map(|node| f.operand(node));
    let d = shifted(alpha);
    let (square, cube) = (x * x, root * root * root);
    let is_outside = u.ge(1.0 - square * square * 0.0331);
    let is_refused = is_outside & u.log().ge(square * 0.5 + d * (1.0 - cube + cube.log()));
    let column = draws.apply(|trace, draws| reshape(trace, draws, &[rows, 1]));
    let results = [column.select(next, keys), draws.select(cube, v), draws & is_refused];
    f.finish_all(results).map(Vec::from)
}

/// Records normal numbers `x` for which `1 + c x` is positive, and this sum, for keys of their own.
fn normal_above(trace: &mut Trace, keys: NodeId, alpha: NodeId) -> Result<(NodeId, NodeId)> {
    let ty = trace.ty(alpha);
    let nothing = full(trace, &ty, ScalarValue::Float(0.0))?;
    let below = full(trace, &ty, ScalarValue::Float(-1.0))?;
    let goes_on =
        |trace: &mut Trace, carried: &[NodeId], _: &[NodeId]| record(trace, [carried[2]], |[v]| any(v.le(0.0)));
    let step = |trace: &mut Trace, carried: &[NodeId], given: &[NodeId]| {
        let split = split_each(trace, carried[0], 2)?;
        let bits = bits_of_each(trace, split[1], ty.dtype);
        let normal = normal_of_bits(trace, bits, ty.dtype)?;
        let f = Formula::new(trace);
        let [keys, next, x, v, alpha, normal] =
            [carried[0], split[0], carried[1], carried[2], given[0], normal].map(|node| f.operand(node));
        let (draws, c) = (v.le(0.0), 1.0 / 3.0 / shifted(alpha).sqrt());
        let column = draws.apply(|trace, draws| reshape(trace, draws, &[ty.dims[0], 1]));
        let results = [column.select(next, keys), draws.select(normal, x), draws.select(normal * c + 1.0, v)];
        f.finish_all(results).map(Vec::from)
    };
    let made = repeat_while(trace, &[keys, nothing, below], &[alpha], goes_on, step)?;
    Ok((made[1], made[2]))
}
