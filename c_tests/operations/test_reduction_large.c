// Reductions of arrays that are large enough for XLA's CPU backend to hand them to a library: NaN in maxima and minima,
// and windows with padding, strides and dilation. Lazy and native.
#include "combiners.h"

enum { SIDE = 200, NAN_AT = 61 * SIDE + 7 };

// Returns an array of f32 with one NaN.
static lxla_tensor with_nan(void) {
  float *values = malloc(SIDE * SIDE * sizeof *values);
  for (int i = 0; i < SIDE * SIDE; i++) values[i] = i == NAN_AT ? NAN : (float)(i % 7);
  lxla_tensor x = array(F32, DIMS(SIDE, SIDE), values, SIDE * SIDE * sizeof *values);
  free(values);
  return x;
}

// A stride, padding or dilation (by the window or by a pad) along an axis with windows of one element, beside windows
// as large as their strides; more than a few thousand elements.
static void windows_of_one_element(void) {
  enum { A = 3, B = 100, C = 200, COLUMNS = 67, WIDTH = 3, MOST_ROWS = 2 * B - 1 };
  static const struct {
    int64_t stride, low, dilation, rows;
    int pads;
  } along_b[] = {
      {3, 0, 1, 34, 0}, {3, 1, 1, 34, 0}, {1, 1, 1, B + 1, 0}, {1, 0, 2, MOST_ROWS, 0}, {1, 0, 2, MOST_ROWS, 1}};
  float *values = malloc(A * B * C * sizeof *values), *got = malloc(A * MOST_ROWS * COLUMNS * sizeof *got);
  for (int i = 0; i < A * B * C; i++) values[i] = (float)(i * 7919 % 10007);
  lxla_tensor x = array(F32, DIMS(A, B, C), values, A * B * C * sizeof *values), low = at(F32, -INFINITY), out;
  lxla_computation most = of_two(LXLA_BINARY_MAXIMUM, F32);
  for (size_t k = 0; k < sizeof along_b / sizeof *along_b; k++) {
    const int rows = (int)along_b[k].rows;
    lxla_window_options w = window(3, (int64_t[]){1, 1, WIDTH});
    w.strides = (int64_t[]){1, along_b[k].stride, WIDTH};
    w.low = (int64_t[]){0, along_b[k].low, 1};
    w.base_dilations = (int64_t[]){1, along_b[k].pads ? 1 : along_b[k].dilation, 1};
    lxla_tensor padded;
    const int64_t none[] = {0, 0, 0};
    OK(lxla_pad(x, low, none, none, (int64_t[]){0, along_b[k].pads ? along_b[k].dilation - 1 : 0, 0}, 3, &padded));
    OK(lxla_reduce_window(most, &padded, &low, 1, &w, &out));
    OK(lxla_tensor_read(out, got, (size_t)(A * rows * COLUMNS) * sizeof *got));
    for (int i = 0; i < A * rows * COLUMNS; i++) {
      // The row of the padded and dilated array, which is an element or not.
      const int64_t row = i / COLUMNS % rows * along_b[k].stride - along_b[k].low;
      float largest = -INFINITY;
      for (int j = 0; j < WIDTH && row >= 0 && row % along_b[k].dilation == 0; j++) {
        const int column = i % COLUMNS * WIDTH + j - 1;
        const float *line = values + (i / (rows * COLUMNS) * B + row / along_b[k].dilation) * C;
        if (column >= 0 && line[column] > largest) largest = line[column];
      }
      EQUAL(got[i], largest);
    }
    RELEASE(padded, out);
  }
  free(values);
  free(got);
  DONE(most);
  RELEASE(x, low);
}

