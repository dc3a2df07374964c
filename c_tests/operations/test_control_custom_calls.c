// Custom calls: targets of the plugin, refused arguments. Native tensors have none.
#include "both.h"
#include "computation.h"

static void native_custom_call(void) {
  lxla_tensor x = ARRAY(F32, float, SCALAR, 1), out;
  int32_t dtype = F32;
  size_t rank = 0;
  if (device.kind == LXLA_DEVICE_CPU)
    REFUSED(lxla_custom_call("Sharding", &x, 1, &dtype, &rank, NULL, 1, NULL, &out), LXLA_UNIMPLEMENTED,
            "target: Sharding");
  RELEASE(x);
}
TEST(custom_calls_are_not_native) { on_both(native_custom_call); }

static void custom(const char *target, lxla_tensor x, const int32_t *dtypes, const size_t *ranks, const int64_t *dims,
                   size_t n, const char *config, int32_t version, int32_t side_effect, lxla_tensor *out) {
  lxla_custom_call_options options = {.struct_size = sizeof options};
  OK(lxla_custom_call_options_init(&options));
  options.backend_config = config;
  options.api_version = version;
  options.has_side_effect = side_effect;
  OK(lxla_custom_call(target, &x, 1, dtypes, ranks, dims, n, &options, out));
}

