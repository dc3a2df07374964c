// Reductions over axes, and positions of extremes: on an XLA device and natively, with the same results and errors.
#include "both.h"

static lxla_tensor reduce(int32_t op, lxla_tensor x, const int64_t *axes, size_t n, int32_t keep) {
  lxla_tensor out;
  OK(lxla_reduce(op, x, axes, n, keep, &out));
  return out;
}

static void reductions(void) {
  lxla_tensor x = F32S(DIMS(2, 3), 1, 2, 3, 4, 5, 6), out;
  HAS_F32(reduce(LXLA_REDUCE_SUM, x, DIMS(0), 0), DIMS(3), 5, 7, 9);
  HAS_F32(reduce(LXLA_REDUCE_SUM, x, DIMS(-1), 1), DIMS(2, 1), 6, 15);
  HAS_F32(reduce(LXLA_REDUCE_PRODUCT, x, DIMS(0, 1), 0), SCALAR, 720);
  HAS_F32(reduce(LXLA_REDUCE_MAX, x, DIMS(1), 0), DIMS(2), 3, 6);
  HAS_F32(reduce(LXLA_REDUCE_MIN, x, DIMS(1), 0), DIMS(2), 1, 4);
  HAS_F32(reduce(LXLA_REDUCE_SUM, x, (int64_t[1]){0}, 0, 0), DIMS(2, 3), 1, 2, 3, 4, 5, 6);
  RELEASE(x);
  x = ARRAY(S8, int8_t, DIMS(2), -128, 127);
  HAS(reduce(LXLA_REDUCE_MAX, x, DIMS(0), 0), S8, int8_t, SCALAR, 127);
  HAS(reduce(LXLA_REDUCE_MIN, x, DIMS(0), 0), S8, int8_t, SCALAR, -128);
  RELEASE(x);
  x = ARRAY(PRED, uint8_t, DIMS(2), 1, 0);
  HAS(reduce(LXLA_REDUCE_ALL, x, DIMS(0), 0), PRED, uint8_t, SCALAR, 0);
  HAS(reduce(LXLA_REDUCE_ANY, x, DIMS(0), 0), PRED, uint8_t, SCALAR, 1);
  RELEASE(x);
  // Reductions of no elements give the identities.
  x = array(F32, DIMS(0), NULL, 0);
  HAS_F32(reduce(LXLA_REDUCE_SUM, x, DIMS(0), 0), SCALAR, 0);
  HAS_F32(reduce(LXLA_REDUCE_PRODUCT, x, DIMS(0), 0), SCALAR, 1);
  HAS_F32(reduce(LXLA_REDUCE_MAX, x, DIMS(0), 0), SCALAR, -INFINITY);
  RELEASE(x);
  REFUSED(lxla_tensor_from_host(env, device, F32, DIMS(1ll << 40, 1ll << 40, 0), NULL, 0, &out), BAD, "more elements");
  // 4096 ones in bf16: a sum kept in bf16 would stop at 256.
  OK(lxla_tensor_full(env, device, BF16, DIMS(4096), 1, &x));
  step(env);
  HAS(reduce(LXLA_REDUCE_SUM, x, DIMS(0), 0), BF16, uint16_t, SCALAR, 0x4580);
  RELEASE(x);
  x = F32S(DIMS(3), 1, NAN, 3);
  out = reduce(LXLA_REDUCE_MAX, x, DIMS(0), 0);
  float got;
  read_f32(out, &got, 1);
  CHECK(isnan(got));
  RELEASE(x, out);
}

static void truth_values(void) {
  lxla_tensor x = ARRAY(PRED, uint8_t, DIMS(2, 3), 1, 0, 1, 1, 1, 0), out;
  OK(lxla_reduce(LXLA_REDUCE_SUM, x, DIMS(1), 0, &out));
  HAS(out, S64, int64_t, DIMS(2), 2, 2);
  OK(lxla_reduce(LXLA_REDUCE_PRODUCT, x, DIMS(0), 1, &out));
  HAS(out, S64, int64_t, DIMS(1, 3), 1, 0, 0);
  OK(lxla_reduce(LXLA_REDUCE_SUM, x, (int64_t[1]){0}, 0, 0, &out));
  HAS(out, S64, int64_t, DIMS(2, 3), 1, 0, 1, 1, 1, 0);
  OK(lxla_cumulative(LXLA_REDUCE_SUM, x, 1, 0, &out));
  HAS(out, S64, int64_t, DIMS(2, 3), 1, 1, 2, 1, 2, 2);
  RELEASE(x);
  // More elements than any 8-bit dtype can count.
  lxla_scalar yes = {PRED, 0, {.u = 1}};
  OK(lxla_tensor_full_with_scalar(env, device, PRED, DIMS(70000), &yes, &x));
  OK(lxla_reduce(LXLA_REDUCE_SUM, x, NULL, 0, 0, &out));
  HAS(out, S64, int64_t, SCALAR, 70000);
  RELEASE(x);
}

