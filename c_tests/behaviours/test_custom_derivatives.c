// Custom derivatives and batching rules, and values that derivatives treat as constants: T7 and T8 of
// docs/behaviours.md.
#include "derivatives.h"

// --- T7: rules of the caller's ---

static lxla_tensor clipped(lxla_tensor x) {
  const lxla_scalar low = {.dtype = LXLA_DTYPE_S64, .value.i = -1}, high = {.dtype = LXLA_DTYPE_S64, .value.i = 1};
  lxla_tensor out;
  OK(lxla_clamp_with_scalars(x, &low, &high, &out));
  return own(out);
}

// The identity, whose cotangents are limited to -1 and 1.
static lxla_computation clipping(void) {
  const lxla_tensor x = HOLE(DIMS(2)), ct = HOLE(DIMS(2));
  const lxla_computation same = traces(&x, 1, &x, 1), clip = traces(&ct, 1, (lxla_tensor[]){clipped(ct)}, 1);
  lxla_computation made;
  OK(lxla_computation_with_vjp(same, same, clip, &made));
  return owned(made);
}

// Both gradients through one application count in the next derivative: of x^3, 2 * 3 x^2 has 12 x.
XLA_TEST(t7_two_gradients_through_one_application) {
  const lxla_tensor x = HOLE(SCALAR), residual = HOLE(SCALAR), cotangent = HOLE(SCALAR);
  const lxla_tensor cube = mul(mul(x, x), x), slope = times(mul(residual, residual), 3);
  const lxla_computation primal = traces(&x, 1, &cube, 1), forward = traces(&x, 1, TENSORS(cube, x));
  const lxla_tensor product = mul(slope, cotangent);
  const lxla_computation backward = traces(TENSORS(residual, cotangent), &product, 1);
  lxla_computation made;
  OK(lxla_computation_with_vjp(primal, forward, backward, &made));
  owned(made);
  const lxla_tensor a = DATA(SCALAR, 2);
  lxla_tensor y;
  apply(made, &a, 1, &y, 1);
  const lxla_tensor first = gradient(y, a), second = gradient(y, a);
  IS(gradient(add(first, second), a), SCALAR, 24);
}

BOTH_TEST(t7_a_vjp_of_the_callers_in_calls_scans_and_batches) {
  const lxla_computation g = clipping();
  const lxla_tensor x = HOLE(DIMS(2)), c = HOLE(DIMS(2)), h = HOLE(DIMS(2)), s = HOLE(SCALAR), a = DATA(DIMS(2), 5, 6),
                    by = DATA(DIMS(2), 10, 0.25);
  lxla_tensor y, v[4];
  apply(g, &a, 1, &y, 1);
  IS(y, DIMS(2), 5, 6);
  // Called.
  apply(g, &x, 1, &y, 1);
  const lxla_computation loss = traces(TENSORS(x, c), (lxla_tensor[]){total(mul(y, c))}, 1);
  apply(value_and_grad(loss), TENSORS(a, by), v, 3);
  IS(v[0], SCALAR, 51.5);
  IS(v[1], DIMS(2), 1, 0.25);
  IS(v[2], DIMS(2), 5, 6);
  // Scanned: h = g(2 h + s), three times.
  lxla_tensor limited, end;
  apply(g, (lxla_tensor[]){add(times(h, 2), s)}, 1, &limited, 1);
  const lxla_computation body = traces(TENSORS(h, s), &limited, 1);
  const lxla_tensor slices = HOLE(DIMS(3));
  scan(body, &x, 1, &slices, 1, 3, 0, &end, NULL, 0);
  const lxla_computation scanned = traces(TENSORS(x, slices, c), (lxla_tensor[]){total(mul(end, c))}, 1);
  apply(value_and_grad(scanned), TENSORS(a, DATA(DIMS(3), 1, 2, 3), by), v, 4);
  IS(v[1], DIMS(2), 2, 2);
  IS(v[2], DIMS(3), 2, 1.5, 1.25);
  // Over a batch: each element is limited by itself.
  const lxla_computation over = vmap(value_and_grad(loss), LIST(int64_t, -1, 0), LIST(int64_t, 0, 0, 0), 2);
  apply(over, TENSORS(a, DATA(DIMS(2, 2), 10, 0.25, -0.5, -7)), v, 3);
  IS(v[1], DIMS(2, 2), 1, 0.25, -0.5, -1);
  const lxla_computation batched = vmap(g, LIST(int64_t, 0), LIST(int64_t, 0), 2);
  const lxla_tensor wide = HOLE(DIMS(2, 2));
  apply(batched, &wide, 1, &y, 1);
  apply(value_and_grad(traces(&wide, 1, (lxla_tensor[]){total(times(y, 3))}, 1)),
        (lxla_tensor[]){DATA(DIMS(2, 2), 1, 2, 3, 4)}, 1, v, 2);
  IS(v[1], DIMS(2, 2), 1, 1, 1, 1);
  // Of pending tensors.
  if (!is_native()) {
    apply(g, &a, 1, &y, 1);
    IS(gradient(total(mul(y, by)), a), DIMS(2), 1, 0.25);
  }
  lxla_computation none_c = {77};
  REFUSED(lxla_computation_jvp(loss, NULL, 0, &none_c), LXLA_UNIMPLEMENTED, "lxla_computation_jvp");
  EQUAL(none_c.id, 77);
}

