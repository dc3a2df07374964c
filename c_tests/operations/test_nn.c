// Activations, softmax and layer normalization: on an XLA device and native, with the same results and errors.
// ops_test.py compares them with NumPy in all dtypes; here are numbers worked out by hand, edges and errors.
#include "near.h"

static void softmaxes(void) {
  const float third = 1.f / 3;
  lxla_tensor x = F32S(DIMS(2, 3), 5, 5, 5, 1000, 1000, -1000), out = none;
  OK(lxla_softmax(x, 1, &out));
  NEAR_F32(out, DIMS(2, 3), third, third, third, 0.5, 0.5, 0);
  OK(lxla_log_softmax(x, -1, &out));
  NEAR_F32(out, DIMS(2, 3), -logf(3), -logf(3), -logf(3), -logf(2), -logf(2), -2000 - logf(2));
  OK(lxla_softmax(x, 0, &out));
  NEAR_F32(out, DIMS(2, 3), 0, 0, 1, 1, 1, 0);
  lxla_tensor edges = F32S(DIMS(4, 2), -INFINITY, 0, INFINITY, 0, -INFINITY, -INFINITY, NAN, 0);
  OK(lxla_softmax(edges, 1, &out));
  NEAR_F32(out, DIMS(4, 2), 0, 1, NAN, NAN, NAN, NAN, NAN, NAN);
  lxla_tensor nothing = array(F32, DIMS(2, 0), NULL, 0);
  OK(lxla_softmax(nothing, 1, &out));
  NEAR_F32(out, DIMS(2, 0), 0);
  lxla_tensor whole = ARRAY(LXLA_DTYPE_S32, int32_t, DIMS(2), 1, 2), scalar_one = F32S(SCALAR, 1);
  REFUSED(lxla_softmax(whole, 0, &out), BAD, "x: softmax takes floats, not s32[2]");
  REFUSED(lxla_softmax(x, 2, &out), BAD, "axis 2 is out of range for rank 2");
  REFUSED(lxla_log_softmax(scalar_one, 0, &out), BAD, "axis 0 is out of range for rank 0");
  RELEASE(x, edges, nothing, whole, scalar_one);
}

static void layers(void) {
  lxla_tensor x = F32S(DIMS(2, 2), 1, 3, 10, 30), scale = F32S(DIMS(2), 2, 3), offset = F32S(DIMS(1), 100), out = none;
  OK(lxla_layer_norm(x, DIMS(-1), none, none, 0, &out));
  NEAR_F32(out, DIMS(2, 2), -1, 1, -1, 1);
  OK(lxla_layer_norm(x, DIMS(1), scale, offset, 3, &out));
  NEAR_F32(out, DIMS(2, 2), 99, 101.5, 100 - 20 / sqrtf(103), 100 + 30 / sqrtf(103));
  OK(lxla_layer_norm(x, DIMS(0), scale, none, 0, &out));
  NEAR_F32(out, DIMS(2, 2), -2, -3, 2, 3);
  OK(lxla_layer_norm(x, DIMS(1), none, offset, 0, &out));
  NEAR_F32(out, DIMS(2, 2), 99, 101, 99, 101);
  lxla_tensor flat = F32S(DIMS(2), 4, 4), nothing = array(F32, DIMS(2, 0), NULL, 0);
  OK(lxla_layer_norm(flat, DIMS(0), none, none, 1e-5, &out));
  NEAR_F32(out, DIMS(2), 0, 0);
  OK(lxla_layer_norm(flat, DIMS(0), none, none, 0, &out));
  NEAR_F32(out, DIMS(2), NAN, NAN);
  OK(lxla_layer_norm(nothing, DIMS(1), none, none, 1e-5, &out));
  NEAR_F32(out, DIMS(2, 0), 0);
  // bf16 with scale and offset in f32.
  lxla_tensor narrow = ARRAY(LXLA_DTYPE_BF16, uint16_t, DIMS(2), 0x3F80, 0x4040);
  OK(lxla_layer_norm(narrow, DIMS(0), scale, none, 0, &out));
  uint16_t got[2];
  OK(lxla_tensor_read(out, got, sizeof got));
  EQUAL(got[0], 0xC000);
  EQUAL(got[1], 0x4040);
  RELEASE(out);
  lxla_tensor wide = ARRAY(LXLA_DTYPE_F64, double, DIMS(2), 1, 2), three = F32S(DIMS(3), 1, 2, 3),
              whole = ARRAY(LXLA_DTYPE_S32, int32_t, DIMS(2), 1, 2);
  REFUSED(lxla_layer_norm(x, (int64_t[1]){0}, 0, none, none, 0, &out), BAD, "axes: none given; want at least 1");
  REFUSED(lxla_layer_norm(x, DIMS(1), wide, none, 0, &out), BAD, "scale: it is f64[2]; x is f32[2,2], and wants f32");
  REFUSED(lxla_layer_norm(narrow, DIMS(0), none, wide, 0, &out), BAD,
          "offset: it is f64[2]; x is bf16[2], and wants bf16 or f32");
  REFUSED(lxla_layer_norm(x, DIMS(1), three, none, 0, &out), BAD,
          "scale: it is f32[3], which does not broadcast to x, f32[2,2]");
  REFUSED(lxla_layer_norm(flat, DIMS(0), x, none, 0, &out), BAD,
          "scale: it is f32[2,2], which does not broadcast to x, f32[2]");
  REFUSED(lxla_layer_norm(x, DIMS(1), none, none, -1, &out), BAD,
          "epsilon: -1 given; want a finite number, at least 0");
  REFUSED(lxla_layer_norm(x, DIMS(1), none, none, NAN, &out), BAD, "epsilon: NaN given");
  REFUSED(lxla_layer_norm(whole, DIMS(0), none, none, 0, &out), BAD, "x: layer_norm takes floats, not s32[2]");
  REFUSED(lxla_layer_norm(x, DIMS(1), (lxla_tensor){12345}, none, 0, &out), LXLA_INVALID_HANDLE, "scale");
  RELEASE(x, scale, offset, flat, nothing, narrow, wide, three, whole);
}

