// Attention, RMS normalization and rotary embedding: on an XLA device and native, against loops in double precision,
// with derivatives, batches, edges and errors. ops_test.py compares them with NumPy in all dtypes.
#include "computation.h"
#include "derivatives.h"

// --- Attention by a loop. Every operand has four axes; axes of a mask may have size 1. ---

typedef struct {
  int64_t batch, heads, key_heads, value_heads, length, length_k, width, width_v;
  int64_t mask[4];    // dims of the mask
  int32_t mask_type;  // PRED, a dtype of floats, or 0 for none
  int32_t causal;
  double scale;
} shape;

enum { MOST = 512 };

static uint32_t seed;
// A number of -1 to 1 that every dtype of floats has, but for the 8-bit ones.
static double drawn(void) {
  seed = seed * 1664525u + 1013904223u;
  return ((int)(seed >> 24) - 128) / 128.0;
}

static size_t elements(const int64_t dims[4]) { return (size_t)(dims[0] * dims[1] * dims[2] * dims[3]); }

// Makes an operand of drawn values, which are also written to `values`.
static lxla_tensor operand(int32_t dtype, const int64_t dims[4], double *values) {
  const size_t n = elements(dims);
  CHECK(n <= MOST);
  for (size_t i = 0; i < n; i++) values[i] = dtype == PRED ? drawn() > -0.3 : drawn();
  return own(as(dtype, array(F64, dims, 4, values, n * sizeof *values)));
}

typedef struct {
  double query[MOST], key[MOST], value[MOST], mask[MOST], out[MOST];
  lxla_tensor q, k, v, m;
  int64_t q_dims[4], k_dims[4], v_dims[4], out_dims[4];
} operands;

static void draw(operands *o, const shape *s, int32_t dtype) {
  const int64_t q[4] = {s->batch, s->heads, s->length, s->width},
                k[4] = {s->batch, s->key_heads, s->length_k, s->width},
                v[4] = {s->batch, s->value_heads, s->length_k, s->width_v},
                out[4] = {s->batch, s->heads, s->length, s->width_v};
  memcpy(o->q_dims, q, sizeof q), memcpy(o->k_dims, k, sizeof k), memcpy(o->v_dims, v, sizeof v);
  memcpy(o->out_dims, out, sizeof out);
  o->q = operand(dtype, q, o->query), o->k = operand(dtype, k, o->key), o->v = operand(dtype, v, o->value);
  o->m = s->mask_type ? operand(s->mask_type, s->mask, o->mask) : none;
}

static double at4(const double *values, const int64_t dims[4], int64_t a, int64_t b, int64_t c, int64_t d) {
  const int64_t own[4] = {dims[0] == 1 ? 0 : a, dims[1] == 1 ? 0 : b, dims[2] == 1 ? 0 : c, dims[3] == 1 ? 0 : d};
  return values[((own[0] * dims[1] + own[1]) * dims[2] + own[2]) * dims[3] + own[3]];
}

// Weights of one row, which are not divided by their sum. Returns the sum; 0 if the row attends to nothing.
static double weights_of(const operands *o, const shape *s, int64_t b, int64_t h, int64_t i, double *weights) {
  const double scale = s->scale != 0 ? s->scale : 1 / sqrt((double)s->width);
  double top = -INFINITY, sum = 0;
  for (int64_t j = 0; j < s->length_k; j++) {
    double score = 0;
    for (int64_t w = 0; w < s->width; w++)
      score += at4(o->query, o->q_dims, b, h, i, w) * at4(o->key, o->k_dims, b, h * s->key_heads / s->heads, j, w);
    score *= scale;
    if (s->mask_type && s->mask_type != PRED) score += at4(o->mask, s->mask, b, h, i, j);
    if (s->mask_type == PRED && at4(o->mask, s->mask, b, h, i, j) == 0) score = -INFINITY;
    if (s->causal == LXLA_ON && j > i) score = -INFINITY;
    weights[j] = score;
    top = fmax(top, score);
  }
  for (int64_t j = 0; j < s->length_k; j++) sum += weights[j] = top == -INFINITY ? 0 : exp(weights[j] - top);
  return sum;
}

