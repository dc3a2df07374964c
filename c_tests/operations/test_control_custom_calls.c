// Custom calls: targets of the plugin, refused arguments. Native tensors have none.
#include "both.h"
#include "computation.h"

static void native_custom_call(void) {
  lxla_tensor x = ARRAY(F32, float, SCALAR, 1), out;
  int32_t dtype = F32;
  size_t rank = 0;
  if (device.kind == LXLA_DEVICE_CPU)
    REFUSED(lxla_custom_call("Sharding", &x, 1, &dtype, &rank, NULL, 1, NULL, &out), LXLA_UNIMPLEMENTED, "target: Sharding");
  RELEASE(x);
}
TEST(custom_calls_are_not_native) { on_both(native_custom_call); }

static void custom(const char *target, lxla_tensor x, const int32_t *dtypes, const size_t *ranks, const int64_t *dims, size_t n,
                   const char *config, int32_t version, int32_t side_effect, lxla_tensor *out) {
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
  custom("Eigh", matrix, (int32_t[]){F32, F32}, (size_t[]){2, 1}, (int64_t[]){2, 2, 2}, 2, "1,1,100,1e-6", LXLA_CUSTOM_CALL_ORIGINAL, 0, out);
  char *text = text_of(out[1]);
  CHECK(strstr(text, "call_target_name = \"Eigh\", backend_config = \"1,1,100,1e-6\", api_version = 1 : i32, has_side_effect = false"));
  CHECK(strstr(text, "operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[0]> : tensor<1xindex>]"));
  lxla_string_free(text);
  float values[2], vectors[4];
  read_f32(out[1], values, 2);
  read_f32(out[0], vectors, 4);
  CHECK(fabsf(values[0] - 1) < 1e-5f && fabsf(values[1] - 3) < 1e-5f);
  for (int i = 0; i < 4; i++) CHECK(fabsf(fabsf(vectors[i]) - 0.70710678f) < 1e-5f);
  CHECK(vectors[0] * vectors[2] < 0 && vectors[1] * vectors[3] > 0);
  RELEASE(out[0], out[1]);
  // "Sharding" returns its operand.
  custom("Sharding", matrix, (int32_t[]){F32}, (size_t[]){2}, (int64_t[]){2, 2}, 1, NULL, LXLA_CUSTOM_CALL_TYPED_FFI, 2, out);
  OK(lxla_binary_scalar_inplace(ADD, out[0], 1));
  HAS(out[0], F32, float, DIMS(2, 2), 3, 2, 2, 3);

  // An unknown target: the error has the plugin's message, and no tensor is lost.
  lxla_tensor other = scalar(ADD, matrix, 1);
  custom("no \"such\" target", matrix, (int32_t[]){S8}, (size_t[]){0}, NULL, 1, "a \\ \"b\"\n", LXLA_CUSTOM_CALL_STATUS_RETURNING, 1, out);
  REFUSED(lxla_sync(out, 1), LXLA_NOT_FOUND, "no \"such\" target");
  REFUSED(lxla_mark_step(env, XLA(0), 1), LXLA_NOT_FOUND, "no \"such\" target");
  EQUAL(state_of(out[0]), LXLA_STATE_PENDING);
  text = text_of(out[0]);
  CHECK(strstr(text, "call_target_name = \"no \\22such\\22 target\", backend_config = \"a \\5C \\22b\\22\\0A\", api_version = 2 : i32, has_side_effect = true"));
  lxla_string_free(text);
  RELEASE(out[0]);
  custom("nor this", matrix, (int32_t[]){F32}, (size_t[]){0}, NULL, 1, "{a = 1 : i64, b = \"x\"}", 0, 0, out);
  REFUSED(lxla_sync(out, 1), LXLA_NOT_FOUND, "nor this");
  RELEASE(out[0]);
  OK(lxla_mark_step(env, XLA(0), 1));
  HAS(other, F32, float, DIMS(2, 2), 3, 2, 2, 3);
  HAS(matrix, F32, float, DIMS(2, 2), 2, 1, 1, 2);
  EQUAL(counter(env, "LiveBytes"), 0);
  OK(lxla_env_release(env));
}

// XLA reports a configuration that it cannot read when the program is compiled, or ends the process.
TEST(configurations_of_xlas_targets_are_checked) {
  env = new_env();
  device = XLA(0);
  lxla_tensor matrix = ARRAY(F32, float, DIMS(2, 2), 2, 1, 1, 2), out[2] = {none, none};
  lxla_custom_call_options options = {.struct_size = sizeof options, .api_version = LXLA_CUSTOM_CALL_ORIGINAL};
#define EIGH(given) lxla_custom_call("Eigh", &matrix, 1, (int32_t[]){F32, F32}, (size_t[]){2, 1}, (int64_t[]){2, 2, 2}, 2, given, out)
#define WANTED "Eigh takes \"LOWER,SORT,ITERATIONS,TOLERANCE\", such as \"1,1,100,1e-6\", with api_version 1 to 3"
  REFUSED(EIGH(NULL), LXLA_INVALID_ARGUMENT, "backend_config: \"\" given with api_version 4; " WANTED);
  REFUSED(EIGH(&options), LXLA_INVALID_ARGUMENT, "backend_config: \"\" given; " WANTED);
  options.backend_config = "1,100,1e-6";
  REFUSED(EIGH(&options), LXLA_INVALID_ARGUMENT, "backend_config: \"1,100,1e-6\" given; " WANTED);
  options.backend_config = "1,1,100,nan";
  REFUSED(EIGH(&options), LXLA_INVALID_ARGUMENT, WANTED);
  options.backend_config = "{a = 1 : i64}", options.api_version = LXLA_CUSTOM_CALL_TYPED_FFI;
  REFUSED(EIGH(&options), LXLA_INVALID_ARGUMENT, WANTED);
#define SHARDING(given) lxla_custom_call("Sharding", &matrix, 1, (int32_t[]){F32}, (size_t[]){2}, (int64_t[]){2, 2}, 1, given, out)
  REFUSED(SHARDING(&options), LXLA_INVALID_ARGUMENT, "backend_config: \"{a = 1 : i64}\" given with api_version 4; Sharding takes none");
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
#define CALL(target, n, dtypes, ranks, dims, n_results) lxla_custom_call(target, &x, n, dtypes, ranks, dims, n_results, &options, &out)
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
  REFUSED(CALL("f", 1, &dtype, &rank, NULL, 1), LXLA_INVALID_ARGUMENT, "backend_config: \"text\" given; the typed FFI wants a dictionary");
  options.backend_config = NULL;
  options.has_side_effect = 3;
  REFUSED(CALL("f", 1, &dtype, &rank, NULL, 1), LXLA_INVALID_ARGUMENT, "has_side_effect: 3 given");
  options.struct_size = 4;
  REFUSED(CALL("f", 1, &dtype, &rank, NULL, 1), LXLA_INVALID_ARGUMENT, "struct_size is 4");
  REFUSED(lxla_custom_call_options_init(&options), LXLA_INVALID_ARGUMENT, "struct_size is 4");
  RELEASE(x);
  OK(lxla_env_release(env));
}
