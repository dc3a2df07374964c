// Operations on each element.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_ELEMENTWISE_HPP
#define LAZYXLA_ELEMENTWISE_HPP

#include "tensor.hpp"

namespace lazyxla {

/// Computes l (op) r elementwise, with op one of LXLA_BINARY_*. Operands are two tensors, or a tensor and a number on
/// either side.
template <class L, class R> detail::Result<L, R> binary(BinaryOp op, const L &l, const R &r) {
  constexpr auto with_scalar = lxla_binary_with_scalar;
  if constexpr (!detail::is_tensor<R>) return Tensor::make<with_scalar>(op, l.handle(), Scalar(r).get(), 0);
  else if constexpr (!detail::is_tensor<L>) return Tensor::make<with_scalar>(op, r.handle(), Scalar(l).get(), 1);
  else return Tensor::make<lxla_binary>(op, l.handle(), r.handle());
}

/// Computes l (op) r as binary(), with a number that changes from step to step: a parameter of programs from the first
/// compile on.
inline Tensor binary_varying(BinaryOp op, const Tensor &l, const Scalar &r) {
  return Tensor::make<lxla_binary_with_varying_scalar>(op, l.handle(), r.get(), 0);
}
/// Computes l (op) r with a number on the left that changes from step to step.
inline Tensor binary_varying(BinaryOp op, const Scalar &l, const Tensor &r) {
  return Tensor::make<lxla_binary_with_varying_scalar>(op, r.handle(), l.get(), 1);
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
#undef LAZYXLA_BINARY

/// Shifts to the right: logical for unsigned integers, otherwise arithmetic.
template <class L, class R> detail::Result<L, R> operator>>(const L &l, const R &r) {
  Dtype dtype;
  if constexpr (detail::is_tensor<L>) dtype = l.dtype();
  else dtype = r.dtype();
  const bool logical = LXLA_DTYPE_U8 <= dtype && dtype <= LXLA_DTYPE_U64;
  return binary(logical ? LXLA_BINARY_SHIFT_RIGHT_LOGICAL : LXLA_BINARY_SHIFT_RIGHT_ARITHMETIC, l, r);
}

/// Computes (op) x elementwise, with op one of LXLA_UNARY_*.
inline Tensor unary(UnaryOp op, const Tensor &x) { return Tensor::make<lxla_unary>(op, x.handle()); }
inline Tensor operator-(const Tensor &x) { return unary(LXLA_UNARY_NEGATE, x); }  ///< -x.
inline Tensor operator~(const Tensor &x) { return unary(LXLA_UNARY_NOT, x); }     ///< Not, bitwise.

/// Compares l (op) r elementwise, with op one of LXLA_COMPARE_*; returns pred. Operands are two tensors, or a tensor
/// and a number on either side.
template <class L, class R> detail::Result<L, R> compare(CompareOp op, const L &l, const R &r) {
  constexpr auto with_scalar = lxla_compare_with_scalar;
  if constexpr (!detail::is_tensor<R>) return Tensor::make<with_scalar>(op, l.handle(), Scalar(r).get(), 0);
  else if constexpr (!detail::is_tensor<L>) return Tensor::make<with_scalar>(op, r.handle(), Scalar(l).get(), 1);
  else return Tensor::make<lxla_compare>(op, l.handle(), r.handle());
}

/// Compares l (op) r elementwise in the total order of IEEE 754, with op one of LXLA_COMPARE_*; returns pred.
inline Tensor compare_total_order(CompareOp op, const Tensor &l, const Tensor &r) {
  return Tensor::make<lxla_compare_total_order>(op, l.handle(), r.handle());
}

// Operators for compare(), which members.hpp has as functions: gt(x, 1) is x > 1. They return pred for each element,
// and no bool: `if (x > 1)` does not compile, `if (value(all(x > 1)))` does.
#define LAZYXLA_COMPARE(name, code) \
  template <class L, class R> detail::Result<L, R> name(const L &l, const R &r) { return compare(code, l, r); }
LAZYXLA_COMPARE(operator==, LXLA_COMPARE_EQ)  ///< Whether elements are equal.
LAZYXLA_COMPARE(operator!=, LXLA_COMPARE_NE)  ///< Whether elements differ.
LAZYXLA_COMPARE(operator<, LXLA_COMPARE_LT)   ///< Whether elements of l are less.
LAZYXLA_COMPARE(operator<=, LXLA_COMPARE_LE)  ///< Whether elements of l are less or equal.
LAZYXLA_COMPARE(operator>, LXLA_COMPARE_GT)   ///< Whether elements of l are greater.
LAZYXLA_COMPARE(operator>=, LXLA_COMPARE_GE)  ///< Whether elements of l are greater or equal.
#undef LAZYXLA_COMPARE

/// Selects on_true where pred is true, and on_false elsewhere.
inline Tensor select(const Tensor &pred, const Tensor &on_true, const Tensor &on_false) {
  return Tensor::make<lxla_select>(pred.handle(), on_true.handle(), on_false.handle());
}
/// Selects on_true where pred is true, and on_false elsewhere; one or both of them are numbers.
inline Tensor select(const Tensor &pred, const Scalar &on_true, const Tensor &on_false) {
  return Tensor::make<lxla_select_with_scalars>(pred.handle(), lxla_tensor{}, on_true.get(), on_false.handle(),
                                                nullptr);
}
inline Tensor select(const Tensor &pred, const Tensor &on_true, const Scalar &on_false) {
  return Tensor::make<lxla_select_with_scalars>(pred.handle(), on_true.handle(), nullptr, lxla_tensor{},
                                                on_false.get());
}
inline Tensor select(const Tensor &pred, const Scalar &on_true, const Scalar &on_false) {
  return Tensor::make<lxla_select_with_scalars>(pred.handle(), lxla_tensor{}, on_true.get(), lxla_tensor{},
                                                on_false.get());
}
/// Converts to another dtype, one of LXLA_DTYPE_*.
inline Tensor convert(const Tensor &x, Dtype dtype) { return Tensor::make<lxla_convert>(x.handle(), dtype); }

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
inline Tensor complex(const Tensor &re, const Tensor &im) {
  return Tensor::make<lxla_complex>(re.handle(), im.handle());
}
inline Tensor real(const Tensor &x) { return Tensor::make<lxla_real>(x.handle()); }  ///< The real part.
inline Tensor imag(const Tensor &x) { return Tensor::make<lxla_imag>(x.handle()); }  ///< The imaginary part.
/// Reinterprets the bits as elements of another dtype.
inline Tensor bitcast_convert(const Tensor &x, Dtype dtype) {
  return Tensor::make<lxla_bitcast_convert>(x.handle(), dtype);
}
/// Rounds floats to a format with these numbers of exponent and mantissa bits.
inline Tensor reduce_precision(const Tensor &x, Int32 exponent_bits, Int32 mantissa_bits) {
  return Tensor::make<lxla_reduce_precision>(x.handle(), exponent_bits, mantissa_bits);
}
/// Computes a special function, one of LXLA_SPECIAL_*.
inline Tensor special(SpecialOp op, const Tensor &x) { return Tensor::make<lxla_special>(op, x.handle()); }

}  // namespace lazyxla

#endif  // LAZYXLA_ELEMENTWISE_HPP
