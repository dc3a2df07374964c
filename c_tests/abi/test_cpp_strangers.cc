// Programs in C++ as somebody writes them who comes from PyTorch, JAX or Eigen: training. Each has the values of a
// plain loop, and its loop compiles a constant number of programs.
#include "strangers.hpp"

namespace {

// --- Logistic regression ---

struct Points {
  Tensor x, labels;
};

Points drawn_points() {
  const Tensor x = lx::normal(lx::key(0), {64, 2});
  return {x, lx::convert(lx::gt(lx::sum(x * lx::array({1.5f, -2.f}), 1), 0.3), LXLA_DTYPE_F32)};
}

// The weights, then the bias, after descents of the same points in double precision.
Doubles plain_logistic(const Doubles &x, const Doubles &labels, int steps) {
  Doubles w(3);
  for (int step = 0; step < steps; step++) {
    Doubles g(3);
    for (size_t i = 0; i < labels.size(); i++) {
      const double p = 1 / (1 + std::exp(-(w[0] * x[2 * i] + w[1] * x[2 * i + 1] + w[2])));
      const double error = (p - labels[i]) / static_cast<double>(labels.size());
      g[0] += error * x[2 * i], g[1] += error * x[2 * i + 1], g[2] += error;
    }
    for (size_t k = 0; k < 3; k++) w[k] -= 0.5 * g[k];
  }
  return w;
}

void logistic_regression() {
  const Points points = drawn_points();
  Tensor w = lx::zeros({2}), b = lx::scalar(0);
  const auto loss_and_slopes = lx::value_and_grad([&](const Tensor &weights, const Tensor &bias) {
    const Tensor z = lx::matmul(points.x, weights) + bias;
    return lx::mean(lx::softplus(z) - points.labels * z);
  });
  Compiles compiles(3);
  for (int step = 0; step < 100; step++) {
    const std::vector<Tensor> results = loss_and_slopes(w, b);
    w -= 0.5 * results[1];
    b -= 0.5 * results[2];
    lx::step();
    compiles.next();
  }
  CHECK(compiles.count() <= 2);
  const Doubles wanted = plain_logistic(wide(points.x), wide(points.labels), 100);
  agree(w, {wanted[0], wanted[1]}, 1e-4);
  CHECK(std::fabs(lx::value(b) - wanted[2]) < 1e-4);
  const Tensor said = lx::gt(lx::sigmoid(lx::matmul(points.x, w) + b), 0.5);
  CHECK(lx::value(lx::mean(lx::convert(lx::eq(said, lx::gt(points.labels, 0.5)), LXLA_DTYPE_F32))) > 0.9);
}
TEST(a_logistic_regression) { on_both(logistic_regression); }

// --- A network with dropout, trained by Adam with weight decay and a schedule ---

constexpr int ROWS = 16, HIDDEN = 6, MLP_STEPS = 12;
const double BETA1 = 0.9, BETA2 = 0.99, DECAY = 0.1, RATE = 0.25;

double rate_of(int step) { return 0.05 * (1 + std::cos(3.14159265358979 * step / MLP_STEPS)) / 2; }

// A state of Adam for one parameter.
struct Adam {
  explicit Adam(const Tensor &p) : m(lx::zeros_like(p)), v(lx::zeros_like(p)) {}
  // Updates a parameter in place. The factors change from step to step.
  void update(Tensor &p, const Tensor &gradient, const Tensor &rate, const Tensor &size, const Tensor &root) {
    m.assign(BETA1 * m + (1 - BETA1) * gradient);
    v.assign(BETA2 * v + (1 - BETA2) * lx::square(gradient));
    p -= size * m / (lx::sqrt(v) * root + 1e-8) + rate * DECAY * p;
  }
  Tensor m, v;
};

Tensor varying(double value) { return Tensor::varying(value, LXLA_DTYPE_F32); }

std::vector<Tensor> drawn_network() {
  Tensor key = lx::key(3);
  return {lx::normal(lx::next_key(key), {2, HIDDEN}), lx::zeros({HIDDEN}), lx::normal(lx::next_key(key), {HIDDEN, 1}),
          lx::zeros({1})};
}

// The loss of the same network; p has all parameters, and `mask` the factors of dropout.
double plain_mlp(const Doubles &p, const Doubles &x, const Doubles &y, const Doubles &mask) {
  double loss = 0;
  for (size_t i = 0; i < ROWS; i++) {
    double out = p[4 * HIDDEN];
    for (size_t k = 0; k < HIDDEN; k++) {
      const double hidden = std::tanh(x[2 * i] * p[k] + x[2 * i + 1] * p[HIDDEN + k] + p[2 * HIDDEN + k]);
      out += hidden * mask[i * HIDDEN + k] * p[3 * HIDDEN + k];
    }
    loss += (out - y[i]) * (out - y[i]) / ROWS;
  }
  return loss;
}

void plain_adam(Doubles &p, Doubles &m, Doubles &v, const Doubles &g, int step) {
  const double t = step + 1;
  for (size_t k = 0; k < p.size(); k++) {
    m[k] = BETA1 * m[k] + (1 - BETA1) * g[k];
    v[k] = BETA2 * v[k] + (1 - BETA2) * g[k] * g[k];
    const double direction = m[k] / (1 - std::pow(BETA1, t)) / (std::sqrt(v[k] / (1 - std::pow(BETA2, t))) + 1e-8);
    p[k] -= rate_of(step) * (direction + DECAY * p[k]);
  }
}

void mlp() {
  const Tensor x = lx::normal(lx::key(1), {ROWS, 2}), y = lx::sin(lx::sum(x, 1, true));
  std::vector<Tensor> p = drawn_network();
  Doubles plain;
  for (const Tensor &each : p) {
    const Doubles values = wide(each);
    plain.insert(plain.end(), values.begin(), values.end());
  }
  Doubles m(plain.size()), v(plain.size());
  const Doubles plain_x = wide(x), plain_y = wide(y);

  const auto loss_and_slopes = lx::value_and_grad(
      [&](const std::vector<Tensor> &p, const Tensor &key) {
        const Tensor hidden = lx::dropout(lx::tanh(lx::matmul(x, p[0]) + p[1]), RATE, key);
        return lx::mean(lx::square(lx::matmul(hidden, p[2]) + p[3] - y));
      },
      lx::by_first(p.size()));
  std::vector<Adam> state(p.begin(), p.end());
  Tensor key = lx::key(7);
  Compiles compiles(3);
  for (int step = 0; step < MLP_STEPS; step++) {
    const Tensor own = lx::next_key(key);
    const std::vector<Tensor> results = loss_and_slopes(p, own);
    const double t = step + 1;
    const Tensor rate = varying(rate_of(step)), size = varying(rate_of(step) / (1 - std::pow(BETA1, t))),
                 root = varying(1 / std::sqrt(1 - std::pow(BETA2, t)));
    for (size_t k = 0; k < p.size(); k++) state[k].update(p[k], results[k + 1], rate, size, root);
    lx::step();

    const Doubles mask = wide(lx::dropout(lx::ones({ROWS, HIDDEN}), RATE, own));
    for (const double factor : mask) CHECK(factor == 0 || std::fabs(factor - 1 / (1 - RATE)) < 1e-6);
    const auto loss = [&](const Doubles &of) { return plain_mlp(of, plain_x, plain_y, mask); };
    CHECK(std::fabs(lx::value(results[0]) - loss(plain)) < 1e-4 * (1 + loss(plain)));
    plain_adam(plain, m, v, slopes(loss, plain), step);
    compiles.next();
  }
  CHECK(compiles.count() <= 3);
  agree(lx::reshape(p[2], {HIDDEN}), {plain.begin() + 3 * HIDDEN, plain.begin() + 4 * HIDDEN}, 2e-3);
}
TEST(a_network_with_dropout_and_adam) { on_both(mlp); }

// --- A convolution network with batch normalization ---

constexpr int IMAGES = 4, SIZE = 6, FEATURES = 2, CLASSES = 3, CNN_STEPS = 6;

struct Cnn {
  std::vector<Tensor> p;  // kernel, scale, offset, weights
  Tensor mean = lx::zeros({FEATURES}), variance = lx::ones({FEATURES});
};

// Scores, and the statistics of the batch.
std::array<Tensor, 3> scores_of(const std::vector<Tensor> &p, const Tensor &x) {
  const lx::BatchNorm normal = lx::batch_norm(lx::conv2d(x, p[0], 1, true), p[1], p[2]);
  const Tensor pooled = lx::max_pool(lx::relu(normal.values), 2);
  return {lx::matmul(lx::reshape(pooled, {x.dims()[0], -1}), p[3]), normal.mean, normal.variance};
}

// Features of images by plain loops: [IMAGES, SIZE, SIZE, FEATURES] of a convolution that keeps the size.
Doubles plain_conv(const Doubles &x, const double *kernel) {
  Doubles out(IMAGES * SIZE * SIZE * FEATURES);
  for (int n = 0; n < IMAGES; n++)
    for (int i = 0; i < SIZE; i++)
      for (int j = 0; j < SIZE; j++)
        for (int f = 0; f < FEATURES; f++)
          for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) {
              const int row = i + a - 1, column = j + b - 1;
              if (row < 0 || row >= SIZE || column < 0 || column >= SIZE) continue;
              const double pixel = x[static_cast<size_t>((n * SIZE + row) * SIZE + column)];
              out[static_cast<size_t>(((n * SIZE + i) * SIZE + j) * FEATURES + f)] +=
                  pixel * kernel[(a * 3 + b) * FEATURES + f];
            }
  return out;
}

