// Fork and exit of the process that uses the library: H4 and H5 of docs/behaviours.md.
#include "check.h"
#include "saved_values.h"

#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int status_of(pid_t child) {
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  return status;
}

// Runs a child that leaves the process in the given mode, `microseconds` after its work has begun.
static void leave(const char *mode, int microseconds, const char *path) {
  char pause[16];
  snprintf(pause, sizeof pause, "%d", microseconds);
  char *argv[] = {(char *)LXLA_EXIT_CHILD, (char *)mode, pause, (char *)path, NULL};
  pid_t child;
  CHECK(posix_spawn(&child, LXLA_EXIT_CHILD, NULL, NULL, argv, environ) == 0);
  int status = status_of(child);
  if (!WIFEXITED(status)) FAIL("%s, after %s us: killed by signal %d", mode, pause, WTERMSIG(status));
  if (WEXITSTATUS(status) != 7) FAIL("%s, after %s us: exit code %d, want 7", mode, pause, WEXITSTATUS(status));
}

static void leave_25_times(const char *mode) {
  for (int i = 0; i < 25; i++) leave(mode, i * 1000, NULL);
}

TEST(h5_return_from_main) { leave_25_times("return"); }
TEST(h5_exit) { leave_25_times("exit"); }
TEST(h5_nobody_holds_what_is_in_flight) { leave_25_times("released"); }
TEST(h5_first_run) { leave_25_times("first"); }
TEST(h5_transfers) { leave_25_times("transfer"); }
TEST(h5_another_thread_compiles) { leave_25_times("compile"); }
TEST(h5_other_threads_go_on) { leave_25_times("threads"); }
// They end the process if a call fails: none does while another thread leaves it.
TEST(h5_no_call_of_another_thread_fails) { leave_25_times("failing"); }
// A handler joins a thread whose calls no longer return, and another one calls the library: both come to an end.
TEST(h5_a_handler_joins_a_thread_that_works) { leave("join", 0, NULL); }
TEST(h5_a_handler_calls_the_library) { leave("handler", 0, NULL); }

// A step that never ends: exit waits for it for the configured number of seconds, then ends the process with the
// program's status and with stdio flushed.
TEST(h5_a_step_that_never_ends) {
  static const char *const output = "test_process.endless";
  // Redirects the child's standard output to a file.
  fflush(stdout);
  int own = dup(STDOUT_FILENO), fd = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  CHECK(own >= 0 && fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0);
  CHECK(setenv("LXLA_EXIT_TIMEOUT_SECONDS", "1", 1) == 0);
  alarm(120);
  leave("endless", 0, NULL);
  alarm(0);
  CHECK(unsetenv("LXLA_EXIT_TIMEOUT_SECONDS") == 0);
  CHECK(dup2(own, STDOUT_FILENO) >= 0 && close(own) == 0 && close(fd) == 0);
  char got[64] = "";
  FILE *file = fopen(output, "r");
  CHECK(file && fgets(got, sizeof got, file) && fclose(file) == 0);
  CHECK(strcmp(got, "written as it leaves") == 0);
  CHECK(remove(output) == 0);
}

static const char *const FOLDER = "test_process.saves", *const SAVED_FILE = "test_process.saves/file";

// Returns the number of files in the folder, temporary ones included; removes them if `remove_them`.
static int files(int remove_them) {
  int n = 0;
  DIR *folder = opendir(FOLDER);
  CHECK(folder);
  for (struct dirent *entry; (entry = readdir(folder));) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    char path[512];
    snprintf(path, sizeof path, "%s/%s", FOLDER, entry->d_name);
    if (remove_them) CHECK(remove(path) == 0);
    n++;
  }
  closedir(folder);
  return n;
}

// Returns the version that the saved file holds; fails if the file mixes versions.
static int version_in_file(lxla_env env) {
  static float values[SAVED_ELEMENTS];
  char names[SAVED][8];
  const char *list[SAVED];
  saved_names(names, list);
  int version = -1;
  for (int i = 0; i < SAVED; i++) {
    lxla_tensor t;
    OK(lxla_load(env, XLA(0), SAVED_FILE, list[i], &t));
    read_f32(t, values, SAVED_ELEMENTS);
    RELEASE(t);
    for (int v = 0; v < 3 && version < 0; v++)
      if (values[0] == saved_first(0, v)) version = v;
    for (int k = 0; k < SAVED_ELEMENTS; k++)
      if (values[k] != (float)k + saved_first(i, version))
        FAIL("tensor %d, element %d is %g, want %g of version %d", i, k, values[k], (float)k + saved_first(i, version),
             version);
  }
  return version;
}

// Starts children that save versions 1 and 2 over a file with version 0, and leave at different times.
static void leave_10_times_while_saving(const char *mode, int turn_us, int most_files, int oldest) {
  lxla_env env = new_env();
  CHECK(mkdir(FOLDER, 0755) == 0 || files(1) >= 0);
  lxla_tensor t[SAVED];
  char names[SAVED][8];
  const char *list[SAVED];
  for (int i = 0; i < SAVED; i++) {
    OK(lxla_iota(env, XLA(0), LXLA_DTYPE_F32, DIMS(SAVED_ELEMENTS), 0, &t[i]));
    OK(lxla_binary_scalar_inplace(ADD, t[i], saved_first(i, 0)));
  }
  int version = -1, found[3] = {0};
  for (int i = 0; i < 10; i++) {
    if (version != 0) OK(lxla_save(SAVED_FILE, saved_names(names, list), t, SAVED));
    leave(mode, i * turn_us, SAVED_FILE);
    version = version_in_file(env);
    found[version]++;
    if (version < oldest) FAIL("%s, turn %d: the file has version %d, want %d", mode, i, version, oldest);
    int n = files(0);
    if (n > most_files) FAIL("%s, turn %d: there are %d files, want 1: a temporary one was left behind", mode, i, n);
  }
  printf("  the file had version 0, 1, 2: %d, %d, %d times\n", found[0], found[1], found[2]);
  // The next save removes the temporary files that the children left.
  OK(lxla_save(SAVED_FILE, saved_names(names, list), t, SAVED));
  EQUAL(files(0), 1);
  OK(lxla_tensor_release_many(t, SAVED));
  OK(lxla_env_release(env));
  files(1);
  CHECK(rmdir(FOLDER) == 0);
}

// A save that lxla_save_async accepted is written before the process ends.
TEST(h5_save_and_return_from_main) { leave_10_times_while_saving("save", 10000, 1, 2); }
TEST(h5_save_and_exit) { leave_10_times_while_saving("save_exit", 3000, 1, 2); }
TEST(h5_nobody_holds_what_is_being_saved) { leave_10_times_while_saving("save_released", 20000, 1, 2); }
// A save that another thread waits for may leave a temporary file when the process ends.
TEST(h5_another_thread_saves) { leave_10_times_while_saving("save_by_thread", 40000, 100, 0); }

// A child that leaves by exit does not wait for a step of its parent that never ends.
TEST(h4_a_forked_child_leaves_while_a_step_of_its_parent_runs) { leave("fork", 0, NULL); }

TEST(h4_a_forked_child_is_told) {
  lxla_env env = new_env();
  lxla_tensor t = one(env, 1);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(20);  // a deadlock ends the test
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
  // A child that leaves by exit while its parent's work is in flight does not wait for that work.
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
