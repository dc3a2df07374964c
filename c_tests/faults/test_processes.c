// Several processes: M8 of docs/behaviours.md. Environments of this process simulate the processes of a program, with
// the fault plugin, whose clients call the key-value store as a plugin for GPUs does.
#include "fault.h"
#include "key_value_stores.h"

#include <unistd.h>

#define PUT(key_, value_) {.function = FAULT_PUT, .key = key_, .value = value_, .value_size = sizeof(value_) - 1}
#define GET(key_, timeout_) {.function = FAULT_GET, .key = key_, .timeout_ms = timeout_}
#define TRY_GET(key_) {.function = FAULT_TRY_GET, .key = key_}
#define ORDER(process, calls) FAULT(on_create)(process, calls, sizeof(calls) / sizeof *(calls))

static int alive_before;

static void start(void) {
  FAULT(forget_processes)();
  alive_before = FAULT(alive)();
}

// Checks that the plugin has freed everything.
static void finish(void) { EQUAL(FAULT(alive)(), alive_before); }

// Options of one of `count` processes, on the fault plugin, with two devices.
static lxla_env_options process_options(int32_t id, int32_t count, const lxla_key_value_store *store) {
  lxla_env_options options = default_options();
  options.plugin_path = LXLA_FAULT_PLUGIN;
  options.device_count = 2;
  options.process_id = id;
  options.process_count = count;
  options.key_value_store = store;
  return options;
}

static lxla_env open_process(int32_t id, int32_t count, const lxla_key_value_store *store) {
  const lxla_env_options options = process_options(id, count, store);
  lxla_env env;
  OK(lxla_env_create(&options, &env));
  return env;
}

static int has_metric(lxla_env env, const char *words) {
  char *text;
  OK(lxla_env_metrics_json(env, &text));
  const int found = strstr(text, words) != NULL;
  lxla_string_free(text);
  return found;
}

// Computes something on each device of an environment.
static void computes(lxla_env env) {
  int32_t count;
  OK(lxla_env_device_count(env, &count));
  for (int32_t i = 0; i < count; i++) {
    lxla_tensor t;
    OK(lxla_tensor_full(env, XLA(i), LXLA_DTYPE_F32, DIMS(1), 20, &t));
    OK(lxla_binary_scalar_inplace(ADD, t, 1 + i));
    OK(lxla_mark_step(env, XLA(i), 1));
    EQUAL(value(t), 21 + i);
    RELEASE(t);
  }
}

static void came(const char *file, int line, const fault_store_call *call, const char *want, size_t size) {
  if (call->code != 0) FAIL("%s:%d: %s gave the error %d: %s", file, line, call->key, call->code, call->text);
  if (call->size != size || memcmp(call->text, want, size) != 0)
    FAIL("%s:%d: %s gave %zu bytes \"%s\", want %zu \"%s\"", file, line, call->key, call->size, call->text, size, want);
}
// Checks that a call returned a literal.
#define CAME(call, want) came(__FILE__, __LINE__, call, want, sizeof(want) - 1)

typedef struct {
  int id;
  const lxla_key_value_store *store;
  lxla_env env;
  lxla_status status;
} process;

static void *start_process(void *given) {
  process *its = given;
  const lxla_env_options options = process_options(its->id, 2, its->store);
  its->status = lxla_env_create(&options, &its->env);
  return NULL;
}

TEST(m8_two_processes_find_each_other_through_their_store) {
  start();
  memory_store memory = EMPTY_STORE;
  const lxla_key_value_store store = functions_of(&memory);
  fault_store_call of_0[] = {TRY_GET("address/0"), PUT("address/0", "first\0one"), GET("address/1", 60000)};
  fault_store_call of_1[] = {GET("address/0", 60000), PUT("address/1", "second")};
  ORDER(0, of_0);
  ORDER(1, of_1);
  process processes[] = {{.id = 0, .store = &store}, {.id = 1, .store = &store}};
  pthread_t threads[2];
  // Process 1 waits until process 0 has put its address.
  CHECK(pthread_create(&threads[1], NULL, start_process, &processes[1]) == 0);
  while (gets_waiting(&memory) == 0) usleep(1000);
  CHECK(pthread_create(&threads[0], NULL, start_process, &processes[0]) == 0);
  for (int i = 0; i < 2; i++) {
    CHECK(pthread_join(threads[i], NULL) == 0);
    EQUAL(processes[i].status, LXLA_OK);
    EQUAL(FAULT(num_nodes)(i), 2);
  }
  EQUAL(of_0[0].code, LXLA_NOT_FOUND);
  CAME(&of_0[2], "second");
  CAME(&of_1[0], "first\0one");
  EQUAL(memory.calls, 5);
  EQUAL(memory.last_timeout, 60000);
  for (int i = 0; i < 2; i++) {
    computes(processes[i].env);
    CHECK(has_metric(processes[i].env, i ? "\"process_id\":1" : "\"process_id\":0"));
    CHECK(has_metric(processes[i].env, "\"process_count\":2"));
    OK(lxla_env_release(processes[i].env));
  }
  clear_store(&memory);
  finish();
}

