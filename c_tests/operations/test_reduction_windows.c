// Reductions by computations, over axes and over windows; select-and-scatter; and cumulative reductions. Lazy and
// native.
#include "combiners.h"

// Traces a combiner of partial means and sums of squared differences: (n, mean, m2) and (n, mean, m2).
static lxla_computation welford(void) {
  lxla_tensor p[6], r[3];
  for (int i = 0; i < 6; i++) p[i] = placeholder(env, F64, NULL, 0);
  lxla_tensor delta = binary(SUB, p[4], p[1]), zero, is_none, weight, safe;
  r[0] = binary(ADD, p[0], p[3]);
  OK(lxla_tensor_full(env, XLA(0), F64, NULL, 0, 0, &zero));
  is_none = compared(LXLA_COMPARE_EQ, r[0], zero);
  lxla_tensor one = scalar(ADD, zero, 1);
  safe = selected(is_none, one, r[0]);
  weight = binary(LXLA_BINARY_DIVIDE, p[3], safe);
  lxla_tensor move = binary(MUL, delta, weight), squared = binary(MUL, delta, delta),
              part = binary(MUL, squared, weight), between = binary(MUL, part, p[0]), within = binary(ADD, p[2], p[5]);
  r[1] = binary(ADD, p[1], move);
  r[2] = binary(ADD, within, between);
  lxla_computation c = traced(p, 6, r, 3);
  OK(lxla_tensor_release_many(p, 6));
  OK(lxla_tensor_release_many(r, 3));
  RELEASE(delta, zero, is_none, one, safe, weight, move, squared, part, between, within);
  return c;
}

static void reductions(void) {
  lxla_computation add = of_two(ADD, S32), both = welford();
  lxla_tensor x = ARRAY(S32, int32_t, DIMS(2, 3), 1, 2, 3, 4, 5, INT32_MAX), zero = at(S32, 0), out[3];
  OK(lxla_reduce_with(add, &x, &zero, 1, (int64_t[]){-1}, 1, out));
  HAS(out[0], S32, int32_t, DIMS(2), 6, INT32_MIN + 8);
  OK(lxla_reduce_with(add, &x, &zero, 1, (int64_t[]){1, 0}, 2, out));
  HAS(out[0], S32, int32_t, SCALAR, INT32_MIN + 14);
  OK(lxla_reduce_with(add, &x, &zero, 1, (int64_t[1]){0}, 0, out));
  HAS(out[0], S32, int32_t, DIMS(2, 3), 1, 2, 3, 4, 5, INT32_MAX);
  lxla_tensor empty = array(S32, DIMS(2, 0), NULL, 0);
  OK(lxla_reduce_with(add, &empty, &zero, 1, (int64_t[]){1}, 1, out));
  HAS(out[0], S32, int32_t, DIMS(2), 0, 0);
  OK(lxla_reduce_with(add, &empty, &zero, 1, (int64_t[]){0}, 1, out));
  HAS(out[0], S32, int32_t, DIMS(0), 0);
  // Three arrays together: 1, 2, 3, 4, 5 and 6 have mean 3.5 and sum of squared differences 17.5.
  lxla_tensor parts[] = {ARRAY(F64, double, DIMS(6), 1, 1, 1, 1, 1, 1), ARRAY(F64, double, DIMS(6), 1, 2, 3, 4, 5, 6),
                         ARRAY(F64, double, DIMS(6), 0, 0, 0, 0, 0, 0)};
  lxla_tensor zeros[] = {at(F64, 0), at(F64, 0), at(F64, 0)};
  OK(lxla_reduce_with(both, parts, zeros, 3, (int64_t[]){0}, 1, out));
  double got[3];
  for (int i = 0; i < 3; i++) OK(lxla_tensor_read(out[i], &got[i], sizeof *got));
  EQUAL(got[0], 6);
  CHECK(fabs(got[1] - 3.5) < 1e-14 && fabs(got[2] - 17.5) < 1e-13);
  OK(lxla_tensor_release_many(out, 3));

  REFUSED(lxla_reduce_with(add, &x, zeros, 1, (int64_t[]){0}, 1, out), LXLA_INVALID_ARGUMENT,
          "inits: inits[0] is f64[]; inputs[0] is s32[2,3], want s32[]");
  REFUSED(lxla_reduce_with(add, &x, &zero, 1, (int64_t[]){0, -2}, 2, out), LXLA_INVALID_ARGUMENT,
          "axes: axis -2 is given twice");
  REFUSED(lxla_reduce_with(add, &x, &zero, 1, (int64_t[]){2}, 1, out), LXLA_INVALID_ARGUMENT,
          "axes: axis 2 is out of range for rank 2");
  REFUSED(
      lxla_reduce_with(both, parts, zeros, 2, (int64_t[]){0}, 1, out), LXLA_INVALID_ARGUMENT,
      "body: its parameters are f64[], f64[], f64[], f64[], f64[], f64[]; those wanted are f64[], f64[], f64[], f64[]");
  DONE(add, both);
  RELEASE(x, zero, empty, parts[0], parts[1], parts[2], zeros[0], zeros[1], zeros[2]);
}

