// Syncs, files and other libraries.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_RUN_HPP
#define LAZYXLA_RUN_HPP

#include "tensor.hpp"

namespace lazyxla {

/// Computes these tensors, and what they need; donates nothing, and does not wait.
inline void sync(const std::vector<Tensor> &tensors) {
  const auto list = detail::handles(tensors);
  check(lxla_sync(list.data(), list.size()));
}
/// The StableHLO text of what a sync of these tensors would compile.
inline std::string stablehlo(const std::vector<Tensor> &tensors) {
  const auto list = detail::handles(tensors);
  return detail::text<lxla_stablehlo>(list.data(), list.size());
}

/// Tensors by the names that they have in a file.
using Named = std::vector<std::pair<std::string, Tensor>>;

namespace detail {
inline std::pair<std::vector<const char *>, std::vector<lxla_tensor>> lists(const Named &named) {
  std::pair<std::vector<const char *>, std::vector<lxla_tensor>> out;
  for (const auto &[name, tensor] : named) out.first.push_back(name.c_str()), out.second.push_back(tensor.handle());
  return out;
}
}  // namespace detail

/// Writes a safetensors file, whole or not at all, and returns when it is on the disk. Donates nothing.
inline void save(const std::string &path, const Named &named) {
  const auto [names, tensors] = detail::lists(named);
  check(lxla_save(path.c_str(), names.data(), tensors.data(), names.size()));
}

/// A save in the background. The file holds the values of the moment when it was made; destroying it waits for nothing.
class AsyncSave {
 public:
  /// Starts it.
  AsyncSave(const std::string &path, const Named &named) {
    const auto [names, tensors] = detail::lists(named);
    check(lxla_save_async(path.c_str(), names.data(), tensors.data(), names.size(), &ticket_));
  }
  AsyncSave(const AsyncSave &) = delete;
  AsyncSave &operator=(const AsyncSave &) = delete;
  ~AsyncSave() { lxla_save_ticket_release(ticket_); }
  void wait() { check(lxla_save_wait(ticket_)); }  ///< Until the file is on the disk; its failure.
  /// How many bytes are written, and how many there are in all.
  std::pair<uint64_t, uint64_t> progress() const {
    std::pair<uint64_t, uint64_t> bytes;
    check(lxla_save_progress(ticket_, &bytes.first, &bytes.second));
    return bytes;
  }
  /// Whether it has ended, well or badly.
  bool done() const {
    int32_t done = 0;
    check(lxla_save_done(ticket_, &done));
    return done == 1;
  }

 private:
  lxla_save_ticket ticket_{};
};

/// What a safetensors file has: a JSON object of names.
inline std::string file_names(const std::string &path) { return detail::text<lxla_file_names>(path.c_str()); }
/// blake3 of the key of what a sync of these tensors would run.
inline std::array<uint8_t, 32> graph_hash(const std::vector<Tensor> &tensors) {
  const auto list = detail::handles(tensors);
  std::array<uint8_t, 32> hash{};
  check(lxla_graph_hash(lxla_env{}, lxla_device{}, list.data(), list.size(), hash.data()));
  return hash;
}
/// What the programs take of their device's memory that a sync of these tensors would run.
inline lxla_memory_stats compiled_memory(const std::vector<Tensor> &tensors) {
  const auto list = detail::handles(tensors);
  lxla_memory_stats stats{};
  stats.struct_size = sizeof stats;
  check(lxla_compiled_memory(lxla_env{}, lxla_device{}, list.data(), list.size(), &stats));
  return stats;
}

}  // namespace lazyxla

#endif  // LAZYXLA_RUN_HPP
