// A kernel that throws fails the step; nothing is lost, and the process goes on.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

#include "lazyxla.h"

namespace {

void check(bool holds, const char *what) {
  if (holds) return;
  std::fprintf(stderr, "%s: %s\n", what, lxla_last_error_message());
  std::exit(1);
}

bool is_throwing = true;
// Exceptions in flight that a later call sees, and thrown objects that are alive.
int in_flight = 0, alive = 0;

struct Thrown : std::runtime_error {
  explicit Thrown(const std::string &text) : std::runtime_error(text) { alive++; }
  Thrown(const Thrown &other) : std::runtime_error(other) { alive++; }
  ~Thrown() override { alive--; }
};

int32_t throwing(const lxla_kernel_call *call, void *) {
  const std::string on_the_way(1000, 'x');
  in_flight += std::uncaught_exceptions();
  if (is_throwing) throw Thrown(on_the_way);
  std::memcpy(call->outputs[0].data, call->inputs[0].data, call->inputs[0].size_bytes);
  return 0;
}

}  // namespace

int main() {
  lxla_env_options options = {};
  options.struct_size = sizeof options;
  options.plugin_path = std::getenv("LXLA_PJRT_PLUGIN") ? std::getenv("LXLA_PJRT_PLUGIN") : LXLA_TEST_PLUGIN;
  lxla_env env;
  check(lxla_env_create(&options, &env) == 0, "env");
  for (const lxla_device device : {lxla_device{LXLA_DEVICE_XLA, 0}, lxla_device{LXLA_DEVICE_CPU, 0}}) {
    lxla_tensor x, y;
    const int32_t f32 = LXLA_DTYPE_F32;
    const size_t rank = 0;
    check(lxla_tensor_full(env, device, f32, nullptr, 0, 3, &x) == 0, "full");
    for (int i = 0; i < 3; i++) {
      is_throwing = i < 2;
      int32_t status = lxla_host_call(env, throwing, nullptr, nullptr, &x, 1, &f32, &rank, nullptr, 1, &y);
      if (device.kind == LXLA_DEVICE_XLA) {
        check(status == 0, "host_call");
        status = lxla_mark_step(env, device, 1);
      }
      check((status == 0) == (i == 2), "status");
      if (i < 2) check(std::strstr(lxla_last_error_message(), "it threw an exception") != nullptr, "message");
      float value = 0;
      if (i == 2) check(lxla_tensor_read(y, &value, sizeof value) == 0 && value == 3, "value");
      if (i == 2 || device.kind == LXLA_DEVICE_XLA) check(lxla_tensor_release(y) == 0, "release");
    }
    check(lxla_tensor_release(x) == 0, "release");
  }
  check(lxla_env_release(env) == 0, "env");
  check(in_flight == 0 && std::uncaught_exceptions() == 0, "exceptions in flight");
  check(alive == 0, "thrown objects that are alive");
  std::puts("exceptions are caught");
}