static void by_loop(operands *o, const shape *s) {
  double weights[MOST], *out = o->out;
  for (int64_t b = 0; b < s->batch; b++)
    for (int64_t h = 0; h < s->heads; h++)
      for (int64_t i = 0; i < s->length; i++) {
        const double sum = weights_of(o, s, b, h, i, weights);
        for (int64_t w = 0; w < s->width_v; w++) {
          double mean = 0;
          for (int64_t j = 0; j < s->length_k; j++)
            mean += weights[j] * at4(o->value, o->v_dims, b, h * s->value_heads / s->heads, j, w);
          *out++ = sum == 0 ? 0 : mean / sum;
        }
      }
}

static lxla_attention_options options_of(const shape *s) {
  lxla_attention_options options = {.struct_size = sizeof options};
  OK(lxla_attention_options_init(&options));
  options.scale = s->scale;
  options.causal = s->causal;
  return options;
}

static lxla_tensor attention(lxla_tensor q, lxla_tensor k, lxla_tensor v, lxla_tensor mask, const shape *s) {
  const lxla_attention_options options = options_of(s);
  lxla_tensor out;
  OK(lxla_attention(q, k, v, mask, &options, &out));
  return out;
}

static const shape SHAPES[] = {
    {2, 3, 3, 3, 5, 4, 4, 3, {0}, 0, 0, 0},
    {2, 4, 2, 2, 5, 5, 4, 4, {0}, 0, LXLA_ON, 0},
    {1, 6, 2, 3, 4, 5, 2, 3, {1, 6, 4, 5}, PRED, 0, 0.7},
    {2, 4, 1, 4, 3, 6, 2, 2, {2, 1, 1, 6}, F64, LXLA_OFF, -1.25},
    {2, 2, 1, 1, 6, 3, 4, 1, {1, 2, 6, 1}, PRED, LXLA_ON, 0},
    {1, 2, 2, 1, 3, 6, 4, 5, {1, 1, 3, 6}, F64, LXLA_ON, 2},
    {3, 2, 2, 2, 1, 7, 2, 2, {3, 1, 1, 7}, PRED, 0, 0},
};
enum { N_SHAPES = sizeof SHAPES / sizeof *SHAPES };

BOTH_TEST(attention_is_a_loop) {
  static operands o;
  const int32_t dtypes[] = {F64, F32, F16, BF16};
  const double tolerances[] = {1e-14, 2e-6, 2e-3, 1e-2};
  seed = 1;
  for (int i = 0; i < N_SHAPES; i++)
    for (int d = 0; d < 4; d++) {
      shape s = SHAPES[i];
      if (s.mask_type == F64) s.mask_type = dtypes[d];
      draw(&o, &s, dtypes[d]);
      by_loop(&o, &s);
      has_near(__FILE__, __LINE__, attention(o.q, o.k, o.v, o.m, &s), dtypes[d], o.out_dims, 4, o.out, tolerances[d]);
    }
}

BOTH_TEST(attention_of_float8_is_that_of_f32_rounded_once) {
  lxla_tensor q = DATA(DIMS(2, 2), 1, -1, 0.5, 2), v = DATA(DIMS(2, 1), 1, 4), narrow[2];
  OK(lxla_convert(q, LXLA_DTYPE_F8E4M3FN, &narrow[0]));
  OK(lxla_convert(v, LXLA_DTYPE_F8E4M3FN, &narrow[1]));
  lxla_tensor out, want;
  OK(lxla_attention(own(narrow[0]), narrow[0], own(narrow[1]), none, NULL, &out));
  OK(lxla_attention(q, q, v, none, NULL, &want));
  want = as(F32, as(LXLA_DTYPE_F8E4M3FN, want));
  ARE_NEAR(own(as(F32, out)), own(want));
}

// --- Rows without columns, excluded NaN, axes of size 0. ---

