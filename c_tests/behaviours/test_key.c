// Differences that the program key sees (programs, constants, donors): K1 to K6 and K9 of docs/behaviours.md. (K7:
// test_threads.c.)
#include "check.h"

TEST(k1_same_work_with_and_without_donation_are_two_programs) {
  lxla_env env = new_env();
  lxla_tensor t0 = one(env, 1), t1 = one(env, 2);
  step(env);
  OK(lxla_binary_inplace(ADD, t1, t0));
  EQUAL(step(env), 1);
  lxla_tensor t2 = binary(ADD, t1, t0);
  EQUAL(step(env), 0);
  EQUAL(value(t1), 3);
  EQUAL(value(t2), 4);
  EQUAL(counter(env, "UncachedCompile"), 2);
  RELEASE(t0, t1, t2);
  OK(lxla_env_release(env));
}

TEST(k2_equal_work_with_equal_donors_compiles_once) {
  lxla_env env = new_env();
  lxla_tensor t = one(env, 0);
  for (int i = 0; i < 100; i++) {
    OK(lxla_binary_scalar_inplace(ADD, t, 1));
    EQUAL(step(env), 1);
  }
  EQUAL(value(t), 100);
  EQUAL(counter(env, "UncachedCompile"), 1);
  EQUAL(counter(env, "CachedCompile"), 99);
  RELEASE(t);
  OK(lxla_env_release(env));
}

TEST(k3_wiring_tells_programs_apart) {
  lxla_env env = new_env();
  lxla_tensor t[3], transposed[3];
  for (int i = 0; i < 3; i++) {
    float values[4] = {(float)i + 2, 1, 1, 1};
    t[i] = from_f32(env, DIMS(2, 2), values);
    OK(lxla_transpose(t[i], DIMS(1, 0), &transposed[i]));
  }
  step(env);
  lxla_tensor product = binary(MUL, t[0], t[1]), first = binary(ADD, product, t[2]);
  RELEASE(product);
  step(env);
  product = binary(MUL, t[0], t[2]);
  lxla_tensor second = binary(ADD, product, t[1]);
  RELEASE(product);
  step(env);
  float values[4];
  read_f32(first, values, 4);
  EQUAL(values[0], 2 * 3 + 4);
  read_f32(second, values, 4);
  EQUAL(values[0], 2 * 4 + 3);
  RELEASE(t[0], t[1], t[2], transposed[0], transposed[1], transposed[2], first, second);
  OK(lxla_env_release(env));
}

// Swapping two leaves of the same type is a different wiring, and so a different program.
TEST(k3_operands_swapped_among_known_leaves) {
  lxla_env env = new_env();
  lxla_tensor a = one(env, 8), b = one(env, 2);
  lxla_tensor sum = binary(ADD, a, b), x = binary(LXLA_BINARY_DIVIDE, a, b);
  step(env);
  lxla_tensor sum2 = binary(ADD, a, b), y = binary(LXLA_BINARY_DIVIDE, b, a);
  step(env);
  EQUAL(value(x), 4);
  EQUAL(value(y), 0.25);
  EQUAL(counter(env, "UncachedCompile"), 2);
  RELEASE(a, b, sum, sum2, x, y);
  OK(lxla_env_release(env));
}

TEST(k4_order_of_creation_does_not_matter) {
  lxla_env env = new_env();
  for (int turn = 0; turn < 2; turn++) {
    lxla_tensor a, b;
    if (turn == 0) {
      a = one(env, 5), b = one(env, 3);
    } else {
      b = one(env, 3), a = one(env, 5);
    }
    OK(lxla_binary_inplace(SUB, a, b));
    OK(lxla_binary_scalar_inplace(MUL, b, 2));
    EQUAL(step(env), 2);
    EQUAL(value(a), 2);
    EQUAL(value(b), 6);
    RELEASE(a, b);
  }
  EQUAL(counter(env, "UncachedCompile"), 1);
  OK(lxla_env_release(env));
}

