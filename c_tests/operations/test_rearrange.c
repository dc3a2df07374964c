// Rearrangements of elements, ranges of numbers, and scalars: on an XLA device and natively, with the same results and
// errors.
#include "both.h"

// Makes a tensor of 1, 2, 3, ... with this shape.
static lxla_tensor counted(const int64_t *dims, size_t rank) {
  float data[64];
  size_t n = 1;
  for (size_t i = 0; i < rank; i++) n *= (size_t)dims[i];
  for (size_t i = 0; i < n; i++) data[i] = (float)(i + 1);
  return array(F32, dims, rank, data, n * sizeof(float));
}

static void axes_of_size_1(void) {
  lxla_tensor x = counted(DIMS(1, 2, 1)), row = counted(DIMS(2)), scalar_one = counted(NULL, 0), out = none;
  OK(lxla_squeeze(x, NULL, 0, &out));
  HAS_F32(out, DIMS(2), 1, 2);
  OK(lxla_squeeze(x, DIMS(-1), &out));
  HAS_F32(out, DIMS(1, 2), 1, 2);
  REFUSED(lxla_squeeze(x, DIMS(1), &out), BAD, "axes: axis 1 of x, which is f32[1,2,1], is not of size 1");
  REFUSED(lxla_squeeze(x, DIMS(0, -3), &out), BAD, "axis -3 is given twice");
  REFUSED(lxla_squeeze(x, DIMS(3), &out), BAD, "axis 3 is out of range for rank 3");
  OK(lxla_expand_dims(row, DIMS(0, -1), &out));
  HAS_F32(out, DIMS(1, 2, 1), 1, 2);
  OK(lxla_expand_dims(scalar_one, DIMS(0), &out));
  HAS_F32(out, DIMS(1), 1);
  REFUSED(lxla_expand_dims(row, DIMS(2), &out), BAD, "axis 2 is out of range for rank 2");
  int64_t many[64];
  for (int i = 0; i < 64; i++) many[i] = i;
  REFUSED(lxla_expand_dims(row, many, 64, &out), BAD, "would be of rank 65; want at most 64");
  OK(lxla_expand_dims(row, many, 63, &out));
  RELEASE(x, row, scalar_one, out);
}

static void stacks_and_parts(void) {
  lxla_tensor a = counted(DIMS(2)), b = ARRAY(F32, float, DIMS(2), 10, 20), c = counted(DIMS(3)), x = counted(DIMS(2, 3)), out = none;
  lxla_tensor bytes = ARRAY(LXLA_DTYPE_S8, int8_t, DIMS(1), -1), shorts = ARRAY(LXLA_DTYPE_U8, uint8_t, DIMS(1), 200), parts[3];
  OK(lxla_stack((lxla_tensor[]){a, b}, 2, -1, &out));
  HAS_F32(out, DIMS(2, 2), 1, 10, 2, 20);
  OK(lxla_stack((lxla_tensor[]){a, b}, 2, 0, &out));
  HAS_F32(out, DIMS(2, 2), 1, 2, 10, 20);
  OK(lxla_stack((lxla_tensor[]){bytes, shorts}, 2, 0, &out));
  HAS(out, LXLA_DTYPE_S16, int16_t, DIMS(2, 1), -1, 200);
  REFUSED(lxla_stack(NULL, 0, 0, &out), BAD, "n: 0 tensors given; want at least 1");
  REFUSED(lxla_stack((lxla_tensor[]){a, c}, 2, 0, &out), BAD, "tensors[1] is f32[3] and tensors[0] is f32[2]; want one shape");
  REFUSED(lxla_stack((lxla_tensor[]){a, b}, 2, 2, &out), BAD, "axis 2 is out of range for rank 2");
  OK(lxla_split(x, (int64_t[]){1, 0, 2}, 3, -1, parts));
  HAS_F32(parts[0], DIMS(2, 1), 1, 4);
  EMPTY(parts[1], F32, DIMS(2, 0));
  HAS_F32(parts[2], DIMS(2, 2), 2, 3, 5, 6);
  OK(lxla_split(x, NULL, 2, 0, parts));
  HAS_F32(parts[0], DIMS(1, 3), 1, 2, 3);
  HAS_F32(parts[1], DIMS(1, 3), 4, 5, 6);
  OK(lxla_split(x, NULL, 1, 0, parts));
  HAS_F32(parts[0], DIMS(2, 3), 1, 2, 3, 4, 5, 6);
  REFUSED(lxla_split(x, NULL, 2, 1, parts), BAD, "n: axis 1 of x, which is f32[2,3], has no 2 equal parts");
  REFUSED(lxla_split(x, NULL, 0, 1, parts), BAD, "has no 0 equal parts");
  REFUSED(lxla_split(x, (int64_t[]){1, 1}, 2, 1, parts), BAD, "sizes: [1, 1] for axis 1 of x, which is f32[2,3]; want 3 in all");
  REFUSED(lxla_split(x, (int64_t[]){-1, 4}, 2, 1, parts), BAD, "sizes: [-1, 4]");
  REFUSED(lxla_split(x, NULL, 2, 0, NULL), LXLA_NULL_ARGUMENT, "out_tensors: it is NULL");
  RELEASE(a, b, c, x, bytes, shorts);
}

