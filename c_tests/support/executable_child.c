// Loads an executable from the file that its first argument names, on the device of the second one (or on the mesh
// "a=2" of the first two of three devices), runs it on host memory, and prints counters and the results: for
// test_executables.c.
#include "lazyxla.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRY(call)                                         \
  do {                                                    \
    if ((call) != LXLA_OK) {                              \
      fprintf(stderr, "%s\n", lxla_last_error_message()); \
      exit(1);                                            \
    }                                                     \
  } while (0)

static lxla_env env = {0};

static lxla_device mesh_of_two(void) {
  lxla_env_options options = {.struct_size = sizeof options};
  TRY(lxla_env_options_init(&options));
  options.device_count = 3;
  TRY(lxla_env_create(&options, &env));
  lxla_mesh mesh;
  lxla_device device;
  TRY(lxla_mesh_create(env, (const char *[]){"a"}, (int64_t[]){2}, 1, NULL, &mesh));
  TRY(lxla_mesh_device(mesh, &device));
  return device;
}

static uint64_t counter(const char *name) {
  uint64_t value;
  TRY(lxla_env_counter(env, name, &value));
  return value;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  lxla_device device;
  lxla_executable executable;
  if (strcmp(argv[2], "a=2") == 0) device = mesh_of_two();
  else TRY(lxla_device_parse(argv[2], &device));
  TRY(lxla_executable_load(env, device, argv[1], &executable));
  const float x[] = {1, 2, 3, 4}, y[] = {2, 2, 5, -1};
  float first[4], second[4];
  const size_t sizes[] = {sizeof x, sizeof y};
  TRY(lxla_executable_run_host(executable, (const void *[]){x, y}, sizes, 2, (void *[]){first, second}, sizes, 2));
  printf("%" PRIu64 " %" PRIu64, counter("UncachedCompile"), counter("ExecutableRecompiled"));
  for (int i = 0; i < 4; i++) printf(" %g %g", first[i], second[i]);
  printf("\n");
  TRY(lxla_executable_release(executable));
  return 0;
}
