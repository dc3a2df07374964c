// Errors.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_ERROR_HPP
#define LAZYXLA_ERROR_HPP

// MSVC says the standard in a macro of its own.
#if __cplusplus < 201703L && !(defined(_MSVC_LANG) && _MSVC_LANG >= 201703L)
#error "lazyxla.hpp needs C++17: compile with -std=c++17 or a later standard"
#endif

#include "constants.hpp"

#include <stdexcept>
#include <string>

namespace lazyxla {

/// Exception for a failed call, with its status and message.
class Error : public std::runtime_error {
 public:
  /// Creates an error with a status and a message.
  Error(lxla_status status, const std::string &message) : std::runtime_error(message), status_(status) {}
  lxla_status status() const noexcept { return status_; }  ///< One of the status codes of lazyxla.h, not LXLA_OK.

 private:
  lxla_status status_;
};

/// Throws Error unless the status is LXLA_OK. Call it right after the failed call, on the same thread.
inline void check(lxla_status status) {
  if (status == LXLA_OK) return;
  std::string message = lxla_last_error_message();
  // Who did not name a place does not know why a tensor is on cpu.
  if (message.find("move one of them with lxla_tensor_to_device") != std::string::npos)
    message += "; in C++: Tensor::to_device, or UseDevice, since tensors that are created without a place are on cpu";
  throw Error(status, message);
}

/// Makes the message of an exception that of the thread's last failed call, and returns its status: for functions with
/// a C ABI that are written in C++.
inline lxla_status set_last_error(const Error &error) { return lxla_set_last_error(error.status(), error.what()); }

}  // namespace lazyxla

#endif  // LAZYXLA_ERROR_HPP
