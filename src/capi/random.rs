//! Chapter Random numbers.

use super::abi::arguments::{flag, index_dtype_of, ranked, tensor_type};
use super::abi::guard::guard_into;
use super::abi::pointers::{List, Out};
use super::abi::types::{lxla_status, lxla_tensor};
use super::tensor::optional_handle;
use crate::device::TensorHandle;
use crate::tensor::{record, record_optional};
use base::error;
use base::error::Result;
use base::types::TensorType;
use ir::{NodeId, Trace};
use ops::random::{self, GammaScale, RngAlgorithm};

/// Records random numbers of a dtype and of dims, given with their rank, drawn with a key.
fn drawn(
    algorithm: i32,
    key: lxla_tensor,
    (dtype, dims, rank): (i32, List<i64>, usize),
    draw: impl FnOnce(&mut Trace, RngAlgorithm, NodeId, &TensorType) -> Result<NodeId>,
) -> Result<TensorHandle> {
    let ty = tensor_type(dtype, dims, rank)?;
    let algorithm = RngAlgorithm::from_number(algorithm)?;
    record([("key", key.into())], |trace, [key]| draw(trace, algorithm, key, &ty))
}

/// Records the rng_bit_generator of StableHLO: returns the next state of a generator, one of `LXLA_RNG_*`, and random
/// bits of the given shape and dtype (integers, or floats with random bits, NaN included). The state is `u64[2]`
/// (key, counter) for THREE_FRY; for PHILOX it is `u64[3]` (key, low and high word of the counter) or `u64[2]` (key,
/// low word of the counter; the high word starts as the key). The next state continues the sequence; without
/// elements, it is the state given. Eager results are equal to XLA's.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_rng_bit_generator(
    algorithm: i32,
    state: lxla_tensor,
    dtype: i32,
    dims: List<i64>,
    rank: usize,
    out_state: Out<lxla_tensor>,
    out_bits: Out<lxla_tensor>,
) -> lxla_status {
    let outputs = [out_state.named("out_state"), out_bits.named("out_bits")];
    guard_into("lxla_rng_bit_generator", outputs, || {
        let ty = tensor_type(dtype, dims, rank)?;
        let algorithm = RngAlgorithm::from_number(algorithm)?;
        record([("state", state.into())], |trace, [state]| random::rng_bit_generator(trace, algorithm, state, &ty))
    })
}

/// Records uniformly distributed random integers (all values of the dtype) for a key, `u32[2]`. Equal keys give equal
/// numbers on every device, eager or lazy. A key is never modified: derive a new one for other numbers
/// (`lxla_random_split`). The key of a 64-bit seed is its high word, then its low word.
///
/// With `LXLA_RNG_THREE_FRY`, equal to `jax.random.bits` of the same key (threefry2x32 with
/// jax_threefry_partitionable, the default of JAX). With `LXLA_RNG_PHILOX`, equal to `lxla_rng_bit_generator` with
/// state {key as one number, 0, 0}.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_random_bits(
    algorithm: i32,
    key: lxla_tensor,
    dtype: i32,
    dims: List<i64>,
    rank: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_random_bits", out_tensor.named("out_tensor"), || {
        drawn(algorithm, key, (dtype, dims, rank), random::random_bits)
    })
}

/// Records `n` new keys derived from a key, `u32[n,2]`, one per row; with THREE_FRY, those of `jax.random.split`. Do
/// not use a key for both splitting and numbers: both derive from the same bits.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_random_split(
    algorithm: i32,
    key: lxla_tensor,
    n: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_random_split", out_tensor.named("out_tensor"), || {
        let n = i64::try_from(n).map_err(|_| error!(InvalidArgument, "n: {n} given; want at most 2^63 - 1"))?;
        let algorithm = RngAlgorithm::from_number(algorithm)?;
        record([("key", key.into())], |trace, [key]| random::random_split(trace, algorithm, key, n))
    })
}

