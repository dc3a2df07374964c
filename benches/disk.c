// Measures the disk cache: compiling against loading in a later process, for the example's training step and for
// programs of 10 to 5000 operations; and the cost of having the cache at all. bench_disk [FOLDER]: caches are made
// below FOLDER (the current one). Each measurement runs in a new process, this program with other arguments, so that no
// executable is in memory.
#include "digits.h"
#include "pjrt.h"

enum { SIDE = 64, INPUTS = 4, ROUNDS = 5, REPEATS = 9, TRAINING = 0 };
static const int OPERATIONS[] = {TRAINING, 10, 100, 1000, 5000};
enum { COUNT = sizeof OPERATIONS / sizeof *OPERATIONS };

// --- The process that is measured ----------------------------------------------------------------------------------

// Figures that the process prints for its parent, in microseconds: opening the environment; the first program (of one
// operation) beyond its run; then for the program asked for, the time in the compiler, the first step beyond a repeated
// one, and the plugin's own time to load it.
enum { OPEN, FIRST, COMPILE, LOAD, PLUGIN_LOAD, FIGURES };
typedef struct {
  double figures[FIGURES];
  int compiled, loaded;  // numbers of programs
} told;

// Operands of the training step, or of a chain of operations.
static struct {
  layer layers[LAYERS];
  lxla_tensor pixels, labels, inputs[INPUTS];
} on;

static lxla_tensor chain_input(int number) {
  float values[SIDE * SIDE];
  for (int i = 0; i < SIDE * SIDE; i++) values[i] = (float)((i * (number + 3)) % 17) / 17;
  return from_host(values, SIDE, SIDE);
}

static void prepare(void) {
  static float zeros_[BATCH * PIXELS];
  initialise(on.layers);
  on.pixels = from_host(zeros_, BATCH, PIXELS), on.labels = from_host(zeros_, BATCH, CLASSES);
  for (int i = 0; i < INPUTS; i++) on.inputs[i] = chain_input(i);
  OK(lxla_mark_step(env, device, 1));
}

// Records operation `i`: ten kinds in turn: one of ten is a matrix product, one a reduction, the others elementwise.
static lxla_tensor operation(int i, lxla_tensor x, lxla_tensor other) {
  switch (i % 10) {
    case 0: return matmul(x, other);
    case 1: return scaled(x, 1.0 / SIDE);
    case 2: return binary(LXLA_BINARY_ADD, x, other);
    case 3: return unary(LXLA_UNARY_TANH, x);
    case 4: return binary(LXLA_BINARY_MULTIPLY, x, other);
    case 5: return reduced(LXLA_REDUCE_MAX, x, 1, 1);
    case 6: return binary(LXLA_BINARY_SUBTRACT, other, x);
    case 7: return unary(LXLA_UNARY_EXPONENTIAL, x);
    case 8: return binary(LXLA_BINARY_MINIMUM, x, other);
    default: return unary(LXLA_UNARY_LOGISTIC, x);
  }
}

static lxla_tensor record(int operations) {
  if (operations == TRAINING) return train(on.layers, on.pixels, on.labels, FIRST_RATE);
  lxla_tensor x;
  OK(lxla_tensor_snapshot(on.inputs[0], &x));
  for (int i = 0; i < operations; i++) {
    lxla_tensor next = operation(i, x, on.inputs[(i / 10) % INPUTS]);
    drop(x);
    x = next;
  }
  return x;
}

// Returns the time of a step alone, without the recording.
static double run(int operations) {
  lxla_tensor result = record(operations);
  double start = now();
  OK(lxla_mark_step(env, device, 1));
  double taken = now() - start;
  drop(result);
  return taken;
}

// Returns the time of a program's first step beyond a repeated one.
static double first_beyond_repeated(int operations) {
  double first = run(operations), repeated[REPEATS];
  for (int i = 0; i < REPEATS; i++) repeated[i] = run(operations);
  return first - median(repeated, REPEATS);
}

// Compiles, serializes and loads the same text straight through PJRT; returns the time of the loading.
static double plugin_load(int operations) {
  char *text;
  record(operations);
  OK(lxla_step_stablehlo(env, device, &text));
  pjrt_start();
  PJRT(LoadedExecutable_GetExecutable, .loaded_executable = pjrt_compile(text));
  PJRT(Executable_Serialize, .executable = LoadedExecutable_GetExecutable_args.executable);
  double start = now();
  PJRT(Executable_DeserializeAndLoad, .client = pjrt_client,
       .serialized_executable = Executable_Serialize_args.serialized_bytes,
       .serialized_executable_size = Executable_Serialize_args.serialized_bytes_size);
  return now() - start;
}

static int child(int operations, int with_plugin) {
  lxla_env opened;
  told t = {0};
  double start = now();
  OK(lxla_env_default(&opened));
  t.figures[OPEN] = now() - start;
  on.inputs[0] = chain_input(0);
  t.figures[FIRST] = first_beyond_repeated(1);
  drop(on.inputs[0]);
  prepare();
  uint64_t before = counter("CompileNanoseconds");
  t.figures[LOAD] = first_beyond_repeated(operations);
  t.figures[COMPILE] = (double)(counter("CompileNanoseconds") - before) / 1e3;
  if (with_plugin) t.figures[PLUGIN_LOAD] = plugin_load(operations);
  for (int i = 0; i < FIGURES; i++) printf("%f ", t.figures[i]);
  printf("%d %d\n", (int)counter("UncachedCompile"), (int)counter("PersistentCacheHit"));
  return 0;
}

