// Compares the training step of examples/train_digits.c through lazyxla with the same executable straight through the
// PJRT C API, with donation, in one run.
#include "bare.h"

enum { TURNS = 1500 };

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
  lxla_tensor loss = train(layers, x, y, 0);
  bare_step bare = bare_of_pending();

  static double record[TURNS], step[TURNS], straight[TURNS];
  for (int turn = -20; turn < TURNS; turn++) {
    double start = now();
    if (turn > -20) loss = train(layers, x, y, 0);
    double recorded = now();
    OK(lxla_mark_step(env, device, 1));
    drop(loss);
    double stepped = now();
    bare_call(&bare);
    bare_wait(&bare);
    bare_release_outputs(&bare);
    double run = now();
    if (turn >= 0) record[turn] = recorded - start, step[turn] = stepped - start, straight[turn] = run - stepped;
  }
  double s = median(step, TURNS), b = median(straight, TURNS);
  printf("digits step, waited: %.1f us, of which recording %.1f us; bare PJRT with donation %.1f us; ratio %.3f\n", s,
         median(record, TURNS), b, s / b);
  return 0;
}
