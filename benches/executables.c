// Executables: what a run costs beyond the plugin's execute, calls on host memory from one and two threads, loading a
// file against compiling, two compiles at the same time. bench_executables FOLDER_FOR_A_FILE
#include "pjrt.h"

#include <pthread.h>

enum { ARRAYS = 10, SMALL = 8, RUNS = 20000, ROUNDS = 9, LATENT = 100, CALLS = 20000, LAYERS = 3, BATCH = 128 };
static const lxla_device cpu = {LXLA_DEVICE_CPU, 0};

#define DIMS(...) (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)

static lxla_tensor placeholder(lxla_device on, const int64_t *dims, size_t rank) {
  lxla_tensor out;
  OK(lxla_tensor_placeholder(env, on, LXLA_DTYPE_F32, dims, rank, &out));
  return out;
}

static lxla_tensor binary(int32_t op, lxla_tensor a, lxla_tensor b) {
  lxla_tensor out;
  OK(lxla_binary(op, a, b, &out));
  return out;
}

static lxla_tensor scaled(int32_t op, lxla_tensor a, double by) {
  lxla_tensor out;
  OK(lxla_binary_scalar(op, a, by, &out));
  return out;
}

static lxla_tensor unary(int32_t op, lxla_tensor a) {
  lxla_tensor out;
  OK(lxla_unary(op, a, &out));
  return out;
}

static lxla_tensor total(lxla_tensor a) {
  lxla_tensor out;
  OK(lxla_reduce(LXLA_REDUCE_SUM, a, NULL, 0, 0, &out));
  return out;
}

// --- Ten small arrays ------------------------------------------------------------------------------------------------

static lxla_executable ten_sums(void) {
  lxla_tensor x[ARRAYS], y[ARRAYS];
  OK(lxla_tracing_begin(env, device));
  for (int i = 0; i < ARRAYS; i++) x[i] = placeholder(device, DIMS(SMALL));
  for (int i = 0; i < ARRAYS; i++) y[i] = binary(LXLA_BINARY_ADD, x[i], x[(i + 1) % ARRAYS]);
  lxla_computation f;
  OK(lxla_tracing_end(x, ARRAYS, y, ARRAYS, &f));
  lxla_executable out;
  OK(lxla_executable_compile(f, device, NULL, &out));
  return out;
}

static void pjrt_forget(PJRT_Event *event) { PJRT(Event_Destroy, .event = event); }

static double of_library(lxla_executable executable, const lxla_tensor *x) {
  double start = now();
  for (int run = 0; run < RUNS; run++) {
    lxla_tensor y[ARRAYS];
    OK(lxla_executable_run(executable, x, ARRAYS, y, ARRAYS));
    OK(lxla_tensor_release_many(y, ARRAYS));
  }
  OK(lxla_wait(env, device));
  return (now() - start) / RUNS;
}

// With the event of each run, by which a runtime knows that it has ended.
static double of_plugin(PJRT_LoadedExecutable *executable, PJRT_Buffer *const *x) {
  double start = now();
  PJRT_Event *ended = NULL;
  for (int run = 0; run < RUNS; run++) {
    PJRT_Buffer *y[ARRAYS], **outputs = y;
    if (ended) pjrt_forget(ended);
    pjrt_enqueue(executable, 1, &x, ARRAYS, &outputs, &ended);
    for (int i = 0; i < ARRAYS; i++) pjrt_destroy(y[i]);
  }
  pjrt_await(&ended, 1);
  return (now() - start) / RUNS;
}

