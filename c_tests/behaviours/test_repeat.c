// Steps that repeat an earlier one: K12 of docs/behaviours.md. (Random changes at every position: tests/oracle.)
#include "check.h"

#include <math.h>

enum { STEPS = 8 };

// A model with one weight that is trained by momentum towards 10.
typedef struct {
  lxla_env env;
  lxla_tensor weight, momentum;
  float w, m;  // the values that are expected
} model;

static model new_model(void) {
  model of = {.env = new_env()};
  of.weight = from_f32(of.env, DIMS(1), ((float[]){1})), of.momentum = from_f32(of.env, DIMS(1), ((float[]){0}));
  of.w = 1;
  return of;
}

static void release_model(model *of) {
  RELEASE(of->weight, of->momentum);
  OK(lxla_env_release(of->env));
}

// Records one training step, and computes what it must give.
static void record(model *of, double rate) {
  lxla_tensor gradient, update;
  OK(lxla_binary_scalar(LXLA_BINARY_SUBTRACT, of->weight, 10, &gradient));
  OK(lxla_binary_scalar_inplace(LXLA_BINARY_MULTIPLY, of->momentum, 0.5));
  OK(lxla_binary_inplace(LXLA_BINARY_ADD, of->momentum, gradient));
  OK(lxla_binary_scalar(LXLA_BINARY_MULTIPLY, of->momentum, rate, &update));
  OK(lxla_binary_inplace(LXLA_BINARY_SUBTRACT, of->weight, update));
  RELEASE(gradient, update);
  of->m = of->m * 0.5f + (of->w - 10);
  of->w -= of->m * (float)rate;
}

// Whether a value is the expected one, but for roundings.
static int is_near(double value, double wanted) { return fabs(value - wanted) <= 1e-5 * (1 + fabs(wanted)); }

// Runs the recorded step; returns whether it was recognized as a repetition, and checks its donations.
static int is_repeated(model *of, uint64_t donated) {
  uint64_t repeated = counter(of->env, "RepeatedStep"), before = counter(of->env, "DonatedBuffers");
  OK(lxla_mark_step(of->env, XLA(0), 1));
  EQUAL(counter(of->env, "DonatedBuffers") - before, donated);
  CHECK(is_near(value(of->weight), of->w));
  CHECK(is_near(value(of->momentum), of->m));
  return (int)(counter(of->env, "RepeatedStep") - repeated);
}

// Trains until the step is known: the first two are planned, the second is remembered.
static model trained(void) {
  model of = new_model();
  for (int i = 0; i < STEPS; i++) {
    record(&of, 0.25);
    EQUAL(is_repeated(&of, 2), i >= 2);
  }
  EQUAL(counter(of.env, "UncachedCompile"), 1);
  return of;
}

TEST(k12_a_training_loop_is_recognized_and_donates) {
  model of = trained();
  release_model(&of);
}

TEST(k12_scalars_may_change) {
  model of = trained();
  for (int i = 0; i < 4; i++) {
    record(&of, 0.125 / (i + 1));
    EQUAL(is_repeated(&of, 2), 1);
  }
  EQUAL(counter(of.env, "UncachedCompile"), 2);
  release_model(&of);
}

TEST(k12_a_value_that_is_kept_is_not_donated) {
  model of = trained();
  float old = of.w;
  lxla_tensor kept = snapshot(of.weight);
  record(&of, 0.25);
  EQUAL(is_repeated(&of, 1), 0);
  CHECK(is_near(value(kept), old));
  RELEASE(kept);
  record(&of, 0.25);
  EQUAL(is_repeated(&of, 2), 1);
  release_model(&of);
}

TEST(k12_another_result_is_computed) {
  model of = trained();
  lxla_tensor gradient;
  OK(lxla_binary_scalar(LXLA_BINARY_SUBTRACT, of.weight, 10, &gradient));
  float wanted = of.w - 10;
  record(&of, 0.25);
  EQUAL(is_repeated(&of, 2), 0);
  CHECK(is_near(value(gradient), wanted));
  RELEASE(gradient);
  record(&of, 0.25);
  EQUAL(is_repeated(&of, 2), 1);
  release_model(&of);
}

TEST(k12_another_operand_or_operation_is_seen) {
  model of = trained();
  lxla_tensor gradient;
  // The momentum is subtracted from itself instead of being scaled.
  OK(lxla_binary_scalar(LXLA_BINARY_SUBTRACT, of.weight, 10, &gradient));
  OK(lxla_binary_scalar_inplace(LXLA_BINARY_MULTIPLY, of.momentum, 0.5));
  OK(lxla_binary_inplace(LXLA_BINARY_SUBTRACT, of.momentum, gradient));
  OK(lxla_binary_inplace(LXLA_BINARY_SUBTRACT, of.weight, of.momentum));
  RELEASE(gradient);
  of.m = of.m * 0.5f - (of.w - 10);
  of.w -= of.m;
  EQUAL(is_repeated(&of, 2), 0);
  release_model(&of);
}

TEST(k12_several_loops_take_turns) {
  model of = trained();
  lxla_tensor twice;
  for (int i = 0; i < 4; i++) {
    record(&of, 0.25);
    EQUAL(is_repeated(&of, 2), 1);
    // Evaluation: planned twice, and then known beside the training step.
    OK(lxla_binary_scalar(LXLA_BINARY_MULTIPLY, of.weight, 2, &twice));
    EQUAL(is_repeated(&of, 0), i >= 2);
    CHECK(is_near(value(twice), 2 * of.w));
    RELEASE(twice);
  }
  release_model(&of);
}

// Multiplies a tensor by 1 in place, n times, in a step that is followed by one without work. Returns whether the step
// was recognized.
static int chain_is_repeated(lxla_env env, lxla_tensor t, int n) {
  const uint64_t before = counter(env, "RepeatedStep");
  for (int i = 0; i < n; i++) OK(lxla_binary_scalar_inplace(MUL, t, 1));
  EQUAL(step(env), 1);
  EQUAL(step(env), 0);
  return (int)(counter(env, "RepeatedStep") - before);
}

TEST(k12_four_loops_are_known_beside_steps_without_work) {
  lxla_env env = new_env();
  lxla_tensor t = from_f32(env, DIMS(1), ((float[]){3}));
  for (int round = 0; round < 5; round++)
    for (int n = 1; n <= 4; n++) EQUAL(chain_is_repeated(env, t, n), round >= 2);
  EQUAL(value(t), 3);
  RELEASE(t);
  OK(lxla_env_release(env));
}
