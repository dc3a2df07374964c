// A training step: record, read the loss, step. Linear regression with momentum and a learning-rate schedule.
#include "frontend.h"

enum { ROWS = 8, COLUMNS = 2, STEPS = 200 };

// [recipe]
typedef struct {
  lxla_tensor weights, momentum;  // updated in place; a step donates the old buffers
} model;

// Records one step. Nothing runs. `*out_loss` is the caller's to release.
static void record_step(model *m, lxla_tensor x, lxla_tensor target, double rate, lxla_tensor *out_loss) {
  lxla_tensor prediction = matmul(x, m->weights), error = binary(LXLA_BINARY_SUBTRACT, prediction, target);
  lxla_tensor square = binary(LXLA_BINARY_MULTIPLY, error, error), xt = transpose(x);
  lxla_tensor gradient = matmul(xt, error), update;
  TRY(lxla_mean(square, NULL, 0, 0, out_loss));
  TRY(lxla_binary_scalar_inplace(LXLA_BINARY_MULTIPLY, m->momentum, 0.9));
  TRY(lxla_binary_inplace(LXLA_BINARY_ADD, m->momentum, gradient));
  update = binary_scalar(LXLA_BINARY_MULTIPLY, m->momentum, rate);  // the rate may change: one more compile, once
  TRY(lxla_binary_inplace(LXLA_BINARY_SUBTRACT, m->weights, update));
  RELEASE(prediction, error, square, xt, gradient, update);  // what was recorded stays valid
}
// [recipe end]

// [recipe]
// One iteration. The step starts the program and returns; the loop goes on recording while the device computes.
static void train(model *m, lxla_tensor x, lxla_tensor target, double rate) {
  lxla_tensor loss;
  record_step(m, x, target, rate, &loss);
  RELEASE(loss);  // nobody reads this one: it is not computed
  TRY(lxla_mark_step(env, device, 0));
}

// The loss of an iteration, read after the step: one program, and the read waits for it.
static float train_and_report(model *m, lxla_tensor x, lxla_tensor target, double rate) {
  lxla_tensor loss;
  float value;
  record_step(m, x, target, rate, &loss);
  TRY(lxla_mark_step(env, device, 0));
  TRY(lxla_tensor_read(loss, &value, sizeof value));
  RELEASE(loss);
  return value;
}

// The loss read before the step, as with loss.item(): the read computes what shares work with the loss, the new weights
// too, in one program that donates nothing: old and new weights exist at once. The step finds nothing to do.
static float report_then_train(model *m, lxla_tensor x, lxla_tensor target, double rate) {
  lxla_tensor loss;
  float value;
  record_step(m, x, target, rate, &loss);
  TRY(lxla_tensor_read(loss, &value, sizeof value));
  TRY(lxla_mark_step(env, device, 0));
  RELEASE(loss);
  return value;
}
// [recipe end]

// [recipe]
// Evaluates the list that the program names, in place. What is not listed stays pending, and keeps what it needs.
static float evaluate_and_report(model *m, lxla_tensor x, lxla_tensor target, double rate) {
  lxla_tensor loss;
  float value;
  record_step(m, x, target, rate, &loss);
  lxla_tensor list[] = {loss, m->weights, m->momentum};
  TRY(lxla_step_tensors(list, 3, 0));
  TRY(lxla_tensor_read(loss, &value, sizeof value));
  RELEASE(loss);
  return value;
}
// [recipe end]

int main(void) {
  float x_values[ROWS * COLUMNS], targets[ROWS], zeros[COLUMNS] = {0}, weights[COLUMNS];
  for (int i = 0; i < ROWS; i++) {
    x_values[2 * i] = 1, x_values[2 * i + 1] = (float)i / ROWS;
    targets[i] = 3 - 2 * x_values[2 * i + 1];
  }
  lxla_tensor x = from_floats(device, DIMS(ROWS, COLUMNS), x_values);
  lxla_tensor target = from_floats(device, DIMS(ROWS, 1), targets);
  model m = {from_floats(device, DIMS(COLUMNS, 1), zeros), from_floats(device, DIMS(COLUMNS, 1), zeros)};
  for (int i = 0; i < STEPS; i++) train(&m, x, target, 0.01 * (1 + cos(3.14159 * i / STEPS)));
  TRY(lxla_wait(env, device));
  CHECK(counter(env, "UncachedCompile") <= 2);         // with the rate as a constant, then as a parameter
  CHECK(counter(env, "DonatedBuffers") == 2 * STEPS);  // weights and momentum, each step

  float last = 0;
  for (int i = 0; i < STEPS; i++) last = train_and_report(&m, x, target, 0.02);
  CHECK(last < 1e-3f);
  uint64_t recomputed = counter(env, "RecomputedOps");
  for (int i = 0; i < STEPS; i++) last = report_then_train(&m, x, target, 0.02);
  CHECK(counter(env, "RecomputedOps") == recomputed);

  // Weights that some other part of the program is not done with yet.
  lxla_tensor old = binary_scalar(LXLA_BINARY_MULTIPLY, m.weights, 2);
  uint64_t donated = counter(env, "DonatedBuffers");
  for (int i = 0; i < 3; i++) last = evaluate_and_report(&m, x, target, 0.02);
  CHECK(counter(env, "DonatedBuffers") - donated == 3 * 2 - 1);  // all but the weights that `old` needs
  int32_t state;
  TRY(lxla_tensor_state(old, &state));
  CHECK(state == LXLA_STATE_PENDING);
  RELEASE(old);
  printf("loss %g\n", last);
  CHECK(last < 1e-5f);
  TRY(lxla_tensor_read(m.weights, weights, sizeof weights));
  CHECK(fabsf(weights[0] - 3) < 0.01f && fabsf(weights[1] + 2) < 0.02f);
  CHECK(counter(env, "UncachedCompile") <= 8);
  RELEASE(x, target, m.weights, m.momentum);
  return 0;
}
