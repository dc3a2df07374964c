// Bits of elements: bitcasts and reduced precision. On an XLA device and natively, with the same results and errors.
#include "both.h"

static void bitcasts(void) {
  lxla_tensor out = none;
  lxla_tensor f = ARRAY(F32, float, DIMS(3), 1, -0.0f, NAN);
  OK(lxla_bitcast_convert(f, U32, &out));
  HAS(out, U32, uint32_t, DIMS(3), 0x3F800000, 0x80000000, 0x7FC00000);
  OK(lxla_bitcast_convert(f, BF16, &out));  // the first element takes the low bits
  HAS(out, BF16, uint16_t, DIMS(3, 2), 0, 0x3F80, 0, 0x8000, 0, 0x7FC0);
  OK(lxla_bitcast_convert(f, S8, &out));
  HAS(out, S8, uint8_t, DIMS(3, 4), 0, 0, 0x80, 0x3F, 0, 0, 0, 0x80, 0, 0, 0xC0, 0x7F);
  OK(lxla_bitcast_convert(f, F32, &out));
  HAS(out, F32, uint32_t, DIMS(3), 0x3F800000, 0x80000000, 0x7FC00000);
  // A signalling NaN and a denormal number keep their bits.
  lxla_tensor u = ARRAY(U16, uint16_t, DIMS(1, 4), 1, 0, 0x0001, 0x7FF0);
  OK(lxla_bitcast_convert(u, F64, &out));
  HAS(out, F64, uint64_t, DIMS(1), 0x7FF0000100000001);
  lxla_tensor pairs;
  OK(lxla_reshape(u, DIMS(2, 2), &pairs));
  OK(lxla_bitcast_convert(pairs, F32, &out));
  HAS(out, F32, uint32_t, DIMS(2), 0x00000001, 0x7FF00001);
  lxla_tensor empty = array(S64, DIMS(2, 0), NULL, 0);
  OK(lxla_bitcast_convert(empty, U32, &out));
  EMPTY(out, U32, DIMS(2, 0, 2));

  lxla_tensor yes = ARRAY(PRED, uint8_t, DIMS(8), 1, 1, 0, 0, 0, 0, 0, 0), z = ARRAY(C64, double, SCALAR, 0);
  REFUSED(lxla_bitcast_convert(f, F64, &out), LXLA_INVALID_ARGUMENT,
          "x: it is f32[3]; want a last axis of size 2, whose elements make up one f64");
  REFUSED(lxla_bitcast_convert(yes, U8, &out), LXLA_INVALID_ARGUMENT, "x: pred[8] to u8; want integers and floats");
  REFUSED(lxla_bitcast_convert(f, PRED, &out), LXLA_INVALID_ARGUMENT, "dtype: f32[3] to pred");
  REFUSED(lxla_bitcast_convert(z, PRED, &out), LXLA_INVALID_ARGUMENT, "dtype: c64[] to pred");
  REFUSED(lxla_bitcast_convert(z, C128, &out), LXLA_INVALID_ARGUMENT, "x: it is c64[]; 2 make one c128");
  REFUSED(lxla_bitcast_convert(f, 99, &out), LXLA_INVALID_ARGUMENT, "dtype: 99");
  OK(lxla_bitcast_convert(yes, PRED, &out));
  HAS(out, PRED, uint8_t, DIMS(8), 1, 1, 0, 0, 0, 0, 0, 0);
  RELEASE(f, u, pairs, empty, yes, z);
}

static lxla_tensor bits_as(lxla_tensor x, int32_t dtype) {
  lxla_tensor out;
  OK(lxla_bitcast_convert(x, dtype, &out));
  return out;
}

