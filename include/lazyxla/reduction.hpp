// Reductions over axes and windows, statistics, cumulative operations.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_REDUCTION_HPP
#define LAZYXLA_REDUCTION_HPP

#include "computation.hpp"

namespace lazyxla {

/// Reduces over axes, with op one of LXLA_REDUCE_*. keep_dims keeps the reduced axes with size 1. An empty list, {},
/// returns x.
inline Tensor reduce(ReduceOp op, const Tensor &x, const Dims &axes, Flag keep_dims = false) {
  return Tensor::make<lxla_reduce>(op, x.handle(), detail::axes_of(axes), axes.size(), keep_dims ? 1 : 0);
}
/// Reduces over all axes, with op one of LXLA_REDUCE_*.
inline Tensor reduce(ReduceOp op, const Tensor &x) {
  return Tensor::make<lxla_reduce>(op, x.handle(), detail::all_axes, size_t{0}, 0);
}

/// Computes the mean over axes.
inline Tensor mean(const Tensor &x, const Dims &axes, Flag keep = false) {
  return Tensor::make<lxla_mean>(x.handle(), detail::axes_of(axes), axes.size(), keep ? 1 : 0);
}
/// Computes the mean over all axes.
inline Tensor mean(const Tensor &x) { return Tensor::make<lxla_mean>(x.handle(), detail::all_axes, size_t{0}, 0); }
/// Computes the variance over axes: the sum of (x - mean)^2, divided by count - correction.
inline Tensor variance(const Tensor &x, const Dims &axes, Real correction = 0, Flag keep = false) {
  return Tensor::make<lxla_variance>(x.handle(), detail::axes_of(axes), axes.size(), correction, keep ? 1 : 0);
}
/// Computes the standard deviation over axes: the square root of the variance.
inline Tensor standard_deviation(const Tensor &x, const Dims &axes, Real correction = 0, Flag keep = false) {
  return Tensor::make<lxla_standard_deviation>(x.handle(), detail::axes_of(axes), axes.size(), correction,
                                               keep ? 1 : 0);
}
/// Computes log(sum(e^x)) over axes.
inline Tensor logsumexp(const Tensor &x, const Dims &axes, Flag keep = false) {
  return Tensor::make<lxla_logsumexp>(x.handle(), detail::axes_of(axes), axes.size(), keep ? 1 : 0);
}
/// Computes log(sum(e^x)) over all axes.
inline Tensor logsumexp(const Tensor &x) {
  return Tensor::make<lxla_logsumexp>(x.handle(), detail::all_axes, size_t{0}, 0);
}
/// Returns the index of the largest element along an axis.
inline Tensor argmax(const Tensor &x, Int axis, Flag keep = false, Dtype index_dtype = LXLA_DTYPE_S64) {
  return Tensor::make<lxla_argmax>(x.handle(), axis, keep ? 1 : 0, index_dtype);
}
/// Returns the index of the smallest element along an axis.
inline Tensor argmin(const Tensor &x, Int axis, Flag keep = false, Dtype index_dtype = LXLA_DTYPE_S64) {
  return Tensor::make<lxla_argmin>(x.handle(), axis, keep ? 1 : 0, index_dtype);
}
/// Reduces, for each position along an axis, all elements up to and including it, with op one of LXLA_REDUCE_*.
inline Tensor cumulative(ReduceOp op, const Tensor &x, Int axis, Flag reverse = false) {
  return Tensor::make<lxla_cumulative>(op, x.handle(), axis, reverse ? 1 : 0);
}
/// Computes the logarithms of cumulative sums of e^x along an axis.
inline Tensor cumulative_logaddexp(const Tensor &x, Int axis, Flag reverse = false) {
  return Tensor::make<lxla_cumulative_logaddexp>(x.handle(), axis, reverse ? 1 : 0);
}
/// Computes cumulative sums.
inline Tensor cumsum(const Tensor &x, Int axis) { return cumulative(LXLA_REDUCE_SUM, x, axis); }
/// Computes cumulative products.
inline Tensor cumprod(const Tensor &x, Int axis) { return cumulative(LXLA_REDUCE_PRODUCT, x, axis); }

/// Reduces tensors of one shape jointly over axes by a computation.
inline std::vector<Tensor> reduce_with(const Computation &body, const std::vector<Tensor> &inputs,
                                       const std::vector<Tensor> &inits, const Dims &axes) {
  const auto [in, first] = detail::pairs(inputs, inits, "reduce_with");
  return detail::several<lxla_reduce_with>(in.size(), body.handle(), in.data(), first.data(), in.size(), axes.data(),
                                           axes.size());
}

/// Windows over a tensor, as in lxla_window_options. A list has one number for each axis, or is empty.
struct Windows {
  Dims window_dimensions, strides, base_dilations, window_dilations, low, high;

  /// Returns the options for lazyxla.h; they point to the lists of this object.
  lxla_window_options options() const {
    auto options = detail::defaults<lxla_window_options, lxla_window_options_init>();
    const auto list = [&](const Dims &numbers) {
      return detail::list_of(numbers, window_dimensions.size(), "Windows");
    };
    options.rank = window_dimensions.size();
    options.window_dimensions = window_dimensions.data();
    options.strides = list(strides);
    options.base_dilations = list(base_dilations);
    options.window_dilations = list(window_dilations);
    options.low = list(low);
    options.high = list(high);
    return options;
  }
};
/// Reduces each window of tensors of one shape jointly by a computation.
inline std::vector<Tensor> reduce_window(const Computation &body, const std::vector<Tensor> &inputs,
                                         const std::vector<Tensor> &inits, const Windows &windows) {
  const auto [in, first] = detail::pairs(inputs, inits, "reduce_window");
  const lxla_window_options options = windows.options();
  return detail::several<lxla_reduce_window>(in.size(), body.handle(), in.data(), first.data(), in.size(), &options);
}
/// Computes the gradient of a pooling: combines source into the element selected in each window.
inline Tensor select_and_scatter(const Computation &select, const Computation &combiner, const Tensor &x,
                                 const Tensor &source, const Tensor &init, const Windows &windows) {
  const lxla_window_options options = windows.options();
  return Tensor::make<lxla_select_and_scatter>(select.handle(), combiner.handle(), x.handle(), source.handle(),
                                               init.handle(), &options);
}

}  // namespace lazyxla

#endif  // LAZYXLA_REDUCTION_HPP
