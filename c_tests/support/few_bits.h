// Helpers of the tests of types of 2 and 4 bits.
#ifndef LXLA_TEST_FEW_BITS_H
#define LXLA_TEST_FEW_BITS_H

#include "both.h"

#define S4 LXLA_DTYPE_S4
#define U4 LXLA_DTYPE_U4
#define S2 LXLA_DTYPE_S2
#define F4 LXLA_DTYPE_F4E2M1FN

static inline lxla_tensor as(lxla_tensor x, int32_t dtype) {
  lxla_tensor out;
  OK(lxla_convert(x, dtype, &out));
  return out;
}

// Ends a step, where there are steps.
static inline void step_now(void) {
  if (!is_native()) step(env);
}

#endif
