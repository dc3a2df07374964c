// Misuse of handles and arguments: H1 of docs/behaviours.md. Every function refuses invalid arguments, names the
// argument, and changes nothing.
#include "check.h"

static lxla_env env;

static void start(void) { env = new_env(); }

// Returns a released tensor's handle. `foreign` flips one bit of a handle: of its table, slot or generation.
static lxla_tensor stale(void) {
  lxla_tensor t = one(env, 1);
  RELEASE(t);
  return t;
}

static lxla_tensor foreign(lxla_tensor t, int bit) { return (lxla_tensor){t.id ^ (1ull << bit)}; }

#define BAD_HANDLE(call, argument) REFUSED(call, LXLA_INVALID_HANDLE, argument)

// Calls every function that takes a tensor with a bad one.
static void refuses(lxla_tensor bad) {
  lxla_tensor good = one(env, 2), out = {123};
  int64_t zero = 0, dims[4];
  float v = 5;
  size_t rank;
  int32_t number;
  lxla_device device;
  lxla_env of_t;
  char *text;
  uint8_t hash[32];
  BAD_HANDLE(lxla_tensor_retain(bad), "tensor");
  if (bad.id != 0) BAD_HANDLE(lxla_tensor_release(bad), "tensor");
  BAD_HANDLE(lxla_tensor_snapshot(bad, &out), "tensor");
  BAD_HANDLE(lxla_tensor_placeholder_like(bad, &out), "tensor");
  BAD_HANDLE(lxla_tensor_assign(bad, good), "dst");
  BAD_HANDLE(lxla_tensor_assign(good, bad), "src");
  BAD_HANDLE(lxla_tensor_write(bad, &v, sizeof v), "dst");
  BAD_HANDLE(lxla_tensor_dtype(bad, &number), "tensor");
  BAD_HANDLE(lxla_tensor_rank(bad, &rank), "tensor");
  BAD_HANDLE(lxla_tensor_dims(bad, dims, 4), "tensor");
  BAD_HANDLE(lxla_tensor_device(bad, &device), "tensor");
  BAD_HANDLE(lxla_tensor_env(bad, &of_t), "tensor");
  BAD_HANDLE(lxla_tensor_state(bad, &number), "tensor");
  BAD_HANDLE(lxla_tensor_requires_grad(bad, &number), "tensor");
  BAD_HANDLE(lxla_tensor_set_requires_grad(bad, 1), "tensor");
  BAD_HANDLE(lxla_tensor_read(bad, &v, sizeof v), "tensor");
  BAD_HANDLE(lxla_tensor_to_device(bad, XLA(0), &out), "tensor");
  BAD_HANDLE(lxla_unary(LXLA_UNARY_TANH, bad, &out), "x");
  BAD_HANDLE(lxla_binary(ADD, bad, good, &out), "lhs");
  BAD_HANDLE(lxla_binary(ADD, good, bad, &out), "rhs");
  BAD_HANDLE(lxla_binary_inplace(ADD, bad, good), "dst");
  BAD_HANDLE(lxla_binary_inplace(ADD, good, bad), "rhs");
  BAD_HANDLE(lxla_binary_scalar(ADD, bad, 1, &out), "lhs");
  BAD_HANDLE(lxla_binary_scalar_inplace(ADD, bad, 1), "dst");
  lxla_scalar one_scalar = {LXLA_DTYPE_F64, 0, {.f = 1}};
  BAD_HANDLE(lxla_binary_with_scalar(ADD, bad, &one_scalar, 0, &out), "lhs");
  BAD_HANDLE(lxla_binary_with_varying_scalar(ADD, bad, &one_scalar, 0, &out), "lhs");
  BAD_HANDLE(lxla_compare(LXLA_COMPARE_EQ, good, bad, &out), "rhs");
  BAD_HANDLE(lxla_select(bad, good, good, &out), "pred");
  BAD_HANDLE(lxla_select(good, good, bad, &out), "on_false");
  BAD_HANDLE(lxla_convert(bad, LXLA_DTYPE_S32, &out), "x");
  BAD_HANDLE(lxla_reshape(bad, DIMS(1), &out), "x");
  BAD_HANDLE(lxla_broadcast_to(bad, DIMS(1), &out), "x");
  BAD_HANDLE(lxla_transpose(bad, &zero, 1, &out), "x");
  BAD_HANDLE(lxla_reduce(LXLA_REDUCE_SUM, bad, &zero, 1, 0, &out), "x");
  BAD_HANDLE(lxla_matmul(good, bad, &out), "rhs");
  BAD_HANDLE(lxla_slice(bad, &zero, &zero, NULL, 1, &out), "x");
  lxla_tensor list[] = {good, bad};
  BAD_HANDLE(lxla_concatenate(list, 2, 0, &out), "tensors[1]");
  BAD_HANDLE(lxla_sync(list, 2), "tensors[1]");
  BAD_HANDLE(lxla_stablehlo(&bad, 1, &text), "tensors");
  BAD_HANDLE(lxla_graph_hash(env, XLA(0), &bad, 1, hash), "tensors");
  EQUAL(out.id, 123);
  EQUAL(value(good), 2);
  EQUAL(v, 5);
  RELEASE(good);
}

