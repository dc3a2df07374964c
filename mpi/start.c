// Start and end of collectives in an environment, and errors of the library's functions.
#include "group.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t groups_lock = PTHREAD_MUTEX_INITIALIZER;
static group *groups;
static int initialised_here;
// Whether lxla_mpi_start has failed while it waited for the others.
static atomic_int start_failed;

// --- Errors ---

lxla_status refuse(const char *function, lxla_status status, const char *format, ...) {
  char text[MOST_TEXT];
  int start = snprintf(text, sizeof text, "%s: ", function);
  va_list list;
  va_start(list, format);
  vsnprintf(text + start, sizeof text - (size_t)start, format, list);
  va_end(list);
  return lxla_set_last_error(status, text);
}

lxla_status passed_on(const char *function, const char *argument, lxla_status status) {
  if (status == LXLA_OK) return status;
  // The message begins with the function that failed and its argument.
  char said[4 * MOST_TEXT];
  snprintf(said, sizeof said, "%s", lxla_last_error_message());
  const char *words = strstr(said, ": ");
  if (words && argument) words = strstr(words + 2, ": ");
  words = words ? words + 2 : said;
  return argument ? refuse(function, status, "%s: %s", argument, words) : refuse(function, status, "%s", words);
}

// --- Groups ---

// The handle of an environment, also for id 0.
static lxla_env resolved(lxla_env env) {
  if (!env.id && lxla_env_current(&env) != LXLA_OK && lxla_env_default(&env) != LXLA_OK) env.id = 0;
  return env;
}

group *group_of(lxla_env env) {
  env = resolved(env);
  pthread_mutex_lock(&groups_lock);
  group *g = groups;
  while (g && g->env.id != env.id) g = g->next;
  if (g) atomic_fetch_add(&g->references, 1);
  pthread_mutex_unlock(&groups_lock);
  return g;
}

void group_drop(group *g) {
  if (atomic_fetch_sub(&g->references, 1) != 1) return;
  int finalised = 0;
  MPI_Finalized(&finalised);
  if (!finalised && !g->broken) {
    stop_listening(g);
    mpi_lock();
    MPI_Comm_free(&g->data);
    MPI_Comm_free(&g->notices);
    mpi_unlock();
  }
  if (!g->broken) free(g->buffer);
  free(g->computations);
  free(g->processes);
  free(g);
}

static void drop_kernel(void *user) { group_drop(((kernel_user *)user)->group); }

// MPI_Finalize waits for all processes: a process that has given up one of them does not call it.
static void finalise(void) {
  int finalised = 0;
  MPI_Finalized(&finalised);
  if (finalised || group_was_broken()) return;
  pthread_mutex_lock(&groups_lock);
  for (group *g = groups; g; g = g->next) leave(g), stop_listening(g);
  pthread_mutex_unlock(&groups_lock);
  MPI_Finalize();
}

// Returns a message, or NULL if MPI is ready for collectives.
static const char *ready_mpi(void) {
  int is_finalised = 0, is_initialised = 0, level = 0;
  MPI_Finalized(&is_finalised);
  if (is_finalised) return "MPI was finalised";
  MPI_Initialized(&is_initialised);
  if (!is_initialised) {
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level) != MPI_SUCCESS) return "MPI_Init_thread failed";
    if (!initialised_here) atexit(finalise);
    initialised_here = 1;
  }
  MPI_Query_thread(&level);
  return level >= MPI_THREAD_SERIALIZED ? NULL
                                        : "MPI was initialised without MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE, "
                                          "which MPI_Init_thread gives";
}

// Waits without a group.
static lxla_status arrive(int code, MPI_Request *request, double timeout) {
  struct timespec start, now;
  if (code != MPI_SUCCESS) return LXLA_UNAVAILABLE;
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (;;) {
    int done = 0;
    mpi_lock();
    code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
    mpi_unlock();
    clock_gettime(CLOCK_MONOTONIC, &now);
    double passed = (double)(now.tv_sec - start.tv_sec) + 1e-9 * (double)(now.tv_nsec - start.tv_nsec);
    if (code != MPI_SUCCESS) return LXLA_UNAVAILABLE;
    if (done) return LXLA_OK;
    if (timeout > 0 && passed > timeout) return LXLA_DEADLINE_EXCEEDED;
    usleep(200);
  }
}

// Duplicates the communicator twice, and exchanges the names of the processes. After a failure, MPI may still read and
// write the group.
static lxla_status meet(group *g, MPI_Comm from) {
  MPI_Request request;
  describe_self(&g->self);
  mpi_lock();
  int code = MPI_Comm_idup(from, &g->data, &request);
  mpi_unlock();
  lxla_status status = arrive(code, &request, g->timeout);
  if (status != LXLA_OK) return status;
  mpi_lock();
  MPI_Comm_set_errhandler(g->data, MPI_ERRORS_RETURN);
  MPI_Comm_rank(g->data, &g->rank);
  MPI_Comm_size(g->data, &g->size);
  code = MPI_Comm_idup(g->data, &g->notices, &request);
  mpi_unlock();
  status = arrive(code, &request, g->timeout);
  if (status != LXLA_OK) return status;
  g->processes = calloc((size_t)g->size, sizeof *g->processes);
  if (!g->processes) return LXLA_RESOURCE_EXHAUSTED;
  int bytes = sizeof g->self;
  mpi_lock();
  MPI_Comm_set_errhandler(g->notices, MPI_ERRORS_RETURN);
  code = MPI_Iallgather(&g->self, bytes, MPI_BYTE, g->processes, bytes, MPI_BYTE, g->data, &request);
  mpi_unlock();
  return arrive(code, &request, g->timeout);
}

