// Llama 3.1 as one loop: a layer is traced once, on placeholders, and lxla_scan applies it to the stacked weights of
// all.
//
//   llama_scan tiny|8b|405b [--layers N] [--width W] [--sequence S] [--unrolled] [--run] [--emit FILE] [--emit-step
//   FILE]
//              [--mesh data=8,model=64] [--compile-layers N]
//
// The model is traced and lowered without weights and without moving bytes, whatever its size; then its training step:
// loss, gradients with each layer checkpointed, AdamW. A small model (tiny, or a cut of the others) is then run on
// random weights. Its logits and its gradients are compared with those of the same layers recorded one by one, and a
// few training steps have to lower the loss. --unrolled lowers without the loop, and without the step; --run also runs
// a model that is large; --emit and --emit-step write the StableHLO.
//
// With --mesh, the step is also lowered on placeholders that are split over a mesh of as many devices (llama_mesh.h),
// and what is run is run there. --compile-layers compiles the step of a narrow model with so many layers for the mesh.
#include "llama_mesh.h"

#include <time.h>
#include <unistd.h>

static const double MOST_GROWTH = 100;     // MB that tracing and lowering may take
static const double RUNS_BY_ITSELF = 1e8;  // elements of weights and scores, at most
static const double TOLERANCE_F32 = 1e-5, TOLERANCE_BF16 = 5e-2;
static const double GRADIENT_TOLERANCE_F32 = 1e-4, GRADIENT_TOLERANCE_BF16 = 1e-1;
enum { STEPS = 8, NARROW = 512 };
static const double RATE = 1e-3;

typedef struct {
  llama model;
  const char *size, *emit, *emit_step, *mesh;
  int unrolled, run;
  int64_t compile_layers;
} request;

static const struct {
  const char *name;
  llama model;
} SIZES[] = {
    {"tiny", {4, 64, 128, 8, 2, 256, 16, LXLA_DTYPE_F32}},
    {"8b", {32, 4096, 14336, 32, 8, 128256, 8192, LXLA_DTYPE_BF16}},
    {"405b", {126, 16384, 53248, 128, 8, 128256, 8192, LXLA_DTYPE_BF16}},
};

// --- What is measured ----------------------------------------------------------------------------------------------

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static double resident_mb(void) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%*d %ld", &pages) != 1) exit(1);
  fclose(file);
  return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

static unsigned long long counter(const char *name) {
  uint64_t value;
  TRY(lxla_env_counter(llama_env, name, &value));
  return value;
}

// --- Real weights --------------------------------------------------------------------------------------------------

static uint64_t random_state = 0x9E3779B97F4A7C15u;

static double uniform(void) {
  random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
  return (double)(random_state >> 11) / 9007199254740992.0;
}

static double normal(void) {
  double radius = sqrt(-2 * log(1 - uniform()));
  return radius * cos(2 * 3.14159265358979 * uniform());
}

static lxla_tensor random_tokens(const llama *m) {
  int32_t *tokens = malloc((size_t)m->sequence * sizeof *tokens);
  if (!tokens) exit(1);
  for (int64_t i = 0; i < m->sequence; i++) tokens[i] = (int32_t)(uniform() * (double)m->vocabulary);
  lxla_tensor out;
  TRY(lxla_tensor_from_host(llama_env, llama_device, LXLA_DTYPE_S32, &m->sequence, 1, tokens,
                            (size_t)m->sequence * sizeof *tokens, &out));
  free(tokens);
  return mesh_split(out, step_sharding(TOKENS));
}

