// Functions of C++ as computations: traced once for each combination of argument types.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_FUNCTION_HPP
#define LAZYXLA_FUNCTION_HPP

#include "control.hpp"
#include "shape.hpp"
#include "transform.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

namespace lazyxla {

template <class F> class Function;

namespace detail {
// Whether a function takes its tensors as one list, not one by one. A generic one of one parameter takes a list.
template <class F> struct TakesList : std::is_invocable<F &, const std::vector<Tensor> &> {};
template <class F> struct TakesList<Function<F>> : TakesList<F> {};
template <class F> inline constexpr bool takes_list = TakesList<std::decay_t<F>>::value;

// The results of a function as a list.
inline std::vector<Tensor> as_list(Tensor result) { return {std::move(result)}; }
inline std::vector<Tensor> as_list(std::vector<Tensor> results) { return results; }
template <size_t n> std::vector<Tensor> as_list(const std::array<Tensor, n> &results) {
  return {results.begin(), results.end()};
}

// Appends a tensor, or a list of tensors, to a list.
inline void append(std::vector<Tensor> &all, const Tensor &one) { all.push_back(one); }
inline void append(std::vector<Tensor> &all, const std::vector<Tensor> &list) {
  all.insert(all.end(), list.begin(), list.end());
}
template <class... A> std::vector<Tensor> flat(const A &...args) {
  std::vector<Tensor> all;
  (append(all, args), ...);
  return all;
}
template <class A, class B> std::vector<Tensor> as_list(const std::pair<A, B> &results) {
  return flat(results.first, results.second);
}
template <class... T> std::vector<Tensor> as_list(const std::tuple<T...> &results) {
  return std::apply([](const auto &...each) { return flat(each...); }, results);
}

// Traces a call with placeholders like the examples. Tensors that it creates without a place are on a device, in an
// environment.
template <class Call> Computation traced_at(const Place &at, const std::vector<Tensor> &examples, Call &&call) {
  const Scope within(Environment::borrow(at.env));
  const UseDevice here(at.device);
  Tracing tracing(at);
  std::vector<Tensor> params;
  for (const Tensor &example : examples) params.push_back(example.placeholder_like());
  const std::vector<Tensor> results = as_list(call(params));
  for (size_t i = 0; i < params.size(); i++)
    if (params[i].state() != LXLA_STATE_PLACEHOLDER)
      throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::trace: the function changes its parameter " + std::to_string(i) +
                                             " in place; want a new tensor, such as x + 1 in place of x += 1");
  return tracing.end(params, results);
}
// Likewise on the device and in the environment of the examples.
template <class Call> Computation traced(const std::vector<Tensor> &examples, Call &&call) {
  if (examples.empty())
    throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::trace: no examples given; want one for each parameter");
  return traced_at(examples[0].place(), examples, call);
}

template <class F, size_t... at>
auto called(F &f, const std::vector<Tensor> &args, std::index_sequence<at...>) {
  return f(args[at]...);
}

// Arguments of a function that takes tensors and lists of tensors, taken from the list of all of them.
using Position = std::vector<Tensor>::const_iterator;
inline Tensor taken(Position &from, const Tensor &) { return *from++; }
inline std::vector<Tensor> taken(Position &from, const std::vector<Tensor> &like) {
  const Position begin = from;
  from += static_cast<std::ptrdiff_t>(like.size());
  return {begin, from};
}
// Calls a function with parameters in the place of these arguments. Braces evaluate from the left to the right.
template <class F, class... A> auto called_like(F &f, const std::vector<Tensor> &params, const A &...args) {
  Position from = params.begin();
  return std::apply(f,
                    std::tuple<std::conditional_t<is_tensor<A>, Tensor, std::vector<Tensor>>...>{taken(from, args)...});
}

// Types of arguments of a function: tensors, and lists of tensors.
template <class A> inline constexpr bool is_argument = is_tensor<A> || std::is_base_of_v<std::vector<Tensor>, A>;
template <class... A> using AreArguments = std::enable_if_t<(is_argument<A> && ...)>;
template <class... A>
using IsNotOneList = std::enable_if_t<(is_argument<A> && ...) && (sizeof...(A) > 1 || (is_tensor<A> && ...))>;
template <class F, class... A> using IsCallable = std::enable_if_t<std::is_invocable_v<F &, const A &...>>;
inline int64_t length(const Tensor &) { return -1; }
inline int64_t length(const std::vector<Tensor> &list) { return static_cast<int64_t>(list.size()); }

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

// The fewest tensors, one by one, with which a function can be called: up to 16, or 17 if there is no such number.
template <class F, class... T> constexpr size_t arity() {
  if constexpr (std::is_invocable_v<F &, const T &...>) return sizeof...(T);
  else if constexpr (sizeof...(T) < 16) return arity<F, T..., Tensor>();
  else return sizeof...(T) + 1;
}

// Traces a function of a list, or of tensors one by one, at a place, for parameters of the types of the examples.
template <class F>
Computation traced_for(const Place &at, F &&f, const std::vector<Tensor> &examples, const char *what) {
  if constexpr (takes_list<F>) return traced_at(at, examples, f);
  else {
    constexpr size_t n = arity<std::remove_reference_t<F>>();
    static_assert(n <= 16, "want a function of a std::vector<Tensor>, or of up to 16 tensors one by one");
    if (n != examples.size())
      throw Error(LXLA_INVALID_ARGUMENT, std::string("lazyxla::") + what + ": parameters: " + std::to_string(n) +
                                             " given; want " + std::to_string(examples.size()));
    constexpr size_t known = n <= 16 ? n : 0;
    return traced_at(at, examples,
                     [&](const auto &params) { return called(f, params, std::make_index_sequence<known>()); });
  }
}
// Likewise on the device and in the environment of the examples.
template <class F> Computation traced_for(F &&f, const std::vector<Tensor> &examples, const char *what) {
  if (examples.empty())
    throw Error(LXLA_INVALID_ARGUMENT,
                std::string("lazyxla::") + what + ": no examples given; want one for each parameter");
  return traced_for(examples[0].place(), f, examples, what);
}
}  // namespace detail

