// The training step of Llama 3.1, on placeholders or real weights: the loss of the next tokens, its gradients by every
// weight with each layer checkpointed, clipping and AdamW.
#ifndef LLAMA_TRAINING_H
#define LLAMA_TRAINING_H

#include "llama.h"
#include "losses.h"
#include "optimizer.h"

#include <string.h>

// Inputs of a step: those of the model with stacked weights, m and v of each weight, the target tokens, the rates.
// Results: the loss, then the updated weights, m and v.
enum { WEIGHTS = LAYERS + LAYER_WEIGHTS - EMBEDDING };
enum { STEP_INPUTS = EMBEDDING + 3 * WEIGHTS + 4, STEP_RESULTS = 1 + 3 * WEIGHTS };
enum { FIRST_M = EMBEDDING + WEIGHTS, FIRST_V = FIRST_M + WEIGHTS, TARGETS = FIRST_V + WEIGHTS, RATES };

static const adamw LLAMA_ADAMW = {.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .decay = 0.1, .clip = 1};

static inline lxla_tensor empty(int32_t dtype, const int64_t *dims, size_t rank) {
  lxla_tensor out;
  TRY(lxla_tensor_placeholder(llama_env, llama_device, dtype, dims, rank, &out));
  return out;
}

// Returns whether input `i`, a weight, is a matrix or a stack of matrices: these have weight decay.
static inline int is_matrix(const llama *m, size_t i) {
  int64_t dims[2];
  return input_dims(m, i, dims) == 2;
}

// Writes the sizes of input `i`; for weights of layers, those of the stack. Returns the rank.
static inline size_t stacked_dims(const llama *m, size_t i, int64_t dims[3]) {
  int64_t own[2];
  size_t rank = input_dims(m, i, own), first = i >= LAYERS;
  dims[0] = m->layers;
  memcpy(dims + first, own, rank * sizeof *dims);
  return first + rank;
}

// Traces the inputs of the model, then the target tokens -> the loss.
static inline lxla_computation trace_loss(const llama *m, int unrolled) {
  size_t n = input_count(m, unrolled);
  lxla_tensor *inputs = malloc((n + 1) * sizeof *inputs), logits, loss;
  if (!inputs) exit(1);
  for (size_t i = 0; i < n; i++) inputs[i] = placeholder(m, i, !unrolled);
  inputs[n] = empty(LXLA_DTYPE_S32, DIMS(m->sequence));
  logits = forward(m, inputs, unrolled);
  loss = mean_cross_entropy(logits, inputs[n]);
  lxla_computation made;
  TRY(lxla_computation_trace(inputs, n + 1, &loss, 1, &made));
  TRY(lxla_tensor_release_many(inputs, n + 1));
  drop(logits), drop(loss);
  free(inputs);
  return made;
}

// Traces the inputs of the model, then the target tokens -> the loss, then the gradients by all weights. `checkpoint`
// is one of LXLA_CHECKPOINT_*; in a loop over layers it applies to each layer.
static inline lxla_computation trace_gradients(const llama *m, int unrolled, int32_t checkpoint) {
  size_t n = input_count(m, unrolled) - EMBEDDING, *wrt = malloc(n * sizeof *wrt);
  if (!wrt) exit(1);
  for (size_t i = 0; i < n; i++) wrt[i] = EMBEDDING + i;
  lxla_vjp_options options = {.struct_size = sizeof options};
  TRY(lxla_vjp_options_init(&options));
  options.wrt = wrt, options.n_wrt = n, options.checkpoint = checkpoint;
  lxla_computation loss = trace_loss(m, unrolled), made;
  TRY(lxla_computation_value_and_grad(loss, &options, &made));
  TRY(lxla_computation_release(loss));
  free(wrt);
  return made;
}

static inline void step_placeholders(const llama *m, lxla_tensor in[STEP_INPUTS]) {
  for (size_t i = 0; i < FIRST_M; i++) in[i] = placeholder(m, i, 1);
  for (size_t i = 0; i < 2 * WEIGHTS; i++) {
    int64_t dims[3];
    size_t rank = stacked_dims(m, EMBEDDING + i % WEIGHTS, dims);
    in[FIRST_M + i] = empty(LXLA_DTYPE_F32, dims, rank);
  }
  in[TARGETS] = empty(LXLA_DTYPE_S32, DIMS(m->sequence));
  for (size_t i = RATES; i < STEP_INPUTS; i++) in[i] = empty(LXLA_DTYPE_F32, NULL, 0);
}

// Traces the whole step.
static inline lxla_computation trace_step(const llama *m, int32_t checkpoint) {
  lxla_tensor in[STEP_INPUTS], given[FIRST_M + 1], made[1 + WEIGHTS], out[STEP_RESULTS];
  lxla_computation gradients = trace_gradients(m, 0, checkpoint), step;
  step_placeholders(m, in);
  memcpy(given, in, FIRST_M * sizeof *in);
  given[FIRST_M] = in[TARGETS];
  TRY(lxla_computation_call(gradients, given, FIRST_M + 1, made, 1 + WEIGHTS));
  const adamw_rates rates = {in[RATES], in[RATES + 1], in[RATES + 2]};
  lxla_tensor factor = clip_factor(made + 1, WEIGHTS, LLAMA_ADAMW.clip);
  out[0] = made[0];
  for (size_t i = 0; i < WEIGHTS; i++) {
    lxla_tensor next[3];
    adamw_update(&LLAMA_ADAMW, &rates, factor, in[EMBEDDING + i], made[1 + i], in[FIRST_M + i], in[FIRST_V + i],
                 is_matrix(m, EMBEDDING + i), next);
    for (size_t k = 0; k < 3; k++) out[1 + k * WEIGHTS + i] = next[k];
  }
  TRY(lxla_computation_trace(in, STEP_INPUTS, out, STEP_RESULTS, &step));
  TRY(lxla_tensor_release_many(in, STEP_INPUTS));
  TRY(lxla_tensor_release_many(made + 1, WEIGHTS));
  TRY(lxla_tensor_release_many(out, STEP_RESULTS));
  drop(factor);
  TRY(lxla_computation_release(gradients));
  return step;
}

#endif
