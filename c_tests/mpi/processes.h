// Helpers of tests that mpirun runs in several processes.
#ifndef LXLA_TEST_PROCESSES_H
#define LXLA_TEST_PROCESSES_H

#include "lazyxla_mpi.h"

#include "both.h"

static int32_t rank, size;

// Runs a test on both devices, with collectives.
static void (*test_of_both)(void);
static inline void with_processes(void) {
  OK(lxla_mpi_start(env, NULL));
  OK(lxla_mpi_rank(env, &rank, &size));
  test_of_both();
  OK(lxla_mark_step(env, device, 1));  // calls of which nothing is read
  OK(lxla_mpi_stop(env));
}
static inline void in_all(void (*test)(void)) {
  test_of_both = test;
  on_both(with_processes);
}

static inline lxla_tensor like(lxla_tensor x) {
  lxla_tensor p;
  OK(lxla_tensor_placeholder_like(x, &p));
  return p;
}

static inline lxla_tensor allreduced(lxla_tensor x, int32_t reduce) {
  lxla_tensor y;
  OK(lxla_mpi_allreduce(x, reduce, &y));
  return y;
}
static inline lxla_tensor sum_of_all(lxla_tensor x) { return allreduced(x, LXLA_REDUCE_SUM); }
static inline lxla_tensor gathered(lxla_tensor x, int32_t axis) {
  lxla_tensor y;
  OK(lxla_mpi_allgather(x, axis, &y));
  return y;
}
static inline lxla_tensor scattered(lxla_tensor x, int32_t axis) {
  lxla_tensor y;
  OK(lxla_mpi_reduce_scatter(x, axis, &y));
  return y;
}
static inline lxla_tensor broadcast(lxla_tensor x, int32_t root) {
  lxla_tensor y;
  OK(lxla_mpi_broadcast(x, root, &y));
  return y;
}
// Sends to the next process, in a circle.
static inline lxla_tensor shifted(lxla_tensor x) {
  lxla_tensor y;
  OK(lxla_mpi_send_receive(x, (rank + 1) % size, (rank + size - 1) % size, &y));
  return y;
}

#endif