// Normalizes features, rectifies them, and returns their statistics: means, then variances.
Doubles plain_norm(Doubles &features, const double *scale, const double *offset) {
  Doubles statistics(2 * FEATURES);
  const double count = static_cast<double>(features.size()) / FEATURES;
  for (size_t i = 0; i < features.size(); i++) statistics[i % FEATURES] += features[i] / count;
  for (size_t i = 0; i < features.size(); i++) {
    const double apart = features[i] - statistics[i % FEATURES];
    statistics[FEATURES + i % FEATURES] += apart * apart / count;
  }
  for (size_t i = 0; i < features.size(); i++) {
    const size_t f = i % FEATURES;
    const double normal = (features[i] - statistics[f]) / std::sqrt(statistics[FEATURES + f] + 1e-5);
    features[i] = std::max(0.0, normal * scale[f] + offset[f]);
  }
  return statistics;
}

// The loss of the same network: p has the kernel (18), scale and offset (2 each) and weights (18 by 3).
double plain_cnn(const Doubles &p, const Doubles &x, const std::vector<int32_t> &labels, Doubles *statistics) {
  Doubles features = plain_conv(x, p.data());
  *statistics = plain_norm(features, &p[18], &p[20]);
  double loss = 0;
  for (int n = 0; n < IMAGES; n++) {
    double scores[CLASSES] = {}, sum = 0;
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++)
        for (int f = 0; f < FEATURES; f++) {
          double largest = 0;
          for (int a = 0; a < 4; a++)
            largest = std::max(
                largest,
                features[static_cast<size_t>(((n * SIZE + 2 * i + a / 2) * SIZE + 2 * j + a % 2) * FEATURES + f)]);
          for (int c = 0; c < CLASSES; c++)
            scores[c] += largest * p[static_cast<size_t>(22 + ((i * 3 + j) * FEATURES + f) * CLASSES + c)];
        }
    for (const double score : scores) sum += std::exp(score);
    loss += (std::log(sum) - scores[labels[static_cast<size_t>(n)]]) / IMAGES;
  }
  return loss;
}