static void slices_of_an_axis(void) {
  lxla_tensor x = counted(DIMS(5)), y = counted(DIMS(2, 3)), nothing = array(F32, DIMS(0), NULL, 0), out = none;
  OK(lxla_slice_axis(x, 0, -2, INT64_MAX, 1, &out));
  HAS_F32(out, DIMS(2), 4, 5);
  OK(lxla_slice_axis(x, 0, 1, -1, 2, &out));
  HAS_F32(out, DIMS(2), 2, 4);
  OK(lxla_slice_axis(x, 0, -1, INT64_MIN, -1, &out));
  HAS_F32(out, DIMS(5), 5, 4, 3, 2, 1);
  OK(lxla_slice_axis(x, 0, 100, -100, -3, &out));
  HAS_F32(out, DIMS(2), 5, 2);
  OK(lxla_slice_axis(x, 0, 2, INT64_MIN, INT64_MIN, &out));
  HAS_F32(out, DIMS(1), 3);
  OK(lxla_slice_axis(x, 0, 3, 1, 1, &out));
  EMPTY(out, F32, DIMS(0));
  OK(lxla_slice_axis(y, -1, 0, 1, 1, &out));
  HAS_F32(out, DIMS(2, 1), 1, 4);
  OK(lxla_slice_axis(nothing, 0, -1, 1, 1, &out));
  EMPTY(out, F32, DIMS(0));
  REFUSED(lxla_slice_axis(x, 0, 0, 1, 0, &out), BAD, "step: 0 given; want another number");
  REFUSED(lxla_slice_axis(x, 1, 0, 1, 1, &out), BAD, "axis 1 is out of range for rank 1");
  RELEASE(x, y, nothing);
}

