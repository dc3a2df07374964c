// lxla_find_nonfinite: the operation from which NaNs and infinities come.
#include "computation.h"

static void finds(lxla_tensor t, const char *wanted) {
  char *text;
  OK(lxla_find_nonfinite(&t, 1, &text));
  if (!strstr(text, wanted)) FAIL("want %s in %s", wanted, text);
  EQUAL(state_of(t), LXLA_STATE_PENDING);
  lxla_string_free(text);
}

static lxla_tensor unary(int32_t op, lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_unary(op, x, &out));
  return out;
}

TEST(the_first_operation_is_found_with_its_values) {
  lxla_env env = new_env();
  lxla_tensor x = from_f32(env, DIMS(2, 2), (float[]){1, 2, 0, -1});
  OK(lxla_label_push("loss"));
  lxla_tensor y = unary(LXLA_UNARY_LOG, x);
  OK(lxla_label_pop());
  lxla_tensor z = scalar(MUL, y, 2), w = scalar(ADD, x, 1);
  finds(
      z,
      "{\"found\":{\"index\":[1,0],\"label\":\"loss\",\"operands\":[{\"first\":[\"1.0\",\"2.0\",\"0.0\",\"-1.0\"],"
      "\"name\":\"x\",\"type\":\"f32[2,2]\",\"value\":\"0.0\"}],\"operation\":\"log\",\"type\":\"f32[2,2]\",\"value\":\"-inf\"},"
      "\"nonfinite_inputs\":0}");
  finds(w, "{\"found\":null,\"nonfinite_inputs\":0}");
  // The scalar is an operand: an infinite one makes no infinity out of finite operands.
  lxla_tensor masked = scalar(ADD, x, -INFINITY), divided = scalar(LXLA_BINARY_DIVIDE, w, 0);
  finds(masked, "{\"found\":null");
  finds(divided, "\"name\":\"rhs\",\"type\":\"f32[]\",\"value\":\"0.0\"}],\"operation\":\"divide\"");
  // Several programs.
  OK(lxla_env_set_option(env, "max_program_ops", "1"));
  lxla_tensor deep = scalar(ADD, scalar(MUL, unary(LXLA_UNARY_SQRT, w), 1e30), 1);
  finds(deep, "{\"found\":null");
  lxla_tensor deeper = scalar(MUL, deep, 1e30);
  finds(deeper, "\"operation\":\"multiply\"");
  // The operands of a computed tensor are not kept. Operations on it count it as a non-finite input.
  OK(lxla_sync(&z, 1));
  char *text;
  REFUSED(lxla_find_nonfinite(&z, 1, &text), LXLA_FAILED_PRECONDITION, "none is pending");
  lxla_tensor later = scalar(ADD, z, 1);
  finds(later, "{\"found\":null,\"nonfinite_inputs\":1}");
  lxla_tensor p = placeholder(env, LXLA_DTYPE_F32, DIMS(2, 2)), q = scalar(ADD, p, 1);
  REFUSED(lxla_find_nonfinite(&q, 1, &text), LXLA_FAILED_PRECONDITION, "placeholder");
  REFUSED(lxla_find_nonfinite(NULL, 0, &text), LXLA_INVALID_ARGUMENT, "n: 0");
  RELEASE(x, y, z, w, masked, divided, deep, deeper, later, p, q);
  OK(lxla_env_release(env));
}

// 1 / x and x / 1 have the same number and the same tensor.
TEST(operands_are_in_the_order_of_the_operation) {
  lxla_env env = new_env();
  const lxla_scalar number = {.dtype = LXLA_DTYPE_F64, .value.f = 3};
  lxla_tensor x = from_f32(env, DIMS(2), (float[]){2, 0}), left, root;
  lxla_tensor negative = scalar(ADD, x, -3), half = scalar(ADD, x, 0.5);
  OK(lxla_binary_with_scalar(LXLA_BINARY_DIVIDE, x, &number, 1, &left));
  finds(
      left,
      "\"operands\":[{\"first\":[\"3.0\"],\"name\":\"lhs\",\"type\":\"f32[]\",\"value\":\"3.0\"},"
      "{\"first\":[\"2.0\",\"0.0\"],\"name\":\"rhs\",\"type\":\"f32[2]\",\"value\":\"0.0\"}],\"operation\":\"divide\"");
  OK(lxla_binary(LXLA_BINARY_POWER, negative, half, &root));
  finds(root, "\"name\":\"lhs\",\"type\":\"f32[2]\",\"value\":\"-1.0\"},{\"first\":[\"2.5\",\"0.5\"],\"name\":\"rhs\"");
  RELEASE(x, left, negative, half, root);
  OK(lxla_env_release(env));
}

