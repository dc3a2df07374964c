// The process around the library: H4 (fork) and H5 (exit) of the behaviours.
#include "check.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int status_of(pid_t child) {
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  return status;
}

static void leave_25_times(const char *mode) {
  for (int i = 0; i < 25; i++) {
    char pause[16];
    snprintf(pause, sizeof pause, "%d", i * 1000);
    char *argv[] = {(char *)LXLA_EXIT_CHILD, (char *)mode, strcmp(mode, "compile") == 0 ? pause : NULL, NULL};
    pid_t child;
    CHECK(posix_spawn(&child, LXLA_EXIT_CHILD, NULL, NULL, argv, environ) == 0);
    int status = status_of(child);
    if (!WIFEXITED(status)) FAIL("%s, turn %d: killed by signal %d", mode, i, WTERMSIG(status));
    EQUAL(WEXITSTATUS(status), 7);
  }
}

TEST(h5_return_from_main) { leave_25_times("return"); }
TEST(h5_exit) { leave_25_times("exit"); }
TEST(h5_nobody_holds_what_is_in_flight) { leave_25_times("released"); }
TEST(h5_transfers) { leave_25_times("transfer"); }
TEST(h5_another_thread_compiles) { leave_25_times("compile"); }
TEST(h5_other_threads_go_on) { leave_25_times("threads"); }

TEST(h4_a_forked_child_is_told) {
  lxla_env env = new_env();
  lxla_tensor t = one(env, 1);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(20);  // a deadlock is a failure
    float v;
    int good = lxla_tensor_read(t, &v, sizeof v) == LXLA_FORKED;
    good &= strstr(lxla_last_error_message(), "forked") != NULL;
    good &= lxla_mark_step(env, XLA(0), 1) == LXLA_FORKED;
    good &= lxla_tensor_release(t) == LXLA_FORKED;
    good &= lxla_env_release(env) == LXLA_FORKED;
    good &= strcmp(lxla_status_name(LXLA_FORKED), "FORKED") == 0;
    _exit(good ? 0 : 1);
  }
  EQUAL(status_of(child), 0);
  // A child that leaves by exit, with work of its parent in flight, waits for nobody.
  OK(lxla_binary_scalar_inplace(ADD, t, 0));
  OK(lxla_mark_step(env, XLA(0), 0));
  child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(20);
    exit(lxla_tensor_release(t) == LXLA_FORKED ? 5 : 6);
  }
  int status = status_of(child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
  EQUAL(value(t), 1);
  RELEASE(t);
  OK(lxla_env_release(env));
}
