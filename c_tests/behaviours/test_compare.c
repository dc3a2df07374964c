// lxla_computation_compare: the operation whose value is wrong on a device. The fault plugin compiles minima where the
// program has maxima (LXLA_FAULT_MISCOMPILE), once an environment has checked it.
#include "computation.h"
#include "fault.h"

static lxla_env wrong_env(void) {
  lxla_env env = fault_env();
  CHECK(setenv("LXLA_FAULT_MISCOMPILE", "maximum=minimum", 1) == 0);
  return env;
}

// Ends an environment in which nothing may be left.
static void end(lxla_env env) {
  CHECK(unsetenv("LXLA_FAULT_MISCOMPILE") == 0);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

static char *compared(lxla_env env, lxla_computation c, const lxla_tensor *args, size_t n) {
  char *text;
  OK(lxla_computation_compare(env, XLA(0), c, args, n, 0, &text));
  return text;
}

// Compares, and expects these words in the answer. Releases the computation.
static void says(lxla_env env, lxla_computation c, const lxla_tensor *args, size_t n, const char *const *words,
                 size_t count) {
  char *text = compared(env, c, args, n);
  for (size_t i = 0; i < count; i++)
    if (!strstr(text, words[i])) FAIL("want %s in %s", words[i], text);
  lxla_string_free(text);
  OK(lxla_computation_release(c));
}
#define SAYS(env, c, args, n, ...) \
  says(env, c, args, n, (const char *[]){__VA_ARGS__}, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *))

#define MAX LXLA_BINARY_MAXIMUM

static lxla_tensor under(const char *label, int32_t op, lxla_tensor x, double by) {
  OK(lxla_label_push(label));
  lxla_tensor out = scalar(op, x, by);
  OK(lxla_label_pop());
  return out;
}

static lxla_tensor f32_placeholder(lxla_env env, int64_t size) { return placeholder(env, LXLA_DTYPE_F32, DIMS(size)); }

TEST(the_first_wrong_operation_is_found_and_not_its_consequences) {
  lxla_env env = wrong_env();
  lxla_tensor p = f32_placeholder(env, 2), x = from_f32(env, DIMS(2), (float[]){1, 2});
  lxla_tensor y = under("model", MUL, p, 2), z = under("clip", MAX, y, 3), w = scalar(ADD, z, 1);
  lxla_tensor more = scalar(MAX, w, 9);
  SAYS(
      env, traced(TENSORS(p), TENSORS(more, y)), &x, 1,
      "{\"accumulated\":[],\"compared\":2,\"found\":{\"device\":\"2.0\",\"difference\":1.0,\"differing\":2,\"index\":[0],"
      "\"inside\":[],\"label\":\"clip\",\"native\":\"3.0\",\"operands\":[{\"first\":[\"2.0\",\"4.0\"],\"name\":\"lhs\",\"type\":\"f32[2]\","
      "\"value\":\"2.0\"},{\"first\":[\"3.0\"],\"name\":\"rhs\",\"type\":\"f32[]\",\"value\":\"3.0\"}],\"operation\":\"maximum\"",
      "\"type\":\"f32[2]\",\"ulps\":4194304.0}",
      // The results differ as a call does: min(min({2, 4}, 3) + 1, 9) for max(max({2, 4}, 3) + 1, 9).
      "{\"differing\":2,\"index\":0,\"largest\":{\"device\":\"3.0\",\"difference\":6.0,\"index\":[0],\"native\":\"9.0\"",
      "{\"differing\":0,\"index\":1,\"type\":\"f32[2]\"}");
  // The argument is as it was, and the computation of a program without maxima is right.
  float values[2];
  OK(lxla_tensor_read(x, values, sizeof values));
  CHECK(values[0] == 1 && values[1] == 2);
  SAYS(env, traced(TENSORS(p), TENSORS(y)), &x, 1, "\"compared\":1,\"found\":null,\"largest_within\":0.0");
  // An integer has no unit in the last place, and no rounding.
  lxla_tensor q = placeholder(env, LXLA_DTYPE_S32, DIMS(2)), most = scalar(MAX, q, 4), i;
  OK(lxla_tensor_from_host(env, XLA(0), LXLA_DTYPE_S32, DIMS(2), (int32_t[]){4, 7}, 8, &i));
  SAYS(env, traced(TENSORS(q), TENSORS(most)), &i, 1,
       "\"device\":\"4\",\"difference\":3.0,\"differing\":1,\"index\":[1]", "\"native\":\"7\"",
       "\"rounding\":null,\"type\":\"s32[2]\",\"ulps\":null");
  RELEASE(p, x, y, z, w, more, q, most, i);
  end(env);
}

