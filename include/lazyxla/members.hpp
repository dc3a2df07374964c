// Functions named after the constants of lazyxla.h. Written by `make header`; do not edit.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_MEMBERS_HPP
#define LAZYXLA_MEMBERS_HPP

#include "elementwise.hpp"
#include "nn.hpp"
#include "reduction.hpp"

namespace lazyxla {

// Operations of lxla_unary.

/// -x.
inline Tensor negate(const Tensor &x) { return unary(LXLA_UNARY_NEGATE, x); }
/// |x|; the magnitude for complex numbers.
inline Tensor abs(const Tensor &x) { return unary(LXLA_UNARY_ABS, x); }
/// -1, 0 or 1 by the sign of x; x / |x| for complex numbers.
inline Tensor sign(const Tensor &x) { return unary(LXLA_UNARY_SIGN, x); }
/// e^x.
inline Tensor exp(const Tensor &x) { return unary(LXLA_UNARY_EXPONENTIAL, x); }
/// e^x - 1, accurate near 0.
inline Tensor expm1(const Tensor &x) { return unary(LXLA_UNARY_EXPONENTIAL_MINUS_ONE, x); }
/// Natural logarithm of x.
inline Tensor log(const Tensor &x) { return unary(LXLA_UNARY_LOG, x); }
/// log(1 + x), accurate near 0.
inline Tensor log1p(const Tensor &x) { return unary(LXLA_UNARY_LOG_PLUS_ONE, x); }
/// 1 / (1 + e^-x).
inline Tensor logistic(const Tensor &x) { return unary(LXLA_UNARY_LOGISTIC, x); }
/// Hyperbolic tangent of x.
inline Tensor tanh(const Tensor &x) { return unary(LXLA_UNARY_TANH, x); }
/// Square root of x.
inline Tensor sqrt(const Tensor &x) { return unary(LXLA_UNARY_SQRT, x); }
/// 1 / sqrt(x).
inline Tensor rsqrt(const Tensor &x) { return unary(LXLA_UNARY_RSQRT, x); }
/// Cube root of x.
inline Tensor cbrt(const Tensor &x) { return unary(LXLA_UNARY_CBRT, x); }
/// Sine of x, in radians.
inline Tensor sin(const Tensor &x) { return unary(LXLA_UNARY_SINE, x); }
/// Cosine of x, in radians.
inline Tensor cos(const Tensor &x) { return unary(LXLA_UNARY_COSINE, x); }
/// Tangent of x, in radians.
inline Tensor tan(const Tensor &x) { return unary(LXLA_UNARY_TAN, x); }
/// Largest integer not greater than x.
inline Tensor floor(const Tensor &x) { return unary(LXLA_UNARY_FLOOR, x); }
/// Smallest integer not less than x.
inline Tensor ceil(const Tensor &x) { return unary(LXLA_UNARY_CEIL, x); }
/// Nearest integer; ties to even.
inline Tensor round_nearest_even(const Tensor &x) { return unary(LXLA_UNARY_ROUND_NEAREST_EVEN, x); }
/// Nearest integer; ties away from 0.
inline Tensor round_nearest_afz(const Tensor &x) { return unary(LXLA_UNARY_ROUND_NEAREST_AFZ, x); }
/// ~x: bitwise for integers, logical for pred.
inline Tensor bitwise_not(const Tensor &x) { return unary(LXLA_UNARY_NOT, x); }
/// Number of bits that are 1.
inline Tensor popcnt(const Tensor &x) { return unary(LXLA_UNARY_POPCNT, x); }
/// Number of leading bits that are 0.
inline Tensor count_leading_zeros(const Tensor &x) { return unary(LXLA_UNARY_COUNT_LEADING_ZEROS, x); }
/// True if x is neither infinite nor NaN.
inline Tensor is_finite(const Tensor &x) { return unary(LXLA_UNARY_IS_FINITE, x); }
/// True if x is NaN.
inline Tensor is_nan(const Tensor &x) { return unary(LXLA_UNARY_IS_NAN, x); }
/// True if x is infinite.
inline Tensor is_inf(const Tensor &x) { return unary(LXLA_UNARY_IS_INF, x); }
/// True if the sign bit of x is set.
inline Tensor signbit(const Tensor &x) { return unary(LXLA_UNARY_SIGNBIT, x); }
/// x rounded toward 0.
inline Tensor trunc(const Tensor &x) { return unary(LXLA_UNARY_TRUNC, x); }
/// Base-2 logarithm of x.
inline Tensor log2(const Tensor &x) { return unary(LXLA_UNARY_LOG2, x); }
/// Base-10 logarithm of x.
inline Tensor log10(const Tensor &x) { return unary(LXLA_UNARY_LOG10, x); }
/// Complex conjugate of x.
inline Tensor conj(const Tensor &x) { return unary(LXLA_UNARY_CONJ, x); }
/// Hyperbolic sine.
inline Tensor sinh(const Tensor &x) { return unary(LXLA_UNARY_SINH, x); }
/// Hyperbolic cosine.
inline Tensor cosh(const Tensor &x) { return unary(LXLA_UNARY_COSH, x); }
/// Inverse sine; for reals from -pi/2 to pi/2, NaN outside [-1, 1].
inline Tensor asin(const Tensor &x) { return unary(LXLA_UNARY_ASIN, x); }
/// Inverse cosine; for reals from 0 to pi, NaN outside [-1, 1].
inline Tensor acos(const Tensor &x) { return unary(LXLA_UNARY_ACOS, x); }
/// Inverse tangent; for reals from -pi/2 to pi/2.
inline Tensor atan(const Tensor &x) { return unary(LXLA_UNARY_ATAN, x); }
/// Inverse hyperbolic sine.
inline Tensor asinh(const Tensor &x) { return unary(LXLA_UNARY_ASINH, x); }
/// Inverse hyperbolic cosine; for reals below 1 NaN.
inline Tensor acosh(const Tensor &x) { return unary(LXLA_UNARY_ACOSH, x); }
/// Inverse hyperbolic tangent; infinite at -1 and 1, for reals beyond them NaN.
inline Tensor atanh(const Tensor &x) { return unary(LXLA_UNARY_ATANH, x); }
/// Logarithm of |gamma(x)|; infinite at 0 and negative integers.
inline Tensor lgamma(const Tensor &x) { return unary(LXLA_UNARY_LGAMMA, x); }
/// Derivative of lgamma; NaN at negative integers, -infinity at 0, infinity at -0.
inline Tensor digamma(const Tensor &x) { return unary(LXLA_UNARY_DIGAMMA, x); }
/// Inverse error function; infinite at -1 and 1, NaN outside [-1, 1].
inline Tensor erf_inv(const Tensor &x) { return unary(LXLA_UNARY_ERF_INV, x); }
/// e^-|x| times the modified Bessel function of the first kind of order 1.
inline Tensor bessel_i1e(const Tensor &x) { return unary(LXLA_UNARY_BESSEL_I1E, x); }
/// e^-|x| times the modified Bessel function of the first kind of order 0.
inline Tensor bessel_i0e(const Tensor &x) { return unary(LXLA_UNARY_BESSEL_I0E, x); }
/// Derivative of digamma; infinite at 0 and negative integers.
inline Tensor trigamma(const Tensor &x) { return unary(LXLA_UNARY_TRIGAMMA, x); }
/// Bessel function of the first kind of order 0.
inline Tensor bessel_j0(const Tensor &x) { return unary(LXLA_UNARY_BESSEL_J0, x); }
/// Bessel function of the first kind of order 1.
inline Tensor bessel_j1(const Tensor &x) { return unary(LXLA_UNARY_BESSEL_J1, x); }
/// Bessel function of the second kind of order 0; -infinity at 0, NaN below.
inline Tensor bessel_y0(const Tensor &x) { return unary(LXLA_UNARY_BESSEL_Y0, x); }
/// Bessel function of the second kind of order 1; -infinity at 0, NaN below.
inline Tensor bessel_y1(const Tensor &x) { return unary(LXLA_UNARY_BESSEL_Y1, x); }
/// Modified Bessel function of the second kind of order 0; NaN for negative x.
inline Tensor bessel_k0(const Tensor &x) { return unary(LXLA_UNARY_BESSEL_K0, x); }
/// Modified Bessel function of the second kind of order 1; NaN for negative x.
inline Tensor bessel_k1(const Tensor &x) { return unary(LXLA_UNARY_BESSEL_K1, x); }
/// e^x times the modified Bessel function of the second kind of order 0.
inline Tensor bessel_k0e(const Tensor &x) { return unary(LXLA_UNARY_BESSEL_K0E, x); }
/// e^x times the modified Bessel function of the second kind of order 1.
inline Tensor bessel_k1e(const Tensor &x) { return unary(LXLA_UNARY_BESSEL_K1E, x); }
/// Airy function Ai, the solution of y'' = x y that falls for large x.
inline Tensor airy_ai(const Tensor &x) { return unary(LXLA_UNARY_AIRY_AI, x); }
/// Derivative of the Airy function Ai.
inline Tensor airy_ai_prime(const Tensor &x) { return unary(LXLA_UNARY_AIRY_AI_PRIME, x); }
/// Airy function Bi, the solution of y'' = x y that grows for large x.
inline Tensor airy_bi(const Tensor &x) { return unary(LXLA_UNARY_AIRY_BI, x); }
/// Derivative of the Airy function Bi.
inline Tensor airy_bi_prime(const Tensor &x) { return unary(LXLA_UNARY_AIRY_BI_PRIME, x); }

// Operations of lxla_binary.

/// lhs raised to the power rhs.
template <class L, class R> detail::Result<L, R> power(const L &lhs, const R &rhs) {
  return binary(LXLA_BINARY_POWER, lhs, rhs);
}
/// max(lhs, rhs); NaN if either is NaN; logical or for pred.
template <class L, class R> detail::Result<L, R> maximum(const L &lhs, const R &rhs) {
  return binary(LXLA_BINARY_MAXIMUM, lhs, rhs);
}
/// min(lhs, rhs); NaN if either is NaN; logical and for pred.
template <class L, class R> detail::Result<L, R> minimum(const L &lhs, const R &rhs) {
  return binary(LXLA_BINARY_MINIMUM, lhs, rhs);
}
/// atan2(lhs, rhs): angle of the point (x = rhs, y = lhs) in radians.
template <class L, class R> detail::Result<L, R> atan2(const L &lhs, const R &rhs) {
  return binary(LXLA_BINARY_ATAN2, lhs, rhs);
}
/// floor(lhs / rhs).
template <class L, class R> detail::Result<L, R> floor_divide(const L &lhs, const R &rhs) {
  return binary(LXLA_BINARY_FLOOR_DIVIDE, lhs, rhs);
}
/// lhs - rhs * floor(lhs / rhs), with the sign of rhs: `%` of Python.
template <class L, class R> detail::Result<L, R> modulo(const L &lhs, const R &rhs) {
  return binary(LXLA_BINARY_MODULO, lhs, rhs);
}
/// |lhs| with the sign bit of rhs.
template <class L, class R> detail::Result<L, R> copysign(const L &lhs, const R &rhs) {
  return binary(LXLA_BINARY_COPYSIGN, lhs, rhs);
}
/// sqrt(lhs^2 + rhs^2) without intermediate overflow.
template <class L, class R> detail::Result<L, R> hypot(const L &lhs, const R &rhs) {
  return binary(LXLA_BINARY_HYPOT, lhs, rhs);
}
/// log(e^lhs + e^rhs) without intermediate overflow.
template <class L, class R> detail::Result<L, R> logaddexp(const L &lhs, const R &rhs) {
  return binary(LXLA_BINARY_LOGADDEXP, lhs, rhs);
}
/// The next float after lhs in the direction of rhs.
template <class L, class R> detail::Result<L, R> nextafter(const L &lhs, const R &rhs) {
  return binary(LXLA_BINARY_NEXT_AFTER, lhs, rhs);
}
/// Derivative of order lhs of digamma at rhs.
template <class L, class R> detail::Result<L, R> polygamma(const L &lhs, const R &rhs) {
  return binary(LXLA_BINARY_POLYGAMMA, lhs, rhs);
}
/// Hurwitz zeta function: the sum of (rhs + k)^-lhs over all k >= 0.
template <class L, class R> detail::Result<L, R> zeta(const L &lhs, const R &rhs) {
  return binary(LXLA_BINARY_ZETA, lhs, rhs);
}
/// Regularized lower incomplete gamma function P(a = lhs, x = rhs).
template <class L, class R> detail::Result<L, R> igamma(const L &lhs, const R &rhs) {
  return binary(LXLA_BINARY_IGAMMA, lhs, rhs);
}
/// Regularized upper incomplete gamma function Q(a = lhs, x = rhs), 1 - P.
template <class L, class R> detail::Result<L, R> igammac(const L &lhs, const R &rhs) {
  return binary(LXLA_BINARY_IGAMMAC, lhs, rhs);
}
/// Derivative of P(a = lhs, x = rhs) by a.
template <class L, class R> detail::Result<L, R> igamma_grad_a(const L &lhs, const R &rhs) {
  return binary(LXLA_BINARY_IGAMMA_GRAD_A, lhs, rhs);
}

// Comparisons of lxla_compare.

/// lhs == rhs.
template <class L, class R> detail::Result<L, R> eq(const L &lhs, const R &rhs) {
  return compare(LXLA_COMPARE_EQ, lhs, rhs);
}
/// lhs != rhs.
template <class L, class R> detail::Result<L, R> ne(const L &lhs, const R &rhs) {
  return compare(LXLA_COMPARE_NE, lhs, rhs);
}
/// lhs >= rhs.
template <class L, class R> detail::Result<L, R> ge(const L &lhs, const R &rhs) {
  return compare(LXLA_COMPARE_GE, lhs, rhs);
}
/// lhs > rhs.
template <class L, class R> detail::Result<L, R> gt(const L &lhs, const R &rhs) {
  return compare(LXLA_COMPARE_GT, lhs, rhs);
}
/// lhs <= rhs.
template <class L, class R> detail::Result<L, R> le(const L &lhs, const R &rhs) {
  return compare(LXLA_COMPARE_LE, lhs, rhs);
}
/// lhs < rhs.
template <class L, class R> detail::Result<L, R> lt(const L &lhs, const R &rhs) {
  return compare(LXLA_COMPARE_LT, lhs, rhs);
}

// Functions of lxla_special.

/// Error function: erf(x).
inline Tensor erf(const Tensor &x) { return special(LXLA_SPECIAL_ERF, x); }
/// Complementary error function: 1 - erf(x), accurate for large x.
inline Tensor erfc(const Tensor &x) { return special(LXLA_SPECIAL_ERFC, x); }
/// Cumulative distribution function of the standard normal distribution.
inline Tensor normal_cdf(const Tensor &x) { return special(LXLA_SPECIAL_NORMAL_CDF, x); }
/// Scaled complementary error function: e^(x^2) (1 - erf(x)).
inline Tensor erfcx(const Tensor &x) { return special(LXLA_SPECIAL_ERFCX, x); }

// Functions of lxla_activation.

/// max(x, 0).
inline Tensor relu(const Tensor &x) { return activation(LXLA_ACTIVATION_RELU, x); }
/// x * Phi(x), with Phi the cumulative standard normal distribution.
inline Tensor gelu(const Tensor &x) { return activation(LXLA_ACTIVATION_GELU, x); }
/// x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2.
inline Tensor gelu_tanh(const Tensor &x) { return activation(LXLA_ACTIVATION_GELU_TANH, x); }
/// x / (1 + e^-x).
inline Tensor silu(const Tensor &x) { return activation(LXLA_ACTIVATION_SILU, x); }
/// min(max(x, 0), 6).
inline Tensor relu6(const Tensor &x) { return activation(LXLA_ACTIVATION_RELU6, x); }
/// x if x > 0, else e^x - 1.
inline Tensor elu(const Tensor &x) { return activation(LXLA_ACTIVATION_ELU, x); }
/// 1.0507009873554805 * (x if x > 0, else 1.6732632423543772 * (e^x - 1)).
inline Tensor selu(const Tensor &x) { return activation(LXLA_ACTIVATION_SELU, x); }
/// log(1 + e^x).
inline Tensor softplus(const Tensor &x) { return activation(LXLA_ACTIVATION_SOFTPLUS, x); }
/// x * tanh(log(1 + e^x)).
inline Tensor mish(const Tensor &x) { return activation(LXLA_ACTIVATION_MISH, x); }
/// -log(1 + e^-x).
inline Tensor log_sigmoid(const Tensor &x) { return activation(LXLA_ACTIVATION_LOG_SIGMOID, x); }
/// min(max(x + 3, 0), 6) / 6.
inline Tensor hard_sigmoid(const Tensor &x) { return activation(LXLA_ACTIVATION_HARD_SIGMOID, x); }
/// x * min(max(x + 3, 0), 6) / 6.
inline Tensor hard_swish(const Tensor &x) { return activation(LXLA_ACTIVATION_HARD_SWISH, x); }

// Reductions.

/// Sum.
inline Tensor sum(const Tensor &x) { return reduce(LXLA_REDUCE_SUM, x); }
/// The same over the listed axes.
inline Tensor sum(const Tensor &x, const Dims &axes, Flag keep = false) {
  return reduce(LXLA_REDUCE_SUM, x, axes, keep);
}
/// Product.
inline Tensor product(const Tensor &x) { return reduce(LXLA_REDUCE_PRODUCT, x); }
/// The same over the listed axes.
inline Tensor product(const Tensor &x, const Dims &axes, Flag keep = false) {
  return reduce(LXLA_REDUCE_PRODUCT, x, axes, keep);
}
/// Largest element.
inline Tensor max(const Tensor &x) { return reduce(LXLA_REDUCE_MAX, x); }
/// The same over the listed axes.
inline Tensor max(const Tensor &x, const Dims &axes, Flag keep = false) {
  return reduce(LXLA_REDUCE_MAX, x, axes, keep);
}
/// Smallest element.
inline Tensor min(const Tensor &x) { return reduce(LXLA_REDUCE_MIN, x); }
/// The same over the listed axes.
inline Tensor min(const Tensor &x, const Dims &axes, Flag keep = false) {
  return reduce(LXLA_REDUCE_MIN, x, axes, keep);
}
/// Logical and, of pred.
inline Tensor all(const Tensor &x) { return reduce(LXLA_REDUCE_ALL, x); }
/// The same over the listed axes.
inline Tensor all(const Tensor &x, const Dims &axes, Flag keep = false) {
  return reduce(LXLA_REDUCE_ALL, x, axes, keep);
}
/// Logical or, of pred.
inline Tensor any(const Tensor &x) { return reduce(LXLA_REDUCE_ANY, x); }
/// The same over the listed axes.
inline Tensor any(const Tensor &x, const Dims &axes, Flag keep = false) {
  return reduce(LXLA_REDUCE_ANY, x, axes, keep);
}

}  // namespace lazyxla

#endif  // LAZYXLA_MEMBERS_HPP