BOTH_TEST(rows_that_may_attend_to_nothing_are_zero) {
  lxla_tensor x = DATA(DIMS(2, 1), 1, 2), bad = DATA(DIMS(2, 1), NAN, INFINITY), out;
  lxla_tensor no = own(ARRAY(PRED, uint8_t, DIMS(2, 2), 0, 0, 1, 1)), low = DATA(DIMS(2, 1), -INFINITY, 0);
  const double want = (exp(2) + 2 * exp(4)) / (exp(2) + exp(4));
  OK(lxla_attention(x, x, x, no, NULL, &out));
  IS_NEAR(own(out), DIMS(2, 1), 0, want);
  OK(lxla_attention(x, x, x, low, NULL, &out));
  IS_NEAR(own(out), DIMS(2, 1), 0, want);
  OK(lxla_attention(x, x, bad, no, NULL, &out));
  IS(own(out), DIMS(2, 1), 0, NAN);
  // Derivatives of such rows are 0, and finite.
  lxla_tensor g[4], masked[2] = {no, low};
  for (int i = 0; i < 2; i++) {
    lxla_tensor q = HOLE(DIMS(2, 1)), k = HOLE(DIMS(2, 1)), v = HOLE(DIMS(2, 1)), params[3] = {q, k, v};
    OK(lxla_attention(q, k, v, masked[i], NULL, &out));
    lxla_tensor sum = total(own(out)), args[3] = {x, x, x};
    apply(value_and_grad(traces(params, 3, &sum, 1)), args, 3, g, 4);
    const double slope = exp(-2) / pow(1 + exp(-2), 2), p = 1 / (1 + exp(-2));
    IS_NEAR(g[1], DIMS(2, 1), 0, slope);
    IS_NEAR(g[2], DIMS(2, 1), -2 * slope, 2 * slope);
    IS_NEAR(g[3], DIMS(2, 1), 1 - p, p);
  }
}

// As in PyTorch, weights of 0 do not hide NaN of values; NaN of scores is hidden where pred or causal excludes it.
BOTH_TEST(nan_of_excluded_keys_is_hidden_and_of_values_is_not) {
  lxla_tensor x = DATA(DIMS(2, 1), 1, 2), bad = DATA(DIMS(2, 1), 1, NAN), out;
  lxla_tensor first = own(ARRAY(PRED, uint8_t, DIMS(2), 1, 0)), low = DATA(DIMS(2), 0, -INFINITY);
  const shape causal = {.causal = LXLA_ON}, plain = {.causal = LXLA_OFF};
  IS(own(attention(x, bad, x, first, &plain)), DIMS(2, 1), 1, 1);
  IS(own(attention(x, bad, x, none, &causal)), DIMS(2, 1), 1, NAN);
  IS(own(attention(x, bad, x, low, &plain)), DIMS(2, 1), NAN, NAN);
  IS(own(attention(x, x, bad, first, &plain)), DIMS(2, 1), NAN, NAN);
  OK(lxla_attention(x, DATA(DIMS(2, 1), INFINITY, 1), x, none, NULL, &out));
  IS(own(out), DIMS(2, 1), NAN, NAN);
}

BOTH_TEST(axes_of_size_0) {
  const shape plain = {.causal = LXLA_OFF};
  lxla_tensor x = DATA(DIMS(1, 2, 3), 1, 2, 3, 4, 5, 6), no_rows = own(array(F32, DIMS(1, 0, 3), NULL, 0)),
              no_batch = own(array(F32, DIMS(0, 1, 2, 3), NULL, 0)), no_width = own(array(F32, DIMS(1, 2, 0), NULL, 0)),
              no_heads = own(array(F32, DIMS(0, 2, 3), NULL, 0));
  EMPTY(attention(no_rows, x, x, none, &plain), F32, DIMS(1, 0, 3));
  IS(own(attention(x, no_rows, no_rows, none, &plain)), DIMS(1, 2, 3), 0, 0, 0, 0, 0, 0);
  EMPTY(attention(no_batch, x, x, none, &plain), F32, DIMS(0, 1, 2, 3));
  EMPTY(attention(x, x, no_batch, none, &plain), F32, DIMS(0, 1, 2, 3));
  EMPTY(attention(x, x, no_width, none, &plain), F32, DIMS(1, 2, 0));
  EMPTY(attention(no_heads, x, x, none, &plain), F32, DIMS(0, 2, 3));
  EMPTY(attention(no_heads, no_heads, no_heads, none, &plain), F32, DIMS(0, 2, 3));
  IS_NEAR(own(attention(no_width, no_width, x, none, &plain)), DIMS(1, 2, 3), 2.5, 3.5, 4.5, 2.5, 3.5, 4.5);
}

