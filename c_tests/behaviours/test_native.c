// Native tensors and environments: E1, E2, E4, E5 and E7 of docs/behaviours.md.
#include "check.h"

#include <pthread.h>

#define F32 LXLA_DTYPE_F32
#define S32 LXLA_DTYPE_S32
static const lxla_device unnamed = {LXLA_DEVICE_UNSPECIFIED, 0}, cpu = {LXLA_DEVICE_CPU, 0};

static lxla_tensor on(lxla_env env, lxla_device device, const int64_t *dims, size_t rank, const float *values) {
  size_t n = 1;
  for (size_t i = 0; i < rank; i++) n *= (size_t)dims[i];
  lxla_tensor t;
  OK(lxla_tensor_from_host(env, device, F32, dims, rank, values, n * sizeof(float), &t));
  return t;
}

static lxla_tensor moved(lxla_tensor t, lxla_device device) {
  lxla_tensor out;
  OK(lxla_tensor_to_device(t, device, &out));
  return out;
}

static void is_on(lxla_tensor t, int32_t kind, int32_t ordinal) {
  lxla_device device;
  OK(lxla_tensor_device(t, &device));
  EQUAL(device.kind, kind);
  EQUAL(device.ordinal, ordinal);
}

// Native tensors work where no plugin can be found.
TEST(e1_native_tensors_need_no_plugin) {
  CHECK(setenv("LXLA_PJRT_PLUGIN", "no/such/plugin.so", 1) == 0);
  lxla_env env;
  OK(lxla_env_default(&env));
  lxla_tensor a = on(no_env, unnamed, DIMS(3), (float[]){1, 2, 3}), b;
  OK(lxla_tensor_full(no_env, unnamed, F32, DIMS(3), 10, &b));
  lxla_tensor sum = binary(ADD, a, b), total;
  EQUAL(state_of(sum), LXLA_STATE_NATIVE);
  is_on(sum, LXLA_DEVICE_CPU, 0);
  OK(lxla_reduce(LXLA_REDUCE_SUM, sum, DIMS(0), 0, &total));
  EQUAL(value(total), 36);
  OK(lxla_binary_inplace(MUL, a, a));
  OK(lxla_binary_scalar_inplace(ADD, a, 0.5));
  float got[3];
  read_f32(a, got, 3);
  for (int i = 0; i < 3; i++) EQUAL(got[i], (i + 1) * (i + 1) + 0.5);
  OK(lxla_mark_step(env, cpu, 1));
  OK(lxla_mark_step(env, unnamed, 1));
  OK(lxla_sync(&sum, 1));
  EQUAL(counter(env, "UncachedCompile"), 0);
  EQUAL(counter(env, "MarkStep"), 0);
  EQUAL(counter(env, "CreateTensor"), 4);
  lxla_tensor lazy = none;
  int32_t count;
  REFUSED(lxla_tensor_full(env, XLA(0), F32, DIMS(3), 1, &lazy), LXLA_NOT_FOUND, "no/such/plugin.so");
  REFUSED(lxla_env_device_count(env, &count), LXLA_NOT_FOUND, "no/such/plugin.so");
  // The library finds a plugin that is installed later.
  CHECK(unsetenv("LXLA_PJRT_PLUGIN") == 0);
  OK(lxla_tensor_full(env, XLA(0), F32, DIMS(3), 1, &lazy));
  EQUAL(state_of(lazy), LXLA_STATE_PENDING);
  RELEASE(a, b, sum, total, lazy);
}

