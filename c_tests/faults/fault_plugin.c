// Wraps the real PJRT plugin. Calls that a test arms fail at once, fail through their events, or are held until
// released. A mark at their start distinguishes the wrapper's errors and events from the real plugin's.
#define _GNU_SOURCE
#include "fault_plugin.h"
#include "fault_options.h"
#include "fault_processes.h"
#include "fault_profiler.h"
#include "fault_throw.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const PJRT_Api *real;
static PJRT_Api table;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

// --- What is armed -------------------------------------------------------------------------------------------------

// All functions that the library calls, except those that read errors.
// clang-format off
#define FUNCTIONS(X)                                                                                      \
  X(Plugin_Initialize) X(Client_Create) X(Client_Destroy) X(Client_AddressableDevices)                    \
  X(Client_PlatformName) X(Client_PlatformVersion) X(Client_Compile) X(Client_BufferFromHostBuffer)       \
  X(LoadedExecutable_Execute) X(LoadedExecutable_GetExecutable) X(LoadedExecutable_Destroy)               \
  X(Executable_NumOutputs) X(Executable_OptimizedProgram) X(Executable_Serialize)                         \
  X(Executable_DeserializeAndLoad) X(Executable_Destroy)                                                  \
  X(Buffer_ReadyEvent) X(Buffer_ToHostBuffer) X(Buffer_CopyToDevice) X(Buffer_GetMemoryLayout)            \
  X(Buffer_OpaqueDeviceMemoryDataPointer) X(Buffer_IsDeleted) X(Buffer_Destroy) X(Event_Await)            \
  X(Event_IsReady) X(Event_OnReady) X(Event_Destroy) X(Device_MemoryStats)
// clang-format on

enum {
#define INDEX(name) AT_##name,
  FUNCTIONS(INDEX) COUNT
};

static const char *const names[] = {
#define NAME(name) #name,
    FUNCTIONS(NAME)};

static struct {
  int calls, armed, mode, code, refused;
} faults[COUNT];
static int held, generation, alive, faulty_device;
// Whether the call of this thread that has arrived throws.
static __thread int throws;
static const char PLANTED[] = "planted by the fault plugin";

static int find(const char *name) {
  for (int i = 0; i < COUNT; i++)
    if (strcmp(names[i], name) == 0) return i;
  abort();  // arming an unknown function would test nothing
}

EXPORT void fault_arm(const char *function, int nth, int mode, int code) {
  pthread_mutex_lock(&lock);
  int i = find(function);
  faults[i].armed = faults[i].calls + nth;
  faults[i].mode = mode;
  faults[i].code = code;
  pthread_mutex_unlock(&lock);
}

EXPORT void fault_device(int position) {
  pthread_mutex_lock(&lock);
  faulty_device = position;
  pthread_mutex_unlock(&lock);
}

EXPORT void fault_refuse(const char *function, int code) {
  pthread_mutex_lock(&lock);
  int i = find(function);
  faults[i].refused = code != 0;
  faults[i].code = code;
  pthread_mutex_unlock(&lock);
}

EXPORT const char *fault_name(int index) { return index < COUNT ? names[index] : NULL; }

