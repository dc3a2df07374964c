// The decoder of Llama 3.1: RMSNorm, rotary embedding, grouped-query attention with a causal mask, SwiGLU. It can be
// recorded on placeholders, to trace and lower it without weights, or on real weights, to run it.
#ifndef LLAMA_H
#define LLAMA_H

#include "noted.h"

#include <math.h>

typedef struct {
  int64_t layers, width, ffn, heads, kv_heads, vocabulary, sequence;
  int32_t dtype;
} llama;

static const double NORM_EPSILON = 1e-5, ROTARY_BASE = 500000;
static const lxla_env llama_env = {0};                   // the current environment, else the default one
static lxla_device llama_device = {LXLA_DEVICE_XLA, 0};  // its first accelerator

// --- Recording -----------------------------------------------------------------------------------------------------

static inline void drop(lxla_tensor x) { TRY(lxla_tensor_release(x)); }

static inline lxla_tensor binary(int32_t op, lxla_tensor a, lxla_tensor b) { NOTED(lxla_binary, op, a, b); }
static inline lxla_tensor plus(lxla_tensor a, lxla_tensor b) { return binary(LXLA_BINARY_ADD, a, b); }
static inline lxla_tensor minus(lxla_tensor a, lxla_tensor b) { return binary(LXLA_BINARY_SUBTRACT, a, b); }
static inline lxla_tensor times(lxla_tensor a, lxla_tensor b) { return binary(LXLA_BINARY_MULTIPLY, a, b); }
static inline lxla_tensor scaled(lxla_tensor x, double by) { NOTED(lxla_binary_scalar, LXLA_BINARY_MULTIPLY, x, by); }
static inline lxla_tensor raised(lxla_tensor x, double by) { NOTED(lxla_binary_scalar, LXLA_BINARY_ADD, x, by); }
static inline lxla_tensor unary(int32_t op, lxla_tensor x) { NOTED(lxla_unary, op, x); }
static inline lxla_tensor matmul(lxla_tensor a, lxla_tensor b) { NOTED(lxla_matmul, a, b); }
static inline lxla_tensor converted(lxla_tensor x, int32_t dtype) { NOTED(lxla_convert, x, dtype); }
static inline lxla_tensor taken(lxla_tensor x, lxla_tensor at) { NOTED(lxla_take, x, at, 0); }
static inline lxla_tensor shaped(lxla_tensor x, const int64_t *dims, size_t rank) {
  NOTED(lxla_reshape, x, dims, rank);
}
static inline lxla_tensor turned(lxla_tensor x, const int64_t *axes, size_t rank) {
  NOTED(lxla_transpose, x, axes, rank);
}

static inline lxla_tensor over_last_axis(int32_t op, lxla_tensor x) {
  NOTED(lxla_reduce, op, x, (const int64_t[]){-1}, 1, 1);
}

static inline lxla_tensor counted(int32_t dtype, int64_t n) {
  NOTED(lxla_iota, llama_env, llama_device, dtype, &n, 1, 0);
}

// --- The model -----------------------------------------------------------------------------------------------------

// Inputs of a model: these, then LAYER_WEIGHTS weights, stacked over all layers, or LAYER_WEIGHTS weights for each
// layer.
enum { TOKENS, EMBEDDING, FINAL_NORM, OUTPUT_HEAD, LAYERS };
enum { ATTENTION_NORM, QUERY, KEY, VALUE, ATTENTION_OUTPUT, FFN_NORM, GATE, UP, DOWN, LAYER_WEIGHTS };

static inline int64_t head_size(const llama *m) { return m->width / m->heads; }

// Writes the sizes of input `i`; for weights, those of one layer. Returns the rank.
static inline size_t input_dims(const llama *m, size_t i, int64_t dims[2]) {
  int64_t w = m->width, kv = m->kv_heads * head_size(m), f = m->ffn;
  const int64_t whole[LAYERS][2] = {{m->sequence}, {m->vocabulary, w}, {w}, {w, m->vocabulary}};
  const int64_t each[LAYER_WEIGHTS][2] = {{w}, {w, w}, {w, kv}, {w, kv}, {w, w}, {w}, {w, f}, {w, f}, {f, w}};
  const int64_t *found = i < LAYERS ? whole[i] : each[(i - LAYERS) % LAYER_WEIGHTS];
  dims[0] = found[0], dims[1] = found[1];
  return dims[1] ? 2 : 1;
}

static inline size_t input_count(const llama *m, int unrolled) {
  return LAYERS + LAYER_WEIGHTS * (unrolled ? (size_t)m->layers : 1);
}

static inline int64_t parameter_count(const llama *m) {
  int64_t total = 0;
  for (size_t i = EMBEDDING; i < LAYERS + LAYER_WEIGHTS; i++) {
    int64_t dims[2], elements = 1;
    for (size_t rank = input_dims(m, i, dims); rank > 0; rank--) elements *= dims[rank - 1];
    total += elements * (i < LAYERS ? 1 : m->layers);
  }
  return total;
}

