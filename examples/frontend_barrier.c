// Checkpointing in a straight program, without a loop: the second computation starts behind an optimization barrier.
#include "frontend.h"

enum { LAYERS = 16, ROWS = 128, WIDTH = 32, HIDDEN = 1024 };

static lxla_tensor hidden(lxla_tensor x, lxla_tensor w) {
  lxla_tensor z = matmul(x, w), h = unary(LXLA_UNARY_TANH, z);
  RELEASE(z);
  return h;
}

// [recipe]
// Computes tanh(x W) again in the backward pass, and only when `*dy` is there. Without the barrier XLA finds the same
// expression twice, computes it once and keeps it from the forward pass on.
static lxla_tensor recomputed(lxla_tensor *x, lxla_tensor *dy, lxla_tensor w) {
  lxla_tensor passed[2];
  TRY(lxla_optimization_barrier((lxla_tensor[]){*x, *dy}, 2, passed));
  RELEASE(*x, *dy);
  *x = passed[0], *dy = passed[1];
  return hidden(*x, w);
}
// [recipe end]

// Computes x -> x + tanh(x W) W^T, LAYERS times, and the gradient of half the sum of squares with respect to the input.
static lxla_tensor gradient(int checkpointed, lxla_tensor input, const lxla_tensor *w) {
  lxla_tensor x[LAYERS + 1], h[LAYERS], dy;
  TRY(lxla_tensor_snapshot(input, &x[0]));
  for (int i = 0; i < LAYERS; i++) {
    lxla_tensor wt = transpose(w[i]), product;
    h[i] = hidden(x[i], w[i]);
    product = matmul(h[i], wt);
    x[i + 1] = binary(LXLA_BINARY_ADD, x[i], product);
    RELEASE(wt, product);
  }
  TRY(lxla_tensor_snapshot(x[LAYERS], &dy));  // the gradient of half the sum of squares
  for (int i = LAYERS - 1; i >= 0; i--) {
    if (checkpointed) {
      RELEASE(h[i]);
      h[i] = recomputed(&x[i], &dy, w[i]);
    }
    lxla_tensor wt = transpose(w[i]), dh = matmul(dy, w[i]), square = binary(LXLA_BINARY_MULTIPLY, h[i], h[i]);
    lxla_tensor lost = binary(LXLA_BINARY_MULTIPLY, dh, square), dz = binary(LXLA_BINARY_SUBTRACT, dh, lost);
    lxla_tensor dx = matmul(dz, wt), next = binary(LXLA_BINARY_ADD, dy, dx);
    RELEASE(wt, dh, square, lost, dz, dx, dy);
    dy = next;
  }
  TRY(lxla_tensor_release_many(x, LAYERS + 1));
  TRY(lxla_tensor_release_many(h, LAYERS));
  return dy;
}

static lxla_tensor waves(int64_t rows, int64_t columns, double scale) {
  const int64_t n = rows * columns;
  lxla_tensor position, sine, out;
  TRY(lxla_iota(env, device, LXLA_DTYPE_F32, &n, 1, 0, &position));
  sine = unary(LXLA_UNARY_SINE, position);
  TRY(lxla_binary_scalar_inplace(LXLA_BINARY_MULTIPLY, sine, scale));
  TRY(lxla_reshape(sine, DIMS(rows, columns), &out));
  RELEASE(position, sine);
  return out;
}

int main(void) {
  lxla_tensor x = waves(ROWS, WIDTH, 1), w[LAYERS], dx[2];
  for (int i = 0; i < LAYERS; i++) w[i] = waves(WIDTH, HIDDEN, 0.002 * (i + 1));
  TRY(lxla_mark_step(env, device, 1));
  lxla_memory_stats stats[2];
  static float got[2][ROWS * WIDTH];
  for (int checkpointed = 0; checkpointed < 2; checkpointed++) {
    dx[checkpointed] = gradient(checkpointed, x, w);
    stats[checkpointed].struct_size = sizeof *stats;
    TRY(lxla_compiled_memory(env, device, &dx[checkpointed], 1, &stats[checkpointed]));
    TRY(lxla_tensor_read(dx[checkpointed], got[checkpointed], sizeof *got));
  }
  const double kept_mb = 1e-6 * (double)stats[0].temp_bytes, checkpointed_mb = 1e-6 * (double)stats[1].temp_bytes;
  printf("temporaries: %.2f MB kept, %.2f MB behind barriers\n", kept_mb, checkpointed_mb);
  CHECK(stats[1].temp_bytes < stats[0].temp_bytes / 3);
  for (int i = 0; i < ROWS * WIDTH; i++) CHECK(fabsf(got[0][i] - got[1][i]) <= 1e-5f * (1 + fabsf(got[0][i])));
  TRY(lxla_tensor_release_many(w, LAYERS));
  RELEASE(x, dx[0], dx[1]);
  return 0;
}