// Bitcasts of bitcasts: XLA's simplifier would merge two into one of the wrong shape. The first results are used, too.
static void bitcasts_of_bitcasts(void) {
  const uint64_t number = 0x0008000700060005u;
  lxla_tensor one = ARRAY(U64, uint64_t, SCALAR, number), two = ARRAY(U16, uint16_t, DIMS(2, 2), 5, 6, 7, 8);
  lxla_tensor words = bits_as(one, U32), halves = bits_as(words, U16), back = bits_as(words, U64),
              bytes = bits_as(halves, U8);
  HAS(words, U32, uint32_t, DIMS(2), 0x00060005, 0x00080007);
  HAS(halves, U16, uint16_t, DIMS(2, 2), 5, 6, 7, 8);
  HAS(back, U64, uint64_t, SCALAR, number);
  HAS(bytes, U8, uint8_t, DIMS(2, 2, 2), 5, 0, 6, 0, 7, 0, 8, 0);
  lxla_tensor wide = bits_as(two, U32), widest = bits_as(wide, S64), same = bits_as(wide, F32),
              again = bits_as(same, U16);
  HAS(widest, S64, uint64_t, SCALAR, number);
  HAS(again, U16, uint16_t, DIMS(2, 2), 5, 6, 7, 8);
  REFUSED(lxla_bitcast_convert(same, U64, NULL), LXLA_NULL_ARGUMENT, "out_tensor");
  RELEASE(one, two, wide, same);
}

static void precisions(void) {
  lxla_tensor out = none;
  lxla_tensor x =
      ARRAY(F32, float, DIMS(8), 1 + 1.0f / 256, 1 + 3.0f / 256, 65520, 6.2e-5f, 6e-5f, -1e-40f, -INFINITY, NAN);
  // The format of f16: ties go to even, 65520 overflows, and numbers below the least normal one become 0.
  OK(lxla_reduce_precision(x, 5, 7, &out));
  HAS(out, F32, uint32_t, DIMS(8), 0x3F800000, 0x3F820000, 0x7F800000, 0x38820000, 0, 0x80000000, 0xFF800000,
      0x7FC00000);
  // One exponent bit: only 1 is kept, and larger numbers become infinite.
  OK(lxla_reduce_precision(x, 1, 0, &out));
  HAS(out, F32, uint32_t, DIMS(8), 0, 0, 0x7F800000, 0, 0, 0x80000000, 0xFF800000, 0x7FC00000);
  // More bits than the dtype has.
  OK(lxla_reduce_precision(x, 11, 52, &out));
  HAS(out, F32, float, DIMS(8), 1 + 1.0f / 256, 1 + 3.0f / 256, 65520, 6.2e-5f, 6e-5f, -1e-40f, -INFINITY, NAN);
  lxla_tensor half = ARRAY(F16, uint16_t, DIMS(4), 0x3C01, 0x7BFF, 0x8001, 0x7E00),
              brain = ARRAY(BF16, uint16_t, DIMS(3), 0x3F81, 0x7F7F, 0x0001);
  OK(lxla_reduce_precision(half, 5, 2, &out));
  HAS(out, F16, uint16_t, DIMS(4), 0x3C00, 0x7C00, 0x8000, 0x7E00);
  OK(lxla_reduce_precision(brain, 8, 3, &out));
  HAS(out, BF16, uint16_t, DIMS(3), 0x3F80, 0x7F80, 0);
  lxla_tensor wide = ARRAY(F64, double, DIMS(3), 1 + 0x1p-24, 1 + 0x1.8p-23, 1e39);
  OK(lxla_reduce_precision(wide, 8, 23, &out));
  HAS(out, F64, double, DIMS(3), 1, 1 + 0x1p-22, INFINITY);

  lxla_tensor whole = ARRAY(S32, int32_t, SCALAR, 1);
  REFUSED(lxla_reduce_precision(whole, 5, 10, &out), LXLA_INVALID_ARGUMENT,
          "x: reduce_precision takes floats, not s32[]");
  REFUSED(lxla_reduce_precision(x, 0, 10, &out), LXLA_INVALID_ARGUMENT, "exponent_bits: 0 given; want at least 1");
  REFUSED(lxla_reduce_precision(x, 5, -1, &out), LXLA_INVALID_ARGUMENT, "mantissa_bits: -1 given; want at least 0");
  RELEASE(x, half, brain, wide, whole);
}

TEST(bits_as_other_elements) { on_both(bitcasts); }
TEST(bits_of_bits) { on_both(bitcasts_of_bitcasts); }
TEST(fewer_bits) { on_both(precisions); }