// Independent expressions whose operations interleave differently are the same program.
TEST(k4_interleaving_does_not_matter) {
  lxla_env env = new_env();
  lxla_tensor a = one(env, 1), b = one(env, 2);
  for (int turn = 0; turn < 2; turn++) {
    lxla_tensor x, y;
    if (turn == 0) {
      x = scalar(ADD, a, 1), y = scalar(MUL, b, 2);
    } else {
      y = scalar(MUL, b, 2), x = scalar(ADD, a, 1);
    }
    lxla_tensor sum = binary(ADD, x, y);
    RELEASE(x, y);
    step(env);
    EQUAL(value(sum), 6);
    RELEASE(sum);
  }
  EQUAL(counter(env, "UncachedCompile"), 1);
  RELEASE(a, b);
  OK(lxla_env_release(env));
}

TEST(k5_a_changing_scalar_costs_one_more_compile) {
  lxla_env env = new_env();
  lxla_tensor t = one(env, 1), fixed;
  for (int i = 1; i <= 50; i++) {
    OK(lxla_binary_scalar_inplace(MUL, t, i));
    OK(lxla_binary_scalar(ADD, t, 0.5, &fixed));
    step(env);
    // The step that finds the scalar changed runs it as a parameter, with the right value.
    OK(lxla_binary_scalar_inplace(LXLA_BINARY_DIVIDE, t, i));
    EQUAL(value(fixed), i + 0.5);
    EQUAL(value(t), 1);
    RELEASE(fixed);
  }
  // Two programs (of the step and of the read), each compiled once with a constant and once with a parameter.
  EQUAL(counter(env, "UncachedCompile"), 4);
  RELEASE(t);
  OK(lxla_env_release(env));
}

static lxla_tensor varying_scalar(lxla_env env, lxla_device device, double value) {
  lxla_scalar given = {.dtype = LXLA_DTYPE_F32, .value.f = value};
  lxla_tensor t;
  OK(lxla_tensor_varying_scalar(env, device, LXLA_DTYPE_F32, &given, &t));
  return t;
}

TEST(k5_a_varying_scalar_is_a_parameter_from_the_first_compile_on) {
  lxla_env env = new_env();
  lxla_tensor t = one(env, 1);
  uint8_t first[32], now[32];
  for (int i = 1; i <= 20; i++) {
    lxla_tensor rate = varying_scalar(env, XLA(0), i), scaled = binary(MUL, t, rate), sum = scalar(ADD, scaled, 0.5);
    OK(lxla_graph_hash(env, XLA(0), &sum, 1, i == 1 ? first : now));
    CHECK(i == 1 || memcmp(first, now, sizeof now) == 0);
    RELEASE(rate, scaled);
    step(env);
    EQUAL(value(sum), i + 0.5f);
    RELEASE(sum);
  }
  EQUAL(counter(env, "UncachedCompile"), 1);
  // On cpu it is a number.
  lxla_tensor native = varying_scalar(env, (lxla_device){LXLA_DEVICE_CPU, 0}, 3), wrong;
  EQUAL(value(native), 3);
  lxla_scalar half = {.dtype = LXLA_DTYPE_F32, .value.f = 0.5};
  REFUSED(lxla_tensor_varying_scalar(env, XLA(0), LXLA_DTYPE_S32, &half, &wrong), LXLA_INVALID_ARGUMENT,
          "value: 0.5 cannot be");
  RELEASE(t, native);
  OK(lxla_env_release(env));
}

