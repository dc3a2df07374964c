// Options of plugins in lxla_env_options, and memory statistics of devices: E8 and E9 of docs/behaviours.md.
#include "fault.h"

// --- Options -------------------------------------------------------------------------------------------------------

// Creates an environment on the fault plugin, whose client is created at once.
static lxla_status create(const char *plugin_options, int32_t device_count, lxla_env *env) {
  lxla_env_options options = default_options();
  options.plugin_path = LXLA_FAULT_PLUGIN;
  options.plugin_options = plugin_options;
  options.device_count = device_count;
  return lxla_env_create(&options, env);
}

static void has_options(const char *wanted) {
  const char *given = FAULT(options)();
  if (strcmp(given, wanted) != 0) FAIL("the client has the options %s, want %s", given, wanted);
}

static void computes(lxla_env env) {
  const lxla_tensor t = one(env, 20), twice = scalar(MUL, t, 2);
  EQUAL(value(twice), 40);
  RELEASE(t, twice);
}

TEST(e8_options_reach_the_client_with_the_types_of_the_json) {
  lxla_env env;
  OK(
      create("{\"test_text\": \"a \\u00fc\\n\", \"test_number\": -3, \"test_list\": [4, -5], \"test_none\": [],\n"
             " \"test_float\": 0.25, \"test_exponent\": 1e3, \"test_yes\": true, \"test_no\": false}",
             0, &env));
  has_options(
      "cpu_device_count=int64 1;test_text=string a \xc3\xbc\n;test_number=int64 -3;test_list=int64s 4 -5;"
      "test_none=int64s;test_float=float 0.25;test_exponent=float 1000;test_yes=bool 1;test_no=bool 0;");
  computes(env);
  OK(lxla_env_release(env));
  OK(create("{}", 2, &env));
  has_options("cpu_device_count=int64 2;");
  OK(lxla_env_release(env));
  OK(create(NULL, 0, &env));
  has_options("cpu_device_count=int64 1;");
  OK(lxla_env_release(env));
}

TEST(e8_the_number_of_devices_may_be_an_option) {
  lxla_env env;
  int32_t count;
  OK(create(" {\"cpu_device_count\": 3} ", 0, &env));
  has_options("cpu_device_count=int64 3;");
  OK(lxla_env_device_count(env, &count));
  EQUAL(count, 3);
  computes(env);
  OK(lxla_env_release(env));
}

TEST(e8_bad_options_are_refused_before_a_client_is_created) {
  static const struct {
    const char *text, *words;
  } cases[] = {
      {"", "options.plugin_options: byte 0: it is the end of the text; want a JSON object"},
      {"[1]", "byte 0: it is '['"},
      {"{\"a\": 1,}", "byte 8: trailing comma; want a JSON object of options"},
      {"{\"a\": 1", "byte 7: EOF while parsing an object"},
      {"{\"a\": 1}}", "byte 8: trailing characters"},
      {"{\"a\": nan}", "byte "},
      {"{\"a\": \"\xff\"}", "options.plugin_options: it is not UTF-8"},
      {"{\"outer\": {\"inner\": 1}}", "byte 10: \"outer\" is an object; want a string, an integer, a float"},
      {"{\"a\": null}", "byte 6: \"a\" is null"},
      {"{\"a\": [1, \"2\"]}", "\"a\" has \"2\" at index 1; want integers of 64 bits"},
      {"{\"a\": 99999999999999999999}", "\"a\" is 99999999999999999999; want an integer of 64 bits"},
      {"{\"a\": 1, \"a\": 2}", "byte 14: \"a\" is given twice"},
      // A CPU plugin would end the process.
      {"{\"cpu_device_count\": \"2\"}", "\"cpu_device_count\" is \"2\"; want an integer, 1 or more"},
      {"{\"cpu_device_count\": -1}", "\"cpu_device_count\" is -1; want an integer, 1 or more"},
      {"{\"cpu_device_count\": 1024}", "options.plugin_options: \"cpu_device_count\" is 1024; want at most 1023"},
      {"{\"num_nodes\": 2.5}", "\"num_nodes\" is 2.5; want an integer, 1 or more"},
  };
  const int creations = FAULT(calls)("Client_Create");
  lxla_env env = {77};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    REFUSED(create(cases[i].text, 0, &env), LXLA_INVALID_ARGUMENT, cases[i].words);
  REFUSED(create("{\"cpu_device_count\": 2}", 2, &env), LXLA_INVALID_ARGUMENT,
          "options.plugin_options: \"cpu_device_count\" is given, and options.device_count as well");
  // Without a path, the plugin is not started, and the text is wrong all the same.
  lxla_env_options options = default_options();
  options.plugin_options = "{";
  REFUSED(lxla_env_create(&options, &env), LXLA_INVALID_ARGUMENT, "options.plugin_options: byte 1: ");
  EQUAL(env.id, 77);
  EQUAL(FAULT(calls)("Client_Create"), creations);
}

TEST(e8_an_option_that_the_plugin_rejects_is_an_error) {
  lxla_env env = {77};
  FAULT(refuse_option)("test_text");
  REFUSED(create("{\"test_number\": 1, \"test_text\": \"x\"}", 0, &env), LXLA_INVALID_ARGUMENT,
          "Unexpected option name passed to PJRT_Client_Create: test_text");
  EQUAL(env.id, 77);
  // One of the library's own is left out.
  FAULT(refuse_option)("cpu_device_count");
  OK(create("{\"test_number\": 1}", 0, &env));
  has_options("test_number=int64 1;");
  computes(env);
  OK(lxla_env_release(env));
  FAULT(forget_processes)();
}