/// Traces a function of a list of tensors, for parameters of the types of the examples. It returns a tensor, or a
/// vector, array, pair or tuple of tensors. All that it records belongs to the computation; tensors from outside are
/// captured with their present values. New tensors of the function are on the device of the examples, as by UseDevice.
template <class F> Computation trace(F &&f, const std::vector<Tensor> &examples) {
  return detail::traced_for(f, examples, "trace");
}
/// Traces a function that takes tensors one by one, or tensors and lists of tensors. The parameters of the computation
/// are all of them, one after the other.
template <class F, class... T, class = detail::IsCallable<F, T...>, class = detail::IsNotOneList<T...>>
Computation trace(F &&f, const T &...examples) {
  return detail::traced(detail::flat(examples...),
                        [&](const std::vector<Tensor> &params) { return detail::called_like(f, params, examples...); });
}

/// Records a while loop of functions: `cond` returns pred[], `body` the next values, both of the values of an
/// iteration, as a list or one by one. Each is traced in each call of while_loop.
template <class Cond, class Body, class = std::enable_if_t<detail::is_function<Cond> && detail::is_function<Body>>>
std::vector<Tensor> while_loop(Cond &&cond, Body &&body, const std::vector<Tensor> &init) {
  return while_loop(detail::traced_for(cond, init, "while_loop: cond"),
                    detail::traced_for(body, init, "while_loop: body"), init);
}
/// Records a while loop of functions with at most max_iterations iterations, which has derivatives in both modes.
template <class Cond, class Body, class = std::enable_if_t<detail::is_function<Cond> && detail::is_function<Body>>>
Bounded while_bounded(Cond &&cond, Body &&body, const std::vector<Tensor> &init, Int max_iterations) {
  return while_bounded(detail::traced_for(cond, init, "while_bounded: cond"),
                       detail::traced_for(body, init, "while_bounded: body"), init, max_iterations);
}
/// Applies a function to args if pred is true, else another one. Functions without parameters take none.
template <class True, class False, class = std::enable_if_t<detail::is_function<True> && detail::is_function<False>>>
std::vector<Tensor> cond(const Tensor &pred, True &&on_true, False &&on_false, const std::vector<Tensor> &args = {}) {
  return cond(pred, detail::traced_for(pred.place(), on_true, args, "cond: on_true"),
              detail::traced_for(pred.place(), on_false, args, "cond: on_false"), args);
}
/// Applies a function along the leading axis of xs, in reverse order if `reverse`: it takes the carry, then a slice of
/// each of xs, and returns the next carry, then results. Returns the final carry and the stacked results.
template <class F, class = std::enable_if_t<detail::is_function<F>>>
std::pair<std::vector<Tensor>, std::vector<Tensor>> scan(F &&f, const std::vector<Tensor> &init,
                                                         const std::vector<Tensor> &xs, Flag reverse = false) {
  if (xs.empty() || xs[0].rank() == 0)
    throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::scan: xs: no tensor with an axis given; want one to scan along");
  std::vector<Tensor> examples = init;
  for (const Tensor &x : xs) {
    const Dims dims = x.dims();
    examples.push_back(Tensor::placeholder({dims.begin() + (dims.empty() ? 0 : 1), dims.end()}, x.dtype(), x.place()));
  }
  return scan(detail::traced_for(f, examples, "scan: f"), init, xs, xs[0].dims()[0], reverse);
}
/// Applies a function `length` times: xs may be empty.
template <class F, class = std::enable_if_t<detail::is_function<F>>>
std::pair<std::vector<Tensor>, std::vector<Tensor>> scan(F &&f, const std::vector<Tensor> &init,
                                                         const std::vector<Tensor> &xs, Int length,
                                                         Flag reverse = false) {
  if (!xs.empty()) {
    const Dims dims = xs[0].dims();
    if (dims.empty() || dims[0] != length)
      throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::scan: length: " + std::to_string(length) +
                                             " given; want the size of the leading axis of xs");
    return scan(f, init, xs, reverse);
  }
  return scan(detail::traced_for(f, init, "scan: f"), init, xs, length, reverse);
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
  /// Records a call with these arguments, tensors and lists of tensors, and returns its results.
  template <class A, class... T, class = detail::IsNotOneList<A, T...>, class = detail::IsCallable<F, A, T...>>
  std::vector<Tensor> operator()(const A &first, const T &...rest) const {
    return computation(first, rest...)(detail::flat(first, rest...));
  }
  /// Returns the computation for arguments of the types of these.
  template <class A, class... T, class = detail::AreArguments<A, T...>>
  Computation computation(const A &first, const T &...rest) const {
    static_assert(std::is_invocable_v<F &, const A &, const T &...>, "this function takes other arguments");
    return of(detail::flat(first, rest...), [&] { return trace(made_->f, first, rest...); },
              {detail::length(first), detail::length(rest)...});
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

  // The trace for arguments, and for the lengths of the lists that they came in: -1 for a tensor.
  template <class Trace>
  Computation of(const std::vector<Tensor> &args, Trace &&made_by, const std::vector<int64_t> &lengths = {}) const {
    std::vector<int64_t> key = detail::key_of(args);
    key.insert(key.end(), lengths.begin(), lengths.end());
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

namespace detail {
// The gradients that a function with value and gradients returns.
template <class F> struct Gradients {
  Function<F> whole;
  template <class... A, class = IsCallable<const Function<F>, A...>>
  std::vector<Tensor> operator()(const A &...args) const {
    std::vector<Tensor> all = whole(args...);
    return {all.begin() + 1, all.end()};
  }
};
template <class F> struct TakesList<Gradients<F>> : TakesList<F> {};

// A function over a batch, traced for one element of it.
template <class F> struct Batched {
  F f;
  Dims in_axes;
  template <class... A, class = AreArguments<A...>, class = IsCallable<F, A...>>
  std::vector<Tensor> operator()(const A &...args) {
    const std::vector<Tensor> all = flat(args...);
    const Dims axes = in_axes.empty() ? Dims(all.size(), 0) : in_axes;
    if (axes.size() != all.size())
      throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::vmap: in_axes: " + std::to_string(axes.size()) + " given; want " +
                                             std::to_string(all.size()) + ", one for each tensor");
    std::vector<Tensor> examples;
    int64_t size = -1;
    for (size_t i = 0; i < all.size(); i++) {
      Dims dims = all[i].dims();
      if (axes[i] >= static_cast<int64_t>(dims.size()))
        throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::vmap: in_axes: axis " + std::to_string(axes[i]) +
                                               " given for a tensor of rank " + std::to_string(dims.size()));
      if (axes[i] >= 0) {
        const int64_t own = dims[static_cast<size_t>(axes[i])];
        if (size >= 0 && own != size)
          throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::vmap: batches of " + std::to_string(size) + " and " +
                                                 std::to_string(own) + " elements given; want one size");
        size = own, dims.erase(dims.begin() + axes[i]);
      }
      examples.push_back(Tensor::placeholder(dims, all[i].dtype(), all[i].place()));
    }
    if (size < 0) throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::vmap: no tensor has a batch axis; want at least one");
    const Computation one = traced(examples, [&](const auto &params) { return called_like(f, params, args...); });
    return vmap(one, axes, Dims(one.results(), 0), size)(all);
  }
};
template <class F> struct TakesList<Batched<F>> : TakesList<F> {};
}  // namespace detail

