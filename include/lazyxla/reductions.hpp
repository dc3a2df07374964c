// Reductions over axes, and what is made of them.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_REDUCTIONS_HPP
#define LAZYXLA_REDUCTIONS_HPP

#include "elementwise.hpp"

namespace lazyxla {

/// A reduction over axes, one of LXLA_REDUCE_*; with keep_dims they stay, of size 1. No axes, {}, give x.
inline Tensor reduce(int32_t op, const Tensor &x, const Dims &axes, bool keep_dims = false) {
  return Tensor::make<lxla_reduce>(op, x.handle(), detail::axes_of(axes), axes.size(), keep_dims ? 1 : 0);
}

/// A reduction over all axes, one of LXLA_REDUCE_*.
inline Tensor reduce(int32_t op, const Tensor &x) {
  return Tensor::make<lxla_reduce>(op, x.handle(), detail::all_axes, size_t{0}, 0);
}

// Reductions over all axes, or over those named.
#define LAZYXLA_REDUCE(name, code)                                     \
  inline Tensor name(const Tensor &x) { return reduce(code, x); }      \
  inline Tensor name(const Tensor &x, const Dims &axes, bool keep = false) { return reduce(code, x, axes, keep); }
LAZYXLA_REDUCE(sum, LXLA_REDUCE_SUM)          ///< Sums.
LAZYXLA_REDUCE(product, LXLA_REDUCE_PRODUCT)  ///< Products.
LAZYXLA_REDUCE(max, LXLA_REDUCE_MAX)          ///< Greatest elements.
LAZYXLA_REDUCE(min, LXLA_REDUCE_MIN)          ///< Smallest elements.
LAZYXLA_REDUCE(all, LXLA_REDUCE_ALL)          ///< Whether all are true, of pred.
LAZYXLA_REDUCE(any, LXLA_REDUCE_ANY)          ///< Whether any is true, of pred.
#undef LAZYXLA_REDUCE

/// The sum, divided by how many there are, over axes.
inline Tensor mean(const Tensor &x, const Dims &axes, bool keep = false) {
  return Tensor::make<lxla_mean>(x.handle(), detail::axes_of(axes), axes.size(), keep ? 1 : 0);
}
/// Over all axes.
inline Tensor mean(const Tensor &x) { return Tensor::make<lxla_mean>(x.handle(), detail::all_axes, size_t{0}, 0); }
/// The logarithm of the sum of the exponentials over axes.
inline Tensor logsumexp(const Tensor &x, const Dims &axes, bool keep = false) {
  return Tensor::make<lxla_logsumexp>(x.handle(), detail::axes_of(axes), axes.size(), keep ? 1 : 0);
}
/// Over all axes.
inline Tensor logsumexp(const Tensor &x) {
  return Tensor::make<lxla_logsumexp>(x.handle(), detail::all_axes, size_t{0}, 0);
}
/// The sum of squares of what differs from the mean, divided by how many there are less the correction.
inline Tensor variance(const Tensor &x, const Dims &axes, double correction = 0, bool keep = false) {
  return Tensor::make<lxla_variance>(x.handle(), detail::axes_of(axes), axes.size(), correction, keep ? 1 : 0);
}
/// The square root of the variance.
inline Tensor standard_deviation(const Tensor &x, const Dims &axes, double correction = 0, bool keep = false) {
  return Tensor::make<lxla_standard_deviation>(x.handle(), detail::axes_of(axes), axes.size(), correction, keep ? 1 : 0);
}
/// The root of the sum of squares of all elements.
inline Tensor norm(const Tensor &x) { return Tensor::make<lxla_norm>(x.handle(), 2.0, detail::all_axes, size_t{0}, 0); }
/// The norm of vectors along axes.
inline Tensor norm(const Tensor &x, const Dims &axes, double ord = 2, bool keep = false) {
  return Tensor::make<lxla_norm>(x.handle(), ord, detail::axes_of(axes), axes.size(), keep ? 1 : 0);
}
/// e^x, divided by their sum over an axis.
inline Tensor softmax(const Tensor &x, int64_t axis = -1) { return Tensor::make<lxla_softmax>(x.handle(), axis); }
/// The logarithm of softmax.
inline Tensor log_softmax(const Tensor &x, int64_t axis = -1) { return Tensor::make<lxla_log_softmax>(x.handle(), axis); }
/// (x - mean) / sqrt(variance + epsilon) over axes, times scale, plus offset, if they are given.
inline Tensor layer_norm(const Tensor &x, const Dims &axes, const Tensor &scale = {}, const Tensor &offset = {},
                         double epsilon = 1e-5) {
  return Tensor::make<lxla_layer_norm>(x.handle(), detail::axes_of(axes), axes.size(), scale.handle(), offset.handle(), epsilon);
}
/// The index of the greatest element along an axis.
inline Tensor argmax(const Tensor &x, int64_t axis, bool keep = false, int32_t index_dtype = LXLA_DTYPE_S64) {
  return Tensor::make<lxla_argmax>(x.handle(), axis, keep ? 1 : 0, index_dtype);
}
/// The index of the smallest element along an axis.
inline Tensor argmin(const Tensor &x, int64_t axis, bool keep = false, int32_t index_dtype = LXLA_DTYPE_S64) {
  return Tensor::make<lxla_argmin>(x.handle(), axis, keep ? 1 : 0, index_dtype);
}
/// What a reduction, one of LXLA_REDUCE_*, gives up to each place of an axis.
inline Tensor cumulative(int32_t op, const Tensor &x, int64_t axis, bool reverse = false) {
  return Tensor::make<lxla_cumulative>(op, x.handle(), axis, reverse ? 1 : 0);
}
/// Cumulative sums.
inline Tensor cumsum(const Tensor &x, int64_t axis) { return cumulative(LXLA_REDUCE_SUM, x, axis); }
/// Cumulative products.
inline Tensor cumprod(const Tensor &x, int64_t axis) { return cumulative(LXLA_REDUCE_PRODUCT, x, axis); }

}  // namespace lazyxla

#endif  // LAZYXLA_REDUCTIONS_HPP