TEST(m8_a_process_has_its_own_devices_and_programs) {
  start();
  memory_store memory = EMPTY_STORE;
  const lxla_key_value_store store = functions_of(&memory);
  uint8_t hashes[2][32];
  for (int i = 0; i < 2; i++) {
    const lxla_env env = open_process(i, 2, &store);
    int32_t count;
    OK(lxla_env_device_count(env, &count));
    EQUAL(count, 2);
    // Ordinals number the devices of this process.
    const char *names[] = {"data"};
    lxla_mesh mesh = {5};
    REFUSED(lxla_mesh_create(env, names, (int64_t[]){2}, 1, (int32_t[]){1, 2}, &mesh), LXLA_INVALID_ARGUMENT,
            "ordinals[1]: 2 given; want 0 to 1");
    EQUAL(mesh.id, 5);
    OK(lxla_mesh_create(env, names, (int64_t[]){2}, 1, (int32_t[]){1, 0}, &mesh));
    lxla_device place;
    OK(lxla_mesh_device(mesh, &place));
    lxla_tensor t = one(env, 1), x = scalar(ADD, t, 1), split;
    OK(lxla_tensor_full(env, place, LXLA_DTYPE_F32, DIMS(1), 7, &split));
    EQUAL(value(split), 7);
    // A program names devices by their ids among those of all processes, so it is another in each process.
    OK(lxla_graph_hash(env, XLA(0), &x, 1, hashes[i]));
    RELEASE(t, x, split);
    OK(lxla_mesh_release(mesh));
    OK(lxla_env_release(env));
  }
  CHECK(memcmp(hashes[0], hashes[1], 32) != 0);
  finish();
}

TEST(m8_a_get_that_times_out_is_the_error_of_the_creation) {
  start();
  memory_store memory = EMPTY_STORE;
  const lxla_key_value_store store = functions_of(&memory);
  fault_store_call calls[] = {GET("never", 60), PUT("not reached", "")};
  ORDER(1, calls);
  const lxla_env_options options = process_options(1, 2, &store);
  lxla_env env = {77};
  REFUSED(lxla_env_create(&options, &env), LXLA_DEADLINE_EXCEEDED,
          "options.key_value_store.get: it returned DEADLINE_EXCEEDED for the key \"never\": nothing came in 60 ms");
  EQUAL(env.id, 77);
  EQUAL(calls[0].code, LXLA_DEADLINE_EXCEEDED);
  EQUAL(memory.last_timeout, 60);
  EQUAL(memory.calls, 1);
  // A negative timeout does not wait.
  fault_store_call at_once[] = {GET("never", -5)};
  ORDER(1, at_once);
  REFUSED(lxla_env_create(&options, &env), LXLA_DEADLINE_EXCEEDED, "nothing came in 0 ms");
  // The next attempt is a new one.
  FAULT(on_create)(1, NULL, 0);
  OK(lxla_env_create(&options, &env));
  computes(env);
  OK(lxla_env_release(env));
  finish();
}

TEST(m8_try_get_does_not_wait) {
  start();
  memory_store memory = EMPTY_STORE;
  const lxla_key_value_store store = functions_of(&memory);
  fault_store_call calls[] = {TRY_GET("a"), PUT("a", "old"), PUT("a", ""), TRY_GET("a"), PUT("a", "new"), TRY_GET("a")};
  ORDER(0, calls);
  const lxla_env env = open_process(0, 2, &store);
  EQUAL(calls[0].code, LXLA_NOT_FOUND);
  CHECK(strstr(calls[0].text, "\"a\""));
  CAME(&calls[3], "");
  CAME(&calls[5], "new");
  EQUAL(memory.calls, 6);
  OK(lxla_env_release(env));
  clear_store(&memory);
  finish();
}

