// The model of gpt.c: a decoder-only transformer over characters like GPT-2, its loss, and a sampler. Layer norm before
// attention and before the MLP, learned positions, tied output projection. The layers are one lxla_scan over stacked
// weights.
#ifndef GPT_MODEL_H
#define GPT_MODEL_H

#include "frontend.h"
#include "losses.h"
#include "mesh.h"
#include "noted.h"
#include "random.h"

static const double NORM_EPSILON = 1e-5, MASKED = -1e30;

// --- Parameters ----------------------------------------------------------------------------------------------------

// Parameters from ATTENTION_SCALE on are stacked over the layers.
enum {
  TOKEN_EMBEDDING,
  POSITION_EMBEDDING,
  FINAL_SCALE,
  FINAL_OFFSET,
  ATTENTION_SCALE,
  ATTENTION_OFFSET,
  QKV_WEIGHT,
  QKV_BIAS,
  MIX_WEIGHT,
  MIX_BIAS,
  MLP_SCALE,
  MLP_OFFSET,
  UP_WEIGHT,
  UP_BIAS,
  DOWN_WEIGHT,
  DOWN_BIAS,
  PARAMETERS,
  OF_LAYERS = ATTENTION_SCALE,
  LAYER_PARAMETERS = PARAMETERS - OF_LAYERS
};
static const char *const NAMES[PARAMETERS] = {
    "token_embedding",  "position_embedding", "final_scale", "final_offset", "attention_scale",
    "attention_offset", "qkv_weight",         "qkv_bias",    "mix_weight",   "mix_bias",
    "mlp_scale",        "mlp_offset",         "up_weight",   "up_bias",      "down_weight",
    "down_bias"};

// Shardings of the parameters over the mesh axis model, as in Megatron: each device has some of the heads and some of
// the hidden units.
static const mesh_rule RULES[] = {{"qkv_weight", "-,-,model"}, {"qkv_bias", "-,model"}, {"mix_weight", "-,model,-"},
                                  {"up_weight", "-,-,model"},  {"up_bias", "-,model"},  {"down_weight", "-,model,-"}};

static inline void place(lxla_tensor *parameters) {
  mesh_place(RULES, sizeof RULES / sizeof *RULES, NAMES, parameters, PARAMETERS);
}

// Sizes of the model.
typedef struct {
  int64_t layers, width, heads, context, symbols;
} model;

static inline int is_matrix(int i) {
  return i == TOKEN_EMBEDDING || i == POSITION_EMBEDDING || i == QKV_WEIGHT || i == MIX_WEIGHT || i == UP_WEIGHT ||
         i == DOWN_WEIGHT;
}

static inline int is_scale(int i) { return i == FINAL_SCALE || i == ATTENTION_SCALE || i == MLP_SCALE; }

// Writes the sizes of a parameter; with `stacked` 1, those of a layer parameter for all layers. Returns the rank.
static inline size_t dims_of(const model *m, int i, int stacked, int64_t dims[3]) {
  int64_t w = m->width;
  const int64_t own[PARAMETERS][2] = {{m->symbols, w}, {m->context, w}, {w},        {w}, {w}, {w},
                                      {w, 3 * w},      {3 * w},         {w, w},     {w}, {w}, {w},
                                      {w, 4 * w},      {4 * w},         {4 * w, w}, {w}};
  size_t rank = 0;
  if (stacked && i >= OF_LAYERS) dims[rank++] = m->layers;
  for (int k = 0; k < 2 && own[i][k]; k++) dims[rank++] = own[i][k];
  return rank;
}

static inline int64_t elements_of(const model *m, int i) {
  int64_t dims[3], elements = 1;
  for (size_t rank = dims_of(m, i, 1, dims); rank > 0; rank--) elements *= dims[rank - 1];
  return elements;
}

static inline lxla_tensor filled(const model *m, int i, double value) {
  int64_t dims[3];
  size_t rank = dims_of(m, i, 1, dims);
  lxla_tensor out;
  TRY(lxla_tensor_full(env, device, LXLA_DTYPE_F32, dims, rank, value, &out));
  return out;
}

