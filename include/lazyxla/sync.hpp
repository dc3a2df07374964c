// Syncs of tensors. Steps and waits are in environment.hpp: members of Environment.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_SYNC_HPP
#define LAZYXLA_SYNC_HPP

#include "tensor.hpp"

namespace lazyxla {

/// Enqueues the computation of these tensors and of their pending operands. Donates nothing and does not wait.
inline void sync(const std::vector<Tensor> &tensors) {
  const auto list = detail::handles(tensors);
  check(lxla_sync(list.data(), list.size()));
}

}  // namespace lazyxla

#endif  // LAZYXLA_SYNC_HPP
