// Sizes, limits and promotion of dtypes.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_DTYPES_HPP
#define LAZYXLA_DTYPES_HPP

#include "environment.hpp"

namespace lazyxla {

/// Returns the size of one element in bytes.
inline size_t dtype_size(Dtype dtype) { return detail::get<lxla_dtype_size>(dtype); }
/// Returns the dtype to which two dtypes promote.
inline Dtype dtype_promote(Dtype a, Dtype b) { return static_cast<Dtype>(detail::get<lxla_dtype_promote>(a, b)); }
/// Returns whether the common dtype of `from` and `to` is `to`.
inline bool dtype_can_cast(Dtype from, Dtype to) { return detail::get<lxla_dtype_can_cast>(from, to) != 0; }
/// Returns the limits of a dtype.
inline lxla_dtype_limits dtype_info(Dtype dtype) {
  lxla_dtype_limits limits{};
  limits.struct_size = sizeof limits;
  return check(lxla_dtype_info(dtype, &limits)), limits;
}

}  // namespace lazyxla

#endif  // LAZYXLA_DTYPES_HPP