TEST(m8_values_of_any_size_come_back) {
  start();
  memory_store memory = EMPTY_STORE;
  const lxla_key_value_store store = functions_of(&memory);
  enum { SIZE = 5 << 20 };
  char *value = malloc(SIZE);
  for (int i = 0; i < SIZE; i++) value[i] = (char)(i % 251);
  fault_store_call calls[] = {PUT("large", ""), GET("large", 1000), TRY_GET("large")};
  calls[0].value = value, calls[0].value_size = SIZE;
  ORDER(3, calls);
  const lxla_env env = open_process(3, 4, &store);
  EQUAL(FAULT(num_nodes)(3), 4);
  for (int i = 1; i < 3; i++) {
    EQUAL(calls[i].size, SIZE);
    CHECK(memcmp(calls[i].text, value, sizeof calls[i].text - 1) == 0);
  }
  OK(lxla_env_release(env));
  free(value);
  clear_store(&memory);
  finish();
}

// --- Stores that fail ---

// Creates an environment whose client makes one call of a store with this reply. The creation must fail, and the error
// must contain what the function returned.
static void fails(fault_store_call call, answer its, lxla_status want, const char *returned) {
  static const char *const names[] = {[FAULT_PUT] = "put", [FAULT_GET] = "get", [FAULT_TRY_GET] = "try_get"};
  char words[256];
  snprintf(words, sizeof words, "options.key_value_store.%s: it returned %s", names[call.function], returned);
  const lxla_key_value_store store = answering(&its);
  const lxla_env_options options = process_options(0, 2, &store);
  const int creations = FAULT(calls)("Client_Create");
  lxla_env env = {77};
  FAULT(on_create)(0, &call, 1);
  REFUSED(lxla_env_create(&options, &env), want, words);
  EQUAL(env.id, 77);
  EQUAL(FAULT(calls)("Client_Create") - creations, 1);
}

TEST(m8_failures_of_the_store_are_errors_of_the_creation) {
  start();
  const fault_store_call calls[] = {PUT("k", "v"), GET("k", 5), TRY_GET("k")};
  for (int i = 0; i < 3; i++) {
    fails(calls[i], (answer){"the server is gone", LXLA_UNAVAILABLE}, LXLA_UNAVAILABLE,
          "UNAVAILABLE for the key \"k\": the server is gone");
    fails(calls[i], (answer){NULL, LXLA_PERMISSION_DENIED}, LXLA_PERMISSION_DENIED, "PERMISSION_DENIED for the key");
    // Codes that are this library's own, or none, are INTERNAL.
    fails(calls[i], (answer){NULL, LXLA_NULL_ARGUMENT}, LXLA_INTERNAL, "NULL_ARGUMENT for the key \"k\"");
    fails(calls[i], (answer){"why", 99}, LXLA_INTERNAL, "99, which is not a status code, for the key \"k\": why");
  }
  for (int i = 1; i < 3; i++)
    fails(calls[i], (answer){NULL, LXLA_OK}, LXLA_INTERNAL, "OK for the key \"k\" without a reply");
  fails(calls[1], (answer){NULL, LXLA_NOT_FOUND}, LXLA_NOT_FOUND, "NOT_FOUND for the key \"k\"");
  // An error of the store that names an option is not taken for the plugin's refusal of that option.
  fails((fault_store_call)GET("node_id/1", 5), (answer){"cpu_device_count", LXLA_INVALID_ARGUMENT},
        LXLA_INVALID_ARGUMENT, "INVALID_ARGUMENT for the key \"node_id/1\": cpu_device_count");
  finish();
}

static lxla_status reply_null(void *user, const char *key, size_t key_size, lxla_key_value_reply_fn reply, void *to) {
  (void)user, (void)key, (void)key_size;
  reply(NULL, "lost", 4);  // to nobody: ignored
  reply(to, "replaced", 8);
  reply(to, NULL, 5);
  return LXLA_OK;
}

static lxla_status reply_twice(void *user, const char *key, size_t key_size, lxla_key_value_reply_fn reply, void *to) {
  (void)user, (void)key, (void)key_size;
  reply(to, "first", 5);
  reply(to, "second", 6);
  return LXLA_OK;
}

