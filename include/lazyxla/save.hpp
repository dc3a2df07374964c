// Safetensors files: saving and the list of names. Loading is in tensor.hpp: Tensor::load.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_SAVE_HPP
#define LAZYXLA_SAVE_HPP

#include "tensor.hpp"

#include <map>

namespace lazyxla {

/// Names and handles of the tensors to be saved.
using Named = std::vector<std::pair<std::string, Tensor>>;

namespace detail {
inline std::pair<std::vector<const char *>, std::vector<lxla_tensor>> lists(const Named &named) {
  std::pair<std::vector<const char *>, std::vector<lxla_tensor>> out;
  for (const auto &[name, tensor] : named) out.first.push_back(name.c_str()), out.second.push_back(tensor.handle());
  return out;
}
}  // namespace detail

/// Options of a save, as in lxla_save_options.
struct SaveOptions {
  std::map<std::string, std::string> metadata;  ///< Metadata of the file. If it is empty, none is given.
  Flag keep_metadata = true;                    ///< Whether the metadata of the replaced file is kept if none is given.
};

namespace detail {
// Calls a function with options of a save, which point into `given`.
template <class Call> void with_save_options(const SaveOptions &given, Call call) {
  auto options = defaults<lxla_save_options, lxla_save_options_init>();
  std::vector<const char *> keys, values;
  for (const auto &[key, value] : given.metadata) keys.push_back(key.c_str()), values.push_back(value.c_str());
  options.metadata_keys = keys.data();
  options.metadata_values = values.data();
  options.n_metadata = keys.size();
  options.keep_metadata = given.keep_metadata ? LXLA_ON : LXLA_OFF;
  check(call(&options));
}
}  // namespace detail

/// Writes a safetensors file atomically, and returns when it is durable. Donates nothing. The metadata of a replaced
/// file is kept.
inline void save(const std::string &path, const Named &named) {
  const auto [names, tensors] = detail::lists(named);
  check(lxla_save(path.c_str(), names.data(), tensors.data(), names.size()));
}
/// Writes a safetensors file with options.
inline void save(const std::string &path, const Named &named, const SaveOptions &options) {
  const auto lists = detail::lists(named);
  detail::with_save_options(options, [&](const lxla_save_options *given) {
    return lxla_save_with_options(path.c_str(), lists.first.data(), lists.second.data(), named.size(), given);
  });
}

/// A save in the background. The file gets the values at construction; the destructor does not wait for it.
class AsyncSave {
 public:
  /// Starts the save.
  AsyncSave(const std::string &path, const Named &named) {
    const auto [names, tensors] = detail::lists(named);
    check(lxla_save_async(path.c_str(), names.data(), tensors.data(), names.size(), &ticket_));
  }
  /// Starts the save, with options.
  AsyncSave(const std::string &path, const Named &named, const SaveOptions &options) {
    const auto lists = detail::lists(named);
    detail::with_save_options(options, [&](const lxla_save_options *given) {
      return lxla_save_async_with_options(path.c_str(), lists.first.data(), lists.second.data(), named.size(), given,
                                          &ticket_);
    });
  }
  AsyncSave(const AsyncSave &) = delete;
  AsyncSave &operator=(const AsyncSave &) = delete;
  ~AsyncSave() { lxla_save_ticket_release(ticket_); }
  void wait() { check(lxla_save_wait(ticket_)); }  ///< Waits until the file is on disk; throws if the save failed.
  /// Returns the number of bytes written so far, and their total.
  std::pair<uint64_t, uint64_t> progress() const {
    std::pair<uint64_t, uint64_t> bytes;
    check(lxla_save_progress(ticket_, &bytes.first, &bytes.second));
    return bytes;
  }
  /// Returns whether the save has finished, successfully or not.
  bool done() const {
    int32_t done = 0;
    check(lxla_save_done(ticket_, &done));
    return done == 1;
  }

 private:
  lxla_save_ticket ticket_{};
};

/// Returns the contents of a safetensors file: a JSON object that maps names to dtypes and dims.
inline std::string file_names(const std::string &path) { return detail::text<lxla_file_names>(path.c_str()); }

/// Returns the metadata of a safetensors file: a JSON object that maps keys to strings.
inline std::string file_metadata(const std::string &path) { return detail::text<lxla_file_metadata>(path.c_str()); }

}  // namespace lazyxla

#endif  // LAZYXLA_SAVE_HPP
