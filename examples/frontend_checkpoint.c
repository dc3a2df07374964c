// Checkpointing: the backward pass computes a layer's intermediates again. In loops, and in a straight program.
#include "frontend.h"

enum { LAYERS = 16, ROWS = 64, WIDTH = 64, HIDDEN = 1024 };

typedef void function(const lxla_tensor *in, lxla_tensor *out);

// A layer y = x + tanh(x W1) W2, and its derivative rules.
static void layer_forward(const lxla_tensor *in, lxla_tensor *out) {  // x, w1, w2 -> y, h
  lxla_tensor z = matmul(in[0], in[1]), h = unary(LXLA_UNARY_TANH, z), product = matmul(h, in[2]);
  out[0] = binary(LXLA_BINARY_ADD, in[0], product);
  out[1] = h;
  RELEASE(z, product);
}

static void layer_backward(lxla_tensor dy, lxla_tensor x, lxla_tensor w1, lxla_tensor w2, lxla_tensor h,
                           lxla_tensor *out) {
  lxla_tensor w2t = transpose(w2), dh = matmul(dy, w2t), square = binary(LXLA_BINARY_MULTIPLY, h, h);
  lxla_tensor rest = binary(LXLA_BINARY_MULTIPLY, dh, square), dz = binary(LXLA_BINARY_SUBTRACT, dh, rest);
  lxla_tensor w1t = transpose(w1), xt = transpose(x), ht = transpose(h), back = matmul(dz, w1t);
  out[0] = binary(LXLA_BINARY_ADD, dy, back);
  out[1] = matmul(xt, dz);
  out[2] = matmul(ht, dy);
  RELEASE(w2t, dh, square, rest, dz, w1t, xt, ht, back);
}

static void scan(function *f, const lxla_tensor *init, const lxla_tensor *xs, size_t n_xs, int32_t reverse,
                 lxla_tensor *out_carry, lxla_tensor *out_ys, size_t n_ys) {  // as in frontend_scan.c, n_carry 1
  lxla_tensor in[5], out[3];
  lxla_computation body;
  TRY(lxla_tensor_placeholder_like(*init, &in[0]));
  for (size_t i = 0; i < n_xs; i++) {
    int64_t dims[3];
    TRY(lxla_tensor_dims(xs[i], dims, 3));
    in[1 + i] = placeholder(dims + 1, 2);
  }
  f(in, out);
  TRY(lxla_computation_trace(in, 1 + n_xs, out, 1 + n_ys, &body));
  TRY(lxla_scan(body, init, 1, xs, n_xs, LAYERS, reverse, out_carry, out_ys, n_ys));
  TRY(lxla_tensor_release_many(in, 1 + n_xs));
  TRY(lxla_tensor_release_many(out, 1 + n_ys));
  TRY(lxla_computation_release(body));
}

// [recipe]
static lxla_computation forward;  // x, w1, w2 -> y, h: traced once

static void forward_checkpointed(const lxla_tensor *in, lxla_tensor *out) {  // x; w1, w2 -> y; x
  lxla_tensor y_and_h[2];
  TRY(lxla_computation_call(forward, in, 3, y_and_h, 2));
  out[0] = y_and_h[0];
  TRY(lxla_tensor_snapshot(in[0], &out[1]));  // all that is stacked: the layer's input
  TRY(lxla_tensor_release(y_and_h[1]));       // not kept: the backward loop computes it again
}

static void backward_checkpointed(const lxla_tensor *in, lxla_tensor *out) {  // dy; x, w1, w2 -> dx; dw1, dw2
  lxla_tensor y_and_h[2];
  TRY(lxla_computation_call(forward, in + 1, 3, y_and_h, 2));
  layer_backward(in[0], in[1], in[2], in[3], y_and_h[1], out);  // the frontend's derivative rules
  TRY(lxla_tensor_release_many(y_and_h, 2));
}
// [recipe end]

static void forward_kept(const lxla_tensor *in, lxla_tensor *out) {  // x; w1, w2 -> y; x, h
  lxla_tensor y_and_h[2];
  TRY(lxla_computation_call(forward, in, 3, y_and_h, 2));
  out[0] = y_and_h[0], out[2] = y_and_h[1];
  TRY(lxla_tensor_snapshot(in[0], &out[1]));
}

