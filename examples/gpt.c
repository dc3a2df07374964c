// Trains a small language model on real text: a decoder-only transformer over characters, as GPT-2. Layer norm before
// attention and before the MLP, learned positions, tied output projection; AdamW, warm-up, cosine schedule, clipping.
//
//   gpt examples/data/genesis_exodus.txt [--steps N] [--policy dots] ...
//
// (`gpt` alone lists the options.) The loss is traced once, on placeholders, with the layers as one lxla_scan over stacked
// weights; lxla_computation_value_and_grad differentiates it under a checkpoint policy. A step calls the result on the
// parameters and records AdamW; lxla_mark_step runs both as one program, which writes the new parameters and moments over
// the old ones. Then the parameters are saved, loaded, and write a few lines.
//
// Ends with status 0 if the loss on the held-out tail of the text fell below --bound. benches/jax_gpt.py is the same
// program in JAX: same random numbers, same batches.
#include "frontend.h"
#include "losses.h"
#include "optimizer.h"

#include <stddef.h>
#include <time.h>

enum { MOST_SYMBOLS = 96, MOST_EVALUATIONS = 40, MOST_PROMPT = 1024 };
static const double HELD_OUT = 0.1, NORM_EPSILON = 1e-5, MASKED = -1e30;

// --- Options -------------------------------------------------------------------------------------------------------

typedef struct {
  int64_t layers, width, heads, context, batch, steps, warmup, seed, every, characters;
  double rate, decay, clip, temperature, bound;
  const char *text, *policy, *prompt, *save, *curve;
  int bench;
} options;

static const struct {
  const char *name;
  char kind;  // i: int64_t, d: double, s: text, f: a flag without a value
  size_t at;
  const char *means;
} OPTIONS[] = {
    {"--layers", 'i', offsetof(options, layers), "number of layers"},
    {"--width", 'i', offsetof(options, width), "elements of a position, a multiple of the heads"},
    {"--heads", 'i', offsetof(options, heads), "heads of attention"},
    {"--context", 'i', offsetof(options, context), "characters that a position can see"},
    {"--batch", 'i', offsetof(options, batch), "windows of text in a step"},
    {"--steps", 'i', offsetof(options, steps), "training steps"},
    {"--warmup", 'i', offsetof(options, warmup), "steps in which the learning rate rises"},
    {"--rate", 'd', offsetof(options, rate), "highest learning rate"},
    {"--decay", 'd', offsetof(options, decay), "weight decay of matrices"},
    {"--clip", 'd', offsetof(options, clip), "largest norm of the gradients"},
    {"--seed", 'i', offsetof(options, seed), "of weights, batches and samples"},
    {"--policy", 's', offsetof(options, policy), "what the backward pass does not compute again: all, dots, named, none"},
    {"--every", 'i', offsetof(options, every), "steps from one line of progress to the next"},
    {"--bound", 'd', offsetof(options, bound), "validation loss that has to be reached"},
    {"--curve", 's', offsetof(options, curve), "file for the loss of each step"},
    {"--save", 's', offsetof(options, save), "file for the parameters"},
    {"--prompt", 's', offsetof(options, prompt), "text to continue"},
    {"--characters", 'i', offsetof(options, characters), "how many to write"},
    {"--temperature", 'd', offsetof(options, temperature), "of the sampling; 0: the likeliest character"},
    {"--bench", 'f', offsetof(options, bench), "waits for each step, and prints the median time"},
};
enum { OPTION_COUNT = sizeof OPTIONS / sizeof *OPTIONS };

static const struct {
  const char *name;
  int32_t policy;
} POLICIES[] = {{"all", LXLA_CHECKPOINT_SAVE_ALL},
                {"none", LXLA_CHECKPOINT_SAVE_NONE},
                {"dots", LXLA_CHECKPOINT_SAVE_DOTS},
                {"named", LXLA_CHECKPOINT_SAVE_NAMED}};

static int32_t policy_of(const options *o) {
  for (size_t i = 0; i < sizeof POLICIES / sizeof *POLICIES; i++)
    if (!strcmp(o->policy, POLICIES[i].name)) return POLICIES[i].policy;
  return 0;
}

static int set(options *o, const char *name, const char *value, int *used) {
  for (int i = 0; i < OPTION_COUNT; i++) {
    void *at = (char *)o + OPTIONS[i].at;
    if (strcmp(name, OPTIONS[i].name)) continue;
    *used = OPTIONS[i].kind != 'f';
    if (*used && !value) return 0;
    switch (OPTIONS[i].kind) {
      case 'i': *(int64_t *)at = atoll(value); break;
      case 'd': *(double *)at = atof(value); break;
      case 's': *(const char **)at = value; break;
      default: *(int *)at = 1;
    }
    return 1;
  }
  return 0;
}

