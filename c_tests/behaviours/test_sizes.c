// Sizes that change (option dynamic_sizes): Z1 to Z8 of docs/behaviours.md. Programs for bounds compute what programs
// for each size compute, donate what these donate, and are compiled once for each bound.
#include "computation.h"

#include <pthread.h>
#include <unistd.h>

enum { WIDTH = 3, MOST = 100 };

static void set(lxla_env env, const char *option, const char *text) { OK(lxla_env_set_option(env, option, text)); }

static lxla_env dynamic_env(const char *sizes) {
  lxla_env env = new_env();
  set(env, "dynamic_sizes", sizes);
  set(env, "dynamic_exact", "false");
  return env;
}

// Makes x[n, 3] with x[i, j] = (3 i + j) % 7 - 3.
static lxla_tensor rows(lxla_env env, int64_t n) {
  float values[MOST * WIDTH];
  for (int64_t i = 0; i < n * WIDTH; i++) values[i] = (float)(i % 7 - 3);
  return from_f32(env, DIMS(n, WIDTH), values);
}

// Reads a tensor of floats and checks its shape.
static void read_rows(lxla_tensor t, float *values, int64_t n) {
  int64_t dims[2];
  size_t rank;
  OK(lxla_tensor_rank(t, &rank));
  OK(lxla_tensor_dims(t, dims, 2));
  CHECK(rank == 2 && dims[0] == n && dims[1] == WIDTH);
  OK(lxla_tensor_read(t, values, (size_t)(n * WIDTH) * sizeof(float)));
}

// The sum over the rows, and the rows less their mean.
static void check_rows(lxla_env env, int64_t n) {
  lxla_tensor x = rows(env, n), sum, mean, centered;
  OK(lxla_reduce(LXLA_REDUCE_SUM, x, DIMS(0), 0, &sum));
  mean = scalar(MUL, sum, 1.0 / (double)(n ? n : 1));
  OK(lxla_binary(SUB, x, mean, &centered));
  OK(lxla_sync(TENSORS(sum, centered)));
  float sums[WIDTH], values[MOST * WIDTH];
  OK(lxla_tensor_read(sum, sums, sizeof sums));
  read_rows(centered, values, n);
  for (int j = 0; j < WIDTH; j++) {
    double wanted = 0;
    for (int64_t i = 0; i < n; i++) wanted += (double)((i * WIDTH + j) % 7 - 3);
    EQUAL(sums[j], wanted);
    for (int64_t i = 0; i < n; i++)
      CHECK(fabs(values[i * WIDTH + j] - ((double)((i * WIDTH + j) % 7 - 3) - wanted / (double)n)) < 1e-5);
  }
  RELEASE(x, sum, mean, centered);
}

TEST(z1_a_size_that_changes_is_compiled_for_bounds) {
  lxla_env env = dynamic_env("powers");
  for (int round = 0; round < 2; round++)
    for (int64_t n = 1; n <= MOST; n += 1 + n / 8) check_rows(env, n);
  // The first size by itself, then the bounds 16, 32, 64 and 128.
  EQUAL(counter(env, "UncachedCompile"), 5);
  EQUAL(counter(env, "DynamicCompile"), 4);
  EQUAL(counter(env, "DynamicRefused"), 0);
  CHECK(counter(env, "DynamicRun") + 2 == counter(env, "ExecuteComputation"));
  check_rows(env, 0);
  OK(lxla_env_release(env));
}

