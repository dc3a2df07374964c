// Sorting by a computation and by numbers, and the largest elements; lazy and native.
#include "combiners.h"

static void sorts_by_computations(void) {
  // Sorts by the second array descending, then by the first ascending.
  lxla_tensor p[4], r, s, t, u, out[2];
  for (int i = 0; i < 4; i++) p[i] = placeholder(env, i < 2 ? S32 : F32, NULL, 0);
  r = compared(LXLA_COMPARE_GT, p[2], p[3]);
  s = compared(LXLA_COMPARE_EQ, p[2], p[3]);
  t = compared(LXLA_COMPARE_LT, p[0], p[1]);
  u = binary(LXLA_BINARY_AND, s, t);
  lxla_tensor both = binary(LXLA_BINARY_OR, r, u);
  lxla_computation order = traced(p, 4, &both, 1);
  RELEASE(r, s, t, u, both);
  lxla_tensor x[] = {ARRAY(S32, int32_t, DIMS(2, 5), 5, 4, 3, 2, 1, 0, 0, 0, 0, 0),
                     ARRAY(F32, float, DIMS(2, 5), 1, 2, 1, 2, 3, 5, 4, 3, 2, 1)};
  OK(lxla_sort(order, x, 2, 1, 0, out));
  HAS(out[0], S32, int32_t, DIMS(2, 5), 1, 2, 4, 3, 5, 0, 0, 0, 0, 0);
  HAS(out[1], F32, float, DIMS(2, 5), 3, 2, 2, 1, 1, 5, 4, 3, 2, 1);
  // Sorts stably by one array of two, on the other axis.
  r = compared(LXLA_COMPARE_LT, p[2], p[3]);
  lxla_computation second = traced(p, 4, &r, 1);
  OK(lxla_sort(second, x, 2, -2, 1, out));
  HAS(out[0], S32, int32_t, DIMS(2, 5), 5, 4, 3, 2, 0, 0, 0, 0, 0, 1);
  HAS(out[1], F32, float, DIMS(2, 5), 1, 2, 1, 2, 1, 5, 4, 3, 2, 3);
  // Sorts by absolute values: a comparator that the library has no special case for.
  lxla_tensor a, b, less;
  OK(lxla_unary(LXLA_UNARY_ABS, p[0], &a));
  OK(lxla_unary(LXLA_UNARY_ABS, p[1], &b));
  less = compared(LXLA_COMPARE_LT, a, b);
  lxla_computation by_size = traced(p, 2, &less, 1);
  lxla_tensor y = ARRAY(S32, int32_t, DIMS(7), 3, -3, 0, -7, 2, 7, -1);
  OK(lxla_sort(by_size, &y, 1, 0, 1, out));
  HAS(out[0], S32, int32_t, DIMS(7), 0, -1, 2, 3, -3, -7, 7);
  // Arrays without elements, or with one element on the axis.
  lxla_tensor empty = array(S32, DIMS(0), NULL, 0), one = ARRAY(S32, int32_t, DIMS(1, 3), 3, 1, 2);
  OK(lxla_sort(by_size, &empty, 1, 0, 1, out));
  HAS(out[0], S32, int32_t, DIMS(0), 0);
  OK(lxla_sort(by_size, &one, 1, 0, 1, out));
  HAS(out[0], S32, int32_t, DIMS(1, 3), 3, 1, 2);

  REFUSED(lxla_sort(by_size, x, 2, 1, 0, out), LXLA_INVALID_ARGUMENT,
          "comparator: its parameters are s32[], s32[]; those wanted are s32[], s32[], f32[], f32[]");
  REFUSED(lxla_sort(by_size, &y, 1, 1, 0, out), LXLA_INVALID_ARGUMENT, "axis 1 is out of range for rank 1");
  REFUSED(lxla_sort(by_size, &y, 1, 0, 2, out), LXLA_INVALID_ARGUMENT, "stable: 2 given; want 0 or 1");
  REFUSED(lxla_sort(by_size, &y, 0, 0, 0, out), LXLA_INVALID_ARGUMENT, "n: 0 tensors given");
  lxla_tensor apart[] = {x[0], y};
  REFUSED(lxla_sort(order, apart, 2, 0, 0, out), LXLA_INVALID_ARGUMENT,
          "inputs[1] is s32[7] and inputs[0] is s32[2,5]; want one shape");
  lxla_computation at_most = comparison(LXLA_COMPARE_LE, S32), sum = of_two(ADD, S32);
  REFUSED(lxla_sort(at_most, &y, 1, 0, 0, out), LXLA_INVALID_ARGUMENT,
          "comparator: it compares by LE, which is not a strict order; want LT or GT");
  REFUSED(lxla_sort(sum, &y, 1, 0, 0, out), LXLA_INVALID_ARGUMENT,
          "comparator: its results are s32[]; those wanted are pred[]");
  for (int i = 0; i < 4; i++) RELEASE(p[i]);
  DONE(order, second, by_size, at_most, sum);
  RELEASE(r, a, b, less, x[0], x[1], y, empty, one);
}

