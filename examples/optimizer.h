// AdamW with decoupled weight decay, gradients clipped to a global norm, and a learning rate with warm-up and cosine
// decay. Header only: copy it with try.h. It can be recorded on any tensors, including placeholders. The caller
// releases the results.
//
// Each step: make_rates; clip_factor of all gradients; adamw_apply for each parameter; release; lxla_mark_step. Values
// that change from step to step are tensors of one element, so that one program serves all steps.
#ifndef OPTIMIZER_H
#define OPTIMIZER_H

#include "try.h"

#include <math.h>

typedef struct {
  double beta1, beta2, epsilon;
  double decay;  // of the parameters that decay, times the learning rate
  double clip;   // largest norm of all gradients together
} adamw;

// Rates of one step, each f32[]; placeholders if the step is traced.
typedef struct {
  lxla_tensor size;   // learning rate / (1 - beta1^t)
  lxla_tensor root;   // 1 / sqrt(1 - beta2^t)
  lxla_tensor decay;  // learning rate * decay
} adamw_rates;

// Returns the learning rate of a step, counted from 0: it rises to `peak` in `warmup` steps, and falls to a tenth of
// it.
static inline double warmup_cosine(double peak, int64_t step, int64_t warmup, int64_t steps) {
  if (step < warmup) return peak * (double)(step + 1) / (double)warmup;
  double passed = (double)(step - warmup) / (double)(steps > warmup ? steps - warmup : 1);
  return peak * (0.1 + 0.9 * 0.5 * (1 + cos(3.141592653589793 * passed)));
}

// Returns the rates of a step, counted from 0.
static inline adamw_rates make_rates(lxla_env env, lxla_device device, const adamw *o, double rate, int64_t step) {
  const double t = (double)(step + 1);
  const double wide[3] = {rate / (1 - pow(o->beta1, t)), 1 / sqrt(1 - pow(o->beta2, t)), rate * o->decay};
  lxla_tensor made[3];
  for (int i = 0; i < 3; i++) {
    const float value = (float)wide[i];
    TRY(lxla_tensor_from_host(env, device, LXLA_DTYPE_F32, NULL, 0, &value, sizeof value, &made[i]));
  }
  return (adamw_rates){made[0], made[1], made[2]};
}

static inline void release_rates(adamw_rates rates) {
  const lxla_tensor all[3] = {rates.size, rates.root, rates.decay};
  TRY(lxla_tensor_release_many(all, 3));
}

// --- Recording -----------------------------------------------------------------------------------------------------

static inline lxla_tensor adamw_binary(int32_t op, lxla_tensor a, lxla_tensor b) {
  lxla_tensor out;
  TRY(lxla_binary(op, a, b, &out));
  return out;
}

static inline lxla_tensor adamw_scalar(int32_t op, lxla_tensor a, double b) {
  lxla_tensor out;
  TRY(lxla_binary_scalar(op, a, b, &out));
  return out;
}

static inline lxla_tensor adamw_converted(lxla_tensor x, int32_t dtype) {
  lxla_tensor out;
  TRY(lxla_convert(x, dtype, &out));
  return out;
}

// Records by * x + (1 - by) * y.
static inline lxla_tensor adamw_average(lxla_tensor x, lxla_tensor y, double by) {
  lxla_tensor a = adamw_scalar(LXLA_BINARY_MULTIPLY, x, by), b = adamw_scalar(LXLA_BINARY_MULTIPLY, y, 1 - by);
  lxla_tensor sum = adamw_binary(LXLA_BINARY_ADD, a, b);
  TRY(lxla_tensor_release_many((const lxla_tensor[]){a, b}, 2));
  return sum;
}