BOTH_TEST(t7_residuals_and_integers_in_a_vjp_of_the_callers) {
  // x n, with residuals n and x; the rule's gradient is 100 x ct + n.
  const lxla_tensor x = HOLE(DIMS(2)), n = hole_of(S32, SCALAR), ct = HOLE(DIMS(2));
  lxla_tensor as_float, y, v[2];
  OK(lxla_convert(n, F32, &as_float));
  const lxla_tensor scaled = mul(x, own(as_float));
  const lxla_computation primal = traces(TENSORS(x, n), &scaled, 1),
                         forward = traces(TENSORS(x, n), TENSORS(scaled, n, x));
  const lxla_computation backward =
      traces(TENSORS(n, x, ct), (lxla_tensor[]){add(times(mul(x, ct), 100), as_float)}, 1);
  lxla_computation made;
  OK(lxla_computation_with_vjp(primal, forward, backward, &made));
  owned(made);
  EQUAL(n_params(made), 2);
  EQUAL(n_results(made), 1);
  apply(made, TENSORS(x, n), &y, 1);
  apply(value_and_grad(traces(TENSORS(x, n), (lxla_tensor[]){total(times(y, 2))}, 1)),
        TENSORS(DATA(DIMS(2), 1, 3), number_of(S32, 4)), v, 2);
  IS(v[0], SCALAR, 32);
  IS(v[1], DIMS(2), 204, 604);
  // Residuals over a batch: of the gradient, and of the two passes.
  const lxla_computation loss = traces(TENSORS(x, n), (lxla_tensor[]){total(times(y, 2))}, 1);
  const lxla_tensor batch[] = {DATA(DIMS(2, 2), 1, 3, 5, 7), own(ARRAY(S32, int32_t, DIMS(2), 4, -1))};
  apply(vmap(value_and_grad(loss), LIST(int64_t, 0, 0), LIST(int64_t, 0, 0), 2), batch, 2, v, 2);
  IS(v[0], DIMS(2), 32, -24);
  IS(v[1], DIMS(2, 2), 204, 604, 999, 1399);
  const passes p = vjp_by(made, NULL);
  const size_t n_made = n_results(p.forward);
  int64_t axes[8] = {0};
  lxla_tensor saved[8], back;
  CHECK(n_made < 8);
  apply(vmap(p.forward, LIST(int64_t, 0, 0), axes, n_made, 2), batch, 2, saved, n_made);
  saved[n_made] = DATA(DIMS(2, 2), 1, 2, 3, 4);
  apply(vmap(p.backward, axes, n_made, axes, 1, 2), saved + 1, n_made, &back, 1);
  IS(back, DIMS(2, 2), 104, 604, 1499, 2799);
}

// x^2 and 2 x. The cotangents of x are said to be 10 times that of the first, and 100 times that of the second plus 7.
BOTH_TEST(t7_a_result_without_a_cotangent_has_cotangent_0) {
  const lxla_tensor x = HOLE(DIMS(2)), c = HOLE(DIMS(2)), d = HOLE(DIMS(2)), a = DATA(DIMS(2), 1, 2),
                    square = mul(x, x), twice = add(x, x);
  const lxla_computation primal = traces(&x, 1, TENSORS(square, twice));
  const lxla_computation backward =
      traces(TENSORS(c, d), (lxla_tensor[]){plus(add(times(c, 10), times(d, 100)), 7)}, 1);
  lxla_computation made;
  OK(lxla_computation_with_vjp(primal, primal, backward, &made));
  owned(made);
  for (int i = 0; i < 2; i++) {
    lxla_tensor y[2], v[2];
    apply(made, &x, 1, y, 2);
    apply(value_and_grad(traces(&x, 1, (lxla_tensor[]){total(y[i])}, 1)), &a, 1, v, 2);
    if (i == 0) IS(v[1], DIMS(2), 17, 17);
    else IS(v[1], DIMS(2), 107, 107);
  }
}

