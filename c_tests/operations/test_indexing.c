// Slices at computed positions, and take: on an XLA device and natively, with the same results and errors.
#include "both.h"

static void dynamic_slices(void) {
  lxla_tensor x = ARRAY(F32, float, DIMS(2, 3), 1, 2, 3, 4, 5, 6), part = ARRAY(F32, float, DIMS(1, 2), 8, 9),
              out = none;
  // Starts out of range at either end are clamped.
  const int64_t starts[][2] = {{0, 0}, {1, 1}, {-5, 100}};
  const float slices[][2] = {{1, 2}, {5, 6}, {2, 3}};
  for (int i = 0; i < 3; i++) {
    lxla_tensor s[] = {at(S32, starts[i][0]), at(S32, starts[i][1])};
    OK(lxla_dynamic_slice(x, s, (int64_t[]){1, 2}, 2, &out));
    HAS_F32(out, DIMS(1, 2), slices[i][0], slices[i][1]);
    float want[6] = {1, 2, 3, 4, 5, 6};
    int row = i == 1, column = i == 0 ? 0 : 1;
    want[row * 3 + column] = 8;
    want[row * 3 + column + 1] = 9;
    OK(lxla_dynamic_update_slice(x, part, s, 2, &out));
    HAS_ARRAY(out, F32, DIMS(2, 3), want);
    RELEASE(s[0], s[1]);
  }
  // 2^64 - 2^11 is out of range at the end, not negative, also where XLA folds constants.
  lxla_tensor far[] = {at(LXLA_DTYPE_U64, 0), none};
  OK(lxla_tensor_full(env, device, LXLA_DTYPE_U64, NULL, 0, 18446744073709549568.0, &far[1]));
  OK(lxla_dynamic_slice(x, far, (int64_t[]){1, 2}, 2, &out));
  HAS_F32(out, DIMS(1, 2), 2, 3);
  OK(lxla_dynamic_update_slice(x, part, far, 2, &out));
  HAS_F32(out, DIMS(2, 3), 1, 8, 9, 4, 5, 6);
  RELEASE(far[0], far[1]);
  lxla_tensor zero = at(S32, 0), s[] = {zero, zero}, wide = at(LXLA_DTYPE_S64, 0), mixed[] = {zero, wide},
              wrong[] = {x, x};
  lxla_tensor three = ARRAY(F32, float, DIMS(3, 1), 1, 2, 3), whole = ARRAY(S32, int32_t, DIMS(1, 1), 1);
  REFUSED(lxla_dynamic_slice(x, s, (int64_t[]){3, 1}, 2, &out), LXLA_INVALID_ARGUMENT, "sizes[0] is 3; x is f32[2,3]");
  REFUSED(lxla_dynamic_slice(x, s, (int64_t[]){1}, 1, &out), LXLA_INVALID_ARGUMENT,
          "starts: 1 given for x, which is f32[2,3]");
  REFUSED(lxla_dynamic_slice(x, mixed, (int64_t[]){1, 1}, 2, &out), LXLA_INVALID_ARGUMENT,
          "starts[1] is s64, starts[0] is s32");
  REFUSED(lxla_dynamic_slice(x, wrong, (int64_t[]){1, 1}, 2, &out), LXLA_INVALID_ARGUMENT,
          "starts[0] is f32[2,3]; want an integer scalar");
  REFUSED(lxla_dynamic_update_slice(x, three, s, 2, &out), LXLA_INVALID_ARGUMENT,
          "update: it is f32[3,1]; x is f32[2,3]");
  REFUSED(lxla_dynamic_update_slice(x, whole, s, 2, &out), LXLA_INVALID_ARGUMENT, "update: it is s32[1,1]");
  // A slice of the whole array, whatever its start.
  OK(lxla_dynamic_slice(x, s, (int64_t[]){2, 3}, 2, &out));
  HAS_F32(out, DIMS(2, 3), 1, 2, 3, 4, 5, 6);
  RELEASE(x, part, zero, wide, three, whole);
}