TEST(m8_the_last_reply_counts) {
  start();
  memory_store memory = EMPTY_STORE;
  lxla_key_value_store store = functions_of(&memory);
  fault_store_call calls[] = {TRY_GET("a")};
  ORDER(0, calls);
  store.try_get = reply_null;
  const lxla_env_options options = process_options(0, 2, &store);
  lxla_env env = {77};
  REFUSED(lxla_env_create(&options, &env), LXLA_INTERNAL, "options.key_value_store.try_get: bytes: it is NULL");
  EQUAL(env.id, 77);
  store.try_get = reply_twice;
  OK(lxla_env_create(&options, &env));
  CAME(&calls[0], "second");
  OK(lxla_env_release(env));
  finish();
}

// --- How long a store is used ---

static void *call_store(void *call) {
  FAULT(call_store)(1, call);
  return NULL;
}

TEST(m8_a_store_is_called_as_long_as_a_tensor_lives) {
  start();
  memory_store memory = EMPTY_STORE;
  lxla_key_value_store store = functions_of(&memory);
  const lxla_env env = open_process(1, 2, &store);
  memset(&store, 0xEE, sizeof store);  // the struct was copied
  EQUAL(memory.calls, 0);
  fault_store_call calls[] = {PUT("later", "from another thread"), GET("later", 1000), GET("nothing", 10)};
  for (int i = 0; i < 3; i++) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, call_store, &calls[i]) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
  }
  CAME(&calls[1], "from another thread");
  EQUAL(calls[2].code, LXLA_DEADLINE_EXCEEDED);
  const lxla_tensor t = one(env, 3);
  OK(lxla_env_release(env));
  fault_store_call last = TRY_GET("later");
  call_store(&last);
  CAME(&last, "from another thread");
  EQUAL(value(t), 3);
  RELEASE(t);
  clear_store(&memory);
  finish();
}

TEST(m8_without_a_path_the_first_use_of_a_device_calls_the_store) {
  start();
  memory_store memory = EMPTY_STORE;
  lxla_key_value_store store = functions_of(&memory);
  fault_store_call calls[] = {PUT("a", "b"), GET("none", 20)};
  ORDER(0, calls);
  char under_test[4096];
  snprintf(under_test, sizeof under_test, "%s", test_plugin());
  CHECK(setenv("LXLA_FAULT_REAL_PLUGIN", under_test, 1) == 0 && setenv("LXLA_PJRT_PLUGIN", LXLA_FAULT_PLUGIN, 1) == 0);
  lxla_env_options options = process_options(0, 2, &store);
  options.plugin_path = NULL;
  lxla_env env;
  OK(lxla_env_create(&options, &env));
  memset(&store, 0xEE, sizeof store);
  EQUAL(memory.calls, 0);
  int32_t count = 0;
  REFUSED(lxla_env_device_count(env, &count), LXLA_DEADLINE_EXCEEDED, "nothing came in 20 ms");
  EQUAL(memory.calls, 2);
  FAULT(on_create)(0, calls, 1);
  OK(lxla_env_device_count(env, &count));
  EQUAL(count, 2);
  EQUAL(memory.calls, 3);
  computes(env);
  OK(lxla_env_release(env));
  CHECK(unsetenv("LXLA_FAULT_REAL_PLUGIN") == 0 && setenv("LXLA_PJRT_PLUGIN", under_test, 1) == 0);
  clear_store(&memory);
  finish();
}

// --- Options ---

TEST(m8_options_that_cannot_be_are_refused) {
  start();
  memory_store memory = EMPTY_STORE;
  const lxla_key_value_store store = functions_of(&memory);
  const int creations = FAULT(calls)("Client_Create");
  lxla_env env = {77};
#define WRONG(id, count, its_store, words)                                  \
  do {                                                                      \
    const lxla_env_options options = process_options(id, count, its_store); \
    REFUSED(lxla_env_create(&options, &env), LXLA_INVALID_ARGUMENT, words); \
  } while (0)
  WRONG(0, -1, &store, "options.process_count: -1 given; want 0 or more");
  WRONG(-1, 0, &store, "options.process_id: -1 given; want 0 to 0");
  WRONG(1, 0, &store, "options.process_id: 1 given; want 0 to 0");
  WRONG(1, 1, NULL, "options.process_id: 1 given; want 0 to 0");
  WRONG(-1, 2, &store, "options.process_id: -1 given; want 0 to 1");
  WRONG(2, 2, &store, "options.process_id: 2 given; want 0 to 1");
  WRONG(INT32_MAX, INT32_MAX, &store, "options.process_id: 2147483647 given");
  WRONG(0, 2, NULL, "options.key_value_store: it is NULL; want a store that the 2 processes share");
  lxla_key_value_store wrong = store;
  wrong.struct_size = 4;
  WRONG(0, 2, &wrong, "options.key_value_store: struct_size is 4; set it to sizeof(lxla_key_value_store)");
  wrong.struct_size = offsetof(lxla_key_value_store, try_get);
  WRONG(0, 2, &wrong, "options.key_value_store.try_get: it is NULL; want a function");
  wrong = store, wrong.get = NULL;
  WRONG(0, 2, &wrong, "options.key_value_store.get: it is NULL; want a function");
  WRONG(0, 0, &wrong, "options.key_value_store.get: it is NULL; want a function");
  wrong = store, wrong.put = NULL;
  WRONG(0, 2, &wrong, "options.key_value_store.put: it is NULL; want a function");
  EQUAL(env.id, 77);
  EQUAL(FAULT(calls)("Client_Create"), creations);
  EQUAL(memory.calls, 0);
  finish();
}