static lxla_tensor activated(int32_t op, lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_activation(op, x, &out));
  return out;
}

static void activations(void) {
  lxla_tensor x = F32S(DIMS(6), -INFINITY, -1, 0, 1, INFINITY, NAN), out = none;
  const float half = 0.841344746f;  // share of the normal distribution below 1
  NEAR_F32(activated(LXLA_ACTIVATION_RELU, x), DIMS(6), 0, 0, 0, 1, INFINITY, NAN);
  NEAR_F32(activated(LXLA_ACTIVATION_RELU6, x), DIMS(6), 0, 0, 0, 1, 6, NAN);
  NEAR_F32(activated(LXLA_ACTIVATION_GELU, x), DIMS(6), 0, -(1 - half), 0, half, INFINITY, NAN);
  NEAR_F32(activated(LXLA_ACTIVATION_GELU_TANH, x), DIMS(6), 0, -0.158808009f, 0, 0.841191991f, INFINITY, NAN);
  NEAR_F32(activated(LXLA_ACTIVATION_SILU, x), DIMS(6), 0, -0.268941421f, 0, 0.731058579f, INFINITY, NAN);
  NEAR_F32(activated(LXLA_ACTIVATION_ELU, x), DIMS(6), -1, -0.632120559f, 0, 1, INFINITY, NAN);
  NEAR_F32(activated(LXLA_ACTIVATION_SELU, x), DIMS(6), -1.75809934f, -1.11133074f, 0, 1.05070099f, INFINITY, NAN);
  NEAR_F32(activated(LXLA_ACTIVATION_SOFTPLUS, x), DIMS(6), 0, 0.313261688f, 0.693147181f, 1.31326169f, INFINITY, NAN);
  NEAR_F32(activated(LXLA_ACTIVATION_MISH, x), DIMS(6), 0, -0.303401461f, 0, 0.865098388f, INFINITY, NAN);
  NEAR_F32(activated(LXLA_ACTIVATION_LOG_SIGMOID, x), DIMS(6), -INFINITY, -1.31326169f, -0.693147181f, -0.313261688f, 0,
           NAN);
  NEAR_F32(activated(LXLA_ACTIVATION_HARD_SIGMOID, x), DIMS(6), 0, 1.f / 3, 0.5, 2.f / 3, 1, NAN);
  NEAR_F32(activated(LXLA_ACTIVATION_HARD_SWISH, x), DIMS(6), 0, -1.f / 3, 0, 2.f / 3, INFINITY, NAN);
  // Small results are not lost beside 1.
  lxla_tensor far = F32S(DIMS(2), -5, -10);
  NEAR_F32(activated(LXLA_ACTIVATION_GELU, far), DIMS(2), -1.43325786e-6f, -7.61985302e-23f);
  lxla_tensor whole = ARRAY(LXLA_DTYPE_S8, int8_t, DIMS(3), -128, 5, 127);
  int8_t got[3];
  out = activated(LXLA_ACTIVATION_RELU6, whole);
  OK(lxla_tensor_read(out, got, sizeof got));
  CHECK(got[0] == 0 && got[1] == 5 && got[2] == 6);
  RELEASE(out);
  lxla_tensor c = ARRAY(LXLA_DTYPE_C64, float, DIMS(1), 1, 2);
  REFUSED(lxla_activation(LXLA_ACTIVATION_GELU, whole, &out), BAD, "x: gelu takes floats, not s8[3]");
  REFUSED(lxla_activation(LXLA_ACTIVATION_RELU, c, &out), BAD, "x: relu takes integers and floats, not c64[1]");
  REFUSED(lxla_activation(13, x, &out), BAD, "op: 13 is not an LXLA_ACTIVATION_* constant (valid: 1 to 12)");
  RELEASE(x, far, whole, c);
}

TEST(softmax_and_log_softmax) { on_both(softmaxes); }
TEST(layer_norm) { on_both(layers); }
TEST(activations_at_their_limits) { on_both(activations); }

// Constants that do not change from step to step compile only once.
TEST(composed_operations_compile_once) {
  env = new_env();
  device = XLA(0);
  lxla_tensor x = F32S(DIMS(2, 3), 1, 2, 3, 4, 5, 6);
  for (int i = 0; i < 5; i++) {
    lxla_tensor y, z;
    OK(lxla_activation(LXLA_ACTIVATION_GELU, x, &y));
    OK(lxla_softmax(y, 1, &z));
    step(env);
    RELEASE(y, z);
  }
  EQUAL(counter(env, "UncachedCompile"), 1);
  RELEASE(x);
  OK(lxla_env_release(env));
}