static lxla_window_options window(size_t rank, const int64_t *sizes) {
  lxla_window_options options;
  options.struct_size = sizeof options;
  OK(lxla_window_options_init(&options));
  options.rank = rank;
  options.window_dimensions = sizes;
  return options;
}

// XLA has no reductions of floats of several dtypes: all but those of the first dtype are passed as unsigned integers.
// The second body captures a float of a third dtype. All results are kept by one step.
static void floats_of_several_dtypes(void) {
  lxla_tensor p[4], r[3], out[2], windows[2], limited[2];
  for (int i = 0; i < 4; i++) p[i] = placeholder(env, i % 2 ? F64 : F32, NULL, 0);
  lxla_tensor limit = at(F16, 8), wide;
  OK(lxla_convert(limit, F64, &wide));
  r[0] = binary(ADD, p[0], p[2]), r[1] = binary(LXLA_BINARY_MAXIMUM, p[1], p[3]),
  r[2] = binary(LXLA_BINARY_MINIMUM, r[1], wide);
  lxla_computation both = traced(p, 4, r, 2), capped = traced(p, 4, TENSORS(r[0], r[2]));
  lxla_tensor inputs[] = {F32S(DIMS(3), 1, 2, 4), ARRAY(F64, double, DIMS(3), 3, 9, 5)},
              inits[] = {at(F32, 0), at(F64, -INFINITY)};
  OK(lxla_reduce_with(both, inputs, inits, 2, (int64_t[]){0}, 1, out));
  OK(lxla_reduce_with(capped, inputs, inits, 2, (int64_t[]){0}, 1, limited));
  lxla_window_options w = window(1, (int64_t[]){2});
  OK(lxla_reduce_window(both, inputs, inits, 2, &w, windows));
  if (!is_native()) OK(lxla_mark_step(env, device, 1));
  HAS_F32(out[0], SCALAR, 7);
  HAS(out[1], F64, double, SCALAR, 9);
  HAS_F32(limited[0], SCALAR, 7);
  HAS(limited[1], F64, double, SCALAR, 8);
  HAS_F32(windows[0], DIMS(2), 3, 6);
  HAS(windows[1], F64, double, DIMS(2), 9, 9);
  DONE(both, capped);
  RELEASE(p[0], p[1], p[2], p[3], r[0], r[1], r[2], limit, wide, inputs[0], inputs[1], inits[0], inits[1]);
}

