// An ordinary differential equation, integrated with steps of adaptive size, and the gradient of its solution. The loop
// ends when the end of the interval is reached; nobody knows after how many steps, so that it has a bound.
//
// Dormand, Prince: A family of embedded Runge-Kutta formulae (1980). The oscillator of van der Pol, x' = v,
// v' = mu (1 - x^2) v - x; the gradient is by mu and by the initial values.
#include "frontend.h"

#include "noted.h"

enum { STAGES = 7, MOST_STEPS = 1000 };

static const double END = 2, TOLERANCE = 1e-9;

// Coefficients of the stages; the last row is also the solution of fifth order.
static const double A[STAGES][6] = {
    {0},
    {1.0 / 5},
    {3.0 / 40, 9.0 / 40},
    {44.0 / 45, -56.0 / 15, 32.0 / 9},
    {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
    {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
    {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84},
};
// The difference of the solutions of fifth and fourth order.
static const double E[STAGES] = {71.0 / 57600, 0, -71.0 / 16695, 71.0 / 1920, -17253.0 / 339200, 22.0 / 525, -1.0 / 40};

static lxla_tensor op(int32_t number, lxla_tensor a, lxla_tensor b) { NOTED(lxla_binary, number, a, b); }
static lxla_tensor by(int32_t number, lxla_tensor a, double b) { NOTED(lxla_binary_scalar, number, a, b); }
static lxla_tensor less(lxla_tensor a, double b) { NOTED(lxla_compare_scalar, LXLA_COMPARE_LT, a, b); }
static lxla_tensor choose(lxla_tensor pred, lxla_tensor a, lxla_tensor b) { NOTED(lxla_select, pred, a, b); }
static lxla_tensor constant(lxla_tensor a) { NOTED(lxla_stop_gradient, a); }
static lxla_tensor number(double value) { NOTED(lxla_tensor_full, env, device, LXLA_DTYPE_F64, NULL, 0, value); }
static lxla_tensor parameter(void) { NOTED(lxla_tensor_placeholder, env, device, LXLA_DTYPE_F64, NULL, 0); }

#define PLUS(a, b) op(LXLA_BINARY_ADD, a, b)
#define MINUS(a, b) op(LXLA_BINARY_SUBTRACT, a, b)
#define TIMES(a, b) op(LXLA_BINARY_MULTIPLY, a, b)
#define SCALED(a, value) by(LXLA_BINARY_MULTIPLY, a, value)

// start + h * sum(c[i] * k[i]), without the start if it is none.
static lxla_tensor advanced(const lxla_tensor *start, lxla_tensor h, const double *c, const lxla_tensor *k, int n) {
  const size_t first = noted.count;
  lxla_tensor sum = {0};
  for (int i = 0; i < n; i++)
    if (c[i] != 0) sum = sum.id ? PLUS(sum, SCALED(k[i], c[i])) : SCALED(k[i], c[i]);
  lxla_tensor step = TIMES(h, sum), result = keep(first, start ? PLUS(*start, step) : step);
  return note(result);
}

// v' at x and v.
static lxla_tensor force(lxla_tensor mu, lxla_tensor x, lxla_tensor v) {
  lxla_tensor damping = by(LXLA_BINARY_SUBTRACT, TIMES(x, x), 1);
  return by(LXLA_BINARY_MULTIPLY, PLUS(TIMES(TIMES(mu, damping), v), x), -1);
}

// [recipe]
// One step of the loop: t, h, x and v become the next ones. A step with too large an error changes only h.
static lxla_computation step_of(lxla_tensor mu) {
  const size_t first = noted.count;
  lxla_tensor state[] = {parameter(), parameter(), parameter(), parameter()}, t = state[0], x = state[2], v = state[3];
  lxla_tensor h = op(LXLA_BINARY_MINIMUM, state[1], by(LXLA_BINARY_ADD, SCALED(t, -1), END));
  lxla_tensor of_x[STAGES], of_v[STAGES], next_x = x, next_v = v;
  for (int i = 0; i < STAGES; i++) {
    if (i > 0) next_x = advanced(&x, h, A[i], of_x, i), next_v = advanced(&v, h, A[i], of_v, i);
    of_x[i] = next_v;
    of_v[i] = force(mu, next_x, next_v);
  }
  lxla_tensor in_x = advanced(NULL, h, E, of_x, STAGES), in_v = advanced(NULL, h, E, of_v, STAGES);
  lxla_tensor error = SCALED(PLUS(TIMES(in_x, in_x), TIMES(in_v, in_v)), 0.5 / (TOLERANCE * TOLERANCE));
  // Ten is the order of the square of the error. The size of the steps has no derivative.
  lxla_tensor factor = SCALED(by(LXLA_BINARY_POWER, error, -1.0 / 10), 0.9);
  factor = by(LXLA_BINARY_MINIMUM, by(LXLA_BINARY_MAXIMUM, factor, 0.2), 5);
  lxla_tensor is_good = less(error, 1), next[] = {choose(is_good, PLUS(t, h), t), constant(TIMES(h, factor)),
                                                  choose(is_good, next_x, x), choose(is_good, next_v, v)};
  lxla_computation step;
  TRY(lxla_computation_trace(state, 4, next, 4, &step));
  TRY(lxla_tensor_release_many(noted.tensors + first, noted.count - first));
  noted.count = first;
  return step;
}
// [recipe end]

static lxla_computation before_the_end(void) {
  const size_t first = noted.count;
  lxla_tensor state[] = {parameter(), parameter(), parameter(), parameter()}, more = less(state[0], END);
  lxla_computation condition;
  TRY(lxla_computation_trace(state, 4, &more, 1, &condition));
  TRY(lxla_tensor_release_many(noted.tensors + first, noted.count - first));
  noted.count = first;
  return condition;
}

// The computation (mu, x, v) -> (x at the end, whether the end was reached).
static lxla_computation solution(void) {
  const size_t first = noted.count;
  lxla_tensor given[] = {parameter(), parameter(), parameter()}, last[4], ended;
  lxla_computation step = step_of(given[0]), condition = before_the_end(), made;
  lxla_tensor start[] = {number(0), number(0.01), given[1], given[2]};
  // [recipe]
  // The step captures mu; derivatives are by mu, too. `ended` is false if MOST_STEPS were not enough.
  TRY(lxla_while_bounded(condition, step, start, 4, MOST_STEPS, last, &ended));
  TRY(lxla_computation_trace(given, 3, (lxla_tensor[]){last[2], ended}, 2, &made));
  // [recipe end]
  TRY(lxla_tensor_release_many(last, 4));
  RELEASE(ended);
  TRY(lxla_tensor_release_many(noted.tensors + first, noted.count - first));
  noted.count = first;
  TRY(lxla_computation_release(step));
  TRY(lxla_computation_release(condition));
  return made;
}

// The solution by 20,000 steps of one size, of fourth order.
static double reference(double mu, double x, double v) {
  const int n = 20000;
  const double h = END / n;
  for (int i = 0; i < n; i++) {
    double kx[4], kv[4];
    for (int s = 0; s < 4; s++) {
      const double c = s == 0   ? 0
                       : s == 3 ? h
                                : h / 2,
                   x_ = x + c * (s ? kx[s - 1] : 0), v_ = v + c * (s ? kv[s - 1] : 0);
      kx[s] = v_;
      kv[s] = mu * (1 - x_ * x_) * v_ - x_;
    }
    x += h / 6 * (kx[0] + 2 * kx[1] + 2 * kx[2] + kx[3]);
    v += h / 6 * (kv[0] + 2 * kv[1] + 2 * kv[2] + kv[3]);
  }
  return x;
}

int main(void) {
  const double at[] = {1.5, 2, -0.3}, shift = 1e-5;
  lxla_computation f = solution(), gradient;
  TRY(lxla_computation_value_and_grad(f, NULL, &gradient));
  lxla_tensor in[3], out[5];
  for (int i = 0; i < 3; i++)
    TRY(lxla_tensor_from_host(env, device, LXLA_DTYPE_F64, NULL, 0, &at[i], sizeof at[i], &in[i]));
  TRY(lxla_computation_call(gradient, in, 3, out, 5));
  double found[5];
  uint8_t ended;
  TRY(lxla_tensor_read(out[1], &ended, sizeof ended));
  CHECK(ended);
  for (int i = 0; i < 5; i++)
    if (i != 1) TRY(lxla_tensor_read(out[i], &found[i], sizeof found[i]));
  printf("x(%g) = %.9f\n", END, found[0]);
  CHECK(fabs(found[0] - reference(at[0], at[1], at[2])) < 1e-7);
  const char *const names[] = {"mu", "x(0)", "v(0)"};
  for (int i = 0; i < 3; i++) {
    double plus[] = {at[0], at[1], at[2]}, minus[] = {at[0], at[1], at[2]};
    plus[i] += shift, minus[i] -= shift;
    const double wanted =
        (reference(plus[0], plus[1], plus[2]) - reference(minus[0], minus[1], minus[2])) / (2 * shift);
    printf("its derivative by %s = %.7f\n", names[i], found[2 + i]);
    CHECK(fabs(found[2 + i] - wanted) < 1e-6);
  }
  TRY(lxla_tensor_release_many(in, 3));
  TRY(lxla_tensor_release_many(out, 5));
  TRY(lxla_computation_release(f));
  TRY(lxla_computation_release(gradient));
  return 0;
}
