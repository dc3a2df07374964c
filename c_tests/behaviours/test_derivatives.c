// Derivatives and batching of computations, and gradients of pending tensors: T1 to T9 of docs/behaviours.md.
#include "combiners.h"
#include "near.h"

// --- Values of a test: all are released at its end. ---

static lxla_tensor tensors[2048];
static lxla_computation computations[512];
static size_t n_tensors, n_computations;

static lxla_tensor own(lxla_tensor x) {
  CHECK(n_tensors < sizeof tensors / sizeof *tensors);
  return tensors[n_tensors++] = x;
}

static lxla_computation owned(lxla_computation c) {
  CHECK(n_computations < sizeof computations / sizeof *computations);
  return computations[n_computations++] = c;
}

static void release_all(void) {
  OK(lxla_tensor_release_many(tensors, n_tensors));
  for (size_t i = 0; i < n_computations; i++) OK(lxla_computation_release(computations[i]));
  n_tensors = n_computations = 0;
}

// BOTH_TEST(name) { ... }: a test on an XLA device and on cpu. XLA_TEST(name) { ... }: on an XLA device.
#define BOTH_TEST(name)                                                         \
  static void name##_body(void);                                              \
  static void name##_run(void) { name##_body(), release_all(); }              \
  TEST(name) { on_both(name##_run); }                                         \
  static void name##_body(void)
#define XLA_TEST(name)                                                          \
  static void name##_body(void);                                              \
  TEST(name) {                                                                \
    env = new_env(), device = XLA(0);                                         \
    name##_body(), release_all();                                             \
    EQUAL(counter(env, "LiveBytes"), 0);                                      \
    OK(lxla_env_release(env));                                                \
  }                                                                           \
  static void name##_body(void)

// --- Operations ---

static lxla_tensor hole_of(int32_t dtype, const int64_t *dims, size_t rank) {
  lxla_tensor p;
  OK(lxla_tensor_placeholder(env, device, dtype, dims, rank, &p));
  return own(p);
}
#define HOLE(dims) hole_of(F32, dims)
#define DATA(dims, ...) own(array(F32, dims, (float[]){__VA_ARGS__}, sizeof((float[]){__VA_ARGS__})))

static lxla_tensor number_of(int32_t dtype, double value) { return own(at(dtype, value)); }
static lxla_tensor add(lxla_tensor a, lxla_tensor b) { return own(binary(ADD, a, b)); }
static lxla_tensor subtract(lxla_tensor a, lxla_tensor b) { return own(binary(SUB, a, b)); }
static lxla_tensor mul(lxla_tensor a, lxla_tensor b) { return own(binary(MUL, a, b)); }
static lxla_tensor times(lxla_tensor a, double b) { return own(scalar(MUL, a, b)); }
static lxla_tensor plus(lxla_tensor a, double b) { return own(scalar(ADD, a, b)); }

static lxla_tensor unary(int32_t op, lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_unary(op, x, &out));
  return own(out);
}
static lxla_tensor tanh_of(lxla_tensor x) { return unary(LXLA_UNARY_TANH, x); }

static lxla_tensor total(lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_reduce(LXLA_REDUCE_SUM, x, NULL, 0, 0, &out));
  return own(out);
}

static lxla_tensor product(lxla_tensor a, lxla_tensor b) {
  lxla_tensor out;
  OK(lxla_matmul(a, b, &out));
  return own(out);
}

static lxla_tensor transposed(lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_transpose(x, DIMS(1, 0), &out));
  return own(out);
}

// x[i], without the leading axis.
static lxla_tensor row(lxla_tensor x, int64_t i) {
  lxla_tensor slice, out;
  OK(lxla_slice_axis(x, 0, i, i + 1, 1, &slice));
  OK(lxla_squeeze(own(slice), (int64_t[]){0}, 1, &out));
  return own(out);
}

static lxla_tensor stacked(const lxla_tensor *list, size_t n) {
  lxla_tensor out;
  OK(lxla_stack(list, n, 0, &out));
  return own(out);
}

static lxla_tensor stopped(lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_stop_gradient(x, &out));
  return own(out);
}

static lxla_tensor marked(lxla_tensor x, const char *name) {
  lxla_tensor out;
  OK(lxla_checkpoint_name(x, name, &out));
  return own(out);
}

static lxla_tensor is_above(lxla_tensor x, double than) {
  lxla_tensor out;
  OK(lxla_compare_scalar(LXLA_COMPARE_GT, x, than, &out));
  return own(out);
}

static lxla_tensor clipped(lxla_tensor x) {
  const lxla_scalar low = {.dtype = LXLA_DTYPE_S64, .value.i = -1}, high = {.dtype = LXLA_DTYPE_S64, .value.i = 1};
  lxla_tensor out;
  OK(lxla_clamp_with_scalars(x, &low, &high, &out));
  return own(out);
}

static lxla_computation traces(const lxla_tensor *params, size_t n, const lxla_tensor *results, size_t n_results) {
  return owned(traced(params, n, results, n_results));
}

static void apply(lxla_computation c, const lxla_tensor *args, size_t n, lxla_tensor *out, size_t n_out) {
  OK(lxla_computation_call(c, args, n, out, n_out));
  for (size_t i = 0; i < n_out; i++) own(out[i]);
}

static size_t n_params(lxla_computation c) {
  size_t params, results, captured;
  OK(lxla_computation_info(c, &params, &results, &captured));
  return params;
}

static size_t n_results(lxla_computation c) {
  size_t params, results, captured;
  OK(lxla_computation_info(c, &params, &results, &captured));
  return results;
}