static void windows(void) {
  lxla_computation add = of_two(ADD, F32), largest = of_two(LXLA_BINARY_MAXIMUM, F32);
  lxla_tensor x = ARRAY(F32, float, DIMS(5), 1, 2, 3, 4, 5), zero = at(F32, 0), low = at(F32, -INFINITY), out = none;
  lxla_window_options w = window(1, (int64_t[]){3});
  OK(lxla_reduce_window(add, &x, &zero, 1, &w, &out));
  HAS(out, F32, float, DIMS(3), 6, 9, 12);
  w.base_dilations = (int64_t[]){2};
  OK(lxla_reduce_window(add, &x, &zero, 1, &w, &out));
  HAS(out, F32, float, DIMS(7), 3, 2, 5, 3, 7, 4, 9);
  w = window(1, (int64_t[]){2});
  w.strides = (int64_t[]){3};
  w.window_dilations = (int64_t[]){2};
  w.high = (int64_t[]){1};
  OK(lxla_reduce_window(add, &x, &zero, 1, &w, &out));
  HAS(out, F32, float, DIMS(2), 4, 4);
  w.strides = (int64_t[]){INT64_MAX};
  OK(lxla_reduce_window(add, &x, &zero, 1, &w, &out));
  HAS(out, F32, float, DIMS(1), 4);
  w = window(1, (int64_t[]){2});
  w.low = (int64_t[]){2};
  w.high = (int64_t[]){-3};
  OK(lxla_reduce_window(largest, &x, &low, 1, &w, &out));
  HAS(out, F32, float, DIMS(3), -INFINITY, 1, 2);
  w = window(1, (int64_t[]){7});
  OK(lxla_reduce_window(add, &x, &zero, 1, &w, &out));
  HAS(out, F32, float, DIMS(0), 0);
  // Windows on two axes, as in pooling.
  lxla_tensor image = ARRAY(F32, float, DIMS(3, 4), 1, 5, 2, 0, 7, 3, 4, 8, -1, NAN, 6, 2);
  w = window(2, (int64_t[]){2, 2});
  w.strides = (int64_t[]){1, 2};
  OK(lxla_reduce_window(largest, &image, &low, 1, &w, &out));
  HAS(out, F32, float, DIMS(2, 2), 7, 8, NAN, 8);
  // A window as large as the array.
  enum { MANY = 300 };
  static float ones[MANY], want[MANY];
  for (int i = 0; i < MANY; i++) ones[i] = 1, want[i] = (float)(i + 1);
  lxla_tensor many = array(F32, DIMS(MANY), ones, sizeof ones);
  w = window(1, (int64_t[]){MANY});
  w.low = (int64_t[]){MANY - 1};
  OK(lxla_reduce_window(add, &many, &zero, 1, &w, &out));
  HAS_ARRAY(out, F32, DIMS(MANY), want);
  // An array without elements that has windows all the same; and a scalar.
  lxla_tensor empty = array(F32, DIMS(0), NULL, 0);
  w = window(1, (int64_t[]){3});
  w.low = w.high = (int64_t[]){2};
  OK(lxla_reduce_window(add, &empty, &zero, 1, &w, &out));
  HAS(out, F32, float, DIMS(2), 0, 0);
  w = window(0, NULL);
  OK(lxla_reduce_window(add, &zero, &zero, 1, &w, &out));
  HAS(out, F32, float, SCALAR, 0);

  w = window(1, (int64_t[]){0});
  REFUSED(lxla_reduce_window(add, &x, &zero, 1, &w, &out), LXLA_INVALID_ARGUMENT,
          "window_dimensions: window_dimensions[0] is 0; want at least 1");
  w = window(1, (int64_t[]){1});
  w.low = (int64_t[]){-6};
  REFUSED(lxla_reduce_window(add, &x, &zero, 1, &w, &out), LXLA_INVALID_ARGUMENT,
          "low, high: -6 and 0 on axis 0 of f32[5] give an invalid size");
  w = window(2, (int64_t[]){1, 1});
  REFUSED(lxla_reduce_window(add, &x, &zero, 1, &w, &out), LXLA_INVALID_ARGUMENT,
          "rank: 2 given; the array is f32[5], of rank 1");
  w = window(1, NULL);
  REFUSED(lxla_reduce_window(add, &x, &zero, 1, &w, &out), LXLA_NULL_ARGUMENT, "options.window_dimensions: it is NULL");
  DONE(add, largest);
  RELEASE(x, zero, low, image, many, empty);
}