// Records the factor, f32[], by which gradients are multiplied: 1, or less if their norm exceeds `clip`.
static inline lxla_tensor clip_factor(const lxla_tensor *gradients, size_t n, double clip) {
  const lxla_scalar limit = {LXLA_DTYPE_F32, 0, {.f = clip}};
  lxla_tensor total = {0}, norm, most, factor;
  for (size_t i = 0; i < n; i++) {
    lxla_tensor wide = adamw_converted(gradients[i], LXLA_DTYPE_F32), sum;
    lxla_tensor square = adamw_binary(LXLA_BINARY_MULTIPLY, wide, wide);
    TRY(lxla_reduce(LXLA_REDUCE_SUM, square, NULL, 0, 0, &sum));
    TRY(lxla_tensor_release_many((const lxla_tensor[]){wide, square}, 2));
    if (i > 0) {
      lxla_tensor both = adamw_binary(LXLA_BINARY_ADD, total, sum);
      TRY(lxla_tensor_release_many((const lxla_tensor[]){total, sum}, 2));
      sum = both;
    }
    total = sum;
  }
  TRY(lxla_unary(LXLA_UNARY_SQRT, total, &norm));
  most = adamw_scalar(LXLA_BINARY_MAXIMUM, norm, clip);
  TRY(lxla_binary_with_scalar(LXLA_BINARY_DIVIDE, most, &limit, 1, &factor));  // clip / most
  TRY(lxla_tensor_release_many((const lxla_tensor[]){total, norm, most}, 3));
  return factor;
}

// Records the update of one parameter. `factor` is the result of clip_factor. Moments m and v and the arithmetic are
// f32, whatever the dtype of the parameter. Returns the new parameter, m and v.
static inline void adamw_update(const adamw *o, const adamw_rates *rates, lxla_tensor factor, lxla_tensor parameter,
                                lxla_tensor gradient, lxla_tensor m, lxla_tensor v, int decays, lxla_tensor out[3]) {
  int32_t dtype;
  TRY(lxla_tensor_dtype(parameter, &dtype));
  lxla_tensor wide = adamw_converted(gradient, LXLA_DTYPE_F32), p = adamw_converted(parameter, LXLA_DTYPE_F32);
  lxla_tensor g = adamw_binary(LXLA_BINARY_MULTIPLY, wide, factor), square = adamw_binary(LXLA_BINARY_MULTIPLY, g, g),
              root;
  out[1] = adamw_average(m, g, o->beta1);
  out[2] = adamw_average(v, square, o->beta2);
  TRY(lxla_unary(LXLA_UNARY_SQRT, out[2], &root));
  lxla_tensor corrected = adamw_binary(LXLA_BINARY_MULTIPLY, root, rates->root);
  lxla_tensor below = adamw_scalar(LXLA_BINARY_ADD, corrected, o->epsilon);
  lxla_tensor direction = adamw_binary(LXLA_BINARY_DIVIDE, out[1], below);
  lxla_tensor change = adamw_binary(LXLA_BINARY_MULTIPLY, direction, rates->size);
  if (decays) {
    lxla_tensor shrunk = adamw_binary(LXLA_BINARY_MULTIPLY, p, rates->decay);
    lxla_tensor both = adamw_binary(LXLA_BINARY_ADD, change, shrunk);
    TRY(lxla_tensor_release_many((const lxla_tensor[]){change, shrunk}, 2));
    change = both;
  }
  lxla_tensor moved = adamw_binary(LXLA_BINARY_SUBTRACT, p, change);
  out[0] = adamw_converted(moved, dtype);
  const lxla_tensor done[] = {wide, p, g, square, root, corrected, below, direction, change, moved};
  TRY(lxla_tensor_release_many(done, sizeof done / sizeof *done));
}

// Records the update in place: the next step donates the old buffers of all three.
static inline void adamw_apply(const adamw *o, const adamw_rates *rates, lxla_tensor factor, lxla_tensor parameter,
                               lxla_tensor gradient, lxla_tensor m, lxla_tensor v, int decays) {
  const lxla_tensor state[3] = {parameter, m, v};
  lxla_tensor next[3];
  adamw_update(o, rates, factor, parameter, gradient, m, v, decays, next);
  for (int i = 0; i < 3; i++) TRY(lxla_tensor_assign(state[i], next[i]));
  TRY(lxla_tensor_release_many(next, 3));
}

#endif
