// The `lxla_scalar` forms of functions that otherwise take doubles or tensors. ops_test.py compares values over all
// dtypes with NumPy.
#include "both.h"

static lxla_scalar s64(int64_t i) { return (lxla_scalar){S64, 0, {.i = i}}; }
static lxla_scalar u64(uint64_t u) { return (lxla_scalar){U64, 0, {.u = u}}; }
static lxla_scalar f64(double f) { return (lxla_scalar){F64, 0, {.f = f}}; }
static lxla_scalar c128(double re, double im) { return (lxla_scalar){C128, 0, {.c = {re, im}}}; }

#define BIG ((1ll << 53) + 1)  // not exact as a double

static void exact_integers(void) {
  lxla_scalar a = s64(BIG), b = s64(BIG + 6), two = s64(2), most = u64(UINT64_MAX), near = u64(UINT64_MAX - 2),
              one = u64(1);
  lxla_tensor out, x, pred;
  OK(lxla_tensor_full_with_scalar(env, device, S64, DIMS(2), &a, &out));
  HAS(out, S64, int64_t, DIMS(2), BIG, BIG);
  OK(lxla_arange_with_scalars(env, device, S64, &a, &b, &two, &out));
  HAS(out, S64, int64_t, DIMS(3), BIG, BIG + 2, BIG + 4);
  OK(lxla_arange_with_scalars(env, device, U64, &near, &most, &one, &out));
  HAS(out, U64, uint64_t, DIMS(2), UINT64_MAX - 2, UINT64_MAX - 1);
  OK(lxla_linspace_with_scalars(env, device, S64, &a, &b, 4, 1, &out));
  HAS(out, S64, int64_t, DIMS(4), BIG, BIG + 2, BIG + 4, BIG + 6);
  lxla_scalar least = s64(INT64_MIN), largest = s64(INT64_MAX);
  OK(lxla_linspace_with_scalars(env, device, S64, &least, &largest, 3, 1, &out));
  HAS(out, S64, int64_t, DIMS(3), INT64_MIN, -1, INT64_MAX);

  x = ARRAY(S64, int64_t, DIMS(3), BIG - 5, BIG, BIG + 9);
  pred = ARRAY(PRED, uint8_t, DIMS(3), 1, 0, 1);
  OK(lxla_select_with_scalars(pred, x, NULL, (lxla_tensor){0}, &a, &out));
  HAS(out, S64, int64_t, DIMS(3), BIG - 5, BIG, BIG + 9);
  OK(lxla_select_with_scalars(pred, (lxla_tensor){0}, &a, (lxla_tensor){0}, &two, &out));
  HAS(out, S64, int64_t, DIMS(3), BIG, 2, BIG);
  OK(lxla_clamp_with_scalars(x, &a, &b, &out));
  HAS(out, S64, int64_t, DIMS(3), BIG, BIG, BIG + 6);
  OK(lxla_clamp_with_scalars(x, NULL, &a, &out));
  HAS(out, S64, int64_t, DIMS(3), BIG - 5, BIG, BIG);
  OK(lxla_pad_with_scalar(x, &b, (int64_t[]){1}, (int64_t[]){-1}, NULL, 1, &out));
  HAS(out, S64, int64_t, DIMS(3), BIG + 6, BIG - 5, BIG);
  OK(lxla_compare_with_scalar(LXLA_COMPARE_EQ, x, &a, 0, &out));
  HAS(out, PRED, uint8_t, DIMS(3), 0, 1, 0);
  OK(lxla_binary_with_scalar(LXLA_BINARY_MODULO, x, &a, 0, &out));
  HAS(out, S64, int64_t, DIMS(3), BIG - 5, 0, 9);
  OK(lxla_binary_with_scalar_inplace(LXLA_BINARY_FLOOR_DIVIDE, x, &a, 0));
  HAS(x, S64, int64_t, DIMS(3), 0, 1, 1);
  RELEASE(pred);
}
TEST(integers_beyond_doubles_are_exact) { on_both(exact_integers); }

static void complex_scalars(void) {
  lxla_scalar z = c128(1, -2), w = c128(5, 6);
  lxla_tensor out, x, pred;
  OK(lxla_tensor_full_with_scalar(env, device, C64, DIMS(2), &z, &out));
  HAS(out, C64, float, DIMS(2), 1, -2, 1, -2);
  OK(lxla_linspace_with_scalars(env, device, C128, &z, &w, 3, 1, &out));
  HAS(out, C128, double, DIMS(3), 1, -2, 3, 2, 5, 6);
  x = ARRAY(C64, float, DIMS(2), 3, 4, 5, 6);
  pred = ARRAY(PRED, uint8_t, DIMS(2), 1, 0);
  OK(lxla_select_with_scalars(pred, (lxla_tensor){0}, &z, x, NULL, &out));
  HAS(out, C64, float, DIMS(2), 1, -2, 5, 6);
  OK(lxla_pad_with_scalar(x, &z, (int64_t[]){0}, (int64_t[]){1}, NULL, 1, &out));
  HAS(out, C64, float, DIMS(3), 3, 4, 5, 6, 1, -2);
  RELEASE(x, pred);
}
TEST(complex_scalars_have_both_parts) { on_both(complex_scalars); }