TEST(operations_in_scans_and_of_gradients_are_found) {
  lxla_env env = new_env();
  lxla_tensor p = placeholder(env, LXLA_DTYPE_F32, DIMS(1));
  OK(lxla_label_push("square"));
  lxla_tensor squared = binary(MUL, p, p);
  OK(lxla_label_pop());
  lxla_computation c = traced(TENSORS(p), TENSORS(squared));
  lxla_tensor x = one(env, 10), y;
  OK(lxla_scan(c, &x, 1, NULL, 0, 6, 0, &y, NULL, 0));
  finds(y, "\"label\":\"square\",\"operands\":[{\"first\":[\"1.0000000331813535e32\"]");
  // A body that is applied to elements is part of its operation.
  lxla_tensor a = placeholder(env, LXLA_DTYPE_F32, NULL, 0), b = placeholder(env, LXLA_DTYPE_F32, NULL, 0);
  lxla_tensor product = binary(MUL, a, b), many = from_f32(env, DIMS(2), (float[]){1e30f, 1e30f}), all;
  lxla_tensor first = from_f32(env, NULL, 0, (float[]){1});
  lxla_computation multiply = traced(TENSORS(a, b), TENSORS(product));
  OK(lxla_reduce_with(multiply, &many, &first, 1, (int64_t[]){0}, 1, &all));
  finds(all, "\"operation\":\"reduce_with\"");
  RELEASE(a, b, product, many, all, first);
  OK(lxla_computation_release(multiply));
  // sqrt of 0 is finite, its derivative is not.
  lxla_tensor zero = one(env, 0), gradient;
  OK(lxla_label_push("norm"));
  lxla_tensor root = unary(LXLA_UNARY_SQRT, zero);
  OK(lxla_label_pop());
  OK(lxla_gradients(&root, 1, &x, &zero, 1, &gradient));
  finds(root, "{\"found\":null");
  finds(gradient, "\"label\":\"norm/gradient\"");
  RELEASE(p, squared, x, y, zero, root, gradient);
  OK(lxla_computation_release(c));
  OK(lxla_env_release(env));
}

// --- The option check_nonfinite ---

#define MADE "makes -inf at [1,0] of f32[2,2] out of finite operands: [{\"first\":[\"1.0\",\"2.0\",\"0.0\",\"-1.0\"]"

static lxla_env checked_env(void) {
  lxla_env env = new_env();
  OK(lxla_env_set_option(env, "check_nonfinite", "1"));
  char *on;
  OK(lxla_env_get_option(env, "check_nonfinite", &on));
  CHECK(strcmp(on, "true") == 0);
  lxla_string_free(on);
  return env;
}

// Reads a tensor of 4 numbers.
static void holds(lxla_tensor t, float a, float b, float c, float d) {
  const float want[4] = {a, b, c, d};
  float got[4];
  OK(lxla_tensor_read(t, got, sizeof got));
  for (int i = 0; i < 4; i++)
    if (isnan(want[i])) CHECK(isnan(got[i]));
    else EQUAL(got[i], want[i]);
}