static void takes(void) {
  lxla_tensor x = ARRAY(F32, float, DIMS(2, 3), 1, 2, 3, 4, 5, 6), out = none;
  lxla_tensor signed_at = ARRAY(S32, int32_t, DIMS(2, 2), 0, -1, 2, 99),
              low = ARRAY(LXLA_DTYPE_S8, int8_t, DIMS(1), -100);
  lxla_tensor unsigned_at = ARRAY(LXLA_DTYPE_U8, uint8_t, DIMS(3), 0, 1, 200), last = at(LXLA_DTYPE_S64, -1);
  OK(lxla_take(x, signed_at, 1, &out));
  HAS_F32(out, DIMS(2, 2, 2), 1, 3, 3, 3, 4, 6, 6, 6);
  OK(lxla_take(x, low, -1, &out));
  HAS_F32(out, DIMS(2, 1), 1, 4);
  OK(lxla_take(x, unsigned_at, 0, &out));
  HAS_F32(out, DIMS(3, 3), 1, 2, 3, 4, 5, 6, 4, 5, 6);
  OK(lxla_take(x, last, 0, &out));
  HAS_F32(out, DIMS(3), 4, 5, 6);
  lxla_tensor none_at = array(S32, DIMS(0), NULL, 0), empty = array(F32, DIMS(0, 3), NULL, 0);
  OK(lxla_take(x, none_at, 0, &out));
  EMPTY(out, F32, DIMS(0, 3));
  OK(lxla_take(empty, none_at, 0, &out));
  EMPTY(out, F32, DIMS(0, 3));
  REFUSED(lxla_take(empty, last, 0, &out), LXLA_INVALID_ARGUMENT,
          "x: it is f32[0,3]; want at least 1 element on axis 0");
  REFUSED(lxla_take(x, x, 0, &out), LXLA_INVALID_ARGUMENT, "indices: they are f32[2,3]; want integers");
  REFUSED(lxla_take(x, last, 2, &out), LXLA_INVALID_ARGUMENT, "axis 2 is out of range for rank 2");
  RELEASE(x, signed_at, low, unsigned_at, last, none_at, empty);
}

// Starts and indices that the dtype can hold, in an axis that is longer than the dtype can count.
static void narrow_indices(void) {
  static const int32_t dtypes[] = {S8, U8, S16, U16};
  static const int64_t largest[] = {127, 255, 32767, 65535};
  for (int i = 0; i < 4; i++) {
    // A slice that is longer than `largest`, also measured from the end.
    const int64_t limit = largest[i], n = 2 * limit + 90, half = limit + 45, start = 44;
    float *x = calloc((size_t)n, sizeof *x), *want = calloc((size_t)n, sizeof *want),
          *part = malloc((size_t)half * sizeof *part);
    for (int64_t j = 0; j < half; j++) part[j] = want[start + j] = (float)(j + 1);
    const lxla_tensor zeros = array(F32, DIMS(n), x, (size_t)n * sizeof *x), s = at(dtypes[i], (double)start);
    const lxla_tensor update = array(F32, DIMS(half), part, (size_t)half * sizeof *part);
    lxla_tensor out = none, slice;
    OK(lxla_dynamic_update_slice(zeros, update, &s, 1, &out));
    OK(lxla_dynamic_slice(out, &s, (int64_t[]){half}, 1, &slice));
    has(__FILE__, __LINE__, out, F32, DIMS(n), want, (size_t)n * sizeof *want);
    has(__FILE__, __LINE__, slice, F32, DIMS(half), part, (size_t)half * sizeof *part);
    // One index.
    memset(want, 0, (size_t)n * sizeof *want);
    want[100] = 5;
    lxla_tensor hundred = at(dtypes[i], 100), index, five = F32S(DIMS(1), 5);
    OK(lxla_reshape(hundred, (int64_t[]){1}, 1, &index));
    lxla_tensor made[4];
    OK(lxla_index_add(zeros, 0, index, five, &made[0]));
    OK(lxla_index_copy(zeros, 0, index, five, &made[1]));
    OK(lxla_scatter_along(LXLA_SCATTER_SUM, zeros, index, five, 0, &made[2]));
    OK(lxla_index_put(LXLA_SCATTER_COPY, zeros, &index, 1, five, &made[3]));
    for (int j = 0; j < 4; j++) has(__FILE__, __LINE__, made[j], F32, DIMS(n), want, (size_t)n * sizeof *want);
    RELEASE(zeros, s, update, hundred, index, five);
    free(x), free(want), free(part);
  }
}

TEST(narrow_indices_of_long_axes) { on_both(narrow_indices); }
TEST(slices_at_computed_places) { on_both(dynamic_slices); }
TEST(take_along_an_axis) { on_both(takes); }
