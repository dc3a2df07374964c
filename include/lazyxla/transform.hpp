// Derivatives and batching of computations; gradients of pending tensors.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_TRANSFORM_HPP
#define LAZYXLA_TRANSFORM_HPP

#include "computation.hpp"

namespace lazyxla {

/// Options of reverse mode, as in lxla_vjp_options.
struct VjpOptions {
  std::optional<std::vector<size_t>> wrt;  ///< Parameters by which to differentiate; by default all that can be.
  bool captured = false;                   ///< Whether to differentiate by captured values too.
  int32_t checkpoint = LXLA_CHECKPOINT_SAVE_ALL;  ///< What the forward pass saves: one of LXLA_CHECKPOINT_*.
  std::vector<std::string> saved_names;           ///< Names of the values that SAVE_NAMED saves.
};

/// The two passes of a reverse-mode derivative.
struct Vjp {
  Computation forward;   ///< Parameters to results, then residuals.
  Computation backward;  ///< Residuals, then cotangents of the differentiable results, to gradients.
  size_t residuals;      ///< The number of residuals.
};

namespace detail {
// A list of indices, never NULL: NULL would mean all.
inline const size_t *indices_of(const std::vector<size_t> &indices) {
  static constexpr size_t none = 0;
  return indices.empty() ? &none : indices.data();
}

// Calls a function with options of reverse mode. The options refer to `given`, which outlives the call.
template <class Call> void with_vjp_options(const VjpOptions &given, Call call) {
  auto options = defaults<lxla_vjp_options, lxla_vjp_options_init>();
  std::vector<const char *> names;
  for (const std::string &name : given.saved_names) names.push_back(name.c_str());
  if (given.wrt) options.wrt = indices_of(*given.wrt), options.n_wrt = given.wrt->size();
  options.captured = given.captured ? 1 : 2;
  options.checkpoint = given.checkpoint;
  options.saved_names = names.data();
  options.n_saved_names = names.size();
  check(call(&options));
}
}  // namespace detail

/// The computation of f's parameters, then one tangent for each differentiable one, to f's results and their tangents.
inline Computation jvp(const Computation &f) {
  return Computation::adopt(detail::get<lxla_computation_jvp>(f.handle(), static_cast<const size_t *>(nullptr), size_t{0}));
}
/// As above, with tangents of these parameters only.
inline Computation jvp(const Computation &f, const std::vector<size_t> &wrt) {
  return Computation::adopt(detail::get<lxla_computation_jvp>(f.handle(), detail::indices_of(wrt), wrt.size()));
}
/// The forward and the backward pass of f.
inline Vjp vjp(const Computation &f, const VjpOptions &options = {}) {
  lxla_computation forward{}, backward{};
  size_t residuals = 0;
  detail::with_vjp_options(options, [&](const lxla_vjp_options *given) {
    return lxla_computation_vjp(f.handle(), given, &forward, &backward, &residuals);
  });
  return {Computation::adopt(forward), Computation::adopt(backward), residuals};
}
/// The computation of f's parameters to its results, then the gradients of the first result, a float scalar.
inline Computation value_and_grad(const Computation &f, const VjpOptions &options = {}) {
  lxla_computation made{};
  detail::with_vjp_options(options, [&](const lxla_vjp_options *given) {
    return lxla_computation_value_and_grad(f.handle(), given, &made);
  });
  return Computation::adopt(made);
}
/// f over a batch: in_axes and out_axes have the batch axis of each parameter and result, or -1 for one without it.
inline Computation vmap(const Computation &f, const Dims &in_axes, const Dims &out_axes, int64_t size) {
  return Computation::adopt(detail::get<lxla_computation_vmap>(f.handle(), in_axes.data(), in_axes.size(), out_axes.data(),
                                                               out_axes.size(), size));
}
/// A computation like primal, whose reverse-mode derivative is backward of the residuals of forward.
inline Computation with_vjp(const Computation &primal, const Computation &forward, const Computation &backward) {
  return Computation::adopt(detail::get<lxla_computation_with_vjp>(primal.handle(), forward.handle(), backward.handle()));
}
/// A computation like primal, whose forward-mode derivative is the second one; its transpose gives reverse mode.
inline Computation with_jvp(const Computation &primal, const Computation &derivative) {
  return Computation::adopt(detail::get<lxla_computation_with_jvp>(primal.handle(), derivative.handle()));
}
/// A computation like primal, batched by the second one, whose parameters and results have a leading axis of one size.
inline Computation with_vmap(const Computation &primal, const Computation &batched) {
  return Computation::adopt(detail::get<lxla_computation_with_vmap>(primal.handle(), batched.handle()));
}

/// Records the gradients of pending scalars, summed, by the values that xs have now.
inline std::vector<Tensor> gradients(const std::vector<Tensor> &ys, const std::vector<Tensor> &xs) {
  const auto of = detail::handles(ys), by = detail::handles(xs);
  return detail::several<lxla_gradients>(by.size(), of.data(), of.size(), static_cast<const lxla_tensor *>(nullptr), by.data(),
                                         by.size());
}
/// As above, for ys of any shape, each with its cotangent.
inline std::vector<Tensor> gradients(const std::vector<Tensor> &ys, const std::vector<Tensor> &xs,
                                     const std::vector<Tensor> &cotangents) {
  const auto [of, arriving] = detail::pairs(ys, cotangents, "gradients");
  const auto by = detail::handles(xs);
  return detail::several<lxla_gradients>(by.size(), of.data(), of.size(), arriving.data(), by.data(), by.size());
}
/// x, which derivatives treat as a constant.
inline Tensor stop_gradient(const Tensor &x) { return Tensor::make<lxla_stop_gradient>(x.handle()); }
/// x under a name, by which LXLA_CHECKPOINT_SAVE_NAMED saves it.
inline Tensor checkpoint_name(const Tensor &x, const std::string &name) {
  return Tensor::make<lxla_checkpoint_name>(x.handle(), name.c_str());
}

}  // namespace lazyxla

#endif  // LAZYXLA_TRANSFORM_HPP