TEST(h1_zero_stale_foreign_and_over_released_handles) {
  start();
  refuses(none);
  refuses(stale());
  lxla_tensor live = one(env, 3);
  for (int bit = 0; bit < 64; bit += 9) refuses(foreign(live, bit));
  refuses((lxla_tensor){UINT64_MAX});
  refuses((lxla_tensor){env.id});
  EQUAL(value(live), 3);
  OK(lxla_tensor_retain(live));
  OK(lxla_tensor_release(live));
  OK(lxla_tensor_release(live));
  BAD_HANDLE(lxla_tensor_release(live), "was released");
  OK(lxla_tensor_release(none));
  OK(lxla_env_release(no_env));
  EQUAL(counter(env, "CreateTensor"), counter(env, "DestroyTensor"));
  lxla_env copy = env;
  OK(lxla_env_release(env));
  BAD_HANDLE(lxla_env_release(copy), "env");
  BAD_HANDLE(lxla_env_retain(copy), "env");
  BAD_HANDLE(lxla_mark_step(copy, XLA(0), 1), "env");
  lxla_tensor out;
  BAD_HANDLE(lxla_tensor_full(copy, XLA(0), LXLA_DTYPE_F32, NULL, 0, 1, &out), "env");
  BAD_HANDLE(lxla_env_enter((lxla_env){999999}), "env");
}

#define IS_NULL(call, argument) REFUSED(call, LXLA_NULL_ARGUMENT, argument)