// A caller that was compiled with an older header has a shorter struct.
TEST(e8_a_struct_without_the_field_has_no_options) {
  lxla_env_options options = default_options();
  options.plugin_path = LXLA_FAULT_PLUGIN;
  options.plugin_options = "wrong";
  options.struct_size = offsetof(lxla_env_options, plugin_options);
  lxla_env env;
  OK(lxla_env_create(&options, &env));
  has_options("cpu_device_count=int64 1;");
  OK(lxla_env_release(env));
}

static void hash_with(const char *plugin_options, uint8_t hash[32]) {
  lxla_env env;
  OK(create(plugin_options, 0, &env));
  const lxla_tensor t = one(env, 1), x = scalar(ADD, t, 1);
  OK(lxla_graph_hash(env, XLA(0), &x, 1, hash));
  RELEASE(t, x);
  OK(lxla_env_release(env));
}

TEST(e8_options_are_in_the_key) {
  uint8_t none_given[32], empty[32], one_order[32], other_order[32], other_type[32];
  hash_with(NULL, none_given);
  hash_with("{}", empty);
  hash_with("{\"test_a\": 1, \"test_b\": 2}", one_order);
  hash_with("{\"test_b\": 2, \"test_a\": 1}", other_order);
  hash_with("{\"test_a\": 1, \"test_b\": 2.0}", other_type);
  CHECK(memcmp(none_given, empty, 32) == 0);
  CHECK(memcmp(none_given, one_order, 32) != 0);
  CHECK(memcmp(one_order, other_order, 32) == 0);
  CHECK(memcmp(one_order, other_type, 32) != 0);
}

// --- Memory statistics ---------------------------------------------------------------------------------------------

static void has_statistics(lxla_env env, lxla_device device, const char *wanted) {
  char *json;
  OK(lxla_device_memory_stats(env, device, &json));
  if (strcmp(json, wanted) != 0) FAIL("the statistics are %s, want %s", json, wanted);
  lxla_string_free(json);
}

static const lxla_device cpu = {LXLA_DEVICE_CPU, 0}, unspecified = {LXLA_DEVICE_UNSPECIFIED, 0};

TEST(e9_a_plugin_without_memory_statistics_is_unimplemented) {
  lxla_env env;
  OK(create(NULL, 0, &env));
  char *json = (char *)"unchanged", *const before = json;
  REFUSED(lxla_device_memory_stats(env, XLA(0), &json), LXLA_UNIMPLEMENTED, "memory statistics of xla:0: ");
  REFUSED(lxla_device_memory_stats(env, cpu, &json), LXLA_UNIMPLEMENTED, "device: cpu has no memory statistics");
  CHECK(json == before);
  OK(lxla_env_release(env));
}

TEST(e9_statistics_are_those_that_the_plugin_knows) {
  lxla_env env;
  OK(create(NULL, 2, &env));
  FAULT(memory_is)((fault_memory){100, 200, 3000000000000});
  has_statistics(env, XLA(0),
                 "{\"bytes_in_use\":100,\"bytes_limit\":3000000000000,\"peak_bytes_in_use\":200,"
                 "\"peak_pool_bytes\":9}");
  FAULT(memory_is)((fault_memory){100, -1, -1});
  has_statistics(env, unspecified, "{\"bytes_in_use\":100,\"peak_pool_bytes\":9}");
  has_statistics(env, XLA(1), "{\"bytes_in_use\":101,\"peak_pool_bytes\":9}");
  // A mesh has a list, in its own order.
  const char *names[] = {"data"};
  lxla_mesh mesh;
  lxla_device place;
  OK(lxla_mesh_create(env, names, (int64_t[]){2}, 1, (int32_t[]){1, 0}, &mesh));
  OK(lxla_mesh_device(mesh, &place));
  has_statistics(env, place,
                 "{\"devices\":[{\"bytes_in_use\":101,\"device\":\"xla:1\",\"peak_pool_bytes\":9},"
                 "{\"bytes_in_use\":100,\"device\":\"xla:0\",\"peak_pool_bytes\":9}]}");
  OK(lxla_mesh_release(mesh));
  // cpu is xla:0 where tensors on it are.
  OK(lxla_env_set_option(env, "use_native_for_cpu_tensor", "false"));
  has_statistics(env, cpu, "{\"bytes_in_use\":100,\"peak_pool_bytes\":9}");
  FAULT(memory_is)((fault_memory){-1, -1, -1});
  OK(lxla_env_release(env));
}

TEST(e9_wrong_devices_and_failures_are_told) {
  lxla_env env;
  OK(create(NULL, 0, &env));
  FAULT(memory_is)((fault_memory){1, 1, 1});
  char *json = NULL;
  REFUSED(lxla_device_memory_stats(env, XLA(1), &json), LXLA_INVALID_ARGUMENT, "device: there is no xla:1");
  REFUSED(lxla_device_memory_stats(env, XLA(-1), &json), LXLA_INVALID_ARGUMENT, "device: there is no xla:-1");
  REFUSED(lxla_device_memory_stats(env, (lxla_device){9, 0}, &json), LXLA_INVALID_ARGUMENT, "device: kind 9");
  REFUSED(lxla_device_memory_stats((lxla_env){1u << 30}, XLA(0), &json), LXLA_INVALID_HANDLE, "env: ");
  REFUSED(lxla_device_memory_stats(env, XLA(0), NULL), LXLA_NULL_ARGUMENT, "out_json: it is NULL");
  FAULT(arm)("Device_MemoryStats", 1, FAULT_FAIL, LXLA_ABORTED);
  REFUSED(lxla_device_memory_stats(env, XLA(0), &json), LXLA_ABORTED, "memory statistics of xla:0: planted");
  CHECK(json == NULL);
  FAULT(memory_is)((fault_memory){-1, -1, -1});
  OK(lxla_env_release(env));
}
