// lazyxla in C++17: owners for the handles of lazyxla.h, exceptions for its statuses, operators for its operations.
// Header only; what a call means, and when it fails, is said in lazyxla.h. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_HPP
#define LAZYXLA_HPP

#include "lazyxla.h"

#include <array>
#include <complex>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
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
  lxla_status status() const noexcept { return status_; }  ///< One of the status codes of lazyxla.h, not LXLA_OK.

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

namespace detail {
// The type that a function of lazyxla.h writes through its last parameter.
template <class> struct Output;
template <class... Parameters> struct Output<lxla_status (*)(Parameters...)> {
  using Type = std::remove_pointer_t<std::tuple_element_t<sizeof...(Parameters) - 1, std::tuple<Parameters...>>>;
};

// What such a function gives.
template <auto call, class... Inputs> auto get(Inputs... inputs) {
  typename Output<decltype(call)>::Type out{};
  check(call(inputs..., &out));
  return out;
}

// A string that such a function gives.
template <auto call, class... Inputs> std::string text(Inputs... inputs) {
  const std::unique_ptr<char, decltype(&lxla_string_free)> owner(get<call>(inputs...), lxla_string_free);
  return owner.get();
}

inline const char *dtype_name(int32_t dtype) {
  constexpr const char *names[] = {"none", "pred", "s8",  "s16", "s32", "s64",  "u8",  "u16",
                                   "u32",  "u64",  "f16", "f32", "f64", "bf16", "c64", "c128"};
  return dtype >= 0 && dtype < 16 ? names[dtype] : "unknown";
}

// Elements that lie side by side. Those of std::vector<bool> do not, and are unpacked to a byte each.
template <class T> const std::vector<T> &contiguous(const std::vector<T> &values) { return values; }
inline std::vector<uint8_t> contiguous(const std::vector<bool> &values) { return {values.begin(), values.end()}; }
static_assert(sizeof(bool) == 1, "pred has one byte an element");
}  // namespace detail

inline lxla_device xla(int32_t ordinal = 0) { return {LXLA_DEVICE_XLA, ordinal}; }  ///< The XLA device of a number.
inline lxla_device cpu() { return {LXLA_DEVICE_CPU, 0}; }                           ///< Native host memory.
/// The device that "cpu", "xla" or "xla:N" names.
inline lxla_device parse_device(const std::string &text) { return detail::get<lxla_device_parse>(text.c_str()); }

/// Options of a new environment, as in lxla_env_options. What is left as it is here is the default.
struct EnvironmentOptions {
  std::string plugin_path;                        ///< File of the PJRT plugin.
  std::string cache_dir;                          ///< Folder of the disk cache.
  size_t cache_capacity = 0;                      ///< How many compiled programs are kept.
  size_t max_program_ops = 0;                     ///< The most operations of one program.
  int32_t device_count = 0;                       ///< How many devices to ask the plugin for.
  std::optional<bool> use_native_for_cpu_tensor;  ///< Whether tensors on `cpu` are native.
  int32_t mixed_device_policy = 0;                ///< What happens when devices meet: 1 error, 2 copy, 3 scalar.
  std::optional<bool> donation;                   ///< Whether steps donate buffers.
};

/// One reference to an environment, or a view of one that others own. A moved-from one is none: INVALID_HANDLE.
class Environment {
 public:
  Environment() : Environment(EnvironmentOptions()) {}  ///< A new environment with default options.
  /// A new environment.
  explicit Environment(const EnvironmentOptions &given) {
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
    owned_ = true;
  }
  /// Another reference to the same environment.
  Environment(const Environment &other) : env_(other.env_), owned_(other.owned_) {
    if (owned_) check(lxla_env_retain(env_));
  }
  /// Takes the reference over. The other's handle is then no environment's; 0 would mean the current one.
  Environment(Environment &&other) noexcept
      : env_(std::exchange(other.env_, lxla_env{UINT64_MAX})), owned_(std::exchange(other.owned_, false)) {}
  /// Gives up the reference it has, and takes or shares the other's.
  Environment &operator=(Environment other) noexcept {
    std::swap(env_, other.env_);
    std::swap(owned_, other.owned_);
    return *this;
  }
  ~Environment() { if (owned_) lxla_env_release(env_); }  ///< Gives up the reference.