TEST(a_step_fails_with_the_first_operation_and_loses_nothing) {
  lxla_env env = checked_env();
  lxla_tensor x = from_f32(env, DIMS(2, 2), (float[]){1, 2, 0, -1});
  OK(lxla_label_push("loss"));
  lxla_tensor y = unary(LXLA_UNARY_LOG, x);
  OK(lxla_label_pop());
  lxla_tensor z = scalar(MUL, y, 2), w = scalar(ADD, x, 1);
  // x has no tensor any more, and could be donated.
  RELEASE(x);
  REFUSED(lxla_mark_step(env, XLA(0), 1), LXLA_OUT_OF_RANGE, "step 1 on xla:0: log under label \"loss\" " MADE);
  EQUAL(counter(env, "DonatedBuffers"), 0);
  holds(y, 0, logf(2), -INFINITY, NAN);
  holds(z, 0, 2 * logf(2), -INFINITY, NAN);
  holds(w, 2, 3, 1, 0);
  // Operations on a NaN are not reported, nor are constants.
  lxla_tensor later = scalar(ADD, z, 1), infinite;
  OK(lxla_mark_step(env, XLA(0), 1));
  OK(lxla_tensor_full(env, XLA(0), LXLA_DTYPE_F32, DIMS(2, 2), INFINITY, &infinite));
  lxla_tensor mask = scalar(MUL, infinite, 2);
  OK(lxla_mark_step(env, XLA(0), 1));
  holds(mask, INFINITY, INFINITY, INFINITY, INFINITY);
  // Syncs, steps of lists and reads.
  lxla_tensor again = unary(LXLA_UNARY_LOG, scalar(SUB, w, 1));
  REFUSED(lxla_sync(&again, 1), LXLA_OUT_OF_RANGE, "log " MADE);
  holds(again, 0, logf(2), -INFINITY, NAN);
  lxla_tensor more = unary(LXLA_UNARY_LOG, scalar(SUB, w, 1));
  REFUSED(lxla_step_tensors(&more, 1, 0), LXLA_OUT_OF_RANGE, "log " MADE);
  lxla_tensor read = unary(LXLA_UNARY_LOG, scalar(SUB, w, 1));
  float values[4];
  REFUSED(lxla_tensor_read(read, values, sizeof values), LXLA_OUT_OF_RANGE, "log " MADE);
  holds(read, 0, logf(2), -INFINITY, NAN);
  // Several programs, and an intermediate that is not kept.
  OK(lxla_env_set_option(env, "max_program_ops", "1"));
  lxla_tensor deep = scalar(MUL, scalar(MUL, w, 1e30), 1e30);
  REFUSED(lxla_mark_step(env, XLA(0), 0), LXLA_OUT_OF_RANGE, "multiply makes inf at [0,0]");
  OK(lxla_env_set_option(env, "check_nonfinite", "false"));
  lxla_tensor unchecked = scalar(MUL, deep, 0);
  OK(lxla_mark_step(env, XLA(0), 1));
  RELEASE(y, z, w, later, infinite, mask, again, more, read, deep, unchecked);
  OK(lxla_env_release(env));
}

TEST(scans_calls_and_gradients_are_checked) {
  lxla_env env = checked_env();
  lxla_tensor p = placeholder(env, LXLA_DTYPE_F32, DIMS(1));
  OK(lxla_label_push("square"));
  lxla_tensor squared = binary(MUL, p, p);
  OK(lxla_label_pop());
  lxla_computation c = traced(TENSORS(p), TENSORS(squared));
  lxla_tensor x = one(env, 10), y;
  OK(lxla_scan(c, &x, 1, NULL, 0, 6, 0, &y, NULL, 0));
  REFUSED(lxla_mark_step(env, XLA(0), 0), LXLA_OUT_OF_RANGE, "multiply under label \"square\" makes inf at [0]");
  EQUAL(value(y), INFINITY);
  lxla_tensor big = one(env, 1e30), called_once = called(c, &big, 1);
  REFUSED(lxla_sync(&called_once, 1), LXLA_OUT_OF_RANGE, "multiply under label \"square\" makes inf");
  lxla_tensor zero = one(env, 0), gradient;
  OK(lxla_label_push("norm"));
  lxla_tensor root = unary(LXLA_UNARY_SQRT, zero);
  OK(lxla_label_pop());
  OK(lxla_gradients(&root, 1, &x, &zero, 1, &gradient));
  REFUSED(lxla_mark_step(env, XLA(0), 0), LXLA_OUT_OF_RANGE, "under label \"norm/gradient\" makes");
  EQUAL(value(root), 0);
  RELEASE(p, squared, x, y, big, called_once, zero, gradient, root);
  OK(lxla_computation_release(c));
  OK(lxla_env_release(env));
}

TEST(steps_that_cannot_be_searched_keep_the_infinities_of_their_arguments) {
  lxla_env env = checked_env();
  lxla_tensor mask = from_f32(env, DIMS(2), (float[]){0, -INFINITY}), x = one(env, 0);
  for (int i = 0; i < 2; i++) {
    lxla_tensor y = scalar(ADD, mask, 1);
    // A search would print again.
    OK(lxla_debug_print("{}", &y, 1));
    OK(lxla_mark_step(env, XLA(0), 1));
    RELEASE(y);
  }
  lxla_tensor made = unary(LXLA_UNARY_LOG, x);
  OK(lxla_debug_print("{}", &made, 1));
  REFUSED(lxla_mark_step(env, XLA(0), 1), LXLA_OUT_OF_RANGE, "the search for its origin failed");
  EQUAL(value(made), -INFINITY);
  RELEASE(mask, x, made);
  OK(lxla_env_release(env));
}

