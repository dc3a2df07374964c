// dot_general, einsum and convolution, on an XLA device and native.
#include "near.h"

#define AXES(...) (const int64_t[]){__VA_ARGS__}

// Contracts one axis of each operand.
static lxla_tensor dot(lxla_tensor a, lxla_tensor b, int64_t of_a, int64_t of_b, int32_t dtype) {
  lxla_tensor out;
  OK(lxla_dot_general(a, b, NULL, NULL, 0, &of_a, &of_b, 1, dtype, &out));
  return out;
}

static void dot_axes(void) {
  lxla_tensor a = F32S(DIMS(2, 3), 1, 2, 3, 4, 5, 6), b = F32S(DIMS(3, 2), 1, 0, 0, 1, 1, 1), out = none;
  VALUES(dot(a, b, 1, 0, 0), F32, DIMS(2, 2), 4, 5, 10, 11);
  VALUES(dot(a, b, -1, -2, 0), F32, DIMS(2, 2), 4, 5, 10, 11);
  VALUES(dot(a, a, 0, 0, 0), F32, DIMS(3, 3), 17, 22, 27, 22, 29, 36, 27, 36, 45);
  // The batch axis is the second of a and the first of b; it is the result's first axis.
  OK(lxla_dot_general(a, b, AXES(1), AXES(0), 1, NULL, NULL, 0, 0, &out));
  VALUES(out, F32, DIMS(3, 2, 2), 1, 0, 4, 0, 0, 2, 0, 5, 3, 3, 6, 6);
  OK(lxla_dot_general(a, a, AXES(0), AXES(0), 1, AXES(1), AXES(1), 1, 0, &out));
  VALUES(out, F32, DIMS(2), 14, 77);
  OK(lxla_dot_general(a, a, NULL, NULL, 0, AXES(0, 1), AXES(0, 1), 2, 0, &out));
  VALUES(out, F32, SCALAR, 91);
  lxla_tensor two = F32S(SCALAR, 2);
  OK(lxla_dot_general(two, b, NULL, NULL, 0, NULL, NULL, 0, 0, &out));
  VALUES(out, F32, DIMS(3, 2), 2, 0, 0, 2, 2, 2);
  lxla_tensor nothing = array(F32, DIMS(0, 2), NULL, 0);
  VALUES(dot(nothing, nothing, 0, 0, 0), F32, DIMS(2, 2), 0, 0, 0, 0);
  VALUES(dot(nothing, b, 1, 1, 0), F32, DIMS(0, 3), 0);
  lxla_tensor odd = F32S(DIMS(2, 2), INFINITY, 1, NAN, 1), v = F32S(DIMS(2), 0, 1);
  VALUES(dot(odd, v, 1, 0, 0), F32, DIMS(2), NAN, NAN);
  VALUES(dot(odd, v, 0, 0, 0), F32, DIMS(2), NAN, 1);
  RELEASE(a, b, two, nothing, odd, v);
}

static void dot_dtypes(void) {
  lxla_tensor bytes = ARRAY(S8, int8_t, DIMS(2), 100, -128), ubytes = ARRAY(U8, uint8_t, DIMS(2), 200, 255);
  VALUES(dot(bytes, bytes, 0, 0, 0), S8, SCALAR, (int8_t)(100 * 100 + 128 * 128));
  VALUES(dot(bytes, bytes, 0, 0, S32), S32, SCALAR, 100 * 100 + 128 * 128);
  VALUES(dot(bytes, ubytes, 0, 0, 0), LXLA_DTYPE_S16, SCALAR, 20000 - 128 * 255);
  VALUES(dot(ubytes, ubytes, 0, 0, LXLA_DTYPE_S64), LXLA_DTYPE_S64, SCALAR, 40000 + 255 * 255);
  lxla_tensor large = ARRAY(S32, int32_t, DIMS(2), INT32_MAX, INT32_MIN), twos = ARRAY(S32, int32_t, DIMS(2), 2, 1);
  VALUES(dot(large, twos, 0, 0, 0), S32, SCALAR, 2147483646);
  VALUES(dot(large, twos, 0, 0, LXLA_DTYPE_S64), LXLA_DTYPE_S64, SCALAR, 2147483646);
  lxla_tensor huge = ARRAY(U64, uint64_t, DIMS(2), UINT64_MAX, 1);
  VALUES(dot(huge, huge, 0, 0, 0), U64, SCALAR, 2);
  lxla_tensor z = C64S(DIMS(2), 1, 2, 0, 1);
  VALUES(dot(z, z, 0, 0, 0), C64, SCALAR, -4, 4);
  // Complex operands are not conjugated, and may be multiplied with real ones.
  lxla_tensor ones = F32S(DIMS(2), 1, 1);
  VALUES(dot(z, ones, 0, 0, 0), C64, SCALAR, 1, 3);
  // A result type of f64 keeps terms that f32 would lose.
  lxla_tensor wide = F32S(DIMS(3), 1e8, 1, -1e8), three = F32S(DIMS(3), 1, 1, 1);
  VALUES(dot(wide, three, 0, 0, F64), F64, SCALAR, 1);
  // 16-bit products are summed in f32 and rounded once; a sum of ones in 16 bits would stop where the next number is 2
  // away.
  for (int i = 0; i < 2; i++) {
    int32_t dtype = i ? BF16 : F16;
    lxla_tensor x;
    OK(lxla_tensor_full(env, device, dtype, DIMS(4100), 1, &x));
    VALUES(dot(x, x, 0, 0, 0), dtype, SCALAR, i ? 4096 : 4100);
    VALUES(dot(x, x, 0, 0, F32), F32, SCALAR, 4100);
    RELEASE(x);
  }
  RELEASE(bytes, ubytes, large, twos, huge, z, ones, wide, three);
}

