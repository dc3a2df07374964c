// Fixed programs and their hashes: hash_child.c prints the hashes, and test_hash.c compares them with its own.
#ifndef LXLA_HASH_PROGRAMS_H
#define LXLA_HASH_PROGRAMS_H

#include "lazyxla.h"

#include <stdio.h>
#include <stdlib.h>

typedef enum {
  STEP_WITH_DONORS,     // t += u, and no handle keeps the old t
  SYNC_OF_THE_SAME,     // the same work as a sync, which donates nothing
  STEP_WITHOUT_DONORS,  // the same work as a step, with a handle that keeps the old t
  TWO_EXPRESSIONS,      // a -= b, b *= 2
  ONE_EXPRESSION,       // (a + 1) + (b * 2)
  WIRED_ONE_WAY,        // a + b, a / b
  WIRED_THE_OTHER_WAY,  // a + b, b / a
  SCALAR_AT_FIRST,      // t += 3 for the first time: 3 is a constant
  ANOTHER_AT_FIRST,     // t += 5 for the first time, in another environment
  SCALAR_THAT_VARIED,   // t += a scalar that had another value in an earlier step
  OTHER_SHAPE,          // t += 3, f32[2]
  OTHER_DTYPE,          // t += 3, s32[1]
  PROGRAMS
} hash_program;

#define HASH_TRY(call)                                               \
  do {                                                               \
    if ((call) != LXLA_OK) {                                         \
      fprintf(stderr, "%s: %s\n", #call, lxla_last_error_message()); \
      exit(1);                                                       \
    }                                                                \
  } while (0)

static const lxla_device hash_device = {LXLA_DEVICE_XLA, 0};

static inline lxla_tensor hash_tensor(lxla_env env, int32_t dtype, int64_t n) {
  const uint32_t zeros[4] = {0};
  lxla_tensor t;
  HASH_TRY(lxla_tensor_from_host(env, hash_device, dtype, &n, 1, zeros, (size_t)n * 4, &t));
  return t;
}

static inline lxla_tensor hash_one(lxla_env env) { return hash_tensor(env, LXLA_DTYPE_F32, 1); }

static inline void hash_step(lxla_env env, uint8_t *hash) {
  HASH_TRY(lxla_graph_hash(env, hash_device, NULL, 0, hash));
  HASH_TRY(lxla_mark_step(env, hash_device, 1));
}

// Runs t += value and a step.
static inline void hash_add(lxla_env env, lxla_tensor t, double value, uint8_t *hash) {
  HASH_TRY(lxla_binary_scalar_inplace(LXLA_BINARY_ADD, t, value));
  hash_step(env, hash);
}

static inline void hash_wiring(lxla_env env, lxla_tensor a, lxla_tensor b, int turned, uint8_t *hash) {
  lxla_tensor sum, quotient;
  HASH_TRY(lxla_binary(LXLA_BINARY_ADD, a, b, &sum));
  HASH_TRY(lxla_binary(LXLA_BINARY_DIVIDE, turned ? b : a, turned ? a : b, &quotient));
  hash_step(env, hash);
  HASH_TRY(lxla_tensor_release(sum));
  HASH_TRY(lxla_tensor_release(quotient));
}

// Computes all hashes. With `other` 1, does the same work in ways that must not change the hashes: other handles,
// another order of creation, another order of recording within an expression, another value of the scalar that varies.
// Releases nothing.
static inline void hash_all(int other, uint8_t hashes[PROGRAMS][32]) {
  lxla_env env, env2;
  lxla_tensor t, u, a, b, old;
  uint8_t unused[32];
  HASH_TRY(lxla_env_create(NULL, &env));
  HASH_TRY(lxla_env_create(NULL, &env2));
  if (other)
    for (int i = 0; i < 5; i++) hash_one(env);

  if (other) u = hash_one(env), t = hash_one(env);
  else t = hash_one(env), u = hash_one(env);
  HASH_TRY(lxla_binary_inplace(LXLA_BINARY_ADD, t, u));
  HASH_TRY(lxla_graph_hash(env, hash_device, &t, 1, hashes[SYNC_OF_THE_SAME]));
  hash_step(env, hashes[STEP_WITH_DONORS]);
  HASH_TRY(lxla_tensor_snapshot(t, &old));
  HASH_TRY(lxla_binary_inplace(LXLA_BINARY_ADD, t, u));
  hash_step(env, hashes[STEP_WITHOUT_DONORS]);

  if (other) b = hash_one(env), a = hash_one(env);
  else a = hash_one(env), b = hash_one(env);
  HASH_TRY(lxla_binary_inplace(LXLA_BINARY_SUBTRACT, a, b));
  HASH_TRY(lxla_binary_scalar_inplace(LXLA_BINARY_MULTIPLY, b, 2));
  hash_step(env, hashes[TWO_EXPRESSIONS]);

  if (other) {
    HASH_TRY(lxla_binary_scalar(LXLA_BINARY_MULTIPLY, b, 2, &u));
    HASH_TRY(lxla_binary_scalar(LXLA_BINARY_ADD, a, 1, &t));
  } else {
    HASH_TRY(lxla_binary_scalar(LXLA_BINARY_ADD, a, 1, &t));
    HASH_TRY(lxla_binary_scalar(LXLA_BINARY_MULTIPLY, b, 2, &u));
  }
  HASH_TRY(lxla_binary(LXLA_BINARY_ADD, t, u, &old));
  HASH_TRY(lxla_tensor_release(t));
  HASH_TRY(lxla_tensor_release(u));
  hash_step(env, hashes[ONE_EXPRESSION]);

  hash_wiring(env, a, b, 0, hashes[WIRED_ONE_WAY]);
  hash_wiring(env, a, b, 1, hashes[WIRED_THE_OTHER_WAY]);

  t = hash_one(env);
  hash_add(env, t, 3, hashes[SCALAR_AT_FIRST]);
  hash_add(env, t, other ? 8 : 4, unused);
  hash_add(env, t, other ? 1000 : 77, hashes[SCALAR_THAT_VARIED]);
  hash_add(env2, hash_one(env2), 5, hashes[ANOTHER_AT_FIRST]);
  hash_add(env, hash_tensor(env, LXLA_DTYPE_F32, 2), 3, hashes[OTHER_SHAPE]);
  hash_add(env, hash_tensor(env, LXLA_DTYPE_S32, 1), 3, hashes[OTHER_DTYPE]);
}

#endif
