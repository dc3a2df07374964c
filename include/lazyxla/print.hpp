// Tensors as text, for people.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_PRINT_HPP
#define LAZYXLA_PRINT_HPP

#include "elementwise.hpp"

#include <cstdio>
#include <functional>
#include <ostream>
#include <sstream>

namespace lazyxla {

namespace detail {
// Elements, each of which is written when it is asked for: floats with 6 digits, integers exactly.
struct Texts {
  size_t count = 0;
  std::function<void(std::ostream &, size_t)> write;
};
template <class T> Texts texts_of(std::vector<T> values) {
  const size_t count = values.size();
  return {count, [values = std::move(values)](std::ostream &out, size_t at) { out << std::boolalpha << values[at]; }};
}

// Reads dtypes of C++ as they are: a conversion would be one more program for each shape.
inline Texts elements_of(const Tensor &x) {
  const Dtype dtype = x.dtype();
  switch (dtype) {
    case LXLA_DTYPE_F32: return texts_of(x.read<float>());
    case LXLA_DTYPE_F64: return texts_of(x.read<double>());
    case LXLA_DTYPE_S32: return texts_of(x.read<int32_t>());
    case LXLA_DTYPE_S64: return texts_of(x.read<int64_t>());
    case LXLA_DTYPE_PRED: return texts_of(x.read<bool>());
    case LXLA_DTYPE_U64: return texts_of(x.read<uint64_t>());
    case LXLA_DTYPE_C64:
    case LXLA_DTYPE_C128: return texts_of(convert(x, LXLA_DTYPE_C128).read<std::complex<double>>());
    default: {
      const std::string name = lxla_dtype_name(dtype);
      if (name[0] == 's' || name[0] == 'u') return texts_of(convert(x, LXLA_DTYPE_S64).read<int64_t>());
      return texts_of(convert(x, LXLA_DTYPE_F64).read<double>());
    }
  }
}

// Writes the elements from `at` on of the axes from `axis` on in brackets, a row in a line. Leaves out the middle of
// long axes if `is_short`.
inline void write_axis(std::ostream &out, const Texts &elements, const Dims &dims, size_t axis, size_t &at,
                       bool is_short) {
  if (axis == dims.size()) {
    elements.write(out, at++);
    return;
  }
  const auto size = static_cast<size_t>(dims[axis]);
  size_t inner = 1;
  for (size_t i = axis + 1; i < dims.size(); i++) inner *= static_cast<size_t>(dims[i]);
  const std::string apart = axis + 1 == dims.size() ? ", " : ",\n" + std::string(axis + 1, ' ');
  out << '[';
  for (size_t i = 0; i < size; i++) {
    if (i > 0) out << apart;
    if (is_short && size > 6 && i == 3) {
      out << "..." << apart;
      at += (size - 6) * inner;
      i = size - 3;
    }
    write_axis(out, elements, dims, axis + 1, at, is_short);
  }
  out << ']';
}
}  // namespace detail

/// Returns the type and the elements of a tensor as text; computes them first. Of more than 1000 elements, the middle
/// of long axes is left out; of a tensor without a value, as in a trace, the type stands alone.
inline std::string to_string(const Tensor &x) {
  if (!x.defined()) return "no tensor";
  const Dims dims = x.dims();
  std::ostringstream out;
  out << lxla_dtype_name(x.dtype()) << '[';
  for (size_t i = 0; i < dims.size(); i++) out << (i > 0 ? "," : "") << dims[i];
  out << ']';
  detail::Texts elements;
  try {
    elements = detail::elements_of(x);
  } catch (const Error &error) {
    if (error.status() == LXLA_FAILED_PRECONDITION) return out.str();
    throw;
  }
  size_t at = 0;
  out << (dims.size() > 1 ? '\n' : ' ');
  detail::write_axis(out, elements, dims, 0, at, elements.count > 1000);
  return out.str();
}

/// Writes a tensor as text.
inline std::ostream &operator<<(std::ostream &out, const Tensor &x) { return out << to_string(x); }
/// Prints a tensor as text, and a new line.
inline void print(const Tensor &x) { std::printf("%s\n", to_string(x).c_str()); }

}  // namespace lazyxla

#endif  // LAZYXLA_PRINT_HPP