// Windows up to each element, from each element, and almost up to it; with a start that takes part.
static void windows_of_all_lengths(void) {
  lxla_computation add = of_two(ADD, F32), most = of_two(LXLA_BINARY_MAXIMUM, F32);
  lxla_tensor x = ARRAY(F32, float, DIMS(4), 1, -2, 30, 4), ten = at(F32, 10), out;
  lxla_window_options w = window(1, (int64_t[]){4});
  w.low = (int64_t[]){3};
  OK(lxla_reduce_window(add, &x, &ten, 1, &w, &out));
  HAS_F32(out, DIMS(4), 11, 9, 39, 43);
  OK(lxla_reduce_window(most, &x, &ten, 1, &w, &out));
  HAS_F32(out, DIMS(4), 10, 10, 30, 30);
  w.low = NULL, w.high = (int64_t[]){3};
  OK(lxla_reduce_window(add, &x, &ten, 1, &w, &out));
  HAS_F32(out, DIMS(4), 43, 42, 44, 14);
  w.low = (int64_t[]){2}, w.high = (int64_t[]){1};
  OK(lxla_reduce_window(add, &x, &ten, 1, &w, &out));
  HAS_F32(out, DIMS(4), 9, 39, 43, 42);
  RELEASE(x, ten);
  OK(lxla_computation_release(add));
  OK(lxla_computation_release(most));
}

// Negative padding removes elements. Includes windows of one element, for which XLA's simplifier would end the process.
static void cuts(void) {
  lxla_computation add = of_two(ADD, F32), at_least = comparison(LXLA_COMPARE_GE, F32);
  lxla_tensor x = ARRAY(F32, float, DIMS(4), 1, 2, 3, 4), ten = at(F32, 10), out;
  const int64_t one[] = {1}, two[] = {2};
  lxla_window_options w = window(1, one);
  w.low = (int64_t[]){-1};
  OK(lxla_reduce_window(add, &x, &ten, 1, &w, &out));
  HAS_F32(out, DIMS(3), 12, 13, 14);
  lxla_tensor three = ARRAY(F32, float, DIMS(3), 100, 200, 300);
  OK(lxla_select_and_scatter(at_least, add, x, three, ten, &w, &out));
  HAS_F32(out, DIMS(4), 10, 110, 210, 310);
  w = window(1, two);
  w.low = (int64_t[]){-1}, w.high = one, w.base_dilations = two;  // 1 _ 2 _ 3 _ 4, first one cut, one padded
  OK(lxla_reduce_window(add, &x, &ten, 1, &w, &out));
  HAS_F32(out, DIMS(6), 22, 22, 23, 23, 24, 24);
  w.base_dilations = NULL;
  OK(lxla_select_and_scatter(at_least, add, x, three, ten, &w, &out));
  HAS_F32(out, DIMS(4), 10, 10, 110, 510);
  w.low = (int64_t[]){-5}, w.high = (int64_t[]){3};
  REFUSED(lxla_select_and_scatter(at_least, add, x, three, ten, &w, &out), BAD,
          "source: it is f32[3]; the windows over x, f32[4], are f32[1]");
  OK(lxla_slice(three, (int64_t[]){0}, one, NULL, 1, &out));
  lxla_tensor got;
  REFUSED(lxla_select_and_scatter(at_least, add, x, out, ten, &w, &got), BAD,
          "low, high: -5 and 3 remove more elements than axis 0 of f32[4] has");
  DONE(add, at_least);
  RELEASE(x, ten, three, out);
}

