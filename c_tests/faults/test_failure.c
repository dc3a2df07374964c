// Failures of the plugin: F1 to F3 of docs/behaviours.md, with the fault plugin.
#include "fault.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static const char PLANTED[] = "planted by the fault plugin";

TEST(f1_a_failed_compile_leaves_everything_pending) {
  lxla_env env = fault_env();
  lxla_tensor t = one(env, 1), s = scalar(ADD, t, 5);
  OK(lxla_binary_scalar_inplace(MUL, t, 3));
  for (int i = 0; i < 3; i++) {
    FAULT(arm)("Client_Compile", 1, FAULT_FAIL, LXLA_RESOURCE_EXHAUSTED);
    REFUSED(lxla_mark_step(env, XLA(0), 1), LXLA_RESOURCE_EXHAUSTED, PLANTED);
    EQUAL(state_of(t), LXLA_STATE_PENDING);
    EQUAL(state_of(s), LXLA_STATE_PENDING);
  }
  EQUAL(counter(env, "DonatedBuffers"), 0);
  EQUAL(step(env), 1);
  EQUAL(value(t), 3);
  EQUAL(value(s), 6);
  RELEASE(t, s);
  OK(lxla_env_release(env));
}

// An error of a program whose products have an algorithm says who chose it: the plugin may not have the algorithm.
TEST(f1_a_failed_compile_names_the_option_of_an_algorithm) {
  lxla_env env = fault_env();
  lxla_tensor x = from_f32(env, DIMS(1, 1), (float[]){3}), y;
  OK(lxla_matmul(x, x, &y));
  const char *precisions[] = {"tf32_tf32_f32", "default"};
  for (int i = 0; i < 2; i++) {
    OK(lxla_env_set_option(env, "matmul_precision", precisions[i]));
    FAULT(arm)("Client_Compile", 1, FAULT_FAIL, LXLA_UNIMPLEMENTED);
    REFUSED(lxla_mark_step(env, XLA(0), 1), LXLA_UNIMPLEMENTED, PLANTED);
    CHECK((strstr(lxla_last_error_message(), "the option matmul_precision (tf32_tf32_f32)") != NULL) == (i == 0));
    CHECK((strstr(lxla_last_error_message(), "algorithm") != NULL) == (i == 0));
  }
  EQUAL(value(y), 9);
  RELEASE(x, y);
  OK(lxla_env_release(env));
}

// w += 1 for each of n rows of ones, by a program for bounds from the second size on.
static lxla_status add_rows(lxla_env env, lxla_tensor w, int64_t n, lxla_tensor *x) {
  const float ones[32] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                          1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  *x = from_f32(env, DIMS(n, 2), ones);
  lxla_tensor sum;
  OK(lxla_reduce(LXLA_REDUCE_SUM, *x, DIMS(0), 0, &sum));
  OK(lxla_binary_inplace(ADD, w, sum));
  RELEASE(sum);
  return lxla_mark_step(env, XLA(0), 1);
}