static lxla_tensor sorted(lxla_tensor x, int64_t axis, int descending) {
  lxla_tensor out;
  OK(lxla_sort_along(x, axis, descending, 1, &out));
  return out;
}

static lxla_tensor indices(lxla_tensor x, int64_t axis, int descending, int32_t dtype) {
  lxla_tensor out;
  OK(lxla_argsort(x, axis, descending, 1, dtype, &out));
  return out;
}

static void sorts_of_numbers(void) {
  // NaN sorts after every number; zeros of either sign are equal and keep their order.
  lxla_tensor x = ARRAY(F32, float, DIMS(8), 0, NAN, -0.0f, INFINITY, -1, -INFINITY, NAN, 2), out = none;
  HAS(sorted(x, 0, 0), F32, float, DIMS(8), -INFINITY, -1, 0, -0.0f, 2, INFINITY, NAN, NAN);
  HAS(sorted(x, -1, 1), F32, float, DIMS(8), NAN, NAN, INFINITY, 2, 0, -0.0f, -1, -INFINITY);
  HAS(indices(x, 0, 0, S64), S64, int64_t, DIMS(8), 5, 4, 0, 2, 7, 3, 1, 6);
  HAS(indices(x, 0, 1, U8), U8, uint8_t, DIMS(8), 1, 6, 3, 7, 0, 2, 4, 5);
  // Other axes, and other dtypes: bf16 1, -2, NaN; integer limits; pred.
  lxla_tensor m = ARRAY(F64, double, DIMS(2, 3), 3, -1, NAN, 2, -1, 0);
  HAS(sorted(m, 0, 0), F64, double, DIMS(2, 3), 2, -1, 0, 3, -1, NAN);
  HAS(indices(m, 0, 0, S32), S32, int32_t, DIMS(2, 3), 1, 0, 1, 0, 1, 0);
  lxla_tensor b = ARRAY(LXLA_DTYPE_BF16, uint16_t, DIMS(3), 0x7FC0, 0x3F80, 0xC000),
              s8 = ARRAY(LXLA_DTYPE_S8, int8_t, DIMS(4), 127, -128, 0, -1);
  HAS(sorted(b, 0, 0), LXLA_DTYPE_BF16, uint16_t, DIMS(3), 0xC000, 0x3F80, 0x7FC0);
  HAS(indices(b, 0, 1, S32), S32, int32_t, DIMS(3), 0, 1, 2);
  HAS(sorted(s8, 0, 1), LXLA_DTYPE_S8, int8_t, DIMS(4), 127, 0, -1, -128);
  lxla_tensor u64 = ARRAY(LXLA_DTYPE_U64, uint64_t, DIMS(3), UINT64_MAX, 0, 1),
              p = ARRAY(LXLA_DTYPE_PRED, uint8_t, DIMS(4), 1, 0, 1, 0);
  HAS(sorted(u64, 0, 0), LXLA_DTYPE_U64, uint64_t, DIMS(3), 0, 1, UINT64_MAX);
  HAS(indices(p, 0, 0, S32), S32, int32_t, DIMS(4), 1, 3, 0, 2);
  lxla_tensor empty = array(F32, DIMS(2, 0), NULL, 0),
              z = ARRAY(LXLA_DTYPE_C64, float, DIMS(5), 1, 2, NAN, 0, 1, -1, 0, 5, 3, NAN);
  HAS(sorted(empty, 1, 0), F32, float, DIMS(2, 0), 0);
  HAS(indices(empty, 1, 0, U8), U8, uint8_t, DIMS(2, 0), 0);
  HAS(indices(z, 0, 0, S32), S32, int32_t, DIMS(5), 3, 2, 0, 4, 1);
  HAS(indices(z, 0, 1, S32), S32, int32_t, DIMS(5), 1, 4, 0, 2, 3);
  REFUSED(lxla_sort_along(x, 1, 0, 0, &out), LXLA_INVALID_ARGUMENT, "axis 1 is out of range for rank 1");
  REFUSED(lxla_sort_along(x, 0, 3, 0, &out), LXLA_INVALID_ARGUMENT, "descending: 3 given");
  REFUSED(lxla_argsort(x, 0, 0, 0, F32, &out), LXLA_INVALID_ARGUMENT, "index_dtype: it is f32; want an integer");
  REFUSED(lxla_argsort(x, 0, 0, 0, 99, &out), LXLA_INVALID_ARGUMENT,
          "index_dtype: dtype: 99 is not an LXLA_DTYPE_* constant");
  RELEASE(x, m, b, s8, u64, p, empty, z);
}

