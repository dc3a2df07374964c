// Loops, branches and scans: C1 to C5 and C7 of docs/behaviours.md.
#include "computation.h"

#define F32 LXLA_DTYPE_F32
#define S32 LXLA_DTYPE_S32

static lxla_tensor of_type(lxla_env env, int32_t dtype, const int64_t *dims, size_t rank, double value) {
  lxla_tensor t;
  OK(lxla_tensor_full(env, XLA(0), dtype, dims, rank, value, &t));
  return t;
}

// Traces the body of a cumulative sum: (carry, x) to (carry + x, carry + x).
static lxla_computation cumsum_body(lxla_env env) {
  lxla_tensor c = placeholder(env, F32, NULL, 0), x = placeholder(env, F32, NULL, 0), sum = binary(ADD, c, x);
  lxla_computation body = traced(TENSORS(c, x), TENSORS(sum, sum));
  RELEASE(c, x, sum);
  return body;
}

static lxla_tensor numbers(lxla_env env, int n) {
  float *values = malloc((size_t)n * sizeof(float));
  for (int i = 0; i < n; i++) values[i] = (float)(i + 1);
  lxla_tensor t = from_f32(env, DIMS(n), values);
  free(values);
  return t;
}

static void scanned(lxla_computation body, lxla_tensor init, lxla_tensor xs, int64_t length, int reverse,
                    lxla_tensor *carry, lxla_tensor *ys) {
  OK(lxla_scan(body, &init, 1, &xs, 1, length, reverse, carry, ys, 1));
}

TEST(c1_cumsum_forwards_backwards_and_of_nothing) {
  lxla_env env = new_env();
  lxla_computation body = cumsum_body(env);
  lxla_tensor zero = of_type(env, F32, NULL, 0, 0), xs = numbers(env, 5), carry, ys;
  float got[5];
  scanned(body, zero, xs, 5, 0, &carry, &ys);
  EQUAL(value(carry), 15);
  read_f32(ys, got, 5);
  for (int i = 0; i < 5; i++) EQUAL(got[i], (i + 1) * (i + 2) / 2);
  RELEASE(carry, ys);
  scanned(body, zero, xs, 5, 1, &carry, &ys);
  EQUAL(value(carry), 15);
  read_f32(ys, got, 5);
  for (int i = 0; i < 5; i++) EQUAL(got[i], 15 - i * (i + 1) / 2);
  RELEASE(carry, ys);
  lxla_tensor nothing, ten = of_type(env, F32, NULL, 0, 10);
  OK(lxla_tensor_from_host(env, XLA(0), F32, DIMS(0), NULL, 0, &nothing));
  scanned(body, ten, nothing, 0, 0, &carry, &ys);
  EQUAL(value(carry), 10);
  int64_t dim;
  OK(lxla_tensor_dims(ys, &dim, 1));
  EQUAL(dim, 0);
  OK(lxla_tensor_read(ys, NULL, 0));
  OK(lxla_computation_release(body));
  RELEASE(zero, ten, xs, nothing, carry, ys);
  OK(lxla_env_release(env));
}

// Scans with carries (f16 vector, s32 count), slices (bf16, f32 matrix) and stacks (f32 matrix, f16 vector) equal the
// plain loop.
static void mixed(lxla_tensor h, lxla_tensor n, lxla_tensor b, lxla_tensor m, lxla_tensor *out) {
  lxla_tensor wide, wide_b, sum, product, narrow;
  OK(lxla_convert(h, F32, &wide));
  OK(lxla_convert(b, F32, &wide_b));
  sum = binary(ADD, wide, wide_b);
  product = binary(MUL, sum, m);
  OK(lxla_convert(sum, LXLA_DTYPE_F16, &narrow));
  out[0] = narrow;
  out[1] = scalar(ADD, n, 3);
  out[2] = product;
  out[3] = snapshot(h);
  RELEASE(wide, wide_b, sum);
}

