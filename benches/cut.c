// Measures the cost and gain of cutting programs (option max_program_ops): compile time, and the time of repeated
// steps. Each setting has an environment of its own in this process, made anew in every round; repeated steps
// alternate.
#include "network.h"

enum { OPERATIONS = 5000, INPUTS = 4, ROUNDS = 3, REPEATS = 21, SAMPLES = ROUNDS * REPEATS };
static const size_t MOST_OPS[] = {250, 500, 1000, 2000, 4000, 16384};
enum { SETTINGS = sizeof MOST_OPS / sizeof *MOST_OPS };

// A network of `depth` layers that is trained, or a chain on f32[side, side], or on f32[side]. The pieces of a chain
// are alike, so that few are compiled, or each reads other inputs.
typedef struct {
  const char *name;
  int depth, side, rank, unlike;
} program;

static const program PROGRAMS[] = {
    {"a training step of 100 layers, width 64, batch 32", .depth = 100},
    {"a training step of 400 layers, width 64, batch 32", .depth = NETWORK_DEEPEST},
    {"a chain of 5000 operations on f32[64,64], its pieces alike", .side = 64, .rank = 2},
    {"a chain of 5000 operations on f32[64,64], its pieces unlike", .side = 64, .rank = 2, .unlike = 1},
    {"a chain of 5000 operations on f32[8], its pieces alike", .side = 8, .rank = 1},
    {"a chain of 5000 operations on f32[8], its pieces unlike", .side = 8, .rank = 1, .unlike = 1},
};

// Operands of the computation in one environment.
typedef struct {
  lxla_tensor inputs[INPUTS], factors[INPUTS];  // of a chain
  network network;
} operands;

// --- Chains --------------------------------------------------------------------------------------------------------

static void prepare_chain(const program *p, operands *on) {
  for (int i = 0; i < INPUTS; i++) {
    on->factors[i] = pattern(i, p->side, p->side);
    lxla_tensor rows = pattern(i, p->rank == 2 ? p->side : 1, p->side);
    OK(lxla_reshape(rows, (const int64_t[]){p->side, p->side}, (size_t)p->rank, &on->inputs[i]));
    drop(rows);
  }
}

// Records operation `i`: ten kinds in turn, as in disk.c: one of ten is a matrix product, one a reduction, the others
// elementwise.
static lxla_tensor operation(int i, lxla_tensor x, lxla_tensor other, lxla_tensor factor) {
  switch (i % 10) {
    case 0: return matmul(x, factor);
    case 1: return scaled(x, 1.0 / 64);
    case 2: return binary(LXLA_BINARY_ADD, x, other);
    case 3: return unary(LXLA_UNARY_TANH, x);
    case 4: return binary(LXLA_BINARY_MULTIPLY, x, other);
    case 5: return reduced(LXLA_REDUCE_MAX, x, -1, 1);
    case 6: return binary(LXLA_BINARY_SUBTRACT, other, x);
    case 7: return unary(LXLA_UNARY_EXPONENTIAL, x);
    case 8: return binary(LXLA_BINARY_MINIMUM, x, other);
    default: return unary(LXLA_UNARY_LOGISTIC, x);
  }
}

static lxla_tensor record_chain(const program *p, operands *on) {
  lxla_tensor x;
  OK(lxla_tensor_snapshot(on->inputs[0], &x));
  for (uint32_t i = 0; i < OPERATIONS; i++) {
    uint32_t number = (p->unlike ? i * 2654435761u >> 16 : i / 10) % INPUTS;
    lxla_tensor next = operation((int)i, x, on->inputs[number], on->factors[number]);
    drop(x);
    x = next;
  }
  return x;
}

// --- Measuring -----------------------------------------------------------------------------------------------------

typedef struct {
  double compile[ROUNDS], step[SAMPLES];  // ms
  int programs, runs, donated;
  float first, last;  // an element of the results of the first and the last step
} figures;

