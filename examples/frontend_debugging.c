// Labels, and the comparison of a device with native evaluation. docs/debugging.md shows the parts between the markers.
#include "frontend.h"

static void labels(void) {
  float values[] = {1, 2, 3};
  lxla_tensor x = from_floats(device, DIMS(3), values), y = from_floats(device, DIMS(2), values), sum, square;
  // [recipe]
  TRY(lxla_label_push("model"));
  TRY(lxla_label_push("layer0"));
  TRY(lxla_binary(LXLA_BINARY_MULTIPLY, x, x, &square));  // has the label model/layer0
  // [recipe end]
  CHECK(lxla_binary(LXLA_BINARY_ADD, x, y, &sum) == LXLA_INVALID_ARGUMENT);
  CHECK(strstr(lxla_last_error_message(), "(label \"model/layer0\")"));
  // [recipe]
  TRY(lxla_label_pop());
  TRY(lxla_label_pop());
  // [recipe end]
  char *text;
  TRY(lxla_stablehlo(&square, 1, &text));
  CHECK(strstr(text, "loc(\"model/layer0\")"));
  lxla_string_free(text);
  RELEASE(x, y, square);
}

static void compare(void) {
  float values[] = {1, -2, 3};
  lxla_tensor batch = from_floats(device, DIMS(3), values), x = placeholder(DIMS(3)), loss;
  lxla_tensor square = binary(LXLA_BINARY_MULTIPLY, x, x);
  TRY(lxla_reduce(LXLA_REDUCE_SUM, square, NULL, 0, 0, &loss));
  // [recipe]
  lxla_computation step;
  char *json;
  TRY(lxla_computation_trace(&x, 1, &loss, 1, &step));
  TRY(lxla_computation_compare(env, device, step, &batch, 1, 0, &json));
  // [recipe end]
  CHECK(strstr(json, "\"found\":null"));
  lxla_string_free(json);
  TRY(lxla_computation_release(step));
  RELEASE(batch, x, loss, square);
}

int main(void) {
  labels();
  compare();
  // [recipe]
  if (lxla_abi_version() != LXLA_ABI_VERSION) fprintf(stderr, "lazyxla %s has another ABI\n", lxla_version());
  // [recipe end]
  CHECK(lxla_abi_version() == LXLA_ABI_VERSION);
  return 0;
}