// Makes random values for input `i`, with the weights of all layers stacked. Matrices keep the scale of their operand;
// the weights of norms are near 1.
static lxla_tensor random_input(const llama *m, size_t i) {
  if (i == TOKENS) return random_tokens(m);
  int64_t dims[3] = {m->layers}, elements = i < LAYERS ? 1 : m->layers;
  size_t rank = input_dims(m, i, dims + 1);
  for (size_t k = 0; k < rank; k++) elements *= dims[1 + k];
  double spread = rank == 1 ? 0.1 : i == EMBEDDING ? 1 : 1 / sqrt((double)dims[1]), centre = rank == 1 ? 1 : 0;
  float *values = malloc((size_t)elements * sizeof *values);
  if (!values) exit(1);
  for (int64_t k = 0; k < elements; k++) values[k] = (float)(centre + spread * normal());
  lxla_tensor wide, out;
  int first = i < LAYERS;
  TRY(lxla_tensor_from_host(llama_env, llama_device, LXLA_DTYPE_F32, dims + first, rank + 1 - (size_t)first, values,
                            (size_t)elements * sizeof *values, &wide));
  TRY(lxla_convert(wide, m->dtype, &out));
  drop(wide);
  free(values);
  return mesh_split(out, step_sharding(i));
}

// Returns one layer's part of stacked weights.
static lxla_tensor unstacked(const llama *m, lxla_tensor stack, size_t i, int64_t of_layer) {
  int64_t start[3] = {of_layer, 0, 0}, limit[3] = {of_layer + 1};
  size_t rank = input_dims(m, i, limit + 1);
  lxla_tensor slice, out;
  TRY(lxla_slice(stack, start, limit, NULL, rank + 1, &slice));
  TRY(lxla_reshape(slice, limit + 1, rank, &out));
  drop(slice);
  return out;
}

// Returns the same inputs, with the weights of each layer apart.
static lxla_tensor *unstacked_inputs(const llama *m, const lxla_tensor *inputs) {
  size_t n = input_count(m, 1);
  lxla_tensor *out = malloc(n * sizeof *out);
  if (!out) exit(1);
  for (size_t i = 0; i < n; i++) {
    if (i < LAYERS) TRY(lxla_tensor_snapshot(inputs[i], &out[i]));
    else
      out[i] = unstacked(m, inputs[LAYERS + (i - LAYERS) % LAYER_WEIGHTS], i, (int64_t)((i - LAYERS) / LAYER_WEIGHTS));
  }
  return out;
}

static int64_t element_count(lxla_tensor x) {
  int64_t dims[3], elements = 1;
  size_t rank;
  TRY(lxla_tensor_info(x, NULL, &rank, dims, 3));
  for (size_t i = 0; i < rank; i++) elements *= dims[i];
  return elements;
}

static float *read_floats(lxla_tensor x) {
  size_t size = (size_t)element_count(x) * sizeof(float);
  float *out = malloc(size);
  lxla_tensor wide;
  if (!out) exit(1);
  TRY(lxla_convert(x, LXLA_DTYPE_F32, &wide));
  TRY(lxla_tensor_read(wide, out, size));
  drop(wide);
  return out;
}

// Returns the largest difference of two lists of numbers, relative to the largest of them; NaN if any is.
static double difference(const float *a, const float *b, int64_t n) {
  double largest = 0, apart = 0;
  for (int64_t i = 0; i < n; i++) {
    double d = fabs((double)a[i] - (double)b[i]), size = fabs((double)b[i]);
    if (!(d <= apart)) apart = d;
    if (size > largest) largest = size;
  }
  return apart / largest;
}

// Runs the traced model, and the layers one by one, on the same weights. Returns whether they agree.
static int run(const request *r, lxla_computation model) {
  const llama *m = &r->model;
  size_t n = input_count(m, 0);
  lxla_tensor inputs[LAYERS + LAYER_WEIGHTS], *separate, by_scan, by_loop;
  for (size_t i = 0; i < n; i++) inputs[i] = random_input(m, i);
  TRY(lxla_mark_step(llama_env, llama_device, 1));
  separate = unstacked_inputs(m, inputs);
  if (r->unrolled) TRY(lxla_computation_call(model, separate, input_count(m, 1), &by_scan, 1));
  else TRY(lxla_computation_call(model, inputs, n, &by_scan, 1));
  by_loop = forward(m, separate, 1);
  double start = milliseconds();
  float *got = read_floats(by_scan);
  double half = milliseconds();
  float *want = read_floats(by_loop);
  double end = milliseconds(), tolerance = m->dtype == LXLA_DTYPE_F32 ? TOLERANCE_F32 : TOLERANCE_BF16;
  double apart = difference(got, want, m->sequence * m->vocabulary);
  int good = apart <= tolerance;
  printf("  compiled and run     %.0f ms; the layers one by one %.0f ms\n", half - start, end - half);
  const float *last = got + (m->sequence - 1) * m->vocabulary;
  printf("  last token's logits  %.5f %.5f %.5f ...\n", last[0], last[1], last[2]);
  printf("  largest difference   %.2g of the largest logit: %s (at most %.0e)\n", apart, good ? "equal" : "NOT EQUAL",
         tolerance);
  free(got), free(want);
  TRY(lxla_tensor_release_many(inputs, n));
  TRY(lxla_tensor_release_many(separate, input_count(m, 1)));
  drop(by_scan), drop(by_loop);
  free(separate);
  return good;
}

