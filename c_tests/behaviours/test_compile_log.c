// The compile log: each cause is made to happen and is named, and nothing else is.
#include "computation.h"

// The log of the last compile of the environment; the count of compiles is checked.
static char last_log[1 << 16];

static const char *last(lxla_env env, int count) {
  char *text, wanted[64];
  OK(lxla_compile_log_json(env, &text));
  snprintf(wanted, sizeof wanted, "\"count\":%d", count);
  if (!strstr(text, wanted)) FAIL("want %d compiles: %s", count, text);
  char *at = text;
  for (char *next; (next = strstr(at + 1, "{\"alias_bytes\"")); at = next) {
  }
  snprintf(last_log, sizeof last_log, "%s", at);
  lxla_string_free(text);
  return last_log;
}

// Checks that this is compile `count`, and what is said of it.
#define COMPILED(env, count, ...)                                                                \
  do {                                                                                           \
    const char *words_[] = {__VA_ARGS__}, *got_ = last(env, count);                              \
    for (size_t i_ = 0; i_ < sizeof words_ / sizeof *words_; i_++)                               \
      if (!strstr(got_, words_[i_])) FAIL("compile %d: want %s in %s", count, words_[i_], got_); \
  } while (0)

static lxla_tensor zeros(lxla_env env, int32_t dtype, int64_t n) {
  const char bytes[64] = {0};
  lxla_tensor x;
  OK(lxla_tensor_from_host(env, XLA(0), dtype, &n, 1, bytes, (size_t)n * (dtype == LXLA_DTYPE_F64 ? 8 : 4), &x));
  return x;
}

// Computes a function of a new array of n elements, and releases both.
static void run(lxla_env env, int32_t dtype, int64_t n, int32_t op, double by) {
  lxla_tensor x = zeros(env, dtype, n), y, z;
  OK(lxla_label_push("model"));
  OK(lxla_binary_scalar(op, x, by, &y));
  OK(lxla_label_pop());
  OK(lxla_unary(LXLA_UNARY_TANH, y, &z));
  OK(lxla_sync(&z, 1));
  RELEASE(x, y, z);
}

// Computes the negatives of n zeros.
static void negated(lxla_env env, int32_t dtype, int64_t n) {
  lxla_tensor x = zeros(env, dtype, n), y;
  OK(lxla_unary(LXLA_UNARY_NEGATE, x, &y));
  OK(lxla_sync(&y, 1));
  RELEASE(x, y);
}

// Computes labelled sines of n ones, which have no label.
static void sines_of_ones(lxla_env env, int64_t n) {
  lxla_tensor x, y, z;
  OK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F32, &n, 1, 1, &x));
  OK(lxla_label_push("layer1"));
  OK(lxla_unary(LXLA_UNARY_SINE, x, &y));
  OK(lxla_label_pop());
  OK(lxla_unary(LXLA_UNARY_TANH, y, &z));
  OK(lxla_sync(&z, 1));
  RELEASE(x, y, z);
}

TEST(a_constant_without_a_label_has_the_first_one_that_depends_on_it) {
  lxla_env env = new_env();
  sines_of_ones(env, 3);
  sines_of_ones(env, 4);
  COMPILED(env, 2, "\"operation\":\"full\"", "\"label\":\"layer1\"", "f32[3]", "f32[4]");
  OK(lxla_env_release(env));
}