static void small_arrays(void) {
  lxla_executable executable = ten_sums();
  char text[4096], *at = text;
  at += sprintf(at, "func.func @main(");
  for (int i = 0; i < ARRAYS; i++) at += sprintf(at, "%s%%x%d: tensor<8xf32>", i ? ", " : "", i);
  at += sprintf(at, ") -> (");
  for (int i = 0; i < ARRAYS; i++) at += sprintf(at, "%stensor<8xf32>", i ? ", " : "");
  at += sprintf(at, ") {\n");
  for (int i = 0; i < ARRAYS; i++)
    at += sprintf(at, "%%y%d = stablehlo.add %%x%d, %%x%d : tensor<8xf32>\n", i, i, (i + 1) % ARRAYS);
  at += sprintf(at, "return ");
  for (int i = 0; i < ARRAYS; i++) at += sprintf(at, "%s%%y%d", i ? ", " : "", i);
  at += sprintf(at, " : ");
  for (int i = 0; i < ARRAYS; i++) at += sprintf(at, "%stensor<8xf32>", i ? ", " : "");
  sprintf(at, "\n}");
  pjrt_start();
  PJRT_LoadedExecutable *bare = pjrt_compile(text);
  float data[SMALL] = {1, 2, 3, 4, 5, 6, 7, 8};
  lxla_tensor x[ARRAYS];
  PJRT_Buffer *buffers[ARRAYS];
  for (int i = 0; i < ARRAYS; i++) {
    OK(lxla_tensor_from_host(env, device, LXLA_DTYPE_F32, DIMS(SMALL), data, sizeof data, &x[i]));
    buffers[i] = pjrt_buffer(PJRT_Buffer_Type_F32, DIMS(SMALL), data);
  }
  double library[ROUNDS], plugin[ROUNDS];
  for (int round = 0; round < ROUNDS; round++) {
    library[round] = of_library(executable, x);
    plugin[round] = of_plugin(bare, buffers);
  }
  double a = median(library, ROUNDS), b = median(plugin, ROUNDS);
  printf(
      "run of %d arrays of %d numbers, with results and their release: %.2f us, bare PJRT %.2f us, beyond it %.2f us\n",
      ARRAYS, SMALL, a, b, a - b);
}

// --- Calls on host memory
// ----------------------------------------------------------------------------------------------

// The log-density of a normal distribution with a heavy-tailed transformation of each parameter, and its gradient:
// 30 elementwise operations and two sums.
static lxla_executable log_density(void) {
  OK(lxla_tracing_begin(env, cpu));
  lxla_tensor x = placeholder(cpu, DIMS(LATENT)), y = x;
  for (int i = 0; i < 9; i++) {
    lxla_tensor bent = unary(LXLA_UNARY_TANH, scaled(LXLA_BINARY_MULTIPLY, y, 0.5));
    y = binary(LXLA_BINARY_ADD, y, scaled(LXLA_BINARY_MULTIPLY, bent, 0.1));
  }
  lxla_tensor squares = total(binary(LXLA_BINARY_MULTIPLY, y, y));
  lxla_tensor value = binary(LXLA_BINARY_SUBTRACT, scaled(LXLA_BINARY_MULTIPLY, squares, -0.5), total(y));
  lxla_computation f, g;
  OK(lxla_tracing_end(&x, 1, &value, 1, &f));
  OK(lxla_computation_value_and_grad(f, NULL, &g));
  lxla_executable out;
  OK(lxla_executable_compile(g, cpu, NULL, &out));
  return out;
}

static lxla_executable density;

static void *sampler(void *at) {
  float x[LATENT], value, gradient[LATENT];
  for (int i = 0; i < LATENT; i++) x[i] = 0.01f * (float)i;
  const void *inputs[] = {x};
  void *outputs[] = {&value, gradient};
  const size_t input_sizes[] = {sizeof x}, output_sizes[] = {sizeof value, sizeof gradient};
  double start = now();
  for (int call = 0; call < CALLS; call++)
    OK(lxla_executable_run_host(density, inputs, input_sizes, 1, outputs, output_sizes, 2));
  *(double *)at = (now() - start) / CALLS;
  return NULL;
}

