// Computations of scalars for operations that take one: combiners and comparators.
#ifndef LXLA_TEST_COMBINERS_H
#define LXLA_TEST_COMBINERS_H

#include "both.h"
#include "computation.h"

// Traces a computation of two scalars.
static inline lxla_computation of_two(int32_t op, int32_t dtype) {
  lxla_tensor a = placeholder(env, dtype, NULL, 0), b = placeholder(env, dtype, NULL, 0), r = binary(op, a, b);
  lxla_computation c = traced(TENSORS(a, b), TENSORS(r));
  RELEASE(a, b, r);
  return c;
}

static inline lxla_tensor compared(int32_t op, lxla_tensor a, lxla_tensor b) {
  lxla_tensor r;
  OK(lxla_compare(op, a, b, &r));
  return r;
}

static inline lxla_tensor selected(lxla_tensor pred, lxla_tensor a, lxla_tensor b) {
  lxla_tensor r;
  OK(lxla_select(pred, a, b, &r));
  return r;
}

static inline lxla_computation comparison(int32_t op, int32_t dtype) {
  lxla_tensor a = placeholder(env, dtype, NULL, 0), b = placeholder(env, dtype, NULL, 0), r = compared(op, a, b);
  lxla_computation c = traced(TENSORS(a, b), TENSORS(r));
  RELEASE(a, b, r);
  return c;
}

static inline lxla_window_options window(size_t rank, const int64_t *sizes) {
  lxla_window_options options;
  options.struct_size = sizeof options;
  OK(lxla_window_options_init(&options));
  options.rank = rank;
  options.window_dimensions = sizes;
  return options;
}

#define DONE(...)                                                                                         \
  do {                                                                                                    \
    lxla_computation done_[] = {__VA_ARGS__};                                                             \
    for (size_t i_ = 0; i_ < sizeof done_ / sizeof *done_; i_++) OK(lxla_computation_release(done_[i_])); \
  } while (0)

#endif
