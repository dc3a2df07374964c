// Batches of a computation, gradients of each example, and a custom derivative.
#include "frontend.h"

// [recipe]
// A traced computation over a batch of `size`. `in_axes` has the batch axis of each parameter, -1 for one that is the
// same for the whole batch; each result gets the batch as its first axis.
static lxla_computation vmap(lxla_computation f, const int64_t *in_axes, int64_t size) {
  size_t params, results, captured;
  int64_t out_axes[16] = {0};
  lxla_computation out;
  TRY(lxla_computation_info(f, &params, &results, &captured));
  CHECK(results <= 16);
  TRY(lxla_computation_vmap(f, in_axes, params, out_axes, results, size, &out));
  return out;
}
// [recipe end]

// [recipe]
// log(1 + e^x), whose derivative is given: logistic(x), which is finite where e^x / (1 + e^x) is inf / inf.
static lxla_computation softplus(const int64_t *dims, size_t rank) {
  lxla_tensor x = placeholder(dims, rank), dy = placeholder(dims, rank), exponential = unary(LXLA_UNARY_EXPONENTIAL, x);
  lxla_tensor y = unary(LXLA_UNARY_LOG_PLUS_ONE, exponential), slope = unary(LXLA_UNARY_LOGISTIC, x);
  lxla_tensor dx = binary(LXLA_BINARY_MULTIPLY, dy, slope);
  lxla_computation primal, forward, backward, out;
  TRY(lxla_computation_trace(&x, 1, &y, 1, &primal));
  TRY(lxla_computation_trace(&x, 1, (lxla_tensor[]){y, x}, 2, &forward));     // the results, then residuals: x
  TRY(lxla_computation_trace((lxla_tensor[]){x, dy}, 2, &dx, 1, &backward));  // residuals, cotangents -> gradients
  TRY(lxla_computation_with_vjp(primal, forward, backward, &out));
  TRY(lxla_computation_release(primal));
  TRY(lxla_computation_release(forward));
  TRY(lxla_computation_release(backward));
  RELEASE(x, dy, exponential, y, slope, dx);
  return out;
}
// [recipe end]

enum { BATCH = 5, N = 3 };

// (w . x)^2
static lxla_computation squared_product(void) {
  lxla_tensor w = placeholder(DIMS(N)), x = placeholder(DIMS(N)), products = binary(LXLA_BINARY_MULTIPLY, w, x), sum;
  TRY(lxla_reduce(LXLA_REDUCE_SUM, products, NULL, 0, 0, &sum));
  lxla_tensor square = binary(LXLA_BINARY_MULTIPLY, sum, sum);
  lxla_computation out;
  TRY(lxla_computation_trace((lxla_tensor[]){w, x}, 2, &square, 1, &out));
  RELEASE(w, x, products, sum, square);
  return out;
}

static void batches(void) {
  float w_values[N] = {1, 2, -1}, x_values[BATCH * N], losses[BATCH], rows[BATCH * N];
  for (int i = 0; i < BATCH * N; i++) x_values[i] = (float)(i % 7);
  lxla_tensor w = from_floats(device, DIMS(N), w_values), batch = from_floats(device, DIMS(BATCH, N), x_values);
  lxla_computation f = squared_product();
  // [recipe]
  // The loss of each example, and its gradient by the weights: one program for the batch.
  lxla_computation with_gradient, of_batch;
  lxla_tensor r[2];
  lxla_vjp_options options = {.struct_size = sizeof options};
  TRY(lxla_vjp_options_init(&options));
  options.wrt = (size_t[]){0}, options.n_wrt = 1;  // by w, not by x
  TRY(lxla_computation_value_and_grad(f, &options, &with_gradient));
  of_batch = vmap(with_gradient, (int64_t[]){-1, 0}, BATCH);                 // one w, a batch of x
  TRY(lxla_computation_call(of_batch, (lxla_tensor[]){w, batch}, 2, r, 2));  // f32[BATCH], f32[BATCH, N]
  // [recipe end]
  TRY(lxla_tensor_read(r[0], losses, sizeof losses));
  TRY(lxla_tensor_read(r[1], rows, sizeof rows));
  for (int b = 0; b < BATCH; b++) {
    const float *x = &x_values[b * N], product = x[0] + 2 * x[1] - x[2];
    CHECK(losses[b] == product * product);
    for (int i = 0; i < N; i++) CHECK(rows[b * N + i] == 2 * product * x[i]);
  }
  TRY(lxla_computation_release(f));
  TRY(lxla_computation_release(with_gradient));
  TRY(lxla_computation_release(of_batch));
  RELEASE(w, batch, r[0], r[1]);
}

static void custom_derivative(void) {
  float points[] = {-2, 0, 1000}, got[N];
  lxla_tensor at = from_floats(device, DIMS(N), points), y, sum, dx;
  // [recipe]
  lxla_computation g = softplus(DIMS(N));
  TRY(lxla_computation_call(g, &at, 1, &y, 1));
  TRY(lxla_reduce(LXLA_REDUCE_SUM, y, NULL, 0, 0, &sum));
  TRY(lxla_gradients(&sum, 1, NULL, &at, 1, &dx));  // by the rule given; so in loops, batches, value_and_grad
  // [recipe end]
  TRY(lxla_tensor_read(dx, got, sizeof got));
  for (int i = 0; i < N; i++) CHECK(fabs(got[i] - 1 / (1 + exp(-points[i]))) < 1e-6);
  TRY(lxla_tensor_read(y, got, sizeof got));
  CHECK(isinf(got[2]) && fabs(got[1] - log(2)) < 1e-6);
  TRY(lxla_computation_release(g));
  RELEASE(at, y, sum, dx);
}

int main(void) {
  batches();
  custom_derivative();
  return 0;
}