static void backward_kept(const lxla_tensor *in, lxla_tensor *out) {  // dy; x, h, w1, w2 -> dx; dw1, dw2
  layer_backward(in[0], in[1], in[3], in[4], in[2], out);
}

// Computes the gradients dw1, dw2 of all layers.
static void gradients(int checkpointed, lxla_tensor x, lxla_tensor w1, lxla_tensor w2, lxla_tensor *dws) {
  lxla_tensor y, dx, dy, stacks[2], ws[] = {w1, w2};
  TRY(lxla_tensor_full(env, device, LXLA_DTYPE_F32, DIMS(ROWS, WIDTH), 1, &dy));
  if (checkpointed) {
    lxla_tensor inputs;
    // [recipe]
    scan(forward_checkpointed, &x, ws, 2, 0, &y, &inputs, 1);
    scan(backward_checkpointed, &dy, (lxla_tensor[]){inputs, w1, w2}, 3, 1, &dx, dws, 2);
    // [recipe end]
    RELEASE(inputs);
  } else {
    scan(forward_kept, &x, ws, 2, 0, &y, stacks, 2);
    scan(backward_kept, &dy, (lxla_tensor[]){stacks[0], stacks[1], w1, w2}, 4, 1, &dx, dws, 2);
    RELEASE(stacks[0], stacks[1]);
  }
  RELEASE(y, dx, dy);
}

static lxla_tensor waves(const int64_t *dims, size_t rank, double scale) {
  lxla_tensor position, sine, out;
  int64_t n = 1;
  for (size_t i = 0; i < rank; i++) n *= dims[i];
  TRY(lxla_iota(env, device, LXLA_DTYPE_F32, &n, 1, 0, &position));
  sine = unary(LXLA_UNARY_SINE, position);
  TRY(lxla_binary_scalar_inplace(LXLA_BINARY_MULTIPLY, sine, scale));
  TRY(lxla_reshape(sine, dims, rank, &out));
  RELEASE(position, sine);
  return out;
}

int main(void) {
  lxla_tensor in[3] = {placeholder(DIMS(ROWS, WIDTH))}, out[2];
  in[1] = placeholder(DIMS(WIDTH, HIDDEN)), in[2] = placeholder(DIMS(HIDDEN, WIDTH));
  layer_forward(in, out);
  TRY(lxla_computation_trace(in, 3, out, 2, &forward));
  RELEASE(in[0], in[1], in[2], out[0], out[1]);
  lxla_tensor x = waves(DIMS(ROWS, WIDTH), 1), w1 = waves(DIMS(LAYERS, WIDTH, HIDDEN), 0.1), dws[2][2];
  lxla_tensor w2 = waves(DIMS(LAYERS, HIDDEN, WIDTH), 0.01);
  TRY(lxla_mark_step(env, device, 1));
  lxla_memory_stats stats[2];
  for (int checkpointed = 0; checkpointed < 2; checkpointed++) {
    gradients(checkpointed, x, w1, w2, dws[checkpointed]);
    stats[checkpointed].struct_size = sizeof *stats;
    TRY(lxla_compiled_memory(env, device, dws[checkpointed], 2, &stats[checkpointed]));
    TRY(lxla_sync(dws[checkpointed], 2));
  }
  const double kept_mb = 1e-6 * (double)stats[0].temp_bytes, checkpointed_mb = 1e-6 * (double)stats[1].temp_bytes;
  printf("temporaries: %.2f MB kept, %.2f MB checkpointed\n", kept_mb, checkpointed_mb);
  CHECK(stats[1].temp_bytes < stats[0].temp_bytes / 3);
  size_t bytes = sizeof(float) * LAYERS * WIDTH * HIDDEN;
  void *kept = malloc(bytes), *again = malloc(bytes);
  CHECK(kept && again);
  for (int i = 0; i < 2; i++) {
    TRY(lxla_tensor_read(dws[0][i], kept, bytes));
    TRY(lxla_tensor_read(dws[1][i], again, bytes));
    CHECK(memcmp(kept, again, bytes) == 0);
  }
  free(kept), free(again);
  RELEASE(x, w1, w2, dws[0][0], dws[0][1], dws[1][0], dws[1][1]);
  TRY(lxla_computation_release(forward));
  return 0;
}