EXPORT void fault_let_go(void) {
  pthread_mutex_lock(&lock);
  generation++;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

EXPORT int fault_held(void) {
  pthread_mutex_lock(&lock);
  int n = held;
  pthread_mutex_unlock(&lock);
  return n;
}

EXPORT int fault_calls(const char *function) {
  pthread_mutex_lock(&lock);
  int n = faults[find(function)].calls;
  pthread_mutex_unlock(&lock);
  return n;
}

EXPORT int fault_alive(void) {
  pthread_mutex_lock(&lock);
  int n = alive;
  pthread_mutex_unlock(&lock);
  return n;
}

// Changes the number of objects that the library has to free.
static void count(int more) {
  pthread_mutex_lock(&lock);
  alive += more;
  pthread_mutex_unlock(&lock);
}

// Waits until `generation`, which is `now`, changes. The lock is held.
static void wait_for_change(int now) {
  while (generation == now) pthread_cond_wait(&changed, &lock);
  held--;
}

// Counts a call and returns its fault; waits first if the fault is FAULT_HOLD. A call that throws fails first.
static int arrive(int function) {
  pthread_mutex_lock(&lock);
  int mode = faults[function].refused ? FAULT_FAIL : 0;
  if (++faults[function].calls == faults[function].armed) mode = faults[function].mode;
  if (mode == FAULT_HOLD || mode == FAULT_LINGER) held++;
  if (mode == FAULT_HOLD) wait_for_change(generation);
  pthread_mutex_unlock(&lock);
  throws = mode == FAULT_THROW;
  return throws ? FAULT_FAIL : mode;
}

// --- Errors of our own ---------------------------------------------------------------------------------------------

static const uint64_t ERROR_MARK = 0xFA177E44044FA17Full, EVENT_MARK = 0xFA177E7E27FA177Eull;

typedef struct {
  uint64_t mark;
  PJRT_Error_Code code;
  size_t size;
  char message[];
} fault_error;

PJRT_Error *new_error_of(PJRT_Error_Code code, const char *message, size_t size) {
  fault_error *error = malloc(sizeof *error + size);
  error->mark = ERROR_MARK;
  error->code = code;
  error->size = size;
  memcpy(error->message, message, size);
  count(1);
  return (PJRT_Error *)error;
}

void free_error(PJRT_Error *error) {
  free(error);
  count(-1);
}

static PJRT_Error *new_error_with(int code, const char *message) {
  return new_error_of((PJRT_Error_Code)code, message, strlen(message));
}

static PJRT_Error *new_error(int code) { return new_error_with(code, PLANTED); }

static int is_ours(const void *object, uint64_t mark) { return object && *(const uint64_t *)object == mark; }

static void error_destroy(PJRT_Error_Destroy_Args *args) {
  if (is_ours(args->error, ERROR_MARK)) free_error(args->error);
  else real->PJRT_Error_Destroy(args);
}

static void error_message(PJRT_Error_Message_Args *args) {
  if (!is_ours(args->error, ERROR_MARK)) {
    real->PJRT_Error_Message(args);
    return;
  }
  const fault_error *error = (const fault_error *)args->error;
  args->message = error->message;
  args->message_size = error->size;
}

static PJRT_Error *error_code(PJRT_Error_GetCode_Args *args) {
  if (!is_ours(args->error, ERROR_MARK)) return real->PJRT_Error_GetCode(args);
  args->code = ((const fault_error *)args->error)->code;
  return NULL;
}

// --- Events of our own: the real one's end, with an error ----------------------------------------------------------

typedef struct {
  uint64_t mark;
  PJRT_Event *event;
  int code;
} fault_event;

static PJRT_Event *new_event(PJRT_Event *event, int code) {
  fault_event *wrapped = malloc(sizeof *wrapped);
  *wrapped = (fault_event){EVENT_MARK, event, code};
  return (PJRT_Event *)wrapped;
}

#define UNWRAPPED(args, call)                       \
  fault_event *ours = (fault_event *)(args)->event; \
  int is_ours_ = is_ours(ours, EVENT_MARK);         \
  if (is_ours_) (args)->event = ours->event;        \
  PJRT_Error *error = real->call(args);             \
  if (is_ours_) (args)->event = (PJRT_Event *)ours;

// Functions that free an object fail after freeing it; otherwise every such fault would be a leak.
static PJRT_Error *fault_Event_Destroy(PJRT_Event_Destroy_Args *args) {
  int mode = arrive(AT_Event_Destroy);
  UNWRAPPED(args, PJRT_Event_Destroy)
  if (is_ours_) free(ours);
  count(-1);
  return mode == FAULT_FAIL ? new_error(faults[AT_Event_Destroy].code) : error;
}

static PJRT_Error *fault_Event_IsReady(PJRT_Event_IsReady_Args *args) {
  if (arrive(AT_Event_IsReady) == FAULT_FAIL) return new_error(faults[AT_Event_IsReady].code);
  UNWRAPPED(args, PJRT_Event_IsReady)
  return error;
}

static PJRT_Error *event_error(PJRT_Event_Error_Args *args) {
  UNWRAPPED(args, PJRT_Event_Error)
  return error || !is_ours_ ? error : new_error(ours->code);
}

// Fails only after the real event has ended: until then, the operation may still use the waiter's memory.
static PJRT_Error *fault_Event_Await(PJRT_Event_Await_Args *args) {
  int mode = arrive(AT_Event_Await);
  UNWRAPPED(args, PJRT_Event_Await)
  if (!error && mode == FAULT_FAIL) return new_error(faults[AT_Event_Await].code);
  return error || !is_ours_ ? error : new_error(ours->code);
}

// A callback to be called when the real event has ended: with the error of an event of ours, if `code` is not 0; if it
// lingers, once `generation` is no longer `since`.
typedef struct {
  PJRT_Event_OnReadyCallback call;
  void *argument;
  PJRT_Error *error;
  int code, lingers, since;
} own_callback;

static void *call_it(void *given) {
  own_callback *own = given;
  if (own->lingers) {
    pthread_mutex_lock(&lock);
    wait_for_change(own->since);
    pthread_mutex_unlock(&lock);
  }
  own->call(own->error || !own->code ? own->error : new_error(own->code), own->argument);
  free(own);
  return NULL;
}

static void on_real_end(PJRT_Error *error, void *given) {
  own_callback *own = given;
  own->error = error;
  pthread_t thread;
  if (!own->lingers) {
    call_it(own);
    return;
  }
  if (pthread_create(&thread, NULL, call_it, own) != 0) abort();
  pthread_detach(thread);
}

static PJRT_Error *fault_Event_OnReady(PJRT_Event_OnReady_Args *args) {
  int mode = arrive(AT_Event_OnReady);
  if (mode == FAULT_FAIL) return new_error(faults[AT_Event_OnReady].code);
  const fault_event *ours = (const fault_event *)args->event;
  int is_real = !is_ours(ours, EVENT_MARK);
  if (is_real && mode != FAULT_LINGER) return real->PJRT_Event_OnReady(args);
  own_callback *own = malloc(sizeof *own);
  pthread_mutex_lock(&lock);
  *own =
      (own_callback){args->callback, args->user_arg, NULL, is_real ? 0 : ours->code, mode == FAULT_LINGER, generation};
  pthread_mutex_unlock(&lock);
  PJRT_Event_OnReady_Args passed = *args;
  if (!is_real) passed.event = ours->event;
  passed.callback = on_real_end;
  passed.user_arg = own;
  return real->PJRT_Event_OnReady(&passed);
}

// --- Buffers whose content failed to come --------------------------------------------------------------------------

enum { MOST_SPOILED = 4096 };
static struct {
  PJRT_Buffer *buffer;
  int code;
} spoiled[MOST_SPOILED];

static int spoil(PJRT_Buffer *buffer, int code) {
  pthread_mutex_lock(&lock);
  for (int i = 0; i < MOST_SPOILED; i++)
    if (!spoiled[i].buffer) {
      spoiled[i].buffer = buffer;
      spoiled[i].code = code;
      break;
    }
  pthread_mutex_unlock(&lock);
  return code;
}

static int spoiled_code(PJRT_Buffer *buffer, int forget) {
  int code = 0;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < MOST_SPOILED; i++)
    if (spoiled[i].buffer == buffer) {
      code = spoiled[i].code;
      if (forget) spoiled[i].buffer = NULL;
    }
  pthread_mutex_unlock(&lock);
  return code;
}

