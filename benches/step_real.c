// Measures the host cost of real training steps: networks of 10 to 400 layers and the digits step, recorded, marked and
// waited for, beside the same program straight through the PJRT C API; steps of many arguments; recording mixed
// operations.
//
//   bench_step_real digits.csv [--peer]   with --peer, jax_step_real.py runs the same steps in JAX between the blocks
//   bench_step_real --count               runs what instructions.py counts the instructions of
#include "bare.h"
#include "network.h"
#include "recording.h"

enum { BLOCKS = 6, TURNS = 10, SAMPLES = BLOCKS * TURNS, PIPELINED = 8, MOST_ARGUMENTS = 1600 };

// --- What is run ---

// In place: donated. New: every result has memory of its own. Sum: one result.
typedef enum { IN_PLACE, NEW_RESULTS, SUM } use;

typedef struct work work;
struct work {
  const char *name;
  void (*record)(work *);  // records one step, and lists in `results` what is to be released after it
  int depth, at_once;      // of a network
  int arguments;           // of a step of many arguments
  use use;
  lxla_tensor results[MOST_ARGUMENTS];
  size_t result_count;
};

static network net;
static lxla_tensor inputs[MOST_ARGUMENTS];
static struct {
  layer layers[LAYERS];
  lxla_tensor x, y;
} digits;

static void record_network(work *w) { w->results[0] = network_train(&net), w->result_count = 1; }

static void record_digits(work *w) {
  w->results[0] = train(digits.layers, digits.x, digits.y, 0),
  w->result_count = 1;  // a rate of 0 keeps the numbers the same
}

static void record_arguments(work *w) {
  w->result_count = w->use == IN_PLACE ? 0 : w->use == SUM ? 1 : (size_t)w->arguments;
  if (w->use == SUM) OK(lxla_tensor_snapshot(inputs[0], &w->results[0]));
  for (int i = 0; i < w->arguments; i++) {
    if (w->use == IN_PLACE) OK(lxla_binary_scalar_inplace(LXLA_BINARY_MULTIPLY, inputs[i], -1));
    if (w->use == NEW_RESULTS) OK(lxla_binary_scalar(LXLA_BINARY_MULTIPLY, inputs[i], -1, &w->results[i]));
    if (w->use == SUM && i > 0) OK(lxla_binary_inplace(LXLA_BINARY_ADD, w->results[0], inputs[i]));
  }
}

static void prepare(const work *w) {
  static const float ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  if (w->depth) network_prepare(&net, w->depth, w->at_once);
  for (int i = 0; i < w->arguments; i++)
    OK(lxla_tensor_from_host(env, device, LXLA_DTYPE_F32, (const int64_t[]){8}, 1, ones, sizeof ones, &inputs[i]));
  OK(lxla_mark_step(env, device, 1));
}

static void clean_up(const work *w) {
  if (w->depth) network_release(&net);
  OK(lxla_tensor_release_many(inputs, (size_t)w->arguments));
}

static void prepare_digits(const char *path) {
  images set = load(path);
  initialise(digits.layers);
  digits.x = from_host(set.pixels[0], BATCH, PIXELS), digits.y = from_host(set.labels[0], BATCH, CLASSES);
  free(set.pixels), free(set.labels);
}

// --- Measuring ---

// Microseconds. Processor: of the calling thread in the call. Waited: from the start of the recording, where there is
// one, to the end of the computation. Unwaited: of each of PIPELINED steps that are waited for together.
typedef struct {
  double record[SAMPLES], call[SAMPLES], processor[SAMPLES], waited[SAMPLES], unwaited[SAMPLES];
} samples;

typedef struct {
  const char *name;
  int tensors, operations, arguments;
  double record, call, processor, waited, unwaited, bare_call, bare_processor, bare_waited, bare_unwaited;
} row;

static double processor_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void release_results(work *w) {
  OK(lxla_tensor_release_many(w->results, w->result_count));
  w->result_count = 0;
}

static void step(work *w) {
  w->record(w);
  OK(lxla_mark_step(env, device, 0));
  release_results(w);
}

static void measure_steps(work *w, samples *to, int at) {
  for (int i = at; i < at + TURNS; i++) {
    double start = now();
    w->record(w);
    double busy = processor_now(), recorded = now();
    OK(lxla_mark_step(env, device, 0));
    double called = now(), busy_then = processor_now();
    release_results(w);
    OK(lxla_wait(env, device));
    double end = now();
    to->record[i] = recorded - start, to->call[i] = called - recorded, to->waited[i] = end - start;
    to->processor[i] = busy_then - busy;
  }
  for (int i = at; i < at + TURNS; i++) {
    double start = now();
    for (int k = 0; k < PIPELINED; k++) step(w);
    OK(lxla_wait(env, device));
    to->unwaited[i] = (now() - start) / PIPELINED;
  }
}

