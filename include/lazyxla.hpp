// lazyxla in C++17: owners for the handles of lazyxla.h, exceptions for its statuses, operators for its operations.
// Header only; what a call means, and when it fails, is said in lazyxla.h. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_HPP
#define LAZYXLA_HPP

#include "lazyxla.h"

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace lazyxla {

/// Sizes of axes, or numbers of axes.
using Dims = std::vector<int64_t>;

/// What a failing call throws: the status, and the library's words for it.
class Error : public std::runtime_error {
 public:
  /// An error with a status and words.
  Error(lxla_status status, const std::string &message) : std::runtime_error(message), status_(status) {}
  /// One of the status codes of lazyxla.h, never LXLA_OK.
  lxla_status status() const noexcept { return status_; }

 private:
  lxla_status status_;
};

/// Throws Error unless the status is LXLA_OK. For use right after the call, in the thread that made it.
inline void check(lxla_status status) {
  if (status != LXLA_OK) throw Error(status, lxla_last_error_message());
}

/// The dtype of a C++ element type. f16 and bf16 have none in C++17: see Tensor::from_bytes and Tensor::read_bytes.
template <class T>
constexpr int32_t dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return LXLA_DTYPE_PRED;
  else if constexpr (std::is_same_v<T, float>) return LXLA_DTYPE_F32;
  else if constexpr (std::is_same_v<T, double>) return LXLA_DTYPE_F64;
  else if constexpr (std::is_same_v<T, std::complex<float>>) return LXLA_DTYPE_C64;
  else if constexpr (std::is_same_v<T, std::complex<double>>) return LXLA_DTYPE_C128;
  else {
    static_assert(std::is_integral_v<T> && sizeof(T) <= 8, "lazyxla has no dtype for this type");
    constexpr int32_t width = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return (std::is_signed_v<T> ? LXLA_DTYPE_S8 : LXLA_DTYPE_U8) + width;
  }
}

/// The XLA device with this number.
inline lxla_device xla(int32_t ordinal = 0) { return {LXLA_DEVICE_XLA, ordinal}; }

/// Native host memory.
inline lxla_device cpu() { return {LXLA_DEVICE_CPU, 0}; }

namespace detail {

// What a call gives through its last argument.
template <class Out, auto call, class... Inputs>
Out get(Inputs... inputs) {
  Out out{};
  check(call(inputs..., &out));
  return out;
}

// A string that a call gives.
template <auto call, class... Inputs>
std::string text(Inputs... inputs) {
  const std::unique_ptr<char, decltype(&lxla_string_free)> owner(get<char *, call>(inputs...), lxla_string_free);
  return owner.get();
}

inline const char *dtype_name(int32_t dtype) {
  constexpr const char *names[] = {"none", "pred", "s8",  "s16", "s32", "s64",  "u8",  "u16",
                                   "u32",  "u64",  "f16", "f32", "f64", "bf16", "c64", "c128"};
  return dtype >= 0 && dtype < 16 ? names[dtype] : "unknown";
}

// Elements that lie side by side. Those of std::vector<bool> do not, and are unpacked to a byte each.
template <class T>
const std::vector<T> &contiguous(const std::vector<T> &values) { return values; }
inline std::vector<uint8_t> contiguous(const std::vector<bool> &values) { return {values.begin(), values.end()}; }

static_assert(sizeof(bool) == 1, "pred has one byte an element");

}  // namespace detail

/// The device that "cpu", "xla" or "xla:N" names.
inline lxla_device parse_device(const std::string &text) {
  return detail::get<lxla_device, lxla_device_parse>(text.c_str());
}