  /// A view of an environment that others own: it takes no reference and gives none up.
  static Environment borrow(lxla_env env) noexcept { return Environment(env); }
  /// The process's default environment, as a view.
  static Environment default_environment() { return borrow(detail::get<lxla_env_default>()); }
  /// The thread's current environment, as a view. FAILED_PRECONDITION outside any scope.
  static Environment current() { return borrow(detail::get<lxla_env_current>()); }

  lxla_env handle() const noexcept { return env_; }  ///< For calls of lazyxla.h. The reference stays here.
  bool owned() const noexcept { return owned_; }     ///< Whether a reference is owned here.
  /// A counter's value.
  uint64_t counter(const std::string &name) const { return detail::get<lxla_env_counter>(env_, name.c_str()); }
  /// Sets an option.
  void set_option(const std::string &key, const std::string &value) {
    check(lxla_env_set_option(env_, key.c_str(), value.c_str()));
  }
  /// An option's value.
  std::string get_option(const std::string &key) const { return detail::text<lxla_env_get_option>(env_, key.c_str()); }
  int32_t device_count() const { return detail::get<lxla_env_device_count>(env_); }  ///< Of XLA devices.
  std::string metrics_json() const { return detail::text<lxla_env_metrics_json>(env_); }  ///< All counters and options.
  void metrics_reset() { check(lxla_env_metrics_reset(env_)); }  ///< Sets all counters to 0.
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
  explicit Scope(const Environment &env) : env_(env) { check(lxla_env_enter(env_.handle())); }
  ~Scope() { lxla_env_exit(env_.handle()); }  ///< Leaves it.
  Scope(const Scope &) = delete;
  Scope &operator=(const Scope &) = delete;

 private:
  Environment env_;
};

/// Where a new tensor goes. It does not keep the environment alive.
struct Place {
  Place() = default;                     ///< The current environment, else the default one, and no device named.
  Place(lxla_device on) : device(on) {}  ///< A device of the current environment, else of the default one.
  /// An environment, and a device of it.
  Place(const Environment &in, lxla_device on = {}) : env(in.handle()), device(on) {}

  lxla_env env{};        ///< The environment; id 0 for the current one, else the default one.
  lxla_device device{};  ///< The device.
};

/// A number as an operand, exact: it takes the tensor's dtype, and one that this cannot represent is INVALID_ARGUMENT.
class Scalar {
 public:
  /// Any real number, or a bool, which is 0 or 1.
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>> Scalar(T value) {
    constexpr bool real = std::is_floating_point_v<T>;
    scalar_.dtype = real ? LXLA_DTYPE_F64 : std::is_signed_v<T> ? LXLA_DTYPE_S64 : LXLA_DTYPE_U64;
    if constexpr (real) scalar_.value.f = static_cast<double>(value);
    else if constexpr (std::is_signed_v<T>) scalar_.value.i = value;
    else scalar_.value.u = value;
  }
  /// A complex number.
  template <class T> Scalar(const std::complex<T> &value) {
    scalar_.dtype = LXLA_DTYPE_C128;
    scalar_.value.c[0] = static_cast<double>(value.real());
    scalar_.value.c[1] = static_cast<double>(value.imag());
  }
  const lxla_scalar *get() const noexcept { return &scalar_; }  ///< As lazyxla.h takes it.

 private:
  lxla_scalar scalar_{};
};