// --- The process that measures -------------------------------------------------------------------------------------

static told ask(const char *program, const char *cache, int operations, int with_plugin) {
  char command[8192];
  told t;
  snprintf(command, sizeof command, "LXLA_CACHE_DIR='%s' '%s' child %d %d", cache, program, operations, with_plugin);
  FILE *output = popen(command, "r");
  int read = 0;
  for (int i = 0; output && i < FIGURES; i++) read += fscanf(output, "%lf", &t.figures[i]);
  if (read != FIGURES || fscanf(output, "%d %d", &t.compiled, &t.loaded) != 2) STOP("no answer from %s", command);
  pclose(output);
  return t;
}

static void remove_cache(const char *cache) {
  char command[8192];
  snprintf(command, sizeof command, "rm -r '%s'", cache);
  if (system(command)) STOP("cannot remove %s", cache);
}

// Kinds of processes: without a cache, with an empty one, with a full one.
enum { NONE, COLD, WARM, KINDS };
static double samples[COUNT][KINDS][FIGURES][ROUNDS];

static void keep(int size, int kind, int round, told t) {
  for (int i = 0; i < FIGURES; i++) samples[size][kind][i][round] = t.figures[i] / 1e3;
}

static void measure(const char *program, const char *folder, int size, int round) {
  char cache[4096];
  snprintf(cache, sizeof cache, "%s/bench_disk.XXXXXX", folder);
  if (!mkdtemp(cache)) STOP("cannot make a folder in %s", folder);
  keep(size, NONE, round, ask(program, "", OPERATIONS[size], 0));
  told cold = ask(program, cache, OPERATIONS[size], 0), warm = ask(program, cache, OPERATIONS[size], 1);
  keep(size, COLD, round, cold);
  keep(size, WARM, round, warm);
  remove_cache(cache);
  if (cold.loaded != 0 || warm.compiled != 0 || warm.loaded != cold.compiled)
    STOP("%d operations: first %d programs compiled and %d loaded, then %d and %d", OPERATIONS[size], cold.compiled,
         cold.loaded, warm.compiled, warm.loaded);
}

// Returns one figure of one kind of process, over programs of all sizes.
static double over_sizes(int kind, int figure) {
  double all[COUNT * ROUNDS];
  for (int size = 0; size < COUNT; size++)
    memcpy(all + size * ROUNDS, samples[size][kind][figure], sizeof samples[0][0][0]);
  return median(all, COUNT * ROUNDS);
}

// Prints the figures of a program size. Ratios and differences are taken within a round. The cost of storing is the
// first step with an empty cache, less compiling, beyond the same without a cache.
static void print_size(int size) {
  double ratios[ROUNDS], keeping[ROUNDS];
  double (*none)[ROUNDS] = samples[size][NONE], (*cold)[ROUNDS] = samples[size][COLD],
         (*warm)[ROUNDS] = samples[size][WARM];
  for (int i = 0; i < ROUNDS; i++) {
    ratios[i] = cold[COMPILE][i] / warm[LOAD][i];
    keeping[i] = (cold[LOAD][i] - cold[COMPILE][i]) - (none[LOAD][i] - none[COMPILE][i]);
  }
  char name[32] = "the digits step";
  if (OPERATIONS[size] != TRAINING) snprintf(name, sizeof name, "%d operations", OPERATIONS[size]);
  printf("| %s | %.1f ms | %.2f ms | %.1f | %.2f ms | %.2f ms |\n", name, median(cold[COMPILE], ROUNDS),
         median(warm[LOAD], ROUNDS), median(ratios, ROUNDS), median(warm[PLUGIN_LOAD], ROUNDS),
         median(keeping, ROUNDS));
}

int main(int argc, char **argv) {
  setenv("TF_CPP_MIN_LOG_LEVEL", "1", 0);
  if (argc > 3 && strcmp(argv[1], "child") == 0) return child(atoi(argv[2]), atoi(argv[3]));
  for (int round = 0; round < ROUNDS; round++)
    for (int size = 0; size < COUNT; size++) measure(argv[0], argc > 1 ? argv[1] : ".", size, round);
  printf(
      "| program | compile | load from disk | compile / load | the plugin's own load | what keeping costs |\n"
      "|---|---|---|---|---|---|\n");
  for (int size = 0; size < COUNT; size++) print_size(size);
  printf("with a full cache no process compiled anything\n\n");
  printf("| process | opening the environment | first program, of one operation |\n|---|---|---|\n");
  const char *const names[KINDS] = {"without a cache", "with an empty cache", "with a full cache"};
  for (int kind = 0; kind < KINDS; kind++)
    printf("| %s | %.1f ms | %.1f ms |\n", names[kind], over_sizes(kind, OPEN), over_sizes(kind, FIRST));
  return 0;
}
