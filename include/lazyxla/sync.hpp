// Syncs and steps of tensors. Steps of devices, and waits, are in environment.hpp: members of Environment.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_SYNC_HPP
#define LAZYXLA_SYNC_HPP

#include <functional>
#include <memory>

#include "tensor.hpp"

namespace lazyxla {

/// Enqueues the computation of these tensors and of their pending operands. Donates nothing and does not wait.
inline void sync(const std::vector<Tensor> &tensors) {
  const auto list = detail::handles(tensors);
  check(lxla_sync(list.data(), list.size()));
}

/// Computes these tensors and their pending operands as a step, which donates what nothing needs any more. The tensors
/// are on one device. With `wait`, blocks until the device has finished.
inline void step(const std::vector<Tensor> &tensors, Flag wait = false) {
  const auto list = detail::handles(tensors);
  check(lxla_step_tensors(list.data(), list.size(), wait ? 1 : 0));
}

/// Runs a step of a place: computes all that is recorded on its device, or on all devices, in place of values that no
/// tensor has any more. See Environment::mark_step.
inline void step(const Place &at) { check(lxla_mark_step(at.env, at.device, 0)); }
/// Runs a step of the device of UseDevice, or else of all devices of the current environment.
inline void step() { step(Place()); }

/// Returns the number of runs and copies that this process has enqueued on devices, for `Environment::wait_for`.
inline uint64_t enqueued() {
  uint64_t number = 0;
  check(lxla_enqueued(&number));
  return number;
}

/// Waits until the value of a tensor is on its device or its computation has failed, for at most `timeout_ms`
/// milliseconds. Returns whether it is. Computes a pending value first, as `sync`.
inline bool wait_for(const Tensor &tensor, Int timeout_ms) {
  int32_t ready = 0;
  check(lxla_tensor_wait_for(tensor.handle(), timeout_ms, &ready));
  return ready == 1;
}

/// Calls `fn` once, on a thread of the library, when the value of a tensor is on its device: with NULL, or with the
/// error by which its computation has failed. Computes a pending value first, as `sync`. See lxla_tensor_on_ready.
inline void on_ready(const Tensor &tensor, std::function<void(const Error *)> fn) {
  using Function = std::function<void(const Error *)>;
  const auto call = [](lxla_status status, const char *message, void *user) {
    const std::unique_ptr<Function> owned(static_cast<Function *>(user));
    const Error error(status, message);
    (*owned)(status == LXLA_OK ? nullptr : &error);
  };
  auto owned = std::make_unique<Function>(std::move(fn));
  check(lxla_tensor_on_ready(tensor.handle(), call, owned.get()));
  owned.release();
}

}  // namespace lazyxla

#endif  // LAZYXLA_SYNC_HPP
