// Collectives between processes, natively and in programs of the plugin, against values computed from the ranks.
#include "processes.h"
#include "computation.h"

static void sums_on(void) {
  lxla_tensor x = F32S(DIMS(2, 2), 1 + rank, 10, 0.5f, -rank);
  float ranks = (float)(size * (size - 1) / 2), n = (float)size;
  HAS_F32(sum_of_all(x), DIMS(2, 2), n + ranks, 10 * n, 0.5f * n, -ranks);
  // A result that another collective needs.
  lxla_tensor y = sum_of_all(x), z = sum_of_all(y);
  HAS_F32(z, DIMS(2, 2), n * (n + ranks), 10 * n * n, 0.5f * n * n, -ranks * n);
  lxla_tensor scalar_x = at(F32, 3), empty;
  HAS_F32(sum_of_all(scalar_x), SCALAR, 3 * n);
  OK(lxla_tensor_full(env, device, F32, DIMS(0, 3), 1, &empty));
  EMPTY(sum_of_all(empty), F32, DIMS(0, 3));
  RELEASE(x, y, scalar_x, empty);
}
TEST(sums_of_all_processes) { in_all(sums_on); }

static void reductions_on(void) {
  lxla_tensor x = F32S(DIMS(3), 2 + rank, -rank, rank ? 0.0f : -0.0f);
  float product = 1, zero = size > 1 ? 0.0f : -0.0f;
  for (int i = 0; i < size; i++) product *= (float)(2 + i);
  HAS_F32(allreduced(x, LXLA_REDUCE_PRODUCT), DIMS(3), product, size % 2 ? 0.0f : -0.0f, -0.0f);
  HAS_F32(allreduced(x, LXLA_REDUCE_MAX), DIMS(3), 1 + size, 0, zero);
  HAS_F32(allreduced(x, LXLA_REDUCE_MIN), DIMS(3), 2, 1 - size, -0.0f);
  lxla_tensor nan = F32S(DIMS(2), rank == size - 1 ? NAN : 1, rank == 0 ? NAN : INFINITY);
  HAS_F32(allreduced(nan, LXLA_REDUCE_MAX), DIMS(2), NAN, NAN);
  HAS_F32(allreduced(nan, LXLA_REDUCE_MIN), DIMS(2), NAN, NAN);
  HAS_F32(sum_of_all(nan), DIMS(2), NAN, NAN);
  RELEASE(x, nan);
}
TEST(products_maxima_and_minima) { in_all(reductions_on); }

// Checks the sum, product, maximum and minimum of 1 + rank in a dtype.
#define CHECK_DTYPE(dtype, type)                                                         \
  do {                                                                                   \
    lxla_tensor x = at(dtype, 1 + rank);                                                 \
    type sum = 0, product = 1;                                                           \
    for (int i = 1; i <= size; i++) sum += (type)i, product *= (type)i;                  \
    HAS(allreduced(x, LXLA_REDUCE_SUM), dtype, type, SCALAR, sum);                       \
    HAS(allreduced(x, LXLA_REDUCE_PRODUCT), dtype, type, SCALAR, product);               \
    HAS(allreduced(x, LXLA_REDUCE_MAX), dtype, type, SCALAR, (type)size);                \
    HAS(allreduced(x, LXLA_REDUCE_MIN), dtype, type, SCALAR, 1);                         \
    lxla_tensor row;                                                                     \
    OK(lxla_reshape(x, DIMS(1), &row));                                                  \
    lxla_tensor all = gathered(row, 0);                                                  \
    type ranks[4];                                                                       \
    for (int i = 0; i < size; i++) ranks[i] = (type)(i + 1);                             \
    has(__FILE__, __LINE__, all, dtype, DIMS(size), ranks, (size_t)size * sizeof(type)); \
    RELEASE(x, row);                                                                     \
  } while (0)