/// Options of a new environment, as in lxla_env_options. What is left as it is here is the default.
struct EnvironmentOptions {
  /// File of the PJRT plugin; "" for the one that the library finds.
  std::string plugin_path;
  /// Folder of the disk cache; "" for none.
  std::string cache_dir;
  /// How many compiled programs are kept; 0 for the default.
  size_t cache_capacity = 0;
  /// The most operations of one program; 0 for the default.
  size_t max_program_ops = 0;
  /// How many devices to ask the plugin for; 0 for the default.
  int32_t device_count = 0;
  /// Whether tensors on `cpu` are native.
  std::optional<bool> use_native_for_cpu_tensor;
  /// What happens when devices meet: 1 error, 2 copy, 3 scalar; 0 for the default.
  int32_t mixed_device_policy = 0;
  /// Whether steps donate buffers.
  std::optional<bool> donation;
};

/// One reference to an environment, or a view of one that others own. A moved-from one is none: INVALID_HANDLE.
class Environment {
 public:
  /// A new environment with default options.
  Environment() : Environment(EnvironmentOptions()) {}
  /// A new environment.
  explicit Environment(const EnvironmentOptions &given) : owned_(true) {
    const auto text = [](const std::string &s) { return s.empty() ? nullptr : s.c_str(); };
    const auto flag = [](std::optional<bool> on) { return on ? (*on ? 1 : 2) : 0; };
    lxla_env_options options;
    options.struct_size = sizeof options;
    check(lxla_env_options_init(&options));
    options.plugin_path = text(given.plugin_path);
    options.cache_dir = text(given.cache_dir);
    options.cache_capacity = given.cache_capacity;
    options.max_program_ops = given.max_program_ops;
    options.device_count = given.device_count;
    options.use_native_for_cpu_tensor = flag(given.use_native_for_cpu_tensor);
    options.mixed_device_policy = given.mixed_device_policy;
    options.donation = flag(given.donation);
    check(lxla_env_create(&options, &env_));
  }
  /// Another reference to the same environment.
  Environment(const Environment &other) : env_(other.env_), owned_(other.owned_) {
    if (owned_) check(lxla_env_retain(env_));
  }
  /// Takes the reference over.
  Environment(Environment &&other) noexcept : env_(other.env_), owned_(std::exchange(other.owned_, false)) {
    // Not 0, which would mean the current or default environment.
    other.env_.id = UINT64_MAX;
  }
  /// Gives up the reference it has, and takes or shares the other's.
  Environment &operator=(Environment other) noexcept {
    std::swap(env_, other.env_);
    std::swap(owned_, other.owned_);
    return *this;
  }
  /// Gives up the reference.
  ~Environment() {
    if (owned_) lxla_env_release(env_);
  }

  /// A view of an environment that others own: it takes no reference and gives none up.
  static Environment borrow(lxla_env env) noexcept { return Environment(env); }
  /// The process's default environment, as a view.
  static Environment default_environment() { return borrow(detail::get<TYPE, lxla_env_default>()); }
  /// The thread's current environment, as a view. FAILED_PRECONDITION outside any scope.
  static Environment current() { return borrow(detail::get<TYPE, lxla_env_current>()); }

  /// The handle, for calls of lazyxla.h. The reference stays here.
  lxla_env handle() const noexcept { return env_; }
  /// Whether this owns a reference.
  bool owned() const noexcept { return owned_; }
  /// A counter's value.
  uint64_t counter(const std::string &name) const { return detail::get<TYPE, lxla_env_counter>(env_, name.c_str()); }
  /// Sets an option.
  void set_option(const std::string &name, const std::string &value) {
    check(lxla_env_set_option(env_, name.c_str(), value.c_str()));
  }
  /// An option's value.
  std::string get_option(const std::string &name) const { return detail::text<lxla_env_get_option>(env_, name.c_str()); }
  /// How many XLA devices there are.
  int32_t device_count() const { return detail::get<TYPE, lxla_env_device_count>(env_); }
  /// Counters, options and devices as JSON.
  std::string metrics_json() const { return detail::text<lxla_env_metrics_json>(env_); }
  /// Sets all counters to 0.
  void metrics_reset() { check(lxla_env_metrics_reset(env_)); }
  /// The step: runs what is pending on a device, or on all; with `wait`, until the device has finished.
  void mark_step(lxla_device device = {}, bool wait = false) { check(lxla_mark_step(env_, device, wait ? 1 : 0)); }
  /// Blocks until what was enqueued on a device, or on all, has ended.
  void wait(lxla_device device = {}) { check(lxla_wait(env_, device)); }
  /// The StableHLO text of what a step of the device would compile now.
  std::string step_stablehlo(lxla_device device = {}) const { return detail::text<lxla_step_stablehlo>(env_, device); }