void cnn() {
  const std::vector<int32_t> classes = {2, 0, 1, 2};
  const Tensor x = lx::normal(lx::key(5), {IMAGES, SIZE, SIZE, 1}), labels = lx::array(classes);
  Tensor key = lx::key(6);
  Cnn net{{lx::normal(lx::next_key(key), {3, 3, 1, FEATURES}), lx::ones({FEATURES}), lx::zeros({FEATURES}),
           lx::normal(lx::next_key(key), {3 * 3 * FEATURES, CLASSES}) * 0.3}};
  Doubles plain, plain_x = wide(x), moving = {0, 0, 1, 1}, statistics;
  for (const Tensor &each : net.p) {
    const Doubles values = wide(each);
    plain.insert(plain.end(), values.begin(), values.end());
  }
  const auto step = lx::value_and_grad([&](const std::vector<Tensor> &p) {
    const auto [scores, mean, variance] = scores_of(p, x);
    return std::array<Tensor, 3>{lx::cross_entropy(scores, labels), mean, variance};
  });
  Compiles compiles(3);
  for (int i = 0; i < CNN_STEPS; i++) {
    const std::vector<Tensor> results = step(net.p);  // the loss, the statistics, then the gradients
    for (size_t k = 0; k < net.p.size(); k++) net.p[k] -= 0.1 * results[3 + k];
    net.mean.assign(0.9 * net.mean + 0.1 * results[1]);
    net.variance.assign(0.9 * net.variance + 0.1 * results[2]);
    lx::step();
    const auto loss = [&](const Doubles &of) { return plain_cnn(of, plain_x, classes, &statistics); };
    const Doubles slope = slopes(loss, plain);
    const double here = loss(plain);
    CHECK(std::fabs(lx::value(results[0]) - here) < 1e-4 * (1 + here));
    for (size_t k = 0; k < moving.size(); k++) moving[k] = 0.9 * moving[k] + 0.1 * statistics[k];
    for (size_t k = 0; k < plain.size(); k++) plain[k] -= 0.1 * slope[k];
    compiles.next();
  }
  CHECK(compiles.count() <= 2);
  agree(lx::concatenate({net.mean, net.variance}, 0), moving, 1e-4);
  agree(lx::reshape(net.p[0], {-1}), {plain.begin(), plain.begin() + 18}, 1e-3);
  // With the moving statistics.
  const Tensor features = lx::conv2d(x, net.p[0], 1, true);
  const Tensor served = lx::batch_norm_inference(features, net.p[1], net.p[2], net.mean, net.variance);
  const Tensor wanted = (features - net.mean) / lx::sqrt(net.variance + 1e-5) * net.p[1] + net.p[2];
  agree(served, wide(wanted), 1e-5);
}
TEST(a_convolution_network_with_statistics) { on_both(cnn); }

}  // namespace
