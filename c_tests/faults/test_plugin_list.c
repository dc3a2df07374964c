// Finding plugins, those that hang, crash or cannot be loaded among them: E10 of docs/behaviours.md.
#define _GNU_SOURCE
#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Time limit of tests in which plugins hang, in seconds.
#define LIMIT "5"

// Only the places that a test names are searched, besides the folders of the source tree.
__attribute__((constructor)) static void own_places(void) {
  const char *names[] = {"PATH",
                         "HOME",
                         "VIRTUAL_ENV",
                         "CONDA_PREFIX",
                         "PYTHONPATH",
                         "PYTHONUSERBASE",
                         "TPU_LIBRARY_PATH",
                         "PJRT_NAMES_AND_LIBRARY_PATHS",
                         "LXLA_PLUGIN_DIRS",
                         "LXLA_PROBE",
                         "LXLA_PROBE_TIMEOUT"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
}

static char *list(void) {
  char *json;
  OK(lxla_plugin_list(&json));
  return json;
}

// Returns the path of a broken plugin, without links.
static const char *broken(const char *kind) {
  static char path[PATH_MAX];
  char name[PATH_MAX];
  snprintf(name, sizeof name, "%s/%s.so", LXLA_BROKEN_FOLDER, kind);
  if (!realpath(name, path)) FAIL("%s: %s", name, strerror(errno));
  return path;
}

// Copies the element of the list that has this path; returns 0 if there is none. Each element begins with the same key.
static int find_element(const char *json, const char *path, char *element, size_t size) {
  static const char first[] = "{\"api_version\":";
  char key[PATH_MAX + 16];
  snprintf(key, sizeof key, "\"path\":\"%s\"", path);
  for (const char *at = strstr(json, first); at;) {
    const char *next = strstr(at + 1, first);
    snprintf(element, size, "%.*s", next ? (int)(next - at) : (int)strlen(at), at);
    if (strstr(element, key)) return 1;
    at = next;
  }
  return 0;
}

// Checks that the element with this path contains these words.
static void has(const char *json, const char *path, const char *words) {
  char element[16384];
  if (!find_element(json, path, element, sizeof element)) FAIL("%s is not in %s", path, json);
  if (!strstr(element, words)) FAIL("%s, want %s", element, words);
}

static int open_files(void) {
  int n = 0;
  DIR *folder = opendir("/proc/self/fd");
  CHECK(folder);
  while (readdir(folder)) n++;
  closedir(folder);
  return n;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

TEST(e10_the_plugin_in_use_is_listed_without_a_client) {
  CHECK(setenv("LXLA_PROBE_TIMEOUT", "120", 1) == 0);
  char *json = list(), path[PATH_MAX];
  CHECK(realpath(test_plugin(), path));
  has(json, path, "\"default\":true");
  has(json, path, "\"error\":null");
  has(json, path, "\"api_version\":\"0.");
  has(json, path, getenv("LXLA_PJRT_PLUGIN") ? "\"found\":\"LXLA_PJRT_PLUGIN\"" : "\"found\":\"package\"");
  lxla_string_free(json);
  CHECK(unsetenv("LXLA_PROBE_TIMEOUT") == 0);
}

TEST(e10_plugins_that_hang_or_crash_have_errors_and_do_no_harm) {
  static const struct {
    const char *kind, *words;
  } cases[] = {
      {"hang", "\"error\":\"it did not answer within " LIMIT " s: it hung while the library was loaded\""},
      {"abort", "\"error\":\"it ended its process (signal: 6 (SIGABRT)"},
      {"abort", ") while the library was loaded; it printed: no chips | in this machine\""},
      {"exit", "\"error\":\"it ended its process (exit status: 0) while the library was loaded\""},
      {"close", "\"error\":\"it ended its process (exit status: 1) while the library was loaded\""},
      {"missing", "libabsent.so: cannot open shared object file"},
      {"null", "\"error\":\"its GetPjrtApi returned null\""},
      {"table", "\"error\":\"its function table is too short\""},
      {"version", "\"error\":\"it speaks PJRT API 1.2; want 0.x\""},
      {"version", "\"api_version\":\"1.2\""},
      {"short", "\"error\":\"the plugin has no PJRT_Plugin_Initialize\""},
      // libtpu without a TPU.
      {"initialize", "\"error\":\"it did not answer within " LIMIT " s: it hung in PJRT_Plugin_Initialize\""},
      {"initialize", "\"api_version\":\"0.99\""},
      {"crash", "\"error\":\"it ended its process (signal: 11 (SIGSEGV)"},
      {"crash", ") in PJRT_Plugin_Initialize\""},
      {"error", "\"error\":\"PJRT_Plugin_Initialize: no devices: \\\"none\\\" \xef\xbf\xbd here\""},
      // Initialized: what its attributes do is not a reason not to use it.
      {"attributes", "\"error\":null"},
      {"attributes", "\"api_version\":\"0.99\""},
      {"noisy", "\"api_version\":\"0.99\",\"default\":false,\"error\":null,"},
      {"noisy", "\"platform\":\"rocm\""},
      {"noisy", "\"found\":\"folder\",\"name\":null,\"package\":null,"},
  };
  CHECK(setenv("LXLA_PLUGIN_DIRS", LXLA_BROKEN_FOLDER, 1) == 0 && setenv("LXLA_PROBE_TIMEOUT", LIMIT, 1) == 0);
  const int files = open_files();
  const double start = seconds();
  char *json = list(), element[16384];
  if (seconds() - start > 60) FAIL("the list took %g s", seconds() - start);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) has(json, broken(cases[i].kind), cases[i].words);
  // A library without the function, in a folder of plugins, is none.
  CHECK(!find_element(json, broken("no_function"), element, sizeof element));
  lxla_string_free(json);
  // Nothing is left of the processes.
  EQUAL(open_files(), files);
  CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
  CHECK(unsetenv("LXLA_PLUGIN_DIRS") == 0 && unsetenv("LXLA_PROBE_TIMEOUT") == 0);
  lxla_env env = new_env();
  const lxla_tensor t = one(env, 1);
  EQUAL(value(t), 1);
  RELEASE(t);
  OK(lxla_env_release(env));
}

TEST(e10_files_that_variables_name_are_listed_whatever_they_are) {
  char paths[4 * PATH_MAX], no_function[PATH_MAX];
  snprintf(no_function, sizeof no_function, "%s", broken("no_function"));
  snprintf(paths, sizeof paths, "one:%s,two:/nonexistent/plugin.so,three:/,four:/etc/passwd", no_function);
  CHECK(setenv("PJRT_NAMES_AND_LIBRARY_PATHS", paths, 1) == 0);
  CHECK(setenv("TPU_LIBRARY_PATH", broken("null"), 1) == 0);
  char *json = list();
  has(json, no_function, "undefined symbol: GetPjrtApi");
  has(json, no_function, "\"folder\":null,\"found\":\"PJRT_NAMES_AND_LIBRARY_PATHS\",\"name\":\"one\",");
  has(json, "/nonexistent/plugin.so", "\"api_version\":null,\"default\":false,\"error\":\"No such file or directory");
  has(json, "/", "\"api_version\":null");
  has(json, "/etc/passwd", "invalid ELF header");
  has(json, broken("null"), "\"found\":\"TPU_LIBRARY_PATH\"");
  lxla_string_free(json);
  CHECK(unsetenv("PJRT_NAMES_AND_LIBRARY_PATHS") == 0 && unsetenv("TPU_LIBRARY_PATH") == 0);
}

static void write_text(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

// A Python environment: a distribution with an entry point, and a package in a namespace without one.
TEST(e10_packages_of_python_are_found_without_python) {
  char root[] = "/tmp/lxla_list_XXXXXX", site[PATH_MAX], path[PATH_MAX + 64];
  CHECK(mkdtemp(root));
  const char *folders[] = {"", "/lib", "/lib/python3.12", "/lib/python3.12/site-packages"};
  for (size_t i = 0; i < 4; i++) {
    snprintf(site, sizeof site, "%s%s", root, folders[i]);
    CHECK(mkdir(site, 0700) == 0 || i == 0);
  }
  const char *below[] = {"mine-1.5.dist-info", "mine", "jax_plugins", "jax_plugins/theirs"};
  for (size_t i = 0; i < 4; i++) {
    snprintf(path, sizeof path, "%s/%s", site, below[i]);
    CHECK(mkdir(path, 0700) == 0);
  }
  snprintf(path, sizeof path, "%s/mine-1.5.dist-info/entry_points.txt", site);
  write_text(path, "[console_scripts]\nx = y:z\n[xla_plugins]\nmy_name = mine:start\n");
  snprintf(path, sizeof path, "%s/mine-1.5.dist-info/RECORD", site);
  write_text(path, "mine/__init__.py,,\nmine/plugin.so,sha256=x,1\n");
  char version[PATH_MAX], null[PATH_MAX];
  snprintf(version, sizeof version, "%s", broken("version"));
  snprintf(null, sizeof null, "%s", broken("null"));
  snprintf(path, sizeof path, "%s/mine/plugin.so", site);
  CHECK(symlink(version, path) == 0);
  snprintf(path, sizeof path, "%s/jax_plugins/theirs/library.so", site);
  CHECK(symlink(null, path) == 0);

  CHECK(setenv("VIRTUAL_ENV", root, 1) == 0);
  char *json = list();
  has(json, version, "\"found\":\"entry_point\",\"name\":\"my_name\",\"package\":\"mine 1.5\",");
  has(json, null, "\"found\":\"namespace\",\"name\":\"theirs\",\"package\":null,");
  snprintf(path, sizeof path, "\"folder\":\"%s\"", site);
  has(json, null, path);
  lxla_string_free(json);
  CHECK(unsetenv("VIRTUAL_ENV") == 0);
  char command[PATH_MAX + 32];
  snprintf(command, sizeof command, "/bin/rm -r %s", root);
  CHECK(system(command) == 0);
}

TEST(e10_a_host_that_ignores_its_children_gets_the_list) {
  CHECK(setenv("TPU_LIBRARY_PATH", broken("abort"), 1) == 0);
  CHECK(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
  char *json = list();
  CHECK(signal(SIGCHLD, SIG_DFL) != SIG_ERR);
  has(json, broken("abort"), "\"error\":\"it ended its process while the library was loaded; it printed: no chips");
  lxla_string_free(json);
  CHECK(unsetenv("TPU_LIBRARY_PATH") == 0);
}

// With every number of descriptors that are left: the whole list, or an error, and never a shorter list.
TEST(e10_without_file_descriptors_there_is_no_list_instead_of_an_empty_one) {
  char root[] = "/tmp/lxla_list_XXXXXX", path[PATH_MAX];
  CHECK(mkdtemp(root));
  snprintf(path, sizeof path, "%s/version.so", root);
  CHECK(symlink(broken("version"), path) == 0);
  CHECK(setenv("LXLA_PLUGIN_DIRS", root, 1) == 0);
  char *json = list();
  has(json, broken("version"), "\"found\":\"folder\"");
  lxla_string_free(json);

  struct rlimit before, limited;
  CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
  limited = before;
  int refused = 0, listed = 0;
  for (limited.rlim_cur = 3; !listed; limited.rlim_cur++) {
    CHECK(limited.rlim_cur < 1000);
    json = NULL;
    CHECK(setrlimit(RLIMIT_NOFILE, &limited) == 0);
    lxla_status status = lxla_plugin_list(&json);
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    if (status == LXLA_OK) {
      has(json, broken("version"), "\"found\":\"folder\"");
      lxla_string_free(json);
      listed = 1;
    } else {
      if (status != LXLA_RESOURCE_EXHAUSTED) FAIL("%s: %s", lxla_status_name(status), lxla_last_error_message());
      CHECK(strstr(lxla_last_error_message(), "cannot be searched for plugins: ") ||
            strstr(lxla_last_error_message(), "cannot be started: "));
      refused++;
    }
  }
  CHECK(refused >= 2);
  CHECK(unlink(path) == 0 && rmdir(root) == 0 && unsetenv("LXLA_PLUGIN_DIRS") == 0);
}

TEST(e10_a_missing_probe_is_told) {
  char *json = (char *)"unchanged", *const before = json;
  CHECK(setenv("LXLA_PROBE", "/nonexistent/lazyxla-probe", 1) == 0);
  REFUSED(lxla_plugin_list(&json), LXLA_NOT_FOUND, "LXLA_PROBE: /nonexistent/lazyxla-probe is not a file");
  CHECK(setenv("LXLA_PROBE", "/etc/passwd", 1) == 0);
  REFUSED(lxla_plugin_list(&json), LXLA_FAILED_PRECONDITION, "the program /etc/passwd cannot be started");
  CHECK(unsetenv("LXLA_PROBE") == 0);
  const char *limits[] = {"0", "-1", "soon", "1e9"};
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    CHECK(setenv("LXLA_PROBE_TIMEOUT", limits[i], 1) == 0);
    REFUSED(lxla_plugin_list(&json), LXLA_INVALID_ARGUMENT, "LXLA_PROBE_TIMEOUT: ");
  }
  CHECK(unsetenv("LXLA_PROBE_TIMEOUT") == 0);
  REFUSED(lxla_plugin_list(NULL), LXLA_NULL_ARGUMENT, "out_json: it is NULL");
  CHECK(json == before);
  // A program that is something else.
  CHECK(setenv("LXLA_PROBE", "/bin/true", 1) == 0);
  json = list();
  CHECK(strstr(json, "\"error\":\"it ended its process (exit status: 0) before the library was loaded\""));
  lxla_string_free(json);
  CHECK(unsetenv("LXLA_PROBE") == 0);
}
