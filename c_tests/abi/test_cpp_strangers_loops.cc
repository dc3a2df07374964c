// Programs in C++ as somebody writes them who comes from PyTorch, JAX or Eigen: loops on the host, by while_loop and by
// scan. Each has the values of a plain loop or a closed form, and its loop compiles a constant number of programs.
#include "strangers.hpp"

namespace {

// --- k-means ---

constexpr size_t POINTS = 60, CENTERS = 3;

// Centers after as many updates as it takes until none moves.
Doubles plain_kmeans(const Doubles &x, Doubles centers, int *updates) {
  for (Doubles before; before != centers; (*updates)++) {
    before = centers;
    Doubles sums(2 * CENTERS), counts(CENTERS);
    for (size_t i = 0; i < POINTS; i++) {
      size_t nearest = 0;
      const auto distance = [&](size_t c) {
        return std::pow(x[2 * i] - centers[2 * c], 2) + std::pow(x[2 * i + 1] - centers[2 * c + 1], 2);
      };
      for (size_t c = 1; c < CENTERS; c++)
        if (distance(c) < distance(nearest)) nearest = c;
      sums[2 * nearest] += x[2 * i], sums[2 * nearest + 1] += x[2 * i + 1], counts[nearest]++;
    }
    for (size_t k = 0; k < 2 * CENTERS; k++) centers[k] = sums[k] / counts[k / 2];
  }
  return centers;
}

void kmeans() {
  const Tensor noise = lx::normal(lx::key(0), {CENTERS, POINTS / CENTERS, 2});
  const Tensor means = lx::array({0.f, 0.f, 3.f, 1.f, -2.f, 4.f}, {CENTERS, 1, 2});
  const Tensor x = lx::reshape(noise + means, {-1, 2});
  Tensor centers = lx::stack({x[0], x[1], x[2]});
  const Doubles start = wide(centers);
  const auto update = lx::jit([&](const Tensor &centers) {
    const Tensor distances = lx::sum(lx::square(lx::expand_dims(x, {1}) - centers), -1);  // [POINTS, CENTERS]
    const Tensor members = lx::one_hot(lx::argmin(distances, 1), CENTERS);
    const Tensor made = lx::matmul(lx::transpose(members, {1, 0}), x) / lx::reshape(lx::sum(members, 0), {-1, 1});
    return std::pair(made, lx::max(lx::abs(made - centers)));
  });
  Compiles compiles(2);
  int updates = 0;
  for (double moved = 1; moved > 1e-6; updates++) {
    const std::vector<Tensor> results = update(centers);
    centers = results[0];
    moved = lx::value(results[1]);
    compiles.next();
  }
  CHECK(compiles.count() <= 1);
  int wanted = 0;
  agree(centers, plain_kmeans(wide(x), start, &wanted), 1e-4);
  CHECK(updates == wanted && updates > 2);
}
TEST(k_means_until_no_center_moves) { on_both(kmeans); }

// --- A Kalman filter ---

// Positions and speeds that a filter estimates from positions: rows of 2.
Doubles plain_kalman(const Doubles &seen) {
  double s = 0, v = 0, p00 = 10, p01 = 0, p11 = 10;
  Doubles out;
  for (const double z : seen) {
    s += v;  // x = F x with F = (1 1; 0 1); P = F P F' + Q
    const double q00 = p00 + 2 * p01 + p11 + 0.01, q01 = p01 + p11, q11 = p11 + 0.01;
    const double total = q00 + 0.5, gain0 = q00 / total, gain1 = q01 / total, error = z - s;
    s += gain0 * error, v += gain1 * error;
    p00 = (1 - gain0) * q00, p01 = (1 - gain0) * q01, p11 = q11 - gain1 * q01;
    out.insert(out.end(), {s, v});
  }
  return out;
}

void kalman() {
  const Tensor seen = lx::convert(lx::range(30), LXLA_DTYPE_F32) * 0.7 + lx::normal(lx::key(4), {30}) * 0.5;
  const Tensor f = lx::array({1.f, 1.f, 0.f, 1.f}, {2, 2}), h = lx::array({1.f, 0.f}, {1, 2});
  const Tensor transposed = lx::transpose(f, {1, 0}), column = lx::transpose(h, {1, 0});
  const auto filtered = lx::scan(
      [&](const Tensor &state, const Tensor &covariance, const Tensor &z) {
        const Tensor ahead = lx::matmul(f, state);
        const Tensor p = lx::matmul(lx::matmul(f, covariance), transposed) + lx::eye(2) * 0.01;
        const Tensor total = lx::matmul(lx::matmul(h, p), column) + 0.5;
        const Tensor gain = lx::matmul(p, lx::matmul(column, lx::inverse(total)));
        const Tensor next = ahead + lx::matmul(gain, z - lx::matmul(h, ahead));
        const Tensor shrunk = p - lx::matmul(gain, lx::matmul(h, p));
        return std::array<Tensor, 3>{next, shrunk, lx::reshape(next, {2})};
      },
      {lx::zeros({2, 1}), lx::eye(2) * 10}, {seen});
  Compiles compiles(1);
  agree(filtered.second[0], plain_kalman(wide(seen)), 1e-4);
  agree(filtered.first[0], {wide(filtered.second[0])[58], wide(filtered.second[0])[59]}, 1e-6);
  CHECK(compiles.count() <= 1);
}
TEST(a_kalman_filter_by_scan) { on_both(kalman); }

// --- A GRU ---

constexpr size_t STEPS = 7, STATE = 3, INPUT = 2;

// The loss of a GRU by plain loops: w has the matrices of inputs, then of the state, each with three gates.
double plain_gru(const Doubles &w, const Doubles &x) {
  const size_t gates = 3 * STATE;
  double h[STATE] = {};
  for (size_t t = 0; t < STEPS; t++) {
    double from_x[gates] = {}, from_h[gates] = {}, next[STATE];
    for (size_t g = 0; g < gates; g++) {
      for (size_t i = 0; i < INPUT; i++) from_x[g] += x[t * INPUT + i] * w[i * gates + g];
      for (size_t i = 0; i < STATE; i++) from_h[g] += h[i] * w[(INPUT + i) * gates + g];
    }
    for (size_t k = 0; k < STATE; k++) {
      const double reset = 1 / (1 + std::exp(-(from_x[k] + from_h[k])));
      const double update = 1 / (1 + std::exp(-(from_x[STATE + k] + from_h[STATE + k])));
      const double fresh = std::tanh(from_x[2 * STATE + k] + reset * from_h[2 * STATE + k]);
      next[k] = (1 - update) * fresh + update * h[k];
    }
    std::copy(next, next + STATE, h);
  }
  return (h[0] * h[0] + h[1] * h[1] + h[2] * h[2]) / STATE;
}

void gru() {
  Tensor key = lx::key(9);
  const Tensor x = lx::normal(lx::next_key(key), {STEPS, INPUT});
  Tensor wx = lx::normal(lx::next_key(key), {INPUT, 3 * STATE}), wh = lx::normal(lx::next_key(key), {STATE, 3 * STATE});
  const auto loss_and_slopes = lx::value_and_grad([&](const Tensor &wx, const Tensor &wh) {
    const auto cell = [&](const Tensor &h, const Tensor &x) {
      const std::vector<Tensor> from_x = lx::split(lx::matmul(x, wx), 3, 0),
                                from_h = lx::split(lx::matmul(h, wh), 3, 0);
      const Tensor reset = lx::sigmoid(from_x[0] + from_h[0]), update = lx::sigmoid(from_x[1] + from_h[1]);
      const Tensor fresh = lx::tanh(from_x[2] + reset * from_h[2]);
      return (1 - update) * fresh + update * h;
    };
    return lx::mean(lx::square(lx::scan(cell, {lx::zeros({STATE})}, {x}).first[0]));
  });
  Doubles plain = wide(wx);
  const Doubles rest = wide(wh), plain_x = wide(x);
  plain.insert(plain.end(), rest.begin(), rest.end());
  const auto loss = [&](const Doubles &w) { return plain_gru(w, plain_x); };
  Compiles compiles(3);
  for (int i = 0; i < 5; i++) {
    const std::vector<Tensor> results = loss_and_slopes(wx, wh);
    wx -= results[1] * 0.5, wh -= results[2] * 0.5;
    lx::step();
    const Doubles slope = slopes(loss, plain);
    CHECK(std::fabs(lx::value(results[0]) - loss(plain)) < 1e-5);
    for (size_t k = 0; k < plain.size(); k++) plain[k] -= 0.5 * slope[k];
    compiles.next();
  }
  CHECK(compiles.count() <= 1);
  agree(lx::concatenate({wx, wh}, 0), plain, 1e-4);
}
TEST(a_gru_by_scan_and_its_gradients) { on_both(gru); }

// --- Power iteration, which the host stops ---

void power_iteration() {
  const int64_t n = 8;  // the matrix of second differences, whose eigenvalues are 2 - 2 cos(k pi / (n + 1))
  const Tensor a = 2 * lx::eye(n) - Tensor::eye(n, n, 1) - Tensor::eye(n, n, -1);
  Tensor v = lx::normal(lx::key(1), {n});
  Compiles compiles(2);
  double last = 0, eigenvalue = 1;
  int iterations = 0;
  for (; std::fabs(eigenvalue - last) > 1e-7 * eigenvalue && iterations < 500; iterations++) {
    last = eigenvalue;
    const Tensor next = lx::matmul(a, v);
    v = next / lx::norm(next);
    eigenvalue = lx::value(lx::sum(v * lx::matmul(a, v)));
    compiles.next();
  }
  CHECK(compiles.count() <= 2 && iterations > 20 && iterations < 500);
  CHECK(std::fabs(eigenvalue - (2 - 2 * std::cos(n * 3.14159265358979 / (n + 1)))) < 1e-4);
  agree(lx::abs(lx::matmul(a, v) - eigenvalue * v), Doubles(n), 2e-2);
}
TEST(a_power_iteration_that_the_host_stops) { on_both(power_iteration); }

// --- Conjugate gradients ---

void conjugate_gradients() {
  const int64_t n = 16;
  const Tensor m = lx::normal(lx::key(2), {n, n});
  const Tensor a = lx::matmul(m, lx::transpose(m, {1, 0})) + n * lx::eye(n);
  const Tensor wanted = lx::sin(lx::convert(lx::range(n), LXLA_DTYPE_F32)), b = lx::matmul(a, wanted);
  const Tensor start = lx::zeros({n});
  Compiles compiles(1);
  const std::vector<Tensor> found =
      lx::while_loop([](const std::vector<Tensor> &s) { return lx::gt(s[3], 1e-8) & lx::lt(s[4], 100); },
                     [&](const Tensor &x, const Tensor &r, const Tensor &p, const Tensor &rr, const Tensor &k) {
                       const Tensor ap = lx::matmul(a, p), alpha = rr / lx::sum(p * ap);
                       const Tensor left = r - alpha * ap, next = lx::sum(left * left);
                       return std::vector<Tensor>{x + alpha * p, left, left + next / rr * p, next, k + 1};
                     },
                     {start, b, b, lx::sum(b * b), lx::zeros({}, LXLA_DTYPE_S32)});
  agree(found[0], wide(wanted), 1e-4);
  CHECK(lx::value(found[3]) <= 1e-8 && lx::value(found[4]) <= 2 * n);
  agree(lx::solve(a, b), wide(found[0]), 1e-4);
  CHECK(compiles.count() <= 2);
}
TEST(conjugate_gradients_by_while_loop) { on_both(conjugate_gradients); }

// --- A decoder with a cache ---

constexpr int64_t LENGTH = 12, WIDTH = 8, SYMBOLS = 11;

struct Decoder {
  Tensor embedding, query, key, value, out;
};

// The next symbol after all symbols so far, by plain loops that attend to all of them.
int32_t plain_next(const std::vector<Doubles> &model, const std::vector<int32_t> &symbols) {
  const auto times = [](const double *x, const Doubles &m, size_t columns) {
    Doubles out(columns);
    for (size_t i = 0; i < WIDTH; i++)
      for (size_t k = 0; k < columns; k++) out[k] += x[i] * m[i * columns + k];
    return out;
  };
  const auto row = [&](int32_t symbol) { return &model[0][static_cast<size_t>(symbol) * WIDTH]; };
  const Doubles query = times(row(symbols.back()), model[1], WIDTH);
  Doubles attended(WIDTH);
  double sum = 0;
  for (const int32_t symbol : symbols) {
    const Doubles key = times(row(symbol), model[2], WIDTH), value = times(row(symbol), model[3], WIDTH);
    double score = 0;
    for (size_t i = 0; i < WIDTH; i++) score += query[i] * key[i] / std::sqrt(double(WIDTH));
    sum += std::exp(score);
    for (size_t i = 0; i < WIDTH; i++) attended[i] += std::exp(score) * value[i];
  }
  for (double &each : attended) each /= sum;
  const Doubles scores = times(attended.data(), model[4], SYMBOLS);
  return static_cast<int32_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

void decoder() {
  Tensor key = lx::key(11);
  const auto drawn = [&](const Dims &dims) { return lx::normal(lx::next_key(key), dims) * 0.7; };
  const Decoder model{drawn({SYMBOLS, WIDTH}), drawn({WIDTH, WIDTH}), drawn({WIDTH, WIDTH}), drawn({WIDTH, WIDTH}),
                      drawn({WIDTH, SYMBOLS})};
  const auto next = lx::jit([&](const Tensor &token, const Tensor &at, const Tensor &keys, const Tensor &values) {
    const Tensor x = lx::take(model.embedding, token, 0), zero = lx::zeros({}, LXLA_DTYPE_S32);
    const Tensor all_keys = lx::dynamic_update_slice(keys, lx::matmul(x, model.key), {at, zero});
    const Tensor all_values = lx::dynamic_update_slice(values, lx::matmul(x, model.value), {at, zero});
    const Tensor seen = lx::le(lx::range(LENGTH), at);
    const Tensor attended = lx::attention(lx::matmul(x, model.query), all_keys, all_values, seen);
    const Tensor token_after = lx::argmax(lx::matmul(attended, model.out), 1, false, LXLA_DTYPE_S32);
    return std::tuple(token_after, at + 1, all_keys, all_values);
  });
  std::vector<Tensor> state = {lx::array({1}), lx::zeros({}, LXLA_DTYPE_S32), lx::zeros({LENGTH, WIDTH}),
                               lx::zeros({LENGTH, WIDTH})};
  const std::vector<Doubles> plain = {wide(model.embedding), wide(model.query), wide(model.key), wide(model.value),
                                      wide(model.out)};
  std::vector<int32_t> symbols = {1};
  Compiles compiles(3);
  for (int i = 0; i < LENGTH; i++) {
    state = next(state[0], state[1], state[2], state[3]);
    lx::step(state);
    const auto token = static_cast<int32_t>(lx::value(state[0]));
    CHECK(token == plain_next(plain, symbols));
    symbols.push_back(token);
    compiles.next();
  }
  CHECK(compiles.count() <= 2 && next.traces() == 1);
}
TEST(a_decoder_with_a_cache) { on_both(decoder); }

}  // namespace