// The residual 3 x of x^2 is saved under SAVE_NONE.
BOTH_TEST(t7_residuals_of_the_callers_are_saved_under_every_policy) {
  const lxla_tensor x = HOLE(DIMS(2)), r = HOLE(DIMS(2)), c = HOLE(DIMS(2)), a = DATA(DIMS(2), 1, 2),
                    one_f32 = number_of(F32, 1), square = mul(x, x);
  const lxla_computation primal = traces(&x, 1, &square, 1), forward = traces(&x, 1, TENSORS(square, times(x, 3)));
  const lxla_computation backward = traces(TENSORS(r, c), (lxla_tensor[]){mul(r, c)}, 1);
  lxla_computation made;
  OK(lxla_computation_with_vjp(primal, forward, backward, &made));
  owned(made);
  lxla_tensor y, saved[8], g;
  apply(made, &x, 1, &y, 1);
  lxla_vjp_options options = vjp_defaults();
  options.checkpoint = LXLA_CHECKPOINT_SAVE_NONE;
  const passes p = vjp_by(traces(&x, 1, (lxla_tensor[]){total(y)}, 1), &options);
  CHECK(0 < p.residuals && p.residuals < 8);
  apply(p.forward, &a, 1, saved, 1 + p.residuals);
  int found = 0;
  for (size_t i = 1; i <= p.residuals; i++) {
    float values[2];
    read_f32(saved[i], values, 2);
    found += values[0] == 3 && values[1] == 6;
  }
  EQUAL(found, 1);
  pull(p, &a, 1, &one_f32, 1, &g);
  IS(g, DIMS(2), 3, 6);
}

BOTH_TEST(t7_a_jvp_of_the_callers_in_both_modes) {
  // x^2, with the custom tangent 100 x t.
  const lxla_tensor x = HOLE(DIMS(2)), t = HOLE(DIMS(2)), a = DATA(DIMS(2), 1, 2), square = mul(x, x);
  const lxla_computation primal = traces(&x, 1, &square, 1),
                         rule = traces(TENSORS(x, t), TENSORS(square, times(mul(x, t), 100)));
  lxla_computation made;
  OK(lxla_computation_with_jvp(primal, rule, &made));
  owned(made);
  lxla_tensor y, v[4];
  apply(made, &x, 1, &y, 1);
  const lxla_computation loss = traces(&x, 1, (lxla_tensor[]){total(y)}, 1);
  apply(jvp(loss, NULL, 0), TENSORS(a, DATA(DIMS(2), 1, 10)), v, 2);
  IS(v[0], SCALAR, 5);
  IS(v[1], SCALAR, 100 + 2000);
  apply(value_and_grad(loss), &a, 1, v, 2);
  IS(v[0], SCALAR, 5);
  IS(v[1], DIMS(2), 100, 200);
  const lxla_tensor batch = DATA(DIMS(2, 2), 1, 2, 3, 4);
  apply(vmap(value_and_grad(loss), LIST(int64_t, 0), LIST(int64_t, 0, 0), 2), &batch, 1, v, 2);
  IS(v[0], DIMS(2), 5, 25);
  IS(v[1], DIMS(2, 2), 100, 200, 300, 400);
  // In a scan: x^2 three times.
  lxla_tensor end;
  scan(made, &x, 1, NULL, 0, 2, 0, &end, NULL, 0);
  apply(value_and_grad(traces(&x, 1, (lxla_tensor[]){total(end)}, 1)), &a, 1, v, 2);
  IS(v[0], SCALAR, 17);
  IS(v[1], DIMS(2), 100 * 100, 200 * 400);
}

