// Loops as C programs write them, with reads and without steps: S10 of docs/behaviours.md. Each compiles in its first
// iterations only, repeats no operation, and its memory stays flat. Those of Python: python/tests/test_loops.py.
#include "computation.h"

enum { N = 6, ITERATIONS = 24, WARM = 6, MOST = 4 };

// The state of a loop. A body replaces what it updates, releases the rest, and reads `seen`.
typedef struct {
  lxla_env env;
  lxla_tensor x, y, z;
  lxla_computation step;
  double seen, best;
} loop;

static lxla_tensor numbers(lxla_env env, double start, double step) {
  float values[N];
  for (int i = 0; i < N; i++) values[i] = (float)(start + step * i);
  return from_f32(env, DIMS(N), values);
}

static lxla_tensor sum_of(lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_reduce(LXLA_REDUCE_SUM, x, NULL, 0, 0, &out));
  return out;
}

static lxla_tensor squares(lxla_tensor x) {
  lxla_tensor square = binary(MUL, x, x), sum = sum_of(square);
  RELEASE(square);
  return sum;
}

static lxla_tensor unary(int32_t op, lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_unary(op, x, &out));
  return out;
}

static void become(lxla_tensor *old, lxla_tensor new_value) {
  RELEASE(*old);
  *old = new_value;
}

// Reads a value, and releases it.
static double taken(lxla_tensor x) {
  const double found = value(x);
  RELEASE(x);
  return found;
}

static void run(const char *name, void (*body)(loop *, int), double wanted) {
  loop l = {.env = new_env(), .best = 1e30};
  l.x = numbers(l.env, 1, 0.5), l.y = numbers(l.env, 0.1, 0.1), l.z = numbers(l.env, 0, 0);
  uint64_t compiles = 0, bytes = 0;
  for (int i = 0; i < ITERATIONS; i++) {
    body(&l, i);
    if (i == WARM) compiles = counter(l.env, "UncachedCompile");
    if (i == ITERATIONS / 2) bytes = counter(l.env, "LiveBytes");
  }
  if (fabs(l.seen - wanted) > 1e-4 * (1 + fabs(wanted))) FAIL("%s: %.9g, want %.9g", name, l.seen, wanted);
  if (compiles > MOST) FAIL("%s: %" PRIu64 " programs", name, compiles);
  const uint64_t late = counter(l.env, "UncachedCompile") - compiles, again = counter(l.env, "RecomputedOps");
  if (late || again) FAIL("%s: %" PRIu64 " programs later, %" PRIu64 " operations again", name, late, again);
  if (counter(l.env, "LiveBytes") > bytes + 256) FAIL("%s: the memory grows", name);
  EQUAL(counter(l.env, "MarkStep"), 0);
  RELEASE(l.x, l.y, l.z);
  if (l.step.id) OK(lxla_computation_release(l.step));
  no_live_bytes(l.env);
  OK(lxla_env_release(l.env));
}

// --- Bodies ---

// x -= 0.05 dl/dx of l = sum((x y)^2), by lxla_gradients.
static void descent(loop *l, int i) {
  (void)i;
  lxla_tensor product = binary(MUL, l->x, l->y), loss = squares(product), slope;
  OK(lxla_gradients(&loss, 1, NULL, &l->x, 1, &slope));
  lxla_tensor change = scalar(MUL, slope, 0.05), next = binary(SUB, l->x, change);
  RELEASE(product, slope, change);
  become(&l->x, next);
  l->seen = taken(loss);
}

// The same with momentum, in place.
static void momentum(loop *l, int i) {
  (void)i;
  lxla_tensor product = binary(MUL, l->x, l->y), loss = squares(product), slope;
  OK(lxla_gradients(&loss, 1, NULL, &l->x, 1, &slope));
  OK(lxla_binary_scalar_inplace(MUL, l->z, 0.9));
  OK(lxla_binary_inplace(ADD, l->z, slope));
  lxla_tensor change = scalar(MUL, l->z, 0.05);
  OK(lxla_binary_inplace(SUB, l->x, change));
  RELEASE(product, slope, change);
  l->seen = taken(loss);
}

// A rate that the host computes: a scalar operand that changes in each iteration.
static void scheduled(loop *l, int i) {
  lxla_tensor product = binary(MUL, l->x, l->y), loss = squares(product), slope;
  OK(lxla_gradients(&loss, 1, NULL, &l->x, 1, &slope));
  lxla_tensor change = scalar(MUL, slope, 0.1 / (i + 1)), next = binary(SUB, l->x, change);
  RELEASE(product, slope, change);
  become(&l->x, next);
  l->seen = taken(loss);
}

// The norm is read to clip by, and then the loss.
static void clipped(loop *l, int i) {
  (void)i;
  lxla_tensor product = binary(MUL, l->x, l->y), loss = squares(product), slope;
  OK(lxla_gradients(&loss, 1, NULL, &l->x, 1, &slope));
  const double norm = sqrt(taken(squares(slope))), factor = norm > 1 ? 1 / norm : 1;
  lxla_tensor change = scalar(MUL, slope, 0.05 * factor), next = binary(SUB, l->x, change);
  RELEASE(product, slope, change);
  become(&l->x, next);
  l->seen = taken(loss);
}