static void largest_elements(void) {
  lxla_tensor x = ARRAY(F32, float, DIMS(2, 4), 1, 3, 3, NAN, -1, 0, -0.0f, -2), v, i;
  OK(lxla_topk(x, 3, 1, 1, S32, &v, &i));
  HAS(v, F32, float, DIMS(2, 3), NAN, 3, 3, 0, -0.0f, -1);
  HAS(i, S32, int32_t, DIMS(2, 3), 3, 1, 2, 1, 2, 0);
  OK(lxla_topk(x, 3, -1, 0, S64, &v, &i));
  HAS(v, F32, float, DIMS(2, 3), 1, 3, 3, -2, -1, 0);
  HAS(i, S64, int64_t, DIMS(2, 3), 0, 1, 2, 3, 0, 1);
  OK(lxla_topk(x, 1, 0, 1, U8, &v, &i));
  HAS(v, F32, float, DIMS(1, 4), 1, 3, 3, NAN);
  HAS(i, U8, uint8_t, DIMS(1, 4), 0, 0, 0, 0);
  OK(lxla_topk(x, 0, 1, 1, S32, &v, &i));
  HAS(v, F32, float, DIMS(2, 0), 0);
  HAS(i, S32, int32_t, DIMS(2, 0), 0);
  lxla_tensor s32 = ARRAY(S32, int32_t, DIMS(4), INT32_MIN, INT32_MAX, -1, INT32_MIN),
              s64 = ARRAY(S64, int64_t, DIMS(3), INT64_MIN, INT64_MAX, 0);
  OK(lxla_topk(s32, 3, 0, 0, S32, &v, &i));
  HAS(v, S32, int32_t, DIMS(3), INT32_MIN, INT32_MIN, -1);
  HAS(i, S32, int32_t, DIMS(3), 0, 3, 2);
  OK(lxla_topk(s64, 2, 0, 1, S32, &v, &i));
  HAS(v, S64, int64_t, DIMS(2), INT64_MAX, 0);
  HAS(i, S32, int32_t, DIMS(2), 1, 2);
  lxla_tensor f64 = ARRAY(F64, double, DIMS(4), 1e300, -INFINITY, NAN, 1e301),
              h = ARRAY(LXLA_DTYPE_F16, uint16_t, DIMS(4), 0x3C00, 0xFE00, 0x7C00, 0x8000);
  OK(lxla_topk(f64, 4, 0, 0, S32, &v, &i));
  HAS(v, F64, double, DIMS(4), -INFINITY, 1e300, 1e301, NAN);
  HAS(i, S32, int32_t, DIMS(4), 1, 0, 3, 2);
  // f16 values: 1, a negative NaN, infinity, -0.
  OK(lxla_topk(h, 4, 0, 1, S32, &v, &i));
  HAS(v, LXLA_DTYPE_F16, uint16_t, DIMS(4), 0xFE00, 0x7C00, 0x3C00, 0x8000);
  HAS(i, S32, int32_t, DIMS(4), 1, 2, 0, 3);
  lxla_tensor p = ARRAY(LXLA_DTYPE_PRED, uint8_t, DIMS(3), 0, 1, 1);
  OK(lxla_topk(p, 2, 0, 1, S32, &v, &i));
  HAS(v, LXLA_DTYPE_PRED, uint8_t, DIMS(2), 1, 1);
  HAS(i, S32, int32_t, DIMS(2), 1, 2);
  REFUSED(lxla_topk(x, 5, 1, 1, S32, &v, &i), LXLA_INVALID_ARGUMENT, "k: 5 given; x is f32[2,4], want 0 to 4");
  REFUSED(lxla_topk(x, -1, 1, 1, S32, &v, &i), LXLA_INVALID_ARGUMENT, "k: -1 given");
  REFUSED(lxla_topk(x, 1, 2, 1, S32, &v, &i), LXLA_INVALID_ARGUMENT, "axis 2 is out of range");
  REFUSED(lxla_topk(x, 1, 1, 1, S32, &v, NULL), LXLA_NULL_ARGUMENT, "out_indices: it is NULL");
  RELEASE(x, s32, s64, f64, h, p);
}

