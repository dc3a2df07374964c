// Operations on single elements: bounds, complex numbers, bits, order; also custom calls and case. On an XLA device and
// natively, with the same results and errors.
#include "both.h"
#include "computation.h"

static void clamps(void) {
  lxla_tensor out = none;
  lxla_tensor low = ARRAY(F32, float, SCALAR, -1), high = ARRAY(F32, float, DIMS(3), 1, 0.5f, -2);
  lxla_tensor x = ARRAY(F32, float, DIMS(2, 3), -3, 3, 0, -0.0f, 0.25f, INFINITY);
  OK(lxla_clamp(low, x, high, &out));
  HAS(out, F32, float, DIMS(2, 3), -1, 0.5f, -2, -0.0f, 0.25f, -2);  // the upper bound wins

  // A NaN operand gives NaN; of two zeros, max takes 0 and min -0.
  lxla_tensor a = ARRAY(F64, double, DIMS(5), NAN, 0, 0, 0.0, -0.0), b = ARRAY(F64, double, DIMS(5), 1, NAN, 1, -0.0, 0.0);
  lxla_tensor c = ARRAY(F64, double, DIMS(5), 2, 2, NAN, 1, -0.0);
  OK(lxla_clamp(a, b, c, &out));
  double got[5];
  OK(lxla_tensor_read(out, got, sizeof got));
  CHECK(isnan(got[0]) && isnan(got[1]) && isnan(got[2]));
  CHECK(got[3] == 0 && !signbit(got[3]) && got[4] == 0 && signbit(got[4]));
  RELEASE(out, a, b, c);

  // Dtypes promote and shapes broadcast; the limits of integers are kept.
  lxla_tensor s8 = ARRAY(S8, int8_t, DIMS(2, 1), -128, 3), u8 = ARRAY(U8, uint8_t, DIMS(2), 0, 255), s16 = ARRAY(S16, int16_t, SCALAR, 200);
  OK(lxla_clamp(s8, u8, s16, &out));
  HAS(out, S16, int16_t, DIMS(2, 2), 0, 200, 3, 200);
  lxla_tensor top = ARRAY(U64, uint64_t, SCALAR, UINT64_MAX), most = ARRAY(U64, uint64_t, SCALAR, UINT64_MAX - 1);
  OK(lxla_clamp(most, top, top, &out));
  HAS(out, U64, uint64_t, SCALAR, UINT64_MAX);
  OK(lxla_clamp(top, most, most, &out));
  HAS(out, U64, uint64_t, SCALAR, UINT64_MAX - 1);
  lxla_tensor least = ARRAY(S64, int64_t, SCALAR, INT64_MIN), greatest = ARRAY(S64, int64_t, SCALAR, INT64_MAX);
  OK(lxla_clamp(least, greatest, greatest, &out));
  HAS(out, S64, int64_t, SCALAR, INT64_MAX);
  lxla_tensor no = ARRAY(PRED, uint8_t, SCALAR, 0), yes = ARRAY(PRED, uint8_t, DIMS(2), 0, 1);
  OK(lxla_clamp(no, yes, no, &out));
  HAS(out, PRED, uint8_t, DIMS(2), 0, 0);
  lxla_tensor half = ARRAY(F16, uint16_t, DIMS(3), 0x3C00, 0xBC00, 0x7C00), brain = ARRAY(BF16, uint16_t, SCALAR, 0xBF00);
  OK(lxla_clamp(brain, half, half, &out));  // f16 with bf16 gives f32
  HAS(out, F32, float, DIMS(3), 1, -1, INFINITY);
  lxla_tensor empty = array(F32, DIMS(0, 3), NULL, 0);
  OK(lxla_clamp(low, empty, high, &out));
  EMPTY(out, F32, DIMS(0, 3));

  lxla_tensor z = ARRAY(C64, double, SCALAR, 0);
  REFUSED(lxla_clamp(low, z, high, &out), LXLA_INVALID_ARGUMENT, "min is f32[], x is c64[], max is f32[3]: complex numbers have no order");
  REFUSED(lxla_clamp(s8, x, low, &out), LXLA_INVALID_ARGUMENT, "s8 and f32 do not promote");
  REFUSED(lxla_clamp(a = ARRAY(F32, float, DIMS(2), 1, 2), x, high, &out), LXLA_INVALID_ARGUMENT, "max is f32[3]: their shapes do not broadcast");
  REFUSED(lxla_clamp(low, x, high, NULL), LXLA_NULL_ARGUMENT, "out_tensor");
  RELEASE(low, high, x, s8, u8, s16, top, most, least, greatest, no, yes, half, brain, empty, z, a);
}

