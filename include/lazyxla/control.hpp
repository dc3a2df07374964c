// Control flow: loops and branches of computations, barriers, custom calls.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_CONTROL_HPP
#define LAZYXLA_CONTROL_HPP

#include "computation.hpp"

namespace lazyxla {

/// Records a while loop: starts with init, and applies body as long as cond returns true.
inline std::vector<Tensor> while_loop(const Computation &cond, const Computation &body,
                                      const std::vector<Tensor> &init) {
  const auto in = detail::handles(init);
  std::vector<lxla_tensor> out(in.size());
  check(lxla_while(cond.handle(), body.handle(), in.data(), in.size(), out.data()));
  return detail::adopted(out);
}
/// Results of while_bounded.
struct Bounded {
  std::vector<Tensor> values;  ///< The final values.
  Tensor ended;                ///< pred[]: false if the bound was reached while cond still held.
};
/// Records a while loop of at most max_iterations iterations, which has derivatives in both modes.
inline Bounded while_bounded(const Computation &cond, const Computation &body, const std::vector<Tensor> &init,
                             Int max_iterations) {
  const auto in = detail::handles(init);
  std::vector<lxla_tensor> out(in.size());
  lxla_tensor ended{};
  check(lxla_while_bounded(cond.handle(), body.handle(), in.data(), in.size(), max_iterations, out.data(), &ended));
  return {detail::adopted(out), Tensor::adopt(ended)};
}
/// Applies on_true to args if pred is true, else on_false.
inline std::vector<Tensor> cond(const Tensor &pred, const Computation &on_true, const Computation &on_false,
                                const std::vector<Tensor> &args) {
  const auto in = detail::handles(args);
  std::vector<lxla_tensor> out(on_true.results());
  check(lxla_cond(pred.handle(), on_true.handle(), on_false.handle(), in.data(), in.size(), out.data(), out.size()));
  return detail::adopted(out);
}
/// Applies branches[index] to args; an index out of range selects the last branch.
inline std::vector<Tensor> switch_case(const Tensor &index, const std::vector<Computation> &branches,
                                       const std::vector<Tensor> &args) {
  std::vector<lxla_computation> list;
  for (const Computation &branch : branches) list.push_back(branch.handle());
  const auto in = detail::handles(args);
  std::vector<lxla_tensor> out(branches.empty() ? 0 : branches[0].results());
  check(lxla_case(index.handle(), list.data(), list.size(), in.data(), in.size(), out.data(), out.size()));
  return detail::adopted(out);
}
/// Applies body along the leading axis of xs, in reverse order if `reverse`. Returns the final carry and the stacked
/// results.
inline std::pair<std::vector<Tensor>, std::vector<Tensor>> scan(const Computation &body,
                                                                const std::vector<Tensor> &init,
                                                                const std::vector<Tensor> &xs, Int length,
                                                                Flag reverse = false) {
  const auto in = detail::handles(init), arrays = detail::handles(xs);
  const size_t results = body.results();
  std::vector<lxla_tensor> carry(in.size()), ys(results > in.size() ? results - in.size() : 0);
  check(lxla_scan(body.handle(), in.data(), in.size(), arrays.data(), arrays.size(), length, reverse ? 1 : 0,
                  carry.data(), ys.data(), ys.size()));
  return {detail::adopted(carry), detail::adopted(ys)};
}

/// Returns the tensors unchanged, behind a compiler barrier: computations on the results are not merged with
/// computations on the tensors.
inline std::vector<Tensor> optimization_barrier(const std::vector<Tensor> &tensors) {
  const auto list = detail::handles(tensors);
  return detail::several<lxla_optimization_barrier>(list.size(), list.data(), list.size());
}
/// Calls a target registered with the device's plugin; the results have the given dtypes and shapes.
inline std::vector<Tensor> custom_call(const std::string &target, const std::vector<Tensor> &operands,
                                       const std::vector<std::pair<Dtype, Dims>> &results,
                                       const std::string &backend_config = "",
                                       CustomCallVersion api_version = CustomCallVersion{},
                                       Flag has_side_effect = false) {
  auto options = detail::defaults<lxla_custom_call_options, lxla_custom_call_options_init>();
  options.backend_config = backend_config.empty() ? nullptr : backend_config.c_str();
  options.api_version = api_version;
  options.has_side_effect = has_side_effect ? LXLA_ON : LXLA_OFF;
  std::vector<int32_t> dtypes;
  std::vector<size_t> ranks;
  Dims dims;
  for (const auto &[dtype, shape] : results) {
    dtypes.push_back(dtype), ranks.push_back(shape.size());
    dims.insert(dims.end(), shape.begin(), shape.end());
  }
  const auto in = detail::handles(operands);
  return detail::several<lxla_custom_call>(results.size(), target.c_str(), in.data(), in.size(), dtypes.data(),
                                           ranks.data(), dims.data(), results.size(), &options);
}

}  // namespace lazyxla

#endif  // LAZYXLA_CONTROL_HPP