// The plugin's threads fall asleep when they have nothing to do: so each run follows the last one after as long a pause
// as the recording of a step was.
static void measure_bare(bare_step *bare, const double *pauses, samples *to, int at) {
  for (int i = at; i < at + TURNS; i++) {
    double start = now();
    while (now() < start + pauses[i]) continue;
    double busy = processor_now();
    start = now();
    bare_call(bare);
    double called = now(), busy_then = processor_now();
    bare_release_outputs(bare);
    bare_wait(bare);
    to->call[i] = called - start, to->processor[i] = busy_then - busy, to->waited[i] = now() - start;
  }
  for (int i = at; i < at + TURNS; i++) {
    double start = now();
    for (int k = 0; k < PIPELINED; k++) bare_call(bare), bare_release_outputs(bare);
    bare_wait(bare);
    to->unwaited[i] = (now() - start) / PIPELINED;
  }
}

// Lets jax_step_real.py run a block of the same step.
static void let_peer_run(const char *name) {
  char answer[16];
  printf("> %s\n", name);
  fflush(stdout);
  if (!fgets(answer, sizeof answer, stdin)) STOP("the peer has ended");
}

// Measures in blocks of each peer in turn; the first block of each is not counted.
static row measure(work *w, int peer) {
  static samples ours, straight;
  prepare(w);
  uint64_t created = counter("CreateTensor");
  w->record(w);
  row r = {.name = w->name, .tensors = (int)(counter("CreateTensor") - created)};
  bare_step bare = bare_of_pending();
  r.operations = bare.operations, r.arguments = bare.arguments;
  OK(lxla_mark_step(env, device, 1));
  release_results(w);
  for (int block = -1; block < BLOCKS; block++) {
    int at = block < 0 ? 0 : block * TURNS;
    measure_steps(w, &ours, at);
    measure_bare(&bare, ours.record, &straight, at);
    if (peer) let_peer_run(w->name);
  }
  bare_free(&bare);
  clean_up(w);
  r.record = median(ours.record, SAMPLES);
  r.call = median(ours.call, SAMPLES), r.bare_call = median(straight.call, SAMPLES);
  r.processor = median(ours.processor, SAMPLES), r.bare_processor = median(straight.processor, SAMPLES);
  r.waited = median(ours.waited, SAMPLES), r.bare_waited = median(straight.waited, SAMPLES);
  r.unwaited = median(ours.unwaited, SAMPLES), r.bare_unwaited = median(straight.unwaited, SAMPLES);
  return r;
}

// --- Tables ---

static void print_times(const row *r) {
  printf("| %s | %d | %d | %d | %.1f | %.0f |", r->name, r->tensors, r->operations, r->arguments, r->record,
         r->record * 1e3 / r->operations);
  printf(" %.1f | %.1f | %.1f | %.1f |", r->call, r->processor, r->waited, r->unwaited);
  printf(" %.1f | %.1f | %.1f | %.1f |\n", r->bare_call, r->bare_processor, r->bare_waited, r->bare_unwaited);
  fflush(stdout);
}

static void print_ratios(const row *r) {
  double beyond = (r->processor - r->bare_processor) * 1e3;
  printf("| %s | %.2f | %.2f | %.1f | %.0f | %.2f | %.2f |\n", r->name, r->call / r->bare_call,
         r->processor / r->bare_processor, beyond / r->operations, beyond / r->arguments, r->waited / r->bare_waited,
         r->unwaited / r->bare_unwaited);
}

static void print_steps(int peer) {
  static work works[] = {
      {"digits", record_digits, .depth = 0},
      {"10 layers", record_network, .depth = 10},
      {"100 layers", record_network, .depth = 100},
      {"400 layers", record_network, .depth = 400},
      {"10 layers, released at once", record_network, .depth = 10, .at_once = 1},
      {"100 layers, released at once", record_network, .depth = 100, .at_once = 1},
      {"400 layers, released at once", record_network, .depth = 400, .at_once = 1},
      {"256 arguments, donated", record_arguments, .arguments = 256},
      {"256 arguments, not donated", record_arguments, .arguments = 256, .use = NEW_RESULTS},
      {"256 arguments, one result", record_arguments, .arguments = 256, .use = SUM},
      {"1600 arguments, donated", record_arguments, .arguments = 1600},
      {"1600 arguments, not donated", record_arguments, .arguments = 1600, .use = NEW_RESULTS},
      {"1600 arguments, one result", record_arguments, .arguments = 1600, .use = SUM},
  };
  enum { COUNT = sizeof works / sizeof *works };
  row rows[COUNT];
  printf(
      "Microseconds, medians of %d. Call: lxla_mark_step without waiting, or PJRT_LoadedExecutable_Execute; processor: "
      "of the "
      "calling thread in it. Waited: recording, call and computation. Unwaited: one of %d steps that are waited for "
      "together.\n\n",
      SAMPLES, PIPELINED);
  printf(
      "| step | tensors made | operations | arguments | recording | ns an operation | call | processor | waited | "
      "unwaited "
      "| bare call | processor | waited | unwaited |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (int i = 0; i < COUNT; i++) {
    rows[i] = measure(&works[i], peer);
    print_times(&rows[i]);
  }
  printf(
      "\n| step | call / bare | processor / bare | processor beyond bare: ns an operation | ns an argument | waited / "
      "bare "
      "| unwaited / bare |\n|---|---|---|---|---|---|---|\n");
  for (int i = 0; i < COUNT; i++) print_ratios(&rows[i]);
}