TEST(e1_every_kind_of_change_is_seen_where_it_should_be) {
  lxla_env env = new_env();
  lxla_tensor a = on(env, cpu, DIMS(2), (float[]){1, 2}), copy = snapshot(a),
              c = on(env, cpu, DIMS(2), (float[]){7, 8});
  OK(lxla_binary_scalar_inplace(ADD, a, 1));
  float got[2];
  read_f32(copy, got, 2);
  EQUAL(got[0], 1);
  OK(lxla_tensor_assign(copy, c));
  OK(lxla_tensor_write(c, (float[]){5, 6}, 2 * sizeof(float)));
  read_f32(copy, got, 2);
  EQUAL(got[1], 8);
  read_f32(c, got, 2);
  EQUAL(got[1], 6);
  read_f32(a, got, 2);
  EQUAL(got[1], 3);
  REFUSED(lxla_binary_inplace(LXLA_BINARY_AND, a, c), LXLA_INVALID_ARGUMENT, "and takes pred and integers");
  lxla_tensor wide = on(env, cpu, DIMS(2, 2), (float[]){1, 2, 3, 4});
  REFUSED(lxla_binary_inplace(ADD, a, wide), LXLA_INVALID_ARGUMENT, "does not fit in place");
  char *text;
  REFUSED(lxla_stablehlo(&a, 1, &text), LXLA_INVALID_ARGUMENT, "they are native");
  read_f32(a, got, 2);
  EQUAL(got[0], 2);
  RELEASE(a, copy, c, wide);
  OK(lxla_env_release(env));
}

TEST(e2_named_devices_and_the_option) {
  lxla_env env = new_env();
  lxla_tensor t;
  OK(lxla_tensor_full(env, XLA(0), F32, DIMS(1), 1, &t));
  EQUAL(state_of(t), LXLA_STATE_PENDING);
  is_on(t, LXLA_DEVICE_XLA, 0);
  RELEASE(t);
  OK(lxla_env_set_option(env, "use_native_for_cpu_tensor", "false"));
  lxla_device places[] = {unnamed, cpu};
  for (int i = 0; i < 2; i++) {
    OK(lxla_tensor_full(env, places[i], F32, DIMS(1), 1, &t));
    is_on(t, LXLA_DEVICE_XLA, 0);
    RELEASE(t);
  }
  OK(lxla_env_set_option(env, "use_native_for_cpu_tensor", "true"));
  OK(lxla_tensor_full(env, unnamed, F32, DIMS(1), 1, &t));
  is_on(t, LXLA_DEVICE_CPU, 0);
  RELEASE(t);
  REFUSED(lxla_tensor_full(env, (lxla_device){LXLA_DEVICE_CPU, 1}, F32, DIMS(1), 1, &t), LXLA_INVALID_ARGUMENT,
          "cpu has only 0");
  REFUSED(lxla_tensor_full(env, XLA(7), F32, DIMS(1), 1, &t), LXLA_INVALID_ARGUMENT, "no xla:7");
  OK(lxla_env_release(env));
}

TEST(e5_scalar_takes_native_tensors_of_one_element) {
  lxla_env env = new_env();
  lxla_tensor x = on(env, XLA(0), DIMS(2), (float[]){1, 2}), two = on(env, cpu, NULL, 0, (float[]){2}), out;
  lxla_tensor one_row = on(env, cpu, DIMS(1, 1), (float[]){10}), pair = on(env, cpu, DIMS(2), (float[]){1, 1});
  uint64_t sent = counter(env, "TransferToDevice");
  lxla_tensor scaled = binary(MUL, two, x), rows = binary(ADD, x, one_row);
  int64_t dims[2];
  OK(lxla_tensor_dims(rows, dims, 2));
  EQUAL(dims[0], 1);
  float got[2];
  read_f32(scaled, got, 2);
  EQUAL(got[1], 4);
  read_f32(rows, got, 2);
  EQUAL(got[1], 12);
  is_on(scaled, LXLA_DEVICE_XLA, 0);
  OK(lxla_binary_inplace(ADD, x, two));
  read_f32(x, got, 2);
  EQUAL(got[0], 3);
  EQUAL(counter(env, "MixedDeviceCopy"), 0);
  EQUAL(counter(env, "TransferToDevice"), sent);
  REFUSED(lxla_binary(ADD, x, pair, &out), LXLA_INVALID_ARGUMENT, "lhs is on xla:0 and rhs is on cpu");
  REFUSED(lxla_binary(ADD, x, pair, &out), LXLA_INVALID_ARGUMENT, "rhs is f32[2]");
  REFUSED(lxla_binary_inplace(ADD, two, x), LXLA_INVALID_ARGUMENT, "dst is on cpu and rhs is on xla:0");
  REFUSED(lxla_tensor_assign(two, x), LXLA_INVALID_ARGUMENT, "dst is on cpu and src is on xla:0");
  EQUAL(value(two), 2);
  RELEASE(x, two, one_row, pair, scaled, rows);
  OK(lxla_env_release(env));
}

