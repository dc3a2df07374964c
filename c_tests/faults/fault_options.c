// Records the options that clients are created with, for tests of plugin_options, and simulates memory statistics.
#include "fault_options.h"

#include "fault_plugin.h"
#include "fault_processes.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char noted[4096];
static fault_memory ordered = {-1, -1, -1};

// --- Options -------------------------------------------------------------------------------------------------------

// Adds text at the end of what is noted.
static void add(const char *text, size_t size) {
  const size_t length = strlen(noted), room = sizeof noted - 1 - length;
  memcpy(noted + length, text, size < room ? size : room);
  noted[length + (size < room ? size : room)] = 0;
}

static void note(const PJRT_NamedValue *option) {
  char text[64];
  add(option->name, option->name_size);
  switch (option->type) {
    case PJRT_NamedValue_kString:
      add("=string ", 8);
      add(option->string_value, option->value_size);
      break;
    case PJRT_NamedValue_kInt64:
      add(text, (size_t)snprintf(text, sizeof text, "=int64 %lld", (long long)option->int64_value));
      break;
    case PJRT_NamedValue_kInt64List:
      add("=int64s", 7);
      for (size_t i = 0; i < option->value_size; i++)
        add(text, (size_t)snprintf(text, sizeof text, " %lld", (long long)option->int64_array_value[i]));
      break;
    case PJRT_NamedValue_kFloat:
      add(text, (size_t)snprintf(text, sizeof text, "=float %g", (double)option->float_value));
      break;
    case PJRT_NamedValue_kBool: add(text, (size_t)snprintf(text, sizeof text, "=bool %d", option->bool_value)); break;
  }
  add(";", 1);
}

void note_options(const PJRT_Client_Create_Args *args) {
  pthread_mutex_lock(&lock);
  noted[0] = 0;
  for (size_t i = 0; i < args->num_options; i++) note(&args->create_options[i]);
  pthread_mutex_unlock(&lock);
}

int is_of_test(const PJRT_NamedValue *option) {
  return option->name_size >= 5 && memcmp(option->name, "test_", 5) == 0;
}

EXPORT const char *fault_options(void) {
  static _Thread_local char copy[sizeof noted];
  pthread_mutex_lock(&lock);
  memcpy(copy, noted, sizeof noted);
  pthread_mutex_unlock(&lock);
  return copy;
}

// --- Memory --------------------------------------------------------------------------------------------------------

EXPORT void fault_memory_is(fault_memory memory) {
  pthread_mutex_lock(&lock);
  ordered = memory;
  pthread_mutex_unlock(&lock);
}

PJRT_Error *memory_stats(const PJRT_Api *real, PJRT_Device_MemoryStats_Args *args) {
  pthread_mutex_lock(&lock);
  const fault_memory memory = ordered;
  pthread_mutex_unlock(&lock);
  if (memory.bytes_in_use < 0) return real->PJRT_Device_MemoryStats(args);
  PJRT_Device_GetDescription_Args get = {.struct_size = PJRT_Device_GetDescription_Args_STRUCT_SIZE};
  get.device = args->device;
  PJRT_Error *error = real->PJRT_Device_GetDescription(&get);
  if (error) return error;
  PJRT_DeviceDescription_Id_Args id = {.struct_size = PJRT_DeviceDescription_Id_Args_STRUCT_SIZE};
  id.device_description = get.device_description;
  error = real->PJRT_DeviceDescription_Id(&id);
  if (error) return error;
  // Devices differ by their ids.
  args->bytes_in_use = memory.bytes_in_use + id.id;
  args->peak_bytes_in_use = memory.peak_bytes_in_use, args->peak_bytes_in_use_is_set = memory.peak_bytes_in_use >= 0;
  args->bytes_limit = memory.bytes_limit, args->bytes_limit_is_set = memory.bytes_limit >= 0;
  args->peak_pool_bytes = 9, args->peak_pool_bytes_is_set = true;
  return NULL;
}