// --- Derivatives and batches. ---

// f(q, k, v, mask) = sum(attention * other), of f64; without a mask, of the first three.
static lxla_computation weighed(const operands *o, const shape *s, lxla_tensor other, size_t *n) {
  const int is_added = s->mask_type == F64;
  lxla_tensor params[4] = {hole_of(F64, o->q_dims, 4), hole_of(F64, o->k_dims, 4), hole_of(F64, o->v_dims, 4), o->m};
  if (is_added) params[3] = hole_of(F64, s->mask, 4);
  lxla_tensor sum = total(mul(own(attention(params[0], params[1], params[2], params[3], s)), other));
  *n = is_added ? 4 : 3;
  return traces(params, *n, &sum, 1);
}

static double weighed_by_loop(operands *o, const shape *s, const double *other) {
  double sum = 0;
  by_loop(o, s);
  for (size_t i = 0; i < elements(o->out_dims); i++) sum += o->out[i] * other[i];
  return sum;
}

// Central differences of the loop by one operand.
static void differences(operands *o, const shape *s, const double *other, double *values, size_t n, double *slopes) {
  const double far = 1e-5;
  for (size_t i = 0; i < n; i++) {
    const double before = values[i];
    values[i] = before + far;
    const double above = weighed_by_loop(o, s, other);
    values[i] = before - far;
    slopes[i] = (above - weighed_by_loop(o, s, other)) / (2 * far);
    values[i] = before;
  }
}

BOTH_TEST(derivatives_are_differences_of_the_loop) {
  static operands o;
  static double other[MOST], slopes[4][MOST], tangents[4][MOST];
  seed = 2;
  for (int i = 0; i < N_SHAPES; i++) {
    const shape *s = &SHAPES[i];
    draw(&o, s, F64);
    lxla_tensor given = operand(F64, o.out_dims, other), args[8] = {o.q, o.k, o.v, o.m}, g[5], made[2];
    double *values[4] = {o.query, o.key, o.value, o.mask}, along = 0;
    const int64_t *dims[4] = {o.q_dims, o.k_dims, o.v_dims, s->mask};
    size_t n, wrt[4] = {0, 1, 2, 3};
    lxla_computation f = weighed(&o, s, given, &n);
    apply(value_and_grad(f), args, n, g, n + 1);
    for (size_t p = 0; p < n; p++) {
      const size_t count = elements(dims[p]);
      differences(&o, s, other, values[p], count, slopes[p]);
      args[n + p] = operand(F64, dims[p], tangents[p]);
      for (size_t e = 0; e < count; e++) along += tangents[p][e] * slopes[p][e];
      OK(lxla_tensor_retain(g[1 + p]));
      has_near(__FILE__, __LINE__, g[1 + p], F64, dims[p], 4, slopes[p], 1e-8);
    }
    apply(jvp(f, wrt, n), args, 2 * n, made, 2);
    OK(lxla_tensor_retain(made[1]));
    NEAR(made[1], F64, SCALAR, 1e-8, along);
  }
}

BOTH_TEST(a_batch_is_a_loop_of_calls) {
  const int64_t dims[] = {2, 3, 2}, batched[] = {4, 2, 3, 2}, in[] = {0, -1, 0, 1}, out[] = {0};
  static double values[MOST];
  const shape causal = {.causal = LXLA_ON};
  seed = 3;
  lxla_tensor q = operand(F32, batched, values), v = operand(F32, batched, values);
  const int64_t one_dims[] = {1, 2, 3, 2}, mask_dims[] = {1, 3, 4, 3};
  lxla_tensor k, masks,
      params[4] = {HOLE(DIMS(2, 3, 2)), HOLE(DIMS(2, 3, 2)), HOLE(DIMS(2, 3, 2)), hole_of(PRED, DIMS(3, 3))};
  k = operand(F32, one_dims, values);
  OK(lxla_reshape(k, dims, 3, &k));
  own(k);
  OK(lxla_reshape(operand(PRED, mask_dims, values), DIMS(3, 4, 3), &masks));
  own(masks);
  lxla_tensor result = own(attention(params[0], params[1], params[2], params[3], &causal)), all[4] = {q, k, v, masks},
              made;
  lxla_computation f = traces(params, 4, &result, 1);
  apply(vmap(f, in, 4, out, 1, 4), all, 4, &made, 1);
  for (int64_t i = 0; i < 4; i++) {
    lxla_tensor mask, want, args[4] = {row(q, i), k, row(v, i), none};
    OK(lxla_slice_axis(masks, 1, i, i + 1, 1, &mask));
    OK(lxla_squeeze(own(mask), (int64_t[]){1}, 1, &args[3]));
    own(args[3]);
    apply(f, args, 4, &want, 1);
    ARE_NEAR(row(made, i), want);
  }
}

