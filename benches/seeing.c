// Costs of labels, of a trace and of a report: bench_seeing FOLDER. Files are written to the folder and removed.
#include "bench.h"

#include <sys/stat.h>

enum { LENGTH = 1000, ROUNDS = 101, PAIRS = 1000, STEPS = 10000 };

static double size_of_file(const char *path) {
  struct stat info;
  if (stat(path, &info) != 0) STOP("%s: no such file", path);
  return (double)info.st_size;
}

static lxla_tensor start_value(lxla_env of) {
  lxla_tensor x;
  const int64_t n = 8;
  OK(lxla_tensor_full(of, device, LXLA_DTYPE_F32, &n, 1, 1, &x));
  return x;
}

// Records a chain of additions. Returns the nanoseconds of one.
static double chain(lxla_tensor from, lxla_tensor *out) {
  lxla_tensor x = from;
  OK(lxla_tensor_retain(x));
  const double start = now();
  for (int i = 0; i < LENGTH; i++) {
    lxla_tensor next;
    OK(lxla_binary(LXLA_BINARY_ADD, x, from, &next));
    OK(lxla_tensor_release(x));
    x = next;
  }
  const double took = (now() - start) * 1e3 / LENGTH;
  *out = x;
  return took;
}

static double pushes(void) {
  const double start = now();
  for (int i = 0; i < PAIRS; i++) {
    OK(lxla_label_push("layer"));
    OK(lxla_label_pop());
  }
  return (now() - start) * 1e3 / PAIRS;
}

// Labels: a push with its pop, and an addition with and without a label, in turn.
static void labels(void) {
  double with[ROUNDS], without[ROUNDS], pairs[ROUNDS];
  lxla_tensor from = start_value(env), out;
  for (int i = 0; i < ROUNDS; i++) {
    without[i] = chain(from, &out);
    OK(lxla_tensor_release(out));
    OK(lxla_label_push("model"));
    with[i] = chain(from, &out);
    OK(lxla_tensor_release(out));
    OK(lxla_label_pop());
    pairs[i] = pushes();
  }
  OK(lxla_tensor_release(from));
  const double labelled = median(with, ROUNDS), plain = median(without, ROUNDS);
  printf("| a label: push and pop | %.1f ns |\n", median(pairs, ROUNDS));
  printf("| an addition and the release of its operand, with a label; without | %.1f; %.1f ns |\n", labelled, plain);
}

static void add_one(lxla_tensor *x) {
  lxla_tensor next;
  OK(lxla_binary_scalar(LXLA_BINARY_ADD, *x, 1, &next));
  OK(lxla_tensor_release(*x));
  *x = next;
}

// Trains nothing: x + 1, under a label, once in each step. Returns the microseconds of a step.
static double step(lxla_env of, lxla_tensor *x) {
  const double start = now();
  OK(lxla_label_push("update"));
  add_one(x);
  OK(lxla_label_pop());
  OK(lxla_mark_step(of, device, 1));
  return now() - start;
}

// A trace: pairs of push and pop, each an event, with and without one.
static void trace(const char *folder) {
  char path[4096];
  snprintf(path, sizeof path, "%s/seeing.json", folder);
  double with[ROUNDS], without[ROUNDS];
  lxla_tensor x = start_value(env);
  step(env, &x);  // starts the engine
  for (int i = 0; i < ROUNDS; i++) {
    without[i] = pushes();
    OK(lxla_trace_start(env, path));
    with[i] = pushes();
    OK(lxla_trace_stop(env));
  }
  OK(lxla_tensor_release(x));
  printf("| an event of a trace | %.2f us |\n", (median(with, ROUNDS) - median(without, ROUNDS)) * 1e-3);
  if (remove(path) != 0) STOP("%s: cannot be removed", path);
}

// A report after many steps, with the timeline.
static void report(const char *folder) {
  char path[4096];
  snprintf(path, sizeof path, "%s/seeing.html", folder);
  lxla_env seen;
  OK(lxla_env_create(NULL, &seen));
  OK(lxla_env_set_option(seen, "timeline", "true"));
  lxla_tensor x = start_value(seen);
  for (int i = 0; i < STEPS; i++) step(seen, &x);
  const double start = now();
  OK(lxla_report(seen, path));
  const double took = now() - start;
  printf("| a report of %d steps | %.2f s, %.1f MB |\n", STEPS, took * 1e-6, size_of_file(path) * 1e-6);
  if (remove(path) != 0) STOP("%s: cannot be removed", path);
  OK(lxla_tensor_release(x));
  OK(lxla_env_release(seen));
}

int main(int argc, char **argv) {
  if (argc != 2) STOP("usage: %s FOLDER", argv[0]);
  if (!getenv("LXLA_PJRT_PLUGIN")) setenv("LXLA_PJRT_PLUGIN", LXLA_TEST_PLUGIN, 1);
  labels();
  trace(argv[1]);
  report(argv[1]);
  return 0;
}