static void complex_numbers(void) {
  lxla_tensor out = none, parts = none;
  lxla_tensor re = ARRAY(F32, float, DIMS(2, 1), 1, -0.0f), im = ARRAY(F32, float, DIMS(2), INFINITY, -2);
  OK(lxla_complex(re, im, &out));
  OK(lxla_real(out, &parts));
  HAS(parts, F32, float, DIMS(2, 2), 1, 1, -0.0f, -0.0f);
  OK(lxla_imag(out, &parts));
  HAS(parts, F32, float, DIMS(2, 2), INFINITY, -2, INFINITY, -2);
  HAS(out, C64, float, DIMS(2, 2), 1, INFINITY, 1, -2, -0.0f, INFINITY, -0.0f, -2);
  lxla_tensor wide = ARRAY(F64, double, DIMS(2), 0.1, 1e300), brain = ARRAY(BF16, uint16_t, SCALAR, 0x3FC0);
  OK(lxla_complex(wide, brain, &out));
  HAS(out, C128, double, DIMS(2), 0.1, 1.5, 1e300, 1.5);
  OK(lxla_complex(re, brain, &out));
  HAS(out, C64, float, DIMS(2, 1), 1, 1.5f, -0.0f, 1.5f);

  // A real operand: its real part is itself, its imaginary part zeros.
  lxla_tensor whole = ARRAY(S32, int32_t, DIMS(2), INT32_MIN, 7);
  OK(lxla_real(whole, &out));
  HAS(out, S32, int32_t, DIMS(2), INT32_MIN, 7);
  OK(lxla_imag(whole, &out));
  HAS(out, S32, int32_t, DIMS(2), 0, 0);
  OK(lxla_imag(im, &out));
  HAS(out, F32, float, DIMS(2), 0, 0);
  lxla_tensor empty = array(F64, DIMS(0), NULL, 0);
  OK(lxla_complex(empty, brain, &out));
  EMPTY(out, C128, DIMS(0));

  lxla_tensor half = ARRAY(F16, uint16_t, SCALAR, 0);
  REFUSED(lxla_complex(half, half, &out), LXLA_INVALID_ARGUMENT, "there are no complex numbers of f16");
  REFUSED(lxla_complex(re, whole, &out), LXLA_INVALID_ARGUMENT, "imag: complex takes floats, not s32[2]");
  REFUSED(lxla_complex(empty, im, &out), LXLA_INVALID_ARGUMENT, "do not broadcast");
  RELEASE(re, im, wide, brain, whole, empty, half);
}

static lxla_tensor unary(int32_t op, lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_unary(op, x, &out));
  return out;
}

