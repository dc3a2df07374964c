// Tensors made from values, constants, ranges and masks: on an XLA device and natively, with the same results and
// errors.
#include "both.h"

#include <float.h>

// Writes values of every dtype to the device and reads them back bit for bit, including NaN payloads and negative
// zeros.
static void every_dtype(void) {
  const size_t sizes[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2, 8, 16};
  unsigned char data[48], got[48];
  for (int32_t dtype = PRED; dtype <= C128; dtype++) {
    const size_t size = 3 * sizes[dtype];
    for (size_t i = 0; i < sizeof data; i++) data[i] = dtype == PRED ? i & 1 : (unsigned char)(i * 37 + 0x80);
    if (dtype == F32) memcpy(data, (uint32_t[]){0x7FC12345, 0x80000000, 0xFF800000}, 12);
    lxla_tensor t = array(dtype, DIMS(3), data, size);
    has_type(__FILE__, __LINE__, t, dtype, DIMS(3));
    OK(lxla_tensor_read(t, got, size));
    CHECK(memcmp(got, data, size) == 0);
    RELEASE(t);
  }
}

static void fulls_and_iotas(void) {
  lxla_tensor t;
  OK(lxla_tensor_full(env, device, BF16, DIMS(2), -1.5, &t));
  HAS(t, BF16, uint16_t, DIMS(2), 0xBFC0, 0xBFC0);
  OK(lxla_tensor_full(env, device, PRED, DIMS(2), 1, &t));
  HAS(t, PRED, uint8_t, DIMS(2), 1, 1);
  OK(lxla_tensor_full(env, device, S8, NULL, 0, -128, &t));
  HAS(t, S8, int8_t, SCALAR, -128);
  OK(lxla_tensor_full(env, device, F32, DIMS(1), INFINITY, &t));
  HAS_F32(t, DIMS(1), INFINITY);
  OK(lxla_tensor_full(env, device, C64, DIMS(1), 2, &t));
  HAS(t, C64, float, DIMS(1), 2, 0);
  OK(lxla_iota(env, device, S32, DIMS(2, 3), 1, &t));
  HAS(t, S32, int32_t, DIMS(2, 3), 0, 1, 2, 0, 1, 2);
  OK(lxla_iota(env, device, F32, DIMS(2, 2), -2, &t));
  HAS_F32(t, DIMS(2, 2), 0, 0, 1, 1);
  REFUSED(lxla_iota(env, device, PRED, DIMS(2), 0, &t), BAD, "pred given; iota takes all other dtypes");
  REFUSED(lxla_iota(env, device, F32, NULL, 0, 0, &t), BAD, "axis 0 is out of range for rank 0");
}

