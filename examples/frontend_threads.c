// Threads, and leaving the process with work in flight.
#include "frontend.h"

#include <pthread.h>

enum { THREADS = 4, STEPS = 50 };

// [recipe]
// A worker. The scope of lxla_env_enter, and the error message, are the calling thread's own.
static void *worker(void *argument) {
  const lxla_env *shared = argument;
  float value = 0;
  TRY(lxla_env_enter(*shared));
  lxla_tensor x = from_floats(device, DIMS(1), &value);
  for (int i = 0; i < STEPS; i++) {
    TRY(lxla_binary_scalar_inplace(LXLA_BINARY_ADD, x, 1));
    TRY(lxla_sync(&x, 1));  // this thread's tensor only; a step would run what every thread has pending
  }
  CHECK(first_value(x, 1) == STEPS);
  RELEASE(x);
  TRY(lxla_env_exit(*shared));
  return NULL;
}
// [recipe end]

int main(void) {
  pthread_t threads[THREADS];
  lxla_env own;
  float values[] = {1, 2};
  TRY(lxla_env_create(NULL, &own));
  for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, worker, &own) == 0);
  for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(counter(own, "CachedPrograms") <= 2);
  TRY(lxla_env_release(own));

  // [recipe]
  lxla_tensor x = from_floats(device, DIMS(2), values);
  TRY(lxla_binary_scalar_inplace(LXLA_BINARY_MULTIPLY, x, 2));
  TRY(lxla_mark_step(env, device, 0));  // may be under way when main returns: the library waits for it
  return 0;
  // [recipe end]
}
