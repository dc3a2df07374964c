//! Random numbers of distributions that are functions of uniform numbers: by the formulas of `jax.random`, from the
//! same bits. As those of the normal distribution, 8-bit and 16-bit floats are drawn in f32 and rounded once: with
//! fewer bits there would be few distinct values, and none in the tails.

use crate::creation::constants::full;
use crate::definition::Composed;
use crate::elementwise::convert::convert;
use crate::elementwise::formula::{Expr, record, widened};
use crate::elementwise::functions::erf::special;
use crate::infer::refuse;
use crate::random::distributions::random_uniform;
use crate::random::rng::RngAlgorithm;
use crate::reduction::reduce_with::arg_extreme;
use base::error;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType, normalize_axis};
use ir::{NodeId, SpecialOp, Trace, UnaryFunction};
use std::f64::consts::SQRT_2;

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] = &[
    Composed { name: "random_exponential", function: "lxla_random_exponential", dtypes: "floats, 8-bit floats" },
    Composed { name: "random_gumbel", function: "lxla_random_gumbel", dtypes: "floats, 8-bit floats" },
    Composed { name: "random_laplace", function: "lxla_random_laplace", dtypes: "floats, 8-bit floats" },
    Composed {
        name: "random_truncated_normal",
        function: "lxla_random_truncated_normal",
        dtypes: "floats, 8-bit floats",
    },
    Composed {
        name: "random_categorical",
        function: "lxla_random_categorical",
        dtypes: "floats, 8-bit floats; gives integers",
    },
];

/// Records a formula of uniform floats in [`low`, `high`).
fn of_uniform(
    trace: &mut Trace,
    (algorithm, key): (RngAlgorithm, NodeId),
    ty: &TensorType,
    [low, high]: [f64; 2],
    formula: impl for<'f> FnOnce(Expr<'f>) -> Expr<'f>,
) -> Result<NodeId> {
    if !ty.dtype.is_float() {
        return Err(error!(InvalidArgument, "dtype: {} given; want floats", ty.dtype));
    }
    let wide = TensorType { dtype: widened(ty.dtype), dims: ty.dims.clone() };
    let uniform = random_uniform(trace, algorithm, key, &wide, low, high)?;
    record(trace, [uniform], |[u]| formula(u).convert(ty.dtype))
}

/// Records random floats of the exponential distribution of rate 1, `-log(1 - u)`.
pub fn random_exponential(trace: &mut Trace, algorithm: RngAlgorithm, key: NodeId, ty: &TensorType) -> Result<NodeId> {
    of_uniform(trace, (algorithm, key), ty, [0.0, 1.0], |u| -(-u).log_plus_one())
}

/// Records random floats of the Gumbel distribution, `-log(-log(u))` for `u` from the least normal number to 1.
pub fn random_gumbel(trace: &mut Trace, algorithm: RngAlgorithm, key: NodeId, ty: &TensorType) -> Result<NodeId> {
    let least = if ty.dtype == DType::F64 { f64::MIN_POSITIVE } else { f32::MIN_POSITIVE.into() };
    of_uniform(trace, (algorithm, key), ty, [least, 1.0], |u| -(-u.log()).log())
}

/// Records random floats of the Laplace distribution, `sign(u) log(1 - |u|)` for `u` between -1 and 1.
pub fn random_laplace(trace: &mut Trace, algorithm: RngAlgorithm, key: NodeId, ty: &TensorType) -> Result<NodeId> {
    let above = if ty.dtype == DType::F64 { (-1f64).next_up() } else { (-1f32).next_up().into() };
    of_uniform(trace, (algorithm, key), ty, [above, 1.0], |u| u.sign() * (-u.abs()).log_plus_one())
}

/// Records random floats of the standard normal distribution between two bounds, which are excluded: erf_inv of a
/// uniform number between the error functions of the bounds.
pub fn random_truncated_normal(
    trace: &mut Trace,
    algorithm: RngAlgorithm,
    key: NodeId,
    ty: &TensorType,
    lower: f64,
    upper: f64,
) -> Result<NodeId> {
    let (least, most) = match ty.dtype {
        DType::F64 => (lower.next_up(), upper.next_down()),
        _ => (f64::from((lower as f32).next_up()), f64::from((upper as f32).next_down())),
    };
    if least.is_nan() || most.is_nan() || least > most {
        return Err(error!(
            InvalidArgument,
            "lower, upper: {lower:?} and {upper:?} given; want a {} between them",
            widened(ty.dtype)
        ));
    }
    let scalar = TensorType::new(widened(ty.dtype), &[]);
    let mut bound = |value| {
        let bound = full(trace, &scalar, ScalarValue::Float(value / SQRT_2))?;
        special(trace, SpecialOp::Erf, bound)
    };
    let (low, high) = (bound(lower)?, bound(upper)?);
    of_uniform(trace, (algorithm, key), ty, [0.0, 1.0], |u| {
        let (low, high) = (u.formula.operand(low), u.formula.operand(high));
        let probability = (u * (high - low) + low).max(low);
        (probability.function(UnaryFunction::ErfInv) * SQRT_2).max(least).min(most)
    })
}

/// Records indices along `axis` of `logits`, with probabilities proportional to `e^logits`: the largest sum of a logit
/// and a Gumbel number. `dims` are those of independent draws, before the dims of `logits` without the axis.
pub fn random_categorical(
    trace: &mut Trace,
    algorithm: RngAlgorithm,
    key: NodeId,
    logits: NodeId,
    axis: i64,
    dims: &[i64],
    index_dtype: DType,
) -> Result<NodeId> {
    let ty = trace.ty(logits);
    if !ty.dtype.is_float() {
        return Err(refuse("random_categorical", "logits", &ty, "floats"));
    }
    let axis = normalize_axis("axis", axis, ty.dims.len())?;
    if ty.dims[axis] == 0 {
        return Err(error!(InvalidArgument, "logits: they are {ty}, and have no element on axis {axis}"));
    }
    let axis = axis + dims.len();
    let wide = TensorType::new(widened(ty.dtype), &[dims, &ty.dims].concat());
    let noise = random_gumbel(trace, algorithm, key, &wide)?;
    let logits = convert(trace, logits, wide.dtype);
    let sum = record(trace, [noise, logits], |[noise, logits]| noise + logits)?;
    arg_extreme(trace, sum, axis as i64, false, true, index_dtype)
}