static void scan(lxla_computation body, const lxla_tensor *init, size_t n_init, const lxla_tensor *xs, size_t n_xs,
                 int64_t length, int32_t reverse, lxla_tensor *carry, lxla_tensor *ys, size_t n_ys) {
  OK(lxla_scan(body, init, n_init, xs, n_xs, length, reverse, carry, ys, n_ys));
  for (size_t i = 0; i < n_init; i++) own(carry[i]);
  for (size_t i = 0; i < n_ys; i++) own(ys[i]);
}

// --- Transformations ---

static lxla_vjp_options vjp_defaults(void) {
  lxla_vjp_options options = {.struct_size = sizeof options};
  OK(lxla_vjp_options_init(&options));
  return options;
}

static lxla_computation value_and_grad_by(lxla_computation f, const lxla_vjp_options *options) {
  lxla_computation out;
  OK(lxla_computation_value_and_grad(f, options, &out));
  return owned(out);
}
static lxla_computation value_and_grad(lxla_computation f) { return value_and_grad_by(f, NULL); }

static lxla_computation jvp(lxla_computation f, const size_t *wrt, size_t n_wrt) {
  lxla_computation out;
  OK(lxla_computation_jvp(f, wrt, n_wrt, &out));
  return owned(out);
}

typedef struct {
  lxla_computation forward, backward;
  size_t residuals;
} passes;

static passes vjp_by(lxla_computation f, const lxla_vjp_options *options) {
  passes made;
  OK(lxla_computation_vjp(f, options, &made.forward, &made.backward, &made.residuals));
  owned(made.forward), owned(made.backward);
  return made;
}

// Calls both passes with `n_given` cotangents. Writes the gradients.
static void pull(passes p, const lxla_tensor *args, size_t n_args, const lxla_tensor *given, size_t n_given, lxla_tensor *gradients) {
  enum { MOST = 64 };
  lxla_tensor made[MOST], all[MOST];
  const size_t results = n_results(p.forward), own_results = results - p.residuals;
  CHECK(results <= MOST && p.residuals + n_given <= MOST);
  EQUAL(n_params(p.backward), p.residuals + n_given);
  apply(p.forward, args, n_args, made, results);
  memcpy(all, made + own_results, p.residuals * sizeof *all);
  memcpy(all + p.residuals, given, n_given * sizeof *all);
  apply(p.backward, all, p.residuals + n_given, gradients, n_results(p.backward));
}

#define LIST(type, ...) (const type[]){__VA_ARGS__}, sizeof((type[]){__VA_ARGS__}) / sizeof(type)

static lxla_computation vmap(lxla_computation f, const int64_t *in, size_t n_in, const int64_t *out, size_t n_out, int64_t size) {
  lxla_computation made;
  OK(lxla_computation_vmap(f, in, n_in, out, n_out, size, &made));
  return owned(made);
}

static void gradients(const lxla_tensor *ys, size_t n_ys, const lxla_tensor *cotangents, const lxla_tensor *xs, size_t n_xs,
                      lxla_tensor *out) {
  OK(lxla_gradients(ys, n_ys, cotangents, xs, n_xs, out));
  for (size_t i = 0; i < n_xs; i++) own(out[i]);
}

static lxla_tensor gradient(lxla_tensor y, lxla_tensor x) {
  lxla_tensor out;
  gradients(&y, 1, NULL, &x, 1, &out);
  return out;
}

// --- Comparison ---

static void is(const char *file, int line, lxla_tensor t, const int64_t *dims, size_t rank, const double *want, double tolerance) {
  OK(lxla_tensor_retain(t));
  has_near(file, line, t, F32, dims, rank, want, tolerance);
}
// Compares an f32 tensor with a list of values, exactly, or within 1e-5 of the largest.
#define IS(t, dims, ...) is(__FILE__, __LINE__, t, dims, (double[]){__VA_ARGS__}, 0)
#define IS_NEAR(t, dims, ...) is(__FILE__, __LINE__, t, dims, (double[]){__VA_ARGS__}, 1e-5)

static void are_near(const char *file, int line, lxla_tensor a, lxla_tensor b) {
  int64_t dims[8];
  size_t rank;
  OK(lxla_tensor_info(b, NULL, &rank, dims, 8));
  double want[256];
  size_t n = 1;
  for (size_t i = 0; i < rank; i++) n *= (size_t)dims[i];
  lxla_tensor wide;
  OK(lxla_convert(b, F64, &wide));
  OK(lxla_tensor_read(own(wide), want, n * sizeof *want));
  is(file, line, a, dims, rank, want, 1e-5);
}
#define ARE_NEAR(a, b) are_near(__FILE__, __LINE__, a, b)

static double live(void) { return (double)counter(env, "CreateTensor") - (double)counter(env, "DestroyTensor"); }

// --- T1: gradients of pending tensors ---

XLA_TEST(t1_gradients_of_pending_tensors_equal_those_by_hand) {
  const lxla_tensor x = DATA(DIMS(2, 3), 1, -2, 0.5, 0.25, 1.5, -1), target = DATA(DIMS(2, 1), 0.5, -1);
  const lxla_tensor w1 = DATA(DIMS(3, 4), 0.1, -0.2, 0.3, 0.4, 0.5, 0.6, -0.7, 0.8, 0.9, -1, 0.11, 0.12);
  const lxla_tensor w2 = DATA(DIMS(4, 1), 0.3, -0.6, 0.9, 0.2), none_of_it = DATA(DIMS(2), 1, 2);
  const lxla_tensor h = tanh_of(product(x, w1)), error = subtract(product(h, w2), target), loss = total(mul(error, error));
  // The derivative by hand.
  const lxla_tensor de = times(error, 2), dw2 = product(transposed(h), de), dh = product(de, transposed(w2));
  const lxla_tensor dz = mul(dh, plus(times(mul(h, h), -1), 1)), dw1 = product(transposed(x), dz);
  lxla_tensor g[5];
  gradients(&loss, 1, NULL, TENSORS(w1, w2, h, error, none_of_it), g);
  EQUAL(state_of(g[0]), LXLA_STATE_PENDING);
  ARE_NEAR(g[0], dw1);
  ARE_NEAR(g[1], dw2);
  ARE_NEAR(g[2], dh);  // an interior value
  ARE_NEAR(g[3], de);
  IS(g[4], DIMS(2), 0, 0);
}

