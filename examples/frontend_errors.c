// Error handling in C: propagate the status, release what was made, keep the message.
#include "frontend.h"

// [recipe]
// Mean squared error. Either `*out` is a new tensor, or the call failed and nothing is left behind.
static lxla_status mean_squared_error(lxla_tensor prediction, lxla_tensor target, lxla_tensor *out) {
  lxla_tensor difference = {0}, square = {0};  // id 0: releasing it does nothing
  lxla_status status = lxla_binary(LXLA_BINARY_SUBTRACT, prediction, target, &difference);
  if (status == LXLA_OK) status = lxla_binary(LXLA_BINARY_MULTIPLY, difference, difference, &square);
  if (status == LXLA_OK) status = lxla_mean(square, NULL, 0, 0, out);
  lxla_tensor_release(square);  // a release that succeeds leaves the error message as it is
  lxla_tensor_release(difference);
  return status;
}
// [recipe end]

// [recipe]
static void log_to_stderr(int32_t level, const char *message, void *user) {
  (void)user;
  fprintf(stderr, "lazyxla %s: %s\n", level == 1 ? "error" : level == 2 ? "warning" : "information", message);
}
// [recipe end]

static const float three[] = {1, 2, 3}, two[] = {1, 2};

int main(void) {
  TRY(lxla_set_log_callback(log_to_stderr, NULL));
  lxla_tensor a = from_floats(device, DIMS(3), three), b = from_floats(device, DIMS(3), three);
  lxla_tensor c = from_floats(device, DIMS(2), two), loss = {0};

  // Shapes and dtypes are checked when an operation is recorded.
  CHECK(mean_squared_error(a, c, &loss) == LXLA_INVALID_ARGUMENT);
  CHECK(loss.id == 0 && strstr(lxla_last_error_message(), "lxla_binary"));
  CHECK(strcmp(lxla_status_name(LXLA_INVALID_ARGUMENT), "INVALID_ARGUMENT") == 0);

  // A placeholder has no value: the error comes from the call that needs one.
  lxla_tensor p = placeholder(DIMS(3));
  float value;
  TRY(mean_squared_error(p, a, &loss));
  CHECK(lxla_tensor_read(loss, &value, sizeof value) == LXLA_FAILED_PRECONDITION);
  CHECK(strstr(lxla_last_error_message(), "placeholder"));
  RELEASE(loss, p);

  // A released handle is an error, never undefined behaviour.
  TRY(mean_squared_error(a, b, &loss));
  CHECK(first_value(loss, 1) == 0);
  RELEASE(loss);
  CHECK(lxla_tensor_read(loss, &value, sizeof value) == LXLA_INVALID_HANDLE);

  RELEASE(a, b, c);
  TRY(lxla_set_log_callback(NULL, NULL));
  return 0;
}
