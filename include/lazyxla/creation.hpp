// Operations that create tensors. More of them are in tensor.hpp: static members of Tensor.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_CREATION_HPP
#define LAZYXLA_CREATION_HPP

#include "tensor.hpp"

#include <initializer_list>

namespace lazyxla {

namespace detail {
// Enables a parameter for a place. Braces do not convert to it, so that {} in array({5.f}, {}) is a list of sizes.
template <class At> using IsPlace = std::enable_if_t<std::is_convertible_v<const At &, Place>>;
}  // namespace detail

/// Creates a tensor of one axis from a list: array({1.f, 2.f}). The dtype follows the C++ type of the elements: int
/// gives s32, double f64.
template <class T, class At = Place, class = detail::IsPlace<At>>
Tensor array(std::initializer_list<T> values, const At &at) {
  return Tensor::from_host(std::vector<T>(values), {static_cast<int64_t>(values.size())}, at);
}
/// Creates a tensor of one axis from a list.
template <class T> Tensor array(std::initializer_list<T> values) { return array(values, Place()); }
/// Creates a tensor from a list of row-major elements: array({1.f, 2.f, 3.f, 4.f}, {2, 2}).
template <class T> Tensor array(std::initializer_list<T> values, const Dims &dims, const Place &at = {}) {
  return Tensor::from_host(std::vector<T>(values), dims, at);
}
/// Creates a tensor of one axis from the elements of a vector.
template <class T, class At = Place, class = detail::IsPlace<At>>
Tensor array(const std::vector<T> &values, const At &at) {
  return Tensor::from_host(values, {static_cast<int64_t>(values.size())}, at);
}
/// Creates a tensor of one axis from the elements of a vector.
template <class T> Tensor array(const std::vector<T> &values) { return array(values, Place()); }
/// Creates a tensor from row-major elements.
template <class T> Tensor array(const std::vector<T> &values, const Dims &dims, const Place &at = {}) {
  return Tensor::from_host(values, dims, at);
}
/// Creates a matrix from its rows: array({{1.f, 2.f}, {3.f, 4.f}}). INVALID_ARGUMENT for rows of several lengths.
template <class T> Tensor array(std::initializer_list<std::initializer_list<T>> rows, const Place &at = {}) {
  const size_t width = rows.size() == 0 ? 0 : rows.begin()->size();
  std::vector<T> values;
  for (const auto &row : rows) {
    if (row.size() != width)
      throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::array: rows of " + std::to_string(width) + " and " +
                                             std::to_string(row.size()) + " elements given; want one length");
    values.insert(values.end(), row);
  }
  return Tensor::from_host(values, {static_cast<int64_t>(rows.size()), static_cast<int64_t>(width)}, at);
}
/// Creates a tensor of one axis from a std::array.
template <class T, size_t n> Tensor array(const std::array<T, n> &values, const Place &at = {}) {
  return Tensor::from_host(values.data(), n, {static_cast<int64_t>(n)}, at);
}
/// Creates an f32 tensor of one value.
inline Tensor full(const Dims &dims, Real value, const Place &at = {}) {
  return Tensor::full(dims, value, LXLA_DTYPE_F32, at);
}
/// Creates a tensor of one value and a dtype.
inline Tensor full(const Dims &dims, Real value, Dtype dtype, const Place &at = {}) {
  return Tensor::full(dims, value, dtype, at);
}
inline Tensor zeros(const Dims &dims, const Place &at = {}) { return full(dims, 0, at); }  ///< Creates f32 zeros.
/// Creates zeros of a dtype.
inline Tensor zeros(const Dims &dims, Dtype dtype, const Place &at = {}) { return full(dims, 0, dtype, at); }
inline Tensor ones(const Dims &dims, const Place &at = {}) { return full(dims, 1, at); }  ///< Creates f32 ones.
/// Creates ones of a dtype.
inline Tensor ones(const Dims &dims, Dtype dtype, const Place &at = {}) { return full(dims, 1, dtype, at); }
/// Creates a tensor of one value with the shape, dtype and place of a tensor.
inline Tensor full_like(const Tensor &x, Real value) { return full(x.dims(), value, x.dtype(), x.place()); }
/// Creates zeros of the shape, dtype and place of a tensor.
inline Tensor zeros_like(const Tensor &x) { return full_like(x, 0); }
/// Creates ones of the shape, dtype and place of a tensor.
inline Tensor ones_like(const Tensor &x) { return full_like(x, 1); }
inline Tensor scalar(Real value, const Place &at = {}) {
  return full({}, value, at);
}  ///< Creates an f32 without axes.
/// Creates a tensor of rank 0 and a dtype from a number, which may be a 64-bit integer or complex.
inline Tensor scalar(const Scalar &value, Dtype dtype, const Place &at = {}) {
  return Tensor::full_exact({}, value, dtype, at);
}
/// Creates an f32 matrix of n rows with ones on the diagonal and zeros elsewhere.
inline Tensor eye(Int n, const Place &at = {}) { return Tensor::eye(n, n, 0, LXLA_DTYPE_F32, at); }
/// Creates f32 numbers: start, start + step, ..., up to but excluding stop.
inline Tensor arange(Real start, Real stop, Real step = 1, const Place &at = {}) {
  return Tensor::arange(start, stop, step, LXLA_DTYPE_F32, at);
}
/// Creates `count` evenly spaced f32 numbers from start to stop, including both.
inline Tensor linspace(Real start, Real stop, Int count, const Place &at = {}) {
  return Tensor::linspace(start, stop, count, true, LXLA_DTYPE_F32, at);
}
/// Loads a tensor by name from a safetensors file.
inline Tensor load(const std::string &path, const std::string &name, const Place &at = {}) {
  return Tensor::load(path, name, at);
}
/// Creates the s32 numbers from 0 to n - 1.
inline Tensor range(Int n, const Place &at = {}) { return Tensor::iota({n}, 0, LXLA_DTYPE_S32, at); }

/// Encodes indices one-hot: 1 at the position of the index along a new axis, 0 elsewhere.
inline Tensor one_hot(const Tensor &indices, Int depth, Int axis = -1, Dtype dtype = LXLA_DTYPE_F32) {
  return Tensor::make<lxla_one_hot>(indices.handle(), depth, axis, dtype);
}
/// Lower triangles.
inline Tensor tril(const Tensor &x, Int k = 0) { return Tensor::make<lxla_tril>(x.handle(), k); }
/// Upper triangles.
inline Tensor triu(const Tensor &x, Int k = 0) { return Tensor::make<lxla_triu>(x.handle(), k); }

}  // namespace lazyxla

#endif  // LAZYXLA_CREATION_HPP
