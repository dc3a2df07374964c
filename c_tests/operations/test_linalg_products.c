// Matrix products, dot_general and einsum, on an XLA device and native.
#include "near.h"

static void matmuls(void) {
  lxla_tensor a = F32S(DIMS(2, 3), 1, 2, 3, 4, 5, 6), x = F32S(DIMS(3), 1, 10, 100), turned, out;
  OK(lxla_transpose(a, DIMS(1, 0), &turned));
  OK(lxla_matmul(a, turned, &out));
  HAS_F32(out, DIMS(2, 2), 14, 32, 32, 77);
  OK(lxla_matmul(a, x, &out));
  HAS_F32(out, DIMS(2), 321, 654);
  OK(lxla_matmul(x, turned, &out));
  HAS_F32(out, DIMS(2), 321, 654);
  OK(lxla_matmul(x, x, &out));
  HAS_F32(out, SCALAR, 10101);
  // Batched products: [2,1,2,3] x [3,1], and [2,3] x [2,3,1] with the left one broadcast.
  lxla_tensor batched, column, columns;
  OK(lxla_broadcast_to(a, DIMS(2, 1, 2, 3), &batched));
  OK(lxla_reshape(x, DIMS(3, 1), &column));
  OK(lxla_matmul(batched, column, &out));
  HAS_F32(out, DIMS(2, 1, 2, 1), 321, 654, 321, 654);
  OK(lxla_broadcast_to(column, DIMS(2, 3, 1), &columns));
  OK(lxla_matmul(a, columns, &out));
  HAS_F32(out, DIMS(2, 2, 1), 321, 654, 321, 654);
  OK(lxla_matmul(x, columns, &out));
  HAS_F32(out, DIMS(2, 1), 10101, 10101);
  lxla_tensor whole;
  OK(lxla_convert(a, S32, &whole));
  lxla_tensor whole_t;
  OK(lxla_transpose(whole, DIMS(1, 0), &whole_t));
  OK(lxla_matmul(whole, whole_t, &out));
  HAS(out, S32, int32_t, DIMS(2, 2), 14, 32, 32, 77);
  RELEASE(a, x, turned, batched, column, columns, whole, whole_t);
}

#define AXES(...) \
  (const int64_t[]) { __VA_ARGS__ }

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
  REFUSED(DOT(a, a, 0, 1, 1, 0, 0), BAD,
          "lhs_batching, rhs_batching: lhs is f32[2,3] and rhs is f32[2,3]; axis 0 of lhs is 2 and axis 1 of rhs is 3");
  REFUSED(DOT(a, a, 0, 0, 0, 1, 0), BAD, "lhs_batching, lhs_contracting: axis 0 is given twice");
  REFUSED(DOT(a, a, 0, 0, 1, 2, 0), BAD, "rhs_batching, rhs_contracting: axis 2 is out of range for rank 2");
  REFUSED(DOT(a, a, 0, 0, 1, 1, S32), BAD, "dtype: s32 given");
  REFUSED(DOT(a, a, 0, 0, 1, 1, BF16), BAD, "f32 does not promote to it");
  REFUSED(DOT(a, a, 0, 0, 1, 1, 99), BAD, "dtype: 99 is not an LXLA_DTYPE_* constant");
  REFUSED(lxla_dot_general(pred, pred, NULL, NULL, 0, AXES(0), AXES(0), 1, 0, &out), BAD,
          "pred[2]: dot_general takes numbers");
  REFUSED(lxla_dot_general(a, whole, NULL, NULL, 0, AXES(0), AXES(0), 1, 0, &out), BAD, "do not promote");
  REFUSED(lxla_dot_general(a, a, NULL, NULL, 1, NULL, NULL, 0, 0, &out), LXLA_NULL_ARGUMENT,
          "lhs_batching: it is NULL");
  REFUSED(lxla_dot_general(a, a, NULL, NULL, 0, NULL, NULL, 0, 0, NULL), LXLA_NULL_ARGUMENT, "out_tensor: it is NULL");
  REFUSED(lxla_dot_general(a, none, NULL, NULL, 0, NULL, NULL, 0, 0, &out), LXLA_INVALID_HANDLE, "rhs");
  RELEASE(a, pred, whole);
}

#define EINSUM(equation, ...) \
  einsum(equation, (lxla_tensor[]){__VA_ARGS__}, sizeof((lxla_tensor[]){__VA_ARGS__}) / sizeof(lxla_tensor))

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