static void ranges(void) {
  lxla_tensor out = none;
  OK(lxla_arange(env, device, S32, -2, 5, 3, &out));
  HAS(out, S32, int32_t, DIMS(3), -2, 1, 4);
  OK(lxla_arange(env, device, LXLA_DTYPE_U8, 255, 0, -100, &out));
  HAS(out, LXLA_DTYPE_U8, uint8_t, DIMS(3), 255, 155, 55);
  OK(lxla_arange(env, device, F32, 1, 2, 0.25, &out));
  HAS_F32(out, DIMS(4), 1, 1.25, 1.5, 1.75);
  OK(lxla_arange(env, device, F32, 1, 0, 1, &out));
  EMPTY(out, F32, DIMS(0));
  // f16 has all integers up to 2048 only, so the numbers are computed in f32.
  OK(lxla_arange(env, device, LXLA_DTYPE_F16, 0, 4096, 2, &out));
  uint16_t halves[2048];
  OK(lxla_tensor_read(out, halves, sizeof halves));
  EQUAL(halves[2047], 0x6BFF);  // 4094
  RELEASE(out);
  REFUSED(lxla_arange(env, device, LXLA_DTYPE_S8, 0, 200, 1, &out), BAD,
          "start, stop, step: 199 cannot be represented in s8");
  REFUSED(lxla_arange(env, device, S32, 0.5, 3, 1, &out), BAD, "0.5 cannot be represented in s32");
  REFUSED(lxla_arange(env, device, F32, 0, 1, 0, &out), BAD, "and a step that is not 0");
  REFUSED(lxla_arange(env, device, F32, 0, INFINITY, 1, &out), BAD, "want finite numbers");
  REFUSED(lxla_arange(env, device, F32, 0, 1e300, 1e-300, &out), BAD,
          "they give inf elements, more than an address space has bytes");
  REFUSED(lxla_arange(env, device, LXLA_DTYPE_PRED, 0, 3, 1, &out), BAD, "2 cannot be represented in pred");
  OK(lxla_linspace(env, device, F32, 0, 1, 5, 1, &out));
  HAS_F32(out, DIMS(5), 0, 0.25, 0.5, 0.75, 1);
  OK(lxla_linspace(env, device, F32, 1, -1, 4, 0, &out));
  HAS_F32(out, DIMS(4), 1, 0.5, 0, -0.5);
  OK(lxla_linspace(env, device, F32, 3, 7, 1, 1, &out));
  HAS_F32(out, DIMS(1), 3);
  OK(lxla_linspace(env, device, F32, 3, 7, 0, 1, &out));
  EMPTY(out, F32, DIMS(0));
  // The last element is exactly the stop, whatever the rounded steps add up to.
  OK(lxla_linspace(env, device, F32, 0, 0.1, 50, 1, &out));
  float fifty[50];
  read_f32(out, fifty, 50);
  EQUAL(fifty[49], 0.1f);
  RELEASE(out);
  // The distance of start and stop is above the largest number. Those with few bits are exact.
  const double large = 0x1.8p127, larger = 0x1.8p1023;
  OK(lxla_linspace(env, device, F32, -large, large, 5, 1, &out));
  HAS_F32(out, DIMS(5), -0x1.8p127f, -0x1.8p126f, 0, 0x1.8p126f, 0x1.8p127f);
  OK(lxla_linspace(env, device, F32, large, -large, 4, 0, &out));
  HAS_F32(out, DIMS(4), 0x1.8p127f, 0x1.8p126f, 0, -0x1.8p126f);
  OK(lxla_linspace(env, device, F32, -FLT_MAX, FLT_MAX, 2, 1, &out));
  HAS_F32(out, DIMS(2), -FLT_MAX, FLT_MAX);
  OK(lxla_linspace(env, device, LXLA_DTYPE_F64, -larger, larger, 5, 1, &out));
  HAS(out, LXLA_DTYPE_F64, double, DIMS(5), -larger, -larger / 2, 0, larger / 2, larger);
  OK(lxla_linspace(env, device, LXLA_DTYPE_F64, DBL_MAX, -DBL_MAX, 2, 1, &out));
  HAS(out, LXLA_DTYPE_F64, double, DIMS(2), DBL_MAX, -DBL_MAX);
  OK(lxla_linspace(env, device, S32, 0, 10, 4, 1, &out));
  HAS(out, S32, int32_t, DIMS(4), 0, 3, 6, 10);
  REFUSED(lxla_linspace(env, device, F32, 0, NAN, 5, 1, &out), BAD, "want finite numbers");
  REFUSED(lxla_linspace(env, device, F32, 0, 1, -1, 1, &out), BAD, "count: -1 given; want 0 or more");
  REFUSED(lxla_linspace(env, device, F32, 0, 1, 5, 2, &out), BAD, "endpoint: 2 given; want 0 or 1");
  OK(lxla_eye(env, device, F32, 2, 3, 1, &out));
  HAS_F32(out, DIMS(2, 3), 0, 1, 0, 0, 0, 1);
  OK(lxla_eye(env, device, LXLA_DTYPE_PRED, 2, 2, -1, &out));
  HAS(out, LXLA_DTYPE_PRED, uint8_t, DIMS(2, 2), 0, 0, 1, 0);
  OK(lxla_eye(env, device, LXLA_DTYPE_S8, 1, 1, INT64_MIN, &out));
  HAS(out, LXLA_DTYPE_S8, int8_t, DIMS(1, 1), 0);
  REFUSED(lxla_eye(env, device, F32, -1, 1, 0, &out), BAD, "a dimension cannot be negative");
}