 private:
  explicit Environment(lxla_env env) noexcept : env_(env) {}

  lxla_env env_{};
  bool owned_ = false;
};

/// Makes an environment the thread's current one while it lives. Scopes end in their thread, innermost first.
class Scope {
 public:
  /// Enters the environment, and keeps it alive.
  explicit Scope(const Environment &environment) : environment_(environment) {
    check(lxla_env_enter(environment_.handle()));
  }
  /// Leaves it.
  ~Scope() { lxla_env_exit(environment_.handle()); }
  Scope(const Scope &) = delete;
  Scope &operator=(const Scope &) = delete;

 private:
  Environment environment_;
};

/// Where a new tensor goes. It does not keep the environment alive.
struct Place {
  /// The current environment, else the default one, and no device named.
  Place() = default;
  /// A device of the current environment, else of the default one.
  Place(lxla_device device) : device(device) {}
  /// An environment, and a device of it.
  Place(const Environment &environment, lxla_device device = {}) : env(environment.handle()), device(device) {}
  /// The environment's handle; id 0 for the current one, else the default one.
  lxla_env env{};
  /// The device.
  lxla_device device{};
};

/// A number as an operand, exact: it takes the tensor's dtype, and one that this cannot represent is INVALID_ARGUMENT.
class Scalar {
 public:
  /// Any real number, or bool.
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  Scalar(T value) {
    if constexpr (std::is_floating_point_v<T>) {
      scalar_.dtype = LXLA_DTYPE_F64;
      scalar_.value.f = static_cast<double>(value);
    } else if constexpr (std::is_signed_v<T>) {
      scalar_.dtype = LXLA_DTYPE_S64;
      scalar_.value.i = value;
    } else {
      scalar_.dtype = LXLA_DTYPE_U64;
      scalar_.value.u = value;
    }
  }
  /// A complex number.
  template <class T>
  Scalar(const std::complex<T> &value) {
    scalar_.dtype = LXLA_DTYPE_C128;
    scalar_.value.c[0] = static_cast<double>(value.real());
    scalar_.value.c[1] = static_cast<double>(value.imag());
  }
  /// As lazyxla.h takes it.
  const lxla_scalar *get() const noexcept { return &scalar_; }
  /// The value as a double, if a double holds it.
  std::optional<double> exact_double() const noexcept {
    constexpr int64_t limit = int64_t{1} << 53;
    const lxla_scalar_value &v = scalar_.value;
    if (scalar_.dtype == LXLA_DTYPE_F64) return v.f;
    if (scalar_.dtype == LXLA_DTYPE_S64 && -limit <= v.i && v.i <= limit) return static_cast<double>(v.i);
    if (scalar_.dtype == LXLA_DTYPE_U64 && v.u <= uint64_t{limit}) return static_cast<double>(v.u);
    return std::nullopt;
  }

 private:
  lxla_scalar scalar_{};
};

/// One reference to a tensor. Copies are references to the same tensor: what changes in place in one shows in all. Use
/// snapshot() for a value that stays, and assign() to change a value; `=` makes this refer to another tensor.
class Tensor {
 public:
  /// No tensor: calls with it give INVALID_HANDLE.
  Tensor() noexcept = default;
  /// Another reference to the same tensor.
  Tensor(const Tensor &other) : tensor_(other.tensor_) {
    if (tensor_.id != 0) check(lxla_tensor_retain(tensor_));
  }
  /// Takes the reference over; the other is no tensor then.
  Tensor(Tensor &&other) noexcept : tensor_(other.release()) {}
  /// Gives up the reference it has, and takes or shares the other's.
  Tensor &operator=(Tensor other) noexcept {
    std::swap(tensor_, other.tensor_);
    return *this;
  }
  /// Gives up the reference.
  ~Tensor() { lxla_tensor_release(tensor_); }

