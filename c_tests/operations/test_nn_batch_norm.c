// Batch normalization, on an XLA device and native.
#include "near.h"

// A few units in the last place of f32.
#define ULPS (4 / 8388608.0)

static lxla_tensor filled(int32_t dtype, const int64_t *dims, size_t rank, double value) {
  lxla_tensor t;
  OK(lxla_tensor_full(env, device, dtype, dims, rank, value, &t));
  return t;
}

typedef struct {
  lxla_tensor out, mean, variance;
} trained;

static trained training(lxla_tensor x, lxla_tensor scale, lxla_tensor offset, double epsilon, int64_t axis) {
  trained t;
  OK(lxla_batch_norm_training(x, scale, offset, epsilon, axis, &t.out, &t.mean, &t.variance));
  return t;
}

static void all_three(void) {
  lxla_tensor x = F32S(DIMS(3, 2), 1, 10, 3, 30, 8, 50), scale = F32S(DIMS(2), 2, 0.5f), offset = F32S(DIMS(2), 1, -1);
  lxla_tensor g = F32S(DIMS(3, 2), 1, 0, 0, 2, -1, 1), out = none, by_scale, by_offset;
  trained t = training(x, scale, offset, 0.5, 1);
  double want[] = {-0.981734777227449, -1.611799142604889, 0.33942174092418365, -1,
                   3.6423130363032654, -0.388200857395111};
  OK(lxla_batch_norm_inference(x, scale, offset, t.mean, t.variance, 0.5, -1, &out));
  has_near(__FILE__, __LINE__, out, F32, DIMS(3, 2), want, ULPS);
  OK(lxla_batch_norm_grad(x, scale, t.mean, t.variance, g, 0.5, 1, &out, &by_scale, &by_offset));
  NEAR(out, F32, DIMS(3, 2), ULPS, 0.15613667941792028, -0.015323602979155521, -0.1681471932192987, 0.03058995713024445,
       0.01201051380137841, -0.01526635415108893);
  NEAR(by_scale, F32, DIMS(2), ULPS, -2.312023906765357, 1.223598285209778);
  VALUES(by_offset, F32, DIMS(2), 0, 3);
  has_near(__FILE__, __LINE__, t.out, F32, DIMS(3, 2), want, ULPS);
  VALUES(t.mean, F32, DIMS(2), 4, 30);
  NEAR(t.variance, F32, DIMS(2), ULPS, 26 / 3.0, 800 / 3.0);
  RELEASE(x, scale, offset, g);
}

static void feature_axes(void) {
  // The feature axis first, last and in the middle.
  const double rest[] = {-1, 1, -1, 1};
  for (int axis = 0; axis < 3; axis++) {
    int64_t dims[] = {2, 2, 2};
    float data[8];
    double want[8];
    for (int i = 0; i < 8; i++) {
      int place[] = {i >> 2, i >> 1 & 1, i & 1}, feature = place[axis];
      int other = axis == 2 ? place[1] : place[2];
      data[i] = feature ? 100 + 8 * (float)rest[other] : (float)rest[other];
      want[i] = rest[other];
    }
    lxla_tensor x = array(F32, dims, 3, data, sizeof data), one = filled(F32, DIMS(2), 1),
                zero = filled(F32, DIMS(2), 0);
    trained t = training(x, one, zero, 0, axis - 3);
    has_near(__FILE__, __LINE__, t.out, F32, dims, 3, want, ULPS);
    VALUES(t.mean, F32, DIMS(2), 0, 100);
    VALUES(t.variance, F32, DIMS(2), 1, 64);
    RELEASE(x, one, zero);
  }
}

// Large means: the mean of squares would lose all bits of the variance.
static void large_means(void) {
  const int32_t dtypes[] = {F32, F64};
  for (int i = 0; i < 2; i++) {
    lxla_tensor x = as(dtypes[i], F32S(DIMS(4, 1), 10000, 10001, 10003, 10004));
    lxla_tensor one = filled(dtypes[i], DIMS(1), 1), zero = filled(dtypes[i], DIMS(1), 0);
    trained t = training(x, one, zero, 0, 1);
    VALUES(t.mean, dtypes[i], DIMS(1), 10002);
    VALUES(t.variance, dtypes[i], DIMS(1), 2.5);
    NEAR(t.out, dtypes[i], DIMS(4, 1), ULPS, -1.2649110640673518, -0.6324555320336759, 0.6324555320336759,
         1.2649110640673518);
    RELEASE(x, one, zero);
  }
  // The squares of these numbers overflow in f16.
  lxla_tensor x = as(F16, F32S(DIMS(2, 1), 30000, 30032)), one = filled(F16, DIMS(1), 1),
              zero = filled(F16, DIMS(1), 0);
  trained t = training(x, one, zero, 0, 1);
  VALUES(t.mean, F16, DIMS(1), 30016);
  VALUES(t.variance, F16, DIMS(1), 256);
  VALUES(t.out, F16, DIMS(2, 1), -1, 1);
  RELEASE(x, one, zero);
}