/// Returns the function that returns the gradients of f, which returns a float scalar alone.
template <class F, class = std::enable_if_t<detail::is_function<F>>>
Function<detail::Gradients<std::decay_t<F>>> grad(F &&f, const VjpOptions &options = {}) {
  const auto transform = [options](const Computation &of) {
    if (of.results() != 1)
      throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::grad: f returns " + std::to_string(of.results()) +
                                             " tensors; want a float scalar alone, or value_and_grad");
    return value_and_grad(of, options);
  };
  using Whole = Function<std::decay_t<F>>;
  return jit(detail::Gradients<std::decay_t<F>>{Whole(std::forward<F>(f), transform)});
}

/// Returns the results of f, and their derivatives in the direction of the tangents: one for each of the primals of a
/// float or complex dtype. f takes the primals as a list or one by one, and is traced in each call.
template <class F, class = std::enable_if_t<detail::is_function<F>>>
std::pair<std::vector<Tensor>, std::vector<Tensor>> jvp(F &&f, const std::vector<Tensor> &primals,
                                                        const std::vector<Tensor> &tangents) {
  const Computation of = detail::traced_for(f, primals, "jvp");
  const std::vector<Tensor> all = jvp(of)(detail::flat(primals, tangents));
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(of.results());
  return {{all.begin(), middle}, {middle, all.end()}};
}