static void dtypes_on(void) {
  CHECK_DTYPE(S8, int8_t);
  CHECK_DTYPE(S16, int16_t);
  CHECK_DTYPE(S32, int32_t);
  CHECK_DTYPE(S64, int64_t);
  CHECK_DTYPE(U8, uint8_t);
  CHECK_DTYPE(U16, uint16_t);
  CHECK_DTYPE(U32, uint32_t);
  CHECK_DTYPE(U64, uint64_t);
  CHECK_DTYPE(F64, double);
  // Integers wrap around; predicates are logical, and counted.
  lxla_tensor most = ARRAY(S8, int8_t, DIMS(1), 127), flag = ARRAY(PRED, uint8_t, DIMS(3), 1, 0, rank == 0);
  HAS(sum_of_all(most), S8, int8_t, DIMS(1), (int8_t)(127 * size));
  HAS(allreduced(flag, LXLA_REDUCE_MAX), PRED, uint8_t, DIMS(3), 1, 0, 1);
  HAS(allreduced(flag, LXLA_REDUCE_MIN), PRED, uint8_t, DIMS(3), 1, 0, size == 1);
  HAS(sum_of_all(flag), S64, int64_t, DIMS(3), size, 0, 1);
  RELEASE(most, flag);
}
TEST(every_integer_dtype_and_f64) { in_all(dtypes_on); }

static void complex_on(void) {
  lxla_tensor x = ARRAY(C64, float, DIMS(1), 1, rank), y = ARRAY(C128, double, DIMS(1), 2, -1), refused;
  float ranks = (float)(size * (size - 1) / 2);
  HAS(sum_of_all(x), C64, float, DIMS(1), size, ranks);
  double re = 1, im = 0;
  for (int i = 0; i < size; i++) {
    double was = re;
    re = 2 * re + im, im = 2 * im - was;
  }
  HAS(allreduced(y, LXLA_REDUCE_PRODUCT), C128, double, DIMS(1), re, im);
  REFUSED(lxla_mpi_allreduce(x, LXLA_REDUCE_MAX, &refused), BAD, "c64 has no order");
  RELEASE(x, y);
}
TEST(complex_numbers) { in_all(complex_on); }

// Sums of 16 bits are rounded once: 2048 + 1 + 1 (+ 1 + 1) is 2050 (2052), although 2048 + 1 is 2048 in f16.
static void small_floats_on(void) {
  lxla_tensor x = at(F32, rank == 0 ? 2048 : 1), half, brain, eighth;
  float sum = 2048 + (float)(size - 1);
  OK(lxla_convert(x, F16, &half));
  OK(lxla_convert(x, BF16, &brain));
  lxla_tensor a = sum_of_all(half), b = sum_of_all(brain), wide[2], one = at(F32, 1), wanted_half, wanted_wide;
  OK(lxla_convert(a, F32, &wide[0]));
  OK(lxla_convert(b, F32, &wide[1]));
  lxla_tensor exact = at(F32, sum);
  OK(lxla_convert(exact, F16, &wanted_half));
  OK(lxla_convert(wanted_half, F32, &wanted_wide));
  float half_sum, wanted;
  OK(lxla_tensor_read(wanted_wide, &wanted, 4));
  OK(lxla_tensor_read(wide[0], &half_sum, 4));
  EQUAL(half_sum, wanted);
  HAS_F32(wide[1], SCALAR, 2048);
  OK(lxla_convert(one, LXLA_DTYPE_F8E4M3FN, &eighth));
  lxla_tensor c = sum_of_all(eighth), wide_c;
  OK(lxla_convert(c, F32, &wide_c));
  HAS_F32(wide_c, SCALAR, size);
  RELEASE(x, half, brain, eighth, a, b, wide[0], one, wanted_half, wanted_wide, exact, c);
}
TEST(small_floats_are_summed_in_f32_and_rounded_once) { in_all(small_floats_on); }