// Matrices are random. Those that add to the residual stream are scaled down with the number of layers.
static inline void initialise(const model *m, uint64_t seed, lxla_tensor *parameters) {
  uint64_t state = seed;
  for (int i = 0; i < PARAMETERS; i++) {
    if (!is_matrix(i)) {
      parameters[i] = filled(m, i, is_scale(i));
      continue;
    }
    double last = i == MIX_WEIGHT || i == DOWN_WEIGHT, deviation = last ? 0.02 / sqrt(2 * (double)m->layers) : 0.02;
    int64_t dims[3], n = elements_of(m, i);
    float *values = memory((size_t)n * sizeof *values);
    for (int64_t k = 0; k < n; k++) values[k] = (float)(normal(&state) * deviation);
    size_t rank = dims_of(m, i, 1, dims);
    parameters[i] = from_floats(device, dims, rank, values);
    free(values);
  }
}

// --- The model -----------------------------------------------------------------------------------------------------

// Labels of what is recorded, for messages and reports.
static inline void begin(const char *label) { TRY(lxla_label_push(label)); }
static inline void end(void) { TRY(lxla_label_pop()); }

static inline lxla_tensor plus(lxla_tensor a, lxla_tensor b) { NOTED(lxla_binary, LXLA_BINARY_ADD, a, b); }
static inline lxla_tensor scaled(lxla_tensor x, double by) { NOTED(lxla_binary_scalar, LXLA_BINARY_MULTIPLY, x, by); }
static inline lxla_tensor taken(lxla_tensor x, lxla_tensor at) { NOTED(lxla_take, x, at, 0); }
static inline lxla_tensor shaped(lxla_tensor x, const int64_t *dims, size_t rank) {
  NOTED(lxla_reshape, x, dims, rank);
}
static inline lxla_tensor turned(lxla_tensor x, const int64_t *axes, size_t rank) {
  NOTED(lxla_transpose, x, axes, rank);
}
static inline lxla_tensor named(lxla_tensor x, const char *name) { NOTED(lxla_checkpoint_name, x, name); }

// Returns x with a sharding constraint, if there is a mesh.
static inline lxla_tensor spread(lxla_tensor x, const char *sharding) {
  TRY(lxla_tensor_retain(x));
  return note(mesh_split(x, sharding));
}

static inline lxla_tensor normed(lxla_tensor x, lxla_tensor scale, lxla_tensor offset) {
  NOTED(lxla_layer_norm, x, (const int64_t[]){-1}, 1, scale, offset, NORM_EPSILON);
}

// Records the dot product over axis `axis` of a and axis `other` of b.
static inline lxla_tensor product(lxla_tensor a, int64_t axis, lxla_tensor b, int64_t other) {
  NOTED(lxla_dot_general, a, b, NULL, NULL, 0, &axis, &other, 1, 0);
}

// Records x weight + bias; x is [batch, context, in].
static inline lxla_tensor linear(lxla_tensor x, lxla_tensor weight, lxla_tensor bias) {
  return plus(product(x, 2, weight, 0), bias);
}

// Records q k^T for each window and head: q and k are [batch, context, heads, size], the result [batch, heads, q, k].
static inline lxla_tensor scores_of(lxla_tensor q, lxla_tensor k) {
  const int64_t batch[] = {0, 2}, size[] = {3};
  NOTED(lxla_dot_general, q, k, batch, batch, 2, size, size, 1, 0);
}

// Records the sums of the values v, [batch, context, heads, size], weighted by `share`, [batch, heads, q, k].
static inline lxla_tensor mixed(lxla_tensor share, lxla_tensor v) {
  const int64_t of_share[] = {0, 1}, of_v[] = {0, 2}, keys[] = {3}, positions[] = {1};
  NOTED(lxla_dot_general, share, v, of_share, of_v, 2, keys, positions, 1, 0);
}

static inline lxla_tensor counted(const int64_t *dims, size_t rank, int64_t axis) {
  NOTED(lxla_iota, env, device, LXLA_DTYPE_S32, dims, rank, axis);
}

// Records the causal mask: scores of keys after their query become very small.
static inline lxla_tensor causal(const model *m, lxla_tensor scores) {
  int64_t t = m->context;
  const lxla_scalar masked = {LXLA_DTYPE_F32, 0, {.f = MASKED}};
  lxla_tensor visible;
  TRY(lxla_compare(LXLA_COMPARE_GE, counted(DIMS(t, t), 0), counted(DIMS(t, t), 1), &visible));
  note(visible);
  NOTED(lxla_select_with_scalars, visible, scores, NULL, (lxla_tensor){0}, &masked);
}

static inline lxla_tensor softmax(lxla_tensor x) { NOTED(lxla_softmax, x, -1); }
static inline lxla_tensor gelu(lxla_tensor x) { NOTED(lxla_activation, LXLA_ACTIVATION_GELU_TANH, x); }

