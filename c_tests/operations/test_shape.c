// Reshapes, slices, paddings and rearrangements of elements: on an XLA device and natively, with the same results and
// errors.
#include "both.h"

static void shapes(void) {
  lxla_tensor x = F32S(DIMS(2, 3), 1, 2, 3, 4, 5, 6), out;
  OK(lxla_reshape(x, DIMS(3, 2), &out));
  HAS_F32(out, DIMS(3, 2), 1, 2, 3, 4, 5, 6);
  OK(lxla_transpose(x, DIMS(1, 0), &out));
  HAS_F32(out, DIMS(3, 2), 1, 4, 2, 5, 3, 6);
  OK(lxla_transpose(x, DIMS(-1, -2), &out));
  HAS_F32(out, DIMS(3, 2), 1, 4, 2, 5, 3, 6);
  OK(lxla_broadcast_to(x, DIMS(2, 2, 3), &out));
  HAS_F32(out, DIMS(2, 2, 3), 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6);
  OK(lxla_slice(x, (int64_t[]){0, 0}, (int64_t[]){2, 3}, (int64_t[]){1, 2}, 2, &out));
  HAS_F32(out, DIMS(2, 2), 1, 3, 4, 6);
  OK(lxla_slice(x, (int64_t[]){0, 0}, (int64_t[]){2, 3}, (int64_t[]){INT64_MAX, 1}, 2, &out));
  HAS_F32(out, DIMS(1, 3), 1, 2, 3);
  OK(lxla_slice(x, (int64_t[]){1, 1}, (int64_t[]){2, 3}, NULL, 2, &out));
  HAS_F32(out, DIMS(1, 2), 5, 6);
  OK(lxla_slice(x, (int64_t[]){1, 1}, (int64_t[]){1, 3}, NULL, 2, &out));
  EMPTY(out, F32, DIMS(0, 2));
  lxla_tensor n = ARRAY(F64, double, DIMS(2), 7, 8), column;
  OK(lxla_reshape(n, DIMS(2, 1), &column));
  lxla_tensor list[] = {x, column, x};
  OK(lxla_concatenate(list, 3, -1, &out));
  HAS(out, F64, double, DIMS(2, 7), 1, 2, 3, 7, 1, 2, 3, 4, 5, 6, 8, 4, 5, 6);
  OK(lxla_concatenate(&x, 1, 0, &out));
  HAS_F32(out, DIMS(2, 3), 1, 2, 3, 4, 5, 6);
  RELEASE(x, n, column);
}

static void reverses(void) {
  lxla_tensor out = none, x = ARRAY(S16, int16_t, DIMS(2, 3), 1, 2, 3, 4, 5, 6);
  OK(lxla_reverse(x, DIMS(0), &out));
  HAS(out, S16, int16_t, DIMS(2, 3), 4, 5, 6, 1, 2, 3);
  OK(lxla_reverse(x, DIMS(-1), &out));
  HAS(out, S16, int16_t, DIMS(2, 3), 3, 2, 1, 6, 5, 4);
  OK(lxla_reverse(x, DIMS(1, -2), &out));
  HAS(out, S16, int16_t, DIMS(2, 3), 6, 5, 4, 3, 2, 1);
  OK(lxla_reverse(x, (int64_t[1]){0}, 0, &out));
  HAS(out, S16, int16_t, DIMS(2, 3), 1, 2, 3, 4, 5, 6);
  lxla_tensor yes = ARRAY(PRED, uint8_t, DIMS(3), 1, 0, 0), z = ARRAY(C128, double, DIMS(2), 1, 2, 3, 4);
  OK(lxla_reverse(yes, DIMS(0), &out));
  HAS(out, PRED, uint8_t, DIMS(3), 0, 0, 1);
  OK(lxla_reverse(z, DIMS(0), &out));
  HAS(out, C128, double, DIMS(2), 3, 4, 1, 2);
  lxla_tensor empty = array(F32, DIMS(0, 2), NULL, 0), cube;
  OK(lxla_reverse(empty, DIMS(0, 1), &out));
  EMPTY(out, F32, DIMS(0, 2));
  OK(lxla_iota(env, device, U8, DIMS(8), 0, &out));
  OK(lxla_reshape(out, DIMS(2, 2, 2), &cube));
  RELEASE(out);
  OK(lxla_reverse(cube, DIMS(0, 2), &out));
  HAS(out, U8, uint8_t, DIMS(2, 2, 2), 5, 4, 7, 6, 1, 0, 3, 2);
  REFUSED(lxla_reverse(x, DIMS(2), &out), LXLA_INVALID_ARGUMENT, "axes: axis 2 is out of range for rank 2");
  REFUSED(lxla_reverse(x, DIMS(1, -1), &out), LXLA_INVALID_ARGUMENT, "axes: axis -1 is given twice");
  REFUSED(lxla_reverse(x, NULL, 1, &out), LXLA_NULL_ARGUMENT, "axes");
  RELEASE(x, yes, z, empty, cube);
}

