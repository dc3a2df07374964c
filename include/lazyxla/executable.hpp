// Computations compiled as objects.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_EXECUTABLE_HPP
#define LAZYXLA_EXECUTABLE_HPP

#include "computation.hpp"

#include <string>
#include <utility>
#include <vector>

namespace lazyxla {

/// A computation that is compiled for one device, with its captured values there. Any number of threads run it at once.
class Executable {
 public:
  /// Compiles a computation for a device; donated are the indices of the parameters whose buffers a run may consume.
  explicit Executable(const Computation &f, lxla_device device = {}, const std::vector<size_t> &donated = {}) {
    auto options = detail::defaults<lxla_executable_options, lxla_executable_options_init>();
    options.donated = donated.data();
    options.n_donated = donated.size();
    check(lxla_executable_compile(f.handle(), device, &options, &executable_));
    results_ = f.results();
  }
  /// Loads an executable, which has this number of results, from a file that save wrote, for a device. Compiles it only
  /// where its code does not fit.
  static Executable load(const std::string &path, Count results, Place place = {}) {
    lxla_executable executable{};
    check(lxla_executable_load(place.env, place.device, path.c_str(), &executable));
    return Executable(executable, results);
  }
  Executable(const Executable &other) : executable_(other.executable_), results_(other.results_) {
    check(lxla_executable_retain(executable_));
  }
  Executable &operator=(Executable other) noexcept {
    std::swap(executable_, other.executable_);
    std::swap(results_, other.results_);
    return *this;
  }
  ~Executable() { lxla_executable_release(executable_); }  ///< Runs in flight end, and results stay.

  lxla_executable handle() const noexcept { return executable_; }  ///< For calls of lazyxla.h.

  /// Runs on tensors of the device; the results are in flight.
  std::vector<Tensor> operator()(const std::vector<Tensor> &inputs) const {
    const auto in = detail::handles(inputs);
    std::vector<lxla_tensor> out(results_);
    check(lxla_executable_run(executable_, in.data(), in.size(), out.data(), out.size()));
    return detail::adopted(out);
  }
  /// Runs on row-major host memory, pairs of an address and a size in bytes, and waits.
  void run_host(const std::vector<std::pair<const void *, size_t>> &inputs,
                const std::vector<std::pair<void *, size_t>> &outputs) const {
    std::vector<const void *> in;
    std::vector<void *> out;
    std::vector<size_t> in_sizes, out_sizes;
    for (const auto &input : inputs) in.push_back(input.first), in_sizes.push_back(input.second);
    for (const auto &output : outputs) out.push_back(output.first), out_sizes.push_back(output.second);
    check(lxla_executable_run_host(executable_, in.data(), in_sizes.data(), in.size(), out.data(), out_sizes.data(),
                                   out.size()));
  }
  /// Writes the executable to a file, whole or not at all.
  void save(const std::string &path) const { check(lxla_executable_save(executable_, path.c_str())); }
  /// Describes the executable as JSON.
  std::string describe() const { return detail::text<lxla_executable_describe>(executable_); }

 private:
  Executable(lxla_executable executable, size_t results) noexcept : executable_(executable), results_(results) {}
  lxla_executable executable_{};
  size_t results_ = 0;
};

}  // namespace lazyxla

#endif  // LAZYXLA_EXECUTABLE_HPP
