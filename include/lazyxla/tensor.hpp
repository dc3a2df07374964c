// Tensors, and numbers as operands.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_TENSOR_HPP
#define LAZYXLA_TENSOR_HPP

#include "environment.hpp"

#include <array>

namespace lazyxla {

/// A number as an operand. It takes the tensor's dtype exactly; INVALID_ARGUMENT if that cannot represent it.
class Scalar {
 public:
  /// Converts a real number, or a bool (0 or 1).
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>> Scalar(T value) {
    constexpr bool real = std::is_floating_point_v<T>;
    scalar_.dtype = real ? LXLA_DTYPE_F64 : std::is_signed_v<T> ? LXLA_DTYPE_S64 : LXLA_DTYPE_U64;
    if constexpr (real) scalar_.value.f = static_cast<double>(value);
    else if constexpr (std::is_signed_v<T>) scalar_.value.i = value;
    else scalar_.value.u = value;
  }
  /// Converts a complex number.
  template <class T> Scalar(const std::complex<T> &value) {
    scalar_.dtype = LXLA_DTYPE_C128;
    scalar_.value.c[0] = static_cast<double>(value.real());
    scalar_.value.c[1] = static_cast<double>(value.imag());
  }
  /// Returns this number converted to a dtype, as NumPy's astype does it: integers wrap, floats overflow to infinity.
  Scalar cast(Dtype dtype) const {
    Scalar out;
    return check(lxla_scalar_cast(&scalar_, dtype, &out.scalar_)), out;
  }
  const lxla_scalar *get() const noexcept { return &scalar_; }  ///< As lazyxla.h takes it.

 private:
  Scalar() = default;
  lxla_scalar scalar_{};
};

/// Owner of one reference to a tensor. A copy refers to the same tensor: an in-place operation on one changes all
/// copies. snapshot() keeps the current value, assign() replaces the value, and `=` makes this object refer to another
/// tensor.
class Tensor {
 public:
  Tensor() noexcept = default;  ///< No tensor: calls with it give INVALID_HANDLE.
  /// Adds a reference to the same tensor.
  Tensor(const Tensor &other) : tensor_(other.tensor_) {
    if (tensor_.id != 0) check(lxla_tensor_retain(tensor_));
  }
  /// Moves the reference; the moved-from object has none.
  Tensor(Tensor &&other) noexcept : tensor_(other.release()) {}
  /// Releases the present reference, then copies or moves the other's.
  Tensor &operator=(Tensor other) noexcept { return std::swap(tensor_, other.tensor_), *this; }
  ~Tensor() { lxla_tensor_release(tensor_); }  ///< Gives up the reference.

  /// Takes ownership of a reference that a function of lazyxla.h returned.
  static Tensor adopt(lxla_tensor tensor) noexcept { return Tensor(tensor); }
  /// Calls a function of lazyxla.h that returns a tensor: make<lxla_unary>(LXLA_UNARY_ABS, x.handle()).
  template <auto call, class... Inputs> static Tensor make(Inputs... in) { return adopt(detail::get<call>(in...)); }
  /// Transfers the reference to the caller; this object then has none.
  lxla_tensor release() noexcept { return std::exchange(tensor_, lxla_tensor{}); }
  lxla_tensor handle() const noexcept { return tensor_; }    ///< For calls of lazyxla.h. The reference stays here.
  bool defined() const noexcept { return tensor_.id != 0; }  ///< Whether this refers to a tensor.
  explicit operator bool() const = delete;                   ///< value(x) != 0 reads an element; see also defined().