static void pads(void) {
  lxla_tensor x = ARRAY(F32, float, DIMS(2, 2), 1, 2, 3, 4), nine = at(F32, 9), out = none;
  OK(lxla_pad(x, nine, (int64_t[]){1, 0}, (int64_t[]){0, 1}, NULL, 2, &out));
  HAS_F32(out, DIMS(3, 3), 9, 9, 9, 1, 2, 9, 3, 4, 9);
  OK(lxla_pad(x, nine, (int64_t[]){0, -1}, (int64_t[]){-1, 2}, NULL, 2, &out));
  HAS_F32(out, DIMS(1, 3), 2, 9, 9);
  OK(lxla_pad(x, nine, (int64_t[]){0, 0}, (int64_t[]){0, 0}, (int64_t[]){1, 2}, 2, &out));
  HAS_F32(out, DIMS(3, 4), 1, 9, 9, 2, 9, 9, 9, 9, 3, 9, 9, 4);
  OK(lxla_pad(x, nine, (int64_t[]){0, -1}, (int64_t[]){0, -1}, (int64_t[]){0, 1}, 2, &out));
  HAS_F32(out, DIMS(2, 1), 9, 9);
  lxla_tensor empty = array(F32, DIMS(0), NULL, 0);
  OK(lxla_pad(empty, nine, (int64_t[]){1}, (int64_t[]){1}, (int64_t[]){5}, 1, &out));
  HAS_F32(out, DIMS(2), 9, 9);
  // A single element has nothing between; of an array that is removed whole, padding is left.
  lxla_tensor single = ARRAY(F32, float, DIMS(1), 5);
  OK(lxla_pad(single, nine, (int64_t[]){1}, (int64_t[]){0}, (int64_t[]){INT64_MAX}, 1, &out));
  HAS_F32(out, DIMS(2), 9, 5);
  OK(lxla_pad(single, nine, (int64_t[]){0}, (int64_t[]){0}, (int64_t[]){INT64_MAX}, 1, &out));
  HAS_F32(out, DIMS(1), 5);
  OK(lxla_pad(x, nine, (int64_t[]){INT64_MAX - 8, 0}, (int64_t[]){-INT64_MAX + 7, 0}, NULL, 2, &out));
  HAS_F32(out, DIMS(1, 2), 9, 9);
  RELEASE(single);
  lxla_tensor whole = at(S32, 1);
  REFUSED(lxla_pad(x, whole, (int64_t[]){0, 0}, (int64_t[]){0, 0}, NULL, 2, &out), LXLA_INVALID_ARGUMENT,
          "value: it is s32[]; x is f32[2,2], and wants f32[]");
  REFUSED(lxla_pad(x, nine, (int64_t[]){-3, 0}, (int64_t[]){0, 0}, NULL, 2, &out), LXLA_INVALID_ARGUMENT,
          "low, high: -3 and 0 on axis 0");
  REFUSED(lxla_pad(x, nine, (int64_t[]){0, 0}, (int64_t[]){0, 0}, (int64_t[]){0, -1}, 2, &out), LXLA_INVALID_ARGUMENT,
          "interior[1] is -1");
  REFUSED(lxla_pad(x, nine, (int64_t[]){0}, (int64_t[]){0}, NULL, 1, &out), LXLA_INVALID_ARGUMENT,
          "rank: 1 given; x is f32[2,2], of rank 2");
  REFUSED(lxla_pad(x, nine, (int64_t[]){INT64_MAX, 0}, (int64_t[]){0, 0}, NULL, 2, &out), LXLA_INVALID_ARGUMENT,
          "give an invalid size");
  RELEASE(x, nine, empty, whole);
}

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
  lxla_tensor a = counted(DIMS(2)), b = ARRAY(F32, float, DIMS(2), 10, 20), c = counted(DIMS(3)),
              x = counted(DIMS(2, 3)), out = none;
  lxla_tensor bytes = ARRAY(LXLA_DTYPE_S8, int8_t, DIMS(1), -1), shorts = ARRAY(LXLA_DTYPE_U8, uint8_t, DIMS(1), 200),
              parts[3];
  OK(lxla_stack((lxla_tensor[]){a, b}, 2, -1, &out));
  HAS_F32(out, DIMS(2, 2), 1, 10, 2, 20);
  OK(lxla_stack((lxla_tensor[]){a, b}, 2, 0, &out));
  HAS_F32(out, DIMS(2, 2), 1, 2, 10, 20);
  OK(lxla_stack((lxla_tensor[]){bytes, shorts}, 2, 0, &out));
  HAS(out, LXLA_DTYPE_S16, int16_t, DIMS(2, 1), -1, 200);
  REFUSED(lxla_stack(NULL, 0, 0, &out), BAD, "n: 0 tensors given; want at least 1");
  REFUSED(lxla_stack((lxla_tensor[]){a, c}, 2, 0, &out), BAD,
          "tensors[1] is f32[3] and tensors[0] is f32[2]; want one shape");
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
  REFUSED(lxla_split(x, (int64_t[]){1, 1}, 2, 1, parts), BAD,
          "sizes: [1, 1] for axis 1 of x, which is f32[2,3]; want 3 in all");
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
  REFUSED(lxla_slice_axis(x, 0, 0, 1, 0, &out), BAD, "step: 0 given; want a nonzero step");
  REFUSED(lxla_slice_axis(x, 1, 0, 1, 1, &out), BAD, "axis 1 is out of range for rank 1");
  RELEASE(x, y, nothing);
}

static void turns(void) {
  lxla_tensor x = counted(DIMS(2, 3)), nothing = array(F32, DIMS(0, 3), NULL, 0), out = none;
  lxla_tensor preds = ARRAY(LXLA_DTYPE_PRED, uint8_t, DIMS(3), 1, 0, 0),
              wide = ARRAY(LXLA_DTYPE_C128, double, DIMS(2), 1, 2, 3, 4);
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

TEST(shapes_change) { on_both(shapes); }
TEST(backwards) { on_both(reverses); }
TEST(padding) { on_both(pads); }
TEST(squeeze_and_expand_dims) { on_both(axes_of_size_1); }
TEST(stack_and_split) { on_both(stacks_and_parts); }
TEST(slice_axis_is_pythons) { on_both(slices_of_an_axis); }
TEST(flip_and_roll) { on_both(turns); }
TEST(tile_and_repeat) { on_both(copies); }
