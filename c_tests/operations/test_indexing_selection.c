// Selections: refused arguments, 8-bit floats, NaN and zeros. ops_indexing_selection.py compares values of all dtypes
// with NumPy.
#include "both.h"

#define TENSORS(...) (const lxla_tensor[]){__VA_ARGS__}, sizeof((lxla_tensor[]){__VA_ARGS__}) / sizeof(lxla_tensor)

static void refusals(void) {
  lxla_tensor x = F32S(DIMS(2, 3), 1, 2, 3, 4, 5, 6), p = at(F32, 1), i = ARRAY(S32, int32_t, DIMS(2), 0, 1), out[5];
  lxla_tensor mask = ARRAY(PRED, uint8_t, DIMS(2), 1, 0), three = ARRAY(S64, int64_t, DIMS(3), 0, 1, 2),
              word = at(S32, 1);
  REFUSED(lxla_nonzero(x, -1, 0, S32, out, 2, NULL), BAD, "size: -1 given");
  REFUSED(lxla_nonzero(x, 2, 0, S32, out, 1, NULL), BAD, "out_indices: 1 given; x has 2 axes");
  REFUSED(lxla_nonzero(p, 2, 0, S32, out, 0, NULL), BAD, "x: it is f32[]; want at least one axis");
  REFUSED(lxla_nonzero(x, 2, -1, U8, out, 2, NULL), BAD, "fill: -1 given; u8 cannot represent it");
  REFUSED(lxla_nonzero(x, 2, 0, F32, out, 2, NULL), BAD, "index_dtype: it is f32");
  REFUSED(lxla_nonzero(x, 2, 0, S32, NULL, 2, NULL), LXLA_NULL_ARGUMENT, "out_indices");
  REFUSED(lxla_nonzero(x, INT64_MAX, 0, S32, out, 2, NULL), BAD, "");
  REFUSED(lxla_mask_select(x, i, 2, p, S32, out, NULL), BAD, "mask: mask_select takes pred, not s32[2]");
  REFUSED(lxla_mask_select(i, x, 2, p, S32, out, NULL), BAD, "mask");
  REFUSED(lxla_mask_select(x, mask, 2, word, S32, out, NULL), BAD, "fill: it is s32[]; x is f32[2,3], and wants f32[]");
  REFUSED(lxla_mask_select(three, mask, 2, word, S32, out, NULL), BAD, "mask: it is pred[2]; x is s64[3]");
  REFUSED(lxla_index(x, TENSORS(i, i, i), out), BAD, "n_indices: 3 given; x is f32[2,3]");
  REFUSED(lxla_index(x, TENSORS(i, three), out), BAD, "indices[1]: it is s64[3]; those before are");
  REFUSED(lxla_index(x, TENSORS(none, mask), out), BAD, "indices[1]: indexing takes integers, not pred[2]");
  REFUSED(lxla_index_put(1, x, TENSORS(i), three, out), BAD, "values: they are s64[3]; want f32[2,3]");
  REFUSED(lxla_index_put(99, x, TENSORS(i), p, out), BAD, "op");
  REFUSED(lxla_slice_assign(x, (int64_t[]){0, 1}, (int64_t[]){2, 4}, NULL, 2, p, out), BAD, "[1, 4) on axis 1");
  REFUSED(lxla_slice_assign(x, (int64_t[]){0, 0}, (int64_t[]){2, 3}, NULL, 2, i, out), BAD,
          "values: they are s32[2]; want f32[2,3]");
  REFUSED(lxla_slice_assign(x, (int64_t[]){0}, (int64_t[]){2}, NULL, 1, p, out), BAD, "rank: 1 given");
  lxla_tensor empty;
  OK(lxla_tensor_full(env, device, F32, DIMS(0), 0, &empty));
  REFUSED(lxla_index(empty, TENSORS(i), out), BAD, "x: it is f32[0]; want at least 1 element on axis 0");
  RELEASE(x, p, i, mask, three, word, empty);
}
TEST(what_does_not_fit_is_named) { on_both(refusals); }

static void zeros_and_nan(void) {
  lxla_tensor x = F32S(DIMS(8), NAN, 1, -0.0f, 0, -NAN, 1e-42f, -1e-42f, 0), out;
  OK(lxla_nonzero(x, 6, 8, S8, &out, 1, NULL));
  HAS(out, S8, int8_t, DIMS(6), 0, 1, 4, 5, 6, 8);
  RELEASE(x);
}
TEST(nan_and_denormal_numbers_are_not_zero) { on_both(zeros_and_nan); }