  /// Creates a tensor from row-major bytes.
  static Tensor from_bytes(const void *data, Count size_bytes, const Dims &dims, Dtype dtype, const Place &at = {}) {
    return make<lxla_tensor_from_host>(at.env, at.device, dtype, dims.data(), dims.size(), data, size_bytes);
  }
  /// Uses row-major bytes in place where that is possible, and calls `release(user)` when they are no longer needed.
  static Tensor borrow_bytes(const void *data, Count size_bytes, const Dims &dims, Dtype dtype, lxla_release_fn release,
                             void *user, const Place &at = {}) {
    return make<lxla_tensor_from_host_borrowed>(at.env, at.device, dtype, dims.data(), dims.size(), data, size_bytes,
                                                release, user);
  }
  /// Creates a tensor from `count` row-major elements.
  template <class T> static Tensor from_host(const T *data, Count count, const Dims &dims, const Place &at = {}) {
    return from_bytes(data, count * sizeof(T), dims, dtype_of<T>(), at);
  }
  /// Creates a tensor from row-major elements; std::vector<bool> gives pred.
  template <class T> static Tensor from_host(const std::vector<T> &values, const Dims &dims, const Place &at = {}) {
    const auto &elements = detail::contiguous(values);
    return from_bytes(elements.data(), elements.size() * sizeof(elements[0]), dims, dtype_of<T>(), at);
  }
  /// Creates a tensor filled with one value.
  static Tensor full(const Dims &dims, Real value, Dtype dtype = LXLA_DTYPE_F32, const Place &at = {}) {
    return make<lxla_tensor_full>(at.env, at.device, dtype, dims.data(), dims.size(), value);
  }
  /// Creates a tensor filled with one number, which may be a 64-bit integer or complex.
  static Tensor full_exact(const Dims &dims, const Scalar &value, Dtype dtype, const Place &at = {}) {
    return make<lxla_tensor_full_with_scalar>(at.env, at.device, dtype, dims.data(), dims.size(), value.get());
  }
  /// Creates a tensor of rank 0 whose value changes from step to step: a parameter of programs from the first compile
  /// on.
  static Tensor varying(const Scalar &value, Dtype dtype, const Place &at = {}) {
    return make<lxla_tensor_varying_scalar>(at.env, at.device, dtype, value.get());
  }
  /// Creates a tensor whose elements are their index along an axis: 0, 1, 2, ...
  static Tensor iota(const Dims &dims, Int axis, Dtype dtype = LXLA_DTYPE_F32, const Place &at = {}) {
    return make<lxla_iota>(at.env, at.device, dtype, dims.data(), dims.size(), axis);
  }
  /// Creates start, start + step, ..., up to but excluding stop.
  static Tensor arange(Real start, Real stop, Real step = 1, Dtype dtype = LXLA_DTYPE_F32, const Place &at = {}) {
    return make<lxla_arange>(at.env, at.device, dtype, start, stop, step);
  }
  /// Like arange, for numbers that may be 64-bit integers.
  static Tensor arange_exact(const Scalar &start, const Scalar &stop, const Scalar &step, Dtype dtype,
                             const Place &at = {}) {
    return make<lxla_arange_with_scalars>(at.env, at.device, dtype, start.get(), stop.get(), step.get());
  }
  /// Like linspace, for numbers that may be 64-bit integers or complex.
  static Tensor linspace_exact(const Scalar &start, const Scalar &stop, Int count, Flag endpoint, Dtype dtype,
                               const Place &at = {}) {
    return make<lxla_linspace_with_scalars>(at.env, at.device, dtype, start.get(), stop.get(), count, endpoint ? 1 : 0);
  }
  /// Creates `count` evenly spaced numbers from start to stop, including stop only with `endpoint`.
  static Tensor linspace(Real start, Real stop, Int count, Flag endpoint = true, Dtype dtype = LXLA_DTYPE_F32,
                         const Place &at = {}) {
    return make<lxla_linspace>(at.env, at.device, dtype, start, stop, count, endpoint ? 1 : 0);
  }
  /// Creates a matrix with ones on diagonal k and zeros elsewhere.
  static Tensor eye(Int rows, Int columns, Int k = 0, Dtype dtype = LXLA_DTYPE_F32, const Place &at = {}) {
    return make<lxla_eye>(at.env, at.device, dtype, rows, columns, k);
  }
  /// Creates a tensor from a DLManagedTensorVersioned, of which it takes ownership: shares its memory, or with `copy`
  /// copies it.
  static Tensor from_dlpack(void *managed, Flag copy = false, const Place &at = {}) {
    return make<lxla_tensor_from_dlpack>(at.env, at.device, managed, copy ? 1 : 0);
  }
  /// Returns the values as a DLManagedTensorVersioned. The caller must call its deleter.
  void *to_dlpack() const { return detail::get<lxla_tensor_to_dlpack>(tensor_); }
  /// Creates a tensor from a DLManagedTensor (DLPack before 1.0), of which it takes ownership: shares its memory, or
  /// with `copy` copies it.
  static Tensor from_dlpack_unversioned(void *managed, Flag copy = false, const Place &at = {}) {
    return make<lxla_tensor_from_dlpack_unversioned>(at.env, at.device, managed, copy ? 1 : 0);
  }
  /// Returns the values as a DLManagedTensor (DLPack before 1.0): a copy, or without `copy` memory that may be shared
  /// and must not be written.
  void *to_dlpack_unversioned(Flag copy = true) const {
    return detail::get<lxla_tensor_to_dlpack_unversioned>(tensor_, copy ? 1 : 0);
  }
  /// Loads a tensor by name from a safetensors file.
  static Tensor load(const std::string &path, const std::string &name, const Place &at = {}) {
    return make<lxla_load>(at.env, at.device, path.c_str(), name.c_str());
  }
  /// Creates a tensor without a value.
  static Tensor placeholder(const Dims &dims, Dtype dtype = LXLA_DTYPE_F32, const Place &at = {}) {
    return make<lxla_tensor_placeholder>(at.env, at.device, dtype, dims.data(), dims.size());
  }
  /// Creates a placeholder with the dtype, shape, device and requires_grad of this tensor.
  Tensor placeholder_like() const { return make<lxla_tensor_placeholder_like>(tensor_); }
  /// Returns a new tensor with the current value. Later in-place operations do not affect it.
  Tensor snapshot() const { return make<lxla_tensor_snapshot>(tensor_); }
  /// Returns a new tensor with the same value on another device.
  Tensor to_device(lxla_device device) const { return make<lxla_tensor_to_device>(tensor_, device); }

