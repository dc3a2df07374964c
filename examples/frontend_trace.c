// Placeholders, tracing and calling a computation, on an XLA device and on cpu.
#include "frontend.h"

// [recipe]
// A user's function, as a frontend sees it: it records on `in` and gives `out`.
typedef void function(const lxla_tensor *in, lxla_tensor *out, void *user);

// The function as a computation, for arguments like `examples`. Moves no bytes and runs nothing.
static lxla_computation trace(function *f, void *user, const lxla_tensor *examples, size_t n_in, size_t n_out) {
  lxla_tensor in[16], out[16];
  lxla_computation traced;
  for (size_t i = 0; i < n_in; i++) TRY(lxla_tensor_placeholder_like(examples[i], &in[i]));
  f(in, out, user);
  TRY(lxla_computation_trace(in, n_in, out, n_out, &traced));
  TRY(lxla_tensor_release_many(in, n_in));
  TRY(lxla_tensor_release_many(out, n_out));
  return traced;
}
// [recipe end]

// [recipe]
// tanh(x W + 1): W is not an argument, so it is captured as a hidden input.
static void layer(const lxla_tensor *in, lxla_tensor *out, void *user) {
  const lxla_tensor *w = user;
  lxla_tensor product = matmul(in[0], *w), shifted = binary_scalar(LXLA_BINARY_ADD, product, 1);
  out[0] = unary(LXLA_UNARY_TANH, shifted);
  RELEASE(product, shifted);
}
// [recipe end]

static void gram(const lxla_tensor *in, lxla_tensor *out, void *user) {
  (void)in;
  const lxla_tensor *w = user;
  out[0] = matmul(*w, *w);
}

// [recipe]
// A closure as a computation without parameters. Its work belongs to it, although it depends on no argument.
static lxla_computation closure(function *f, void *user) {
  lxla_tensor out;
  lxla_computation traced;
  TRY(lxla_tracing_begin(env, (lxla_device){LXLA_DEVICE_UNSPECIFIED, 0}));
  f(NULL, &out, user);
  TRY(lxla_tracing_end(NULL, 0, &out, 1, &traced));
  TRY(lxla_tensor_release(out));
  return traced;
}

// Of these branches, only the one that is taken computes its product.
static lxla_tensor chosen(lxla_tensor pred, lxla_tensor of[2]) {
  lxla_tensor out;
  lxla_computation first = closure(gram, &of[0]), second = closure(gram, &of[1]);
  TRY(lxla_cond(pred, first, second, NULL, 0, &out, 1));
  TRY(lxla_computation_release(first));
  TRY(lxla_computation_release(second));
  return out;
}
// [recipe end]

static float applied(lxla_computation c, lxla_tensor x) {
  lxla_tensor y;
  TRY(lxla_computation_call(c, &x, 1, &y, 1));
  float value = first_value(y, 2);
  RELEASE(y);
  return value;
}

static void on(lxla_device where) {
  float w_values[] = {1, 2, 3, 4}, x_values[] = {0.5f, -0.25f}, other_values[] = {0, 0.1f};
  lxla_tensor w = from_floats(where, DIMS(2, 2), w_values), x = from_floats(where, DIMS(1, 2), x_values);
  lxla_tensor other = from_floats(where, DIMS(1, 2), other_values), pending = binary(LXLA_BINARY_ADD, x, other);
  lxla_computation c = trace(layer, &w, &x, 1, 1);

  // [recipe]
  size_t params, results, captured;
  lxla_tensor hidden;
  char *text;
  TRY(lxla_computation_info(c, &params, &results, &captured));
  CHECK(params == 1 && results == 1 && captured == 1);
  TRY(lxla_computation_captured(c, 0, &hidden));  // the captured W, as a tensor
  TRY(lxla_computation_stablehlo(c, &text));      // a module: main takes the parameter, then the capture
  CHECK(strstr(text, "stablehlo.tanh"));
  lxla_string_free(text);
  // [recipe end]
  CHECK(first_value(hidden, 4) == 1);

  // Calls it on ready and pending arguments; the captured value is that of the time of tracing.
  TRY(lxla_binary_scalar_inplace(LXLA_BINARY_MULTIPLY, w, 100));
  CHECK(fabsf(applied(c, x) - tanhf(0.5f - 0.75f + 1)) < 1e-6f);
  CHECK(fabsf(applied(c, pending) - tanhf(0.5f - 0.45f + 1)) < 1e-6f);

  lxla_tensor y, wrong = from_floats(where, DIMS(2), x_values);
  CHECK(lxla_computation_call(c, &wrong, 1, &y, 1) == LXLA_INVALID_ARGUMENT);  // f32[2] for f32[1,2]

  const uint8_t is_first = 0;
  lxla_tensor pred, both[] = {w, hidden}, taken;
  TRY(lxla_tensor_from_host(env, where, LXLA_DTYPE_PRED, NULL, 0, &is_first, 1, &pred));
  taken = chosen(pred, both);
  CHECK(first_value(taken, 4) == 7);  // 1 * 1 + 2 * 3
  RELEASE(w, x, other, pending, hidden, wrong, pred, taken);
  TRY(lxla_computation_release(c));
}

int main(void) {
  on((lxla_device){LXLA_DEVICE_CPU, 0});  // eager, without a plugin
  on(device);
  return 0;
}
