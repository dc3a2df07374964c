// Traced computations.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_COMPUTATION_HPP
#define LAZYXLA_COMPUTATION_HPP

#include "tensor.hpp"

namespace lazyxla {

/// A traced computation: recorded once over placeholders, called any number of times.
class Computation {
 public:
  /// Traces the computation of results from params, which are distinct placeholders.
  Computation(const std::vector<Tensor> &params, const std::vector<Tensor> &results) {
    const auto in = detail::handles(params), out = detail::handles(results);
    check(lxla_computation_trace(in.data(), in.size(), out.data(), out.size(), &computation_));
  }
  /// Takes ownership of a reference that a function of lazyxla.h returned.
  static Computation adopt(lxla_computation computation) noexcept { return Computation(computation); }
  Computation(const Computation &other) : computation_(other.computation_) {
    check(lxla_computation_retain(computation_));
  }
  Computation &operator=(Computation other) noexcept { return std::swap(computation_, other.computation_), *this; }
  ~Computation() { lxla_computation_release(computation_); }  ///< Calls that were recorded stay.

  lxla_computation handle() const noexcept { return computation_; }  ///< For calls of lazyxla.h.
  size_t params() const { return info()[0]; }                        ///< How many parameters it has.
  size_t results() const { return info()[1]; }                       ///< How many results it has.
  size_t captured() const { return info()[2]; }                      ///< How many values it captured.

  /// Records a call with these arguments and returns its results.
  std::vector<Tensor> operator()(const std::vector<Tensor> &args) const {
    const auto in = detail::handles(args);
    std::vector<lxla_tensor> out(results());
    check(lxla_computation_call(computation_, in.data(), in.size(), out.data(), out.size()));
    return detail::adopted(out);
  }
  /// Returns a captured value as a tensor.
  Tensor captured_at(Count index) const { return Tensor::make<lxla_computation_captured>(computation_, index); }
  /// Returns the StableHLO text of the computation, a complete module.
  std::string stablehlo() const { return detail::text<lxla_computation_stablehlo>(computation_); }
  /// Runs it on an XLA device and natively. Returns the first operation that differs as JSON; see
  /// lxla_computation_compare.
  std::string compare(const std::vector<Tensor> &args, Place place = lxla_device{}, Real tolerance = 0) const {
    const auto in = detail::handles(args);
    return detail::text<lxla_computation_compare>(place.env, place.device, computation_, in.data(), in.size(),
                                                  tolerance);
  }
  /// Describes parameters, results, captured values and operations as JSON.
  std::string describe() const { return detail::text<lxla_computation_describe>(computation_); }

 private:
  explicit Computation(lxla_computation computation) noexcept : computation_(computation) {}
  std::array<size_t, 3> info() const {
    std::array<size_t, 3> info{};
    check(lxla_computation_info(computation_, &info[0], &info[1], &info[2]));
    return info;
  }
  lxla_computation computation_{};
};

/// A trace of this thread: what it records until `end` belongs to the computation, whatever it depends on. Traces nest;
/// a trace whose object is destroyed without `end` is abandoned. See lxla_tracing_begin.
class Tracing {
 public:
  /// Begins a trace. Without a device, its parameters and results have the device.
  explicit Tracing(Place place = lxla_device{}) { check(lxla_tracing_begin(place.env, place.device)); }
  ~Tracing() {
    if (is_open_) lxla_tracing_abandon();
  }
  Tracing(const Tracing &) = delete;
  Tracing &operator=(const Tracing &) = delete;

  /// Ends the trace, and returns the computation of results from params, which are distinct placeholders.
  Computation end(const std::vector<Tensor> &params, const std::vector<Tensor> &results) {
    const auto in = detail::handles(params), out = detail::handles(results);
    lxla_computation computation{};
    check(lxla_tracing_end(in.data(), in.size(), out.data(), out.size(), &computation));
    is_open_ = false;
    return Computation::adopt(computation);
  }

 private:
  bool is_open_ = true;
};

namespace detail {
// Returns the handles of the inputs and of their companions (initial values or updates), one for each input.
inline std::pair<std::vector<lxla_tensor>, std::vector<lxla_tensor>> pairs(const std::vector<Tensor> &inputs,
                                                                           const std::vector<Tensor> &inits,
                                                                           const char *what) {
  if (inputs.size() != inits.size())
    throw Error(LXLA_INVALID_ARGUMENT,
                std::string("lazyxla::") + what + ": inputs and their companions differ in number");
  return {handles(inputs), handles(inits)};
}
}  // namespace detail

}  // namespace lazyxla

#endif  // LAZYXLA_COMPUTATION_HPP
