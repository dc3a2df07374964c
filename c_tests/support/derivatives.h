// Helpers of tests of derivatives and batching, on an XLA device and natively.
#ifndef LXLA_TEST_DERIVATIVES_H
#define LXLA_TEST_DERIVATIVES_H

#include "combiners.h"
#include "near.h"

// --- Values of a test: all are released at its end. ---

static lxla_tensor tensors[2048];
static lxla_computation computations[512];
static size_t n_tensors, n_computations;

static inline lxla_tensor own(lxla_tensor x) {
  CHECK(n_tensors < sizeof tensors / sizeof *tensors);
  return tensors[n_tensors++] = x;
}

static inline lxla_computation owned(lxla_computation c) {
  CHECK(n_computations < sizeof computations / sizeof *computations);
  return computations[n_computations++] = c;
}

static inline void release_all(void) {
  OK(lxla_tensor_release_many(tensors, n_tensors));
  for (size_t i = 0; i < n_computations; i++) OK(lxla_computation_release(computations[i]));
  n_tensors = n_computations = 0;
}

// BOTH_TEST(name) { ... }: a test on an XLA device and on cpu. XLA_TEST(name) { ... }: on an XLA device.
#define BOTH_TEST(name)                                          \
  static void name##_body(void);                                 \
  static void name##_run(void) { name##_body(), release_all(); } \
  TEST(name) { on_both(name##_run); }                            \
  static void name##_body(void)
#define XLA_TEST(name)                \
  static void name##_body(void);      \
  TEST(name) {                        \
    env = new_env(), device = XLA(0); \
    name##_body(), release_all();     \
    no_live_bytes(env);               \
    OK(lxla_env_release(env));        \
  }                                   \
  static void name##_body(void)

// --- Operations ---

static inline lxla_tensor hole_of(int32_t dtype, const int64_t *dims, size_t rank) {
  lxla_tensor p;
  OK(lxla_tensor_placeholder(env, device, dtype, dims, rank, &p));
  return own(p);
}
#define HOLE(dims) hole_of(F32, dims)
#define DATA(dims, ...) own(array(F32, dims, (float[]){__VA_ARGS__}, sizeof((float[]){__VA_ARGS__})))

static inline lxla_tensor number_of(int32_t dtype, double value) { return own(at(dtype, value)); }
static inline lxla_tensor add(lxla_tensor a, lxla_tensor b) { return own(binary(ADD, a, b)); }
static inline lxla_tensor subtract(lxla_tensor a, lxla_tensor b) { return own(binary(SUB, a, b)); }
static inline lxla_tensor mul(lxla_tensor a, lxla_tensor b) { return own(binary(MUL, a, b)); }
static inline lxla_tensor times(lxla_tensor a, double b) { return own(scalar(MUL, a, b)); }
static inline lxla_tensor plus(lxla_tensor a, double b) { return own(scalar(ADD, a, b)); }

static inline lxla_tensor unary(int32_t op, lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_unary(op, x, &out));
  return own(out);
}
static inline lxla_tensor tanh_of(lxla_tensor x) { return unary(LXLA_UNARY_TANH, x); }

static inline lxla_tensor total(lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_reduce(LXLA_REDUCE_SUM, x, NULL, 0, 0, &out));
  return own(out);
}

static inline lxla_tensor product(lxla_tensor a, lxla_tensor b) {
  lxla_tensor out;
  OK(lxla_matmul(a, b, &out));
  return own(out);
}

static inline lxla_tensor transposed(lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_transpose(x, DIMS(1, 0), &out));
  return own(out);
}

// x[i], without the leading axis.
static inline lxla_tensor row(lxla_tensor x, int64_t i) {
  lxla_tensor slice, out;
  OK(lxla_slice_axis(x, 0, i, i + 1, 1, &slice));
  OK(lxla_squeeze(own(slice), (int64_t[]){0}, 1, &out));
  return own(out);
}

static inline lxla_tensor stacked(const lxla_tensor *list, size_t n) {
  lxla_tensor out;
  OK(lxla_stack(list, n, 0, &out));
  return own(out);
}

static inline lxla_tensor stopped(lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_stop_gradient(x, &out));
  return own(out);
}

static inline lxla_tensor marked(lxla_tensor x, const char *name) {
  lxla_tensor out;
  OK(lxla_checkpoint_name(x, name, &out));
  return own(out);
}

static inline lxla_tensor is_above(lxla_tensor x, double than) {
  lxla_tensor out;
  OK(lxla_compare_scalar(LXLA_COMPARE_GT, x, than, &out));
  return own(out);
}

static inline lxla_computation traces(const lxla_tensor *params, size_t n, const lxla_tensor *results,
                                      size_t n_results) {
  return owned(traced(params, n, results, n_results));
}

