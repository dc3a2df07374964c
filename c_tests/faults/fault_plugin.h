// Control of the fault-injecting plugin, found by dlsym in the loaded plugin.
#ifndef LXLA_FAULT_PLUGIN_H
#define LXLA_FAULT_PLUGIN_H

#include <stddef.h>

enum {
  FAULT_FAIL = 1,     // the call fails at once and does nothing
  FAULT_LATER = 2,    // an execute or a transfer starts, and fails through its events
  FAULT_HOLD = 3,     // the call waits until fault_let_go, then goes on
  FAULT_CONSUME = 4,  // an execute deletes its first argument, then fails at once
  FAULT_LINGER = 5,   // the callback of an Event_OnReady is called after fault_let_go, which counts as a held call
  FAULT_THROW = 6,    // as FAULT_FAIL, but a C++ exception comes out, with the text of the error
};

// Arms the nth call from now (1: the next; 0: none) of a PJRT function, named without its PJRT_ prefix: it behaves
// according to `mode`, with the error `code`. Functions that free an object free it even when they fail.
typedef void fault_arm_fn(const char *function, int nth, int mode, int code);
// Selects the device whose outputs FAULT_LATER makes fail, or whose argument FAULT_CONSUME deletes, in an execute on
// several devices: its position in the argument lists, initially 0.
typedef void fault_device_fn(int position);
// Makes every call of this function fail with `code`; code 0 ends this.
typedef void fault_refuse_fn(const char *function, int code);
// Returns the name of the function with this number, among those that can be armed; NULL beyond the last.
typedef const char *fault_name_fn(int index);
// Returns the number of live objects that the library must free: clients, executables, buffers, events, injected
// errors.
typedef int fault_alive_fn(void);
// Lets held calls continue.
typedef void fault_let_go_fn(void);
// Returns the number of calls held now.
typedef int fault_held_fn(void);
// Returns the number of calls of the function so far.
typedef int fault_calls_fn(const char *function);

// --- Several processes: clients that are created with the option node_id ---

enum {
  FAULT_PUT = 1,
  FAULT_GET = 2,
  FAULT_TRY_GET = 3,
};

// A call of the key-value store by a client, and its result.
typedef struct {
  int function;  // FAULT_PUT, FAULT_GET or FAULT_TRY_GET
  const char *key;
  const char *value;  // of a put
  size_t value_size;
  int timeout_ms;  // of a get
  int code;        // out: 0, or the code of the error
  size_t size;     // out: size of the value that came back, or of the error's message
  char text[512];  // out: the first bytes of it, NUL-terminated
} fault_store_call;

// Makes the clients of process `node_id` make these calls in order while they are created; with `n` 0, none. The
// creation fails with the error of the first call that fails, except for a try_get that finds no value.
typedef void fault_on_create_fn(int node_id, fault_store_call *calls, int n);
// Makes a call with the callbacks of the last client of process `node_id`, which must still exist.
typedef void fault_call_store_fn(int node_id, fault_store_call *call);
// Returns the option num_nodes of the last client of process `node_id`; 0 if there was none.
typedef int fault_num_nodes_fn(int node_id);
// Makes Client_Create reject the option of this name, as a plugin that does not know it; NULL: no option.
typedef void fault_refuse_option_fn(const char *name);
// Resets all of the above.
typedef void fault_forget_processes_fn(void);

// --- Options of clients, and memory statistics ---

// Returns the options of the last creation of a client: "name=int64 1;other=string text;", with the types string,
// int64, int64s (a list), float and bool. Options whose name begins with "test_" are not passed on to the real plugin.
typedef const char *fault_options_fn(void);

// Memory statistics of every device. A negative number is one that the plugin does not know.
typedef struct {
  long long bytes_in_use;  // of device 0; each has one more than the device before it
  long long peak_bytes_in_use, bytes_limit;
} fault_memory;

// Orders memory statistics; with negative `bytes_in_use`, those of the real plugin, as at first.
typedef void fault_memory_is_fn(fault_memory memory);

// --- The profiler extension ---

// A profiler, and what it does.
typedef struct {
  const unsigned char *bytes;  // the XSpace that it collects; copied
  size_t size;
  size_t claims;                      // size that it says instead; 0: the true one
  int copies;                         // collect_data fills the caller's buffer in a second call; 0: it returns its own
  int holds;                          // collect_data waits for fault_profile_let_go
  int code;                           // of the error of `fails`
  const char *fails;                  // name of the function that fails, such as "start"; "": none
  size_t extension_size, table_size;  // struct_size of the extension and of its table; 0: the true ones
  int no_table;                       // the extension has no functions
} fault_profile;

// Gives the plugin a profiler, and forgets the calls; NULL: it has none, as at first. Not while a profile is recorded.
typedef void fault_profile_is_fn(const fault_profile *profile);
// Returns the functions that were called, in order: "create start ". Wrong arguments are noted after a function:
// "WRONG_SIZE_OF create ", "WRONG_OPTIONS ", "WRONG_PROFILER ".
typedef const char *fault_profile_calls_fn(void);
// Returns the number of profilers and errors that the library must free.
typedef int fault_profile_alive_fn(void);
// Returns the number of calls that are held.
typedef int fault_profile_held_fn(void);
// Lets held calls continue.
typedef void fault_profile_let_go_fn(void);

#endif
