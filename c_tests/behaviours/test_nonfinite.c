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
  finds(z,
        "{\"found\":{\"index\":[1,0],\"label\":\"loss\",\"operands\":[{\"first\":[\"1.0\",\"2.0\",\"0.0\",\"-1.0\"],"
        "\"type\":\"f32[2,2]\",\"value\":\"0.0\"}],\"operation\":\"log\",\"type\":\"f32[2,2]\",\"value\":\"-inf\"},"
        "\"nonfinite_inputs\":0}");
  finds(w, "{\"found\":null,\"nonfinite_inputs\":0}");
  // The scalar is an operand: an infinite one makes no infinity out of finite operands.
  lxla_tensor masked = scalar(ADD, x, -INFINITY), divided = scalar(LXLA_BINARY_DIVIDE, w, 0);
  finds(masked, "{\"found\":null");
  finds(divided, "\"value\":\"0.0\"}],\"operation\":\"divide\"");
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
