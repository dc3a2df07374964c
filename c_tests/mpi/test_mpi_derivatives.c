// Derivatives of collectives, against values computed by hand: gradients are those of the sum of the ys of all
// processes.
#include "processes.h"
#include "computation.h"

// Returns the gradient of the sum of y * c by x, where y is computed from x.
static lxla_tensor gradient_of(lxla_tensor y, lxla_tensor cotangent, lxla_tensor x) {
  lxla_tensor gradient;
  OK(lxla_gradients(&y, 1, &cotangent, &x, 1, &gradient));
  return gradient;
}

// Gradients of computed values on cpu need a computation: eager tensors have no history.
static lxla_tensor pulled(lxla_tensor (*f)(lxla_tensor), lxla_tensor x, lxla_tensor cotangent) {
  lxla_tensor p = like(x), y = f(p), both[65];
  lxla_computation c = traced(&p, 1, &y, 1), forward, backward;
  size_t n;
  OK(lxla_computation_vjp(c, NULL, &forward, &backward, &n));
  CHECK(n < 60);
  OK(lxla_computation_call(forward, &x, 1, both, n + 1));
  lxla_tensor value = both[0], gradient;
  memmove(both, both + 1, n * sizeof *both);
  both[n] = cotangent;
  OK(lxla_computation_call(backward, both, n + 1, &gradient, 1));
  OK(lxla_tensor_release_many(both, n));
  RELEASE(p, y, value);
  OK(lxla_computation_release(c));
  OK(lxla_computation_release(forward));
  OK(lxla_computation_release(backward));
  return gradient;
}
static lxla_tensor pushed(lxla_tensor (*f)(lxla_tensor), lxla_tensor x, lxla_tensor tangent) {
  lxla_tensor p = like(x), y = f(p), made[2];
  lxla_computation c = traced(&p, 1, &y, 1), jvp;
  OK(lxla_computation_jvp(c, NULL, 0, &jvp));
  OK(lxla_computation_call(jvp, (lxla_tensor[]){x, tangent}, 2, made, 2));
  RELEASE(p, y, made[0]);
  OK(lxla_computation_release(c));
  OK(lxla_computation_release(jvp));
  return made[1];
}

static lxla_tensor gathered_0(lxla_tensor x) { return gathered(x, 0); }
static lxla_tensor scattered_0(lxla_tensor x) { return scattered(x, 0); }
static lxla_tensor of_last(lxla_tensor x) { return broadcast(x, size - 1); }

static void linear_on(void) {
  float n = (float)size, ranks = n * (n - 1) / 2, r = (float)rank;
  lxla_tensor x = F32S(DIMS(2), 1, 2), c = F32S(DIMS(2), 1 + r, 10);
  // The cotangent of a sum is summed: 1 + rank in each process.
  HAS_F32(pulled(sum_of_all, x, c), DIMS(2), n + ranks, 10 * n);
  HAS_F32(pushed(sum_of_all, x, c), DIMS(2), n + ranks, 10 * n);
  // The cotangent of a broadcast is summed in the root.
  HAS_F32(pulled(of_last, x, c), DIMS(2), rank == size - 1 ? n + ranks : 0, rank == size - 1 ? 10 * n : 0);
  HAS_F32(pushed(of_last, x, c), DIMS(2), n, 10);
  // The cotangent of a message is sent back.
  HAS_F32(pulled(shifted, x, c), DIMS(2), 1 + (float)((rank + 1) % size), 10);
  HAS_F32(pushed(shifted, x, c), DIMS(2), 1 + (float)((rank + size - 1) % size), 10);
  // Gathered in every process, with cotangents 100 * rank + position.
  float positions[8], back[2], tangents[8];
  for (int i = 0; i < 2 * size; i++) positions[i] = 100 * r + (float)i, tangents[i] = i % 2 ? 10 : 1 + (float)(i / 2);
  for (int i = 0; i < 2; i++) back[i] = 100 * ranks + n * (2 * r + (float)i);
  lxla_tensor all = array(F32, DIMS(2 * size), positions, (size_t)size * 2 * sizeof(float));
  HAS_ARRAY(pulled(gathered_0, x, all), F32, DIMS(2), back);
  has(__FILE__, __LINE__, pushed(gathered_0, x, c), F32, DIMS(2 * size), tangents, (size_t)size * 2 * sizeof(float));
  // Scattered: the cotangent of a piece is that of the process that got it.
  lxla_tensor wide = array(F32, DIMS(2 * size), positions, (size_t)size * 2 * sizeof(float));
  has(__FILE__, __LINE__, pulled(scattered_0, wide, c), F32, DIMS(2 * size), tangents,
      (size_t)size * 2 * sizeof(float));
  HAS_ARRAY(pushed(scattered_0, wide, all), F32, DIMS(2), back);
  RELEASE(x, c, all, wide);
}
TEST(derivatives_of_linear_collectives) { in_all(linear_on); }

