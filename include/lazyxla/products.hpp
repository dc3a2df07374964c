// Products, convolutions, batch normalization, linear algebra and Fourier transforms.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_PRODUCTS_HPP
#define LAZYXLA_PRODUCTS_HPP

#include "tensor.hpp"

namespace lazyxla {

/// The matrix product, by NumPy's rules.
inline Tensor matmul(const Tensor &l, const Tensor &r) { return Tensor::make<lxla_matmul>(l.handle(), r.handle()); }
/// The sum of products that an equation in NumPy's notation describes.
inline Tensor einsum(const std::string &equation, const std::vector<Tensor> &tensors) {
  const auto list = detail::handles(tensors);
  return Tensor::make<lxla_einsum>(equation.c_str(), list.data(), list.size());
}

/// Axes of a product, in pairs.
struct DotDimensions {
  Dims lhs_batching, rhs_batching, lhs_contracting, rhs_contracting;
};
/// StableHLO's dot_general; in another dtype if one is named.
inline Tensor dot_general(const Tensor &l, const Tensor &r, const DotDimensions &d, int32_t dtype = 0) {
  if (d.lhs_batching.size() != d.rhs_batching.size() || d.lhs_contracting.size() != d.rhs_contracting.size())
    throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::dot_general: the axes of lhs and rhs differ in number");
  return Tensor::make<lxla_dot_general>(l.handle(), r.handle(), d.lhs_batching.data(), d.rhs_batching.data(), d.lhs_batching.size(),
                                        d.lhs_contracting.data(), d.rhs_contracting.data(), d.lhs_contracting.size(), dtype);
}

/// Options of a convolution, as in lxla_convolution_options: lists of one number for each spatial axis, or none.
struct Convolution {
  Dims window_strides, padding_low, padding_high, lhs_dilation, rhs_dilation;
  std::vector<int32_t> window_reversal;
  Dims lhs_dimensions, rhs_dimensions, out_dimensions;  ///< One number for each axis.
  int64_t feature_group_count = 1;                      ///< Groups of features.
  int64_t batch_group_count = 1;                        ///< Groups of the batch.
  int32_t dtype = 0;                                    ///< Of the result; 0 for the operands' common one.
};
/// A convolution as neural networks have it.
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

/// Batch normalization: the result, and mean and variance of each feature.
inline std::array<Tensor, 3> batch_norm_training(const Tensor &x, const Tensor &scale, const Tensor &offset, double epsilon,
                                                 int64_t feature_axis) {
  return detail::these<lxla_batch_norm_training, 3>(x.handle(), scale.handle(), offset.handle(), epsilon, feature_axis);
}
/// Batch normalization with a mean and a variance that are known.
inline Tensor batch_norm_inference(const Tensor &x, const Tensor &scale, const Tensor &offset, const Tensor &mean,
                                   const Tensor &variance, double epsilon, int64_t feature_axis) {
  return Tensor::make<lxla_batch_norm_inference>(x.handle(), scale.handle(), offset.handle(), mean.handle(), variance.handle(),
                                                 epsilon, feature_axis);
}
/// The gradients of batch_norm_training's result with respect to x, scale and offset.
inline std::array<Tensor, 3> batch_norm_grad(const Tensor &x, const Tensor &scale, const Tensor &mean, const Tensor &variance,
                                             const Tensor &grad_output, double epsilon, int64_t feature_axis) {
  return detail::these<lxla_batch_norm_grad, 3>(x.handle(), scale.handle(), mean.handle(), variance.handle(), grad_output.handle(),
                                                epsilon, feature_axis);
}

/// Cholesky factors of Hermitian matrices.
inline Tensor cholesky(const Tensor &a, bool lower = true) { return Tensor::make<lxla_cholesky>(a.handle(), lower ? 1 : 0); }
/// The solution x of op(a) x = b, or of x op(a) = b; op is one of LXLA_TRANSPOSE_*.
inline Tensor triangular_solve(const Tensor &a, const Tensor &b, bool left_side, bool lower, bool unit_diagonal = false,
                               int32_t transpose_a = LXLA_TRANSPOSE_NO_TRANSPOSE) {
  return Tensor::make<lxla_triangular_solve>(a.handle(), b.handle(), left_side ? 1 : 0, lower ? 1 : 0, unit_diagonal ? 1 : 0,
                                             transpose_a);
}
/// A Fourier transform, one of LXLA_FFT_*, of the last axes.
inline Tensor fft(int32_t op, const Tensor &x, const Dims &lengths) {
  return Tensor::make<lxla_fft>(op, x.handle(), lengths.data(), lengths.size());
}

}  // namespace lazyxla

#endif  // LAZYXLA_PRODUCTS_HPP
