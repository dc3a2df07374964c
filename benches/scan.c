// Measures the cost of loops and calls of traced computations: text and compile time of a scan against its length; a
// call and the step that runs it against the plugin's own execute of the same text.
#include "pjrt.h"

#include <math.h>

enum { WIDTH = 64, COMPILES = 9, BLOCKS = 50, BLOCK = 400 };

static lxla_tensor placeholder(const int64_t *dims, size_t rank) {
  lxla_tensor out;
  OK(lxla_tensor_placeholder(env, device, LXLA_DTYPE_F32, dims, rank, &out));
  return out;
}

static lxla_tensor full(const int64_t *dims, size_t rank, double value) {
  lxla_tensor out;
  OK(lxla_tensor_full(env, device, LXLA_DTYPE_F32, dims, rank, value, &out));
  return out;
}

static double compile_milliseconds(void) {
  uint64_t value;
  OK(lxla_env_counter(env, "CompileNanoseconds", &value));
  return (double)value * 1e-6;
}

// Traces x -> tanh(x W + shift). Each shift gives another program.
static lxla_computation layer(double shift) {
  lxla_tensor p[] = {placeholder((int64_t[]){1, WIDTH}, 2), placeholder((int64_t[]){WIDTH, WIDTH}, 2)}, product, sum,
              out;
  OK(lxla_matmul(p[0], p[1], &product));
  OK(lxla_binary_scalar(LXLA_BINARY_ADD, product, shift, &sum));
  OK(lxla_unary(LXLA_UNARY_TANH, sum, &out));
  lxla_computation body;
  OK(lxla_computation_trace(p, 2, &out, 1, &body));
  const lxla_tensor done[] = {p[0], p[1], product, sum, out};
  OK(lxla_tensor_release_many(done, 5));
  return body;
}

// Compiles a scan over `length` layers several times, each time anew, and runs each once.
static void scan(int64_t length) {
  lxla_tensor x = full((int64_t[]){1, WIDTH}, 2, 1), weights = full((int64_t[]){length, WIDTH, WIDTH}, 3, 0.01);
  OK(lxla_mark_step(env, device, 1));
  double compiled = INFINITY, run[COMPILES];
  size_t size = 0;
  for (int i = 0; i < COMPILES; i++) {
    lxla_computation body = layer((double)length + i * 1e-4);
    lxla_tensor out;
    OK(lxla_scan(body, &x, 1, &weights, 1, length, 0, &out, NULL, 0));
    char *text;
    OK(lxla_stablehlo(&out, 1, &text));
    size = strlen(text);
    lxla_string_free(text);
    double before = compile_milliseconds();
    lxla_memory_stats stats = {.struct_size = sizeof stats};
    OK(lxla_compiled_memory(env, device, &out, 1, &stats));
    compiled = fmin(compiled, compile_milliseconds() - before);
    double start = now();
    OK(lxla_sync(&out, 1));
    OK(lxla_wait(env, device));
    run[i] = now() - start;
    OK(lxla_tensor_release(out));
    OK(lxla_computation_release(body));
  }
  printf("| scan, length %lld | text %zu bytes, compiled in %.1f ms, run in %.0f us |\n", (long long)length, size,
         compiled, median(run, COMPILES));
  OK(lxla_tensor_release(x));
  OK(lxla_tensor_release(weights));
}

// Traces x -> x + y + y + ..., with `ops` operations; y is captured.
static lxla_computation chain(lxla_tensor y, int ops) {
  lxla_tensor p = placeholder((int64_t[]){8}, 1), x = p;
  OK(lxla_tensor_retain(p));
  for (int i = 0; i < ops; i++) {
    lxla_tensor next;
    OK(lxla_binary(LXLA_BINARY_ADD, x, y, &next));
    OK(lxla_tensor_release(x));
    x = next;
  }
  lxla_computation out;
  OK(lxla_computation_trace(&p, 1, &x, 1, &out));
  OK(lxla_tensor_release(p));
  OK(lxla_tensor_release(x));
  return out;
}

// Calls a computation on its previous result, and steps.
static void call_and_step(lxla_computation f, lxla_tensor *x) {
  lxla_tensor next;
  OK(lxla_computation_call(f, x, 1, &next, 1));
  OK(lxla_tensor_release(*x));
  *x = next;
  OK(lxla_mark_step(env, device, 1));
}

static void execute(PJRT_LoadedExecutable *executable, PJRT_Buffer **arguments) {
  PJRT_Buffer *out;
  pjrt_run(executable, arguments, 2, &out, 1);
  pjrt_destroy(arguments[0]);
  arguments[0] = out;
}

// Returns the executable of the step that a call records.
static PJRT_LoadedExecutable *compiled_call(lxla_computation f, lxla_tensor *x) {
  lxla_tensor next;
  char *text;
  OK(lxla_computation_call(f, x, 1, &next, 1));
  OK(lxla_tensor_release(*x));
  *x = next;
  OK(lxla_step_stablehlo(env, device, &text));
  PJRT_LoadedExecutable *executable = pjrt_compile(text);
  lxla_string_free(text);
  OK(lxla_mark_step(env, device, 1));
  return executable;
}

// Time of a run in microseconds, by the clock and of the calling thread's processor time: the least of all blocks.
typedef struct {
  double clock, processor;
} cost;

static cost moment(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (cost){now(), (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3};
}

static void lower(cost *least, cost start) {
  cost end = moment();
  least->clock = fmin(least->clock, (end.clock - start.clock) / BLOCK);
  least->processor = fmin(least->processor, (end.processor - start.processor) / BLOCK);
}

// By turns in blocks: each has its own client of the plugin, with threads of its own. The plugin hands programs of more
// than 100 operations to such a thread, which falls asleep a few microseconds after its last work: what a run takes on
// the clock then depends on when the last one was. What the calling thread itself has to do does not.
static void call(int ops) {
  lxla_tensor x = full((int64_t[]){8}, 1, 0), y = full((int64_t[]){8}, 1, 1);
  OK(lxla_mark_step(env, device, 1));
  lxla_computation f = chain(y, ops);
  PJRT_LoadedExecutable *executable = compiled_call(f, &x);
  PJRT_Buffer *raw[2];
  for (int i = 0; i < 2; i++) raw[i] = pjrt_buffer(PJRT_Buffer_Type_F32, (int64_t[]){8}, 1, (float[8]){0});
  cost ours = {INFINITY, INFINITY}, bare = ours;
  for (int block = 0; block < BLOCKS; block++) {
    cost start = moment();
    for (int i = 0; i < BLOCK; i++) call_and_step(f, &x);
    lower(&ours, start);
    start = moment();
    for (int i = 0; i < BLOCK; i++) execute(executable, raw);
    lower(&bare, start);
  }
  printf(
      "| call of %d operations and step, waited | %.2f us, bare execute %.2f us; of the calling thread %.2f and %.2f "
      "us: "
      "%.2f us beyond it |\n",
      ops, ours.clock, bare.clock, ours.processor, bare.processor, ours.processor - bare.processor);
  OK(lxla_computation_release(f));
  OK(lxla_tensor_release(x));
  OK(lxla_tensor_release(y));
}

int main(void) {
  pjrt_start();
  printf("| what | least of %d compiles, median of as many runs; least of %d blocks of %d calls |\n|---|---|\n",
         COMPILES, BLOCKS, BLOCK);
  for (int64_t length = 1; length <= 1000; length *= 10) scan(length);
  call(100);
  call(1000);
  return 0;
}
