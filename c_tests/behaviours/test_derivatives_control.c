// Derivatives of scans, branches, loops and calls: T4 and T5 of docs/behaviours.md.
#include "derivatives.h"

// --- T4: loops, branches, calls ---

// h = tanh(h w + c); returns h twice: carried and stacked.
static lxla_computation cell(lxla_tensor c) {
  const lxla_tensor h = HOLE(DIMS(2)), w = HOLE(DIMS(2)), next = tanh_of(add(mul(h, w), c));
  return traces(TENSORS(h, w), TENSORS(next, next));
}

// The loss of a scan over three layers, or of three layers, as a computation of h, the weights and c.
static lxla_computation recurrent(int is_scan, int32_t reverse, lxla_tensor fixed_c) {
  const lxla_tensor h0 = HOLE(DIMS(2)), ws = HOLE(DIMS(3, 2)), c = fixed_c.id ? fixed_c : HOLE(DIMS(2));
  const lxla_computation body = cell(c);
  lxla_tensor end, ys;
  if (is_scan) {
    scan(body, &h0, 1, &ws, 1, 3, reverse, &end, &ys, 1);
  } else {
    lxla_tensor rows[3], both[2] = {h0};
    for (int i = 0; i < 3; i++) {
      const int at = reverse ? 2 - i : i;
      const lxla_tensor w = row(ws, at);
      apply(body, TENSORS(both[0], w), both, 2);
      rows[at] = both[1];
    }
    end = both[0], ys = stacked(rows, 3);
  }
  const lxla_tensor weights = DATA(DIMS(3, 2), 1, 2, 3, 4, 5, 6),
                    loss = add(total(end), total(mul(mul(ys, ys), weights)));
  return fixed_c.id ? traces(TENSORS(h0, ws), &loss, 1) : traces(TENSORS(h0, ws, c), &loss, 1);
}

BOTH_TEST(t4_a_scan_has_the_gradient_of_its_unrolled_loop) {
  const lxla_tensor args[] = {DATA(DIMS(2), 0.5, -1), DATA(DIMS(3, 2), 0.3, -0.4, 0.5, 0.6, -0.7, 0.8),
                              DATA(DIMS(2), 0.1, 0.2)};
  const lxla_tensor captured = DATA(DIMS(2), 0.1, 0.2);
  lxla_tensor want[4], got[4];
  for (int32_t reverse = 0; reverse < 2; reverse++) {
    const lxla_computation looped = recurrent(1, reverse, none), fixed = recurrent(1, reverse, captured);
    apply(value_and_grad(recurrent(0, reverse, none)), args, 3, want, 4);
    lxla_vjp_options options = vjp_defaults();
    for (options.checkpoint = 1; options.checkpoint <= 3; options.checkpoint++) {
      // c is captured by the scan's body: a parameter of the computation.
      options.captured = 0;
      apply(value_and_grad_by(looped, &options), args, 3, got, 4);
      for (int k = 0; k < 4; k++) ARE_NEAR(got[k], want[k]);
      // And a value that the computation captures. It captures the weights of the loss too.
      options.captured = LXLA_ON;
      lxla_tensor all[5];
      apply(value_and_grad_by(fixed, &options), args, 2, all, 5);
      for (int k = 0; k < 3; k++) ARE_NEAR(all[k], want[k]);
      size_t rank;
      OK(lxla_tensor_rank(all[3], &rank));
      ARE_NEAR(all[rank == 1 ? 3 : 4], want[3]);
    }
    // Forward mode, against the gradients.
    const lxla_tensor tangents[] = {DATA(DIMS(2), 1, 2), DATA(DIMS(3, 2), 1, -1, 2, -2, 3, -3), DATA(DIMS(2), -1, 1)};
    lxla_tensor pushed[2], sum = number_of(F32, 0);
    apply(jvp(looped, NULL, 0), TENSORS(args[0], args[1], args[2], tangents[0], tangents[1], tangents[2]), pushed, 2);
    for (int k = 0; k < 3; k++) sum = add(sum, total(mul(want[1 + k], tangents[k])));
    ARE_NEAR(pushed[1], sum);
  }
}

