// Loops with a bound: values, bounds, derivatives in both modes, batches. On an XLA device and natively.
#include "both.h"
#include "computation.h"

// The loop `while (i < n) (i, x) = (i + 1, x * w)`, whose n and w are captured or parameters.
typedef struct {
  lxla_computation cond, body;
} loop;

static loop powers(lxla_tensor n, lxla_tensor w, const int64_t *dims, size_t rank) {
  lxla_tensor i = placeholder(env, S32, SCALAR), x = placeholder(env, F64, dims, rank), below, next[2];
  OK(lxla_compare(LXLA_COMPARE_LT, i, n, &below));
  next[0] = scalar(ADD, i, 1);
  next[1] = binary(MUL, x, w);
  lxla_tensor p[] = {i, x};
  loop made = {traced(p, 2, &below, 1), traced(p, 2, next, 2)};
  RELEASE(i, x, below, next[0], next[1]);
  return made;
}

static void end_loop(loop l) {
  OK(lxla_computation_release(l.cond));
  OK(lxla_computation_release(l.body));
}

static double first_of(lxla_tensor t, size_t elements) {
  double *values = malloc((elements + 1) * sizeof *values);
  OK(lxla_tensor_read(t, values, elements * sizeof *values));
  double first = elements ? values[0] : 0;
  for (size_t i = 0; i < elements; i++) EQUAL(values[i], first);
  free(values);
  return first;
}

static void near(double got, double want) {
  if (!(fabs(got - want) <= 1e-12 * (1 + fabs(want)))) FAIL("%.17g, want %.17g", got, want);
}

static void values_of(const int64_t *dims, size_t rank, size_t elements) {
  const int64_t bounds[] = {0, 1, 2, 7, 8, 100, INT64_C(1) << 40};
  for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++)
    for (int n = -1; n < 10; n += 1 + (n > 2)) {
      lxla_tensor count = at(S32, n), w = at(F64, 1.5), init[2] = {at(S32, 0)}, out[2], ended;
      OK(lxla_tensor_full(env, device, F64, dims, rank, 2, &init[1]));
      loop l = powers(count, w, dims, rank);
      OK(lxla_while_bounded(l.cond, l.body, init, 2, bounds[b], out, &ended));
      int64_t ran = n < 0 ? 0 : n;
      if (ran > bounds[b]) ran = bounds[b];
      HAS(out[0], S32, int32_t, SCALAR, (int32_t)ran);
      near(first_of(out[1], elements), elements ? 2 * pow(1.5, (double)ran) : 0);
      HAS(ended, PRED, uint8_t, SCALAR, n <= bounds[b]);
      RELEASE(count, w, init[0], init[1], out[1]);
      end_loop(l);
    }
}

static void values(void) {
  values_of(SCALAR, 1);
  values_of(DIMS(0), 0);
  values_of(DIMS(3, 2), 6);
  values_of(DIMS(40000), 40000);
}
TEST(a_loop_ends_by_its_condition_or_at_its_bound) { on_both(values); }

// The computation (x, w) -> x * w^n, whose loop captures w.
static lxla_computation power(int n, int64_t bound) {
  lxla_tensor x = placeholder(env, F64, SCALAR), w = placeholder(env, F64, SCALAR), count, zero, out[2], ended;
  OK(lxla_tensor_full(env, XLA(0), S32, SCALAR, n, &count));
  OK(lxla_tensor_full(env, XLA(0), S32, SCALAR, 0, &zero));
  loop l = powers(count, w, SCALAR);
  OK(lxla_while_bounded(l.cond, l.body, (lxla_tensor[]){zero, x}, 2, bound, out, &ended));
  lxla_computation made = traced((lxla_tensor[]){x, w}, 2, &out[1], 1);
  RELEASE(x, w, count, zero, out[0], out[1], ended);
  end_loop(l);
  return made;
}

// Returns the computation of one result of another one.
static lxla_computation result_of(lxla_computation f, int number) {
  lxla_tensor p[] = {placeholder(env, F64, SCALAR), placeholder(env, F64, SCALAR)}, out[3];
  OK(lxla_computation_call(f, p, 2, out, 3));
  lxla_computation made = traced(p, 2, &out[number], 1);
  RELEASE(p[0], p[1], out[0], out[1], out[2]);
  return made;
}

