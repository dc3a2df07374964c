//! Random integers and choices, by the algorithms of `jax.random`, from the same bits.

use crate::creation::constants::{iota, nothing};
use crate::definition::Composed;
use crate::elementwise::binary::{binary, binary_scalar};
use crate::elementwise::convert::convert;
use crate::elementwise::formula::{record, widened};
use crate::indexing::dynamic::take;
use crate::random::continuous::random_gumbel;
use crate::random::distributions::{check_key, keys_of, random_bits, random_uniform};
use crate::random::rng::RngAlgorithm;
use crate::reduction::windows::cumulative;
use crate::shape::axes::reshape;
use crate::shape::rearrange::slice_axis;
use crate::sorting::sort::argsort;
use crate::sorting::top_k::top_k;
use crate::sorting::unique::searchsorted;
use base::error;
use base::error::Result;
use base::types::{DType, Dims, ScalarValue, TensorType, element_count, integer_limits, normalize_axis};
use ir::{BinaryOp, NodeId, ReduceOp, Trace};

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] = &[
    Composed { name: "random_integers", function: "lxla_random_integers", dtypes: "integers" },
    Composed { name: "random_choice", function: "lxla_random_choice", dtypes: "all; probabilities floats" },
];

/// Records random integers in [`low`, `high`): twice the bits of the dtype (of 32 bits at least), modulo the number of
/// integers.
pub fn random_integers(
    trace: &mut Trace,
    algorithm: RngAlgorithm,
    key: NodeId,
    ty: &TensorType,
    [low, high]: [i64; 2],
) -> Result<NodeId> {
    let Some(limits) = integer_limits(ty.dtype).filter(|_| ty.dtype.is_integer()) else {
        return Err(error!(InvalidArgument, "dtype: {} given; want integers", ty.dtype));
    };
    if low >= high || low < limits.min || i128::from(high) > i128::from(limits.max) + 1 {
        return Err(error!(
            InvalidArgument,
            "low, high: {low} and {high} given; want low < high, and all integers between them in {}", ty.dtype
        ));
    }
    // Narrow integers are drawn in s32.
    let wide = if ty.dtype.size_bytes() < 4 { DType::S32 } else { ty.dtype };
    let bits = 8 * wide.size_bytes() as u32;
    let [higher, lower] = {
        let keys = keys_of(trace, algorithm, key, 2)?;
        let drawn = TensorType { dtype: wide.bits(), dims: ty.dims.clone() };
        [random_bits(trace, algorithm, keys[0], &drawn)?, random_bits(trace, algorithm, keys[1], &drawn)?]
    };
    let span = high.wrapping_sub(low) as u64;
    let mut scalar = |op, x, value| binary_scalar(trace, op, x, ScalarValue::Unsigned(value), false);
    let offset = if bits == 32 && span == 1 << 32 {
        lower
    } else {
        // 2^bits modulo span, from a product that wraps, as in JAX.
        let half = (1u64 << (bits / 2)) % span;
        let product = if bits == 32 { half.wrapping_mul(half) as u32 as u64 } else { half.wrapping_mul(half) };
        let higher = scalar(BinaryOp::Remainder, higher, span)?;
        let higher = scalar(BinaryOp::Multiply, higher, product % span)?;
        let lower = scalar(BinaryOp::Remainder, lower, span)?;
        let sum = binary(trace, BinaryOp::Add, higher, lower)?;
        binary_scalar(trace, BinaryOp::Remainder, sum, ScalarValue::Unsigned(span), false)?
    };
    let offset = convert(trace, offset, wide);
    let made = match low {
        0 => offset,
        _ => binary_scalar(trace, BinaryOp::Add, offset, ScalarValue::Signed(low), false)?,
    };
    Ok(convert(trace, made, ty.dtype))
}

/// Records a random order of `n` indices: they are sorted by random numbers, often enough that ties do not matter.
fn shuffled(trace: &mut Trace, algorithm: RngAlgorithm, mut key: NodeId, n: i64, dtype: DType) -> Result<NodeId> {
    let rounds = (3.0 * (n as f64).ln() / f64::from(u32::MAX).ln()).ceil() as usize;
    let mut order = iota(trace, &TensorType::new(dtype, &[n]), 0)?;
    for _ in 0..rounds {
        let keys = keys_of(trace, algorithm, key, 2)?;
        key = keys[0];
        let bits = random_bits(trace, algorithm, keys[1], &TensorType::new(DType::U32, &[n]))?;
        let places = argsort(trace, bits, 0, false, true, dtype)?;
        order = take(trace, order, places, 0)?;
    }
    Ok(order)
}