static void gathers_on(void) {
  lxla_tensor x = F32S(DIMS(2, 2), 10 * rank, 10 * rank + 1, 10 * rank + 2, 10 * rank + 3);
  float rows[16], columns[16];
  for (int p = 0; p < size; p++)
    for (int i = 0; i < 2; i++)
      for (int k = 0; k < 2; k++) {
        float value = (float)(10 * p + 2 * i + k);
        rows[(2 * p + i) * 2 + k] = value;
        columns[i * 2 * size + 2 * p + k] = value;
      }
  size_t bytes = (size_t)size * 4 * sizeof(float);
  has(__FILE__, __LINE__, gathered(x, 0), F32, DIMS(2 * size, 2), rows, bytes);
  has(__FILE__, __LINE__, gathered(x, 1), F32, DIMS(2, 2 * size), columns, bytes);
  has(__FILE__, __LINE__, gathered(x, -1), F32, DIMS(2, 2 * size), columns, bytes);
  // Each process gets its piece of the sum.
  lxla_tensor all = gathered(x, 0), across = gathered(x, 1);
  float n = (float)size, r = (float)(10 * rank);
  HAS_F32(scattered(all, 0), DIMS(2, 2), n * r, n * (r + 1), n * (r + 2), n * (r + 3));
  HAS_F32(scattered(across, -1), DIMS(2, 2), n * r, n * (r + 1), n * (r + 2), n * (r + 3));
  RELEASE(x, all, across);
}
TEST(gathers_and_scatters_along_any_axis) { in_all(gathers_on); }

static void transfers_on(void) {
  lxla_tensor x = F32S(DIMS(2), rank, 5 + rank), y;
  for (int root = 0; root < size; root++) HAS_F32(broadcast(x, root), DIMS(2), root, 5 + root);
  int before = (rank + size - 1) % size;
  HAS_F32(shifted(x), DIMS(2), before, 5 + before);
  // A line instead of a circle: the first process receives nothing, the last sends nothing.
  OK(lxla_mpi_send_receive(x, rank + 1 < size ? rank + 1 : -1, rank - 1, &y));
  HAS_F32(y, DIMS(2), rank ? rank - 1 : 0, rank ? 4 + rank : 0);
  lxla_tensor flag = ARRAY(PRED, uint8_t, DIMS(1), rank == 0), small = ARRAY(BF16, uint16_t, DIMS(1), 0x3f80 + rank);
  HAS(broadcast(flag, 0), PRED, uint8_t, DIMS(1), 1);
  HAS(broadcast(small, size - 1), BF16, uint16_t, DIMS(1), 0x3f80 + size - 1);
  RELEASE(x, flag, small);
}
TEST(broadcasts_and_messages) { in_all(transfers_on); }

// More than a chunk, and not a multiple of it.
static void large_on(void) {
  const int64_t n = (5 << 20) / 4 + 3;
  lxla_tensor steps, x, y, all, back;
  OK(lxla_iota(env, device, F32, DIMS(n), 0, &steps));
  OK(lxla_binary_scalar(LXLA_BINARY_ADD, steps, rank, &x));
  y = sum_of_all(x), all = gathered(x, 0), back = scattered(all, 0);
  float *got = malloc((size_t)(n * size) * sizeof *got);
  float ranks = (float)(size * (size - 1) / 2);
  CHECK(got != NULL);
  OK(lxla_tensor_read(y, got, (size_t)n * sizeof *got));
  for (int64_t i = 0; i < n; i++) EQUAL(got[i], (float)i * (float)size + ranks);
  OK(lxla_tensor_read(all, got, (size_t)(n * size) * sizeof *got));
  for (int64_t i = 0; i < n * size; i++) EQUAL(got[i], (float)(i % n + i / n));
  OK(lxla_tensor_read(back, got, (size_t)n * sizeof *got));
  for (int64_t i = 0; i < n; i++) EQUAL(got[i], (float)((i + rank) * size));
  free(got);
  RELEASE(steps, x, y, all, back);
}
TEST(arrays_of_several_chunks) { in_all(large_on); }

// Independent collectives of equal type in one program: each result is that of its own call.
static void order_on(void) {
  enum { N = 12 };
  lxla_tensor x[N], y[N];
  for (int i = 0; i < N; i++)
    x[i] = F32S(DIMS(3), i, 2 * i, rank), y[i] = i % 3 == 1 ? broadcast(x[i], 0) : sum_of_all(x[i]);
  OK(lxla_mark_step(env, device, 1));
  for (int i = N - 1; i >= 0; i--) {
    float n = i % 3 == 1 ? 1 : (float)size, last = i % 3 == 1 ? 0 : (float)(size * (size - 1) / 2);
    HAS_F32(y[i], DIMS(3), n * (float)i, n * 2 * (float)i, last);
    RELEASE(x[i]);
  }
}
TEST(collectives_keep_the_order_of_recording) { in_all(order_on); }