static void dot_refusals(void) {
  lxla_tensor a = F32S(DIMS(2, 3), 1, 2, 3, 4, 5, 6), pred = ARRAY(LXLA_DTYPE_PRED, uint8_t, DIMS(2), 0, 1);
  lxla_tensor whole = ARRAY(S32, int32_t, DIMS(2), 1, 2), out = none;
#define DOT(x, y, batch_x, batch_y, sum_x, sum_y, dtype) \
  lxla_dot_general(x, y, AXES(batch_x), AXES(batch_y), 1, AXES(sum_x), AXES(sum_y), 1, dtype, &out)
  REFUSED(DOT(a, a, 0, 1, 1, 0, 0), BAD, "lhs_batching, rhs_batching: lhs is f32[2,3] and rhs is f32[2,3]; axis 0 of lhs is 2 and axis 1 of rhs is 3");
  REFUSED(DOT(a, a, 0, 0, 0, 1, 0), BAD, "lhs_batching, lhs_contracting: axis 0 is given twice");
  REFUSED(DOT(a, a, 0, 0, 1, 2, 0), BAD, "rhs_batching, rhs_contracting: axis 2 is out of range for rank 2");
  REFUSED(DOT(a, a, 0, 0, 1, 1, S32), BAD, "dtype: s32 given");
  REFUSED(DOT(a, a, 0, 0, 1, 1, BF16), BAD, "f32 does not promote to it");
  REFUSED(DOT(a, a, 0, 0, 1, 1, 99), BAD, "dtype: 99 is no LXLA_DTYPE_* constant");
  REFUSED(lxla_dot_general(pred, pred, NULL, NULL, 0, AXES(0), AXES(0), 1, 0, &out), BAD, "pred[2]: dot_general takes numbers");
  REFUSED(lxla_dot_general(a, whole, NULL, NULL, 0, AXES(0), AXES(0), 1, 0, &out), BAD, "do not promote");
  REFUSED(lxla_dot_general(a, a, NULL, NULL, 1, NULL, NULL, 0, 0, &out), LXLA_NULL_ARGUMENT, "lhs_batching: it is NULL");
  REFUSED(lxla_dot_general(a, a, NULL, NULL, 0, NULL, NULL, 0, 0, NULL), LXLA_NULL_ARGUMENT, "out_tensor: it is NULL");
  REFUSED(lxla_dot_general(a, none, NULL, NULL, 0, NULL, NULL, 0, 0, &out), LXLA_INVALID_HANDLE, "rhs");
  RELEASE(a, pred, whole);
}

#define EINSUM(equation, ...) einsum(equation, (lxla_tensor[]){__VA_ARGS__}, sizeof((lxla_tensor[]){__VA_ARGS__}) / sizeof(lxla_tensor))

static lxla_tensor einsum(const char *equation, const lxla_tensor *tensors, size_t n) {
  lxla_tensor out;
  OK(lxla_einsum(equation, tensors, n, &out));
  return out;
}