// Programs that differ in an attribute alone have bounds of their own, also if they alternate from the start.
TEST(z1_programs_of_other_attributes_have_their_own_bounds) {
  lxla_env env = dynamic_env("powers");
  for (int64_t n = 20; n <= 60; n++) {
    lxla_tensor x = rows(env, n), sums[2], parts[2];
    float got[2][60], halves[2][2 * 60];
    for (int64_t axis = 0; axis < 2; axis++) {
      OK(lxla_reduce(LXLA_REDUCE_SUM, x, &axis, 1, 0, &sums[axis]));
      OK(lxla_tensor_read(sums[axis], got[axis], sizeof(float) * (size_t)(axis ? n : WIDTH)));
      OK(lxla_slice_axis(x, 1, axis, axis + 2, 1, &parts[axis]));
      OK(lxla_tensor_read(parts[axis], halves[axis], sizeof(float) * 2 * (size_t)n));
    }
    for (int j = 0; j < WIDTH; j++) {
      double wanted = 0;
      for (int64_t i = 0; i < n; i++) wanted += (double)((i * WIDTH + j) % 7 - 3);
      EQUAL(got[0][j], wanted);
    }
    for (int64_t i = 0; i < n; i++) {
      double wanted = 0;
      for (int j = 0; j < WIDTH; j++) wanted += (double)((i * WIDTH + j) % 7 - 3);
      EQUAL(got[1][i], wanted);
      for (int j = 0; j < 4; j++) EQUAL(halves[j / 2][2 * i + j % 2], (double)((i * WIDTH + j / 2 + j % 2) % 7 - 3));
    }
    RELEASE(x, sums[0], sums[1], parts[0], parts[1]);
  }
  // Of each of four programs, the first size, then the bounds 32 and 64.
  EQUAL(counter(env, "UncachedCompile"), 12);
  EQUAL(counter(env, "DynamicCompile"), 8);
  OK(lxla_env_release(env));
}

// A roll joins two parts, one of which shrinks when the other grows: no bound holds it.
TEST(z1_a_part_that_shrinks_when_a_size_grows_is_whole) {
  const int64_t sizes[][2] = {{2, 3}, {4, 5}, {3, 4}, {7, 8}, {6, 9}, {5, 11}};
  lxla_env env = dynamic_env("3,7,12");
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    lxla_tensor ones, rolled, sum;
    OK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F32, sizes[i], 2, 1, &ones));
    OK(lxla_roll(ones, (const int64_t[]){4}, (const int64_t[]){1}, 1, &rolled));
    float values[MOST];
    OK(lxla_tensor_read(rolled, values, (size_t)(sizes[i][0] * sizes[i][1]) * sizeof(float)));
    for (int64_t j = 0; j < sizes[i][0] * sizes[i][1]; j++) EQUAL(values[j], 1);
    OK(lxla_reduce(LXLA_REDUCE_SUM, rolled, NULL, 0, 0, &sum));
    EQUAL(value(sum), (double)(sizes[i][0] * sizes[i][1]));
    RELEASE(ones, rolled, sum);
  }
  OK(lxla_env_release(env));
}

TEST(z1_without_the_option_each_size_is_compiled) {
  lxla_env env = new_env();
  for (int64_t n = 1; n <= 5; n++) check_rows(env, n);
  EQUAL(counter(env, "UncachedCompile"), 5);
  EQUAL(counter(env, "DynamicRun"), 0);
  OK(lxla_env_release(env));
}

TEST(z2_the_log_names_the_axes_with_their_bounds) {
  lxla_env env = dynamic_env("30,60");
  check_rows(env, 20);
  check_rows(env, 21);
  char *log;
  OK(lxla_compile_log_json(env, &log));
  CHECK(strstr(log, "size_became_dynamic") && strstr(log, "\"dynamic_axes\"") && strstr(log, "\"bound\":30"));
  lxla_string_free(log);
  OK(lxla_env_release(env));
}

TEST(z2_a_program_that_is_refused_names_the_operation) {
  lxla_env env = dynamic_env("buckets");
  for (int64_t n = 3; n < 6; n++) {
    float values[36];
    for (int64_t i = 0; i < n * n; i++) values[i] = i % (n + 1) ? 0.1f : 4;
    lxla_tensor a = from_f32(env, DIMS(n, n), values), factor;
    OK(lxla_label_push("solver"));
    OK(lxla_cholesky(a, 1, &factor));
    OK(lxla_label_pop());
    OK(lxla_sync(&factor, 1));
    RELEASE(a, factor);
  }
  EQUAL(counter(env, "DynamicRun"), 0);
  EQUAL(counter(env, "UncachedCompile"), 3);
  CHECK(counter(env, "DynamicRefused") >= 1);
  char *log;
  OK(lxla_compile_log_json(env, &log));
  CHECK(strstr(log, "\"dynamic_refused\"") && strstr(log, "cholesky") && strstr(log, "\"label\":\"solver\""));
  lxla_string_free(log);
  OK(lxla_env_release(env));
}

