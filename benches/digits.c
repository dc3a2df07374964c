// Compares the training step of examples/train_digits.c through lazyxla with the same executable straight through the
// PJRT C API, with donation, in one run.
#include "digits.h"
#include "pjrt.h"

enum { TURNS = 1500, BUFFERS = 4 * LAYERS };

// The step's parameters in the order of its text are the tensors in the order of their first use; the text names their
// types.
typedef struct {
  int count, updated_by[64];  // for each parameter the output written over its buffer, or -1
  int64_t dims[64][2];
} parameters;

static parameters parse(const char *text) {
  parameters p = {0};
  const char *at = strstr(text, "@main("), *end = strchr(at, '\n');
  while ((at = strstr(at, ": tensor<")) && at < strstr(text, ") -> ")) {
    at += strlen(": tensor<");
    long long rows = 0, columns = 0;
    int output = -1;
    if (sscanf(at, "%lldx%lldxf32> {tf.aliasing_output = %d", &rows, &columns, &output) < 2) STOP("unexpected parameter: %.40s", at);
    p.dims[p.count][0] = rows, p.dims[p.count][1] = columns, p.updated_by[p.count++] = output;
  }
  (void)end;
  return p;
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  setenv("TF_CPP_MIN_LOG_LEVEL", "1", 0);
  pjrt_start();
  images set = load(argv[1]);
  layer layers[LAYERS];
  initialise(layers);
  lxla_tensor x = from_host(set.pixels[0], BATCH, PIXELS), y = from_host(set.labels[0], BATCH, CLASSES);
  OK(lxla_mark_step(env, device, 1));

  // A rate of 0 keeps the numbers the same during the measurement.
  char *text;
  lxla_tensor loss = train(layers, x, y, 0);
  OK(lxla_step_stablehlo(env, device, &text));
  PJRT_LoadedExecutable *executable = pjrt_compile(text);
  parameters p = parse(text);
  PJRT_Buffer *raw[64], *out[64];
  static float zeros_[HIDDEN * HIDDEN];
  for (int i = 0; i < p.count; i++) raw[i] = pjrt_buffer(PJRT_Buffer_Type_F32, p.dims[i], 2, zeros_);

  static double record[TURNS], step[TURNS], bare[TURNS];
  for (int turn = -20; turn < TURNS; turn++) {
    double start = now();
    if (turn > -20) loss = train(layers, x, y, 0);
    double recorded = now();
    OK(lxla_mark_step(env, device, 1));
    drop(loss);
    double stepped = now();
    pjrt_run(executable, raw, (size_t)p.count, out, 1);
    int outputs = 0;
    for (int i = 0; i < p.count; i++) {
      if (p.updated_by[i] < 0) continue;
      pjrt_destroy(raw[i]);
      raw[i] = out[p.updated_by[i]];
      out[p.updated_by[i]] = NULL;
      outputs++;
    }
    for (int i = 0; i <= outputs; i++)
      if (out[i]) pjrt_destroy(out[i]);
    double run = now();
    if (turn >= 0) record[turn] = recorded - start, step[turn] = stepped - start, bare[turn] = run - stepped;
  }
  double s = median(step, TURNS), b = median(bare, TURNS);
  printf("digits step, waited: %.1f us, of which recording %.1f us; bare PJRT with donation %.1f us; ratio %.3f\n", s,
         median(record, TURNS), b, s / b);
  return 0;
}