TEST(h1_null_where_data_is_needed) {
  start();
  lxla_tensor t = one(env, 1), out;
  int64_t two[] = {2};
  float v;
  uint64_t n;
  char *text;
  IS_NULL(lxla_tensor_from_host(env, XLA(0), LXLA_DTYPE_F32, two, 1, NULL, 8, &out), "data");
  IS_NULL(lxla_tensor_from_host(env, XLA(0), LXLA_DTYPE_F32, NULL, 1, &v, 4, &out), "dims");
  IS_NULL(lxla_tensor_from_host(env, XLA(0), LXLA_DTYPE_F32, DIMS(1), &v, 4, NULL), "out_tensor");
  IS_NULL(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F32, NULL, 2, 0, &out), "dims");
  IS_NULL(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F32, two, 1, 0, NULL), "out_tensor");
  IS_NULL(lxla_iota(env, XLA(0), LXLA_DTYPE_F32, two, 1, 0, NULL), "out_tensor");
  IS_NULL(lxla_tensor_placeholder(env, XLA(0), LXLA_DTYPE_F32, two, 1, NULL), "out_tensor");
  IS_NULL(lxla_tensor_placeholder_like(t, NULL), "out_tensor");
  IS_NULL(lxla_tensor_snapshot(t, NULL), "out_tensor");
  IS_NULL(lxla_tensor_write(t, NULL, 4), "data");
  IS_NULL(lxla_tensor_read(t, NULL, 4), "dst");
  IS_NULL(lxla_tensor_dtype(t, NULL), "out_dtype");
  IS_NULL(lxla_tensor_rank(t, NULL), "out_rank");
  IS_NULL(lxla_tensor_dims(t, NULL, 1), "out_dims");
  IS_NULL(lxla_tensor_device(t, NULL), "out_device");
  IS_NULL(lxla_tensor_env(t, NULL), "out_env");
  IS_NULL(lxla_tensor_state(t, NULL), "out_state");
  IS_NULL(lxla_tensor_requires_grad(t, NULL), "out_flag");
  IS_NULL(lxla_tensor_to_device(t, XLA(0), NULL), "out_tensor");
  IS_NULL(lxla_tensor_release_many(NULL, 3), "tensors");
  IS_NULL(lxla_unary(LXLA_UNARY_TANH, t, NULL), "out_tensor");
  IS_NULL(lxla_binary(ADD, t, t, NULL), "out_tensor");
  IS_NULL(lxla_binary_scalar(ADD, t, 1, NULL), "out_tensor");
  IS_NULL(lxla_binary_with_scalar(ADD, t, NULL, 0, &out), "rhs");
  IS_NULL(lxla_binary_with_varying_scalar(ADD, t, NULL, 0, &out), "rhs");
  IS_NULL(lxla_compare(LXLA_COMPARE_EQ, t, t, NULL), "out_tensor");
  IS_NULL(lxla_select(t, t, t, NULL), "out_tensor");
  IS_NULL(lxla_convert(t, LXLA_DTYPE_S32, NULL), "out_tensor");
  IS_NULL(lxla_reshape(t, NULL, 1, &out), "dims");
  IS_NULL(lxla_broadcast_to(t, NULL, 1, &out), "dims");
  IS_NULL(lxla_transpose(t, NULL, 1, &out), "perm");
  IS_NULL(lxla_reduce(LXLA_REDUCE_SUM, t, NULL, 1, 0, &out), "axes");
  IS_NULL(lxla_matmul(t, t, NULL), "out_tensor");
  IS_NULL(lxla_slice(t, NULL, two, NULL, 1, &out), "starts");
  IS_NULL(lxla_slice(t, two, NULL, NULL, 1, &out), "limits");
  IS_NULL(lxla_concatenate(NULL, 2, 0, &out), "tensors");
  IS_NULL(lxla_sync(NULL, 1), "tensors");
  IS_NULL(lxla_stablehlo(&t, 1, NULL), "out_text");
  IS_NULL(lxla_step_stablehlo(env, XLA(0), NULL), "out_text");
  IS_NULL(lxla_graph_hash(env, XLA(0), &t, 1, NULL), "out_hash");
  IS_NULL(lxla_env_create(NULL, NULL), "out_env");
  IS_NULL(lxla_env_options_init(NULL), "options");
  IS_NULL(lxla_env_default(NULL), "out_env");
  IS_NULL(lxla_env_current(NULL), "out_env");
  IS_NULL(lxla_env_counter(env, NULL, &n), "name");
  IS_NULL(lxla_env_counter(env, "MarkStep", NULL), "out_value");
  IS_NULL(lxla_env_set_option(env, NULL, "true"), "name");
  IS_NULL(lxla_env_set_option(env, "donation", NULL), "value");
  IS_NULL(lxla_env_get_option(env, NULL, &text), "name");
  IS_NULL(lxla_env_get_option(env, "donation", NULL), "out_text");
  IS_NULL(lxla_env_metrics_json(env, NULL), "out_text");
  IS_NULL(lxla_env_device_count(env, NULL), "out_count");
  IS_NULL(lxla_device_parse(NULL, &(lxla_device){0, 0}), "text");
  IS_NULL(lxla_device_parse("cpu", NULL), "out_device");
  lxla_string_free(NULL);
  EQUAL(value(t), 1);
  RELEASE(t);
  OK(lxla_env_release(env));
}

#define WRONG(call, words) REFUSED(call, LXLA_INVALID_ARGUMENT, words)

