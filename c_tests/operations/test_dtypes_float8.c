// 8-bit floats in operations beyond arithmetic, on an XLA device and natively: composed operations, sorts, and
// computations of the caller's. Each must give its f32 result, rounded. dtypes_float8_test.py compares every code,
// conversion and arithmetic.
#include "combiners.h"

static const int32_t TYPES[] = {LXLA_DTYPE_F8E5M2,     LXLA_DTYPE_F8E4M3FN,   LXLA_DTYPE_F8E4M3B11FNUZ,
                                LXLA_DTYPE_F8E5M2FNUZ, LXLA_DTYPE_F8E4M3FNUZ, LXLA_DTYPE_F8E4M3,
                                LXLA_DTYPE_F8E3M4,     LXLA_DTYPE_F8E8M0FNU};
enum { COUNT = sizeof TYPES / sizeof *TYPES };

static lxla_tensor as(lxla_tensor x, int32_t dtype) {
  lxla_tensor out;
  OK(lxla_convert(x, dtype, &out));
  return out;
}

// Returns a positive definite matrix of powers of 2, which every format has; with NaN on request.
static lxla_tensor matrix(int32_t dtype, int with_nan) {
  lxla_tensor wide = F32S(DIMS(3, 3), 4, 2, 1, 2, 8, 2, with_nan ? NAN : 1, 2, 4), x = as(wide, dtype);
  RELEASE(wide);
  return x;
}

// --- Composed operations --------------------------------------------------------------------------------------------

static const int64_t LAST[] = {-1};
static lxla_status mean(lxla_tensor x, lxla_tensor *out) { return lxla_mean(x, LAST, 1, 0, out); }
static lxla_status variance(lxla_tensor x, lxla_tensor *out) { return lxla_variance(x, LAST, 1, 1, 0, out); }
static lxla_status logsumexp(lxla_tensor x, lxla_tensor *out) { return lxla_logsumexp(x, LAST, 1, 0, out); }
static lxla_status softmax(lxla_tensor x, lxla_tensor *out) { return lxla_softmax(x, -1, out); }
static lxla_status layers(lxla_tensor x, lxla_tensor *out) {
  return lxla_layer_norm(x, LAST, 1, none, none, 1e-5, out);
}
static lxla_status gelu(lxla_tensor x, lxla_tensor *out) { return lxla_activation(LXLA_ACTIVATION_GELU, x, out); }
static lxla_status relu(lxla_tensor x, lxla_tensor *out) { return lxla_activation(LXLA_ACTIVATION_RELU, x, out); }
static lxla_status erf_of(lxla_tensor x, lxla_tensor *out) { return lxla_special(LXLA_SPECIAL_ERF, x, out); }
static lxla_status norm(lxla_tensor x, lxla_tensor *out) { return lxla_norm(x, 2, LAST, 1, 0, out); }
static lxla_status precise(lxla_tensor x, lxla_tensor *out) { return lxla_reduce_precision(x, 3, 1, out); }
static lxla_status factor(lxla_tensor x, lxla_tensor *out) { return lxla_cholesky(x, 1, out); }
static lxla_status solution(lxla_tensor x, lxla_tensor *out) {
  return lxla_triangular_solve(x, x, 1, 1, 0, LXLA_TRANSPOSE_NO_TRANSPOSE, out);
}
static lxla_status sorted(lxla_tensor x, lxla_tensor *out) { return lxla_sort_along(x, 0, 1, 1, out); }
static lxla_status sums(lxla_tensor x, lxla_tensor *out) { return lxla_cumulative(LXLA_REDUCE_SUM, x, 0, 0, out); }
static lxla_status order(lxla_tensor x, lxla_tensor *out) { return lxla_argsort(x, 0, 0, 1, S32, out); }
static lxla_status largest(lxla_tensor x, lxla_tensor *out) { return lxla_argmax(x, 0, 0, S64, out); }
static lxla_status top(lxla_tensor x, lxla_tensor *out) {
  lxla_tensor places;
  lxla_status status = lxla_topk(x, 2, 0, 1, S32, out, &places);
  if (status == LXLA_OK) RELEASE(places);
  return status;
}
static lxla_status top_places(lxla_tensor x, lxla_tensor *out) {
  lxla_tensor values;
  lxla_status status = lxla_topk(x, 2, 0, 0, S32, &values, out);
  if (status == LXLA_OK) RELEASE(values);
  return status;
}
static lxla_status added(lxla_tensor x, lxla_tensor *out) {
  lxla_tensor at_once = ARRAY(S32, int32_t, DIMS(3), 1, 1, 1);
  lxla_status status = lxla_index_add(x, 0, at_once, x, out);
  RELEASE(at_once);
  return status;
}
static lxla_status inferred(lxla_tensor x, lxla_tensor *out) {
  lxla_tensor row;
  OK(lxla_slice(x, (int64_t[]){1, 0}, (int64_t[]){2, 3}, NULL, 2, &row));
  lxla_tensor flat;
  OK(lxla_reshape(row, (int64_t[]){3}, 1, &flat));
  lxla_status status = lxla_batch_norm_inference(x, flat, flat, flat, flat, 1, 1, out);
  RELEASE(row, flat);
  return status;
}

