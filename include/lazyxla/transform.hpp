// Derivatives and batching of computations; gradients of pending tensors.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_TRANSFORM_HPP
#define LAZYXLA_TRANSFORM_HPP

#include "computation.hpp"

namespace lazyxla {

/// Options of reverse mode, as in lxla_vjp_options.
struct VjpOptions {
  std::optional<std::vector<size_t>> wrt;  ///< Parameters by which to differentiate; by default all that can be.
  Flag captured = false;                   ///< Whether to differentiate by captured values too.
  CheckpointPolicy checkpoint = LXLA_CHECKPOINT_SAVE_ALL;  ///< What the forward pass saves.
  std::vector<std::string> saved_names;                    ///< Names of the values that SAVE_NAMED saves.
};

/// Options that differentiate by the first n parameters: the weights of a function of weights, then data.
inline VjpOptions by_first(Count n) {
  VjpOptions options;
  options.wrt.emplace(n);
  for (size_t i = 0; i < n; i++) (*options.wrt)[i] = i;
  return options;
}

/// Forward and backward pass of a reverse-mode derivative.
struct Vjp {
  Computation forward;   ///< Parameters to results, then residuals.
  Computation backward;  ///< Residuals, then cotangents of the differentiable results, to gradients.
  size_t residuals;      ///< The number of residuals.
};

namespace detail {
// Returns pointers to the names, which must outlive them.
inline std::vector<const char *> pointers(const std::vector<std::string> &names) {
  std::vector<const char *> made;
  for (const std::string &name : names) made.push_back(name.c_str());
  return made;
}

// Returns a pointer to the list of indices that is never NULL, because NULL would select all.
inline const size_t *indices_of(const std::vector<size_t> &indices) {
  static constexpr size_t none = 0;
  return indices.empty() ? &none : indices.data();
}

// Calls a function with options of reverse mode, which point into `given`.
template <class Call> void with_vjp_options(const VjpOptions &given, Call call) {
  auto options = defaults<lxla_vjp_options, lxla_vjp_options_init>();
  const std::vector<const char *> names = pointers(given.saved_names);
  if (given.wrt) options.wrt = indices_of(*given.wrt), options.n_wrt = given.wrt->size();
  options.captured = given.captured ? LXLA_ON : LXLA_OFF;
  options.checkpoint = given.checkpoint;
  options.saved_names = names.data();
  options.n_saved_names = names.size();
  check(call(&options));
}
}  // namespace detail

/// Returns the forward-mode derivative of f: it takes f's parameters, then one tangent for each differentiable one, and
/// returns f's results, then one tangent for each differentiable one.
inline Computation jvp(const Computation &f) {
  return Computation::adopt(
      detail::get<lxla_computation_jvp>(f.handle(), static_cast<const size_t *>(nullptr), size_t{0}));
}
/// Returns the forward-mode derivative of f, with tangents of the listed parameters only.
inline Computation jvp(const Computation &f, const std::vector<size_t> &wrt) {
  return Computation::adopt(detail::get<lxla_computation_jvp>(f.handle(), detail::indices_of(wrt), wrt.size()));
}
/// Returns the reverse-mode derivative of f: its forward and its backward pass.
inline Vjp vjp(const Computation &f, const VjpOptions &options = {}) {
  lxla_computation forward{}, backward{};
  size_t residuals = 0;
  detail::with_vjp_options(options, [&](const lxla_vjp_options *given) {
    return lxla_computation_vjp(f.handle(), given, &forward, &backward, &residuals);
  });
  return {Computation::adopt(forward), Computation::adopt(backward), residuals};
}
/// Returns the computation with f's parameters that returns f's results, then the gradients of the first result, a
/// float scalar.
inline Computation value_and_grad(const Computation &f, const VjpOptions &options = {}) {
  lxla_computation made{};
  detail::with_vjp_options(options, [&](const lxla_vjp_options *given) {
    return lxla_computation_value_and_grad(f.handle(), given, &made);
  });
  return Computation::adopt(made);
}
/// Returns f over a batch. in_axes and out_axes list the batch axis of each parameter and result; -1 for one without a
/// batch axis.
inline Computation vmap(const Computation &f, const Dims &in_axes, const Dims &out_axes, Int size) {
  return Computation::adopt(detail::get<lxla_computation_vmap>(f.handle(), in_axes.data(), in_axes.size(),
                                                               out_axes.data(), out_axes.size(), size));
}
/// Returns f with a checkpoint policy of its own, one of LXLA_CHECKPOINT_*: its derivatives save what the policy says
/// of its inside. saved_names are for LXLA_CHECKPOINT_SAVE_NAMED.
inline Computation checkpoint(const Computation &f, CheckpointPolicy policy,
                              const std::vector<std::string> &saved_names = {}) {
  const std::vector<const char *> names = detail::pointers(saved_names);
  return Computation::adopt(detail::get<lxla_computation_checkpoint>(f.handle(), policy, names.data(), names.size()));
}
/// Returns f with its captured values as further parameters, after its own.
inline Computation lift(const Computation &f) {
  return Computation::adopt(detail::get<lxla_computation_lift>(f.handle()));
}
/// Returns primal with a custom reverse-mode derivative: backward, applied to the residuals that forward returns. A
/// custom forward-mode derivative of primal stays.
inline Computation with_vjp(const Computation &primal, const Computation &forward, const Computation &backward) {
  return Computation::adopt(
      detail::get<lxla_computation_with_vjp>(primal.handle(), forward.handle(), backward.handle()));
}
/// Returns primal with a custom forward-mode derivative; reverse mode transposes it, unless primal has a custom
/// reverse-mode derivative, which stays.
inline Computation with_jvp(const Computation &primal, const Computation &derivative) {
  return Computation::adopt(detail::get<lxla_computation_with_jvp>(primal.handle(), derivative.handle()));
}
/// Returns primal with a custom batching rule: batched takes primal's parameters and returns its results, all with a
/// leading batch axis of one size.
inline Computation with_vmap(const Computation &primal, const Computation &batched) {
  return Computation::adopt(detail::get<lxla_computation_with_vmap>(primal.handle(), batched.handle()));
}

/// Records the gradients of the sum of pending scalars with respect to the current values of xs.
inline std::vector<Tensor> gradients(const std::vector<Tensor> &ys, const std::vector<Tensor> &xs) {
  const auto of = detail::handles(ys), by = detail::handles(xs);
  return detail::several<lxla_gradients>(by.size(), of.data(), of.size(), static_cast<const lxla_tensor *>(nullptr),
                                         by.data(), by.size());
}
/// Records the gradients of pending ys of any shape, each with its cotangent, summed over ys.
inline std::vector<Tensor> gradients(const std::vector<Tensor> &ys, const std::vector<Tensor> &xs,
                                     const std::vector<Tensor> &cotangents) {
  const auto [of, arriving] = detail::pairs(ys, cotangents, "gradients");
  const auto by = detail::handles(xs);
  return detail::several<lxla_gradients>(by.size(), of.data(), of.size(), arriving.data(), by.data(), by.size());
}

/// Options of gradients, as in lxla_gradients_options.
struct GradientsOptions {
  Flag require_connected = false;  ///< Whether one of xs to which no derivative passes is INVALID_ARGUMENT, or zero.
};
/// Records the gradients of pending ys, summed over ys, with options: of scalars, or each with its cotangent.
inline std::vector<Tensor> gradients_with(const GradientsOptions &given, const std::vector<Tensor> &ys,
                                          const std::vector<Tensor> &xs,
                                          const std::optional<std::vector<Tensor>> &cotangents = std::nullopt) {
  const auto [of, arriving] = detail::pairs(ys, cotangents ? *cotangents : ys, "gradients_with");
  const auto by = detail::handles(xs);
  auto options = detail::defaults<lxla_gradients_options, lxla_gradients_options_init>();
  options.require_connected = given.require_connected ? LXLA_ON : LXLA_OFF;
  return detail::several<lxla_gradients_with_options>(by.size(), of.data(), of.size(),
                                                      cotangents ? arriving.data() : nullptr, by.data(), by.size(),
                                                      static_cast<const lxla_gradients_options *>(&options));
}

/// Returns x as a constant for derivatives.
inline Tensor stop_gradient(const Tensor &x) { return Tensor::make<lxla_stop_gradient>(x.handle()); }
/// Returns x under a name; LXLA_CHECKPOINT_SAVE_NAMED saves values by their names.
inline Tensor checkpoint_name(const Tensor &x, const std::string &name) {
  return Tensor::make<lxla_checkpoint_name>(x.handle(), name.c_str());
}

}  // namespace lazyxla

#endif  // LAZYXLA_TRANSFORM_HPP
