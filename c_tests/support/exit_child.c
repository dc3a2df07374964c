// Leaves the process with work in flight, as its arguments say: a mode, a number of microseconds, a path. Exit code 7.
#include "lazyxla.h"
#include "saved_values.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 256 };
static lxla_tensor a, b;
static const lxla_env env = {0};
static const lxla_device device = {LXLA_DEVICE_XLA, 0};

static void work(void) {
  for (int i = 0; i < 4; i++) {
    lxla_tensor next;
    if (lxla_matmul(a, b, &next)) abort();
    if (lxla_tensor_assign(a, next) || lxla_tensor_release(next)) abort();
    if (lxla_mark_step(env, device, 0)) abort();
  }
}

static atomic_int is_over;

static void *work_until_a_call_fails(void *unused) {
  lxla_status status = LXLA_OK;
  while (status == LXLA_OK && !is_over) {
    status = lxla_binary_scalar_inplace(LXLA_BINARY_MULTIPLY, a, 0.5);
    if (status == LXLA_OK) status = lxla_mark_step(env, device, 0);
  }
  return unused;
}

// As the examples do: a call that fails ends the process.
static void *work_or_exit(void *unused) {
  work_until_a_call_fails(unused);
  exit(1);
}

// Handlers that are registered before the plugin is loaded, and so called after the library's.
static pthread_t joined;
static void join_at_exit(void) {
  is_over = 1;
  pthread_join(joined, NULL);
}

static void call_at_exit(void) {
  static float values[N * N];
  if (lxla_tensor_read(a, values, sizeof values) != LXLA_FAILED_PRECONDITION) _exit(1);
  if (lxla_tensor_release(b) != LXLA_OK) _exit(2);
}

static void *work_for_ever(void *unused) {
  for (;;) {
    lxla_tensor next;
    if (lxla_matmul(a, b, &next) == LXLA_OK) lxla_tensor_release(next);
    lxla_binary_scalar_inplace(LXLA_BINARY_MULTIPLY, a, 0.5);
    lxla_mark_step(env, device, 0);
    float *values = malloc(N * N * sizeof(float));
    lxla_tensor_read(a, values, N * N * sizeof(float));
    free(values);
  }
  return unused;
}

static void *compile_for_ever(void *unused) {
  for (int64_t n = 1;; n++) {
    lxla_tensor x, y, z;
    if (lxla_tensor_full(env, device, LXLA_DTYPE_F32, &n, 1, 0.25, &x)) return unused;
    if (lxla_unary(LXLA_UNARY_TANH, x, &y)) return unused;
    if (lxla_reduce(LXLA_REDUCE_SUM, y, (int64_t[]){0}, 1, 0, &z)) return unused;
    lxla_sync(&z, 1);
  }
}

// Exits while another thread is compiling, perhaps the first program of the process.
static int leave_while_compiling(int microseconds) {
  int32_t devices;
  pthread_t thread;
  if (lxla_env_device_count(env, &devices)) abort();  // starts the plugin
  if (pthread_create(&thread, NULL, compile_for_ever, NULL)) abort();
  usleep((useconds_t)microseconds);
  return 7;
}

static void *step_once(void *unused) {
  if (lxla_mark_step(env, device, 0)) abort();
  return unused;
}

// Starts a step that never ends: a loop whose condition is always true.
static void start_a_step_that_never_ends(void) {
  lxla_tensor p, more, next, x, out;
  lxla_computation condition, body;
  if (lxla_tensor_placeholder(env, device, LXLA_DTYPE_F32, NULL, 0, &p)) abort();
  if (lxla_compare_scalar(LXLA_COMPARE_GE, p, 0, &more) || lxla_binary_scalar(LXLA_BINARY_MULTIPLY, p, 0.5, &next))
    abort();
  if (lxla_computation_trace(&p, 1, &more, 1, &condition) || lxla_computation_trace(&p, 1, &next, 1, &body)) abort();
  if (lxla_tensor_full(env, device, LXLA_DTYPE_F32, NULL, 0, 1, &x)) abort();
  if (lxla_while(condition, body, &x, 1, &out)) abort();
  pthread_t thread;
  if (pthread_create(&thread, NULL, step_once, NULL)) abort();
  usleep(300000);
}

static int leave_a_step_that_never_ends(void) {
  start_a_step_that_never_ends();
  printf("written as it leaves");  // without a line end, so the text is still in stdio's buffer
  return 7;
}

// --- Saves: see saved_values.h for what is in the file ---------------------------------------------------------------

static lxla_tensor saved[SAVED];

static void *save_for_ever(void *path) {
  char names[SAVED][8];
  const char *list[SAVED];
  for (;;)
    if (lxla_save(path, saved_names(names, list), saved, SAVED)) return path;
}

