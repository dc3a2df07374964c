// Gradients along paths that a step or read has computed: T10 of docs/behaviours.md.
#include "derivatives.h"

XLA_TEST(t10_a_path_that_a_step_computed_is_refused) {
  const lxla_tensor x = DATA(DIMS(2), 1, 2), z = DATA(DIMS(2), 3, 4), h = mul(x, x), other = mul(z, z);
  step(env);
  const lxla_tensor y = total(mul(h, h)), partly = total(mul(h, x)), fixed = stopped(h);
  lxla_tensor out[2] = {{77}, {77}};
  const double before = live();
  REFUSED(lxla_gradients(&y, 1, NULL, &x, 1, out), LXLA_FAILED_PRECONDITION,
          "a path from xs[0] to ys was computed by step ");
  REFUSED(lxla_gradients(&partly, 1, NULL, &x, 1, out), LXLA_FAILED_PRECONDITION,
          "a path from xs[0] to ys was computed by step ");
  REFUSED(lxla_gradients(&y, 1, NULL, TENSORS(h, x), out), LXLA_FAILED_PRECONDITION,
          "a path from xs[1] to ys was computed by step ");
  EQUAL(out[0].id, 77);
  EQUAL(out[1].id, 77);
  EQUAL(live(), before);
  const lxla_tensor by_h = gradient(y, h), by_z = gradient(y, z), of_fixed = gradient(total(mul(fixed, fixed)), x);
  const lxla_tensor partly_fixed = gradient(total(mul(fixed, x)), x), of_other = gradient(total(mul(other, x)), x);
  IS(by_h, DIMS(2), 2, 8);
  IS(by_z, DIMS(2), 0, 0);
  IS(of_fixed, DIMS(2), 0, 0);
  IS(partly_fixed, DIMS(2), 1, 4);
  IS(of_other, DIMS(2), 9, 16);  // computed by the step, but not from x
}

// The operations equal the operations of earlier gradients, but a value that was given then is now computed.
XLA_TEST(t10_a_path_that_a_step_computed_is_refused_where_gradients_repeat) {
  lxla_tensor out[2];
  for (int i = 0; i < 6; i++) {
    const lxla_tensor x = DATA(DIMS(2), 1, 2), h = i == 4 ? mul(x, x) : DATA(DIMS(2), 3, 4);
    step(env);
    const lxla_tensor y = total(mul(h, x));
    if (i == 4) {
      REFUSED(lxla_gradients(&y, 1, NULL, TENSORS(h, x), out), LXLA_FAILED_PRECONDITION,
              "a path from xs[1] to ys was computed by step ");
    } else {
      gradients(&y, 1, NULL, TENSORS(h, x), out);
      IS(out[0], DIMS(2), 1, 2);
      IS(out[1], DIMS(2), 3, 4);
    }
    step(env);
  }
  EQUAL(counter(env, "RepeatedGradients"), 3);
}

// A step that is cut into several programs: the value that crosses from one to the next is held.
XLA_TEST(t10_a_path_through_several_programs_of_a_step_is_refused) {
  OK(lxla_env_set_option(env, "max_program_ops", "1"));
  const lxla_tensor a = DATA(DIMS(2), 1, 2), x = mul(a, a), h = mul(x, x);
  step(env);
  const lxla_tensor y = total(mul(h, x));
  lxla_tensor out;
  REFUSED(lxla_gradients(&y, 1, NULL, &x, 1, &out), LXLA_FAILED_PRECONDITION,
          "a path from xs[0] to ys was computed by step ");
}

// As in a training loop: all values are results of the last step.
XLA_TEST(t10_a_path_between_results_of_one_step_is_refused) {
  const lxla_tensor a = DATA(DIMS(2), 1, 2), x = mul(a, a), h = mul(x, x), apart = plus(a, 1);
  step(env);
  const lxla_tensor y = total(mul(h, apart)), z = total(mul(apart, x));
  lxla_tensor out[2] = {{77}, {77}};
  REFUSED(lxla_gradients(&y, 1, NULL, &x, 1, out), LXLA_FAILED_PRECONDITION,
          "a path from xs[0] to ys was computed by step ");
  REFUSED(lxla_gradients(&y, 1, NULL, TENSORS(apart, x), out), LXLA_FAILED_PRECONDITION,
          "a path from xs[1] to ys was computed by step ");
  REFUSED(lxla_gradients(&z, 1, NULL, &a, 1, out), LXLA_FAILED_PRECONDITION,
          "a path from xs[0] to ys was computed by step ");
  EQUAL(out[0].id, 77);
  IS(gradient(y, apart), DIMS(2), 1, 16);
  IS(gradient(z, x), DIMS(2), 2, 3);
}