// A native scalar that changes every step costs one more compile, once.
TEST(e5_a_native_learning_rate) {
  lxla_env env = new_env();
  lxla_tensor w = on(env, XLA(0), DIMS(2), (float[]){1, 2}), rate = on(env, cpu, NULL, 0, (float[]){1});
  for (int i = 0; i < 10; i++) {
    OK(lxla_binary_inplace(MUL, w, rate));
    EQUAL(step(env), 1);
    OK(lxla_binary_scalar_inplace(ADD, rate, 1));
  }
  float got[2];
  read_f32(w, got, 2);
  EQUAL(got[0], 3628800);
  CHECK(counter(env, "UncachedCompile") <= 2);
  RELEASE(w, rate);
  OK(lxla_env_release(env));
}

static char logged[512];
static void listen(int32_t level, const char *message, void *user) {
  (void)user;
  if (level == 3) snprintf(logged, sizeof logged, "%s", message);
}

TEST(e5_copy_copies_counts_and_tells) {
  lxla_env_options options = default_options();
  options.device_count = 2;
  options.mixed_device_policy = LXLA_MIXED_COPY;
  lxla_env env;
  OK(lxla_env_create(&options, &env));
  OK(lxla_set_log_callback(listen, NULL));
  lxla_tensor n = on(env, cpu, DIMS(2), (float[]){1, 2}), a = on(env, XLA(0), DIMS(2), (float[]){10, 20}),
              b = on(env, XLA(1), DIMS(2), (float[]){100, 200}), late = scalar(ADD, b, 1);
  lxla_tensor na = binary(ADD, n, a), ab = binary(ADD, a, late), list[] = {b, n, a}, all;
  CHECK(strstr(logged, "lxla_binary: rhs (f32[2], 8 bytes) is copied from xla:1 to xla:0"));
  OK(lxla_concatenate(list, 3, 0, &all));
  EQUAL(counter(env, "MixedDeviceCopy"), 4);
  EQUAL(counter(env, "MixedDeviceBytes"), 4 * 8);
  is_on(na, LXLA_DEVICE_XLA, 0);
  is_on(ab, LXLA_DEVICE_XLA, 0);
  is_on(all, LXLA_DEVICE_XLA, 1);
  OK(lxla_binary_inplace(ADD, n, b));  // the updated tensor stays on its device
  is_on(n, LXLA_DEVICE_CPU, 0);
  float got[6];
  read_f32(na, got, 2);
  EQUAL(got[1], 22);
  read_f32(ab, got, 2);
  EQUAL(got[1], 221);
  read_f32(all, got, 6);
  EQUAL(got[3], 2);
  read_f32(n, got, 2);
  EQUAL(got[1], 202);
  OK(lxla_set_log_callback(NULL, NULL));
  RELEASE(n, a, b, late, na, ab, all);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

TEST(e5_error_and_other_environments_never_mix) {
  lxla_env env = new_env(), other = new_env();
  lxla_tensor x = on(env, XLA(0), DIMS(1), (float[]){1}), n = on(env, cpu, DIMS(1), (float[]){2}),
              foreign = on(other, cpu, DIMS(1), (float[]){2}), out;
  const char *policies[] = {"error", "scalar", "copy"};
  for (int i = 0; i < 3; i++) {
    OK(lxla_env_set_option(env, "mixed_device_policy", policies[i]));
    REFUSED(lxla_binary(ADD, x, foreign, &out), LXLA_INVALID_ARGUMENT, "two environments");
    REFUSED(lxla_binary(ADD, n, foreign, &out), LXLA_INVALID_ARGUMENT, "two environments");
  }
  OK(lxla_env_set_option(env, "mixed_device_policy", "error"));
  REFUSED(lxla_binary(ADD, x, n, &out), LXLA_INVALID_ARGUMENT, "lhs is on xla:0 and rhs is on cpu");
  EQUAL(value(x), 1);
  RELEASE(x, n, foreign);
  OK(lxla_env_release(env));
  OK(lxla_env_release(other));
}

TEST(e7_values_move_between_all_devices) {
  lxla_env_options options = default_options();
  options.device_count = 2;
  lxla_env env;
  OK(lxla_env_create(&options, &env));
  lxla_tensor n = on(env, cpu, DIMS(2), (float[]){1, 2}), a = moved(n, XLA(0)), pending = scalar(ADD, a, 1);
  lxla_tensor b = moved(pending, XLA(1)), back = moved(b, cpu), same = moved(n, cpu);
  EQUAL(state_of(pending), LXLA_STATE_READY);
  is_on(b, LXLA_DEVICE_XLA, 1);
  is_on(back, LXLA_DEVICE_CPU, 0);
  OK(lxla_binary_scalar_inplace(ADD, n, 100));
  OK(lxla_binary_scalar_inplace(ADD, b, 100));
  OK(lxla_mark_step(env, unnamed, 1));
  float got[2];
  read_f32(back, got, 2);
  EQUAL(got[1], 3);
  read_f32(same, got, 2);
  EQUAL(got[1], 2);
  read_f32(a, got, 2);
  EQUAL(got[1], 2);
  read_f32(b, got, 2);
  EQUAL(got[1], 103);
  EQUAL(counter(env, "MixedDeviceCopy"), 0);
  lxla_tensor p, out = none;
  OK(lxla_tensor_placeholder(env, XLA(0), F32, DIMS(2), &p));
  REFUSED(lxla_tensor_to_device(p, cpu, &out), LXLA_FAILED_PRECONDITION, "placeholder f32[2]");
  RELEASE(n, a, pending, b, back, same, p);
  OK(lxla_env_release(env));
}

TEST(e7_native_tensors_outlive_their_environment_to_be_read) {
  lxla_env env = new_env();
  lxla_tensor n = on(env, cpu, DIMS(1), (float[]){5}), out;
  OK(lxla_env_release(env));
  EQUAL(value(n), 5);
  REFUSED(lxla_binary(ADD, n, n, &out), LXLA_FAILED_PRECONDITION, "environment was released");
  REFUSED(lxla_binary_scalar_inplace(ADD, n, 1), LXLA_FAILED_PRECONDITION, "environment was released");
  EQUAL(value(n), 5);
  RELEASE(n);
}

TEST(native_tensors_are_saved_and_loaded_with_others) {
  lxla_env env = new_env();
  lxla_tensor n = on(env, cpu, DIMS(2), (float[]){1, 2}), x = on(env, XLA(0), DIMS(2), (float[]){3, 4}),
              y = scalar(ADD, x, 1), loaded;
  const char *path = "test_native.safetensors", *names[] = {"n", "y"};
  OK(lxla_save(path, names, (lxla_tensor[]){n, y}, 2));
  OK(lxla_load(env, cpu, path, "y", &loaded));
  is_on(loaded, LXLA_DEVICE_CPU, 0);
  float got[2];
  read_f32(loaded, got, 2);
  EQUAL(got[1], 5);
  RELEASE(loaded);
  OK(lxla_load(env, XLA(0), path, "n", &loaded));
  read_f32(loaded, got, 2);
  EQUAL(got[1], 2);
  CHECK(remove(path) == 0);
  RELEASE(n, x, y, loaded);
  OK(lxla_env_release(env));
}

// Results of small arrays, which are evaluated under the lock, beside those of large ones: the same bits. 256 elements
// are the most that are small.
TEST(small_and_large_arrays_have_the_same_results) {
  enum { LARGE = 300, OPERATIONS = 9 };
  lxla_env env = new_env();
  float x[LARGE], y[LARGE], want[OPERATIONS][LARGE], got[LARGE];
  for (int i = 0; i < LARGE; i++) x[i] = (float)(i % 17) - 8.25f, y[i] = (float)(i % 5) + 0.375f;
  const lxla_scalar three = {.dtype = LXLA_DTYPE_F64, .value.f = 3};
  const int64_t sizes[] = {LARGE, 1, 8, 256, 257};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    lxla_tensor a = on(env, cpu, DIMS(sizes[s]), x), b = on(env, cpu, DIMS(sizes[s]), y), r[OPERATIONS];
    OK(lxla_binary(LXLA_BINARY_SUBTRACT, a, b, &r[0]));
    OK(lxla_binary(LXLA_BINARY_DIVIDE, a, b, &r[1]));
    OK(lxla_binary_scalar(LXLA_BINARY_SUBTRACT, a, 3, &r[2]));
    OK(lxla_binary_with_scalar(LXLA_BINARY_SUBTRACT, a, &three, 1, &r[3]));
    OK(lxla_unary(LXLA_UNARY_EXPONENTIAL, a, &r[4]));
    OK(lxla_unary(LXLA_UNARY_FLOOR, a, &r[5]));
    lxla_tensor greater, before;
    OK(lxla_compare(LXLA_COMPARE_GT, a, b, &greater));
    OK(lxla_select(greater, a, b, &r[6]));
    r[7] = on(env, cpu, DIMS(sizes[s]), x), r[8] = on(env, cpu, DIMS(sizes[s]), x);
    OK(lxla_tensor_snapshot(r[7], &before));
    OK(lxla_binary_inplace(LXLA_BINARY_SUBTRACT, r[7], b));
    OK(lxla_binary_scalar_inplace(LXLA_BINARY_SUBTRACT, r[8], 3));
    read_f32(before, got, (size_t)sizes[s]);
    CHECK(memcmp(got, x, (size_t)sizes[s] * sizeof *got) == 0);
    REFUSED(lxla_binary_inplace(LXLA_BINARY_SUBTRACT, greater, b), LXLA_INVALID_ARGUMENT, "lhs is pred");
    RELEASE(greater, before);
    for (int k = 0; k < OPERATIONS; k++) {
      read_f32(r[k], s == 0 ? want[k] : got, (size_t)sizes[s]);
      if (s > 0) CHECK(memcmp(got, want[k], (size_t)sizes[s] * sizeof *got) == 0);
      OK(lxla_tensor_release(r[k]));
    }
    // A released operand is an error that names it, and makes nothing.
    OK(lxla_tensor_release(b));
    REFUSED(lxla_binary(LXLA_BINARY_SUBTRACT, a, b, &r[0]), LXLA_INVALID_HANDLE, "rhs");
    REFUSED(lxla_compare(LXLA_COMPARE_LT, a, b, &r[0]), LXLA_INVALID_HANDLE, "rhs");
    REFUSED(lxla_select(b, a, a, &r[0]), LXLA_INVALID_HANDLE, "pred");
    REFUSED(lxla_binary_inplace(LXLA_BINARY_ADD, b, a), LXLA_INVALID_HANDLE, "dst");
    RELEASE(a);
  }
  for (int i = 0; i < LARGE; i++) {
    EQUAL(want[0][i], x[i] - y[i]);
    EQUAL(want[1][i], x[i] / y[i]);
    EQUAL(want[2][i], x[i] - 3);
    EQUAL(want[3][i], 3 - x[i]);
    EQUAL(want[5][i], floorf(x[i]));
    EQUAL(want[6][i], fmaxf(x[i], y[i]));
    EQUAL(want[7][i], want[0][i]);
    EQUAL(want[8][i], want[2][i]);
  }
  OK(lxla_env_release(env));
}

