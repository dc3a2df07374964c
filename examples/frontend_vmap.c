// A batch rule and a custom derivative with computations.
#include "frontend.h"

// [recipe]
// vmap of what has no batch rule: the example's computation, applied by a loop over the batch. Nothing is carried.
static lxla_tensor vmap(lxla_computation f, lxla_tensor batch, int64_t size) {
  lxla_tensor out;
  TRY(lxla_scan(f, NULL, 0, &batch, 1, size, 0, NULL, &out, 1));
  return out;
}
// [recipe end]

// [recipe]
// A function with a derivative of its own: the pair that JAX's custom_vjp takes.
typedef struct {
  lxla_computation forward;    // x -> y, and what the derivative needs
  lxla_computation backward;   // what the forward kept, dy -> dx
} differentiable;

// log(1 + e^x). The derivative is logistic(x), which is finite where e^x / (1 + e^x) is inf / inf.
static differentiable softplus(const int64_t *dims, size_t rank) {
  differentiable f;
  lxla_tensor x = placeholder(dims, rank), y = {0}, dy = placeholder(dims, rank);
  TRY(lxla_activation(LXLA_ACTIVATION_SOFTPLUS, x, &y));
  lxla_tensor slope = unary(LXLA_UNARY_LOGISTIC, x), dx = binary(LXLA_BINARY_MULTIPLY, dy, slope);
  TRY(lxla_computation_trace(&x, 1, (lxla_tensor[]){y, x}, 2, &f.forward));   // keeps x: a result may be a parameter
  TRY(lxla_computation_trace((lxla_tensor[]){x, dy}, 2, &dx, 1, &f.backward));
  RELEASE(x, y, dy, slope, dx);
  return f;
}

// An entry of a frontend's tape: one call.
typedef struct {
  lxla_computation backward;
  lxla_tensor kept;
} tape_entry;

static lxla_tensor apply(const differentiable *f, lxla_tensor x, tape_entry *entry) {
  lxla_tensor y_and_kept[2];
  TRY(lxla_computation_call(f->forward, &x, 1, y_and_kept, 2));
  TRY(lxla_computation_retain(f->backward));
  *entry = (tape_entry){f->backward, y_and_kept[1]};
  return y_and_kept[0];
}

static lxla_tensor pull_back(tape_entry *entry, lxla_tensor dy) {   // dx; the entry ends
  lxla_tensor dx;
  TRY(lxla_computation_call(entry->backward, (lxla_tensor[]){entry->kept, dy}, 2, &dx, 1));
  TRY(lxla_computation_release(entry->backward));
  RELEASE(entry->kept);
  return dx;
}
// [recipe end]

enum { BATCH = 5, N = 3 };

int main(void) {
  // A batched computation: the outer product of a vector with itself and with a captured one, summed with its
  // transpose.
  float values[BATCH * N], got[BATCH * N * N], fixed_values[] = {1, 10, 100};
  for (int i = 0; i < BATCH * N; i++) values[i] = (float)i;
  lxla_tensor batch = from_floats(device, DIMS(BATCH, N), values), fixed = from_floats(device, DIMS(N), fixed_values);
  lxla_tensor x = placeholder(DIMS(N)), column, outer, out;
  TRY(lxla_reshape(x, DIMS(N, 1), &column));
  outer = binary(LXLA_BINARY_MULTIPLY, column, fixed);             // captured, so not mapped
  lxla_computation f;
  TRY(lxla_computation_trace(&x, 1, &outer, 1, &f));
  out = vmap(f, batch, BATCH);
  TRY(lxla_tensor_read(out, got, sizeof got));
  for (int b = 0; b < BATCH; b++)
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) CHECK(got[(b * N + i) * N + j] == values[b * N + i] * fixed_values[j]);
  RELEASE(x, column, outer, out, fixed);
  TRY(lxla_computation_release(f));

  // [recipe]
  // A batch rule: matmul takes a leading batch axis of either operand. Here [BATCH, 1, N] by [N, N].
  float weights[N * N] = {1, 0, 0, 0, 2, 0, 0, 0, 3};
  lxla_tensor w = from_floats(device, DIMS(N, N), weights), rows, products;
  TRY(lxla_reshape(batch, DIMS(BATCH, 1, N), &rows));
  products = matmul(rows, w);
  // [recipe end]
  TRY(lxla_tensor_read(products, got, BATCH * N * sizeof *got));
  for (int i = 0; i < BATCH * N; i++) CHECK(got[i] == values[i] * (float)(1 + i % N));
  RELEASE(w, rows, products);

  // The derivative is right also where the naive one is NaN.
  float points[] = {-2, 0, 1000};
  differentiable g = softplus(DIMS(N));
  tape_entry entry;
  lxla_tensor at = from_floats(device, DIMS(N), points), y = apply(&g, at, &entry), dy, dx;
  TRY(lxla_tensor_full(env, device, LXLA_DTYPE_F32, DIMS(N), 1, &dy));
  dx = pull_back(&entry, dy);
  TRY(lxla_tensor_read(dx, got, N * sizeof *got));
  for (int i = 0; i < N; i++) CHECK(fabs(got[i] - 1 / (1 + exp(-points[i]))) < 1e-6);
  TRY(lxla_tensor_read(y, got, N * sizeof *got));
  CHECK(got[2] == 1000 && fabs(got[1] - log(2)) < 1e-6);
  RELEASE(batch, at, y, dy, dx);
  TRY(lxla_computation_release(g.forward));
  TRY(lxla_computation_release(g.backward));
  return 0;
}
