// Operations on each element.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_ELEMENTWISE_HPP
#define LAZYXLA_ELEMENTWISE_HPP

#include "tensor.hpp"

namespace lazyxla {

/// Computes l (op) r elementwise, with op one of LXLA_BINARY_*. Operands are two tensors, or a tensor and a number on
/// either side.
template <class L, class R> detail::Result<L, R> binary(int32_t op, const L &l, const R &r) {
  constexpr auto with_scalar = lxla_binary_with_scalar;
  if constexpr (!detail::is_tensor<R>) return Tensor::make<with_scalar>(op, l.handle(), Scalar(r).get(), 0);
  else if constexpr (!detail::is_tensor<L>) return Tensor::make<with_scalar>(op, r.handle(), Scalar(l).get(), 1);
  else return Tensor::make<lxla_binary>(op, l.handle(), r.handle());
}

// Operators for binary().
#define LAZYXLA_BINARY(name, code) \
  template <class L, class R> detail::Result<L, R> name(const L &l, const R &r) { return binary(code, l, r); }
LAZYXLA_BINARY(operator+, LXLA_BINARY_ADD)          ///< Sum.
LAZYXLA_BINARY(operator-, LXLA_BINARY_SUBTRACT)     ///< Difference.
LAZYXLA_BINARY(operator*, LXLA_BINARY_MULTIPLY)     ///< Product.
LAZYXLA_BINARY(operator/, LXLA_BINARY_DIVIDE)       ///< Quotient; of integers, truncated.
LAZYXLA_BINARY(operator%, LXLA_BINARY_REMAINDER)    ///< Remainder, with the dividend's sign.
LAZYXLA_BINARY(operator&, LXLA_BINARY_AND)          ///< And, bit by bit or of pred.
LAZYXLA_BINARY(operator|, LXLA_BINARY_OR)           ///< Or, bit by bit or of pred.
LAZYXLA_BINARY(operator^, LXLA_BINARY_XOR)          ///< Exclusive or, bit by bit or of pred.
LAZYXLA_BINARY(operator<<, LXLA_BINARY_SHIFT_LEFT)  ///< Shift to the left.
LAZYXLA_BINARY(maximum, LXLA_BINARY_MAXIMUM)        ///< The greater one.
LAZYXLA_BINARY(minimum, LXLA_BINARY_MINIMUM)        ///< The smaller one.
LAZYXLA_BINARY(power, LXLA_BINARY_POWER)            ///< l to the power of r.
LAZYXLA_BINARY(atan2, LXLA_BINARY_ATAN2)            ///< The angle of the point (r, l).
LAZYXLA_BINARY(floor_divide, LXLA_BINARY_FLOOR_DIVIDE)  ///< Quotient, rounded down: Python's //.
LAZYXLA_BINARY(modulo, LXLA_BINARY_MODULO)          ///< Remainder, with the divisor's sign: Python's %.
LAZYXLA_BINARY(copysign, LXLA_BINARY_COPYSIGN)      ///< l with the sign of r.
LAZYXLA_BINARY(hypot, LXLA_BINARY_HYPOT)            ///< The root of the sum of squares.
LAZYXLA_BINARY(logaddexp, LXLA_BINARY_LOGADDEXP)    ///< log(e^l + e^r).
LAZYXLA_BINARY(nextafter, LXLA_BINARY_NEXT_AFTER)   ///< The next number after l towards r.
LAZYXLA_BINARY(polygamma, LXLA_BINARY_POLYGAMMA)    ///< Derivative of order l of digamma, at r.
LAZYXLA_BINARY(zeta, LXLA_BINARY_ZETA)              ///< The sum of (r + k)^-l over all k >= 0.
#undef LAZYXLA_BINARY

/// Shifts to the right: logical for unsigned integers, otherwise arithmetic.
template <class L, class R> detail::Result<L, R> operator>>(const L &l, const R &r) {
  int32_t dtype;
  if constexpr (detail::is_tensor<L>) dtype = l.dtype();
  else dtype = r.dtype();
  const bool logical = LXLA_DTYPE_U8 <= dtype && dtype <= LXLA_DTYPE_U64;
  return binary(logical ? LXLA_BINARY_SHIFT_RIGHT_LOGICAL : LXLA_BINARY_SHIFT_RIGHT_ARITHMETIC, l, r);
}

/// Computes (op) x elementwise, with op one of LXLA_UNARY_*.
inline Tensor unary(int32_t op, const Tensor &x) { return Tensor::make<lxla_unary>(op, x.handle()); }
inline Tensor operator-(const Tensor &x) { return unary(LXLA_UNARY_NEGATE, x); }  ///< -x.
inline Tensor operator~(const Tensor &x) { return unary(LXLA_UNARY_NOT, x); }  ///< Not, bitwise.
inline Tensor negate(const Tensor &x) { return unary(LXLA_UNARY_NEGATE, x); }  ///< -x.
inline Tensor abs(const Tensor &x) { return unary(LXLA_UNARY_ABS, x); }  ///< Magnitude; of complex numbers, real.
inline Tensor sign(const Tensor &x) { return unary(LXLA_UNARY_SIGN, x); }  ///< -1, 0 or 1; of complex numbers, x / |x|.
inline Tensor exp(const Tensor &x) { return unary(LXLA_UNARY_EXPONENTIAL, x); }  ///< e to the power of x.
inline Tensor expm1(const Tensor &x) { return unary(LXLA_UNARY_EXPONENTIAL_MINUS_ONE, x); }  ///< exp(x) - 1.
inline Tensor log(const Tensor &x) { return unary(LXLA_UNARY_LOG, x); }  ///< Natural logarithm.
inline Tensor log1p(const Tensor &x) { return unary(LXLA_UNARY_LOG_PLUS_ONE, x); }  ///< log(1 + x).
inline Tensor logistic(const Tensor &x) { return unary(LXLA_UNARY_LOGISTIC, x); }  ///< 1 / (1 + exp(-x)).
inline Tensor tanh(const Tensor &x) { return unary(LXLA_UNARY_TANH, x); }  ///< Hyperbolic tangent.
inline Tensor sqrt(const Tensor &x) { return unary(LXLA_UNARY_SQRT, x); }  ///< Square root.
inline Tensor rsqrt(const Tensor &x) { return unary(LXLA_UNARY_RSQRT, x); }  ///< 1 / sqrt(x).
inline Tensor cbrt(const Tensor &x) { return unary(LXLA_UNARY_CBRT, x); }  ///< Cube root.
inline Tensor sin(const Tensor &x) { return unary(LXLA_UNARY_SINE, x); }  ///< Sine.
inline Tensor cos(const Tensor &x) { return unary(LXLA_UNARY_COSINE, x); }  ///< Cosine.
inline Tensor tan(const Tensor &x) { return unary(LXLA_UNARY_TAN, x); }  ///< Tangent.
inline Tensor floor(const Tensor &x) { return unary(LXLA_UNARY_FLOOR, x); }  ///< The next integer below.
inline Tensor ceil(const Tensor &x) { return unary(LXLA_UNARY_CEIL, x); }  ///< The next integer above.
inline Tensor round_nearest_even(const Tensor &x) { return unary(LXLA_UNARY_ROUND_NEAREST_EVEN, x); }  ///< n.5 to even.
inline Tensor round_nearest_afz(const Tensor &x) { return unary(LXLA_UNARY_ROUND_NEAREST_AFZ, x); }  ///< n.5 from zero.
inline Tensor bitwise_not(const Tensor &x) { return unary(LXLA_UNARY_NOT, x); }  ///< Not, bit by bit or of pred.
inline Tensor popcnt(const Tensor &x) { return unary(LXLA_UNARY_POPCNT, x); }  ///< How many bits are set.
inline Tensor count_leading_zeros(const Tensor &x) { return unary(LXLA_UNARY_COUNT_LEADING_ZEROS, x); }  ///< High 0s.
inline Tensor is_finite(const Tensor &x) { return unary(LXLA_UNARY_IS_FINITE, x); }  ///< Not infinite or NaN; pred.
inline Tensor is_nan(const Tensor &x) { return unary(LXLA_UNARY_IS_NAN, x); }  ///< NaN, or with a part that is; pred.
inline Tensor is_inf(const Tensor &x) { return unary(LXLA_UNARY_IS_INF, x); }  ///< Infinite, or with a part that is; pred.
inline Tensor signbit(const Tensor &x) { return unary(LXLA_UNARY_SIGNBIT, x); }  ///< With a minus, -0 and NaN too; pred.
inline Tensor trunc(const Tensor &x) { return unary(LXLA_UNARY_TRUNC, x); }  ///< Rounded towards 0.
inline Tensor log2(const Tensor &x) { return unary(LXLA_UNARY_LOG2, x); }  ///< Logarithm to base 2.
inline Tensor log10(const Tensor &x) { return unary(LXLA_UNARY_LOG10, x); }  ///< Logarithm to base 10.
inline Tensor conj(const Tensor &x) { return unary(LXLA_UNARY_CONJ, x); }  ///< Complex conjugate.
inline Tensor sinh(const Tensor &x) { return unary(LXLA_UNARY_SINH, x); }  ///< Hyperbolic sine.
inline Tensor cosh(const Tensor &x) { return unary(LXLA_UNARY_COSH, x); }  ///< Hyperbolic cosine.
inline Tensor asin(const Tensor &x) { return unary(LXLA_UNARY_ASIN, x); }  ///< Inverse sine.
inline Tensor acos(const Tensor &x) { return unary(LXLA_UNARY_ACOS, x); }  ///< Inverse cosine.
inline Tensor atan(const Tensor &x) { return unary(LXLA_UNARY_ATAN, x); }  ///< Inverse tangent.
inline Tensor asinh(const Tensor &x) { return unary(LXLA_UNARY_ASINH, x); }  ///< Inverse hyperbolic sine.
inline Tensor acosh(const Tensor &x) { return unary(LXLA_UNARY_ACOSH, x); }  ///< Inverse hyperbolic cosine.
inline Tensor atanh(const Tensor &x) { return unary(LXLA_UNARY_ATANH, x); }  ///< Inverse hyperbolic tangent.
inline Tensor lgamma(const Tensor &x) { return unary(LXLA_UNARY_LGAMMA, x); }  ///< Logarithm of |gamma(x)|.
inline Tensor digamma(const Tensor &x) { return unary(LXLA_UNARY_DIGAMMA, x); }  ///< Derivative of lgamma.
inline Tensor trigamma(const Tensor &x) { return unary(LXLA_UNARY_TRIGAMMA, x); }  ///< Derivative of digamma.
inline Tensor erf_inv(const Tensor &x) { return unary(LXLA_UNARY_ERF_INV, x); }  ///< Inverse of the error function.
inline Tensor bessel_i0e(const Tensor &x) { return unary(LXLA_UNARY_BESSEL_I0E, x); }  ///< Bessel's I0(x) e^-|x|.
inline Tensor bessel_i1e(const Tensor &x) { return unary(LXLA_UNARY_BESSEL_I1E, x); }  ///< Bessel's I1(x) e^-|x|.

/// Compares l (op) r elementwise, with op one of LXLA_COMPARE_*; returns pred. Operands are two tensors, or a tensor
/// and a number on either side.
template <class L, class R> detail::Result<L, R> compare(int32_t op, const L &l, const R &r) {
  constexpr auto with_scalar = lxla_compare_with_scalar;
  if constexpr (!detail::is_tensor<R>) return Tensor::make<with_scalar>(op, l.handle(), Scalar(r).get(), 0);
  else if constexpr (!detail::is_tensor<L>) return Tensor::make<with_scalar>(op, r.handle(), Scalar(l).get(), 1);
  else return Tensor::make<lxla_compare>(op, l.handle(), r.handle());
}

/// Compares l (op) r elementwise in the total order of IEEE 754, with op one of LXLA_COMPARE_*; returns pred.
inline Tensor compare_total_order(int32_t op, const Tensor &l, const Tensor &r) {
  return Tensor::make<lxla_compare_total_order>(op, l.handle(), r.handle());
}

// Named functions for compare(). `==` and the other comparison operators are not overloaded, because they would not
// return bool.
#define LAZYXLA_COMPARE(name, code) \
  template <class L, class R> detail::Result<L, R> name(const L &l, const R &r) { return compare(code, l, r); }
LAZYXLA_COMPARE(eq, LXLA_COMPARE_EQ)  ///< l == r.
LAZYXLA_COMPARE(ne, LXLA_COMPARE_NE)  ///< l != r.
LAZYXLA_COMPARE(ge, LXLA_COMPARE_GE)  ///< l >= r.
LAZYXLA_COMPARE(gt, LXLA_COMPARE_GT)  ///< l > r.
LAZYXLA_COMPARE(le, LXLA_COMPARE_LE)  ///< l <= r.
LAZYXLA_COMPARE(lt, LXLA_COMPARE_LT)  ///< l < r.
#undef LAZYXLA_COMPARE

/// Selects on_true where pred is true, and on_false elsewhere.
inline Tensor select(const Tensor &pred, const Tensor &on_true, const Tensor &on_false) {
  return Tensor::make<lxla_select>(pred.handle(), on_true.handle(), on_false.handle());
}
/// Selects on_true where pred is true, and on_false elsewhere; one or both of them are numbers.
inline Tensor select(const Tensor &pred, const Scalar &on_true, const Tensor &on_false) {
  return Tensor::make<lxla_select_with_scalars>(pred.handle(), lxla_tensor{}, on_true.get(), on_false.handle(), nullptr);
}
inline Tensor select(const Tensor &pred, const Tensor &on_true, const Scalar &on_false) {
  return Tensor::make<lxla_select_with_scalars>(pred.handle(), on_true.handle(), nullptr, lxla_tensor{}, on_false.get());
}
inline Tensor select(const Tensor &pred, const Scalar &on_true, const Scalar &on_false) {
  return Tensor::make<lxla_select_with_scalars>(pred.handle(), lxla_tensor{}, on_true.get(), lxla_tensor{}, on_false.get());
}
/// Converts to another dtype, one of LXLA_DTYPE_*.
inline Tensor convert(const Tensor &x, int32_t dtype) { return Tensor::make<lxla_convert>(x.handle(), dtype); }

/// Clamps x to [min, max]; all three broadcast.
inline Tensor clamp(const Tensor &min, const Tensor &x, const Tensor &max) {
  return Tensor::make<lxla_clamp>(min.handle(), x.handle(), max.handle());
}
/// Clamps x to [min, max], two numbers.
inline Tensor clamp(const Scalar &min, const Tensor &x, const Scalar &max) {
  return Tensor::make<lxla_clamp_with_scalars>(x.handle(), min.get(), max.get());
}
/// Clamps x to values of at least a number.
inline Tensor at_least(const Tensor &x, const Scalar &min) {
  return Tensor::make<lxla_clamp_with_scalars>(x.handle(), min.get(), static_cast<const lxla_scalar *>(nullptr));
}
/// Clamps x to values of at most a number.
inline Tensor at_most(const Tensor &x, const Scalar &max) {
  return Tensor::make<lxla_clamp_with_scalars>(x.handle(), static_cast<const lxla_scalar *>(nullptr), max.get());
}
/// Returns complex numbers with these real and imaginary parts.
inline Tensor complex(const Tensor &re, const Tensor &im) { return Tensor::make<lxla_complex>(re.handle(), im.handle()); }
inline Tensor real(const Tensor &x) { return Tensor::make<lxla_real>(x.handle()); }  ///< The real part.
inline Tensor imag(const Tensor &x) { return Tensor::make<lxla_imag>(x.handle()); }  ///< The imaginary part.
/// Reinterprets the bits as elements of another dtype.
inline Tensor bitcast_convert(const Tensor &x, int32_t dtype) { return Tensor::make<lxla_bitcast_convert>(x.handle(), dtype); }
/// Rounds floats to a format with these numbers of exponent and mantissa bits.
inline Tensor reduce_precision(const Tensor &x, int32_t exponent_bits, int32_t mantissa_bits) {
  return Tensor::make<lxla_reduce_precision>(x.handle(), exponent_bits, mantissa_bits);
}
inline Tensor erf(const Tensor &x) { return Tensor::make<lxla_special>(LXLA_SPECIAL_ERF, x.handle()); }  ///< Error function.
inline Tensor erfc(const Tensor &x) { return Tensor::make<lxla_special>(LXLA_SPECIAL_ERFC, x.handle()); }  ///< 1 - erf(x).
/// Computes the cumulative distribution function of the standard normal distribution.
inline Tensor normal_cdf(const Tensor &x) { return Tensor::make<lxla_special>(LXLA_SPECIAL_NORMAL_CDF, x.handle()); }

}  // namespace lazyxla

#endif  // LAZYXLA_ELEMENTWISE_HPP
