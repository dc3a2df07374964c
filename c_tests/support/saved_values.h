// Values that exit_child.c saves and test_process.c checks: 64 MB in several tensors, in one of several versions.
#ifndef LXLA_SAVED_VALUES_H
#define LXLA_SAVED_VALUES_H

#include <stdio.h>

enum { SAVED = 8, SAVED_ELEMENTS = 2 << 20 };

// Returns the first element of a tensor. Element i is this number plus i, exact in f32.
static inline float saved_first(int tensor, int version) { return (float)(100 * tensor + 10 * version); }

static inline const char *const *saved_names(char names[SAVED][8], const char *list[SAVED]) {
  for (int i = 0; i < SAVED; i++) {
    snprintf(names[i], sizeof names[i], "t%d", i);
    list[i] = names[i];
  }
  return list;
}

#endif
