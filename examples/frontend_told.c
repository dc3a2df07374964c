// Callbacks for hosts with an event loop or a garbage collector: the library tells when values are there, and asks for
// memory when a device lacks it.
#include "frontend.h"

#include <semaphore.h>
#include <sys/resource.h>

enum { REQUESTS = 3, ELEMENTS = 4 << 20, ITERATIONS = 60 };

// An event loop, which sleeps until there is news.
struct loop {
  sem_t news;
  lxla_status last;
};

// Handles that nothing uses any more. A real collector would find them.
struct heap {
  lxla_tensor garbage[ITERATIONS];
  size_t n_garbage;
  int collections;
};

// [recipe]
// Called on a thread of the library: hands the news to the loop, which reads the value without waiting.
static void on_ready(lxla_status status, const char *message, void *user) {
  struct loop *loop = user;
  if (status != LXLA_OK) fprintf(stderr, "the computation failed: %s\n", message);
  loop->last = status;
  CHECK(sem_post(&loop->news) == 0);
}
// [recipe end]

// [recipe]
// Called when an allocation fails: releases the handles that nothing uses any more, as a collector would.
static int32_t collect(uint64_t bytes, void *user) {
  struct heap *heap = user;
  (void)bytes;
  const int has_found = heap->n_garbage > 0;
  TRY(lxla_tensor_release_many(heap->garbage, heap->n_garbage));
  heap->n_garbage = 0;
  heap->collections++;
  return has_found;  // 1: try again
}
// [recipe end]

static void answer_requests(void) {
  struct loop loop = {.last = LXLA_UNKNOWN};
  CHECK(sem_init(&loop.news, 0, 0) == 0);
  for (int i = 0; i < REQUESTS; i++) {
    float values[] = {1, 2, (float)i};
    lxla_tensor x = from_floats(device, DIMS(3), values), y;
    TRY(lxla_binary_scalar(LXLA_BINARY_MULTIPLY, x, 2, &y));
    TRY(lxla_tensor_on_ready(y, on_ready, &loop));
    // The loop would do other things here.
    CHECK(sem_wait(&loop.news) == 0 && loop.last == LXLA_OK);
    CHECK(first_value(y, 3) == 2);
    RELEASE(x, y);
  }
  CHECK(sem_destroy(&loop.news) == 0);
}

// Returns the bytes of address space that this process has.
static rlim_t address_space(void) {
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  CHECK(file && fscanf(file, "%lu", &pages) == 1 && fclose(file) == 0);
  return (rlim_t)pages * 4096;
}

// A loop on cpu that releases nothing itself, with memory for a dozen values only.
static void iterate_without_releasing(void) {
  const lxla_device cpu = {LXLA_DEVICE_CPU, 0};
  struct heap heap = {.n_garbage = 0};
  TRY(lxla_env_set_memory_callback(env, collect, &heap));
  lxla_tensor x;
  TRY(lxla_tensor_full(env, cpu, LXLA_DTYPE_F32, DIMS(ELEMENTS), 0, &x));
  struct rlimit before, limit;
  CHECK(getrlimit(RLIMIT_AS, &before) == 0);
  limit = before;
  limit.rlim_cur = address_space() + 12 * sizeof(float) * ELEMENTS;
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  for (int i = 0; i < ITERATIONS; i++) {
    lxla_tensor next;
    TRY(lxla_binary_scalar(LXLA_BINARY_ADD, x, 1, &next));
    heap.garbage[heap.n_garbage++] = x;
    x = next;
  }
  CHECK(setrlimit(RLIMIT_AS, &before) == 0);
  float *values = memory(sizeof(float) * ELEMENTS);
  TRY(lxla_tensor_read(x, values, sizeof(float) * ELEMENTS));
  CHECK(values[0] == ITERATIONS && heap.collections > 0);
  free(values);
  TRY(lxla_env_set_memory_callback(env, NULL, NULL));
  TRY(lxla_tensor_release_many(heap.garbage, heap.n_garbage));
  RELEASE(x);
}

int main(void) {
  answer_requests();
  iterate_without_releasing();
  return 0;
}
