// Error handling in C++17: exceptions and owners.
#include "lazyxla.hpp"

#include <cstdio>

namespace lx = lazyxla;

// [recipe]
// Handles are released by their owners, also when a call throws.
static lx::Tensor mean_squared_error(const lx::Tensor &prediction, const lx::Tensor &target) {
  const lx::Tensor difference = prediction - target;
  return lx::mean(difference * difference);
}

// Any function of lazyxla.h: check() throws, adopt() takes over the reference that the call returned.
static lx::Tensor negated(const lx::Tensor &x) {
  lxla_tensor out;
  lx::check(lxla_unary(LXLA_UNARY_NEGATE, x.handle(), &out));
  return lx::Tensor::adopt(out);
}
// [recipe end]

int main() {
  const lx::Place at = lx::xla();
  const auto a = lx::Tensor::from_host(std::vector<float>{1, 2, 3}, {3}, at);
  const auto b = lx::Tensor::from_host(std::vector<float>{2, 2, 5}, {3}, at);
  const auto c = lx::Tensor::from_host(std::vector<float>{1, 2}, {2}, at);
  const std::vector<float> loss = mean_squared_error(a, b).read<float>();
  if (loss[0] < 1.6f || loss[0] > 1.7f || negated(a).read<float>()[2] != -3) return 1;
  // [recipe]
  try {
    mean_squared_error(a, c);
  } catch (const lx::Error &error) {
    std::printf("%s: %s\n", lxla_status_name(error.status()), error.what());
    return error.status() == LXLA_INVALID_ARGUMENT ? 0 : 1;
  }
  // [recipe end]
  return 1;
}