static void refusals(void) {
  lxla_scalar half = f64(0.5), big = s64(300), z = c128(1, 2), zero = s64(0), bad = {99, 0, {.i = 0}},
              huge = s64(INT64_MAX);
  lxla_scalar least = s64(INT64_MIN), one = s64(1);
  lxla_tensor out = {7}, x = ARRAY(S8, int8_t, DIMS(2), 1, 2), pred = ARRAY(PRED, uint8_t, DIMS(2), 1, 0);
  lxla_tensor c = ARRAY(C64, float, DIMS(1), 1, 2), none = {0};
  REFUSED(lxla_tensor_full_with_scalar(env, device, S32, DIMS(1), &half, &out), BAD,
          "value: 0.5 cannot be represented in s32");
  REFUSED(lxla_tensor_full_with_scalar(env, device, S32, DIMS(1), NULL, &out), LXLA_NULL_ARGUMENT, "value: it is NULL");
  REFUSED(lxla_tensor_full_with_scalar(env, device, S32, DIMS(1), &bad, &out), BAD, "value: dtype: 99 is not");
  REFUSED(lxla_tensor_full(env, device, F32, DIMS(1), 1e300, &out), BAD, "lxla_tensor_full: value: 1e300 cannot be");
  REFUSED(lxla_binary_scalar(LXLA_BINARY_ADD, x, 300, &out), BAD, "lxla_binary_scalar: rhs: 300.0 cannot be");
  REFUSED(lxla_binary_scalar(LXLA_BINARY_MODULO, x, 300, &out), BAD, "lxla_binary_scalar: rhs: 300.0 cannot be");
  REFUSED(lxla_compare_scalar(LXLA_COMPARE_EQ, x, 0.5, &out), BAD, "lxla_compare_scalar: rhs: 0.5 cannot be");
  REFUSED(lxla_binary_with_scalar(LXLA_BINARY_ADD, x, &z, 0, &out), BAD, "rhs: 1.0+2.0i cannot be represented in s8");
  REFUSED(lxla_select_with_scalars(pred, x, NULL, none, &big, &out), BAD,
          "false_scalar: 300 cannot be represented in s8");
  REFUSED(lxla_select_with_scalars(pred, x, &big, x, NULL, &out), BAD,
          "on_true, true_scalar: a tensor and a scalar given");
  REFUSED(lxla_select_with_scalars(pred, none, NULL, x, NULL, &out), LXLA_INVALID_HANDLE, "on_true");
  REFUSED(lxla_select_with_scalars(pred, none, &half, none, &big, &out), BAD,
          "on_true is a scalar of f64, on_false one of s64");
  REFUSED(lxla_clamp_with_scalars(x, &big, NULL, &out), BAD, "min: 300 cannot be represented in s8");
  REFUSED(lxla_clamp_with_scalars(x, NULL, &half, &out), BAD, "max: 0.5 cannot be represented in s8");
  REFUSED(lxla_clamp_with_scalars(c, NULL, NULL, &out), BAD, "x: clamp takes pred, integers and floats, not c64[1]");
  REFUSED(lxla_pad_with_scalar(x, &big, (int64_t[]){0}, (int64_t[]){1}, NULL, 1, &out), BAD, "value: 300 cannot be");
  REFUSED(
      lxla_arange_with_scalars(env, device, S64, &zero, &big, &zero, &out), BAD,
      "start, stop, step: 0, 300 and 0 given; want finite numbers without imaginary parts, and a step that is not 0");
  REFUSED(lxla_arange_with_scalars(env, device, C64, &zero, &z, &one, &out), BAD,
          "want finite numbers without imaginary parts");
  REFUSED(lxla_arange_with_scalars(env, device, S64, &least, &huge, &one, &out), BAD,
          "they give 18446744073709551615 elements");
  REFUSED(lxla_arange(env, device, S64, 0, 1e30, 1, &out), BAD, "they give 1e30 elements");
  REFUSED(lxla_arange(env, device, S64, 0, 1e18, 1, &out), BAD, "1000000000000000000");
  REFUSED(lxla_linspace_with_scalars(env, device, S32, &zero, &half, 3, 1, &out), BAD,
          "start, stop: 0.5 cannot be represented");
  EQUAL(out.id, 7);
  RELEASE(x, pred, c);
}
TEST(what_does_not_fit_is_named) { on_both(refusals); }