static void einsums(void) {
  lxla_tensor a = F32S(DIMS(2, 3), 1, 2, 3, 4, 5, 6), v = F32S(DIMS(3), 1, 10, 100), w = F32S(DIMS(2), 1, -1);
  lxla_tensor s = F32S(DIMS(2, 2), 1, 2, 3, 4), two = F32S(SCALAR, 2);
  VALUES(EINSUM("ij,j->i", a, v), F32, DIMS(2), 321, 654);
  VALUES(EINSUM("ij,kj", a, a), F32, DIMS(2, 2), 14, 32, 32, 77);
  VALUES(EINSUM("ji", a), F32, DIMS(3, 2), 1, 4, 2, 5, 3, 6);
  VALUES(EINSUM("ij->", a), F32, SCALAR, 21);
  VALUES(EINSUM("ij -> j", a), F32, DIMS(3), 5, 7, 9);
  VALUES(EINSUM("ii", s), F32, SCALAR, 5);
  VALUES(EINSUM("ii->i", s), F32, DIMS(2), 1, 4);
  VALUES(EINSUM("i,j->ij", w, v), F32, DIMS(2, 3), 1, 10, 100, -1, -10, -100);
  VALUES(EINSUM("i,i->i", v, v), F32, DIMS(3), 1, 100, 10000);
  VALUES(EINSUM(",ij->ji", two, s), F32, DIMS(2, 2), 2, 6, 4, 8);
  VALUES(EINSUM("i,ij,j->", w, a, v), F32, SCALAR, -333);
  VALUES(EINSUM("ij,jk,kl,l->i", s, s, s, w), F32, DIMS(2), -17, -37);
  VALUES(EINSUM("...j,j->...", a, v), F32, DIMS(2), 321, 654);
  VALUES(EINSUM("...,...", a, v), F32, DIMS(2, 3), 1, 20, 300, 4, 50, 600);
  VALUES(EINSUM("i...->...", a), F32, DIMS(3), 5, 7, 9);
  // An axis of size 1 broadcasts to any size elsewhere.
  lxla_tensor row = F32S(DIMS(1, 3), 1, 1, 1), cube = F32S(DIMS(2, 2, 2), 1, 2, 3, 4, 5, 6, 7, 8);
  VALUES(EINSUM("ij,ij->i", row, a), F32, DIMS(2), 6, 15);
  VALUES(EINSUM("iii->i", cube), F32, DIMS(2), 1, 8);
  VALUES(EINSUM("iji->j", cube), F32, DIMS(2), 7, 11);
  VALUES(EINSUM("bij,bjk->bik", cube, cube), F32, DIMS(2, 2, 2), 7, 10, 15, 22, 67, 78, 91, 106);
  // A diagonal is selected, not computed: NaN and infinity beside it do not matter.
  lxla_tensor odd = F32S(DIMS(2, 2), 1, NAN, INFINITY, 2), nothing = array(F32, DIMS(0, 3), NULL, 0);
  VALUES(EINSUM("ii->i", odd), F32, DIMS(2), 1, 2);
  VALUES(EINSUM("ij,j->i", nothing, v), F32, DIMS(0), 0);
  VALUES(EINSUM("ij,ik->jk", nothing, nothing), F32, DIMS(3, 3), 0, 0, 0, 0, 0, 0, 0, 0, 0);
  lxla_tensor bytes = ARRAY(S8, int8_t, DIMS(3), 100, 100, 100), ubytes = ARRAY(U8, uint8_t, DIMS(3), 1, 2, 3);
  VALUES(EINSUM("i->", bytes), S8, SCALAR, 44);
  VALUES(EINSUM("i,i", bytes, ubytes), LXLA_DTYPE_S16, SCALAR, 600);
  lxla_tensor z = C64S(DIMS(2), 0, 1, 2, 0);
  VALUES(EINSUM("i,i", z, w), C64, SCALAR, -2, 1);
  RELEASE(a, v, w, s, two, row, cube, odd, nothing, bytes, ubytes, z);
}