TEST(f1_failures_of_programs_for_bounds_lose_nothing) {
  lxla_env env = fault_env();
  OK(lxla_env_set_option(env, "dynamic_sizes", "8,16"));
  OK(lxla_env_set_option(env, "dynamic_exact", "false"));
  const float zeros[2] = {0, 0};
  lxla_tensor w = from_f32(env, DIMS(2), zeros), x;
  OK(add_rows(env, w, 3, &x));
  RELEASE(x);
  // Without the program for bounds, the program for the sizes runs.
  FAULT(arm)("Client_Compile", 1, FAULT_FAIL, LXLA_INTERNAL);
  OK(add_rows(env, w, 4, &x));
  RELEASE(x);
  EQUAL(counter(env, "DynamicRun"), 0);
  OK(add_rows(env, w, 10, &x));
  RELEASE(x);
  EQUAL(counter(env, "DynamicRun"), 1);
  // The first copy is the host's array, the second one the sizes, the third one the padded argument.
  const char *const functions[] = {"Client_BufferFromHostBuffer", "Client_BufferFromHostBuffer",
                                   "LoadedExecutable_Execute"};
  const int calls[] = {2, 3, 1};
  float wanted = 17, found[2];
  for (int i = 0; i < 3; i++) {
    FAULT(arm)(functions[i], calls[i], FAULT_FAIL, LXLA_INTERNAL);
    REFUSED(add_rows(env, w, 11 + i, &x), LXLA_INTERNAL, PLANTED);
    EQUAL(state_of(w), LXLA_STATE_PENDING);
    step(env);
    wanted += (float)(11 + i);
    OK(lxla_tensor_read(w, found, sizeof found));
    CHECK(found[0] == wanted && found[1] == wanted);
    RELEASE(x);
  }
  EQUAL(counter(env, "DynamicCompile"), 1);
  RELEASE(w);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

// Recording and releasing right after a failing step, as another thread might do while it is under way. The restored
// trace has the right ids, holders and counts if further work gives right values.
TEST(f1_work_goes_on_upon_what_a_failed_step_gave_back) {
  lxla_env env = fault_env();
  lxla_tensor a = one(env, 2), b = scalar(MUL, a, 3), c = snapshot(b), d = scalar(ADD, b, 1);
  FAULT(arm)("Client_Compile", 1, FAULT_FAIL, LXLA_INTERNAL);
  REFUSED(lxla_mark_step(env, XLA(0), 0), LXLA_INTERNAL, "step 1 on xla:0");
  OK(lxla_binary_scalar_inplace(ADD, b, 100));
  RELEASE(d);
  lxla_tensor e = binary(MUL, c, b);
  FAULT(arm)("Client_Compile", 1, FAULT_FAIL, LXLA_INTERNAL);
  REFUSED(lxla_sync(&e, 1), LXLA_INTERNAL, PLANTED);
  EQUAL(value(e), 6 * 106);
  step(env);
  EQUAL(value(b), 106);
  EQUAL(value(c), 6);
  RELEASE(a, b, c, e);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

// A compile that fails again and again is searched for culprits; one that fails once leaves everything pending. So does
// a plugin that does not answer, which is not asked again.
TEST(f1_a_failing_compile_is_divided_and_nothing_is_lost) {
  lxla_env env = fault_env();
  lxla_tensor t[8];
  for (int i = 0; i < 8; i++) {
    t[i] = one(env, (float)i);
    OK(lxla_binary_scalar_inplace(ADD, t[i], 1 + i));
  }
  FAULT(arm)("Client_Compile", 1, FAULT_FAIL, LXLA_INTERNAL);
  REFUSED(lxla_mark_step(env, XLA(0), 1), LXLA_INTERNAL, "no value was found that fails alone");
  for (int i = 0; i < 8; i++) EQUAL(state_of(t[i]), LXLA_STATE_PENDING);
  FAULT(refuse)("Client_Compile", LXLA_UNAVAILABLE);
  int calls = FAULT(calls)("Client_Compile");
  REFUSED(lxla_mark_step(env, XLA(0), 1), LXLA_UNAVAILABLE, PLANTED);
  EQUAL(FAULT(calls)("Client_Compile"), calls + 1);
  // Of other operations, no parts are compiled yet.
  for (int i = 0; i < 8; i++) OK(lxla_binary_scalar_inplace(MUL, t[i], 2));
  FAULT(refuse)("Client_Compile", LXLA_RESOURCE_EXHAUSTED);
  REFUSED(lxla_mark_step(env, XLA(0), 1), LXLA_RESOURCE_EXHAUSTED,
          "f32[1] by multiply, f32[1] by multiply and 3 more cannot be compiled: release them, or sync others");
  for (int i = 0; i < 8; i++) EQUAL(state_of(t[i]), LXLA_STATE_PENDING);
  FAULT(refuse)("Client_Compile", 0);
  EQUAL(counter(env, "DonatedBuffers"), 0);
  EQUAL(step(env), 8);
  for (int i = 0; i < 8; i++) EQUAL(value(t[i]), 2 * (1 + 2 * i));
  for (int i = 0; i < 8; i++) RELEASE(t[i]);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

TEST(f1_the_rest_of_a_divided_step_fails_too) {
  lxla_env env = fault_env();
  lxla_tensor x = one(env, 1), t = one(env, 2), bad;
  OK(lxla_custom_call("no_such_target", &x, 1, (int32_t[]){LXLA_DTYPE_F32}, (size_t[]){0}, NULL, 1, NULL, &bad));
  OK(lxla_binary_scalar_inplace(ADD, t, 1));
  FAULT(arm)("LoadedExecutable_Execute", 1, FAULT_FAIL, LXLA_ABORTED);
  REFUSED(lxla_mark_step(env, XLA(0), 1), LXLA_NOT_FOUND,
          "; the other values were not computed: step 2 on xla:0: planted by the fault plugin");
  EQUAL(state_of(t), LXLA_STATE_PENDING);
  REFUSED(lxla_mark_step(env, XLA(0), 1), LXLA_NOT_FOUND, "; the other value was computed");
  EQUAL(state_of(t), LXLA_STATE_READY);
  EQUAL(value(t), 3);
  RELEASE(x, t, bad);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

TEST(f1_a_failed_count_of_outputs_is_a_failed_compile) {
  lxla_env env = fault_env();
  lxla_tensor t = one(env, 1);
  const char *functions[] = {"LoadedExecutable_GetExecutable", "Executable_NumOutputs"};
  for (int i = 0; i < 2; i++) {
    OK(lxla_binary_scalar_inplace(i ? MUL : ADD, t, 3));
    FAULT(arm)(functions[i], 1, FAULT_FAIL, LXLA_UNIMPLEMENTED);
    REFUSED(lxla_mark_step(env, XLA(0), 1), LXLA_UNIMPLEMENTED, PLANTED);
    EQUAL(step(env), 1);
  }
  EQUAL(value(t), 12);
  RELEASE(t);
  OK(lxla_env_release(env));
}

TEST(f2_a_failed_execute_leaves_everything_pending) {
  lxla_env env = fault_env();
  lxla_tensor t = one(env, 1), s = scalar(ADD, t, 5);
  OK(lxla_binary_scalar_inplace(MUL, t, 3));
  FAULT(arm)("LoadedExecutable_Execute", 1, FAULT_FAIL, LXLA_ABORTED);
  REFUSED(lxla_mark_step(env, XLA(0), 1), LXLA_ABORTED, "step 1 on xla:0");
  EQUAL(state_of(t), LXLA_STATE_PENDING);
  EQUAL(step(env), 1);
  EQUAL(counter(env, "UncachedCompile"), 1);
  EQUAL(value(t), 3);
  EQUAL(value(s), 6);
  RELEASE(t, s);
  OK(lxla_env_release(env));
}

TEST(f2_what_the_engine_consumed_before_it_failed_is_gone_and_says_so) {
  lxla_env env = fault_env();
  lxla_tensor t = one(env, 1), other = one(env, 7);
  OK(lxla_binary_scalar_inplace(MUL, t, 3));
  lxla_tensor apart = scalar(ADD, other, 1);
  FAULT(arm)("LoadedExecutable_Execute", 1, FAULT_CONSUME, LXLA_ABORTED);
  REFUSED(lxla_mark_step(env, XLA(0), 1), LXLA_ABORTED, PLANTED);
  float v;
  REFUSED(lxla_tensor_read(t, &v, sizeof v), LXLA_FAILED_PRECONDITION, "consumed by step 1 on xla:0");
  // The next step computes the tensors it can; reading a lost one returns the error.
  OK(lxla_mark_step(env, XLA(0), 1));
  EQUAL(state_of(t), LXLA_STATE_FAILED);
  REFUSED(lxla_tensor_read(t, &v, sizeof v), LXLA_FAILED_PRECONDITION, "consumed by step 1 on xla:0");
  EQUAL(value(apart), 8);
  lxla_tensor on_it = scalar(ADD, t, 1);
  OK(lxla_mark_step(env, XLA(0), 1));
  REFUSED(lxla_tensor_read(on_it, &v, sizeof v), LXLA_FAILED_PRECONDITION, "consumed by step 1 on xla:0");
  // Writing a new value makes the lost tensor usable again.
  OK(lxla_tensor_write(t, (float[]){9}, sizeof(float)));
  EQUAL(value(t), 9);
  RELEASE(t, other, apart, on_it);
  OK(lxla_env_release(env));
}

// A step of a list that fails after it consumed its donors: what stays pending and needs a result of the step is lost,
// what needs only values that were kept is not.
TEST(f2_a_step_of_a_list_fails_after_a_donor_was_consumed) {
  lxla_env env = fault_env();
  lxla_tensor t = one(env, 1), u = one(env, 7), on_old = scalar(ADD, u, 1);
  OK(lxla_binary_scalar_inplace(MUL, t, 3));
  OK(lxla_binary_inplace(MUL, u, t));
  lxla_tensor on_new = scalar(ADD, t, 10), list[] = {t, u};
  FAULT(arm)("Client_Compile", 1, FAULT_FAIL, LXLA_INTERNAL);
  REFUSED(lxla_step_tensors(list, 2, 1), LXLA_INTERNAL, PLANTED);
  FAULT(arm)("LoadedExecutable_Execute", 1, FAULT_FAIL, LXLA_ABORTED);
  REFUSED(lxla_step_tensors(list, 2, 1), LXLA_ABORTED, PLANTED);
  EQUAL(state_of(t), LXLA_STATE_PENDING);
  EQUAL(state_of(on_new), LXLA_STATE_PENDING);
  EQUAL(counter(env, "DonatedBuffers"), 0);
  FAULT(arm)("LoadedExecutable_Execute", 1, FAULT_CONSUME, LXLA_ABORTED);
  REFUSED(lxla_step_tensors(list, 2, 1), LXLA_ABORTED, PLANTED);
  float v;
  REFUSED(lxla_tensor_read(on_new, &v, sizeof v), LXLA_FAILED_PRECONDITION, "consumed by step ");
  REFUSED(lxla_step_tensors(list, 2, 1), LXLA_FAILED_PRECONDITION, "consumed by step ");
  EQUAL(value(on_old), 8);
  OK(lxla_tensor_write(t, (float[]){9}, sizeof(float)));
  EQUAL(value(t), 9);
  RELEASE(t, u, on_old, on_new);
  OK(lxla_mark_step(env, XLA(0), 1));
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

TEST(f3_a_later_failure_reaches_whoever_reads_and_nobody_else) {
  lxla_env env = fault_env();
  lxla_tensor t = one(env, 1), other = one(env, 7);
  OK(lxla_binary_scalar_inplace(MUL, t, 3));
  FAULT(arm)("LoadedExecutable_Execute", 1, FAULT_LATER, LXLA_DATA_LOSS);
  OK(lxla_mark_step(env, XLA(0), 0));
  OK(lxla_binary_scalar_inplace(ADD, other, 1));
  lxla_tensor on_it = scalar(ADD, t, 1);
  OK(lxla_mark_step(env, XLA(0), 0));
  int32_t ready = 0;
  OK(lxla_tensor_wait_for(t, INT64_MAX, &ready));
  EQUAL(ready, 1);
  float v = 42;
  REFUSED(lxla_tensor_read(t, &v, sizeof v), LXLA_DATA_LOSS, PLANTED);
  EQUAL(v, 42);
  EQUAL(state_of(t), LXLA_STATE_FAILED);
  REFUSED(lxla_tensor_read(on_it, &v, sizeof v), LXLA_DATA_LOSS, PLANTED);
  lxla_tensor untouched = one(env, 5);
  OK(lxla_binary_scalar_inplace(ADD, untouched, 1));
  REFUSED(lxla_wait_for(env, XLA(0), UINT64_MAX, INT64_MAX, &ready), LXLA_DATA_LOSS, PLANTED);
  OK(lxla_wait_for(env, XLA(0), UINT64_MAX, INT64_MAX, &ready));
  EQUAL(ready, 1);
  EQUAL(value(untouched), 6);
  RELEASE(t, other, on_it, untouched);
  OK(lxla_env_release(env));
}

TEST(f3_a_step_that_waits_reports_it) {
  lxla_env env = fault_env();
  lxla_tensor t = one(env, 1);
  OK(lxla_binary_scalar_inplace(MUL, t, 3));
  FAULT(arm)("LoadedExecutable_Execute", 1, FAULT_LATER, LXLA_DATA_LOSS);
  REFUSED(lxla_mark_step(env, XLA(0), 1), LXLA_DATA_LOSS, PLANTED);
  RELEASE(t);
  OK(lxla_env_release(env));
}

// The real plugin refuses the allocation: 2^39 floats are 2 TiB.
TEST(f4_exhausted_memory_says_what_was_asked_and_what_takes_it) {
  lxla_env env = new_env();
  lxla_tensor big, kept, small = one(env, 1), huge;
  OK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F32, DIMS(512, 1024), 3, &big));
  OK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_S8, DIMS(1000), 2, &kept));
  step(env);
  OK(lxla_binary_scalar_inplace(ADD, small, 1));
  OK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F32, DIMS(1LL << 39), 1, &huge));
  for (int i = 0; i < 3; i++) {
    REFUSED(lxla_mark_step(env, XLA(0), 1), LXLA_RESOURCE_EXHAUSTED, "2199023255556 bytes were asked for");
    CHECK(strstr(lxla_last_error_message(), "f32[512,1024] with 2097152, s8[1000] with 1000"));
    EQUAL(state_of(small), LXLA_STATE_PENDING);
  }
  float v[2];
  REFUSED(lxla_tensor_read(huge, v, 1ULL << 41), LXLA_RESOURCE_EXHAUSTED, "the largest f32[512,1024]");
  RELEASE(huge, big);
  EQUAL(step(env), 1);
  EQUAL(value(small), 2);
  RELEASE(kept, small);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