TEST(c1_mixed_dtypes_and_tuples_equal_the_plain_loop) {
  lxla_env env = new_env();
  enum { LENGTH = 4, LEFT = 2, RIGHT = 3 };
  lxla_tensor p[] = {placeholder(env, LXLA_DTYPE_F16, DIMS(RIGHT)), placeholder(env, S32, NULL, 0),
                     placeholder(env, LXLA_DTYPE_BF16, NULL, 0), placeholder(env, F32, DIMS(LEFT, RIGHT))};
  lxla_tensor r[4];
  mixed(p[0], p[1], p[2], p[3], r);
  lxla_computation body = traced(p, 4, r, 4);
  OK(lxla_tensor_release_many(p, 4));
  OK(lxla_tensor_release_many(r, 4));

  lxla_tensor h = of_type(env, LXLA_DTYPE_F16, DIMS(RIGHT), 0.25), n = of_type(env, S32, NULL, 0, 7), count, b, m;
  OK(lxla_iota(env, XLA(0), F32, DIMS(LENGTH), 0, &count));
  OK(lxla_convert(count, LXLA_DTYPE_BF16, &b));
  OK(lxla_iota(env, XLA(0), F32, DIMS(LENGTH, LEFT, RIGHT), 2, &m));
  for (int reverse = 0; reverse < 2; reverse++) {
    lxla_tensor carry[2], ys[2];
    OK(lxla_scan(body, (lxla_tensor[]){h, n}, 2, (lxla_tensor[]){b, m}, 2, LENGTH, reverse, carry, ys, 2));
    float products[LENGTH][LEFT * RIGHT];
    uint16_t stacked[LENGTH][RIGHT], vector[RIGHT];
    int32_t counted;
    OK(lxla_tensor_read(ys[0], products, sizeof products));
    OK(lxla_tensor_read(ys[1], stacked, sizeof stacked));

    lxla_tensor loop[4] = {snapshot(h), snapshot(n), none, none};
    for (int j = 0; j < LENGTH; j++) {
      int i = reverse ? LENGTH - 1 - j : j;
      lxla_tensor bi, bs, mi, ms, next[4];
      OK(lxla_slice(b, (int64_t[]){i}, (int64_t[]){i + 1}, NULL, 1, &bi));
      OK(lxla_reshape(bi, NULL, 0, &bs));
      OK(lxla_slice(m, (int64_t[]){i, 0, 0}, (int64_t[]){i + 1, LEFT, RIGHT}, NULL, 3, &mi));
      OK(lxla_reshape(mi, DIMS(LEFT, RIGHT), &ms));
      mixed(loop[0], loop[1], bs, ms, next);
      float want[LEFT * RIGHT];
      OK(lxla_tensor_read(next[2], want, sizeof want));
      CHECK(memcmp(want, products[i], sizeof want) == 0);
      OK(lxla_tensor_read(next[3], vector, sizeof vector));
      CHECK(memcmp(vector, stacked[i], sizeof vector) == 0);
      RELEASE(bi, bs, mi, ms, next[2], next[3], loop[0], loop[1]);
      loop[0] = next[0], loop[1] = next[1];
    }
    uint16_t want[RIGHT];
    OK(lxla_tensor_read(loop[0], want, sizeof want));
    OK(lxla_tensor_read(carry[0], vector, sizeof vector));
    CHECK(memcmp(vector, want, sizeof want) == 0);
    OK(lxla_tensor_read(carry[1], &counted, sizeof counted));
    EQUAL(counted, 7 + 3 * LENGTH);
    RELEASE(loop[0], loop[1], carry[0], carry[1], ys[0], ys[1]);
  }
  OK(lxla_computation_release(body));
  RELEASE(h, n, count, b, m);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

TEST(c1_no_stacks_and_no_slices) {
  lxla_env env = new_env();
  lxla_tensor p = placeholder(env, F32, NULL, 0), doubled = scalar(MUL, p, 2), init = of_type(env, F32, NULL, 0, 3),
              carry;
  lxla_computation body = traced(&p, 1, &doubled, 1);
  OK(lxla_scan(body, &init, 1, NULL, 0, 10, 0, &carry, NULL, 0));
  EQUAL(value(carry), 3 * 1024);
  OK(lxla_computation_release(body));
  RELEASE(p, doubled, init, carry);
  OK(lxla_env_release(env));
}

TEST(c2_bodies_that_change_nothing_make_constants_and_capture) {
  lxla_env env = new_env();
  lxla_tensor ready = from_f32(env, NULL, 0, (float[]){10}), pending = scalar(MUL, ready, 3);
  lxla_tensor c = placeholder(env, F32, NULL, 0), x = placeholder(env, F32, NULL, 0),
              seven = of_type(env, F32, NULL, 0, 7);
  lxla_tensor a = binary(MUL, x, ready), b = binary(ADD, a, pending), y = binary(ADD, b, seven);
  lxla_computation body = traced(TENSORS(c, x), TENSORS(c, x, y, seven, ready));
  RELEASE(a, b, y, c, x, seven, pending);
  lxla_tensor init = of_type(env, F32, NULL, 0, 5), xs = numbers(env, 3), carry, ys[4];
  OK(lxla_scan(body, &init, 1, &xs, 1, 3, 0, &carry, ys, 4));
  EQUAL(step(env), 0);
  EQUAL(value(carry), 5);
  for (int k = 0; k < 4; k++) {
    float got[3];
    read_f32(ys[k], got, 3);
    for (int i = 0; i < 3; i++) EQUAL(got[i], ((double[]){i + 1, (i + 1) * 10 + 30 + 7, 7, 10})[k]);
  }
  OK(lxla_computation_release(body));
  RELEASE(init, xs, carry, ready);
  OK(lxla_tensor_release_many(ys, 4));
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

TEST(c3_no_transfers_and_one_compile) {
  lxla_env env = new_env();
  lxla_tensor zero = from_f32(env, NULL, 0, (float[]){0}), xs = numbers(env, 8);
  uint64_t out = counter(env, "OutboundBytes"), in = counter(env, "InboundBytes");
  for (int i = 0; i < 3; i++) {
    lxla_computation body = cumsum_body(env);
    lxla_tensor carry, ys;
    scanned(body, zero, xs, 8, 0, &carry, &ys);
    OK(lxla_computation_release(body));
    step(env);
    RELEASE(carry, ys);
  }
  EQUAL(counter(env, "OutboundBytes"), out);
  EQUAL(counter(env, "InboundBytes"), in);
  EQUAL(counter(env, "UncachedCompile"), 1);
  RELEASE(zero, xs);
  OK(lxla_env_release(env));
}

TEST(c4_what_does_not_fit_is_refused_at_the_call) {
  lxla_env env = new_env();
  lxla_computation body = cumsum_body(env);
  lxla_tensor zero = of_type(env, F32, NULL, 0, 0), xs = numbers(env, 5), carry[2], ys[2], vector = numbers(env, 2);
  REFUSED(lxla_scan(body, &zero, 1, &xs, 1, 4, 0, carry, ys, 1), LXLA_INVALID_ARGUMENT,
          "xs[0] is f32[5]; want 4 slices");
  REFUSED(lxla_scan(body, &zero, 1, &zero, 1, 5, 0, carry, ys, 1), LXLA_INVALID_ARGUMENT,
          "xs[0] is f32[]; want 5 slices");
  REFUSED(lxla_scan(body, &vector, 1, &xs, 1, 5, 0, carry, ys, 1), LXLA_INVALID_ARGUMENT,
          "init[0] is f32[2]; body's parameter 0 is f32[]");
  REFUSED(lxla_scan(body, &zero, 1, &xs, 1, 5, 0, carry, ys, 2), LXLA_INVALID_ARGUMENT,
          "body: it gives 2 results; want 1 carried (n_carry) and 2 stacked");
  REFUSED(lxla_scan(body, &zero, 1, NULL, 0, 5, 0, carry, ys, 1), LXLA_INVALID_ARGUMENT,
          "init, xs: 1 and 0 given; body takes 2");
  REFUSED(lxla_scan(body, &zero, 1, &xs, 1, 5, 2, carry, ys, 1), LXLA_INVALID_ARGUMENT, "reverse: 2");
  lxla_tensor matrix = of_type(env, F32, DIMS(5, 3), 1);
  REFUSED(lxla_scan(body, &zero, 1, &matrix, 1, 5, 0, carry, ys, 1), LXLA_INVALID_ARGUMENT,
          "xs[0] is f32[5,3]; body's parameter 1 is f32[], and 5 of them are f32[5]");
  // Refuses a body that changes the type of its carry.
  lxla_tensor p = placeholder(env, F32, NULL, 0), wider;
  OK(lxla_broadcast_to(p, DIMS(2), &wider));
  lxla_computation grows = traced(&p, 1, &wider, 1);
  REFUSED(lxla_scan(grows, &zero, 1, NULL, 0, 3, 0, carry, NULL, 0), LXLA_INVALID_ARGUMENT,
          "body: its first results are f32[2]; what it carries are f32[]");
  REFUSED(lxla_scan(grows, &zero, 1, NULL, 0, -1, 0, carry, NULL, 0), LXLA_INVALID_ARGUMENT, "");
  lxla_tensor more;
  OK(lxla_compare(LXLA_COMPARE_LT, p, zero, &more));
  lxla_computation cond = traced(&p, 1, &more, 1);
  REFUSED(lxla_while(cond, grows, &zero, 1, carry), LXLA_INVALID_ARGUMENT, "body: its results are f32[2]");
  REFUSED(lxla_while(grows, grows, &zero, 1, carry), LXLA_INVALID_ARGUMENT, "cond: it gives f32[2]; want pred[]");
  REFUSED(lxla_while(cond, body, &zero, 1, carry), LXLA_INVALID_ARGUMENT, "init: 1 given; body takes 2");
  REFUSED(lxla_cond(zero, grows, grows, &zero, 1, carry, 1), LXLA_INVALID_ARGUMENT, "pred: it is f32[]; want pred[]");
  lxla_tensor yes = of_type(env, LXLA_DTYPE_PRED, NULL, 0, 1);
  REFUSED(lxla_cond(yes, cond, grows, &zero, 1, carry, 1), LXLA_INVALID_ARGUMENT,
          "on_false: its results are f32[2]; those of on_true are pred[]");
  // The refused calls changed nothing: the same scan still works.
  scanned(body, zero, xs, 5, 0, &carry[0], &ys[0]);
  EQUAL(value(carry[0]), 15);
  OK(lxla_computation_release(body));
  OK(lxla_computation_release(grows));
  OK(lxla_computation_release(cond));
  RELEASE(zero, xs, vector, matrix, p, wider, more, yes, carry[0], ys[0]);
  OK(lxla_env_release(env));
}

// Returns the length of the text of `n` layers x -> tanh(x W) in a scan; it must not depend on `n`.
static size_t layers_text(lxla_env env, int64_t n) {
  lxla_tensor x = placeholder(env, F32, DIMS(4)), w = placeholder(env, F32, DIMS(4, 4)), product, result;
  OK(lxla_matmul(x, w, &product));
  OK(lxla_unary(LXLA_UNARY_TANH, product, &result));
  lxla_computation body = traced(TENSORS(x, w), &result, 1);
  lxla_tensor ws = placeholder(env, F32, DIMS(n, 4, 4)), carry;
  OK(lxla_scan(body, &x, 1, &ws, 1, n, 0, &carry, NULL, 0));
  char *text = text_of(carry);
  size_t length = strlen(text);
  lxla_string_free(text);
  OK(lxla_computation_release(body));
  RELEASE(x, w, product, result, ws, carry);
  return length;
}

TEST(c5_text_does_not_grow_with_the_length) {
  lxla_env env = new_env();
  CHECK(layers_text(env, 1000) - layers_text(env, 1) < 100);
  EQUAL(counter(env, "OutboundBytes"), 0);
  OK(lxla_env_release(env));
}

// Counts the Collatz steps until n is 1: a branch in a loop, with a captured limit.
TEST(while_and_cond_compute) {
  lxla_env env = new_env();
  lxla_tensor n = placeholder(env, S32, NULL, 0), k = placeholder(env, S32, NULL, 0),
              limit = of_type(env, S32, NULL, 0, 1);
  step(env);  // makes the limit data, which is captured
  lxla_tensor more, half, triple, up, odd_bit, one_bit = of_type(env, S32, NULL, 0, 1), is_odd, next, steps;
  OK(lxla_compare(LXLA_COMPARE_NE, n, limit, &more));
  lxla_computation cond = traced(TENSORS(n, k), &more, 1);
  half = scalar(LXLA_BINARY_DIVIDE, n, 2);
  triple = scalar(MUL, n, 3);
  up = scalar(ADD, triple, 1);
  lxla_computation halve = traced(&n, 1, &half, 1), climb = traced(&n, 1, &up, 1);
  OK(lxla_binary(LXLA_BINARY_AND, n, one_bit, &odd_bit));
  OK(lxla_convert(odd_bit, LXLA_DTYPE_PRED, &is_odd));
  OK(lxla_cond(is_odd, climb, halve, &n, 1, &next, 1));
  steps = scalar(ADD, k, 1);
  lxla_computation body = traced(TENSORS(n, k), TENSORS(next, steps));
  int32_t start[] = {1, 6, 27};
  for (int i = 0; i < 3; i++) {
    lxla_tensor init[] = {of_type(env, S32, NULL, 0, start[i]), of_type(env, S32, NULL, 0, 0)}, r[2];
    OK(lxla_while(cond, body, init, 2, r));
    int32_t got[2];
    OK(lxla_tensor_read(r[0], &got[0], sizeof *got));
    OK(lxla_tensor_read(r[1], &got[1], sizeof *got));
    EQUAL(got[0], 1);
    EQUAL(got[1], ((int[]){0, 8, 111})[i]);
    RELEASE(init[0], init[1], r[0], r[1]);
  }
  OK(lxla_computation_release(cond));
  OK(lxla_computation_release(body));
  OK(lxla_computation_release(halve));
  OK(lxla_computation_release(climb));
  RELEASE(n, k, limit, more, half, triple, up, odd_bit, one_bit, is_odd, next, steps);
  OK(lxla_env_release(env));
}

// Scans within a scan: the sum of the sums of 1..i.
// XLA makes constants of values without elements; a loop that has no others must not end the process.
TEST(loops_over_values_without_elements_end) {
  lxla_env env = new_env();
  lxla_tensor x = placeholder(env, F32, DIMS(0, 2)), y = placeholder(env, S32, DIMS(3, 0)), zero, positive, any, one;
  OK(lxla_tensor_full(env, XLA(0), F32, NULL, 0, 0, &zero));
  OK(lxla_tensor_full(env, XLA(0), S32, NULL, 0, 1, &one));
  OK(lxla_compare(LXLA_COMPARE_GT, x, zero, &positive));
  OK(lxla_reduce(LXLA_REDUCE_ANY, positive, NULL, 0, 0, &any));
  lxla_tensor doubled = binary(ADD, x, x), more = binary(ADD, y, one), given[2], out[3];
  lxla_computation cond = traced(TENSORS(x, y), TENSORS(any)), body = traced(TENSORS(x, y), TENSORS(doubled, more));
  OK(lxla_tensor_from_host(env, XLA(0), F32, DIMS(0, 2), NULL, 0, &given[0]));
  OK(lxla_tensor_from_host(env, XLA(0), S32, DIMS(3, 0), NULL, 0, &given[1]));
  OK(lxla_while(cond, body, given, 2, out));
  for (int i = 0; i < 2; i++) OK(lxla_tensor_read(out[i], NULL, 0));
  RELEASE(out[0], out[1]);
  OK(lxla_while_bounded(cond, body, given, 2, 3, out, &out[2]));
  for (int i = 0; i < 2; i++) OK(lxla_tensor_read(out[i], NULL, 0));
  uint8_t ended = 0;
  OK(lxla_tensor_read(out[2], &ended, 1));
  EQUAL(ended, 1);
  OK(lxla_computation_release(cond));
  OK(lxla_computation_release(body));
  RELEASE(x, y, zero, positive, any, one, doubled, more, given[0], given[1], out[0], out[1], out[2]);
  OK(lxla_env_release(env));
}

TEST(scans_nest) {
  lxla_env env = new_env();
  lxla_computation inner = cumsum_body(env);
  lxla_tensor c = placeholder(env, F32, NULL, 0), row = placeholder(env, F32, DIMS(3)), carry, ys;
  scanned(inner, c, row, 3, 0, &carry, &ys);
  lxla_computation outer = traced(TENSORS(c, row), TENSORS(carry, ys));
  RELEASE(c, row, carry, ys);
  lxla_tensor zero = of_type(env, F32, NULL, 0, 0), six = numbers(env, 6), rows;
  OK(lxla_reshape(six, DIMS(2, 3), &rows));
  scanned(outer, zero, rows, 2, 0, &carry, &ys);
  float got[6];
  read_f32(ys, got, 6);
  for (int i = 0; i < 6; i++) EQUAL(got[i], (i + 1) * (i + 2) / 2);
  EQUAL(value(carry), 21);
  OK(lxla_computation_release(inner));
  OK(lxla_computation_release(outer));
  RELEASE(zero, six, rows, carry, ys);
  OK(lxla_env_release(env));
}

static lxla_memory_stats memory_of_step(lxla_env env) {
  lxla_memory_stats stats;
  stats.struct_size = sizeof stats;
  OK(lxla_compiled_memory(env, XLA(0), NULL, 0, &stats));
  return stats;
}

enum { MANY = 64 << 20 };

// Traces the body (buffer, i) -> (buffer with i written at i, i + 1), and the condition i < 100.
static void slice_updates(lxla_env env, lxla_computation *cond, lxla_computation *body) {
  lxla_tensor buffer = placeholder(env, F32, DIMS(MANY)), i = placeholder(env, S32, NULL, 0), last, more, as_float,
              part, written, next;
  OK(lxla_tensor_full(env, XLA(0), S32, NULL, 0, 100, &last));
  OK(lxla_compare(LXLA_COMPARE_LT, i, last, &more));
  OK(lxla_convert(i, F32, &as_float));
  OK(lxla_reshape(as_float, DIMS(1), &part));
  OK(lxla_dynamic_update_slice(buffer, part, &i, 1, &written));
  next = scalar(ADD, i, 1);
  *cond = traced(TENSORS(buffer, i), &more, 1);
  *body = traced(TENSORS(buffer, i), TENSORS(written, next));
  RELEASE(buffer, i, last, more, as_float, part, written, next);
}

static void check_written(lxla_tensor buffer) {
  lxla_tensor head;
  float got[102];
  OK(lxla_slice(buffer, (int64_t[]){0}, (int64_t[]){102}, NULL, 1, &head));
  read_f32(head, got, 102);
  for (int i = 0; i < 102; i++) EQUAL(got[i], i < 100 ? i : 5);
  RELEASE(head);
}

TEST(c7_a_loop_updates_a_large_buffer_in_place) {
  lxla_env env = new_env();
  lxla_computation cond, body;
  slice_updates(env, &cond, &body);
  for (int overwritten = 0; overwritten < 2; overwritten++) {
    lxla_tensor start, zero, r[2];
    OK(lxla_tensor_full(env, XLA(0), F32, DIMS(MANY), 5, &start));
    OK(lxla_tensor_full(env, XLA(0), S32, NULL, 0, 0, &zero));
    step(env);
    OK(lxla_while(cond, body, (lxla_tensor[]){start, zero}, 2, r));
    if (overwritten) OK(lxla_tensor_assign(start, r[0]));
    else RELEASE(start);
    lxla_memory_stats stats = memory_of_step(env);
    CHECK(stats.temp_bytes <= 64);  // of the counter, whose initial value is still live
    CHECK(stats.alias_bytes >= MANY * sizeof(float));
    CHECK(step(env) >= 1);
    check_written(r[0]);
    RELEASE(zero, r[0], r[1]);
    if (overwritten) RELEASE(start);
  }
  // An initial value that is still live is copied, and keeps its value.
  lxla_tensor start, zero, r[2], first;
  float got;
  OK(lxla_tensor_full(env, XLA(0), F32, DIMS(MANY), 5, &start));
  OK(lxla_tensor_full(env, XLA(0), S32, NULL, 0, 0, &zero));
  step(env);
  OK(lxla_while(cond, body, (lxla_tensor[]){start, zero}, 2, r));
  EQUAL(step(env), 0);
  check_written(r[0]);
  OK(lxla_slice(start, (int64_t[]){50}, (int64_t[]){51}, NULL, 1, &first));
  read_f32(first, &got, 1);
  EQUAL(got, 5);
  RELEASE(start, zero, r[0], r[1], first);
  OK(lxla_computation_release(cond));
  OK(lxla_computation_release(body));
  no_live_bytes(env);
  OK(lxla_env_release(env));
}