// --- Training ------------------------------------------------------------------------------------------------------

// Returns the largest difference between the gradients of stacked weights and those of each layer's own.
static double gradient_difference(const llama *m, const lxla_tensor *stacked, const lxla_tensor *separate) {
  double most = 0;
  for (size_t i = 0; i < input_count(m, 1) - EMBEDDING; i++) {
    size_t of = i + EMBEDDING < LAYERS ? i : LAYERS - EMBEDDING + (i + EMBEDDING - LAYERS) % LAYER_WEIGHTS;
    int64_t n = element_count(separate[i]), at = i == of ? 0 : n * (int64_t)((i + EMBEDDING - LAYERS) / LAYER_WEIGHTS);
    float *got = read_floats(stacked[of]), *want = read_floats(separate[i]);
    double apart = difference(got + at, want, n);
    if (!(apart <= most)) most = apart;
    free(got), free(want);
  }
  return most;
}

// Computes the gradients of the loop, checkpointed, and of the layers one by one. Returns whether they agree.
static int compare_gradients(const llama *m, const lxla_tensor *inputs, lxla_tensor targets) {
  size_t n = input_count(m, 1);
  lxla_tensor given[FIRST_M + 1], by_scan[1 + WEIGHTS], *separate = unstacked_inputs(m, inputs), *by_loop;
  by_loop = malloc(n * sizeof *by_loop), separate = realloc(separate, (n + 1) * sizeof *separate);
  if (!by_loop || !separate) exit(1);
  memcpy(given, inputs, FIRST_M * sizeof *given);
  given[FIRST_M] = separate[n] = targets;
  lxla_computation scanned = trace_gradients(m, 0, LXLA_CHECKPOINT_SAVE_NONE);
  lxla_computation unrolled = trace_gradients(m, 1, LXLA_CHECKPOINT_SAVE_ALL);
  TRY(lxla_computation_call(scanned, given, FIRST_M + 1, by_scan, 1 + WEIGHTS));
  TRY(lxla_computation_call(unrolled, separate, n + 1, by_loop, n - EMBEDDING + 1));
  TRY(lxla_sync(by_scan, 1 + WEIGHTS));
  TRY(lxla_sync(by_loop, n - EMBEDDING + 1));
  double tolerance = m->dtype == LXLA_DTYPE_F32 ? GRADIENT_TOLERANCE_F32 : GRADIENT_TOLERANCE_BF16;
  double apart = gradient_difference(m, by_scan + 1, by_loop + 1);
  int good = apart <= tolerance;
  printf("  gradients            %.2g of the largest apart: %s (at most %.0e)\n", apart, good ? "equal" : "NOT EQUAL",
         tolerance);
  TRY(lxla_computation_release(scanned));
  TRY(lxla_computation_release(unrolled));
  TRY(lxla_tensor_release_many(by_scan, 1 + WEIGHTS));
  TRY(lxla_tensor_release_many(by_loop, n - EMBEDDING + 1));
  TRY(lxla_tensor_release_many(separate, n));
  free(separate), free(by_loop);
  return good;
}

