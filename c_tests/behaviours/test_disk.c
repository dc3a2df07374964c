// The disk cache between processes: K8 of docs/behaviours.md.
#define _GNU_SOURCE
#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "test_disk.cache"
// The folder that the library makes below the cache folder it is given.
#define OWN FOLDER "/lazyxla-v2"

typedef struct {
  unsigned long compiled, hits, misses, donated, bytes_read;
  double value, tanh_value;
} told;

static void clear(void) {
  char command[256];
  snprintf(command, sizeof command, "chmod -R u+w %s 2>/dev/null; rm -rf %s", FOLDER, FOLDER);
  CHECK(system(command) == 0);
}

static FILE *start(const char *command) {
  CHECK(setenv("LXLA_CACHE_DIR", FOLDER, 1) == 0);
  FILE *child = popen(command, "r");
  CHECK(unsetenv("LXLA_CACHE_DIR") == 0 && child);
  return child;
}

static FILE *start_child(void) { return start(LXLA_DISK_CHILD); }

static told finish_child(FILE *child) {
  told t;
  int got = fscanf(child, "%lu %lu %lu %lu %lf %lf %lu", &t.compiled, &t.hits, &t.misses, &t.donated, &t.value,
                   &t.tanh_value, &t.bytes_read);
  EQUAL(pclose(child), 0);
  EQUAL(got, 7);
  return t;
}

static told child(void) { return finish_child(start_child()); }

static void same_result(told a, told b) {
  EQUAL(a.value, b.value);
  EQUAL(a.tanh_value, b.tanh_value);
  EQUAL(a.donated, b.donated);
}

