// Measures the effect of saves on training: the example's network is trained repeatedly from the same start, without
// saves and with all parameters and momenta saved after every 10th step. digits_save DIGITS_CSV [FOLDER]: saves go
// below FOLDER (the current one). Ends with status 1 if saves of materialized values change the curve of losses by a
// single bit.
#include "digits.h"

enum { TURNS = 1000, EVERY = 10, SAVED = 4 * LAYERS };

typedef enum {
  NO_SAVES,
  AFTER_STEP,
  BEFORE_STEP
} moment;  // after the step values are there; before it they are pending

typedef struct {
  const char *name;
  moment when;
  int async;
} variant;

typedef struct {
  float losses[TURNS];
  double times[TURNS];        // of a step, with its save
  uint64_t runs, recomputed;  // counters of its environment
} curve;

static char path[4096];

static void save(const layer *layers, int async, lxla_save_ticket *ticket) {
  static char names[SAVED][32];
  const char *list[SAVED];
  lxla_tensor tensors[SAVED];
  for (int i = 0; i < LAYERS; i++) {
    const layer *l = &layers[i];
    const lxla_tensor of_layer[4] = {l->weight, l->bias, l->weight_momentum, l->bias_momentum};
    const char *const kinds[4] = {"weight", "bias", "weight_momentum", "bias_momentum"};
    for (int k = 0; k < 4; k++) {
      snprintf(names[4 * i + k], sizeof names[0], "%d.%s", i, kinds[k]);
      list[4 * i + k] = names[4 * i + k], tensors[4 * i + k] = of_layer[k];
    }
  }
  if (!async) {
    TRY(lxla_save(path, list, tensors, SAVED));
    return;
  }
  TRY(lxla_save_ticket_release(*ticket));  // of the previous save, which continues
  TRY(lxla_save_async(path, list, tensors, SAVED, ticket));
}

// Runs one training step as the example's main does, on batches in the order of the file.
static float turn(const images *set, layer *layers, int step, const variant *v, lxla_save_ticket *ticket) {
  int first = step * BATCH % (set->count - BATCH);
  lxla_tensor x = from_host(set->pixels[first], BATCH, PIXELS), y = from_host(set->labels[first], BATCH, CLASSES);
  lxla_tensor loss = train(layers, x, y, FIRST_RATE * (1 - 0.9 * step / TURNS));
  drop(x), drop(y);
  int saves = (step + 1) % EVERY == 0;
  if (saves && v->when == BEFORE_STEP) save(layers, v->async, ticket);
  TRY(lxla_mark_step(env, device, 0));
  if (saves && v->when == AFTER_STEP) save(layers, v->async, ticket);
  float value;
  TRY(lxla_tensor_read(loss, &value, sizeof value));
  drop(loss);
  return value;
}

// Each training has an environment of its own, so that it compiles what the first one compiled: a rate that has changed
// once would else be a parameter from the first step on.
static curve trained(const images *set, const variant *v) {
  static curve c;
  lxla_env own;
  TRY(lxla_env_create(NULL, &own));
  TRY(lxla_env_enter(own));
  random_state = 0x9E3779B97F4A7C15u;
  layer layers[LAYERS];
  lxla_save_ticket ticket = {0};
  initialise(layers);
  for (int step = 0; step < TURNS; step++) {
    double start = seconds();
    c.losses[step] = turn(set, layers, step, v, &ticket);
    c.times[step] = seconds() - start;
  }
  if (ticket.id) TRY(lxla_save_wait(ticket));
  TRY(lxla_save_ticket_release(ticket));
  c.runs = counter("ExecuteComputation"), c.recomputed = counter("RecomputedOps");
  for (int i = 0; i < LAYERS; i++)
    drop(layers[i].weight), drop(layers[i].bias), drop(layers[i].weight_momentum), drop(layers[i].bias_momentum);
  TRY(lxla_env_exit(own));
  TRY(lxla_env_release(own));
  remove(path);
  return c;
}

// Returns the largest difference of two curves, and the first step at which they differ.
static double apart(const curve *a, const curve *b, int *first_step) {
  double most = 0;
  *first_step = -1;
  for (int i = 0; i < TURNS; i++) {
    if (memcmp(&a->losses[i], &b->losses[i], sizeof(float)) == 0) continue;
    if (*first_step < 0) *first_step = i;
    double difference = fabs((double)a->losses[i] - (double)b->losses[i]) / fabs((double)a->losses[i]);
    if (!(difference <= most)) most = difference;  // also true for NaN
  }
  return most;
}

int main(int argc, char **argv) {
  setenv("TF_CPP_MIN_LOG_LEVEL", "1", 0);
  if (argc < 2) return 2;
  snprintf(path, sizeof path, "%s/bench_digits.safetensors", argc > 2 ? argv[2] : ".");
  images set = load(argv[1]);
  mix(set);
  static const variant variants[] = {{"no saves", NO_SAVES, 0},
                                     {"no saves, once more", NO_SAVES, 0},
                                     {"lxla_save after the step", AFTER_STEP, 0},
                                     {"lxla_save_async after the step", AFTER_STEP, 1},
                                     {"lxla_save before the step (pending)", BEFORE_STEP, 0},
                                     {"lxla_save_async before the step (pending)", BEFORE_STEP, 1}};
  enum { COUNT = sizeof variants / sizeof *variants };
  static curve curves[COUNT];
  int status = 0;
  printf(
      "| %d steps, saves every %d | loss at the end | against no saves | median step | runs, operations run again |\n"
      "|---|---|---|---|---|\n",
      TURNS, EVERY);
  for (int i = 0; i < COUNT; i++) {
    curves[i] = trained(&set, &variants[i]);
    int from;
    double most = apart(&curves[0], &curves[i], &from);
    char told[64] = "equal bit for bit";
    if (from >= 0) snprintf(told, sizeof told, "at most %.2g apart (relative), from step %d on", most, from);
    if (from >= 0 && variants[i].when != BEFORE_STEP) status = 1;
    qsort(curves[i].times, TURNS, sizeof(double), by_value);
    printf("| %s | %.6f | %s | %.0f us | %llu, %llu |\n", variants[i].name, (double)curves[i].losses[TURNS - 1], told,
           curves[i].times[TURNS / 2] * 1e6, (unsigned long long)curves[i].runs,
           (unsigned long long)curves[i].recomputed);
  }
  return status;
}
