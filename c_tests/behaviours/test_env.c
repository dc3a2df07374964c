// Environments: creation, options, scopes, release, counters (E3 and E7 of docs/behaviours.md), and the error for a
// missing plugin.
#include "check.h"

TEST(e3_scopes_nest_and_count) {
  lxla_env a = new_env(), b = new_env(), current;
  REFUSED(lxla_env_current(&current), LXLA_FAILED_PRECONDITION, "no environment's scope");
  REFUSED(lxla_env_exit(a), LXLA_FAILED_PRECONDITION, "no environment's scope");
  OK(lxla_env_enter(a));
  OK(lxla_env_enter(b));
  OK(lxla_env_enter(b));
  OK(lxla_env_current(&current));
  CHECK(current.id == b.id);
  lxla_tensor t = one(no_env, 1);
  OK(lxla_tensor_env(t, &current));
  CHECK(current.id == b.id);
  REFUSED(lxla_env_exit(a), LXLA_FAILED_PRECONDITION, "scopes must nest");
  OK(lxla_env_exit(b));
  OK(lxla_env_exit(b));
  OK(lxla_env_current(&current));
  CHECK(current.id == a.id);
  lxla_tensor u = one(no_env, 1), bad;
  REFUSED(lxla_binary(ADD, t, u, &bad), LXLA_INVALID_ARGUMENT, "lhs and rhs belong to two environments");
  REFUSED(lxla_tensor_assign(t, u), LXLA_INVALID_ARGUMENT, "dst and src belong to two environments");
  OK(lxla_env_exit(a));
  REFUSED(lxla_env_exit(a), LXLA_FAILED_PRECONDITION, "no environment's scope");
  RELEASE(t, u);
  OK(lxla_env_release(a));
  OK(lxla_env_release(b));
}

TEST(e7_a_released_environment_leaves_its_tensors_readable) {
  lxla_env env = new_env();
  lxla_tensor ready = one(env, 1), pending = scalar(ADD, ready, 41), out;
  OK(lxla_env_retain(env));
  OK(lxla_env_release(env));
  EQUAL(counter(env, "MarkStep"), 0);
  OK(lxla_env_release(env));
  EQUAL(value(ready), 1);
  EQUAL(value(pending), 42);
  EQUAL(state_of(pending), LXLA_STATE_READY);
  REFUSED(lxla_binary(ADD, ready, pending, &out), LXLA_FAILED_PRECONDITION, "environment was released");
  REFUSED(lxla_binary_scalar_inplace(ADD, ready, 1), LXLA_FAILED_PRECONDITION, "environment was released");
  REFUSED(lxla_sync(&ready, 1), LXLA_FAILED_PRECONDITION, "environment was released");
  REFUSED(lxla_tensor_write(ready, (float[]){1}, 4), LXLA_FAILED_PRECONDITION, "environment was released");
  REFUSED(lxla_tensor_snapshot(ready, &out), LXLA_FAILED_PRECONDITION, "environment was released");
  REFUSED(lxla_env_set_option(env, "donation", "false"), LXLA_INVALID_HANDLE, "env");
  REFUSED(lxla_env_enter(env), LXLA_INVALID_HANDLE, "env");
  EQUAL(value(ready), 1);
  RELEASE(ready, pending);
  // The next environment uses the same devices; handles of the released one stay invalid.
  lxla_env next = new_env();
  lxla_tensor t = one(next, 5);
  REFUSED(lxla_tensor_release(ready), LXLA_INVALID_HANDLE, "released");
  EQUAL(value(t), 5);
  RELEASE(t);
  OK(lxla_env_release(next));
}

TEST(environments_come_and_go) {
  for (int i = 0; i < 50; i++) {
    lxla_env env = new_env();
    lxla_tensor t = one(env, (float)i), u = scalar(ADD, t, 1);
    OK(lxla_env_release(env));
    EQUAL(value(u), i + 1);
    RELEASE(t, u);
  }
}

static void option_is(lxla_env env, const char *name, const char *want) {
  char *text;
  OK(lxla_env_get_option(env, name, &text));
  if (strcmp(text, want) != 0) FAIL("%s is %s, want %s", name, text, want);
  lxla_string_free(text);
}

TEST(options_by_call_struct_and_variable) {
  lxla_env env = new_env();
  option_is(env, "donation", "true");
  option_is(env, "use_native_for_cpu_tensor", "true");
  option_is(env, "mixed_device_policy", "scalar");
  option_is(env, "max_program_ops", "16384");
  OK(lxla_env_set_option(env, "mixed_device_policy", "copy"));
  option_is(env, "mixed_device_policy", "copy");
  OK(lxla_env_release(env));

  CHECK(setenv("LXLA_DONATION", "false", 1) == 0 && setenv("LXLA_MAX_PROGRAM_OPS", "99", 1) == 0);
  lxla_env_options options = default_options();
  options.max_program_ops = 7;
  OK(lxla_env_create(&options, &env));
  option_is(env, "donation", "false");
  option_is(env, "max_program_ops", "7");
  OK(lxla_env_set_option(env, "donation", "true"));
  option_is(env, "donation", "true");
  OK(lxla_env_release(env));
  CHECK(setenv("LXLA_DONATION", "maybe", 1) == 0);
  REFUSED(lxla_env_create(NULL, &env), LXLA_INVALID_ARGUMENT, "environment variable LXLA_DONATION");
  CHECK(unsetenv("LXLA_DONATION") == 0 && unsetenv("LXLA_MAX_PROGRAM_OPS") == 0);

  // A caller built against an older header passes a shorter struct: fields it lacks have their defaults, and the
  // library writes nothing beyond its end.
  unsigned char raw[sizeof(lxla_env_options)];
  memset(raw, 0xEE, sizeof raw);
  size_t size = offsetof(lxla_env_options, max_program_ops);
  memcpy(raw, &size, sizeof size);
  OK(lxla_env_options_init((lxla_env_options *)raw));
  for (size_t i = size; i < sizeof raw; i++) EQUAL(raw[i], 0xEE);
  OK(lxla_env_create((lxla_env_options *)raw, &env));
  option_is(env, "max_program_ops", "16384");
  OK(lxla_env_release(env));
}

