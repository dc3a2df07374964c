// Sorts, top-k, unique elements and binary search.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_SORTING_HPP
#define LAZYXLA_SORTING_HPP

#include "computation.hpp"

namespace lazyxla {

/// Sorts tensors of one shape jointly along an axis by a comparator.
inline std::vector<Tensor> sort(const Computation &comparator, const std::vector<Tensor> &inputs, Int axis = -1,
                                Flag stable = true) {
  const auto in = detail::handles(inputs);
  return detail::several<lxla_sort>(in.size(), comparator.handle(), in.data(), in.size(), axis, stable ? 1 : 0);
}
/// Sorts along an axis.
inline Tensor sort_along(const Tensor &x, Int axis = -1, Flag descending = false, Flag stable = true) {
  return Tensor::make<lxla_sort_along>(x.handle(), axis, descending ? 1 : 0, stable ? 1 : 0);
}
/// Sorts along an axis, in ascending order.
inline Tensor sort(const Tensor &x, Int axis = -1) { return sort_along(x, axis); }
/// Returns the indices that sort x along an axis.
inline Tensor argsort(const Tensor &x, Int axis = -1, Flag descending = false, Flag stable = true,
                      Dtype index_dtype = LXLA_DTYPE_S64) {
  return Tensor::make<lxla_argsort>(x.handle(), axis, descending ? 1 : 0, stable ? 1 : 0, index_dtype);
}
/// Returns the k largest (or smallest) elements along an axis, and their indices.
inline std::array<Tensor, 2> topk(const Tensor &x, Int k, Int axis = -1, Flag largest = true,
                                  Dtype index_dtype = LXLA_DTYPE_S64) {
  return detail::these<lxla_topk, 2>(x.handle(), k, axis, largest ? 1 : 0, index_dtype);
}
/// Like topk, in the total order of IEEE 754, as chlo.top_k: NaN are ordered by their bits, and -0 precedes 0.
inline std::array<Tensor, 2> topk_total_order(const Tensor &x, Int k, Int axis = -1, Flag largest = true,
                                              Dtype index_dtype = LXLA_DTYPE_S64) {
  return detail::these<lxla_topk_total_order, 2>(x.handle(), k, axis, largest ? 1 : 0, index_dtype);
}

/// Results of lxla_unique.
struct Unique {
  Tensor values, indices, inverse, counts, count;
};
/// Returns `size` distinct elements of x in ascending order, padded with a scalar or with the smallest element.
inline Unique unique(const Tensor &x, Int size, const Tensor &fill = {}, Dtype index_dtype = LXLA_DTYPE_S64) {
  auto made = detail::these<lxla_unique, 5>(x.handle(), size, fill.handle(), index_dtype);
  return {std::move(made[0]), std::move(made[1]), std::move(made[2]), std::move(made[3]), std::move(made[4])};
}

/// Returns the positions at which values would be inserted into an ascending row: before equal elements, or after them
/// with `right`.
inline Tensor searchsorted(const Tensor &sorted, const Tensor &values, Flag right = false,
                           Dtype index_dtype = LXLA_DTYPE_S64) {
  return Tensor::make<lxla_searchsorted>(sorted.handle(), values.handle(), right ? 1 : 0, index_dtype);
}

}  // namespace lazyxla

#endif  // LAZYXLA_SORTING_HPP