// Power iteration by hand: x = x y / |x y|; the norm is read.
static void power(loop *l, int i) {
  (void)i;
  lxla_tensor grown = binary(MUL, l->x, l->y), norm2 = squares(grown), norm = unary(LXLA_UNARY_SQRT, norm2);
  become(&l->x, binary(LXLA_BINARY_DIVIDE, grown, norm));
  RELEASE(grown, norm2);
  l->seen = taken(norm);
}

// Jacobi's iteration until the residual that the host reads is small: it is read, and nothing else.
static void relaxed(loop *l, int i) {
  (void)i;
  lxla_tensor halved = scalar(MUL, l->x, 0.5), next = binary(ADD, halved, l->y), moved = binary(SUB, next, l->x);
  become(&l->x, next);
  lxla_tensor residual = squares(moved);
  RELEASE(halved, moved);
  l->seen = taken(residual);
}

// A running mean of the weights beside the loop.
static void averaged(loop *l, int i) {
  descent(l, i);
  OK(lxla_binary_scalar_inplace(MUL, l->z, 0.9));
  lxla_tensor part = scalar(MUL, l->x, 0.1);
  OK(lxla_binary_inplace(ADD, l->z, part));
  RELEASE(part);
  l->seen = taken(squares(l->z));
}

// Five numbers of one iteration are read in turn.
static void logged(loop *l, int i) {
  (void)i;
  lxla_tensor moved = binary(ADD, l->x, l->y), halved = scalar(MUL, moved, 0.5);
  const int32_t ops[] = {LXLA_REDUCE_SUM, LXLA_REDUCE_MAX, LXLA_REDUCE_MIN, LXLA_REDUCE_PRODUCT};
  lxla_tensor seen[5];
  for (int k = 0; k < 4; k++) OK(lxla_reduce(ops[k], halved, NULL, 0, 0, &seen[k]));
  seen[4] = squares(halved);
  become(&l->x, halved);
  RELEASE(moved);
  l->seen = 0;
  for (int k = 0; k < 5; k++) l->seen += taken(seen[k]);
}

// The best weights so far are kept by a snapshot.
static void best_kept(loop *l, int i) {
  descent(l, i);
  if (l->seen < l->best) {
    l->best = l->seen;
    become(&l->z, snapshot(l->x));
  }
}

// A number that is drawn on the device decides on the host; the key is split in each iteration.
static void drawn(loop *l, int i) {
  if (i == 0) {
    const uint32_t seed[2] = {0, 7};
    RELEASE(l->z);
    OK(lxla_tensor_from_host(l->env, XLA(0), LXLA_DTYPE_U32, DIMS(2), seed, sizeof seed, &l->z));
  }
  lxla_tensor keys, first, second, next, now, uniform;
  OK(lxla_random_split(LXLA_RNG_THREE_FRY, l->z, 2, &keys));
  OK(lxla_slice_axis(keys, 0, 0, 1, 1, &first));
  OK(lxla_slice_axis(keys, 0, 1, 2, 1, &second));
  OK(lxla_reshape(first, DIMS(2), &next));
  OK(lxla_reshape(second, DIMS(2), &now));
  OK(lxla_random_uniform(LXLA_RNG_THREE_FRY, now, LXLA_DTYPE_F32, NULL, 0, 0, 1, &uniform));
  become(&l->z, next);
  RELEASE(keys, first, second, now);
  l->seen += taken(uniform) < 2;
}

// A traced step, whose loss is read.
static void called_step(loop *l, int i) {
  if (i == 0) {
    lxla_tensor p = placeholder(l->env, LXLA_DTYPE_F32, DIMS(N)), q = placeholder(l->env, LXLA_DTYPE_F32, DIMS(N));
    lxla_tensor product = binary(MUL, p, q), loss = squares(product), slope;
    OK(lxla_gradients(&loss, 1, NULL, &p, 1, &slope));
    lxla_tensor change = scalar(MUL, slope, 0.05), next = binary(SUB, p, change);
    l->step = traced(TENSORS(p, q), TENSORS(next, loss));
    RELEASE(p, q, product, loss, slope, change, next);
  }
  lxla_tensor out[2];
  OK(lxla_computation_call(l->step, TENSORS(l->x, l->y), out, 2));
  become(&l->x, out[0]);
  l->seen = taken(out[1]);
}

// Every fifth iteration all weights are read.
static void checkpointed(loop *l, int i) {
  descent(l, i);
  if (i % 5 == 0) {
    float values[N];
    read_f32(l->x, values, N);
    CHECK(values[0] > 0);
  }
}

