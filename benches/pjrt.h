// Runs an executable through the PJRT C API directly, as the baseline: loads the plugin, compiles a text, runs it.
#ifndef LXLA_BENCH_PJRT_H
#define LXLA_BENCH_PJRT_H

#include "bench.h"
#include "pjrt_c_api.h"

#include <dlfcn.h>

static const PJRT_Api *pjrt;
static PJRT_Client *pjrt_client;
static PJRT_Device *pjrt_device, *const *pjrt_devices;  // the first device, and all

static void pjrt_check(PJRT_Error *error) {
  if (!error) return;
  PJRT_Error_Message_Args args = {.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE, .error = error};
  pjrt->PJRT_Error_Message(&args);
  STOP("PJRT: %.*s", (int)args.message_size, args.message);
}

#define PJRT(name, ...)                                                                            \
  PJRT_##name##_Args name##_args = {.struct_size = PJRT_##name##_Args_STRUCT_SIZE, ##__VA_ARGS__}; \
  pjrt_check(pjrt->PJRT_##name(&name##_args))

static inline void pjrt_start_with(int64_t devices) {
  const char *path = getenv("LXLA_PJRT_PLUGIN");
  void *plugin = dlopen(path && *path ? path : LXLA_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  if (!plugin) STOP("%s", dlerror());
  pjrt = ((const PJRT_Api *(*)(void))(uintptr_t)dlsym(plugin, "GetPjrtApi"))();
  PJRT_NamedValue count = {.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                           .name = "cpu_device_count",
                           .name_size = 16,
                           .type = PJRT_NamedValue_kInt64,
                           .int64_value = devices,
                           .value_size = 1};
  PJRT(Client_Create, .create_options = &count, .num_options = 1);
  pjrt_client = Client_Create_args.client;
  PJRT(Client_AddressableDevices, .client = pjrt_client);
  pjrt_devices = Client_AddressableDevices_args.addressable_devices;
  pjrt_device = pjrt_devices[0];
}

static inline void pjrt_start(void) { pjrt_start_with(1); }

// XLA options of lazyxla, see crates/engine/src/pjrt/compile_options.rs.
#define PJRT_SWITCHED_OFF                                       \
  "\x3a\x20\x0a\x1axla_allow_excess_precision\x12\x02\x10\x00"  \
  "\x3a\x21\x0a\x1bxla_cpu_enable_fast_min_max\x12\x02\x10\x00" \
  "\x3a\x19\x0a\x13xla_cpu_use_xnnpack\x12\x02\x10\x00"

static inline PJRT_LoadedExecutable *pjrt_compile_with(const char *text, const char *options, size_t size) {
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE,
                          .code = (char *)text,
                          .code_size = strlen(text),
                          .format = "mlir",
                          .format_size = 4};
  PJRT(Client_Compile, .client = pjrt_client, .program = &program, .compile_options = options,
       .compile_options_size = size);
  return Client_Compile_args.executable;
}

// Compiles for one device.
static inline PJRT_LoadedExecutable *pjrt_compile(const char *text) {
  static const char options[] =
      "\x1a\x0f\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\x01\x28\x01" PJRT_SWITCHED_OFF;
  return pjrt_compile_with(text, options, sizeof options - 1);
}

// Compiles for one partition on each of the first `devices` devices, split by Shardy: num_partitions (5),
// use_spmd_partitioning (6), device_assignment (9), allow_spmd_sharding_propagation_to_output (12),
// use_shardy_partitioner (19).
static inline PJRT_LoadedExecutable *pjrt_compile_partitioned(const char *text, int devices) {
  static const char begin[] = "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\x01\x28", after[] = "\x30\x01\x4a";
  static const char end[] = "\x62\x01\x01\x98\x01\x01", rest[] = PJRT_SWITCHED_OFF;
  char options[512], *at = options + 2;
#define PUT(bytes, size) (memcpy(at, bytes, size), at += (size))
  PUT(begin, sizeof begin - 1);
  *at++ = (char)devices;
  PUT(after, sizeof after - 1);
  *at++ = (char)(4 + 5 * devices);
  PUT("\x08\x01\x10", 3);
  *at++ = (char)devices;
  for (int i = 0; i < devices; i++) {
    PUT("\x1a\x03\x0a\x01", 4);
    *at++ = (char)i;
  }
  PUT(end, sizeof end - 1);
  options[0] = 0x1a, options[1] = (char)(at - options - 2);
  PUT(rest, sizeof rest - 1);
#undef PUT
  return pjrt_compile_with(text, options, (size_t)(at - options));
}

static inline PJRT_Buffer *pjrt_buffer_on(PJRT_Device *device, PJRT_Buffer_Type type, const int64_t *dims, size_t rank,
                                          const void *data) {
  PJRT(Client_BufferFromHostBuffer, .client = pjrt_client, .data = data, .type = type, .dims = dims, .num_dims = rank,
       .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall, .device = device);
  PJRT(Event_Destroy, .event = Client_BufferFromHostBuffer_args.done_with_host_buffer);
  return Client_BufferFromHostBuffer_args.buffer;
}

static inline PJRT_Buffer *pjrt_buffer(PJRT_Buffer_Type type, const int64_t *dims, size_t rank, const void *data) {
  return pjrt_buffer_on(pjrt_device, type, dims, rank, data);
}

static inline void pjrt_destroy(PJRT_Buffer *buffer) { PJRT(Buffer_Destroy, .buffer = buffer); }

// Runs an executable; with `wait`, blocks until it has finished. The caller destroys the arguments, donated or not.
static inline void pjrt_run(PJRT_LoadedExecutable *executable, PJRT_Buffer **arguments, size_t n, PJRT_Buffer **outputs,
                            int wait) {
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

// Enqueues a run on several devices, each with its list of arguments and of outputs. Writes one event for each device.
static inline void pjrt_enqueue(PJRT_LoadedExecutable *executable, int devices, PJRT_Buffer *const *const *arguments,
                                size_t n, PJRT_Buffer **const *outputs, PJRT_Event **done) {
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
  PJRT(LoadedExecutable_Execute, .executable = executable, .options = &options, .argument_lists = arguments,
       .num_devices = (size_t)devices, .num_args = n, .output_lists = outputs, .device_complete_events = done);
}

static inline void pjrt_await(PJRT_Event **done, int devices) {
  for (int d = 0; d < devices; d++) {
    PJRT(Event_Await, .event = done[d]);
    PJRT(Event_Destroy, .event = done[d]);
  }
}

#endif