// --- What is kept, repeated and compiled. ---

// Of arrays as large as the scores, the forward pass saves the weights alone, beside the mask.
BOTH_TEST(derivatives_keep_one_array_of_the_size_of_the_scores) {
  const int64_t dims[4] = {1, 2, 16, 2};
  static double values[MOST];
  const shape causal = {.causal = LXLA_ON}, plain = {.causal = LXLA_OFF};
  for (int is_causal = 0; is_causal < 2; is_causal++) {
    lxla_tensor params[3] = {HOLE(DIMS(1, 2, 16, 2)), HOLE(DIMS(1, 2, 16, 2)), HOLE(DIMS(1, 2, 16, 2))}, made[64],
                args[3];
    lxla_tensor result = own(attention(params[0], params[1], params[2], none, is_causal ? &causal : &plain));
    passes p = vjp_by(traces(params, 3, &result, 1), NULL);
    for (int i = 0; i < 3; i++) args[i] = operand(F32, dims, values);
    apply(p.forward, args, 3, made, n_results(p.forward));
    size_t large = 0;
    for (size_t i = 1; i < n_results(p.forward); i++) {
      int64_t of[8];
      size_t rank, count = 1;
      int32_t dtype;
      OK(lxla_tensor_info(made[i], &dtype, &rank, of, 8));
      for (size_t axis = 0; axis < rank; axis++) count *= (size_t)of[axis];
      large += count >= 2 * 16 * 16 && dtype != PRED;
    }
    EQUAL(large, 1);
  }
}

XLA_TEST(shared_heads_are_not_repeated) {
  const int64_t of_query[] = {1, 8, 3, 4}, of_key[] = {1, 2, 5, 4};
  const shape plain = {.causal = LXLA_OFF};
  lxla_tensor q = operand(F32, of_query, (double[MOST]){0});
  lxla_tensor k = operand(F32, of_key, (double[MOST]){0});
  lxla_tensor out = own(attention(q, k, k, none, &plain));
  char *text = text_of(out);
  EQUAL(occurrences(text, "tensor<1x8x5x4xf32>") + occurrences(text, "tensor<1x2x4x5x4xf32>"), 0);
  CHECK(occurrences(text, "tensor<1x2x5x4xf32>") > 0);
  lxla_string_free(text);
}

XLA_TEST(repeated_calls_compile_once) {
  const shape causal = {.causal = LXLA_ON};
  lxla_tensor x = DATA(DIMS(2, 2, 2), 1, 2, 3, 4, 5, 6, 7, 8), angles = DATA(DIMS(2, 1), 0.6f, 0.8f);
  for (int i = 0; i < 5; i++) {
    lxla_tensor normal, turned, out;
    OK(lxla_rms_norm(x, none, 1e-5, &normal));
    OK(lxla_rotary_embedding(normal, angles, angles, 0, &turned));
    out = attention(turned, normal, x, none, &causal);
    step(env);
    RELEASE(normal, turned, out);
  }
  EQUAL(counter(env, "UncachedCompile"), 1);
}

// --- Errors. ---