// w -= 0.01 * mean((x w - 1) x) on batches of any size. Returns the weights.
static lxla_tensor trained(lxla_env env, const int64_t *sizes, int count, uint64_t *donated) {
  const float start[WIDTH] = {0.5f, -0.25f, 1};
  lxla_tensor w = from_f32(env, DIMS(WIDTH), start);
  *donated = 0;
  for (int i = 0; i < count; i++) {
    lxla_tensor x = rows(env, sizes[i]), y, slope, sum;
    OK(lxla_matmul(x, w, &y));
    lxla_tensor error = scalar(SUB, y, 1);
    OK(lxla_matmul(error, x, &slope));
    sum = scalar(MUL, slope, 0.01 / (double)sizes[i]);
    OK(lxla_binary_inplace(SUB, w, sum));
    RELEASE(x, y, error, slope, sum);
    *donated += step(env);
  }
  return w;
}

TEST(z3_steps_donate_the_weights_and_leave_no_memory) {
  const int64_t sizes[] = {20, 27, 9, 32, 1, 18, 25, 31, 20, 27};
  enum { COUNT = sizeof sizes / sizeof *sizes };
  uint64_t donated[2];
  float found[2][WIDTH];
  for (int is_dynamic = 0; is_dynamic < 2; is_dynamic++) {
    lxla_env env = is_dynamic ? dynamic_env("32") : new_env();
    lxla_tensor w = trained(env, sizes, COUNT, &donated[is_dynamic]);
    OK(lxla_tensor_read(w, found[is_dynamic], sizeof *found));
    if (is_dynamic) EQUAL(counter(env, "UncachedCompile"), 2);
    EQUAL(counter(env, "LiveBytes"), WIDTH * sizeof(float));
    RELEASE(w);
    no_live_bytes(env);
    OK(lxla_env_release(env));
  }
  EQUAL(donated[0], donated[1]);
  for (int j = 0; j < WIDTH; j++) CHECK(fabs(found[0][j] - found[1][j]) < 1e-5);
}