  /// Takes over a reference that a call of lazyxla.h gave.
  static Tensor adopt(lxla_tensor tensor) noexcept {
    Tensor owner;
    owner.tensor_ = tensor;
    return owner;
  }
  /// Gives the reference to the caller; this is no tensor then.
  lxla_tensor release() noexcept { return std::exchange(tensor_, lxla_tensor{}); }
  /// The handle, for calls of lazyxla.h. The reference stays here.
  lxla_tensor handle() const noexcept { return tensor_; }
  /// Whether this refers to a tensor.
  explicit operator bool() const noexcept { return tensor_.id != 0; }

  /// A tensor with these bytes, in row-major order.
  static Tensor from_bytes(const void *data, size_t size_bytes, const Dims &dims, int32_t dtype, const Place &at = {}) {
    return make<lxla_tensor_from_host>(at.env, at.device, dtype, dims.data(), dims.size(), data, size_bytes);
  }
  /// A tensor with `count` elements, in row-major order.
  template <class T>
  static Tensor from_host(const T *data, size_t count, const Dims &dims, const Place &at = {}) {
    return from_bytes(data, count * sizeof(T), dims, dtype_of<T>(), at);
  }
  /// A tensor with these elements, in row-major order; std::vector<bool> makes pred.
  template <class T>
  static Tensor from_host(const std::vector<T> &values, const Dims &dims, const Place &at = {}) {
    const auto &elements = detail::contiguous(values);
    return from_bytes(elements.data(), elements.size() * sizeof(elements[0]), dims, dtype_of<T>(), at);
  }
  /// A tensor with one value in every element.
  static Tensor full(const Dims &dims, double value, int32_t dtype = LXLA_DTYPE_F32, const Place &at = {}) {
    return make<lxla_tensor_full>(at.env, at.device, dtype, dims.data(), dims.size(), value);
  }
  /// A tensor that counts 0, 1, 2, ... along an axis.
  static Tensor iota(const Dims &dims, int64_t axis, int32_t dtype = LXLA_DTYPE_F32, const Place &at = {}) {
    return make<lxla_iota>(at.env, at.device, dtype, dims.data(), dims.size(), axis);
  }
  /// A tensor with no value.
  static Tensor placeholder(const Dims &dims, int32_t dtype = LXLA_DTYPE_F32, const Place &at = {}) {
    return make<lxla_tensor_placeholder>(at.env, at.device, dtype, dims.data(), dims.size());
  }
  /// A placeholder with this one's dtype, shape, device and requires_grad.
  Tensor placeholder_like() const {
    return make<lxla_tensor_placeholder_like>(tensor_);
  }
  /// A new tensor with the value of now, which later changes in place do not touch.
  Tensor snapshot() const {
    return make<lxla_tensor_snapshot>(tensor_);
  }
  /// A new tensor with the same value on another device.
  Tensor to_device(lxla_device device) const {
    return make<lxla_tensor_to_device>(tensor_, device);
  }

