// Saves that are interrupted while they write: S5 of docs/behaviours.md.
#define _GNU_SOURCE
#define FOLDER "test_interrupted.folder"
#include "folder.h"

#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

static const char PATH[] = FOLDER "/saved";
static const char *const NAMES[] = {"big"};

enum { BIG = 8 << 20 };

static lxla_status save_big(lxla_env env, float value, int in_background) {
  lxla_tensor big;
  lxla_save_ticket ticket;
  OK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F32, DIMS(BIG), value, &big));
  lxla_status status = in_background ? lxla_save_async(PATH, NAMES, &big, 1, &ticket) : lxla_save(PATH, NAMES, &big, 1);
  RELEASE(big);
  if (in_background && status == LXLA_OK) {
    status = lxla_save_wait(ticket);
    OK(lxla_save_ticket_release(ticket));
  }
  return status;
}

// Reads the whole file, checking that it is intact.
static float big_in_file(lxla_env env) {
  static float values[BIG];
  lxla_tensor big;
  OK(lxla_load(env, XLA(0), PATH, NAMES[0], &big));
  read_f32(big, values, BIG);
  RELEASE(big);
  for (int i = 1; i < BIG; i++) CHECK(values[i] == values[0]);
  return values[0];
}

TEST(s5_a_file_that_may_not_grow_so_large) {
  clear("");
  lxla_env env = new_env();
  OK(save_big(env, 1, 0));
  struct rlimit before, limit;
  CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0 && signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
  for (rlim_t bytes = 1; bytes < 4 * BIG; bytes *= 64) {
    limit = (struct rlimit){bytes, before.rlim_max};
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    lxla_status at_once = save_big(env, 2, 0), later = save_big(env, 2, 1);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(at_once != LXLA_OK && later == at_once && strstr(lxla_last_error_message(), PATH));
    EQUAL(files(""), 1);
    EQUAL(big_in_file(env), 1);
  }
  OK(save_big(env, 2, 1));
  EQUAL(big_in_file(env), 2);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

TEST(s5_killed_in_mid_write) {
  static const char IS_CHILD[] = "LXLA_TEST_INTERRUPTED_IS_CHILD";
  extern char **environ;
  if (getenv(IS_CHILD)) {
    OK(save_big(new_env(), 2, 0));
    return;
  }
  alarm(120);
  clear("");
  lxla_env env = new_env();
  OK(save_big(env, 1, 0));
  CHECK(setenv(IS_CHILD, "1", 1) == 0);
  enum { KILLS = 6 };
  int in_midst = 0;
  for (int i = 0; in_midst < KILLS; i++) {
    if (i == 10 * KILLS) FAIL("only %d of %d were killed in mid-write", in_midst, i);
    char *argv[] = {"test_interrupted", "s5_killed_in_mid_write", NULL};
    pid_t child;
    CHECK(posix_spawn(&child, "/proc/self/exe", NULL, NULL, argv, environ) == 0);
    int ended = 0;
    while (files("tmp") == 0 && !ended) ended = waitpid(child, NULL, WNOHANG) == child;
    usleep((useconds_t)(in_midst * 1500));
    if (!ended) CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
    in_midst += files("tmp") > 0;
    float value = big_in_file(env);
    CHECK(value == 1 || value == 2);
    if (files("tmp") > 0) EQUAL(value, 1);
    // The next save of that name removes the temporary file of the killed process.
    OK(save_big(env, 1, 0));
    EQUAL(files(""), 1);
  }
  CHECK(unsetenv(IS_CHILD) == 0);
  OK(lxla_env_release(env));
  remove_folder();
}