static void extremes(void) {
  lxla_tensor x = ARRAY(F32, float, DIMS(2, 3), 1, 5, 5, -0.0f, 0, -7), out = none;
  OK(lxla_argmax(x, 1, 0, S32, &out));
  HAS(out, S32, int32_t, DIMS(2), 1, 0);
  OK(lxla_argmin(x, -1, 1, S64, &out));
  HAS(out, S64, int64_t, DIMS(2, 1), 0, 2);
  OK(lxla_argmax(x, 0, 1, U8, &out));
  HAS(out, U8, uint8_t, DIMS(1, 3), 0, 0, 0);
  lxla_tensor nan = ARRAY(F64, double, DIMS(5), 1, NAN, INFINITY, NAN, -INFINITY);
  OK(lxla_argmax(nan, 0, 0, S32, &out));
  HAS(out, S32, int32_t, SCALAR, 1);
  OK(lxla_argmin(nan, 0, 0, S32, &out));
  HAS(out, S32, int32_t, SCALAR, 1);
  lxla_tensor low = ARRAY(F32, float, DIMS(3), -INFINITY, -INFINITY, -INFINITY),
              limits = ARRAY(LXLA_DTYPE_S8, int8_t, DIMS(3), -128, 127, -128);
  OK(lxla_argmax(low, 0, 0, S32, &out));
  HAS(out, S32, int32_t, SCALAR, 0);
  OK(lxla_argmin(limits, 0, 0, S32, &out));
  HAS(out, S32, int32_t, SCALAR, 0);
  lxla_tensor u64 = ARRAY(LXLA_DTYPE_U64, uint64_t, DIMS(3), 1, UINT64_MAX, INT64_MAX),
              p = ARRAY(LXLA_DTYPE_PRED, uint8_t, DIMS(3), 1, 1, 0);
  OK(lxla_argmax(u64, 0, 0, LXLA_DTYPE_U64, &out));
  HAS(out, LXLA_DTYPE_U64, uint64_t, SCALAR, 1);
  OK(lxla_argmin(p, 0, 0, S32, &out));
  HAS(out, S32, int32_t, SCALAR, 2);
  OK(lxla_argmax(p, 0, 0, S32, &out));
  HAS(out, S32, int32_t, SCALAR, 0);
  lxla_tensor empty = array(F32, DIMS(2, 0), NULL, 0), none_left = array(F32, DIMS(0, 2), NULL, 0),
              z = ARRAY(LXLA_DTYPE_C64, float, DIMS(1), 1, 2);
  OK(lxla_argmax(none_left, 1, 1, S32, &out));
  HAS(out, S32, int32_t, DIMS(0, 1), 0);
  REFUSED(lxla_argmax(empty, 1, 0, S32, &out), LXLA_INVALID_ARGUMENT,
          "x: it is f32[2,0], and has no element on axis 1");
  REFUSED(lxla_argmin(z, 0, 0, S32, &out), LXLA_INVALID_ARGUMENT,
          "x: argmin takes pred, integers and floats, not c64[1]");
  REFUSED(lxla_argmax(x, 0, 2, S32, &out), LXLA_INVALID_ARGUMENT, "keep_dims: 2 given");
  static const float many[300] = {0};
  lxla_tensor long_axis = array(F32, DIMS(300), many, sizeof many);
  REFUSED(lxla_argmax(long_axis, 0, 0, U8, &out), LXLA_INVALID_ARGUMENT,
          "index_dtype: it is u8, which cannot count the 300 elements of the axis");
  RELEASE(x, nan, low, limits, u64, p, empty, none_left, z, long_axis);
}

// Takes no elements of an arg-extreme: XLA folds that, and is left with a reduction that nothing uses.
static void an_extreme_that_nothing_needs(void) {
  lxla_tensor x = ARRAY(S32, int32_t, DIMS(2, 2), 1, 2, 4, 3), at, nothing, two;
  OK(lxla_argmax(x, 1, 0, S32, &at));
  OK(lxla_slice(at, (int64_t[]){1}, (int64_t[]){1}, NULL, 1, &nothing));
  OK(lxla_concatenate((lxla_tensor[]){nothing, nothing}, 2, 0, &two));
  RELEASE(at, nothing);
  HAS(two, S32, int32_t, DIMS(0), 0);
  RELEASE(x);
}

TEST(reductions_over_axes) { on_both(reductions); }
TEST(sums_of_pred_count) { on_both(truth_values); }
TEST(where_extremes_are) { on_both(extremes); }
TEST(the_place_of_an_extreme_that_nothing_needs) { on_both(an_extreme_that_nothing_needs); }