TEST(k5_a_varying_scalar_of_an_operation_is_a_parameter_from_the_first_compile_on) {
  lxla_env env = new_env();
  const lxla_device devices[] = {XLA(0), {LXLA_DEVICE_CPU, 0}};
  // A quotient, and a function that is made of several operations.
  const int ops[] = {LXLA_BINARY_DIVIDE, LXLA_BINARY_FLOOR_DIVIDE};
  for (int d = 0; d < 2; d++)
    for (int i = 0; i < 2; i++)
      for (int n = 1; n <= 20; n++) {
        lxla_tensor t, made, x = one(env, 1);
        OK(lxla_tensor_to_device(x, devices[d], &t));
        lxla_scalar number = {.dtype = LXLA_DTYPE_F64, .value.f = n + 0.25};
        OK(lxla_binary_with_varying_scalar(ops[i], t, &number, 1, &made));
        EQUAL(value(made), i ? n : n + 0.25f);
        RELEASE(t, made, x);
      }
  EQUAL(counter(env, "UncachedCompile"), 2);
  // Values that did not vary, or vary no longer, share the program.
  lxla_tensor t = one(env, 1);
  for (int n = 1; n <= 6; n++) {
    lxla_tensor made;
    lxla_scalar number = {.dtype = LXLA_DTYPE_F64, .value.f = n};
    if (n % 2) OK(lxla_binary_with_scalar(SUB, t, &number, 0, &made));
    else OK(lxla_binary_with_varying_scalar(SUB, t, &number, 0, &made));
    EQUAL(value(made), 1 - n);
    RELEASE(made);
  }
  EQUAL(counter(env, "UncachedCompile"), 4);
  RELEASE(t);
  OK(lxla_env_release(env));
}

TEST(k5_scalars_that_become_equal_cost_nothing) {
  lxla_env env = new_env();
  lxla_tensor t = one(env, 1);
  const double pairs[][2] = {{2, 3}, {4, 5}, {7, 7}, {2, 3}, {3, 2}, {9, 9}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    lxla_tensor x = scalar(MUL, t, pairs[i][0]), y = scalar(ADD, x, pairs[i][1]);
    RELEASE(x);
    step(env);
    EQUAL(value(y), pairs[i][0] + pairs[i][1]);
    RELEASE(y);
  }
  EQUAL(counter(env, "UncachedCompile"), 2);
  RELEASE(t);
  OK(lxla_env_release(env));
}

TEST(k5_scalars_of_every_width_become_parameters) {
  lxla_env env = new_env();
  const int32_t dtypes[] = {LXLA_DTYPE_S8, LXLA_DTYPE_S64, LXLA_DTYPE_U64, LXLA_DTYPE_F64, LXLA_DTYPE_C128};
  const size_t sizes[] = {1, 8, 8, 8, 16};
  lxla_tensor t[5];
  for (int i = 0; i < 5; i++) OK(lxla_tensor_full(env, XLA(0), dtypes[i], NULL, 0, 1, &t[i]));
  step(env);
  for (int turn = 2; turn < 5; turn++) {
    lxla_tensor x[5];
    for (int i = 0; i < 5; i++) x[i] = scalar(ADD, t[i], turn);
    step(env);
    union {
      int8_t s8;
      int64_t s64;
      uint64_t u64;
      double f64;
      double c128[2];
    } got[5];
    for (int i = 0; i < 5; i++) OK(lxla_tensor_read(x[i], &got[i], sizes[i]));
    EQUAL(got[0].s8, turn + 1);
    EQUAL(got[1].s64, turn + 1);
    EQUAL(got[2].u64, turn + 1);
    EQUAL(got[3].f64, turn + 1);
    EQUAL(got[4].c128[0], turn + 1);
    EQUAL(got[4].c128[1], 0);
    OK(lxla_tensor_release_many(x, 5));
  }
  EQUAL(counter(env, "UncachedCompile"), 3);
  OK(lxla_tensor_release_many(t, 5));
  OK(lxla_env_release(env));
}

// Computes the hash of one fixed piece of work in an environment made with these options.
static void hash_in(const lxla_env_options *options, uint8_t *hash) {
  lxla_env env;
  OK(lxla_env_create(options, &env));
  lxla_tensor t = one(env, 1), x = scalar(ADD, t, 1);
  OK(lxla_graph_hash(env, XLA(0), &x, 1, hash));
  RELEASE(t, x);
  OK(lxla_env_release(env));
}