static void selections(void) {
  lxla_computation at_least = comparison(LXLA_COMPARE_GE, F32), more = comparison(LXLA_COMPARE_GT, F32),
                   add = of_two(ADD, F32);
  lxla_tensor x = ARRAY(F32, float, DIMS(6), -1, -2, -3, -3, 5, 5), out = none, zero = at(F32, 0),
              hundred = at(F32, 100);
  lxla_tensor three = ARRAY(F32, float, DIMS(3), 1, 2, 3), four = ARRAY(F32, float, DIMS(4), 1, 2, 3, 4),
              five = ARRAY(F32, float, DIMS(5), 1, 2, 3, 4, 5);
  lxla_window_options w = window(1, (int64_t[]){2});
  w.strides = (int64_t[]){2};
  OK(lxla_select_and_scatter(at_least, add, x, three, hundred, &w, &out));
  HAS(out, F32, float, DIMS(6), 101, 100, 102, 100, 103, 100);
  OK(lxla_select_and_scatter(more, add, x, three, zero, &w, &out));
  HAS(out, F32, float, DIMS(6), 1, 0, 0, 2, 0, 3);
  // Padding is never selected, even where it would be the largest.
  w.low = w.high = (int64_t[]){1};
  OK(lxla_select_and_scatter(at_least, add, x, four, zero, &w, &out));
  HAS(out, F32, float, DIMS(6), 1, 2, 0, 0, 3, 4);
  // Overlapping windows: their contributions to an element are added.
  w = window(1, (int64_t[]){2});
  OK(lxla_select_and_scatter(at_least, add, x, five, zero, &w, &out));
  HAS(out, F32, float, DIMS(6), 1, 2, 3, 0, 9, 0);
  // Of equal elements the first in row-major order is selected, also where windows overlap on two axes.
  lxla_tensor flat = ARRAY(F32, float, DIMS(2, 5), 36, 28, 9, 34, 19, 48, 9, 14, 31, 47),
              row = ARRAY(F32, float, DIMS(1, 4), 14, 16, 47, 12);
  lxla_computation less = comparison(LXLA_COMPARE_LT, F32), at_most = comparison(LXLA_COMPARE_LE, F32);
  w = window(2, (int64_t[]){2, 2});
  OK(lxla_select_and_scatter(less, add, flat, row, zero, &w, &out));
  HAS(out, F32, float, DIMS(2, 5), 0, 0, 47, 0, 12, 0, 30, 0, 0, 0);
  OK(lxla_select_and_scatter(at_most, add, flat, row, zero, &w, &out));
  HAS(out, F32, float, DIMS(2, 5), 0, 0, 63, 0, 12, 0, 14, 0, 0, 0);
  // No windows.
  lxla_tensor one = ARRAY(F32, float, DIMS(1), 9), nothing = array(F32, DIMS(0), NULL, 0);
  w = window(1, (int64_t[]){2});
  OK(lxla_select_and_scatter(at_least, add, one, nothing, hundred, &w, &out));
  HAS(out, F32, float, DIMS(1), 100);
  OK(lxla_select_and_scatter(at_least, add, nothing, nothing, hundred, &w, &out));
  HAS(out, F32, float, DIMS(0), 0);

  w = window(1, (int64_t[]){2});
  REFUSED(lxla_select_and_scatter(at_least, add, x, three, zero, &w, &out), LXLA_INVALID_ARGUMENT,
          "source: it is f32[3]; the windows over x, f32[6], are f32[5]");
  REFUSED(lxla_select_and_scatter(add, add, x, five, zero, &w, &out), LXLA_INVALID_ARGUMENT,
          "select: its results are f32[]; those wanted are pred[]");
  REFUSED(lxla_select_and_scatter(at_least, add, x, five, x, &w, &out), LXLA_INVALID_ARGUMENT,
          "init: it is f32[6]; x is f32[6], and wants f32[]");
  w.window_dilations = (int64_t[]){2};
  REFUSED(lxla_select_and_scatter(at_least, add, x, five, zero, &w, &out), LXLA_INVALID_ARGUMENT,
          "base_dilations, window_dilations: want 1 on every axis");
  DONE(at_least, more, add, less, at_most);
  RELEASE(x, zero, hundred, three, four, five, flat, row, one, nothing);
}