TEST(h1_wrong_sizes_ranks_and_dims) {
  start();
  lxla_tensor t = one(env, 1), out = {9};
  float v[4] = {0};
  WRONG(lxla_tensor_from_host(env, XLA(0), LXLA_DTYPE_F32, DIMS(2), v, 7, &out),
        "size_bytes: 7 given; f32[2] has 8 bytes");
  WRONG(lxla_tensor_from_host(env, XLA(0), LXLA_DTYPE_F32, DIMS(-1), v, 4, &out), "dims[0] is -1");
  WRONG(lxla_tensor_from_host(env, XLA(0), LXLA_DTYPE_F32, DIMS(INT64_MAX, 4), v, 16, &out), "more elements");
  WRONG(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F32, DIMS(1ll << 40, 1ll << 40), 0, &out), "more elements");
  int64_t many[65] = {0};
  WRONG(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F32, many, 65, 0, &out), "rank: 65");
  WRONG(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F32, many, SIZE_MAX, 0, &out), "rank");
  WRONG(lxla_tensor_read(t, v, 8), "size_bytes: 8 given; f32[1] has 4 bytes");
  WRONG(lxla_tensor_write(t, v, 3), "size_bytes: 3 given; f32[1] has 4 bytes");
  WRONG(lxla_tensor_dims(t, many, 0), "capacity: 0");
  WRONG(lxla_sync(&t, SIZE_MAX), "tensors");
  WRONG(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F32, (const int64_t *)((const char *)many + 1), 1, 0, &out),
        "aligned");
  lxla_tensor wide = from_f32(env, DIMS(2, 2), v);
  WRONG(lxla_tensor_assign(t, wide), "src: it is f32[2,2]; dst is f32[1]");
  WRONG(lxla_binary_inplace(ADD, t, wide), "dst: it is f32[1]");
  WRONG(lxla_matmul(wide, t, &out), "contracted sizes are 2 and 1");
  WRONG(lxla_reshape(wide, DIMS(3), &out), "cannot be reshaped to f32[3]");
  WRONG(lxla_broadcast_to(wide, DIMS(3, 2), &out), "does not broadcast to f32[3,2]");
  WRONG(lxla_transpose(wide, DIMS(0), &out), "perm: 1 axes given");
  WRONG(lxla_transpose(wide, DIMS(1, 1), &out), "perm: axis 1 is given twice");
  WRONG(lxla_reduce(LXLA_REDUCE_SUM, wide, DIMS(2), 0, &out), "axes: axis 2 is out of range for rank 2");
  WRONG(lxla_reduce(LXLA_REDUCE_SUM, wide, DIMS(0), 3, &out), "keep_dims: 3");
  WRONG(lxla_slice(wide, many, (int64_t[]){2, 3}, NULL, 2, &out), "[0, 3) on axis 1 of f32[2,2]");
  WRONG(lxla_slice(wide, many, many, NULL, 1, &out), "rank: 1 given");
  WRONG(lxla_concatenate(&t, 0, 0, &out), "0 tensors given");
  lxla_tensor both[] = {wide, t};
  WRONG(lxla_concatenate(both, 2, 0, &out), "tensors[1] is f32[1]");
  EQUAL(out.id, 9);
  OK(lxla_tensor_release(none));
  RELEASE(t, wide);
  OK(lxla_env_release(env));
}