static void masks(void) {
  lxla_tensor x = F32S(DIMS(2, 3), 1, 2, 3, 4, 5, 6), row = F32S(DIMS(3), 1, 2, 3), out = none;
  lxla_tensor nan = ARRAY(F32, float, DIMS(2, 2), NAN, NAN, NAN, NAN),
              preds = ARRAY(LXLA_DTYPE_PRED, uint8_t, DIMS(2, 2), 1, 1, 1, 1);
  OK(lxla_tril(x, 0, &out));
  HAS_F32(out, DIMS(2, 3), 1, 0, 0, 4, 5, 0);
  OK(lxla_tril(x, 1, &out));
  HAS_F32(out, DIMS(2, 3), 1, 2, 0, 4, 5, 6);
  OK(lxla_tril(x, INT64_MIN, &out));
  HAS_F32(out, DIMS(2, 3), 0, 0, 0, 0, 0, 0);
  OK(lxla_triu(x, 0, &out));
  HAS_F32(out, DIMS(2, 3), 1, 2, 3, 0, 5, 6);
  OK(lxla_triu(x, INT64_MAX, &out));
  HAS_F32(out, DIMS(2, 3), 0, 0, 0, 0, 0, 0);
  OK(lxla_triu(preds, 1, &out));
  HAS(out, LXLA_DTYPE_PRED, uint8_t, DIMS(2, 2), 0, 1, 0, 0);
  OK(lxla_triu(nan, 2, &out));  // elements are selected, not multiplied by 0
  HAS_F32(out, DIMS(2, 2), 0, 0, 0, 0);
  REFUSED(lxla_tril(row, 0, &out), BAD, "x: tril takes matrices, of rank 2 and more, not f32[3]");
  lxla_tensor at = ARRAY(LXLA_DTYPE_S8, int8_t, DIMS(4), 0, 2, -1, 127),
              big = ARRAY(LXLA_DTYPE_U64, uint64_t, DIMS(2), UINT64_MAX, 1);
  OK(lxla_one_hot(at, 3, -1, F32, &out));
  HAS_F32(out, DIMS(4, 3), 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0);
  OK(lxla_one_hot(big, 2, 0, LXLA_DTYPE_PRED, &out));
  HAS(out, LXLA_DTYPE_PRED, uint8_t, DIMS(2, 2), 0, 0, 0, 1);
  // No index of the dtype is 255, and -1 does not stand for it.
  OK(lxla_one_hot(at, 256, 1, LXLA_DTYPE_U8, &out));
  uint8_t wide[4 * 256];
  OK(lxla_tensor_read(out, wide, sizeof wide));
  int ones = 0;
  for (size_t i = 0; i < sizeof wide; i++) ones += wide[i];
  EQUAL(ones, 3);
  EQUAL(wide[3 * 256 + 127], 1);
  RELEASE(out);
  OK(lxla_one_hot(at, 0, 0, F32, &out));
  EMPTY(out, F32, DIMS(0, 4));
  REFUSED(lxla_one_hot(x, 2, 0, F32, &out), BAD, "indices: one_hot takes integers, not f32[2,3]");
  REFUSED(lxla_one_hot(at, -1, 0, F32, &out), BAD, "depth: -1 given; want at least 0");
  REFUSED(lxla_one_hot(at, 3, 2, F32, &out), BAD, "axis 2 is out of range for rank 2");
  REFUSED(lxla_one_hot(at, 3, 0, 99, &out), BAD, "dtype: 99");
  RELEASE(x, row, nan, preds, at, big);
}

TEST(values_of_every_dtype_come_back) { on_both(every_dtype); }
TEST(full_and_iota) { on_both(fulls_and_iotas); }
TEST(arange_linspace_and_eye) { on_both(ranges); }
TEST(triangles_and_one_hot) { on_both(masks); }