static void host_calls(void) {
  density = log_density();
  double one[ROUNDS], two[ROUNDS];
  for (int round = 0; round < ROUNDS; round++) {
    sampler(&one[round]);
    pthread_t threads[2];
    double each[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, sampler, &each[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    two[round] = (each[0] > each[1] ? each[0] : each[1]) / 2;
  }
  double a = median(one, ROUNDS), b = median(two, ROUNDS);
  printf("run_host on cpu, value and gradient by %d parameters: %.2f us a call; two threads: %.2f times the calls\n",
         LATENT, a, a / b);
}

// --- Files, and two compiles at once
// -----------------------------------------------------------------------------------

// A step of gradient descent of a network 64 - width - width - 10.
static lxla_computation step_of(int64_t width) {
  const int64_t sizes[LAYERS + 1] = {64, width, width, 10};
  lxla_tensor given[LAYERS + 2], results[LAYERS + 1];
  OK(lxla_tracing_begin(env, device));
  for (int i = 0; i < LAYERS; i++) given[i] = placeholder(device, DIMS(sizes[i], sizes[i + 1]));
  given[LAYERS] = placeholder(device, DIMS(BATCH, 64));
  given[LAYERS + 1] = placeholder(device, DIMS(BATCH, 10));
  lxla_tensor x = given[LAYERS];
  for (int i = 0; i < LAYERS; i++) {
    OK(lxla_matmul(x, given[i], &x));
    if (i < LAYERS - 1) x = unary(LXLA_UNARY_TANH, x);
  }
  lxla_tensor gap = binary(LXLA_BINARY_SUBTRACT, x, given[LAYERS + 1]);
  lxla_tensor loss = total(binary(LXLA_BINARY_MULTIPLY, gap, gap)), gradients[LAYERS];
  OK(lxla_gradients(&loss, 1, NULL, given, LAYERS, gradients));
  for (int i = 0; i < LAYERS; i++)
    results[i] = binary(LXLA_BINARY_SUBTRACT, given[i], scaled(LXLA_BINARY_MULTIPLY, gradients[i], 0.001));
  results[LAYERS] = loss;
  lxla_computation f;
  OK(lxla_tracing_end(given, LAYERS + 2, results, LAYERS + 1, &f));
  return f;
}

static void *compile(void *of) {
  lxla_executable made;
  OK(lxla_executable_compile(*(lxla_computation *)of, device, NULL, &made));
  OK(lxla_executable_release(made));
  return NULL;
}

// The time of two compiles at once, divided by the longer one, by the plugin alone.
static void *compile_bare(void *text) {
  PJRT(LoadedExecutable_Destroy, .executable = pjrt_compile(text));
  return NULL;
}

static double together(void *(*run)(void *), void *const of[2], double *of_longer) {
  double each[2], start;
  for (int i = 0; i < 2; i++) start = now(), run(of[i]), each[i] = now() - start;
  *of_longer = each[0] > each[1] ? each[0] : each[1];
  pthread_t threads[2];
  start = now();
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, run, of[i]);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  return (now() - start) / *of_longer;
}

static const char *folder;

static void compiles(void) {
  char path[1024];
  snprintf(path, sizeof path, "%s/bench_executables.bin", folder);
  lxla_computation f[2] = {step_of(256), step_of(257)};
  char *texts[2];
  for (int i = 0; i < 2; i++) OK(lxla_computation_stablehlo(f[i], &texts[i]));
  if (!pjrt) pjrt_start();
  double compiled[ROUNDS], loaded[ROUNDS], both[ROUNDS], bare[ROUNDS], alone[ROUNDS], alone_bare[ROUNDS];
  for (int round = 0; round < ROUNDS; round++) {
    lxla_executable made;
    double start = now();
    OK(lxla_executable_compile(f[0], device, NULL, &made));
    compiled[round] = now() - start;
    OK(lxla_executable_save(made, path));
    OK(lxla_executable_release(made));
    start = now();
    OK(lxla_executable_load(env, device, path, &made));
    loaded[round] = now() - start;
    OK(lxla_executable_release(made));
    both[round] = together(compile, (void *[]){&f[0], &f[1]}, &alone[round]);
    bare[round] = together(compile_bare, (void *[]){texts[0], texts[1]}, &alone_bare[round]);
  }
  remove(path);
  double a = median(compiled, ROUNDS), b = median(loaded, ROUNDS);
  printf("a training step of three layers: compiled in %.1f ms, loaded in %.1f ms (1/%.0f)\n", a / 1e3, b / 1e3, a / b);
  printf("two compiled at once, of the longer one: %.2f; by bare PJRT: %.2f; one: %.2f of bare PJRT\n",
         median(both, ROUNDS), median(bare, ROUNDS), median(alone, ROUNDS) / median(alone_bare, ROUNDS));
}

int main(int n, char **arguments) {
  if (n < 2) STOP("usage: bench_executables FOLDER_FOR_A_FILE [run] [host] [compile]");
  const struct {
    const char *name;
    void (*of)(void);
  } parts[] = {{"run", small_arrays}, {"host", host_calls}, {"compile", compiles}};
  folder = arguments[1];
  for (int part = 0; part < 3; part++) {
    int chosen = n == 2;
    for (int i = 2; i < n; i++) chosen |= !strcmp(arguments[i], parts[part].name);
    if (chosen) parts[part].of();
  }
  return 0;
}