static int parse(int argc, char **argv, options *o) {
  *o = (options){.layers = 4, .width = 128, .heads = 4, .context = 64, .batch = 16, .steps = 600, .warmup = 50, .seed = 1,
                 .every = 50, .characters = 300, .rate = 3e-3, .decay = 0.1, .clip = 1, .temperature = 0.7, .bound = 2.0,
                 .policy = "dots", .prompt = "And God said", .save = "gpt.safetensors"};
  if (argc < 2) return 0;
  o->text = argv[1];
  for (int i = 2, used; i < argc; i += 1 + used)
    if (!set(o, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &used)) return 0;
  return o->layers > 0 && o->heads > 0 && o->width > 0 && o->width % o->heads == 0 && o->context > 0 && o->batch > 0 &&
         o->steps > 0 && o->warmup >= 0 && o->every > 0 && o->characters >= 0 && o->temperature >= 0 && policy_of(o) &&
         *o->prompt && strlen(o->prompt) < MOST_PROMPT;
}

static int usage(const char *program) {
  fprintf(stderr, "usage: %s TEXT [OPTION VALUE] ...\n", program);
  for (int i = 0; i < OPTION_COUNT; i++) fprintf(stderr, "  %-14s %s\n", OPTIONS[i].name, OPTIONS[i].means);
  return 2;
}

