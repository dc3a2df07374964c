// Simulates one of several processes, as a plugin for GPUs: accepts the options node_id and num_nodes, and calls the
// key-value store when a client is created, and later. The test specifies the calls.
#include "fault_processes.h"

#include "fault_options.h"
#include "fault_plugin.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PROCESSES = 4, MOST_CLIENTS = 64, MOST_OPTIONS = 16 };

// Callbacks of a client, which remain valid until it is destroyed.
typedef struct {
  PJRT_KeyValueGetCallback get;
  PJRT_KeyValuePutCallback put;
  PJRT_KeyValueTryGetCallback try_get;
  void *get_user, *put_user, *try_get_user;
} callbacks;

static struct {
  fault_store_call *calls;  // to be made when a client is created
  int n, num_nodes;
  callbacks store;  // of the last client
} processes[MOST_PROCESSES];

// Clients of processes, the last ones.
static struct {
  const PJRT_Client *client;
  int process;
} clients[MOST_CLIENTS];
static int next_client;
static char refused_option[64];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int checked(int node_id) {
  if (node_id < 0 || node_id >= MOST_PROCESSES) abort();  // the test has no such process
  return node_id;
}

// --- Calls of the store --------------------------------------------------------------------------------------------

// The call under way on this thread.
static _Thread_local fault_store_call *current;

static void came_back(fault_store_call *call, int code, const char *text, size_t size) {
  call->code = code;
  call->size = size;
  const size_t kept = size < sizeof call->text - 1 ? size : sizeof call->text - 1;
  memcpy(call->text, text, kept);
  call->text[kept] = 0;
}

// Creates an error for a callback.
static PJRT_Error *callback_failed(PJRT_Error_Code code, const char *message, size_t size) {
  came_back(current, (int)code, message, size);
  return new_error_of(code, message, size);
}

static PJRT_CallbackError create_error = callback_failed;

static PJRT_Error *put(const callbacks *store, fault_store_call *call) {
  PJRT_KeyValuePutCallback_Args args = {.struct_size = PJRT_KeyValuePutCallback_Args_STRUCT_SIZE};
  args.key = call->key, args.key_size = strlen(call->key);
  args.value = call->value, args.value_size = call->value_size;
  args.callback_error = &create_error, args.user_arg = store->put_user;
  return store->put(&args);
}

static PJRT_Error *get(const callbacks *store, fault_store_call *call) {
  PJRT_KeyValueGetCallback_Args args = {.struct_size = PJRT_KeyValueGetCallback_Args_STRUCT_SIZE};
  args.key = call->key, args.key_size = strlen(call->key);
  args.timeout_in_ms = call->timeout_ms;
  args.callback_error = &create_error, args.user_arg = store->get_user;
  PJRT_Error *error = store->get(&args);
  if (error) return error;
  came_back(call, 0, args.value, args.value_size);
  args.value_deleter_callback(args.value);
  return NULL;
}

static PJRT_Error *try_get(const callbacks *store, fault_store_call *call) {
  PJRT_KeyValueTryGetCallback_Args args = {.struct_size = PJRT_KeyValueTryGetCallback_Args_STRUCT_SIZE};
  args.key = call->key, args.key_size = strlen(call->key);
  args.callback_error = &create_error, args.user_arg = store->try_get_user;
  PJRT_Error *error = store->try_get(&args);
  if (error) return error;
  came_back(call, 0, args.value, args.value_size);
  args.value_deleter_callback(args.value);
  return NULL;
}

// Makes a call and stores its result; returns its error.
static PJRT_Error *make(const callbacks *store, fault_store_call *call) {
  came_back(call, 0, "", 0);
  current = call;
  PJRT_Error *error = call->function == FAULT_PUT   ? put(store, call)
                      : call->function == FAULT_GET ? get(store, call)
                                                    : try_get(store, call);
  current = NULL;
  return error;
}

// --- What a test orders --------------------------------------------------------------------------------------------

EXPORT void fault_on_create(int node_id, fault_store_call *calls, int n) {
  pthread_mutex_lock(&lock);
  processes[checked(node_id)].calls = calls;
  processes[node_id].n = n;
  pthread_mutex_unlock(&lock);
}

EXPORT void fault_call_store(int node_id, fault_store_call *call) {
  pthread_mutex_lock(&lock);
  const callbacks store = processes[checked(node_id)].store;
  pthread_mutex_unlock(&lock);
  PJRT_Error *error = make(&store, call);
  if (error) free_error(error);
}