// Derivatives by the initial value and by what the body captures, and the second one by that.
static void gradients(void) {
  const int64_t bounds[] = {0, 1, 5, 1000000};
  for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++)
    for (int n = 0; n < 10; n += 4) {
      const double ran = n < bounds[b] ? n : (double)bounds[b];
      lxla_computation f = power(n, bounds[b]), first, by_w, second;
      OK(lxla_computation_value_and_grad(f, NULL, &first));
      by_w = result_of(first, 2);
      OK(lxla_computation_value_and_grad(by_w, NULL, &second));
      lxla_tensor in[] = {at(F64, 2), at(F64, 1.25)}, out[3], more[3];
      OK(lxla_computation_call(first, in, 2, out, 3));
      OK(lxla_computation_call(second, in, 2, more, 3));
      near(first_of(out[0], 1), 2 * pow(1.25, ran));
      near(first_of(out[1], 1), pow(1.25, ran));
      near(first_of(out[2], 1), ran > 0 ? ran * 2 * pow(1.25, ran - 1) : 0);
      near(first_of(more[2], 1), ran > 1 ? ran * (ran - 1) * 2 * pow(1.25, ran - 2) : 0);
      RELEASE(in[0], in[1], out[0], out[1], out[2], more[0], more[1], more[2]);
      lxla_computation all[] = {f, first, by_w, second};
      for (int i = 0; i < 4; i++) OK(lxla_computation_release(all[i]));
    }
}
TEST(a_loop_with_a_bound_has_derivatives_by_values_and_captures) { on_both(gradients); }

// The sum of the roots of x, x - 1, ... while they are above 0.5: the derivative of the next root would be infinite.
static lxla_computation roots(int64_t bound) {
  lxla_tensor x = placeholder(env, F64, SCALAR), sum = placeholder(env, F64, SCALAR), above, root, next[2];
  OK(lxla_compare_scalar(LXLA_COMPARE_GT, x, 0.5, &above));
  OK(lxla_unary(LXLA_UNARY_SQRT, x, &root));
  next[0] = scalar(SUB, x, 1);
  next[1] = binary(ADD, sum, root);
  lxla_tensor p[] = {x, sum};
  loop l = {traced(p, 2, &above, 1), traced(p, 2, next, 2)};
  lxla_tensor start = placeholder(env, F64, SCALAR), none_yet, out[2], ended;
  OK(lxla_tensor_full(env, XLA(0), F64, SCALAR, 0, &none_yet));
  OK(lxla_while_bounded(l.cond, l.body, (lxla_tensor[]){start, none_yet}, 2, bound, out, &ended));
  lxla_computation made = traced(&start, 1, &out[1], 1);
  RELEASE(x, sum, above, root, next[0], next[1], start, none_yet, out[0], out[1], ended);
  end_loop(l);
  return made;
}

static double slope(double x) {
  double sum = 0;
  for (; x > 0.5; x--) sum += 0.5 / sqrt(x);
  return sum;
}

static void nothing_beyond_the_end(void) {
  const double starts[] = {1, 3, 0, 2, 7};
  lxla_computation f = roots(12), derivative, both, batch, tangent;
  OK(lxla_computation_value_and_grad(f, NULL, &derivative));
  for (int i = 0; i < 5; i++) {
    lxla_tensor x = at(F64, starts[i]), out[2];
    OK(lxla_computation_call(derivative, &x, 1, out, 2));
    near(first_of(out[1], 1), slope(starts[i]));
    RELEASE(x, out[0], out[1]);
  }
  // Over a batch, whose elements end after different numbers of iterations: reverse mode and forward mode.
  const int64_t axes[] = {0, 0};
  OK(lxla_computation_vmap(derivative, axes, 1, axes, 2, 5, &batch));
  OK(lxla_computation_jvp(f, NULL, 0, &tangent));
  OK(lxla_computation_vmap(tangent, axes, 2, axes, 2, 5, &both));
  lxla_tensor x = array(F64, DIMS(5), starts, sizeof starts), ones, out[2];
  OK(lxla_tensor_full(env, device, F64, DIMS(5), 1, &ones));
  for (int mode = 0; mode < 2; mode++) {
    double found[5];
    if (mode) OK(lxla_computation_call(both, (lxla_tensor[]){x, ones}, 2, out, 2));
    else OK(lxla_computation_call(batch, &x, 1, out, 2));
    OK(lxla_tensor_read(out[1], found, sizeof found));
    for (int i = 0; i < 5; i++) near(found[i], slope(starts[i]));
    RELEASE(out[0], out[1]);
  }
  RELEASE(x, ones);
  lxla_computation all[] = {f, derivative, both, batch, tangent};
  for (int i = 0; i < 5; i++) OK(lxla_computation_release(all[i]));
}
TEST(iterations_beyond_the_end_reach_no_derivative) { on_both(nothing_beyond_the_end); }