static lxla_tensor cumulative(int32_t op, lxla_tensor x, int64_t axis, int reverse) {
  lxla_tensor out;
  OK(lxla_cumulative(op, x, axis, reverse, &out));
  return out;
}

static void cumulative_reductions(void) {
  lxla_tensor x = ARRAY(S32, int32_t, DIMS(2, 3), 1, 5, 3, INT32_MAX, 1, -2), out = none;
  HAS(cumulative(LXLA_REDUCE_SUM, x, 1, 0), S32, int32_t, DIMS(2, 3), 1, 6, 9, INT32_MAX, INT32_MIN, INT32_MAX - 1);
  HAS(cumulative(LXLA_REDUCE_SUM, x, 0, 0), S32, int32_t, DIMS(2, 3), 1, 5, 3, INT32_MIN, 6, 1);
  HAS(cumulative(LXLA_REDUCE_PRODUCT, x, -1, 1), S32, int32_t, DIMS(2, 3), 15, 15, 3, 2, -2, -2);
  HAS(cumulative(LXLA_REDUCE_MAX, x, 1, 0), S32, int32_t, DIMS(2, 3), 1, 5, 5, INT32_MAX, INT32_MAX, INT32_MAX);
  HAS(cumulative(LXLA_REDUCE_MIN, x, 1, 1), S32, int32_t, DIMS(2, 3), 1, 3, 3, -2, -2, -2);
  lxla_tensor f = ARRAY(F32, float, DIMS(5), 1, -INFINITY, NAN, INFINITY, 2);
  HAS(cumulative(LXLA_REDUCE_SUM, f, 0, 0), F32, float, DIMS(5), 1, -INFINITY, NAN, NAN, NAN);
  HAS(cumulative(LXLA_REDUCE_MAX, f, 0, 0), F32, float, DIMS(5), 1, 1, NAN, NAN, NAN);
  HAS(cumulative(LXLA_REDUCE_MIN, f, 0, 1), F32, float, DIMS(5), NAN, NAN, NAN, 2, 2);
  lxla_tensor p = ARRAY(LXLA_DTYPE_PRED, uint8_t, DIMS(4), 1, 1, 0, 1),
              z = ARRAY(LXLA_DTYPE_C128, double, DIMS(2), 1, 2, 3, -1);
  HAS(cumulative(LXLA_REDUCE_ALL, p, 0, 0), LXLA_DTYPE_PRED, uint8_t, DIMS(4), 1, 1, 0, 0);
  HAS(cumulative(LXLA_REDUCE_ANY, p, 0, 1), LXLA_DTYPE_PRED, uint8_t, DIMS(4), 1, 1, 1, 1);
  out = cumulative(LXLA_REDUCE_PRODUCT, z, 0, 0);
  double got[4];
  OK(lxla_tensor_read(out, got, sizeof got));
  EQUAL(got[0], 1);
  EQUAL(got[1], 2);
  EQUAL(got[2], 5);
  EQUAL(got[3], 5);
  RELEASE(out);
  // bf16 is summed in f32: in bf16, ones would be lost beyond 256.
  enum { COUNT = 300 };
  uint16_t ones[COUNT], sums[COUNT];
  for (int i = 0; i < COUNT; i++) ones[i] = 0x3F80;
  lxla_tensor b = array(BF16, DIMS(COUNT), ones, sizeof ones);
  out = cumulative(LXLA_REDUCE_SUM, b, 0, 0);
  OK(lxla_tensor_read(out, sums, sizeof sums));
  EQUAL(sums[COUNT - 1], 0x4396);
  RELEASE(out);
  lxla_tensor empty = array(F32, DIMS(0, 2), NULL, 0), one = ARRAY(F32, float, DIMS(1), -0.0f);
  HAS(cumulative(LXLA_REDUCE_SUM, empty, 0, 0), F32, float, DIMS(0, 2), 0);
  HAS(cumulative(LXLA_REDUCE_SUM, one, 0, 0), F32, float, DIMS(1), -0.0f);
  REFUSED(lxla_cumulative(LXLA_REDUCE_MAX, z, 0, 0, &out), LXLA_INVALID_ARGUMENT,
          "x: this reduction takes integers and floats, not c128[2]");
  REFUSED(lxla_cumulative(LXLA_REDUCE_SUM, x, 2, 0, &out), LXLA_INVALID_ARGUMENT, "axis 2 is out of range for rank 2");
  REFUSED(lxla_cumulative(7, x, 0, 0, &out), LXLA_INVALID_ARGUMENT, "op: 7 is not an LXLA_REDUCE_* constant");
  REFUSED(lxla_cumulative(1, x, 0, -1, &out), LXLA_INVALID_ARGUMENT, "reverse: -1 given");
  RELEASE(x, f, p, z, b, empty, one);
}