// Calls `change` with the path of every cached executable in the library's folder; returns their number.
static int each_file(void (*change)(const char *path)) {
  int n = 0;
  DIR *folder = opendir(OWN);
  if (!folder) return 0;
  for (struct dirent *entry; (entry = readdir(folder));) {
    if (entry->d_name[0] == '.') continue;
    char path[512];
    snprintf(path, sizeof path, OWN "/%s", entry->d_name);
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

static void replace_by_fifo(const char *path) { CHECK(unlink(path) == 0 && mkfifo(path, 0600) == 0); }

static void replace_by_text(const char *path) {
  FILE *file = fopen(path, "wb");
  CHECK(file);
  for (int i = 0; i < 200; i++) fputs("this is not an executable ", file);
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
  CHECK(stat(OWN, &info) == 0);
  EQUAL(info.st_mode & 0777, 0700);
  clear();
}

// The plugin's file has more than 100 MB. Nothing else that a process reads has 50.
TEST(k8_a_second_process_does_not_hash_the_plugin) {
  clear();
  const char *without_state = "LXLA_STATE_DIR= LXLA_PLUGIN_CHECK=off exec " LXLA_DISK_CHILD;
  told first = finish_child(start(without_state)), second = finish_child(start(without_state));
  CHECK(first.bytes_read > 100u << 20);
  CHECK(second.bytes_read < 50u << 20);
  EQUAL(second.compiled, 0);
  EQUAL(each_file(NULL), first.compiled);
  same_result(first, second);
  // Without a cache, nothing needs the hash.
  FILE *uncached = popen("LXLA_STATE_DIR= exec " LXLA_DISK_CHILD, "r");
  CHECK(uncached);
  told third = finish_child(uncached);
  CHECK(third.bytes_read < 50u << 20);
  same_result(first, third);
  clear();
}

TEST(k8_damaged_and_foreign_files_are_misses_and_are_replaced) {
  clear();
  told first = child();
  void (*damages[])(const char *) = {cut_short, empty, garble, replace_by_text, replace_by_fifo};
  alarm(200);  // a hang ends the test
  for (int i = 0; i < 5; i++) {
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

static lxla_env env_with_cache(const char *folder) {
  lxla_env_options options = default_options();
  lxla_env env;
  options.cache_dir = folder;
  OK(lxla_env_create(&options, &env));
  return env;
}

// Adds or multiplies 3 and 5 and checks the result; returns whether a program was compiled.
static int computes(lxla_env env, int32_t op, float want) {
  uint64_t before = counter(env, "UncachedCompile");
  lxla_tensor three = one(env, 3), five = one(env, 5), result = binary(op, three, five);
  EQUAL(value(result), want);
  RELEASE(three, five, result);
  return (int)(counter(env, "UncachedCompile") - before);
}

static char kept[512];
static void keep_path(const char *path) { snprintf(kept, sizeof kept, "%s", path); }
static void copy_over(const char *path) {
  char command[2048];
  snprintf(command, sizeof command, "cp %s %s", kept, path);
  if (strcmp(kept, path) != 0) CHECK(system(command) == 0);
}

TEST(a_file_under_another_key_is_a_miss) {
  clear();
  lxla_env env = env_with_cache(FOLDER);
  EQUAL(computes(env, ADD, 8), 1);
  EQUAL(each_file(keep_path), 1);
  EQUAL(computes(env, MUL, 15), 1);
  EQUAL(each_file(copy_over), 2);
  OK(lxla_env_release(env));
  // The product's cache file now holds the executable of the sum.
  for (int turn = 0; turn < 2; turn++) {
    env = env_with_cache(FOLDER);
    EQUAL(computes(env, ADD, 8), 0);
    EQUAL(computes(env, MUL, 15), turn == 0);
    OK(lxla_env_release(env));
  }
  clear();
}

// Writes a file larger than the cache's limit, and older than all files of the cache.
static void plant(const char *path) {
  FILE *file = fopen(path, "wb");
  CHECK(file && fclose(file) == 0 && truncate(path, (off_t)5 << 30) == 0);
  struct timespec old[] = {{1, 0}, {1, 0}};
  CHECK(utimensat(AT_FDCWD, path, old, 0) == 0);
}

TEST(files_of_others_stay) {
  clear();
  CHECK(mkdir(FOLDER, 0700) == 0 && mkdir(OWN, 0700) == 0);
  const char *theirs[] = {FOLDER "/model.safetensors", FOLDER "/.hidden.tmp", FOLDER "/0123.exec", OWN "/notes",
                          OWN "/0123.exec"};
  enum { THEIRS = sizeof theirs / sizeof *theirs };
  for (int i = 0; i < THEIRS; i++) plant(theirs[i]);
  lxla_env env = env_with_cache(FOLDER);
  EQUAL(computes(env, ADD, 8), 1);
  EQUAL(computes(env, MUL, 15), 1);
  OK(lxla_env_release(env));
  struct stat info;
  for (int i = 0; i < THEIRS; i++)
    if (stat(theirs[i], &info) != 0) FAIL("%s is gone", theirs[i]);
  EQUAL(each_file(NULL), 4);
  env = env_with_cache(FOLDER);
  EQUAL(computes(env, ADD, 8), 0);
  OK(lxla_env_release(env));
  clear();
}

// Beyond the limit, the library removes files of its own, the oldest first.
static void make_large(const char *path) { plant(path); }

TEST(the_librarys_own_give_way) {
  clear();
  lxla_env env = env_with_cache(FOLDER);
  EQUAL(computes(env, ADD, 8), 1);
  each_file(make_large);
  EQUAL(computes(env, MUL, 15), 1);
  EQUAL(each_file(NULL), 1);
  OK(lxla_env_release(env));
  clear();
}

TEST(a_relative_folder_is_where_it_was_when_it_was_checked) {
  clear();
  CHECK(mkdir(FOLDER, 0700) == 0 && mkdir(FOLDER "/elsewhere", 0700) == 0 &&
        mkdir(FOLDER "/elsewhere/" FOLDER, 0777) == 0);
  int here = open(".", O_RDONLY | O_CLOEXEC);
  lxla_env env = env_with_cache(FOLDER);
  CHECK(here >= 0 && chdir(FOLDER "/elsewhere") == 0);
  EQUAL(computes(env, ADD, 8), 1);
  CHECK(rmdir(FOLDER) == 0);  // fails if anything was written there
  CHECK(fchdir(here) == 0 && close(here) == 0);
  EQUAL(each_file(NULL), 1);
  OK(lxla_env_release(env));
  clear();
}

// The next process that writes removes the temporary files of a process that was killed.
TEST(temporary_files_do_not_stay) {
  clear();
  CHECK(mkdir(FOLDER, 0700) == 0 && mkdir(OWN, 0700) == 0);
  // A temporary file of another machine, too old to be in use; crates/base/src/io/temporary.rs defines the names.
  plant(OWN "/.0123.exec.0123456789abcdef.01234567.0123456789abcdef.tmp");
  lxla_env env = env_with_cache(FOLDER);
  EQUAL(computes(env, ADD, 8), 1);
  OK(lxla_env_release(env));
  EQUAL(access(OWN "/.0123.exec.0123456789abcdef.01234567.0123456789abcdef.tmp", F_OK), -1);
  EQUAL(each_file(NULL), 1);
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
  CHECK(strstr(warning, "2 the disk cache is not used") == warning && strstr(warning, "accessible to others"));
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