TEST(each_cause_is_named_and_nothing_else) {
  lxla_env env = new_env();
  CHECK(strstr(last(env, 0), "\"compiles\":[]"));
  negated(env, LXLA_DTYPE_F32, 4);
  COMPILED(env, 1, "\"cause\":\"first\"", "\"nearest\":null", "\"device\":\"xla:0\"");
  negated(env, LXLA_DTYPE_F32, 5);
  COMPILED(env, 2, "\"cause\":\"shape\"", "\"before\":\"f32[4]\"", "\"value\":\"f32[5]\"", "\"nearest\":1");
  negated(env, LXLA_DTYPE_F64, 4);
  COMPILED(env, 3, "\"cause\":\"dtype\"", "f64[4]");
  run(env, LXLA_DTYPE_F32, 4, MUL, 2);
  COMPILED(env, 4, "\"cause\":\"new_program\"");
  run(env, LXLA_DTYPE_F32, 4, MUL, 2);
  last(env, 4);
  run(env, LXLA_DTYPE_F32, 4, MUL, 3);
  COMPILED(env, 5, "\"cause\":\"scalar_became_parameter\"", "\"operation\":\"multiply\"", "\"label\":\"model\"",
           "\"value\":\"3.0\"", "\"before\":\"2.0\"", "\"nearest\":4");
  run(env, LXLA_DTYPE_F32, 4, MUL, 4);
  last(env, 5);
  run(env, LXLA_DTYPE_F32, 5, MUL, 4);
  COMPILED(env, 6, "\"cause\":\"shape\"", "\"operation\":\"parameter\"", "\"label\":\"model\"", "f32[5]", "f32[4]");
  run(env, LXLA_DTYPE_F32, 4, ADD, 4);
  COMPILED(env, 7, "\"cause\":\"new_program\"", "\"operation\":\"add\"", "\"label\":\"model\"", "multiply f32[5]");
  run(env, LXLA_DTYPE_F64, 4, ADD, 4);
  COMPILED(env, 8, "\"cause\":\"dtype\"", "f64[4]", "f32[4]");
  OK(lxla_env_release(env));
}

TEST(attributes_and_constants_of_computations_are_constants) {
  lxla_env env = new_env();
  lxla_tensor x = from_f32(env, DIMS(2, 2), (float[]){1, 2, 3, 4}), y[2], z[2];
  for (int64_t axis = 0; axis < 2; axis++) {
    OK(lxla_reduce(LXLA_REDUCE_SUM, x, &axis, 1, 0, &y[axis]));
    OK(lxla_sync(&y[axis], 1));
  }
  COMPILED(env, 2, "\"cause\":\"constant\"", "\"operation\":\"reduce\"", "attributes");
  lxla_computation c[2];
  for (int i = 0; i < 2; i++) {
    lxla_tensor p = placeholder(env, LXLA_DTYPE_F32, DIMS(2, 2)), doubled = scalar(MUL, p, 2 + i);
    c[i] = traced(TENSORS(p), TENSORS(doubled));
    z[i] = called(c[i], &x, 1);
    OK(lxla_sync(&z[i], 1));
    RELEASE(p, doubled);
  }
  COMPILED(env, 4, "\"cause\":\"constant\"", "\"operation\":\"multiply\"", "\"value\":\"3.0\"", "\"before\":\"2.0\"");
  for (int i = 0; i < 2; i++) OK(lxla_computation_release(c[i]));
  RELEASE(x, y[0], y[1], z[0], z[1]);
  OK(lxla_env_release(env));
}

// An operation with several results has their types.
TEST(a_scan_is_named_by_the_types_of_its_results) {
  lxla_env env = new_env();
  lxla_tensor p = placeholder(env, LXLA_DTYPE_F32, DIMS(2)), q = scalar(ADD, p, 1);
  lxla_computation c = traced(TENSORS(p), TENSORS(q, p));
  lxla_tensor x = from_f32(env, DIMS(2), (float[]){1, 2}), carry, ys, y;
  OK(lxla_unary(LXLA_UNARY_TANH, x, &y));
  OK(lxla_sync(&y, 1));
  OK(lxla_label_push("loop"));
  OK(lxla_scan(c, &x, 1, NULL, 0, 2, 0, &carry, &ys, 1));
  OK(lxla_label_pop());
  OK(lxla_sync(TENSORS(carry, ys)));
  COMPILED(env, 2, "\"cause\":\"new_program\"", "\"operation\":\"scan\"", "\"label\":\"loop\"",
           "\"value\":\"(f32[2], f32[2,2])\"", "\"before\":\"tanh f32[2]\"");
  RELEASE(y);
  OK(lxla_unary(LXLA_UNARY_NEGATE, p, &y));
  lxla_computation negate = traced(TENSORS(p), TENSORS(y));
  lxla_tensor one_result;
  OK(lxla_scan(negate, &x, 1, NULL, 0, 2, 0, &one_result, NULL, 0));
  OK(lxla_sync(&one_result, 1));
  RELEASE(y, one_result);
  OK(lxla_unary(LXLA_UNARY_NEGATE, x, &y));
  OK(lxla_sync(&y, 1));
  COMPILED(env, 4, "\"operation\":\"negate\"", "\"before\":\"scan f32[2]\"");
  RELEASE(p, q, x, y, carry, ys);
  OK(lxla_computation_release(c));
  OK(lxla_computation_release(negate));
  OK(lxla_env_release(env));
}