  Dtype dtype() const { return static_cast<Dtype>(detail::get<lxla_tensor_dtype>(tensor_)); }  ///< Of its elements.
  State state() const { return static_cast<State>(detail::get<lxla_tensor_state>(tensor_)); }  ///< Of its value, now.
  size_t rank() const { return detail::get<lxla_tensor_rank>(tensor_); }                       ///< The number of axes.
  lxla_device device() const { return detail::get<lxla_tensor_device>(tensor_); }              ///< Where it is.
  /// Returns the sizes of the axes.
  Dims dims() const {
    Dims dims(64);
    size_t rank = 0;
    check(lxla_tensor_info(tensor_, nullptr, &rank, dims.data(), dims.size()));
    return dims.resize(rank), dims;
  }
  /// Returns the number of elements.
  size_t size() const {
    size_t count = 1;
    for (const int64_t size : dims()) count *= static_cast<size_t>(size);
    return count;
  }
  /// Returns a view of the tensor's environment.
  Environment environment() const { return Environment::borrow(detail::get<lxla_tensor_env>(tensor_)); }
  /// Returns the place of the tensor, for tensors beside it: Tensor::full({}, 1, x.dtype(), x.place()).
  Place place() const { return {environment(), device()}; }
  /// Returns x[index] of the first axis, which is removed. A negative index counts from the end. The result is a new
  /// tensor, and const, since `x[0] = y` would not change x: see index_put and slice_assign.
  const Tensor operator[](Int index) const;
  /// Returns whether the tensor is marked as requiring gradients.
  bool requires_grad() const { return detail::get<lxla_tensor_requires_grad>(tensor_) != 0; }
  /// States that the size of an axis changes, up to `bound` (0: any size; -1: no longer).
  void set_dynamic(Count axis, Int bound = 0) { check(lxla_tensor_set_dynamic(tensor_, axis, bound)); }
  void set_requires_grad(Flag on) { check(lxla_tensor_set_requires_grad(tensor_, on ? 1 : 0)); }  ///< Sets the mark.

  /// Copies all bytes, row-major, to `dst`, and blocks until the copy is complete.
  void read_bytes(void *dst, Count size_bytes) const { check(lxla_tensor_read(tensor_, dst, size_bytes)); }
  /// Returns all elements, row-major, and blocks until they are available. The dtype of T must be the tensor's; pred is
  /// read as bool, into std::vector<bool>.
  template <class T> std::vector<T> read() const {
    expect<T>("read");
    std::vector<std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>> values(size());
    read_bytes(values.data(), values.size() * sizeof(values[0]));
    if constexpr (std::is_same_v<T, bool>) return {values.begin(), values.end()};
    else return values;
  }
  /// Replaces the value by row-major elements. The dtype of T must be the tensor's.
  template <class T> void write(const std::vector<T> &values) {
    expect<T>("write");
    const auto &elements = detail::contiguous(values);
    check(lxla_tensor_write(tensor_, elements.data(), elements.size() * sizeof(elements[0])));
  }
  /// Replaces the value by the current value of another tensor.
  void assign(const Tensor &src) { check(lxla_tensor_assign(tensor_, src.tensor_)); }

