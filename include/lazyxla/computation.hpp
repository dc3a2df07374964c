// Traced computations, and operations that take them.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_COMPUTATION_HPP
#define LAZYXLA_COMPUTATION_HPP

#include "tensor.hpp"

namespace lazyxla {

/// A traced computation: taken once out of what was recorded over placeholders, called as often as wanted.
class Computation {
 public:
  /// The computation of results from params, which are different placeholders.
  Computation(const std::vector<Tensor> &params, const std::vector<Tensor> &results) {
    const auto in = detail::handles(params), out = detail::handles(results);
    check(lxla_computation_trace(in.data(), in.size(), out.data(), out.size(), &computation_));
  }
  Computation(const Computation &other) : computation_(other.computation_) {
    check(lxla_computation_retain(computation_));
  }
  Computation &operator=(Computation other) noexcept { return std::swap(computation_, other.computation_), *this; }
  ~Computation() { lxla_computation_release(computation_); }  ///< Calls that were recorded stay.

  lxla_computation handle() const noexcept { return computation_; }  ///< For calls of lazyxla.h.
  size_t params() const { return info()[0]; }    ///< How many parameters it has.
  size_t results() const { return info()[1]; }   ///< How many results it has.
  size_t captured() const { return info()[2]; }  ///< How many values it captured.

  /// Its results for these arguments, recorded.
  std::vector<Tensor> operator()(const std::vector<Tensor> &args) const {
    const auto in = detail::handles(args);
    std::vector<lxla_tensor> out(results());
    check(lxla_computation_call(computation_, in.data(), in.size(), out.data(), out.size()));
    return detail::adopted(out);
  }
  /// A value that it captured, as a tensor.
  Tensor captured_at(size_t index) const { return Tensor::make<lxla_computation_captured>(computation_, index); }
  /// Its StableHLO text, a module of its own.
  std::string stablehlo() const { return detail::text<lxla_computation_stablehlo>(computation_); }

 private:
  std::array<size_t, 3> info() const {
    std::array<size_t, 3> info{};
    check(lxla_computation_info(computation_, &info[0], &info[1], &info[2]));
    return info;
  }
  lxla_computation computation_{};
};

/// As long as cond gives true, applies body; starts with init.
inline std::vector<Tensor> while_loop(const Computation &cond, const Computation &body, const std::vector<Tensor> &init) {
  const auto in = detail::handles(init);
  std::vector<lxla_tensor> out(in.size());
  check(lxla_while(cond.handle(), body.handle(), in.data(), in.size(), out.data()));
  return detail::adopted(out);
}
/// What on_true gives for args if pred is true, else what on_false gives.
inline std::vector<Tensor> cond(const Tensor &pred, const Computation &on_true, const Computation &on_false,
                                const std::vector<Tensor> &args) {
  const auto in = detail::handles(args);
  std::vector<lxla_tensor> out(on_true.results());
  check(lxla_cond(pred.handle(), on_true.handle(), on_false.handle(), in.data(), in.size(), out.data(), out.size()));
  return detail::adopted(out);
}
/// Applies body along the leading axis of xs, from the end if reverse. Gives what was carried last, and the stacks.
inline std::pair<std::vector<Tensor>, std::vector<Tensor>> scan(const Computation &body, const std::vector<Tensor> &init,
                                                                const std::vector<Tensor> &xs, int64_t length,
                                                                bool reverse = false) {
  const auto in = detail::handles(init), arrays = detail::handles(xs);
  const size_t results = body.results();
  std::vector<lxla_tensor> carry(in.size()), ys(results > in.size() ? results - in.size() : 0);
  check(lxla_scan(body.handle(), in.data(), in.size(), arrays.data(), arrays.size(), length, reverse ? 1 : 0,
                  carry.data(), ys.data(), ys.size()));
  return {detail::adopted(carry), detail::adopted(ys)};
}

/// What branches[index] gives for args; the last branch for an index that is none of theirs.
inline std::vector<Tensor> switch_case(const Tensor &index, const std::vector<Computation> &branches, const std::vector<Tensor> &args) {
  std::vector<lxla_computation> list;
  for (const Computation &branch : branches) list.push_back(branch.handle());
  const auto in = detail::handles(args);
  std::vector<lxla_tensor> out(branches.empty() ? 0 : branches[0].results());
  check(lxla_case(index.handle(), list.data(), list.size(), in.data(), in.size(), out.data(), out.size()));
  return detail::adopted(out);
}

/// Tensors of one shape, reordered alike along an axis by a comparator.
inline std::vector<Tensor> sort(const Computation &comparator, const std::vector<Tensor> &inputs, int64_t axis = -1, bool stable = true) {
  const auto in = detail::handles(inputs);
  return detail::several<lxla_sort>(in.size(), comparator.handle(), in.data(), in.size(), axis, stable ? 1 : 0);
}

namespace detail {
// Inputs, and an initial value for each.
inline std::pair<std::vector<lxla_tensor>, std::vector<lxla_tensor>> pairs(const std::vector<Tensor> &inputs,
                                                                          const std::vector<Tensor> &inits, const char *what) {
  if (inputs.size() != inits.size())
    throw Error(LXLA_INVALID_ARGUMENT, std::string("lazyxla::") + what + ": inputs and their companions differ in number");
  return {handles(inputs), handles(inits)};
}
}  // namespace detail

/// Tensors of one shape, reduced together over axes by a computation.
inline std::vector<Tensor> reduce_with(const Computation &body, const std::vector<Tensor> &inputs, const std::vector<Tensor> &inits,
                                       const Dims &axes) {
  const auto [in, first] = detail::pairs(inputs, inits, "reduce_with");
  return detail::several<lxla_reduce_with>(in.size(), body.handle(), in.data(), first.data(), in.size(), axes.data(), axes.size());
}

/// Windows that go over a tensor, as in lxla_window_options: lists of one number for each axis, or none.
struct Windows {
  Dims window_dimensions, strides, base_dilations, window_dilations, low, high;

