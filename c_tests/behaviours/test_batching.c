// Batching of computations: T6 and T9 of docs/behaviours.md.
#include "derivatives.h"

// --- T6: batching ---

// (sum(w x))^2, by w: 2 (w x) x.
static lxla_computation squared_dot(void) {
  const lxla_tensor w = HOLE(DIMS(2)), x = HOLE(DIMS(2)), dot = total(mul(w, x));
  return traces(TENSORS(w, x), (lxla_tensor[]){mul(dot, dot)}, 1);
}

BOTH_TEST(t6_vmap_of_a_gradient_is_one_gradient_for_each_example) {
  lxla_vjp_options options = vjp_defaults();
  options.wrt = (size_t[]){0}, options.n_wrt = 1;
  const lxla_computation f = squared_dot(), df = value_and_grad_by(f, &options);
  const lxla_tensor w = DATA(DIMS(2), 3, 1), x = DATA(DIMS(3, 2), 1, 2, 0, 4, -1, 1);
  lxla_tensor r[3], each[2], rows[3];
  apply(vmap(df, LIST(int64_t, -1, 0), LIST(int64_t, 0, 0), 3), TENSORS(w, x), r, 2);
  IS(r[0], DIMS(3), 25, 16, 4);
  for (int i = 0; i < 3; i++) {
    apply(df, TENSORS(w, row(x, i)), each, 2);
    rows[i] = each[1];
  }
  ARE_NEAR(r[1], stacked(rows, 3));
  // The batch as the last axis, of a parameter and of a result.
  apply(vmap(df, LIST(int64_t, -1, 1), LIST(int64_t, 0, 1), 3), TENSORS(w, transposed(x)), each, 2);
  ARE_NEAR(transposed(each[1]), r[1]);
  // The gradient of a sum over the batch is the sum of gradients.
  const lxla_tensor pw = HOLE(DIMS(2)), px = HOLE(DIMS(3, 2));
  lxla_tensor losses, sum[3];
  apply(vmap(f, LIST(int64_t, -1, 0), LIST(int64_t, 0), 3), TENSORS(pw, px), &losses, 1);
  apply(value_and_grad(traces(TENSORS(pw, px), (lxla_tensor[]){total(losses)}, 1)), TENSORS(w, x), sum, 3);
  lxla_tensor wanted;
  OK(lxla_reduce(LXLA_REDUCE_SUM, r[1], (int64_t[]){0}, 1, 0, &wanted));
  ARE_NEAR(sum[1], own(wanted));
  // Nested batches: all pairs of w and x.
  const lxla_computation pairs = vmap(vmap(f, LIST(int64_t, -1, 0), LIST(int64_t, 0), 3), LIST(int64_t, 0, -1), LIST(int64_t, 0), 2);
  apply(pairs, TENSORS(DATA(DIMS(2, 2), 3, 1, 1, 0), x), r, 1);
  IS(r[0], DIMS(2, 3), 25, 16, 4, 1, 0, 1);
}

BOTH_TEST(t6_results_that_are_not_mapped) {
  const lxla_tensor w = HOLE(DIMS(2)), x = HOLE(DIMS(2)), captured = DATA(DIMS(2), 10, 20);
  const lxla_computation f = traces(TENSORS(w, x), TENSORS(times(w, 2), add(mul(w, x), captured)));
  const lxla_tensor args[] = {DATA(DIMS(2), 1, 2), DATA(DIMS(3, 2), 1, 2, 3, 4, 5, 6)};
  lxla_tensor r[2];
  apply(vmap(f, LIST(int64_t, -1, 0), LIST(int64_t, -1, 0), 3), args, 2, r, 2);
  IS(r[0], DIMS(2), 2, 4);
  IS(r[1], DIMS(3, 2), 11, 24, 13, 28, 15, 32);
  apply(vmap(f, LIST(int64_t, -1, 0), LIST(int64_t, 1, 0), 3), args, 2, r, 2);
  IS(r[0], DIMS(2, 3), 2, 2, 2, 4, 4, 4);
  lxla_computation c = {77};
  REFUSED(lxla_computation_vmap(f, LIST(int64_t, -1, 0), LIST(int64_t, 0, -1), 3, &c), BAD, "out_axes[1] is -1");
  EQUAL(c.id, 77);
}