// K5: a changing scalar costs at most one more compile, and stays exact as a parameter.
TEST(scalars_that_change_become_parameters) {
  env = new_env();
  device = XLA(0);
  lxla_tensor x = ARRAY(S64, int64_t, DIMS(3), BIG - 1, BIG, BIG + 1), pred = ARRAY(PRED, uint8_t, DIMS(3), 1, 0, 1),
              out;
  for (int64_t i = 0; i < 6; i++) {
    lxla_scalar a = s64(BIG + i), b = s64(BIG + 7 * i), one = s64(1);
    int64_t least = BIG + i;
    OK(lxla_clamp_with_scalars(x, &a, NULL, &out));
    HAS(out, S64, int64_t, DIMS(3), least, least, i ? least : BIG + 1);
    OK(lxla_select_with_scalars(pred, (lxla_tensor){0}, &a, (lxla_tensor){0}, &b, &out));
    HAS(out, S64, int64_t, DIMS(3), BIG + i, BIG + 7 * i, BIG + i);
    OK(lxla_pad_with_scalar(x, &b, (int64_t[]){1}, (int64_t[]){-2}, NULL, 1, &out));
    HAS(out, S64, int64_t, DIMS(2), BIG + 7 * i, BIG - 1);
    OK(lxla_tensor_full_with_scalar(env, device, S64, DIMS(1), &a, &out));
    HAS(out, S64, int64_t, DIMS(1), BIG + i);
    OK(lxla_binary_with_scalar(LXLA_BINARY_MODULO, x, &b, 0, &out));
    HAS(out, S64, int64_t, DIMS(3), (BIG - 1) % (BIG + 7 * i), BIG % (BIG + 7 * i), (BIG + 1) % (BIG + 7 * i));
    lxla_scalar end = s64(BIG + i + 3);
    OK(lxla_arange_with_scalars(env, device, S64, &a, &end, &one, &out));
    HAS(out, S64, int64_t, DIMS(3), BIG + i, BIG + i + 1, BIG + i + 2);
  }
  // Six programs, each compiled with constants once, then with parameters.
  CHECK(counter(env, "UncachedCompile") <= 12);
  RELEASE(x, pred);
  OK(lxla_env_release(env));
}

static void scalars(void) {
  lxla_tensor x = ARRAY(F32, float, DIMS(3), 1, NAN, 3),
              big = ARRAY(LXLA_DTYPE_S64, int64_t, DIMS(2), INT64_MAX, INT64_MAX - 1), out = none;
  OK(lxla_compare_scalar(LXLA_COMPARE_GT, x, 2, &out));
  HAS(out, LXLA_DTYPE_PRED, uint8_t, DIMS(3), 0, 0, 1);
  lxla_scalar most = {LXLA_DTYPE_S64, 0, {.i = INT64_MAX}}, two = {LXLA_DTYPE_F64, 0, {.f = 2}};
  OK(lxla_compare_with_scalar(LXLA_COMPARE_LT, big, &most, 0, &out));
  HAS(out, LXLA_DTYPE_PRED, uint8_t, DIMS(2), 0, 1);
  OK(lxla_compare_with_scalar(LXLA_COMPARE_LT, big, &most, 1, &out));
  HAS(out, LXLA_DTYPE_PRED, uint8_t, DIMS(2), 0, 0);
  REFUSED(lxla_compare_scalar(LXLA_COMPARE_GT, big, 0.5, &out), BAD, "0.5 cannot be represented in s64");
  REFUSED(lxla_compare_scalar(7, x, 0.5, &out), BAD, "op: 7 is not an LXLA_COMPARE_* constant (valid: 1 to 6)");
  REFUSED(lxla_compare_with_scalar(1, x, &two, 2, &out), BAD, "scalar_on_left: 2 given; want 0 or 1");
  lxla_tensor dst = ARRAY(F32, float, DIMS(2), 1, 8), old = snapshot(dst);
  OK(lxla_binary_with_scalar_inplace(SUB, dst, &two, 1));
  HAS_F32(snapshot(dst), DIMS(2), 1, -6);
  OK(lxla_binary_with_scalar_inplace(SUB, dst, &two, 0));
  HAS_F32(snapshot(dst), DIMS(2), -1, -8);
  OK(lxla_binary_with_scalar_inplace(SUB, big, &most, 0));
  HAS(snapshot(big), LXLA_DTYPE_S64, int64_t, DIMS(2), 0, -1);
  REFUSED(lxla_binary_with_scalar_inplace(LXLA_BINARY_AND, dst, &two, 0), BAD, "and takes pred and integers, not f32");
  HAS_F32(old, DIMS(2), 1, 8);
  RELEASE(x, big, dst);
}
TEST(scalars_on_either_side_and_in_place) { on_both(scalars); }