// Returns the time of a step in ms, without the recording.
static double run(const program *p, operands *on, float *value) {
  static float values[NETWORK_WEIGHTS];
  lxla_tensor result = p->depth ? network_train(&on->network) : record_chain(p, on);
  size_t rank, elements = 1;
  int64_t dims[2];
  double start = now();
  OK(lxla_mark_step(env, device, 1));
  double taken = now() - start;
  OK(lxla_tensor_rank(result, &rank));
  OK(lxla_tensor_dims(result, dims, 2));
  for (size_t i = 0; i < rank; i++) elements *= (size_t)dims[i];
  OK(lxla_tensor_read(result, values, elements * sizeof *values));
  *value = values[elements - 1];
  drop(result);
  return taken / 1e3;
}

static lxla_env enter_new(size_t most_ops) {
  lxla_env opened;
  lxla_env_options options = {.struct_size = sizeof options};
  OK(lxla_env_options_init(&options));
  options.max_program_ops = most_ops;
  OK(lxla_env_create(&options, &opened));
  OK(lxla_env_enter(opened));
  return opened;
}

static lxla_env first_step(const program *p, operands *on, size_t most_ops, figures *f, int round) {
  lxla_env opened = enter_new(most_ops);
  if (p->depth) {
    network_prepare(&on->network, p->depth, 0);
  } else {
    prepare_chain(p, on);
  }
  OK(lxla_mark_step(env, device, 1));
  OK(lxla_env_metrics_reset(env));
  run(p, on, &f->first);
  f->compile[round] = (double)counter("CompileNanoseconds") / 1e6;
  f->programs = (int)counter("UncachedCompile"), f->runs = (int)counter("ExecuteComputation");
  OK(lxla_env_exit(opened));
  return opened;
}

static void repeat(const program *p, operands *on, lxla_env opened, figures *f, int sample) {
  OK(lxla_env_enter(opened));
  uint64_t donated = counter("DonatedBuffers"), compiled = counter("UncachedCompile");
  f->step[sample] = run(p, on, &f->last);
  f->donated = (int)(counter("DonatedBuffers") - donated);
  if (counter("UncachedCompile") != compiled) STOP("%s: a repeated step was compiled", p->name);
  OK(lxla_env_exit(opened));
}

static void measure(const program *p, figures *all) {
  static operands on[SETTINGS];
  for (int round = 0; round < ROUNDS; round++) {
    lxla_env opened[SETTINGS];
    for (int s = 0; s < SETTINGS; s++) opened[s] = first_step(p, &on[s], MOST_OPS[s], &all[s], round);
    for (int i = 0; i < REPEATS; i++)
      for (int s = 0; s < SETTINGS; s++) repeat(p, &on[s], opened[s], &all[s], round * REPEATS + i);
    for (int s = 0; s < SETTINGS; s++) OK(lxla_env_release(opened[s]));
  }
}

static void print(const program *p, figures *all) {
  double whole = median(all[SETTINGS - 1].step, SAMPLES), compile_whole = median(all[SETTINGS - 1].compile, ROUNDS);
  printf("%s:\n\n| max_program_ops | runs | programs | compile | to uncut | step | to uncut | donated | values |\n",
         p->name);
  printf("|---|---|---|---|---|---|---|---|---|\n");
  for (int s = 0; s < SETTINGS; s++) {
    figures *f = &all[s];
    double step = median(f->step, SAMPLES), compile = median(f->compile, ROUNDS);
    printf("| %zu | %d | %d | %.0f ms | %.2f |", MOST_OPS[s], f->runs, f->programs, compile, compile / compile_whole);
    printf(" %.2f ms | %.2f | %d | %.6g, %.6g |\n", step, step / whole, f->donated, (double)f->first, (double)f->last);
  }
  printf("\n");
  fflush(stdout);
}

int main(void) {
  setenv("TF_CPP_MIN_LOG_LEVEL", "1", 0);
  for (size_t i = 0; i < sizeof PROGRAMS / sizeof *PROGRAMS; i++) {
    static figures all[SETTINGS];
    measure(&PROGRAMS[i], all);
    print(&PROGRAMS[i], all);
  }
  return 0;
}
