// The headers in C++: both included in one file, each used from a namespace of its own that contains the wrapper's
// names as well.
#include "lazyxla.h"

#include "lazyxla.hpp"

#include "lazyxla.h"
#include "lazyxla.hpp"

#include <algorithm>
#include <cmath>

namespace plain {

// Uses the C header alone: statuses, handles by value.
bool works() {
  lxla_device device{};
  const lxla_tensor none{};
  int32_t dtype = 0;
  return lxla_device_parse("xla:2", &device) == LXLA_OK && device.ordinal == 2 &&
         lxla_tensor_dtype(none, &dtype) == LXLA_INVALID_HANDLE && lxla_tensor_release(none) == LXLA_OK;
}

}  // namespace plain

namespace wrapped {

using namespace lazyxla;

// Uses the wrapper without its prefix; calls with numbers still find the functions of the standard library.
bool works() {
  using std::abs, std::max;
  static_assert(dtype_of<bool>() == LXLA_DTYPE_PRED && dtype_of<long>() == LXLA_DTYPE_S64);
  static_assert(dtype_of<unsigned char>() == LXLA_DTYPE_U8 && dtype_of<std::complex<float>>() == LXLA_DTYPE_C64);
  static_assert(!std::is_copy_constructible_v<Scope> && std::is_nothrow_move_constructible_v<Tensor>);
  static_assert(std::is_nothrow_move_constructible_v<Environment> && std::is_nothrow_destructible_v<Tensor>);
  if (max(1, 2) != 2 || abs(-1.5) != 1.5) return false;
  const Tensor none;
  try {
    abs(1 - none * 2);
    return false;
  } catch (const Error &error) {
    return error.status() == LXLA_INVALID_HANDLE && parse_device("cpu").kind == LXLA_DEVICE_CPU;
  }
}

}  // namespace wrapped

int main() { return plain::works() && wrapped::works() ? 0 : 1; }
