// Kernels of the caller and host callbacks.
#ifndef LAZYXLA_KERNELS_HPP
#define LAZYXLA_KERNELS_HPP

#include <string>
#include <utility>
#include <vector>

#include "environment.hpp"
#include "tensor.hpp"

namespace lazyxla {

/// Options of a kernel, with the defaults of the library.
inline lxla_kernel_options kernel_options() {
  return detail::defaults<lxla_kernel_options, lxla_kernel_options_init>();
}

/// Registers a kernel in an environment under a name.
inline void kernel_register(lxla_env env, const std::string &target, lxla_kernel_fn fn, void *user = nullptr,
                            const lxla_kernel_options *options = nullptr) {
  check(lxla_kernel_register(env, target.c_str(), fn, user, options));
}
/// Removes a kernel's name. What is recorded keeps the kernel.
inline void kernel_unregister(lxla_env env, const std::string &target) {
  check(lxla_kernel_unregister(env, target.c_str()));
}

namespace detail {
/// Dtypes, ranks and sizes of the outputs of a call.
struct Outputs {
  std::vector<int32_t> dtypes;
  std::vector<size_t> ranks;
  Dims dims;
  explicit Outputs(const std::vector<std::pair<Dtype, Dims>> &outputs) {
    for (const auto &[dtype, shape] : outputs) {
      dtypes.push_back(dtype), ranks.push_back(shape.size());
      dims.insert(dims.end(), shape.begin(), shape.end());
    }
  }
};
}  // namespace detail

/// Records a call of a kernel; the outputs have the given dtypes and shapes.
inline std::vector<Tensor> kernel_apply(lxla_env env, const std::string &target, const std::vector<Tensor> &inputs,
                                        const std::vector<std::pair<Dtype, Dims>> &outputs,
                                        const std::string &attributes_json = "") {
  const auto in = detail::handles(inputs);
  const detail::Outputs of(outputs);
  return detail::several<lxla_kernel_apply>(outputs.size(), env, target.c_str(), in.data(), in.size(), of.dtypes.data(),
                                            of.ranks.data(), of.dims.data(), outputs.size(), attributes_json.c_str());
}
/// Records a call of a function; the outputs have the given dtypes and shapes.
inline std::vector<Tensor> host_call(lxla_env env, lxla_kernel_fn fn, void *user, const std::vector<Tensor> &inputs,
                                     const std::vector<std::pair<Dtype, Dims>> &outputs,
                                     const lxla_kernel_options *options = nullptr) {
  const auto in = detail::handles(inputs);
  const detail::Outputs of(outputs);
  return detail::several<lxla_host_call>(outputs.size(), env, fn, user, options, in.data(), in.size(), of.dtypes.data(),
                                         of.ranks.data(), of.dims.data(), outputs.size());
}

/// Records the printing of a text to standard error, with the values of the tensors in its places {}.
inline void debug_print(const std::string &format, const std::vector<Tensor> &tensors) {
  const auto in = detail::handles(tensors);
  check(lxla_debug_print(format.c_str(), in.data(), in.size()));
}

}  // namespace lazyxla

#endif  // LAZYXLA_KERNELS_HPP