// Padding of an axis of one element: windows beside the element, by the window's padding and by a pad of 0.
static void beside_one_element(int columns) {
  enum { WIDTH = 4, MOST_ROWS = 3 };
  static const struct {
    int64_t size, low, high, rows, at;  // of windows; where the element is, or -1
  } along_a[] = {{2, 0, 3, 2, 0},  {1, 0, 1, 2, 0}, {1, 2, 0, 3, 2}, {2, 3, 0, 2, 1},
                 {2, 2, 0, 1, -1}, {2, 0, 2, 1, 0}, {2, 1, 1, 1, 0}};
  float *got = malloc((size_t)(MOST_ROWS * columns / WIDTH) * sizeof *got);
  lxla_tensor x, start = at(F32, 0), out;
  OK(lxla_tensor_full(env, device, F32, DIMS(1, columns), 1.5, &x));
  lxla_computation sum = of_two(LXLA_BINARY_ADD, F32);
  for (size_t k = 0; k < 2 * sizeof along_a / sizeof *along_a; k++) {
    const int pads = k % 2;
    const int64_t size = along_a[k / 2].size, low = along_a[k / 2].low, high = along_a[k / 2].high;
    const int rows = (int)along_a[k / 2].rows;
    lxla_tensor padded;
    OK(lxla_pad(x, start, (int64_t[]){pads ? low : 0, 0}, (int64_t[]){pads ? high : 0, 0}, (int64_t[]){0, 0}, 2,
                &padded));
    lxla_window_options w = window(2, (int64_t[]){size, WIDTH});
    w.strides = (int64_t[]){size, WIDTH};
    w.low = (int64_t[]){pads ? 0 : low, 0};
    w.high = (int64_t[]){pads ? 0 : high, 0};
    OK(lxla_reduce_window(sum, &padded, &start, 1, &w, &out));
    OK(lxla_tensor_read(out, got, (size_t)(rows * columns / WIDTH) * sizeof *got));
    for (int i = 0; i < rows * columns / WIDTH; i++)
      EQUAL(got[i], i / (columns / WIDTH) == along_a[k / 2].at ? 1.5 * WIDTH : 0);
    RELEASE(padded, out);
  }
  free(got);
  DONE(sum);
  RELEASE(x, start);
}

// Maxima and minima of a large array with one NaN: over axes, by a computation, and over adjacent windows.
static void extremes_of_nan(void) {
  enum { N = SIDE, WIDTH = 4, AT = NAN_AT };
  static const int32_t dtypes[] = {F32, F64, F16, BF16};
  float *got = malloc(N * N / WIDTH * sizeof *got);
  lxla_tensor of_f32 = with_nan();
  for (size_t k = 0; k < 2 * sizeof dtypes / sizeof *dtypes; k++) {
    const int is_max = k % 2;
    const int32_t dtype = dtypes[k / 2], op = is_max ? LXLA_REDUCE_MAX : LXLA_REDUCE_MIN;
    lxla_tensor x, start = at(dtype, is_max ? -INFINITY : INFINITY), out[6], wide;
    OK(lxla_convert(of_f32, dtype, &x));
    // The elements in either order.
    lxla_tensor a = placeholder(env, dtype, NULL, 0), b = placeholder(env, dtype, NULL, 0);
    lxla_tensor most = binary(is_max ? LXLA_BINARY_MAXIMUM : LXLA_BINARY_MINIMUM, b, a);
    lxla_computation body = k < 4 ? traced(TENSORS(b, a), TENSORS(most)) : traced(TENSORS(a, b), TENSORS(most));
    RELEASE(a, b, most);
    lxla_window_options w = window(2, (int64_t[]){1, WIDTH}), whole = window(2, (int64_t[]){N, N});
    w.strides = (int64_t[]){1, WIDTH};
    OK(lxla_reduce(op, x, (int64_t[]){0}, 1, 0, &out[0]));
    OK(lxla_reduce(op, x, (int64_t[]){1}, 1, 0, &out[1]));
    OK(lxla_reduce(op, x, (int64_t[]){0, 1}, 2, 0, &out[2]));
    OK(lxla_reduce_with(body, &x, &start, 1, (int64_t[]){1}, 1, &out[3]));
    OK(lxla_reduce_window(body, &x, &start, 1, &w, &out[4]));
    OK(lxla_reduce_window(body, &x, &start, 1, &whole, &out[5]));
    static const int counts[] = {N, N, 1, N, N * N / WIDTH, 1}, where[] = {AT % N, AT / N, 0, AT / N, AT / WIDTH, 0};
    for (int i = 0; i < 6; i++) {
      OK(lxla_convert(out[i], F32, &wide));
      OK(lxla_tensor_read(wide, got, (size_t)counts[i] * sizeof *got));
      for (int j = 0; j < counts[i]; j++) CHECK(isnan(got[j]) == (j == where[i]));
      RELEASE(wide, out[i]);
    }
    DONE(body);
    RELEASE(x, start);
  }
  free(got);
  RELEASE(of_f32);
}

// Checks that the results for the rows are NaN for one row, and `rest` for all others.
static void row_is_nan(lxla_tensor rows, float rest) {
  float got[SIDE];
  OK(lxla_tensor_read(rows, got, sizeof got));
  for (int i = 0; i < SIDE; i++) {
    if (i == NAN_AT / SIDE) CHECK(isnan(got[i]));
    else EQUAL(got[i], rest);
  }
}

