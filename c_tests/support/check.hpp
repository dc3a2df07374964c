// Helpers for tests of the C++ wrapper: TEST(name) { ... }, run by the main below. A check that fails ends the program
// with status 1.
#ifndef LXLA_TEST_CHECK_HPP
#define LXLA_TEST_CHECK_HPP

#include "lazyxla.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

using lazyxla::Dims;
using lazyxla::Environment;
using lazyxla::EnvironmentOptions;
using lazyxla::Error;
using lazyxla::Place;
using lazyxla::Scope;
using lazyxla::Tensor;
using lazyxla::xla;

namespace {

#define CHECK(...)                                                                         \
  do {                                                                                     \
    if (!(__VA_ARGS__)) {                                                                  \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #__VA_ARGS__); \
      std::exit(1);                                                                        \
    }                                                                                      \
  } while (0)

struct Test {
  const char *name;
  std::function<void()> run;
};

std::vector<Test> &tests() {
  static std::vector<Test> all;
  return all;
}

#define TEST(test_name)                                                               \
  void test_name();                                                                   \
  const bool test_name##_listed = (tests().push_back({#test_name, test_name}), true); \
  void test_name()

template <class T> using Values = std::vector<T>;
using Floats = std::vector<float>;

[[maybe_unused]] Tensor floats(const Environment &env, const Floats &values) {
  return Tensor::from_host(values, {static_cast<int64_t>(values.size())}, {env, xla()});
}

template <class T> bool has(const Tensor &tensor, const std::vector<T> &wanted) { return tensor.read<T>() == wanted; }

[[maybe_unused]] bool near(const Tensor &tensor, const Floats &wanted) {
  const Floats got = tensor.read<float>();
  if (got.size() != wanted.size()) return false;
  for (size_t i = 0; i < got.size(); i++)
    if (!(std::abs(got[i] - wanted[i]) <= 1e-5f * (1 + std::abs(wanted[i])))) return false;
  return true;
}

// Checks that the call throws Error with this status, and with these words in its message.
template <class Call> void refused(int line, lxla_status status, const char *words, Call call) {
  try {
    call();
  } catch (const Error &error) {
    if (error.status() == status && std::strstr(error.what(), words)) return;
    std::fprintf(stderr, "line %d: got %s, \"%s\"\n", line, lxla_status_name(error.status()), error.what());
    std::exit(1);
  }
  std::fprintf(stderr, "line %d: nothing was thrown\n", line);
  std::exit(1);
}
#define REFUSED(status, words, ...) refused(__LINE__, status, words, [&] { __VA_ARGS__; })

}  // namespace

int main() {
  for (const Test &test : tests()) {
    std::printf("%s\n", test.name);
    std::fflush(stdout);
    test.run();
  }
  std::printf("%zu tests passed\n", tests().size());
  return 0;
}

#endif