// Gradients of four small batches are added before the update.
static void accumulated(loop *l, int i) {
  (void)i;
  lxla_tensor total = none, sum = none;
  for (int k = 0; k < 4; k++) {
    lxla_tensor batch = scalar(MUL, l->y, 1 + 0.1 * k), product = binary(MUL, l->x, batch), loss = squares(product);
    lxla_tensor slope;
    OK(lxla_gradients(&loss, 1, NULL, &l->x, 1, &slope));
    RELEASE(batch, product);
    if (k == 0) {
      total = slope, sum = loss;
    } else {
      OK(lxla_binary_inplace(ADD, total, slope));
      OK(lxla_binary_inplace(ADD, sum, loss));
      RELEASE(slope, loss);
    }
  }
  lxla_tensor change = scalar(MUL, total, 0.01), next = binary(SUB, l->x, change);
  RELEASE(total, change);
  become(&l->x, next);
  l->seen = taken(sum);
}

// --- What they compute, on the host ---

static double loss_after(int updates, double (*rate)(int), double momentum_of) {
  double loss = 0, x[N], m[N] = {0};
  for (int j = 0; j < N; j++) x[j] = 1 + 0.5 * j;
  for (int i = 0; i <= updates; i++) {
    loss = 0;
    for (int j = 0; j < N; j++) {
      const double y = 0.1 + 0.1 * j, product = x[j] * y;
      loss += product * product;
      m[j] = momentum_of * m[j] + 2 * product * y;
      x[j] -= rate(i) * m[j];
    }
  }
  return loss;
}
static double fixed(int i) { return (void)i, 0.05; }
static double falling(int i) { return 0.1 / (i + 1); }

// Runs the loop on numbers of the host, by the same operations one after another.
static double on_host(void (*body)(double *x, double *z, double *seen)) {
  double x[N], z[N] = {0}, seen = 0;
  for (int j = 0; j < N; j++) x[j] = 1 + 0.5 * j;
  for (int i = 0; i < ITERATIONS; i++) body(x, z, &seen);
  return seen;
}
#define Y(j) (0.1 + 0.1 * (j))
static void host_clipped(double *x, double *z, double *seen) {
  (void)z;
  double norm = 0;
  *seen = 0;
  for (int j = 0; j < N; j++) *seen += pow(x[j] * Y(j), 2), norm += pow(2 * x[j] * Y(j) * Y(j), 2);
  const double factor = norm > 1 ? 1 / sqrt(norm) : 1;
  for (int j = 0; j < N; j++) x[j] -= 0.05 * factor * 2 * x[j] * Y(j) * Y(j);
}
static void host_power(double *x, double *z, double *seen) {
  (void)z;
  double norm = 0;
  for (int j = 0; j < N; j++) norm += pow(x[j] * Y(j), 2);
  *seen = sqrt(norm);
  for (int j = 0; j < N; j++) x[j] *= Y(j) / *seen;
}
static void host_relaxed(double *x, double *z, double *seen) {
  (void)z;
  *seen = 0;
  for (int j = 0; j < N; j++) {
    const double next = 0.5 * x[j] + Y(j);
    *seen += pow(next - x[j], 2), x[j] = next;
  }
}
static void host_averaged(double *x, double *z, double *seen) {
  *seen = 0;
  for (int j = 0; j < N; j++) {
    x[j] -= 0.05 * 2 * x[j] * Y(j) * Y(j);
    z[j] = 0.9 * z[j] + 0.1 * x[j];
    *seen += z[j] * z[j];
  }
}
static void host_logged(double *x, double *z, double *seen) {
  (void)z;
  double sum = 0, most = -1e30, least = 1e30, product = 1, square = 0;
  for (int j = 0; j < N; j++) {
    x[j] = (x[j] + Y(j)) * 0.5;
    sum += x[j], product *= x[j], square += x[j] * x[j];
    most = fmax(most, x[j]), least = fmin(least, x[j]);
  }
  *seen = sum + most + least + product + square;
}
static void host_accumulated(double *x, double *z, double *seen) {
  (void)z;
  double slope[N] = {0};
  *seen = 0;
  for (int k = 0; k < 4; k++)
    for (int j = 0; j < N; j++) {
      const double y = Y(j) * (1 + 0.1 * k);
      *seen += pow(x[j] * y, 2), slope[j] += 2 * x[j] * y * y;
    }
  for (int j = 0; j < N; j++) x[j] -= 0.01 * slope[j];
}

#define LOOP(name, wanted) \
  TEST(s10_loop_##name) { run(#name, name, wanted); }
LOOP(descent, loss_after(ITERATIONS - 1, fixed, 0))
LOOP(momentum, loss_after(ITERATIONS - 1, fixed, 0.9))
LOOP(scheduled, loss_after(ITERATIONS - 1, falling, 0))
LOOP(clipped, on_host(host_clipped))
LOOP(power, on_host(host_power))
LOOP(relaxed, on_host(host_relaxed))
LOOP(averaged, on_host(host_averaged))
LOOP(logged, on_host(host_logged))
LOOP(best_kept, loss_after(ITERATIONS - 1, fixed, 0))
LOOP(drawn, ITERATIONS)
LOOP(called_step, loss_after(ITERATIONS - 1, fixed, 0))
LOOP(checkpointed, loss_after(ITERATIONS - 1, fixed, 0))
LOOP(accumulated, on_host(host_accumulated))
