// A host function that writes its calls, for tests of their order.
#ifndef NOTED_CALLS_H
#define NOTED_CALLS_H

#include <string.h>

#include "check.h"

// The calls so far: for each a digit, the first element of its input.
static char order[256];

static int32_t note(const lxla_kernel_call *call, void *user) {
  (void)user;
  size_t length = strlen(order);
  order[length] = (char)('0' + (int)*(const float *)call->inputs[0].data);
  order[length + 1] = 0;
  return 0;
}

// Fails unless the calls since the last check were these.
#define NOTED(want)                                                               \
  do {                                                                            \
    if (strcmp(order, want) != 0) FAIL("noted \"%s\", want \"%s\"", order, want); \
    order[0] = 0;                                                                 \
  } while (0)

#endif
