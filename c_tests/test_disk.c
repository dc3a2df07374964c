// The disk cache: K8 of the behaviours, between processes.
#include "check.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const FOLDER = "test_disk.cache";

typedef struct {
  unsigned long compiled, hits, misses, donated;
  double value, tanh_value;
} told;

static void clear(void) {
  char command[256];
  snprintf(command, sizeof command, "chmod -R u+w %s 2>/dev/null; rm -rf %s", FOLDER, FOLDER);
  CHECK(system(command) == 0);
}

static FILE *start_child(void) {
  CHECK(setenv("LXLA_CACHE_DIR", FOLDER, 1) == 0);
  FILE *child = popen(LXLA_DISK_CHILD, "r");
  CHECK(unsetenv("LXLA_CACHE_DIR") == 0 && child);
  return child;
}

static told finish_child(FILE *child) {
  told t;
  int got = fscanf(child, "%lu %lu %lu %lu %lf %lf", &t.compiled, &t.hits, &t.misses, &t.donated, &t.value, &t.tanh_value);
  EQUAL(pclose(child), 0);
  EQUAL(got, 6);
  return t;
}

static told child(void) { return finish_child(start_child()); }

static void same_result(told a, told b) {
  EQUAL(a.value, b.value);
  EQUAL(a.tanh_value, b.tanh_value);
  EQUAL(a.donated, b.donated);
}

// Calls `change` with the path of every file in the folder; gives how many there are.
static int each_file(void (*change)(const char *path)) {
  int n = 0;
  DIR *folder = opendir(FOLDER);
  CHECK(folder);
  for (struct dirent *entry; (entry = readdir(folder));) {
    if (entry->d_name[0] == '.') continue;
    char path[512];
    snprintf(path, sizeof path, "%s/%s", FOLDER, entry->d_name);
    if (change) change(path);
    n++;
  }
  closedir(folder);
  return n;
}

static void cut_short(const char *path) { CHECK(truncate(path, 100) == 0); }
static void empty(const char *path) { CHECK(truncate(path, 0) == 0); }

static void garble(const char *path) {
  FILE *file = fopen(path, "r+b");
  CHECK(file && fseek(file, 200, SEEK_SET) == 0 && fputs("garbled", file) >= 0 && fclose(file) == 0);
}

static void replace_by_text(const char *path) {
  FILE *file = fopen(path, "wb");
  CHECK(file);
  for (int i = 0; i < 200; i++) fputs("this is no executable ", file);
  CHECK(fclose(file) == 0);
}

TEST(k8_a_second_process_compiles_nothing) {
  clear();
  told first = child(), second = child();
  CHECK(first.compiled >= 3);
  EQUAL(first.hits, 0);
  EQUAL(first.misses, first.compiled);
  EQUAL(second.compiled, 0);
  EQUAL(second.hits, first.compiled);
  same_result(first, second);
  EQUAL(first.donated, 5);
  EQUAL(each_file(NULL), first.compiled);
  struct stat info;
  CHECK(stat(FOLDER, &info) == 0);
  EQUAL(info.st_mode & 0777, 0700);
  clear();
}

TEST(k8_damaged_and_foreign_files_are_misses_and_are_replaced) {
  clear();
  told first = child();
  void (*damages[])(const char *) = {cut_short, empty, garble, replace_by_text};
  for (int i = 0; i < 4; i++) {
    each_file(damages[i]);
    told again = child();
    EQUAL(again.compiled, first.compiled);
    EQUAL(again.hits, 0);
    same_result(first, again);
    again = child();
    EQUAL(again.compiled, 0);
    same_result(first, again);
  }
  clear();
}

TEST(k8_ten_processes_at_once_do_no_harm) {
  clear();
  FILE *children[10];
  told results[10];
  for (int i = 0; i < 10; i++) children[i] = start_child();
  for (int i = 0; i < 10; i++) results[i] = finish_child(children[i]);
  for (int i = 1; i < 10; i++) same_result(results[0], results[i]);
  told after = child();
  EQUAL(after.compiled, 0);
  same_result(results[0], after);
  clear();
}

static char warning[512];

static void keep(int32_t level, const char *message, void *user) {
  (void)user;
  snprintf(warning, sizeof warning, "%d %s", level, message);
}

TEST(k8_a_folder_that_is_open_to_others_is_not_used) {
  clear();
  CHECK(mkdir(FOLDER, 0755) == 0 && chmod(FOLDER, 0755) == 0);
  lxla_env_options options = default_options();
  options.cache_dir = FOLDER;
  lxla_env env;
  OK(lxla_set_log_callback(keep, NULL));
  OK(lxla_env_create(&options, &env));
  OK(lxla_set_log_callback(NULL, NULL));
  CHECK(strstr(warning, "2 the disk cache is not used") == warning && strstr(warning, "open to others"));
  lxla_tensor t = one(env, 1), u = scalar(ADD, t, 1);
  EQUAL(value(u), 2);
  EQUAL(counter(env, "PersistentCacheMiss"), 0);
  EQUAL(each_file(NULL), 0);
  RELEASE(t, u);
  OK(lxla_env_release(env));
  clear();
}

TEST(environments_of_one_process_share_it) {
  clear();
  lxla_env_options options = default_options();
  options.cache_dir = FOLDER;
  for (int turn = 0; turn < 2; turn++) {
    lxla_env env;
    OK(lxla_env_create(&options, &env));
    lxla_tensor t = one(env, 1);
    OK(lxla_binary_scalar_inplace(ADD, t, 1));
    EQUAL(step(env), 1);
    EQUAL(value(t), 2);
    EQUAL(counter(env, "UncachedCompile"), turn == 0);
    EQUAL(counter(env, "PersistentCacheHit"), turn);
    RELEASE(t);
    OK(lxla_env_release(env));
  }
  clear();
}
