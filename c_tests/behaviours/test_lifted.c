// Captured values as parameters: T12 of docs/behaviours.md.
#include "derivatives.h"

// --- T12: lxla_computation_lift ---

static lxla_computation lifted(lxla_computation f) {
  lxla_computation made;
  OK(lxla_computation_lift(f, &made));
  return owned(made);
}

// Calls lift(f) with `args`, then the captured values of f.
static void apply_lifted(lxla_computation f, const lxla_tensor *args, size_t n, lxla_tensor *out, size_t n_out) {
  size_t params, results, captured, left;
  OK(lxla_computation_info(f, &params, &results, &captured));
  lxla_tensor all[16];
  CHECK(n + captured <= 16);
  memcpy(all, args, n * sizeof *all);
  for (size_t i = 0; i < captured; i++) {
    OK(lxla_computation_captured(f, i, &all[n + i]));
    own(all[n + i]);
  }
  const lxla_computation g = lifted(f);
  EQUAL(n_params(g), params + captured);
  EQUAL(n_results(g), results);
  OK(lxla_computation_info(g, &params, &results, &left));
  EQUAL(left, 0);
  apply(g, all, n + captured, out, n_out);
}

BOTH_TEST(t12_a_lifted_computation_takes_what_was_captured) {
  const lxla_tensor x = HOLE(DIMS(2)), h = HOLE(DIMS(2)), s = HOLE(SCALAR), a = DATA(DIMS(2), 1, 2);
  const lxla_tensor w = DATA(DIMS(2), 3, 5), b = DATA(DIMS(2), 10, 20), n = own(ARRAY(S32, int32_t, DIMS(2), 7, 8));
  lxla_tensor y[3], v[4], end;
  // A captured value that is returned, integers, a parameter that is returned, a value of constants.
  const lxla_computation f = traces(&x, 1, TENSORS(add(mul(x, w), b), n, x, w));
  apply_lifted(f, &a, 1, v, 4);
  IS(v[0], DIMS(2), 13, 30);
  OK(lxla_tensor_retain(v[1]));
  HAS(v[1], S32, int32_t, DIMS(2), 7, 8);
  IS(v[2], DIMS(2), 1, 2);
  IS(v[3], DIMS(2), 3, 5);
  // Other values than those captured.
  const lxla_computation affine = traces(&x, 1, (lxla_tensor[]){add(mul(x, w), b)}, 1);
  apply(lifted(affine), TENSORS(a, a, w), v, 1);
  IS(v[0], DIMS(2), 4, 9);
  // Computations that capture, called within another one: its captured values are theirs and its own.
  apply(affine, &x, 1, y, 1);
  const lxla_computation outer = traces(&x, 1, (lxla_tensor[]){mul(y[0], w)}, 1);
  apply_lifted(outer, &a, 1, v, 1);
  IS(v[0], DIMS(2), 39, 150);
  // A scan: h = h w + s.
  const lxla_computation step = traces(TENSORS(h, s), (lxla_tensor[]){add(mul(h, w), s)}, 1);
  const lxla_tensor slices = HOLE(DIMS(2));
  scan(step, &x, 1, &slices, 1, 2, 0, &end, NULL, 0);
  const lxla_computation looped = traces(TENSORS(x, slices), &end, 1);
  apply_lifted(looped, TENSORS(a, DATA(DIMS(2), 1, 2)), v, 1);
  IS(v[0], DIMS(2), 14, 57);
  // Its gradients by w, and a batch over w.
  const lxla_tensor wide = HOLE(DIMS(2)), xs = DATA(DIMS(2, 2), 3, 5, 1, 1), by = DATA(DIMS(2), 1, 2);
  apply(lifted(looped), TENSORS(x, slices, wide), y, 1);
  const lxla_computation loss = traces(TENSORS(x, slices, wide), (lxla_tensor[]){total(y[0])}, 1),
                         df = value_and_grad(loss);
  apply(df, TENSORS(a, by, w), v, 4);
  IS(v[0], SCALAR, 71);
  IS(v[1], DIMS(2), 9, 25);
  IS(v[2], DIMS(2), 8, 2);
  IS(v[3], DIMS(2), 7, 21);
  apply(vmap(df, LIST(int64_t, -1, -1, 0), LIST(int64_t, 0, 0, 0, 0), 2), TENSORS(a, by, xs), v, 4);
  IS(v[0], DIMS(2), 71, 9);
  IS(v[3], DIMS(2, 2), 7, 21, 3, 5);
  if (!is_native()) {
    // Of pending tensors, by a value that was captured; and of a value that was pending when it was captured.
    apply_lifted(affine, &a, 1, v, 1);
    apply(lifted(affine), TENSORS(a, w, b), v, 1);
    IS(gradient(total(v[0]), w), DIMS(2), 1, 2);
    const lxla_tensor pending = times(w, 2);
    apply_lifted(traces(&x, 1, (lxla_tensor[]){mul(x, pending)}, 1), &a, 1, v, 1);
    IS(v[0], DIMS(2), 6, 20);
  }
  // Without captures: the same computation.
  const lxla_computation same = traces(&x, 1, (lxla_tensor[]){times(x, 2)}, 1);
  apply(lifted(same), &a, 1, v, 1);
  IS(v[0], DIMS(2), 2, 4);
  lxla_computation c = {77};
  REFUSED(lxla_computation_lift((lxla_computation){0}, &c), LXLA_INVALID_HANDLE, "f");
  REFUSED(lxla_computation_lift(same, NULL), LXLA_NULL_ARGUMENT, "out_computation");
  EQUAL(c.id, 77);
}

