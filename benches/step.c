// Measures the cost of a cached step beyond the plugin's own execute, in one run with the same text straight through
// PJRT.
#include "pjrt.h"

enum { OPS = 1000, ARGUMENTS = 256, TURNS = 400 };

static lxla_tensor input(float value) {
  float data[8] = {value};
  int64_t dims[1] = {8};
  lxla_tensor t;
  OK(lxla_tensor_from_host(env, device, LXLA_DTYPE_F32, dims, 1, data, sizeof data, &t));
  return t;
}

static PJRT_Buffer *raw_input(void) {
  float data[8] = {0};
  int64_t dims[1] = {8};
  return pjrt_buffer(PJRT_Buffer_Type_F32, dims, 1, data);
}

// Steps a chain of 1,000 adds again and again.
static void chain(void) {
  lxla_tensor x = input(0), y = input(1);
  double record[TURNS], step[TURNS], bare[TURNS];
  PJRT_LoadedExecutable *executable = NULL;
  PJRT_Buffer *raw[2] = {raw_input(), raw_input()};
  for (int turn = -3; turn < TURNS; turn++) {
    double start = now();
    for (int i = 0; i < OPS; i++) {
      lxla_tensor next;
      OK(lxla_binary(LXLA_BINARY_ADD, x, y, &next));
      OK(lxla_tensor_release(x));
      x = next;
    }
    double recorded = now();
    if (!executable) {
      char *text;
      OK(lxla_step_stablehlo(env, device, &text));
      executable = pjrt_compile(text);
      lxla_string_free(text);
      recorded = now();
    }
    OK(lxla_mark_step(env, device, 1));
    double stepped = now();
    PJRT_Buffer *out;
    pjrt_run(executable, raw, 2, &out, 1);
    pjrt_destroy(raw[0]);
    raw[0] = out;
    double run = now();
    if (turn >= 0) record[turn] = recorded - start, step[turn] = stepped - recorded, bare[turn] = run - stepped;
  }
  double s = median(step, TURNS), b = median(bare, TURNS), r = median(record, TURNS);
  printf(
      "| step of %d ops, waited | %.1f us, bare execute %.1f us: %.1f ns per op beyond it (recording %.1f ns per op) "
      "|\n",
      OPS, s, b, (s - b) * 1e3 / OPS, r * 1e3 / OPS);
  OK(lxla_tensor_release(x));
  OK(lxla_tensor_release(y));
}

// Steps with 256 small arguments; updates `outputs` of them in place, so that as many are donated.
static void arguments(int outputs) {
  lxla_tensor t[ARGUMENTS];
  PJRT_Buffer *raw[ARGUMENTS], *out[ARGUMENTS];
  for (int i = 0; i < ARGUMENTS; i++) t[i] = input(1), raw[i] = raw_input();
  double step[TURNS], bare[TURNS];
  PJRT_LoadedExecutable *executable = NULL;
  for (int turn = -3; turn < TURNS; turn++) {
    lxla_tensor sum = {0};
    if (outputs == 1) {
      OK(lxla_tensor_snapshot(t[0], &sum));
      for (int i = 1; i < ARGUMENTS; i++) OK(lxla_binary_inplace(LXLA_BINARY_ADD, sum, t[i]));
    } else {
      for (int i = 0; i < outputs; i++) OK(lxla_binary_inplace(LXLA_BINARY_ADD, t[i], t[i]));
    }
    if (!executable) {
      char *text;
      OK(lxla_step_stablehlo(env, device, &text));
      executable = pjrt_compile(text);
      lxla_string_free(text);
    }
    double start = now();
    OK(lxla_mark_step(env, device, 1));
    double stepped = now();
    pjrt_run(executable, raw, ARGUMENTS, out, 1);
    for (int i = 0; i < outputs; i++) {
      if (outputs == 1) {
        pjrt_destroy(out[i]);
      } else {
        pjrt_destroy(raw[i]);
        raw[i] = out[i];
      }
    }
    double run = now();
    if (turn >= 0) step[turn] = stepped - start, bare[turn] = run - stepped;
    OK(lxla_tensor_release(sum));
  }
  double s = median(step, TURNS), b = median(bare, TURNS);
  printf("| step with %d arguments and %d outputs, waited | %.1f us, bare execute %.1f us: ratio %.2f |\n", ARGUMENTS,
         outputs, s, b, s / b);
  OK(lxla_tensor_release_many(t, ARGUMENTS));
}

// Reads a small result that is ready on the device.
static void reading(void) {
  lxla_tensor t = input(1);
  double samples[TURNS];
  float data[8];
  for (int i = 0; i < TURNS; i++) {
    double start = now();
    for (int k = 0; k < 100; k++) OK(lxla_tensor_read(t, data, sizeof data));
    samples[i] = (now() - start) / 100;
  }
  printf("| reading 32 bytes that are ready | %.2f us |\n", median(samples, TURNS));
  OK(lxla_tensor_release(t));
}

int main(void) {
  pjrt_start();
  printf("| what | medians of %d |\n|---|---|\n", TURNS);
  chain();
  arguments(1);
  arguments(ARGUMENTS);
  reading();
  return 0;
}