// s = allreduce(s + x_i) / size, in a scan over rows and in a loop.
static void loops_on(void) {
  lxla_tensor s = F32S(SCALAR, 0), x = F32S(DIMS(3), rank, 1, 2 * rank), p, q, sum, total, next, last[2];
  OK(lxla_tensor_placeholder(env, device, F32, NULL, 0, &p));
  OK(lxla_tensor_placeholder(env, device, F32, NULL, 0, &q));
  OK(lxla_binary(LXLA_BINARY_ADD, p, q, &sum));
  total = sum_of_all(sum);
  OK(lxla_binary_scalar(LXLA_BINARY_DIVIDE, total, size, &next));
  lxla_computation body = traced((lxla_tensor[]){p, q}, 2, (lxla_tensor[]){next, total}, 2);
  OK(lxla_scan(body, &s, 1, &x, 1, 3, 0, last, &last[1], 1));
  float mean = (float)(size - 1) / 2, n = (float)size, totals[3] = {mean * n, (mean + 1) * n, (3 * mean + 1) * n};
  HAS_F32(last[0], SCALAR, 3 * mean + 1);
  HAS_ARRAY(last[1], F32, DIMS(3), totals);
  OK(lxla_computation_release(body));
  RELEASE(s, x, p, q, sum, next);
}
TEST(collectives_in_scans) { in_all(loops_on); }

static void batches_on(void) {
  lxla_tensor p, x = F32S(DIMS(3, 2), rank, 1, 2, 3, 4, 5 * rank), parts[4], results[4];
  OK(lxla_tensor_placeholder(env, device, F32, DIMS(2), &p));
  parts[0] = sum_of_all(p), parts[1] = gathered(p, 0), parts[2] = scattered(parts[1], 0), parts[3] = shifted(p);
  lxla_computation f = traced(&p, 1, parts, 4), g;
  OK(lxla_computation_vmap(f, (int64_t[]){0}, 1, (int64_t[]){0, 0, 0, 0}, 4, 3, &g));
  OK(lxla_computation_call(g, &x, 1, results, 4));
  float n = (float)size, ranks = n * (n - 1) / 2, before = (float)((rank + size - 1) % size), all[24];
  for (int b = 0; b < 3; b++)
    for (int r = 0; r < size; r++) {
      all[(b * size + r) * 2] = b == 0 ? (float)r : b == 1 ? 2 : 4;
      all[(b * size + r) * 2 + 1] = b == 0 ? 1 : b == 1 ? 3 : 5 * (float)r;
    }
  HAS_F32(results[0], DIMS(3, 2), ranks, n, 2 * n, 3 * n, 4 * n, 5 * ranks);
  has(__FILE__, __LINE__, results[1], F32, DIMS(3, 2 * size), all, (size_t)size * 6 * sizeof(float));
  HAS_F32(results[2], DIMS(3, 2), n * (float)rank, n, 2 * n, 3 * n, 4 * n, 5 * n * (float)rank);
  HAS_F32(results[3], DIMS(3, 2), before, 1, 2, 3, 4, 5 * before);
  OK(lxla_computation_release(f));
  OK(lxla_computation_release(g));
  RELEASE(p, x, parts[0], parts[1], parts[2], parts[3]);
}
TEST(collectives_over_batches) { in_all(batches_on); }

// Steps of one form are compiled once.
static void cached_on(void) {
  lxla_tensor w = F32S(DIMS(2), 1, 1);
  uint64_t compiled = 0;
  for (int i = 0; i < 4; i++) {
    lxla_tensor scaled, sum;
    OK(lxla_binary_scalar(LXLA_BINARY_MULTIPLY, w, 0.5, &scaled));
    sum = sum_of_all(scaled);
    OK(lxla_tensor_assign(w, sum));
    RELEASE(scaled, sum);
    OK(lxla_mark_step(env, device, 1));
    if (i == 1) compiled = counter(env, "UncachedCompile");
  }
  EQUAL(counter(env, "UncachedCompile"), compiled);
  float n = (float)size / 2;
  HAS_F32(w, DIMS(2), n * n * n * n, n * n * n * n);
}
TEST(steps_with_collectives_are_compiled_once) { in_all(cached_on); }