// y = x^2, with the custom tangent 100 y t, which is computed from the result: its own derivative is 100 (100 y) t. So
// derivatives are powers of 100 times x^2, whatever the derivatives of x^2 are.
BOTH_TEST(t7_results_that_a_jvp_of_the_callers_takes_have_it_again) {
  const lxla_tensor x = HOLE(DIMS(2)), t = HOLE(DIMS(2)), y = HOLE(DIMS(2)), a = DATA(DIMS(2), 1, 2),
                    square = mul(x, x);
  const lxla_computation primal = traces(&x, 1, &square, 1),
                         rule = traces(TENSORS(x, t, y), TENSORS(y, times(mul(y, t), 100)));
  lxla_computation made;
  OK(lxla_computation_with_jvp(primal, rule, &made));
  owned(made);
  lxla_tensor z, v[8];
  apply(made, &x, 1, &z, 1);
  const lxla_computation loss = traces(&x, 1, (lxla_tensor[]){total(z)}, 1), first = value_and_grad(loss);
  apply(first, &a, 1, v, 2);
  IS(v[0], SCALAR, 5);
  IS(v[1], DIMS(2), 100, 400);
  // The results of the first derivative are the sum of y, and 100 y.
  const lxla_tensor b = DATA(DIMS(2), 1, 1);
  apply(jvp(first, NULL, 0), TENSORS(a, b), v, 4);
  IS(v[2], SCALAR, 500);
  IS(v[3], DIMS(2), 10000, 40000);
  apply(jvp(jvp(loss, NULL, 0), NULL, 0), TENSORS(a, b, b, times(b, 0)), v, 4);
  IS(v[0], SCALAR, 5);
  IS(v[1], SCALAR, 500);
  IS(v[3], SCALAR, 50000);
  apply(first, &x, 1, v, 2);
  const lxla_computation second = value_and_grad(traces(&x, 1, (lxla_tensor[]){total(v[1])}, 1));
  apply(second, &a, 1, v, 2);
  IS(v[0], SCALAR, 500);
  IS(v[1], DIMS(2), 10000, 40000);
  const lxla_tensor batch = DATA(DIMS(2, 2), 1, 2, 3, 4);
  apply(vmap(second, LIST(int64_t, 0), LIST(int64_t, 0, 0), 2), &batch, 1, v, 2);
  IS(v[0], DIMS(2), 500, 2500);
  IS(v[1], DIMS(2, 2), 10000, 40000, 90000, 160000);
  // In a scan: x^2 twice.
  lxla_tensor end;
  scan(made, &x, 1, NULL, 0, 2, 0, &end, NULL, 0);
  apply(value_and_grad(traces(&x, 1, (lxla_tensor[]){total(end)}, 1)), &a, 1, v, 2);
  IS(v[0], SCALAR, 17);
  IS(v[1], DIMS(2), 100 * 1 * 100 * 1, 100 * 16 * 100 * 4);
}

// The first computation, batched by the second one.
static lxla_computation with_batching(lxla_computation primal, lxla_computation batched) {
  lxla_computation made;
  OK(lxla_computation_with_vmap(primal, batched, &made));
  return owned(made);
}

