// Simulates the profiler extension of PJRT: xla/pjrt/c/pjrt_c_api_profiler_extension.h and
// xla/backends/profiler/plugin/profiler_c_api.h of XLA, whose structs are declared here by hand.
#include "fault_profiler.h"

#include "fault_plugin.h"
#include "fault_processes.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A type of extensions that does not exist: the library passes over it.
enum { PROFILER_TYPE = 1, UNKNOWN_TYPE = 9999 };

typedef struct {
  size_t struct_size;
  void *priv;
  void *error;
  union {
    struct {
      const char *message;
      size_t message_size;
    };
    int code;
  };
} error_args;

typedef struct {
  size_t struct_size;
  const char *options;
  size_t options_size;
  void *profiler;
} create_args;

typedef struct {
  size_t struct_size;
  void *profiler;
  uint8_t *buffer;
  size_t buffer_size;
} profiler_args;

typedef struct {
  size_t struct_size;
  void *priv;
  void (*error_destroy)(error_args *);
  void (*error_message)(error_args *);
  void *(*error_get_code)(error_args *);
  void *(*create)(create_args *);
  void *(*destroy)(profiler_args *);
  void *(*start)(profiler_args *);
  void *(*stop)(profiler_args *);
  void *(*collect_data)(profiler_args *);
} profiler_table;

typedef struct {
  PJRT_Extension_Base base;
  profiler_table *table;
  int64_t context_id;
} profiler_extension;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static fault_profile ordered;
static uint8_t *content;
static char calls[4096];
static int held, let_go;
// Profilers and errors that exist, and the one that was created last.
static int alive, made;
static char profilers[64];

static void note(const char *text) {
  size_t length = strlen(calls);
  snprintf(calls + length, sizeof calls - length, "%s ", text);
}

// --- Errors --------------------------------------------------------------------------------------------------------

typedef struct {
  int code;
  char message[128];
} profiler_error;

static void *fail(int code, const char *message) {
  profiler_error *error = malloc(sizeof *error);
  error->code = code;
  snprintf(error->message, sizeof error->message, "%s", message);
  alive++;
  return error;
}

static void check_size(size_t size, size_t wanted, const char *where) {
  if (size == wanted) return;
  note("WRONG_SIZE_OF");
  note(where);
}

static void error_destroy(error_args *args) {
  pthread_mutex_lock(&lock);
  check_size(args->struct_size, offsetof(error_args, message), "error_destroy");
  alive--;
  free(args->error);
  pthread_mutex_unlock(&lock);
}

static void error_message(error_args *args) {
  pthread_mutex_lock(&lock);
  check_size(args->struct_size, offsetof(error_args, message_size) + sizeof(size_t), "error_message");
  const profiler_error *error = args->error;
  args->message = error->message;
  args->message_size = strlen(error->message);
  pthread_mutex_unlock(&lock);
}

static void *error_get_code(error_args *args) {
  pthread_mutex_lock(&lock);
  check_size(args->struct_size, offsetof(error_args, code) + sizeof(int), "error_get_code");
  args->code = ((const profiler_error *)args->error)->code;
  pthread_mutex_unlock(&lock);
  return NULL;
}

// --- The functions -------------------------------------------------------------------------------------------------

// Notes a call. Returns its error, if the test has ordered one. The lock is held.
static void *arrive(const char *name, const void *profiler) {
  note(name);
  if (profiler && profiler != &profilers[made % sizeof profilers]) note("WRONG_PROFILER");
  return strcmp(ordered.fails, name) == 0 ? fail(ordered.code, "planted by the fault profiler") : NULL;
}

// JAX's options without tracing of Python: include_dataset_ops, host_tracer_level 2, device_tracer_level 1, version 1,
// enable_hlo_proto.
static const char options[] = "\x08\x01\x10\x02\x18\x01\x28\x01\x38\x01";

static void *create(create_args *args) {
  pthread_mutex_lock(&lock);
  void *error = arrive("create", NULL);
  check_size(args->struct_size, sizeof *args, "create");
  if (args->options_size != sizeof options - 1 || memcmp(args->options, options, sizeof options - 1) != 0)
    note("WRONG_OPTIONS");
  if (!error) {
    args->profiler = &profilers[++made % sizeof profilers];
    alive++;
  }
  pthread_mutex_unlock(&lock);
  return error;
}

static void *act(profiler_args *args, const char *name) {
  pthread_mutex_lock(&lock);
  void *error = arrive(name, args->profiler);
  check_size(args->struct_size, offsetof(profiler_args, buffer), name);
  if (strcmp(name, "destroy") == 0) alive--;
  pthread_mutex_unlock(&lock);
  return error;
}

static void *destroy(profiler_args *args) { return act(args, "destroy"); }
static void *start(profiler_args *args) { return act(args, "start"); }
static void *stop(profiler_args *args) { return act(args, "stop"); }

static void *collect_data(profiler_args *args) {
  pthread_mutex_lock(&lock);
  void *error = arrive("collect_data", args->profiler);
  check_size(args->struct_size, sizeof *args, "collect_data");
  if (ordered.holds) {
    held++;
    while (!let_go) pthread_cond_wait(&changed, &lock);
    held--;
  }
  if (!error && !ordered.copies) {
    args->buffer = content;
    args->buffer_size = ordered.claims ? ordered.claims : ordered.size;
  } else if (!error) {
    if (args->buffer) memcpy(args->buffer, content, ordered.size);
    args->buffer_size = ordered.claims ? ordered.claims : ordered.size;
  }
  pthread_mutex_unlock(&lock);
  return error;
}

static profiler_table table = {sizeof table, NULL,    error_destroy, error_message, error_get_code,
                               create,       destroy, start,         stop,          collect_data};
static profiler_extension extension = {{sizeof extension, (PJRT_Extension_Type)UNKNOWN_TYPE, NULL}, &table, 0};

PJRT_Extension_Base *extensions_before(PJRT_Extension_Base *real) {
  extension.base.next = real;
  return &extension.base;
}

// --- Control -------------------------------------------------------------------------------------------------------

EXPORT void fault_profile_is(const fault_profile *profile) {
  pthread_mutex_lock(&lock);
  ordered = profile ? *profile : (fault_profile){.fails = ""};
  free(content);
  content = malloc(ordered.size + 1);
  if (ordered.size) memcpy(content, ordered.bytes, ordered.size);
  calls[0] = 0;
  let_go = 0;
  extension.base.type = (PJRT_Extension_Type)(profile ? PROFILER_TYPE : UNKNOWN_TYPE);
  extension.base.struct_size = ordered.extension_size ? ordered.extension_size : sizeof extension;
  extension.table = ordered.no_table ? NULL : &table;
  table.struct_size = ordered.table_size ? ordered.table_size : sizeof table;
  pthread_mutex_unlock(&lock);
}

EXPORT const char *fault_profile_calls(void) {
  static _Thread_local char copy[sizeof calls];
  pthread_mutex_lock(&lock);
  memcpy(copy, calls, sizeof copy);
  pthread_mutex_unlock(&lock);
  return copy;
}

EXPORT int fault_profile_alive(void) {
  pthread_mutex_lock(&lock);
  int n = alive;
  pthread_mutex_unlock(&lock);
  return n;
}

EXPORT int fault_profile_held(void) {
  pthread_mutex_lock(&lock);
  int n = held;
  pthread_mutex_unlock(&lock);
  return n;
}

EXPORT void fault_profile_let_go(void) {
  pthread_mutex_lock(&lock);
  let_go = 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}