static void turns(void) {
  lxla_tensor x = counted(DIMS(2, 3)), nothing = array(F32, DIMS(0, 3), NULL, 0), out = none;
  lxla_tensor preds = ARRAY(LXLA_DTYPE_PRED, uint8_t, DIMS(3), 1, 0, 0), wide = ARRAY(LXLA_DTYPE_C128, double, DIMS(2), 1, 2, 3, 4);
  OK(lxla_flip(x, DIMS(-1), &out));
  HAS_F32(out, DIMS(2, 3), 3, 2, 1, 6, 5, 4);
  OK(lxla_flip(x, NULL, 0, &out));
  HAS_F32(out, DIMS(2, 3), 6, 5, 4, 3, 2, 1);
  OK(lxla_flip(preds, DIMS(0), &out));
  HAS(out, LXLA_DTYPE_PRED, uint8_t, DIMS(3), 0, 0, 1);
  OK(lxla_flip(wide, DIMS(0), &out));
  HAS(out, LXLA_DTYPE_C128, double, DIMS(2), 3, 4, 1, 2);
  OK(lxla_flip(nothing, NULL, 0, &out));
  EMPTY(out, F32, DIMS(0, 3));
  REFUSED(lxla_flip(x, DIMS(0, 0), &out), BAD, "axis 0 is given twice");
  OK(lxla_roll(x, (int64_t[]){1}, DIMS(-1), &out));
  HAS_F32(out, DIMS(2, 3), 3, 1, 2, 6, 4, 5);
  OK(lxla_roll(x, (int64_t[]){-1, 1}, DIMS(1, 0), &out));
  HAS_F32(out, DIMS(2, 3), 5, 6, 4, 2, 3, 1);
  OK(lxla_roll(x, (int64_t[]){2, 2}, DIMS(1, 1), &out));
  HAS_F32(out, DIMS(2, 3), 3, 1, 2, 6, 4, 5);
  OK(lxla_roll(x, (int64_t[]){INT64_MIN}, DIMS(1), &out));  // 2^63 backward equals 2 backward
  HAS_F32(out, DIMS(2, 3), 3, 1, 2, 6, 4, 5);
  OK(lxla_roll(nothing, (int64_t[]){1}, DIMS(0), &out));
  EMPTY(out, F32, DIMS(0, 3));
  REFUSED(lxla_roll(x, (int64_t[]){1}, DIMS(2), &out), BAD, "axis 2 is out of range for rank 2");
  RELEASE(x, nothing, preds, wide);
}

static void copies(void) {
  lxla_tensor x = counted(DIMS(1, 2)), scalar_one = counted(NULL, 0), out = none;
  OK(lxla_tile(x, (int64_t[]){2, 2}, 2, &out));
  HAS_F32(out, DIMS(2, 4), 1, 2, 1, 2, 1, 2, 1, 2);
  OK(lxla_tile(x, (int64_t[]){2, 1, 1}, 3, &out));
  HAS_F32(out, DIMS(2, 1, 2), 1, 2, 1, 2);
  OK(lxla_tile(x, (int64_t[]){2}, 1, &out));
  HAS_F32(out, DIMS(1, 4), 1, 2, 1, 2);
  OK(lxla_tile(x, NULL, 0, &out));
  HAS_F32(out, DIMS(1, 2), 1, 2);
  OK(lxla_tile(scalar_one, (int64_t[]){2}, 1, &out));
  HAS_F32(out, DIMS(2), 1, 1);
  OK(lxla_tile(x, (int64_t[]){0}, 1, &out));
  EMPTY(out, F32, DIMS(1, 0));
  REFUSED(lxla_tile(x, (int64_t[]){-1}, 1, &out), BAD, "repeats: -1 given; want at least 0");
  REFUSED(lxla_tile(x, (int64_t[]){INT64_MAX, INT64_MAX}, 2, &out), BAD, "are too many");
  OK(lxla_repeat(x, 2, -1, &out));
  HAS_F32(out, DIMS(1, 4), 1, 1, 2, 2);
  OK(lxla_repeat(x, 2, 0, &out));
  HAS_F32(out, DIMS(2, 2), 1, 2, 1, 2);
  OK(lxla_repeat(x, 0, 1, &out));
  EMPTY(out, F32, DIMS(1, 0));
  REFUSED(lxla_repeat(x, -1, 1, &out), BAD, "repeats: -1 given; want at least 0");
  REFUSED(lxla_repeat(x, INT64_MAX, 1, &out), BAD, "are too many");
  REFUSED(lxla_repeat(scalar_one, 2, 0, &out), BAD, "axis 0 is out of range for rank 0");
  RELEASE(x, scalar_one);
}

