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
  const lxla_computation pairs =
      vmap(vmap(f, LIST(int64_t, -1, 0), LIST(int64_t, 0), 3), LIST(int64_t, 0, -1), LIST(int64_t, 0), 2);
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
  const lxla_computation square = traces(&x, 1, (lxla_tensor[]){mul(x, x)}, 1),
                         negated = traces(&x, 1, (lxla_tensor[]){times(x, -1)}, 1);
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
  apply(vmap(jvp(loop, NULL, 0), LIST(int64_t, 0, -1), LIST(int64_t, 0, 0, 0, 0), 4),
        TENSORS(batch, number_of(F32, 16)), v, 4);
  IS(v[2], DIMS(4), 0, 0, 0, 0);
  IS(v[3], DIMS(4), 2, 16, 16, 4);
}

static int occurrences_in(lxla_computation c, const char *words) {
  char *text;
  OK(lxla_computation_stablehlo(c, &text));
  const int n = occurrences(text, words);
  lxla_string_free(text);
  return n;
}

// A choice that is the same for all elements stays a choice of one branch, batched; other choices become selections.
BOTH_TEST(t6_vmap_of_a_branch_by_a_common_choice) {
  const lxla_tensor x = HOLE(SCALAR), p = hole_of(PRED, SCALAR), k = hole_of(S32, SCALAR),
                    batch = DATA(DIMS(3), 1, -2, 3);
  const lxla_computation branches[] = {traces(&x, 1, (lxla_tensor[]){mul(x, x)}, 1),
                                       traces(&x, 1, (lxla_tensor[]){times(x, -1)}, 1)};
  lxla_tensor r, v;
  OK(lxla_cond(p, branches[0], branches[1], &x, 1, &r, 1));
  const lxla_computation of_cond = traces(TENSORS(p, x), (lxla_tensor[]){own(r)}, 1);
  OK(lxla_case(k, branches, 2, &x, 1, &r, 1));
  const lxla_computation of_case = traces(TENSORS(k, x), (lxla_tensor[]){own(r)}, 1);
  for (int second = 0; second < 2; second++) {
    const lxla_computation common = vmap(of_cond, LIST(int64_t, -1, 0), LIST(int64_t, 0), 3);
    EQUAL(occurrences_in(common, "stablehlo.select"), 0);
    apply(common, TENSORS(number_of(PRED, !second), batch), &v, 1);
    if (second) IS(v, DIMS(3), -1, 2, -3);
    else IS(v, DIMS(3), 1, 4, 9);
    const lxla_computation by_index = vmap(of_case, LIST(int64_t, -1, 0), LIST(int64_t, 0), 3);
    EQUAL(occurrences_in(by_index, "stablehlo.select"), 0);
    apply(by_index, TENSORS(number_of(S32, second), batch), &v, 1);
    if (second) IS(v, DIMS(3), -1, 2, -3);
    else IS(v, DIMS(3), 1, 4, 9);
  }
  CHECK(occurrences_in(vmap(of_cond, LIST(int64_t, 0, 0), LIST(int64_t, 0), 3), "stablehlo.select") > 0);
}

// Random numbers of several keys are drawn at once; calls of the plugin's once for each element, in a loop.
// log(w x) where x > 0, else 0 x: the branch that an element does not take has an infinite slope at 0, and NaN below.
BOTH_TEST(t6_gradients_of_a_branch_for_each_element_are_those_of_its_own_branch) {
  const lxla_tensor x = HOLE(SCALAR), w = HOLE(SCALAR), k = HOLE(SCALAR);
  lxla_tensor log, r, index;
  OK(lxla_unary(LXLA_UNARY_LOG, mul(x, w), &log));
  const lxla_tensor in[] = {x, w};
  const lxla_computation positive = traces(TENSORS(x, w), (lxla_tensor[]){own(log)}, 1);
  const lxla_computation other = traces(TENSORS(x, w), (lxla_tensor[]){times(x, 0)}, 1);
  for (int by_case = 0; by_case < 2; by_case++) {
    if (by_case) {
      OK(lxla_convert(is_above(k, 0), S8, &index));
      const lxla_computation branches[] = {other, positive};
      OK(lxla_case(own(index), branches, 2, in, 2, &r, 1));
    } else {
      OK(lxla_cond(is_above(k, 0), positive, other, in, 2, &r, 1));
    }
    const lxla_computation one = traces(TENSORS(k, x, w), (lxla_tensor[]){own(r)}, 1);
    // w is common to the elements: its slope is the sum of the slopes for elements that take the first branch.
    const lxla_tensor ks = HOLE(DIMS(4)), xs = HOLE(DIMS(4));
    lxla_tensor each;
    OK(lxla_computation_call(vmap(one, LIST(int64_t, 0, 0, -1), LIST(int64_t, 0), 4), TENSORS(ks, xs, w), &each, 1));
    const lxla_computation batch = traces(TENSORS(ks, xs, w), (lxla_tensor[]){total(own(each))}, 1);
    lxla_vjp_options options = vjp_defaults();
    const size_t wrt[] = {1, 2};
    options.wrt = wrt, options.n_wrt = 2;
    const lxla_computation slopes = value_and_grad_by(batch, &options);
    lxla_tensor v[3];
    const lxla_tensor at = DATA(DIMS(4), 1, 0, -1, 4);
    apply(slopes, TENSORS(at, at, DATA(SCALAR, 2)), v, 3);
    IS_NEAR(v[0], SCALAR, logf(2) + logf(8));
    IS(v[1], DIMS(4), 1, 0, 0, 0.25);
    IS(v[2], SCALAR, 1);
  }
}

