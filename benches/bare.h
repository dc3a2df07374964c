// The pending step of a device straight through the PJRT C API: the same text, and the same arguments donated.
#ifndef LXLA_BENCH_BARE_H
#define LXLA_BENCH_BARE_H

#include "digits.h"
#include "pjrt.h"

#include <inttypes.h>

typedef struct {
  PJRT_LoadedExecutable *executable;
  int operations, arguments, outputs;
  int *updated_by;  // for each argument the output that is written over its buffer, or -1
  PJRT_Buffer **in, **out;
  PJRT_Event *done;  // of the run that was enqueued last
} bare_step;

static inline void *bare_allocate(size_t count, size_t size) {
  void *memory = calloc(count, size);
  if (!memory) STOP("no memory for %zu elements of %zu bytes", count, size);
  return memory;
}

// Counts how often `what` occurs between `at` and `end`.
static inline int bare_count(const char *at, const char *end, const char *what) {
  int count = 0;
  while ((at = strstr(at, what)) && at < end) at += strlen(what), count++;
  return count;
}

// Makes a buffer of zeros of the type at `at`, such as 64x32xf32>. Returns the end of the type.
static inline const char *bare_buffer(const char *at, PJRT_Buffer **buffer) {
  int64_t dims[8], elements = 1;
  size_t rank = 0;
  for (int used = 0; rank < 8 && sscanf(at, "%" SCNd64 "x%n", &dims[rank], &used) == 1; at += used)
    elements *= dims[rank++];
  if (strncmp(at, "f32>", 4) != 0) STOP("a benchmark has f32 arguments only: %.40s", at);
  float *zeros = bare_allocate((size_t)elements, sizeof *zeros);
  *buffer = pjrt_buffer(PJRT_Buffer_Type_F32, dims, rank, zeros);
  free(zeros);
  return at + 4;
}

// Reads the parameters of @main: the types, and which of them are donated.
static inline void bare_parameters(bare_step *b, const char *at, const char *end) {
  static const char type[] = ": tensor<", donated[] = " {tf.aliasing_output = ";
  for (int i = 0; (at = strstr(at, type)) && at < end; i++) {
    at = bare_buffer(at + sizeof type - 1, &b->in[i]);
    int is_donated = strncmp(at, donated, sizeof donated - 1) == 0;
    b->updated_by[i] = is_donated ? atoi(at + sizeof donated - 1) : -1;
  }
}

// Returns the number of operations in the text of a step: each is a line that begins with the name of its value.
static inline int bare_operations(const char *text) { return bare_count(text, text + strlen(text), "\n    %v"); }

// Compiles what is pending on the device, and leaves it pending.
static inline bare_step bare_of_pending(void) {
  char *text;
  OK(lxla_step_stablehlo(env, device, &text));
  const char *parameters = strstr(text, "@main("), *results = strstr(text, ") -> "), *body = strchr(results, '\n');
  bare_step b = {.executable = pjrt_compile(text),
                 .operations = bare_operations(body),
                 .arguments = bare_count(parameters, results, ": tensor<"),
                 .outputs = bare_count(results, body, "tensor<")};
  b.updated_by = bare_allocate((size_t)b.arguments, sizeof *b.updated_by);
  b.in = bare_allocate((size_t)b.arguments, sizeof *b.in), b.out = bare_allocate((size_t)b.outputs, sizeof *b.out);
  bare_parameters(&b, parameters, results);
  lxla_string_free(text);
  return b;
}

// Enqueues a run, and puts its outputs in the place of the arguments that it consumed.
static inline void bare_call(bare_step *b) {
  PJRT_Buffer *const *in = b->in, **out = b->out;
  if (b->done) {
    PJRT(Event_Destroy, .event = b->done);
  }
  pjrt_enqueue(b->executable, 1, &in, (size_t)b->arguments, &out, &b->done);
  for (int i = 0; i < b->arguments; i++) {
    if (b->updated_by[i] < 0) continue;
    pjrt_destroy(b->in[i]);
    b->in[i] = b->out[b->updated_by[i]];
    b->out[b->updated_by[i]] = NULL;
  }
}

// Frees the outputs of the last run that are not in the place of an argument.
static inline void bare_release_outputs(bare_step *b) {
  for (int i = 0; i < b->outputs; i++)
    if (b->out[i]) pjrt_destroy(b->out[i]);
}

// Waits for the run that was enqueued last, and so for all.
static inline void bare_wait(bare_step *b) {
  pjrt_await(&b->done, 1);
  b->done = NULL;
}

static inline void bare_free(bare_step *b) {
  for (int i = 0; i < b->arguments; i++) pjrt_destroy(b->in[i]);
  PJRT(LoadedExecutable_Destroy, .executable = b->executable);
  free(b->updated_by), free(b->in), free(b->out);
}

#endif