static void einsum_refusals(void) {
  lxla_tensor a = F32S(DIMS(2, 3), 1, 2, 3, 4, 5, 6), pred = ARRAY(LXLA_DTYPE_PRED, uint8_t, DIMS(2), 0, 1), out = none;
  lxla_tensor whole = ARRAY(S32, int32_t, DIMS(2), 1, 2);
#define WRONG(equation, words, ...) \
  REFUSED(lxla_einsum(equation, (lxla_tensor[]){__VA_ARGS__}, sizeof((lxla_tensor[]){__VA_ARGS__}) / sizeof(lxla_tensor), &out), BAD, words)
  WRONG("ij,jk->ik", "equation \"ij,jk->ik\": 'j' is 2 in tensors[1], which is f32[2,3], and 3 in tensors[0]", a, a);
  WRONG("ii", "equation \"ii\": 'i' is 3 in tensors[0], which is f32[2,3], and 2 in tensors[0]", a);
  WRONG("ij,jk", "it has 2 operands; 1 tensors given", a);
  WRONG("i", "tensors[0] has 2 axes; its indices are 'i', which are 1", a);
  WRONG("ij->ijk", "'k' occurs only after '->'", a);
  WRONG("ij->ii", "'i' occurs twice after '->'", a);
  WRONG("i1", "'1' is no letter", a);
  WRONG("i.j", "'.' is no letter", a);
  WRONG("...->", "'...' covers 2 axes, and is missing after '->'", a);
  WRONG("i->i", "einsum takes numbers", pred);
  WRONG("ij,i", "tensors[1] is s32[2]", a, whole);
  REFUSED(lxla_einsum("", NULL, 0, &out), BAD, "n: 0 tensors given");
  REFUSED(lxla_einsum(NULL, &a, 1, &out), LXLA_NULL_ARGUMENT, "equation: it is NULL");
  REFUSED(lxla_einsum("ij", &none, 1, &out), LXLA_INVALID_HANDLE, "tensors[0]");
  RELEASE(a, pred, whole);
}

static lxla_convolution_options plain(size_t spatial_rank) {
  lxla_convolution_options options;
  options.struct_size = sizeof options;
  OK(lxla_convolution_options_init(&options));
  options.spatial_rank = spatial_rank;
  return options;
}

static lxla_tensor convolved(lxla_tensor x, lxla_tensor kernel, const lxla_convolution_options *options) {
  lxla_tensor out;
  OK(lxla_convolution(x, kernel, options, &out));
  return out;
}

static void lines(void) {
  lxla_tensor x = F32S(DIMS(1, 1, 4), 1, 2, 3, 4), k = F32S(DIMS(1, 1, 2), 1, 10);
  VALUES(convolved(x, k, NULL), F32, DIMS(1, 1, 3), 21, 32, 43);
  lxla_convolution_options o = plain(1);
  o.padding_low = o.padding_high = AXES(1);
  VALUES(convolved(x, k, &o), F32, DIMS(1, 1, 5), 10, 21, 32, 43, 4);
  o.padding_high = AXES(-2);
  VALUES(convolved(x, k, &o), F32, DIMS(1, 1, 2), 10, 21);
  o.window_strides = AXES(INT64_MAX);
  VALUES(convolved(x, k, &o), F32, DIMS(1, 1, 1), 10);
  o = plain(1);
  o.window_strides = AXES(2);
  VALUES(convolved(x, k, &o), F32, DIMS(1, 1, 2), 21, 43);
  o.window_reversal = (int32_t[]){1};
  VALUES(convolved(x, k, &o), F32, DIMS(1, 1, 2), 12, 34);
  // A single window, which is a plain product; with the kernel reversed.
  lxla_tensor whole = F32S(DIMS(1, 1, 4), 2, 3, 4, 5);
  VALUES(convolved(x, whole, &o), F32, DIMS(1, 1, 1), 30);
  RELEASE(whole);
  o = plain(1);
  o.rhs_dilation = AXES(3);
  VALUES(convolved(x, k, &o), F32, DIMS(1, 1, 1), 41);
  o.rhs_dilation = AXES(4);
  VALUES(convolved(x, k, &o), F32, DIMS(1, 1, 0), 0);
  o.rhs_dilation = NULL;
  o.lhs_dilation = AXES(2);
  VALUES(convolved(x, k, &o), F32, DIMS(1, 1, 6), 1, 20, 2, 30, 3, 40);
  // Operands with one element, and with none.
  lxla_tensor one_element = F32S(DIMS(1, 1, 1), 7), nothing = array(F32, DIMS(1, 1, 0), NULL, 0);
  o.lhs_dilation = AXES(INT64_MAX);
  o.rhs_dilation = AXES(INT64_MAX);
  VALUES(convolved(one_element, one_element, &o), F32, DIMS(1, 1, 1), 49);
  o = plain(1);
  o.padding_low = AXES(2);
  VALUES(convolved(nothing, one_element, &o), F32, DIMS(1, 1, 2), 0, 0);
  RELEASE(x, k, one_element, nothing);
}

