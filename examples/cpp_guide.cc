// The programs of docs/cpp.md: a training loop, a decoder with a cache, a loop, a custom derivative,
// threads.
#include "lazyxla.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <thread>

namespace lx = lazyxla;
using lx::Tensor;

#define CHECK(...)                                                           \
  do {                                                                       \
    if (!(__VA_ARGS__)) {                                                    \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #__VA_ARGS__); \
      std::exit(1);                                                          \
    }                                                                        \
  } while (0)

static uint64_t compiles() { return lx::counter("UncachedCompile"); }

// --- Training ---

// [recipe]
// A network of two layers, 1 - 64 - 1. `p` are the weights, then the biases.
static Tensor predicted(const std::vector<Tensor> &p, const Tensor &x) {
  const Tensor hidden = lx::tanh(lx::matmul(x, p[0]) + p[2]);
  return lx::matmul(hidden, p[1]) + p[3];
}

static Tensor loss_of(const std::vector<Tensor> &p, const Tensor &x, const Tensor &y) {
  return lx::mean(lx::square(predicted(p, x) - y));
}

static double train(lxla_device device) {
  const lx::UseDevice here(device);  // of all tensors below
  Tensor key = lx::key(42);
  std::vector<Tensor> p = {lx::normal(lx::next_key(key), {1, 64}) * 2, lx::normal(lx::next_key(key), {64, 1}) * 0.1,
                           lx::zeros({64}), lx::zeros({1})};
  const Tensor x = lx::reshape(Tensor::linspace(-1, 1, 200), {-1, 1}), y = lx::sin(3 * x);

  const auto loss_and_gradients = lx::value_and_grad(loss_of, lx::by_first(p.size()));  // traced at its first call
  double last = 0;
  for (int step = 0; step < 500; step++) {
    const std::vector<Tensor> results = loss_and_gradients(p, x, y);  // the loss, then a gradient for each parameter
    for (size_t i = 0; i < p.size(); i++) p[i] -= 0.02 * results[i + 1];
    lx::step();  // compiled once; the parameters are updated in place
    if (step % 100 == 99) std::printf("step %d: loss %.4f\n", step + 1, last = lx::value(results[0]));
  }
  return last;
}
// [recipe end]

// --- A decoder ---

static constexpr int LENGTH = 16, WIDTH = 8, SYMBOLS = 11;

struct Model {
  Tensor embedding, query, key, value, out;
};

// [recipe]
// One token of a decoder: its query attends to the keys and values of all tokens so far, which two caches hold. The
// position is an argument, so that one program serves all of them.
static std::vector<Tensor> next(const Model &model, const std::vector<Tensor> &state) {
  const Tensor &token = state[0], &position = state[1], &keys = state[2], &values = state[3];
  const Tensor x = lx::take(model.embedding, token, 0);  // [1, WIDTH]
  const Tensor start = lx::zeros({}, LXLA_DTYPE_S32);
  const Tensor new_keys = lx::dynamic_update_slice(keys, lx::matmul(x, model.key), {position, start});
  const Tensor new_values = lx::dynamic_update_slice(values, lx::matmul(x, model.value), {position, start});
  const Tensor seen = lx::le(lx::range(LENGTH), position);
  const Tensor attended = lx::attention(lx::matmul(x, model.query), new_keys, new_values, seen);
  const Tensor scores = lx::matmul(attended, model.out);
  return {lx::argmax(scores, 1, false, LXLA_DTYPE_S32), position + 1, new_keys, new_values};
}

static std::vector<int32_t> decoded(const Model &model) {
  std::vector<Tensor> state = {lx::array({1}), lx::zeros({}, LXLA_DTYPE_S32), lx::zeros({LENGTH, WIDTH}),
                               lx::zeros({LENGTH, WIDTH})};
  const auto step = lx::jit([&](const std::vector<Tensor> &now) { return next(model, now); });
  std::vector<int32_t> tokens;
  for (int i = 0; i < LENGTH; i++) {
    state = step(state);
    lx::step(state);  // computes the state, and writes the caches in place
    tokens.push_back(state[0].read<int32_t>()[0]);
  }
  return tokens;
}
// [recipe end]

// --- Loops ---

