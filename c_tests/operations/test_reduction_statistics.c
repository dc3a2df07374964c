// Means, variances and logsumexp: on an XLA device and native, with the same results and errors. ops_test.py compares
// them with NumPy in all dtypes; here are numbers worked out by hand, edges and errors.
#include "near.h"

static void means(void) {
  lxla_tensor x = F32S(DIMS(2, 3), 1, 2, 6, 4, 4, 4),
              edges = F32S(DIMS(3, 2), INFINITY, 1, INFINITY, -INFINITY, NAN, 1), out = none;
  OK(lxla_mean(x, DIMS(-1), 0, &out));
  NEAR_F32(out, DIMS(2), 3, 4);
  OK(lxla_mean(x, DIMS(0, 1), 1, &out));
  NEAR_F32(out, DIMS(1, 1), 3.5);
  OK(lxla_mean(x, (int64_t[1]){0}, 0, 0, &out));
  NEAR_F32(out, DIMS(2, 3), 1, 2, 6, 4, 4, 4);
  OK(lxla_mean(edges, DIMS(1), 0, &out));
  NEAR_F32(out, DIMS(3), INFINITY, NAN, NAN);
  lxla_tensor nothing = array(F32, DIMS(0, 2), NULL, 0);
  OK(lxla_mean(nothing, DIMS(0), 0, &out));
  NEAR_F32(out, DIMS(2), NAN, NAN);
  OK(lxla_mean(nothing, DIMS(1), 0, &out));
  NEAR_F32(out, DIMS(0), 0);
  // Intermediate sums exceed the range of f16.
  uint16_t halves[8], half;
  for (int i = 0; i < 8; i++) halves[i] = 0x7BFF;  // 65504
  lxla_tensor large = array(LXLA_DTYPE_F16, DIMS(8), halves, sizeof halves);
  OK(lxla_mean(large, DIMS(0), 0, &out));
  OK(lxla_tensor_read(out, &half, sizeof half));
  EQUAL(half, 0x7BFF);
  RELEASE(out);
  lxla_tensor whole = ARRAY(LXLA_DTYPE_S32, int32_t, DIMS(2), 1, 2);
  REFUSED(lxla_mean(whole, DIMS(0), 0, &out), BAD, "x: mean takes floats, not s32[2]");
  REFUSED(lxla_mean(x, DIMS(2), 0, &out), BAD, "axis 2 is out of range for rank 2");
  REFUSED(lxla_mean(x, DIMS(1, -1), 0, &out), BAD, "axis -1 is given twice");
  REFUSED(lxla_mean(x, DIMS(1), 2, &out), BAD, "keep_dims: 2 given; want 0 or 1");
  RELEASE(x, edges, nothing, large, whole);
}

static void variances(void) {
  lxla_tensor x = F32S(DIMS(2, 3), 1, 2, 6, 4, 4, 4), single = F32S(DIMS(1), 7), nothing = array(F32, DIMS(0), NULL, 0),
              out = none;
  OK(lxla_variance(x, DIMS(1), 0, 0, &out));
  NEAR_F32(out, DIMS(2), 14.f / 3, 0);
  OK(lxla_variance(x, DIMS(1), 1, 1, &out));
  NEAR_F32(out, DIMS(2, 1), 7, 0);
  OK(lxla_standard_deviation(x, DIMS(1), 1, 0, &out));
  NEAR_F32(out, DIMS(2), sqrtf(7), 0);
  OK(lxla_variance(single, DIMS(0), 1, 0, &out));  // 0 / 0
  NEAR_F32(out, SCALAR, NAN);
  OK(lxla_variance(x, DIMS(1), 5, 0, &out));  // the divisor count - correction is negative, and counts as 0
  NEAR_F32(out, DIMS(2), INFINITY, NAN);
  OK(lxla_variance(nothing, DIMS(0), 0, 0, &out));
  NEAR_F32(out, SCALAR, NAN);
  OK(lxla_variance(x, (int64_t[1]){0}, 0, 0, 0, &out));
  NEAR_F32(out, DIMS(2, 3), 0, 0, 0, 0, 0, 0);
  // Large numbers with small differences keep the precision of the differences.
  lxla_tensor far = F32S(DIMS(3), 16777216, 16777218, 16777220);
  OK(lxla_variance(far, DIMS(0), 0, 0, &out));
  NEAR_F32(out, SCALAR, 8.f / 3);
  REFUSED(lxla_variance(x, DIMS(1), NAN, 0, &out), BAD, "correction: NaN given; want a finite number");
  REFUSED(lxla_standard_deviation(x, DIMS(1), INFINITY, 0, &out), BAD, "correction: inf given");
  RELEASE(x, single, nothing, far);
}

static void logsumexps(void) {
  lxla_tensor x = F32S(DIMS(2, 3), 5, 5, 5, 1000, 1000, -1000), out = none;
  OK(lxla_logsumexp(x, DIMS(1), 0, &out));
  NEAR_F32(out, DIMS(2), 5 + logf(3), 1000 + logf(2));
  lxla_tensor edges = F32S(DIMS(4, 2), -INFINITY, 0, INFINITY, 0, -INFINITY, -INFINITY, NAN, 0);
  OK(lxla_logsumexp(edges, DIMS(1), 1, &out));
  NEAR_F32(out, DIMS(4, 1), 0, INFINITY, -INFINITY, NAN);
  lxla_tensor nothing = array(F32, DIMS(2, 0), NULL, 0);
  OK(lxla_logsumexp(nothing, DIMS(1), 0, &out));
  NEAR_F32(out, DIMS(2), -INFINITY, -INFINITY);
  lxla_tensor whole = ARRAY(LXLA_DTYPE_S32, int32_t, DIMS(2), 1, 2);
  REFUSED(lxla_logsumexp(whole, DIMS(0), 0, &out), BAD, "x: logsumexp takes floats and complex numbers, not s32[2]");
  RELEASE(x, edges, nothing, whole);
}

TEST(means_of_everything_and_nothing) { on_both(means); }
TEST(variances_and_deviations) { on_both(variances); }
TEST(logsumexp_of_everything_and_nothing) { on_both(logsumexps); }
