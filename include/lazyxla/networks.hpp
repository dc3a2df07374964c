// Losses, images, batch normalization and dropout, by the names and with the values of lazyxla_short.h.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_NETWORKS_HPP
#define LAZYXLA_NETWORKS_HPP

#include "creation.hpp"
#include "indexing.hpp"
#include "names.hpp"
#include "random.hpp"

#include <limits>

namespace lazyxla {

/// Returns the mean of -log softmax(scores)[label]: scores [..., classes], labels [...], integers from 0 to classes
/// - 1. NaN if a label is out of range.
inline Tensor cross_entropy(const Tensor &scores, const Tensor &labels) {
  const Tensor at = expand_dims(labels, {-1}), picked = take_along_axis(log_softmax(scores), at, -1);
  const Dims dims = scores.dims();
  const int64_t classes = dims.empty() ? 0 : dims.back();
  return -mean(where(ge(at, 0) & lt(at, classes), picked, std::numeric_limits<double>::quiet_NaN()));
}

/// Returns `x` with elements set to 0 with probability `rate`, and the others divided by 1 - rate.
inline Tensor dropout(const Tensor &x, Real rate, const Tensor &key) {
  const Tensor kept = random_bernoulli(LXLA_RNG_THREE_FRY, key, 1 - rate, x.dims());
  // An infinite factor would make the derivatives NaN.
  return where(kept, x * (rate < 1 ? 1 / (1 - rate) : 0), 0);
}

/// Convolves images [n, height, width, channels] with a kernel [height, width, channels in, channels out]. `padding`
/// keeps the size (of images by strides, rounded up); without it, nothing is added.
inline Tensor conv2d(const Tensor &x, const Tensor &kernel, Int stride = 1, Flag padding = false) {
  const Dims sizes = x.dims(), windows = kernel.dims();
  if (sizes.size() != 4 || windows.size() != 4)
    throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::conv2d: images of " + std::to_string(sizes.size()) +
                                           " axes and a kernel of " + std::to_string(windows.size()) +
                                           " given; want [n, height, width, channels] and [height, width, in, out]");
  Convolution options;
  options.window_strides = {stride, stride};
  for (size_t i = 1; padding && stride > 0 && i < 3; i++) {
    const int64_t outputs = (sizes[i] + stride - 1) / stride;
    const int64_t all = std::max<int64_t>((outputs - 1) * stride + windows[i - 1] - sizes[i], 0);
    options.padding_low.push_back(all / 2), options.padding_high.push_back(all - all / 2);
  }
  options.lhs_dimensions = options.out_dimensions = {0, 3, 1, 2};
  options.rhs_dimensions = {3, 2, 0, 1};
  return convolution(x, kernel, options);
}

namespace detail {
// Reduces windows of images by one operation, and multiplies by a factor. Floats of less than 32 bits are computed in
// f32: sums of many have too few digits, and some of these dtypes have no infinity to begin with.
inline Tensor pooled(const Tensor &x, Int size, Int stride, BinaryOp op, double init, double factor) {
  const Dtype dtype = x.dtype();
  const char kind = lxla_dtype_name(dtype)[0];
  const bool is_narrow = (kind == 'f' && dtype != LXLA_DTYPE_F32 && dtype != LXLA_DTYPE_F64) || kind == 'b';
  const Tensor wide = is_narrow ? convert(x, LXLA_DTYPE_F32) : x;
  const Tensor a = Tensor::placeholder({}, wide.dtype(), x.place()), b = a.placeholder_like();
  const Computation body({a, b}, {binary(op, a, b)});
  Windows windows;
  windows.window_dimensions = {1, size, size, 1}, windows.strides = {1, stride, stride, 1};
  Tensor made = reduce_window(body, {wide}, {full({}, init, wide.dtype(), x.place())}, windows)[0];
  if (factor != 1) made = made * factor;
  return is_narrow ? convert(made, dtype) : made;
}
}  // namespace detail

/// Returns the largest elements of windows of images [n, height, width, channels] of floats.
inline Tensor max_pool(const Tensor &x, Int size, Int stride) {
  return detail::pooled(x, size, stride, LXLA_BINARY_MAXIMUM, -std::numeric_limits<double>::infinity(), 1);
}
/// Returns the means of windows of images [n, height, width, channels] of floats.
inline Tensor avg_pool(const Tensor &x, Int size, Int stride) {
  const auto width = static_cast<double>(int64_t{size});
  return detail::pooled(x, size, stride, LXLA_BINARY_ADD, 0, 1 / (width * width));
}
/// Returns the largest elements of windows side by side.
inline Tensor max_pool(const Tensor &x, Int size) { return max_pool(x, size, size); }
/// Returns the means of windows side by side.
inline Tensor avg_pool(const Tensor &x, Int size) { return avg_pool(x, size, size); }

/// Results of batch_norm.
struct BatchNorm {
  Tensor values;    ///< The normalized batch.
  Tensor mean;      ///< The mean of each feature.
  Tensor variance;  ///< The variance of each feature, divided by the number of elements.
};
/// Normalizes the features of a batch, its last axis: (x - mean) / sqrt(variance + epsilon) * scale + offset. Running
/// statistics are the caller's: `running.assign(0.9 * running + 0.1 * result.mean)`, for batch_norm_inference.
inline BatchNorm batch_norm(const Tensor &x, const Tensor &scale, const Tensor &offset, Real epsilon = 1e-5) {
  auto made = batch_norm_training(x, scale, offset, epsilon, -1);
  return {std::move(made[0]), std::move(made[1]), std::move(made[2])};
}

}  // namespace lazyxla

#endif  // LAZYXLA_NETWORKS_HPP
