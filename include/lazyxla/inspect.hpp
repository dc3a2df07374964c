// The text, the hash and the memory of the programs that a sync would run.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_INSPECT_HPP
#define LAZYXLA_INSPECT_HPP

#include "tensor.hpp"

namespace lazyxla {

/// Returns the blake3 hash of the cache key of the programs that a sync of these tensors would run.
inline std::array<uint8_t, 32> graph_hash(const std::vector<Tensor> &tensors) {
  const auto list = detail::handles(tensors);
  std::array<uint8_t, 32> hash{};
  check(lxla_graph_hash(lxla_env{}, lxla_device{}, list.data(), list.size(), hash.data()));
  return hash;
}
/// Returns the StableHLO text of the programs that a sync of these tensors would compile.
inline std::string stablehlo(const std::vector<Tensor> &tensors) {
  const auto list = detail::handles(tensors);
  return detail::text<lxla_stablehlo>(list.data(), list.size());
}
/// Returns the device memory of the programs that a sync of these tensors would run. Compiles the programs.
inline lxla_memory_stats compiled_memory(const std::vector<Tensor> &tensors) {
  const auto list = detail::handles(tensors);
  lxla_memory_stats stats{};
  stats.struct_size = sizeof stats;
  check(lxla_compiled_memory(lxla_env{}, lxla_device{}, list.data(), list.size(), &stats));
  return stats;
}

}  // namespace lazyxla

#endif  // LAZYXLA_INSPECT_HPP
