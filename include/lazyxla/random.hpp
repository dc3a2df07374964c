// Random numbers from keys: equal keys give equal numbers on every device.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_RANDOM_HPP
#define LAZYXLA_RANDOM_HPP

#include "shape.hpp"

namespace lazyxla {

/// Returns the next state of a generator, one of LXLA_RNG_*, and random bits.
inline std::array<Tensor, 2> rng_bit_generator(RngAlgorithm algorithm, const Tensor &state, Dtype dtype,
                                               const Dims &dims) {
  return detail::these<lxla_rng_bit_generator, 2>(algorithm, state.handle(), dtype, dims.data(), dims.size());
}
/// Returns random integers over all values of the dtype from a key, u32[2].
inline Tensor random_bits(RngAlgorithm algorithm, const Tensor &key, Dtype dtype, const Dims &dims) {
  return Tensor::make<lxla_random_bits>(algorithm, key.handle(), dtype, dims.data(), dims.size());
}
/// Returns `n` new keys derived from a key, one in each row.
inline Tensor random_split(RngAlgorithm algorithm, const Tensor &key, Count n = 2) {
  return Tensor::make<lxla_random_split>(algorithm, key.handle(), n);
}
/// Returns random floats in [low, high).
inline Tensor random_uniform(RngAlgorithm algorithm, const Tensor &key, const Dims &dims, Real low = 0, Real high = 1,
                             Dtype dtype = LXLA_DTYPE_F32) {
  return Tensor::make<lxla_random_uniform>(algorithm, key.handle(), dtype, dims.data(), dims.size(), low, high);
}
/// Returns random floats of the standard normal distribution.
inline Tensor random_normal(RngAlgorithm algorithm, const Tensor &key, const Dims &dims, Dtype dtype = LXLA_DTYPE_F32) {
  return Tensor::make<lxla_random_normal>(algorithm, key.handle(), dtype, dims.data(), dims.size());
}
/// Returns random floats of the exponential distribution of rate 1.
inline Tensor random_exponential(RngAlgorithm algorithm, const Tensor &key, const Dims &dims,
                                 Dtype dtype = LXLA_DTYPE_F32) {
  return Tensor::make<lxla_random_exponential>(algorithm, key.handle(), dtype, dims.data(), dims.size());
}
/// Returns random floats of the standard Gumbel distribution.
inline Tensor random_gumbel(RngAlgorithm algorithm, const Tensor &key, const Dims &dims, Dtype dtype = LXLA_DTYPE_F32) {
  return Tensor::make<lxla_random_gumbel>(algorithm, key.handle(), dtype, dims.data(), dims.size());
}
/// Returns random floats of the standard Laplace distribution.
inline Tensor random_laplace(RngAlgorithm algorithm, const Tensor &key, const Dims &dims,
                             Dtype dtype = LXLA_DTYPE_F32) {
  return Tensor::make<lxla_random_laplace>(algorithm, key.handle(), dtype, dims.data(), dims.size());
}
/// Returns random floats of the standard normal distribution between two bounds.
inline Tensor random_truncated_normal(RngAlgorithm algorithm, const Tensor &key, const Dims &dims, Real lower,
                                      Real upper, Dtype dtype = LXLA_DTYPE_F32) {
  return Tensor::make<lxla_random_truncated_normal>(algorithm, key.handle(), dtype, dims.data(), dims.size(), lower,
                                                    upper);
}
/// Returns random indices along an axis, with probabilities proportional to e^logits.
inline Tensor random_categorical(RngAlgorithm algorithm, const Tensor &key, const Tensor &logits, Int axis = -1,
                                 const Dims &dims = {}, Dtype index_dtype = LXLA_DTYPE_S32) {
  return Tensor::make<lxla_random_categorical>(algorithm, key.handle(), logits.handle(), axis, dims.data(), dims.size(),
                                               index_dtype);
}
/// Returns random integers in [low, high).
inline Tensor random_integers(RngAlgorithm algorithm, const Tensor &key, const Dims &dims, Int low, Int high,
                              Dtype dtype = LXLA_DTYPE_S32) {
  return Tensor::make<lxla_random_integers>(algorithm, key.handle(), dtype, dims.data(), dims.size(), low, high);
}
/// Returns elements or slices of x at random indices of an axis, with equal or given probabilities.
inline Tensor random_choice(RngAlgorithm algorithm, const Tensor &key, const Tensor &x, const Dims &dims, Int axis = 0,
                            Flag replace = true, const Tensor &probabilities = {}) {
  return Tensor::make<lxla_random_choice>(algorithm, key.handle(), x.handle(), axis, dims.data(), dims.size(),
                                          replace ? 1 : 0, probabilities.handle());
}
/// Returns random integers of the Poisson distribution.
inline Tensor random_poisson(RngAlgorithm algorithm, const Tensor &key, const Tensor &rate, const Dims &dims,
                             Dtype dtype = LXLA_DTYPE_S32) {
  return Tensor::make<lxla_random_poisson>(algorithm, key.handle(), rate.handle(), dtype, dims.data(), dims.size());
}
/// Returns random floats of the gamma distribution of scale 1.
inline Tensor random_gamma(RngAlgorithm algorithm, const Tensor &key, const Tensor &alpha, const Dims &dims) {
  return Tensor::make<lxla_random_gamma>(algorithm, key.handle(), alpha.handle(), dims.data(), dims.size());
}
/// Returns the logarithms of random floats of the gamma distribution of scale 1.
inline Tensor random_log_gamma(RngAlgorithm algorithm, const Tensor &key, const Tensor &alpha, const Dims &dims) {
  return Tensor::make<lxla_random_log_gamma>(algorithm, key.handle(), alpha.handle(), dims.data(), dims.size());
}
/// Returns random floats of the beta distribution.
inline Tensor random_beta(RngAlgorithm algorithm, const Tensor &key, const Tensor &a, const Tensor &b,
                          const Dims &dims) {
  return Tensor::make<lxla_random_beta>(algorithm, key.handle(), a.handle(), b.handle(), dims.data(), dims.size());
}
/// Returns pred elements that are true with probability p.
inline Tensor random_bernoulli(RngAlgorithm algorithm, const Tensor &key, Real p, const Dims &dims) {
  return Tensor::make<lxla_random_bernoulli>(algorithm, key.handle(), p, dims.data(), dims.size());
}

// Names of lazyxla_short.h, with the numbers of jax.random for the same seeds.

/// Creates the key of a seed, as jax.random.key.
inline Tensor key(Integer<uint64_t> seed, const Place &at = {}) {
  const auto words = static_cast<uint64_t>(seed);
  return Tensor::from_host(std::vector<uint32_t>{static_cast<uint32_t>(words >> 32), static_cast<uint32_t>(words)}, {2},
                           at);
}
/// Splits a key in two: makes `key` refer to the first, and returns the second. Other objects keep the key before.
inline Tensor next_key(Tensor &key) {
  const Tensor both = random_split(LXLA_RNG_THREE_FRY, key);
  key = both[0];
  return both[1];
}
/// Returns f32 numbers of the standard normal distribution.
inline Tensor normal(const Tensor &key, const Dims &dims) { return random_normal(LXLA_RNG_THREE_FRY, key, dims); }
/// Returns f32 numbers in [0, 1).
inline Tensor uniform(const Tensor &key, const Dims &dims) { return random_uniform(LXLA_RNG_THREE_FRY, key, dims); }
/// Returns f32 numbers in [low, high).
inline Tensor uniform(const Tensor &key, Real low, Real high, const Dims &dims) {
  return random_uniform(LXLA_RNG_THREE_FRY, key, dims, low, high);
}

}  // namespace lazyxla

#endif  // LAZYXLA_RANDOM_HPP