// A reduction of a small array beside that of each row of a large one: the same bits.
TEST(small_and_large_arrays_have_the_same_reductions) {
  enum { ROWS = 300, COLUMNS = 256 };
  const int32_t reductions[] = {LXLA_REDUCE_SUM, LXLA_REDUCE_PRODUCT, LXLA_REDUCE_MAX, LXLA_REDUCE_MIN};
  lxla_env env = new_env();
  float x[COLUMNS], one, all[ROWS];
  for (int i = 0; i < COLUMNS; i++) x[i] = (float)(i % 17) * 0.1f + 0.3f;
  for (int64_t columns = 1; columns <= COLUMNS; columns = columns * 3 + columns % 2) {
    lxla_tensor row = on(env, cpu, DIMS(columns), x), rows, kept, of_row, of_rows;
    OK(lxla_broadcast_to(row, DIMS(ROWS, columns), &rows));
    for (size_t k = 0; k < sizeof reductions / sizeof *reductions; k++) {
      OK(lxla_reduce(reductions[k], row, (const int64_t[]){-1}, 1, 0, &of_row));
      OK(lxla_reduce(reductions[k], row, (const int64_t[]){0}, 1, 1, &kept));
      OK(lxla_reduce(reductions[k], rows, (const int64_t[]){1}, 1, 0, &of_rows));
      read_f32(of_rows, all, ROWS);
      read_f32(of_row, &one, 1);
      for (int i = 0; i < ROWS; i++) CHECK(memcmp(&all[i], &one, sizeof one) == 0);
      read_f32(kept, all, 1);
      CHECK(memcmp(all, &one, sizeof one) == 0);
      size_t rank;
      OK(lxla_tensor_rank(kept, &rank));
      EQUAL(rank, 1);
      OK(lxla_tensor_rank(of_row, &rank));
      EQUAL(rank, 0);
      RELEASE(of_row, kept, of_rows);
    }
    REFUSED(lxla_reduce(LXLA_REDUCE_SUM, row, (const int64_t[]){1}, 1, 0, &of_row), LXLA_INVALID_ARGUMENT,
            "axes: axis 1");
    REFUSED(lxla_reduce(LXLA_REDUCE_ALL, row, (const int64_t[]){0}, 1, 0, &of_row), LXLA_INVALID_ARGUMENT,
            "takes pred");
    RELEASE(row, rows);
  }
  OK(lxla_env_release(env));
}

