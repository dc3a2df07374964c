// Controls the fault plugin and a simulated full disk from a test.
#ifndef LXLA_FAULT_H
#define LXLA_FAULT_H

#include "check.h"
#include "fault_plugin.h"

#include <dlfcn.h>

static inline void *fault_function(const char *name) {
  void *plugin = dlopen(LXLA_FAULT_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  if (!plugin) FAIL("%s", dlerror());
  void *function = dlsym(plugin, name);
  if (!function) FAIL("%s", dlerror());
  return function;
}

#define FAULT(name) ((fault_##name##_fn *)(uintptr_t)fault_function("fault_" #name))

static inline lxla_env fault_env(void) {
  lxla_env_options options = default_options();
  options.plugin_path = LXLA_FAULT_PLUGIN;
  lxla_env env;
  OK(lxla_env_create(&options, &env));
  return env;
}

// Simulates a full disk: system calls on files in LXLA_FAULT_FOLDER can fail, if the test defines that macro. The
// functions below replace those of the C library, because the linker prefers a program's own functions.
#ifdef LXLA_FAULT_FOLDER

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { OPEN, READ, WRITE, FSYNC, RENAME, SYSTEM_CALLS };
static const char *const system_names[] = {"open64", "read", "write", "fsync", "rename"};
static struct {
  _Atomic int calls, armed;
} on_disk[SYSTEM_CALLS];

static int disk_is_full(int call, const char *path, int file) {
  char link[64], target[512] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  if (!path && readlink(link, target, sizeof target - 1) > 0) path = target;
  if (!path || !strstr(path, LXLA_FAULT_FOLDER)) return 0;
  // After the rename the file exists, and that is not undone if its folder cannot be synced: see test_files_durable.c.
  if (call == FSYNC && strcmp(path + strlen(path) - strlen(LXLA_FAULT_FOLDER), LXLA_FAULT_FOLDER) == 0) return 0;
  if (++on_disk[call].calls != on_disk[call].armed) return 0;
  errno = ENOSPC;
  return 1;
}

int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  int mode = flags & O_CREAT ? va_arg(rest, int) : 0;
  va_end(rest);
  return disk_is_full(OPEN, path, -1) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

ssize_t read(int file, void *data, size_t size) {
  return disk_is_full(READ, NULL, file) ? -1 : syscall(SYS_read, file, data, size);
}

ssize_t write(int file, const void *data, size_t size) {
  return disk_is_full(WRITE, NULL, file) ? -1 : syscall(SYS_write, file, data, size);
}

// Does nothing: these files need not survive a crash of the machine.
int fsync(int file) { return disk_is_full(FSYNC, NULL, file) ? -1 : 0; }

int rename(const char *from, const char *to) {
  return disk_is_full(RENAME, to, -1) ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

// Returns the number of a system call; -1 for other names.
static int system_call(const char *name) {
  for (int i = 0; i < SYSTEM_CALLS; i++)
    if (strcmp(name, system_names[i]) == 0) return i;
  return -1;
}

#endif

#endif