/// Records the indices at which the cumulative sums of a row of probabilities reach the share `1 - uniform` of the
/// whole sum. XLA adds in blocks, so that its sums may decrease where a probability is 0; the search takes their cumulative
/// maxima. It finds the first of equal ones, so that the maximum increases at each found index, and its probability is
/// more than 0.
fn indices_at(trace: &mut Trace, probabilities: NodeId, uniform: NodeId, index_dtype: DType) -> Result<NodeId> {
    let (n, dtype) = (trace.ty(probabilities).dims[0], trace.node(uniform).dtype);
    let p = convert(trace, probabilities, dtype);
    let sums = cumulative(trace, ReduceOp::Sum, p, 0, false)?;
    let sums = record(trace, [p, sums], |[p, sums]| p.gt(0.0).select(sums, 0.0))?;
    let sums = cumulative(trace, ReduceOp::Max, sums, 0, false)?;
    let all = slice_axis(trace, sums, 0, n - 1, n, 1)?;
    let all = reshape(trace, all, &[])?;
    let at = record(trace, [sums, all, uniform], |[sums, all, u]| {
        // A share that underflows to 0 would be found at a first probability of 0.
        let least = sums.gt(0.0).select(sums, all).reduce(ReduceOp::Min, &[0], false);
        (all * (1.0 - u)).max(least)
    })?;
    searchsorted(trace, sums, at, false, index_dtype)
}

/// Records random elements of an axis of `x`, or slices at its indices: `dims` take the place of the axis.
/// `probabilities` is a row of floats, one for each index; without it all are equal.
pub fn random_choice(
    trace: &mut Trace,
    (algorithm, key): (RngAlgorithm, NodeId),
    x: NodeId,
    axis: i64,
    dims: &[i64],
    replace: bool,
    probabilities: Option<NodeId>,
) -> Result<NodeId> {
    check_key(trace, key)?;
    let ty = trace.ty(x);
    let axis = normalize_axis("axis", axis, ty.dims.len())?;
    let (n, draws) = (ty.dims[axis], element_count(dims)? as i64);
    if let Some(p) = probabilities {
        let of = trace.ty(p);
        if !of.dtype.is_float() || of.dims[..] != [n] {
            return Err(error!(
                InvalidArgument,
                "probabilities: they are {of}; x is {ty}; want floats, of shape [{n}]"
            ));
        }
    }
    if draws == 0 {
        let dims: Dims = ty.dims[..axis].iter().chain(dims).chain(&ty.dims[axis + 1..]).copied().collect();
        element_count(&dims)?;
        return nothing(trace, &TensorType { dtype: ty.dtype, dims });
    }
    if n == 0 || (!replace && draws > n) {
        let with = if replace { "" } else { " without replacement" };
        return Err(error!(InvalidArgument, "x: it is {ty}; {draws} indices of axis {axis} are wanted{with}"));
    }
    let index_dtype = if n > i64::from(i32::MAX) { DType::S64 } else { DType::S32 };
    let indices = match (probabilities, replace) {
        (None, true) => random_integers(trace, algorithm, key, &TensorType::new(index_dtype, dims), [0, n])?,
        (None, false) => {
            let order = shuffled(trace, algorithm, key, n, index_dtype)?;
            let first = slice_axis(trace, order, 0, 0, draws, 1)?;
            reshape(trace, first, dims)?
        }
        (Some(p), true) => {
            let dtype = widened(trace.node(p).dtype);
            let uniform = random_uniform(trace, algorithm, key, &TensorType::new(dtype, dims), 0.0, 1.0)?;
            indices_at(trace, p, uniform, index_dtype)?
        }
        (Some(p), false) => {
            let dtype = widened(trace.node(p).dtype);
            let noise = random_gumbel(trace, algorithm, key, &TensorType::new(dtype, &[n]))?;
            let sum = record(trace, [noise, p], |[noise, p]| noise + p.convert(dtype).log())?;
            let [_, indices] = top_k(trace, sum, draws, 0, true, index_dtype)?;
            reshape(trace, indices, dims)?
        }
    };
    take(trace, x, indices, axis as i64)
}