/// Records random floats in [`low`, `high`), both rounded to the dtype: u * (high - low) + low, with each step
/// rounded to the dtype, where u is uniformly distributed over the multiples of 2^-10 (f16), 2^-7 (bf16), 2^-23 (f32)
/// or 2^-52 (f64) in [0, 1). Equal on every device, as `lxla_random_bits`, unless high - low is so small that
/// products are denormal.
///
/// With THREE_FRY, equal to `jax.random.uniform` bit for bit if low is 0 or high - low is a power of two; otherwise
/// within one rounding, because XLA may fuse the product and the sum there. A result that would round to high is the
/// next lower number.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_random_uniform(
    algorithm: i32,
    key: lxla_tensor,
    dtype: i32,
    dims: List<i64>,
    rank: usize,
    low: f64,
    high: f64,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_random_uniform", out_tensor.named("out_tensor"), || {
        drawn(algorithm, key, (dtype, dims, rank), |trace, algorithm, key, ty| {
            random::random_uniform(trace, algorithm, key, ty, low, high)
        })
    })
}

/// Records random floats of the standard normal distribution: sqrt(2) erf_inv(u), with u between -1 and 1 as from
/// `lxla_random_uniform`. The random bits are equal on every device; the results may differ in the last places. With
/// THREE_FRY, close to `jax.random.normal`, whose formula loses about 60 units in the last place far from 0.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_random_normal(
    algorithm: i32,
    key: lxla_tensor,
    dtype: i32,
    dims: List<i64>,
    rank: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_random_normal", out_tensor.named("out_tensor"), || {
        drawn(algorithm, key, (dtype, dims, rank), random::random_normal)
    })
}

/// Records random pred, true with probability `p` (0 to 1): u < p, with p rounded to f32 and u a uniform f32 in [0,
/// 1). Equal on every device, as `lxla_random_bits`. For a tensor of probabilities, compare `lxla_random_uniform`
/// with it.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_random_bernoulli(
    algorithm: i32,
    key: lxla_tensor,
    p: f64,
    dims: List<i64>,
    rank: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_random_bernoulli", out_tensor.named("out_tensor"), || {
        let dims = ranked("dims", dims, rank)?;
        let algorithm = RngAlgorithm::from_number(algorithm)?;
        record([("key", key.into())], |trace, [key]| random::random_bernoulli(trace, algorithm, key, p, dims))
    })
}

/// Records random floats of the exponential distribution of rate 1: -log(1 - u), with u in [0, 1) as from
/// `lxla_random_uniform` of f64 or f32, from which smaller dtypes are rounded. The random bits are equal on every
/// device; the results may differ in the last places. With THREE_FRY, f32 and f64 are those of
/// `jax.random.exponential`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_random_exponential(
    algorithm: i32,
    key: lxla_tensor,
    dtype: i32,
    dims: List<i64>,
    rank: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_random_exponential", out_tensor.named("out_tensor"), || {
        drawn(algorithm, key, (dtype, dims, rank), random::random_exponential)
    })
}

/// Records random floats of the standard Gumbel distribution: -log(-log(u)), with u in (0, 1). Otherwise as
/// `lxla_random_exponential`; with THREE_FRY, f32 and f64 are those of `jax.random.gumbel` in its mode
/// "low".
#[unsafe(no_mangle)]
pub extern "C" fn lxla_random_gumbel(
    algorithm: i32,
    key: lxla_tensor,
    dtype: i32,
    dims: List<i64>,
    rank: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_random_gumbel", out_tensor.named("out_tensor"), || {
        drawn(algorithm, key, (dtype, dims, rank), random::random_gumbel)
    })
}

/// Records random floats of the standard Laplace distribution: sign(u) log(1 - |u|), with u in (-1, 1). Otherwise as
/// `lxla_random_exponential`; with THREE_FRY, f32 and f64 are those of `jax.random.laplace`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_random_laplace(
    algorithm: i32,
    key: lxla_tensor,
    dtype: i32,
    dims: List<i64>,
    rank: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_random_laplace", out_tensor.named("out_tensor"), || {
        drawn(algorithm, key, (dtype, dims, rank), random::random_laplace)
    })
}