TEST(custom_calls_reach_the_plugin) {
  env = new_env();
  device = XLA(0);
  lxla_tensor matrix = ARRAY(F32, float, DIMS(2, 2), 2, 1, 1, 2), out[2];
  // Targets that XLA knows on every device: eigenvectors and eigenvalues, by a number of sweeps.
  custom("Eigh", matrix, (int32_t[]){F32, F32}, (size_t[]){2, 1}, (int64_t[]){2, 2, 2}, 2, "1,1,100,1e-6",
         LXLA_CUSTOM_CALL_ORIGINAL, 0, out);
  char *text = text_of(out[1]);
  CHECK(
      strstr(text,
             "call_target_name = \"Eigh\", backend_config = \"1,1,100,1e-6\", api_version = 1 : i32, has_side_effect = "
             "false"));
  CHECK(
      strstr(text,
             "operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, "
             "dense<[0]> : tensor<1xindex>]"));
  lxla_string_free(text);
  float values[2], vectors[4];
  read_f32(out[1], values, 2);
  read_f32(out[0], vectors, 4);
  CHECK(fabsf(values[0] - 1) < 1e-5f && fabsf(values[1] - 3) < 1e-5f);
  for (int i = 0; i < 4; i++) CHECK(fabsf(fabsf(vectors[i]) - 0.70710678f) < 1e-5f);
  CHECK(vectors[0] * vectors[2] < 0 && vectors[1] * vectors[3] > 0);
  RELEASE(out[0], out[1]);
  // "Sharding" returns its operand.
  custom("Sharding", matrix, (int32_t[]){F32}, (size_t[]){2}, (int64_t[]){2, 2}, 1, NULL, LXLA_CUSTOM_CALL_TYPED_FFI, 2,
         out);
  OK(lxla_binary_scalar_inplace(ADD, out[0], 1));
  HAS(out[0], F32, float, DIMS(2, 2), 3, 2, 2, 3);

  // An unknown target: the error has the plugin's message, and no tensor is lost.
  lxla_tensor other = scalar(ADD, matrix, 1);
  custom("no \"such\" target", matrix, (int32_t[]){S8}, (size_t[]){0}, NULL, 1, "a \\ \"b\"\n",
         LXLA_CUSTOM_CALL_STATUS_RETURNING, 1, out);
  REFUSED(lxla_sync(out, 1), LXLA_NOT_FOUND, "no \"such\" target");
  REFUSED(lxla_mark_step(env, XLA(0), 1), LXLA_NOT_FOUND, "no \"such\" target");
  EQUAL(state_of(out[0]), LXLA_STATE_PENDING);
  text = text_of(out[0]);
  CHECK(strstr(
      text,
      "call_target_name = \"no \\22such\\22 target\", backend_config = \"a \\5C \\22b\\22\\0A\", api_version = 2 : "
      "i32, has_side_effect = true"));
  lxla_string_free(text);
  RELEASE(out[0]);
  custom("nor this", matrix, (int32_t[]){F32}, (size_t[]){0}, NULL, 1, "{a = 1 : i64, b = \"x\"}", 0, 0, out);
  REFUSED(lxla_sync(out, 1), LXLA_NOT_FOUND, "nor this");
  RELEASE(out[0]);
  OK(lxla_mark_step(env, XLA(0), 1));
  HAS(other, F32, float, DIMS(2, 2), 3, 2, 2, 3);
  HAS(matrix, F32, float, DIMS(2, 2), 2, 1, 1, 2);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

static lxla_tensor unknown(const char *target, lxla_tensor x) {
  lxla_tensor out;
  custom(target, x, (int32_t[]){F32}, (size_t[]){1}, (int64_t[]){1}, 1, NULL, 0, 0, &out);
  return out;
}

// Marks a step that fails, and checks that its message has all of these words.
#define STEP_NAMES(...)                                                                      \
  do {                                                                                       \
    EQUAL(lxla_mark_step(env, XLA(0), 1), LXLA_NOT_FOUND);                                   \
    const char *words_[] = {__VA_ARGS__}, *message_ = lxla_last_error_message();             \
    for (size_t i_ = 0; i_ < sizeof words_ / sizeof *words_; i_++)                           \
      if (!strstr(message_, words_[i_])) FAIL("\"%s\" is not in: %s", words_[i_], message_); \
  } while (0)

TEST(a_step_computes_what_does_not_need_what_cannot_be_compiled) {
  env = new_env();
  device = XLA(0);
  OK(lxla_env_set_option(env, "donation", "true"));
  lxla_tensor x = one(env, 1), y = one(env, 10), apart = one(env, 5), kept = scalar(MUL, x, 3),
              both = binary(ADD, kept, y);
  lxla_tensor bad = unknown("no_such_target", kept), on_it = scalar(ADD, bad, 1), on_both = binary(ADD, on_it, both);
  OK(lxla_binary_scalar_inplace(ADD, x, 1));
  OK(lxla_binary_scalar_inplace(ADD, y, 1));
  OK(lxla_binary_scalar_inplace(ADD, apart, 1));
  lxla_tensor p = placeholder(env, F32, DIMS(1)), on_p = binary(ADD, p, kept);
  // Reads and partial syncs of unrelated values work before any step.
  EQUAL(value(both), 13);
  uint64_t donated = counter(env, "DonatedBuffers");
  STEP_NAMES("lxla_mark_step: step ", "no_such_target",
             "; f32[1] by custom_call of \"no_such_target\" cannot be compiled, nor 2 that depend on them",
             "release them, or sync others; the 3 other values were computed");
  // The buffers that only the other values need are donated all the same.
  EQUAL(counter(env, "DonatedBuffers") - donated, 3);
  EQUAL(state_of(x), LXLA_STATE_READY);
  EQUAL(state_of(y), LXLA_STATE_READY);
  EQUAL(state_of(apart), LXLA_STATE_READY);
  EQUAL(state_of(bad), LXLA_STATE_PENDING);
  EQUAL(state_of(on_it), LXLA_STATE_PENDING);
  EQUAL(state_of(on_both), LXLA_STATE_PENDING);
  EQUAL(state_of(on_p), LXLA_STATE_PENDING);
  EQUAL(value(x), 2);
  EQUAL(value(y), 11);
  EQUAL(value(apart), 6);
  // Further steps do the same, until the value is released.
  lxla_tensor later = binary(MUL, x, y);
  STEP_NAMES("cannot be compiled", "; the other value was computed");
  EQUAL(state_of(later), LXLA_STATE_READY);
  EQUAL(value(later), 22);
  STEP_NAMES("or sync others");
  CHECK(!strstr(lxla_last_error_message(), "computed"));
  REFUSED(lxla_sync(&on_it, 1), LXLA_NOT_FOUND, "no_such_target");
  RELEASE(bad, on_it, on_both);
  OK(lxla_mark_step(env, XLA(0), 1));
  EQUAL(value(kept), 3);
  RELEASE(x, y, apart, kept, both, p, on_p, later);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

// A step of a list does without what cannot be compiled, too; what is not listed stays pending, and keeps its operands.
TEST(a_step_of_a_list_computes_what_can_be_compiled) {
  env = new_env();
  device = XLA(0);
  lxla_tensor x = one(env, 1), y = one(env, 2), z = one(env, 3), old = scalar(ADD, y, 100);
  lxla_tensor bad = unknown("no_such_target", x), other_bad = unknown("not_listed", y);
  OK(lxla_binary_scalar_inplace(ADD, x, 10));
  OK(lxla_binary_scalar_inplace(ADD, y, 10));
  OK(lxla_binary_scalar_inplace(ADD, z, 10));
  uint64_t donated = counter(env, "DonatedBuffers");
  lxla_tensor list[] = {x, y, z, bad};
  REFUSED(lxla_step_tensors(list, 4, 1), LXLA_NOT_FOUND,
          "f32[1] by custom_call of \"no_such_target\" cannot be compiled: release them, or sync others; the 3 other "
          "values were computed");
  CHECK(!strstr(lxla_last_error_message(), "not_listed"));
  EQUAL(counter(env, "DonatedBuffers") - donated, 1);  // z: bad needs the old x, `old` and other_bad the old y
  EQUAL(state_of(bad), LXLA_STATE_PENDING);
  EQUAL(state_of(old), LXLA_STATE_PENDING);
  EQUAL(state_of(other_bad), LXLA_STATE_PENDING);
  EQUAL(value(x), 11);
  EQUAL(value(y), 12);
  EQUAL(value(z), 13);
  EQUAL(value(old), 102);
  RELEASE(x, y, z, old, bad, other_bad);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

// Values that share operations with the one that fails are computed one by one, as far as they do not need it.
TEST(a_step_finds_values_that_fail_among_many) {
  env = new_env();
  device = XLA(0);
  enum { N = 100 };
  lxla_tensor x = one(env, 2), shared = scalar(MUL, x, 3), t[N], bad[2];
  for (int i = 0; i < N; i++) {
    t[i] = scalar(ADD, i % 2 ? shared : x, i);
    if (i == 30 || i == 77) bad[i == 77] = unknown(i == 77 ? "another" : "one", t[i]);
  }
  RELEASE(shared);
  uint64_t compiled = counter(env, "UncachedCompile");
  STEP_NAMES("f32[1] by custom_call of \"one\", f32[1] by custom_call of \"another\" cannot be compiled: ",
             "the 100 other values were computed");
  CHECK(counter(env, "UncachedCompile") - compiled < 32);
  for (int i = 0; i < N; i++) {
    EQUAL(state_of(t[i]), LXLA_STATE_READY);
    EQUAL(value(t[i]), (i % 2 ? 6 : 2) + i);
  }
  RELEASE(bad[0]);
  STEP_NAMES("f32[1] by custom_call of \"another\" cannot be compiled");
  RELEASE(bad[1]);
  OK(lxla_mark_step(env, XLA(0), 1));
  for (int i = 0; i < N; i++) RELEASE(t[i]);
  // More culprits than compiles: the rest stays pending, and the message is bounded.
  char name[16];
  for (int i = 0; i < N; i++) snprintf(name, sizeof name, "target %d", i), t[i] = unknown(name, x);
  STEP_NAMES("of \"target 4\" and ", " more cannot be compiled", " values were not tried alone");
  CHECK(strlen(lxla_last_error_message()) < 1000);
  for (int i = 0; i < N; i++) EQUAL(state_of(t[i]), LXLA_STATE_PENDING);
  for (int i = 0; i < N; i++) RELEASE(t[i]);
  // A call within a computation, and two results of one operation.
  lxla_tensor p = placeholder(env, F32, DIMS(1)), inside = unknown("in a computation", p),
              outside = scalar(ADD, inside, 1);
  lxla_computation f = traced(TENSORS(p), TENSORS(outside, p)), g;
  RELEASE(p, inside, outside);
  lxla_tensor q = placeholder(env, F32, DIMS(1)), results[2];
  OK(lxla_computation_call(f, &q, 1, results, 2));
  g = traced(TENSORS(q), results, 2);
  RELEASE(q, results[0], results[1]);
  OK(lxla_computation_call(g, &x, 1, results, 2));
  lxla_tensor other = scalar(ADD, x, 1);
  STEP_NAMES("f32[1] by ", "with custom calls of \"in a computation\"", "the other value was computed");
  EQUAL(value(other), 3);
  RELEASE(x, results[0], results[1], other);
  OK(lxla_computation_release(f));
  OK(lxla_computation_release(g));
  OK(lxla_env_release(env));
}

// Random programs with donation, some of whose values cannot be compiled. The host has the values of all others.
TEST(random_steps_with_values_that_cannot_be_compiled) {
  env = new_env();
  device = XLA(0);
  OK(lxla_env_set_option(env, "donation", "true"));
  enum { N = 8, ROUNDS = 40, OPERATIONS = 5 };
  lxla_tensor t[N];
  float want[N];
  int spoiled[N] = {0}, failed = 0;
  uint64_t seed = 7;
#define RANDOM(n) (int)((seed = seed * 6364136223846793005u + 1442695040888963407u) >> 33) % (n)
  for (int i = 0; i < N; i++) t[i] = one(env, want[i] = (float)i);
  for (int round = 0; round < ROUNDS; round++) {
    for (int turn = 0; turn < OPERATIONS; turn++) {
      const int to = RANDOM(N), a = RANDOM(N), b = RANDOM(N), kind = RANDOM(20), by = RANDOM(5);
      lxla_tensor made;
      if (kind < 9) {
        OK(lxla_binary_scalar_inplace(ADD, t[to], by));
        want[to] += (float)by;
        continue;
      }
      if (kind == 9) {
        made = unknown("no_such_target", t[a]);
        spoiled[to] = 1;
      } else if (kind < 14) {
        made = one(env, want[to] = (float)by);
        spoiled[to] = 0;
      } else {
        const int32_t op = kind % 2 ? LXLA_BINARY_MAXIMUM : LXLA_BINARY_MINIMUM;
        made = binary(op, t[a], t[b]);
        spoiled[to] = spoiled[a] || spoiled[b];
        want[to] = (op == LXLA_BINARY_MAXIMUM) == (want[a] > want[b]) ? want[a] : want[b];
      }
      RELEASE(t[to]);
      t[to] = made;
    }
    int bad = 0;
    for (int i = 0; i < N; i++) bad += spoiled[i];
    failed += bad > 0;
    EQUAL(lxla_mark_step(env, XLA(0), RANDOM(2)), bad ? LXLA_NOT_FOUND : LXLA_OK);
    for (int i = 0; i < N; i++) {
      EQUAL(state_of(t[i]), spoiled[i] ? LXLA_STATE_PENDING : LXLA_STATE_READY);
      if (!spoiled[i] && RANDOM(3) == 0) EQUAL(value(t[i]), want[i]);
    }
  }
  CHECK(failed > ROUNDS / 4 && failed < ROUNDS);
  CHECK(counter(env, "DonatedBuffers") > 20);
  for (int i = 0; i < N; i++) {
    if (!spoiled[i]) EQUAL(value(t[i]), want[i]);
    RELEASE(t[i]);
  }
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

// XLA reports a configuration that it cannot read when the program is compiled, or ends the process.
TEST(configurations_of_xlas_targets_are_checked) {
  env = new_env();
  device = XLA(0);
  lxla_tensor matrix = ARRAY(F32, float, DIMS(2, 2), 2, 1, 1, 2), out[2] = {none, none};
  lxla_custom_call_options options = {.struct_size = sizeof options, .api_version = LXLA_CUSTOM_CALL_ORIGINAL};
#define EIGH(given) \
  lxla_custom_call("Eigh", &matrix, 1, (int32_t[]){F32, F32}, (size_t[]){2, 1}, (int64_t[]){2, 2, 2}, 2, given, out)
#define WANTED "Eigh takes \"LOWER,SORT,ITERATIONS,TOLERANCE\", such as \"1,1,100,1e-6\", with api_version 1 to 3"
  REFUSED(EIGH(NULL), LXLA_INVALID_ARGUMENT, "backend_config: \"\" given with api_version 4; " WANTED);
  REFUSED(EIGH(&options), LXLA_INVALID_ARGUMENT, "backend_config: \"\" given; " WANTED);
  options.backend_config = "1,100,1e-6";
  REFUSED(EIGH(&options), LXLA_INVALID_ARGUMENT, "backend_config: \"1,100,1e-6\" given; " WANTED);
  options.backend_config = "1,1,100,nan";
  REFUSED(EIGH(&options), LXLA_INVALID_ARGUMENT, WANTED);
  options.backend_config = "{a = 1 : i64}", options.api_version = LXLA_CUSTOM_CALL_TYPED_FFI;
  REFUSED(EIGH(&options), LXLA_INVALID_ARGUMENT, WANTED);
#define SHARDING(given) \
  lxla_custom_call("Sharding", &matrix, 1, (int32_t[]){F32}, (size_t[]){2}, (int64_t[]){2, 2}, 1, given, out)
  REFUSED(SHARDING(&options), LXLA_INVALID_ARGUMENT,
          "backend_config: \"{a = 1 : i64}\" given with api_version 4; Sharding takes none");
  options.backend_config = "unspecified_dims=[2]", options.api_version = LXLA_CUSTOM_CALL_ORIGINAL;
  REFUSED(SHARDING(&options), LXLA_INVALID_ARGUMENT, "Sharding takes none, or \"unspecified_dims=[0,1]\"");
  EQUAL(out[0].id, 0);
  options.backend_config = "unspecified_dims=[0,1]";
  OK(SHARDING(&options));
  HAS(out[0], F32, float, DIMS(2, 2), 2, 1, 1, 2);
  options.backend_config = "0, 1, 15, 1e-7";
  OK(EIGH(&options));
  OK(lxla_mark_step(env, XLA(0), 1));
  RELEASE(out[0], out[1], matrix);
  OK(lxla_env_release(env));
}

TEST(custom_calls_are_checked) {
  env = new_env();
  device = XLA(0);
  lxla_tensor x = ARRAY(F32, float, SCALAR, 1), out = none;
  int32_t dtype = F32, bad_dtype = 99;
  size_t rank = 0, one = 1;
  int64_t negative = -1;
  lxla_custom_call_options options = {.struct_size = sizeof options};
  OK(lxla_custom_call_options_init(&options));
  CHECK(options.backend_config == NULL && options.api_version == 0 && options.has_side_effect == 0);
#define CALL(target, n, dtypes, ranks, dims, n_results) \
  lxla_custom_call(target, &x, n, dtypes, ranks, dims, n_results, &options, &out)
  REFUSED(CALL("", 1, &dtype, &rank, NULL, 1), LXLA_INVALID_ARGUMENT, "target: it is empty");
  REFUSED(CALL(NULL, 1, &dtype, &rank, NULL, 1), LXLA_NULL_ARGUMENT, "target");
  REFUSED(CALL("f", 0, &dtype, &rank, NULL, 1), LXLA_INVALID_ARGUMENT, "n_operands: 0 given");
  REFUSED(CALL("f", 1, &dtype, &rank, NULL, 0), LXLA_INVALID_ARGUMENT, "n_results: 0 given; want at least 1");
  REFUSED(CALL("f", 1, &bad_dtype, &rank, NULL, 1), LXLA_INVALID_ARGUMENT, "dtype: 99");
  REFUSED(CALL("f", 1, &dtype, &one, NULL, 1), LXLA_NULL_ARGUMENT, "dims");
  REFUSED(CALL("f", 1, &dtype, &one, &negative, 1), LXLA_INVALID_ARGUMENT, "dims[0] is -1");
  options.api_version = 5;
  REFUSED(CALL("f", 1, &dtype, &rank, NULL, 1), LXLA_INVALID_ARGUMENT, "api_version: 5");
  options.api_version = LXLA_CUSTOM_CALL_TYPED_FFI;
  options.backend_config = "text";
  REFUSED(CALL("f", 1, &dtype, &rank, NULL, 1), LXLA_INVALID_ARGUMENT,
          "backend_config: \"text\" given; the typed FFI wants a dictionary");
  options.backend_config = NULL;
  options.has_side_effect = 3;
  REFUSED(CALL("f", 1, &dtype, &rank, NULL, 1), LXLA_INVALID_ARGUMENT, "has_side_effect: 3 given");
  options.struct_size = 4;
  REFUSED(CALL("f", 1, &dtype, &rank, NULL, 1), LXLA_INVALID_ARGUMENT, "struct_size is 4");
  REFUSED(lxla_custom_call_options_init(&options), LXLA_INVALID_ARGUMENT, "struct_size is 4");
  RELEASE(x);
  OK(lxla_env_release(env));
}

// The search for what cannot be compiled is bounded, also where values depend on what it has found.
TEST(the_search_ends_after_so_many_compiles) {
  enum { CALLS = 100, DEPENDENTS = 3 };
  env = new_env();
  device = XLA(0);
  lxla_tensor made[CALLS * (1 + DEPENDENTS)];
  for (int i = 0; i < CALLS; i++) {
    lxla_tensor x = one(env, (float)i), *group = made + i * (1 + DEPENDENTS);
    char name[32];
    snprintf(name, sizeof name, "target %d", i);
    group[0] = unknown(name, x);
    for (int j = 1; j <= DEPENDENTS; j++) group[j] = scalar(ADD, group[0], j);
    RELEASE(x);
  }
  STEP_NAMES("cannot be compiled", " values were not tried alone");
  OK(lxla_tensor_release_many(made, CALLS * (1 + DEPENDENTS)));
  OK(lxla_mark_step(env, XLA(0), 1));
  OK(lxla_env_release(env));
}

// A step that makes room for further operations does without what cannot be compiled.
TEST(recording_goes_on_beside_what_cannot_be_compiled) {
  env = new_env();
  device = XLA(0);
  OK(lxla_env_set_option(env, "pending_limit_policy", "step"));
  OK(lxla_env_set_option(env, "max_pending_ops", "200"));
  lxla_tensor x = one(env, 1), y = one(env, 0), bad = unknown("no_such_target", x);
  for (int i = 0; i < 1000; i++) OK(lxla_binary_scalar_inplace(ADD, y, 1));
  EQUAL(value(y), 1000);
  EQUAL(state_of(bad), LXLA_STATE_PENDING);
  RELEASE(x, y, bad);
  OK(lxla_env_release(env));
}