static void masks(void) {
  lxla_tensor x = counted(DIMS(2, 3)), row = counted(DIMS(3)), out = none;
  lxla_tensor nan = ARRAY(F32, float, DIMS(2, 2), NAN, NAN, NAN, NAN), preds = ARRAY(LXLA_DTYPE_PRED, uint8_t, DIMS(2, 2), 1, 1, 1, 1);
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
  lxla_tensor at = ARRAY(LXLA_DTYPE_S8, int8_t, DIMS(4), 0, 2, -1, 127), big = ARRAY(LXLA_DTYPE_U64, uint64_t, DIMS(2), UINT64_MAX, 1);
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
  REFUSED(lxla_arange(env, device, LXLA_DTYPE_S8, 0, 200, 1, &out), BAD, "start, stop, step: 199 cannot be represented in s8");
  REFUSED(lxla_arange(env, device, S32, 0.5, 3, 1, &out), BAD, "0.5 cannot be represented in s32");
  REFUSED(lxla_arange(env, device, F32, 0, 1, 0, &out), BAD, "and a step that is not 0");
  REFUSED(lxla_arange(env, device, F32, 0, INFINITY, 1, &out), BAD, "want finite numbers");
  REFUSED(lxla_arange(env, device, F32, 0, 1e300, 1e-300, &out), BAD, "they give inf elements, more than an address space has bytes");
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

static void scalars(void) {
  lxla_tensor x = ARRAY(F32, float, DIMS(3), 1, NAN, 3), big = ARRAY(LXLA_DTYPE_S64, int64_t, DIMS(2), INT64_MAX, INT64_MAX - 1), out = none;
  OK(lxla_compare_scalar(LXLA_COMPARE_GT, x, 2, &out));
  HAS(out, LXLA_DTYPE_PRED, uint8_t, DIMS(3), 0, 0, 1);
  lxla_scalar most = {LXLA_DTYPE_S64, 0, {.i = INT64_MAX}}, two = {LXLA_DTYPE_F64, 0, {.f = 2}};
  OK(lxla_compare_with_scalar(LXLA_COMPARE_LT, big, &most, 0, &out));
  HAS(out, LXLA_DTYPE_PRED, uint8_t, DIMS(2), 0, 1);
  OK(lxla_compare_with_scalar(LXLA_COMPARE_LT, big, &most, 1, &out));
  HAS(out, LXLA_DTYPE_PRED, uint8_t, DIMS(2), 0, 0);
  REFUSED(lxla_compare_scalar(LXLA_COMPARE_GT, big, 0.5, &out), BAD, "0.5 cannot be represented in s64");
  REFUSED(lxla_compare_scalar(7, x, 0.5, &out), BAD, "op: 7 is no LXLA_COMPARE_* constant (1 to 6)");
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

TEST(squeeze_and_expand_dims) { on_both(axes_of_size_1); }
TEST(stack_and_split) { on_both(stacks_and_parts); }
TEST(slice_axis_is_pythons) { on_both(slices_of_an_axis); }
TEST(flip_and_roll) { on_both(turns); }
TEST(tile_and_repeat) { on_both(copies); }
TEST(triangles_and_one_hot) { on_both(masks); }
TEST(arange_linspace_and_eye) { on_both(ranges); }
TEST(scalars_on_either_side_and_in_place) { on_both(scalars); }

TEST(dtypes_have_names) {
  CHECK(strcmp(lxla_dtype_name(LXLA_DTYPE_PRED), "pred") == 0);
  CHECK(strcmp(lxla_dtype_name(LXLA_DTYPE_BF16), "bf16") == 0);
  CHECK(strcmp(lxla_dtype_name(LXLA_DTYPE_C128), "c128") == 0);
  CHECK(strcmp(lxla_dtype_name(0), "unknown") == 0);
  CHECK(strcmp(lxla_dtype_name(99), "unknown") == 0);
}