TEST(donors_and_evictions_are_named) {
  lxla_env_options options = default_options();
  options.cache_capacity = 2;
  lxla_env env;
  OK(lxla_env_create(&options, &env));
  lxla_tensor t = one(env, 1);
  lxla_tensor kept = scalar(MUL, t, 2);
  step(env);
  COMPILED(env, 1, "\"cause\":\"first\"");
  lxla_tensor next = scalar(MUL, kept, 2);
  RELEASE(kept);
  EQUAL(step(env), 1);
  COMPILED(env, 2, "\"cause\":\"donors\"", "donated parameters [0]", "donated parameters []", "\"operation\":null");
  lxla_tensor others[2] = {0};
  for (int i = 0; i < 2; i++) {
    OK(lxla_unary(i ? LXLA_UNARY_TANH : LXLA_UNARY_NEGATE, t, &others[i]));
    OK(lxla_sync(&others[i], 1));
  }
  lxla_tensor again = scalar(MUL, t, 2);
  OK(lxla_sync(&again, 1));
  COMPILED(env, 5, "\"cause\":\"evicted\"", "\"nearest\":1");
  RELEASE(t, next, others[0], others[1], again);
  OK(lxla_env_release(env));
}

TEST(another_sharding_is_named) {
  lxla_env_options options = default_options();
  options.device_count = 2;
  lxla_env env;
  OK(lxla_env_create(&options, &env));
  lxla_mesh mesh;
  OK(lxla_mesh_create(env, (const char *[]){"data"}, (int64_t[]){2}, 1, NULL, &mesh));
  const char *shardings[3] = {"data,-", "-,data", "data,-"};
  for (int i = 0; i < 3; i++) {
    lxla_tensor x, y;
    const float values[4] = {1, 2, 3, 4};
    OK(lxla_tensor_from_host_sharded(mesh, LXLA_DTYPE_F32, DIMS(2, 2), values, sizeof values, shardings[i], &x));
    OK(lxla_unary(LXLA_UNARY_NEGATE, x, &y));
    OK(lxla_sync(&y, 1));
    float got[4];
    OK(lxla_tensor_read(y, got, sizeof got));
    for (int j = 0; j < 4; j++) EQUAL(got[j], -values[j]);
    RELEASE(x, y);
    if (i == 0) COMPILED(env, 1, "\"cause\":\"first\"", "\"device\":\"mesh:0\"");
    else COMPILED(env, 2, "\"cause\":\"sharding\"", "\"nearest\":1", "\"operation\":null", "another sharding");
  }
  OK(lxla_mesh_release(mesh));
  OK(lxla_env_release(env));
}

static char lines[8][512];
static int n_lines;

static void keep_line(int32_t level, const char *message, void *user) {
  (void)user;
  if (level == 3 && n_lines < 8) snprintf(lines[n_lines++], sizeof *lines, "%s", message);
}

TEST(compiles_are_lines_of_the_log_on_request) {
  lxla_env env = new_env();
  OK(lxla_set_log_callback(keep_line, NULL));
  run(env, LXLA_DTYPE_F32, 4, MUL, 2);
  EQUAL(n_lines, 0);
  setenv("LXLA_LOG_COMPILES", "1", 1);
  run(env, LXLA_DTYPE_F32, 4, MUL, 3);
  unsetenv("LXLA_LOG_COMPILES");
  OK(lxla_set_log_callback(NULL, NULL));
  EQUAL(n_lines, 1);
  const char *wanted =
      "compile 2 on xla:0: scalar_became_parameter: multiply under label \"model\" is 3.0, was 2.0 in compile 1; "
      "2 operations, compiled in ";
  if (strncmp(lines[0], wanted, strlen(wanted)) != 0) FAIL("%s", lines[0]);
  OK(lxla_env_release(env));
}