// The k largest of many, where XLA uses a search instead of a sort: the order is that of NumPy's stable argsort.
static void largest_of_many(void) {
  enum { MANY = 20000, K = 50 };
  static float values[MANY], top[K], want[K];
  static int32_t places[K];
  for (int i = 0; i < MANY; i++) values[i] = (float)(i * 7919 % 3001);
  lxla_tensor x = array(F32, DIMS(MANY), values, sizeof values), v, i;
  OK(lxla_topk(x, K, 0, 1, S32, &v, &i));
  read_f32(v, top, K);
  OK(lxla_tensor_read(i, places, sizeof places));
  int n = 0;
  for (int value = 3000; n < K; value--)
    for (int at = 0; at < MANY && n < K; at++)
      if (values[at] == (float)value) {
        want[n] = (float)value;
        EQUAL(places[n], at);
        n++;
      }
  for (int at = 0; at < K; at++) EQUAL(top[at], want[at]);
  RELEASE(x, v, i);
}

// The first few of a sort, where XLA might use a search: by GT alone, NaN and zeros have the places that sort_along
// gives them.
static void first_of_a_sort(void) {
  lxla_tensor x[] = {ARRAY(F32, float, DIMS(6), -0.0f, -1, 0, NAN, -0.0f, -2), none}, p[4], more, out[2], first;
  OK(lxla_iota(env, device, S32, DIMS(6), 0, &x[1]));
  for (int i = 0; i < 4; i++) p[i] = placeholder(env, i < 2 ? F32 : S32, NULL, 0);
  more = compared(LXLA_COMPARE_GT, p[0], p[1]);
  lxla_computation order = traced(p, 4, &more, 1);
  OK(lxla_sort(order, x, 2, 0, 1, out));
  OK(lxla_slice(out[1], (int64_t[]){0}, (int64_t[]){4}, NULL, 1, &first));
  HAS(first, S32, int32_t, DIMS(4), 3, 0, 2, 4);
  OK(lxla_slice(out[0], (int64_t[]){0}, (int64_t[]){4}, NULL, 1, &first));
  HAS(first, F32, float, DIMS(4), NAN, -0.0f, 0, -0.0f);
  lxla_tensor places = indices(x[0], 0, 1, S32);
  OK(lxla_slice(places, (int64_t[]){0}, (int64_t[]){4}, NULL, 1, &first));
  HAS(first, S32, int32_t, DIMS(4), 3, 0, 2, 4);
  OK(lxla_tensor_release_many(p, 4));
  DONE(order);
  RELEASE(x[0], x[1], more, out[0], out[1], places);
}

