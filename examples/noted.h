// Tensors that a model has recorded and that are not needed any more once its result is recorded. Header only: copy it
// with try.h.
//
// A function that records one operation returns NOTED(...). A function that records many stores noted.count at its
// start, and ends with keep(start, result), which releases all others.
#ifndef EXAMPLE_NOTED_H
#define EXAMPLE_NOTED_H

#include "try.h"

static struct {
  lxla_tensor tensors[256];
  size_t count;
  uint64_t operations;  // recorded so far
} noted;

static inline lxla_tensor note(lxla_tensor x) {
  if (noted.count == sizeof noted.tensors / sizeof *noted.tensors) {
    fprintf(stderr, "noted.h: more than %zu tensors\n", noted.count);
    exit(1);
  }
  noted.operations++;
  return noted.tensors[noted.count++] = x;
}

// Releases everything noted since `start` except `result`, which the caller must release.
static inline lxla_tensor keep(size_t start, lxla_tensor result) {
  TRY(lxla_tensor_retain(result));
  TRY(lxla_tensor_release_many(noted.tensors + start, noted.count - start));
  noted.count = start;
  return result;
}

// Records lxla_f(a, b), notes its result and returns it: NOTED(lxla_f, a, b)
#define NOTED(function, ...)         \
  lxla_tensor out_;                  \
  TRY(function(__VA_ARGS__, &out_)); \
  return note(out_)

#endif
