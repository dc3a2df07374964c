// Measures lowering the training step of Llama 3.1 405B on placeholders: split over a mesh of 8 x 64, and on a device.
#include "../examples/llama_mesh.h"
#include "bench.h"

enum { TURNS = 41 };

static double milliseconds(void) { return 1e-3 * now(); }

// Records the step and lowers it; writes the times of both, and returns the length of the text.
static size_t measure(const llama *m, lxla_computation step, double *both, double *lower) {
  double start = milliseconds();
  recorded_step s = record_step(m, step, (lxla_device){LXLA_DEVICE_XLA, 0});
  double half = milliseconds();
  char *text;
  TRY(lxla_stablehlo(s.out, STEP_RESULTS, &text));
  double end = milliseconds();
  size_t length = strlen(text);
  lxla_string_free(text);
  release_step(&s);
  *both = end - start, *lower = end - half;
  return length;
}

int main(void) {
  setenv("TF_CPP_MIN_LOG_LEVEL", "1", 0);
  const llama model = {126, 16384, 53248, 128, 8, 128256, 8192, LXLA_DTYPE_BF16};
  const lxla_device place = mesh_open("data=8,model=64");
  const lxla_mesh kept = the_mesh.handle;
  lxla_computation step = trace_step(&model, LXLA_CHECKPOINT_SAVE_NONE);
  double both[2][TURNS], lower[2][TURNS];
  size_t length[2] = {0};
  for (int turn = -2; turn < TURNS; turn++)
    for (int split = 0; split < 2; split++) {
      double a, b;
      the_mesh.handle = split ? kept : (lxla_mesh){0};  // without a mesh, tensors stay on llama_device
      llama_device = split ? place : (lxla_device){LXLA_DEVICE_XLA, 0};
      length[split] = measure(&model, step, &a, &b);
      if (turn >= 0) both[split][turn] = a, lower[split][turn] = b;
    }
  the_mesh.handle = kept;
  double with = median(lower[1], TURNS), without = median(lower[0], TURNS);
  printf("| lowering 405B's training step, medians of %d | with shardings %.3f ms, %zu kB; ", TURNS, with,
         length[1] / 1000);
  printf("without %.3f ms, %zu kB: ratio %.2f |\n", without, length[0] / 1000, with / without);
  with = median(both[1], TURNS), without = median(both[0], TURNS);
  printf("| the same, recorded anew each time | %.3f ms, %.3f ms: ratio %.2f |\n", with, without, with / without);
  TRY(lxla_computation_release(step));
  mesh_close();
  return 0;
}