namespace detail {
// Second derivatives of a function by its first argument: the derivatives of the gradient in all directions.
template <class F> struct Hessian {
  F f;
  template <class... A, class = AreArguments<A...>, class = IsCallable<F, A...>> Tensor operator()(const A &...args) {
    const std::vector<Tensor> all = flat(args...);
    const Tensor &x = all[0];
    const Computation value = traced(all, [&](const auto &params) { return called_like(f, params, args...); });
    const Computation along = jvp(value_and_grad(value, by_first(1)), {0});
    Dims sizes = x.dims(), axes(all.size(), -1), from(along.results(), 0);
    const int64_t n = static_cast<int64_t>(x.size());
    // The results themselves depend on no direction.
    std::fill(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(value.results() + 1), -1);
    sizes.insert(sizes.begin(), n), axes.push_back(0);
    const Tensor directions = reshape(Tensor::eye(n, n, 0, x.dtype(), x.place()), sizes);
    const std::vector<Tensor> found = vmap(along, axes, from, n)(flat(all, directions));
    sizes.erase(sizes.begin());
    Dims twice = sizes;
    twice.insert(twice.end(), sizes.begin(), sizes.end());
    return reshape(found.back(), twice);
  }
};
template <class F> struct TakesList<Hessian<F>> : TakesList<F> {};
}  // namespace detail

/// Returns the function that returns the Hessian of f by its first argument, a tensor, in a list of one tensor: its
/// dims are the dims of the argument, twice. f returns a float scalar, or a float scalar first.
template <class F, class = std::enable_if_t<detail::is_function<F>>>
Function<detail::Hessian<std::decay_t<F>>> hessian(F &&f) {
  return jit(detail::Hessian<std::decay_t<F>>{std::forward<F>(f)});
}

/// Returns f over a batch: of the leading axis of all tensors, or of the axis that in_axes lists for each of them, -1
/// for none. The results have the batch as their leading axis.
template <class F, class = std::enable_if_t<detail::is_function<F>>>
Function<detail::Batched<std::decay_t<F>>> vmap(F &&f, const Dims &in_axes = {}) {
  return jit(detail::Batched<std::decay_t<F>>{std::forward<F>(f), in_axes});
}

/// Returns the results of a function as an array: `const auto [loss, slope] = lx::unpack<2>(step(w));`.
template <size_t n> std::array<Tensor, n> unpack(std::vector<Tensor> results) {
  if (results.size() != n)
    throw Error(LXLA_INVALID_ARGUMENT,
                "lazyxla::unpack: " + std::to_string(results.size()) + " tensors given; want " + std::to_string(n));
  std::array<Tensor, n> made;
  std::move(results.begin(), results.end(), made.begin());
  return made;
}

}  // namespace lazyxla

#endif  // LAZYXLA_FUNCTION_HPP