/// One reference to a tensor. Copies are references to the same tensor: what changes in place in one shows in all. Use
/// snapshot() for a value that stays, and assign() to change a value; `=` makes this refer to another tensor.
class Tensor {
 public:
  Tensor() noexcept = default;  ///< No tensor: calls with it give INVALID_HANDLE.
  /// Another reference to the same tensor.
  Tensor(const Tensor &other) : tensor_(other.tensor_) { if (tensor_.id != 0) check(lxla_tensor_retain(tensor_)); }
  /// Takes the reference over; the other is no tensor then.
  Tensor(Tensor &&other) noexcept : tensor_(other.release()) {}
  /// Gives up the reference it has, and takes or shares the other's.
  Tensor &operator=(Tensor other) noexcept { return std::swap(tensor_, other.tensor_), *this; }
  ~Tensor() { lxla_tensor_release(tensor_); }  ///< Gives up the reference.

  /// Takes over a reference that a call of lazyxla.h gave.
  static Tensor adopt(lxla_tensor tensor) noexcept { return Tensor(tensor); }
  /// Calls a function of lazyxla.h that gives a tensor: make<lxla_unary>(LXLA_UNARY_ABS, x.handle()).
  template <auto call, class... Inputs> static Tensor make(Inputs... in) { return adopt(detail::get<call>(in...)); }
  /// Gives the reference to the caller; this is no tensor then.
  lxla_tensor release() noexcept { return std::exchange(tensor_, lxla_tensor{}); }
  lxla_tensor handle() const noexcept { return tensor_; }  ///< For calls of lazyxla.h. The reference stays here.
  explicit operator bool() const noexcept { return tensor_.id != 0; }  ///< Whether this refers to a tensor.

