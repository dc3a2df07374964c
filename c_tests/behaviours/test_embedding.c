// Tests the statements of docs/embedding.md about fork, threads, signals, stacks and dlclose. The first tests need a
// process that has not used a plugin, so the order of the tests matters.
#define _GNU_SOURCE
#include "check.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIDE = 50, OPERATIONS = 1000 };

static const lxla_env env = {0};
static const lxla_device cpu = {LXLA_DEVICE_CPU, 0}, xla = {LXLA_DEVICE_XLA, 0};

// The number of threads; checks that each but the caller blocks these signals.
static int threads_that_block(uint64_t wanted) {
  DIR *tasks = opendir("/proc/self/task");
  CHECK(tasks);
  int found = 0;
  for (struct dirent *entry; (entry = readdir(tasks));) {
    if (entry->d_name[0] == '.') continue;
    char path[PATH_MAX], line[256];
    snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
    FILE *status = fopen(path, "r");
    if (!status) continue;  // it has ended
    uint64_t blocked = 0;
    while (fgets(line, sizeof line, status)) sscanf(line, "SigBlk: %" SCNx64, &blocked);
    fclose(status);
    CHECK((blocked & wanted) == wanted);
    found++;
  }
  closedir(tasks);
  return found;
}

static float sum_on(lxla_device device, float first, int operations) {
  lxla_tensor x, y;
  float values[SIDE * SIDE];
  OK(lxla_tensor_full(env, device, LXLA_DTYPE_F32, (int64_t[]){SIDE, SIDE}, 2, first, &x));
  for (int i = 0; i < operations; i++) {
    OK(lxla_binary_scalar(LXLA_BINARY_ADD, x, 1, &y));
    OK(lxla_tensor_release(x));
    x = y;
  }
  OK(lxla_tensor_read(x, values, sizeof values));
  OK(lxla_tensor_release(x));
  return values[SIDE * SIDE - 1];
}

TEST(a_child_of_a_process_that_made_no_call_computes) {
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) _exit(sum_on(cpu, 1, 2) == 3 && sum_on(xla, 1, 2) == 3 ? 0 : 1);
  int status;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(small_eager_tensors_start_no_thread) {
  const int before = threads_that_block(0);
  CHECK(sum_on(cpu, 1, 3) == 4);
  CHECK(threads_that_block(0) == before);
}

// A symbol of the library, as an application finds it that loads the library by its path.
static void *loaded(const char *name) {
  Dl_info info;
  CHECK(dladdr((void *)&lxla_version, &info) && info.dli_fname);
  void *library = dlopen(info.dli_fname, RTLD_NOW | RTLD_LOCAL);
  CHECK(library);
  void *symbol = dlsym(library, name);
  CHECK(symbol && dlclose(library) == 0);
  return symbol;
}

TEST(symbols_are_those_of_the_library_after_dlclose) {
  CHECK(loaded("lxla_version") == (void *)&lxla_version);
  CHECK(sum_on(cpu, 2, 1) == 3);
}

TEST(threads_inherit_the_mask_and_no_signal_is_handled) {
  sigset_t blocked;
  CHECK(!sigemptyset(&blocked) && !sigaddset(&blocked, SIGUSR1));
  CHECK(!pthread_sigmask(SIG_BLOCK, &blocked, NULL));
  CHECK(sum_on(xla, 1, 5) == 6);
  CHECK(threads_that_block((uint64_t)1 << (SIGUSR1 - 1)) > 1);  // the plugin has threads of its own
  for (int number = 1; number < SIGRTMIN; number++) {           // glibc keeps those below SIGRTMIN that it uses
    struct sigaction now;
    if (sigaction(number, NULL, &now)) continue;
    CHECK(now.sa_handler == SIG_DFL);
  }
}

static void *computes(void *result) {
  *(float *)result = sum_on(xla, 3, OPERATIONS);
  return NULL;
}

TEST(a_thread_with_a_small_stack_compiles) {
  pthread_attr_t small;
  pthread_t thread;
  float result = 0;
  CHECK(!pthread_attr_init(&small) && !pthread_attr_setstacksize(&small, 64 * 1024));
  CHECK(!pthread_create(&thread, &small, computes, &result) && !pthread_join(thread, NULL));
  CHECK(result == 3 + OPERATIONS);
}