// A device that lacks memory when a program runs, in a step and in a sync: what its results and its temporaries need.
TEST(f4_a_run_without_memory_says_what_its_program_needs) {
  lxla_env env = fault_env();
  float v[64 * 64];
  for (int i = 0; i < 64 * 64; i++) v[i] = 1;
  lxla_tensor x = from_f32(env, DIMS(64, 64), v), y = x, all[4];
  for (int i = 0; i < 2; i++) {
    OK(lxla_matmul(y, x, &all[2 * i]));
    OK(lxla_unary(LXLA_UNARY_TANH, all[2 * i], &all[2 * i + 1]));
    y = all[2 * i + 1];
  }
  OK(lxla_tensor_release_many(all, 3));
  lxla_memory_stats needed = {.struct_size = sizeof needed};
  OK(lxla_compiled_memory(env, XLA(0), &y, 1, &needed));
  CHECK(needed.temp_bytes > 0);
  char words[128];
  snprintf(words, sizeof words, "; besides, its program of compile 1 needs %llu bytes for temporaries",
           (unsigned long long)needed.temp_bytes);
  FAULT(arm)("LoadedExecutable_Execute", 1, FAULT_FAIL, LXLA_RESOURCE_EXHAUSTED);
  REFUSED(lxla_mark_step(env, XLA(0), 1), LXLA_RESOURCE_EXHAUSTED, words);
  CHECK(strstr(lxla_last_error_message(), "16384 bytes were asked for; live tensors hold 16384 bytes in 1 buffers"));
  FAULT(arm)("LoadedExecutable_Execute", 1, FAULT_FAIL, LXLA_RESOURCE_EXHAUSTED);
  REFUSED(lxla_sync(&y, 1), LXLA_RESOURCE_EXHAUSTED, words);
  EQUAL(state_of(y), LXLA_STATE_PENDING);
  // The compile log has the number.
  char *log;
  OK(lxla_compile_log_json(env, &log));
  snprintf(words, sizeof words, "\"temp_bytes\":%llu", (unsigned long long)needed.temp_bytes);
  CHECK(strstr(log, words) && strstr(log, "\"number\":1"));
  lxla_string_free(log);
  step(env);
  EQUAL(state_of(y), LXLA_STATE_READY);
  RELEASE(x, y);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

TEST(f4_a_refused_transfer_says_it_too) {
  lxla_env env = fault_env();
  lxla_tensor t = one(env, 1), out = none;
  float v[4] = {0};
  FAULT(arm)("Client_BufferFromHostBuffer", 1, FAULT_FAIL, LXLA_RESOURCE_EXHAUSTED);
  REFUSED(lxla_tensor_from_host(env, XLA(0), LXLA_DTYPE_F32, DIMS(4), v, sizeof v, &out), LXLA_RESOURCE_EXHAUSTED,
          "16 bytes were asked for; live tensors hold 4 bytes in 1 buffers, the largest f32[1] with 4");
  EQUAL(value(t), 1);
  RELEASE(t);
  OK(lxla_env_release(env));
}

static void threw(const char *function) {
  char words[128];
  snprintf(words, sizeof words, "the plugin's PJRT_%s threw an exception: %s", function, PLANTED);
  if (!strstr(lxla_last_error_message(), words)) FAIL("\"%s\" lacks \"%s\"", lxla_last_error_message(), words);
}

TEST(f5_a_call_of_the_plugin_that_throws_is_an_internal_error) {
  FAULT(arm)("Client_Create", 1, FAULT_THROW, 0);
  lxla_env_options options = default_options();
  options.plugin_path = LXLA_FAULT_PLUGIN;
  lxla_env env;
  REFUSED(lxla_env_create(&options, &env), LXLA_INTERNAL, PLANTED);
  threw("Client_Create");
  env = fault_env();
  lxla_tensor t = one(env, 1);
  OK(lxla_binary_scalar_inplace(MUL, t, 3));
  const char *const of_step[] = {"Client_Compile", "LoadedExecutable_Execute"};
  for (int i = 0; i < 2; i++) {
    FAULT(arm)(of_step[i], 1, FAULT_THROW, 0);
    REFUSED(lxla_mark_step(env, XLA(0), 1), LXLA_INTERNAL, PLANTED);
    threw(of_step[i]);
    EQUAL(state_of(t), LXLA_STATE_PENDING);
  }
  OK(lxla_mark_step(env, XLA(0), 1));
  EQUAL(value(t), 3);
  RELEASE(t);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

TEST(failed_transfers_make_nothing_and_lose_nothing) {
  lxla_env env = fault_env();
  lxla_tensor t = one(env, 1), made = none;
  float v = 2;
  FAULT(arm)("Client_BufferFromHostBuffer", 1, FAULT_FAIL, LXLA_RESOURCE_EXHAUSTED);
  REFUSED(lxla_tensor_from_host(env, XLA(0), LXLA_DTYPE_F32, DIMS(1), &v, sizeof v, &made), LXLA_RESOURCE_EXHAUSTED,
          PLANTED);
  EQUAL(made.id, 0);
  FAULT(arm)("Client_BufferFromHostBuffer", 1, FAULT_FAIL, LXLA_RESOURCE_EXHAUSTED);
  REFUSED(lxla_tensor_write(t, &v, sizeof v), LXLA_RESOURCE_EXHAUSTED, PLANTED);
  EQUAL(value(t), 1);
  FAULT(arm)("Buffer_ReadyEvent", 1, FAULT_FAIL, LXLA_INTERNAL);
  REFUSED(lxla_tensor_read(t, &v, sizeof v), LXLA_INTERNAL, PLANTED);
  EQUAL(value(t), 1);  // the copy failed, but the value is intact
  // Without a host pointer, the value is read by a transfer.
  lxla_tensor u = one(env, 6);
  FAULT(arm)("Buffer_OpaqueDeviceMemoryDataPointer", 1, FAULT_FAIL, LXLA_UNIMPLEMENTED);
  EQUAL(value(u), 6);
  CHECK(FAULT(calls)("Buffer_ToHostBuffer") == 1);
  RELEASE(t, u);
  OK(lxla_env_release(env));
}

TEST(a_scalar_that_varies_cannot_be_sent) {
  lxla_env env = fault_env();
  lxla_tensor t = one(env, 1);
  for (int i = 1; i < 4; i++) {
    OK(lxla_binary_scalar_inplace(ADD, t, i));
    if (i == 3) {
      FAULT(arm)("Client_BufferFromHostBuffer", 1, FAULT_FAIL, LXLA_RESOURCE_EXHAUSTED);
      REFUSED(lxla_mark_step(env, XLA(0), 1), LXLA_RESOURCE_EXHAUSTED, PLANTED);
      EQUAL(state_of(t), LXLA_STATE_PENDING);
    }
    EQUAL(step(env), 1);
  }
  EQUAL(value(t), 7);
  RELEASE(t);
  OK(lxla_env_release(env));
}

// A later segment of a cut program fails: the caller loses nothing but donated values.
TEST(f2_a_later_segment_fails) {
  lxla_env env = fault_env();
  OK(lxla_env_set_option(env, "max_program_ops", "4"));
  lxla_tensor kept = one(env, 1), x = snapshot(kept);
  for (int i = 0; i < 10; i++) OK(lxla_binary_scalar_inplace(ADD, x, 1));
  FAULT(arm)("LoadedExecutable_Execute", 3, FAULT_FAIL, LXLA_ABORTED);
  REFUSED(lxla_mark_step(env, XLA(0), 1), LXLA_ABORTED, PLANTED);
  EQUAL(state_of(x), LXLA_STATE_PENDING);
  step(env);
  EQUAL(value(x), 11);
  EQUAL(value(kept), 1);
  RELEASE(x, kept);
  OK(lxla_env_release(env));
}

// A program cut into segments fails after the old value was donated: results of the first segments are kept, and the
// next step continues from them.
TEST(f2_a_later_segment_fails_after_a_donor_was_consumed) {
  lxla_env env = fault_env();
  OK(lxla_env_set_option(env, "max_program_ops", "4"));
  lxla_tensor x = one(env, 1), early = none, finished = one(env, 5);
  OK(lxla_binary_scalar_inplace(MUL, finished, 2));
  for (int i = 0; i < 10; i++) {
    OK(lxla_binary_scalar_inplace(ADD, x, 1));
    if (i == 1) early = snapshot(x);
  }
  lxla_tensor last = binary(MUL, x, early);
  FAULT(arm)("LoadedExecutable_Execute", 3, FAULT_FAIL, LXLA_ABORTED);
  REFUSED(lxla_mark_step(env, XLA(0), 1), LXLA_ABORTED, PLANTED);
  CHECK(counter(env, "DonatedBuffers") >= 1);
  EQUAL(state_of(x), LXLA_STATE_PENDING);
  EQUAL(state_of(early), LXLA_STATE_READY);
  step(env);
  EQUAL(value(x), 11);
  EQUAL(value(early), 3);
  EQUAL(value(last), 33);
  EQUAL(value(finished), 10);
  RELEASE(x, early, last, finished);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

TEST(a_failed_sync_counts_nothing_as_computed) {
  lxla_env env = fault_env();
  lxla_tensor w = one(env, 2), y = scalar(MUL, w, 3), loss = binary(MUL, y, y);
  RELEASE(y);
  FAULT(arm)("Client_Compile", 1, FAULT_FAIL, LXLA_INTERNAL);
  REFUSED(lxla_sync(&loss, 1), LXLA_INTERNAL, PLANTED);
  EQUAL(value(loss), 36);
  EQUAL(counter(env, "RecomputedOps"), 0);
  RELEASE(w, loss);
  OK(lxla_env_release(env));
}

TEST(a_step_of_all_devices_steps_those_that_can) {
  lxla_env_options options = default_options();
  options.plugin_path = LXLA_FAULT_PLUGIN;
  options.device_count = 2;
  lxla_env env;
  OK(lxla_env_create(&options, &env));
  lxla_tensor t[2];
  for (int i = 0; i < 2; i++) OK(lxla_tensor_full(env, XLA(i), LXLA_DTYPE_F32, DIMS(i + 1), 4, &t[i]));
  FAULT(arm)("Client_Compile", 1, FAULT_FAIL, LXLA_INTERNAL);
  REFUSED(lxla_mark_step(env, (lxla_device){LXLA_DEVICE_UNSPECIFIED, 0}, 1), LXLA_INTERNAL, PLANTED);
  EQUAL(state_of(t[0]), LXLA_STATE_PENDING);
  EQUAL(state_of(t[1]), LXLA_STATE_READY);
  RELEASE(t[0], t[1]);
  OK(lxla_env_release(env));
}

TEST(an_environment_that_cannot_start_says_why_and_leaves_nothing) {
  lxla_env_options options = default_options();
  options.plugin_path = LXLA_FAULT_PLUGIN;
  lxla_env env = {77};
  const char *functions[] = {"Client_Create", "Client_AddressableDevices", "Client_PlatformName"};
  for (int i = 0; i < 3; i++) {
    FAULT(arm)(functions[i], 1, FAULT_FAIL, LXLA_UNAVAILABLE);
    REFUSED(lxla_env_create(&options, &env), LXLA_UNAVAILABLE, PLANTED);
    EQUAL(env.id, 77);
  }
  OK(lxla_env_create(&options, &env));
  OK(lxla_env_release(env));
}

// --- Memory that is lent while the plugin copies it ----------------------------------------------------------------

static atomic_int releases;
static void count_release(void *user) { atomic_fetch_add(&releases, *(int *)user); }

// Memory of an alignment that makes the CPU plugins copy it.
static float lent_bytes[64 + 1] __attribute__((aligned(64)));
static float *const lent = lent_bytes + 1;

static lxla_status lend(lxla_env env, lxla_tensor *out) {
  static int once = 1;
  return lxla_tensor_from_host_borrowed(env, XLA(0), LXLA_DTYPE_F32, DIMS(64), lent, 64 * sizeof *lent, count_release,
                                        &once, out);
}

TEST(lent_memory_is_released_when_the_plugin_has_copied_it) {
  lxla_env env = fault_env();
  lxla_tensor t;
  releases = 0;
  FAULT(arm)("Event_OnReady", 1, FAULT_LINGER, 0);
  OK(lend(env, &t));
  EQUAL(FAULT(held)(), 1);
  RELEASE(t);
  OK(lxla_wait(env, XLA(0)));
  EQUAL(releases, 0);
  FAULT(let_go)();
  while (!releases) sched_yield();
  // After an exception, the plugin may call back or not. What it would call stays; so does the memory.
  FAULT(arm)("Event_OnReady", 1, FAULT_THROW, 0);
  OK(lend(env, &t));
  RELEASE(t);
  OK(lxla_wait(env, XLA(0)));
  EQUAL(releases, 1);
  // A plugin that refuses to call back is waited for.
  FAULT(arm)("Event_OnReady", 1, FAULT_FAIL, LXLA_INTERNAL);
  OK(lend(env, &t));
  EQUAL(releases, 2);
  RELEASE(t);
  OK(lxla_env_release(env));
}

static atomic_int returned;

static void *lend_in_vain(void *env) {
  lxla_tensor t = none;
  REFUSED(lend(*(lxla_env *)env, &t), LXLA_RESOURCE_EXHAUSTED, PLANTED);
  EQUAL(t.id, 0);
  // The memory is the caller's again: the plugin must not hold it.
  EQUAL(FAULT(held)(), 0);
  returned = 1;
  return NULL;
}

TEST(a_call_that_cannot_borrow_returns_when_the_plugin_has_copied_the_memory) {
  lxla_env env = fault_env();
  RELEASE(one(env, 1));
  releases = 0;
  // The first copy lingers; the second one, into a buffer of the plugin's own, fails.
  FAULT(arm)("Event_OnReady", 1, FAULT_LINGER, 0);
  FAULT(arm)("Client_BufferFromHostBuffer", 2, FAULT_FAIL, LXLA_RESOURCE_EXHAUSTED);
  pthread_t thread;
  const int transfers = FAULT(calls)("Client_BufferFromHostBuffer");
  if (pthread_create(&thread, NULL, lend_in_vain, &env) != 0) FAIL("no thread");
  while (FAULT(calls)("Client_BufferFromHostBuffer") < transfers + 2) sched_yield();
  EQUAL(FAULT(held)(), 1);
  EQUAL(returned, 0);
  FAULT(let_go)();
  pthread_join(thread, NULL);
  EQUAL(returned, 1);
  EQUAL(releases, 0);
  OK(lxla_env_release(env));
}
