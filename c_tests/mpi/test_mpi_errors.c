// Wrong arguments, processes that differ, and a program that goes on after them.
#include "processes.h"

#include <mpi.h>

// Checks that a message is one of the function that the caller called, and that it begins with these words.
#define SAYS(call, status, words)                                                             \
  do {                                                                                        \
    REFUSED(call, status, words);                                                             \
    if (strncmp(lxla_last_error_message(), words, strlen(words)) != 0)                        \
      FAIL("it says \"%s\", want \"%s\" at the beginning", lxla_last_error_message(), words); \
  } while (0)

static void arguments_on(void) {
  lxla_tensor x = F32S(DIMS(3, 2), 1, 2, 3, 4, 5, 6), out;
  int32_t r, n;
  SAYS(lxla_mpi_allreduce(x, LXLA_REDUCE_ALL, &out), BAD, "lxla_mpi_allreduce: reduce: 5 given");
  REFUSED(lxla_mpi_allreduce(x, LXLA_REDUCE_SUM, NULL), LXLA_NULL_ARGUMENT, "out_tensor: it is NULL");
  SAYS(lxla_mpi_allreduce(none, LXLA_REDUCE_SUM, &out), LXLA_INVALID_HANDLE, "lxla_mpi_allreduce: x: ");
  REFUSED(lxla_mpi_allgather(x, 2, &out), BAD, "axis: 2 given for rank 2");
  REFUSED(lxla_mpi_allgather(x, -3, &out), BAD, "axis: -3 given");
  REFUSED(lxla_mpi_reduce_scatter(x, 0, &out), BAD, "size 3 of axis 0 is not divisible by");
  REFUSED(lxla_mpi_broadcast(x, size, &out), BAD, "root: ");
  REFUSED(lxla_mpi_broadcast(x, -1, &out), BAD, "root: -1 given; want 0 to ");
  REFUSED(lxla_mpi_send_receive(x, size, -1, &out), BAD, "to: ");
  REFUSED(lxla_mpi_send_receive(x, -1, -2, &out), BAD, "from: -2 given");
  REFUSED(lxla_mpi_rank(env, NULL, &n), LXLA_NULL_ARGUMENT, "out_rank");
  SAYS(lxla_mpi_start(env, NULL), LXLA_ALREADY_EXISTS, "lxla_mpi_start: env: it has been started");
  SAYS(lxla_mpi_start((lxla_env){UINT64_MAX}, NULL), LXLA_INVALID_HANDLE, "lxla_mpi_start: env: ");
  lxla_env other = new_env();
  REFUSED(lxla_mpi_rank(other, &r, &n), LXLA_FAILED_PRECONDITION, "call lxla_mpi_start before");
  SAYS(lxla_mpi_stop(other), LXLA_FAILED_PRECONDITION, "lxla_mpi_stop: env: it was not started");
  lxla_tensor far;
  OK(lxla_tensor_full(other, device, F32, NULL, 0, 1, &far));
  REFUSED(lxla_mpi_broadcast(far, 0, &out), LXLA_FAILED_PRECONDITION, "call lxla_mpi_start before");
  lxla_mpi_options options = {.struct_size = 4};
  REFUSED(lxla_mpi_options_init(&options), BAD, "struct_size: 4 given");
  options.struct_size = sizeof options;
  OK(lxla_mpi_options_init(&options));
  EQUAL(options.timeout_seconds, 600);
  options.timeout_seconds = -1;
  REFUSED(lxla_mpi_start(other, &options), BAD, "timeout_seconds");
  RELEASE(x, far);
  OK(lxla_env_release(other));
}
TEST(wrong_arguments) { in_all(arguments_on); }