// Element [i,j,k,l] of `numbers` is 1000 i + 100 j + 10 k + l.
static void repeated_indices(void) {
  float numbers[16], threes[32];
  for (int n = 0; n < 16; n++) numbers[n] = 1000 * (n >> 3) + 100 * (n >> 2 & 1) + 10 * (n >> 1 & 1) + (n & 1);
  for (int n = 0; n < 32; n++) threes[n] = n;
  lxla_tensor x = array(F32, DIMS(2, 2, 2, 2), numbers, sizeof numbers),
              y = array(F32, DIMS(2, 2, 2, 2, 2), threes, sizeof threes);
  lxla_tensor v = F32S(DIMS(2), 1, -1), s = F32S(DIMS(2, 2), 1, 2, 3, 4);
  VALUES(EINSUM("ijij->ij", x), F32, DIMS(2, 2), 0, 101, 1010, 1111);
  VALUES(EINSUM("ijij->ji", x), F32, DIMS(2, 2), 0, 1010, 101, 1111);
  VALUES(EINSUM("ijji->ij", x), F32, DIMS(2, 2), 0, 110, 1001, 1111);
  VALUES(EINSUM("iijj->ij", x), F32, DIMS(2, 2), 0, 11, 1100, 1111);
  VALUES(EINSUM("iijk->jk", x), F32, DIMS(2, 2), 1100, 1102, 1120, 1122);
  VALUES(EINSUM("ijij->", x), F32, SCALAR, 2222);
  VALUES(EINSUM("iiij->j", x), F32, DIMS(2), 1110, 1112);
  VALUES(EINSUM("jiij->j", x), F32, DIMS(2), 110, 2112);
  VALUES(EINSUM("iiii", x), F32, SCALAR, 1111);
  VALUES(EINSUM("iiijj->j", y), F32, DIMS(2), 28, 34);
  VALUES(EINSUM("ijiji->ji", y), F32, DIMS(2, 2), 0, 21, 10, 31);
  VALUES(EINSUM("i...i->...", s), F32, SCALAR, 5);
  VALUES(EINSUM("ijij,j->i", x, v), F32, DIMS(2), -101, -101);
  VALUES(EINSUM("ijij,jiji->ij", x, x), F32, DIMS(2, 2), 0, 102010, 102010, 1234321);
  VALUES(EINSUM("ijji,ii,j->", x, s, v), F32, SCALAR, -550);
  // Sizes 0 and 1. An axis of size 1 broadcasts to the other tensors.
  lxla_tensor none_of = array(F32, DIMS(0, 2, 0, 2), NULL, 0), one = F32S(DIMS(1, 1, 1, 1), 3);
  VALUES(EINSUM("ijij->j", none_of), F32, DIMS(2), 0, 0);
  VALUES(EINSUM("ijij->ij", none_of), F32, DIMS(0, 2), 0);
  VALUES(EINSUM("ijij,i->i", one, v), F32, DIMS(2), 3, -3);
  VALUES(EINSUM("ijji", one), F32, SCALAR, 3);
  lxla_tensor bytes = ARRAY(S8, int8_t, DIMS(2, 2, 2), 1, 2, 3, 4, 5, 6, 7, 127),
              z = C64S(DIMS(2, 2), 0, 1, 2, 0, 3, 0, 4, 5);
  VALUES(EINSUM("iii->", bytes), S8, SCALAR, -128);
  VALUES(EINSUM("ii,ii->i", z, z), C64, DIMS(2), -1, 0, -9, 40);
  RELEASE(x, y, v, s, none_of, one, bytes, z);
}

static void einsum_refusals(void) {
  lxla_tensor a = F32S(DIMS(2, 3), 1, 2, 3, 4, 5, 6), pred = ARRAY(LXLA_DTYPE_PRED, uint8_t, DIMS(2), 0, 1), out = none;
  lxla_tensor whole = ARRAY(S32, int32_t, DIMS(2), 1, 2), four = array(F32, DIMS(2, 3, 3, 2), (float[36]){0}, 144);
#define WRONG(equation, words, ...)                                                      \
  REFUSED(lxla_einsum(equation, (lxla_tensor[]){__VA_ARGS__},                            \
                      sizeof((lxla_tensor[]){__VA_ARGS__}) / sizeof(lxla_tensor), &out), \
          BAD, words)
  WRONG("ij,jk->ik", "equation \"ij,jk->ik\": 'j' is 2 in tensors[1], which is f32[2,3], and 3 in tensors[0]", a, a);
  WRONG("ii", "equation \"ii\": 'i' is 3 in tensors[0], which is f32[2,3], and 2 in tensors[0]", a);
  WRONG("ijij->ij", "equation \"ijij->ij\": 'i' is 3 in tensors[0], which is f32[2,3,3,2], and 2 in tensors[0]", four);
  WRONG("ijjk->ij,k", "',' is not a letter", four);
  WRONG("ij,jk", "it has 2 operands; 1 tensors given", a);
  WRONG("i", "tensors[0] has 2 axes; its indices are 'i', which are 1", a);
  WRONG("ij->ijk", "'k' occurs only after '->'", a);
  WRONG("ij->ii", "'i' occurs twice after '->'", a);
  WRONG("i1", "'1' is not a letter", a);
  WRONG("i.j", "'.' is not a letter", a);
  WRONG("...->", "'...' covers 2 axes, and is missing after '->'", a);
  WRONG("i->i", "einsum takes numbers", pred);
  WRONG("ij,i", "tensors[1] is s32[2]", a, whole);
  REFUSED(lxla_einsum("", NULL, 0, &out), BAD, "n: 0 tensors given");
  REFUSED(lxla_einsum(NULL, &a, 1, &out), LXLA_NULL_ARGUMENT, "equation: it is NULL");
  REFUSED(lxla_einsum("ij", &none, 1, &out), LXLA_INVALID_HANDLE, "tensors[0]");
  RELEASE(a, pred, whole, four);
}