static void planes(void) {
  lxla_tensor x = F32S(DIMS(1, 2, 2, 3), 1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60);
  lxla_tensor k = F32S(DIMS(2, 2, 1, 2), 1, 1, 1, 0, 0, 1, 0, 0);
  VALUES(convolved(x, k, NULL), F32, DIMS(1, 2, 2, 2), 13, 25, 49, 61, 2, 3, 5, 6);
  // The same convolution with features last: NHWC, HWIO.
  lxla_tensor last = F32S(DIMS(1, 2, 3, 2), 1, 10, 2, 20, 3, 30, 4, 40, 5, 50, 6, 60);
  lxla_tensor k_last = F32S(DIMS(1, 2, 2, 2), 1, 0, 1, 0, 1, 1, 0, 0);
  lxla_convolution_options o = plain(2);
  o.lhs_dimensions = o.out_dimensions = AXES(0, -1, 1, 2);
  o.rhs_dimensions = AXES(3, 2, 0, 1);
  VALUES(convolved(last, k_last, &o), F32, DIMS(1, 2, 2, 2), 13, 2, 25, 3, 49, 5, 61, 6);
  // Depthwise: each feature has a kernel of its own.
  lxla_tensor depthwise = F32S(DIMS(2, 1, 1, 1), 1, -1);
  o = plain(2);
  o.feature_group_count = 2;
  VALUES(convolved(x, depthwise, &o), F32, DIMS(1, 2, 2, 3), 1, 2, 3, 4, 5, 6, -10, -20, -30, -40, -50, -60);
  // Batch groups: each half of the batch has a kernel of its own.
  lxla_tensor images = F32S(DIMS(4, 1), 1, 2, 3, 4), kernels = F32S(DIMS(2, 1), 10, 100);
  o = plain(0);
  o.batch_group_count = 2;
  VALUES(convolved(images, kernels, &o), F32, DIMS(2, 2), 10, 300, 20, 400);
  VALUES(convolved(images, kernels, NULL), F32, DIMS(4, 2), 10, 100, 20, 200, 30, 300, 40, 400);
  lxla_tensor none_in = array(F32, DIMS(1, 0, 2), NULL, 0), none_kernel = array(F32, DIMS(2, 0, 1), NULL, 0);
  VALUES(convolved(none_in, none_kernel, NULL), F32, DIMS(1, 2, 2), 0, 0, 0, 0);
  RELEASE(x, k, last, k_last, depthwise, images, kernels, none_in, none_kernel);
}

static void convolution_dtypes(void) {
  const int32_t dtypes[] = {S8, LXLA_DTYPE_S16, S32, LXLA_DTYPE_S64, U8, LXLA_DTYPE_U16, LXLA_DTYPE_U32, U64, F16, BF16, F32, F64};
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
    lxla_tensor x = as(dtypes[i], F32S(DIMS(1, 1, 4), 1, 2, 3, 4)), k = as(dtypes[i], F32S(DIMS(1, 1, 2), 1, 10));
    VALUES(convolved(x, k, NULL), dtypes[i], DIMS(1, 1, 3), 21, 32, 43);
    RELEASE(x, k);
  }
  lxla_tensor z = C64S(DIMS(1, 1, 2), 1, 2, 3, -1), i = C64S(DIMS(1, 1, 1), 0, 1);
  VALUES(convolved(z, i, NULL), C64, DIMS(1, 1, 2), -2, 1, 1, 3);
  lxla_tensor bytes = ARRAY(S8, int8_t, DIMS(1, 2, 1), 100, -128);
  lxla_convolution_options o = plain(1);
  VALUES(convolved(bytes, bytes, &o), S8, DIMS(1, 1, 1), (int8_t)(100 * 100 + 128 * 128));
  o.dtype = S32;
  VALUES(convolved(bytes, bytes, &o), S32, DIMS(1, 1, 1), 100 * 100 + 128 * 128);
  lxla_tensor ones;
  OK(lxla_tensor_full(env, device, F16, DIMS(1, 4100, 1), 1, &ones));
  VALUES(convolved(ones, ones, NULL), F16, DIMS(1, 1, 1), 4100);
  o.dtype = F64;
  lxla_tensor wide = F32S(DIMS(1, 3, 1), 1e8, 1, -1e8), three = F32S(DIMS(1, 3, 1), 1, 1, 1);
  VALUES(convolved(wide, three, &o), F64, DIMS(1, 1, 1), 1);
  RELEASE(z, i, bytes, ones, wide, three);
}