TEST(a_missing_plugin_says_where_it_looked_and_what_to_do) {
  lxla_env_options options = default_options();
  lxla_env env = {5};
  options.plugin_path = "no/such/plugin.so";
  REFUSED(lxla_env_create(&options, &env), LXLA_NOT_FOUND, "no/such/plugin.so");
  options.plugin_path = LXLA_THIS_FILE;
  REFUSED(lxla_env_create(&options, &env), LXLA_FAILED_PRECONDITION, "not a loadable plugin");
  EQUAL(env.id, 5);
  // If no plugin is named, the first use of an XLA device looks for one.
  CHECK(setenv("LXLA_PJRT_PLUGIN", "also/missing.so", 1) == 0);
  lxla_tensor t = {5};
  OK(lxla_env_create(NULL, &env));
  REFUSED(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F32, NULL, 0, 1, &t), LXLA_NOT_FOUND, "also/missing.so");
  CHECK(unsetenv("LXLA_PJRT_PLUGIN") == 0);
  EQUAL(t.id, 5);
  OK(lxla_env_release(env));
}

TEST(an_engine_is_chosen_by_name) {
  lxla_env_options options = default_options();
  lxla_env env = {5};
  options.engine = "tpu";
  REFUSED(lxla_env_create(&options, &env), LXLA_INVALID_ARGUMENT, "options.engine: \"tpu\" given; want pjrt or xla-rs");
  options.engine = "xla-rs";
  options.plugin_path = "no/such/plugin.so";
  REFUSED(lxla_env_create(&options, &env), LXLA_INVALID_ARGUMENT, "xla-rs, which has no plugins");
  options.plugin_path = NULL;
  options.device_count = 2;
  REFUSED(lxla_env_create(&options, &env), LXLA_UNIMPLEMENTED, "xla-rs");
  EQUAL(env.id, 5);

  // The plugin by path is PJRT's, whatever the variable says.
  const char *before = getenv("LXLA_ENGINE");
  char kept[32] = "";
  if (before) snprintf(kept, sizeof kept, "%s", before);
  CHECK(setenv("LXLA_ENGINE", "nothing", 1) == 0);
  REFUSED(lxla_env_create(NULL, &env), LXLA_INVALID_ARGUMENT, "LXLA_ENGINE: \"nothing\" given");
  options = default_options();
  options.plugin_path = "no/such/plugin.so";
  REFUSED(lxla_env_create(&options, &env), LXLA_NOT_FOUND, "no/such/plugin.so");
  options.plugin_path = NULL;
  options.engine = "pjrt";
  OK(lxla_env_create(&options, &env));
  OK(lxla_env_release(env));
  CHECK((*kept ? setenv("LXLA_ENGINE", kept, 1) : unsetenv("LXLA_ENGINE")) == 0);
}

TEST(metrics_are_json_and_can_be_reset) {
  lxla_env env = new_env();
  lxla_tensor t = one(env, 1);
  OK(lxla_binary_scalar_inplace(ADD, t, 1));
  step(env);
  EQUAL(value(t), 2);
  EQUAL(counter(env, "TransferToDevice"), 1);
  EQUAL(counter(env, "OutboundBytes"), 4);
  EQUAL(counter(env, "TransferFromDevice"), 1);
  EQUAL(counter(env, "InboundBytes"), 4);
  EQUAL(counter(env, "CreateTensor"), 1);
  EQUAL(counter(env, "DonorsRequested"), 1);
  char *text;
  OK(lxla_env_metrics_json(env, &text));
  CHECK(text[0] == '{' && strstr(text, "\"MarkStep\":1") && strstr(text, "\"platform\":\"cpu\""));
  lxla_string_free(text);
  OK(lxla_env_metrics_reset(env));
  EQUAL(counter(env, "MarkStep"), 0);
  EQUAL(counter(env, "PeakLiveBytes"), 4);
  RELEASE(t);
  OK(lxla_env_release(env));
}

static char logged[256];

static void keep(int32_t level, const char *message, void *user) {
  snprintf(logged, sizeof logged, "%d %s %s", level, message, (const char *)user);
}

TEST(a_log_callback_can_be_set_and_taken_back) {
  OK(lxla_set_log_callback(keep, "user"));
  OK(lxla_set_log_callback(NULL, NULL));
  CHECK(logged[0] == 0);
}

TEST(devices_are_read) {
  lxla_device device;
  OK(lxla_device_parse("xla:2", &device));
  CHECK(device.kind == LXLA_DEVICE_XLA && device.ordinal == 2);
  OK(lxla_device_parse("cpu", &device));
  CHECK(device.kind == LXLA_DEVICE_CPU && device.ordinal == 0);
  REFUSED(lxla_device_parse("tpu:0", &device), LXLA_INVALID_ARGUMENT, "\"tpu:0\" is not a device");
  CHECK(device.kind == LXLA_DEVICE_CPU);
}
