// Types of numbers and switches as parameters, to which nothing else converts.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
//
// C++ converts a constant, a bool, a double and a pointer to each other's types. So a call with its arguments in a
// wrong order, or with one too few, would compile and mean something else.
#ifndef LAZYXLA_ARGUMENTS_HPP
#define LAZYXLA_ARGUMENTS_HPP

#include "error.hpp"

#include <limits>
#include <type_traits>

namespace lazyxla {

namespace detail {
// Whether a type is of integers: not bool, which stands for a switch, and not a type of constants.
template <class T> constexpr bool is_integer = std::is_integral_v<T> && !std::is_same_v<std::remove_cv_t<T>, bool>;

// Whether a type is of numbers.
template <class T> constexpr bool is_number = is_integer<T> || std::is_floating_point_v<T>;

// Whether an integer type has a number.
template <class To, class T> constexpr bool has(T value) {
  if (value < T{})
    return std::is_signed_v<To> &&
           static_cast<intmax_t>(value) >= static_cast<intmax_t>(std::numeric_limits<To>::min());
  return static_cast<uintmax_t>(value) <= static_cast<uintmax_t>(std::numeric_limits<To>::max());
}

template <class To> [[noreturn]] void refuse(const std::string &value) {
  throw Error(LXLA_INVALID_ARGUMENT, "lazyxla: an integer argument: " + value + " given; want one in [" +
                                         std::to_string(std::numeric_limits<To>::lowest()) + ", " +
                                         std::to_string(std::numeric_limits<To>::max()) + "]");
}

// Whether a double has an integer: one of at most 53 bits, beside zeros at its end.
template <class T> constexpr bool is_exact(T value) {
  uintmax_t size = value < T{} ? uintmax_t{} - static_cast<uintmax_t>(value) : static_cast<uintmax_t>(value);
  while (size != 0 && size % 2 == 0) size /= 2;
  return size >> 53 == 0;
}

[[noreturn]] inline void refuse_rounded(const std::string &value) {
  throw Error(LXLA_INVALID_ARGUMENT, "lazyxla: a number: " + value + " given, which a double rounds; want one that a " +
                                         "double has, or full_exact, arange_exact or linspace_exact");
}
}  // namespace detail

/// An integer as an argument: converts from the integer types of C++. INVALID_ARGUMENT for a number that does not fit.
template <class To> class Integer {
 public:
  /// Converts an integer.
  template <class T, class = std::enable_if_t<detail::is_integer<T>>>
  constexpr Integer(T value) : value_(static_cast<To>(value)) {
    if (!detail::has<To>(value)) detail::refuse<To>(std::to_string(value));
  }
  constexpr operator To() const noexcept { return value_; }  ///< As lazyxla.h takes it.

 private:
  To value_;
};
using Int = Integer<int64_t>;    ///< An axis, an index, a step.
using Int32 = Integer<int32_t>;  ///< A small number, as of a device.
using Count = Integer<size_t>;   ///< How many there are.

/// A number as an argument: converts from the integer and the floating types of C++. INVALID_ARGUMENT for an integer
/// that a double rounds: full_exact, arange_exact and linspace_exact take these.
class Real {
 public:
  /// Converts a number.
  template <class T, class = std::enable_if_t<detail::is_number<T>>>
  constexpr Real(T value) : value_(static_cast<double>(value)) {
    if constexpr (std::numeric_limits<T>::is_integer && std::numeric_limits<T>::digits > 53)
      if (!detail::is_exact(value)) detail::refuse_rounded(std::to_string(value));
  }
  constexpr operator double() const noexcept { return value_; }  ///< As lazyxla.h takes it.

 private:
  double value_;
};

/// A switch as an argument: converts from bool.
class Flag {
 public:
  /// Converts a bool.
  template <class T, class = std::enable_if_t<std::is_same_v<T, bool>>>
  constexpr Flag(T value) noexcept : value_(value) {}
  constexpr operator bool() const noexcept { return value_; }  ///< As C++ takes it.

 private:
  bool value_;
};

}  // namespace lazyxla

#endif  // LAZYXLA_ARGUMENTS_HPP
