// Helpers for programs in C++ as users write them: each runs on an XLA device and natively, and beside plain loops.
#ifndef LXLA_TEST_STRANGERS_HPP
#define LXLA_TEST_STRANGERS_HPP

#include "check.hpp"

namespace lx = lazyxla;

namespace {

using Doubles = std::vector<double>;

// Runs a program with new tensors on xla:0, then on cpu, each in an environment of its own, of which nothing is left.
[[maybe_unused]] void on_both(const std::function<void()> &program) {
  for (const lxla_device device : {lx::xla(), lx::cpu()}) {
    Environment env;
    {
      const Scope scope(env);
      const lx::UseDevice here(device);
      program();
    }
    CHECK(env.counter("LiveBytes") == 0);
    if (device.kind == LXLA_DEVICE_CPU) CHECK(env.counter("UncachedCompile") == 0);
  }
}

// Checks that a loop compiles a constant number of programs: none after its first iterations.
class Compiles {
 public:
  explicit Compiles(int iterations) : first_(iterations), start_(lx::counter("UncachedCompile")) {}
  // Ends an iteration.
  void next() {
    if (++done_ == first_) before_ = lx::counter("UncachedCompile");
    if (done_ > first_) CHECK(lx::counter("UncachedCompile") == before_);
  }
  // The number of programs since the begin.
  uint64_t count() const { return lx::counter("UncachedCompile") - start_; }

 private:
  int first_, done_ = 0;
  uint64_t start_, before_ = 0;
};

// Checks values against the values of a plain loop in double precision.
[[maybe_unused]] void agree(const Tensor &got, const Doubles &wanted, double tolerance) {
  const Floats values = got.read<float>();
  CHECK(values.size() == wanted.size());
  for (size_t i = 0; i < values.size(); i++) {
    if (std::fabs(values[i] - wanted[i]) <= tolerance * (1 + std::fabs(wanted[i]))) continue;
    std::fprintf(stderr, "[%zu]: %.8g, want %.8g\n", i, static_cast<double>(values[i]), wanted[i]);
    std::exit(1);
  }
}

[[maybe_unused]] Doubles wide(const Tensor &x) {
  const Floats values = x.read<float>();
  return {values.begin(), values.end()};
}

// The gradient of a plain function by central differences.
[[maybe_unused]] Doubles slopes(const std::function<double(const Doubles &)> &f, Doubles at) {
  Doubles made;
  for (double &each : at) {
    const double here = each, h = 1e-6;
    each = here + h;
    const double above = f(at);
    each = here - h;
    made.push_back((above - f(at)) / (2 * h));
    each = here;
  }
  return made;
}

}  // namespace

#endif