static const struct {
  const char *name;
  lxla_status (*call)(lxla_tensor x, lxla_tensor *out);
} made[] = {{"mean", mean},
            {"variance", variance},
            {"logsumexp", logsumexp},
            {"softmax", softmax},
            {"layer_norm", layers},
            {"gelu", gelu},
            {"relu", relu},
            {"erf", erf_of},
            {"norm", norm},
            {"reduce_precision", precise},
            {"cholesky", factor},
            {"solve", solution},
            {"sort_along", sorted},
            {"cumulative", sums},
            {"argsort", order},
            {"argmax", largest},
            {"topk", top},
            {"top places", top_places},
            {"index_add", added},
            {"batch_norm", inferred}};

// Checks that two tensors are equal: 8-bit floats by their values in f32, where NaN equals NaN. Releases both.
static void same(const char *name, int32_t dtype, lxla_tensor got, lxla_tensor want) {
  int32_t kind;
  int64_t dims[8];
  size_t rank, n = 1;
  OK(lxla_tensor_dtype(want, &kind));
  OK(lxla_tensor_rank(want, &rank));
  OK(lxla_tensor_dims(want, dims, 8));
  has_type(name, dtype, got, kind, dims, rank);
  for (size_t i = 0; i < rank; i++) n *= (size_t)dims[i];
  size_t size = kind == S64 ? 8 : 4;
  char values[2][128];
  OK(lxla_tensor_read(got, values[0], n * size));
  OK(lxla_tensor_read(want, values[1], n * size));
  for (size_t i = 0; i < n; i++) {
    const char *g = values[0] + i * size, *w = values[1] + i * size;
    if (!same_element(kind, g, w, size))
      FAIL("%s of dtype %d on device %d: element %zu is %g, want %g", name, dtype, device.kind, i,
           number(kind, g, size), number(kind, w, size));
  }
  RELEASE(got, want);
}

// Converts a tensor to f32 if it is of 8 bits. Releases `x`.
static lxla_tensor widened(lxla_tensor x, int32_t float8) {
  int32_t dtype;
  OK(lxla_tensor_dtype(x, &dtype));
  if (dtype != float8) return x;
  lxla_tensor out = as(x, F32);
  RELEASE(x);
  return out;
}

enum { MADE = sizeof made / sizeof *made };

// Records everything before anything runs, since XLA takes long for each program.
static void in_f32_and_rounded(void) {
  static lxla_tensor got[MADE][COUNT][2], want[MADE][COUNT][2];
  for (int i = 0; i < MADE; i++)
    for (int type = 0; type < COUNT; type++)
      for (int with_nan = 0; with_nan < 2; with_nan++) {
        lxla_tensor x = matrix(TYPES[type], with_nan), wide = as(x, F32), *out = &got[i][type][with_nan], result;
        int32_t dtype;
        OK(made[i].call(x, out));
        *out = widened(*out, TYPES[type]);
        OK(made[i].call(wide, &result));
        OK(lxla_tensor_dtype(result, &dtype));
        if (dtype == F32) {
          lxla_tensor rounded = as(result, TYPES[type]);
          RELEASE(result);
          result = widened(rounded, TYPES[type]);
        }
        want[i][type][with_nan] = result;
        RELEASE(x, wide);
      }
  OK(lxla_mark_step(env, XLA(0), 1));
  for (int i = 0; i < MADE; i++)
    for (int type = 0; type < COUNT; type++)
      for (int with_nan = 0; with_nan < 2; with_nan++)
        same(made[i].name, TYPES[type], got[i][type][with_nan], want[i][type][with_nan]);
}

