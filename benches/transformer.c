// A training step of a transformer: the layers of examples/gpt_model.h, each with parameters of its own, recorded anew
// in each step, with lxla_gradients and AdamW. torch_transformer.py is the same step in PyTorch.
//
//   bench_transformer [STEPS]
//
// Prints the temporary memory of a step, its page faults, and its median time, if each is waited for.
#include "../examples/gpt_model.h"
#include "../examples/optimizer.h"

#include "bench.h"

#include <sys/resource.h>

enum { LAYERS = 4, BATCH = 8, CONTEXT = 128, WIDTH = 256, HEADS = 4, SYMBOLS = 80 };
enum { SHARED = OF_LAYERS, ALL = SHARED + LAYERS * LAYER_PARAMETERS, WARM_UP = 3 };

static const model MODEL = {LAYERS, WIDTH, HEADS, CONTEXT, SYMBOLS};
static lxla_tensor p[ALL], m[ALL], v[ALL];

// Parameter k of all is parameter index_of(k) of the model.
static int index_of(int k) { return k < SHARED ? k : OF_LAYERS + (k - SHARED) % LAYER_PARAMETERS; }

static lxla_tensor filled_as(int k, double value, double deviation, uint64_t *random) {
  int64_t dims[3], n = 1;
  size_t rank = dims_of(&MODEL, index_of(k), 0, dims);
  for (size_t i = 0; i < rank; i++) n *= dims[i];
  float *values = memory((size_t)n * sizeof *values);
  for (int64_t i = 0; i < n; i++) values[i] = (float)(value + (deviation > 0 ? deviation * normal(random) : 0));
  lxla_tensor out = from_floats(device, dims, rank, values);
  free(values);
  return out;
}

static lxla_tensor ids(uint64_t *random) {
  int32_t values[BATCH * CONTEXT];
  for (int i = 0; i < BATCH * CONTEXT; i++) values[i] = (int32_t)(next_number(random) % SYMBOLS);
  lxla_tensor out;
  TRY(lxla_tensor_from_host(env, device, LXLA_DTYPE_S32, DIMS(BATCH, CONTEXT), values, sizeof values, &out));
  return out;
}

static lxla_tensor loss_of(const lxla_tensor *p, lxla_tensor tokens, lxla_tensor targets) {
  size_t start = noted.count;
  lxla_tensor x = plus(taken(p[TOKEN_EMBEDDING], tokens), p[POSITION_EMBEDDING]);
  for (int i = 0; i < LAYERS; i++) x = note(layer(&MODEL, BATCH, x, p + SHARED + i * LAYER_PARAMETERS));
  x = normed(x, p[FINAL_SCALE], p[FINAL_OFFSET]);
  return keep(start, note(mean_cross_entropy(product(x, 2, p[TOKEN_EMBEDDING], 1), targets)));
}

static lxla_tensor record_step(uint64_t *random, int64_t step) {
  const adamw how = {.beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .decay = 0.1, .clip = 1};
  lxla_tensor tokens = ids(random), targets = ids(random), gradients[ALL];
  lxla_tensor loss = loss_of(p, tokens, targets);
  TRY(lxla_gradients(&loss, 1, NULL, p, ALL, gradients));
  adamw_rates rates = make_rates(env, device, &how, 1e-3, step);
  lxla_tensor factor = clip_factor(gradients, ALL, how.clip);
  for (int i = 0; i < ALL; i++)
    adamw_apply(&how, &rates, factor, p[i], gradients[i], m[i], v[i], is_matrix(index_of(i)));
  release_rates(rates);
  RELEASE(factor, tokens, targets);
  TRY(lxla_tensor_release_many(gradients, ALL));
  return loss;
}

int main(int argc, char **argv) {
  int steps = argc > 1 ? atoi(argv[1]) : 60;
  if (steps <= WARM_UP) STOP("want more than %d steps", WARM_UP);
  uint64_t random = 1;
  for (int i = 0; i < ALL; i++) {
    p[i] = filled_as(i, is_scale(index_of(i)), is_matrix(index_of(i)) ? 0.02 : 0, &random);
    m[i] = filled_as(i, 0, 0, &random), v[i] = filled_as(i, 0, 0, &random);
  }
  double *times = memory((size_t)steps * sizeof *times);
  struct rusage before, after;
  float value = 0;
  for (int step = 0; step < steps; step++) {
    if (step == WARM_UP) getrusage(RUSAGE_SELF, &before);
    double start = now();
    lxla_tensor loss = record_step(&random, step);
    if (step == 0) {
      lxla_memory_stats stats = {.struct_size = sizeof stats};
      TRY(lxla_compiled_memory(env, device, NULL, 0, &stats));
      printf("temporaries %.1f MB\n", 1e-6 * (double)stats.temp_bytes);
    }
    TRY(lxla_mark_step(env, device, 0));
    TRY(lxla_tensor_read(loss, &value, sizeof value));
    RELEASE(loss);
    times[step] = now() - start;
  }
  getrusage(RUSAGE_SELF, &after);
  printf("loss %.5f; page faults a step %ld; %llu compiles\n", (double)value,
         (after.ru_minflt - before.ru_minflt) / (steps - WARM_UP), (unsigned long long)counter(env, "UncachedCompile"));
  printf("transformer step %.2f ms\n", 1e-3 * median(times + WARM_UP, steps - WARM_UP));
  return 0;
}
