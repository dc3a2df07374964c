// Operations that read and write at computed indices.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_INDEXING_HPP
#define LAZYXLA_INDEXING_HPP

#include "computation.hpp"

namespace lazyxla {

/// Takes the slices of x at the indices along an axis.
inline Tensor take(const Tensor &x, const Tensor &indices, Int axis) {
  return Tensor::make<lxla_take>(x.handle(), indices.handle(), axis);
}
inline const Tensor Tensor::operator[](Int index) const {
  const Dims sizes = dims();
  if (sizes.empty())
    throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::Tensor: [" + std::to_string(index) + "] of a tensor without axes");
  const int64_t size = sizes[0], at = index < 0 ? size + index : int64_t{index};
  if (at < 0 || at >= size)
    throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::Tensor: index: " + std::to_string(index) +
                                           " given; the first axis has " + std::to_string(size) + " elements");
  // The index is data: another index runs the same program.
  const Place here = place();
  return take(*this, make<lxla_tensor_full>(here.env, here.device, LXLA_DTYPE_S64, nullptr, size_t{0}, double(at)), 0);
}

/// Takes the slice with these sizes that begins at starts, one integer scalar for each axis.
inline Tensor dynamic_slice(const Tensor &x, const std::vector<Tensor> &starts, const Dims &sizes) {
  if (starts.size() != sizes.size())
    throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::dynamic_slice: starts and sizes differ in length");
  const auto list = detail::handles(starts);
  return Tensor::make<lxla_dynamic_slice>(x.handle(), list.data(), sizes.data(), list.size());
}
/// Overwrites the slice of x that begins at starts by update.
inline Tensor dynamic_update_slice(const Tensor &x, const Tensor &update, const std::vector<Tensor> &starts) {
  const auto list = detail::handles(starts);
  return Tensor::make<lxla_dynamic_update_slice>(x.handle(), update.handle(), list.data(), list.size());
}
/// Takes one element for each index along an axis.
inline Tensor take_along_axis(const Tensor &x, const Tensor &indices, Int axis) {
  return Tensor::make<lxla_take_along_axis>(x.handle(), indices.handle(), axis);
}
/// Combines updates into the elements of x at the indices along an axis, with op one of LXLA_SCATTER_*.
inline Tensor scatter_along(ScatterOp op, const Tensor &x, const Tensor &indices, const Tensor &updates, Int axis) {
  return Tensor::make<lxla_scatter_along>(op, x.handle(), indices.handle(), updates.handle(), axis);
}
/// Adds the slices of source to the slices of x at indices along an axis.
inline Tensor index_add(const Tensor &x, Int axis, const Tensor &indices, const Tensor &source) {
  return Tensor::make<lxla_index_add>(x.handle(), axis, indices.handle(), source.handle());
}
/// Reduces the slices of x along axis 0 with equal ids, by one of LXLA_REDUCE_*.
inline Tensor segment_reduce(ReduceOp op, const Tensor &x, const Tensor &segment_ids, Int num_segments) {
  return Tensor::make<lxla_segment_reduce>(op, x.handle(), segment_ids.handle(), num_segments);
}
/// Replaces the slices of x at indices along an axis by the slices of source.
inline Tensor index_copy(const Tensor &x, Int axis, const Tensor &indices, const Tensor &source) {
  return Tensor::make<lxla_index_copy>(x.handle(), axis, indices.handle(), source.handle());
}
/// Takes x[i, :, j]; Tensor{} selects a whole axis.
inline Tensor index(const Tensor &x, const std::vector<Tensor> &indices) {
  const auto list = detail::handles(indices);
  return Tensor::make<lxla_index>(x.handle(), list.data(), list.size());
}
/// Combines values into x[i, :, j], with op one of LXLA_SCATTER_*.
inline Tensor index_put(ScatterOp op, const Tensor &x, const std::vector<Tensor> &indices, const Tensor &values) {
  const auto list = detail::handles(indices);
  return Tensor::make<lxla_index_put>(op, x.handle(), list.data(), list.size(), values.handle());
}
/// Replaces x[start : limit : stride] on each axis by values. Strides default to 1.
inline Tensor slice_assign(const Tensor &x, const Dims &starts, const Dims &limits, const Dims &strides,
                           const Tensor &values) {
  const int64_t *steps = strides.empty() ? nullptr : strides.data();
  if (starts.size() != limits.size() || (steps && starts.size() != strides.size()))
    throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::slice_assign: starts, limits and strides differ in length");
  return Tensor::make<lxla_slice_assign>(x.handle(), starts.data(), limits.data(), steps, starts.size(),
                                         values.handle());
}
/// Replaces x[start : limit : stride] on each axis by a number. Strides default to 1.
template <class V, class = std::enable_if_t<!detail::is_tensor<V> && detail::is_operand<V>>>
Tensor slice_assign(const Tensor &x, const Dims &starts, const Dims &limits, const Dims &strides, const V &value) {
  return slice_assign(x, starts, limits, strides, Tensor::full_exact({}, value, x.dtype(), x.place()));
}
/// Finds the elements of x that are not 0. Returns `size` indices for each axis, in row-major order and padded with
/// `fill`, then the number of elements that are not 0.
inline std::vector<Tensor> nonzero(const Tensor &x, Int size, Int fill = 0, Dtype index_dtype = LXLA_DTYPE_S64) {
  std::vector<lxla_tensor> places(x.rank() + 1);
  check(lxla_nonzero(x.handle(), size, fill, index_dtype, places.data(), places.size() - 1, &places.back()));
  std::vector<Tensor> result;
  for (lxla_tensor place : places) result.push_back(Tensor::adopt(place));
  return result;
}
/// Takes x[mask]: the slices of x where a mask of its first axes is true. Returns `size` slices, padded with a scalar,
/// and the number of slices where the mask is true.
inline std::array<Tensor, 2> mask_select(const Tensor &x, const Tensor &mask, Int size, const Tensor &fill,
                                         Dtype index_dtype = LXLA_DTYPE_S64) {
  return detail::these<lxla_mask_select, 2>(x.handle(), mask.handle(), size, fill.handle(), index_dtype);
}
/// Returns x with x[mask] = values; values broadcast to a slice, or are slices in row-major order. Values of shape [1]
/// for a mask of all axes are one slice, where NumPy broadcasts them: give a number or a tensor of rank 0 instead.
inline Tensor mask_assign(const Tensor &x, const Tensor &mask, const Tensor &values) {
  return Tensor::make<lxla_mask_assign>(x.handle(), mask.handle(), values.handle());
}
/// Returns x with x[mask] = value, a number.
template <class V, class = std::enable_if_t<!detail::is_tensor<V> && detail::is_operand<V>>>
Tensor mask_assign(const Tensor &x, const Tensor &mask, const V &value) {
  return mask_assign(x, mask, Tensor::full_exact({}, value, x.dtype(), x.place()));
}