/// Records random floats of the standard normal distribution between `lower` and `upper`, both excluded (before 8-bit
/// and 16-bit floats are rounded): sqrt(2) erf_inv(u), with u uniform between the error functions of the bounds divided
/// by sqrt(2). Otherwise as `lxla_random_exponential`; with THREE_FRY, f32 and f64 are close to
/// `jax.random.truncated_normal`. Far from 0 there are few distinct values, because the error functions are close to 1.
/// INVALID_ARGUMENT if no number is between the bounds.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_random_truncated_normal(
    algorithm: i32,
    key: lxla_tensor,
    dtype: i32,
    dims: List<i64>,
    rank: usize,
    lower: f64,
    upper: f64,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_random_truncated_normal", out_tensor.named("out_tensor"), || {
        drawn(algorithm, key, (dtype, dims, rank), |trace, algorithm, key, ty| {
            random::random_truncated_normal(trace, algorithm, key, ty, lower, upper)
        })
    })
}

/// Records random indices along `axis` of `logits` (floats), with probabilities proportional to e^logits: the index of
/// the largest sum of a logit and a number of `lxla_random_gumbel`. The result has `dims`, those of independent draws
/// (rank 0: one), followed by the dims of `logits` without the axis; its dtype is `index_dtype`. With THREE_FRY and
/// logits of f32 or f64, the indices of `jax.random.categorical`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_random_categorical(
    algorithm: i32,
    key: lxla_tensor,
    logits: lxla_tensor,
    axis: i64,
    dims: List<i64>,
    rank: usize,
    index_dtype: i32,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_random_categorical", out_tensor.named("out_tensor"), || {
        let (dims, index_dtype) = (ranked("dims", dims, rank)?, index_dtype_of(index_dtype)?);
        let algorithm = RngAlgorithm::from_number(algorithm)?;
        record([("key", key.into()), ("logits", logits.into())], |trace, [key, logits]| {
            random::random_categorical(trace, algorithm, key, logits, axis, dims, index_dtype)
        })
    })
}

/// Records random integers in [`low`, `high`), all of which must be numbers of the dtype (s8 to u64): twice the bits of
/// the dtype, or of 32-bit integers for narrower ones, modulo high - low. Equal on every device, as `lxla_random_bits`;
/// with THREE_FRY, the integers of `jax.random.randint`. All are almost equally likely. For dtypes of at most 32 bits
/// their probabilities differ by at most (high - low) / 2^64 of their mean if high - low is at most 2^16, else by
/// (high - low) / 2^32; for dtypes of 64 bits by at most (high - low) / 2^64.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_random_integers(
    algorithm: i32,
    key: lxla_tensor,
    dtype: i32,
    dims: List<i64>,
    rank: usize,
    low: i64,
    high: i64,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_random_integers", out_tensor.named("out_tensor"), || {
        drawn(algorithm, key, (dtype, dims, rank), |trace, algorithm, key, ty| {
            random::random_integers(trace, algorithm, key, ty, [low, high])
        })
    })
}

/// Records the elements, or slices, of x at random indices of `axis`. The result has x's dims, with `dims` in the place
/// of the axis. With `replace` 1 the draws are independent; with 0 no index is drawn twice, and the dims have at most as
/// many elements as the axis. `probabilities` are floats of shape [size of the axis], proportional to the probability of
/// each index; without them (id 0) all are equally likely, as integers of `lxla_random_integers` of s32 (of s64 if the
/// axis is longer). An index of probability 0 is not drawn with replacement; without it, such indices come last.
///
/// With THREE_FRY, the draws of `jax.random.choice` without jax_enable_x64 (probabilities of f32 or f64). With
/// probabilities they may differ where rounding decides. INVALID_ARGUMENT if the axis has too few elements.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_random_choice(
    algorithm: i32,
    key: lxla_tensor,
    x: lxla_tensor,
    axis: i64,
    dims: List<i64>,
    rank: usize,
    replace: i32,
    probabilities: lxla_tensor,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_random_choice", out_tensor.named("out_tensor"), || {
        let (dims, replace) = (ranked("dims", dims, rank)?, flag("replace", replace)?);
        let algorithm = RngAlgorithm::from_number(algorithm)?;
        let optional = [("probabilities", optional_handle(probabilities))];
        record_optional([("key", key.into()), ("x", x.into())], optional, |trace, [key, x], given| {
            random::random_choice(trace, (algorithm, key), x, axis, dims, replace, given[0])
        })
    })
}