static void convolution_refusals(void) {
  lxla_tensor x = F32S(DIMS(1, 2, 4), 1, 2, 3, 4, 5, 6, 7, 8), k = F32S(DIMS(1, 2, 2), 1, 2, 3, 4), out = none;
  lxla_tensor v = F32S(DIMS(2), 1, 2), empty = array(F32, DIMS(1, 2, 0), NULL, 0);
  lxla_tensor pred = ARRAY(LXLA_DTYPE_PRED, uint8_t, DIMS(1, 1), 1);
#define WRONG_OPTION(field, value, words)                                      \
  do {                                                                         \
    lxla_convolution_options o = plain(1);                                     \
    o.field = value;                                                           \
    REFUSED(lxla_convolution(x, k, &o, &out), BAD, words);                     \
  } while (0)
  WRONG_OPTION(window_strides, AXES(0), "window_strides: window_strides[0] is 0; want at least 1");
  WRONG_OPTION(lhs_dilation, AXES(-1), "lhs_dilation[0] is -1; want at least 1");
  WRONG_OPTION(rhs_dilation, AXES(0), "rhs_dilation[0] is 0; want at least 1");
  WRONG_OPTION(rhs_dilation, AXES(INT64_MAX), "on spatial axis 0 of lhs, which is f32[1,2,4], they leave no shape");
  WRONG_OPTION(padding_low, AXES(INT64_MAX), "they leave no shape");
  WRONG_OPTION(window_reversal, (int32_t[]){-1}, "window_reversal[0] is -1; want 0 or 1");
  WRONG_OPTION(feature_group_count, 2, "feature_group_count: lhs is f32[1,2,4], with 2 features, and rhs is f32[1,2,2], which takes 2 in each of 2 groups");
  WRONG_OPTION(feature_group_count, -1, "feature_group_count: -1 given; want at least 1");
  WRONG_OPTION(batch_group_count, 2, "the 1 output features of rhs");
  WRONG_OPTION(lhs_dimensions, AXES(0, 1, 1), "lhs_dimensions: axis 1 is given twice");
  WRONG_OPTION(out_dimensions, AXES(0, 1, 3), "out_dimensions: axis 3 is out of range");
  WRONG_OPTION(dtype, S32, "dtype: s32 given");
  lxla_convolution_options o = plain(0);
  o.window_strides = AXES(1);
  REFUSED(lxla_convolution(x, k, &o, &out), BAD, "window_strides: 0 given; lhs is f32[1,2,4], with 1 spatial axes");
  o.spatial_rank = 65;
  REFUSED(lxla_convolution(x, k, &o, &out), BAD, "want at most 64");
  o.struct_size = 4;
  REFUSED(lxla_convolution(x, k, &o, &out), BAD, "set it to sizeof(lxla_convolution_options)");
  REFUSED(lxla_convolution_options_init(&o), BAD, "struct_size is 4");
  REFUSED(lxla_convolution_options_init(NULL), LXLA_NULL_ARGUMENT, "options: it is NULL");
  REFUSED(lxla_convolution(v, v, NULL, &out), BAD, "convolution takes operands of one rank, at least 2");
  REFUSED(lxla_convolution(x, empty, NULL, &out), BAD, "rhs: it is f32[1,2,0]; a kernel has at least 1 element");
  REFUSED(lxla_convolution(pred, pred, NULL, &out), BAD, "convolution takes numbers");
  // A caller with an older, shorter struct gets the defaults of the fields it lacks.
  struct {
    size_t struct_size, spatial_rank;
    const int64_t *window_strides;
  } older = {sizeof older, 1, AXES(2)};
  VALUES(convolved(x, k, (const lxla_convolution_options *)&older), F32, DIMS(1, 1, 2), 44, 64);
  RELEASE(x, k, v, empty, pred);
}

TEST(dot_general_of_any_axes) { on_both(dot_axes); }
TEST(dot_general_of_all_kinds_of_numbers) { on_both(dot_dtypes); }
TEST(dot_general_refuses_what_does_not_fit) { on_both(dot_refusals); }
TEST(einsum_is_numpys) { on_both(einsums); }
TEST(einsum_refuses_what_does_not_fit) { on_both(einsum_refusals); }
TEST(convolution_of_lines) { on_both(lines); }
TEST(convolution_of_planes_and_groups) { on_both(planes); }
TEST(convolution_of_all_kinds_of_numbers) { on_both(convolution_dtypes); }
TEST(convolution_refuses_what_does_not_fit) { on_both(convolution_refusals); }