// [recipe]
// The square root of 2 by Newton's steps in a loop of one program, and its derivative by the number: 1 / (2 sqrt(2)).
static Tensor root(const Tensor &x) {
  const auto is_far = [&](const Tensor &y) { return lx::gt(lx::abs(y * y - x), 1e-6 * x); };
  const auto step = [&](const Tensor &y) { return (y + x / y) / 2; };
  return lx::while_bounded(is_far, step, {x}, 20).values[0];
}

static double newton(lxla_device device) {
  const lx::UseDevice here(device);
  const auto [value, slope] = lx::unpack<2>(lx::value_and_grad(root)(lx::scalar(2)));
  std::cout << value << ", " << slope << "\n";  // f32[] 1.41421, f32[] 0.353553
  return std::fabs(lx::value(slope) - 1 / std::sqrt(8.0));
}
// [recipe end]

// --- A derivative of one's own ---

// [recipe]
// log(1 + e^x), whose derivative is stable for all x: the rule is 1 - 1 / (1 + e^x) instead of e^x / (1 + e^x).
static lx::Computation stable_softplus(const Tensor &example) {
  const lx::Computation primal = lx::trace([](const Tensor &x) { return lx::log(1 + lx::exp(x)); }, example);
  const lx::Computation forward =
      lx::trace([](const Tensor &x) { return std::array<Tensor, 2>{lx::log(1 + lx::exp(x)), x}; }, example);
  const lx::Computation backward =
      lx::trace([](const Tensor &x, const Tensor &cotangent) { return cotangent * (1 - 1 / (1 + lx::exp(x))); },
                example, example);
  return lx::with_vjp(primal, forward, backward);
}
// [recipe end]

static float slope(const lx::Place &at, float x) {
  const Tensor point = Tensor::from_host(std::vector<float>{x}, {1}, at);
  const lx::Computation f = stable_softplus(point);
  return lx::grad([&](const Tensor &y) { return lx::sum(f({y})[0]); })(point)[0].read<float>()[0];
}

// --- Threads ---

// [recipe]
// Threads share the library: each records and reads by itself, and a program that one compiles serves all.
static std::vector<float> squares(const lx::Place &at) {
  const auto square = lx::jit([](const Tensor &x) { return x * x; });
  std::vector<float> results(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < results.size(); i++)
    threads.emplace_back([&, i] {
      const Tensor x = Tensor::from_host(std::vector<float>{static_cast<float>(i)}, {1}, at);
      results[i] = square(x)[0].read<float>()[0];
    });
  for (std::thread &thread : threads) thread.join();
  return results;
}
// [recipe end]

static void check_decoder(lxla_device device) {
  const lx::UseDevice here(device);
  const auto drawn = [](uint64_t seed, const lx::Dims &dims) { return lx::normal(lx::key(seed), dims); };
  const Model model = {drawn(1, {SYMBOLS, WIDTH}), drawn(2, {WIDTH, WIDTH}), drawn(3, {WIDTH, WIDTH}),
                       drawn(4, {WIDTH, WIDTH}), drawn(5, {WIDTH, SYMBOLS})};
  const uint64_t before = compiles();
  const std::vector<int32_t> tokens = decoded(model);
  CHECK(tokens.size() == LENGTH && compiles() - before <= 3);
  for (const int32_t token : tokens) CHECK(token >= 0 && token < SYMBOLS);
}

int main() {
  for (const lxla_device device : {lx::xla(), lx::cpu()}) {
    const uint64_t before = compiles();
    CHECK(train(device) < 0.05 && compiles() - before <= 4);
    check_decoder(device);
    CHECK(newton(device) < 1e-5);
    CHECK(slope(device, 100) == 1 && std::fabs(slope(device, 0) - 0.5f) < 1e-6f);
    const std::vector<float> found = squares(device);
    CHECK(found == std::vector<float>({0, 1, 4, 9}));
  }
  // Errors of functions are those of the operation; a trace that a function leaves by an exception is abandoned.
  const auto wrong = lx::jit([](const Tensor &x, const Tensor &y) { return lx::matmul(x, y); });
  const Tensor x = Tensor::full({2, 3}, 1);
  try {
    wrong(x, x);
    CHECK(false);
  } catch (const lx::Error &error) {
    CHECK(error.status() == LXLA_INVALID_ARGUMENT);
  }
  CHECK((x + 1).read<float>()[0] == 2);
  return 0;
}