/// Records random integers of the Poisson distribution. `rate` (floats, at least 0) is the mean; it broadcasts to
/// `dims`. The numbers are drawn in f32, below a rate of 10 by Knuth's algorithm, else by transformed rejection. Numbers
/// beyond the dtype's largest are the largest. A negative rate or NaN gives -1, as unsigned integer the largest. The
/// random bits are equal on every device; rarely, rounding decides otherwise. With THREE_FRY, the numbers of
/// `jax.random.poisson`. Each element takes as many iterations as the slowest one.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_random_poisson(
    algorithm: i32,
    key: lxla_tensor,
    rate: lxla_tensor,
    dtype: i32,
    dims: List<i64>,
    rank: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_random_poisson", out_tensor.named("out_tensor"), || {
        let ty = tensor_type(dtype, dims, rank)?;
        let algorithm = RngAlgorithm::from_number(algorithm)?;
        record([("key", key.into()), ("rate", rate.into())], |trace, [key, rate]| {
            random::random_poisson(trace, algorithm, key, rate, &ty)
        })
    })
}

/// Records random floats of the gamma distribution of scale 1. `alpha` (floats, more than 0) is the shape parameter; it
/// broadcasts to `dims`, and its dtype is the result's. Floats of 8 and 16 bits are drawn in f32 and rounded. A negative
/// or NaN parameter gives NaN. The random bits are equal on every device; the results may differ in the last places, and
/// rarely rounding decides otherwise. With THREE_FRY, f32 and f64 are close to `jax.random.gamma`; with PHILOX, the keys
/// of the elements are split with PHILOX, and their numbers drawn with THREE_FRY. The derivative by alpha is that of the
/// number with the same probability, as JAX's: `-LXLA_BINARY_IGAMMA_GRAD_A` divided by the density (Figurnov, Mohamed and
/// Mnih, 2018). There is no second one (UNIMPLEMENTED).
#[unsafe(no_mangle)]
pub extern "C" fn lxla_random_gamma(
    algorithm: i32,
    key: lxla_tensor,
    alpha: lxla_tensor,
    dims: List<i64>,
    rank: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_random_gamma", out_tensor.named("out_tensor"), || {
        let (dims, algorithm) = (ranked("dims", dims, rank)?, RngAlgorithm::from_number(algorithm)?);
        record([("key", key.into()), ("alpha", alpha.into())], |trace, [key, alpha]| {
            random::random_gamma(trace, (algorithm, key), alpha, dims, GammaScale::Number)
        })
    })
}

/// Records the logarithms of the numbers of `lxla_random_gamma`, which are finite where these underflow, for small
/// alpha. With THREE_FRY, close to `jax.random.loggamma`. Their `lxla_softmax` over an axis has the Dirichlet
/// distribution, as in `jax.random.dirichlet`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_random_log_gamma(
    algorithm: i32,
    key: lxla_tensor,
    alpha: lxla_tensor,
    dims: List<i64>,
    rank: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_random_log_gamma", out_tensor.named("out_tensor"), || {
        let (dims, algorithm) = (ranked("dims", dims, rank)?, RngAlgorithm::from_number(algorithm)?);
        record([("key", key.into()), ("alpha", alpha.into())], |trace, [key, alpha]| {
            random::random_gamma(trace, (algorithm, key), alpha, dims, GammaScale::Logarithm)
        })
    })
}

/// Records random floats of the beta distribution. The parameters `a` and `b` (more than 0) are of one dtype, the
/// result's, and broadcast to `dims`. The numbers are quotients of gamma numbers, and otherwise as those of
/// `lxla_random_gamma`; with THREE_FRY, f32 and f64 are close to `jax.random.beta`. An infinite parameter gives NaN, and
/// so may two parameters that are both below 1e-37 (f64: 1e-306): the logarithms of both gamma numbers overflow.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_random_beta(
    algorithm: i32,
    key: lxla_tensor,
    a: lxla_tensor,
    b: lxla_tensor,
    dims: List<i64>,
    rank: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_random_beta", out_tensor.named("out_tensor"), || {
        let (dims, algorithm) = (ranked("dims", dims, rank)?, RngAlgorithm::from_number(algorithm)?);
        record([("key", key.into()), ("a", a.into()), ("b", b.into())], |trace, [key, a, b]| {
            random::random_beta(trace, (algorithm, key), [a, b], dims)
        })
    })
}
