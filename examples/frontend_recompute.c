// A checkpoint policy for one function, as a frontend's checkpoint(f): lxla_computation_checkpoint.
#include "frontend.h"

enum { BLOCKS = 16, ROWS = 128, WIDTH = 16, HIDDEN = 1024 };

// A user's function: x + tanh(x w1) w2, whose inside is 64 times as large as its result.
static lxla_tensor block(lxla_tensor x, lxla_tensor w1, lxla_tensor w2) {
  lxla_tensor z = matmul(x, w1), h = unary(LXLA_UNARY_TANH, z), product = matmul(h, w2);
  lxla_tensor y = binary(LXLA_BINARY_ADD, x, product);
  RELEASE(z, h, product);
  return y;
}

// [recipe]
// The user's function as a computation that keeps nothing of its inside for the backward pass.
static lxla_computation checkpointed(lxla_tensor x, lxla_tensor w1, lxla_tensor w2) {
  lxla_tensor p[3], examples[] = {x, w1, w2};
  lxla_computation f, out;
  for (int i = 0; i < 3; i++) TRY(lxla_tensor_placeholder_like(examples[i], &p[i]));
  lxla_tensor y = block(p[0], p[1], p[2]);
  TRY(lxla_computation_trace(p, 3, &y, 1, &f));
  TRY(lxla_computation_checkpoint(f, LXLA_CHECKPOINT_SAVE_NONE, NULL, 0, &out));
  TRY(lxla_computation_release(f));
  TRY(lxla_tensor_release_many(p, 3));
  RELEASE(y);
  return out;
}
// [recipe end]

static lxla_tensor waves(int64_t rows, int64_t columns, double scale) {
  float *values = memory((size_t)(rows * columns) * sizeof *values);
  for (int64_t i = 0; i < rows * columns; i++) values[i] = (float)(scale * sin(0.37 * (double)i));
  lxla_tensor out = from_floats(device, DIMS(rows, columns), values);
  free(values);
  return out;
}

// The gradient by x of the sum of squares of all blocks; each is called, or recorded as it is.
static lxla_tensor gradient(const lxla_computation *call, lxla_tensor x, lxla_tensor w1, lxla_tensor w2) {
  lxla_tensor y, loss, dx;
  TRY(lxla_tensor_snapshot(x, &y));
  for (int i = 0; i < BLOCKS; i++) {
    lxla_tensor next;
    // [recipe]
    if (call) TRY(lxla_computation_call(*call, (lxla_tensor[]){y, w1, w2}, 3, &next, 1));
    else next = block(y, w1, w2);
    // [recipe end]
    RELEASE(y);
    y = next;
  }
  lxla_tensor square = binary(LXLA_BINARY_MULTIPLY, y, y);
  TRY(lxla_mean(square, NULL, 0, 0, &loss));
  TRY(lxla_gradients(&loss, 1, NULL, &x, 1, &dx));
  RELEASE(y, square, loss);
  return dx;
}

int main(void) {
  lxla_tensor x = waves(ROWS, WIDTH, 1), w1 = waves(WIDTH, HIDDEN, 0.05), w2 = waves(HIDDEN, WIDTH, 0.05), dx[2];
  TRY(lxla_mark_step(env, device, 1));
  const lxla_computation f = checkpointed(x, w1, w2);
  lxla_memory_stats stats[2];
  static float got[2][ROWS * WIDTH];
  for (int i = 0; i < 2; i++) {
    dx[i] = gradient(i ? &f : NULL, x, w1, w2);
    stats[i].struct_size = sizeof *stats;
    TRY(lxla_compiled_memory(env, device, &dx[i], 1, &stats[i]));
    TRY(lxla_tensor_read(dx[i], got[i], sizeof *got));
  }
  const double kept = 1e-6 * (double)stats[0].temp_bytes, checkpointed_mb = 1e-6 * (double)stats[1].temp_bytes;
  printf("temporaries: %.2f MB kept, %.2f MB checkpointed\n", kept, checkpointed_mb);
  CHECK(stats[1].temp_bytes < stats[0].temp_bytes / 4);
  for (int i = 0; i < ROWS * WIDTH; i++) CHECK(fabsf(got[0][i] - got[1][i]) <= 1e-5f * (1 + fabsf(got[0][i])));
  TRY(lxla_computation_release(f));
  RELEASE(x, w1, w2, dx[0], dx[1]);
  return 0;
}
