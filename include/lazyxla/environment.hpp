// Environments and devices.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_ENVIRONMENT_HPP
#define LAZYXLA_ENVIRONMENT_HPP

#include "arguments.hpp"

#include <complex>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace lazyxla {

/// List of sizes, or list of axes.
using Dims = std::vector<int64_t>;

inline std::string version() { return lxla_version(); }  ///< The library's, as "0.1.0".

/// Sets the log callback, to which `user` is passed, or with NULL none. It must neither throw nor call the library. On
/// return, the previous one is no longer called.
inline void set_log_callback(lxla_log_fn fn, void *user = nullptr) { check(lxla_set_log_callback(fn, user)); }

/// The dtype of a C++ element type. C++17 has no type for f16 and bf16: see Tensor::from_bytes and Tensor::read_bytes.
template <class T>
constexpr Dtype dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return LXLA_DTYPE_PRED;
  else if constexpr (std::is_same_v<T, float>) return LXLA_DTYPE_F32;
  else if constexpr (std::is_same_v<T, double>) return LXLA_DTYPE_F64;
  else if constexpr (std::is_same_v<T, std::complex<float>>) return LXLA_DTYPE_C64;
  else if constexpr (std::is_same_v<T, std::complex<double>>) return LXLA_DTYPE_C128;
  else {
    static_assert(std::is_integral_v<T> && sizeof(T) <= 8, "lazyxla has no dtype for this type");
    constexpr int32_t width = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return static_cast<Dtype>((std::is_signed_v<T> ? LXLA_DTYPE_S8 : LXLA_DTYPE_U8) + width);
  }
}

namespace detail {
// Type of the output of a function of lazyxla.h: the target of its last parameter.
template <class> struct Output;
template <class... Parameters> struct Output<lxla_status (*)(Parameters...)> {
  using Type = std::remove_pointer_t<std::tuple_element_t<sizeof...(Parameters) - 1, std::tuple<Parameters...>>>;
};

// Calls a function of lazyxla.h and returns its output.
template <auto call, class... Inputs> auto get(Inputs... inputs) {
  typename Output<decltype(call)>::Type out{};
  check(call(inputs..., &out));
  return out;
}

// Calls a function that returns a string; copies the string and frees it.
template <auto call, class... Inputs> std::string text(Inputs... inputs) {
  const std::unique_ptr<char, decltype(&lxla_string_free)> owner(get<call>(inputs...), lxla_string_free);
  return owner.get();
}

// Returns the elements in contiguous memory: copies std::vector<bool> to one byte per element.
template <class T> const std::vector<T> &contiguous(const std::vector<T> &values) { return values; }
inline std::vector<uint8_t> contiguous(const std::vector<bool> &values) { return {values.begin(), values.end()}; }
static_assert(sizeof(bool) == 1, "pred has one byte an element");
}  // namespace detail

/// The PJRT plugins that can be found, as JSON; see lxla_plugin_list.
inline std::string plugin_list() { return detail::text<lxla_plugin_list>(); }

/// Limits native kernels of the calling thread to n threads; 0: the environment's option. Returns the limit before.
inline Int32 thread_limit(Int32 n) { return detail::get<lxla_thread_limit>(n); }

inline lxla_device xla(Int32 ordinal = 0) { return {LXLA_DEVICE_XLA, ordinal}; }  ///< The XLA device of a number.
inline lxla_device cpu() { return {LXLA_DEVICE_CPU, 0}; }                         ///< Native host memory.
/// Parses a device name: "cpu", "xla", "xla:N" or "mesh:N".
inline lxla_device parse_device(const std::string &text) { return detail::get<lxla_device_parse>(text.c_str()); }

