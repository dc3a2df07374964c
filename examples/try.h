// Error handling of the examples, and lists of sizes. Header only: copy it.
#ifndef EXAMPLE_TRY_H
#define EXAMPLE_TRY_H

#include "lazyxla.h"

#include <stdio.h>
#include <stdlib.h>

// Ends the program with a message if a call fails.
// [recipe]
#define TRY(call)                                                                        \
  do {                                                                                   \
    lxla_status status_ = (call);                                                        \
    if (status_ != LXLA_OK) {                                                            \
      fprintf(stderr, "%s: %s\n", lxla_status_name(status_), lxla_last_error_message()); \
      exit(1);                                                                           \
    }                                                                                    \
  } while (0)
// [recipe end]

// A list of sizes and its length, as two arguments: DIMS(2, 3)
#define DIMS(...) (const int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)

#endif