// Cumulative sums over an axis as long as a long sequence: exact integers, computed quickly.
static void cumulative_over_a_long_axis(void) {
  enum { MANY = 100000 };
  int64_t *values = malloc(MANY * sizeof *values), sum = 0;
  for (int i = 0; i < MANY; i++) values[i] = i * 7919 % 1000 - 500;
  lxla_tensor x = array(LXLA_DTYPE_S64, DIMS(MANY), values, MANY * sizeof *values),
              out = cumulative(LXLA_REDUCE_SUM, x, 0, 0);
  int64_t *got = malloc(MANY * sizeof *got);
  OK(lxla_tensor_read(out, got, MANY * sizeof *got));
  for (int i = 0; i < MANY; i++) {
    sum += values[i];
    EQUAL(got[i], sum);
  }
  free(values);
  free(got);
  RELEASE(x, out);
}

// Reductions of two arrays on one axis, as for an arg-extreme, but of complex numbers, which have no order.
static void complex_reductions(void) {
  lxla_tensor p[] = {placeholder(env, C64, NULL, 0), placeholder(env, S32, NULL, 0), placeholder(env, C64, NULL, 0),
                     placeholder(env, S32, NULL, 0)};
  lxla_tensor r[] = {binary(ADD, p[0], p[2]), binary(LXLA_BINARY_MAXIMUM, p[1], p[3])};
  lxla_computation both = traced(p, 4, r, 2);
  lxla_tensor x[] = {ARRAY(C64, float, DIMS(3), 1, 2, 3, 4, 5, -6), ARRAY(S32, int32_t, DIMS(3), 1, 7, 3)}, out[2];
  lxla_tensor inits[] = {at(C64, 0), at(S32, INT32_MIN)};
  OK(lxla_reduce_with(both, x, inits, 2, (int64_t[]){0}, 1, out));
  float sum[2];
  OK(lxla_tensor_read(out[0], sum, sizeof sum));
  CHECK(sum[0] == 9 && sum[1] == 0);
  HAS(out[1], S32, int32_t, SCALAR, 7);
  DONE(both);
  OK(lxla_tensor_release_many(p, 4));
  RELEASE(r[0], r[1], x[0], x[1], inits[0], inits[1], out[0]);
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
static void beside_one_element(void) {
  enum { COLUMNS = 8000, WIDTH = 4, MOST_ROWS = 3 };
  static const struct {
    int64_t size, low, high, rows, at;  // of windows; where the element is, or -1
  } along_a[] = {{2, 0, 3, 2, 0},  {1, 0, 1, 2, 0}, {1, 2, 0, 3, 2}, {2, 3, 0, 2, 1},
                 {2, 2, 0, 1, -1}, {2, 0, 2, 1, 0}, {2, 1, 1, 1, 0}};
  float *got = malloc(MOST_ROWS * COLUMNS / WIDTH * sizeof *got);
  lxla_tensor x, start = at(F32, 0), out;
  OK(lxla_tensor_full(env, device, F32, DIMS(1, COLUMNS), 1.5, &x));
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
    OK(lxla_tensor_read(out, got, (size_t)(rows * COLUMNS / WIDTH) * sizeof *got));
    for (int i = 0; i < rows * COLUMNS / WIDTH; i++)
      EQUAL(got[i], i / (COLUMNS / WIDTH) == along_a[k / 2].at ? 1.5 * WIDTH : 0);
    RELEASE(padded, out);
  }
  free(got);
  DONE(sum);
  RELEASE(x, start);
}