TEST(z4_a_padded_value_is_read_saved_copied_and_used) {
  lxla_env env = dynamic_env("48");
  for (int64_t n = 20; n < 23; n++) {
    lxla_tensor x = rows(env, n), y = scalar(MUL, x, 2);
    OK(lxla_sync(&y, 1));
    RELEASE(x);
    float values[MOST * WIDTH];
    read_rows(y, values, n);
    for (int64_t i = 0; i < n * WIDTH; i++) EQUAL(values[i], 2 * (double)(i % 7 - 3));
    // Snapshots keep it; a step on it donates the value of the tensor alone.
    lxla_tensor kept, native, z = scalar(ADD, y, 1);
    OK(lxla_tensor_snapshot(y, &kept));
    OK(lxla_tensor_to_device(y, (lxla_device){LXLA_DEVICE_CPU, 0}, &native));
    RELEASE(y);
    step(env);
    read_rows(z, values, n);
    for (int64_t i = 0; i < n * WIDTH; i++) EQUAL(values[i], 2 * (double)(i % 7 - 3) + 1);
    read_rows(native, values, n);
    EQUAL(values[n * WIDTH - 1], 2 * (double)((n * WIDTH - 1) % 7 - 3));
    char path[] = "/tmp/lxla-sizes-XXXXXX";
    CHECK(close(mkstemp(path)) == 0);
    OK(lxla_save(path, (const char *[]){"kept"}, &kept, 1));
    RELEASE(kept, z, native);
    lxla_tensor loaded;
    OK(lxla_load(env, XLA(0), path, "kept", &loaded));
    read_rows(loaded, values, n);
    EQUAL(values[4], 2 * (4.0 - 3));
    RELEASE(loaded);
    unlink(path);
  }
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

TEST(z4_a_padded_value_is_cut_for_a_program_of_its_size) {
  lxla_env env = dynamic_env("48");
  lxla_tensor last = none;
  for (int64_t n = 20; n < 23; n++) {
    lxla_tensor x = rows(env, n);
    last = scalar(MUL, x, 2);
    OK(lxla_sync(&last, 1));
    RELEASE(x);
    if (n < 22) RELEASE(last);
  }
  EQUAL(counter(env, "DynamicRun"), 2);
  // The first program of its kind is compiled for its size.
  lxla_tensor sum, total;
  OK(lxla_reduce(LXLA_REDUCE_SUM, last, NULL, 0, 0, &sum));
  total = scalar(ADD, sum, 100);
  double wanted = 100;
  for (int64_t i = 0; i < 22 * WIDTH; i++) wanted += 2 * (double)(i % 7 - 3);
  EQUAL(value(total), wanted);
  EQUAL(counter(env, "DynamicRun"), 2);
  RELEASE(last, sum, total);
  OK(lxla_env_release(env));
}

TEST(z5_a_stated_axis_is_compiled_once) {
  lxla_env env = new_env();
  for (int64_t n = 30; n < 40; n++) {
    lxla_tensor x = rows(env, n), y = scalar(MUL, x, 3);
    OK(lxla_tensor_set_dynamic(x, 0, 64));
    OK(lxla_sync(&y, 1));
    float values[MOST * WIDTH];
    read_rows(y, values, n);
    for (int64_t i = 0; i < n * WIDTH; i++) EQUAL(values[i], 3 * (double)(i % 7 - 3));
    RELEASE(x, y);
  }
  EQUAL(counter(env, "UncachedCompile"), 1);
  char *log;
  OK(lxla_compile_log_json(env, &log));
  CHECK(strstr(log, "\"bound\":64"));
  lxla_string_free(log);
  // A statement can be taken back.
  lxla_tensor x = rows(env, 41), y = scalar(MUL, x, 3);
  OK(lxla_tensor_set_dynamic(x, 0, 64));
  OK(lxla_tensor_set_dynamic(x, 0, -1));
  OK(lxla_sync(&y, 1));
  EQUAL(counter(env, "UncachedCompile"), 2);
  RELEASE(x, y);
  OK(lxla_env_release(env));
}

TEST(z5_results_of_stated_axes_are_compiled_once_too) {
  lxla_env env = new_env();
  for (int64_t n = 30; n < 40; n++) {
    lxla_tensor x = rows(env, n), tripled = scalar(MUL, x, 3), sum;
    OK(lxla_tensor_set_dynamic(x, 0, 64));
    OK(lxla_sync(&tripled, 1));
    OK(lxla_reduce(LXLA_REDUCE_SUM, tripled, NULL, 0, 0, &sum));
    double wanted = 0;
    for (int64_t i = 0; i < n * WIDTH; i++) wanted += 3 * (double)(i % 7 - 3);
    EQUAL(value(sum), wanted);
    RELEASE(x, tripled, sum);
  }
  EQUAL(counter(env, "UncachedCompile"), 2);
  OK(lxla_env_release(env));
}

TEST(z6_wrong_options_and_statements_are_refused) {
  lxla_env env = new_env();
  const char *const wrong[] = {"on", "", "0", "16,8", "8,8", "-4", "4,,8"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    REFUSED(lxla_env_set_option(env, "dynamic_sizes", wrong[i]), LXLA_INVALID_ARGUMENT, "dynamic_sizes");
  REFUSED(lxla_env_set_option(env, "dynamic_exact", "maybe"), LXLA_INVALID_ARGUMENT, "want true or false");
  lxla_env_options options = default_options();
  options.dynamic_sizes = "8,4";
  lxla_env other;
  REFUSED(lxla_env_create(&options, &other), LXLA_INVALID_ARGUMENT, "options.dynamic_sizes");
  options.dynamic_sizes = "8,40";
  OK(lxla_env_create(&options, &other));
  char *text;
  OK(lxla_env_get_option(other, "dynamic_sizes", &text));
  CHECK(strcmp(text, "8,40") == 0);
  lxla_string_free(text);
  OK(lxla_env_release(other));

  lxla_tensor x = rows(env, 4), y = scalar(ADD, x, 1), hole = placeholder(env, LXLA_DTYPE_F32, DIMS(2)), native;
  OK(lxla_tensor_to_device(x, (lxla_device){LXLA_DEVICE_CPU, 0}, &native));
  REFUSED(lxla_tensor_set_dynamic(x, 2, 0), LXLA_INVALID_ARGUMENT, "axis: 2 given");
  REFUSED(lxla_tensor_set_dynamic(x, 0, 3), LXLA_INVALID_ARGUMENT, "bound: 3 given");
  REFUSED(lxla_tensor_set_dynamic(x, 0, -2), LXLA_INVALID_ARGUMENT, "bound: -2 given");
  REFUSED(lxla_tensor_set_dynamic(y, 0, 0), LXLA_FAILED_PRECONDITION, "it is computed");
  OK(lxla_sync(&y, 1));
  REFUSED(lxla_tensor_set_dynamic(y, 0, 0), LXLA_FAILED_PRECONDITION, "it is computed");
  REFUSED(lxla_tensor_set_dynamic(hole, 0, 0), LXLA_FAILED_PRECONDITION, "it is a placeholder");
  REFUSED(lxla_tensor_set_dynamic(native, 0, 0), LXLA_FAILED_PRECONDITION, "it is native");
  RELEASE(x, y, hole, native);
  OK(lxla_env_release(env));
}

TEST(z7_a_size_that_recurs_gets_its_own_program) {
  lxla_env env = new_env();
  set(env, "dynamic_sizes", "4096");
  float *values = calloc(4096 * 64, sizeof *values);
  // Most of the work at the size 40 is padding: the time that it takes soon exceeds a compile.
  for (int i = 0; i < 20000 && counter(env, "DynamicExactCompile") == 0; i++) {
    int64_t n = i == 0 ? 41 : 40;
    lxla_tensor x = from_f32(env, DIMS(n, 64), values), y, sum;
    OK(lxla_unary(LXLA_UNARY_TANH, x, &y));
    OK(lxla_reduce(LXLA_REDUCE_SUM, y, NULL, 0, 0, &sum));
    EQUAL(value(sum), 0);
    RELEASE(x, y, sum);
  }
  EQUAL(counter(env, "DynamicExactCompile"), 1);
  uint64_t runs = counter(env, "DynamicRun");
  lxla_tensor x = from_f32(env, DIMS(40, 64), values), y, sum;
  OK(lxla_unary(LXLA_UNARY_TANH, x, &y));
  OK(lxla_reduce(LXLA_REDUCE_SUM, y, NULL, 0, 0, &sum));
  EQUAL(value(sum), 0);
  EQUAL(counter(env, "DynamicRun"), runs);
  RELEASE(x, y, sum);
  free(values);
  OK(lxla_env_release(env));
}

typedef struct {
  lxla_env env;
  int64_t size;
} work;

static void *work_on(void *given) {
  const work *own = given;
  for (int i = 0; i < 50; i++) check_rows(own->env, own->size + i % 5);
  return NULL;
}

TEST(z8_threads_use_two_sizes_at_once) {
  lxla_env env = dynamic_env("powers");
  pthread_t threads[2];
  work works[2] = {{env, 20}, {env, 50}};
  for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, work_on, &works[i]) == 0);
  for (int i = 0; i < 2; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  OK(lxla_env_release(env));
}