// sin(x w), whose computations capture w. Lifted, they give a rule with w as a parameter: the gradient of x is by the
// caller's backward pass (10 times the right one), that of w by the vjp of the primal computation.
static lxla_computation closed_rule(lxla_tensor w) {
  const lxla_tensor x = HOLE(DIMS(2)), v = HOLE(DIMS(2)), r = HOLE(DIMS(2)), c = HOLE(DIMS(2));
  const lxla_tensor y = unary(LXLA_UNARY_SINE, mul(x, w)), slope = mul(unary(LXLA_UNARY_COSINE, mul(r, w)), w);
  const lxla_computation primal = lifted(traces(&x, 1, &y, 1)), forward = lifted(traces(&x, 1, TENSORS(y, x)));
  const lxla_computation backward = lifted(traces(TENSORS(r, c), (lxla_tensor[]){times(mul(slope, c), 10)}, 1));
  const size_t by_w = 1;
  lxla_vjp_options options = vjp_defaults();
  options.wrt = &by_w, options.n_wrt = 1;
  const passes of_w = vjp_by(primal, &options);
  lxla_tensor made[2], saved[8], given[8], both[2];
  apply(forward, TENSORS(x, v), made, 2);
  const lxla_computation with_residuals = traces(TENSORS(x, v), TENSORS(made[0], made[1], v));
  apply(backward, TENSORS(r, c, v), &both[0], 1);
  CHECK(of_w.residuals < 7);
  apply(of_w.forward, TENSORS(r, v), saved, 1 + of_w.residuals);
  memcpy(given, saved + 1, of_w.residuals * sizeof *given);
  given[of_w.residuals] = c;
  apply(of_w.backward, given, of_w.residuals + 1, &both[1], 1);
  const lxla_computation back = traces(TENSORS(r, v, c), both, 2);
  lxla_computation ruled;
  OK(lxla_computation_with_vjp(primal, with_residuals, back, &ruled));
  return owned(ruled);
}

BOTH_TEST(t12_a_rule_of_lifted_computations_has_gradients_by_what_they_captured) {
  const lxla_tensor w = DATA(DIMS(2), 3, 5), a = DATA(DIMS(2), 1, 2), x = HOLE(DIMS(2)), v = HOLE(DIMS(2));
  const lxla_computation ruled = closed_rule(w);
  lxla_tensor y, got[3], end;
  apply(ruled, TENSORS(a, w), &y, 1);
  IS_NEAR(y, DIMS(2), sin(3), sin(10));
  apply(ruled, TENSORS(x, v), &y, 1);
  const lxla_computation loss = traces(TENSORS(x, v), (lxla_tensor[]){total(y)}, 1);
  apply(value_and_grad(loss), TENSORS(a, w), got, 3);
  IS_NEAR(got[1], DIMS(2), 30 * cos(3), 50 * cos(10));
  IS_NEAR(got[2], DIMS(2), cos(3), 2 * cos(10));
  // Called with the tensor itself in a computation, it is captured there, and has a gradient.
  apply(ruled, TENSORS(x, w), &y, 1);
  lxla_vjp_options options = vjp_defaults();
  options.captured = LXLA_ON;
  const lxla_computation capturing = traces(&x, 1, (lxla_tensor[]){total(y)}, 1);
  apply(value_and_grad_by(capturing, &options), &a, 1, got, 3);
  IS_NEAR(got[1], DIMS(2), 30 * cos(3), 50 * cos(10));
  IS_NEAR(got[2], DIMS(2), cos(3), 2 * cos(10));
  // In a scan of two iterations, where it captures w.
  const lxla_computation body = traces(&x, 1, &y, 1);
  scan(body, &x, 1, NULL, 0, 2, 0, &end, NULL, 0);
  apply(value_and_grad_by(traces(&x, 1, (lxla_tensor[]){total(end)}, 1), &options), &a, 1, got, 3);
  const double w1 = 3, w2 = 5, h1 = sin(3), h2 = sin(10), c1 = cos(w1 * h1), c2 = cos(w2 * h2);
  IS_NEAR(got[1], DIMS(2), 10 * w1 * c1 * 10 * w1 * cos(3), 10 * w2 * c2 * 10 * w2 * cos(10));
  IS_NEAR(got[2], DIMS(2), c1 * h1 + 10 * w1 * c1 * cos(3), c2 * h2 + 10 * w2 * c2 * 2 * cos(10));
  // Over a batch of values for w.
  const lxla_tensor ws = DATA(DIMS(2, 2), 3, 5, 1, 1);
  apply(vmap(value_and_grad(loss), LIST(int64_t, -1, 0), LIST(int64_t, 0, 0, 0), 2), TENSORS(a, ws), got, 3);
  IS_NEAR(got[2], DIMS(2, 2), cos(3), 2 * cos(10), cos(1), 2 * cos(2));
  if (!is_native()) {
    apply(ruled, TENSORS(a, w), &y, 1);
    IS_NEAR(gradient(total(y), w), DIMS(2), cos(3), 2 * cos(10));
  }
}