TEST(values_beside_one_that_cannot_be_compiled_are_checked) {
  lxla_env env = checked_env();
  lxla_tensor x = one(env, 0), y = unary(LXLA_UNARY_LOG, x), bad;
  OK(lxla_custom_call("no_such_target", &x, 1, (int32_t[]){LXLA_DTYPE_F32}, (size_t[]){1}, (int64_t[]){1}, 1, NULL,
                      &bad));
  CHECK(lxla_mark_step(env, XLA(0), 1) != LXLA_OK);
  CHECK(strstr(lxla_last_error_message(), "the other value was computed; step 2 on xla:0: log makes -inf"));
  EQUAL(value(y), -INFINITY);
  RELEASE(x, y, bad);
  OK(lxla_env_release(env));
}

TEST(steps_of_meshes_and_of_several_devices_are_checked) {
  lxla_env_options options = default_options();
  options.device_count = 4;
  lxla_env env;
  OK(lxla_env_create(&options, &env));
  OK(lxla_env_set_option(env, "check_nonfinite", "true"));
  lxla_mesh mesh;
  lxla_device device;
  OK(lxla_mesh_create(env, (const char *[]){"data"}, (int64_t[]){4}, 1, NULL, &mesh));
  OK(lxla_mesh_device(mesh, &device));
  // Of the four devices, the last one alone computes an infinity.
  const float values[8] = {1, 2, 3, 4, 5, 6, 7, 0}, good[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  lxla_tensor x, fine;
  OK(lxla_tensor_from_host_sharded(mesh, LXLA_DTYPE_F32, DIMS(4, 2), values, sizeof values, "data,-", &x));
  OK(lxla_tensor_from_host_sharded(mesh, LXLA_DTYPE_F32, DIMS(4, 2), good, sizeof good, "data,-", &fine));
  OK(lxla_label_push("split"));
  lxla_tensor y = unary(LXLA_UNARY_LOG, x), zero = unary(LXLA_UNARY_LOG, fine);
  OK(lxla_label_pop());
  lxla_tensor z = scalar(MUL, y, 2);
  REFUSED(lxla_mark_step(env, device, 1), LXLA_OUT_OF_RANGE,
          "on mesh:0: log under label \"split\" makes -inf at [3,1] of f32[4,2] out of finite operands");
  float got[8];
  OK(lxla_tensor_read(z, got, sizeof got));
  for (int i = 0; i < 7; i++) CHECK(fabsf(got[i] - 2 * logf(values[i])) < 1e-5f);
  EQUAL(got[7], -INFINITY);
  OK(lxla_tensor_read(zero, got, sizeof got));
  EQUAL(got[7], 0);
  lxla_tensor again = scalar(ADD, zero, 1);
  OK(lxla_mark_step(env, device, 1));
  // Each device by itself.
  for (int i = 0; i < 4; i++) {
    lxla_tensor own, root;
    char words[96];
    OK(lxla_tensor_from_host(env, XLA(i), LXLA_DTYPE_F32, DIMS(1), (float[]){i == 2 ? -1.0f : 4}, 4, &own));
    root = unary(LXLA_UNARY_SQRT, own);
    snprintf(words, sizeof words, "on xla:%d: sqrt makes NaN at [0]", i);
    if (i == 2) REFUSED(lxla_mark_step(env, XLA(i), 1), LXLA_OUT_OF_RANGE, words);
    else OK(lxla_mark_step(env, XLA(i), 1));
    RELEASE(own, root);
  }
  RELEASE(x, fine, y, zero, z, again);
  OK(lxla_mesh_release(mesh));
  OK(lxla_env_release(env));
}

TEST(the_variable_checks_every_environment) {
  setenv("LXLA_CHECK_NONFINITE", "1", 1);
  lxla_env env = new_env();
  unsetenv("LXLA_CHECK_NONFINITE");
  lxla_tensor x = one(env, 1);
  for (int i = 0; i < 3; i++) {
    lxla_tensor next = scalar(MUL, x, 1e20);
    RELEASE(x);
    x = next;
    if (i == 1) REFUSED(lxla_mark_step(env, XLA(0), 0), LXLA_OUT_OF_RANGE, "multiply makes inf at [0] of f32[1]");
    else OK(lxla_mark_step(env, XLA(0), 0));
    // A NaN of an earlier step is reported once.
  }
  EQUAL(value(x), INFINITY);
  RELEASE(x);
  OK(lxla_env_release(env));
}