// Maxima and minima of a large array with one NaN: over axes, by a computation, and over adjacent windows.
static void extremes_of_nan(void) {
  enum { N = 200, WIDTH = 4, AT = 61 * N + 7 };
  static const int32_t dtypes[] = {F32, F64, F16, BF16};
  float *values = malloc(N * N * sizeof *values), *got = malloc(N * N / WIDTH * sizeof *got);
  for (int i = 0; i < N * N; i++) values[i] = i == AT ? NAN : (float)(i % 7);
  lxla_tensor of_f32 = array(F32, DIMS(N, N), values, N * N * sizeof *values);
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
  free(values);
  free(got);
  RELEASE(of_f32);
}

TEST(extremes_keep_nan) { on_both(extremes_of_nan); }
TEST(windows_beside_one_element) { on_both(beside_one_element); }
TEST(strides_and_dilation_of_windows_of_one_element) { on_both(windows_of_one_element); }
TEST(reductions_of_complex_numbers) { on_both(complex_reductions); }
TEST(reductions_by_a_computation) { on_both(reductions); }
TEST(floats_of_several_dtypes_are_reduced_together) { on_both(floats_of_several_dtypes); }
TEST(negative_padding) { on_both(cuts); }
TEST(windows_as_long_as_the_axis) { on_both(windows_of_all_lengths); }
TEST(reductions_window_by_window) { on_both(windows); }
TEST(what_windows_select) { on_both(selections); }
TEST(reductions_up_to_each_element) { on_both(cumulative_reductions); }
TEST(long_cumulative_sums) { on_both(cumulative_over_a_long_axis); }

// A region can use a scalar that the computation captured.
TEST(a_body_captures_scalars) {
  env = new_env();
  device = XLA(0);
  lxla_tensor limit = ARRAY(F32, float, SCALAR, 4), a = placeholder(env, F32, NULL, 0),
              b = placeholder(env, F32, NULL, 0), out;
  lxla_tensor least = binary(LXLA_BINARY_MINIMUM, b, limit), most = binary(LXLA_BINARY_MAXIMUM, a, least);
  lxla_computation c = traced(TENSORS(a, b), TENSORS(most)), ge = comparison(LXLA_COMPARE_GE, F32);
  lxla_tensor x = ARRAY(F32, float, DIMS(2, 3), 1, 2, 3, 7, 5, 9), low = at(F32, -INFINITY),
              two = ARRAY(F32, float, DIMS(1, 3), 1, 1, 1);
  OK(lxla_reduce_with(c, &x, &low, 1, (int64_t[]){1}, 1, &out));
  HAS(out, F32, float, DIMS(2), 3, 4);
  lxla_window_options w = window(2, (int64_t[]){2, 1});
  OK(lxla_reduce_window(c, &x, &low, 1, &w, &out));
  HAS(out, F32, float, DIMS(1, 3), 4, 4, 4);
  REFUSED(lxla_select_and_scatter(ge, c, x, two, low, &w, &out), LXLA_INVALID_ARGUMENT,
          "combiner: it captured 1 values");
  DONE(c, ge);
  RELEASE(limit, a, b, least, most, x, low, two);
  OK(lxla_env_release(env));
}
