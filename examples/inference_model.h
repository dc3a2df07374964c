// The model of inference.c: a decoder of random weights, whose step reads and writes caches of keys and values, and the
// same without caches.
#ifndef INFERENCE_MODEL_H
#define INFERENCE_MODEL_H

#include <lazyxla_short.h>
#include "frontend.h"

enum { LAYERS = 2, HEADS = 4, WIDTH = 64, SYMBOLS = 64, LENGTH = 64 };
enum { TOKEN, POSITION, COUNT, CACHES, STATE = CACHES + 2 * LAYERS };  // what a call takes and returns
enum { QUERY, KEY, VALUE, JOIN, UP, DOWN, IN_LAYER, SCORES = LAYERS * IN_LAYER, MATRICES };

// A matrix, and the scales of its columns if it is quantized.
typedef struct {
  lxla_tensor numbers, scales;
} matrix;

typedef struct {
  lxla_tensor symbols, places;  // embeddings of symbols, and of positions
  matrix w[MATRICES];
} decoder;

static lxla_tensor integer(int32_t value) {
  return LX_MAKE(lxla_tensor_from_host, env, device, LXLA_DTYPE_S32, NULL, 0, &value, sizeof value);
}

static lxla_tensor constant(int32_t value) {
  return LX_MAKE(lxla_tensor_full, env, device, LXLA_DTYPE_S32, NULL, 0, value);
}

// [recipe]
// Weights as integers of 4 or 8 bits, of which `limit` is the largest, and a scale for each column.
static matrix quantized(matrix w, int32_t dtype, double limit) {
  lx_scope();
  lxla_tensor scales = lx_div(lx_maximum(lx_max_along(lx_abs(w.numbers), 0), 1e-30), limit);  // a column may be 0
  lxla_tensor rounded = LX_MAKE(lxla_unary, LXLA_UNARY_ROUND_NEAREST_EVEN, lx_div(w.numbers, scales));
  return (matrix){lx_keep(lx_convert(rounded, dtype)), lx_keep(scales)};
}

// x w. The program converts the integers where it multiplies them.
static lxla_tensor product(lxla_tensor x, matrix w) {
  lx_scope();
  if (!w.scales.id) return lx_keep(lx_matmul(x, w.numbers));
  return lx_keep(lx_mul(lx_matmul(x, lx_convert(w.numbers, LXLA_DTYPE_F32)), w.scales));
}
// [recipe end]

static lxla_tensor normalized(lxla_tensor x) { return LX_MAKE(lxla_rms_norm, x, (lxla_tensor){0}, 1e-6); }

// x w of `n` rows, divided into heads: [HEADS, n, WIDTH / HEADS].
static lxla_tensor by_heads(lxla_tensor x, matrix w, int64_t n) {
  lx_scope();
  return lx_keep(lx_transpose(lx_reshape(product(x, w), n, HEADS, WIDTH / HEADS), 1, 0, 2));
}

static lxla_tensor after_attention(const matrix *w, int64_t n, lxla_tensor x, lxla_tensor attended) {
  lx_scope();
  lxla_tensor joined = lx_reshape(lx_transpose(attended, 1, 0, 2), n, WIDTH), y = lx_add(x, product(joined, w[JOIN]));
  return lx_keep(lx_add(y, product(lx_gelu(product(normalized(y), w[UP])), w[DOWN])));
}

static lxla_tensor scores_of_row(const decoder *d, lxla_tensor x, lxla_tensor row) {
  lx_scope();
  lxla_tensor starts[] = {row, constant(0)};
  x = LX_MAKE(lxla_dynamic_slice, x, starts, ((const int64_t[]){1, WIDTH}), 2);
  return lx_keep(product(normalized(x), d->w[SCORES]));
}

// [recipe]
// Reads `n` tokens of a request, from in[POSITION] on, of which the first in[COUNT] are not padding. Writes their keys
// and values into the caches, and returns the token that follows, its position, the count 1 and the caches: the
// arguments of the next call.
static void step(const decoder *d, int64_t n, const lxla_tensor *in, lxla_tensor *out) {
  lx_scope();
  lxla_tensor at = lx_add(lx_range(n), in[POSITION]), zero = constant(0), starts[] = {zero, in[POSITION], zero};
  lxla_tensor x = lx_add(lx_take(d->symbols, in[TOKEN], 0), lx_take(d->places, at, 0));
  lxla_tensor seen = lx_le(lx_reshape(lx_range(LENGTH), 1, LENGTH), lx_reshape(at, n, 1));
  for (int i = 0; i < LAYERS; i++) {
    const matrix *w = d->w + i * IN_LAYER;
    lxla_tensor h = normalized(x), query = by_heads(h, w[QUERY], n), *cache = &out[CACHES + 2 * i];
    for (int k = 0; k < 2; k++) {  // keys, then values
      cache[k] = LX_MAKE(lxla_dynamic_update_slice, in[CACHES + 2 * i + k], by_heads(h, w[KEY + k], n), starts, 3);
    }
    x = after_attention(w, n, x, LX_MAKE(lxla_attention, query, cache[0], cache[1], seen, NULL));
  }
  out[TOKEN] = lx_argmax(scores_of_row(d, x, lx_sub(in[COUNT], 1)), 1);
  out[POSITION] = lx_add(in[POSITION], in[COUNT]);
  out[COUNT] = constant(1);
  for (int i = 0; i < STATE; i++) lx_keep(out[i]);
}
// [recipe end]

// The scores of the token after the first `count`, by causal attention over all of them, without a cache.
static lxla_tensor scores_of_whole(const decoder *d, const int32_t *tokens, int count) {
  lx_scope();
  lxla_attention_options causal = {.struct_size = sizeof causal};
  TRY(lxla_attention_options_init(&causal));
  causal.causal = 1;
  lxla_tensor x = lx_add(lx_take(d->symbols, lx_array(tokens, LENGTH), 0), d->places), none = {0};
  for (const matrix *w = d->w; w < d->w + SCORES; w += IN_LAYER) {
    lxla_tensor h = normalized(x), part[3];
    for (int k = 0; k < 3; k++) part[k] = by_heads(h, w[QUERY + k], LENGTH);
    x = after_attention(w, LENGTH, x, LX_MAKE(lxla_attention, part[0], part[1], part[2], none, &causal));
  }
  return lx_keep(scores_of_row(d, x, integer(count - 1)));
}

static decoder random_decoder(void) {
  lxla_tensor key = lx_key(7);
  decoder d = {.symbols = lx_normal(lx_next_key(key), SYMBOLS, WIDTH),
               .places = lx_normal(lx_next_key(key), LENGTH, WIDTH)};
  for (int i = 0; i < MATRICES; i++) {
    const int64_t kind = i % IN_LAYER, rows = kind == DOWN ? 4 * WIDTH : WIDTH;
    const int64_t columns = i == SCORES ? SYMBOLS : kind == UP ? 4 * WIDTH : WIDTH;
    d.w[i].numbers = lx_mul(lx_normal(lx_next_key(key), rows, columns), 1 / sqrt((double)rows));
  }
  return d;
}

#endif
