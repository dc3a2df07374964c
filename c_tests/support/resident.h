// Resident memory of the process: present and maximum.
#ifndef LXLA_TEST_RESIDENT_H
#define LXLA_TEST_RESIDENT_H

#include "check.h"

// Resets the maximum of this process's resident memory to the present.
static inline void reset_peak(void) {
  FILE *f = fopen("/proc/self/clear_refs", "w");
  CHECK(f && fputs("5", f) >= 0 && fclose(f) == 0);
}

// Returns a size in bytes from /proc/self/status: "VmRSS:" (present) or "VmHWM:" (maximum).
static inline double status_bytes(const char *key) {
  char line[256];
  double kb = -1;
  FILE *f = fopen("/proc/self/status", "r");
  CHECK(f);
  while (fgets(line, sizeof line, f))
    if (strncmp(line, key, strlen(key)) == 0) kb = atof(line + strlen(key) + 1);
  fclose(f);
  CHECK(kb >= 0);
  return kb * 1024;
}

#endif
