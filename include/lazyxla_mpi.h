/* lazyxla_mpi: tensors of several processes, exchanged by MPI inside of compiled programs. docs/mpi.md introduces it.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The library liblazyxla_mpi.so is made with the public functions of lazyxla.h; their conventions hold here too. Errors
 * are returned as status codes, and lxla_last_error_message() returns their message, which begins with "kernel" and the
 * name of the function or collective.
 *
 * ORDER      All processes record the same collectives in the same order, and run steps and syncs with them in the same
 *            order. When a program runs, each collective first compares what the processes pass: if kind, dtype, sizes
 *            or arguments differ, it fails in all processes with INVALID_ARGUMENT, and the message names the processes
 *            and both types. A program does not record collectives while a step or sync with collectives runs in the
 *            same environment, in another thread or by lxla_mark_step with `wait` 0 before lxla_wait: processes
 *            number recordings from 0 after each run, and the step fails if the numbers differ.
 * Failure    A collective that fails fails the step or sync: all values are as before. See lxla_mpi_options for
 *            processes that end or do not come.
 * Devices    On cpu the collective runs at once; on XLA devices, in the program that the next step or sync runs. The
 *            plugin must be able to call functions of the process (see lxla_kernel_apply).
 * Dtypes     Floats of 8 and 16 bits are summed, multiplied and compared in f32, and rounded once.
 * Transforms Collectives are linear maps of the values of all processes (but for products, MAX and MIN), and their
 *            derivatives are those maps and their transposes: gradients are those of the sum of the ys of all
 *            processes. Derivatives exist up to the third order. In a batch (lxla_computation_vmap), loop, scan or
 *            branch, all processes must run the collective equally often.
 */
#ifndef LAZYXLA_MPI_H
#define LAZYXLA_MPI_H

#include "lazyxla.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of lxla_mpi_start. */
typedef struct {
  /** sizeof(lxla_mpi_options), set by the caller. */
  size_t struct_size;
  /** Pointer to the MPI_Comm of the processes, which is duplicated; NULL for MPI_COMM_WORLD. */
  const void *communicator;
  /**
   * Seconds after which a collective that others have not joined fails with DEADLINE_EXCEEDED; the message names the
   * processes that did not answer. 0: never. Default 600. Processes of the same host that have ended are noticed
   * within a second, whatever the time is: UNAVAILABLE, and the message names them. After either error, the other
   * processes' collectives fail with the same message, and all later ones of the environment: values and computations
   * without collectives stay usable.
   */
  double timeout_seconds;
} lxla_mpi_options;

/** Sets all fields after `struct_size` to their defaults. */
lxla_status lxla_mpi_options_init(lxla_mpi_options *options);

/**
 * Starts collectives in an environment: duplicates the communicator, and registers kernels named `lazyxla_mpi.*`. All
 * processes of the communicator call it. If MPI is not initialised, initialises it (and finalises it at exit).
 * FAILED_PRECONDITION if MPI was finalised, or initialised with less than MPI_THREAD_SERIALIZED: collectives run on
 * threads of the plugin, one at a time. With MPI_THREAD_SERIALIZED, the program itself must not call MPI while a step
 * or sync runs. ALREADY_EXISTS if the environment has been started.
 *
 * DEADLINE_EXCEEDED if not all processes call it within `timeout_seconds`, UNAVAILABLE if MPI reports an error,
 * RESOURCE_EXHAUSTED if there is no memory for the list of processes. Messages then stay pending: the process must not
 * call MPI_Finalize (the library does not), and later calls are FAILED_PRECONDITION. The environment is as before.
 */
lxla_status lxla_mpi_start(lxla_env env, const lxla_mpi_options *options);

/**
 * Ends collectives in an environment: none can be recorded any more. The communicator is freed when no recorded
 * operation, computation or plan of a step refers to it. FAILED_PRECONDITION if the environment was not started. It may
 * be started again.
 */
lxla_status lxla_mpi_stop(lxla_env env);

/** Returns the number of this process among the processes of the communicator, and how many there are. */
lxla_status lxla_mpi_rank(lxla_env env, int32_t *out_rank, int32_t *out_size);

/**
 * Records the reduction of x over all processes, element by element, by SUM, PRODUCT, MAX or MIN (LXLA_REDUCE_*). Every
 * process gets the result. SUM and PRODUCT of pred are in s64, MAX is the logical or, MIN the logical and.
 * INVALID_ARGUMENT for MAX and MIN of complex numbers. NaN in any process gives NaN; max(-0, 0) is 0, min(-0, 0) is -0.
 *
 * The cotangent of x is the sum of the cotangents of all processes for SUM; for PRODUCT this sum times the product of
 * the elements of the other processes; for MAX and MIN, the processes whose element is the result share it evenly.
 */
lxla_status lxla_mpi_allreduce(lxla_tensor x, int32_t reduce, lxla_tensor *out_tensor);

/**
 * Records the concatenation of the x of all processes along `axis`, in the order of their ranks. x has equal dims in
 * all processes. All dtypes. Its cotangent is lxla_mpi_reduce_scatter of the result's.
 */
lxla_status lxla_mpi_allgather(lxla_tensor x, int32_t axis, lxla_tensor *out_tensor);

/**
 * Records the sum of the x of all processes, of which each process gets one piece along `axis`, in the order of their
 * ranks. The size of the axis must be divisible by the number of processes. pred is summed in s64. Its cotangent is
 * lxla_mpi_allgather of the result's.
 */
lxla_status lxla_mpi_reduce_scatter(lxla_tensor x, int32_t axis, lxla_tensor *out_tensor);

/**
 * Records the x of process `root`, in all processes. The x of the others give dtype and dims only. All dtypes. The
 * cotangent of x is the sum of the cotangents of all processes in `root`, and 0 in the others.
 */
lxla_status lxla_mpi_broadcast(lxla_tensor x, int32_t root, lxla_tensor *out_tensor);

/**
 * Records that process `to` receives x, and returns what process `from` sends to this one. -1 as `to` sends nothing;
 * -1 as `from` returns zeros. All processes of the communicator call it, and what one sends another must receive:
 * INVALID_ARGUMENT otherwise, when it runs. All dtypes. The cotangent travels the opposite way.
 */
lxla_status lxla_mpi_send_receive(lxla_tensor x, int32_t to, int32_t from, lxla_tensor *out_tensor);

#ifdef __cplusplus
}
#endif

#endif