  /// As lazyxla.h takes them. The lists stay here.
  lxla_window_options options() const {
    auto options = detail::defaults<lxla_window_options, lxla_window_options_init>();
    const auto list = [&](const Dims &numbers) { return detail::list_of(numbers, window_dimensions.size(), "Windows"); };
    options.rank = window_dimensions.size();
    options.window_dimensions = window_dimensions.data();
    options.strides = list(strides);
    options.base_dilations = list(base_dilations);
    options.window_dilations = list(window_dilations);
    options.low = list(low);
    options.high = list(high);
    return options;
  }
};
/// Tensors of one shape, window by window reduced together by a computation.
inline std::vector<Tensor> reduce_window(const Computation &body, const std::vector<Tensor> &inputs, const std::vector<Tensor> &inits,
                                         const Windows &windows) {
  const auto [in, first] = detail::pairs(inputs, inits, "reduce_window");
  const lxla_window_options options = windows.options();
  return detail::several<lxla_reduce_window>(in.size(), body.handle(), in.data(), first.data(), in.size(), &options);
}
/// The gradient of a pooling: source, combined into the elements that are selected of windows.
inline Tensor select_and_scatter(const Computation &select, const Computation &combiner, const Tensor &x, const Tensor &source,
                                 const Tensor &init, const Windows &windows) {
  const lxla_window_options options = windows.options();
  return Tensor::make<lxla_select_and_scatter>(select.handle(), combiner.handle(), x.handle(), source.handle(), init.handle(),
                                               &options);
}

/// Dimension numbers of scatter, by StableHLO's names: see lxla_scatter_options.
struct ScatterDimensions {
  Dims update_window_dims, inserted_window_dims, input_batching_dims, scatter_indices_batching_dims, scatter_dims_to_operand_dims;
  int64_t index_vector_dim = 0;     ///< The indices' axis that goes through an index vector.
  bool indices_are_sorted = false;  ///< A promise.
  bool unique_indices = false;      ///< A promise.
};
/// Tensors of one shape, with slices of updates combined into them where indices say.
inline std::vector<Tensor> scatter(const Computation &combiner, const std::vector<Tensor> &inputs, const Tensor &indices,
                                   const std::vector<Tensor> &updates, const ScatterDimensions &d) {
  auto options = detail::defaults<lxla_scatter_options, lxla_scatter_options_init>();
  options.update_window_dims = d.update_window_dims.data(), options.n_update_window_dims = d.update_window_dims.size();
  options.inserted_window_dims = d.inserted_window_dims.data(), options.n_inserted_window_dims = d.inserted_window_dims.size();
  options.input_batching_dims = d.input_batching_dims.data(), options.n_input_batching_dims = d.input_batching_dims.size();
  options.scatter_indices_batching_dims = d.scatter_indices_batching_dims.data();
  options.n_scatter_indices_batching_dims = d.scatter_indices_batching_dims.size();
  options.scatter_dims_to_operand_dims = d.scatter_dims_to_operand_dims.data();
  options.n_scatter_dims_to_operand_dims = d.scatter_dims_to_operand_dims.size();
  options.index_vector_dim = d.index_vector_dim;
  options.indices_are_sorted = d.indices_are_sorted ? 1 : 0;
  options.unique_indices = d.unique_indices ? 1 : 0;
  const auto [in, from] = detail::pairs(inputs, updates, "scatter");
  return detail::several<lxla_scatter>(in.size(), combiner.handle(), in.data(), indices.handle(), from.data(), in.size(), &options);
}

/// A call of what the device's plugin knows under a name, for tensors; the results have these dtypes and shapes.
inline std::vector<Tensor> custom_call(const std::string &target, const std::vector<Tensor> &operands,
                                       const std::vector<std::pair<int32_t, Dims>> &results, const std::string &backend_config = "",
                                       int32_t api_version = 0, bool has_side_effect = false) {
  auto options = detail::defaults<lxla_custom_call_options, lxla_custom_call_options_init>();
  options.backend_config = backend_config.empty() ? nullptr : backend_config.c_str();
  options.api_version = api_version;
  options.has_side_effect = has_side_effect ? 1 : 2;
  std::vector<int32_t> dtypes;
  std::vector<size_t> ranks;
  Dims dims;
  for (const auto &[dtype, shape] : results) {
    dtypes.push_back(dtype), ranks.push_back(shape.size());
    dims.insert(dims.end(), shape.begin(), shape.end());
  }
  const auto in = detail::handles(operands);
  return detail::several<lxla_custom_call>(results.size(), target.c_str(), in.data(), in.size(), dtypes.data(), ranks.data(),
                                           dims.data(), results.size(), &options);
}

}  // namespace lazyxla

#endif  // LAZYXLA_COMPUTATION_HPP
