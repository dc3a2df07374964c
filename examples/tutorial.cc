// The program of docs/tutorial.md in C++: tutorial examples/data/digits.csv
#include <lazyxla.hpp>

#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace lx = lazyxla;
using lx::Tensor;

static const int64_t HELD_OUT = 360, PIXELS = 64;

static void first_steps() {
  // [recipe]
  const lx::UseDevice here(lx::xla());  // new tensors of this block are on xla:0
  const Tensor x = lx::array({1.f, 2.f, 3.f});
  const auto f = lx::value_and_grad([](const Tensor &x) { return lx::sum(x * x); });
  const auto [y, slope] = lx::unpack<2>(f(x));  // y, and its gradient by x; recorded
  std::printf("y is %s\n", y.state() == LXLA_STATE_PENDING ? "pending" : "ready");
  const std::vector<float> values = slope.read<float>();  // runs both, and waits
  std::printf("y = %g, dy/dx = %g %g %g\n", lx::value(y), values[0], values[1], values[2]);
  // [recipe end]
}

struct Digits {
  std::vector<float> pixels;
  std::vector<int32_t> labels;
  int64_t size() const { return static_cast<int64_t>(labels.size()); }
};

// Reads lines of 64 pixels from 0 to 16 and the digit.
static Digits read_digits(const char *path) {
  std::ifstream file(path);
  Digits all;
  int value, column = 0;
  for (; file >> value; column = (column + 1) % (PIXELS + 1)) {
    if (column == PIXELS) all.labels.push_back(value);
    else all.pixels.push_back(static_cast<float>(value) / 16);
    if (file.peek() == ',') file.get();
  }
  if (!file.eof() || column != 0 || all.size() <= HELD_OUT)
    throw std::runtime_error(std::string(path) +
                             ": cannot be read, or has not more than 360 lines of 64 pixels and a digit");
  return all;
}

// [recipe]
static const std::vector<std::string> NAMES = {"w1", "b1", "w2", "b2"};

static std::vector<Tensor> create() {
  return {lx::normal(lx::key(1), {64, 64}) * 0.2, lx::zeros({64}), lx::normal(lx::key(2), {64, 10}) * 0.2,
          lx::zeros({10})};
}

static Tensor scores_of(const std::vector<Tensor> &p, const Tensor &x) {
  return lx::matmul(lx::tanh(lx::matmul(x, p[0]) + p[1]), p[2]) + p[3];
}

static Tensor loss_of(const std::vector<Tensor> &p, const Tensor &x, const Tensor &labels) {
  return lx::cross_entropy(scores_of(p, x), labels);
}
// [recipe end]

// [recipe]
static void train(std::vector<Tensor> &p, const Tensor &x, const Tensor &labels) {
  const auto loss_and_gradients = lx::value_and_grad(loss_of, lx::by_first(p.size()));
  lx::step();  // computes the first weights
  const uint64_t before = lx::counter("UncachedCompile");
  for (int i = 1; i <= 300; i++) {
    const std::vector<Tensor> results = loss_and_gradients(p, x, labels);  // the loss, then the gradients
    for (size_t k = 0; k < p.size(); k++) p[k] -= 0.5 * results[k + 1];
    lx::step();
    if (i % 100 == 0) std::printf("step %d: loss %.3f\n", i, lx::value(results[0]));
  }
  std::printf("programs compiled by 300 steps: %d\n", int(lx::counter("UncachedCompile") - before));
}
// [recipe end]

// [recipe]
static void save(const std::vector<Tensor> &p) {
  lx::save("tutorial.safetensors", {{NAMES[0], p[0]}, {NAMES[1], p[1]}, {NAMES[2], p[2]}, {NAMES[3], p[3]}});
}

static std::vector<int64_t> predict(lxla_device device, const std::vector<float> &pixels) {
  const lx::UseDevice here(device);  // of what follows
  std::vector<Tensor> p;
  for (const std::string &name : NAMES) p.push_back(Tensor::load("tutorial.safetensors", name));
  return lx::argmax(scores_of(p, lx::array(pixels, {HELD_OUT, 64})), 1).read<int64_t>();
}
// [recipe end]

// Predicts the digits of the held-out images, and prints how many are right. Returns that number.
static int show(const char *name, lxla_device device, const Digits &held_out) {
  const uint64_t before = lx::counter("UncachedCompile");
  const std::vector<int64_t> digits = predict(device, held_out.pixels);
  int right = 0;
  for (size_t i = 0; i < digits.size(); i++) right += digits[i] == held_out.labels[i];
  std::printf("%s: %d of %d right, programs compiled: %d\n", name, right, int(digits.size()),
              int(lx::counter("UncachedCompile") - before));
  return right;
}

static int run(const char *path) {
  Digits all = read_digits(path), held_out;  // the last ones are held out
  const int64_t count = all.size() - HELD_OUT;
  held_out.pixels.assign(all.pixels.begin() + count * PIXELS, all.pixels.end());
  held_out.labels.assign(all.labels.begin() + count, all.labels.end());
  all.pixels.resize(static_cast<size_t>(count * PIXELS)), all.labels.resize(static_cast<size_t>(count));

  first_steps();
  const lx::UseDevice here(lx::xla());
  std::vector<Tensor> p = create();
  train(p, lx::array(all.pixels, {count, PIXELS}), lx::array(all.labels));
  save(p);
  const int on_xla = show("xla:0", lx::xla(), held_out), on_cpu = show("cpu", lx::cpu(), held_out);
  return on_xla >= 310 && on_cpu >= 310 ? 0 : 1;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s examples/data/digits.csv\n", argv[0]);
    return 2;
  }
  try {
    return run(argv[1]);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
