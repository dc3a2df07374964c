// Operations that rearrange, cut, join and repeat elements.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_SHAPE_HPP
#define LAZYXLA_SHAPE_HPP

#include "tensor.hpp"

#include <algorithm>

namespace lazyxla {

namespace detail {
// Returns sizes with the one that is -1 replaced by what the others leave of x.
inline Dims whole(const Tensor &x, const Dims &dims) {
  const auto free = std::find(dims.begin(), dims.end(), -1);
  if (free == dims.end()) return dims;
  const auto refuse = [&](const std::string &why) {
    throw Error(LXLA_INVALID_ARGUMENT,
                "lazyxla::reshape: dims: dims[" + std::to_string(free - dims.begin()) + "] is -1; " + why);
  };
  const auto count = static_cast<int64_t>(x.size());
  int64_t others = 1;
  for (auto at = dims.begin(); at != dims.end(); ++at) {
    if (at == free) continue;
    if (*at < 0) refuse("want no other negative size, not " + std::to_string(*at));
    // More than the elements of x: kept below an overflow.
    others = *at > 0 && others > count / *at ? count + 1 : others * *at;
  }
  if (others == 0 || count % others != 0)
    refuse("x has " + std::to_string(count) + " elements, not a multiple of the product of the other sizes");
  Dims made = dims;
  made[static_cast<size_t>(free - dims.begin())] = count / others;
  return made;
}
}  // namespace detail

/// Changes the shape; elements stay in row-major order. One size may be -1: what the other sizes leave.
inline Tensor reshape(const Tensor &x, const Dims &dims) {
  return detail::listed<lxla_reshape>(x, detail::whole(x, dims));
}
/// Broadcasts x to a shape by NumPy's rules.
inline Tensor broadcast_to(const Tensor &x, const Dims &dims) { return detail::listed<lxla_broadcast_to>(x, dims); }
/// Permutes the axes: axis i of the result is axis perm[i] of x.
inline Tensor transpose(const Tensor &x, const Dims &perm) { return detail::listed<lxla_transpose>(x, perm); }
/// Reverses the order of the axes.
inline Tensor transpose(const Tensor &x) {
  Dims perm(x.rank());
  for (size_t i = 0; i < perm.size(); i++) perm[i] = static_cast<int64_t>(perm.size() - 1 - i);
  return transpose(x, perm);
}
/// Reverses the order of the elements along axes. An empty list, {}, returns x.
inline Tensor reverse(const Tensor &x, const Dims &axes) { return detail::listed<lxla_reverse>(x, axes); }
/// Reverses the order of the elements along all axes.
inline Tensor flip(const Tensor &x) { return detail::along_all<lxla_flip>(x); }
/// Reverses the order of the elements along axes. An empty list, {}, returns x.
inline Tensor flip(const Tensor &x, const Dims &axes) { return detail::listed<lxla_flip>(x, axes); }
/// Shifts the elements along axes; elements shifted beyond one end reenter at the other.
inline Tensor roll(const Tensor &x, const Dims &shifts, const Dims &axes) {
  if (shifts.size() != axes.size())
    throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::roll: shifts and axes differ in length");
  return Tensor::make<lxla_roll>(x.handle(), shifts.data(), axes.data(), axes.size());
}
/// Removes all axes of size 1.
inline Tensor squeeze(const Tensor &x) { return detail::along_all<lxla_squeeze>(x); }
/// Removes the listed axes, which must have size 1. An empty list, {}, returns x.
inline Tensor squeeze(const Tensor &x, const Dims &axes) { return detail::listed<lxla_squeeze>(x, axes); }
/// Inserts axes of size 1; `axes` are their positions in the result.
inline Tensor expand_dims(const Tensor &x, const Dims &axes) { return detail::listed<lxla_expand_dims>(x, axes); }

/// Concatenates tensors along an axis.
inline Tensor concatenate(const std::vector<Tensor> &tensors, Int axis = 0) {
  const auto list = detail::handles(tensors);
  return Tensor::make<lxla_concatenate>(list.data(), list.size(), axis);
}
/// Stacks tensors of one shape along a new axis.
inline Tensor stack(const std::vector<Tensor> &tensors, Int axis = 0) {
  const auto list = detail::handles(tensors);
  return Tensor::make<lxla_stack>(list.data(), list.size(), axis);
}
/// Splits into parts of these sizes along an axis.
inline std::vector<Tensor> split(const Tensor &x, const Dims &sizes, Int axis) {
  return detail::several<lxla_split>(sizes.size(), x.handle(), sizes.data(), sizes.size(), axis);
}
/// Splits into `n` parts of equal size along an axis. `n` is an integer: {n} is one part of size n.
template <class N, class = std::enable_if_t<detail::is_integer<N>>>
std::vector<Tensor> split(const Tensor &x, N n, Int axis) {
  const size_t parts = Count(n);
  return detail::several<lxla_split>(parts, x.handle(), static_cast<const int64_t *>(nullptr), parts, axis);
}
/// Takes x[start : limit : stride] on each axis. Strides default to 1.
inline Tensor slice(const Tensor &x, const Dims &starts, const Dims &limits, const Dims &strides = {}) {
  const int64_t *steps = strides.empty() ? nullptr : strides.data();
  if (starts.size() != limits.size() || (steps && starts.size() != strides.size()))
    throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::slice: starts, limits and strides differ in length");
  return Tensor::make<lxla_slice>(x.handle(), starts.data(), limits.data(), steps, starts.size());
}
/// Takes x[start : stop : step] along an axis by Python's rules.
inline Tensor slice_axis(const Tensor &x, Int axis, Int start, Int stop, Int step = 1) {
  return Tensor::make<lxla_slice_axis>(x.handle(), axis, start, stop, step);
}

/// Pads x with a value before, after and between its elements.
inline Tensor pad(const Tensor &x, const Tensor &value, const Dims &low, const Dims &high, const Dims &interior = {}) {
  const int64_t *between = interior.empty() ? nullptr : interior.data();
  if (low.size() != high.size() || (between && low.size() != interior.size()))
    throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::pad: low, high and interior differ in length");
  return Tensor::make<lxla_pad>(x.handle(), value.handle(), low.data(), high.data(), between, low.size());
}
/// Pads x with a number before, after and between its elements.
inline Tensor pad(const Tensor &x, const Scalar &value, const Dims &low, const Dims &high, const Dims &interior = {}) {
  const int64_t *between = interior.empty() ? nullptr : interior.data();
  if (low.size() != high.size() || (between && low.size() != interior.size()))
    throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::pad: low, high and interior differ in length");
  return Tensor::make<lxla_pad_with_scalar>(x.handle(), value.get(), low.data(), high.data(), between, low.size());
}
/// Repeats the whole tensor along each axis.
inline Tensor tile(const Tensor &x, const Dims &repeats) { return detail::listed<lxla_tile>(x, repeats); }
/// Repeats each slice along an axis.
inline Tensor repeat(const Tensor &x, Int repeats, Int axis) {
  return Tensor::make<lxla_repeat>(x.handle(), repeats, axis);
}

}  // namespace lazyxla

#endif  // LAZYXLA_SHAPE_HPP
