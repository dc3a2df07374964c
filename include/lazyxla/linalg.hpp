// Linear algebra: products, factorizations, norms, Fourier transforms.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_LINALG_HPP
#define LAZYXLA_LINALG_HPP

#include "tensor.hpp"

namespace lazyxla {

/// Computes the matrix product, by NumPy's rules.
inline Tensor matmul(const Tensor &l, const Tensor &r) { return Tensor::make<lxla_matmul>(l.handle(), r.handle()); }

/// Paired axes of a product.
struct DotDimensions {
  Dims lhs_batching, rhs_batching, lhs_contracting, rhs_contracting;
};
/// Computes StableHLO's dot_general in `dtype`; 0 selects the common dtype.
inline Tensor dot_general(const Tensor &l, const Tensor &r, const DotDimensions &d, int32_t dtype = 0) {
  if (d.lhs_batching.size() != d.rhs_batching.size() || d.lhs_contracting.size() != d.rhs_contracting.size())
    throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::dot_general: the axes of lhs and rhs differ in number");
  return Tensor::make<lxla_dot_general>(l.handle(), r.handle(), d.lhs_batching.data(), d.rhs_batching.data(),
                                        d.lhs_batching.size(), d.lhs_contracting.data(), d.rhs_contracting.data(),
                                        d.lhs_contracting.size(), dtype);
}

/// Computes the sum of products given by an equation in NumPy's notation.
inline Tensor einsum(const std::string &equation, const std::vector<Tensor> &tensors) {
  const auto list = detail::handles(tensors);
  return Tensor::make<lxla_einsum>(equation.c_str(), list.data(), list.size());
}
/// Computes the Cholesky factors of Hermitian matrices.
inline Tensor cholesky(const Tensor &a, bool lower = true) {
  return Tensor::make<lxla_cholesky>(a.handle(), lower ? 1 : 0);
}
/// Solves op(a) x = b or x op(a) = b for x, with op one of LXLA_TRANSPOSE_*.
inline Tensor triangular_solve(const Tensor &a, const Tensor &b, bool left_side, bool lower, bool unit_diagonal = false,
                               int32_t transpose_a = LXLA_TRANSPOSE_NO_TRANSPOSE) {
  return Tensor::make<lxla_triangular_solve>(a.handle(), b.handle(), left_side ? 1 : 0, lower ? 1 : 0,
                                             unit_diagonal ? 1 : 0, transpose_a);
}
/// Computes the square root of the sum of the squares of all elements.
inline Tensor norm(const Tensor &x) { return Tensor::make<lxla_norm>(x.handle(), 2.0, detail::all_axes, size_t{0}, 0); }
/// Computes the norm of order `ord` over axes.
inline Tensor norm(const Tensor &x, const Dims &axes, double ord = 2, bool keep = false) {
  return Tensor::make<lxla_norm>(x.handle(), ord, detail::axes_of(axes), axes.size(), keep ? 1 : 0);
}
/// Computes a Fourier transform of the last axes, one of LXLA_FFT_*.
inline Tensor fft(int32_t op, const Tensor &x, const Dims &lengths) {
  return Tensor::make<lxla_fft>(op, x.handle(), lengths.data(), lengths.size());
}

}  // namespace lazyxla

#endif  // LAZYXLA_LINALG_HPP