XLA_TEST(t1_several_ys_with_cotangents) {
  const lxla_tensor x = DATA(DIMS(2), 1, 2), square = mul(x, x), cube = total(mul(square, x)), c[] = {DATA(DIMS(2), 10, 100), number_of(F32, 2)};
  const lxla_tensor of_square = total(square), of_x = total(x);
  // All of them are recorded before the first read, which leaves `square` without its operation.
  lxla_tensor weighted, g[3], itself, by_pending;
  gradients(TENSORS(square, cube), c, &x, 1, &weighted);
  // Without cotangents: scalars with cotangent 1. One x may be given twice, depend on another one, and be a y.
  gradients(TENSORS(of_square, of_x), NULL, TENSORS(x, square, x), g);
  gradients(&of_x, 1, NULL, &of_x, 1, &itself);
  gradients(&square, 1, &square, &x, 1, &by_pending);
  IS(weighted, DIMS(2), 10 * 2 + 2 * 3, 100 * 4 + 2 * 12);
  IS(g[0], DIMS(2), 3, 5);
  IS(g[1], DIMS(2), 1, 1);
  IS(g[2], DIMS(2), 3, 5);
  IS(itself, SCALAR, 1);
  IS(by_pending, DIMS(2), 2, 16);
}

XLA_TEST(t1_gradients_of_gradients) {
  const lxla_tensor x = number_of(F32, 3), square = mul(x, x), y = mul(square, x), g = gradient(y, x), gg = gradient(g, x);
  IS(gradient(gg, x), SCALAR, 6);
  IS(gg, SCALAR, 18);
  IS(g, SCALAR, 27);
}

XLA_TEST(t1_in_place_updates_and_steps) {
  lxla_tensor w = DATA(DIMS(2), 1, 2), y = total(mul(w, w)), before;
  OK(lxla_tensor_snapshot(w, &before));
  own(before);
  OK(lxla_binary_scalar_inplace(ADD, w, 1));
  // y was computed from the value that w had before.
  IS(gradient(y, before), DIMS(2), 2, 4);
  IS(gradient(y, w), DIMS(2), 0, 0);
  lxla_tensor now = total(mul(w, w));
  const lxla_tensor by_now = gradient(now, w), by_before = gradient(now, before);
  // SGD: the gradient was recorded before the update.
  OK(lxla_binary_inplace(SUB, w, by_now));
  step(env);
  IS(w, DIMS(2), -2, -3);
  IS(by_now, DIMS(2), 4, 6);
  IS(by_before, DIMS(2), 4, 6);
  // A step leaves nothing pending, so nothing is seen.
  IS(gradient(now, w), DIMS(2), 0, 0);
}

XLA_TEST(t1_gradients_through_calls_and_loops) {
  const lxla_tensor x = DATA(DIMS(2), 1, 2), w = DATA(DIMS(3, 2), 1, 2, 3, 4, 5, 6), h = HOLE(DIMS(2)), s = HOLE(DIMS(2));
  const lxla_computation square = traces(&h, 1, (lxla_tensor[]){mul(h, h)}, 1);
  const lxla_computation body = traces(TENSORS(h, s), (lxla_tensor[]){mul(mul(h, s), x)}, 1);   // captures x
  lxla_tensor squared, end;
  apply(square, &x, 1, &squared, 1);
  scan(body, &squared, 1, &w, 1, 3, 0, &end, NULL, 0);
  // end = x^5 w0 w1 w2, elementwise.
  const lxla_tensor y = total(end);
  lxla_tensor g[2];
  gradients(&y, 1, NULL, TENSORS(x, w), g);
  IS(g[0], DIMS(2), 5 * 15, 5 * 16 * 48);
  IS(g[1], DIMS(3, 2), 15, 32 * 24, 5, 32 * 12, 3, 32 * 8);
}

// What waits for a placeholder has gradients too, natively as well: they become part of a computation.
BOTH_TEST(t1_gradients_of_what_waits_for_a_placeholder) {
  const lxla_tensor p = HOLE(DIMS(2)), w = DATA(DIMS(2), 3, 5), y = total(mul(mul(p, p), w));
  lxla_tensor g[2], out[2], eager = DATA(DIMS(2), 1, 1);
  gradients(&y, 1, NULL, TENSORS(p, w), g);
  EQUAL(state_of(g[0]), LXLA_STATE_PENDING);
  const lxla_computation f = traces(&p, 1, g, 2);
  apply(f, (lxla_tensor[]){DATA(DIMS(2), 1, 2)}, 1, out, 2);
  IS(out[0], DIMS(2), 6, 20);
  IS(out[1], DIMS(2), 1, 4);
  if (is_native()) {
    const lxla_tensor sum = total(eager);
    REFUSED(lxla_gradients(&sum, 1, NULL, &eager, 1, out), BAD, "lxla_computation_value_and_grad");
  }
}

// --- T2: value_and_grad, captured values, checkpoints ---

