// An iteration that reads its loss, and one that steps before the read; with and without donation. Forty weights of
// eight numbers are updated in each.
#include "bench.h"

enum { WEIGHTS = 40, SIZE = 8, ITERATIONS = 500, ROUNDS = 9 };

static lxla_tensor vector(float step) {
  float values[SIZE];
  for (int i = 0; i < SIZE; i++) values[i] = 1 + step * (float)i;
  lxla_tensor out;
  OK(lxla_tensor_from_host(env, device, LXLA_DTYPE_F32, (int64_t[]){SIZE}, 1, values, sizeof values, &out));
  return out;
}

// Replaces the weights; returns the loss.
static lxla_tensor record(lxla_tensor weights[WEIGHTS]) {
  lxla_tensor hidden = vector(0.1f), next[WEIGHTS], loss;
  for (int i = 0; i < WEIGHTS; i++) {
    lxla_tensor product, after, change;
    OK(lxla_binary(LXLA_BINARY_MULTIPLY, hidden, weights[i], &product));
    OK(lxla_unary(LXLA_UNARY_TANH, product, &after));
    OK(lxla_binary_scalar(LXLA_BINARY_MULTIPLY, after, 0.001, &change));
    OK(lxla_binary(LXLA_BINARY_SUBTRACT, weights[i], change, &next[i]));
    OK(lxla_tensor_release_many((lxla_tensor[]){hidden, product, change}, 3));
    hidden = after;
  }
  OK(lxla_reduce(LXLA_REDUCE_SUM, hidden, NULL, 0, 0, &loss));
  OK(lxla_tensor_release(hidden));
  OK(lxla_tensor_release_many(weights, WEIGHTS));
  memcpy(weights, next, sizeof next);
  return loss;
}

// Returns the microseconds of an iteration.
static double iterations(lxla_tensor weights[WEIGHTS], int steps) {
  const double start = now();
  for (int i = 0; i < ITERATIONS; i++) {
    float value;
    lxla_tensor loss = record(weights);
    if (steps) OK(lxla_mark_step(env, device, 0));
    OK(lxla_tensor_read(loss, &value, sizeof value));
    OK(lxla_tensor_release(loss));
  }
  return (now() - start) / ITERATIONS;
}

int main(void) {
  lxla_tensor weights[WEIGHTS];
  for (int i = 0; i < WEIGHTS; i++) weights[i] = vector(0);
  for (int donates = 1; donates >= 0; donates--) {
    OK(lxla_env_set_option(env, "donation", donates ? "true" : "false"));
    double reads[ROUNDS], ratios[ROUNDS];
    for (int i = -1; i < ROUNDS; i++) {
      const double read = iterations(weights, 0), stepped = iterations(weights, 1);
      if (i >= 0) reads[i] = read, ratios[i] = read / stepped;
    }
    printf("%s donation: a read %.1f us, %.2f of step and read\n", donates ? "with" : "without", median(reads, ROUNDS),
           median(ratios, ROUNDS));
  }
  uint64_t compiles;
  OK(lxla_env_counter(env, "UncachedCompile", &compiles));
  printf("%llu programs\n", (unsigned long long)compiles);
  OK(lxla_tensor_release_many(weights, WEIGHTS));
  return 0;
}