// Runs a traced step on the state, which starts with the inputs of the step before TARGETS. Returns the loss before it.
static float take_step(lxla_computation traced, lxla_tensor *state, lxla_tensor targets, int step) {
  lxla_tensor in[STEP_INPUTS], out[STEP_RESULTS];
  adamw_rates rates = make_rates(llama_env, llama_device, &LLAMA_ADAMW, RATE, step);
  memcpy(in, state, TARGETS * sizeof *in);
  in[TARGETS] = targets, in[RATES] = rates.size, in[RATES + 1] = rates.root, in[RATES + 2] = rates.decay;
  TRY(lxla_computation_call(traced, in, STEP_INPUTS, out, STEP_RESULTS));
  for (size_t i = 1; i < STEP_RESULTS; i++) TRY(lxla_tensor_assign(state[EMBEDDING + i - 1], out[i]));
  TRY(lxla_tensor_release_many(out + 1, STEP_RESULTS - 1));
  release_rates(rates);
  TRY(lxla_mark_step(llama_env, llama_device, 0));
  float loss;
  TRY(lxla_tensor_read(out[0], &loss, sizeof loss));
  drop(out[0]);
  return loss;
}

// Compares gradients, then trains on one sequence. Returns whether the gradients agree and the loss falls.
static int train(const llama *m, lxla_computation traced) {
  lxla_tensor state[TARGETS], targets = random_tokens(m);
  for (size_t i = 0; i < FIRST_M; i++) state[i] = random_input(m, i);
  for (size_t i = 0; i < 2 * WEIGHTS; i++) {
    int64_t dims[3];
    size_t rank = stacked_dims(m, EMBEDDING + i % WEIGHTS, dims);
    TRY(lxla_tensor_full(llama_env, llama_device, LXLA_DTYPE_F32, dims, rank, 0, &state[FIRST_M + i]));
    state[FIRST_M + i] = mesh_split(state[FIRST_M + i], step_sharding(FIRST_M + i));
  }
  TRY(lxla_mark_step(llama_env, llama_device, 1));
  int good = compare_gradients(m, state, targets);
  float first = 0, last = 0;
  for (int step = 0; step < STEPS; step++) {
    last = take_step(traced, state, targets, step);
    if (step == 0) first = last;
  }
  int fell = last < first;
  printf("  training             loss %.4f, %.4f before step %d: %s\n", (double)first, (double)last, STEPS,
         fell ? "falls" : "DOES NOT FALL");
  TRY(lxla_tensor_release_many(state, TARGETS));
  drop(targets);
  return good && fell;
}

// --- Tracing and lowering ------------------------------------------------------------------------------------------

static void emit(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  if (!file || fputs(text, file) < 0 || fclose(file) != 0) {
    fprintf(stderr, "cannot write %s\n", path);
    exit(1);
  }
}

static void describe(const request *r) {
  const llama *m = &r->model;
  printf("lazyxla %s: Llama 3.1 %s, %lld layers %s, %s\n", lxla_version(), r->size, (long long)m->layers,
         r->unrolled ? "one by one" : "as one loop", m->dtype == LXLA_DTYPE_F32 ? "f32" : "bf16");
  printf(
      "  shape                width %lld, ffn %lld, %lld heads of %lld, %lld kv heads, vocabulary %lld, sequence "
      "%lld\n",
      (long long)m->width, (long long)m->ffn, (long long)m->heads, (long long)head_size(m), (long long)m->kv_heads,
      (long long)m->vocabulary, (long long)m->sequence);
  printf("  parameters           %lld\n", (long long)parameter_count(m));
}

// Traces and lowers; returns the model, and in `good` whether it moved no byte and took little memory.
static lxla_computation trace_and_lower(const request *r, int *good) {
  double before = resident_mb(), start = milliseconds();
  lxla_computation model = trace_model(&r->model, r->unrolled);
  unsigned long long recorded = noted.operations;
  double traced = milliseconds();
  char *text;
  TRY(lxla_computation_stablehlo(model, &text));
  double lowered = milliseconds();
  TRY(lxla_computation_release(trace_model(&r->model, r->unrolled)));
  double again = milliseconds(), after = resident_mb();
  unsigned long long moved = counter("OutboundBytes") + counter("InboundBytes");
  printf("  operations recorded  %llu\n", recorded);
  printf("  trace                %.3f ms; once more %.3f ms\n", traced - start, again - lowered);
  printf("  lower                %.3f ms, to %.1f kB of StableHLO\n", lowered - traced, (double)strlen(text) / 1e3);
  printf("  bytes moved          %llu\n", moved);
  printf("  resident memory      %.1f MB before, %.1f MB after\n", before, after);
  if (r->emit) emit(r->emit, text);
  lxla_string_free(text);
  *good = moved == 0 && after - before < MOST_GROWTH;
  if (!*good) fprintf(stderr, "tracing moved bytes, or took more than %.0f MB\n", MOST_GROWTH);
  return model;
}

