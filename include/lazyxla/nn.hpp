// Neural networks: activations, attention, normalizations, convolutions.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_NN_HPP
#define LAZYXLA_NN_HPP

#include "tensor.hpp"

namespace lazyxla {

/// Applies an activation, one of LXLA_ACTIVATION_*.
inline Tensor activation(ActivationOp op, const Tensor &x) { return Tensor::make<lxla_activation>(op, x.handle()); }

/// Computes e^x, divided by its sum over an axis.
inline Tensor softmax(const Tensor &x, Int axis = -1) { return Tensor::make<lxla_softmax>(x.handle(), axis); }
/// Computes the logarithm of softmax.
inline Tensor log_softmax(const Tensor &x, Int axis = -1) { return Tensor::make<lxla_log_softmax>(x.handle(), axis); }
/// Computes (x - mean) / sqrt(variance + epsilon) * scale + offset over axes; scale and offset are optional.
inline Tensor layer_norm(const Tensor &x, const Dims &axes, const Tensor &scale = {}, const Tensor &offset = {},
                         Real epsilon = 1e-5) {
  return Tensor::make<lxla_layer_norm>(x.handle(), detail::axes_of(axes), axes.size(), scale.handle(), offset.handle(),
                                       epsilon);
}
/// Computes layer_norm; returns it, the mean, and 1 / sqrt(variance + epsilon).
inline std::array<Tensor, 3> layer_norm_with_statistics(const Tensor &x, const Dims &axes, const Tensor &scale = {},
                                                        const Tensor &offset = {}, Real epsilon = 1e-5) {
  return detail::these<lxla_layer_norm_with_statistics, 3>(x.handle(), detail::axes_of(axes), axes.size(),
                                                           scale.handle(), offset.handle(), epsilon);
}
/// Computes x / sqrt(mean(x^2) + epsilon) * weight over the last axis; weight is optional.
inline Tensor rms_norm(const Tensor &x, const Tensor &weight = {}, Real epsilon = 1e-5) {
  return Tensor::make<lxla_rms_norm>(x.handle(), weight.handle(), epsilon);
}
/// Turns pairs of elements of the last axis by angles: element i of both halves of it, or if interleaved, 2i and 2i
/// + 1.
inline Tensor rotary_embedding(const Tensor &x, const Tensor &cosines, const Tensor &sines, Flag interleaved = false) {
  return Tensor::make<lxla_rotary_embedding>(x.handle(), cosines.handle(), sines.handle(), interleaved ? 1 : 0);
}

/// Options of attention, as in lxla_attention_options.
struct Attention {
  double scale = 0;     ///< Factor of the scores; 0 for 1 / sqrt(width).
  bool causal = false;  ///< Whether row i of query attends to rows 0 to i of key only.
};
/// Computes softmax(scale * query key^T) value; mask is optional: of pred, or added to the scores.
inline Tensor attention(const Tensor &query, const Tensor &key, const Tensor &value, const Tensor &mask = {},
                        const Attention &attention = {}) {
  auto options = detail::defaults<lxla_attention_options, lxla_attention_options_init>();
  options.scale = attention.scale;
  options.causal = attention.causal ? LXLA_ON : LXLA_OFF;
  return Tensor::make<lxla_attention>(query.handle(), key.handle(), value.handle(), mask.handle(), &options);
}

/// Normalizes a batch. Returns the result, and mean and variance of each feature.
inline std::array<Tensor, 3> batch_norm_training(const Tensor &x, const Tensor &scale, const Tensor &offset,
                                                 Real epsilon = 1e-5, Int feature_axis = -1) {
  return detail::these<lxla_batch_norm_training, 3>(x.handle(), scale.handle(), offset.handle(), epsilon, feature_axis);
}
/// Normalizes a batch with a given mean and variance.
inline Tensor batch_norm_inference(const Tensor &x, const Tensor &scale, const Tensor &offset, const Tensor &mean,
                                   const Tensor &variance, Real epsilon = 1e-5, Int feature_axis = -1) {
  return Tensor::make<lxla_batch_norm_inference>(x.handle(), scale.handle(), offset.handle(), mean.handle(),
                                                 variance.handle(), epsilon, feature_axis);
}
/// Computes the gradients of batch_norm_training's result with respect to x, scale and offset.
inline std::array<Tensor, 3> batch_norm_grad(const Tensor &x, const Tensor &scale, const Tensor &mean,
                                             const Tensor &variance, const Tensor &grad_output, Real epsilon,
                                             Int feature_axis) {
  return detail::these<lxla_batch_norm_grad, 3>(x.handle(), scale.handle(), mean.handle(), variance.handle(),
                                                grad_output.handle(), epsilon, feature_axis);
}

/// Options of a convolution, as in lxla_convolution_options. A list has one number for each spatial axis, or is empty.
struct Convolution {
  Dims window_strides, padding_low, padding_high, lhs_dilation, rhs_dilation;
  std::vector<int32_t> window_reversal;
  Dims lhs_dimensions, rhs_dimensions, out_dimensions;  ///< One number for each axis.
  Int feature_group_count = 1;                          ///< Groups of features.
  Int batch_group_count = 1;                            ///< Groups of the batch.
  Dtype dtype{};                                        ///< Of the result; Dtype{} for the operands' common one.
};
/// Computes a convolution as in neural networks.
inline Tensor convolution(const Tensor &l, const Tensor &r, const Convolution &c = {}) {
  auto options = detail::defaults<lxla_convolution_options, lxla_convolution_options_init>();
  const size_t rank = l.rank(), spatial = rank < 2 ? 0 : rank - 2;
  const auto list = [&](const Dims &numbers, size_t n) { return detail::list_of(numbers, n, "convolution"); };
  options.spatial_rank = spatial;
  options.window_strides = list(c.window_strides, spatial);
  options.padding_low = list(c.padding_low, spatial);
  options.padding_high = list(c.padding_high, spatial);
  options.lhs_dilation = list(c.lhs_dilation, spatial);
  options.rhs_dilation = list(c.rhs_dilation, spatial);
  if (!c.window_reversal.empty() && c.window_reversal.size() != spatial)
    throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::convolution: its lists differ in length");
  options.window_reversal = c.window_reversal.empty() ? nullptr : c.window_reversal.data();
  options.lhs_dimensions = list(c.lhs_dimensions, rank);
  options.rhs_dimensions = list(c.rhs_dimensions, rank);
  options.out_dimensions = list(c.out_dimensions, rank);
  options.feature_group_count = c.feature_group_count;
  options.batch_group_count = c.batch_group_count;
  options.dtype = c.dtype;
  return Tensor::make<lxla_convolution>(l.handle(), r.handle(), &options);
}

}  // namespace lazyxla

#endif  // LAZYXLA_NN_HPP
