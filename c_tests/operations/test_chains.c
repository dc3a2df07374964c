// Long chains of elementwise operations: XLA compiles them in pieces (docs/xla-workarounds.md, "Long chains of
// elementwise operations"). Lazy and native.
#include "combiners.h"

#include <math.h>

enum { OPERATIONS = 2000 };

static lxla_tensor replaced(lxla_tensor old, lxla_tensor made) {
  RELEASE(old);
  return made;
}

static lxla_tensor sine(lxla_tensor x) {
  lxla_tensor made;
  OK(lxla_unary(LXLA_UNARY_SINE, x, &made));
  return made;
}

static lxla_tensor sines(lxla_tensor x, int count) {
  x = snapshot(x);
  for (int i = 0; i < count; i++) x = replaced(x, sine(x));
  return x;
}

static lxla_tensor sums(lxla_tensor x, int count) {
  x = snapshot(x);
  for (int i = 0; i < count; i++) x = replaced(x, scalar(ADD, x, 1));
  return x;
}

// Number of places where the program that computes a tensor is cut.
static int cuts(lxla_tensor t) {
  char *text = text_of(t);
  int n = occurrences(text, "inlineable = \"false\"");
  lxla_string_free(text);
  return n;
}

// Only the CPU backend fuses without a limit.
static int is_cut(void) {
  char *text;
  OK(lxla_env_metrics_json(env, &text));
  int is_cpu = strstr(text, "\"platform\":\"cpu\"") != NULL;
  lxla_string_free(text);
  return !is_native() && is_cpu;
}

static void unary(void) {
  lxla_tensor x = F32S(DIMS(4), 0.1f, -0.2f, 0.3f, 1);
  lxla_tensor few = sines(x, 500), many = sines(x, OPERATIONS);
  if (!is_native()) {
    EQUAL(cuts(few), 0);
    EQUAL(cuts(many), is_cut() ? 3 : 0);
  }
  double want[4] = {0.1f, -0.2f, 0.3f, 1};
  float got[4];
  OK(lxla_tensor_read(many, got, sizeof got));
  for (int i = 0; i < 4; i++) {
    for (int j = 0; j < OPERATIONS; j++) want[i] = sin(want[i]);
    CHECK(fabs(got[i] - want[i]) < 1e-4 * fabs(want[i]));
  }
  RELEASE(x, few, many);
}

// Operations whose operands are one value, and of several dtypes and shapes.
static void shared(void) {
  lxla_tensor y = ARRAY(S32, int32_t, DIMS(2), 3, -5);
  for (int i = 0; i < OPERATIONS / 2; i++) {
    y = replaced(y, binary(ADD, y, y));
    y = replaced(y, scalar(ADD, y, 1));
  }
  if (!is_native()) EQUAL(cuts(y), is_cut() ? 3 : 0);
  HAS(y, S32, int32_t, DIMS(2), -1, -1);
  lxla_tensor x = F32S(DIMS(2), 3, -5);
  y = snapshot(x);
  for (int i = 0; i < OPERATIONS / 4; i++) {
    lxla_tensor wide, moved;
    OK(lxla_convert(y, F64, &wide));
    OK(lxla_reshape(wide, (int64_t[]){2, 1}, i % 2 ? 1 : 2, &moved));
    RELEASE(y, wide);
    OK(lxla_convert(moved, F32, &wide));
    y = scalar(ADD, wide, 1);
    RELEASE(moved, wide);
  }
  if (!is_native()) CHECK(!is_cut() || cuts(y) >= 3);
  HAS_F32(y, DIMS(2), 503, 495);
  RELEASE(x);
}

// Products begin new chains.
static void of_products(void) {
  lxla_tensor x = F32S(DIMS(2, 2), 1, 2, 3, 4), identity = F32S(DIMS(2, 2), 1, 0, 0, 1), y = snapshot(x);
  for (int i = 0; i < 10; i++) {
    lxla_tensor product;
    y = replaced(y, sums(y, 100));
    OK(lxla_matmul(y, identity, &product));
    y = replaced(y, product);
  }
  if (!is_native()) EQUAL(cuts(y), 0);
  HAS_F32(y, DIMS(2, 2), 1001, 1002, 1003, 1004);
  RELEASE(x, identity);
}

static void of_calls(void) {
  lxla_tensor p = placeholder(env, F32, DIMS(2)), few = sums(p, 10), many = sums(p, OPERATIONS);
  lxla_computation small = traced(&p, 1, &few, 1), large = traced(&p, 1, &many, 1);
  lxla_tensor x = F32S(DIMS(2), 0, 0.5f), y = snapshot(x), z;
  for (int i = 0; i < OPERATIONS / 10; i++) y = replaced(y, called(small, &y, 1));
  z = called(large, &x, 1);
  if (!is_native()) {
    EQUAL(cuts(y), is_cut() ? 3 : 0);
    EQUAL(cuts(z), is_cut() ? 3 : 0);
  }
  HAS_F32(y, DIMS(2), 2000, 2000.5f);
  HAS_F32(z, DIMS(2), 2000, 2000.5f);
  RELEASE(p, few, many, x);
  DONE(small, large);
}

// The body of a loop is cut. A comparator is not: XLA knows no calls there.
static void of_bodies(void) {
  lxla_tensor carry = placeholder(env, F32, DIMS(2)), element = placeholder(env, F32, NULL, 0),
              many = sums(carry, 1200);
  lxla_computation step = traced(TENSORS(carry, element), TENSORS(many, element));
  lxla_tensor start = F32S(DIMS(2), 0, 1), x = F32S(DIMS(3), 3, 1, 2), last, all, sorted;
  OK(lxla_scan(step, &start, 1, &x, 1, 3, 0, &last, &all, 1));
  if (!is_native()) EQUAL(cuts(last), is_cut() ? 2 : 0);
  HAS_F32(last, DIMS(2), 3600, 3601);
  HAS_F32(all, DIMS(3), 3, 1, 2);
  lxla_tensor a = placeholder(env, F32, NULL, 0), b = placeholder(env, F32, NULL, 0), less;
  lxla_tensor left = sums(a, 1200), right = sums(b, 1200);
  OK(lxla_compare(LXLA_COMPARE_LT, left, right, &less));
  lxla_computation comparator = traced(TENSORS(a, b), &less, 1);
  OK(lxla_sort(comparator, &x, 1, 0, 1, &sorted));
  HAS_F32(sorted, DIMS(3), 1, 2, 3);
  RELEASE(carry, element, many, start, x, a, b, left, right, less);
  DONE(step, comparator);
}

TEST(long_chains_are_compiled_in_pieces) { on_both(unary); }
TEST(long_chains_of_shared_operands_and_other_types) { on_both(shared); }
TEST(chains_between_products_are_left_whole) { on_both(of_products); }
TEST(long_chains_of_calls) { on_both(of_calls); }
TEST(long_chains_in_loops_and_comparators) { on_both(of_bodies); }