BOTH_TEST(t4_scans_in_scans) {
  // The inner scan multiplies c by each element of a row; the outer one adds the row's number. Both are unrolled below.
  const lxla_tensor c = HOLE(SCALAR), e = HOLE(SCALAR), v = HOLE(SCALAR), rows = HOLE(DIMS(2, 3)),
                    one_row = HOLE(DIMS(3));
  const lxla_computation inner = traces(TENSORS(c, e), (lxla_tensor[]){mul(mul(c, e), v)}, 1);
  lxla_tensor carried, end, unrolled = c;
  scan(inner, &c, 1, &one_row, 1, 3, 0, &carried, NULL, 0);
  const lxla_computation outer = traces(TENSORS(c, one_row), (lxla_tensor[]){mul(carried, carried)}, 1);
  scan(outer, &c, 1, &rows, 1, 2, 0, &end, NULL, 0);
  const lxla_computation looped = traces(TENSORS(c, rows, v), &end, 1);
  for (int i = 0; i < 2; i++) {
    const lxla_tensor r = row(rows, i);
    for (int k = 0; k < 3; k++) unrolled = mul(mul(unrolled, row(r, k)), v);
    unrolled = mul(unrolled, unrolled);
  }
  const lxla_computation plain = traces(TENSORS(c, rows, v), &unrolled, 1);
  const lxla_tensor args[] = {number_of(F32, 1.25), DATA(DIMS(2, 3), 1, 1.5, 0.5, 2, -1, 0.75), number_of(F32, 1.5)};
  lxla_tensor want[4], got[4];
  apply(value_and_grad(plain), args, 3, want, 4);
  apply(value_and_grad(looped), args, 3, got, 4);
  for (int k = 0; k < 4; k++) ARE_NEAR(got[k], want[k]);
}

BOTH_TEST(t4_branches_and_calls) {
  const lxla_tensor w = DATA(DIMS(2), 3, 5), x = HOLE(DIMS(2)), p = hole_of(PRED, SCALAR), i = hole_of(S32, SCALAR),
                    a = DATA(DIMS(2), 1, 2);
  const lxla_computation square = traces(&x, 1, (lxla_tensor[]){mul(mul(x, x), w)}, 1);  // captures w
  const lxla_computation linear = traces(&x, 1, (lxla_tensor[]){times(x, 7)}, 1), same = traces(&x, 1, &x, 1);
  lxla_tensor r, twice, v[3];
  OK(lxla_cond(p, square, linear, &x, 1, &r, 1));
  lxla_vjp_options options = vjp_defaults();
  options.captured = LXLA_ON;
  const lxla_computation of_cond =
      value_and_grad_by(traces(TENSORS(p, x), (lxla_tensor[]){total(own(r))}, 1), &options);
  apply(of_cond, TENSORS(number_of(PRED, 1), a), v, 3);
  IS(v[0], SCALAR, 23);
  IS(v[1], DIMS(2), 6, 20);
  IS(v[2], DIMS(2), 1, 4);
  apply(of_cond, TENSORS(number_of(PRED, 0), a), v, 3);
  IS(v[0], SCALAR, 21);
  IS(v[1], DIMS(2), 7, 7);
  IS(v[2], DIMS(2), 0, 0);
  const lxla_computation branches[] = {square, linear, same};
  OK(lxla_case(i, branches, 3, &x, 1, &r, 1));
  const lxla_computation of_case = value_and_grad(traces(TENSORS(i, x), (lxla_tensor[]){total(own(r))}, 1));
  const float want[][2] = {{6, 20}, {7, 7}, {1, 1}, {1, 1}};
  for (int k = 0; k < 4; k++) {
    apply(of_case, TENSORS(number_of(S32, k == 3 ? -1 : k), a), v, 2);
    IS(v[1], DIMS(2), want[k][0], want[k][1]);
  }
  // (x^2 w)^2 w: one computation, called twice.
  apply(square, &x, 1, &r, 1);
  apply(square, &r, 1, &twice, 1);
  apply(value_and_grad(traces(&x, 1, (lxla_tensor[]){total(twice)}, 1)), &a, 1, v, 2);
  IS(v[1], DIMS(2), 4 * 27, 4 * 8 * 125);
}

// One function with residuals, and one backward function.
BOTH_TEST(t4_calls_of_one_computation_have_one_backward_function) {
  const lxla_tensor h = HOLE(DIMS(2)), w = HOLE(DIMS(2)), next = tanh_of(mul(h, w));
  const lxla_computation layer = traces(TENSORS(h, w), &next, 1);
  lxla_tensor last = h;
  for (int i = 0; i < 24; i++) apply(layer, TENSORS(last, w), &last, 1);
  const lxla_computation df = value_and_grad(traces(TENSORS(h, w), (lxla_tensor[]){total(last)}, 1));
  char *text;
  OK(lxla_computation_stablehlo(df, &text));
  EQUAL(occurrences(text, "func.func private"), 2);
  lxla_string_free(text);
}

XLA_TEST(t4_a_further_gradient_adds_no_residuals) {
  const lxla_tensor h0 = DATA(DIMS(2), 0.5, -1), ws = DATA(DIMS(3, 2), 0.3, -0.4, 0.5, 0.6, -0.7, 0.8);
  lxla_tensor end, ys, found[3];
  scan(cell(DATA(DIMS(2), 0.1, 0.2)), &h0, 1, &ws, 1, 3, 0, &end, &ys, 1);
  const lxla_tensor loss = add(total(end), total(mul(ys, ys)));
  int stacks[3];
  // The text has the loss alone, not the gradients, which share work with it.
  OK(lxla_env_set_option(env, "read_scope", "listed"));
  for (int i = 0; i < 3; i++) {
    found[i] = gradient(loss, ws);
    char *text = text_of(loss);
    stacks[i] = occurrences(text, "dynamic_update_slice");
    lxla_string_free(text);
    EQUAL(stacks[i], stacks[0]);
  }
  OK(lxla_env_set_option(env, "read_scope", "connected"));
  CHECK(stacks[0] > 1);
  ARE_NEAR(found[1], found[0]);
  ARE_NEAR(found[2], found[0]);
}