EXPORT int fault_num_nodes(int node_id) {
  pthread_mutex_lock(&lock);
  const int n = processes[checked(node_id)].num_nodes;
  pthread_mutex_unlock(&lock);
  return n;
}

EXPORT void fault_refuse_option(const char *name) {
  pthread_mutex_lock(&lock);
  snprintf(refused_option, sizeof refused_option, "%s", name ? name : "");
  pthread_mutex_unlock(&lock);
}

EXPORT void fault_forget_processes(void) {
  pthread_mutex_lock(&lock);
  memset(processes, 0, sizeof processes);
  refused_option[0] = 0;
  pthread_mutex_unlock(&lock);
}

// --- Clients -------------------------------------------------------------------------------------------------------

// Stores the process of a client; -1: none.
static void remember(const PJRT_Client *client, int process) {
  pthread_mutex_lock(&lock);
  // An earlier client may have had the same address.
  for (int i = 0; i < MOST_CLIENTS; i++)
    if (clients[i].client == client) clients[i].client = NULL;
  if (process >= 0) {
    clients[next_client].client = client;
    clients[next_client].process = process;
    next_client = (next_client + 1) % MOST_CLIENTS;
  }
  pthread_mutex_unlock(&lock);
}

int process_of(const PJRT_Client *client) {
  int process = -1;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < MOST_CLIENTS; i++)
    if (clients[i].client == client) process = clients[i].process;
  pthread_mutex_unlock(&lock);
  return process;
}

static int is_named(const PJRT_NamedValue *option, const char *name) {
  return option->name_size == strlen(name) && memcmp(option->name, name, option->name_size) == 0;
}

// Returns an error if the options contain the one to be rejected.
static PJRT_Error *refuse(const PJRT_Client_Create_Args *args) {
  char name[sizeof refused_option], message[128];
  pthread_mutex_lock(&lock);
  memcpy(name, refused_option, sizeof name);
  pthread_mutex_unlock(&lock);
  for (size_t i = 0; i < args->num_options; i++)
    if (is_named(&args->create_options[i], name)) {
      snprintf(message, sizeof message, "Unexpected option name passed to PJRT_Client_Create: %s", name);
      return new_error_of(PJRT_Error_Code_INVALID_ARGUMENT, message, strlen(message));
    }
  return NULL;
}

// Makes the calls that the test has specified for a process, with the callbacks of its new client.
static PJRT_Error *act(int process, int num_nodes, const PJRT_Client_Create_Args *args) {
  const callbacks store = {args->kv_get_callback, args->kv_put_callback, args->kv_try_get_callback,
                           args->kv_get_user_arg, args->kv_put_user_arg, args->kv_try_get_user_arg};
  pthread_mutex_lock(&lock);
  processes[checked(process)].store = store;
  processes[process].num_nodes = num_nodes;
  fault_store_call *calls = processes[process].calls;
  const int n = processes[process].n;
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < n; i++) {
    PJRT_Error *error = make(&store, &calls[i]);
    if (!error) continue;
    const int is_missing = calls[i].function == FAULT_TRY_GET && calls[i].code == PJRT_Error_Code_NOT_FOUND;
    if (!is_missing) return error;
    free_error(error);
  }
  return NULL;
}

PJRT_Error *create_as_process(const PJRT_Api *real, PJRT_Client_Create_Args *args) {
  note_options(args);
  PJRT_Error *error = refuse(args);
  if (error) return error;
  PJRT_NamedValue others[MOST_OPTIONS];
  size_t n = 0;
  int process = -1, num_nodes = 0;
  for (size_t i = 0; i < args->num_options; i++) {
    const PJRT_NamedValue *option = &args->create_options[i];
    if (is_named(option, "node_id")) process = (int)option->int64_value;
    else if (is_named(option, "num_nodes")) num_nodes = (int)option->int64_value;
    else if (!is_of_test(option) && n < MOST_OPTIONS) others[n++] = *option;
  }
  if (process >= 0) {
    error = act(process, num_nodes, args);
    if (error) return error;
  }
  // Changed in place: the struct may be longer than this header's.
  const PJRT_Client_Create_Args given = *args;
  args->create_options = others, args->num_options = n;
  args->kv_get_callback = NULL, args->kv_put_callback = NULL, args->kv_try_get_callback = NULL;
  error = real->PJRT_Client_Create(args);
  PJRT_Client *client = args->client;
  *args = given;
  args->client = client;
  if (!error) remember(client, process);
  return error;
}