// Complex functions below the branch cut, and with infinite parts, as C (annex G) defines them.
static void complex_edges(void) {
  const float inf = INFINITY;
  lxla_tensor z = ARRAY(C64, float, DIMS(4), -4, -0.0f, inf, NAN, -inf, 1, NAN, -inf);
  HAS_F32(unary(LXLA_UNARY_ABS, z), DIMS(4), 4, inf, inf, inf);
  const float roots[] = {0, -2, inf, NAN, 0, inf, inf, -inf}, logs[] = {1.3862944f, -3.1415927f, inf, NAN, inf, 3.1415927f, inf, NAN};
  float got[8];
  for (int op = 0; op < 2; op++) {
    lxla_tensor out = unary(op ? LXLA_UNARY_LOG : LXLA_UNARY_SQRT, z);
    OK(lxla_tensor_read(out, got, sizeof got));
    for (int i = 0; i < 8; i++) {
      float want = (op ? logs : roots)[i];
      CHECK(isfinite(want) ? fabsf(got[i] - want) < 1e-6f : isnan(want) ? isnan(got[i]) : got[i] == want);
    }
    RELEASE(out);
  }
  lxla_tensor far = ARRAY(C64, float, DIMS(2), inf, inf, -inf, NAN), out = unary(LXLA_UNARY_TANH, far);
  OK(lxla_tensor_read(out, got, 4 * sizeof *got));
  CHECK(got[0] == 1 && got[1] == 0 && got[2] == -1 && got[3] == 0);
  RELEASE(z, far, out);
}

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
  REFUSED(lxla_bitcast_convert(f, F64, &out), LXLA_INVALID_ARGUMENT, "x: it is f32[3]; want a last axis of size 2, whose elements make up one f64");
  REFUSED(lxla_bitcast_convert(yes, U8, &out), LXLA_INVALID_ARGUMENT, "x: pred[8] to u8; want integers and floats");
  REFUSED(lxla_bitcast_convert(f, PRED, &out), LXLA_INVALID_ARGUMENT, "dtype: f32[3] to pred");
  REFUSED(lxla_bitcast_convert(z, U64, &out), LXLA_INVALID_ARGUMENT, "x: c64[] to u64");
  REFUSED(lxla_bitcast_convert(z, C128, &out), LXLA_INVALID_ARGUMENT, "x: c64[] to c128");  // XLA would end the process
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
  lxla_tensor words = bits_as(one, U32), halves = bits_as(words, U16), back = bits_as(words, U64), bytes = bits_as(halves, U8);
  HAS(words, U32, uint32_t, DIMS(2), 0x00060005, 0x00080007);
  HAS(halves, U16, uint16_t, DIMS(2, 2), 5, 6, 7, 8);
  HAS(back, U64, uint64_t, SCALAR, number);
  HAS(bytes, U8, uint8_t, DIMS(2, 2, 2), 5, 0, 6, 0, 7, 0, 8, 0);
  lxla_tensor wide = bits_as(two, U32), widest = bits_as(wide, S64), same = bits_as(wide, F32), again = bits_as(same, U16);
  HAS(widest, S64, uint64_t, SCALAR, number);
  HAS(again, U16, uint16_t, DIMS(2, 2), 5, 6, 7, 8);
  REFUSED(lxla_bitcast_convert(same, U64, NULL), LXLA_NULL_ARGUMENT, "out_tensor");
  RELEASE(one, two, wide, same);
}