// --- With computations of the caller's -----------------------------------------------------------------------------

static void reductions(int32_t dtype) {
  lxla_tensor flat = F32S(DIMS(4), 2, 1, 2, 1), x = as(flat, dtype), one = at(dtype, 1), out;
  lxla_computation product = of_two(MUL, dtype), most = of_two(LXLA_BINARY_MAXIMUM, dtype);
  OK(lxla_reduce_with(product, &x, &one, 1, (int64_t[]){0}, 1, &out));
  HAS_F32(widened(out, dtype), SCALAR, 4);
  lxla_window_options options = {.struct_size = sizeof options};
  OK(lxla_window_options_init(&options));
  options.window_dimensions = (int64_t[]){3};
  options.rank = 1;
  OK(lxla_reduce_window(product, &x, &one, 1, &options, &out));
  HAS_F32(widened(out, dtype), DIMS(2), 4, 2);
  OK(lxla_reduce_window(most, &x, &one, 1, &options, &out));
  HAS_F32(widened(out, dtype), DIMS(2), 2, 2);
  DONE(product, most);
  RELEASE(flat, x, one);
}

static void orders(int32_t dtype) {
  lxla_tensor flat = F32S(DIMS(4), 4, 1, 8, 2), x = as(flat, dtype), places = ARRAY(S32, int32_t, DIMS(4), 0, 1, 2, 3),
              out[2];
  lxla_tensor a = placeholder(env, dtype, NULL, 0), b = placeholder(env, dtype, NULL, 0),
              i = placeholder(env, S32, NULL, 0), j = placeholder(env, S32, NULL, 0),
              less = compared(LXLA_COMPARE_LT, a, b);
  lxla_computation first = traced(TENSORS(a, b, i, j), TENSORS(less));
  OK(lxla_sort(first, (lxla_tensor[]){x, places}, 2, 0, 1, out));
  HAS_F32(widened(out[0], dtype), DIMS(4), 1, 2, 4, 8);
  HAS(out[1], S32, int32_t, DIMS(4), 1, 3, 0, 2);
  DONE(first);
  RELEASE(flat, x, places, a, b, i, j, less);
}

static void scatters(int32_t dtype) {
  lxla_tensor flat = F32S(DIMS(4), 2, 1, 2, 1), x = as(flat, dtype), places = ARRAY(S32, int32_t, DIMS(4), 2, 0, 2, 3),
              out;
  OK(lxla_scatter_along(LXLA_SCATTER_PRODUCT, x, places, x, 0, &out));
  HAS_F32(widened(out, dtype), DIMS(4), 2, 1, 8, 1);
  OK(lxla_scatter_along(LXLA_SCATTER_MIN, x, places, x, 0, &out));
  HAS_F32(widened(out, dtype), DIMS(4), 1, 1, 2, 1);
  OK(lxla_scatter_along(LXLA_SCATTER_COPY, x, places, x, 0, &out));
  HAS_F32(widened(out, dtype), DIMS(4), 1, 1, 2, 1);
  RELEASE(flat, x, places);
}

static void computations(void) {
  for (int type = 0; type < COUNT; type++) {
    reductions(TYPES[type]);
    orders(TYPES[type]);
    scatters(TYPES[type]);
  }
}

TEST(composed_of_f8_is_computed_in_f32) { on_both(in_f32_and_rounded); }
TEST(computations_of_f8) { on_both(computations); }
TEST(randoms_of_f8) {
  env = new_env();
  device = XLA(0);
  lxla_tensor key = ARRAY(U32, uint32_t, DIMS(2), 1, 2), out;
  OK(lxla_random_normal(LXLA_RNG_PHILOX, key, LXLA_DTYPE_F8E5M2, DIMS(4), &out));
  RELEASE(out);
  REFUSED(lxla_random_uniform(LXLA_RNG_PHILOX, key, LXLA_DTYPE_F8E5M2, DIMS(4), 0, 1, &out), BAD,
          "dtype: f8e5m2 given");
  RELEASE(key);
  OK(lxla_env_release(env));
}