// Runs a collective that cannot run, twice; returns the message.
static const char *fails(lxla_status (*record)(lxla_tensor *)) {
  static char message[1024];
  lxla_tensor y = none;
  lxla_status status = record(&y);
  if (is_native()) {
    EQUAL(status, BAD);
  } else {
    OK(status);
    for (int i = 0; i < 2; i++) EQUAL(lxla_mark_step(env, device, 1), BAD);
    EQUAL(state_of(y), LXLA_STATE_PENDING);
    snprintf(message, sizeof message, "%s", lxla_last_error_message());
    RELEASE(y);
    return message;
  }
  snprintf(message, sizeof message, "%s", lxla_last_error_message());
  return message;
}
#define FAILS(record, words)                                                                     \
  do {                                                                                           \
    const char *message_ = fails(record);                                                        \
    if (!strstr(message_, words)) FAIL("%s says \"%s\", want \"%s\"", #record, message_, words); \
  } while (0)

static lxla_tensor short_x, long_x, half_x;
static int is_last(void) { return rank == size - 1; }
static lxla_status sizes(lxla_tensor *y) {
  return lxla_mpi_allreduce(is_last() ? long_x : short_x, LXLA_REDUCE_SUM, y);
}
static lxla_status dtypes(lxla_tensor *y) { return lxla_mpi_broadcast(is_last() ? half_x : short_x, 0, y); }
static lxla_status reductions(lxla_tensor *y) {
  return lxla_mpi_allreduce(short_x, is_last() ? LXLA_REDUCE_MAX : LXLA_REDUCE_SUM, y);
}
static lxla_status roots(lxla_tensor *y) { return lxla_mpi_broadcast(short_x, is_last() ? 1 : 0, y); }
static lxla_status kinds(lxla_tensor *y) {
  return is_last() ? lxla_mpi_broadcast(short_x, 0, y) : lxla_mpi_allreduce(short_x, LXLA_REDUCE_SUM, y);
}
static lxla_status partners(lxla_tensor *y) { return lxla_mpi_send_receive(short_x, rank == 0 ? 1 : -1, -1, y); }

// A step that fails in all processes stays pending: each test has an environment of its own.
#define DIFFER(name, record, words)                                 \
  static void name##_on(void) {                                     \
    short_x = F32S(DIMS(2), 1, 2), long_x = F32S(DIMS(3), 1, 2, 3); \
    OK(lxla_convert(short_x, F16, &half_x));                        \
    if (!is_native()) OK(lxla_mark_step(env, device, 1));           \
    FAILS(record, words);                                           \
    RELEASE(short_x, long_x, half_x);                               \
  }
DIFFER(sizes, sizes, "the processes differ: process 0 has number 0, lazyxla_mpi.allreduce SUM of f32[2], process ")
DIFFER(dtypes, dtypes, "lazyxla_mpi.broadcast root 0 of f16[2]")
DIFFER(reductions, reductions, "lazyxla_mpi.allreduce MAX of f32[2]")
DIFFER(roots, roots, "lazyxla_mpi.broadcast root 1 of f32[2]")
DIFFER(kinds, kinds, "has number 0, lazyxla_mpi.broadcast root 0 of f32[2]")
DIFFER(partners, partners, "process 0 sends to process 1, which receives from process -1")

// Arrays that differ only after their eighth axis.
static lxla_status last_axes(lxla_tensor *y) { return lxla_mpi_allgather(is_last() ? half_x : short_x, 0, y); }
static void last_axes_on(void) {
  short_x = F32S(DIMS(1, 1, 1, 1, 1, 1, 1, 1, 2, 3), 1, 2, 3, 4, 5, 6);
  half_x = F32S(DIMS(1, 1, 1, 1, 1, 1, 1, 1, 3, 2), 1, 2, 3, 4, 5, 6);
  if (!is_native()) OK(lxla_mark_step(env, device, 1));
  FAILS(last_axes, "of f32[1,1,1,1,1,1,1,1,...] (rank 10, 6 elements, hash of dims ");
  RELEASE(short_x, half_x);
}

static void (*of_difference)(void);
// As in_all; the failed call stays pending, and is never made.
static void in_each(void (*test)(void)) {
  const lxla_device devices[] = {{LXLA_DEVICE_XLA, 0}, {LXLA_DEVICE_CPU, 0}};
  of_difference = test;
  for (int i = 0; i < 2; i++) {
    env = new_env(), device = devices[i];
    OK(lxla_mpi_start(env, NULL));
    OK(lxla_mpi_rank(env, &rank, &size));
    of_difference();
    // Collectives work after the error, on the device that has no failed step.
    lxla_device was = device;
    device = (lxla_device){LXLA_DEVICE_CPU, 0};
    lxla_tensor x = F32S(SCALAR, 2);
    HAS_F32(sum_of_all(x), SCALAR, 2 * (float)size);
    RELEASE(x);
    device = was;
    OK(lxla_mpi_stop(env));
    OK(lxla_env_release(env));
  }
}
TEST(sizes_that_differ) { in_each(sizes_on); }
TEST(dtypes_that_differ) { in_each(dtypes_on); }
TEST(reductions_that_differ) { in_each(reductions_on); }
TEST(roots_that_differ) { in_each(roots_on); }
TEST(kinds_that_differ) { in_each(kinds_on); }
TEST(last_axes_that_differ) { in_each(last_axes_on); }
TEST(messages_that_nobody_receives) { in_each(partners_on); }