// Reducers that XLA simplifies or splits into a maximum and a minimum.
static void reducers_of_extremes(void) {
  lxla_tensor x = with_nan(), out[2], inits[] = {at(F32, -INFINITY), at(F32, INFINITY)};
  lxla_tensor p[4];
  for (int i = 0; i < 4; i++) p[i] = placeholder(env, F32, NULL, 0);
  lxla_tensor most = binary(LXLA_BINARY_MAXIMUM, p[0], p[1]), again = binary(LXLA_BINARY_MAXIMUM, most, p[0]);
  lxla_tensor same = scalar(MUL, most, 1), more = scalar(LXLA_BINARY_MAXIMUM, most, -INFINITY);
  lxla_computation reducers[] = {traced(p, 2, &again, 1), traced(p, 2, &same, 1), traced(p, 2, &more, 1)};
  for (int i = 0; i < 3; i++) {
    OK(lxla_reduce_with(reducers[i], &x, inits, 1, (int64_t[]){1}, 1, out));
    row_is_nan(out[0], 6);
    RELEASE(out[0]);
  }
  lxla_tensor both[] = {binary(LXLA_BINARY_MAXIMUM, p[0], p[2]), binary(LXLA_BINARY_MINIMUM, p[1], p[3])};
  lxla_computation pair = traced(p, 4, both, 2);
  OK(lxla_reduce_with(pair, (lxla_tensor[]){x, x}, inits, 2, (int64_t[]){1}, 1, out));
  row_is_nan(out[0], 6);
  row_is_nan(out[1], 0);
  RELEASE(x, out[0], out[1], inits[0], inits[1], most, again, same, more, both[0], both[1]);
  OK(lxla_tensor_release_many(p, 4));
  DONE(reducers[0], reducers[1], reducers[2], pair);
}

// Sums over windows of arrays that are padded before: by two pads, by a pad between two transposes, and by a pad
// outside of the computation with the windows. XLA makes padding of the windows of each.
static void pads_before_windows(int columns) {
  enum { WIDTH = 4, ROWS = 2 };
  float *got = malloc((size_t)(ROWS * columns / WIDTH) * sizeof *got);
  lxla_tensor x, start = at(F32, 0), padded[3], once, turned, wide;
  OK(lxla_tensor_full(env, device, F32, DIMS(1, columns), 1.5, &x));
  const int64_t none[] = {0, 0}, one[] = {1, 0}, two[] = {2, 0}, three[] = {3, 0}, turn[] = {1, 0};
  OK(lxla_pad(x, start, none, one, none, 2, &once));
  OK(lxla_pad(once, start, none, two, none, 2, &padded[0]));
  OK(lxla_pad(x, start, none, three, none, 2, &wide));
  OK(lxla_transpose(wide, turn, 2, &turned));
  OK(lxla_transpose(turned, turn, 2, &padded[1]));
  padded[2] = wide;
  lxla_tensor p = placeholder(env, F32, DIMS(4, columns)), zero = placeholder(env, F32, NULL, 0), summed;
  lxla_computation sum = of_two(LXLA_BINARY_ADD, F32);
  lxla_window_options w = window(2, (int64_t[]){2, WIDTH});
  w.strides = (int64_t[]){2, WIDTH};
  OK(lxla_reduce_window(sum, &p, &zero, 1, &w, &summed));
  lxla_computation apart = traced(TENSORS(p, zero), TENSORS(summed));
  for (int i = 0; i < 3; i++) {
    lxla_tensor out;
    if (i < 2) OK(lxla_reduce_window(sum, &padded[i], &start, 1, &w, &out));
    else out = called(apart, TENSORS(padded[i], start));
    OK(lxla_tensor_read(out, got, (size_t)(ROWS * columns / WIDTH) * sizeof *got));
    for (int j = 0; j < ROWS * columns / WIDTH; j++) EQUAL(got[j], j < columns / WIDTH ? 1.5 * WIDTH : 0);
    RELEASE(out);
  }
  free(got);
  DONE(sum, apart);
  RELEASE(x, start, once, padded[0], wide, turned, padded[1], p, zero, summed);
}

// Plugins hand arrays of different sizes to the library.
static void pooled(void) {
  static const int columns[] = {8000, 16384, 40000};
  for (int i = 0; i < 3; i++) {
    beside_one_element(columns[i]);
    pads_before_windows(columns[i]);
  }
}

TEST(extremes_keep_nan) { on_both(extremes_of_nan); }
TEST(reducers_that_become_extremes_keep_nan) { on_both(reducers_of_extremes); }
TEST(windows_beside_one_element) { on_both(pooled); }
TEST(strides_and_dilation_of_windows_of_one_element) { on_both(windows_of_one_element); }