static void halves(void) {
  const int32_t dtypes[] = {F16, BF16};
  for (int i = 0; i < 2; i++) {
    // Scale, offset and statistics may be f32, which keeps a mean that 16 bits would round.
    lxla_tensor x = as(dtypes[i], F32S(DIMS(2, 1), 256, 258)), g = as(dtypes[i], F32S(DIMS(2, 1), 1, 2));
    lxla_tensor one = filled(F32, DIMS(1), 1), zero = filled(F32, DIMS(1), 0), out, by_scale, by_offset;
    trained t = training(x, one, zero, 0, 1);
    OK(lxla_batch_norm_inference(x, one, zero, t.mean, t.variance, 0, 1, &out));
    VALUES(out, dtypes[i], DIMS(2, 1), -1, 1);
    OK(lxla_batch_norm_grad(x, one, t.mean, t.variance, g, 0, 1, &out, &by_scale, &by_offset));
    VALUES(out, dtypes[i], DIMS(2, 1), 0, 0);
    NEAR(by_scale, F32, DIMS(1), ULPS, 1);
    VALUES(by_offset, F32, DIMS(1), 3);
    VALUES(t.out, dtypes[i], DIMS(2, 1), -1, 1);
    VALUES(t.mean, F32, DIMS(1), 257);
    VALUES(t.variance, F32, DIMS(1), 1);
    RELEASE(x, g, one, zero);
  }
}

static void edges(void) {
  lxla_tensor one = filled(F32, DIMS(2), 1), zero = filled(F32, DIMS(2), 0);
  lxla_tensor empty = array(F32, DIMS(0, 2), NULL, 0), single = F32S(DIMS(1, 2), 5, INFINITY);
  trained t = training(empty, one, zero, 1, 1);
  VALUES(t.out, F32, DIMS(0, 2), 0);
  VALUES(t.mean, F32, DIMS(2), NAN, NAN);
  VALUES(t.variance, F32, DIMS(2), NAN, NAN);
  // A single element is its own mean. NaN and infinity stay within their feature.
  t = training(single, one, zero, 1, 1);
  VALUES(t.out, F32, DIMS(1, 2), 0, NAN);
  VALUES(t.mean, F32, DIMS(2), 5, INFINITY);
  VALUES(t.variance, F32, DIMS(2), 0, NAN);
  lxla_tensor features = F32S(DIMS(2), 3, 4);
  t = training(features, one, one, 1, 0);
  VALUES(t.out, F32, DIMS(2), 1, 1);
  VALUES(t.mean, F32, DIMS(2), 3, 4);
  VALUES(t.variance, F32, DIMS(2), 0, 0);
  RELEASE(one, zero, empty, single, features);
}

static void refusals(void) {
  lxla_tensor x = F32S(DIMS(3, 2), 1, 2, 3, 4, 5, 6), one = filled(F32, DIMS(2), 1), out = none, a, b;
  lxla_tensor three = filled(F32, DIMS(3), 1), halves = filled(F16, DIMS(2), 1), row = filled(F32, DIMS(1, 2), 1);
  lxla_tensor whole = filled(LXLA_DTYPE_S32, DIMS(3, 2), 1), half_x = filled(F16, DIMS(3, 2), 1);
#define TRAINING(x, scale, offset, epsilon, axis) \
  lxla_batch_norm_training(x, scale, offset, epsilon, axis, &out, &a, &b)
  REFUSED(TRAINING(x, three, one, 0, 1), BAD, "scale: it is f32[3]; x is f32[3,2], and wants f32[2]");
  REFUSED(TRAINING(x, one, row, 0, 1), BAD, "offset: it is f32[1,2]; x is f32[3,2], and wants f32[2]");
  REFUSED(TRAINING(x, halves, halves, 0, 1), BAD, "scale: it is f16[2]; x is f32[3,2], and wants f32[2]");
  REFUSED(TRAINING(half_x, one, halves, 0, 1), BAD, "offset: it is f16[2]; x is f16[3,2], and wants f32[2]");
  REFUSED(TRAINING(whole, one, one, 0, 1), BAD, "x: batch normalization takes floats, not s32[3,2]");
  REFUSED(TRAINING(x, one, one, -0.5, 1), BAD, "epsilon: -0.5 given; want 0 or more, and finite");
  REFUSED(TRAINING(x, one, one, NAN, 1), BAD, "epsilon: NaN given");
  REFUSED(TRAINING(x, one, one, 0, 2), BAD, "feature_axis: axis 2 is out of range for rank 2");
  REFUSED(lxla_batch_norm_training(x, one, one, 0, 1, &out, NULL, &b), LXLA_NULL_ARGUMENT, "out_mean: it is NULL");
  REFUSED(lxla_batch_norm_inference(x, one, one, one, three, 0, 1, &out), BAD, "variance: it is f32[3]");
  REFUSED(lxla_batch_norm_inference(x, one, one, none, one, 0, 1, &out), LXLA_INVALID_HANDLE, "mean");
  REFUSED(lxla_batch_norm_grad(x, one, one, one, half_x, 0, 1, &out, &a, &b), BAD,
          "grad_output: it is f16[3,2]; x is f32[3,2], and wants its type");
  REFUSED(lxla_batch_norm_grad(x, one, three, one, x, 0, 1, &out, &a, &b), BAD, "mean: it is f32[3]");
  RELEASE(x, one, three, halves, row, whole, half_x);
}

TEST(training_inference_and_gradients) { on_both(all_three); }
TEST(features_on_any_axis) { on_both(feature_axes); }
TEST(variance_beside_a_large_mean) { on_both(large_means); }
TEST(halves_with_features_in_f32) { on_both(halves); }
TEST(empty_and_infinite_batches) { on_both(edges); }
TEST(what_does_not_fit_is_refused) { on_both(refusals); }