// Calls of the kernels that the library did not record: none reads or writes beyond its arrays.
static lxla_status applied(const char *target, lxla_tensor x, int64_t y_size, const char *json) {
  lxla_tensor inputs[2] = {x}, y;
  int32_t dtype = F32;
  size_t y_rank = 1;
  OK(lxla_tensor_full(env, (lxla_device){LXLA_DEVICE_CPU, 0}, S32, NULL, 0, 0, &inputs[1]));
  lxla_status status = lxla_kernel_apply(env, target, inputs, 2, &dtype, &y_rank, &y_size, 1, json, &y);
  RELEASE(inputs[1]);
  return status;
}
#define CALL_OF(rank, reduce, root, to, from)                                                             \
  "{\"rank\": " #rank ", \"reduce\": " #reduce ", \"root\": " #root ", \"to\": " #to ", \"from\": " #from \
  ", \"order\": 3}"
TEST(calls_that_were_not_recorded) {
  env = new_env(), device = (lxla_device){LXLA_DEVICE_CPU, 0};
  OK(lxla_mpi_start(env, NULL));
  OK(lxla_mpi_rank(env, &rank, &size));
  lxla_tensor x = F32S(DIMS(1), 1);
  const struct {
    const char *target, *json;
    int64_t y_size;
  } calls[] = {
      {"lazyxla_mpi.allreduce", NULL, 1},
      {"lazyxla_mpi.allreduce", CALL_OF(-1, 0, 0, 0, 0), 1},
      {"lazyxla_mpi.allreduce", CALL_OF(2, 0, 0, 0, 0), 1},
      {"lazyxla_mpi.allreduce", CALL_OF(1, 77, 0, 0, 0), 1},
      {"lazyxla_mpi.allreduce", CALL_OF(1, 0, 0, 0, 0), 0},
      {"lazyxla_mpi.allgather", CALL_OF(1, 0, 0, 0, 0), 1},
      {"lazyxla_mpi.reduce_scatter", CALL_OF(0, 0, 0, 0, 0), 1},
      {"lazyxla_mpi.reduce_scatter", CALL_OF(1, 0, 0, 0, 0), 1},
      {"lazyxla_mpi.broadcast", CALL_OF(1, 0, 100, 0, 0), 1},
      {"lazyxla_mpi.broadcast", CALL_OF(1, 0, -1, 0, 0), 1},
      {"lazyxla_mpi.sum_to_root", CALL_OF(1, 0, 100, 0, 0), 1},
      {"lazyxla_mpi.send_receive", CALL_OF(1, 0, 0, 100, -1), 1},
      {"lazyxla_mpi.send_receive", CALL_OF(1, 0, 0, -1, -2), 1},
  };
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
    REFUSED(applied(calls[i].target, x, calls[i].y_size, calls[i].json), BAD, "not recorded by lazyxla_mpi");
  HAS_F32(sum_of_all(x), DIMS(1), (float)size);
  RELEASE(x);
  OK(lxla_mpi_stop(env));
  OK(lxla_env_release(env));
}

// A communicator of the program's: half of the processes.
static void parts_on(void) {
  if (size < 4) return;
  lxla_env own = new_env();
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  lxla_mpi_options options = {.struct_size = sizeof options};
  OK(lxla_mpi_options_init(&options));
  options.communicator = &half;
  OK(lxla_mpi_start(own, &options));
  int32_t r, n;
  OK(lxla_mpi_rank(own, &r, &n));
  EQUAL(r, rank / 2);
  EQUAL(n, size / 2);
  lxla_tensor x;
  OK(lxla_tensor_full(own, device, F32, NULL, 0, rank, &x));
  HAS_F32(sum_of_all(x), SCALAR, rank % 2 ? 4 : 2);
  RELEASE(x);
  OK(lxla_mpi_stop(own));
  OK(lxla_env_release(own));
  MPI_Comm_free(&half);
}
TEST(a_communicator_of_some_processes) { in_all(parts_on); }