// Tables that all layers share. They are computed from constants alone, so that they become part of a traced layer.
typedef struct {
  lxla_tensor cosine, sine;  // [sequence, 1, head / 2]
  lxla_tensor visible;       // [sequence, sequence]: the keys that each query attends to
  lxla_tensor hidden;        // the score of masked keys
} llama_tables;

static inline llama_tables make_tables(const llama *m) {
  int64_t s = m->sequence, half = head_size(m) / 2;
  lxla_tensor position = counted(LXLA_DTYPE_F32, s), column = shaped(position, DIMS(s, 1));
  lxla_tensor exponent = scaled(counted(LXLA_DTYPE_F32, half), -log(ROTARY_BASE) / (double)half);
  lxla_tensor angle = shaped(times(column, unary(LXLA_UNARY_EXPONENTIAL, exponent)), DIMS(s, 1, half));
  llama_tables t = {unary(LXLA_UNARY_COSINE, angle), unary(LXLA_UNARY_SINE, angle), {0}, {0}};
  TRY(lxla_compare(LXLA_COMPARE_GE, column, position, &t.visible));
  TRY(lxla_tensor_full(llama_env, llama_device, LXLA_DTYPE_F32, NULL, 0, -1e30, &t.hidden));
  note(t.visible), note(t.hidden);
  return t;
}

static inline lxla_tensor rms_norm(const llama *m, lxla_tensor x, lxla_tensor weight) {
  lxla_tensor wide = converted(x, LXLA_DTYPE_F32), sum = over_last_axis(LXLA_REDUCE_SUM, times(wide, wide));
  lxla_tensor mean = raised(scaled(sum, 1.0 / (double)m->width), NORM_EPSILON);
  return times(converted(times(wide, unary(LXLA_UNARY_RSQRT, mean)), m->dtype), weight);
}

static inline lxla_tensor half_of(lxla_tensor x, const int64_t *dims, int second) {
  int64_t half = dims[2] / 2;
  const int64_t start[3] = {0, 0, second * half}, limit[3] = {dims[0], dims[1], start[2] + half};
  NOTED(lxla_slice, x, start, limit, NULL, 3);
}

static inline lxla_tensor joined(lxla_tensor a, lxla_tensor b) {
  const lxla_tensor both[2] = {a, b};
  NOTED(lxla_concatenate, both, 2, -1);
}

// Rotates each pair of elements (one of each half) by the angle of its position. x is [sequence, n, head].
static inline lxla_tensor rotated(const llama *m, const llama_tables *t, lxla_tensor x, int64_t n) {
  const int64_t dims[3] = {m->sequence, n, head_size(m)};
  lxla_tensor wide = converted(x, LXLA_DTYPE_F32), a = half_of(wide, dims, 0), b = half_of(wide, dims, 1);
  lxla_tensor first = minus(times(a, t->cosine), times(b, t->sine)),
              second = plus(times(b, t->cosine), times(a, t->sine));
  return converted(joined(first, second), m->dtype);
}

static inline lxla_tensor projected(const llama *m, lxla_tensor x, lxla_tensor weight, int64_t n) {
  return shaped(matmul(x, weight), DIMS(m->sequence, n, head_size(m)));
}

static inline lxla_tensor where(lxla_tensor pred, lxla_tensor on_true, lxla_tensor on_false) {
  NOTED(lxla_select, pred, on_true, on_false);
}

static inline lxla_tensor softmax(lxla_tensor x) {
  lxla_tensor power = unary(LXLA_UNARY_EXPONENTIAL, minus(x, over_last_axis(LXLA_REDUCE_MAX, x)));
  return binary(LXLA_BINARY_DIVIDE, power, over_last_axis(LXLA_REDUCE_SUM, power));
}

// Records attention. The queries of a group share one head of keys and values, and are multiplied with it as one
// matrix.
static inline lxla_tensor attention(const llama *m, const llama_tables *t, lxla_tensor x, const lxla_tensor *w) {
  int64_t s = m->sequence, n = m->heads, kv = m->kv_heads, group = n / kv, head = head_size(m);
  lxla_tensor q = shaped(rotated(m, t, projected(m, x, w[QUERY], n), n), DIMS(s, kv, group, head));
  lxla_tensor k = rotated(m, t, projected(m, x, w[KEY], kv), kv), v = projected(m, x, w[VALUE], kv);
  lxla_tensor rows = shaped(turned(q, DIMS(1, 2, 0, 3)), DIMS(kv, group * s, head));
  lxla_tensor product = shaped(matmul(rows, turned(k, DIMS(1, 2, 0))), DIMS(kv, group, s, s));
  lxla_tensor scores = scaled(converted(product, LXLA_DTYPE_F32), 1 / sqrt((double)head));
  lxla_tensor share = converted(softmax(where(t->visible, scores, t->hidden)), m->dtype);
  lxla_tensor mixed = matmul(shaped(share, DIMS(kv, group * s, s)), turned(v, DIMS(1, 0, 2)));
  lxla_tensor by_position = turned(shaped(mixed, DIMS(kv, group, s, head)), DIMS(2, 0, 1, 3));
  return matmul(shaped(by_position, DIMS(s, m->width)), w[ATTENTION_OUTPUT]);
}