BOTH_TEST(t2_value_and_grad_by_parameters_and_captured_values) {
  // sum(x^2 w) + sum(y c), n, x: captures w and c.
  const lxla_tensor w = DATA(DIMS(2), 3, 5), c = DATA(DIMS(2), 10, 20), x = HOLE(DIMS(2)), y = HOLE(DIMS(2)), n = hole_of(S32, SCALAR);
  const lxla_tensor loss = add(total(mul(mul(x, x), w)), total(mul(y, c)));
  const lxla_computation f = traces(TENSORS(x, n, y), TENSORS(loss, n, x));
  const lxla_tensor args[] = {DATA(DIMS(2), 1, 2), number_of(S32, 6), DATA(DIMS(2), 7, 9)};
  lxla_tensor r[8];
  const lxla_computation all = value_and_grad(f);
  EQUAL(n_results(all), 5);
  apply(all, args, 3, r, 5);
  IS(r[0], SCALAR, 273);
  OK(lxla_tensor_retain(r[1]));
  HAS(r[1], S32, int32_t, SCALAR, 6);
  IS(r[2], DIMS(2), 1, 2);
  IS(r[3], DIMS(2), 6, 20);
  IS(r[4], DIMS(2), 10, 20);
  // One parameter, in the order given, and captured values in theirs.
  lxla_vjp_options options = vjp_defaults();
  options.wrt = (size_t[]){2, 0}, options.n_wrt = 2, options.captured = 1;
  const lxla_computation some = value_and_grad_by(f, &options);
  EQUAL(n_results(some), 3 + 4);
  apply(some, args, 3, r, 7);
  IS(r[3], DIMS(2), 10, 20);
  IS(r[4], DIMS(2), 6, 20);
  for (size_t i = 0; i < 2; i++) {
    lxla_tensor captured;
    float values[2];
    OK(lxla_computation_captured(some, i, &captured));
    read_f32(own(captured), values, 2);
    if (values[0] == 3) IS(r[5 + i], DIMS(2), 1, 4);
    else IS(r[5 + i], DIMS(2), 7, 9);
  }
  // An empty list: by captured values only.
  options.n_wrt = 0;
  EQUAL(n_results(value_and_grad_by(f, &options)), 3 + 2);
}

// tanh(tanh(x w1) w2), whose inner tanh has the name "h"; captures w1 and w2.
static lxla_computation two_layers(void) {
  const lxla_tensor w1 = DATA(DIMS(3, 2), 0.1, -0.2, 0.3, 0.4, 0.5, -0.6), w2 = DATA(DIMS(2, 2), 1, 0.5, -0.25, 0.75), x = HOLE(DIMS(2, 3));
  const lxla_tensor h = marked(tanh_of(product(x, w1)), "h");
  return traces(&x, 1, (lxla_tensor[]){total(tanh_of(product(h, w2)))}, 1);
}

BOTH_TEST(t3_checkpoint_policies_save_what_they_say) {
  const lxla_computation f = two_layers();
  const lxla_tensor x = DATA(DIMS(2, 3), 1, -2, 0.5, 0.25, 1.5, -1), one_f32 = number_of(F32, 1);
  const char *const names[] = {"other", "h"};
  struct {
    int32_t policy;
    size_t names, residuals;
  } cases[] = {
      {LXLA_CHECKPOINT_SAVE_NONE, 0, 1},   // x
      {LXLA_CHECKPOINT_SAVE_NAMED, 1, 1},  // no value has the name
      {LXLA_CHECKPOINT_SAVE_NAMED, 2, 2},  // x, h
      {LXLA_CHECKPOINT_SAVE_DOTS, 0, 3},   // x, both products
  };
  lxla_vjp_options options = vjp_defaults();
  options.captured = 1;
  const passes all = vjp_by(f, &options);
  const size_t largest = all.residuals;
  CHECK(largest > 2);
  lxla_tensor want[3], got[3], made[8];
  pull(all, &x, 1, &one_f32, 1, want);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    options.checkpoint = cases[i].policy, options.saved_names = names, options.n_saved_names = cases[i].names;
    const passes p = vjp_by(f, &options);
    EQUAL(p.residuals, cases[i].residuals);
    pull(p, &x, 1, &one_f32, 1, got);
    for (int k = 0; k < 3; k++) ARE_NEAR(got[k], want[k]);
    lxla_tensor with_value[4];
    apply(value_and_grad_by(f, &options), &x, 1, with_value, 4);
    for (int k = 0; k < 3; k++) ARE_NEAR(with_value[1 + k], want[k]);
    if (cases[i].residuals != 2) continue;
    // One of the residuals is the named value.
    lxla_tensor h, w1;
    int found = 0;
    OK(lxla_computation_captured(f, 0, &w1));
    h = tanh_of(product(x, own(w1)));
    apply(p.forward, &x, 1, made, 3);
    for (int k = 1; k < 3; k++) {
      int64_t dims[2];
      OK(lxla_tensor_dims(made[k], dims, 2));
      if (dims[1] == 2) ARE_NEAR(made[k], h), found++;
    }
    EQUAL(found, 1);
  }
}

BOTH_TEST(t3_a_vjp_of_several_results) {
  // x^2, n + 1, x y: cotangents for the floats only.
  const lxla_tensor x = HOLE(DIMS(2)), y = HOLE(DIMS(2)), n = hole_of(S32, SCALAR), more = plus(n, 1);
  const lxla_computation f = traces(TENSORS(x, n, y), TENSORS(mul(x, x), more, mul(x, y)));
  const passes p = vjp_by(f, NULL);
  const lxla_tensor args[] = {DATA(DIMS(2), 1, 2), number_of(S32, 3), DATA(DIMS(2), 5, 7)};
  lxla_tensor g[2];
  pull(p, args, 3, TENSORS(DATA(DIMS(2), 10, 100), DATA(DIMS(2), 1, 2)), g);
  IS(g[0], DIMS(2), 20 + 5, 400 + 14);
  IS(g[1], DIMS(2), 1, 4);
}

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
  const lxla_tensor weights = DATA(DIMS(3, 2), 1, 2, 3, 4, 5, 6), loss = add(total(end), total(mul(mul(ys, ys), weights)));
  return fixed_c.id ? traces(TENSORS(h0, ws), &loss, 1) : traces(TENSORS(h0, ws, c), &loss, 1);
}

