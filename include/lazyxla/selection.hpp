// Selections: masks, what is not 0, what is different, places in an order, several arrays of indices, slices.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_SELECTION_HPP
#define LAZYXLA_SELECTION_HPP

#include "tensor.hpp"

namespace lazyxla {

/// Where x is not 0: one tensor for each axis, with `size` places in row-major order, filled up; behind them the count of all.
inline std::vector<Tensor> nonzero(const Tensor &x, int64_t size, int64_t fill = 0, int32_t index_dtype = LXLA_DTYPE_S64) {
  std::vector<lxla_tensor> places(x.rank() + 1);
  check(lxla_nonzero(x.handle(), size, fill, index_dtype, places.data(), places.size() - 1, &places.back()));
  std::vector<Tensor> result;
  for (lxla_tensor place : places) result.push_back(Tensor::adopt(place));
  return result;
}
/// x[mask]: `size` slices of x where a mask of its first axes is true, filled up by a scalar; and the count of all.
inline std::array<Tensor, 2> mask_select(const Tensor &x, const Tensor &mask, int64_t size, const Tensor &fill,
                                         int32_t index_dtype = LXLA_DTYPE_S64) {
  return detail::these<lxla_mask_select, 2>(x.handle(), mask.handle(), size, fill.handle(), index_dtype);
}
/// What lxla_unique gives.
struct Unique {
  Tensor values, indices, inverse, counts, count;
};
/// The different elements of x in order, `size` of them, filled up by a scalar, or by the least of them.
inline Unique unique(const Tensor &x, int64_t size, const Tensor &fill = {}, int32_t index_dtype = LXLA_DTYPE_S64) {
  auto made = detail::these<lxla_unique, 5>(x.handle(), size, fill.handle(), index_dtype);
  return {std::move(made[0]), std::move(made[1]), std::move(made[2]), std::move(made[3]), std::move(made[4])};
}
/// Where values go in a row that is in order: before equal elements, or behind them.
inline Tensor searchsorted(const Tensor &sorted, const Tensor &values, bool right = false, int32_t index_dtype = LXLA_DTYPE_S64) {
  return Tensor::make<lxla_searchsorted>(sorted.handle(), values.handle(), right ? 1 : 0, index_dtype);
}
/// x[i, :, j]; Tensor{} is a whole axis.
inline Tensor index(const Tensor &x, const std::vector<Tensor> &indices) {
  const auto list = detail::handles(indices);
  return Tensor::make<lxla_index>(x.handle(), list.data(), list.size());
}
/// x with values combined into x[i, :, j], by one of LXLA_SCATTER_*.
inline Tensor index_put(int32_t op, const Tensor &x, const std::vector<Tensor> &indices, const Tensor &values) {
  const auto list = detail::handles(indices);
  return Tensor::make<lxla_index_put>(op, x.handle(), list.data(), list.size(), values.handle());
}
/// x with values in the place of x[start : limit : stride] on each axis; without strides, they are 1.
inline Tensor slice_assign(const Tensor &x, const Dims &starts, const Dims &limits, const Dims &strides, const Tensor &values) {
  const int64_t *steps = strides.empty() ? nullptr : strides.data();
  if (starts.size() != limits.size() || (steps && starts.size() != strides.size()))
    throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::slice_assign: starts, limits and strides differ in length");
  return Tensor::make<lxla_slice_assign>(x.handle(), starts.data(), limits.data(), steps, starts.size(), values.handle());
}

}  // namespace lazyxla

#endif  // LAZYXLA_SELECTION_HPP