// Data that was uploaded, not computed, is on no path, even if it is gone.
XLA_TEST(t10_data_that_is_gone_is_on_no_path) {
  const lxla_tensor w = DATA(DIMS(2), 3, 4), raw = F32S(DIMS(2), 1, 2), batch = mul(raw, raw);
  step(env);
  RELEASE(raw);
  IS(gradient(total(mul(w, batch)), w), DIMS(2), 1, 4);
}

XLA_TEST(t10_a_path_over_several_steps_is_refused) {
  for (int is_gone = 0; is_gone < 2; is_gone++) {
    const lxla_tensor x = DATA(DIMS(2), 1, 2), h = binary(MUL, x, x);
    step(env);
    const lxla_tensor next = plus(h, 1);
    if (is_gone) RELEASE(h);  // what is in between is gone
    else own(h);
    step(env);
    const lxla_tensor y = total(next);
    lxla_tensor out = {77};
    REFUSED(lxla_gradients(&y, 1, NULL, &x, 1, &out), LXLA_FAILED_PRECONDITION,
            "a path from xs[0] to ys was computed by step ");
    EQUAL(out.id, 77);
    IS(gradient(y, next), DIMS(2), 1, 1);
  }
}

XLA_TEST(t10_a_path_that_a_read_computed_is_refused) {
  const lxla_tensor x = DATA(DIMS(2), 1, 2), h = mul(x, x), between = times(x, 2), of_it = mul(between, between);
  const lxla_tensor in_time = gradient(total(mul(h, h)), x);
  float values[2];
  read_f32(h, values, 2);
  read_f32(of_it, values, 2);
  const lxla_tensor y = total(mul(h, h)), partly = total(mul(h, x)), fixed = stopped(h), s = total(of_it);
  lxla_tensor out = {77};
  REFUSED(lxla_gradients(&y, 1, NULL, &x, 1, &out), LXLA_FAILED_PRECONDITION,
          "a path from xs[0] to ys was computed by sync ");
  REFUSED(lxla_gradients(&partly, 1, NULL, &x, 1, &out), LXLA_FAILED_PRECONDITION,
          "a path from xs[0] to ys was computed by sync ");
  // Kept by the second read, as every value in between that has a tensor.
  REFUSED(lxla_gradients(&s, 1, NULL, &between, 1, &out), LXLA_FAILED_PRECONDITION,
          "a path from xs[0] to ys was computed by sync ");
  EQUAL(out.id, 77);
  const lxla_tensor by_h = gradient(y, h), of_fixed = gradient(total(mul(fixed, fixed)), x);
  IS(by_h, DIMS(2), 2, 8);
  IS(of_fixed, DIMS(2), 0, 0);
  IS(in_time, DIMS(2), 4, 32);  // recorded before the read
}