BOTH_TEST(errors_of_attention) {
  lxla_tensor x = own(array(F32, DIMS(2, 3, 4), (float[24]){0}, 96)), out = none;
  lxla_tensor flat = DATA(DIMS(2), 1, 2), whole = own(ARRAY(S32, int32_t, DIMS(1, 2), 1, 2)),
              three = own(array(F32, DIMS(3, 3, 4), (float[36]){0}, 144)), short_ = DATA(DIMS(1, 4), 1, 2, 3, 4),
              narrow = DATA(DIMS(3, 2), 1, 2, 3, 4, 5, 6),
              batch = own(array(F32, DIMS(3, 2, 3, 4), (float[72]){0}, 288)),
              other = own(array(F32, DIMS(2, 2, 3, 4), (float[48]){0}, 192)), wide = number_of(F64, 1),
              c = number_of(C64, 1);
  REFUSED(lxla_attention(whole, x, x, none, NULL, &out), BAD, "query: attention takes floats, not s32[1,2]");
  REFUSED(lxla_attention(x, c, x, none, NULL, &out), BAD, "key: attention takes floats, not c64[]");
  REFUSED(lxla_attention(x, x, flat, none, NULL, &out), BAD,
          "value: attention takes at least 2 axes, [..., heads, length, width], not f32[2]");
  REFUSED(lxla_attention(x, narrow, narrow, none, NULL, &out), BAD,
          "key: it is f32[3,2], of width 2; query is f32[2,3,4], of width 4");
  REFUSED(lxla_attention(x, x, short_, none, NULL, &out), BAD,
          "value: it is f32[1,4], of length 1; key is f32[2,3,4], of length 3");
  REFUSED(lxla_attention(x, three, three, none, NULL, &out), BAD,
          "key: it is f32[3,3,4], of 3 heads, which do not divide the 2 heads of the result; query is f32[2,3,4]");
  REFUSED(lxla_attention(three, three, x, none, NULL, &out), BAD, "value: it is f32[2,3,4], of 2 heads");
  REFUSED(
      lxla_attention(batch, other, other, none, NULL, &out), BAD,
      "query is f32[3,2,3,4], key is f32[2,2,3,4] and value is f32[2,2,3,4]: the axes before heads do not broadcast");
  REFUSED(lxla_attention(x, x, x, whole, NULL, &out), BAD, "mask: it is s32[1,2]; want pred, f32");
  REFUSED(lxla_attention(x, x, x, wide, NULL, &out), BAD, "mask: it is f64[]; want pred, f32");
  REFUSED(lxla_attention(x, x, x, narrow, NULL, &out), BAD,
          "mask: it is f32[3,2], which does not broadcast to the scores, f32[2,3,3]");
  REFUSED(lxla_attention(x, x, x, batch, NULL, &out), BAD, "mask: it is f32[3,2,3,4], which does not broadcast");
  REFUSED(lxla_attention(none, x, x, none, NULL, &out), LXLA_INVALID_HANDLE, "query");
  REFUSED(lxla_attention(x, x, x, (lxla_tensor){12345}, NULL, &out), LXLA_INVALID_HANDLE, "mask");
  lxla_attention_options o = options_of(&(shape){.scale = NAN});
  REFUSED(lxla_attention(x, x, x, none, &o, &out), BAD, "options.scale: NaN given; want a finite number");
  o.scale = 1e300;
  REFUSED(lxla_attention(x, x, x, none, &o, &out), BAD, "options.scale: 1e300 cannot be represented in f32");
  o.scale = 0, o.causal = 3;
  REFUSED(lxla_attention(x, x, x, none, &o, &out), BAD, "options.causal: 3 given; want LXLA_ON");
  o.struct_size = 4;
  REFUSED(lxla_attention(x, x, x, none, &o, &out), BAD, "set it to sizeof(lxla_attention_options)");
  REFUSED(lxla_attention_options_init(&o), BAD, "struct_size is 4");
  REFUSED(lxla_attention_options_init(NULL), LXLA_NULL_ARGUMENT, "options: it is NULL");
  // A caller whose struct ends before `causal` has its default.
  o = (lxla_attention_options){.struct_size = 16, .scale = 0, .causal = 3};
  OK(lxla_attention(x, x, x, none, &o, &out));
  RELEASE(out);
}

// --- RMS normalization and rotary embedding. ---