// The result of a reduction of no elements, of any size, is the identity.
TEST(reductions_of_no_elements) {
  lxla_env env = new_env();
  float got[1000];
  for (int64_t columns = 1; columns <= 1000; columns *= 10) {
    lxla_tensor x = on(env, cpu, DIMS(0, columns), (float[]){0}), out;
    OK(lxla_reduce(LXLA_REDUCE_PRODUCT, x, (const int64_t[]){0}, 1, 0, &out));
    read_f32(out, got, (size_t)columns);
    for (int64_t i = 0; i < columns; i++) EQUAL(got[i], 1);
    RELEASE(x, out);
  }
  OK(lxla_env_release(env));
}

// The device forgets shapes that no array has when there are many; arrays that are alive keep theirs.
TEST(arrays_keep_their_shapes_among_many) {
  lxla_env env = new_env();
  enum { KEPT = 40, SHAPES = 40000 };
  static const float values[SHAPES];
  lxla_tensor kept[KEPT];
  for (int i = 0; i < KEPT; i++) {
    lxla_tensor zero = on(env, cpu, DIMS(i, 3), values);
    OK(lxla_binary_scalar(ADD, zero, i, &kept[i]));
    RELEASE(zero);
  }
  for (int64_t n = 1; n <= SHAPES; n++) {
    lxla_tensor x = on(env, cpu, &n, 1, values), flat, row;
    OK(lxla_reshape(x, DIMS(n, 1), &flat));
    if (n % 1000 == 0) {
      lxla_tensor sum = binary(ADD, kept[n / 1000 - 1], kept[n / 1000 - 1]);
      int64_t dims[2];
      OK(lxla_tensor_dims(sum, dims, 2));
      EQUAL(dims[0], n / 1000 - 1);
      EQUAL(dims[1], 3);
      float got[3 * KEPT];
      read_f32(sum, got, (size_t)(3 * dims[0]));
      for (int i = 0; i < 3 * dims[0]; i++) EQUAL(got[i], 2 * dims[0]);
      OK(lxla_binary_inplace(ADD, kept[n / 1000 - 1], sum));
      REFUSED(lxla_binary_inplace(ADD, kept[n / 1000 - 1], x), LXLA_INVALID_ARGUMENT, "f32");
      OK(lxla_reduce(LXLA_REDUCE_SUM, kept[n / 1000 - 1], DIMS(0), 0, &row));
      read_f32(row, got, 3);
      EQUAL(got[2], 3 * dims[0] * dims[0]);
      RELEASE(sum, row);
    }
    RELEASE(x, flat);
  }
  for (int i = 0; i < KEPT; i++) RELEASE(kept[i]);
  OK(lxla_env_release(env));
}