// Gives up a start: its messages stay pending, so that a second try would receive those of the first.
static lxla_status give_up(group *g, const char *function, lxla_status status) {
  give_up_mpi();
  start_failed = 1;
  if (status == LXLA_DEADLINE_EXCEEDED)
    refuse(function, status, "not all processes called it within %g seconds", g->timeout);
  else if (status == LXLA_UNAVAILABLE) refuse(function, status, "MPI reported an error");
  else refuse(function, status, "no memory for %d processes", g->size);
  lxla_env_release(g->env);
  return status;
}

static lxla_status register_kernels(group *g) {
  for (int32_t kind = 0; kind < KINDS; kind++) {
    lxla_kernel_options options = {.struct_size = sizeof options};
    lxla_kernel_options_init(&options);
    options.pure = LXLA_OFF;  // the computation that applies it is ordered
    options.destroy = drop_kernel;
    g->users[kind] = (kernel_user){g, kind};
    atomic_fetch_add(&g->references, 1);
    lxla_status status = lxla_kernel_register(g->env, name_of(kind), run_collective, &g->users[kind], &options);
    if (status != LXLA_OK) {
      atomic_fetch_sub(&g->references, 1);
      while (kind-- > 0) lxla_kernel_unregister(g->env, name_of(kind));
      return status;
    }
  }
  return LXLA_OK;
}

static const lxla_mpi_options defaults = {sizeof defaults, NULL, 600};

lxla_status lxla_mpi_options_init(lxla_mpi_options *options) {
  static const char function[] = "lxla_mpi_options_init";
  if (!options) return refuse(function, LXLA_NULL_ARGUMENT, "options: it is NULL");
  if (options->struct_size < sizeof *options)
    return refuse(function, LXLA_INVALID_ARGUMENT, "options.struct_size: %zu given; want at least %zu",
                  options->struct_size, sizeof *options);
  size_t size = options->struct_size;
  *options = defaults;
  options->struct_size = size;
  return LXLA_OK;
}

lxla_status lxla_mpi_start(lxla_env env, const lxla_mpi_options *options) {
  static const char function[] = "lxla_mpi_start";
  env = resolved(env);
  lxla_status status = lxla_env_retain(env);
  if (status != LXLA_OK) return passed_on(function, "env", status);
  if (!options) options = &defaults;
  group *known = group_of(env);
  const char *problem = NULL;
  if (known) group_drop(known), status = LXLA_ALREADY_EXISTS, problem = "env: it has been started";
  else if (options->struct_size < sizeof defaults || !(options->timeout_seconds >= 0) ||
           isinf(options->timeout_seconds))
    status = LXLA_INVALID_ARGUMENT,
    problem = "options: want struct_size of the struct, and timeout_seconds of at least 0";
  else if (start_failed)
    status = LXLA_FAILED_PRECONDITION,
    problem = "lxla_mpi_start has failed in this process, and its messages are pending; start the program again";
  else if ((problem = ready_mpi())) status = LXLA_FAILED_PRECONDITION;
  group *g = problem ? NULL : calloc(1, sizeof *g);
  if (!problem && !g) status = LXLA_RESOURCE_EXHAUSTED, problem = "no memory";
  if (problem) {
    refuse(function, status, "%s", problem);
    lxla_env_release(env);
    return status;
  }
  g->env = env, g->timeout = options->timeout_seconds, g->left = -1, g->calls_at_site = -1;
  atomic_init(&g->references, 1);
  pthread_mutex_init(&g->turn, NULL);
  pthread_mutex_init(&g->recording, NULL);
  make_operations();
  status = meet(g, options->communicator ? *(const MPI_Comm *)options->communicator : MPI_COMM_WORLD);
  if (status != LXLA_OK) return give_up(g, function, status);
  listen_for_notices(g);
  status = register_kernels(g);
  if (status != LXLA_OK) {
    passed_on(function, NULL, status);
    group_drop(g);
    lxla_env_release(env);
    return status;
  }
  pthread_mutex_lock(&groups_lock);
  g->next = groups, groups = g;
  pthread_mutex_unlock(&groups_lock);
  return LXLA_OK;
}

lxla_status lxla_mpi_stop(lxla_env env) {
  env = resolved(env);
  pthread_mutex_lock(&groups_lock);
  group **at = &groups;
  while (*at && (*at)->env.id != env.id) at = &(*at)->next;
  group *g = *at;
  if (g) *at = g->next;
  pthread_mutex_unlock(&groups_lock);
  if (!g) return refuse("lxla_mpi_stop", LXLA_FAILED_PRECONDITION, "env: it was not started");
  pthread_mutex_lock(&g->recording);
  forget_computations(g);
  pthread_mutex_unlock(&g->recording);
  for (int32_t kind = 0; kind < KINDS; kind++) lxla_kernel_unregister(env, name_of(kind));
  group_drop(g);
  lxla_env_release(env);
  return LXLA_OK;
}

lxla_status lxla_mpi_rank(lxla_env env, int32_t *out_rank, int32_t *out_size) {
  static const char function[] = "lxla_mpi_rank";
  if (!out_rank || !out_size)
    return refuse(function, LXLA_NULL_ARGUMENT, "%s: it is NULL", out_rank ? "out_size" : "out_rank");
  group *g = group_of(env);
  if (!g) return refuse(function, LXLA_FAILED_PRECONDITION, "env: it was not started; call lxla_mpi_start before");
  *out_rank = g->rank, *out_size = g->size;
  group_drop(g);
  return LXLA_OK;
}