/// Options of a new environment, as in lxla_env_options. The initial values select the defaults.
struct EnvironmentOptions {
  std::string plugin_path;                                ///< File of the PJRT plugin.
  std::string cache_dir;                                  ///< Folder of the disk cache.
  Count cache_capacity = 0;                               ///< How many compiled programs are kept.
  Count max_program_ops = 0;                              ///< The most operations of one program.
  Int32 device_count = 0;                                 ///< How many devices to ask the plugin for.
  std::optional<Flag> use_native_for_cpu_tensor;          ///< Whether tensors on `cpu` are native.
  MixedDevicePolicy mixed_device_policy{};                ///< For operands on different devices.
  std::optional<Flag> donation;                           ///< Whether steps donate buffers.
  Int32 process_id = 0;                                   ///< Number of this process among several, from 0.
  Int32 process_count = 0;                                ///< How many processes run the program together.
  const lxla_key_value_store *key_value_store = nullptr;  ///< Store that they share; copied by the constructor.
  std::string plugin_options;                             ///< Options of the plugin's client, a JSON object.
  std::string engine;                                     ///< Engine of the XLA devices: pjrt or xla-rs.
  std::string dynamic_sizes;  ///< Bounds of sizes that change: off, buckets, powers, a list.
  Int32 threads = 0;          ///< The most threads of a native kernel.
};

/// Owner of one reference to an environment, or a view without a reference. Using a moved-from object throws
/// INVALID_HANDLE.
class Environment {
 public:
  Environment() : Environment(EnvironmentOptions()) {}  ///< A new environment with default options.
  /// Creates an environment.
  explicit Environment(const EnvironmentOptions &given) {
    const auto text = [](const std::string &s) { return s.empty() ? nullptr : s.c_str(); };
    const auto flag = [](std::optional<Flag> on) { return on ? (*on ? LXLA_ON : LXLA_OFF) : 0; };
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
    options.process_id = given.process_id;
    options.process_count = given.process_count;
    options.key_value_store = given.key_value_store;
    options.plugin_options = text(given.plugin_options);
    options.engine = text(given.engine);
    options.dynamic_sizes = text(given.dynamic_sizes);
    options.threads = given.threads;
    check(lxla_env_create(&options, &env_));
    owned_ = true;
  }
  /// Adds a reference to the same environment.
  Environment(const Environment &other) : env_(other.env_), owned_(other.owned_) {
    if (owned_) check(lxla_env_retain(env_));
  }
  /// Moves the reference. The moved-from object gets an invalid handle rather than 0, which would mean the current
  /// environment.
  Environment(Environment &&other) noexcept
      : env_(std::exchange(other.env_, lxla_env{UINT64_MAX})), owned_(std::exchange(other.owned_, false)) {}
  /// Releases the present reference, then copies or moves the other's.
  Environment &operator=(Environment other) noexcept {
    std::swap(env_, other.env_);
    std::swap(owned_, other.owned_);
    return *this;
  }
  ~Environment() {
    if (owned_) lxla_env_release(env_);
  }  ///< Gives up the reference.

  /// Returns a view of an environment: it neither adds nor releases a reference.
  static Environment borrow(lxla_env env) noexcept { return Environment(env); }
  /// Returns a view of the process's default environment.
  static Environment default_environment() { return borrow(detail::get<lxla_env_default>()); }
  /// Returns a view of the thread's current environment. FAILED_PRECONDITION outside any scope.
  static Environment current() { return borrow(detail::get<lxla_env_current>()); }