// Prints what recording costs, by turns with chains of additions.
static void print_recording(void) {
  enum { LONGEST = 100000 };
  static lxla_tensor kept[LONGEST + 1];
  recording_operands on = recording_prepare();
  printf(
      "\nRecording matmul, transpose, reduce, broadcast, select, scalar and in-place operations in turn, medians of "
      "%d. Each "
      "handle is released after its last use, or all are kept until the end.\n\n",
      SAMPLES);
  printf(
      "| operations | addition, ns | mixed, ns | mixed / addition | mixed, kept, ns | lxla_tensor_release_many, ns a "
      "handle |\n"
      "|---|---|---|---|---|---|\n");
  for (int n = 100; n <= LONGEST; n *= 10) {
    double addition[SAMPLES], mixed[SAMPLES], kept_mixed[SAMPLES], release[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
      addition[i] = recording_measure(&on, ADDITIONS, n, NULL).record;
      mixed[i] = recording_measure(&on, MIXED, n, NULL).record;
      recording_cost cost = recording_measure(&on, MIXED, n, kept);
      kept_mixed[i] = cost.record, release[i] = cost.release;
    }
    double a = median(addition, SAMPLES), m = median(mixed, SAMPLES);
    printf("| %d | %.1f | %.1f | %.2f | %.1f | %.1f |\n", n, a, m, m / a, median(kept_mixed, SAMPLES),
           median(release, SAMPLES));
  }
  recording_release(&on);
}

// --- Counting instructions ---

// instructions.py counts the instructions of the library calls in these functions. It selects the functions by name.
enum { COUNTED = 7000, COUNTED_ROUNDS = 6, COUNTED_DEPTH = 100 };

#define COUNTED_FUNCTION __attribute__((noinline, noclone)) void

COUNTED_FUNCTION count_addition(const recording_operands *on) { record_chain(on, ADDITIONS, COUNTED, NULL); }

COUNTED_FUNCTION count_mixed(const recording_operands *on) { record_chain(on, MIXED, COUNTED, NULL); }

COUNTED_FUNCTION count_release_many(const lxla_tensor *tensors, size_t n) { OK(lxla_tensor_release_many(tensors, n)); }

COUNTED_FUNCTION count_step(void) { OK(lxla_mark_step(env, device, 0)); }

// Runs each of them several times, and prints by what its instructions are divided.
static void count(void) {
  static lxla_tensor kept[COUNTED + 1];
  recording_operands on = recording_prepare();
  size_t handles = 0;
  int operations = 0;
  network_prepare(&net, COUNTED_DEPTH, 0);
  OK(lxla_mark_step(env, device, 1));
  for (int i = 0; i < COUNTED_ROUNDS; i++) {
    count_addition(&on);
    count_mixed(&on);
    handles = record_chain(&on, MIXED, COUNTED, kept);
    count_release_many(kept, handles);
    lxla_tensor loss = network_train(&net);
    if (i == 0) {
      char *text;
      OK(lxla_step_stablehlo(env, device, &text));
      operations = bare_operations(text);
      lxla_string_free(text);
    }
    count_step();
    OK(lxla_wait(env, device));
    drop(loss);
  }
  network_release(&net);
  recording_release(&on);
  printf("count_addition %d\ncount_mixed %d\ncount_release_many %zu\ncount_step %d\n", COUNTED, COUNTED, handles,
         operations);
}

int main(int argc, char **argv) {
  setenv("TF_CPP_MIN_LOG_LEVEL", "1", 0);
  if (argc == 2 && !strcmp(argv[1], "--count")) {
    count();
    return 0;
  }
  int peer = argc == 3 && !strcmp(argv[2], "--peer");
  if (argc != 2 + peer) {
    fprintf(stderr, "usage: %s digits.csv [--peer], or %s --count\n", argv[0], argv[0]);
    return 2;
  }
  pjrt_start();
  prepare_digits(argv[1]);
  print_steps(peer);
  print_recording();
  return 0;
}