static inline lxla_tensor attention(const model *m, int64_t batch, lxla_tensor x, const lxla_tensor *w) {
  int64_t t = m->context, heads = m->heads, size = m->width / heads;
  lxla_tensor qkv = linear(x, w[QKV_WEIGHT - OF_LAYERS], w[QKV_BIAS - OF_LAYERS]), parts[3];
  TRY(lxla_split(qkv, NULL, 3, 2, parts));
  for (int i = 0; i < 3; i++) parts[i] = spread(shaped(note(parts[i]), DIMS(batch, t, heads, size)), "data,-,model,-");
  lxla_tensor scores = causal(m, scaled(scores_of(parts[0], parts[1]), 1 / sqrt((double)size)));
  lxla_tensor by_position = turned(mixed(softmax(scores), parts[2]), DIMS(0, 2, 1, 3));
  lxla_tensor attended = named(shaped(by_position, DIMS(batch, t, m->width)), "attended");
  return linear(attended, w[MIX_WEIGHT - OF_LAYERS], w[MIX_BIAS - OF_LAYERS]);
}

static inline lxla_tensor mlp(lxla_tensor x, const lxla_tensor *w) {
  lxla_tensor expanded = named(linear(x, w[UP_WEIGHT - OF_LAYERS], w[UP_BIAS - OF_LAYERS]), "expanded");
  return linear(gelu(spread(expanded, "data,-,model")), w[DOWN_WEIGHT - OF_LAYERS], w[DOWN_BIAS - OF_LAYERS]);
}

// Records one layer on x, [batch, context, width], with its LAYER_PARAMETERS parameters `w`.
static inline lxla_tensor layer(const model *m, int64_t batch, lxla_tensor x, const lxla_tensor *w) {
  size_t start = noted.count;
  begin("attention");
  lxla_tensor before = normed(x, w[ATTENTION_SCALE - OF_LAYERS], w[ATTENTION_OFFSET - OF_LAYERS]);
  lxla_tensor seen = plus(x, attention(m, batch, before, w));
  end();
  begin("mlp");
  lxla_tensor again = normed(seen, w[MLP_SCALE - OF_LAYERS], w[MLP_OFFSET - OF_LAYERS]);
  lxla_tensor out = plus(seen, mlp(again, w));
  end();
  return keep(start, out);
}

static inline lxla_computation traced_layer(const model *m, int64_t batch) {
  lxla_tensor in[1 + LAYER_PARAMETERS] = {placeholder(DIMS(batch, m->context, m->width))};
  for (int i = OF_LAYERS; i < PARAMETERS; i++) {
    int64_t dims[3];
    size_t rank = dims_of(m, i, 0, dims);
    in[1 + i - OF_LAYERS] = placeholder(dims, rank);
  }
  lxla_tensor out = layer(m, batch, in[0], in + 1);
  lxla_computation body;
  TRY(lxla_computation_trace(in, 1 + LAYER_PARAMETERS, &out, 1, &body));
  TRY(lxla_tensor_release_many(in, 1 + LAYER_PARAMETERS));
  RELEASE(out);
  return body;
}

// Records the normalized output of the last layer, [batch, context, width]. `tokens` are s32[batch, context].
static inline lxla_tensor forward(const model *m, int64_t batch, const lxla_tensor *p, lxla_tensor tokens) {
  size_t start = noted.count;
  begin("embedding");
  lxla_tensor x = plus(taken(p[TOKEN_EMBEDDING], tokens), p[POSITION_EMBEDDING]), out;
  end();
  begin("layers");
  lxla_computation body = traced_layer(m, batch);
  TRY(lxla_scan(body, &x, 1, p + OF_LAYERS, LAYER_PARAMETERS, m->layers, 0, &out, NULL, 0));
  TRY(lxla_computation_release(body));
  end();
  begin("head");
  lxla_tensor hidden = normed(note(out), p[FINAL_SCALE], p[FINAL_OFFSET]);
  end();
  return keep(start, hidden);
}

// --- Traced computations -------------------------------------------------------------------------------------------

static inline lxla_tensor placeholder_of(int32_t dtype, const int64_t *dims, size_t rank) {
  lxla_tensor out;
  TRY(lxla_tensor_placeholder(env, device, dtype, dims, rank, &out));
  return out;
}

static inline void parameter_placeholders(const model *m, lxla_tensor *out) {
  for (int i = 0; i < PARAMETERS; i++) {
    int64_t dims[3];
    size_t rank = dims_of(m, i, 1, dims);
    out[i] = placeholder(dims, rank);
  }
}