static lxla_tensor product_of_all(lxla_tensor x) { return allreduced(x, LXLA_REDUCE_PRODUCT); }
static lxla_tensor max_of_all(lxla_tensor x) { return allreduced(x, LXLA_REDUCE_MAX); }
static lxla_tensor min_of_all(lxla_tensor x) { return allreduced(x, LXLA_REDUCE_MIN); }

static void others_on(void) {
  float n = (float)size, r = (float)rank, others = 1;
  for (int i = 0; i < size; i++) others *= i == rank ? 1 : (float)(2 + i);
  // x[1] is 0 in process 0 only.
  float rest = rank == 0 ? 1 : 0;
  for (int i = 1; i < size; i++) rest *= 3;
  lxla_tensor x = F32S(DIMS(2), 2 + r, rank == 0 ? 0 : 3), c = F32S(DIMS(2), 1, 2), t = F32S(DIMS(2), 1, 1);
  HAS_F32(product_of_all(x), DIMS(2), others * (2 + r), 0);
  HAS_F32(pulled(product_of_all, x, c), DIMS(2), others * n, rest * 2 * n);
  float tangent = 0, product = others * (2 + r), third = 1;
  for (int i = 0; i < size; i++) tangent += product / (float)(2 + i), third *= i ? 3 : 1;
  lxla_tensor pushed_product = pushed(product_of_all, x, t);
  float got[2];
  OK(lxla_tensor_read(pushed_product, got, sizeof got));
  CHECK(fabsf(got[0] - tangent) <= 1e-5f * tangent && got[1] == third);
  // The largest is in the last process alone; in the other element, all are equal and share the cotangent.
  lxla_tensor y = F32S(DIMS(2), r, 7);
  HAS_F32(pulled(max_of_all, y, c), DIMS(2), rank == size - 1 ? n : 0, 2);
  HAS_F32(pulled(min_of_all, y, c), DIMS(2), rank == 0 ? n : 0, 2);
  lxla_tensor ranks = F32S(DIMS(2), r, r);
  HAS_F32(pushed(max_of_all, y, ranks), DIMS(2), n - 1, (n - 1) / 2);
  RELEASE(x, c, t, y, ranks, pushed_product);
}
TEST(derivatives_of_products_and_extrema) { in_all(others_on); }

// f(x) = sum(x)^3 of all processes, elementwise: third derivatives exist.
static lxla_tensor cubed(lxla_tensor x) {
  lxla_tensor s = sum_of_all(x), s2, s3;
  OK(lxla_binary(MUL, s, s, &s2));
  OK(lxla_binary(MUL, s2, s, &s3));
  RELEASE(s, s2);
  return s3;
}
static lxla_tensor ones_like(lxla_tensor x) {
  lxla_tensor zero, one;
  OK(lxla_binary_scalar(MUL, x, 0, &zero));
  OK(lxla_binary_scalar(ADD, zero, 1, &one));
  RELEASE(zero);
  return one;
}
static lxla_tensor slope(lxla_tensor x) {
  lxla_tensor c = ones_like(x), g = pulled(cubed, x, c);
  RELEASE(c);
  return g;
}
static lxla_tensor curvature(lxla_tensor x) {
  lxla_tensor c = ones_like(x), g = pulled(slope, x, c);
  RELEASE(c);
  return g;
}
static void orders_on(void) {
  float n = (float)size, s = n + n * (n - 1) / 2;
  lxla_tensor x = F32S(DIMS(1), 1 + rank), one = F32S(DIMS(1), 1);
  // Each reverse pass sums over n processes, each of which has the same value.
  HAS_F32(slope(x), DIMS(1), n * 3 * s * s);
  HAS_F32(curvature(x), DIMS(1), n * n * 6 * s);
  HAS_F32(pulled(curvature, x, one), DIMS(1), n * n * n * 6);
  // Forward over reverse, reverse over forward.
  HAS_F32(pushed(slope, x, one), DIMS(1), n * n * 6 * s);
  RELEASE(x, one);
}
TEST(derivatives_up_to_the_third_order) { in_all(orders_on); }

static void pending_on(void) {
  if (is_native()) return;
  float n = (float)size, ranks = n * (n - 1) / 2;
  // Two independent sums, of which the backward pass runs in one program.
  lxla_tensor x = F32S(DIMS(2), 1, rank), y, z, product;
  OK(lxla_binary_scalar(MUL, x, 2, &y));
  lxla_tensor a = sum_of_all(x), b = sum_of_all(y), c = F32S(DIMS(2), 1, 1);
  OK(lxla_binary(MUL, a, b, &product));
  z = gradient_of(product, c, x);
  // d (sum x)(2 sum x) = 4 sum x, summed over the processes.
  HAS_F32(z, DIMS(2), 4 * n * n, 4 * n * ranks);
  RELEASE(x, y, a, b, c, product);
}
TEST(gradients_of_what_is_pending) { in_all(pending_on); }

