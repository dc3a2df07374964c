// Tracing a user's function that has state, reads values, or changes its arguments; which tensor a gradient is by.
#include "frontend.h"

enum { ROWS = 4, WIDTH = 2, CALLS = 3 };

// Row `i` of a matrix, as a vector.
static lxla_tensor row(lxla_tensor x, int64_t i) {
  lxla_tensor slice, out;
  TRY(lxla_slice_axis(x, 0, i, i + 1, 1, &slice));
  TRY(lxla_squeeze(slice, (int64_t[]){0}, 1, &out));
  RELEASE(slice);
  return out;
}

// [recipe]
// State that a user's layer keeps from call to call: the running mean of a batch norm, and a random key.
typedef struct {
  lxla_tensor mean, key;
} state;

// The user's function: x - mean + noise. It updates its state: mean += (batch mean - mean) / 2, and the next key.
static lxla_tensor layer(state *s, lxla_tensor x) {
  lxla_tensor of_batch, keys, noise;
  TRY(lxla_mean(x, (int64_t[]){0}, 1, 0, &of_batch));
  TRY(lxla_random_split(LXLA_RNG_THREE_FRY, s->key, 2, &keys));
  lxla_tensor own = row(keys, 1), centred = binary(LXLA_BINARY_SUBTRACT, x, s->mean);
  TRY(lxla_random_normal(LXLA_RNG_THREE_FRY, own, LXLA_DTYPE_F32, DIMS(ROWS, WIDTH), &noise));
  lxla_tensor y = binary(LXLA_BINARY_ADD, centred, noise), sum = binary(LXLA_BINARY_ADD, s->mean, of_batch);
  RELEASE(s->mean, s->key);
  s->mean = binary_scalar(LXLA_BINARY_MULTIPLY, sum, 0.5);
  s->key = row(keys, 0);
  RELEASE(of_batch, keys, own, centred, noise, sum);
  return y;
}
// [recipe end]

// [recipe]
// The function with its state as parameters and results: x, mean, key -> y, mean, key. The state keeps its tensors.
static lxla_computation trace_layer(state *s, lxla_tensor x) {
  const state outside = *s;
  lxla_tensor in[3], seen, out[3], examples[] = {x, outside.mean, outside.key};
  lxla_computation traced;
  for (int i = 0; i < 3; i++) TRY(lxla_tensor_placeholder_like(examples[i], &in[i]));
  TRY(lxla_tensor_snapshot(in[0], &seen));  // the user's code has handles of its own: it may release or change them
  TRY(lxla_tensor_snapshot(in[1], &s->mean));
  TRY(lxla_tensor_snapshot(in[2], &s->key));
  out[0] = layer(s, seen), out[1] = s->mean, out[2] = s->key;
  *s = outside;
  TRY(lxla_computation_trace(in, 3, out, 3, &traced));
  TRY(lxla_tensor_release_many(in, 3));
  TRY(lxla_tensor_release_many(out, 3));
  RELEASE(seen);
  return traced;
}

static lxla_tensor call_layer(lxla_computation traced, state *s, lxla_tensor x) {
  lxla_tensor out[3];
  TRY(lxla_computation_call(traced, (lxla_tensor[]){x, s->mean, s->key}, 3, out, 3));
  TRY(lxla_tensor_assign(s->mean, out[1]));  // the state's tensors outlive the call, with their new values
  TRY(lxla_tensor_assign(s->key, out[2]));
  RELEASE(out[1], out[2]);
  return out[0];
}
// [recipe end]

static state new_state(void) {
  const uint32_t key[2] = {0, 42};
  state s = {from_floats(device, DIMS(WIDTH), (float[WIDTH]){0}), {0}};
  TRY(lxla_tensor_from_host(env, device, LXLA_DTYPE_U32, DIMS(2), key, sizeof key, &s.key));
  return s;
}

static void check_state(lxla_tensor x) {
  state recorded = new_state(), called = new_state();
  const lxla_computation traced = trace_layer(&called, x);
  const uint64_t before = counter(env, "UncachedCompile");
  for (int i = 0; i < CALLS; i++) {
    float want[ROWS * WIDTH], got[ROWS * WIDTH], means[2][WIDTH];
    lxla_tensor a = layer(&recorded, x), b = call_layer(traced, &called, x);
    TRY(lxla_mark_step(env, device, 0));
    TRY(lxla_tensor_read(a, want, sizeof want));
    TRY(lxla_tensor_read(b, got, sizeof got));
    TRY(lxla_tensor_read(recorded.mean, means[0], sizeof *means));
    TRY(lxla_tensor_read(called.mean, means[1], sizeof *means));
    for (int k = 0; k < ROWS * WIDTH; k++) CHECK(fabsf(want[k] - got[k]) < 1e-5f);
    for (int k = 0; k < WIDTH; k++) CHECK(fabsf(means[0][k] - means[1][k]) < 1e-6f);
    RELEASE(a, b);
  }
  CHECK(counter(env, "UncachedCompile") - before <= 2);
  TRY(lxla_computation_release(traced));
  RELEASE(recorded.mean, recorded.key, called.mean, called.key);
}

