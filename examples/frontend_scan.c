// A scan over layers: one loop, whose compile time does not grow with the number of layers.
#include "frontend.h"

// [recipe]
typedef void function(const lxla_tensor *in, lxla_tensor *out, void *user);

static lxla_tensor placeholder_of_slice(lxla_tensor x) {  // x without its leading axis
  int64_t dims[64];
  size_t rank;
  int32_t dtype;
  lxla_tensor out;
  TRY(lxla_tensor_info(x, &dtype, &rank, dims, 64));
  TRY(lxla_tensor_placeholder(env, device, dtype, dims + 1, rank - 1, &out));
  return out;
}

static void scan(function *f, void *user, const lxla_tensor *init, size_t n_carry, const lxla_tensor *xs, size_t n_xs,
                 int64_t length, int32_t reverse, lxla_tensor *out_carry, lxla_tensor *out_ys, size_t n_ys) {
  lxla_tensor in[16], out[16];
  lxla_computation body;
  for (size_t i = 0; i < n_carry; i++) TRY(lxla_tensor_placeholder_like(init[i], &in[i]));
  for (size_t i = 0; i < n_xs; i++) in[n_carry + i] = placeholder_of_slice(xs[i]);
  f(in, out, user);  // records on placeholders: moves nothing, runs nothing
  TRY(lxla_computation_trace(in, n_carry + n_xs, out, n_carry + n_ys, &body));
  TRY(lxla_tensor_release_many(in, n_carry + n_xs));
  TRY(lxla_tensor_release_many(out, n_carry + n_ys));
  TRY(lxla_scan(body, init, n_carry, xs, n_xs, length, reverse, out_carry, out_ys, n_ys));
  TRY(lxla_computation_release(body));
}
// [recipe end]

// [recipe]
// One layer: carry x, a slice (w, b) of the stacked weights -> carry tanh(x w + b), and the layer's input, stacked.
static void layer(const lxla_tensor *in, lxla_tensor *out, void *user) {
  (void)user;
  lxla_tensor product = matmul(in[0], in[1]), shifted = binary(LXLA_BINARY_ADD, product, in[2]);
  out[0] = unary(LXLA_UNARY_TANH, shifted);
  TRY(lxla_tensor_snapshot(in[0], &out[1]));
  RELEASE(product, shifted);
}
// [recipe end]

enum { WIDTH = 3, MOST_LAYERS = 40 };

// Applies the layers one after another, on the host.
static void plain(float *x, const float *w, const float *b, int layers) {
  for (int l = 0; l < layers; l++, w += WIDTH * WIDTH, b += WIDTH) {
    float y[WIDTH];
    for (int j = 0; j < WIDTH; j++) {
      y[j] = b[j];
      for (int i = 0; i < WIDTH; i++) y[j] += x[i] * w[i * WIDTH + j];
    }
    for (int j = 0; j < WIDTH; j++) x[j] = tanhf(y[j]);
  }
}

static size_t text_of_scan(int layers) {
  static float w_values[MOST_LAYERS * WIDTH * WIDTH], b_values[MOST_LAYERS * WIDTH];
  float x_values[WIDTH] = {0.1f, -0.2f, 0.3f}, got[WIDTH], inputs_got[MOST_LAYERS * WIDTH];
  for (int i = 0; i < layers * WIDTH * WIDTH; i++) w_values[i] = sinf((float)i);
  for (int i = 0; i < layers * WIDTH; i++) b_values[i] = 0.1f * cosf((float)i);
  lxla_tensor x = from_floats(device, DIMS(1, WIDTH), x_values), y, inputs;
  lxla_tensor stacked[] = {from_floats(device, DIMS(layers, WIDTH, WIDTH), w_values),
                           from_floats(device, DIMS(layers, WIDTH), b_values)};
  // [recipe]
  scan(layer, NULL, &x, 1, stacked, 2, layers, 0, &y, &inputs, 1);
  // [recipe end]
  char *text;
  TRY(lxla_stablehlo(&y, 1, &text));
  size_t length = strlen(text);
  lxla_string_free(text);
  TRY(lxla_tensor_read(y, got, sizeof got));
  TRY(lxla_tensor_read(inputs, inputs_got, (size_t)layers * sizeof got));
  CHECK(inputs_got[0] == x_values[0]);  // the first layer's input
  plain(x_values, w_values, b_values, layers);
  for (int i = 0; i < WIDTH; i++) CHECK(fabsf(got[i] - x_values[i]) < 1e-5f);
  RELEASE(x, y, inputs, stacked[0], stacked[1]);
  return length;
}

int main(void) {
  size_t four = text_of_scan(4), forty = text_of_scan(MOST_LAYERS);
  CHECK(forty < four + 64);
  uint64_t compiles = counter(env, "UncachedCompile");
  text_of_scan(4);  // traced again: an equal body, the same program
  CHECK(counter(env, "UncachedCompile") == compiles);
  return 0;
}