TEST(m8_one_process_uses_no_store) {
  start();
  memory_store memory = EMPTY_STORE;
  const lxla_key_value_store store = functions_of(&memory);
  fault_store_call calls[] = {PUT("a", "b")};
  ORDER(0, calls);
  for (int i = 0; i < 4; i++) {
    const lxla_env env = open_process(0, i % 2, i < 2 ? NULL : &store);
    EQUAL(FAULT(num_nodes)(0), 0);
    CHECK(!has_metric(env, "process_id") && !has_metric(env, "process_count"));
    computes(env);
    OK(lxla_env_release(env));
  }
  EQUAL(memory.calls, 0);
  finish();
}

// A caller that was compiled with an older header has a shorter struct, and one process.
TEST(m8_a_struct_without_the_fields_is_one_process) {
  start();
  lxla_env_options options = process_options(3, 2, NULL);
  options.struct_size = offsetof(lxla_env_options, process_id);
  lxla_env env;
  OK(lxla_env_create(&options, &env));
  computes(env);
  OK(lxla_env_release(env));
  finish();
}

static char last_log[4096];

static void listen(int32_t level, const char *message, void *user) {
  (void)user;
  const int is_it = level == 2 && strstr(message, "the plugin does not run in several processes");
  if (is_it) snprintf(last_log, sizeof last_log, "%s", message);
}

// A plugin for GPUs has no option for the number of devices.
TEST(m8_a_refused_option_of_another_plugin_keeps_the_processes) {
  start();
  memory_store memory = EMPTY_STORE;
  const lxla_key_value_store store = functions_of(&memory);
  fault_store_call calls[] = {PUT("a", "b"), TRY_GET("a")};
  ORDER(1, calls);
  FAULT(refuse_option)("cpu_device_count");
  lxla_env_options options = process_options(1, 2, &store);
  options.device_count = 0;
  lxla_env env;
  OK(lxla_env_create(&options, &env));
  CAME(&calls[1], "b");
  EQUAL(memory.calls, 2);
  EQUAL(FAULT(num_nodes)(1), 2);
  computes(env);
  OK(lxla_env_release(env));
  clear_store(&memory);
  finish();
}

TEST(m8_a_plugin_without_processes_gets_a_client_of_this_one) {
  start();
  memory_store memory = EMPTY_STORE;
  const lxla_key_value_store store = functions_of(&memory);
  fault_store_call calls[] = {PUT("a", "b")};
  ORDER(1, calls);
  lxla_set_log_callback(listen, NULL);
  const char *names[] = {"node_id", "num_nodes"};
  for (int i = 0; i < 2; i++) {
    last_log[0] = 0;
    FAULT(refuse_option)(names[i]);
    const lxla_env env = open_process(1, 2, &store);
    if (!strstr(last_log, names[i])) FAIL("the log has \"%s\"", last_log);
    EQUAL(FAULT(num_nodes)(1), 0);
    computes(env);
    OK(lxla_env_release(env));
  }
  lxla_set_log_callback(NULL, NULL);
  // The plugin under test itself, for CPUs.
  lxla_env_options options = process_options(1, 2, &store);
  options.plugin_path = test_plugin();
  lxla_env env;
  OK(lxla_env_create(&options, &env));
  computes(env);
  OK(lxla_env_release(env));
  EQUAL(memory.calls, 0);
  finish();
}