static inline lxla_tensor feed_forward(lxla_tensor x, const lxla_tensor *w) {
  lxla_tensor gate = matmul(x, w[GATE]), open = times(gate, unary(LXLA_UNARY_LOGISTIC, gate));
  return matmul(times(open, matmul(x, w[UP])), w[DOWN]);
}

// Records one layer with its LAYER_WEIGHTS weights `w`. x is [sequence, width].
static inline lxla_tensor layer(const llama *m, const llama_tables *t, lxla_tensor x, const lxla_tensor *w) {
  size_t start = noted.count;
  lxla_tensor seen = plus(x, attention(m, t, rms_norm(m, x, w[ATTENTION_NORM]), w));
  return keep(start, plus(seen, feed_forward(rms_norm(m, seen, w[FFN_NORM]), w)));
}

static inline lxla_tensor placeholder(const llama *m, size_t i, int stacked) {
  int64_t dims[3] = {m->layers};
  size_t rank = input_dims(m, i, dims + 1), first = stacked && i >= LAYERS ? 0 : 1;
  int32_t dtype = i == TOKENS ? LXLA_DTYPE_S32 : m->dtype;
  lxla_tensor out;
  TRY(lxla_tensor_placeholder(llama_env, llama_device, dtype, dims + first, rank + 1 - first, &out));
  return out;
}

// Traces one layer on placeholders.
static inline lxla_computation traced_layer(const llama *m, const llama_tables *t) {
  lxla_tensor given[1 + LAYER_WEIGHTS], out;
  TRY(lxla_tensor_placeholder(llama_env, llama_device, m->dtype, DIMS(m->sequence, m->width), &given[0]));
  for (size_t i = 0; i < LAYER_WEIGHTS; i++) given[1 + i] = placeholder(m, LAYERS + i, 0);
  out = layer(m, t, given[0], given + 1);
  lxla_computation body;
  TRY(lxla_computation_trace(given, 1 + LAYER_WEIGHTS, &out, 1, &body));
  TRY(lxla_tensor_release_many(given, 1 + LAYER_WEIGHTS));
  drop(out);
  return body;
}

// Records all layers as one loop: `w` are LAYER_WEIGHTS weights, stacked over the layers.
static inline lxla_tensor scanned_layers(const llama *m, const llama_tables *t, lxla_tensor x, const lxla_tensor *w) {
  lxla_computation body = traced_layer(m, t);
  lxla_tensor out;
  TRY(lxla_scan(body, &x, 1, w, LAYER_WEIGHTS, m->layers, 0, &out, NULL, 0));
  TRY(lxla_computation_release(body));
  return note(out);
}

// Records one layer after another, each with its LAYER_WEIGHTS of `w`.
static inline lxla_tensor unrolled_layers(const llama *m, const llama_tables *t, lxla_tensor x, const lxla_tensor *w) {
  TRY(lxla_tensor_retain(x));
  for (int64_t i = 0; i < m->layers; i++) {
    lxla_tensor next = layer(m, t, x, w + LAYER_WEIGHTS * i);
    drop(x);
    x = next;
  }
  noted.operations--;  // will be noted again
  return note(x);
}

// Records the logits [sequence, vocabulary] of `inputs`.
static inline lxla_tensor forward(const llama *m, const lxla_tensor *inputs, int unrolled) {
  size_t start = noted.count;
  llama_tables t = make_tables(m);
  lxla_tensor x = taken(inputs[EMBEDDING], inputs[TOKENS]);
  x = unrolled ? unrolled_layers(m, &t, x, inputs + LAYERS) : scanned_layers(m, &t, x, inputs + LAYERS);
  return keep(start, matmul(rms_norm(m, x, inputs[FINAL_NORM]), inputs[OUTPUT_HEAD]));
}

// Traces the whole model on placeholders for its inputs.
static inline lxla_computation trace_model(const llama *m, int unrolled) {
  size_t n = input_count(m, unrolled);
  lxla_tensor *inputs = malloc(n * sizeof *inputs), logits;
  if (!inputs) exit(1);
  for (size_t i = 0; i < n; i++) inputs[i] = placeholder(m, i, !unrolled);
  logits = forward(m, inputs, unrolled);
  lxla_computation model;
  TRY(lxla_computation_trace(inputs, n, &logits, 1, &model));
  TRY(lxla_tensor_release_many(inputs, n));
  drop(logits);
  free(inputs);
  return model;
}

#endif
