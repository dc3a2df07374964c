// Runs an executable straight through the PJRT C API, as the baseline: load the plugin, compile a text, run it.
#ifndef LXLA_BENCH_PJRT_H
#define LXLA_BENCH_PJRT_H

#include "lazyxla.h"
#include "pjrt_c_api.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const PJRT_Api *pjrt;
static PJRT_Client *pjrt_client;
static PJRT_Device *pjrt_device;

#define STOP(...) (fprintf(stderr, __VA_ARGS__), fprintf(stderr, "\n"), exit(1))

#define OK(call)                                                                                    \
  do {                                                                                              \
    if ((call) != LXLA_OK) STOP("%s:%d: %s: %s", __FILE__, __LINE__, #call, lxla_last_error_message()); \
  } while (0)

static void pjrt_check(PJRT_Error *error) {
  if (!error) return;
  PJRT_Error_Message_Args args = {.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE, .error = error};
  pjrt->PJRT_Error_Message(&args);
  STOP("PJRT: %.*s", (int)args.message_size, args.message);
}

#define PJRT(name, ...)                                                                                 \
  PJRT_##name##_Args name##_args = {.struct_size = PJRT_##name##_Args_STRUCT_SIZE, ##__VA_ARGS__};       \
  pjrt_check(pjrt->PJRT_##name(&name##_args))

static void pjrt_start(void) {
  const char *path = getenv("LXLA_PJRT_PLUGIN");
  void *plugin = dlopen(path && *path ? path : LXLA_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  if (!plugin) STOP("%s", dlerror());
  pjrt = ((const PJRT_Api *(*)(void))(uintptr_t)dlsym(plugin, "GetPjrtApi"))();
  PJRT_NamedValue one = {.struct_size = PJRT_NamedValue_STRUCT_SIZE, .name = "cpu_device_count", .name_size = 16,
                         .type = PJRT_NamedValue_kInt64, .int64_value = 1, .value_size = 1};
  PJRT(Client_Create, .create_options = &one, .num_options = 1);
  pjrt_client = Client_Create_args.client;
  PJRT(Client_AddressableDevices, .client = pjrt_client);
  pjrt_device = Client_AddressableDevices_args.addressable_devices[0];
}

// Compiles with lazyxla's options; see src/engine/pjrt/compile_options.rs.
static PJRT_LoadedExecutable *pjrt_compile(const char *text) {
  static const char options[] =
      "\x1a\x0f\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\x01\x28\x01"
      "\x3a\x20\x0a\x1axla_allow_excess_precision\x12\x02\x10\x00"
      "\x3a\x21\x0a\x1bxla_cpu_enable_fast_min_max\x12\x02\x10\x00"
      "\x3a\x19\x0a\x13xla_cpu_use_xnnpack\x12\x02\x10\x00";
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE, .code = (char *)text, .code_size = strlen(text),
                          .format = "mlir", .format_size = 4};
  PJRT(Client_Compile, .client = pjrt_client, .program = &program, .compile_options = options,
       .compile_options_size = sizeof options - 1);
  return Client_Compile_args.executable;
}

static PJRT_Buffer *pjrt_buffer(PJRT_Buffer_Type type, const int64_t *dims, size_t rank, const void *data) {
  PJRT(Client_BufferFromHostBuffer, .client = pjrt_client, .data = data, .type = type, .dims = dims, .num_dims = rank,
       .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall, .device = pjrt_device);
  PJRT(Event_Destroy, .event = Client_BufferFromHostBuffer_args.done_with_host_buffer);
  return Client_BufferFromHostBuffer_args.buffer;
}

static void pjrt_destroy(PJRT_Buffer *buffer) { PJRT(Buffer_Destroy, .buffer = buffer); }

// Runs an executable; with `wait`, waits for its end. The caller destroys the arguments, donated or not.
static void pjrt_run(PJRT_LoadedExecutable *executable, PJRT_Buffer **arguments, size_t n, PJRT_Buffer **outputs, int wait) {
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
  PJRT_Event *done = NULL;
  PJRT_Buffer *const *argument_list = arguments;
  PJRT_Buffer **output_list = outputs;
  PJRT(LoadedExecutable_Execute, .executable = executable, .options = &options, .argument_lists = &argument_list,
       .num_devices = 1, .num_args = n, .output_lists = &output_list, .device_complete_events = wait ? &done : NULL);
  if (!wait) return;
  PJRT(Event_Await, .event = done);
  PJRT(Event_Destroy, .event = done);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *samples, int n) {
  qsort(samples, (size_t)n, sizeof *samples, by_value);
  return samples[n / 2];
}

static const lxla_env env = {0};
static const lxla_device device = {LXLA_DEVICE_XLA, 0};

#endif