TEST(wrong_operations_are_found_in_scans_loops_branches_and_calls) {
  lxla_env env = wrong_env();
  lxla_tensor p = f32_placeholder(env, 1), slice = f32_placeholder(env, 1);
  lxla_tensor most = under("cell", MAX, slice, 1), sum = binary(ADD, p, most);
  lxla_computation body = traced(TENSORS(p, slice), TENSORS(sum, most));
  // Both maxima and minima of 1 and 1 are 1: the first slices are right.
  lxla_tensor xs = placeholder(env, LXLA_DTYPE_F32, DIMS(4, 1)), from = f32_placeholder(env, 1), ends, stacked;
  OK(lxla_scan(body, &from, 1, &xs, 1, 4, 0, &ends, &stacked, 1));
  lxla_tensor twice = scalar(MUL, ends, 2);
  lxla_computation whole = traced(TENSORS(from, xs), TENSORS(twice, stacked));
  lxla_tensor zero = one(env, 0), values = from_f32(env, DIMS(4, 1), (float[]){1, 1, 5, 1});
  SAYS(
      env, whole, ((lxla_tensor[]){zero, values}), 2,
      "\"device\":\"1.0\",\"difference\":4.0,\"differing\":1,\"index\":[0],"
      "\"inside\":[{\"body\":0,\"iteration\":2,\"label\":null,\"operation\":\"scan\"}],\"label\":\"cell\",\"native\":\"5.0\"");

  // A call of it in a branch, of a loop, under labels. `p` is below 3 in the first iterations.
  lxla_tensor again = f32_placeholder(env, 1), result[2], pred, next, sign, none_left, grown;
  OK(lxla_label_push("outer"));
  OK(lxla_computation_call(body, TENSORS(again, again), result, 2));
  OK(lxla_label_pop());
  lxla_computation right = traced(TENSORS(again), TENSORS(result[0]));
  lxla_tensor plain = scalar(ADD, again, 1);
  lxla_computation left = traced(TENSORS(again), TENSORS(plain));
  lxla_tensor limit = from_f32(env, NULL, 0, (float[]){2.5f});
  OK(lxla_reduce(LXLA_REDUCE_SUM, again, (int64_t[]){0}, 1, 0, &sign));
  OK(lxla_compare(LXLA_COMPARE_GT, sign, limit, &pred));
  OK(lxla_cond(pred, right, left, &again, 1, &next, 1));
  lxla_computation iterate = traced(TENSORS(again), TENSORS(next));
  lxla_tensor bound = from_f32(env, NULL, 0, (float[]){100});
  OK(lxla_compare(LXLA_COMPARE_LT, sign, bound, &none_left));
  lxla_computation goes_on = traced(TENSORS(again), TENSORS(none_left));
  OK(lxla_while(goes_on, iterate, &from, 1, &grown));
  // 0, 1, 2, 3, then 3 + max(3, 1) = 6; on the device 3 + min(3, 1) = 4.
  SAYS(env, traced(TENSORS(from), TENSORS(grown)), &zero, 1,
       "\"inside\":[{\"body\":1,\"iteration\":3,\"label\":null,\"operation\":\"while\"},"
       "{\"body\":0,\"iteration\":0,\"label\":null,\"operation\":\"cond\"}],\"label\":\"cell\",\"native\":\"3.0\"");
  RELEASE(p, slice, most, sum, xs, from, ends, stacked, twice, zero, values, again, result[0], result[1], pred, next);
  RELEASE(sign, none_left, grown, plain, limit, bound);
  lxla_computation all[] = {body, right, left, iterate, goes_on};
  for (int i = 0; i < 5; i++) OK(lxla_computation_release(all[i]));
  end(env);
}

// A network with products, sums, moves and captured weights; x is f32[8,16].
static lxla_tensor network(lxla_env env, lxla_tensor x, lxla_tensor weights) {
  (void)env;
  lxla_tensor h, out, loss, first;
  OK(lxla_matmul(x, weights, &h));
  OK(lxla_unary(LXLA_UNARY_TANH, h, &out));
  OK(lxla_reduce(LXLA_REDUCE_SUM, out, (int64_t[]){0, 1}, 2, 0, &loss));
  OK(lxla_unary(LXLA_UNARY_EXPONENTIAL, loss, &first));
  RELEASE(h, out, loss);
  return first;
}

