// Random numbers from keys: equal keys give equal numbers on every device.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_RANDOM_HPP
#define LAZYXLA_RANDOM_HPP

#include "tensor.hpp"

namespace lazyxla {

/// Returns the next state of a generator, one of LXLA_RNG_*, and random bits.
inline std::array<Tensor, 2> rng_bit_generator(int32_t algorithm, const Tensor &state, int32_t dtype,
                                               const Dims &dims) {
  return detail::these<lxla_rng_bit_generator, 2>(algorithm, state.handle(), dtype, dims.data(), dims.size());
}
/// Returns random integers over all values of the dtype from a key, u32[2].
inline Tensor random_bits(int32_t algorithm, const Tensor &key, int32_t dtype, const Dims &dims) {
  return Tensor::make<lxla_random_bits>(algorithm, key.handle(), dtype, dims.data(), dims.size());
}
/// Returns `n` new keys derived from a key, one in each row.
inline Tensor random_split(int32_t algorithm, const Tensor &key, size_t n = 2) {
  return Tensor::make<lxla_random_split>(algorithm, key.handle(), n);
}
/// Returns random floats in [low, high).
inline Tensor random_uniform(int32_t algorithm, const Tensor &key, const Dims &dims, double low = 0, double high = 1,
                             int32_t dtype = LXLA_DTYPE_F32) {
  return Tensor::make<lxla_random_uniform>(algorithm, key.handle(), dtype, dims.data(), dims.size(), low, high);
}
/// Returns random floats of the standard normal distribution.
inline Tensor random_normal(int32_t algorithm, const Tensor &key, const Dims &dims, int32_t dtype = LXLA_DTYPE_F32) {
  return Tensor::make<lxla_random_normal>(algorithm, key.handle(), dtype, dims.data(), dims.size());
}
/// Returns random floats of the exponential distribution of rate 1.
inline Tensor random_exponential(int32_t algorithm, const Tensor &key, const Dims &dims,
                                 int32_t dtype = LXLA_DTYPE_F32) {
  return Tensor::make<lxla_random_exponential>(algorithm, key.handle(), dtype, dims.data(), dims.size());
}
/// Returns random floats of the standard Gumbel distribution.
inline Tensor random_gumbel(int32_t algorithm, const Tensor &key, const Dims &dims, int32_t dtype = LXLA_DTYPE_F32) {
  return Tensor::make<lxla_random_gumbel>(algorithm, key.handle(), dtype, dims.data(), dims.size());
}
/// Returns random floats of the standard Laplace distribution.
inline Tensor random_laplace(int32_t algorithm, const Tensor &key, const Dims &dims, int32_t dtype = LXLA_DTYPE_F32) {
  return Tensor::make<lxla_random_laplace>(algorithm, key.handle(), dtype, dims.data(), dims.size());
}
/// Returns random floats of the standard normal distribution between two bounds.
inline Tensor random_truncated_normal(int32_t algorithm, const Tensor &key, const Dims &dims, double lower,
                                      double upper, int32_t dtype = LXLA_DTYPE_F32) {
  return Tensor::make<lxla_random_truncated_normal>(algorithm, key.handle(), dtype, dims.data(), dims.size(), lower,
                                                    upper);
}
/// Returns random indices along an axis, with probabilities proportional to e^logits.
inline Tensor random_categorical(int32_t algorithm, const Tensor &key, const Tensor &logits, int64_t axis = -1,
                                 const Dims &dims = {}, int32_t index_dtype = LXLA_DTYPE_S32) {
  return Tensor::make<lxla_random_categorical>(algorithm, key.handle(), logits.handle(), axis, dims.data(), dims.size(),
                                               index_dtype);
}
/// Returns random integers in [low, high).
inline Tensor random_integers(int32_t algorithm, const Tensor &key, const Dims &dims, int64_t low, int64_t high,
                              int32_t dtype = LXLA_DTYPE_S32) {
  return Tensor::make<lxla_random_integers>(algorithm, key.handle(), dtype, dims.data(), dims.size(), low, high);
}
/// Returns elements or slices of x at random indices of an axis, with equal or given probabilities.
inline Tensor random_choice(int32_t algorithm, const Tensor &key, const Tensor &x, const Dims &dims, int64_t axis = 0,
                            bool replace = true, const Tensor &probabilities = {}) {
  return Tensor::make<lxla_random_choice>(algorithm, key.handle(), x.handle(), axis, dims.data(), dims.size(),
                                          replace ? 1 : 0, probabilities.handle());
}
/// Returns random integers of the Poisson distribution.
inline Tensor random_poisson(int32_t algorithm, const Tensor &key, const Tensor &rate, const Dims &dims,
                             int32_t dtype = LXLA_DTYPE_S32) {
  return Tensor::make<lxla_random_poisson>(algorithm, key.handle(), rate.handle(), dtype, dims.data(), dims.size());
}
/// Returns random floats of the gamma distribution of scale 1.
inline Tensor random_gamma(int32_t algorithm, const Tensor &key, const Tensor &alpha, const Dims &dims) {
  return Tensor::make<lxla_random_gamma>(algorithm, key.handle(), alpha.handle(), dims.data(), dims.size());
}
/// Returns the logarithms of random floats of the gamma distribution of scale 1.
inline Tensor random_log_gamma(int32_t algorithm, const Tensor &key, const Tensor &alpha, const Dims &dims) {
  return Tensor::make<lxla_random_log_gamma>(algorithm, key.handle(), alpha.handle(), dims.data(), dims.size());
}
/// Returns random floats of the beta distribution.
inline Tensor random_beta(int32_t algorithm, const Tensor &key, const Tensor &a, const Tensor &b, const Dims &dims) {
  return Tensor::make<lxla_random_beta>(algorithm, key.handle(), a.handle(), b.handle(), dims.data(), dims.size());
}
/// Returns pred elements that are true with probability p.
inline Tensor random_bernoulli(int32_t algorithm, const Tensor &key, double p, const Dims &dims) {
  return Tensor::make<lxla_random_bernoulli>(algorithm, key.handle(), p, dims.data(), dims.size());
}

}  // namespace lazyxla

#endif  // LAZYXLA_RANDOM_HPP