// f8e5m2: 0x3C is 1, 0xBC is -1, 0x80 is -0, 0x7F is NaN. f8e8m0fnu has no zero: 0 is 2^-127, 255 is NaN.
static void eight_bits(void) {
  lxla_tensor x = ARRAY(LXLA_DTYPE_F8E5M2, uint8_t, DIMS(6), 0x7F, 0x3C, 0x80, 0xBC, 0, 0x3C), out[3];
  OK(lxla_nonzero(x, 5, -1, S32, out, 1, &out[1]));
  HAS(out[0], S32, int32_t, DIMS(5), 0, 1, 3, 5, -1);
  HAS(out[1], S32, int32_t, SCALAR, 4);
  lxla_tensor scales = ARRAY(LXLA_DTYPE_F8E8M0FNU, uint8_t, DIMS(4), 255, 0, 127, 0),
              fill = ARRAY(LXLA_DTYPE_F8E8M0FNU, uint8_t, SCALAR, 9);
  OK(lxla_nonzero(scales, 4, -1, S32, out, 1, NULL));
  HAS(out[0], S32, int32_t, DIMS(4), 0, 1, 2, 3);
  lxla_tensor mask = ARRAY(PRED, uint8_t, DIMS(4), 0, 1, 1, 0), i = ARRAY(S32, int32_t, DIMS(2), 3, -9);
  OK(lxla_mask_select(scales, mask, 3, fill, S32, out, NULL));
  HAS(out[0], LXLA_DTYPE_F8E8M0FNU, uint8_t, DIMS(3), 0, 127, 9);
  OK(lxla_index(scales, &i, 1, out));
  HAS(out[0], LXLA_DTYPE_F8E8M0FNU, uint8_t, DIMS(2), 0, 255);
  OK(lxla_index_put(1, scales, &i, 1, fill, out));
  HAS(out[0], LXLA_DTYPE_F8E8M0FNU, uint8_t, DIMS(4), 255, 0, 127, 9);
  OK(lxla_slice_assign(scales, (int64_t[]){0}, (int64_t[]){4}, (int64_t[]){2}, 1, fill, out));
  HAS(out[0], LXLA_DTYPE_F8E8M0FNU, uint8_t, DIMS(4), 9, 0, 9, 0);
  RELEASE(x, scales, fill, mask, i);
}
TEST(floats_of_8_bits) { on_both(eight_bits); }

// Indices far out of range, of dtypes wider than the axis needs.
static void far_away(void) {
  lxla_tensor x = F32S(DIMS(2, 2), 1, 2, 3, 4), one = at(F32, 10), out;
  lxla_tensor big = ARRAY(U64, uint64_t, DIMS(3), UINT64_MAX, 0, 1ull << 32),
              far = ARRAY(S64, int64_t, DIMS(3), INT64_MIN, 1, INT64_MAX);
  OK(lxla_index(x, TENSORS(big, far), &out));
  HAS_F32(out, DIMS(3), 3, 2, 4);
  OK(lxla_index_put(2, x, TENSORS(big, far), one, &out));
  HAS_F32(out, DIMS(2, 2), 1, 12, 3, 4);
  RELEASE(x, one, big, far);
}
TEST(indices_far_beyond_an_end) { on_both(far_away); }

// A mask that changes from step to step needs no new program.
TEST(a_mask_is_no_part_of_the_program) {
  env = new_env();
  device = XLA(0);
  lxla_tensor x = F32S(DIMS(4), 1, 2, 3, 4), zero = at(F32, 0), out;
  for (int n = 0; n < 4; n++) {
    lxla_tensor mask = ARRAY(PRED, uint8_t, DIMS(4), n > 0, n > 1, n > 2, n > 3);
    OK(lxla_mask_select(x, mask, 2, zero, S32, &out, NULL));
    HAS_F32(out, DIMS(2), n > 0 ? 1 : 0, n > 1 ? 2 : 0);
    RELEASE(mask);
  }
  CHECK(counter(env, "UncachedCompile") <= 2);
  uint64_t before = counter(env, "UncachedCompile");
  for (int64_t at = 0; at < 4; at++) {
    OK(lxla_slice_assign(x, (int64_t[]){at}, (int64_t[]){at + 1}, NULL, 1, zero, &out));
    HAS_F32(out, DIMS(4), at == 0 ? 0 : 1, at == 1 ? 0 : 2, at == 2 ? 0 : 3, at == 3 ? 0 : 4);
  }
  CHECK(counter(env, "UncachedCompile") - before <= 2);
  RELEASE(x, zero);
  OK(lxla_env_release(env));
}

// Selections in a computation traced on the device where it runs, also without a plugin.
static void traced(void) {
  lxla_tensor p, q, fill = at(F32, -1), made, count, total;
  OK(lxla_tensor_placeholder(env, device, F32, DIMS(4), &p));
  OK(lxla_compare_scalar(LXLA_COMPARE_GT, p, 2, &q));
  OK(lxla_mask_select(p, q, 3, fill, S32, &made, &count));
  OK(lxla_reduce(LXLA_REDUCE_SUM, made, (int64_t[]){0}, 1, 0, &total));
  lxla_computation c;
  OK(lxla_computation_trace(&p, 1, TENSORS(total, count), &c));
  lxla_tensor x = F32S(DIMS(4), 5, 1, 3, 2), r[2];
  OK(lxla_computation_call(c, &x, 1, r, 2));
  HAS(r[0], F32, float, SCALAR, 7);
  HAS(r[1], S32, int32_t, SCALAR, 2);
  OK(lxla_computation_release(c));
  RELEASE(p, q, fill, made, count, total, x);
}
TEST(selections_in_computations) { on_both(traced); }
