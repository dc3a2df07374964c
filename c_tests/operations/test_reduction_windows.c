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
  lxla_tensor zero = at(F32, 0);
  OK(lxla_reduce_window(add, &x, &zero, 1, &w, &out));
  HAS_F32(out, DIMS(6), 2, 2, 3, 3, 4, 4);
  // An extent of 2^33 between elements that are cut.
  w.low = (int64_t[]){-1}, w.high = (int64_t[]){INT64_C(-2147483648)}, w.base_dilations = (int64_t[]){1ll << 31};
  w.strides = (int64_t[]){(1ll << 31) - 1};
  OK(lxla_reduce_window(add, &x, &zero, 1, &w, &out));
  HAS_F32(out, DIMS(3), 0, 2, 3);
  w.low = (int64_t[]){-(3ll << 31) - 1}, w.high = (int64_t[]){5}, w.strides = NULL;
  OK(lxla_reduce_window(add, &x, &zero, 1, &w, &out));
  HAS_F32(out, DIMS(4), 0, 0, 0, 0);
  w = window(1, two);
  w.low = (int64_t[]){-1}, w.high = one;
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
  RELEASE(x, ten, zero, three, out);
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
