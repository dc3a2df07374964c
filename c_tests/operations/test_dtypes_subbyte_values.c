// Values of types of 2 and 4 bits that come from other places than tensors of the host: scalars that change from step
// to step, memory that is borrowed, ranges; the total order of floats, and what is printed.
#include <unistd.h>

#include "few_bits.h"

static lxla_tensor full(int32_t dtype, double value) {
  lxla_tensor out;
  OK(lxla_tensor_full(env, device, dtype, DIMS(2), value, &out));
  return out;
}

// From the second step on, values that change are parameters of the program, several in one vector.
static void changing(void) {
  for (int i = 0; i < 5; i++) {
    const int odd = i % 2, a = odd ? -1 : 1, b = odd ? 3 : -8, c = odd ? -2 : 1, d = odd ? 15 : 2;
    lxla_tensor x = full(S4, a), y = full(S4, b), z = full(S2, c), u = full(U4, d), f = full(F4, a * 1.5);
    lxla_tensor wide[] = {as(x, S32), as(y, S32), as(z, S32), as(u, S32), as(f, F32)};
    step_now();
    HAS(wide[0], S32, int32_t, DIMS(2), a, a);
    HAS(wide[1], S32, int32_t, DIMS(2), b, b);
    HAS(wide[2], S32, int32_t, DIMS(2), c, c);
    HAS(wide[3], S32, int32_t, DIMS(2), d, d);
    HAS_F32(wide[4], DIMS(2), (float)a * 1.5f, (float)a * 1.5f);
    HAS(x, S4, int8_t, DIMS(2), (int8_t)a, (int8_t)a);
    RELEASE(y, z, u, f);
  }
}
TEST(test_changing) { on_both(changing); }

// Scalars that the caller says change: one has a vector of its own, whose bytes would be read with no sign.
static void varying(void) {
  for (int i = 0; i < 3; i++) {
    lxla_tensor x;
    OK(lxla_tensor_varying_scalar(env, device, S4, &(lxla_scalar){.dtype = S4, .value.i = -8 + i}, &x));
    HAS(as(x, S32), S32, int32_t, SCALAR, -8 + i);
    RELEASE(x);
  }
}
TEST(test_varying) { on_both(varying); }

static void unused(void *user) { ++*(int *)user; }

// The bits above the values of borrowed memory do not count.
static void borrowed(void) {
  static const uint8_t noisy[] = {0x1F, 0xF7, 0x28, 0x07}, plain[] = {1, 2, 3, 4};
  int released = 0;
  lxla_tensor x, y, same;
  OK(lxla_tensor_from_host_borrowed(env, device, S4, DIMS(4), noisy, 4, unused, &released, &x));
  lxla_tensor copied = array(S4, DIMS(4), noisy, 4);
  OK(lxla_compare(LXLA_COMPARE_EQ, x, copied, &same));
  HAS(same, PRED, uint8_t, DIMS(4), 1, 1, 1, 1);
  HAS(as(x, S32), S32, int32_t, DIMS(4), -1, 7, -8, 7);
  HAS(x, S4, int8_t, DIMS(4), -1, 7, -8, 7);
  OK(lxla_tensor_from_host_borrowed(env, device, F4, DIMS(4), plain, 4, unused, &released, &y));
  HAS(y, F4, uint8_t, DIMS(4), 1, 2, 3, 4);
  RELEASE(copied);
  OK(lxla_wait(env, device));
  EQUAL(released, 2);
}
TEST(test_borrowed) { on_both(borrowed); }

static void total_order(void) {
  lxla_tensor x = ARRAY(F4, uint8_t, DIMS(4), 8, 0, 1, 15), y = ARRAY(F4, uint8_t, DIMS(4), 0, 8, 9, 14), less, equal;
  OK(lxla_compare_total_order(LXLA_COMPARE_LT, x, y, &less));
  OK(lxla_compare_total_order(LXLA_COMPARE_EQ, x, y, &equal));
  HAS(less, PRED, uint8_t, DIMS(4), 1, 0, 0, 1);
  HAS(equal, PRED, uint8_t, DIMS(4), 0, 0, 0, 0);
  RELEASE(x, y);
}
TEST(test_total_order) { on_both(total_order); }

// Ranges are rounded once.
static void ranges(void) {
  lxla_tensor x;
  OK(lxla_arange(env, device, F4, 0, 6, 0.5, &x));
  HAS(x, F4, uint8_t, DIMS(12), 0, 1, 2, 3, 4, 4, 5, 6, 6, 6, 6, 7);
  OK(lxla_linspace(env, device, F4, 0, 3, 5, 1, &x));
  HAS(x, F4, uint8_t, DIMS(5), 0, 2, 3, 4, 5);
  OK(lxla_arange(env, device, S4, 7, -9, -5, &x));
  HAS(x, S4, int8_t, DIMS(4), 7, 2, -3, -8);
  OK(lxla_linspace(env, device, S4, -8, 7, 4, 1, &x));
  HAS(x, S4, int8_t, DIMS(4), -8, -3, 2, 7);
  OK(lxla_linspace(env, device, U4, 0, 3, 5, 1, &x));
  HAS(x, U4, uint8_t, DIMS(5), 0, 0, 1, 2, 3);
}
TEST(test_ranges) { on_both(ranges); }

static void printed(void) {
  lxla_tensor x = ARRAY(S4, int8_t, DIMS(3), -8, 7, -1), y = ARRAY(F4, uint8_t, DIMS(2), 11, 7);
  int ends[2], saved = dup(STDERR_FILENO);
  CHECK(saved >= 0 && pipe(ends) == 0 && dup2(ends[1], STDERR_FILENO) >= 0);
  OK(lxla_debug_print("few {} and {}", (lxla_tensor[]){x, y}, 2));
  step_now();
  OK(lxla_wait(env, device));
  CHECK(dup2(saved, STDERR_FILENO) >= 0);
  close(saved);
  close(ends[1]);
  char text[256] = {0};
  CHECK(read(ends[0], text, sizeof text - 1) > 0);
  close(ends[0]);
  if (!strstr(text, "few [-8, 7, -1] and [-1.5, 6]")) FAIL("%s", text);
  RELEASE(x, y);
}
TEST(test_printed) { on_both(printed); }