// 8-bit floats are ordered like their f32 values; f8e8m0fnu begins with a number that is denormal in f32.
static void floats_of_8_bits(void) {
  const int32_t E5M2 = LXLA_DTYPE_F8E5M2, E8M0 = LXLA_DTYPE_F8E8M0FNU;
  // 1, NaN, -2, infinity, -0, 0.
  lxla_tensor x = ARRAY(E5M2, uint8_t, DIMS(6), 0x3C, 0x7F, 0xC0, 0x7C, 0x80, 0x00), v, i, out = none;
  HAS(sorted(x, 0, 0), E5M2, uint8_t, DIMS(6), 0xC0, 0x80, 0x00, 0x3C, 0x7C, 0x7F);
  HAS(sorted(x, 0, 1), E5M2, uint8_t, DIMS(6), 0x7F, 0x7C, 0x3C, 0x80, 0x00, 0xC0);
  HAS(indices(x, 0, 0, S32), S32, int32_t, DIMS(6), 2, 4, 5, 0, 3, 1);
  OK(lxla_topk(x, 3, 0, 1, S32, &v, &i));
  HAS(v, E5M2, uint8_t, DIMS(3), 0x7F, 0x7C, 0x3C);
  HAS(i, S32, int32_t, DIMS(3), 1, 3, 0);
  OK(lxla_argmax(x, 0, 0, S32, &out));
  HAS(out, S32, int32_t, SCALAR, 1);
  // f8e8m0fnu values: 2^-127, 1, 2^-126.
  lxla_tensor y = ARRAY(E8M0, uint8_t, DIMS(3), 0x7F, 0x00, 0x01);
  HAS(sorted(y, 0, 0), E8M0, uint8_t, DIMS(3), 0x00, 0x01, 0x7F);
  OK(lxla_topk(y, 2, 0, 0, S32, &v, &i));
  HAS(v, E8M0, uint8_t, DIMS(2), 0x00, 0x01);
  HAS(i, S32, int32_t, DIMS(2), 1, 2);
  // No elements are found, and the dtype has no 0 for the default fill.
  lxla_tensor nowhere = array(S32, DIMS(0), NULL, 0);
  OK(lxla_topk(y, 0, 0, 0, S32, &v, &i));
  HAS(v, E8M0, uint8_t, DIMS(0), 0);
  HAS(i, S32, int32_t, DIMS(0), 0);
  OK(lxla_take(y, nowhere, 0, &out));
  HAS(out, E8M0, uint8_t, DIMS(0), 0);
  OK(lxla_take_along_axis(y, nowhere, 0, &out));
  HAS(out, E8M0, uint8_t, DIMS(0), 0);
  RELEASE(nowhere);
  OK(lxla_argmin(y, 0, 0, S32, &out));
  HAS(out, S32, int32_t, SCALAR, 1);
  OK(lxla_argmax(y, 0, 0, S32, &out));
  HAS(out, S32, int32_t, SCALAR, 0);
  RELEASE(x, y);
}

static void first_by_total_order(void) {
  const uint32_t bits[] = {0x80000000, 0, 0x7FC00000, 0xFFC00000, 0x7F800000, 0xFF800000, 1, 0x3F800000};
  lxla_tensor x = array(F32, DIMS(8), bits, sizeof bits), v, i, values;
  OK(lxla_topk_total_order(x, 8, 0, 1, S32, &v, &i));
  HAS(i, S32, int32_t, DIMS(8), 2, 4, 7, 6, 1, 0, 5, 3);
  OK(lxla_bitcast_convert(v, U32, &values));
  HAS(values, U32, uint32_t, DIMS(8), 0x7FC00000, 0x7F800000, 0x3F800000, 1, 0, 0x80000000, 0xFF800000, 0xFFC00000);
  RELEASE(v);
  OK(lxla_topk_total_order(x, 3, -1, 0, U8, &v, &i));
  HAS(i, U8, uint8_t, DIMS(3), 3, 5, 0);
  RELEASE(v, x);
  // f16 values: -0, 0, NaN, NaN with a sign bit, 1.
  lxla_tensor h = ARRAY(F16, uint16_t, DIMS(5), 0x8000, 0, 0x7E00, 0xFE00, 0x3C00);
  OK(lxla_topk_total_order(h, 5, 0, 1, S64, &v, &i));
  HAS(i, S64, int64_t, DIMS(5), 2, 4, 1, 0, 3);
  RELEASE(v);
  // In the other order, NaN of either sign is the largest, and the two zeros are equal.
  OK(lxla_topk(h, 5, 0, 1, S64, &v, &i));
  HAS(i, S64, int64_t, DIMS(5), 2, 3, 4, 0, 1);
  RELEASE(v, h);
  lxla_tensor d = ARRAY(F64, double, DIMS(2, 2), 0.0, 1e300, -0.0, -1);
  OK(lxla_topk_total_order(d, 1, 0, 0, S32, &v, &i));
  HAS(v, F64, double, DIMS(1, 2), -0.0, -1);
  HAS(i, S32, int32_t, DIMS(1, 2), 1, 1);
  RELEASE(d);
  lxla_tensor s = ARRAY(S8, int8_t, DIMS(3), -1, 5, 2);
  OK(lxla_topk_total_order(s, 2, 0, 1, S32, &v, &i));
  HAS(v, S8, int8_t, DIMS(2), 5, 2);
  RELEASE(i);
  REFUSED(lxla_topk_total_order(s, 4, 0, 1, S32, &v, &i), BAD, "k: 4 given; x is s8[3], want 0 to 3");
  lxla_tensor z = ARRAY(C64, float, DIMS(1), 1, 2);
  REFUSED(lxla_topk_total_order(z, 1, 0, 1, S32, &v, &i), BAD,
          "x: topk_total_order takes pred, integers and floats, not c64[1]");
  RELEASE(s, z);
}