TEST(h1_unknown_enums_and_options) {
  start();
  lxla_tensor t = one(env, 1), out = {9};
  float v = 0;
  for (int i = 0; i < 3; i++) {
    int32_t bad = (int32_t[]){0, -1, 99}[i];
    WRONG(lxla_unary(bad, t, &out), "LXLA_UNARY_*");
    WRONG(lxla_binary(bad, t, t, &out), "LXLA_BINARY_*");
    WRONG(lxla_binary_inplace(bad, t, t), "LXLA_BINARY_*");
    WRONG(lxla_binary_scalar(bad, t, 1, &out), "LXLA_BINARY_*");
    WRONG(lxla_compare(bad, t, t, &out), "LXLA_COMPARE_*");
    WRONG(lxla_compare_total_order(bad, t, t, &out), "LXLA_COMPARE_*");
    WRONG(lxla_reduce(bad, t, DIMS(0), 0, &out), "LXLA_REDUCE_*");
    WRONG(lxla_convert(t, bad, &out), "LXLA_DTYPE_*");
    WRONG(lxla_tensor_from_host(env, XLA(0), bad, DIMS(1), &v, 4, &out), "LXLA_DTYPE_*");
    WRONG(lxla_tensor_full(env, (lxla_device){bad ? bad : 4, 0}, LXLA_DTYPE_F32, NULL, 0, 0, &out), "LXLA_DEVICE_*");
  }
  WRONG(lxla_tensor_full(env, XLA(7), LXLA_DTYPE_F32, NULL, 0, 0, &out), "there is no xla:7; this environment has 1");
  WRONG(lxla_tensor_full(env, XLA(-1), LXLA_DTYPE_F32, NULL, 0, 0, &out), "there is no xla:-1");
  WRONG(lxla_mark_step(env, XLA(1), 1), "there is no xla:1");
  WRONG(lxla_mark_step(env, XLA(0), 2), "wait: 2");
  WRONG(lxla_tensor_set_requires_grad(t, 2), "requires_grad: 2");
  WRONG(lxla_env_set_option(env, "donation", "perhaps"), "want true or false");
  WRONG(lxla_env_set_option(env, "donation", "2"), "want true or false");  // not LXLA_OFF of the structs
  WRONG(lxla_env_set_option(env, "max_program_ops", "0"), "at least 1");
  REFUSED(lxla_env_set_option(env, "colour", "blue"), LXLA_NOT_FOUND, "there is no option \"colour\"");
  uint64_t n;
  REFUSED(lxla_env_counter(env, "Nothing", &n), LXLA_NOT_FOUND, "there is no counter \"Nothing\"");
  lxla_env_options options = default_options();
  lxla_env made = {5};
  options.donation = 3;
  WRONG(lxla_env_create(&options, &made), "options.donation: 3 given; want LXLA_ON (1), LXLA_OFF (2), or 0");
  options = default_options();
  options.device_count = -1;
  WRONG(lxla_env_create(&options, &made), "options.device_count: -1");
  options = default_options();
  options.mixed_device_policy = 4;
  WRONG(lxla_env_create(&options, &made), "options.mixed_device_policy: 4 given; want one of LXLA_MIXED_*");
  options.struct_size = 4;
  WRONG(lxla_env_create(&options, &made), "struct_size is 4");
  EQUAL(made.id, 5);
  EQUAL(out.id, 9);
  RELEASE(t);
  OK(lxla_env_release(env));
}

// Creates an environment with options, and checks the text of one.
static void check_option(const lxla_env_options *options, const char *name, const char *wanted) {
  lxla_env made;
  char *text;
  OK(lxla_env_create(options, &made));
  OK(lxla_env_get_option(made, name, &text));
  CHECK(strcmp(text, wanted) == 0);
  lxla_string_free(text);
  OK(lxla_env_release(made));
}

TEST(switches_and_policies_of_structs_are_constants) {
  lxla_env_options options = default_options();
  check_option(&options, "donation", "true");
  check_option(&options, "mixed_device_policy", "scalar");
  options.donation = LXLA_OFF, options.use_native_for_cpu_tensor = LXLA_OFF;
  options.mixed_device_policy = LXLA_MIXED_COPY;
  check_option(&options, "donation", "false");
  check_option(&options, "use_native_for_cpu_tensor", "false");
  check_option(&options, "mixed_device_policy", "copy");
  options.donation = LXLA_ON, options.mixed_device_policy = LXLA_MIXED_ERROR;
  check_option(&options, "donation", "true");
  check_option(&options, "mixed_device_policy", "error");
}

TEST(h1_scalars_that_do_not_fit) {
  start();
  lxla_tensor n, b, out;
  OK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_S8, DIMS(1), 1, &n));
  OK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_PRED, DIMS(1), 1, &b));
  WRONG(lxla_binary_scalar(ADD, n, 128, &out), "128.0 cannot be represented in s8");
  WRONG(lxla_binary_scalar(ADD, n, 0.5, &out), "0.5 cannot be represented in s8");
  WRONG(lxla_binary_scalar_inplace(ADD, n, NAN), "cannot be represented in s8");
  WRONG(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_PRED, NULL, 0, 2, &out), "2.0 cannot be represented in pred");
  WRONG(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F16, NULL, 0, 1e9, &out), "cannot be represented in f16");
  lxla_scalar i = {LXLA_DTYPE_C64, 0, {.c = {1, 2}}};
  WRONG(lxla_binary_with_scalar(ADD, n, &i, 0, &out), "cannot be represented in s8");
  i = (lxla_scalar){77, 0, {.i = 1}};
  WRONG(lxla_binary_with_scalar(ADD, n, &i, 0, &out), "LXLA_DTYPE_*");
  i = (lxla_scalar){LXLA_DTYPE_S64, 0, {.i = 1}};
  WRONG(lxla_binary_with_scalar(ADD, n, &i, 2, &out), "scalar_on_left: 2");
  WRONG(lxla_binary_with_varying_scalar(ADD, n, &i, 2, &out), "scalar_on_left: 2");
  WRONG(lxla_binary(ADD, b, b, &out), "not pred");
  WRONG(lxla_binary(ADD, n, b, &out), "do not promote");
  RELEASE(n, b);
  OK(lxla_env_release(env));
}