static void ragged_sizes(void) {
  lxla_tensor lhs = F32S(DIMS(3, 1), 1, 2, 3), rhs = F32S(DIMS(3, 1, 1), 10, 100, 1000), out;
  const int64_t sizes[][3] = {
      {1ll << 32, 1, 1}, {INT32_MAX, INT32_MAX, 1}, {INT64_MAX, INT64_MAX, 1}, {-1, 1, INT64_MAX}};
  const float want[][3] = {{10, 20, 30}, {10, 20, 30}, {10, 20, 30}, {100, 2000, 3000}};
  for (int i = 0; i < 4; i++) {
    lxla_tensor given = array(S64, DIMS(3), sizes[i], sizeof sizes[i]);
    OK(lxla_ragged_dot(lhs, rhs, given, &out));
    HAS_ARRAY(out, F32, DIMS(3, 1), want[i]);
    RELEASE(given);
  }
  lxla_tensor wide = ARRAY(U64, uint64_t, DIMS(3), 1, UINT64_MAX, 1);
  OK(lxla_ragged_dot(lhs, rhs, wide, &out));
  HAS_F32(out, DIMS(3, 1), 10, 200, 300);
  // More rows than sizes of 8 bits count.
  lxla_tensor many, narrow = ARRAY(S8, int8_t, DIMS(3), 127, 127, 100);
  OK(lxla_tensor_full(env, device, F32, DIMS(300, 1), 1, &many));
  OK(lxla_ragged_dot(many, rhs, narrow, &out));
  float got[300];
  for (int i = 0; i < 300; i++) got[i] = i < 127 ? 10 : i < 254 ? 100 : 1000;
  HAS_ARRAY(out, F32, DIMS(300, 1), got);
  RELEASE(lhs, rhs, wide, many, narrow);
}

// Infinities of one group reach neither the results nor the gradients of the other.
TEST(groups_of_ragged_products_are_separate) {
  env = new_env();
  device = XLA(0);
  lxla_tensor x[2], out, cotangent, gradients[2], sizes = ARRAY(S32, int32_t, DIMS(2), 2, 2);
  x[0] = F32S(DIMS(4, 2), 1, 2, 3, 4, INFINITY, 5, 6, 7);
  x[1] = F32S(DIMS(2, 2, 1), 10, 20, INFINITY, 1);
  OK(lxla_ragged_dot(x[0], x[1], sizes, &out));
  OK(lxla_tensor_full(env, device, F32, DIMS(4, 1), 1, &cotangent));
  OK(lxla_gradients(&out, 1, &cotangent, x, 2, gradients));
  HAS_F32(gradients[0], DIMS(4, 2), 10, 20, 10, 20, INFINITY, 1, INFINITY, 1);
  HAS_F32(gradients[1], DIMS(2, 2, 1), 4, 6, INFINITY, 12);
  HAS_F32(out, DIMS(4, 1), 50, 110, INFINITY, INFINITY);
  RELEASE(x[0], x[1], cotangent, sizes);
  OK(lxla_env_release(env));
}

// Sums and maxima of y * transpose(y) and of y * y, where y is a reshape, a product or a batch of matrices. The arrays
// are large enough for XLA to fuse the product with the reduction. Elements are small integers, so that sums are exact.
enum { ROWS = 300, INNER = 200 };

static float element_of(int i) { return (float)(i * 7 % 5 - 2); }