  /// Replaces the value by this (op) rhs, with op one of LXLA_BINARY_* and rhs a tensor or a number.
  template <class R> Tensor &apply(BinaryOp op, const R &rhs) {
    if constexpr (std::is_base_of_v<Tensor, R>) check(lxla_binary_inplace(op, tensor_, rhs.tensor_));
    else check(lxla_binary_with_scalar_inplace(op, tensor_, Scalar(rhs).get(), 0));
    return *this;
  }
  template <class R> Tensor &operator+=(const R &rhs) { return apply(LXLA_BINARY_ADD, rhs); }       ///< In place.
  template <class R> Tensor &operator-=(const R &rhs) { return apply(LXLA_BINARY_SUBTRACT, rhs); }  ///< In place.
  template <class R> Tensor &operator*=(const R &rhs) { return apply(LXLA_BINARY_MULTIPLY, rhs); }  ///< In place.
  template <class R> Tensor &operator/=(const R &rhs) { return apply(LXLA_BINARY_DIVIDE, rhs); }    ///< In place.

 private:
  explicit Tensor(lxla_tensor tensor) noexcept : tensor_(tensor) {}

  template <class T> void expect(const char *call) const {
    const Dtype mine = dtype(), given = dtype_of<T>();
    if (mine != given)
      throw Error(LXLA_INVALID_ARGUMENT, std::string("lazyxla::Tensor::") + call + ": the elements are " +
                                             lxla_dtype_name(given) + ", the tensor is " + lxla_dtype_name(mine));
  }

  lxla_tensor tensor_{};
};

namespace detail {
template <class T> inline constexpr Flag is_tensor = std::is_base_of_v<Tensor, T>;
template <class T> inline constexpr Flag is_operand = is_tensor<T> || std::is_convertible_v<const T &, Scalar>;
// Type Tensor if the operands are two tensors, or a tensor and a number; otherwise no type.
template <class L, class R>
using Result = std::enable_if_t<(is_tensor<L> && is_operand<R>) || (is_operand<L> && is_tensor<R>), Tensor>;

inline std::vector<lxla_tensor> handles(const std::vector<Tensor> &tensors) {
  std::vector<lxla_tensor> list;
  for (const Tensor &tensor : tensors) list.push_back(tensor.handle());
  return list;
}
/// Takes ownership of references that a function of lazyxla.h returned.
inline std::vector<Tensor> adopted(const std::vector<lxla_tensor> &handles) {
  std::vector<Tensor> out;
  out.reserve(handles.size());
  for (lxla_tensor handle : handles) out.push_back(Tensor::adopt(handle));
  return out;
}

// Returns a pointer to the list of axes that is never NULL, because NULL would select all axes.
inline const int64_t *axes_of(const Dims &axes) {
  static constexpr int64_t none = 0;
  return axes.empty() ? &none : axes.data();
}
// Argument for all axes.
inline constexpr const int64_t *all_axes = nullptr;

// Calls a function whose last parameter is a list of `n` output tensors, and returns them.
template <auto call, class... Inputs> std::vector<Tensor> several(size_t n, Inputs... inputs) {
  std::vector<lxla_tensor> out(n);
  check(call(inputs..., out.data()));
  return adopted(out);
}

// Calls a function whose last `n` parameters are output tensors, and returns them.
template <auto call, size_t n, size_t... at, class... Inputs>
std::array<Tensor, n> each_of(std::index_sequence<at...>, Inputs... inputs) {
  std::array<lxla_tensor, n> out{};
  check(call(inputs..., &out[at]...));
  return {Tensor::adopt(out[at])...};
}
template <auto call, size_t n, class... Inputs> std::array<Tensor, n> these(Inputs... inputs) {
  return each_of<call, n>(std::make_index_sequence<n>(), inputs...);
}

// Returns a pointer to a list with one number for each axis, or NULL if it is empty.
inline const int64_t *list_of(const Dims &numbers, size_t rank, const char *what) {
  if (numbers.empty()) return nullptr;
  if (numbers.size() != rank)
    throw Error(LXLA_INVALID_ARGUMENT, std::string("lazyxla::") + what + ": its lists differ in length");
  return numbers.data();
}

// Returns an options struct of lazyxla.h with default values.
template <class Options, lxla_status (*init)(Options *)> Options defaults() {
  Options options;
  options.struct_size = sizeof options;
  check(init(&options));
  return options;
}

// Calls a function with a tensor and a list of sizes or axes.
template <auto call> Tensor listed(const Tensor &x, const Dims &list) {
  return Tensor::make<call>(x.handle(), axes_of(list), list.size());
}
// Calls a function with a tensor and all axes.
template <auto call> Tensor along_all(const Tensor &x) { return Tensor::make<call>(x.handle(), all_axes, size_t{0}); }
}  // namespace detail

}  // namespace lazyxla

#endif  // LAZYXLA_TENSOR_HPP
