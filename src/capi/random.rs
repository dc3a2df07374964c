//! Chapter Random numbers.

use super::abi::arguments::{out, ranked, tensor_type};
use super::abi::guard::guard;
use super::types::*;
use crate::ops::RngAlgorithm;
use crate::{error, tensor};

/// Records what StableHLO's rng_bit_generator gives: the next state of a generator (`LXLA_RNG_*`), and random bits in the
/// shape and dtype asked for, an integer's or a float's (whose bits are random, too: NaN is among them). The state is `u64[2]`
/// (key, counter) for THREE_FRY, and for PHILOX `u64[3]` (key, low and high word of the counter) or `u64[2]` (key, low word of the
/// counter; the high one starts as the key). The next one goes on where this one ends. The bits are XLA's, and native the same.
/// Without elements, the state stays. Gives two tensors, one reference each. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_rng_bit_generator(
    algorithm: i32,
    state: lxla_tensor,
    dtype: i32,
    dims: *const i64,
    rank: usize,
    out_state: *mut lxla_tensor,
    out_bits: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_rng_bit_generator", || {
        // SAFETY: the caller's promise, see `capi`.
        let (ty, next, bits) =
            unsafe { (tensor_type(dtype, dims, rank)?, out("out_state", out_state)?, out("out_bits", out_bits)?) };
        let results = tensor::rng_bit_generator(RngAlgorithm::from_number(algorithm)?, state.into(), &ty)?;
        next.set(results[0].into())?;
        bits.set(results[1].into())
    })
}

/// Records random integers of all values, of a key (`u32[2]`): the same key gives the same numbers, on every device, native or
/// lazy, in whatever program. Nothing changes a key: take another one for other numbers (`lxla_random_split`). The key of a
/// 64-bit seed is its high word, then its low word.
///
/// With `LXLA_RNG_THREE_FRY` they are those of JAX, jax.random.bits with the same key (threefry2x32, with
/// jax_threefry_partitionable, which is its default); with `LXLA_RNG_PHILOX` those of `lxla_rng_bit_generator` from the state
/// {key as one number, 0, 0}. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_random_bits(
    algorithm: i32,
    key: lxla_tensor,
    dtype: i32,
    dims: *const i64,
    rank: usize,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_random_bits", || {
        // SAFETY: the caller's promise, see `capi`.
        let (ty, place) = unsafe { (tensor_type(dtype, dims, rank)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::random_bits(RngAlgorithm::from_number(algorithm)?, key.into(), &ty)?.into())
    })
}

/// Records `n` new keys of a key: `u32[n,2]`, one in each row, those of jax.random.split with THREE_FRY. A key that was split is
/// not to be used for numbers: they would be made of the same bits. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_random_split(
    algorithm: i32,
    key: lxla_tensor,
    n: usize,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_random_split", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        let n = i64::try_from(n).map_err(|_| error!(InvalidArgument, "n: {n} given; there are not as many keys"))?;
        place.set(tensor::random_split(RngAlgorithm::from_number(algorithm)?, key.into(), n)?.into())
    })
}

/// Records random floats that are at least `low` and less than `high`, both rounded to the dtype: of the multiples of 2^-10
/// (f16), 2^-7 (bf16), 2^-23 (f32) or 2^-52 (f64) from 0 to 1, each as likely as another, times (high - low), plus low, each
/// step rounded to the dtype. As `lxla_random_bits`, the same on every device, unless high - low is so small that products
/// are denormal. With THREE_FRY, jax.random.uniform's: bit for bit where low is 0 or (high - low) a power of two, else within
/// a rounding, since there XLA may round product and sum at once; and where that gives high, it is the next lower number
/// here. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_random_uniform(
    algorithm: i32,
    key: lxla_tensor,
    dtype: i32,
    dims: *const i64,
    rank: usize,
    low: f64,
    high: f64,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_random_uniform", || {
        // SAFETY: the caller's promise, see `capi`.
        let (ty, place) = unsafe { (tensor_type(dtype, dims, rank)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::random_uniform(RngAlgorithm::from_number(algorithm)?, key.into(), &ty, low, high)?.into())
    })
}

/// Records random floats of the normal distribution with mean 0 and variance 1: sqrt(2) erf_inv(u), with u between -1 and 1
/// as `lxla_random_uniform` has it; floats of 8 and 16 bits are computed in f32 and rounded once. The bits are the same on every device,
/// what is made of them may differ in the last places. So it may from jax.random.normal with THREE_FRY, of which the formula
/// loses some 60 units in the last place far from 0. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_random_normal(
    algorithm: i32,
    key: lxla_tensor,
    dtype: i32,
    dims: *const i64,
    rank: usize,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_random_normal", || {
        // SAFETY: the caller's promise, see `capi`.
        let (ty, place) = unsafe { (tensor_type(dtype, dims, rank)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::random_normal(RngAlgorithm::from_number(algorithm)?, key.into(), &ty)?.into())
    })
}

/// Records pred: true with probability `p` (0 to 1), where a uniform f32 from 0 to 1 is less than p, which is rounded to f32.
/// As `lxla_random_bits`, the same on every device. For a probability of its own for each element, compare
/// `lxla_random_uniform`. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_random_bernoulli(
    algorithm: i32,
    key: lxla_tensor,
    p: f64,
    dims: *const i64,
    rank: usize,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_random_bernoulli", || {
        // SAFETY: the caller's promise, see `capi`.
        let (dims, place) = unsafe { (ranked("dims", dims, rank)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::random_bernoulli(RngAlgorithm::from_number(algorithm)?, key.into(), p, dims)?.into())
    })
}