  /// One of LXLA_DTYPE_*.
  int32_t dtype() const { return detail::get<TYPE, lxla_tensor_dtype>(tensor_); }
  /// The number of axes.
  size_t rank() const { return detail::get<TYPE, lxla_tensor_rank>(tensor_); }
  /// The sizes of the axes.
  Dims dims() const {
    Dims dims(rank());
    check(lxla_tensor_dims(tensor_, dims.data(), dims.size()));
    return dims;
  }
  /// The number of elements.
  size_t size() const {
    size_t count = 1;
    for (int64_t size : dims()) count *= static_cast<size_t>(size);
    return count;
  }
  /// The device.
  lxla_device device() const { return detail::get<TYPE, lxla_tensor_device>(tensor_); }
  /// The environment, as a view.
  Environment environment() const { return Environment::borrow(detail::get<TYPE, lxla_tensor_env>(tensor_)); }
  /// One of LXLA_STATE_*, at the moment.
  int32_t state() const { return detail::get<TYPE, lxla_tensor_state>(tensor_); }
  /// Whether it is marked as requiring gradients.
  bool requires_grad() const { return detail::get<TYPE, lxla_tensor_requires_grad>(tensor_) != 0; }
  /// Sets the mark.
  void set_requires_grad(bool on) { check(lxla_tensor_set_requires_grad(tensor_, on ? 1 : 0)); }

  /// Copies all bytes, row-major, to `dst`; waits for them.
  void read_bytes(void *dst, size_t size_bytes) const { check(lxla_tensor_read(tensor_, dst, size_bytes)); }
  /// All elements, row-major; waits for them. T is the tensor's dtype exactly. pred is read as bool, to std::vector<bool>.
  template <class T>
  std::vector<T> read() const {
    expect<T>("read");
    std::vector<std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>> values(size());
    read_bytes(values.data(), values.size() * sizeof(values[0]));
    if constexpr (std::is_same_v<T, bool>) return {values.begin(), values.end()};
    else return values;
  }
  /// The one element of a tensor that has one; waits for it.
  template <class T>
  T item() const {
    T value{};
    expect<T>("item");
    read_bytes(&value, sizeof value);
    return value;
  }
  /// Takes these elements, row-major, as its value. T is the tensor's dtype exactly.
  template <class T>
  void write(const std::vector<T> &values) {
    expect<T>("write");
    const auto &elements = detail::contiguous(values);
    check(lxla_tensor_write(tensor_, elements.data(), elements.size() * sizeof(elements[0])));
  }
  /// Takes the value that another tensor has now.
  void assign(const Tensor &src) { check(lxla_tensor_assign(tensor_, src.tensor_)); }

  /// this = this (op) rhs, in place; op is one of LXLA_BINARY_*.
  Tensor &apply(int32_t op, const Tensor &rhs) {
    check(lxla_binary_inplace(op, tensor_, rhs.tensor_));
    return *this;
  }
  /// this = this (op) rhs, in place. A scalar that no double holds goes by way of another tensor.
  Tensor &apply(int32_t op, const Scalar &rhs) {
    if (const std::optional<double> value = rhs.exact_double()) {
      check(lxla_binary_scalar_inplace(op, tensor_, *value));
      return *this;
    }
    Tensor result;
    check(lxla_binary_with_scalar(op, tensor_, rhs.get(), 0, &result.tensor_));
    assign(result);
    return *this;
  }
  /// Adds a tensor or a number, in place.
  template <class R> Tensor &operator+=(const R &rhs) { return apply(LXLA_BINARY_ADD, rhs); }
  /// Subtracts a tensor or a number, in place.
  template <class R> Tensor &operator-=(const R &rhs) { return apply(LXLA_BINARY_SUBTRACT, rhs); }
  /// Multiplies by a tensor or a number, in place.
  template <class R> Tensor &operator*=(const R &rhs) { return apply(LXLA_BINARY_MULTIPLY, rhs); }
  /// Divides by a tensor or a number, in place.
  template <class R> Tensor &operator/=(const R &rhs) { return apply(LXLA_BINARY_DIVIDE, rhs); }

 private:
  template <class T>
  void expect(const char *what) const {
    const int32_t mine = dtype();
    if (mine == dtype_of<T>()) return;
    throw Error(LXLA_INVALID_ARGUMENT, std::string("lazyxla::Tensor::") + what + ": the tensor is " +
                                           detail::dtype_name(mine) + ", the elements are " +
                                           detail::dtype_name(dtype_of<T>()));
  }

  lxla_tensor tensor_{};
};