// (i, x) -> (i + 1, x * x), three times: x^8.
static lxla_computation squared_thrice(void) {
  const lxla_tensor i = hole_of(S32, SCALAR), x = HOLE(SCALAR), limit = number_of(S32, 3);
  lxla_tensor below, r[2];
  OK(lxla_compare(LXLA_COMPARE_LT, i, limit, &below));
  const lxla_computation cond = traces(TENSORS(i, x), (lxla_tensor[]){own(below)}, 1),
                         body = traces(TENSORS(i, x), TENSORS(plus(i, 1), mul(x, x)));
  OK(lxla_while(cond, body, TENSORS(number_of(S32, 0), x), r));
  own(r[0]);
  return traces(&x, 1, (lxla_tensor[]){own(r[1])}, 1);
}

BOTH_TEST(t4_a_while_loop_has_tangents_and_no_cotangents) {
  const lxla_computation f = squared_thrice();
  lxla_tensor r[2];
  apply(jvp(f, NULL, 0), TENSORS(number_of(F32, 2), number_of(F32, 3)), r, 2);
  IS(r[0], SCALAR, 256);
  IS(r[1], SCALAR, 3 * 8 * 128);
  lxla_computation c = {77}, d = {77};
  size_t residuals = 77;
  const double before = live();
  REFUSED(lxla_computation_value_and_grad(f, NULL, &c), LXLA_UNIMPLEMENTED, "lxla_scan");
  REFUSED(lxla_computation_vjp(f, NULL, &c, &d, &residuals), LXLA_UNIMPLEMENTED, "while");
  EQUAL(c.id, 77);
  EQUAL(d.id, 77);
  EQUAL(residuals, 77);
  EQUAL(live(), before);
  // The value of a loop whose result is not differentiated may be used.
  const lxla_tensor x = HOLE(SCALAR);
  apply(f, &x, 1, r, 1);
  const lxla_computation g = traces(&x, 1, (lxla_tensor[]){mul(x, stopped(r[0]))}, 1);
  apply(value_and_grad(g), (lxla_tensor[]){number_of(F32, 2)}, 1, r, 2);
  IS(r[1], SCALAR, 256);
}

BOTH_TEST(t5_second_derivatives_of_scans_and_branches) {
  const lxla_computation looped = value_and_grad(recurrent(1, 0, none)), plain = value_and_grad(recurrent(0, 0, none));
  const lxla_tensor args[] = {DATA(DIMS(2), 0.5, -1),
                              DATA(DIMS(3, 2), 0.3, -0.4, 0.5, 0.6, -0.7, 0.8),
                              DATA(DIMS(2), 0.1, 0.2),
                              DATA(DIMS(2), 1, 2),
                              DATA(DIMS(3, 2), 1, -1, 2, -2, 3, -3),
                              DATA(DIMS(2), -1, 1)};
  lxla_tensor want[8], got[8], one_f32 = number_of(F32, 1);
  apply(jvp(plain, NULL, 0), args, 6, want, 8);
  apply(jvp(looped, NULL, 0), args, 6, got, 8);
  for (int k = 0; k < 8; k++) ARE_NEAR(got[k], want[k]);
  pull(vjp_by(plain, NULL), args, 3, TENSORS(one_f32, args[3], args[4], args[5]), want);
  pull(vjp_by(looped, NULL), args, 3, TENSORS(one_f32, args[3], args[4], args[5]), got);
  for (int k = 0; k < 3; k++) ARE_NEAR(got[k], want[k]);
  // x^3 or -x.
  const lxla_tensor x = HOLE(SCALAR);
  const lxla_computation cube = traces(&x, 1, (lxla_tensor[]){mul(mul(x, x), x)}, 1),
                         negated = traces(&x, 1, (lxla_tensor[]){times(x, -1)}, 1);
  lxla_tensor r;
  OK(lxla_cond(is_above(x, 0), cube, negated, &x, 1, &r, 1));
  const lxla_computation df = value_and_grad(traces(&x, 1, (lxla_tensor[]){own(r)}, 1));
  for (int sign = -1; sign < 2; sign += 2) {
    const lxla_tensor at_x = number_of(F32, 2 * sign);
    pull(vjp_by(df, NULL), &at_x, 1, TENSORS(number_of(F32, 0), one_f32), got);
    IS(got[0], SCALAR, sign > 0 ? 12 : 0);
  }
}

WITHOUT_PLUGIN(native_derivatives_of_loops_load_no_plugin, t4_a_scan_has_the_gradient_of_its_unrolled_loop_run)