// The memory of a gradient grows as the square root of the bound.
TEST(the_memory_of_a_gradient_is_that_of_the_root_of_the_bound) {
  env = new_env();
  device = XLA(0);
  uint64_t bytes[2];
  for (int i = 0; i < 2; i++) {
    lxla_tensor count = at(S32, 5), w = at(F64, 1.01), init[2] = {at(S32, 0)}, out[2], ended, sum, grad;
    OK(lxla_tensor_full(env, device, F64, DIMS(4096), 2, &init[1]));
    loop l = powers(count, w, DIMS(4096));
    OK(lxla_while_bounded(l.cond, l.body, init, 2, i ? 10000 : 100, out, &ended));
    OK(lxla_reduce(LXLA_REDUCE_SUM, out[1], NULL, 0, 0, &sum));
    OK(lxla_gradients(&sum, 1, NULL, &init[1], 1, &grad));
    lxla_memory_stats needed = {.struct_size = sizeof needed};
    OK(lxla_compiled_memory(env, device, &grad, 1, &needed));
    bytes[i] = needed.temp_bytes;
    near(first_of(grad, 4096), pow(1.01, 5));
    RELEASE(count, w, init[0], init[1], out[0], out[1], ended, sum, grad);
    end_loop(l);
  }
  // A hundred times the iterations: ten times the memory, and what does not depend on them.
  if (bytes[1] > 15 * bytes[0] || bytes[1] > UINT64_C(260) * 4096 * 8)
    FAIL("%llu bytes at 100, %llu at 10,000", (unsigned long long)bytes[0], (unsigned long long)bytes[1]);
  OK(lxla_env_release(env));
}

static void errors(void) {
  lxla_tensor count = at(S32, 3), w = at(F64, 1.5), init[] = {at(S32, 0), at(F64, 2)}, out[2], ended;
  loop l = powers(count, w, SCALAR);
  REFUSED(lxla_while_bounded(l.cond, l.body, init, 2, -1, out, &ended), BAD,
          "max_iterations: -1 given; want at least 0");
  REFUSED(lxla_while_bounded(l.cond, l.body, init, 1, 5, out, &ended), BAD, "init: 1 given; cond takes 2 parameters");
  REFUSED(lxla_while_bounded(l.body, l.body, init, 2, 5, out, &ended), BAD, "cond: it gives s32[], f64[]; want pred[]");
  REFUSED(lxla_while_bounded(l.cond, l.cond, init, 2, 5, out, &ended), BAD, "body: its results are pred[]");
  lxla_tensor swapped[] = {init[1], init[0]};
  REFUSED(lxla_while_bounded(l.cond, l.body, swapped, 2, 5, out, &ended), BAD, "init: init[0] is f64[]");
  REFUSED(lxla_while_bounded(l.cond, l.body, init, 2, 5, out, NULL), LXLA_NULL_ARGUMENT, "out_ended");
  REFUSED(lxla_while_bounded(l.cond, l.body, init, 2, 5, NULL, &ended), LXLA_NULL_ARGUMENT, "out_values");
  REFUSED(lxla_while_bounded((lxla_computation){0}, l.body, init, 2, 5, out, &ended), LXLA_INVALID_HANDLE, "cond");
  RELEASE(count, w, init[0], init[1]);
  end_loop(l);
}
TEST(a_loop_that_does_not_fit_is_refused) { on_both(errors); }