// The same for the training step.
static lxla_computation trace_and_lower_step(const request *r, int *good) {
  unsigned long long before_moved = counter("OutboundBytes") + counter("InboundBytes");
  double before = resident_mb(), start = milliseconds();
  lxla_computation step = trace_step(&r->model, LXLA_CHECKPOINT_SAVE_NONE);
  double traced = milliseconds();
  char *text;
  TRY(lxla_computation_stablehlo(step, &text));
  double lowered = milliseconds(), after = resident_mb();
  unsigned long long moved = counter("OutboundBytes") + counter("InboundBytes") - before_moved;
  printf("  training step        trace %.3f ms; lower %.3f ms, to %.1f kB; bytes moved %llu; memory %+.1f MB\n",
         traced - start, lowered - traced, (double)strlen(text) / 1e3, moved, after - before);
  if (r->emit_step) emit(r->emit_step, text);
  lxla_string_free(text);
  *good = moved == 0 && after - before < MOST_GROWTH;
  if (!*good) fprintf(stderr, "tracing the step moved bytes, or took more than %.0f MB\n", MOST_GROWTH);
  return step;
}

// --- On a mesh -----------------------------------------------------------------------------------------------------

// Records the traced step on split placeholders and lowers it; returns whether that moved no byte.
static int lower_on_mesh(const request *r, lxla_computation step) {
  unsigned long long before = counter("OutboundBytes") + counter("InboundBytes");
  double start = milliseconds();
  recorded_step s = record_step(&r->model, step, (lxla_device){LXLA_DEVICE_XLA, 0});
  double recorded = milliseconds();
  char *text;
  TRY(lxla_stablehlo(s.out, STEP_RESULTS, &text));
  double lowered = milliseconds();
  unsigned long long moved = counter("OutboundBytes") + counter("InboundBytes") - before;
  int split = strstr(text, "sdy.mesh") && strstr(text, "sdy.sharding");
  printf("  on the mesh %s: record %.3f ms; lower %.3f ms, to %.1f kB; bytes moved %llu\n", r->mesh, recorded - start,
         lowered - recorded, (double)strlen(text) / 1e3, moved);
  printf("  each device holds    %.2f GB of weights, moments and tokens\n", bytes_of_a_device(&s) / 1e9);
  mesh_show("the first projection", s.in[LAYERS + QUERY]);
  if (r->emit_step) emit(r->emit_step, text);
  lxla_string_free(text);
  release_step(&s);
  return moved == 0 && split;
}

static void narrow(llama *m, int64_t width);

// Compiles the step of a narrow model with few layers, and runs nothing.
static void compile_on_mesh(const request *r) {
  llama m = r->model;
  m.layers = r->compile_layers;
  if (m.width > NARROW) narrow(&m, NARROW);
  lxla_computation step = trace_step(&m, LXLA_CHECKPOINT_SAVE_NONE);
  recorded_step s = record_step(&m, step, (lxla_device){LXLA_DEVICE_XLA, 0});
  lxla_memory_stats stats = {.struct_size = sizeof stats};
  double start = milliseconds();
  lxla_status status = lxla_compiled_memory(llama_env, llama_device, s.out, STEP_RESULTS, &stats);
  double compiled = milliseconds() - start;
  if (status != LXLA_UNIMPLEMENTED) TRY(status);
  printf("  compiled             %lld layers of width %lld in %.0f ms; %.2f MB of temporaries on each device\n",
         (long long)m.layers, (long long)m.width, compiled, 1e-6 * (double)stats.temp_bytes);
  release_step(&s);
  TRY(lxla_computation_release(step));
}

// --- Which model ---------------------------------------------------------------------------------------------------

static int64_t at_least(int64_t x, int64_t least) { return x < least ? least : x; }

