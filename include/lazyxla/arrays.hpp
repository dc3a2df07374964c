// Operations that rearrange elements, take some of them, or make them.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_ARRAYS_HPP
#define LAZYXLA_ARRAYS_HPP

#include "tensor.hpp"

namespace lazyxla {

/// The same elements, row-major, in another shape.
inline Tensor reshape(const Tensor &x, const Dims &dims) { return detail::listed<lxla_reshape>(x, dims); }
/// The elements repeated to a shape, by NumPy's rules.
inline Tensor broadcast_to(const Tensor &x, const Dims &dims) { return detail::listed<lxla_broadcast_to>(x, dims); }
/// Axis i of the result is axis perm[i] of x.
inline Tensor transpose(const Tensor &x, const Dims &perm) { return detail::listed<lxla_transpose>(x, perm); }
/// x[start : limit : stride] on each axis; no strides are all 1.
inline Tensor slice(const Tensor &x, const Dims &starts, const Dims &limits, const Dims &strides = {}) {
  const int64_t *steps = strides.empty() ? nullptr : strides.data();
  if (starts.size() != limits.size() || (steps && starts.size() != strides.size()))
    throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::slice: starts, limits and strides differ in length");
  return Tensor::make<lxla_slice>(x.handle(), starts.data(), limits.data(), steps, starts.size());
}
/// The tensors one after another along an axis.
inline Tensor concatenate(const std::vector<Tensor> &tensors, int64_t axis) {
  const auto list = detail::handles(tensors);
  return Tensor::make<lxla_concatenate>(list.data(), list.size(), axis);
}

/// The sizes of each axis, beginning at starts: one integer scalar for each axis.
inline Tensor dynamic_slice(const Tensor &x, const std::vector<Tensor> &starts, const Dims &sizes) {
  if (starts.size() != sizes.size())
    throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::dynamic_slice: starts and sizes differ in length");
  const auto list = detail::handles(starts);
  return Tensor::make<lxla_dynamic_slice>(x.handle(), list.data(), sizes.data(), list.size());
}
/// x with update written over it, beginning at starts.
inline Tensor dynamic_update_slice(const Tensor &x, const Tensor &update, const std::vector<Tensor> &starts) {
  const auto list = detail::handles(starts);
  return Tensor::make<lxla_dynamic_update_slice>(x.handle(), update.handle(), list.data(), list.size());
}
/// The slices of x along an axis, at indices.
inline Tensor take(const Tensor &x, const Tensor &indices, int64_t axis) {
  return Tensor::make<lxla_take>(x.handle(), indices.handle(), axis);
}
/// x with a value before, after and between its elements.
inline Tensor pad(const Tensor &x, const Tensor &value, const Dims &low, const Dims &high, const Dims &interior = {}) {
  const int64_t *between = interior.empty() ? nullptr : interior.data();
  if (low.size() != high.size() || (between && low.size() != interior.size()))
    throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::pad: low, high and interior differ in length");
  return Tensor::make<lxla_pad>(x.handle(), value.handle(), low.data(), high.data(), between, low.size());
}

/// x with a number before, after and between its elements.
inline Tensor pad(const Tensor &x, const Scalar &value, const Dims &low, const Dims &high, const Dims &interior = {}) {
  const int64_t *between = interior.empty() ? nullptr : interior.data();
  if (low.size() != high.size() || (between && low.size() != interior.size()))
    throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::pad: low, high and interior differ in length");
  return Tensor::make<lxla_pad_with_scalar>(x.handle(), value.get(), low.data(), high.data(), between, low.size());
}

/// Without all axes that are of size 1.
inline Tensor squeeze(const Tensor &x) { return detail::along_all<lxla_squeeze>(x); }
/// Without these axes, which are of size 1; no axes, {}, give x.
inline Tensor squeeze(const Tensor &x, const Dims &axes) { return detail::listed<lxla_squeeze>(x, axes); }
/// With further axes of size 1, by their numbers in the result.
inline Tensor expand_dims(const Tensor &x, const Dims &axes) { return detail::listed<lxla_expand_dims>(x, axes); }
/// Tensors of one shape along a new axis.
inline Tensor stack(const std::vector<Tensor> &tensors, int64_t axis = 0) {
  const auto list = detail::handles(tensors);
  return Tensor::make<lxla_stack>(list.data(), list.size(), axis);
}
/// Parts of these sizes along an axis.
inline std::vector<Tensor> split(const Tensor &x, const Dims &sizes, int64_t axis) {
  return detail::several<lxla_split>(sizes.size(), x.handle(), sizes.data(), sizes.size(), axis);
}
/// `n` parts of one size along an axis.
inline std::vector<Tensor> split(const Tensor &x, size_t n, int64_t axis) {
  return detail::several<lxla_split>(n, x.handle(), static_cast<const int64_t *>(nullptr), n, axis);
}
/// x[start : stop : step] along an axis, as Python cuts lists.
inline Tensor slice_axis(const Tensor &x, int64_t axis, int64_t start, int64_t stop, int64_t step = 1) {
  return Tensor::make<lxla_slice_axis>(x.handle(), axis, start, stop, step);
}
/// Backwards along axes; no axes, {}, give x.
inline Tensor reverse(const Tensor &x, const Dims &axes) { return detail::listed<lxla_reverse>(x, axes); }
/// Backwards along all axes.
inline Tensor flip(const Tensor &x) { return detail::along_all<lxla_flip>(x); }
/// Backwards along these axes; no axes, {}, give x.
inline Tensor flip(const Tensor &x, const Dims &axes) { return detail::listed<lxla_flip>(x, axes); }
/// Elements moved forward along axes, round the end.
inline Tensor roll(const Tensor &x, const Dims &shifts, const Dims &axes) {
  if (shifts.size() != axes.size()) throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::roll: shifts and axes differ in length");
  return Tensor::make<lxla_roll>(x.handle(), shifts.data(), axes.data(), axes.size());
}
/// Copies of the whole, one behind the other.
inline Tensor tile(const Tensor &x, const Dims &repeats) { return detail::listed<lxla_tile>(x, repeats); }
/// Copies of each slice along an axis, next to each other.
inline Tensor repeat(const Tensor &x, int64_t repeats, int64_t axis) { return Tensor::make<lxla_repeat>(x.handle(), repeats, axis); }
inline Tensor tril(const Tensor &x, int64_t k = 0) { return Tensor::make<lxla_tril>(x.handle(), k); }  ///< Lower triangles.
inline Tensor triu(const Tensor &x, int64_t k = 0) { return Tensor::make<lxla_triu>(x.handle(), k); }  ///< Upper triangles.
/// 1 where the new axis' place is the index.
inline Tensor one_hot(const Tensor &indices, int64_t depth, int64_t axis = -1, int32_t dtype = LXLA_DTYPE_F32) {
  return Tensor::make<lxla_one_hot>(indices.handle(), depth, axis, dtype);
}

/// An element for each index along an axis.
inline Tensor take_along_axis(const Tensor &x, const Tensor &indices, int64_t axis) {
  return Tensor::make<lxla_take_along_axis>(x.handle(), indices.handle(), axis);
}
/// x with elements combined into those at indices along an axis, by one of LXLA_SCATTER_*.
inline Tensor scatter_along(int32_t op, const Tensor &x, const Tensor &indices, const Tensor &updates, int64_t axis) {
  return Tensor::make<lxla_scatter_along>(op, x.handle(), indices.handle(), updates.handle(), axis);
}
/// x with the slices of source along an axis added to those that indices name.
inline Tensor index_add(const Tensor &x, int64_t axis, const Tensor &indices, const Tensor &source) {
  return Tensor::make<lxla_index_add>(x.handle(), axis, indices.handle(), source.handle());
}
/// x with the slices of source along an axis in the place of those that indices name.
inline Tensor index_copy(const Tensor &x, int64_t axis, const Tensor &indices, const Tensor &source) {
  return Tensor::make<lxla_index_copy>(x.handle(), axis, indices.handle(), source.handle());
}
/// Sorted along an axis.
inline Tensor sort_along(const Tensor &x, int64_t axis = -1, bool descending = false, bool stable = true) {
  return Tensor::make<lxla_sort_along>(x.handle(), axis, descending ? 1 : 0, stable ? 1 : 0);
}
/// The indices that sort x along an axis.
inline Tensor argsort(const Tensor &x, int64_t axis = -1, bool descending = false, bool stable = true,
                      int32_t index_dtype = LXLA_DTYPE_S64) {
  return Tensor::make<lxla_argsort>(x.handle(), axis, descending ? 1 : 0, stable ? 1 : 0, index_dtype);
}
/// The k greatest elements along an axis, or the smallest, and their indices.
inline std::array<Tensor, 2> topk(const Tensor &x, int64_t k, int64_t axis = -1, bool largest = true,
                                  int32_t index_dtype = LXLA_DTYPE_S64) {
  return detail::these<lxla_topk, 2>(x.handle(), k, axis, largest ? 1 : 0, index_dtype);
}
/// The same by the total order of floats, as chlo.top_k: NaN by its sign, and -0 before 0.
inline std::array<Tensor, 2> topk_total_order(const Tensor &x, int64_t k, int64_t axis = -1, bool largest = true,
                                              int32_t index_dtype = LXLA_DTYPE_S64) {
  return detail::these<lxla_topk_total_order, 2>(x.handle(), k, axis, largest ? 1 : 0, index_dtype);
}

/// Dimension numbers of gather, by StableHLO's names: see lxla_gather_options.
struct GatherDimensions {
  Dims offset_dims, collapsed_slice_dims, operand_batching_dims, start_indices_batching_dims, start_index_map;
  int64_t index_vector_dim = 0;     ///< The indices' axis that goes through an index vector.
  Dims slice_sizes;                 ///< The size of a slice on each of x's axes.
  bool indices_are_sorted = false;  ///< A promise.
};
/// Slices of x where indices say, side by side.
inline Tensor gather(const Tensor &x, const Tensor &indices, const GatherDimensions &d) {
  auto options = detail::defaults<lxla_gather_options, lxla_gather_options_init>();
  options.offset_dims = d.offset_dims.data(), options.n_offset_dims = d.offset_dims.size();
  options.collapsed_slice_dims = d.collapsed_slice_dims.data(), options.n_collapsed_slice_dims = d.collapsed_slice_dims.size();
  options.operand_batching_dims = d.operand_batching_dims.data(), options.n_operand_batching_dims = d.operand_batching_dims.size();
  options.start_indices_batching_dims = d.start_indices_batching_dims.data();
  options.n_start_indices_batching_dims = d.start_indices_batching_dims.size();
  options.start_index_map = d.start_index_map.data(), options.n_start_index_map = d.start_index_map.size();
  options.index_vector_dim = d.index_vector_dim;
  options.slice_sizes = d.slice_sizes.data(), options.n_slice_sizes = d.slice_sizes.size();
  options.indices_are_sorted = d.indices_are_sorted ? 1 : 0;
  return Tensor::make<lxla_gather>(x.handle(), indices.handle(), &options);
}

}  // namespace lazyxla

#endif  // LAZYXLA_ARRAYS_HPP
