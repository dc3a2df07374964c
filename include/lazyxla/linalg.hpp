// Linear algebra: products, factorizations, norms, Fourier transforms.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_LINALG_HPP
#define LAZYXLA_LINALG_HPP

#include "tensor.hpp"

namespace lazyxla {

/// Computes the matrix product, by NumPy's rules.
inline Tensor matmul(const Tensor &l, const Tensor &r) { return Tensor::make<lxla_matmul>(l.handle(), r.handle()); }
/// Computes the products of groups of rows with a matrix for each group.
inline Tensor ragged_dot(const Tensor &lhs, const Tensor &rhs, const Tensor &group_sizes) {
  return Tensor::make<lxla_ragged_dot>(lhs.handle(), rhs.handle(), group_sizes.handle());
}

/// Paired axes of a product.
struct DotDimensions {
  Dims lhs_batching, rhs_batching, lhs_contracting, rhs_contracting;
};
/// Computes StableHLO's dot_general in `dtype`; Dtype{} selects the common dtype.
inline Tensor dot_general(const Tensor &l, const Tensor &r, const DotDimensions &d, Dtype dtype = Dtype{}) {
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
inline Tensor cholesky(const Tensor &a, Flag lower = true) {
  return Tensor::make<lxla_cholesky>(a.handle(), lower ? 1 : 0);
}
/// Solves op(a) x = b or x op(a) = b for x, with op one of LXLA_TRANSPOSE_*.
inline Tensor triangular_solve(const Tensor &a, const Tensor &b, Flag left_side, Flag lower, Flag unit_diagonal = false,
                               Transposition transpose_a = LXLA_TRANSPOSE_NO_TRANSPOSE) {
  return Tensor::make<lxla_triangular_solve>(a.handle(), b.handle(), left_side ? 1 : 0, lower ? 1 : 0,
                                             unit_diagonal ? 1 : 0, transpose_a);
}
/// Computes the QR factors of matrices, q and r.
inline std::array<Tensor, 2> qr(const Tensor &a, Flag full = false) {
  return detail::these<lxla_qr, 2>(a.handle(), full ? 1 : 0);
}
/// Computes the LU factors of matrices in one matrix, the pivots and the permutation of the rows.
inline std::array<Tensor, 3> lu(const Tensor &a) { return detail::these<lxla_lu, 3>(a.handle()); }
/// Computes the LDL factors of symmetric or Hermitian matrices in one matrix, and the pivots.
inline std::array<Tensor, 2> ldl(const Tensor &a, Flag hermitian = false) {
  return detail::these<lxla_ldl, 2>(a.handle(), hermitian ? 1 : 0);
}
/// Solves a x = b for x, given the results of `ldl` for a.
inline Tensor ldl_solve(const Tensor &factors, const Tensor &pivots, const Tensor &b, Flag hermitian = false) {
  return Tensor::make<lxla_ldl_solve>(factors.handle(), pivots.handle(), b.handle(), hermitian ? 1 : 0);
}
/// Solves a x = b for tridiagonal matrices a, given their diagonals, for b of one more axis.
inline Tensor tridiagonal_solve(const Tensor &lower, const Tensor &diagonal, const Tensor &upper, const Tensor &b) {
  return Tensor::make<lxla_tridiagonal_solve>(lower.handle(), diagonal.handle(), upper.handle(), b.handle());
}
/// Computes the singular value decomposition of matrices: u, the singular values, vh.
inline std::array<Tensor, 3> svd(const Tensor &a, Flag full = false) {
  return detail::these<lxla_svd, 3>(a.handle(), full ? 1 : 0);
}
/// Computes the singular values of matrices, descending.
inline Tensor singular_values(const Tensor &a) { return Tensor::make<lxla_singular_values>(a.handle()); }
/// Computes the eigenvalues, ascending, and the eigenvectors of Hermitian matrices.
inline std::array<Tensor, 2> eigh(const Tensor &a, Flag lower = true) {
  return detail::these<lxla_eigh, 2>(a.handle(), lower ? 1 : 0);
}
/// Computes the eigenvalues and the eigenvectors of square matrices, complex numbers.
inline std::array<Tensor, 2> eig(const Tensor &a) { return detail::these<lxla_eig, 2>(a.handle()); }
/// Computes the Schur form t of square matrices, and z with a = z t z^H.
inline std::array<Tensor, 2> schur(const Tensor &a, Flag complex_form = false) {
  return detail::these<lxla_schur, 2>(a.handle(), complex_form ? 1 : 0);
}
/// Solves a x = b for x.
inline Tensor solve(const Tensor &a, const Tensor &b) { return Tensor::make<lxla_solve>(a.handle(), b.handle()); }
/// Computes the inverses of matrices.
inline Tensor inverse(const Tensor &a) { return Tensor::make<lxla_inverse>(a.handle()); }
/// Computes the determinants of matrices.
inline Tensor determinant(const Tensor &a) { return Tensor::make<lxla_determinant>(a.handle()); }
/// Computes the signs of the determinants of matrices, and the logarithms of their absolute values.
inline std::array<Tensor, 2> slogdet(const Tensor &a) { return detail::these<lxla_slogdet, 2>(a.handle()); }
/// Computes the x of the smallest norm that minimises the norm of a x - b.
inline Tensor lstsq(const Tensor &a, const Tensor &b, Real rtol = -1) {
  return Tensor::make<lxla_lstsq>(a.handle(), b.handle(), rtol);
}
/// Computes the pseudoinverses of matrices.
inline Tensor pinv(const Tensor &a, Real rtol = -1) { return Tensor::make<lxla_pinv>(a.handle(), rtol); }
/// Computes the ranks of matrices.
inline Tensor matrix_rank(const Tensor &a, Real rtol = -1) { return Tensor::make<lxla_matrix_rank>(a.handle(), rtol); }
/// Computes a power of matrices.
inline Tensor matrix_power(const Tensor &a, Int n) { return Tensor::make<lxla_matrix_power>(a.handle(), n); }
/// Computes the exponentials of matrices.
inline Tensor matrix_exponential(const Tensor &a) { return Tensor::make<lxla_matrix_exponential>(a.handle()); }
/// Computes the square root of the sum of the squares of all elements.
inline Tensor norm(const Tensor &x) { return Tensor::make<lxla_norm>(x.handle(), 2.0, detail::all_axes, size_t{0}, 0); }
/// Computes the norm of order `ord` over axes.
inline Tensor norm(const Tensor &x, const Dims &axes, Real ord = 2, Flag keep = false) {
  return Tensor::make<lxla_norm>(x.handle(), ord, detail::axes_of(axes), axes.size(), keep ? 1 : 0);
}
/// Computes a Fourier transform of the last axes, one of LXLA_FFT_*.
inline Tensor fft(FftOp op, const Tensor &x, const Dims &lengths) {
  return Tensor::make<lxla_fft>(op, x.handle(), lengths.data(), lengths.size());
}

}  // namespace lazyxla

#endif  // LAZYXLA_LINALG_HPP