// Cuts the model down: all sizes shrink with the width, to heads of 8 elements and four query heads per kv head.
static void narrow(llama *m, int64_t width) {
  int64_t from = m->width, most_kv = m->kv_heads, size = at_least(width / m->heads, 8);
  if (size > head_size(m)) size = head_size(m);
  m->ffn = at_least(m->ffn * width / from, 8), m->vocabulary = at_least(m->vocabulary * width / from, 64);
  m->sequence = at_least(m->sequence * width / from, 16);
  m->width = width, m->heads = width / size, m->kv_heads = at_least(m->heads / 4, 1);
  if (m->kv_heads > most_kv) m->kv_heads = most_kv;
  while (m->heads % m->kv_heads) m->kv_heads--;
}

static int usable(const llama *m) {
  return m->layers >= 0 && m->sequence > 0 && m->heads > 0 && m->width == m->heads * head_size(m) &&
         head_size(m) % 2 == 0;
}

static int parse(int argc, char **argv, request *r) {
  *r = (request){0};
  for (size_t i = 0; argc > 1 && i < sizeof SIZES / sizeof *SIZES; i++)
    if (!strcmp(argv[1], SIZES[i].name)) r->size = SIZES[i].name, r->model = SIZES[i].model;
  for (int i = 2; i < argc && r->size; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (!strcmp(argv[i], "--unrolled")) r->unrolled = 1;
    else if (!strcmp(argv[i], "--run")) r->run = 1;
    else if (!value) return 0;
    else if (!strcmp(argv[i], "--emit")) r->emit = argv[++i];
    else if (!strcmp(argv[i], "--emit-step")) r->emit_step = argv[++i];
    else if (!strcmp(argv[i], "--mesh")) r->mesh = argv[++i];
    else if (!strcmp(argv[i], "--compile-layers")) r->compile_layers = atoll(argv[++i]);
    else if (!strcmp(argv[i], "--layers")) r->model.layers = atoll(argv[++i]);
    else if (!strcmp(argv[i], "--width") && atoll(value) > 0) narrow(&r->model, atoll(argv[++i]));
    else if (!strcmp(argv[i], "--sequence")) r->model.sequence = atoll(argv[++i]);
    else return 0;
  }
  return r->size && usable(&r->model) && (r->mesh || !r->compile_layers);
}

static int small(const llama *m) {
  double weights = (double)parameter_count(m), sequence = (double)m->sequence;
  return weights + sequence * ((double)m->heads * sequence + (double)m->vocabulary) < RUNS_BY_ITSELF;
}

int main(int argc, char **argv) {
  setenv("TF_CPP_MIN_LOG_LEVEL", "1", 0);  // hides the plugin's log
  request r;
  if (!parse(argc, argv, &r)) {
    fprintf(stderr, "usage: %s tiny|8b|405b [--layers N] [--width W] [--sequence S] [--unrolled] [--run]\n", argv[0]);
    fprintf(stderr, "       [--emit FILE] [--emit-step FILE] [--mesh data=8,model=64] [--compile-layers N]\n");
    return 2;
  }
  if (r.mesh) llama_device = mesh_open(r.mesh);
  int32_t devices;
  TRY(lxla_env_device_count(llama_env, &devices));  // starts the plugin, which is not measured
  describe(&r);
  int lowered, step_lowered = 1, spread = 1, equal = 1, trained = 1, runs = r.run || small(&r.model);
  lxla_computation model = trace_and_lower(&r, &lowered), step = {0};
  if (!r.unrolled && r.model.layers > 0) step = trace_and_lower_step(&r, &step_lowered);
  if (r.mesh && step.id) spread = lower_on_mesh(&r, step);
  if (r.compile_layers > 0) compile_on_mesh(&r);
  if (runs) equal = run(&r, model);
  if (runs && step.id) trained = train(&r.model, step);
  TRY(lxla_computation_release(model));
  TRY(lxla_computation_release(step));
  unsigned long long left = counter("LiveBytes");
  if (left > 0) fprintf(stderr, "%llu bytes are still live\n", left);
  mesh_close();
  return lowered && step_lowered && spread && equal && trained && left == 0 ? 0 : 1;
}