static inline void apply(lxla_computation c, const lxla_tensor *args, size_t n, lxla_tensor *out, size_t n_out) {
  OK(lxla_computation_call(c, args, n, out, n_out));
  for (size_t i = 0; i < n_out; i++) own(out[i]);
}

static inline size_t n_params(lxla_computation c) {
  size_t params, results, captured;
  OK(lxla_computation_info(c, &params, &results, &captured));
  return params;
}

static inline size_t n_results(lxla_computation c) {
  size_t params, results, captured;
  OK(lxla_computation_info(c, &params, &results, &captured));
  return results;
}

static inline void scan(lxla_computation body, const lxla_tensor *init, size_t n_init, const lxla_tensor *xs,
                        size_t n_xs, int64_t length, int32_t reverse, lxla_tensor *carry, lxla_tensor *ys,
                        size_t n_ys) {
  OK(lxla_scan(body, init, n_init, xs, n_xs, length, reverse, carry, ys, n_ys));
  for (size_t i = 0; i < n_init; i++) own(carry[i]);
  for (size_t i = 0; i < n_ys; i++) own(ys[i]);
}

// --- Transformations ---

static inline lxla_vjp_options vjp_defaults(void) {
  lxla_vjp_options options = {.struct_size = sizeof options};
  OK(lxla_vjp_options_init(&options));
  return options;
}

static inline lxla_computation value_and_grad_by(lxla_computation f, const lxla_vjp_options *options) {
  lxla_computation out;
  OK(lxla_computation_value_and_grad(f, options, &out));
  return owned(out);
}
static inline lxla_computation value_and_grad(lxla_computation f) { return value_and_grad_by(f, NULL); }

static inline lxla_computation jvp(lxla_computation f, const size_t *wrt, size_t n_wrt) {
  lxla_computation out;
  OK(lxla_computation_jvp(f, wrt, n_wrt, &out));
  return owned(out);
}

typedef struct {
  lxla_computation forward, backward;
  size_t residuals;
} passes;

static inline passes vjp_by(lxla_computation f, const lxla_vjp_options *options) {
  passes made;
  OK(lxla_computation_vjp(f, options, &made.forward, &made.backward, &made.residuals));
  owned(made.forward), owned(made.backward);
  return made;
}

// Calls both passes with `n_given` cotangents. Writes the gradients.
static inline void pull(passes p, const lxla_tensor *args, size_t n_args, const lxla_tensor *given, size_t n_given,
                        lxla_tensor *gradients) {
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

static inline lxla_computation vmap(lxla_computation f, const int64_t *in, size_t n_in, const int64_t *out,
                                    size_t n_out, int64_t size) {
  lxla_computation made;
  OK(lxla_computation_vmap(f, in, n_in, out, n_out, size, &made));
  return owned(made);
}

static inline void gradients(const lxla_tensor *ys, size_t n_ys, const lxla_tensor *cotangents, const lxla_tensor *xs,
                             size_t n_xs, lxla_tensor *out) {
  OK(lxla_gradients(ys, n_ys, cotangents, xs, n_xs, out));
  for (size_t i = 0; i < n_xs; i++) own(out[i]);
}

static inline lxla_tensor gradient(lxla_tensor y, lxla_tensor x) {
  lxla_tensor out;
  gradients(&y, 1, NULL, &x, 1, &out);
  return out;
}

// --- Comparison ---

static inline void is(const char *file, int line, lxla_tensor t, const int64_t *dims, size_t rank, const double *want,
                      double tolerance) {
  OK(lxla_tensor_retain(t));
  has_near(file, line, t, F32, dims, rank, want, tolerance);
}
// Compares an f32 tensor with a list of values, exactly, or within 1e-5 of the largest.
#define IS(t, dims, ...) is(__FILE__, __LINE__, t, dims, (double[]){__VA_ARGS__}, 0)
#define IS_NEAR(t, dims, ...) is(__FILE__, __LINE__, t, dims, (double[]){__VA_ARGS__}, 1e-5)

static inline void are_near(const char *file, int line, lxla_tensor a, lxla_tensor b) {
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

static inline double live(void) { return (double)counter(env, "CreateTensor") - (double)counter(env, "DestroyTensor"); }

// WITHOUT_PLUGIN(name, test, ...): runs tests of the file on cpu, in an environment whose plugin does not exist. Must
// be the last test of its file.
static inline void without_plugin(void (*const *runs)(void), size_t n) {
  CHECK(setenv("LXLA_PJRT_PLUGIN", "no/such/plugin.so", 1) == 0);
  env = new_env();
  device = (lxla_device){LXLA_DEVICE_CPU, 0};
  for (size_t i = 0; i < n; i++) runs[i]();
  no_live_bytes(env);
  OK(lxla_env_release(env));
}
#define WITHOUT_PLUGIN(name, ...)                     \
  TEST(name) {                                        \
    void (*const runs[])(void) = {__VA_ARGS__};       \
    without_plugin(runs, sizeof runs / sizeof *runs); \
  }

#endif