BOTH_TEST(t6_vmap_of_branches_and_loops) {
  const lxla_tensor x = HOLE(SCALAR), i = HOLE(SCALAR), k = hole_of(S32, SCALAR), batch = DATA(DIMS(4), 8, -3, 1, 3);
  const lxla_computation square = traces(&x, 1, (lxla_tensor[]){mul(x, x)}, 1), negated = traces(&x, 1, (lxla_tensor[]){times(x, -1)}, 1);
  lxla_tensor r[2], v[4];
  // A predicate and an index for each element.
  OK(lxla_cond(is_above(x, 0), square, negated, &x, 1, r, 1));
  const lxla_computation branch = traces(&x, 1, (lxla_tensor[]){own(r[0])}, 1);
  apply(vmap(branch, LIST(int64_t, 0), LIST(int64_t, 0), 4), &batch, 1, v, 1);
  IS(v[0], DIMS(4), 64, 3, 1, 9);
  apply(vmap(value_and_grad(branch), LIST(int64_t, 0), LIST(int64_t, 0, 0), 4), &batch, 1, v, 2);
  IS(v[1], DIMS(4), 16, -1, 2, 6);
  const lxla_computation both[] = {square, negated};
  OK(lxla_case(k, both, 2, &x, 1, r, 1));
  const lxla_computation choice = traces(TENSORS(k, x), (lxla_tensor[]){own(r[0])}, 1);
  lxla_tensor indices = own(ARRAY(S32, int32_t, DIMS(4), 0, 1, 5, -1));
  apply(vmap(choice, LIST(int64_t, 0, 0), LIST(int64_t, 0), 4), TENSORS(indices, batch), v, 1);
  IS(v[0], DIMS(4), 64, 3, -1, -3);
  // A condition for each element: halves x while it is above 1, and counts.
  const lxla_computation go_on = traces(TENSORS(i, x), (lxla_tensor[]){is_above(x, 1)}, 1);
  const lxla_computation halve = traces(TENSORS(i, x), TENSORS(plus(i, 1), times(x, 0.5)));
  OK(lxla_while(go_on, halve, TENSORS(number_of(F32, 0), x), r));
  const lxla_computation loop = traces(&x, 1, TENSORS(own(r[0]), own(r[1])));
  apply(vmap(loop, LIST(int64_t, 0), LIST(int64_t, 0, 0), 4), &batch, 1, v, 2);
  IS(v[0], DIMS(4), 3, 0, 0, 2);
  IS(v[1], DIMS(4), 1, -3, 1, 0.75);
  // Its tangents, mapped.
  apply(vmap(jvp(loop, NULL, 0), LIST(int64_t, 0, -1), LIST(int64_t, 0, 0, 0, 0), 4), TENSORS(batch, number_of(F32, 16)), v, 4);
  IS(v[2], DIMS(4), 0, 0, 0, 0);
  IS(v[3], DIMS(4), 2, 16, 16, 4);
}

