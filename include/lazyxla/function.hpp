// Functions of C++ as computations: traced once for each combination of argument types.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_FUNCTION_HPP
#define LAZYXLA_FUNCTION_HPP

#include "transform.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

namespace lazyxla {

namespace detail {
// Whether a function takes its tensors as one list, not one by one.
template <class F> inline constexpr bool takes_list = std::is_invocable_v<F &, const std::vector<Tensor> &>;

// The results of a function as a list.
inline std::vector<Tensor> as_list(Tensor result) { return {std::move(result)}; }
inline std::vector<Tensor> as_list(std::vector<Tensor> results) { return results; }
template <size_t n> std::vector<Tensor> as_list(const std::array<Tensor, n> &results) {
  return {results.begin(), results.end()};
}
template <class A, class B> std::vector<Tensor> as_list(const std::pair<A, B> &results) {
  return {results.first, results.second};
}
template <class... T> std::vector<Tensor> as_list(const std::tuple<T...> &results) {
  return std::apply([](const auto &...each) { return std::vector<Tensor>{each...}; }, results);
}

// Traces a call with placeholders like the examples.
template <class Call> Computation traced(const std::vector<Tensor> &examples, Call &&call) {
  if (examples.empty())
    throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::trace: no examples given; want one for each parameter");
  Tracing tracing(Place(examples[0].environment(), examples[0].device()));
  std::vector<Tensor> params;
  for (const Tensor &example : examples) params.push_back(example.placeholder_like());
  return tracing.end(params, as_list(call(params)));
}

template <class F, size_t... at>
auto called(F &f, const std::vector<Tensor> &args, std::index_sequence<at...>) {
  return f(args[at]...);
}

// The key of a trace: environment, device, dtype and sizes of each argument.
inline std::vector<int64_t> key_of(const std::vector<Tensor> &args) {
  std::vector<int64_t> key;
  for (const Tensor &arg : args) {
    const lxla_device device = arg.device();
    const Dims dims = arg.dims();
    key.insert(key.end(), {static_cast<int64_t>(arg.environment().handle().id), device.kind, device.ordinal,
                           static_cast<int64_t>(arg.dtype()), static_cast<int64_t>(dims.size())});
    key.insert(key.end(), dims.begin(), dims.end());
  }
  return key;
}

template <class T> inline constexpr bool is_function = !std::is_base_of_v<Computation, std::decay_t<T>>;
}  // namespace detail

/// Traces a function of a list of tensors, for parameters of the types of the examples. It returns a tensor, or a
/// vector, array, pair or tuple of tensors. All that it records belongs to the computation; tensors from outside are
/// captured with their present values.
template <class F, class = std::enable_if_t<detail::takes_list<F>>>
Computation trace(F &&f, const std::vector<Tensor> &examples) {
  return detail::traced(examples, [&](const std::vector<Tensor> &params) { return f(params); });
}
/// Traces a function that takes tensors one by one.
template <class F, class... T, class = std::enable_if_t<std::is_invocable_v<F &, const Tensor &, const T &...>>>
Computation trace(F &&f, const Tensor &first, const T &...rest) {
  return detail::traced({first, rest...}, [&](const std::vector<Tensor> &params) {
    return detail::called(f, params, std::make_index_sequence<1 + sizeof...(T)>());
  });
}

/// A function that is traced at its first call with arguments of new types, and then called: what jit and
/// value_and_grad of functions return. Tensors that it captures keep the values of the trace: pass what changes as
/// arguments. Copies share their traces; any number of threads may call it.
template <class F> class Function {
 public:
  /// A function, and what is made of each of its computations.
  explicit Function(F f, std::function<Computation(const Computation &)> transform = nullptr)
      : made_(std::make_shared<Made>(std::move(f), std::move(transform))) {}

  /// Records a call with a list of arguments and returns its results.
  std::vector<Tensor> operator()(const std::vector<Tensor> &args) const {
    static_assert(detail::takes_list<F>, "this function takes tensors one by one");
    return of(args, [&] { return trace(made_->f, args); })(args);
  }
  /// Records a call with these arguments and returns its results.
  template <class... T> std::vector<Tensor> operator()(const Tensor &first, const T &...rest) const {
    const std::vector<Tensor> args{first, rest...};
    return of(args, [&] { return trace(made_->f, first, rest...); })(args);
  }
  /// Returns the computation for arguments of the types of these.
  template <class... T> Computation computation(const Tensor &first, const T &...rest) const {
    return of({first, rest...}, [&] { return trace(made_->f, first, rest...); });
  }
  /// Returns how often it was traced.
  size_t traces() const {
    const std::lock_guard<std::mutex> lock(made_->mutex);
    return made_->computations.size();
  }

 private:
  struct Made {
    Made(F given, std::function<Computation(const Computation &)> then)
        : f(std::move(given)), transform(std::move(then)) {}
    F f;
    std::function<Computation(const Computation &)> transform;
    std::mutex mutex;
    std::map<std::vector<int64_t>, Computation> computations;
  };

  template <class Trace> Computation of(const std::vector<Tensor> &args, Trace &&made_by) const {
    const std::vector<int64_t> key = detail::key_of(args);
    {
      const std::lock_guard<std::mutex> lock(made_->mutex);
      const auto found = made_->computations.find(key);
      if (found != made_->computations.end()) return found->second;
    }
    // Traced without the lock: the function may call itself for other types.
    const Computation traced = made_by();
    const Computation made = made_->transform ? made_->transform(traced) : traced;
    const std::lock_guard<std::mutex> lock(made_->mutex);
    return made_->computations.emplace(key, made).first->second;
  }

  std::shared_ptr<Made> made_;
};

/// Returns the function as one that is traced once for each combination of argument types.
template <class F> Function<std::decay_t<F>> jit(F &&f) { return Function<std::decay_t<F>>(std::forward<F>(f)); }

/// Returns the function that returns the results of f, then the gradients of its first result, a float scalar.
template <class F, class = std::enable_if_t<detail::is_function<F>>>
Function<std::decay_t<F>> value_and_grad(F &&f, const VjpOptions &options = {}) {
  const auto transform = [options](const Computation &of) { return value_and_grad(of, options); };
  return Function<std::decay_t<F>>(std::forward<F>(f), transform);
}

}  // namespace lazyxla

#endif  // LAZYXLA_FUNCTION_HPP