TEST(h1_pred_is_0_or_1) {
  start();
  lxla_tensor out = {9}, good;
  const uint8_t bad[] = {1, 0, 2}, fine[] = {1, 0, 1};
  WRONG(lxla_tensor_from_host(env, XLA(0), LXLA_DTYPE_PRED, DIMS(3), bad, 3, &out),
        "element 2 of pred[3] is 2; pred takes 0 or 1");
  EQUAL(out.id, 9);
  OK(lxla_tensor_from_host(env, XLA(0), LXLA_DTYPE_PRED, DIMS(3), fine, 3, &good));
  WRONG(lxla_tensor_write(good, bad, 3), "pred takes 0 or 1");
  uint8_t got[3];
  OK(lxla_tensor_read(good, got, 3));
  CHECK(memcmp(got, fine, 3) == 0);
  RELEASE(good);
  OK(lxla_env_release(env));
}

TEST(h1_host_data_of_any_alignment) {
  start();
  char raw[64];
  for (int offset = 0; offset < 8; offset++) {
    float in[4] = {1, 2, 3, (float)offset};
    memcpy(raw + offset, in, sizeof in);
    lxla_tensor t;
    OK(lxla_tensor_from_host(env, XLA(0), LXLA_DTYPE_F32, DIMS(4), raw + offset, sizeof in, &t));
    memset(raw, 0xEE, sizeof raw);
    OK(lxla_tensor_read(t, raw + 9 + offset, sizeof in));
    CHECK(memcmp(raw + 9 + offset, in, sizeof in) == 0);
    RELEASE(t);
  }
  OK(lxla_env_release(env));
}

// A function of another library that fails with a message of its own.
static lxla_status scaled_by(double factor) {
  if (factor <= 0) return lxla_set_last_error(LXLA_OUT_OF_RANGE, "my_scale: factor: -1 given; want more than 0");
  return LXLA_OK;
}

TEST(other_libraries_set_the_message_of_their_failures) {
  REFUSED(scaled_by(-1), LXLA_OUT_OF_RANGE, "my_scale: factor: -1 given");
  CHECK(strncmp(lxla_last_error_message(), "my_scale", 8) == 0);
  EQUAL(scaled_by(1), LXLA_OK);
  WRONG(lxla_set_last_error(LXLA_OK, "text"), "lxla_set_last_error: status: 0 given");
  WRONG(lxla_set_last_error(77, "text"), "status: 77 given; want a status code other than LXLA_OK");
  REFUSED(lxla_set_last_error(LXLA_INTERNAL, NULL), LXLA_NULL_ARGUMENT, "message");
}

TEST(messages_stay_until_the_next_failure) {
  start();
  lxla_tensor t = one(env, 1);
  WRONG(lxla_unary(99, t, &t), "lxla_unary: op: 99");
  char first[256];
  strcpy(first, lxla_last_error_message());
  RELEASE(t);
  EQUAL(step(env), 0);
  CHECK(strcmp(first, lxla_last_error_message()) == 0);
  CHECK(strcmp(lxla_status_name(LXLA_INVALID_HANDLE), "INVALID_HANDLE") == 0);
  CHECK(strcmp(lxla_status_name(12345), "UNKNOWN_STATUS") == 0);
  CHECK(lxla_abi_version() == LXLA_ABI_VERSION);
  char version[32];
  snprintf(version, sizeof version, "%d.%d.%d", LXLA_VERSION_MAJOR, LXLA_VERSION_MINOR, LXLA_VERSION_PATCH);
  CHECK(strcmp(version, lxla_version()) == 0);
  OK(lxla_env_release(env));
}