// s = allreduce(s * x_i), in a scan of three rows: reverse mode of a scan.
static lxla_tensor scanned(lxla_tensor x) {
  lxla_tensor start, p, q, product, total, last;
  OK(lxla_tensor_full(env, device, F32, NULL, 0, 1, &start));
  OK(lxla_tensor_placeholder(env, device, F32, NULL, 0, &p));
  OK(lxla_tensor_placeholder(env, device, F32, NULL, 0, &q));
  OK(lxla_binary(MUL, p, q, &product));
  total = sum_of_all(product);
  lxla_computation body = traced((lxla_tensor[]){p, q}, 2, &total, 1);
  OK(lxla_scan(body, &start, 1, &x, 1, 3, 0, &last, NULL, 0));
  OK(lxla_computation_release(body));
  RELEASE(start, p, q, product, total);
  return last;
}
static void scans_on(void) {
  // y = X0 * X1 * X2, where X_i is the sum of x_i of all processes; s is equal everywhere after the first row.
  float n = (float)size, sums[3] = {n + n * (n - 1) / 2, 2 * n, 3 * n};
  lxla_tensor x = F32S(DIMS(3), 1 + rank, 2, 3), one = at(F32, 1);
  HAS_F32(scanned(x), SCALAR, sums[0] * sums[1] * sums[2]);
  HAS_F32(pulled(scanned, x, one), DIMS(3), n * sums[1] * sums[2], n * sums[0] * sums[2], n * sums[0] * sums[1]);
  RELEASE(x, one);
}
TEST(reverse_mode_of_a_scan) { in_all(scans_on); }

static void batches_on(void) {
  lxla_tensor x = F32S(DIMS(3, 1), 1 + rank, 2, 3), p, c;
  OK(lxla_tensor_placeholder(env, device, F32, DIMS(1), &p));
  c = slope(p);
  lxla_computation f = traced(&p, 1, &c, 1), g;
  OK(lxla_computation_vmap(f, (int64_t[]){0}, 1, (int64_t[]){0}, 1, 3, &g));
  float n = (float)size, s = n + n * (n - 1) / 2;
  HAS_F32(called(g, &x, 1), DIMS(3, 1), n * 3 * s * s, n * 3 * 4 * n * n, n * 3 * 9 * n * n);
  OK(lxla_computation_release(f));
  OK(lxla_computation_release(g));
  RELEASE(x, p, c);
}
TEST(batches_of_derivatives) { in_all(batches_on); }

static void complex_on(void) {
  lxla_tensor x = ARRAY(C64, float, DIMS(1), 1, 1), c = ARRAY(C64, float, DIMS(1), 2, 1 + rank);
  float n = (float)size;
  HAS(pulled(sum_of_all, x, c), C64, float, DIMS(1), 2 * n, n + n * (n - 1) / 2);
  RELEASE(x, c);
}
TEST(derivatives_of_complex_sums) { in_all(complex_on); }

// Independent collectives of one type in a backward pass: they are made in one order in all processes.
TEST(independent_collectives_of_a_backward_pass) {
  enum { N = 8, ELEMENTS = 4096, RUNS = 10 };
  env = new_env(), device = XLA(0);
  OK(lxla_mpi_start(env, NULL));
  OK(lxla_mpi_rank(env, &rank, &size));
  lxla_tensor x[N], y[N], c[N], gradients[N];
  for (int run = 0; run < RUNS; run++) {
    for (int i = 0; i < N; i++) {
      lxla_tensor scaled;
      OK(lxla_tensor_full(env, device, F32, DIMS(ELEMENTS), 1, &x[i]));
      OK(lxla_tensor_full(env, device, F32, DIMS(ELEMENTS), i + 10 * rank, &c[i]));
      OK(lxla_binary_scalar(MUL, x[i], i + 1, &scaled));
      y[i] = sum_of_all(scaled);
      RELEASE(scaled);
    }
    OK(lxla_gradients(y, N, c, x, N, gradients));
    OK(lxla_mark_step(env, device, 1));
    float n = (float)size, got[ELEMENTS];
    for (int i = 0; i < N; i++) {
      OK(lxla_tensor_read(gradients[i], got, sizeof got));
      float wanted = (float)(i + 1) * (n * (float)i + 5 * n * (n - 1));
      for (int k = 0; k < ELEMENTS; k++) EQUAL(got[k], wanted);
      RELEASE(x[i], y[i], c[i], gradients[i]);
    }
  }
  OK(lxla_mpi_stop(env));
  OK(lxla_env_release(env));
}
