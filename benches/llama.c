// Measures tracing and lowering Llama 3.1 405B on placeholders, as one loop and layer by layer, and of its loss and
// gradients, as one loop and 24 layers one by one. benches/jax_llama.py does the same with JAX, and runs this program.
#include "../examples/llama_training.h"
#include "bench.h"

enum { TURNS = 11 };

static double milliseconds(void) { return 1e-3 * now(); }

static lxla_computation forward_pass(const llama *m, int unrolled) { return trace_model(m, unrolled); }

// The loss and its gradients by all weights. In the loop, each layer is computed again in the backward pass.
static lxla_computation gradients(const llama *m, int unrolled) {
  return trace_gradients(m, unrolled, unrolled ? LXLA_CHECKPOINT_SAVE_ALL : LXLA_CHECKPOINT_SAVE_NONE);
}

// Prints one line: the mode; milliseconds to trace, to lower, and both (the first runs of a process are not counted);
// bytes of text.
static void measure(const char *mode, const llama *m, int unrolled, lxla_computation trace(const llama *, int)) {
  double traced[TURNS], lowered[TURNS], both[TURNS];
  size_t length = 0;
  for (int turn = -1; turn < TURNS; turn++) {
    double start = milliseconds();
    lxla_computation model = trace(m, unrolled);
    double half = milliseconds();
    char *text;
    TRY(lxla_computation_stablehlo(model, &text));
    double end = milliseconds();
    length = strlen(text);
    lxla_string_free(text);
    TRY(lxla_computation_release(model));
    if (turn >= 0) traced[turn] = half - start, lowered[turn] = end - half, both[turn] = end - start;
  }
  printf("%s %.3f %.3f %.3f %zu\n", mode, median(traced, TURNS), median(lowered, TURNS), median(both, TURNS), length);
}

int main(void) {
  const llama model = {126, 16384, 53248, 128, 8, 128256, 8192, LXLA_DTYPE_BF16};
  llama shallow = model;
  shallow.layers = 24;
  measure("scan", &model, 0, forward_pass);
  measure("loop", &model, 1, forward_pass);
  measure("scan_gradients", &model, 0, gradients);
  measure("loop_gradients", &shallow, 1, gradients);
  return 0;
}