// x w, with 7 x ct as the gradient of x, and the same by a jvp.
BOTH_TEST(t12_a_lifted_computation_keeps_its_rules) {
  const lxla_tensor w = DATA(DIMS(2), 3, 5), a = DATA(DIMS(2), 1, 2), x = HOLE(DIMS(2)), c = HOLE(DIMS(2)),
                    k = HOLE(DIMS(2));
  const lxla_tensor y = mul(x, w), ws = DATA(DIMS(2, 2), 3, 5, 1, 1);
  const lxla_computation primal = traces(&x, 1, &y, 1), forward = traces(&x, 1, TENSORS(y, x)),
                         back = traces(TENSORS(x, c), (lxla_tensor[]){times(mul(x, mul(c, w)), 7)}, 1);
  const lxla_computation tangents = traces(TENSORS(x, c), TENSORS(y, times(mul(x, mul(c, w)), 7)));
  lxla_computation made[2], refused = {77};
  OK(lxla_computation_with_vjp(primal, forward, back, &made[0]));
  OK(lxla_computation_with_jvp(primal, tangents, &made[1]));
  for (int i = 0; i < 2; i++) {
    size_t params, results, captured;
    OK(lxla_computation_info(owned(made[i]), &params, &results, &captured));
    EQUAL(captured, i == 0 ? 3 : 2);  // of each of its computations
    lxla_tensor z, v[4];
    apply_lifted(made[i], &a, 1, v, 1);
    IS(v[0], DIMS(2), 3, 10);
    const lxla_computation g = lifted(made[i]);
    if (i == 0) apply(g, TENSORS(x, k, k, k), &z, 1);
    else apply(g, TENSORS(x, k, k), &z, 1);
    const lxla_computation loss = traces(TENSORS(x, k), (lxla_tensor[]){total(z)}, 1);
    lxla_vjp_options options = vjp_defaults();
    const size_t by_x = 0;
    options.wrt = &by_x, options.n_wrt = 1;
    const lxla_computation df = value_and_grad_by(loss, &options);
    apply(df, TENSORS(a, w), v, 2);
    IS(v[0], SCALAR, 13);
    IS(v[1], DIMS(2), 21, 70);
    // A batch over what was captured.
    apply(vmap(df, LIST(int64_t, -1, 0), LIST(int64_t, 0, 0), 2), TENSORS(a, ws), v, 2);
    IS(v[0], DIMS(2), 13, 3);
    IS(v[1], DIMS(2, 2), 21, 70, 7, 14);
    apply(vmap(loss, LIST(int64_t, 0, -1), LIST(int64_t, 0), 2), TENSORS(ws, w), v, 1);
    IS(v[0], DIMS(2), 34, 8);
    // The rules say nothing about it, so it has no gradient.
    REFUSED(lxla_computation_value_and_grad(loss, NULL, &refused), LXLA_UNIMPLEMENTED, "lxla_computation_lift");
    REFUSED(lxla_computation_jvp(loss, NULL, 0, &refused), LXLA_UNIMPLEMENTED,
            i == 0 ? "has no derivative" : "lxla_computation_lift");
  }
  EQUAL(refused.id, 77);
}

WITHOUT_PLUGIN(native_lifted_computations_load_no_plugin, t12_a_lifted_computation_takes_what_was_captured_run)
