// Plugins that compute wrong numbers, reject options, or reuse stale weights from one run in the next.
#define _GNU_SOURCE
#include "fault.h"

#include <unistd.h>

static char state_dir[] = "/tmp/lxla_state_XXXXXX";

// Gives this program a state folder of its own before anything runs. Also chooses XNNPACK by XLA_FLAGS, as some
// processors do by themselves: the library's own option must override it.
__attribute__((constructor)) static void own_state(void) {
  setenv("XLA_FLAGS",
         "--xla_cpu_use_xnnpack=true "
         "--xla_cpu_experimental_xnn_graph_fusion_mode=XNN_GRAPH_FUSION_MODE_BYPASS_COST_MODEL",
         1);
  if (getenv("LXLA_TEST_STATE_DIR")) {
    setenv("LXLA_STATE_DIR", getenv("LXLA_TEST_STATE_DIR"), 1);
  } else if (mkdtemp(state_dir)) {
    setenv("LXLA_STATE_DIR", state_dir, 1);
  }
}

static int logged;
static char last_log[4096];

static void listen(int32_t level, const char *message, void *user) {
  (void)user;
  if (level > 2) return;
  logged++;
  snprintf(last_log, sizeof last_log, "%s", message);
}

static lxla_status fault_env_status(lxla_env *env) {
  lxla_env_options options = default_options();
  options.plugin_path = LXLA_FAULT_PLUGIN;
  return lxla_env_create(&options, env);
}

TEST(a_plugin_that_computes_wrong_numbers_is_refused) {
  lxla_env env;
  CHECK(setenv("LXLA_FAULT_MISCOMPILE", "multiply=subtract", 1) == 0);
  REFUSED(fault_env_status(&env), LXLA_FAILED_PRECONDITION,
          "it computes wrong numbers here: multiply of f32[64,64]: element 0 of 4096 is 0, want 25");
  // The refusal stores neither a good nor a bad verdict: the next start checks the plugin again.
  REFUSED(fault_env_status(&env), LXLA_FAILED_PRECONDITION, "LXLA_PLUGIN_CHECK=warn");

  // LXLA_PLUGIN_CHECK=warn loads the plugin all the same, with an error in the log.
  lxla_set_log_callback(listen, NULL);
  CHECK(setenv("LXLA_PLUGIN_CHECK", "warn", 1) == 0);
  OK(fault_env_status(&env));
  CHECK(strstr(last_log, "computes wrong numbers"));
  lxla_set_log_callback(NULL, NULL);
  CHECK(unsetenv("LXLA_PLUGIN_CHECK") == 0 && unsetenv("LXLA_FAULT_MISCOMPILE") == 0);
  OK(lxla_env_release(env));
}

// Runs one of the tests below in a new process, and returns the number that it prints after the test's name.
static int in_child(const char *test) {
  char self[512] = {0}, command[2048], line[256];
  CHECK(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
  snprintf(command, sizeof command, "LXLA_TEST_STATE_DIR=%s %s %s", getenv("LXLA_STATE_DIR"), self, test);
  FILE *child = popen(command, "r");
  CHECK(child);
  int number = -1;
  while (fgets(line, sizeof line, child)) sscanf(line, "number %d", &number);
  EQUAL(pclose(child), 0);
  return number;
}

TEST(child_counts_the_compiles_of_a_start) {
  if (!getenv("LXLA_TEST_STATE_DIR")) return;
  lxla_env env = fault_env();
  printf("number %d\n", FAULT(calls)("Client_Compile"));
  EQUAL(counter(env, "PeakLiveBytes"), 0);
  OK(lxla_env_release(env));
}

TEST(checks_that_passed_are_remembered) {
  if (getenv("LXLA_TEST_STATE_DIR")) return;
  sleep(3);  // the library caches no hash of a file written just now
  int first = in_child("child_counts_the_compiles_of_a_start");
  int second = in_child("child_counts_the_compiles_of_a_start");
  CHECK(first > 1);
  EQUAL(second, 1);
}

TEST(child_counts_the_warnings_of_a_start) {
  if (!getenv("LXLA_TEST_STATE_DIR")) return;
  CHECK(setenv("LXLA_FAULT_REFUSED_OPTION", "xla_cpu_enable_fast_min_max", 1) == 0);
  lxla_set_log_callback(listen, NULL);
  lxla_env env = fault_env();
  CHECK(strstr(last_log, "the plugin does not take the compile option xla_cpu_enable_fast_min_max"));
  lxla_tensor t = one(env, 2), twice = scalar(MUL, t, 2);
  EQUAL(value(twice), 4);
  RELEASE(t, twice);
  OK(lxla_env_release(env));
  printf("number %d\n", logged);
}

TEST(an_option_that_the_plugin_refuses_is_left_out) {
  if (getenv("LXLA_TEST_STATE_DIR")) return;
  EQUAL(in_child("child_counts_the_warnings_of_a_start"), 1);
}

// Checks the product of ones and `weight`, whose elements are all `w`: every element must be size * w.
static void check_product(lxla_tensor x, lxla_tensor weight, int rows, int size, double w) {
  lxla_tensor y;
  OK(lxla_matmul(x, weight, &y));
  float *values = malloc((size_t)rows * (size_t)size * sizeof *values);
  read_f32(y, values, (size_t)rows * (size_t)size);
  for (int i = 0; i < rows * size; i++)
    if (values[i] != (float)(size * w))
      FAIL("%d rows, size %d, weight %g: element %d is %g", rows, size, w, i, values[i]);
  free(values);
  RELEASE(y);
}

static lxla_tensor filled(lxla_env env, int rows, int columns, double value) {
  lxla_tensor t;
  OK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F32, DIMS(rows, columns), value, &t));
  OK(lxla_sync(&t, 1));
  return t;
}

TEST(a_weight_that_was_updated_in_place_is_multiplied_with_its_new_value) {
  static const int sizes[][2] = {{1, 64}, {64, 64}, {64, 512}, {128, 256}, {512, 1024}};
  lxla_env env = new_env();
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    int rows = sizes[i][0], size = sizes[i][1];
    lxla_tensor x = filled(env, rows, size, 1), weight = filled(env, size, size, 1);
    check_product(x, weight, rows, size, 1);
    for (double w = 2; w < 16; w *= 2) {
      OK(lxla_binary_scalar_inplace(MUL, weight, 2));
      EQUAL(step(env), 1);
      check_product(x, weight, rows, size, w);
    }
    RELEASE(x, weight);
  }
  OK(lxla_env_release(env));
}

TEST(a_weight_that_was_freed_and_made_anew_is_multiplied_with_its_new_value) {
  lxla_env env = new_env();
  lxla_tensor x = filled(env, 64, 512, 1);
  for (int w = 1; w < 6; w++) {
    lxla_tensor weight = filled(env, 512, 512, w);
    check_product(x, weight, 64, 512, w);
    RELEASE(weight);
  }
  RELEASE(x);
  OK(lxla_env_release(env));
}
