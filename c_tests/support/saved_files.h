// Saves and loads of one value under one path, for tests of files. The test defines FOLDER before it includes this
// file. Tensors are eager, so no plugin is needed.
#ifndef LXLA_TEST_SAVED_FILES_H
#define LXLA_TEST_SAVED_FILES_H

#include "folder.h"

static const char PATH[] = FOLDER "/saved";
static const lxla_device CPU = {LXLA_DEVICE_CPU, 0};

// Creates an empty folder and an environment.
static inline lxla_env start(void) {
  alarm(120);  // a hang ends the test
  clear("");
  return new_env();
}

static inline void finish(lxla_env env) {
  OK(lxla_env_release(env));
  remove_folder();
}

// Saves the tensor "t", f32[2], filled with `value`.
static inline lxla_status save(lxla_env env, const char *path, float value) {
  lxla_tensor t;
  const char *name = "t";
  OK(lxla_tensor_full(env, CPU, LXLA_DTYPE_F32, DIMS(2), value, &t));
  lxla_status status = lxla_save(path, &name, &t, 1);
  RELEASE(t);
  return status;
}

// Loads the tensor "t" and returns its first element.
static inline float saved(lxla_env env, const char *path) {
  lxla_tensor t;
  float values[2];
  OK(lxla_load(env, CPU, path, "t", &t));
  read_f32(t, values, 2);
  RELEASE(t);
  return values[0];
}

static inline struct stat about(const char *path) {
  struct stat info;
  if (lstat(path, &info) != 0) FAIL("%s: %s", path, strerror(errno));
  return info;
}

static inline void write_file(const char *path, const void *data, size_t size) {
  FILE *file = fopen(path, "wb");
  CHECK(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

#endif