  /// A tensor with these bytes, in row-major order.
  static Tensor from_bytes(const void *data, size_t size_bytes, const Dims &dims, int32_t dtype, const Place &at = {}) {
    return make<lxla_tensor_from_host>(at.env, at.device, dtype, dims.data(), dims.size(), data, size_bytes);
  }
  /// A tensor with `count` elements, in row-major order.
  template <class T> static Tensor from_host(const T *data, size_t count, const Dims &dims, const Place &at = {}) {
    return from_bytes(data, count * sizeof(T), dims, dtype_of<T>(), at);
  }
  /// A tensor with these elements, in row-major order; std::vector<bool> makes pred.
  template <class T> static Tensor from_host(const std::vector<T> &values, const Dims &dims, const Place &at = {}) {
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
  /// What a safetensors file has under a name.
  static Tensor load(const std::string &path, const std::string &name, const Place &at = {}) {
    return make<lxla_load>(at.env, at.device, path.c_str(), name.c_str());
  }
  /// A tensor with no value.
  static Tensor placeholder(const Dims &dims, int32_t dtype = LXLA_DTYPE_F32, const Place &at = {}) {
    return make<lxla_tensor_placeholder>(at.env, at.device, dtype, dims.data(), dims.size());
  }
  /// A placeholder with this one's dtype, shape, device and requires_grad.
  Tensor placeholder_like() const { return make<lxla_tensor_placeholder_like>(tensor_); }
  /// A new tensor with the value of now, which later changes in place do not touch.
  Tensor snapshot() const { return make<lxla_tensor_snapshot>(tensor_); }
  /// A new tensor with the same value on another device.
  Tensor to_device(lxla_device device) const { return make<lxla_tensor_to_device>(tensor_, device); }

  int32_t dtype() const { return detail::get<lxla_tensor_dtype>(tensor_); }        ///< One of LXLA_DTYPE_*.
  int32_t state() const { return detail::get<lxla_tensor_state>(tensor_); }        ///< One of LXLA_STATE_*, now.
  size_t rank() const { return detail::get<lxla_tensor_rank>(tensor_); }           ///< The number of axes.
  lxla_device device() const { return detail::get<lxla_tensor_device>(tensor_); }  ///< Where it is.
  /// The sizes of the axes.
  Dims dims() const {
    Dims dims(rank());
    return check(lxla_tensor_dims(tensor_, dims.data(), dims.size())), dims;
  }
  /// The number of elements.
  size_t size() const {
    size_t count = 1;
    for (const int64_t size : dims()) count *= static_cast<size_t>(size);
    return count;
  }
  /// The environment, as a view.
  Environment environment() const { return Environment::borrow(detail::get<lxla_tensor_env>(tensor_)); }
  /// Whether it is marked as requiring gradients.
  bool requires_grad() const { return detail::get<lxla_tensor_requires_grad>(tensor_) != 0; }
  void set_requires_grad(bool on) { check(lxla_tensor_set_requires_grad(tensor_, on ? 1 : 0)); }  ///< Sets the mark.

  /// Copies all bytes, row-major, to `dst`; waits for them.
  void read_bytes(void *dst, size_t size_bytes) const { check(lxla_tensor_read(tensor_, dst, size_bytes)); }
  /// All elements, row-major; waits for them. T is the dtype exactly; pred is read as bool, into std::vector<bool>.
  template <class T> std::vector<T> read() const {
    expect<T>("read");
    std::vector<std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>> values(size());
    read_bytes(values.data(), values.size() * sizeof(values[0]));
    if constexpr (std::is_same_v<T, bool>) return {values.begin(), values.end()};
    else return values;
  }
  /// Takes these elements, row-major, as its value. T is the tensor's dtype exactly.
  template <class T> void write(const std::vector<T> &values) {
    expect<T>("write");
    const auto &elements = detail::contiguous(values);
    check(lxla_tensor_write(tensor_, elements.data(), elements.size() * sizeof(elements[0])));
  }
  /// Takes the value that another tensor has now.
  void assign(const Tensor &src) { check(lxla_tensor_assign(tensor_, src.tensor_)); }

  /// this = this (op) rhs, a tensor or number, in place; op is one of LXLA_BINARY_*. The ABI has this for numbers that
  /// are a double; 64-bit integers and complex numbers go by way of another tensor.
  template <class R> Tensor &apply(int32_t op, const R &rhs) {
    constexpr bool as_double = std::is_floating_point_v<R> || (std::is_arithmetic_v<R> && sizeof(R) < 8);
    if constexpr (std::is_base_of_v<Tensor, R>) check(lxla_binary_inplace(op, tensor_, rhs.tensor_));
    else if constexpr (as_double) check(lxla_binary_scalar_inplace(op, tensor_, static_cast<double>(rhs)));
    else assign(make<lxla_binary_with_scalar>(op, tensor_, Scalar(rhs).get(), 0));
    return *this;
  }
  template <class R> Tensor &operator+=(const R &rhs) { return apply(LXLA_BINARY_ADD, rhs); }       ///< In place.
  template <class R> Tensor &operator-=(const R &rhs) { return apply(LXLA_BINARY_SUBTRACT, rhs); }  ///< In place.
  template <class R> Tensor &operator*=(const R &rhs) { return apply(LXLA_BINARY_MULTIPLY, rhs); }  ///< In place.
  template <class R> Tensor &operator/=(const R &rhs) { return apply(LXLA_BINARY_DIVIDE, rhs); }    ///< In place.

 private:
  explicit Tensor(lxla_tensor tensor) noexcept : tensor_(tensor) {}

  template <class T> void expect(const char *call) const {
    const int32_t mine = dtype(), given = dtype_of<T>();
    if (mine != given)
      throw Error(LXLA_INVALID_ARGUMENT, std::string("lazyxla::Tensor::") + call + ": the elements are " +
                                             detail::dtype_name(given) + ", the tensor is " + detail::dtype_name(mine));
  }

  lxla_tensor tensor_{};
};

namespace detail {
template <class T> inline constexpr bool is_tensor = std::is_base_of_v<Tensor, T>;
template <class T> inline constexpr bool is_operand = is_tensor<T> || std::is_convertible_v<const T &, Scalar>;
// A tensor, if the two are tensors, or one is and the other a number.
template <class L, class R>
using Result = std::enable_if_t<(is_tensor<L> && is_operand<R>) || (is_operand<L> && is_tensor<R>), Tensor>;

inline std::vector<lxla_tensor> handles(const std::vector<Tensor> &tensors) {
  std::vector<lxla_tensor> list;
  for (const Tensor &tensor : tensors) list.push_back(tensor.handle());
  return list;
}
/// Takes over references that a call of lazyxla.h gave.
inline std::vector<Tensor> adopted(const std::vector<lxla_tensor> &handles) {
  std::vector<Tensor> out;
  out.reserve(handles.size());
  for (lxla_tensor handle : handles) out.push_back(Tensor::adopt(handle));
  return out;
}

inline Dims all_axes(const Tensor &x) {
  Dims axes(x.rank());
  for (size_t i = 0; i < axes.size(); i++) axes[i] = static_cast<int64_t>(i);
  return axes;
}

// A call with one tensor and a list of sizes or axes.
template <auto call> Tensor listed(const Tensor &x, const Dims &list) {
  return Tensor::make<call>(x.handle(), list.data(), list.size());
}
}  // namespace detail

/// l (op) r, one of LXLA_BINARY_*, element by element: two tensors, or a tensor and a number on either side.
template <class L, class R> detail::Result<L, R> binary(int32_t op, const L &l, const R &r) {
  constexpr auto with_scalar = lxla_binary_with_scalar;
  if constexpr (!detail::is_tensor<R>) return Tensor::make<with_scalar>(op, l.handle(), Scalar(r).get(), 0);
  else if constexpr (!detail::is_tensor<L>) return Tensor::make<with_scalar>(op, r.handle(), Scalar(l).get(), 1);
  else return Tensor::make<lxla_binary>(op, l.handle(), r.handle());
}

// As binary.
#define LAZYXLA_BINARY(name, code) \
  template <class L, class R> detail::Result<L, R> name(const L &l, const R &r) { return binary(code, l, r); }
LAZYXLA_BINARY(operator+, LXLA_BINARY_ADD)          ///< Sum.
LAZYXLA_BINARY(operator-, LXLA_BINARY_SUBTRACT)     ///< Difference.
LAZYXLA_BINARY(operator*, LXLA_BINARY_MULTIPLY)     ///< Product.
LAZYXLA_BINARY(operator/, LXLA_BINARY_DIVIDE)       ///< Quotient; of integers, truncated.
LAZYXLA_BINARY(operator%, LXLA_BINARY_REMAINDER)    ///< Remainder, with the dividend's sign.
LAZYXLA_BINARY(operator&, LXLA_BINARY_AND)          ///< And, bit by bit or of pred.
LAZYXLA_BINARY(operator|, LXLA_BINARY_OR)           ///< Or, bit by bit or of pred.
LAZYXLA_BINARY(operator^, LXLA_BINARY_XOR)          ///< Exclusive or, bit by bit or of pred.
LAZYXLA_BINARY(operator<<, LXLA_BINARY_SHIFT_LEFT)  ///< Shift to the left.
LAZYXLA_BINARY(maximum, LXLA_BINARY_MAXIMUM)        ///< The greater one.
LAZYXLA_BINARY(minimum, LXLA_BINARY_MINIMUM)        ///< The smaller one.
LAZYXLA_BINARY(power, LXLA_BINARY_POWER)            ///< l to the power of r.
LAZYXLA_BINARY(atan2, LXLA_BINARY_ATAN2)            ///< The angle of the point (r, l).
#undef LAZYXLA_BINARY

/// Shift to the right: logical of unsigned integers, else arithmetic.
template <class L, class R> detail::Result<L, R> operator>>(const L &l, const R &r) {
  int32_t dtype;
  if constexpr (detail::is_tensor<L>) dtype = l.dtype();
  else dtype = r.dtype();
  const bool logical = LXLA_DTYPE_U8 <= dtype && dtype <= LXLA_DTYPE_U64;
  return binary(logical ? LXLA_BINARY_SHIFT_RIGHT_LOGICAL : LXLA_BINARY_SHIFT_RIGHT_ARITHMETIC, l, r);
}

/// (op) x, one of LXLA_UNARY_*, element by element.
inline Tensor unary(int32_t op, const Tensor &x) { return Tensor::make<lxla_unary>(op, x.handle()); }
inline Tensor operator-(const Tensor &x) { return unary(LXLA_UNARY_NEGATE, x); }  ///< -x.
inline Tensor operator~(const Tensor &x) { return unary(LXLA_UNARY_NOT, x); }  ///< Not, bitwise.
inline Tensor negate(const Tensor &x) { return unary(LXLA_UNARY_NEGATE, x); }  ///< -x.
inline Tensor abs(const Tensor &x) { return unary(LXLA_UNARY_ABS, x); }  ///< Magnitude; of complex numbers, real.
inline Tensor sign(const Tensor &x) { return unary(LXLA_UNARY_SIGN, x); }  ///< -1, 0 or 1; of complex numbers, x / |x|.
inline Tensor exp(const Tensor &x) { return unary(LXLA_UNARY_EXPONENTIAL, x); }  ///< e to the power of x.
inline Tensor expm1(const Tensor &x) { return unary(LXLA_UNARY_EXPONENTIAL_MINUS_ONE, x); }  ///< exp(x) - 1.
inline Tensor log(const Tensor &x) { return unary(LXLA_UNARY_LOG, x); }  ///< Natural logarithm.
inline Tensor log1p(const Tensor &x) { return unary(LXLA_UNARY_LOG_PLUS_ONE, x); }  ///< log(1 + x).
inline Tensor logistic(const Tensor &x) { return unary(LXLA_UNARY_LOGISTIC, x); }  ///< 1 / (1 + exp(-x)).
inline Tensor tanh(const Tensor &x) { return unary(LXLA_UNARY_TANH, x); }  ///< Hyperbolic tangent.
inline Tensor sqrt(const Tensor &x) { return unary(LXLA_UNARY_SQRT, x); }  ///< Square root.
inline Tensor rsqrt(const Tensor &x) { return unary(LXLA_UNARY_RSQRT, x); }  ///< 1 / sqrt(x).
inline Tensor cbrt(const Tensor &x) { return unary(LXLA_UNARY_CBRT, x); }  ///< Cube root.
inline Tensor sin(const Tensor &x) { return unary(LXLA_UNARY_SINE, x); }  ///< Sine.
inline Tensor cos(const Tensor &x) { return unary(LXLA_UNARY_COSINE, x); }  ///< Cosine.
inline Tensor tan(const Tensor &x) { return unary(LXLA_UNARY_TAN, x); }  ///< Tangent.
inline Tensor floor(const Tensor &x) { return unary(LXLA_UNARY_FLOOR, x); }  ///< The next integer below.
inline Tensor ceil(const Tensor &x) { return unary(LXLA_UNARY_CEIL, x); }  ///< The next integer above.
inline Tensor round_nearest_even(const Tensor &x) { return unary(LXLA_UNARY_ROUND_NEAREST_EVEN, x); }  ///< n.5 to even.
inline Tensor round_nearest_afz(const Tensor &x) { return unary(LXLA_UNARY_ROUND_NEAREST_AFZ, x); }  ///< n.5 from zero.
inline Tensor bitwise_not(const Tensor &x) { return unary(LXLA_UNARY_NOT, x); }  ///< Not, bit by bit or of pred.
inline Tensor popcnt(const Tensor &x) { return unary(LXLA_UNARY_POPCNT, x); }  ///< How many bits are set.
inline Tensor count_leading_zeros(const Tensor &x) { return unary(LXLA_UNARY_COUNT_LEADING_ZEROS, x); }  ///< High 0s.
inline Tensor is_finite(const Tensor &x) { return unary(LXLA_UNARY_IS_FINITE, x); }  ///< Not infinite or NaN; pred.

/// l (op) r, one of LXLA_COMPARE_*, element by element, as pred.
inline Tensor compare(int32_t op, const Tensor &l, const Tensor &r) {
  return Tensor::make<lxla_compare>(op, l.handle(), r.handle());
}
inline Tensor eq(const Tensor &l, const Tensor &r) { return compare(LXLA_COMPARE_EQ, l, r); }  ///< l == r.
inline Tensor ne(const Tensor &l, const Tensor &r) { return compare(LXLA_COMPARE_NE, l, r); }  ///< l != r.
inline Tensor ge(const Tensor &l, const Tensor &r) { return compare(LXLA_COMPARE_GE, l, r); }  ///< l >= r.
inline Tensor gt(const Tensor &l, const Tensor &r) { return compare(LXLA_COMPARE_GT, l, r); }  ///< l > r.
inline Tensor le(const Tensor &l, const Tensor &r) { return compare(LXLA_COMPARE_LE, l, r); }  ///< l <= r.
inline Tensor lt(const Tensor &l, const Tensor &r) { return compare(LXLA_COMPARE_LT, l, r); }  ///< l < r.

/// A reduction over axes, one of LXLA_REDUCE_*; with keep_dims they stay, of size 1. No axes, {}, give x.
inline Tensor reduce(int32_t op, const Tensor &x, const Dims &axes, bool keep_dims = false) {
  return Tensor::make<lxla_reduce>(op, x.handle(), axes.data(), axes.size(), keep_dims ? 1 : 0);
}

// Reductions over all axes, or over those named.
#define LAZYXLA_REDUCE(name, code)                                                     \
  inline Tensor name(const Tensor &x) { return reduce(code, x, detail::all_axes(x)); } \
  inline Tensor name(const Tensor &x, const Dims &axes, bool keep = false) { return reduce(code, x, axes, keep); }
LAZYXLA_REDUCE(sum, LXLA_REDUCE_SUM)          ///< Sums.
LAZYXLA_REDUCE(product, LXLA_REDUCE_PRODUCT)  ///< Products.
LAZYXLA_REDUCE(max, LXLA_REDUCE_MAX)          ///< Greatest elements.
LAZYXLA_REDUCE(min, LXLA_REDUCE_MIN)          ///< Smallest elements.
LAZYXLA_REDUCE(all, LXLA_REDUCE_ALL)          ///< Whether all are true, of pred.
LAZYXLA_REDUCE(any, LXLA_REDUCE_ANY)          ///< Whether any is true, of pred.
#undef LAZYXLA_REDUCE

/// The same elements, row-major, in another shape.
inline Tensor reshape(const Tensor &x, const Dims &dims) { return detail::listed<lxla_reshape>(x, dims); }
/// The elements repeated to a shape, by NumPy's rules.
inline Tensor broadcast_to(const Tensor &x, const Dims &dims) { return detail::listed<lxla_broadcast_to>(x, dims); }
/// Axis i of the result is axis perm[i] of x.
inline Tensor transpose(const Tensor &x, const Dims &perm) { return detail::listed<lxla_transpose>(x, perm); }
/// x[start : limit : stride] on each axis; no strides are all 1.
inline Tensor slice(const Tensor &x, const Dims &starts, const Dims &limits, const Dims &strides = {}) {
  const int64_t *steps = strides.empty() ? nullptr : strides.data();
  if (starts.size() != limits.size() || (steps && starts.size() != strides.size()))
    throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::slice: starts, limits and strides differ in length");
  return Tensor::make<lxla_slice>(x.handle(), starts.data(), limits.data(), steps, starts.size());
}
/// The tensors one after another along an axis.
inline Tensor concatenate(const std::vector<Tensor> &tensors, int64_t axis) {
  const auto list = detail::handles(tensors);
  return Tensor::make<lxla_concatenate>(list.data(), list.size(), axis);
}
/// The matrix product, by NumPy's rules.
inline Tensor matmul(const Tensor &l, const Tensor &r) { return Tensor::make<lxla_matmul>(l.handle(), r.handle()); }
/// pred ? on_true : on_false, element by element.
inline Tensor select(const Tensor &pred, const Tensor &on_true, const Tensor &on_false) {
  return Tensor::make<lxla_select>(pred.handle(), on_true.handle(), on_false.handle());
}
/// To another dtype, one of LXLA_DTYPE_*.
inline Tensor convert(const Tensor &x, int32_t dtype) { return Tensor::make<lxla_convert>(x.handle(), dtype); }

/// The sizes of each axis, beginning at starts: one integer scalar for each axis.
inline Tensor dynamic_slice(const Tensor &x, const std::vector<Tensor> &starts, const Dims &sizes) {
  if (starts.size() != sizes.size())
    throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::dynamic_slice: starts and sizes differ in length");
  const auto list = detail::handles(starts);
  return Tensor::make<lxla_dynamic_slice>(x.handle(), list.data(), sizes.data(), list.size());
}
/// x with update written over it, beginning at starts.
inline Tensor dynamic_update_slice(const Tensor &x, const Tensor &update, const std::vector<Tensor> &starts) {
  const auto list = detail::handles(starts);
  return Tensor::make<lxla_dynamic_update_slice>(x.handle(), update.handle(), list.data(), list.size());
}
/// The slices of x along an axis, at indices.
inline Tensor take(const Tensor &x, const Tensor &indices, int64_t axis) {
  return Tensor::make<lxla_take>(x.handle(), indices.handle(), axis);
}
/// x with a value before, after and between its elements.
inline Tensor pad(const Tensor &x, const Tensor &value, const Dims &low, const Dims &high, const Dims &interior = {}) {
  const int64_t *between = interior.empty() ? nullptr : interior.data();
  if (low.size() != high.size() || (between && low.size() != interior.size()))
    throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::pad: low, high and interior differ in length");
  return Tensor::make<lxla_pad>(x.handle(), value.handle(), low.data(), high.data(), between, low.size());
}

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

/// Computes these tensors, and what they need; donates nothing, and does not wait.
inline void sync(const std::vector<Tensor> &tensors) {
  const auto list = detail::handles(tensors);
  check(lxla_sync(list.data(), list.size()));
}
/// The StableHLO text of what a sync of these tensors would compile.
inline std::string stablehlo(const std::vector<Tensor> &tensors) {
  const auto list = detail::handles(tensors);
  return detail::text<lxla_stablehlo>(list.data(), list.size());
}

/// Tensors by the names that they have in a file.
using Named = std::vector<std::pair<std::string, Tensor>>;

namespace detail {
inline std::pair<std::vector<const char *>, std::vector<lxla_tensor>> lists(const Named &named) {
  std::pair<std::vector<const char *>, std::vector<lxla_tensor>> out;
  for (const auto &[name, tensor] : named) out.first.push_back(name.c_str()), out.second.push_back(tensor.handle());
  return out;
}
}  // namespace detail

/// Writes a safetensors file, whole or not at all, and returns when it is on the disk. Donates nothing.
inline void save(const std::string &path, const Named &named) {
  const auto [names, tensors] = detail::lists(named);
  check(lxla_save(path.c_str(), names.data(), tensors.data(), names.size()));
}

/// A save in the background. The file holds the values of the moment when it was made; destroying it waits for nothing.
class AsyncSave {
 public:
  /// Starts it.
  AsyncSave(const std::string &path, const Named &named) {
    const auto [names, tensors] = detail::lists(named);
    check(lxla_save_async(path.c_str(), names.data(), tensors.data(), names.size(), &ticket_));
  }
  AsyncSave(const AsyncSave &) = delete;
  AsyncSave &operator=(const AsyncSave &) = delete;
  ~AsyncSave() { lxla_save_ticket_release(ticket_); }
  void wait() { check(lxla_save_wait(ticket_)); }  ///< Until the file is on the disk; its failure.
  /// Whether it has ended, well or badly.
  bool done() const {
    int32_t done = 0;
    check(lxla_save_done(ticket_, &done));
    return done == 1;
  }

 private:
  lxla_save_ticket ticket_{};
};

}  // namespace lazyxla

#endif  // LAZYXLA_HPP