static void to_next_version(void) {
  for (int i = 0; i < SAVED; i++)
    if (lxla_binary_scalar_inplace(LXLA_BINARY_ADD, saved[i], saved_first(i, 2) - saved_first(i, 1))) abort();
}

// Exits `microseconds` after the saves of versions 1 and 2 have begun. Half of the tensors in the first save are
// pending when it begins, and steps that overwrite all tensors are in flight.
static void leave_while_saving(const char *mode, char *path, int microseconds) {
  char names[SAVED][8];
  const char *list[SAVED];
  lxla_save_ticket tickets[2];
  pthread_t thread;
  saved_names(names, list);
  for (int i = 0; i < SAVED; i++) {
    if (lxla_iota(env, device, LXLA_DTYPE_F32, (int64_t[]){SAVED_ELEMENTS}, 1, 0, &saved[i])) abort();
    if (lxla_binary_scalar_inplace(LXLA_BINARY_ADD, saved[i], saved_first(i, 1))) abort();
    if (i == SAVED / 2 - 1 && lxla_mark_step(env, device, 0)) abort();
  }
  if (strcmp(mode, "save_by_thread") == 0) {  // a thread that waits for its saves, and is cut off by the exit
    if (pthread_create(&thread, NULL, save_for_ever, path)) abort();
  } else {
    for (int i = 0; i < 2; i++) {
      if (lxla_save_async(path, list, saved, SAVED, &tickets[i])) abort();
      to_next_version();
      if (lxla_mark_step(env, device, 0)) abort();
    }
    if (strcmp(mode, "save_released") == 0)
      if (lxla_save_ticket_release(tickets[0]) || lxla_save_ticket_release(tickets[1]) ||
          lxla_tensor_release_many(saved, SAVED))
        abort();
  }
  usleep((useconds_t)microseconds);
}

// Leaves while the first products run, for which some plugins create static objects in threads of their own.
static int leave_during_the_first_run(int microseconds) {
  lxla_tensor x, y;
  if (lxla_tensor_full(env, device, LXLA_DTYPE_F32, (int64_t[]){500, 500}, 2, 0.001, &x)) abort();
  for (int i = 0; i < 20; i++) {
    if (lxla_matmul(x, x, &y) || lxla_tensor_release(x)) abort();
    x = y;
  }
  if (lxla_mark_step(env, device, 0)) abort();
  usleep((useconds_t)microseconds);
  return 7;
}

// Forks while a step runs that never ends. The child leaves by exit, and waits for nothing.
static int leave_a_child(void) {
  start_a_step_that_never_ends();
  pid_t child = fork();
  if (child == 0) {
    alarm(30);  // less than the library waits for work in flight
    exit(lxla_mark_step(env, device, 0) == LXLA_FORKED ? 5 : 6);
  }
  int status;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 5) _exit(1);
  _exit(7);
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "";
  if (strcmp(mode, "fork") == 0) return leave_a_child();
  if (strcmp(mode, "join") == 0) atexit(join_at_exit);
  if (strcmp(mode, "handler") == 0) atexit(call_at_exit);
  if (strcmp(mode, "first") == 0 && argc > 2) return leave_during_the_first_run(atoi(argv[2]));
  if (strcmp(mode, "compile") == 0 && argc > 2) return leave_while_compiling(atoi(argv[2]));
  if (strcmp(mode, "endless") == 0) return leave_a_step_that_never_ends();
  if (strncmp(mode, "save", 4) == 0 && argc > 3) {
    leave_while_saving(mode, argv[3], atoi(argv[2]));
    if (strcmp(mode, "save_exit") == 0) exit(7);
    return 7;
  }
  int64_t dims[2] = {N, N};
  static float data[N * N];
  if (lxla_tensor_from_host(env, device, LXLA_DTYPE_F32, dims, 2, data, sizeof data, &a)) abort();
  if (lxla_tensor_full(env, device, LXLA_DTYPE_F32, dims, 2, 0.25, &b)) abort();
  work();
  if (strcmp(mode, "released") == 0) {  // no handle keeps the pending results
    lxla_tensor_release(a);
    lxla_tensor_release(b);
  }
  if (strcmp(mode, "threads") == 0) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
      if (pthread_create(&threads[i], NULL, work_for_ever, NULL)) abort();
    work();
  }
  if (strcmp(mode, "join") == 0 && pthread_create(&joined, NULL, work_until_a_call_fails, NULL)) abort();
  if (strcmp(mode, "failing") == 0) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
      if (pthread_create(&threads[i], NULL, work_or_exit, NULL)) abort();
    usleep((useconds_t)atoi(argv[2]));
    exit(7);
  }
  if (strcmp(mode, "transfer") == 0)
    for (int i = 0; i < 8; i++)
      if (lxla_tensor_write(a, data, sizeof data)) abort();
  if (strcmp(mode, "exit") == 0) exit(7);
  return 7;
}