// --- The functions -------------------------------------------------------------------------------------------------

// Defines a wrapper that changes the count of objects by `more`.
#define COUNTED(name, more)                                           \
  static PJRT_Error *fault_##name(PJRT_##name##_Args *args) {         \
    int fails = arrive(AT_##name) == FAULT_FAIL;                      \
    if (fails && more >= 0) return new_error(faults[AT_##name].code); \
    PJRT_Error *error = real->PJRT_##name(args);                      \
    if (!error) count(more);                                          \
    return fails ? new_error(faults[AT_##name].code) : error;         \
  }
#define PLAIN(name) COUNTED(name, 0)

PLAIN(Plugin_Initialize)
COUNTED(Client_Destroy, -1)
PLAIN(Client_AddressableDevices)
PLAIN(Client_PlatformName)
PLAIN(Client_PlatformVersion)
COUNTED(LoadedExecutable_GetExecutable, 1)
COUNTED(LoadedExecutable_Destroy, -1)
PLAIN(Executable_NumOutputs)
PLAIN(Executable_OptimizedProgram)
PLAIN(Executable_Serialize)
COUNTED(Executable_DeserializeAndLoad, 1)
COUNTED(Executable_Destroy, -1)
PLAIN(Buffer_GetMemoryLayout)
PLAIN(Buffer_OpaqueDeviceMemoryDataPointer)
PLAIN(Buffer_IsDeleted)

// Creates a client, which simulates one of several processes if it has their options.
static PJRT_Error *fault_Client_Create(PJRT_Client_Create_Args *args) {
  if (arrive(AT_Client_Create) == FAULT_FAIL) return new_error(faults[AT_Client_Create].code);
  PJRT_Error *error = create_as_process(real, args);
  if (!error) count(1);
  return error;
}

static PJRT_Error *fault_Device_MemoryStats(PJRT_Device_MemoryStats_Args *args) {
  if (arrive(AT_Device_MemoryStats) == FAULT_FAIL) return new_error(faults[AT_Device_MemoryStats].code);
  return memory_stats(real, args);
}

static PJRT_Error *process_index(PJRT_Client_ProcessIndex_Args *args) {
  PJRT_Error *error = real->PJRT_Client_ProcessIndex(args);
  const int process = process_of(args->client);
  if (!error && process >= 0) args->process_index = process;
  return error;
}

// Replaces every operation of a name by another of a name that is not longer: "multiply=subtract".
static char *miscompiled(const char *code, size_t size, const char *names) {
  const char *wrong = strchr(names, '=') + 1;
  const size_t n = (size_t)(wrong - names) - 1;
  char *copy = malloc(size + 1);
  memcpy(copy, code, size);
  copy[size] = 0;
  for (char *at = copy; (at = strstr(at, "stablehlo."));) {
    at += sizeof "stablehlo." - 1;
    if (strncmp(at, names, n) || !strchr(" (", at[n])) continue;
    memset(at, ' ', n);
    memcpy(at, wrong, strlen(wrong));
  }
  return copy;
}

// Compiles a program. Refuses it if it uses the option that LXLA_FAULT_REFUSED_OPTION names; compiles a program with
// other operations if LXLA_FAULT_MISCOMPILE names them.
static PJRT_Error *fault_Client_Compile(PJRT_Client_Compile_Args *args) {
  int fails = arrive(AT_Client_Compile) == FAULT_FAIL;
  if (fails) return new_error(faults[AT_Client_Compile].code);
  const char *refused = getenv("LXLA_FAULT_REFUSED_OPTION");
  if (refused && memmem(args->compile_options, args->compile_options_size, refused, strlen(refused)))
    return new_error_with(PJRT_Error_Code_INVALID_ARGUMENT, refused);
  PJRT_Program program = *args->program;
  const char *names = getenv("LXLA_FAULT_MISCOMPILE");
  char *other = names ? miscompiled(program.code, program.code_size, names) : NULL;
  if (other) {
    program.code = other;
    args->program = &program;
  }
  PJRT_Error *error = real->PJRT_Client_Compile(args);
  free(other);
  if (!error) count(1);
  return error;
}

static PJRT_Error *fault_Buffer_Destroy(PJRT_Buffer_Destroy_Args *args) {
  int fails = arrive(AT_Buffer_Destroy) == FAULT_FAIL;
  spoiled_code(args->buffer, 1);
  count(-1);
  PJRT_Error *error = real->PJRT_Buffer_Destroy(args);
  return fails ? new_error(faults[AT_Buffer_Destroy].code) : error;
}

static PJRT_Error *fault_Buffer_ReadyEvent(PJRT_Buffer_ReadyEvent_Args *args) {
  if (arrive(AT_Buffer_ReadyEvent) == FAULT_FAIL) return new_error(faults[AT_Buffer_ReadyEvent].code);
  PJRT_Error *error = real->PJRT_Buffer_ReadyEvent(args);
  if (error) return error;
  count(1);
  int code = spoiled_code(args->buffer, 0);
  if (code) args->event = new_event(args->event, code);
  return NULL;
}

static PJRT_Error *fault_Buffer_ToHostBuffer(PJRT_Buffer_ToHostBuffer_Args *args) {
  int mode = arrive(AT_Buffer_ToHostBuffer), code = faults[AT_Buffer_ToHostBuffer].code;
  if (mode == FAULT_FAIL) return new_error(code);
  PJRT_Error *error = real->PJRT_Buffer_ToHostBuffer(args);
  if (error || !args->event) return error;
  count(1);
  if (mode == FAULT_LATER) args->event = new_event(args->event, code);
  return NULL;
}

static PJRT_Error *fault_Buffer_CopyToDevice(PJRT_Buffer_CopyToDevice_Args *args) {
  int mode = arrive(AT_Buffer_CopyToDevice);
  if (mode == FAULT_FAIL) return new_error(faults[AT_Buffer_CopyToDevice].code);
  PJRT_Error *error = real->PJRT_Buffer_CopyToDevice(args);
  if (error) return error;
  count(1);
  int code = mode == FAULT_LATER ? faults[AT_Buffer_CopyToDevice].code : spoiled_code(args->buffer, 0);
  if (code) spoil(args->dst_buffer, code);
  return NULL;
}

static PJRT_Error *fault_Client_BufferFromHostBuffer(PJRT_Client_BufferFromHostBuffer_Args *args) {
  int mode = arrive(AT_Client_BufferFromHostBuffer);
  if (mode == FAULT_FAIL) return new_error(faults[AT_Client_BufferFromHostBuffer].code);
  PJRT_Error *error = real->PJRT_Client_BufferFromHostBuffer(args);
  if (error) return error;
  count(2);  // the buffer, and the event of its transfer
  if (mode == FAULT_LATER) spoil(args->buffer, faults[AT_Client_BufferFromHostBuffer].code);
  return NULL;
}

// Returns the number of outputs. Asked before a run, since the executable may be freed during it.
static size_t outputs_of(PJRT_LoadedExecutable *loaded) {
  PJRT_LoadedExecutable_GetExecutable_Args get = {.struct_size = PJRT_LoadedExecutable_GetExecutable_Args_STRUCT_SIZE};
  get.loaded_executable = loaded;
  if (real->PJRT_LoadedExecutable_GetExecutable(&get)) abort();
  PJRT_Executable_NumOutputs_Args outputs = {.struct_size = PJRT_Executable_NumOutputs_Args_STRUCT_SIZE};
  outputs.executable = get.executable;
  if (real->PJRT_Executable_NumOutputs(&outputs)) abort();
  PJRT_Executable_Destroy_Args destroy = {.struct_size = PJRT_Executable_Destroy_Args_STRUCT_SIZE};
  destroy.executable = get.executable;
  if (real->PJRT_Executable_Destroy(&destroy)) abort();
  return outputs.num_outputs;
}

// Returns the error with which a device's outputs are to fail, or 0: `later` on the device of the fault, else the error
// of a failed argument.
static int spoils(const PJRT_LoadedExecutable_Execute_Args *args, size_t device, size_t faulty, int later) {
  int code = device == faulty ? later : 0;
  for (size_t i = 0; i < args->num_args && !code; i++) code = spoiled_code(args->argument_lists[device][i], 0);
  return code;
}

// Ends the process at the run after so many, for tests of programs that go on when others crash.
static void crash_if_due(void) {
  static int runs;
  const char *after = getenv("LXLA_FAULT_CRASH_AFTER");
  if (!after) return;
  pthread_mutex_lock(&lock);
  int is_due = runs++ >= atoi(after);
  pthread_mutex_unlock(&lock);
  if (is_due) raise(SIGSEGV);
}

static PJRT_Error *fault_LoadedExecutable_Execute(PJRT_LoadedExecutable_Execute_Args *args) {
  enum { MOST_DEVICES = 64 };
  crash_if_due();
  int mode = arrive(AT_LoadedExecutable_Execute), code = faults[AT_LoadedExecutable_Execute].code;
  size_t devices = args->num_devices, faulty = (size_t)faulty_device < devices ? (size_t)faulty_device : 0;
  if (mode == FAULT_FAIL) return new_error(code);
  if (mode == FAULT_CONSUME) {
    PJRT_Buffer_Delete_Args consumed = {.struct_size = PJRT_Buffer_Delete_Args_STRUCT_SIZE};
    consumed.buffer = args->argument_lists[faulty][0];
    PJRT_Error *error = real->PJRT_Buffer_Delete(&consumed);
    return error ? error : new_error(code);
  }
  if (devices > MOST_DEVICES) abort();
  int spoil_with[MOST_DEVICES];
  for (size_t d = 0; d < devices; d++) spoil_with[d] = spoils(args, d, faulty, mode == FAULT_LATER ? code : 0);
  size_t outputs = outputs_of(args->executable);
  PJRT_Error *error = real->PJRT_LoadedExecutable_Execute(args);
  if (error) return error;
  PJRT_Event **complete = args->device_complete_events;
  count((int)(devices * (outputs + (complete != NULL))));
  for (size_t d = 0; d < devices; d++) {
    if (!spoil_with[d]) continue;
    for (size_t i = 0; i < outputs; i++) spoil(args->output_lists[d][i], spoil_with[d]);
    if (complete) complete[d] = new_event(complete[d], spoil_with[d]);
  }
  return NULL;
}

// Defines a function that calls a wrapper, and throws if it is to.
#define THROWING(name)                                           \
  static PJRT_Error *throwing_##name(PJRT_##name##_Args *args) { \
    PJRT_Error *error = fault_##name(args);                      \
    if (!throws) return error;                                   \
    throws = 0;                                                  \
    PJRT_Error_Destroy_Args destroy = {.error = error};          \
    destroy.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE;   \
    if (error) error_destroy(&destroy);                          \
    fault_throw(PLANTED);                                        \
  }
FUNCTIONS(THROWING)

EXPORT const PJRT_Api *GetPjrtApi(void) {
  if (real) return &table;
  const char *path = getenv("LXLA_FAULT_REAL_PLUGIN"), *under_test = getenv("LXLA_PJRT_PLUGIN");
  if (!path) path = under_test && *under_test ? under_test : LXLA_TEST_PLUGIN;
  void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const PJRT_Api *(*get)(void) = plugin ? (const PJRT_Api *(*)(void))(uintptr_t)dlsym(plugin, "GetPjrtApi") : NULL;
  if (!get) return NULL;
  real = get();
  memcpy(&table, real, real->struct_size < sizeof table ? real->struct_size : sizeof table);
#define REPLACE(name) table.PJRT_##name = throwing_##name;
  FUNCTIONS(REPLACE)
  table.PJRT_Error_Destroy = error_destroy;
  table.PJRT_Error_Message = error_message;
  table.PJRT_Error_GetCode = error_code;
  table.PJRT_Event_Error = event_error;
  table.PJRT_Client_ProcessIndex = process_index;
  table.extension_start = extensions_before(real->extension_start);
  return &table;
}