static void precisions(void) {
  lxla_tensor out = none;
  lxla_tensor x = ARRAY(F32, float, DIMS(8), 1 + 1.0f / 256, 1 + 3.0f / 256, 65520, 6.2e-5f, 6e-5f, -1e-40f, -INFINITY, NAN);
  // The format of f16: ties go to even, 65520 overflows, and numbers below the least normal one become 0.
  OK(lxla_reduce_precision(x, 5, 7, &out));
  HAS(out, F32, uint32_t, DIMS(8), 0x3F800000, 0x3F820000, 0x7F800000, 0x38820000, 0, 0x80000000, 0xFF800000, 0x7FC00000);
  // One exponent bit: only 1 is kept, and larger numbers become infinite.
  OK(lxla_reduce_precision(x, 1, 0, &out));
  HAS(out, F32, uint32_t, DIMS(8), 0, 0, 0x7F800000, 0, 0, 0x80000000, 0xFF800000, 0x7FC00000);
  // More bits than the dtype has.
  OK(lxla_reduce_precision(x, 11, 52, &out));
  HAS(out, F32, float, DIMS(8), 1 + 1.0f / 256, 1 + 3.0f / 256, 65520, 6.2e-5f, 6e-5f, -1e-40f, -INFINITY, NAN);
  lxla_tensor half = ARRAY(F16, uint16_t, DIMS(4), 0x3C01, 0x7BFF, 0x8001, 0x7E00), brain = ARRAY(BF16, uint16_t, DIMS(3), 0x3F81, 0x7F7F, 0x0001);
  OK(lxla_reduce_precision(half, 5, 2, &out));
  HAS(out, F16, uint16_t, DIMS(4), 0x3C00, 0x7C00, 0x8000, 0x7E00);
  OK(lxla_reduce_precision(brain, 8, 3, &out));
  HAS(out, BF16, uint16_t, DIMS(3), 0x3F80, 0x7F80, 0);
  lxla_tensor wide = ARRAY(F64, double, DIMS(3), 1 + 0x1p-24, 1 + 0x1.8p-23, 1e39);
  OK(lxla_reduce_precision(wide, 8, 23, &out));
  HAS(out, F64, double, DIMS(3), 1, 1 + 0x1p-22, INFINITY);

  lxla_tensor whole = ARRAY(S32, int32_t, SCALAR, 1);
  REFUSED(lxla_reduce_precision(whole, 5, 10, &out), LXLA_INVALID_ARGUMENT, "x: reduce_precision takes floats, not s32[]");
  REFUSED(lxla_reduce_precision(x, 0, 10, &out), LXLA_INVALID_ARGUMENT, "exponent_bits: 0 given; want at least 1");
  REFUSED(lxla_reduce_precision(x, 5, -1, &out), LXLA_INVALID_ARGUMENT, "mantissa_bits: -1 given; want at least 0");
  RELEASE(x, half, brain, wide, whole);
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

static void native_custom_call(void) {
  lxla_tensor x = ARRAY(F32, float, SCALAR, 1), out;
  int32_t dtype = F32;
  size_t rank = 0;
  if (device.kind == LXLA_DEVICE_CPU)
    REFUSED(lxla_custom_call("Sharding", &x, 1, &dtype, &rank, NULL, 1, NULL, &out), LXLA_UNIMPLEMENTED, "target: Sharding");
  RELEASE(x);
}

static lxla_computation plus(double number, lxla_tensor captured) {
  lxla_tensor p = placeholder(env, F32, SCALAR), sum = scalar(ADD, p, number), result = captured.id ? binary(MUL, sum, captured) : sum;
  lxla_computation c = traced(&p, 1, &result, 1);
  RELEASE(p, sum);
  if (captured.id) RELEASE(result);
  return c;
}

static lxla_computation branches[3];
static lxla_tensor argument;

static void chosen(int32_t dtype, const void *index, size_t size, float want) {
  lxla_tensor i = array(dtype, SCALAR, index, size), out;
  OK(lxla_case(i, branches, 3, &argument, 1, &out, 1));
  HAS(out, F32, float, SCALAR, want);
  RELEASE(i);
}

#define CHOSEN(dtype, type, index, want) chosen(dtype, (type[]){index}, sizeof(type), want)

static void cases(void) {
  for (int i = 0; i < 3; i++) branches[i] = plus(10 * (i + 1), none);
  argument = ARRAY(F32, float, SCALAR, 1);
  CHOSEN(S32, int32_t, 0, 11);
  CHOSEN(S32, int32_t, 1, 21);
  CHOSEN(S32, int32_t, 2, 31);
  // An index that no branch has selects the last one, whatever the index's dtype.
  CHOSEN(S32, int32_t, 3, 31);
  CHOSEN(S32, int32_t, -1, 31);
  CHOSEN(S32, int32_t, INT32_MIN, 31);
  CHOSEN(S8, int8_t, 1, 21);
  CHOSEN(S8, int8_t, -128, 31);
  CHOSEN(U8, uint8_t, 255, 31);
  CHOSEN(U16, uint16_t, 1, 21);
  CHOSEN(U32, uint32_t, 0, 11);
  CHOSEN(U32, uint32_t, UINT32_MAX, 31);
  CHOSEN(S64, int64_t, 1, 21);
  CHOSEN(S64, int64_t, INT64_C(1) << 32, 31);
  CHOSEN(S64, int64_t, INT64_MIN, 31);
  CHOSEN(U64, uint64_t, 1, 21);
  CHOSEN(U64, uint64_t, UINT64_C(1) << 32, 31);
  CHOSEN(U64, uint64_t, UINT64_MAX, 31);

  lxla_tensor index = ARRAY(S32, int32_t, SCALAR, 7), out = none, list = ARRAY(S32, int32_t, DIMS(1), 0);
  OK(lxla_case(index, branches, 1, &argument, 1, &out, 1));  // the only branch
  HAS(out, F32, float, SCALAR, 11);
  REFUSED(lxla_case(argument, branches, 3, &argument, 1, &out, 1), LXLA_INVALID_ARGUMENT, "index: it is f32[]; want an integer scalar");
  REFUSED(lxla_case(list, branches, 3, &argument, 1, &out, 1), LXLA_INVALID_ARGUMENT, "index: it is s32[1]; want an integer scalar");
  REFUSED(lxla_case(index, NULL, 0, &argument, 1, &out, 1), LXLA_INVALID_ARGUMENT, "n_branches: 0 given; want at least 1");
  REFUSED(lxla_case(index, branches, 3, &index, 1, &out, 1), LXLA_INVALID_ARGUMENT, "args: args[0] is s32[]; branches[0]'s parameter 0 is f32[]");
  REFUSED(lxla_case(index, branches, 3, NULL, 0, &out, 1), LXLA_INVALID_ARGUMENT, "args: 0 given; branches[0] takes 1 parameters");
  REFUSED(lxla_case(index, branches, 3, &argument, 1, &out, 2), LXLA_INVALID_ARGUMENT, "out_results: 2 given; want 1");
  REFUSED(lxla_case(index, (lxla_computation[]){branches[0], {0}}, 2, &argument, 1, &out, 1), LXLA_INVALID_HANDLE, "branches");
  RELEASE(index, list, argument);
  for (int i = 0; i < 3; i++) OK(lxla_computation_release(branches[i]));
}

TEST(clamp) { on_both(clamps); }
TEST(complex_and_its_parts) { on_both(complex_numbers); }
TEST(complex_functions_at_their_edges) { on_both(complex_edges); }
TEST(bits_as_other_elements) { on_both(bitcasts); }
TEST(bits_of_bits) { on_both(bitcasts_of_bitcasts); }
TEST(fewer_bits) { on_both(precisions); }
TEST(backwards) { on_both(reverses); }
TEST(custom_calls_are_not_native) { on_both(native_custom_call); }
TEST(case_takes_the_branch_of_its_number) { on_both(cases); }

TEST(case_captures_differ_and_only_one_branch_runs) {
  env = new_env();
  device = XLA(0);
  lxla_tensor two = ARRAY(F32, float, SCALAR, 2), three = ARRAY(F32, float, SCALAR, 3), out;
  lxla_computation all[] = {plus(1, two), plus(1, none), plus(2, three), plus(1, two)};
  lxla_tensor index = ARRAY(S32, int32_t, SCALAR, 0);
  const float want[] = {10, 5, 18, 10};
  argument = ARRAY(F32, float, SCALAR, 4);
  for (int i = 0; i < 4; i++) {
    OK(lxla_case(index, all, 4, &argument, 1, &out, 1));
    char *text = text_of(out);
    EQUAL(occurrences(text, "stablehlo.case"), 1);
    EQUAL(occurrences(text, "func.func private"), 3);  // equal branches are one function
    lxla_string_free(text);
    HAS(out, F32, float, SCALAR, want[i]);
    OK(lxla_binary_scalar_inplace(ADD, index, 1));
  }
  // One program computes all of them.
  EQUAL(counter(env, "UncachedCompile") <= 3, 1);
  lxla_tensor p = placeholder(env, F32, SCALAR), q = placeholder(env, F32, DIMS(1)), twice = scalar(MUL, q, 2);
  lxla_computation other = traced(&q, 1, &twice, 1), pair = traced(&p, 1, (lxla_tensor[]){p, p}, 2);
  REFUSED(lxla_case(index, (lxla_computation[]){all[0], other}, 2, &argument, 1, &out, 1), LXLA_INVALID_ARGUMENT, "args[0] is f32[]; branches[1]'s parameter 0 is f32[1]");
  REFUSED(lxla_case(index, (lxla_computation[]){all[0], pair}, 2, &argument, 1, &out, 1), LXLA_INVALID_ARGUMENT, "branches[1]: its results are f32[], f32[]; those of branches[0] are f32[]");
  for (int i = 0; i < 4; i++) OK(lxla_computation_release(all[i]));
  OK(lxla_computation_release(other));
  OK(lxla_computation_release(pair));
  RELEASE(two, three, index, argument, p, q, twice);
  EQUAL(counter(env, "LiveBytes"), 0);
  OK(lxla_env_release(env));
}

// --- Custom calls ---

static void custom(const char *target, lxla_tensor x, const int32_t *dtypes, const size_t *ranks, const int64_t *dims, size_t n,
                   const char *config, int32_t version, int32_t side_effect, lxla_tensor *out) {
  lxla_custom_call_options options = {.struct_size = sizeof options};
  OK(lxla_custom_call_options_init(&options));
  options.backend_config = config;
  options.api_version = version;
  options.has_side_effect = side_effect;
  OK(lxla_custom_call(target, &x, 1, dtypes, ranks, dims, n, &options, out));
}

TEST(custom_calls_reach_the_plugin) {
  env = new_env();
  device = XLA(0);
  lxla_tensor matrix = ARRAY(F32, float, DIMS(2, 2), 2, 1, 1, 2), out[2];
  // Targets that XLA knows on every device: eigenvectors and eigenvalues, by a number of sweeps.
  custom("Eigh", matrix, (int32_t[]){F32, F32}, (size_t[]){2, 1}, (int64_t[]){2, 2, 2}, 2, "1,1,100,1e-6", LXLA_CUSTOM_CALL_ORIGINAL, 0, out);
  char *text = text_of(out[1]);
  CHECK(strstr(text, "call_target_name = \"Eigh\", backend_config = \"1,1,100,1e-6\", api_version = 1 : i32, has_side_effect = false"));
  CHECK(strstr(text, "operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[0]> : tensor<1xindex>]"));
  lxla_string_free(text);
  float values[2], vectors[4];
  read_f32(out[1], values, 2);
  read_f32(out[0], vectors, 4);
  CHECK(fabsf(values[0] - 1) < 1e-5f && fabsf(values[1] - 3) < 1e-5f);
  for (int i = 0; i < 4; i++) CHECK(fabsf(fabsf(vectors[i]) - 0.70710678f) < 1e-5f);
  CHECK(vectors[0] * vectors[2] < 0 && vectors[1] * vectors[3] > 0);
  RELEASE(out[0], out[1]);
  // "Sharding" returns its operand.
  custom("Sharding", matrix, (int32_t[]){F32}, (size_t[]){2}, (int64_t[]){2, 2}, 1, NULL, LXLA_CUSTOM_CALL_TYPED_FFI, 2, out);
  OK(lxla_binary_scalar_inplace(ADD, out[0], 1));
  HAS(out[0], F32, float, DIMS(2, 2), 3, 2, 2, 3);

  // An unknown target: the error has the plugin's message, and no tensor is lost.
  lxla_tensor other = scalar(ADD, matrix, 1);
  custom("no \"such\" target", matrix, (int32_t[]){S8}, (size_t[]){0}, NULL, 1, "a \\ \"b\"\n", LXLA_CUSTOM_CALL_STATUS_RETURNING, 1, out);
  REFUSED(lxla_sync(out, 1), LXLA_NOT_FOUND, "no \"such\" target");
  REFUSED(lxla_mark_step(env, XLA(0), 1), LXLA_NOT_FOUND, "no \"such\" target");
  EQUAL(state_of(out[0]), LXLA_STATE_PENDING);
  text = text_of(out[0]);
  CHECK(strstr(text, "call_target_name = \"no \\22such\\22 target\", backend_config = \"a \\5C \\22b\\22\\0A\", api_version = 2 : i32, has_side_effect = true"));
  lxla_string_free(text);
  RELEASE(out[0]);
  custom("nor this", matrix, (int32_t[]){F32}, (size_t[]){0}, NULL, 1, "{a = 1 : i64, b = \"x\"}", 0, 0, out);
  REFUSED(lxla_sync(out, 1), LXLA_NOT_FOUND, "nor this");
  RELEASE(out[0]);
  OK(lxla_mark_step(env, XLA(0), 1));
  HAS(other, F32, float, DIMS(2, 2), 3, 2, 2, 3);
  HAS(matrix, F32, float, DIMS(2, 2), 2, 1, 1, 2);
  EQUAL(counter(env, "LiveBytes"), 0);
  OK(lxla_env_release(env));
}

TEST(custom_calls_are_checked) {
  env = new_env();
  device = XLA(0);
  lxla_tensor x = ARRAY(F32, float, SCALAR, 1), out = none;
  int32_t dtype = F32, bad_dtype = 99;
  size_t rank = 0, one = 1;
  int64_t negative = -1;
  lxla_custom_call_options options = {.struct_size = sizeof options};
  OK(lxla_custom_call_options_init(&options));
  CHECK(options.backend_config == NULL && options.api_version == 0 && options.has_side_effect == 0);
#define CALL(target, n, dtypes, ranks, dims, n_results) lxla_custom_call(target, &x, n, dtypes, ranks, dims, n_results, &options, &out)
  REFUSED(CALL("", 1, &dtype, &rank, NULL, 1), LXLA_INVALID_ARGUMENT, "target: it is empty");
  REFUSED(CALL(NULL, 1, &dtype, &rank, NULL, 1), LXLA_NULL_ARGUMENT, "target");
  REFUSED(CALL("f", 0, &dtype, &rank, NULL, 1), LXLA_INVALID_ARGUMENT, "n_operands: 0 given");
  REFUSED(CALL("f", 1, &dtype, &rank, NULL, 0), LXLA_INVALID_ARGUMENT, "n_results: 0 given; want at least 1");
  REFUSED(CALL("f", 1, &bad_dtype, &rank, NULL, 1), LXLA_INVALID_ARGUMENT, "dtype: 99");
  REFUSED(CALL("f", 1, &dtype, &one, NULL, 1), LXLA_NULL_ARGUMENT, "dims");
  REFUSED(CALL("f", 1, &dtype, &one, &negative, 1), LXLA_INVALID_ARGUMENT, "dims[0] is -1");
  options.api_version = 5;
  REFUSED(CALL("f", 1, &dtype, &rank, NULL, 1), LXLA_INVALID_ARGUMENT, "api_version: 5");
  options.api_version = LXLA_CUSTOM_CALL_TYPED_FFI;
  options.backend_config = "text";
  REFUSED(CALL("f", 1, &dtype, &rank, NULL, 1), LXLA_INVALID_ARGUMENT, "backend_config: \"text\" given; the typed FFI wants a dictionary");
  options.backend_config = NULL;
  options.has_side_effect = 3;
  REFUSED(CALL("f", 1, &dtype, &rank, NULL, 1), LXLA_INVALID_ARGUMENT, "has_side_effect: 3 given");
  options.struct_size = 4;
  REFUSED(CALL("f", 1, &dtype, &rank, NULL, 1), LXLA_INVALID_ARGUMENT, "struct_size is 4");
  REFUSED(lxla_custom_call_options_init(&options), LXLA_INVALID_ARGUMENT, "struct_size is 4");
  RELEASE(x);
  OK(lxla_env_release(env));
}