/// Dimension numbers of gather, named as in lxla_gather_options.
struct GatherDimensions {
  Dims offset_dims, collapsed_slice_dims, operand_batching_dims, start_indices_batching_dims, start_index_map;
  Int index_vector_dim = 0;         ///< The indices' axis that goes through an index vector.
  Dims slice_sizes;                 ///< The size of a slice on each of x's axes.
  Flag indices_are_sorted = false;  ///< A promise.
};
/// Gathers the slices of x at the indices.
inline Tensor gather(const Tensor &x, const Tensor &indices, const GatherDimensions &d) {
  auto options = detail::defaults<lxla_gather_options, lxla_gather_options_init>();
  options.offset_dims = d.offset_dims.data(), options.n_offset_dims = d.offset_dims.size();
  options.collapsed_slice_dims = d.collapsed_slice_dims.data(),
  options.n_collapsed_slice_dims = d.collapsed_slice_dims.size();
  options.operand_batching_dims = d.operand_batching_dims.data(),
  options.n_operand_batching_dims = d.operand_batching_dims.size();
  options.start_indices_batching_dims = d.start_indices_batching_dims.data();
  options.n_start_indices_batching_dims = d.start_indices_batching_dims.size();
  options.start_index_map = d.start_index_map.data(), options.n_start_index_map = d.start_index_map.size();
  options.index_vector_dim = d.index_vector_dim;
  options.slice_sizes = d.slice_sizes.data(), options.n_slice_sizes = d.slice_sizes.size();
  options.indices_are_sorted = d.indices_are_sorted ? 1 : 0;
  return Tensor::make<lxla_gather>(x.handle(), indices.handle(), &options);
}

/// Dimension numbers of scatter, named as in lxla_scatter_options.
struct ScatterDimensions {
  Dims update_window_dims, inserted_window_dims, input_batching_dims, scatter_indices_batching_dims,
      scatter_dims_to_operand_dims;
  Int index_vector_dim = 0;         ///< The indices' axis that goes through an index vector.
  Flag indices_are_sorted = false;  ///< A promise.
  Flag unique_indices = false;      ///< A promise.
};
/// Combines slices of updates into tensors of one shape at the indices.
inline std::vector<Tensor> scatter(const Computation &combiner, const std::vector<Tensor> &inputs,
                                   const Tensor &indices, const std::vector<Tensor> &updates,
                                   const ScatterDimensions &d) {
  auto options = detail::defaults<lxla_scatter_options, lxla_scatter_options_init>();
  options.update_window_dims = d.update_window_dims.data(), options.n_update_window_dims = d.update_window_dims.size();
  options.inserted_window_dims = d.inserted_window_dims.data(),
  options.n_inserted_window_dims = d.inserted_window_dims.size();
  options.input_batching_dims = d.input_batching_dims.data(),
  options.n_input_batching_dims = d.input_batching_dims.size();
  options.scatter_indices_batching_dims = d.scatter_indices_batching_dims.data();
  options.n_scatter_indices_batching_dims = d.scatter_indices_batching_dims.size();
  options.scatter_dims_to_operand_dims = d.scatter_dims_to_operand_dims.data();
  options.n_scatter_dims_to_operand_dims = d.scatter_dims_to_operand_dims.size();
  options.index_vector_dim = d.index_vector_dim;
  options.indices_are_sorted = d.indices_are_sorted ? 1 : 0;
  options.unique_indices = d.unique_indices ? 1 : 0;
  const auto [in, from] = detail::pairs(inputs, updates, "scatter");
  return detail::several<lxla_scatter>(in.size(), combiner.handle(), in.data(), indices.handle(), from.data(),
                                       in.size(), &options);
}

}  // namespace lazyxla

#endif  // LAZYXLA_INDEXING_HPP