// Traces parameters, tokens, targets -> loss.
static inline lxla_computation trace_loss(const model *m, int64_t batch) {
  enum { TOKENS = PARAMETERS, TARGETS, INPUTS };
  const int64_t window[2] = {batch, m->context};
  lxla_tensor in[INPUTS];
  parameter_placeholders(m, in);
  in[TOKENS] = placeholder_of(LXLA_DTYPE_S32, window, 2), in[TARGETS] = placeholder_of(LXLA_DTYPE_S32, window, 2);
  size_t start = noted.count;
  lxla_tensor hidden = note(forward(m, batch, in, in[TOKENS]));
  begin("loss");
  lxla_tensor loss = keep(start, note(mean_cross_entropy(product(hidden, 2, in[TOKEN_EMBEDDING], 1), in[TARGETS])));
  end();
  lxla_computation made;
  TRY(lxla_computation_trace(in, INPUTS, &loss, 1, &made));
  TRY(lxla_tensor_release_many(in, INPUTS));
  RELEASE(loss);
  return made;
}

// Derives parameters, tokens, targets -> loss, gradients of the parameters, with a checkpoint policy.
static inline lxla_computation differentiate(lxla_computation loss, int32_t policy) {
  static const char *const saved[] = {"attended", "expanded"};
  size_t wrt[PARAMETERS];
  for (size_t i = 0; i < PARAMETERS; i++) wrt[i] = i;
  lxla_vjp_options how = {.struct_size = sizeof how};
  TRY(lxla_vjp_options_init(&how));
  how.wrt = wrt, how.n_wrt = PARAMETERS, how.checkpoint = policy;
  if (policy == LXLA_CHECKPOINT_SAVE_NAMED) how.saved_names = saved, how.n_saved_names = 2;
  lxla_computation made;
  TRY(lxla_computation_value_and_grad(loss, &how, &made));
  return made;
}

static inline lxla_tensor row_of(lxla_tensor x, int64_t row, int64_t columns) {
  lxla_tensor slice;
  TRY(lxla_slice_axis(x, 0, row, row + 1, 1, &slice));
  return shaped(note(slice), &columns, 1);
}

// Records scores + Gumbel noise, whose largest element is a sample of their softmax.
static inline lxla_tensor with_noise(lxla_tensor scores, lxla_tensor key, int64_t n) {
  lxla_tensor uniform;
  TRY(lxla_random_uniform(LXLA_RNG_THREE_FRY, key, LXLA_DTYPE_F32, &n, 1, 1e-7, 1, &uniform));
  lxla_tensor inner = scaled(note(unary(LXLA_UNARY_LOG, note(uniform))), -1);
  return plus(scores, scaled(note(unary(LXLA_UNARY_LOG, inner)), -1));
}

// Traces parameters, tokens s32[1, context], position s32[], key u32[2] -> the next character s32[], the next key. With
// temperature 0 it is the most likely character. Tokens after the position have no effect, because of the causal mask.
static inline lxla_computation trace_sampler(const model *m, double temperature) {
  enum { TOKENS = PARAMETERS, POSITION, KEY, INPUTS };
  lxla_tensor in[INPUTS], keys, out[2];
  parameter_placeholders(m, in);
  in[TOKENS] = placeholder_of(LXLA_DTYPE_S32, DIMS(1, m->context));
  in[POSITION] = placeholder_of(LXLA_DTYPE_S32, NULL, 0), in[KEY] = placeholder_of(LXLA_DTYPE_U32, DIMS(2));
  size_t start = noted.count;
  TRY(lxla_random_split(LXLA_RNG_THREE_FRY, in[KEY], 2, &keys));
  note(keys);
  lxla_tensor hidden = shaped(note(forward(m, 1, in, in[TOKENS])), DIMS(m->context, m->width));
  lxla_tensor scores = product(taken(hidden, in[POSITION]), 0, in[TOKEN_EMBEDDING], 1);
  if (temperature > 0) scores = with_noise(scaled(scores, 1 / temperature), row_of(keys, 1, 2), m->symbols);
  TRY(lxla_argmax(scores, 0, 0, LXLA_DTYPE_S32, &out[0]));
  out[1] = keep(start, row_of(keys, 0, 2));
  lxla_computation made;
  TRY(lxla_computation_trace(in, INPUTS, out, 2, &made));
  TRY(lxla_tensor_release_many(in, INPUTS));
  RELEASE(out[0], out[1]);
  return made;
}

#endif
