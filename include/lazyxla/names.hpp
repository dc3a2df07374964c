// The names of lazyxla_short.h that the other files lack, and reductions over one axis.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_NAMES_HPP
#define LAZYXLA_NAMES_HPP

#include "creation.hpp"
#include "members.hpp"
#include "shape.hpp"

namespace lazyxla {

inline Tensor neg(const Tensor &x) { return negate(x); }        ///< -x.
inline Tensor square(const Tensor &x) { return x * x; }         ///< x^2.
inline Tensor sigmoid(const Tensor &x) { return logistic(x); }  ///< 1 / (1 + e^-x).
/// lhs raised to the power rhs.
template <class L, class R> detail::Result<L, R> pow(const L &lhs, const R &rhs) { return power(lhs, rhs); }
inline Tensor round(const Tensor &x) { return round_nearest_even(x); }  ///< Nearest integer; ties to even, as NumPy.
/// Clamps x to [low, high], two numbers.
inline Tensor clip(const Tensor &x, const Scalar &low, const Scalar &high) { return clamp(low, x, high); }
/// Returns the elements of `a` where `pred` is true, and the elements of `b` elsewhere; either may be a number. Two
/// integers of C++ give s64, and two other numbers f32.
template <class A, class B, class = std::enable_if_t<detail::is_operand<A> && detail::is_operand<B>>>
Tensor where(const Tensor &pred, const A &a, const B &b) {
  constexpr bool are_numbers = std::is_arithmetic_v<A> && std::is_arithmetic_v<B>;
  if constexpr (are_numbers && !(std::is_integral_v<A> && std::is_integral_v<B>))
    return select(pred, full({}, a, LXLA_DTYPE_F32, pred.place()), b);
  else return select(pred, a, b);
}

/// Returns the value of a tensor of one element, of any real dtype; computes it first.
inline double value(const Tensor &x) {
  if (x.size() != 1)
    throw Error(LXLA_INVALID_ARGUMENT,
                "lazyxla::value: a tensor of " + std::to_string(x.size()) + " elements given; want one element");
  switch (x.dtype()) {
    case LXLA_DTYPE_C64:
    case LXLA_DTYPE_C128:
      throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::value: a complex tensor given; want a real dtype, as of real(x)");
    case LXLA_DTYPE_PRED: return x.read<bool>()[0];
    case LXLA_DTYPE_S32: return x.read<int32_t>()[0];
    case LXLA_DTYPE_U32: return x.read<uint32_t>()[0];
    case LXLA_DTYPE_S64: return static_cast<double>(x.read<int64_t>()[0]);
    case LXLA_DTYPE_U64: return static_cast<double>(x.read<uint64_t>()[0]);
    case LXLA_DTYPE_F32: return static_cast<double>(x.read<float>()[0]);
    case LXLA_DTYPE_F64: return x.read<double>()[0];
    default: return convert(x, LXLA_DTYPE_F64).read<double>()[0];
  }
}

// Reductions over one axis: sum(x, 1) removes it, sum(x, 1, true) and sum_along(x, 1) keep it with size 1. A list, {1},
// is a list of axes.
#define LAZYXLA_ALONG(name)                                           \
  template <class N, class = std::enable_if_t<detail::is_integer<N>>> \
  Tensor name(const Tensor &x, N axis, Flag keep = false) {           \
    return name(x, Dims{Int(axis)}, keep);                            \
  }                                                                   \
  inline Tensor name##_along(const Tensor &x, Int axis) { return name(x, Dims{axis}, Flag(true)); }
LAZYXLA_ALONG(sum)        ///< Sum.
LAZYXLA_ALONG(product)    ///< Product.
LAZYXLA_ALONG(max)        ///< Largest element.
LAZYXLA_ALONG(min)        ///< Smallest element.
LAZYXLA_ALONG(all)        ///< Logical and, of pred.
LAZYXLA_ALONG(any)        ///< Logical or, of pred.
LAZYXLA_ALONG(mean)       ///< Mean.
LAZYXLA_ALONG(logsumexp)  ///< log(sum(e^x)).
#undef LAZYXLA_ALONG

/// Computes the variance over all axes.
inline Tensor variance(const Tensor &x) {
  return Tensor::make<lxla_variance>(x.handle(), detail::all_axes, size_t{0}, 0.0, 0);
}
/// Computes the variance over one axis: the sum of (x - mean)^2, divided by count - correction.
template <class N, class = std::enable_if_t<detail::is_integer<N>>>
Tensor variance(const Tensor &x, N axis, Real correction = 0, Flag keep = false) {
  return variance(x, Dims{Int(axis)}, correction, keep);
}
/// Computes the standard deviation over all axes.
inline Tensor standard_deviation(const Tensor &x) {
  return Tensor::make<lxla_standard_deviation>(x.handle(), detail::all_axes, size_t{0}, 0.0, 0);
}
/// Computes the standard deviation over one axis.
template <class N, class = std::enable_if_t<detail::is_integer<N>>>
Tensor standard_deviation(const Tensor &x, N axis, Real correction = 0, Flag keep = false) {
  return standard_deviation(x, Dims{Int(axis)}, correction, keep);
}
/// Inserts an axis of size 1 at a position of the result.
template <class N, class = std::enable_if_t<detail::is_integer<N>>> Tensor expand_dims(const Tensor &x, N axis) {
  return expand_dims(x, Dims{Int(axis)});
}
/// Removes an axis, which must have size 1.
template <class N, class = std::enable_if_t<detail::is_integer<N>>> Tensor squeeze(const Tensor &x, N axis) {
  return squeeze(x, Dims{Int(axis)});
}
/// Reverses the order of the elements along an axis.
template <class N, class = std::enable_if_t<detail::is_integer<N>>> Tensor flip(const Tensor &x, N axis) {
  return flip(x, Dims{Int(axis)});
}

}  // namespace lazyxla

#endif  // LAZYXLA_NAMES_HPP