TEST(an_order_of_floats_of_8_bits) { on_both(floats_of_8_bits); }
TEST(the_first_elements_of_a_sort) { on_both(first_of_a_sort); }
TEST(sorting_by_a_computation) { on_both(sorts_by_computations); }
TEST(sorting_numbers) { on_both(sorts_of_numbers); }
TEST(the_largest_elements) { on_both(largest_elements); }
TEST(the_largest_of_many_elements) { on_both(largest_of_many); }
TEST(top_k_by_total_order) { on_both(first_by_total_order); }

// Sorts by the distance from a captured scalar.
TEST(a_comparator_captures_scalars) {
  env = new_env();
  device = XLA(0);
  lxla_tensor from = ARRAY(F32, float, SCALAR, 10), a = placeholder(env, F32, NULL, 0),
              b = placeholder(env, F32, NULL, 0), d, e;
  lxla_tensor da = binary(SUB, a, from), db = binary(SUB, b, from), out;
  OK(lxla_unary(LXLA_UNARY_ABS, da, &d));
  OK(lxla_unary(LXLA_UNARY_ABS, db, &e));
  lxla_tensor nearer = compared(LXLA_COMPARE_LT, d, e);
  lxla_computation c = traced(TENSORS(a, b), TENSORS(nearer));
  lxla_tensor x = ARRAY(F32, float, DIMS(5), 1, 9, 25, 12, 10);
  OK(lxla_sort(c, &x, 1, 0, 1, &out));
  HAS(out, F32, float, DIMS(5), 10, 9, 12, 1, 25);
  DONE(c);
  RELEASE(from, a, b, da, db, d, e, nearer, x);
  OK(lxla_env_release(env));
}

// Denormal numbers are not 0 in the order of a sort, whether the axis is short or long; a search of what was sorted in
// the same program finds each element.
static void denormal_numbers_in_long_rows(void) {
  enum { N = 64 };
  float x[N], sorted[N];
  for (int i = 0; i < N; i++) {
    sorted[i] = (float)(i - N / 2) * 1e-41f;
    x[i * 5 % N] = sorted[i];
  }
  int32_t want[N], found[N];
  for (int i = 0; i < N; i++) want[i] = i * 5 % N, found[i * 5 % N] = i;
  lxla_tensor t = array(F32, DIMS(N), x, sizeof x), order, places, row;
  OK(lxla_argsort(t, 0, 0, 1, S32, &order));
  HAS_ARRAY(order, S32, DIMS(N), want);
  OK(lxla_sort_along(t, 0, 0, 1, &row));
  OK(lxla_searchsorted(row, t, 0, S32, &places));
  HAS_ARRAY(places, S32, DIMS(N), found);
  HAS_ARRAY(row, F32, DIMS(N), sorted);
  RELEASE(t);
}

TEST(denormal_numbers_are_ordered_in_long_rows) { on_both(denormal_numbers_in_long_rows); }