BOTH_TEST(t7_a_batching_of_the_callers) {
  // x y, with 10 x y as its batched computation for a batch of three.
  const lxla_tensor x = HOLE(DIMS(2)), y = HOLE(SCALAR), xs = HOLE(DIMS(3, 2)), ys = HOLE(DIMS(3)),
                    a = DATA(DIMS(2), 1, 2);
  const lxla_tensor five = number_of(F32, 5), rows = DATA(DIMS(3, 2), 1, 2, 3, 4, 5, 6);
  lxla_tensor column, z, v[4];
  OK(lxla_reshape(ys, DIMS(3, 1), &column));
  const lxla_tensor batch = times(mul(xs, own(column)), 10);
  const lxla_computation primal = traces(TENSORS(x, y), (lxla_tensor[]){mul(x, y)}, 1),
                         rule = traces(TENSORS(xs, ys), &batch, 1);
  const lxla_computation made = with_batching(primal, rule);
  apply(made, TENSORS(a, five), v, 1);
  IS(v[0], DIMS(2), 5, 10);
  const lxla_computation over = vmap(made, LIST(int64_t, 0, 0), LIST(int64_t, 0), 3);
  apply(over, TENSORS(rows, DATA(DIMS(3), 1, 2, 3)), v, 1);
  IS(v[0], DIMS(3, 2), 10, 20, 60, 80, 150, 180);
  // The batch as the last axis; a parameter that is not mapped; a call in another computation.
  apply(made, TENSORS(x, y), &z, 1);
  const lxla_computation caller = traces(TENSORS(x, y), (lxla_tensor[]){plus(z, 1)}, 1);
  apply(vmap(caller, LIST(int64_t, 1, -1), LIST(int64_t, 1), 3), TENSORS(transposed(rows), number_of(F32, 2)), v, 1);
  IS(v[0], DIMS(2, 3), 21, 61, 101, 41, 81, 121);
  // A batch of batches.
  const lxla_tensor cube = DATA(DIMS(2, 3, 2), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
  apply(vmap(over, LIST(int64_t, 0, -1), LIST(int64_t, 0), 2), TENSORS(cube, DATA(DIMS(3), 1, 1, 1)), v, 1);
  IS(v[0], DIMS(2, 3, 2), 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120);
  // The derivative of a batch is that of the rule.
  lxla_tensor w;
  apply(over, TENSORS(xs, ys), &w, 1);
  apply(value_and_grad(traces(TENSORS(xs, ys), (lxla_tensor[]){total(w)}, 1)), TENSORS(rows, DATA(DIMS(3), 1, 2, 3)), v,
        3);
  IS(v[1], DIMS(3, 2), 10, 10, 20, 20, 30, 30);
  IS(v[2], DIMS(3), 30, 70, 110);
  // The derivative of the computation is that of primal, and can be batched at any size.
  const lxla_computation loss = traces(TENSORS(x, y), (lxla_tensor[]){total(mul(z, z))}, 1), df = value_and_grad(loss);
  apply(df, TENSORS(a, five), v, 3);
  IS(v[0], SCALAR, 125);
  IS(v[1], DIMS(2), 50, 100);
  IS(v[2], SCALAR, 50);
  apply(jvp(loss, NULL, 0), TENSORS(a, five, DATA(DIMS(2), 1, 1), number_of(F32, 2)), v, 2);
  IS(v[1], SCALAR, 250);
  for (int64_t size = 2; size <= 3; size++) {
    const lxla_tensor few = size == 2 ? DATA(DIMS(2, 2), 1, 2, 3, 4) : rows;
    apply(vmap(df, LIST(int64_t, 0, -1), LIST(int64_t, 0, 0, 0), size), TENSORS(few, five), v, 3);
    if (size == 2) IS(v[1], DIMS(2, 2), 50, 100, 150, 200);
    if (size == 2) IS(v[0], DIMS(2), 125, 625);
    if (size == 3) IS(v[1], DIMS(3, 2), 50, 100, 150, 200, 250, 300);
  }
  lxla_computation c = {77};
  REFUSED(lxla_computation_vmap(made, LIST(int64_t, 0, 0), LIST(int64_t, 0), 4, &c), BAD,
          "f: a computation has a batching rule (lxla_computation_with_vmap) for a batch of 3; size is 4");
  EQUAL(c.id, 77);
}

BOTH_TEST(t7_a_batching_and_a_vjp_of_the_callers) {
  const lxla_tensor x = HOLE(DIMS(2)), by = HOLE(DIMS(2)), ct = HOLE(DIMS(2)), wide = HOLE(DIMS(3, 2));
  const lxla_computation same = traces(&x, 1, &x, 1), twice = traces(&wide, 1, (lxla_tensor[]){times(wide, 2)}, 1);
  const lxla_computation clip = traces(&ct, 1, (lxla_tensor[]){clipped(ct)}, 1);
  lxla_computation outer;
  OK(lxla_computation_with_vjp(with_batching(same, twice), same, clip, &outer));
  const lxla_computation both[] = {with_batching(clipping(), twice), owned(outer)};
  for (int i = 0; i < 2; i++) {
    lxla_tensor y, v[3];
    apply(vmap(both[i], LIST(int64_t, 0), LIST(int64_t, 0), 3), (lxla_tensor[]){DATA(DIMS(3, 2), 1, 2, 3, 4, 5, 6)}, 1,
          v, 1);
    IS(v[0], DIMS(3, 2), 2, 4, 6, 8, 10, 12);
    apply(both[i], &x, 1, &y, 1);
    const lxla_computation df = value_and_grad(traces(TENSORS(x, by), (lxla_tensor[]){total(mul(y, by))}, 1));
    const lxla_tensor a = DATA(DIMS(2), 5, 6);
    apply(df, TENSORS(a, DATA(DIMS(2), 10, 0.25)), v, 3);
    IS(v[0], SCALAR, 51.5);
    IS(v[1], DIMS(2), 1, 0.25);
    apply(vmap(df, LIST(int64_t, -1, 0), LIST(int64_t, 0, 0, 0), 2), TENSORS(a, DATA(DIMS(2, 2), 10, 0.25, -0.5, -7)),
          v, 3);
    IS(v[1], DIMS(2, 2), 1, 0.25, -0.5, -1);
  }
}

// sin x. Reverse mode says 10 x ct, with the residual x; forward mode says 100 x t. `kind`: vjp over jvp, jvp over vjp,
// with a batching rule (2 sin x, for a batch of three) between the two or over both, each in both orders.
enum { RULED_KINDS = 6 };
static lxla_computation with_both_rules(int kind) {
  const lxla_tensor x = HOLE(DIMS(2)), r = HOLE(DIMS(2)), c = HOLE(DIMS(2)), wide = HOLE(DIMS(3, 2)),
                    y = unary(LXLA_UNARY_SINE, x);
  lxla_computation made = traces(&x, 1, &y, 1);
  const lxla_computation forward = traces(&x, 1, TENSORS(y, x)),
                         jvp_rule = traces(TENSORS(x, c), TENSORS(y, times(mul(x, c), 100)));
  const lxla_computation backward = traces(TENSORS(r, c), (lxla_tensor[]){times(mul(r, c), 10)}, 1);
  const lxla_computation batched = traces(&wide, 1, (lxla_tensor[]){times(unary(LXLA_UNARY_SINE, wide), 2)}, 1);
  for (int i = 0; i < 2; i++) {
    if (i == kind % 2) OK(lxla_computation_with_jvp(made, jvp_rule, &made));
    else OK(lxla_computation_with_vjp(made, forward, backward, &made));
    owned(made);
    if (i + 1 == kind / 2) made = with_batching(made, batched);
  }
  return made;
}

BOTH_TEST(t7_a_vjp_and_a_jvp_of_the_callers) {
  const lxla_tensor x = HOLE(DIMS(2)), c = HOLE(DIMS(2)), a = DATA(DIMS(2), 1, 2), by = DATA(DIMS(2), 1, 10);
  const lxla_tensor rows = DATA(DIMS(3, 2), 1, 2, 3, 4, 5, 6), of_rows = DATA(DIMS(3, 2), 1, 1, 1, 10, 1, 10),
                    wide = HOLE(DIMS(3, 2));
  for (int kind = 0; kind < RULED_KINDS; kind++) {
    const lxla_computation g = with_both_rules(kind);
    lxla_tensor y, v[6];
    apply(g, &x, 1, &y, 1);
    const lxla_computation loss = traces(TENSORS(x, c), (lxla_tensor[]){total(mul(y, c))}, 1),
                           df = value_and_grad(loss);
    apply(df, TENSORS(a, by), v, 3);
    IS(v[1], DIMS(2), 10, 200);
    const size_t first = 0;
    const lxla_computation pushed = jvp(g, NULL, 0), of_loss = jvp(loss, &first, 1);
    apply(pushed, TENSORS(a, by), v, 2);
    IS(v[1], DIMS(2), 100, 2000);
    apply(of_loss, TENSORS(a, by, a), v, 2);
    IS(v[1], SCALAR, 100 + 100 * 2 * 2 * 10);
    // Forward over reverse: of 10 x c by x, in the direction `by`.
    apply(jvp(df, &first, 1), TENSORS(a, by, by), v, 6);
    IS(v[4], DIMS(2), 10, 1000);
    // Reverse over forward: of the sum of 100 x t by x and t.
    apply(pushed, TENSORS(x, c), v, 2);
    apply(value_and_grad(traces(TENSORS(x, c), (lxla_tensor[]){total(v[1])}, 1)), TENSORS(a, by), v, 3);
    IS(v[1], DIMS(2), 100, 1000);
    IS(v[2], DIMS(2), 100, 200);
    // Scanned twice.
    lxla_tensor end;
    scan(g, &x, 1, NULL, 0, 2, 0, &end, NULL, 0);
    const lxla_computation looped = traces(&x, 1, &end, 1);
    apply(jvp(looped, NULL, 0), TENSORS(a, by), v, 2);
    IS_NEAR(v[1], DIMS(2), 100 * sin(1) * 100, 100 * sin(2) * 2000);
    apply(value_and_grad(traces(&x, 1, (lxla_tensor[]){total(end)}, 1)), &a, 1, v, 2);
    IS_NEAR(v[1], DIMS(2), 10 * sin(1) * 10, 10 * sin(2) * 20);
    // Over a batch: both rules are batched.
    apply(vmap(df, LIST(int64_t, 0, 0), LIST(int64_t, 0, 0, 0), 3), TENSORS(rows, of_rows), v, 3);
    IS(v[1], DIMS(3, 2), 10, 20, 30, 400, 50, 600);
    apply(vmap(pushed, LIST(int64_t, 0, 0), LIST(int64_t, 0, 0), 3), TENSORS(rows, of_rows), v, 2);
    IS(v[1], DIMS(3, 2), 100, 200, 300, 4000, 500, 6000);
    // Derivatives of the batch. Those of a batching rule are its own.
    apply(vmap(g, LIST(int64_t, 0), LIST(int64_t, 0), 3), &wide, 1, &y, 1);
    apply(value_and_grad(traces(&wide, 1, (lxla_tensor[]){total(y)}, 1)), &rows, 1, v, 2);
    if (kind < 4) IS(v[1], DIMS(3, 2), 10, 20, 30, 40, 50, 60);
    else IS_NEAR(v[1], DIMS(3, 2), 2 * cos(1), 2 * cos(2), 2 * cos(3), 2 * cos(4), 2 * cos(5), 2 * cos(6));
    apply(jvp(traces(&wide, 1, &y, 1), NULL, 0), TENSORS(rows, rows), v, 2);
    if (kind < 4) IS(v[1], DIMS(3, 2), 100, 400, 900, 1600, 2500, 3600);
    // Of pending tensors.
    if (!is_native()) {
      apply(g, &a, 1, &y, 1);
      IS(gradient(total(mul(y, by)), a), DIMS(2), 10, 200);
    }
  }
}

BOTH_TEST(t7_a_rule_that_does_not_fit_is_refused) {
  const lxla_tensor x = HOLE(DIMS(2)), t = HOLE(DIMS(2)), wide = HOLE(DIMS(3)), many = HOLE(DIMS(3, 2));
  const lxla_computation batch = traces(&many, 1, &many, 1),
                         total_of_batch = traces(&many, 1, (lxla_tensor[]){total(many)}, 1);
  const lxla_computation same = traces(&x, 1, &x, 1), of_wide = traces(&wide, 1, &wide, 1),
                         two = traces(TENSORS(x, t), TENSORS(x, t));
  const lxla_computation keeps = traces(&x, 1, TENSORS(x, x)), sums = traces(&x, 1, (lxla_tensor[]){total(x)}, 1),
                         back = traces(TENSORS(x, t), &t, 1), more = traces(TENSORS(x, t, wide), TENSORS(x, t));
  lxla_computation c = {77};
  const double before = live();
  REFUSED(lxla_computation_with_vjp(same, of_wide, back, &c), BAD,
          "forward: its parameters are (f32[3]); want (f32[2])");
  REFUSED(lxla_computation_with_vjp(same, sums, back, &c), BAD,
          "forward: its results are (f32[]); want those of primal, (f32[2])");
  REFUSED(lxla_computation_with_vjp(same, keeps, same, &c), BAD,
          "backward: its parameters are (f32[2]); want (f32[2], f32[2])");
  REFUSED(lxla_computation_with_vjp(same, keeps, two, &c), BAD,
          "backward: its results are (f32[2], f32[2]); want (f32[2])");
  REFUSED(lxla_computation_with_jvp(same, same, &c), BAD, "jvp: its parameters are (f32[2]); want (f32[2], f32[2])");
  REFUSED(lxla_computation_with_jvp(same, more, &c), BAD, "f32[3]); want (f32[2], f32[2], f32[2])");
  REFUSED(lxla_computation_with_jvp(same, back, &c), BAD, "jvp: its results are (f32[2]); want (f32[2], f32[2])");
  REFUSED(lxla_computation_with_vmap(same, same, &c), BAD,
          "batched: its parameters are (f32[2]); want those of primal, (f32[2]), each with one leading axis");
  REFUSED(lxla_computation_with_vmap(two, batch, &c), BAD,
          "batched: its parameters are (f32[3,2]); want those of primal, (f32[2], f32[2])");
  REFUSED(lxla_computation_with_vmap(same, total_of_batch, &c), BAD,
          "batched: its results are (f32[]); want those of primal, (f32[2])");
  lxla_env other;
  OK(lxla_env_create(NULL, &other));
  lxla_tensor foreign;
  lxla_computation far;
  OK(lxla_tensor_placeholder(other, device, F32, DIMS(2), &foreign));
  OK(lxla_computation_trace(&foreign, 1, &foreign, 1, &far));
  REFUSED(lxla_computation_with_vjp(same, same, far, &c), BAD,
          "backward: traced on another device, or in another environment, than primal");
  REFUSED(lxla_computation_with_vjp(same, far, same, &c), BAD, "forward: traced on");
  REFUSED(lxla_computation_with_vmap(far, batch, &c), BAD,
          "batched: traced on another device, or in another environment, than primal");
  OK(lxla_computation_release(far));
  RELEASE(foreign);
  OK(lxla_env_release(other));
  const lxla_computation none_c = {0};
  REFUSED(lxla_computation_with_vjp(none_c, same, same, &c), LXLA_INVALID_HANDLE, "primal");
  REFUSED(lxla_computation_with_vjp(same, none_c, same, &c), LXLA_INVALID_HANDLE, "forward");
  REFUSED(lxla_computation_with_vjp(same, same, none_c, &c), LXLA_INVALID_HANDLE, "backward");
  REFUSED(lxla_computation_with_jvp(same, none_c, &c), LXLA_INVALID_HANDLE, "jvp");
  REFUSED(lxla_computation_with_vmap(none_c, batch, &c), LXLA_INVALID_HANDLE, "primal");
  REFUSED(lxla_computation_with_vmap(same, none_c, &c), LXLA_INVALID_HANDLE, "batched");
  REFUSED(lxla_computation_with_vmap(same, batch, NULL), LXLA_NULL_ARGUMENT, "out_computation");
  REFUSED(lxla_computation_with_vjp(same, same, same, NULL), LXLA_NULL_ARGUMENT, "out_computation");
  REFUSED(lxla_computation_with_jvp(same, two, NULL), LXLA_NULL_ARGUMENT, "out_computation");
  EQUAL(c.id, 77);
  EQUAL(live(), before);
  // By captured values there is no derivative.
  const lxla_tensor w = DATA(DIMS(2), 3, 4);
  const lxla_computation scaling = traces(&x, 1, (lxla_tensor[]){mul(x, w)}, 1);
  lxla_computation ruled;
  OK(lxla_computation_with_vjp(scaling, scaling, same, &ruled));
  lxla_tensor y;
  apply(owned(ruled), &x, 1, &y, 1);
  lxla_vjp_options options = vjp_defaults();
  options.captured = LXLA_ON;
  REFUSED(lxla_computation_value_and_grad(traces(&x, 1, (lxla_tensor[]){total(y)}, 1), &options, &c),
          LXLA_UNIMPLEMENTED, "lxla_computation_lift");
  EQUAL(c.id, 77);
}

// --- T8: values that derivatives take as constants, or that have names ---

BOTH_TEST(t8_stopped_gradients_are_zero) {
  const lxla_tensor x = HOLE(DIMS(2)), a = DATA(DIMS(2), 3, 5);
  lxla_tensor v[3];
  const lxla_computation half = traces(&x, 1, (lxla_tensor[]){total(mul(x, stopped(x)))}, 1),
                         none_of_it = traces(&x, 1, (lxla_tensor[]){total(stopped(x))}, 1);
  apply(value_and_grad(half), &a, 1, v, 2);
  IS(v[0], SCALAR, 34);
  IS(v[1], DIMS(2), 3, 5);
  apply(value_and_grad(none_of_it), &a, 1, v, 2);
  IS(v[0], SCALAR, 8);
  IS(v[1], DIMS(2), 0, 0);
  apply(jvp(none_of_it, NULL, 0), TENSORS(a, a), v, 2);
  IS(v[1], SCALAR, 0);
  apply(vmap(value_and_grad(half), LIST(int64_t, 0), LIST(int64_t, 0, 0), 2),
        (lxla_tensor[]){DATA(DIMS(2, 2), 1, 2, 3, 4)}, 1, v, 2);
  IS(v[1], DIMS(2, 2), 1, 2, 3, 4);
  // Of values: any dtype, the value itself.
  lxla_tensor n;
  OK(lxla_stop_gradient(own(ARRAY(S32, int32_t, DIMS(2), 7, 8)), &n));
  HAS(n, S32, int32_t, DIMS(2), 7, 8);
  IS(stopped(a), DIMS(2), 3, 5);
  IS(marked(a, "a"), DIMS(2), 3, 5);
  lxla_tensor out = {77};
  REFUSED(lxla_checkpoint_name(a, "", &out), BAD, "name: it is empty");
  REFUSED(lxla_checkpoint_name(a, NULL, &out), LXLA_NULL_ARGUMENT, "name");
  REFUSED(lxla_checkpoint_name(none, "a", &out), LXLA_INVALID_HANDLE, "x");
  REFUSED(lxla_checkpoint_name(a, "a", NULL), LXLA_NULL_ARGUMENT, "out_tensor");
  REFUSED(lxla_stop_gradient(none, &out), LXLA_INVALID_HANDLE, "x");
  REFUSED(lxla_stop_gradient(a, NULL), LXLA_NULL_ARGUMENT, "out_tensor");
  EQUAL(out.id, 77);
}

WITHOUT_PLUGIN(native_custom_derivatives_load_no_plugin, t7_a_vjp_of_the_callers_in_calls_scans_and_batches_run)