BOTH_TEST(t6_vmap_of_random_numbers_and_custom_calls) {
  const lxla_tensor key = hole_of(U32, DIMS(2)), keys = own(ARRAY(U32, uint32_t, DIMS(3, 2), 1, 2, 3, 4, 5, 6));
  lxla_tensor numbers, v, rows[3], pair[2];
  OK(lxla_random_uniform(LXLA_RNG_THREE_FRY, key, F32, DIMS(4), 0, 1, &numbers));
  const lxla_computation of_key = traces(&key, 1, (lxla_tensor[]){own(numbers)}, 1),
                         of_keys = vmap(of_key, LIST(int64_t, 0), LIST(int64_t, 0), 3);
  apply(of_keys, &keys, 1, &v, 1);
  for (int i = 0; i < 3; i++) apply(of_key, (lxla_tensor[]){row(keys, i)}, 1, rows + i, 1);
  ARE_NEAR(v, stacked(rows, 3));
  EQUAL(occurrences_in(of_keys, "stablehlo.while"), 0);
  if (is_native()) return;
  // Eigenvalues.
  const lxla_tensor matrix = HOLE(DIMS(2, 2));
  lxla_custom_call_options how = {.struct_size = sizeof how};
  OK(lxla_custom_call_options_init(&how));
  how.backend_config = "1,1,100,1e-6", how.api_version = LXLA_CUSTOM_CALL_ORIGINAL;
  OK(lxla_custom_call("Eigh", &matrix, 1, (int32_t[]){F32, F32}, (size_t[]){2, 1}, (int64_t[]){2, 2, 2}, 2, &how,
                      pair));
  own(pair[0]);
  const lxla_computation over =
      vmap(traces(&matrix, 1, (lxla_tensor[]){own(pair[1])}, 1), LIST(int64_t, 0), LIST(int64_t, 0), 2);
  apply(over, (lxla_tensor[]){DATA(DIMS(2, 2, 2), 2, 1, 1, 2, 5, 0, 0, 7)}, 1, &v, 1);
  IS_NEAR(v, DIMS(2, 2), 1, 3, 5, 7);
  EQUAL(occurrences_in(over, "stablehlo.while"), 1);
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

// Values that differ between the elements of a batch, where the operation has one for all.
BOTH_TEST(t9_what_cannot_be_batched_is_named) {
  const lxla_tensor k = HOLE(SCALAR), a = HOLE(SCALAR), b = HOLE(SCALAR), x = HOLE(DIMS(3));
  lxla_computation made = {77}, ruled;
  lxla_tensor out;
#define BY_K(result, words)                                                                              \
  REFUSED(lxla_computation_vmap(traces(TENSORS(k, x), (lxla_tensor[]){result}, 1), LIST(int64_t, 0, -1), \
                                LIST(int64_t, 0), 2, &made),                                             \
          LXLA_UNIMPLEMENTED, words)
  const lxla_computation by_product =
      traces(TENSORS(a, b), (lxla_tensor[]){own(compared(LXLA_COMPARE_LT, mul(a, k), mul(b, k)))}, 1);
  OK(lxla_sort(by_product, &x, 1, 0, 1, &out));
  BY_K(own(out), "sort cannot be batched over values that its comparator captured");
  const lxla_computation weighted = traces(TENSORS(a, b), (lxla_tensor[]){add(mul(a, k), b)}, 1);
  OK(lxla_reduce_with(weighted, &x, (lxla_tensor[]){number_of(F32, 0)}, 1, (int64_t[]){0}, 1, &out));
  BY_K(own(out), "reduce_with cannot be batched over an initial value or a capture");
  lxla_window_options windows = {.struct_size = sizeof windows};
  OK(lxla_window_options_init(&windows));
  windows.rank = 1, windows.window_dimensions = (int64_t[]){3};
  OK(lxla_reduce_window(weighted, &x, (lxla_tensor[]){number_of(F32, 0)}, 1, &windows, &out));
  BY_K(own(out), "reduce_window cannot be batched over an initial value or a capture");
  const lxla_computation at_least = owned(comparison(LXLA_COMPARE_GE, F32)), multiply = owned(of_two(MUL, F32)),
                         sum = owned(of_two(ADD, F32));
  OK(lxla_select_and_scatter(at_least, multiply, DATA(DIMS(3), 1, 3, 2), DATA(DIMS(1), 5), k, &windows, &out));
  BY_K(own(out), "select_and_scatter cannot be batched over an initial value, unless its combiner is a sum");
  const lxla_tensor pair = HOLE(DIMS(2, 3));
  const lxla_computation scaled = traces(&x, 1, (lxla_tensor[]){mul(x, k)}, 1), over_two = traces(&pair, 1, &pair, 1);
  OK(lxla_computation_with_vmap(scaled, over_two, &ruled));
  apply(owned(ruled), &x, 1, &out, 1);
  BY_K(out, "a computation with a custom batching rule cannot be batched over its captured values");
  EQUAL(made.id, 77);
  // An initial value of a sum has no such limit.
  lxla_tensor v;
  OK(lxla_reduce_with(sum, &x, &k, 1, (int64_t[]){0}, 1, &out));
  const lxla_tensor starts = DATA(DIMS(2), 10, 20), values = DATA(DIMS(3), 1, 2, 3);
  apply(vmap(traces(TENSORS(k, x), (lxla_tensor[]){own(out)}, 1), LIST(int64_t, 0, -1), LIST(int64_t, 0), 2),
        TENSORS(starts, values), &v, 1);
  IS(v, DIMS(2), 16, 26);
  OK(lxla_select_and_scatter(at_least, sum, DATA(DIMS(3), 1, 3, 2), DATA(DIMS(1), 5), k, &windows, &out));
  apply(vmap(traces(TENSORS(k, x), (lxla_tensor[]){own(out)}, 1), LIST(int64_t, 0, -1), LIST(int64_t, 0), 2),
        TENSORS(starts, values), &v, 1);
  IS(v, DIMS(2, 3), 10, 15, 10, 20, 25, 20);
}

BOTH_TEST(t9_bad_arguments_of_vmap_are_named) {
  const lxla_tensor x = HOLE(DIMS(2)), y = HOLE(DIMS(3, 2));
  const lxla_computation vector = traces(TENSORS(x, y), TENSORS(x, y));
  lxla_computation c = {77}, gone;
  const double before = live();
#define BAD_VMAP(words, in, out, size) REFUSED(lxla_computation_vmap(vector, in, out, size, &c), BAD, words)
  BAD_VMAP("in_axes: 1 given; the computation has 2 parameters", LIST(int64_t, 0), LIST(int64_t, 0, 0), 2);
  BAD_VMAP("out_axes: 3 given; the computation has 2 results", LIST(int64_t, 0, 0), LIST(int64_t, 0, 0, 0), 2);
  BAD_VMAP("in_axes[1] is 3; parameter 1 is f32[3,2], want -1 (not mapped) to 2", LIST(int64_t, 0, 3),
           LIST(int64_t, 0, 0), 2);
  BAD_VMAP("in_axes[0] is -2", LIST(int64_t, -2, 0), LIST(int64_t, 0, 0), 2);
  BAD_VMAP("out_axes[0] is 2; result 0 is f32[2], want -1 (not mapped) to 1", LIST(int64_t, 0, 0), LIST(int64_t, 2, 0),
           2);
  BAD_VMAP("out_axes[0] is -1, and result 0 depends on a mapped argument", LIST(int64_t, 0, 0), LIST(int64_t, -1, 0),
           2);
  BAD_VMAP("size: 0 given; want at least 1", LIST(int64_t, 0, 0), LIST(int64_t, 0, 0), 0);
  BAD_VMAP("size: -3 given", LIST(int64_t, 0, 0), LIST(int64_t, 0, 0), -3);
  REFUSED(lxla_computation_vmap(vector, NULL, 2, LIST(int64_t, 0, 0), 2, &c), LXLA_NULL_ARGUMENT, "in_axes");
  REFUSED(lxla_computation_vmap(vector, LIST(int64_t, 0, 0), NULL, 2, 2, &c), LXLA_NULL_ARGUMENT, "out_axes");
  REFUSED(lxla_computation_vmap(vector, LIST(int64_t, 0, 0), LIST(int64_t, 0, 0), 2, NULL), LXLA_NULL_ARGUMENT,
          "out_computation");
  OK(lxla_computation_trace(&x, 1, &x, 1, &gone));
  OK(lxla_computation_release(gone));
  REFUSED(lxla_computation_vmap(gone, LIST(int64_t, 0), LIST(int64_t, 0), 2, &c), LXLA_INVALID_HANDLE, "f");
  EQUAL(c.id, 77);
  EQUAL(live(), before);
}

WITHOUT_PLUGIN(native_batching_loads_no_plugin, t6_vmap_of_branches_and_loops_run)
