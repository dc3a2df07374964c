// Distinct elements and positions in sorted rows: refused arguments, 8-bit floats, NaN and zeros, and the order of
// complex numbers. ops_sorting_unique.py compares values of all dtypes with NumPy.
#include "both.h"

static void refusals(void) {
  lxla_tensor x = F32S(DIMS(2, 3), 1, 2, 3, 4, 5, 6), i = ARRAY(S32, int32_t, DIMS(2), 0, 1), word = at(S32, 1), out[5];
  lxla_tensor empty = array(F32, DIMS(0), NULL, 0);
  REFUSED(lxla_unique(x, 2, word, S32, out, NULL, NULL, NULL, NULL), BAD, "fill: it is s32[]");
  REFUSED(lxla_unique(x, 2, none, S32, NULL, NULL, NULL, NULL, NULL), LXLA_NULL_ARGUMENT, "out_values");
  REFUSED(lxla_searchsorted(x, i, 0, S32, out), BAD, "values: they are s32[2], and sorted is f32[2,3]; want the same");
  REFUSED(lxla_searchsorted(word, i, 0, S32, out), BAD, "sorted: it is s32[]; want at least one axis");
  REFUSED(lxla_searchsorted(i, i, 2, S32, out), BAD, "right: 2 given");
  REFUSED(lxla_unique(empty, 1, none, S32, out, NULL, NULL, NULL, NULL), BAD, "fill: none given; x is f32[0]");
  RELEASE(x, i, word, empty);
}
TEST(what_does_not_fit_is_named) { on_both(refusals); }

static void zeros_and_nan(void) {
  lxla_tensor x = F32S(DIMS(8), NAN, 1, -0.0f, 0, -NAN, 1e-42f, -1e-42f, 0), out[5];
  OK(lxla_unique(x, 7, none, S32, &out[0], &out[1], &out[2], &out[3], &out[4]));
  HAS_F32(out[0], DIMS(7), -1e-42f, -0.0f, 1e-42f, 1, NAN, -1e-42f, -1e-42f);
  HAS(out[1], S32, int32_t, DIMS(7), 6, 2, 5, 1, 0, 6, 6);
  HAS(out[2], S32, int32_t, DIMS(8), 4, 3, 1, 1, 4, 2, 0, 1);
  HAS(out[3], S32, int32_t, DIMS(7), 1, 3, 1, 1, 2, 0, 0);
  HAS(out[4], S32, int32_t, SCALAR, 5);
  lxla_tensor row = F32S(DIMS(5), -INFINITY, -1e-42f, 0, INFINITY, NAN);
  OK(lxla_searchsorted(row, x, 0, S32, out));
  HAS(out[0], S32, int32_t, DIMS(8), 4, 3, 2, 2, 4, 3, 1, 2);
  OK(lxla_searchsorted(row, x, 1, S32, out));
  HAS(out[0], S32, int32_t, DIMS(8), 5, 3, 3, 3, 5, 3, 2, 3);
  RELEASE(x, row);
}
TEST(nan_zeros_and_denormal_numbers_are_told_apart_as_they_should_be) { on_both(zeros_and_nan); }

// Orders complex numbers by their real parts, then by their imaginary ones; NaN in either part counts as NaN.
static void complexes(void) {
  lxla_tensor x = ARRAY(C64, float, DIMS(7), 1, 2, NAN, 0, 1, -2, -0.0f, 5, 0, NAN, 1, 2, 0, 5), out[2];
  OK(lxla_unique(x, 4, none, S32, &out[0], NULL, &out[1], NULL, NULL));
  HAS(out[0], C64, float, DIMS(4), -0.0f, 5, 1, -2, 1, 2, NAN, 0);
  HAS(out[1], S32, int32_t, DIMS(7), 2, 3, 1, 0, 3, 2, 0);
  RELEASE(x);
}
TEST(complex_numbers_have_an_order_here) { on_both(complexes); }

// f8e5m2: 0x3C is 1, 0xBC is -1, 0x80 is -0, 0x7F is NaN. f8e8m0fnu has no zero: 0 is 2^-127, 255 is NaN.
static void eight_bits(void) {
  lxla_tensor x = ARRAY(LXLA_DTYPE_F8E5M2, uint8_t, DIMS(6), 0x7F, 0x3C, 0x80, 0xBC, 0, 0x3C), out[2];
  OK(lxla_unique(x, 4, none, S32, &out[0], NULL, NULL, &out[1], NULL));
  HAS(out[0], LXLA_DTYPE_F8E5M2, uint8_t, DIMS(4), 0xBC, 0x80, 0x3C, 0x7F);
  HAS(out[1], S32, int32_t, DIMS(4), 1, 2, 2, 1);
  lxla_tensor scales = ARRAY(LXLA_DTYPE_F8E8M0FNU, uint8_t, DIMS(4), 255, 0, 127, 0),
              fill = ARRAY(LXLA_DTYPE_F8E8M0FNU, uint8_t, SCALAR, 9);
  OK(lxla_unique(scales, 4, fill, S32, out, NULL, NULL, NULL, NULL));
  HAS(out[0], LXLA_DTYPE_F8E8M0FNU, uint8_t, DIMS(4), 0, 127, 255, 9);
  RELEASE(x, scales, fill);
}
TEST(floats_of_8_bits) { on_both(eight_bits); }