// Operations on arrays are evaluated although others wait for a placeholder. These keep the values that they were
// given.
TEST(arrays_are_evaluated_among_operations_that_wait) {
  lxla_env env = new_env();
  lxla_tensor x = on(env, cpu, DIMS(3), (float[]){1, 2, 3}), other = on(env, cpu, DIMS(2), (float[]){1, 2}), p, refused;
  OK(lxla_tensor_placeholder(env, cpu, F32, DIMS(3), &p));
  lxla_tensor waiting = binary(MUL, p, x);
  EQUAL(state_of(waiting), LXLA_STATE_PENDING);
  for (int i = 0; i < 100; i++) {
    REFUSED(lxla_binary(ADD, p, other, &refused), LXLA_INVALID_ARGUMENT, "broadcast");
    REFUSED(lxla_binary(ADD, x, other, &refused), LXLA_INVALID_ARGUMENT, "broadcast");
    lxla_tensor more = binary(ADD, waiting, x), sum = binary(ADD, x, x), soft;
    OK(lxla_softmax(sum, 0, &soft));
    EQUAL(state_of(more), LXLA_STATE_PENDING);
    EQUAL(state_of(sum), LXLA_STATE_NATIVE);
    EQUAL(state_of(soft), LXLA_STATE_NATIVE);
    OK(lxla_binary_inplace(ADD, x, sum));
    OK(lxla_binary_scalar_inplace(MUL, x, 1. / 3));
    RELEASE(more, sum, soft);
  }
  OK(lxla_binary_scalar_inplace(ADD, x, 10));
  lxla_computation f;
  lxla_tensor five = on(env, cpu, DIMS(3), (float[]){5, 5, 5}), out;
  OK(lxla_computation_trace(&p, 1, &waiting, 1, &f));
  OK(lxla_computation_call(f, &five, 1, &out, 1));
  float got[3];
  read_f32(out, got, 3);
  for (int i = 0; i < 3; i++) EQUAL(got[i], 5 * (i + 1));
  OK(lxla_computation_release(f));
  RELEASE(x, other, p, waiting, five, out);
  OK(lxla_env_release(env));
}

// Updates by several threads: none is lost.
static lxla_tensor shared;
static void *add_many(void *unused) {
  (void)unused;
  for (int i = 0; i < 2000; i++) OK(lxla_binary_scalar_inplace(ADD, shared, 1));
  return NULL;
}

TEST(threads_update_one_native_tensor) {
  lxla_env env = new_env();
  shared = on(env, cpu, DIMS(1), (float[]){0});
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, add_many, NULL) == 0);
  for (int i = 0; i < 4; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  EQUAL(value(shared), 8000);
  RELEASE(shared);
  OK(lxla_env_release(env));
}
