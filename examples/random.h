// Random numbers for initial weights and for windows of text. Header only: copy it.
#ifndef RANDOM_H
#define RANDOM_H

#include <math.h>
#include <stdint.h>

// splitmix64, by S. Vigna: the same numbers in every language.
static inline uint64_t next_number(uint64_t *state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

static inline double uniform(uint64_t *state) { return (double)(next_number(state) >> 11) / 9007199254740992.0; }

static inline double normal(uint64_t *state) {
  double radius =
      sqrt(-2 * log(1 - uniform(state)));  // a statement of its own: C leaves open which operand comes first
  return radius * cos(6.283185307179586 * uniform(state));
}

#endif