static void check_reads(lxla_tensor x) {
  lxla_tensor p, y, is_positive, on_true, on_false, chosen, sum;
  lxla_computation traced;
  float value;
  TRY(lxla_tensor_placeholder_like(x, &p));
  // [recipe]
  // if (y.sum() > 0): there is no number while the function is traced. The read says so, and names the placeholder.
  y = binary_scalar(LXLA_BINARY_MULTIPLY, p, 2);
  TRY(lxla_reduce(LXLA_REDUCE_SUM, y, NULL, 0, 0, &sum));
  CHECK(lxla_tensor_read(sum, &value, sizeof value) == LXLA_FAILED_PRECONDITION);
  // The choice is recorded instead: here both values are computed; lxla_cond computes one of two computations.
  TRY(lxla_compare_scalar(LXLA_COMPARE_GT, sum, 0, &is_positive));
  on_true = binary_scalar(LXLA_BINARY_ADD, y, 1), on_false = unary(LXLA_UNARY_NEGATE, y);
  TRY(lxla_select(is_positive, on_true, on_false, &chosen));
  // [recipe end]
  CHECK(strstr(lxla_last_error_message(), "placeholder"));
  TRY(lxla_computation_trace(&p, 1, &chosen, 1, &traced));
  lxla_tensor result;
  TRY(lxla_computation_call(traced, &x, 1, &result, 1));
  CHECK(first_value(result, ROWS * WIDTH) == 3);
  TRY(lxla_computation_release(traced));
  RELEASE(p, y, is_positive, on_true, on_false, chosen, sum, result);
}

static void check_handles(lxla_tensor x) {
  lxla_tensor p, seen;
  lxla_computation traced;
  // [recipe]
  // The user's function changes its argument in place. The placeholder must stay one: the function gets a snapshot.
  TRY(lxla_tensor_placeholder_like(x, &p));
  TRY(lxla_tensor_snapshot(p, &seen));
  TRY(lxla_binary_scalar_inplace(LXLA_BINARY_ADD, seen, 1));
  TRY(lxla_computation_trace(&p, 1, &seen, 1, &traced));                                // x + 1
  CHECK(lxla_computation_trace(&seen, 1, &seen, 1, &traced) == LXLA_INVALID_ARGUMENT);  // `seen` has another value now
  // [recipe end]
  CHECK(strstr(lxla_last_error_message(), "params[0]"));
  lxla_tensor y;
  TRY(lxla_computation_call(traced, &x, 1, &y, 1));
  CHECK(first_value(y, ROWS * WIDTH) == 2);
  TRY(lxla_computation_release(traced));
  RELEASE(p, seen, y);
}

static void check_identity(void) {
  // [recipe]
  const float two = 2;
  lxla_tensor w = from_floats(device, NULL, 0, &two), same_number = from_floats(device, NULL, 0, &two), before;
  lxla_tensor y = binary(LXLA_BINARY_MULTIPLY, w, w), dw[3];
  TRY(lxla_tensor_snapshot(w, &before));                   // the same value, under another handle
  TRY(lxla_binary_scalar_inplace(LXLA_BINARY_ADD, w, 1));  // w has another value, of which y knows nothing
  TRY(lxla_gradients(&y, 1, NULL, (lxla_tensor[]){before, w, same_number}, 3, dw));
  CHECK(first_value(dw[0], 1) == 4 && first_value(dw[1], 1) == 0 && first_value(dw[2], 1) == 0);
  // [recipe end]
  RELEASE(w, same_number, before, y, dw[0], dw[1], dw[2]);
}

int main(void) {
  float values[ROWS * WIDTH];
  for (int i = 0; i < ROWS * WIDTH; i++) values[i] = (float)(i + 1);
  lxla_tensor x = from_floats(device, DIMS(ROWS, WIDTH), values);
  check_state(x);
  check_reads(x);
  check_handles(x);
  check_identity();
  CHECK(counter(env, "CreateTensor") - counter(env, "DestroyTensor") == 1);
  RELEASE(x);
  return 0;
}
