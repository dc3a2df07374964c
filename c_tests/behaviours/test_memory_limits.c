// Memory that is limited, or that must not grow: H6 and H7 of docs/behaviours.md.
#define _GNU_SOURCE
#include "check.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MILLION = 1000000 };

static const lxla_device cpu = {LXLA_DEVICE_CPU, 0};

static double bytes_of(int resident) {
  long pages[2] = {0, 0};
  FILE *f = fopen("/proc/self/statm", "r");
  CHECK(f && fscanf(f, "%ld %ld", &pages[0], &pages[1]) == 2);
  fclose(f);
  return (double)pages[resident] * 4096;
}

// --- Shapes ---

// Records on a tensor of a shape of its own, and releases the results.
static void use_shape(lxla_env env, lxla_device device, int64_t number) {
  lxla_tensor x, y;
  OK(lxla_tensor_full(env, device, LXLA_DTYPE_F32, DIMS(1, number % 1000, number / 1000, 0), 1, &x));
  OK(lxla_unary(LXLA_UNARY_TANH, x, &y));
  RELEASE(x, y);
}

// Uses a million shapes while `kept` operations are pending; steps in between if `steps` is not 0.
static void use_a_million_shapes(lxla_device device, int kept, int steps) {
  lxla_env env = new_env();
  lxla_tensor p = none, held[64];
  for (int i = 0; i < kept; i++) {
    if (!p.id) OK(lxla_tensor_placeholder(env, device, LXLA_DTYPE_F32, DIMS(2), &p));
    OK(lxla_broadcast_to(p, DIMS(3 + i, 2), &held[i]));
  }
  double before = 0;
  for (int i = 0; i < MILLION; i++) {
    use_shape(env, device, i);
    if (steps && i % 1000 == 0) OK(lxla_mark_step(env, device, 1));
    if (i == MILLION / 10) before = bytes_of(1);
  }
  double grown = bytes_of(1) - before;
  if (grown > 20e6) FAIL("%g MB more for 900,000 more shapes", grown / 1e6);
  for (int i = 0; i < kept; i++) {
    int64_t dims[2];
    OK(lxla_tensor_dims(held[i], dims, 2));
    CHECK(dims[0] == 3 + i && dims[1] == 2);
    RELEASE(held[i]);
  }
  if (p.id) RELEASE(p);
  OK(lxla_env_release(env));
}

TEST(h6_a_million_shapes_leave_no_memory_behind_on_cpu) { use_a_million_shapes(cpu, 0, 0); }

TEST(h6_a_million_shapes_leave_no_memory_behind_on_cpu_beside_operations_that_wait) { use_a_million_shapes(cpu, 64, 0); }

TEST(h6_a_million_shapes_leave_no_memory_behind_without_steps) { use_a_million_shapes(XLA(0), 0, 0); }

TEST(h6_a_million_shapes_leave_no_memory_behind_without_steps_beside_operations_that_wait) {
  use_a_million_shapes(XLA(0), 64, 0);
}

TEST(h6_a_million_shapes_leave_no_memory_behind_with_steps) { use_a_million_shapes(XLA(0), 0, 1); }

// Operations of many shapes stay correct when the shapes between them are removed.
TEST(h6_values_of_many_shapes_are_right_after_others_were_removed) {
  enum { SHAPES = 200 };
  lxla_env env = new_env();
  lxla_tensor x = one(env, 3), held[SHAPES];
  for (int i = 0; i < SHAPES; i++) {
    lxla_tensor wide;
    OK(lxla_broadcast_to(x, DIMS(1 + i), &wide));
    held[i] = scalar(ADD, wide, i);
    RELEASE(wide);
    // Compactions take place every 65,536 operations.
    for (int j = 0; j < 1000; j++) use_shape(env, XLA(0), i * 1000 + j);
  }
  OK(lxla_mark_step(env, XLA(0), 1));
  for (int i = 0; i < SHAPES; i++) {
    float values[SHAPES];
    read_f32(held[i], values, (size_t)i + 1);
    EQUAL(values[0], 3 + i);
    EQUAL(values[i], 3 + i);
    RELEASE(held[i]);
  }
  RELEASE(x);
  OK(lxla_env_release(env));
}