  lxla_env handle() const noexcept { return env_; }  ///< For calls of lazyxla.h. The reference stays here.
  bool owned() const noexcept { return owned_; }     ///< Whether a reference is owned here.
  /// Returns the value of a counter.
  uint64_t counter(const std::string &name) const { return detail::get<lxla_env_counter>(env_, name.c_str()); }
  /// Sets an option.
  void set_option(const std::string &key, const std::string &value) {
    check(lxla_env_set_option(env_, key.c_str(), value.c_str()));
  }
  /// Returns the value of an option.
  std::string get_option(const std::string &key) const { return detail::text<lxla_env_get_option>(env_, key.c_str()); }
  /// Sets the function that frees memory when a device lacks it; NULL removes it. See lxla_env_set_memory_callback.
  void set_memory_callback(lxla_memory_fn fn, void *user = nullptr) {
    check(lxla_env_set_memory_callback(env_, fn, user));
  }
  int32_t device_count() const { return detail::get<lxla_env_device_count>(env_); }       ///< Of XLA devices.
  std::string metrics_json() const { return detail::text<lxla_env_metrics_json>(env_); }  ///< All counters and options.
  void metrics_reset() { check(lxla_env_metrics_reset(env_)); }                           ///< Sets all counters to 0.
  /// Runs a step: enqueues all pending operations of a device, or of all devices. With `wait`, blocks until they have
  /// finished.
  void mark_step(lxla_device device = {}, Flag wait = false) { check(lxla_mark_step(env_, device, wait ? 1 : 0)); }
  /// Blocks until all work enqueued on a device, or on all devices, has finished.
  void wait(lxla_device device = {}) { check(lxla_wait(env_, device)); }
  /// Does the same for at most `timeout_ms` milliseconds, and for the first `enqueued` runs and copies of the process
  /// only. Returns whether these have ended.
  bool wait_for(Count enqueued, Int timeout_ms, lxla_device device = {}) {
    int32_t done = 0;
    check(lxla_wait_for(env_, device, enqueued, timeout_ms, &done));
    return done == 1;
  }
  /// The statistics of a device's memory, as JSON; see lxla_device_memory_stats.
  std::string memory_stats(lxla_device device = {}) const {
    return detail::text<lxla_device_memory_stats>(env_, device);
  }
  /// The live tensors of the environment by label and size, as a JSON object; see lxla_live_tensors_json.
  std::string live_tensors_json() const { return detail::text<lxla_live_tensors_json>(env_); }
  /// Writes what the environment does from now on to a file, as a Chrome trace; see lxla_trace_start.
  void start_trace(const std::string &path) { check(lxla_trace_start(env_, path.c_str())); }
  /// Ends the trace.
  void stop_trace() { check(lxla_trace_stop(env_)); }
  /// The compiles of the environment and their causes, as a JSON object.
  std::string compile_log_json() const { return detail::text<lxla_compile_log_json>(env_); }
  /// Writes a report of the environment to a file, as an HTML page; see lxla_report.
  void report(const std::string &path) const { check(lxla_report(env_, path.c_str())); }
  /// Returns the StableHLO text of the programs that a step of the device would compile now.
  std::string step_stablehlo(lxla_device device = {}) const { return detail::text<lxla_step_stablehlo>(env_, device); }

 private:
  explicit Environment(lxla_env env) noexcept : env_(env) {}

  lxla_env env_{};
  bool owned_ = false;
};

/// Makes an environment the thread's current one during its lifetime. Destroy scopes on their thread, innermost first.
class Scope {
 public:
  /// Enters the environment and keeps it alive.
  explicit Scope(const Environment &env) : env_(env) { check(lxla_env_enter(env_.handle())); }
  ~Scope() { lxla_env_exit(env_.handle()); }  ///< Leaves it.
  Scope(const Scope &) = delete;
  Scope &operator=(const Scope &) = delete;

 private:
  Environment env_;
};

namespace detail {
// Device of this thread's places that name none; kind 0, no device, until UseDevice chooses one.
inline thread_local lxla_device device_in_use{};
}  // namespace detail

/// Makes a device the one of the thread's new tensors during its lifetime: `const lx::UseDevice here(lx::xla());`.
/// Without one, tensors that are created without a place are on no device named, which is `cpu`. Destroy such objects
/// on their thread, innermost first.
class UseDevice {
 public:
  explicit UseDevice(lxla_device device) noexcept : before_(std::exchange(detail::device_in_use, device)) {}
  ~UseDevice() { detail::device_in_use = before_; }  ///< Restores the device before.
  UseDevice(const UseDevice &) = delete;
  UseDevice &operator=(const UseDevice &) = delete;

 private:
  lxla_device before_;
};

/// Environment and device on which tensors are created. Does not keep the environment alive.
struct Place {
  /// The current environment, else the default one, and the device of UseDevice, else no device named.
  Place() : device(detail::device_in_use) {}
  Place(lxla_device on) : device(on) {}  ///< A device of the current environment, else of the default one.
  /// The device of UseDevice in an environment, else no device named.
  Place(const Environment &in) : Place(in, detail::device_in_use) {}
  /// Selects a device of an environment.
  Place(const Environment &in, lxla_device on) : env(in.handle()), device(on) {}

  lxla_env env{};        ///< The environment; id 0 for the current one, else the default one.
  lxla_device device{};  ///< The device.
};

/// Returns a counter of an environment, such as UncachedCompile: programs compiled so far; see lxla_env_counter.
inline uint64_t counter(const std::string &name, const Place &at = {}) {
  return detail::get<lxla_env_counter>(at.env, name.c_str());
}

}  // namespace lazyxla

#endif  // LAZYXLA_ENVIRONMENT_HPP
