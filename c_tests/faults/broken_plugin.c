// Plugins that cannot be used, one for each BROKEN_*, for test_plugin_list.c. Some do what real ones do on a machine
// without their devices.
#define _GNU_SOURCE
#include "../../probe/pjrt_prefix.h"
#include "pjrt_c_api.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define CONSTRUCTOR __attribute__((constructor)) static void at_load(void)

// The probe's declarations are those of PJRT.
#define SAME(type, field, of_pjrt, its) \
  _Static_assert(offsetof(type, field) == offsetof(of_pjrt, its), #type "." #field)
SAME(prefix_api, version, PJRT_Api, pjrt_api_version);
SAME(prefix_api, version.major_version, PJRT_Api, pjrt_api_version.major_version);
SAME(prefix_api, version.minor_version, PJRT_Api, pjrt_api_version.minor_version);
SAME(prefix_api, error_destroy, PJRT_Api, PJRT_Error_Destroy);
SAME(prefix_api, error_message, PJRT_Api, PJRT_Error_Message);
SAME(prefix_api, error_get_code, PJRT_Api, PJRT_Error_GetCode);
SAME(prefix_api, plugin_initialize, PJRT_Api, PJRT_Plugin_Initialize);
SAME(prefix_api, plugin_attributes, PJRT_Api, PJRT_Plugin_Attributes);
SAME(prefix_message_args, error, PJRT_Error_Message_Args, error);
SAME(prefix_message_args, message, PJRT_Error_Message_Args, message);
SAME(prefix_message_args, message_size, PJRT_Error_Message_Args, message_size);
SAME(prefix_attributes_args, attributes, PJRT_Plugin_Attributes_Args, attributes);
SAME(prefix_attributes_args, num_attributes, PJRT_Plugin_Attributes_Args, num_attributes);
SAME(prefix_named_value, name, PJRT_NamedValue, name);
SAME(prefix_named_value, name_size, PJRT_NamedValue, name_size);
SAME(prefix_named_value, value_size, PJRT_NamedValue, value_size);
_Static_assert(sizeof(prefix_message_args) == PJRT_Error_Message_Args_STRUCT_SIZE, "size");
_Static_assert(sizeof(prefix_initialize_args) == PJRT_Plugin_Initialize_Args_STRUCT_SIZE, "size");
_Static_assert(sizeof(prefix_attributes_args) == PJRT_Plugin_Attributes_Args_STRUCT_SIZE, "size");
_Static_assert(sizeof(prefix_named_value) == PJRT_NamedValue_STRUCT_SIZE, "size");
_Static_assert((int)PREFIX_MINOR == PJRT_API_MINOR, "minor version");

#if defined(BROKEN_HANG)
CONSTRUCTOR {
  for (;;) pause();
}
#elif defined(BROKEN_ABORT)
CONSTRUCTOR {
  fprintf(stderr, "no chips\nin this machine\n");
  abort();
}
#elif defined(BROKEN_EXIT)
CONSTRUCTOR { exit(0); }
#elif defined(BROKEN_CLOSE)
// Closes all files, and so the answer, and goes on.
CONSTRUCTOR {
  for (int file = 0; file < 256; file++) close(file);
}
#elif defined(BROKEN_ABSENT)
// The library that is missing.
EXPORT int absent_function(void);
EXPORT int absent_function(void) { return 1; }
#elif defined(BROKEN_MISSING)
// Needs a library that is not found where it runs.
extern int absent_function(void);
CONSTRUCTOR { absent_function(); }
#elif defined(BROKEN_NOISY)
// Prints lines that look like an answer, leaves a process behind that has the files of this one, and hangs at the end.
CONSTRUCTOR {
  printf("api 7 7\nplatform printed\nerror printed\nend\n");
  fflush(stdout);
  if (fork() == 0) {
    setsid();
    sleep(60);
    _exit(0);
  }
}
__attribute__((destructor)) static void at_end(void) {
  for (;;) pause();
}
#endif

#if !defined(BROKEN_NO_FUNCTION) && !defined(BROKEN_ABSENT)

static PJRT_Api table;

#if defined(BROKEN_ERROR)
static const char message[] = "no devices:\n\"none\" \xff here";

static void error_message(PJRT_Error_Message_Args *args) {
  args->message = message;
  args->message_size = sizeof message - 1;
}

static void error_destroy(PJRT_Error_Destroy_Args *args) { (void)args; }
#endif

static PJRT_Error *initialize(PJRT_Plugin_Initialize_Args *args) {
  (void)args;
#if defined(BROKEN_INITIALIZE)
  for (;;) pause();
#elif defined(BROKEN_CRASH)
  raise(SIGSEGV);
#elif defined(BROKEN_ERROR)
  return (PJRT_Error *)&table;
#endif
  return NULL;
}

static PJRT_Error *attributes(PJRT_Plugin_Attributes_Args *args) {
#if defined(BROKEN_ATTRIBUTES)
  for (;;) pause();
#endif
  static PJRT_NamedValue values[2];
  static const char *const names[] = {"xla_version", "rocm_version"};
  for (int i = 0; i < 2; i++) {
    values[i].struct_size = PJRT_NamedValue_STRUCT_SIZE;
    values[i].name = names[i], values[i].name_size = strlen(names[i]);
    values[i].type = PJRT_NamedValue_kInt64, values[i].int64_value = 7, values[i].value_size = 1;
  }
  args->attributes = values, args->num_attributes = 2;
  return NULL;
}

EXPORT const PJRT_Api *GetPjrtApi(void) {
#if defined(BROKEN_NULL)
  return NULL;
#endif
  table.struct_size = PJRT_Api_STRUCT_SIZE;
  table.pjrt_api_version.struct_size = PJRT_Api_Version_STRUCT_SIZE;
  table.pjrt_api_version.minor_version = 99;
  table.PJRT_Plugin_Initialize = initialize;
  table.PJRT_Plugin_Attributes = attributes;
#if defined(BROKEN_VERSION)
  table.pjrt_api_version.major_version = 1, table.pjrt_api_version.minor_version = 2;
  table.PJRT_Plugin_Initialize = NULL;
#elif defined(BROKEN_SHORT)
  table.struct_size = offsetof(PJRT_Api, PJRT_Plugin_Initialize);
#elif defined(BROKEN_TABLE)
  table.struct_size = 16;
#elif defined(BROKEN_ERROR)
  table.PJRT_Error_Message = error_message;
  table.PJRT_Error_Destroy = error_destroy;
#endif
  return &table;
}

#endif