static void *memory(size_t bytes) {
  void *found = calloc(1, bytes ? bytes : 1);
  CHECK(found);
  return found;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// --- Random numbers ------------------------------------------------------------------------------------------------

// splitmix64, by S. Vigna: the same numbers in every language.
static uint64_t next_number(uint64_t *state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

static double uniform(uint64_t *state) { return (double)(next_number(state) >> 11) / 9007199254740992.0; }

static double normal(uint64_t *state) {
  double radius = sqrt(-2 * log(1 - uniform(state)));  // a statement of its own: C leaves open which operand comes first
  return radius * cos(6.283185307179586 * uniform(state));
}

// --- Text ----------------------------------------------------------------------------------------------------------

// The text as numbers of symbols: the bytes that occur, in ascending order. The tail is held out.
typedef struct {
  int32_t *ids;
  int64_t length, training;
  int symbols;
  unsigned char symbol[MOST_SYMBOLS];
  int id_of[256];  // -1: not in the text
} corpus;

static corpus load_text(const char *path) {
  corpus c = {0};
  int seen[256] = {0};
  FILE *file = fopen(path, "rb");
  if (!file) {
    fprintf(stderr, "cannot read %s\n", path);
    exit(1);
  }
  CHECK(fseek(file, 0, SEEK_END) == 0 && (c.length = ftell(file)) >= 0 && fseek(file, 0, SEEK_SET) == 0);
  unsigned char *bytes = memory((size_t)c.length);
  CHECK(fread(bytes, 1, (size_t)c.length, file) == (size_t)c.length);
  fclose(file);
  for (int64_t i = 0; i < c.length; i++) seen[bytes[i]] = 1;
  for (int b = 0; b < 256; b++) {
    c.id_of[b] = -1;
    if (!seen[b]) continue;
    CHECK(c.symbols < MOST_SYMBOLS);
    c.symbol[c.symbols] = (unsigned char)b, c.id_of[b] = c.symbols++;
  }
  c.ids = memory((size_t)c.length * sizeof *c.ids);
  for (int64_t i = 0; i < c.length; i++) c.ids[i] = c.id_of[bytes[i]];
  free(bytes);
  c.training = c.length - (int64_t)((double)c.length * HELD_OUT);
  return c;
}

static lxla_tensor from_ids(const int32_t *ids, const int64_t *dims, size_t rank) {
  size_t bytes = sizeof *ids;
  lxla_tensor out;
  for (size_t i = 0; i < rank; i++) bytes *= (size_t)dims[i];
  TRY(lxla_tensor_from_host(env, device, LXLA_DTYPE_S32, dims, rank, ids, bytes, &out));
  return out;
}

// Windows of text, and the same one character further: what is to be told.
typedef struct {
  lxla_tensor tokens, targets;  // s32[batch, context]
} batch;

static batch batch_at(const options *o, const corpus *c, const int64_t *starts) {
  size_t n = (size_t)(o->batch * o->context);
  int32_t *tokens = memory(n * sizeof *tokens), *targets = memory(n * sizeof *targets);
  for (int64_t i = 0; i < o->batch; i++) {
    memcpy(tokens + i * o->context, c->ids + starts[i], (size_t)o->context * sizeof *tokens);
    memcpy(targets + i * o->context, c->ids + starts[i] + 1, (size_t)o->context * sizeof *targets);
  }
  batch b = {from_ids(tokens, DIMS(o->batch, o->context)), from_ids(targets, DIMS(o->batch, o->context))};
  free(tokens), free(targets);
  return b;
}

static batch random_batch(const options *o, const corpus *c, uint64_t *state) {
  int64_t *starts = memory((size_t)o->batch * sizeof *starts);
  for (int64_t i = 0; i < o->batch; i++) starts[i] = (int64_t)(next_number(state) % (uint64_t)(c->training - o->context));
  batch b = batch_at(o, c, starts);
  free(starts);
  return b;
}

// --- Parameters ----------------------------------------------------------------------------------------------------

// Those from ATTENTION_SCALE on are stacked over the layers.
enum {
  TOKEN_EMBEDDING, POSITION_EMBEDDING, FINAL_SCALE, FINAL_OFFSET,
  ATTENTION_SCALE, ATTENTION_OFFSET, QKV_WEIGHT, QKV_BIAS, MIX_WEIGHT, MIX_BIAS,
  MLP_SCALE, MLP_OFFSET, UP_WEIGHT, UP_BIAS, DOWN_WEIGHT, DOWN_BIAS,
  PARAMETERS, OF_LAYERS = ATTENTION_SCALE, LAYER_PARAMETERS = PARAMETERS - OF_LAYERS
};
static const char *const NAMES[PARAMETERS] = {
    "token_embedding", "position_embedding", "final_scale", "final_offset",
    "attention_scale", "attention_offset", "qkv_weight", "qkv_bias", "mix_weight", "mix_bias",
    "mlp_scale", "mlp_offset", "up_weight", "up_bias", "down_weight", "down_bias"};

// The model, with one more number than the options have.
typedef struct {
  const options *o;
  int64_t symbols;
} model;

static int is_matrix(int i) {
  return i == TOKEN_EMBEDDING || i == POSITION_EMBEDDING || i == QKV_WEIGHT || i == MIX_WEIGHT || i == UP_WEIGHT ||
         i == DOWN_WEIGHT;
}

static int is_scale(int i) { return i == FINAL_SCALE || i == ATTENTION_SCALE || i == MLP_SCALE; }

// Writes the sizes of a parameter, for those of layers with `stacked` 1 of all layers; returns the rank.
static size_t dims_of(const model *m, int i, int stacked, int64_t dims[3]) {
  int64_t w = m->o->width;
  const int64_t own[PARAMETERS][2] = {{m->symbols, w}, {m->o->context, w}, {w}, {w}, {w}, {w}, {w, 3 * w}, {3 * w},
                                      {w, w}, {w}, {w}, {w}, {w, 4 * w}, {4 * w}, {4 * w, w}, {w}};
  size_t rank = 0;
  if (stacked && i >= OF_LAYERS) dims[rank++] = m->o->layers;
  for (int k = 0; k < 2 && own[i][k]; k++) dims[rank++] = own[i][k];
  return rank;
}

static int64_t elements_of(const model *m, int i) {
  int64_t dims[3], elements = 1;
  for (size_t rank = dims_of(m, i, 1, dims); rank > 0; rank--) elements *= dims[rank - 1];
  return elements;
}

static lxla_tensor filled(const model *m, int i, double value) {
  int64_t dims[3];
  size_t rank = dims_of(m, i, 1, dims);
  lxla_tensor out;
  TRY(lxla_tensor_full(env, device, LXLA_DTYPE_F32, dims, rank, value, &out));
  return out;
}

// Matrices are random; those that add to the residual stream the smaller, the more layers do.
static void initialise(const model *m, lxla_tensor *parameters) {
  uint64_t state = (uint64_t)m->o->seed;
  for (int i = 0; i < PARAMETERS; i++) {
    if (!is_matrix(i)) {
      parameters[i] = filled(m, i, is_scale(i));
      continue;
    }
    double last = i == MIX_WEIGHT || i == DOWN_WEIGHT, deviation = last ? 0.02 / sqrt(2 * (double)m->o->layers) : 0.02;
    int64_t dims[3], n = elements_of(m, i);
    float *values = memory((size_t)n * sizeof *values);
    for (int64_t k = 0; k < n; k++) values[k] = (float)(normal(&state) * deviation);
    size_t rank = dims_of(m, i, 1, dims);
    parameters[i] = from_floats(device, dims, rank, values);
    free(values);
  }
}

// --- The model -----------------------------------------------------------------------------------------------------

// Tensors that the functions below recorded and that are not released yet. A function notes the position at its start; at
// its end it keeps its result, and releases the rest.
static struct {
  lxla_tensor tensors[128];
  size_t count;
} noted;

static lxla_tensor note(lxla_tensor x) {
  CHECK(noted.count < sizeof noted.tensors / sizeof *noted.tensors);
  return noted.tensors[noted.count++] = x;
}

// Releases everything noted since `start` but `result`, which becomes the caller's to release.
static lxla_tensor keep(size_t start, lxla_tensor result) {
  TRY(lxla_tensor_retain(result));
  TRY(lxla_tensor_release_many(noted.tensors + start, noted.count - start));
  noted.count = start;
  return result;
}

// Records lxla_f(a, b) and notes its result: NOTED(lxla_f, a, b)
#define NOTED(function, ...)         \
  lxla_tensor out_;                  \
  TRY(function(__VA_ARGS__, &out_)); \
  return note(out_)

static lxla_tensor plus(lxla_tensor a, lxla_tensor b) { NOTED(lxla_binary, LXLA_BINARY_ADD, a, b); }
static lxla_tensor scaled(lxla_tensor x, double by) { NOTED(lxla_binary_scalar, LXLA_BINARY_MULTIPLY, x, by); }
static lxla_tensor taken(lxla_tensor x, lxla_tensor at) { NOTED(lxla_take, x, at, 0); }
static lxla_tensor shaped(lxla_tensor x, const int64_t *dims, size_t rank) { NOTED(lxla_reshape, x, dims, rank); }
static lxla_tensor turned(lxla_tensor x, const int64_t *axes, size_t rank) { NOTED(lxla_transpose, x, axes, rank); }
static lxla_tensor named(lxla_tensor x, const char *name) { NOTED(lxla_checkpoint_name, x, name); }

static lxla_tensor normed(lxla_tensor x, lxla_tensor scale, lxla_tensor offset) {
  NOTED(lxla_layer_norm, x, (const int64_t[]){-1}, 1, scale, offset, NORM_EPSILON);
}

// Records the products of a's `axis` with b's `other`.
static lxla_tensor product(lxla_tensor a, int64_t axis, lxla_tensor b, int64_t other) {
  NOTED(lxla_dot_general, a, b, NULL, NULL, 0, &axis, &other, 1, 0);
}

// Records x weight + bias; x is [batch, context, in].
static lxla_tensor linear(lxla_tensor x, lxla_tensor weight, lxla_tensor bias) { return plus(product(x, 2, weight, 0), bias); }

// Records q k^T for each window and head: q and k are [batch, context, heads, size], the result [batch, heads, q, k].
static lxla_tensor scores_of(lxla_tensor q, lxla_tensor k) {
  const int64_t batch[] = {0, 2}, size[] = {3};
  NOTED(lxla_dot_general, q, k, batch, batch, 2, size, size, 1, 0);
}

// Records the values v, [batch, context, heads, size], mixed by `share`, [batch, heads, q, k].
static lxla_tensor mixed(lxla_tensor share, lxla_tensor v) {
  const int64_t of_share[] = {0, 1}, of_v[] = {0, 2}, keys[] = {3}, positions[] = {1};
  NOTED(lxla_dot_general, share, v, of_share, of_v, 2, keys, positions, 1, 0);
}

static lxla_tensor counted(const int64_t *dims, size_t rank, int64_t axis) {
  NOTED(lxla_iota, env, device, LXLA_DTYPE_S32, dims, rank, axis);
}

// Records the scores of keys that come before their query or with it; all others are as good as -infinity.
static lxla_tensor causal(const model *m, lxla_tensor scores) {
  int64_t t = m->o->context;
  const lxla_scalar masked = {LXLA_DTYPE_F32, 0, {.f = MASKED}};
  lxla_tensor visible;
  TRY(lxla_compare(LXLA_COMPARE_GE, counted(DIMS(t, t), 0), counted(DIMS(t, t), 1), &visible));
  note(visible);
  NOTED(lxla_select_with_scalars, visible, scores, NULL, (lxla_tensor){0}, &masked);
}

static lxla_tensor softmax(lxla_tensor x) { NOTED(lxla_softmax, x, -1); }
static lxla_tensor gelu(lxla_tensor x) { NOTED(lxla_activation, LXLA_ACTIVATION_GELU_TANH, x); }

static lxla_tensor attention(const model *m, int64_t batch, lxla_tensor x, const lxla_tensor *w) {
  int64_t t = m->o->context, heads = m->o->heads, size = m->o->width / heads;
  lxla_tensor qkv = linear(x, w[QKV_WEIGHT - OF_LAYERS], w[QKV_BIAS - OF_LAYERS]), parts[3];
  TRY(lxla_split(qkv, NULL, 3, 2, parts));
  for (int i = 0; i < 3; i++) parts[i] = shaped(note(parts[i]), DIMS(batch, t, heads, size));
  lxla_tensor scores = causal(m, scaled(scores_of(parts[0], parts[1]), 1 / sqrt((double)size)));
  lxla_tensor by_position = turned(mixed(softmax(scores), parts[2]), DIMS(0, 2, 1, 3));
  lxla_tensor attended = named(shaped(by_position, DIMS(batch, t, m->o->width)), "attended");
  return linear(attended, w[MIX_WEIGHT - OF_LAYERS], w[MIX_BIAS - OF_LAYERS]);
}

static lxla_tensor mlp(lxla_tensor x, const lxla_tensor *w) {
  lxla_tensor expanded = named(linear(x, w[UP_WEIGHT - OF_LAYERS], w[UP_BIAS - OF_LAYERS]), "expanded");
  return linear(gelu(expanded), w[DOWN_WEIGHT - OF_LAYERS], w[DOWN_BIAS - OF_LAYERS]);
}

// Records one layer on x, [batch, context, width], with its LAYER_PARAMETERS parameters `w`.
static lxla_tensor layer(const model *m, int64_t batch, lxla_tensor x, const lxla_tensor *w) {
  size_t start = noted.count;
  lxla_tensor before = normed(x, w[ATTENTION_SCALE - OF_LAYERS], w[ATTENTION_OFFSET - OF_LAYERS]);
  lxla_tensor seen = plus(x, attention(m, batch, before, w));
  lxla_tensor again = normed(seen, w[MLP_SCALE - OF_LAYERS], w[MLP_OFFSET - OF_LAYERS]);
  return keep(start, plus(seen, mlp(again, w)));
}

static lxla_computation traced_layer(const model *m, int64_t batch) {
  lxla_tensor in[1 + LAYER_PARAMETERS] = {placeholder(DIMS(batch, m->o->context, m->o->width))};
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

// Records the last layer's output, normed, [batch, context, width]. `tokens` are s32[batch, context].
static lxla_tensor forward(const model *m, int64_t batch, const lxla_tensor *p, lxla_tensor tokens) {
  size_t start = noted.count;
  lxla_tensor x = plus(taken(p[TOKEN_EMBEDDING], tokens), p[POSITION_EMBEDDING]), out;
  lxla_computation body = traced_layer(m, batch);
  TRY(lxla_scan(body, &x, 1, p + OF_LAYERS, LAYER_PARAMETERS, m->o->layers, 0, &out, NULL, 0));
  TRY(lxla_computation_release(body));
  return keep(start, normed(note(out), p[FINAL_SCALE], p[FINAL_OFFSET]));
}

// --- Traced computations -------------------------------------------------------------------------------------------

static lxla_tensor placeholder_of(int32_t dtype, const int64_t *dims, size_t rank) {
  lxla_tensor out;
  TRY(lxla_tensor_placeholder(env, device, dtype, dims, rank, &out));
  return out;
}

static void parameter_placeholders(const model *m, lxla_tensor *out) {
  for (int i = 0; i < PARAMETERS; i++) {
    int64_t dims[3];
    size_t rank = dims_of(m, i, 1, dims);
    out[i] = placeholder(dims, rank);
  }
}

// Traces parameters, tokens, targets -> loss.
static lxla_computation trace_loss(const model *m) {
  enum { TOKENS = PARAMETERS, TARGETS, INPUTS };
  const int64_t window[2] = {m->o->batch, m->o->context};
  lxla_tensor in[INPUTS];
  parameter_placeholders(m, in);
  in[TOKENS] = placeholder_of(LXLA_DTYPE_S32, window, 2), in[TARGETS] = placeholder_of(LXLA_DTYPE_S32, window, 2);
  size_t start = noted.count;
  lxla_tensor hidden = note(forward(m, m->o->batch, in, in[TOKENS]));
  lxla_tensor loss = keep(start, note(mean_cross_entropy(product(hidden, 2, in[TOKEN_EMBEDDING], 1), in[TARGETS])));
  lxla_computation made;
  TRY(lxla_computation_trace(in, INPUTS, &loss, 1, &made));
  TRY(lxla_tensor_release_many(in, INPUTS));
  RELEASE(loss);
  return made;
}

// Derives parameters, tokens, targets -> loss, gradients of the parameters.
static lxla_computation differentiate(const options *o, lxla_computation loss) {
  static const char *const saved[] = {"attended", "expanded"};
  size_t wrt[PARAMETERS];
  for (size_t i = 0; i < PARAMETERS; i++) wrt[i] = i;
  lxla_vjp_options how = {.struct_size = sizeof how};
  TRY(lxla_vjp_options_init(&how));
  how.wrt = wrt, how.n_wrt = PARAMETERS, how.checkpoint = policy_of(o);
  if (how.checkpoint == LXLA_CHECKPOINT_SAVE_NAMED) how.saved_names = saved, how.n_saved_names = 2;
  lxla_computation made;
  TRY(lxla_computation_value_and_grad(loss, &how, &made));
  return made;
}

static lxla_tensor row_of(lxla_tensor x, int64_t row, int64_t columns) {
  lxla_tensor slice;
  TRY(lxla_slice_axis(x, 0, row, row + 1, 1, &slice));
  return shaped(note(slice), &columns, 1);
}

// Records scores + Gumbel noise, whose largest element is a sample of their softmax.
static lxla_tensor with_noise(lxla_tensor scores, lxla_tensor key, int64_t n) {
  lxla_tensor uniform;
  TRY(lxla_random_uniform(LXLA_RNG_THREE_FRY, key, LXLA_DTYPE_F32, &n, 1, 1e-7, 1, &uniform));
  lxla_tensor inner = scaled(note(unary(LXLA_UNARY_LOG, note(uniform))), -1);
  return plus(scores, scaled(note(unary(LXLA_UNARY_LOG, inner)), -1));
}

// Traces parameters, tokens s32[1, context], position s32[], key u32[2] -> the next character s32[], the next key.
// What follows the position does not matter: no earlier position sees it.
static lxla_computation trace_sampler(const model *m) {
  enum { TOKENS = PARAMETERS, POSITION, KEY, INPUTS };
  const options *o = m->o;
  lxla_tensor in[INPUTS], keys, out[2];
  parameter_placeholders(m, in);
  in[TOKENS] = placeholder_of(LXLA_DTYPE_S32, DIMS(1, o->context));
  in[POSITION] = placeholder_of(LXLA_DTYPE_S32, NULL, 0), in[KEY] = placeholder_of(LXLA_DTYPE_U32, DIMS(2));
  size_t start = noted.count;
  TRY(lxla_random_split(LXLA_RNG_THREE_FRY, in[KEY], 2, &keys));
  note(keys);
  lxla_tensor hidden = shaped(note(forward(m, 1, in, in[TOKENS])), DIMS(o->context, o->width));
  lxla_tensor scores = product(taken(hidden, in[POSITION]), 0, in[TOKEN_EMBEDDING], 1);
  if (o->temperature > 0) scores = with_noise(scaled(scores, 1 / o->temperature), row_of(keys, 1, 2), m->symbols);
  TRY(lxla_argmax(scores, 0, 0, LXLA_DTYPE_S32, &out[0]));
  out[1] = keep(start, row_of(keys, 0, 2));
  lxla_computation made;
  TRY(lxla_computation_trace(in, INPUTS, out, 2, &made));
  TRY(lxla_tensor_release_many(in, INPUTS));
  RELEASE(out[0], out[1]);
  return made;
}

// --- Training ------------------------------------------------------------------------------------------------------

typedef struct {
  lxla_tensor parameters[PARAMETERS], m[PARAMETERS], v[PARAMETERS];
} state;

static void release_state(state *s) {
  TRY(lxla_tensor_release_many(s->parameters, PARAMETERS));
  TRY(lxla_tensor_release_many(s->m, PARAMETERS));
  TRY(lxla_tensor_release_many(s->v, PARAMETERS));
}

// Records one step, and returns its loss.
static lxla_tensor record_step(const options *o, state *s, lxla_computation value_and_grad, const batch *b, int64_t step) {
  const adamw how = {.beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .decay = o->decay, .clip = o->clip};
  lxla_tensor in[PARAMETERS + 2], out[1 + PARAMETERS];
  memcpy(in, s->parameters, sizeof s->parameters);
  in[PARAMETERS] = b->tokens, in[PARAMETERS + 1] = b->targets;
  TRY(lxla_computation_call(value_and_grad, in, PARAMETERS + 2, out, 1 + PARAMETERS));
  adamw_rates rates = make_rates(env, device, &how, warmup_cosine(o->rate, step, o->warmup, o->steps), step);
  lxla_tensor factor = clip_factor(out + 1, PARAMETERS, how.clip);
  for (int i = 0; i < PARAMETERS; i++)
    adamw_apply(&how, &rates, factor, s->parameters[i], out[1 + i], s->m[i], s->v[i], is_matrix(i));
  release_rates(rates);
  RELEASE(factor);
  TRY(lxla_tensor_release_many(out + 1, PARAMETERS));
  return out[0];
}

// Returns the mean loss over consecutive windows of the held-out text.
static double validate(const options *o, const corpus *c, const lxla_tensor *parameters, lxla_computation loss) {
  int64_t batches = (c->length - c->training - 1) / (o->batch * o->context);
  if (batches > MOST_EVALUATIONS) batches = MOST_EVALUATIONS;
  int64_t *starts = memory((size_t)o->batch * sizeof *starts);
  double total = 0;
  for (int64_t i = 0; i < batches; i++) {
    for (int64_t k = 0; k < o->batch; k++) starts[k] = c->training + (i * o->batch + k) * o->context;
    batch b = batch_at(o, c, starts);
    lxla_tensor in[PARAMETERS + 2], out;
    float value;
    memcpy(in, parameters, PARAMETERS * sizeof *in);
    in[PARAMETERS] = b.tokens, in[PARAMETERS + 1] = b.targets;
    TRY(lxla_computation_call(loss, in, PARAMETERS + 2, &out, 1));
    TRY(lxla_tensor_read(out, &value, sizeof value));
    total += (double)value;
    RELEASE(b.tokens, b.targets, out);
  }
  free(starts);
  return total / (double)batches;
}

// Prints the temporary memory of the step that is pending, where the plugin tells it. Compiles it, and runs nothing.
static void print_memory(const options *o) {
  lxla_memory_stats stats = {.struct_size = sizeof stats};
  lxla_status status = lxla_compiled_memory(env, device, NULL, 0, &stats);
  if (status == LXLA_UNIMPLEMENTED) return;
  TRY(status);
  printf("  policy %s: temporaries of a step take %.2f MB\n", o->policy, 1e-6 * (double)stats.temp_bytes);
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// What a training run tells about itself.
typedef struct {
  uint64_t compiled, least_donated;
  double median;  // seconds a step, if each was waited for
} run;

// Trains for all steps. The loss is read, which waits for its step, where it is shown, and with --curve or --bench.
static run train(const options *o, const corpus *c, state *s, lxla_computation value_and_grad) {
  FILE *curve = o->curve ? fopen(o->curve, "w") : NULL;
  CHECK(curve || !o->curve);
  double *times = memory((size_t)o->steps * sizeof *times), since = seconds();
  uint64_t random_state = (uint64_t)o->seed + 1;
  int64_t shown = 0;
  run r = {counter(env, "UncachedCompile"), UINT64_MAX, 0};
  for (int64_t step = 0; step < o->steps; step++) {
    double start = seconds();
    uint64_t donated = counter(env, "DonatedBuffers");
    batch b = random_batch(o, c, &random_state);
    lxla_tensor loss = record_step(o, s, value_and_grad, &b, step);
    RELEASE(b.tokens, b.targets);
    if (step == 0) print_memory(o);
    TRY(lxla_mark_step(env, device, 0));
    donated = counter(env, "DonatedBuffers") - donated;
    if (donated < r.least_donated) r.least_donated = donated;
    int show = step == 0 || (step + 1) % o->every == 0;
    if (show || curve || o->bench) {
      float value;
      TRY(lxla_tensor_read(loss, &value, sizeof value));
      if (curve) fprintf(curve, "loss %.9g\n", (double)value);
      if (show) {
        double tokens = (double)((step + 1 - shown) * o->batch * o->context) / (seconds() - since);
        printf("  step %5lld  loss %.4f  rate %.2e  %.0f tokens/s\n", (long long)step + 1, (double)value,
               warmup_cosine(o->rate, step, o->warmup, o->steps), tokens);
        fflush(stdout);
        since = seconds(), shown = step + 1;
      }
    }
    RELEASE(loss);  // after the step: released before, it would be no output of it, which is another program
    times[step] = seconds() - start;
  }
  TRY(lxla_wait(env, device));
  r.compiled = counter(env, "UncachedCompile") - r.compiled;
  if (o->bench) qsort(times, (size_t)o->steps, sizeof *times, by_value), r.median = times[o->steps / 2];
  free(times);
  CHECK(!curve || fclose(curve) == 0);
  return r;
}

// --- Writing -------------------------------------------------------------------------------------------------------

// Prints the prompt and what the model continues it with: the last `context` characters at most are its input.
static void write_text(const model *m, const corpus *c, const lxla_tensor *parameters) {
  const options *o = m->o;
  int64_t length = (int64_t)strlen(o->prompt);
  int32_t *text = memory((size_t)(length + o->characters + o->context) * sizeof *text);
  for (int64_t i = 0; i < length; i++) {
    text[i] = c->id_of[(unsigned char)o->prompt[i]];
    if (text[i] < 0) {
      fprintf(stderr, "the prompt has a character that the text does not have: '%c'\n", o->prompt[i]);
      exit(1);
    }
  }
  const uint32_t seed[2] = {0, (uint32_t)o->seed};
  lxla_computation sampler = trace_sampler(m);
  lxla_tensor in[PARAMETERS + 3], out[2], key;
  TRY(lxla_tensor_from_host(env, device, LXLA_DTYPE_U32, DIMS(2), seed, sizeof seed, &key));
  memcpy(in, parameters, PARAMETERS * sizeof *in);
  printf("\n%s", o->prompt);
  for (int64_t i = 0; i < o->characters; i++, length++) {
    int64_t first = length > o->context ? length - o->context : 0;
    const int32_t position = (int32_t)(length - first - 1);
    in[PARAMETERS] = from_ids(text + first, DIMS(1, o->context)), in[PARAMETERS + 1] = from_ids(&position, NULL, 0);
    in[PARAMETERS + 2] = key;
    TRY(lxla_computation_call(sampler, in, PARAMETERS + 3, out, 2));
    TRY(lxla_mark_step(env, device, 0));
    TRY(lxla_tensor_read(out[0], &text[length], sizeof *text));
    CHECK(text[length] >= 0 && text[length] < c->symbols);
    putchar(c->symbol[text[length]]);
    RELEASE(in[PARAMETERS], in[PARAMETERS + 1], out[0], key);
    key = out[1];
  }
  printf("\n\n");
  RELEASE(key);
  TRY(lxla_computation_release(sampler));
  free(text);
}

// --- Everything ----------------------------------------------------------------------------------------------------

// Saves the parameters, and loads them back.
static void through_file(const char *path, lxla_tensor *parameters) {
  TRY(lxla_save(path, NAMES, parameters, PARAMETERS));
  TRY(lxla_tensor_release_many(parameters, PARAMETERS));
  for (int i = 0; i < PARAMETERS; i++) TRY(lxla_load(env, device, path, NAMES[i], &parameters[i]));
}

static void describe(const model *m, const corpus *c) {
  const options *o = m->o;
  int64_t parameters = 0;
  for (int i = 0; i < PARAMETERS; i++) parameters += elements_of(m, i);
  printf("lazyxla %s: %lld layers, width %lld, %lld heads, context %lld, batch %lld: %lld parameters\n", lxla_version(),
         (long long)o->layers, (long long)o->width, (long long)o->heads, (long long)o->context, (long long)o->batch,
         (long long)parameters);
  printf("  %lld characters to train, %lld held out, %d symbols\n", (long long)c->training,
         (long long)(c->length - c->training), c->symbols);
}

static int tell(const options *o, const run *r, double first, double last, double loaded) {
  int donated = r->least_donated >= 3 * PARAMETERS, fell = last < first && last < o->bound, same = loaded == last;
  printf("  validation loss      %.4f, was %.4f; has to be below %.4g\n", last, first, o->bound);
  printf("  from the file        %.4f: %s\n", loaded, same ? "the same" : "NOT THE SAME");
  printf("  buffers donated      %llu each step; parameters and moments are %d\n", (unsigned long long)r->least_donated,
         3 * PARAMETERS);
  printf("  programs compiled    %llu for %lld steps\n", (unsigned long long)r->compiled, (long long)o->steps);
  if (o->bench) printf("  time per step        %.2f ms (median; waited for)\n", 1e3 * r->median);
  return donated && fell && same && r->compiled <= 2 ? 0 : 1;
}

int main(int argc, char **argv) {
  setenv("TF_CPP_MIN_LOG_LEVEL", "1", 0);  // hides the plugin's log
  options o;
  if (!parse(argc, argv, &o)) return usage(argv[0]);
  corpus c = load_text(o.text);
  if (c.training <= o.context || c.length - c.training <= o.batch * o.context) {
    fprintf(stderr, "%s: too short, with %lld characters\n", o.text, (long long)c.length);
    return 1;
  }
  const model m = {&o, c.symbols};
  describe(&m, &c);
  lxla_computation loss = trace_loss(&m), value_and_grad = differentiate(&o, loss);
  state s;
  initialise(&m, s.parameters);
  for (int i = 0; i < PARAMETERS; i++) s.m[i] = filled(&m, i, 0), s.v[i] = filled(&m, i, 0);
  TRY(lxla_mark_step(env, device, 1));

  double first = validate(&o, &c, s.parameters, loss);
  run r = train(&o, &c, &s, value_and_grad);
  double last = validate(&o, &c, s.parameters, loss);
  through_file(o.save, s.parameters);
  double loaded = validate(&o, &c, s.parameters, loss);
  write_text(&m, &c, s.parameters);
  int status = tell(&o, &r, first, last, loaded);

  release_state(&s);
  TRY(lxla_computation_release(loss));
  TRY(lxla_computation_release(value_and_grad));
  free(c.ids);
  CHECK(noted.count == 0 && counter(env, "LiveBytes") == 0);
  return status;
}