TEST(rounding_is_not_found_and_captured_values_are_arguments) {
  lxla_env env = new_env();
  float data[8 * 16], of_weights[16 * 16];
  for (int i = 0; i < 8 * 16; i++) data[i] = (float)sin(i * 0.37) * 3;
  for (int i = 0; i < 16 * 16; i++) of_weights[i] = (float)cos(i * 0.91);
  lxla_tensor p = placeholder(env, LXLA_DTYPE_F32, DIMS(8, 16)), x = from_f32(env, DIMS(8, 16), data);
  lxla_tensor weights = from_f32(env, DIMS(16, 16), of_weights), pending = scalar(MUL, x, 1.5),
              y = network(env, p, weights);
  lxla_tensor gradient;
  OK(lxla_gradients(&y, 1, NULL, &p, 1, &gradient));
  lxla_computation c = traced(TENSORS(p), TENSORS(y, gradient));
  char *text = compared(env, c, &pending, 1);
  CHECK(strstr(text, "\"found\":null") && strstr(text, "\"not_compared\":[]") && strstr(text, "\"accumulated\":[]"));
  CHECK(strstr(text, "\"type\":\"f32[8,16]\""));
  lxla_string_free(text);
  OK(lxla_computation_release(c));
  RELEASE(p, x, weights, pending, y, gradient);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

// Compares a computation of `p` that the device computes correctly. Returns the answer.
static char *right_answer(lxla_env env, lxla_tensor p, lxla_tensor y, lxla_tensor x) {
  lxla_computation c = traced(TENSORS(p), TENSORS(y));
  char *text = compared(env, c, &x, 1);
  if (!strstr(text, "\"found\":null")) FAIL("%s", text);
  OK(lxla_computation_release(c));
  return text;
}

TEST(long_products_and_solutions_of_bad_condition_are_right) {
  enum { COUNT = 20000, SIZE = 8 };
  lxla_env env = new_env();
  float *factors = malloc(COUNT * sizeof *factors), hilbert[SIZE * SIZE], ones[SIZE * SIZE] = {0};
  for (int i = 0; i < COUNT; i++) factors[i] = 1 + (float)sin(i * 1.7) * 0.01f;
  lxla_tensor p = f32_placeholder(env, COUNT), x = from_f32(env, DIMS(COUNT), factors), y;
  OK(lxla_reduce(LXLA_REDUCE_PRODUCT, p, (int64_t[]){0}, 1, 0, &y));
  lxla_string_free(right_answer(env, p, y, x));
  free(factors);
  RELEASE(p, x, y);
  // Hilbert's matrix has the condition 1.5e10, more than f32 resolves.
  for (int i = 0; i < SIZE; i++)
    for (int j = 0; j < SIZE; j++) hilbert[i * SIZE + j] = 1.0f / (float)(i + j + 1);
  lxla_tensor q = placeholder(env, LXLA_DTYPE_F32, DIMS(SIZE, SIZE)), h = from_f32(env, DIMS(SIZE, SIZE), hilbert);
  lxla_tensor inverse;
  OK(lxla_inverse(q, &inverse));
  lxla_string_free(right_answer(env, q, inverse, h));
  // Each vector is an eigenvector of the matrix of ones in a space of 7 dimensions.
  for (int i = 0; i < SIZE * SIZE; i++) ones[i] = 1;
  lxla_tensor all = from_f32(env, DIMS(SIZE, SIZE), ones), values, vectors;
  OK(lxla_eigh(q, 1, &values, &vectors));
  lxla_string_free(right_answer(env, q, vectors, all));
  RELEASE(q, h, inverse, all, values, vectors);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

// A computation of two scalars.
static lxla_computation of_scalars(lxla_env env, int32_t op) {
  lxla_tensor a = placeholder(env, LXLA_DTYPE_F32, NULL, 0), b = placeholder(env, LXLA_DTYPE_F32, NULL, 0);
  lxla_tensor both = binary(op, a, b);
  lxla_computation c = traced(TENSORS(a, b), TENSORS(both));
  RELEASE(a, b, both);
  return c;
}

static lxla_computation at_least_of_scalars(lxla_env env) {
  lxla_tensor a = placeholder(env, LXLA_DTYPE_F32, NULL, 0), b = placeholder(env, LXLA_DTYPE_F32, NULL, 0), keeps;
  OK(lxla_compare(LXLA_COMPARE_GE, a, b, &keeps));
  lxla_computation c = traced(TENSORS(a, b), TENSORS(keeps));
  RELEASE(a, b, keeps);
  return c;
}

enum { MANY = 4096, WINDOW = 1024, WINDOWS = MANY - WINDOW + 1 };

// Combines the elements of p in windows, in scatters to one of 4 places, all at once, and where a window is largest.
static void combined(lxla_env env, int32_t op, lxla_tensor p, lxla_tensor start, lxla_tensor places,
                     lxla_tensor out[4]) {
  lxla_computation body = of_scalars(env, op), select = at_least_of_scalars(env);
  lxla_window_options options = {.struct_size = sizeof options};
  OK(lxla_window_options_init(&options));
  options.rank = 1, options.window_dimensions = (int64_t[]){WINDOW};
  OK(lxla_reduce_window(body, &p, &start, 1, &options, &out[0]));
  lxla_scatter_options scatter = {.struct_size = sizeof scatter};
  OK(lxla_scatter_options_init(&scatter));
  lxla_tensor four, part;
  OK(lxla_broadcast_to(start, (int64_t[]){4}, 1, &four));
  scatter.inserted_window_dims = scatter.scatter_dims_to_operand_dims = (int64_t[]){0};
  scatter.n_inserted_window_dims = scatter.n_scatter_dims_to_operand_dims = 1, scatter.index_vector_dim = 1;
  OK(lxla_scatter(body, &four, places, &p, 1, &scatter, &out[1]));
  OK(lxla_reduce_with(body, &p, &start, 1, (int64_t[]){0}, 1, &out[2]));
  OK(lxla_slice(p, (int64_t[]){0}, (int64_t[]){WINDOWS}, NULL, 1, &part));
  OK(lxla_select_and_scatter(select, body, p, part, start, &options, &out[3]));
  RELEASE(four, part);
  OK(lxla_computation_release(body));
  OK(lxla_computation_release(select));
}

// The device combines in an order of its own, and adds products before they are rounded.
TEST(orders_of_combination_are_rounding) {
  lxla_env env = new_env();
  float *values = malloc(MANY * sizeof *values);
  int32_t *to = malloc(MANY * sizeof *to);
  for (int i = 0; i < MANY; i++) to[i] = (int32_t)(i * 2654435761u >> 30);
  lxla_tensor p = f32_placeholder(env, MANY), places;
  OK(lxla_tensor_from_host(env, XLA(0), LXLA_DTYPE_S32, DIMS(MANY, 1), to, MANY * sizeof *to, &places));
  for (int32_t op = ADD; op != -1; op = op == ADD ? MUL : -1) {
    // Sums of about 0, of terms up to 1000; products of about 1.
    for (int i = 0; i < MANY; i++) values[i] = op == ADD ? (float)sin(i * 1.7) * 1000 : 1 + (float)sin(i * 1.7) * 0.01f;
    lxla_tensor x = from_f32(env, DIMS(MANY), values), out[4];
    lxla_tensor start = from_f32(env, NULL, 0, (float[]){op == ADD ? 0 : 1});
    lxla_tensor scaled = scalar(MUL, p, op == ADD ? 1.1 : 1.001);
    combined(env, op, scaled, start, places, out);
    for (int i = 0; i < 4; i++) lxla_string_free(right_answer(env, p, out[i], x));
    RELEASE(x, start, scaled, out[0], out[1], out[2], out[3]);
  }
  RELEASE(p, places);
  free(values);
  free(to);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}

TEST(wrong_combinations_are_found) {
  static const char *const found[] = {"\"operation\":\"reduce_window\"", "\"operation\":\"scatter\"",
                                      "\"operation\":\"reduce_with\"", "\"operation\":\"select_and_scatter\""};
  lxla_env env = wrong_env();
  float *values = malloc(MANY * sizeof *values);
  int32_t *to = malloc(MANY * sizeof *to);
  for (int i = 0; i < MANY; i++) values[i] = (float)sin(i * 1.7), to[i] = (int32_t)(i * 2654435761u >> 30);
  lxla_tensor p = f32_placeholder(env, MANY), x = from_f32(env, DIMS(MANY), values), places, out[4];
  lxla_tensor start = from_f32(env, NULL, 0, (float[]){0.5f});
  OK(lxla_tensor_from_host(env, XLA(0), LXLA_DTYPE_S32, DIMS(MANY, 1), to, MANY * sizeof *to, &places));
  combined(env, MAX, p, start, places, out);
  for (int i = 0; i < 4; i++) {
    // Reductions are written as minima of negated elements.
    CHECK(setenv("LXLA_FAULT_MISCOMPILE", i % 2 ? "maximum=minimum" : "minimum=maximum", 1) == 0);
    SAYS(env, traced(TENSORS(p), TENSORS(out[i])), &x, 1, found[i]);
  }
  RELEASE(p, x, places, start, out[0], out[1], out[2], out[3]);
  free(values);
  free(to);
  end(env);
}

// A kernel that is wrong in every other call. Each comparison of one call runs it twice on the device, each time before
// the native evaluation.
static int calls;
static int32_t is_wrong_at_first(const lxla_kernel_call *call, void *user) {
  (void)user;
  const float *in = call->inputs[0].data;
  float *out = call->outputs[0].data;
  for (size_t i = 0; i < 3; i++) out[i] = in[i] * 2 + (calls % 2 == 0 && i == 1 ? 0.5f : 0);
  calls++;
  return 0;
}

TEST(a_kernel_with_other_values_on_the_device_is_found) {
  lxla_env env = new_env();
  lxla_tensor p = f32_placeholder(env, 3), x = from_f32(env, DIMS(3), (float[]){1, 2, 3}), y;
  OK(lxla_kernel_register(env, "twice", is_wrong_at_first, NULL, NULL));
  OK(lxla_label_push("kernels"));
  OK(lxla_kernel_apply(env, "twice", &p, 1, (int32_t[]){LXLA_DTYPE_F32}, (size_t[]){1}, (int64_t[]){3}, 1, NULL, &y));
  OK(lxla_label_pop());
  lxla_tensor z = scalar(ADD, y, 1);
  lxla_computation c = traced(TENSORS(p), TENSORS(z));
  char *text;
  lxla_status status = lxla_computation_compare(env, XLA(0), c, &x, 1, 0, &text);
  if (status == LXLA_UNIMPLEMENTED) {  // a plugin that calls no functions of the process
    CHECK(strstr(lxla_last_error_message(), "FFI"));
  } else {
    EQUAL(status, LXLA_OK);
    const char *wanted =
        "\"found\":{\"device\":\"4.5\",\"difference\":0.5,\"differing\":1,\"index\":[1],\"inside\":[],"
        "\"label\":\"kernels\",\"native\":\"4.0\"";
    if (!strstr(text, wanted)) FAIL("%s", text);
    lxla_string_free(text);
  }
  OK(lxla_computation_release(c));
  RELEASE(p, x, y, z);
  OK(lxla_kernel_unregister(env, "twice"));
  OK(lxla_env_release(env));
}

TEST(wrong_arguments_are_refused_and_nothing_is_lost) {
  lxla_env env = new_env();
  lxla_tensor p = f32_placeholder(env, 2), y = scalar(MUL, p, 2), x = from_f32(env, DIMS(2), (float[]){1, 2});
  lxla_tensor other = one(env, 3);
  lxla_computation c = traced(TENSORS(p), TENSORS(y)), no_computation = {0};
  const lxla_device cpu = {LXLA_DEVICE_CPU, 0};
  char *text = NULL;
#define BAD(wanted, words, ...) REFUSED(lxla_computation_compare(__VA_ARGS__, &text), wanted, words)
  BAD(LXLA_INVALID_ARGUMENT, "device: it is cpu; want an XLA device", env, cpu, c, &x, 1, 0);
  BAD(LXLA_INVALID_ARGUMENT, "args: 0 given; the computation takes 1 parameters", env, XLA(0), c, NULL, 0, 0);
  BAD(LXLA_INVALID_ARGUMENT, "args[0] is f32[1]; the computation's parameter 0 is f32[2]", env, XLA(0), c, &other, 1,
      0);
  BAD(LXLA_INVALID_ARGUMENT, "tolerance: -1 given", env, XLA(0), c, &x, 1, -1);
  BAD(LXLA_INVALID_ARGUMENT, "tolerance: NaN given", env, XLA(0), c, &x, 1, NAN);
  BAD(LXLA_INVALID_ARGUMENT, "tolerance: inf given", env, XLA(0), c, &x, 1, INFINITY);
  BAD(LXLA_FAILED_PRECONDITION, "args[0]", env, XLA(0), c, &p, 1, 0);
  BAD(LXLA_INVALID_HANDLE, "computation", env, XLA(0), no_computation, &x, 1, 0);
  BAD(LXLA_NULL_ARGUMENT, "args", env, XLA(0), c, NULL, 1, 0);
  REFUSED(lxla_computation_compare(env, XLA(0), c, &x, 1, 0, NULL), LXLA_NULL_ARGUMENT, "out_json");
  CHECK(!text);
  // A device without a number, and native arguments.
  lxla_tensor native;
  OK(lxla_tensor_to_device(x, cpu, &native));
  OK(lxla_computation_compare(env, (lxla_device){0}, c, &native, 1, 1e-3, &text));
  CHECK(strstr(text, "\"found\":null"));
  lxla_string_free(text);
  RELEASE(p, y, x, other, native);
  OK(lxla_computation_release(c));
  no_live_bytes(env);
  OK(lxla_env_release(env));
}
