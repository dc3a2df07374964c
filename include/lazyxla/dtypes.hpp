// Sizes, limits and promotion of dtypes.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_DTYPES_HPP
#define LAZYXLA_DTYPES_HPP

#include "environment.hpp"

namespace lazyxla {

/// Returns the size of one element in bytes.
inline size_t dtype_size(int32_t dtype) { return detail::get<lxla_dtype_size>(dtype); }
/// Returns the dtype to which two dtypes promote.
inline int32_t dtype_promote(int32_t a, int32_t b) { return detail::get<lxla_dtype_promote>(a, b); }
/// Returns whether the common dtype of `from` and `to` is `to`.
inline bool dtype_can_cast(int32_t from, int32_t to) { return detail::get<lxla_dtype_can_cast>(from, to) != 0; }
/// Returns the limits of a dtype.
inline lxla_dtype_limits dtype_info(int32_t dtype) {
  lxla_dtype_limits limits{};
  limits.struct_size = sizeof limits;
  return check(lxla_dtype_info(dtype, &limits)), limits;
}

}  // namespace lazyxla

#endif  // LAZYXLA_DTYPES_HPP
