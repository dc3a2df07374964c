// Programs that have more rights than their caller (set-user-id): the caller's variables must not make them run code or
// write files. Also files that the variables name and that cannot be read without waiting.
#define _GNU_SOURCE
#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_PRIVILEGED = 77, CALLER = 65534 };

static int ignored;

static void listen(int32_t level, const char *message, void *user) {
  (void)user;
  if (level == 2 && strstr(message, "more rights than its caller")) ignored++;
}

// Body of the privileged program: calls every function that reads environment variables. Returns its exit code.
static int privileged_program(const char *plugin) {
  if (!getauxval(AT_SECURE)) return NOT_PRIVILEGED;
  lxla_set_log_callback(listen, NULL);
  lxla_env env;
  char *json;
  // The caller's plugin is not found: there is the default one, whose start the caller's flags prevent, or none.
  lxla_tensor t;
  OK(lxla_env_create(NULL, &env));
  CHECK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F32, NULL, 0, 1, &t) != LXLA_OK);
  const char *message = lxla_last_error_message();
  CHECK(strstr(message, "XLA_FLAGS: it is set") || strstr(message, "no PJRT plugin found"));
  if (lxla_plugin_list(&json) == LXLA_OK) {
    CHECK(!strstr(json, "evil"));
    lxla_string_free(json);
  }
  // A plugin that the program itself names starts, but not with flags of the caller.
  lxla_env_options options = default_options();
  options.plugin_path = plugin;
  REFUSED(lxla_env_create(&options, &env), LXLA_FAILED_PRECONDITION, "environment variable XLA_FLAGS: it is set");
  CHECK(unsetenv("XLA_FLAGS") == 0);
  OK(lxla_env_create(&options, &env));
  OK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F32, NULL, 0, 1, &t));
  EQUAL(value(scalar(ADD, t, 1)), 2);
  CHECK(ignored >= 6);
  return 0;
}

__attribute__((constructor)) static void run_as_privileged_program(void) {
  const char *plugin = getenv("LXLA_TEST_PRIVILEGED");
  if (plugin) _exit(privileged_program(plugin));
}

static void set_in(const char *name, const char *folder, const char *file) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, file);
  CHECK(setenv(name, path, 1) == 0);
}

// Copies this program.
static void copy_self(const char *to, mode_t mode) {
  char self[512] = {0}, command[2048];
  CHECK(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
  snprintf(command, sizeof command, "cp '%s' '%s'", self, to);
  CHECK(system(command) == 0 && chmod(to, mode) == 0);
}

static int entries_of(const char *folder) {
  DIR *entries = opendir(folder);
  CHECK(entries);
  int count = -2;
  while (readdir(entries)) count++;
  closedir(entries);
  return count;
}

TEST(variables_of_the_caller_are_ignored_by_a_privileged_program) {
  if (geteuid() != 0) {
    printf("skipped: only root can make a program that has its rights\n");
    return;
  }
  char folder[] = "/tmp/lxla_privileged_XXXXXX", program[512], evil[512], state[512];
  CHECK(mkdtemp(folder) && chmod(folder, 0755) == 0);
  snprintf(program, sizeof program, "%s/program", folder);
  snprintf(evil, sizeof evil, "%s/evil", folder);
  snprintf(state, sizeof state, "%s/evil/state", folder);
  CHECK(mkdir(evil, 0777) == 0 && chmod(evil, 0777) == 0 && mkdir(state, 0777) == 0 && chmod(state, 0777) == 0);
  copy_self(program, 04755);
  char script[600], marker[600];
  snprintf(script, sizeof script, "%s/evil.so", evil);
  snprintf(marker, sizeof marker, "%s/ran", evil);
  FILE *file = fopen(script, "w");
  CHECK(file && fprintf(file, "#!/bin/sh\ntouch %s\n", marker) > 0 && fclose(file) == 0 && chmod(script, 0755) == 0);
  char *plugin = strdup(test_plugin());
  pid_t child = fork();
  CHECK(plugin && child >= 0);
  if (child == 0) {
    set_in("LXLA_PJRT_PLUGIN", evil, "evil.so");
    set_in("LXLA_PROBE", evil, "evil.so");
    char named[700];
    snprintf(named, sizeof named, "evil:%s", script);
    CHECK(setenv("PJRT_NAMES_AND_LIBRARY_PATHS", named, 1) == 0 && setenv("LXLA_PLUGIN_DIRS", evil, 1) == 0);
    set_in("LXLA_CACHE_DIR", state, "cache");
    set_in("LXLA_STATE_DIR", state, "facts");
    set_in("XDG_CACHE_HOME", state, "xdg");
    CHECK(setenv("HOME", state, 1) == 0 && setenv("LXLA_PLUGIN_CHECK", "off", 1) == 0);
    set_in("XLA_FLAGS", state, "flags");
    CHECK(setenv("LXLA_DONATION", "no such value", 1) == 0);
    CHECK(setenv("LXLA_TEST_PRIVILEGED", plugin, 1) == 0);
    CHECK(setresgid(CALLER, CALLER, CALLER) == 0 && setresuid(CALLER, CALLER, CALLER) == 0);
    execl(program, program, (char *)NULL);
    _exit(126);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
  free(plugin);
  if (WEXITSTATUS(status) == NOT_PRIVILEGED) {
    printf("skipped: the file system ignores set-user-id\n");
  } else {
    EQUAL(WEXITSTATUS(status), 0);
    CHECK(access(marker, F_OK) != 0);
    EQUAL(entries_of(state), 0);
  }
  char command[600];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  CHECK(system(command) == 0);
}

// --- FIFOs ---

TEST(a_fifo_is_no_plugin_and_has_no_flags) {
  char folder[] = "/tmp/lxla_fifo_XXXXXX", fifo[512];
  CHECK(mkdtemp(folder));
  snprintf(fifo, sizeof fifo, "%s/fifo", folder);
  CHECK(mkfifo(fifo, 0600) == 0);
  alarm(120);
  lxla_env env;
  lxla_env_options options = default_options();
  options.plugin_path = fifo;
  REFUSED(lxla_env_create(&options, &env), LXLA_FAILED_PRECONDITION, "it is a FIFO; want a regular file");
  const char *before = getenv("LXLA_PJRT_PLUGIN");
  char *kept = before ? strdup(before) : NULL;
  CHECK(setenv("LXLA_PJRT_PLUGIN", fifo, 1) == 0);
  OK(lxla_env_create(NULL, &env));
  lxla_tensor t;
  REFUSED(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F32, NULL, 0, 1, &t), LXLA_FAILED_PRECONDITION, "it is a FIFO");
  OK(lxla_env_release(env));
  CHECK((kept ? setenv("LXLA_PJRT_PLUGIN", kept, 1) : unsetenv("LXLA_PJRT_PLUGIN")) == 0);
  free(kept);
  // The plugin itself reads the file that XLA_FLAGS names.
  CHECK(setenv("XLA_FLAGS", fifo, 1) == 0);
  options.plugin_path = test_plugin();
  REFUSED(lxla_env_create(&options, &env), LXLA_FAILED_PRECONDITION, "environment variable XLA_FLAGS: ");
  CHECK(unsetenv("XLA_FLAGS") == 0);
  OK(lxla_env_create(&options, &env));
  OK(lxla_env_release(env));
  CHECK(unlink(fifo) == 0 && rmdir(folder) == 0);
  alarm(0);
}