static lxla_tensor flat_of(int64_t n) {
  float *host = malloc((size_t)n * sizeof *host);
  for (int i = 0; i < n; i++) host[i] = element_of(i) - 1;
  lxla_tensor x = array(F32, DIMS(n), host, (size_t)n * sizeof *host), out = scalar(ADD, x, 1);
  free(host);
  RELEASE(x);
  return out;
}

static void squares_of_a_matrix(void) {
  for (int axis = 0; axis < 2; axis++) {
    lxla_tensor flat = flat_of(ROWS * INNER), y, turned, product, out;
    OK(lxla_reshape(flat, DIMS(ROWS, INNER), &y));
    OK(lxla_transpose(y, DIMS(1, 0), &turned));
    OK(lxla_matmul(y, turned, &product));
    OK(lxla_reduce(axis ? LXLA_REDUCE_MAX : LXLA_REDUCE_SUM, product, AXES(axis), 1, 0, &out));
    RELEASE(flat, y, turned, product);
    float want[ROWS];
    for (int i = 0; i < ROWS; i++) {
      want[i] = axis ? -INFINITY : 0;
      for (int j = 0; j < ROWS; j++) {
        float sum = 0;
        for (int k = 0; k < INNER; k++) sum += element_of(i * INNER + k) * element_of(j * INNER + k);
        want[i] = axis ? fmaxf(want[i], sum) : want[i] + sum;
      }
    }
    HAS_ARRAY(out, F32, DIMS(ROWS), want);
  }
}

static void squares_of_a_batch(void) {
  enum { BATCH = 6, N = 100 };
  lxla_tensor flat = flat_of(BATCH * N * N), y, product, out;
  OK(lxla_reshape(flat, DIMS(BATCH, N, N), &y));
  OK(lxla_matmul(y, y, &product));
  OK(lxla_reduce(LXLA_REDUCE_SUM, product, AXES(2), 1, 0, &out));
  RELEASE(flat, y, product);
  static float want[BATCH * N];
  for (int i = 0; i < BATCH * N; i++) {
    want[i] = 0;
    for (int k = 0; k < N; k++) {
      float row = 0;
      for (int j = 0; j < N; j++) row += element_of((i / N * N + k) * N + j);
      want[i] += element_of(i * N + k) * row;
    }
  }
  HAS_ARRAY(out, F32, DIMS(BATCH, N), want);
}

// Row sums of m * m, where m = y * transpose(y), against m times the row sums of m.
static void squares_of_a_product(void) {
  lxla_tensor flat = flat_of(ROWS * INNER), y, turned, product, square, sums, out, want;
  OK(lxla_reshape(flat, DIMS(ROWS, INNER), &y));
  OK(lxla_transpose(y, DIMS(1, 0), &turned));
  OK(lxla_matmul(y, turned, &product));
  OK(lxla_matmul(product, product, &square));
  OK(lxla_reduce(LXLA_REDUCE_SUM, square, AXES(1), 1, 0, &out));
  RELEASE(product, square);
  OK(lxla_mark_step(env, device, 1));
  OK(lxla_matmul(y, turned, &product));
  OK(lxla_reduce(LXLA_REDUCE_SUM, product, AXES(1), 1, 0, &sums));
  RELEASE(flat, y, turned);
  OK(lxla_mark_step(env, device, 1));
  OK(lxla_matmul(product, sums, &want));
  RELEASE(product, sums);
  float got[2][ROWS];
  OK(lxla_tensor_read(out, got[0], sizeof got[0]));
  OK(lxla_tensor_read(want, got[1], sizeof got[1]));
  for (int i = 0; i < ROWS; i++) CHECK(fabsf(got[0][i] - got[1][i]) <= 1e-4f * (1000 + fabsf(got[1][i])));
  RELEASE(out, want);
}

static void reductions_of_squares(void) {
  squares_of_a_matrix();
  squares_of_a_batch();
  squares_of_a_product();
}

TEST(reductions_of_a_product_of_a_value_with_itself) { on_both(reductions_of_squares); }
TEST(sizes_of_ragged_products_do_not_overflow) { on_both(ragged_sizes); }
TEST(matmul_follows_numpy) { on_both(matmuls); }
TEST(dot_general_of_any_axes) { on_both(dot_axes); }
TEST(dot_general_of_all_kinds_of_numbers) { on_both(dot_dtypes); }
TEST(dot_general_refuses_what_does_not_fit) { on_both(dot_refusals); }
TEST(einsum_is_numpys) { on_both(einsums); }
TEST(einsum_takes_diagonals_of_all_repeated_indices) { on_both(repeated_indices); }
TEST(einsum_refuses_what_does_not_fit) { on_both(einsum_refusals); }
