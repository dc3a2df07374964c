// The programs of docs/cpp.md: a training loop, a decoder with a cache, a custom derivative, threads.
#include "lazyxla.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
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

static uint64_t compiles(const lx::Place &at) { return lx::Environment::borrow(at.env).counter("UncachedCompile"); }

// --- Training ---

// [recipe]
// A network of two layers, 1 - 64 - 1. `parameters` are the weights, then the biases.
static Tensor predicted(const std::vector<Tensor> &parameters, const Tensor &x) {
  const Tensor hidden = lx::tanh(lx::matmul(x, parameters[0]) + parameters[2]);
  return lx::matmul(hidden, parameters[1]) + parameters[3];
}

static Tensor loss_of(const std::vector<Tensor> &arguments) {  // the parameters, then x and y
  const Tensor difference = predicted(arguments, arguments[4]) - arguments[5];
  return lx::mean(difference * difference);
}

static float train(const lx::Place &at) {
  const Tensor key = Tensor::from_host(std::vector<uint32_t>{0, 42}, {2}, at);
  const Tensor keys = lx::random_split(LXLA_RNG_THREE_FRY, key);  // one for each layer
  const auto normal = [&](int64_t which, const lx::Dims &dims) {
    const Tensor own = lx::reshape(lx::slice_axis(keys, 0, which, which + 1), {2});
    return lx::random_normal(LXLA_RNG_THREE_FRY, own, dims);
  };
  std::vector<Tensor> parameters = {normal(0, {1, 64}) * 2, normal(1, {64, 1}) * 0.1,
                                    Tensor::full({64}, 0, LXLA_DTYPE_F32, at),
                                    Tensor::full({1}, 0, LXLA_DTYPE_F32, at)};
  const Tensor x = lx::reshape(Tensor::linspace(-1, 1, 200, true, LXLA_DTYPE_F32, at), {200, 1}), y = lx::sin(3 * x);

  lx::VjpOptions by_parameters;
  by_parameters.wrt = std::vector<size_t>{0, 1, 2, 3};
  const auto gradients = lx::value_and_grad(loss_of, by_parameters);  // traced at its first call
  float last = 0;
  for (int step = 0; step < 500; step++) {
    std::vector<Tensor> arguments = parameters;
    arguments.insert(arguments.end(), {x, y});
    const std::vector<Tensor> results = gradients(arguments);  // the loss, then a gradient for each parameter
    for (size_t i = 0; i < parameters.size(); i++) parameters[i] -= 0.02 * results[i + 1];
    lx::Environment::borrow(at.env).mark_step(at.device);  // compiled once; the parameters are updated in place
    if (step % 100 == 99) std::printf("step %d: loss %.4f\n", step + 1, last = results[0].read<float>()[0]);
  }
  return last;
}
// [recipe end]

// --- A decoder ---

enum { LENGTH = 16, WIDTH = 8, SYMBOLS = 11 };

struct Model {
  Tensor embedding, query, key, value, out;
};

// [recipe]
// One token of a decoder: its query attends to the keys and values of all tokens so far, which two caches hold. The
// position is an argument, so that one program serves all of them.
static std::vector<Tensor> next(const Model &model, const std::vector<Tensor> &state) {
  const Tensor &token = state[0], &position = state[1], &keys = state[2], &values = state[3];
  const Tensor x = lx::take(model.embedding, token, 0);  // [1, WIDTH]
  const Tensor start = Tensor::full({}, 0, LXLA_DTYPE_S32, lx::Place(x.environment(), x.device()));
  const Tensor new_keys = lx::dynamic_update_slice(keys, lx::matmul(x, model.key), {position, start});
  const Tensor new_values = lx::dynamic_update_slice(values, lx::matmul(x, model.value), {position, start});
  const Tensor places = Tensor::iota({1, LENGTH}, 1, LXLA_DTYPE_S32, lx::Place(x.environment(), x.device()));
  const Tensor seen = lx::le(places, position);
  const Tensor attended = lx::attention(lx::matmul(x, model.query), new_keys, new_values, seen);
  const Tensor scores = lx::matmul(attended, model.out);
  return {lx::argmax(scores, 1, false, LXLA_DTYPE_S32), position + 1, new_keys, new_values};
}

static std::vector<int32_t> decoded(const Model &model, const lx::Place &at) {
  std::vector<Tensor> state = {
      Tensor::from_host(std::vector<int32_t>{1}, {1}, at), Tensor::full({}, 0, LXLA_DTYPE_S32, at),
      Tensor::full({LENGTH, WIDTH}, 0, LXLA_DTYPE_F32, at), Tensor::full({LENGTH, WIDTH}, 0, LXLA_DTYPE_F32, at)};
  const auto step = lx::jit([&](const std::vector<Tensor> &now) { return next(model, now); });
  std::vector<int32_t> tokens;
  for (int i = 0; i < LENGTH; i++) {
    state = step(state);
    tokens.push_back(state[0].read<int32_t>()[0]);
  }
  return tokens;
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
  const auto gradient = lx::value_and_grad([&](const Tensor &y) { return lx::reduce(LXLA_REDUCE_SUM, f({y})[0]); });
  return gradient(point)[1].read<float>()[0];
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

static void check_decoder(const lx::Place &at) {
  const auto drawn = [&](uint32_t seed, const lx::Dims &dims) {
    const Tensor key = Tensor::from_host(std::vector<uint32_t>{0, seed}, {2}, at);
    return lx::random_normal(LXLA_RNG_THREE_FRY, key, dims);
  };
  const Model model = {drawn(1, {SYMBOLS, WIDTH}), drawn(2, {WIDTH, WIDTH}), drawn(3, {WIDTH, WIDTH}),
                       drawn(4, {WIDTH, WIDTH}), drawn(5, {WIDTH, SYMBOLS})};
  const uint64_t before = compiles(at);
  const std::vector<int32_t> tokens = decoded(model, at);
  CHECK(tokens.size() == LENGTH && compiles(at) - before <= 3);
  for (const int32_t token : tokens) CHECK(token >= 0 && token < SYMBOLS);
}

int main() {
  for (const lx::Place &at : {lx::Place(lx::xla()), lx::Place(lx::cpu())}) {
    const uint64_t before = compiles(at);
    CHECK(train(at) < 0.05f && compiles(at) - before <= 4);
    check_decoder(at);
    CHECK(slope(at, 100) == 1 && std::fabs(slope(at, 0) - 0.5f) < 1e-6f);
    const std::vector<float> found = squares(at);
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