static void copy_file(const char *from, const char *to, const char *more) {
  FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
  CHECK(in && out);
  static char block[1 << 20];
  size_t n;
  while ((n = fread(block, 1, sizeof block, in)) > 0) CHECK(fwrite(block, 1, n, out) == n);
  CHECK(fputs(more, out) >= 0 && fclose(out) == 0 && fclose(in) == 0);
}

TEST(k6_what_may_change_the_executable_is_in_the_key) {
  uint8_t plain[32], again[32], other[32];
  lxla_env_options options = default_options();
  hash_in(NULL, plain);
  hash_in(&options, again);
  CHECK(memcmp(plain, again, 32) == 0);

  options.device_count = 2;
  hash_in(&options, other);
  CHECK(memcmp(plain, other, 32) != 0);

  // The plugin's file is identified by its content: a copy counts as the same plugin, one changed byte as another.
  const char *plugin = test_plugin();
  char copy[] = "k6_plugin_copy.so", changed[] = "k6_plugin_changed.so";
  copy_file(plugin, copy, "");
  copy_file(plugin, changed, "x");
  options = default_options();
  options.plugin_path = copy;
  hash_in(&options, again);
  CHECK(memcmp(plain, again, 32) == 0);
  options.plugin_path = changed;
  hash_in(&options, other);
  CHECK(memcmp(plain, other, 32) != 0);
  CHECK(remove(copy) == 0 && remove(changed) == 0);
}

// Steps a program that is different for each size `n`; returns its result, `n` elements of 2.
static lxla_tensor program_of_size(lxla_env env, int64_t n) {
  lxla_tensor ones;
  OK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F32, DIMS(n), 1, &ones));
  lxla_tensor twos = scalar(ADD, ones, 1);
  RELEASE(ones);
  step(env);
  return twos;
}

TEST(k9_the_least_recently_used_programs_give_way) {
  lxla_env_options options = default_options();
  options.cache_capacity = 64;
  lxla_env env;
  OK(lxla_env_create(&options, &env));
  enum { PROGRAMS = 128 };
  lxla_tensor results[PROGRAMS];
  for (int i = 0; i < PROGRAMS; i++) results[i] = program_of_size(env, i + 1);
  EQUAL(counter(env, "UncachedCompile"), PROGRAMS);
  for (int i = 64; i < PROGRAMS; i++) RELEASE(program_of_size(env, i + 1));
  EQUAL(counter(env, "UncachedCompile"), PROGRAMS);
  for (int i = 0; i < 64; i++) RELEASE(program_of_size(env, i + 1));
  EQUAL(counter(env, "UncachedCompile"), PROGRAMS + 64);
  float values[PROGRAMS];
  for (int i = 0; i < PROGRAMS; i++) {
    read_f32(results[i], values, (size_t)i + 1);
    EQUAL(values[i], 2);
  }
  OK(lxla_tensor_release_many(results, PROGRAMS));
  OK(lxla_env_release(env));
}

TEST(k11_the_hash_knows_donors_and_not_scalars_that_vary) {
  lxla_env env = new_env();
  uint8_t as_sync[32], as_step[32], varied[32], again[32];
  lxla_tensor t = one(env, 1);
  for (int i = 0; i < 3; i++) {
    OK(lxla_binary_scalar_inplace(ADD, t, i));
    if (i == 2) {
      OK(lxla_graph_hash(env, XLA(0), NULL, 0, varied));
    }
    step(env);
  }
  OK(lxla_binary_scalar_inplace(ADD, t, 77));
  OK(lxla_graph_hash(env, XLA(0), NULL, 0, as_step));
  OK(lxla_graph_hash(env, XLA(0), &t, 1, as_sync));
  OK(lxla_graph_hash(env, XLA(0), NULL, 0, again));
  CHECK(memcmp(as_step, varied, 32) == 0);
  CHECK(memcmp(as_step, again, 32) == 0);
  CHECK(memcmp(as_step, as_sync, 32) != 0);
  EQUAL(value(t), 1 + 0 + 1 + 2 + 77);
  RELEASE(t);
  OK(lxla_env_release(env));
}
