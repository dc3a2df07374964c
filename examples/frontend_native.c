// Environments: native (eager) and lazy tensors, and operations on both.
#include "frontend.h"

static int32_t state_of(lxla_tensor x) {
  int32_t state;
  TRY(lxla_tensor_state(x, &state));
  return state;
}

int main(void) {
  float numbers[] = {1, 2, 3}, rates[] = {0.5f};
  // [recipe]
  lxla_env_options options = {.struct_size = sizeof options};
  lxla_env own;
  TRY(lxla_env_options_init(&options));
  options.mixed_device_policy = LXLA_MIXED_SCALAR;  // the default
  TRY(lxla_env_create(&options, &own));
  TRY(lxla_env_enter(own));  // env id 0 now means this one, on this thread
  // [recipe end]

  // [recipe]
  const lxla_device unspecified = {LXLA_DEVICE_UNSPECIFIED, 0}, cpu = {LXLA_DEVICE_CPU, 0}, xla = {LXLA_DEVICE_XLA, 0};
  lxla_tensor native = from_floats(unspecified, DIMS(3), numbers), lazy = from_floats(xla, DIMS(3), numbers);
  lxla_tensor native_sum = binary_scalar(LXLA_BINARY_ADD, native, 1);  // computed now, on this thread
  lxla_tensor lazy_sum = binary_scalar(LXLA_BINARY_ADD, lazy, 1);      // recorded
  CHECK(state_of(native_sum) == LXLA_STATE_NATIVE && state_of(lazy_sum) == LXLA_STATE_PENDING);
  // [recipe end]

  // [recipe]
  // mixed_device_policy scalar: a native tensor of one element is a scalar operand of a lazy operation.
  lxla_tensor rate = from_floats(cpu, DIMS(1), rates), scaled = binary(LXLA_BINARY_MULTIPLY, lazy, rate), mixed;
  CHECK(lxla_binary(LXLA_BINARY_ADD, lazy, native, &mixed) == LXLA_INVALID_ARGUMENT);  // f32[3] on cpu: refused
  // copy: it is copied to the operation's device, counted, and reported to the log.
  TRY(lxla_env_set_option(own, "mixed_device_policy", "copy"));
  TRY(lxla_binary(LXLA_BINARY_ADD, lazy, native, &mixed));
  CHECK(counter(own, "MixedDeviceCopy") == 1 && counter(own, "MixedDeviceBytes") == 12);
  // [recipe end]
  CHECK(first_value(scaled, 3) == 0.5f && first_value(mixed, 3) == 2);

  // [recipe]
  // An explicit move shares memory where the plugin computes in host memory; ZeroCopy counts it.
  lxla_tensor moved;
  TRY(lxla_tensor_to_device(lazy_sum, cpu, &moved));  // computes lazy_sum first, as lxla_sync would
  CHECK(state_of(moved) == LXLA_STATE_NATIVE);
  // [recipe end]
  printf("moves without a copy: %d\n", (int)counter(own, "ZeroCopy"));
  CHECK(first_value(moved, 3) == 2 && first_value(native_sum, 3) == 2);

  // [recipe]
  // Every tensor lazy: tensors on cpu, or without a device, are made on xla:0.
  TRY(lxla_env_set_option(own, "use_native_for_cpu_tensor", "false"));
  lxla_tensor all_lazy = from_floats(unspecified, DIMS(3), numbers);
  CHECK(state_of(all_lazy) != LXLA_STATE_NATIVE);
  // [recipe end]
  // [recipe]
  RELEASE(native, lazy, native_sum, lazy_sum, rate, scaled, mixed, moved, all_lazy);
  TRY(lxla_env_exit(own));
  TRY(lxla_env_release(own));
  // [recipe end]
  return 0;
}
