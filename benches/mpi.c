// A step of one allreduce in f32 (record, run, wait), and MPI_Allreduce alone on the same memory; best of the runs:
//   mpirun -n 2 bench_mpi [runs]
#include "lazyxla_mpi.h"
#include "try.h"

#include <mpi.h>
#include <time.h>

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv) {
  int runs = argc > 1 ? atoi(argv[1]) : 200;
  lxla_env env = {0};
  lxla_device device = {LXLA_DEVICE_XLA, 0};
  int32_t rank, size;
  TRY(lxla_mpi_start(env, NULL));
  TRY(lxla_mpi_rank(env, &rank, &size));
  for (int64_t n = 16; n <= 1 << 22; n *= 64) {
    lxla_tensor x, y;
    TRY(lxla_tensor_full(env, device, LXLA_DTYPE_F32, &n, 1, 1, &x));
    TRY(lxla_mark_step(env, device, 1));
    float *in = calloc((size_t)n, sizeof *in), *out = calloc((size_t)n, sizeof *out);
    if (!in || !out) return 1;
    double step = 1e9, identity = 1e9, mpi = 1e9;
    for (int i = 0; i < runs; i++) {
      double start = seconds();
      TRY(lxla_mpi_allreduce(x, LXLA_REDUCE_SUM, &y));
      TRY(lxla_mark_step(env, device, 1));
      double passed = seconds() - start;
      if (passed < step) step = passed;
      TRY(lxla_tensor_release(y));
      start = seconds();
      TRY(lxla_binary_scalar(LXLA_BINARY_ADD, x, 1, &y));
      TRY(lxla_mark_step(env, device, 1));
      passed = seconds() - start;
      if (passed < identity) identity = passed;
      TRY(lxla_tensor_release(y));
      start = seconds();
      MPI_Allreduce(in, out, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      passed = seconds() - start;
      if (passed < mpi) mpi = passed;
    }
    if (rank == 0)
      printf(
          "%d processes, %9lld bytes: a step of an allreduce %9.1f us, of an addition %9.1f us, MPI_Allreduce %9.1f us\n",
          size, (long long)n * 4, step * 1e6, identity * 1e6, mpi * 1e6);
    TRY(lxla_tensor_release(x));
    free(in), free(out);
  }
  TRY(lxla_mpi_stop(env));
  return 0;
}