// Tensors on xla:0, a copy on xla:1 of which is computed there, and copied back.
static void through_another_device(void) {
  const lxla_tensor x = DATA(DIMS(2), 1, 2), z = DATA(DIMS(2), 3, 4);
  lxla_tensor away, back, same, out = {77};
  OK(lxla_tensor_to_device(x, XLA(1), &away));
  const lxla_tensor square = mul(own(away), away), on_1 = total(square);
  // The copy computes the square, and the path to it cannot be followed any more.
  const lxla_tensor by_away = gradient(on_1, away);
  OK(lxla_tensor_to_device(square, XLA(0), &back));
  OK(lxla_tensor_to_device(away, XLA(0), &same));
  const lxla_tensor y = total(mul(own(back), z)), of_same = total(mul(own(same), same));
  REFUSED(lxla_gradients(&y, 1, NULL, &x, 1, &out), LXLA_FAILED_PRECONDITION,
          "a path from xs[0] to ys goes through a copy from xla:0 to xla:1");
  REFUSED(lxla_gradients(&y, 1, NULL, TENSORS(z, x), &out), LXLA_FAILED_PRECONDITION,
          "a path from xs[1] to ys goes through a copy from xla:0 to xla:1");
  REFUSED(lxla_gradients(&of_same, 1, NULL, &x, 1, &out), LXLA_FAILED_PRECONDITION,
          "goes through a copy from xla:0 to xla:1");
  const lxla_tensor by_z = gradient(y, z), by_back = gradient(y, back),
                    fixed = gradient(total(mul(stopped(back), x)), x);
  IS(by_z, DIMS(2), 1, 4);
  IS(by_back, DIMS(2), 3, 4);
  IS(fixed, DIMS(2), 1, 4);
  IS(by_away, DIMS(2), 2, 4);
  // ys and xs must be on one device, also if mixed_device_policy would copy xs.
  device = (lxla_device){LXLA_DEVICE_CPU, 0};
  const lxla_tensor eager = number_of(F32, 5);
  device = XLA(0);
  const lxla_tensor scaled = total(mul(x, eager));
  REFUSED(lxla_gradients(&scaled, 1, NULL, &eager, 1, &out), BAD, "ys[0] is on xla:0 and xs[0] is on cpu");
  OK(lxla_env_set_option(env, "mixed_device_policy", "copy"));
  const lxla_tensor there = total(mul(away, away));
  REFUSED(lxla_gradients(&there, 1, NULL, &x, 1, &out), BAD, "ys[0] is on xla:1 and xs[0] is on xla:0");
  // An operation that copies its operand.
  const lxla_tensor mixed = total(mul(x, away));
  REFUSED(lxla_gradients(&mixed, 1, NULL, &x, 1, &out), LXLA_FAILED_PRECONDITION,
          "goes through a copy from xla:0 to xla:1");
  EQUAL(out.id, 77);
}

TEST(t10_a_path_through_another_device_is_refused) {
  lxla_env_options options = default_options();
  options.device_count = 2;
  OK(lxla_env_create(&options, &env));
  device = XLA(0);
  through_another_device(), release_all();
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

// SGD with momentum 0.5, of sum(p^2).
XLA_TEST(t10_a_training_loop_of_steps) {
  const lxla_tensor p = DATA(DIMS(2), 1, 2), unused = DATA(DIMS(2), 7, 9), v = DATA(DIMS(2), 0, 0);
  for (int i = 0; i < 3; i++) {
    const lxla_tensor loss = total(mul(p, p));
    lxla_tensor g[2];
    gradients(&loss, 1, NULL, TENSORS(p, unused), g);
    OK(lxla_binary_scalar_inplace(MUL, v, 0.5));
    OK(lxla_binary_inplace(ADD, v, g[0]));
    OK(lxla_binary_inplace(SUB, p, times(v, 0.1)));
    OK(lxla_binary_inplace(SUB, unused, times(g[1], 0.1)));
    step(env);
    IS(g[1], DIMS(2), 0, 0);
  }
  IS_NEAR(v, DIMS(2), 2.38, 4.76);
  IS_NEAR(p, DIMS(2), 0.302, 0.604);
  IS(unused, DIMS(2), 7, 9);
}

XLA_TEST(t10_integers_that_a_step_computed_are_on_no_path) {
  const lxla_tensor x = DATA(DIMS(3), 1, 5, 2);
  lxla_tensor index, wide, picked;
  OK(lxla_argmax(x, 0, 0, S32, &index));
  OK(lxla_convert(own(index), F32, &wide));
  own(wide);
  step(env);
  OK(lxla_take(x, index, 0, &picked));
  const lxla_tensor by_picked = gradient(own(picked), x), by_scaled = gradient(total(mul(x, wide)), x);
  IS(by_picked, DIMS(3), 0, 1, 0);
  IS(by_scaled, DIMS(3), 1, 1, 1);
}