BOTH_TEST(rms_norms) {
  lxla_tensor x = DATA(DIMS(2, 2), 3, 4, 0, 0), weight = DATA(DIMS(2), 2, -1), out = none;
  const float root = sqrtf(12.5f);
  OK(lxla_rms_norm(x, none, 0, &out));
  NEAR_F32(out, DIMS(2, 2), 3 / root, 4 / root, NAN, NAN);
  OK(lxla_rms_norm(x, weight, 3.5, &out));
  NEAR_F32(out, DIMS(2, 2), 1.5, -1, 0, 0);
  OK(lxla_rms_norm(own(array(F32, DIMS(2, 0), NULL, 0)), none, 0, &out));
  EMPTY(out, F32, DIMS(2, 0));
  // bf16 with a weight of f32: 1.5 * 2 is rounded once.
  lxla_tensor narrow = own(as(BF16, F32S(DIMS(2), 3, 4)));
  OK(lxla_rms_norm(narrow, weight, 3.5, &out));
  VALUES(out, BF16, DIMS(2), 1.5, -1);
  lxla_tensor wide = own(ARRAY(F64, double, DIMS(2), 1, 2)), whole = own(ARRAY(S32, int32_t, DIMS(2), 1, 2)),
              three = DATA(DIMS(3), 1, 2, 3), scalar = number_of(F32, 1);
  REFUSED(lxla_rms_norm(whole, none, 0, &out), BAD, "x: rms_norm takes floats, not s32[2]");
  REFUSED(lxla_rms_norm(scalar, none, 0, &out), BAD, "x: rms_norm takes at least 1 axis, not f32[]");
  REFUSED(lxla_rms_norm(x, wide, 0, &out), BAD, "weight: it is f64[2]; x is f32[2,2], and wants f32");
  REFUSED(lxla_rms_norm(x, three, 0, &out), BAD, "weight: it is f32[3], which does not broadcast to x, f32[2,2]");
  REFUSED(lxla_rms_norm(x, none, -1, &out), BAD, "epsilon: -1 given; want a finite number, at least 0");
  REFUSED(lxla_rms_norm(x, none, 1e300, &out), BAD, "epsilon: 1e300 cannot be represented in f32");
}

BOTH_TEST(rotary_embeddings) {
  lxla_tensor x = DATA(DIMS(2, 4), 1, 2, 3, 4, 5, 6, 7, 8), out = none;
  lxla_tensor cosines = DATA(DIMS(2, 2), 1, 0, 0, -1), sines = DATA(DIMS(2, 2), 0, 1, 1, 0);
  OK(lxla_rotary_embedding(x, cosines, sines, 0, &out));
  IS(own(out), DIMS(2, 4), 1, -4, 3, 2, -7, -6, 5, -8);
  OK(lxla_rotary_embedding(x, cosines, sines, 1, &out));
  IS(own(out), DIMS(2, 4), 1, 2, -4, 3, -6, 5, -7, -8);
  lxla_tensor odd = DATA(DIMS(3), 1, 2, 3), whole = own(ARRAY(S32, int32_t, DIMS(2), 1, 2)), one = number_of(F32, 1),
              three = DATA(DIMS(1, 3), 1, 2, 3), wide = own(ARRAY(F64, double, DIMS(2), 1, 2));
  OK(lxla_rotary_embedding(x, one, one, 0, &out));
  IS(own(out), DIMS(2, 4), -2, -2, 4, 6, -2, -2, 12, 14);
  REFUSED(lxla_rotary_embedding(whole, one, one, 0, &out), BAD, "x: rotary_embedding takes floats, not s32[2]");
  REFUSED(lxla_rotary_embedding(one, one, one, 0, &out), BAD, "x: rotary_embedding takes at least 1 axis, not f32[]");
  REFUSED(lxla_rotary_embedding(odd, one, one, 0, &out), BAD, "x: it is f32[3]; want a last axis of even size");
  REFUSED(lxla_rotary_embedding(x, three, sines, 0, &out), BAD,
          "cosines: it is f32[1,3], which does not broadcast to half of x, f32[2,2]");
  REFUSED(lxla_rotary_embedding(x, cosines, x, 0, &out), BAD,
          "sines: it is f32[2,4], which does not broadcast to half of x, f32[2,2]");
  REFUSED(lxla_rotary_embedding(x, cosines, wide, 0, &out), BAD, "sines: it is f64[2]; x is f32[2,4], and wants f32");
  REFUSED(lxla_rotary_embedding(x, cosines, sines, 2, &out), BAD, "interleaved: 2 given; want 0 or 1");
}