BOTH_TEST(t4_a_scan_has_the_gradient_of_its_unrolled_loop) {
  const lxla_tensor args[] = {DATA(DIMS(2), 0.5, -1), DATA(DIMS(3, 2), 0.3, -0.4, 0.5, 0.6, -0.7, 0.8), DATA(DIMS(2), 0.1, 0.2)};
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
      options.captured = 1;
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
  const lxla_tensor c = HOLE(SCALAR), e = HOLE(SCALAR), v = HOLE(SCALAR), rows = HOLE(DIMS(2, 3)), one_row = HOLE(DIMS(3));
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
  const lxla_tensor w = DATA(DIMS(2), 3, 5), x = HOLE(DIMS(2)), p = hole_of(PRED, SCALAR), i = hole_of(S32, SCALAR), a = DATA(DIMS(2), 1, 2);
  const lxla_computation square = traces(&x, 1, (lxla_tensor[]){mul(mul(x, x), w)}, 1);   // captures w
  const lxla_computation linear = traces(&x, 1, (lxla_tensor[]){times(x, 7)}, 1), same = traces(&x, 1, &x, 1);
  lxla_tensor r, twice, v[3];
  OK(lxla_cond(p, square, linear, &x, 1, &r, 1));
  lxla_vjp_options options = vjp_defaults();
  options.captured = 1;
  const lxla_computation of_cond = value_and_grad_by(traces(TENSORS(p, x), (lxla_tensor[]){total(own(r))}, 1), &options);
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

// (i, x) -> (i + 1, x * x), three times: x^8.
static lxla_computation squared_thrice(void) {
  const lxla_tensor i = hole_of(S32, SCALAR), x = HOLE(SCALAR), limit = number_of(S32, 3);
  lxla_tensor below, r[2];
  OK(lxla_compare(LXLA_COMPARE_LT, i, limit, &below));
  const lxla_computation cond = traces(TENSORS(i, x), (lxla_tensor[]){own(below)}, 1), body = traces(TENSORS(i, x), TENSORS(plus(i, 1), mul(x, x)));
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

// --- T5: derivatives of derivatives ---

BOTH_TEST(t5_derivatives_of_a_cubic_function) {
  // f(x) = sum(x) sum(x^2), of S = 3 and Q = 5: gradient Q + 2 S x = [11, 17], Hessian [[10, 6], [6, 14]].
  const lxla_tensor x = HOLE(DIMS(2)), v = HOLE(DIMS(2));
  const lxla_computation f = traces(&x, 1, (lxla_tensor[]){mul(total(x), total(mul(x, x)))}, 1), df = value_and_grad(f);
  const lxla_tensor a = DATA(DIMS(2), 1, 2), direction = DATA(DIMS(2), 1, 10);
  lxla_tensor r[4], g[1];
  apply(df, &a, 1, r, 2);
  IS(r[0], SCALAR, 15);
  IS(r[1], DIMS(2), 11, 17);
  // Forward over reverse.
  apply(jvp(df, NULL, 0), TENSORS(a, direction), r, 4);
  IS(r[1], DIMS(2), 11, 17);
  IS(r[2], SCALAR, 181);
  IS(r[3], DIMS(2), 70, 146);
  // Reverse over reverse.
  pull(vjp_by(df, NULL), &a, 1, TENSORS(number_of(F32, 1), direction), g);
  IS(g[0], DIMS(2), 70 + 11, 146 + 17);
  // Reverse over forward, and once more: the third derivative along v twice is 4 sum(v) v + 2 sum(v^2).
  apply(jvp(df, NULL, 0), TENSORS(x, v), r, 4);
  const lxla_computation along = traces(TENSORS(x, v), (lxla_tensor[]){total(mul(r[3], v))}, 1);
  lxla_tensor third[3];
  apply(value_and_grad(along), TENSORS(a, direction), third, 3);
  IS(third[0], SCALAR, 70 + 1460);
  IS(third[1], DIMS(2), 4 * 11 + 202, 4 * 11 * 10 + 202);
  IS(third[2], DIMS(2), 140, 292);
}

BOTH_TEST(t5_second_derivatives_of_scans_and_branches) {
  const lxla_computation looped = value_and_grad(recurrent(1, 0, none)), plain = value_and_grad(recurrent(0, 0, none));
  const lxla_tensor args[] = {DATA(DIMS(2), 0.5, -1), DATA(DIMS(3, 2), 0.3, -0.4, 0.5, 0.6, -0.7, 0.8), DATA(DIMS(2), 0.1, 0.2),
                              DATA(DIMS(2), 1, 2), DATA(DIMS(3, 2), 1, -1, 2, -2, 3, -3), DATA(DIMS(2), -1, 1)};
  lxla_tensor want[8], got[8], one_f32 = number_of(F32, 1);
  apply(jvp(plain, NULL, 0), args, 6, want, 8);
  apply(jvp(looped, NULL, 0), args, 6, got, 8);
  for (int k = 0; k < 8; k++) ARE_NEAR(got[k], want[k]);
  pull(vjp_by(plain, NULL), args, 3, TENSORS(one_f32, args[3], args[4], args[5]), want);
  pull(vjp_by(looped, NULL), args, 3, TENSORS(one_f32, args[3], args[4], args[5]), got);
  for (int k = 0; k < 3; k++) ARE_NEAR(got[k], want[k]);
  // x^3 or -x.
  const lxla_tensor x = HOLE(SCALAR);
  const lxla_computation cube = traces(&x, 1, (lxla_tensor[]){mul(mul(x, x), x)}, 1), negated = traces(&x, 1, (lxla_tensor[]){times(x, -1)}, 1);
  lxla_tensor r;
  OK(lxla_cond(is_above(x, 0), cube, negated, &x, 1, &r, 1));
  const lxla_computation df = value_and_grad(traces(&x, 1, (lxla_tensor[]){own(r)}, 1));
  for (int sign = -1; sign < 2; sign += 2) {
    const lxla_tensor at_x = number_of(F32, 2 * sign);
    pull(vjp_by(df, NULL), &at_x, 1, TENSORS(number_of(F32, 0), one_f32), got);
    IS(got[0], SCALAR, sign > 0 ? 12 : 0);
  }
}

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

// --- T7: rules of the caller's ---

// The identity, whose cotangents are limited to -1 and 1.
static lxla_computation clipping(void) {
  const lxla_tensor x = HOLE(DIMS(2)), ct = HOLE(DIMS(2));
  const lxla_computation same = traces(&x, 1, &x, 1), clip = traces(&ct, 1, (lxla_tensor[]){clipped(ct)}, 1);
  lxla_computation made;
  OK(lxla_computation_with_vjp(same, same, clip, &made));
  return owned(made);
}

BOTH_TEST(t7_a_vjp_of_the_callers_in_calls_scans_and_batches) {
  const lxla_computation g = clipping();
  const lxla_tensor x = HOLE(DIMS(2)), c = HOLE(DIMS(2)), h = HOLE(DIMS(2)), s = HOLE(SCALAR), a = DATA(DIMS(2), 5, 6), by = DATA(DIMS(2), 10, 0.25);
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
  apply(value_and_grad(traces(&wide, 1, (lxla_tensor[]){total(times(y, 3))}, 1)), (lxla_tensor[]){DATA(DIMS(2, 2), 1, 2, 3, 4)}, 1, v, 2);
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
  // x n, with residuals n and x; its gradient is said to be 100 x ct + n.
  const lxla_tensor x = HOLE(DIMS(2)), n = hole_of(S32, SCALAR), ct = HOLE(DIMS(2));
  lxla_tensor as_float, y, v[2];
  OK(lxla_convert(n, F32, &as_float));
  const lxla_tensor scaled = mul(x, own(as_float));
  const lxla_computation primal = traces(TENSORS(x, n), &scaled, 1), forward = traces(TENSORS(x, n), TENSORS(scaled, n, x));
  const lxla_computation backward = traces(TENSORS(n, x, ct), (lxla_tensor[]){add(times(mul(x, ct), 100), as_float)}, 1);
  lxla_computation made;
  OK(lxla_computation_with_vjp(primal, forward, backward, &made));
  owned(made);
  EQUAL(n_params(made), 2);
  EQUAL(n_results(made), 1);
  apply(made, TENSORS(x, n), &y, 1);
  apply(value_and_grad(traces(TENSORS(x, n), (lxla_tensor[]){total(times(y, 2))}, 1)), TENSORS(DATA(DIMS(2), 1, 3), number_of(S32, 4)), v, 2);
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

BOTH_TEST(t7_a_jvp_of_the_callers_in_both_modes) {
  // x^2, whose tangent is said to be 100 x t.
  const lxla_tensor x = HOLE(DIMS(2)), t = HOLE(DIMS(2)), a = DATA(DIMS(2), 1, 2), square = mul(x, x);
  const lxla_computation primal = traces(&x, 1, &square, 1), rule = traces(TENSORS(x, t), TENSORS(square, times(mul(x, t), 100)));
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

BOTH_TEST(t7_a_rule_that_does_not_fit_is_refused) {
  const lxla_tensor x = HOLE(DIMS(2)), t = HOLE(DIMS(2)), wide = HOLE(DIMS(3));
  const lxla_computation same = traces(&x, 1, &x, 1), of_wide = traces(&wide, 1, &wide, 1), two = traces(TENSORS(x, t), TENSORS(x, t));
  const lxla_computation keeps = traces(&x, 1, TENSORS(x, x)), sums = traces(&x, 1, (lxla_tensor[]){total(x)}, 1), back = traces(TENSORS(x, t), &t, 1);
  lxla_computation c = {77};
  const double before = live();
  REFUSED(lxla_computation_with_vjp(same, of_wide, back, &c), BAD, "forward: its parameters are (f32[3]); want (f32[2])");
  REFUSED(lxla_computation_with_vjp(same, sums, back, &c), BAD, "forward: its results are (f32[]); want those of primal, (f32[2])");
  REFUSED(lxla_computation_with_vjp(same, keeps, same, &c), BAD, "backward: its parameters are (f32[2]); want (f32[2], f32[2])");
  REFUSED(lxla_computation_with_vjp(same, keeps, two, &c), BAD, "backward: its results are (f32[2], f32[2]); want (f32[2])");
  REFUSED(lxla_computation_with_jvp(same, same, &c), BAD, "jvp: its parameters are (f32[2]); want (f32[2], f32[2])");
  REFUSED(lxla_computation_with_jvp(same, back, &c), BAD, "jvp: its results are (f32[2]); want (f32[2], f32[2])");
  lxla_env other;
  OK(lxla_env_create(NULL, &other));
  lxla_tensor foreign;
  lxla_computation far;
  OK(lxla_tensor_placeholder(other, device, F32, DIMS(2), &foreign));
  OK(lxla_computation_trace(&foreign, 1, &foreign, 1, &far));
  REFUSED(lxla_computation_with_vjp(same, same, far, &c), BAD, "backward: traced on another device, or in another environment, than primal");
  REFUSED(lxla_computation_with_vjp(same, far, same, &c), BAD, "forward: traced on");
  OK(lxla_computation_release(far));
  RELEASE(foreign);
  OK(lxla_env_release(other));
  const lxla_computation none_c = {0};
  REFUSED(lxla_computation_with_vjp(none_c, same, same, &c), LXLA_INVALID_HANDLE, "primal");
  REFUSED(lxla_computation_with_vjp(same, none_c, same, &c), LXLA_INVALID_HANDLE, "forward");
  REFUSED(lxla_computation_with_vjp(same, same, none_c, &c), LXLA_INVALID_HANDLE, "backward");
  REFUSED(lxla_computation_with_jvp(same, none_c, &c), LXLA_INVALID_HANDLE, "jvp");
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
  options.captured = 1;
  REFUSED(lxla_computation_value_and_grad(traces(&x, 1, (lxla_tensor[]){total(y)}, 1), &options, &c), LXLA_UNIMPLEMENTED, "captured");
  EQUAL(c.id, 77);
}

// --- T8: values that derivatives take as constants, or that have names ---

BOTH_TEST(t8_stopped_gradients_are_zero) {
  const lxla_tensor x = HOLE(DIMS(2)), a = DATA(DIMS(2), 3, 5);
  lxla_tensor v[3];
  const lxla_computation half = traces(&x, 1, (lxla_tensor[]){total(mul(x, stopped(x)))}, 1), none_of_it = traces(&x, 1, (lxla_tensor[]){total(stopped(x))}, 1);
  apply(value_and_grad(half), &a, 1, v, 2);
  IS(v[0], SCALAR, 34);
  IS(v[1], DIMS(2), 3, 5);
  apply(value_and_grad(none_of_it), &a, 1, v, 2);
  IS(v[0], SCALAR, 8);
  IS(v[1], DIMS(2), 0, 0);
  apply(jvp(none_of_it, NULL, 0), TENSORS(a, a), v, 2);
  IS(v[1], SCALAR, 0);
  apply(vmap(value_and_grad(half), LIST(int64_t, 0), LIST(int64_t, 0, 0), 2), (lxla_tensor[]){DATA(DIMS(2, 2), 1, 2, 3, 4)}, 1, v, 2);
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

// --- T9: what does not fit ---

BOTH_TEST(t9_bad_arguments_of_transformations_are_named) {
  const lxla_tensor x = HOLE(DIMS(2)), n = hole_of(S32, SCALAR), y = HOLE(DIMS(3, 2));
  const lxla_computation f = traces(TENSORS(x, n), TENSORS(total(x), n)), vector = traces(TENSORS(x, y), TENSORS(x, y)), none_c = {0};
  lxla_computation c = {77}, d = {77}, gone;
  size_t residuals = 77;
  lxla_vjp_options options = vjp_defaults();
  const double before = live();
#define BAD_WRT(words, ...)                                                                                    \
  do {                                                                                                         \
    options.wrt = (size_t[]){__VA_ARGS__}, options.n_wrt = sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t);   \
    REFUSED(lxla_computation_jvp(f, options.wrt, options.n_wrt, &c), BAD, words);                              \
    REFUSED(lxla_computation_value_and_grad(f, &options, &c), BAD, words);                                     \
    REFUSED(lxla_computation_vjp(f, &options, &c, &d, &residuals), BAD, words);                                \
  } while (0)
  BAD_WRT("wrt[1] is 2; the computation has 2 parameters", 0, 2);
  BAD_WRT("wrt[0] is 18446744073709551615", SIZE_MAX);
  BAD_WRT("wrt: parameter 0 is given twice", 0, 0);
  BAD_WRT("wrt[0] is 1, and parameter 1 is s32[]; want a float or complex dtype", 1);
  options.wrt = NULL;
  CHECK(lxla_computation_vjp(f, &options, &c, &d, &residuals) != LXLA_OK && strstr(lxla_last_error_message(), "options.wrt: "));
  CHECK(lxla_computation_jvp(f, NULL, 1, &c) != LXLA_OK && strstr(lxla_last_error_message(), "wrt: "));
  options = vjp_defaults();
  options.checkpoint = 5;
  REFUSED(lxla_computation_vjp(f, &options, &c, &d, &residuals), BAD, "options.checkpoint: 5");
  options.checkpoint = -1;
  REFUSED(lxla_computation_value_and_grad(f, &options, &c), BAD, "options.checkpoint: -1");
  options.checkpoint = LXLA_CHECKPOINT_SAVE_NONE, options.saved_names = (const char *[]){"a", NULL}, options.n_saved_names = 1;
  REFUSED(lxla_computation_vjp(f, &options, &c, &d, &residuals), BAD, "options.saved_names");
  options.checkpoint = LXLA_CHECKPOINT_SAVE_NAMED, options.n_saved_names = 2;
  REFUSED(lxla_computation_vjp(f, &options, &c, &d, &residuals), LXLA_NULL_ARGUMENT, "options.saved_names");
  options.saved_names = NULL;
  REFUSED(lxla_computation_vjp(f, &options, &c, &d, &residuals), LXLA_NULL_ARGUMENT, "options.saved_names");
  options = vjp_defaults();
  options.captured = 3;
  REFUSED(lxla_computation_vjp(f, &options, &c, &d, &residuals), BAD, "options.captured: 3");
  options.struct_size = 4;
  REFUSED(lxla_computation_vjp(f, &options, &c, &d, &residuals), BAD, "sizeof(lxla_vjp_options)");
  REFUSED(lxla_vjp_options_init(&options), BAD, "struct_size is 4");
  REFUSED(lxla_vjp_options_init(NULL), LXLA_NULL_ARGUMENT, "options");
  REFUSED(lxla_computation_value_and_grad(vector, NULL, &c), BAD, "f: its first result is f32[2]; want a float scalar");
  REFUSED(lxla_computation_value_and_grad(traces(TENSORS(x, n), &n, 1), NULL, &c), BAD, "first result is s32[]");
  REFUSED(lxla_computation_jvp(none_c, NULL, 0, &c), LXLA_INVALID_HANDLE, "f");
  OK(lxla_computation_trace(&x, 1, &x, 1, &gone));
  OK(lxla_computation_release(gone));
  REFUSED(lxla_computation_jvp(gone, NULL, 0, &c), LXLA_INVALID_HANDLE, "f");
  REFUSED(lxla_computation_vjp(gone, NULL, &c, &d, &residuals), LXLA_INVALID_HANDLE, "f");
  REFUSED(lxla_computation_value_and_grad(gone, NULL, &c), LXLA_INVALID_HANDLE, "f");
  REFUSED(lxla_computation_vmap(gone, LIST(int64_t, 0), LIST(int64_t, 0), 2, &c), LXLA_INVALID_HANDLE, "f");
  REFUSED(lxla_computation_jvp(f, NULL, 0, NULL), LXLA_NULL_ARGUMENT, "out_computation");
  REFUSED(lxla_computation_value_and_grad(f, NULL, NULL), LXLA_NULL_ARGUMENT, "out_computation");
  REFUSED(lxla_computation_vjp(f, NULL, NULL, &d, &residuals), LXLA_NULL_ARGUMENT, "out_forward");
  REFUSED(lxla_computation_vjp(f, NULL, &c, NULL, &residuals), LXLA_NULL_ARGUMENT, "out_backward");
  REFUSED(lxla_computation_vjp(f, NULL, &c, &d, NULL), LXLA_NULL_ARGUMENT, "out_n_residuals");
  // Batches.
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
  EQUAL(c.id, 77);
  EQUAL(d.id, 77);
  EQUAL(residuals, 77);
  EQUAL(live(), before);
}

XLA_TEST(t9_bad_arguments_of_gradients_are_named) {
  const lxla_tensor x = DATA(DIMS(2), 1, 2), y = mul(x, x), s = total(y), n = own(ARRAY(S32, int32_t, DIMS(2), 1, 2)), twice = plus(n, 1);
  const lxla_tensor wide = DATA(DIMS(3), 1, 2, 3);
  lxla_tensor out[2] = {{77}, {77}};
  const double before = live();
  REFUSED(lxla_gradients(&y, 1, NULL, &x, 1, out), BAD, "cotangents: NULL given, and ys[0] is f32[2]; without cotangents, want scalars");
  REFUSED(lxla_gradients(&y, 1, &wide, &x, 1, out), BAD, "cotangents[0] is f32[3]; ys[0] is f32[2]");
  REFUSED(lxla_gradients(&y, 1, &n, &x, 1, out), BAD, "cotangents[0] is s32[2]; ys[0] is f32[2]");
  REFUSED(lxla_gradients(&s, 1, NULL, &n, 1, out), BAD, "xs[0] is s32[2]; want a float or complex dtype");
  REFUSED(lxla_gradients(TENSORS(s, twice), NULL, &x, 1, out), BAD, "ys[1] is s32[2]; want a float or complex dtype");
  REFUSED(lxla_gradients(&s, 0, NULL, &x, 1, out), BAD, "n_ys: 0 given; want at least 1");
  REFUSED(lxla_gradients(&s, 1, NULL, &x, 0, out), BAD, "n_xs: 0 given; want at least 1");
  REFUSED(lxla_gradients(NULL, 1, NULL, &x, 1, out), LXLA_NULL_ARGUMENT, "ys");
  REFUSED(lxla_gradients(&s, 1, NULL, NULL, 1, out), LXLA_NULL_ARGUMENT, "xs");
  REFUSED(lxla_gradients(&s, 1, NULL, &x, 1, NULL), LXLA_NULL_ARGUMENT, "out_gradients");
  REFUSED(lxla_gradients(&none, 1, NULL, &x, 1, out), LXLA_INVALID_HANDLE, "ys[0]");
  REFUSED(lxla_gradients(&s, 1, NULL, TENSORS(x, none), out), LXLA_INVALID_HANDLE, "xs[1]");
  REFUSED(lxla_gradients(&s, 1, &none, &x, 1, out), LXLA_INVALID_HANDLE, "cotangents[0]");
  device = (lxla_device){LXLA_DEVICE_CPU, 0};
  const lxla_tensor eager = DATA(DIMS(2), 1, 2), eager_sum = total(eager);
  device = XLA(0);
  REFUSED(lxla_gradients(&s, 1, NULL, &eager, 1, out), BAD, "xs[0]");
  REFUSED(lxla_gradients(&eager_sum, 1, NULL, &eager, 1, out), BAD, "eager tensors");
  EQUAL(out[0].id, 77);
  EQUAL(live() - 2, before);
  // The pending values are as they were.
  IS(s, SCALAR, 5);
}

// The last test, since it names a plugin that does not exist.
TEST(native_derivatives_load_no_plugin) {
  CHECK(setenv("LXLA_PJRT_PLUGIN", "no/such/plugin.so", 1) == 0);
  env = new_env();
  device = (lxla_device){LXLA_DEVICE_CPU, 0};
  t1_gradients_of_what_waits_for_a_placeholder_run();
  t4_a_scan_has_the_gradient_of_its_unrolled_loop_run();
  t5_derivatives_of_a_cubic_function_run();
  t6_vmap_of_branches_and_loops_run();
  t7_a_vjp_of_the_callers_in_calls_scans_and_batches_run();
  EQUAL(counter(env, "LiveBytes"), 0);
  OK(lxla_env_release(env));
}