BOTH_TEST(t6_vmap_of_a_scan) {
  // c = 2 c + x, stacked; a batch of xs, of c, and of both.
  const lxla_tensor c = HOLE(SCALAR), x = HOLE(SCALAR), xs = HOLE(DIMS(3)), next = add(times(c, 2), x);
  const lxla_computation body = traces(TENSORS(c, x), TENSORS(next, next));
  lxla_tensor end, ys, r[4];
  scan(body, &c, 1, &xs, 1, 3, 0, &end, &ys, 1);
  const lxla_computation f = traces(TENSORS(c, xs), TENSORS(end, ys));
  const lxla_tensor rows = DATA(DIMS(2, 3), 1, 2, 3, -1, 0, 1), starts = DATA(DIMS(2), 1, 10);
  apply(vmap(f, LIST(int64_t, -1, 0), LIST(int64_t, 0, 0), 2), TENSORS(number_of(F32, 1), rows), r, 2);
  IS(r[0], DIMS(2), 19, 5);
  IS(r[1], DIMS(2, 3), 3, 8, 19, 1, 2, 5);
  apply(vmap(f, LIST(int64_t, 0, -1), LIST(int64_t, 0, 1), 2), TENSORS(starts, DATA(DIMS(3), 1, 2, 3)), r, 2);
  IS(r[0], DIMS(2), 19, 91);
  IS(r[1], DIMS(3, 2), 3, 21, 8, 44, 19, 91);
  apply(vmap(value_and_grad(f), LIST(int64_t, 0, 0), LIST(int64_t, 0, 0, 0, 0), 2), TENSORS(starts, rows), r, 4);
  IS(r[0], DIMS(2), 19, 77);
  IS(r[2], DIMS(2), 8, 8);
  IS(r[3], DIMS(2, 3), 4, 2, 1, 4, 2, 1);
}

// --- T9: what does not fit ---

BOTH_TEST(t9_bad_arguments_of_vmap_are_named) {
  const lxla_tensor x = HOLE(DIMS(2)), y = HOLE(DIMS(3, 2));
  const lxla_computation vector = traces(TENSORS(x, y), TENSORS(x, y));
  lxla_computation c = {77}, gone;
  const double before = live();
#define BAD_VMAP(words, in, out, size) REFUSED(lxla_computation_vmap(vector, in, out, size, &c), BAD, words)
  BAD_VMAP("in_axes: 1 given; the computation has 2 parameters", LIST(int64_t, 0), LIST(int64_t, 0, 0), 2);
  BAD_VMAP("out_axes: 3 given; the computation has 2 results", LIST(int64_t, 0, 0), LIST(int64_t, 0, 0, 0), 2);
  BAD_VMAP("in_axes[1] is 3; parameter 1 is f32[3,2], want -1 (not mapped) to 2", LIST(int64_t, 0, 3), LIST(int64_t, 0, 0), 2);
  BAD_VMAP("in_axes[0] is -2", LIST(int64_t, -2, 0), LIST(int64_t, 0, 0), 2);
  BAD_VMAP("out_axes[0] is 2; result 0 is f32[2], want -1 (not mapped) to 1", LIST(int64_t, 0, 0), LIST(int64_t, 2, 0), 2);
  BAD_VMAP("out_axes[0] is -1, and result 0 depends on a mapped argument", LIST(int64_t, 0, 0), LIST(int64_t, -1, 0), 2);
  BAD_VMAP("size: 0 given; want at least 1", LIST(int64_t, 0, 0), LIST(int64_t, 0, 0), 0);
  BAD_VMAP("size: -3 given", LIST(int64_t, 0, 0), LIST(int64_t, 0, 0), -3);
  REFUSED(lxla_computation_vmap(vector, NULL, 2, LIST(int64_t, 0, 0), 2, &c), LXLA_NULL_ARGUMENT, "in_axes");
  REFUSED(lxla_computation_vmap(vector, LIST(int64_t, 0, 0), NULL, 2, 2, &c), LXLA_NULL_ARGUMENT, "out_axes");
  REFUSED(lxla_computation_vmap(vector, LIST(int64_t, 0, 0), LIST(int64_t, 0, 0), 2, NULL), LXLA_NULL_ARGUMENT, "out_computation");
  OK(lxla_computation_trace(&x, 1, &x, 1, &gone));
  OK(lxla_computation_release(gone));
  REFUSED(lxla_computation_vmap(gone, LIST(int64_t, 0), LIST(int64_t, 0), 2, &c), LXLA_INVALID_HANDLE, "f");
  EQUAL(c.id, 77);
  EQUAL(live(), before);
}

WITHOUT_PLUGIN(native_batching_loads_no_plugin, t6_vmap_of_branches_and_loops_run)
