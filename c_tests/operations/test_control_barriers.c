// Optimization barriers: they change no values, on an XLA device and natively, and make checkpoints possible.
#include "both.h"
#include "computation.h"

static void barriers(void) {
  lxla_tensor x = ARRAY(F32, float, DIMS(2), 1, NAN), n = ARRAY(S64, int64_t, SCALAR, INT64_MIN),
              empty = array(C64, DIMS(0), NULL, 0), out[4];
  OK(lxla_optimization_barrier((lxla_tensor[]){x, n, empty, x}, 4, out));
  lxla_tensor sum = binary(ADD, out[0], out[3]);
  HAS(sum, F32, float, DIMS(2), 2, NAN);
  HAS(out[0], F32, float, DIMS(2), 1, NAN);
  HAS(out[1], S64, int64_t, SCALAR, INT64_MIN);
  EMPTY(out[2], C64, DIMS(0));
  RELEASE(out[3]);  // this result is never read
  // Passes every bit of every dtype, also of constants.
  for (int32_t dtype = PRED; dtype <= C128; dtype++) {
    const size_t sizes[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2, 8, 16};
    unsigned char bytes[3 * 16];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = dtype == PRED ? i % 2 : (unsigned char)(i * 151 + 7);
    lxla_tensor one = array(dtype, DIMS(3), bytes, 3 * sizes[dtype]), full;
    OK(lxla_tensor_full(env, device, dtype, DIMS(2), 1, &full));
    OK(lxla_optimization_barrier((lxla_tensor[]){one, full}, 2, out));
    has(__FILE__, __LINE__, out[0], dtype, DIMS(3), bytes, 3 * sizes[dtype]);
    OK(lxla_compare(LXLA_COMPARE_EQ, out[1], full, &out[0]));
    HAS(out[0], PRED, uint8_t, DIMS(2), 1, 1);
    RELEASE(one, full, out[1]);
  }
  REFUSED(lxla_optimization_barrier(NULL, 0, NULL), LXLA_INVALID_ARGUMENT, "n: 0 tensors given; want at least 1");
  REFUSED(lxla_optimization_barrier(&x, 1, NULL), LXLA_NULL_ARGUMENT, "out_tensors");
  REFUSED(lxla_optimization_barrier((lxla_tensor[]){x, none}, 2, out), LXLA_INVALID_HANDLE, "tensors[1]");
  RELEASE(x, n, empty);
}

TEST(barriers_change_nothing) { on_both(barriers); }

// --- Checkpoints ---

enum { LAYERS = 16, ROWS = 128, WIDTH = 64, HIDDEN = 1024 };

static lxla_tensor weights(const int64_t *dims, size_t rank, double scale) {
  lxla_tensor count, centred, out;
  OK(lxla_iota(env, device, F32, DIMS(dims[0] * dims[1]), 0, &count));
  OK(lxla_unary(LXLA_UNARY_SINE, count, &centred));
  OK(lxla_reshape(centred, dims, rank, &out));
  OK(lxla_binary_scalar_inplace(MUL, out, scale));
  RELEASE(count, centred);
  return out;
}

static lxla_tensor product(lxla_tensor a, lxla_tensor b) {
  lxla_tensor out;
  OK(lxla_matmul(a, b, &out));
  return out;
}

static lxla_tensor turned(lxla_tensor a) {
  lxla_tensor out;
  OK(lxla_transpose(a, DIMS(1, 0), &out));
  return out;
}

static lxla_tensor hidden(lxla_tensor x, lxla_tensor w1) {
  lxla_tensor z = product(x, w1), h;
  OK(lxla_unary(LXLA_UNARY_TANH, z, &h));
  RELEASE(z);
  return h;
}

// Computes gradients of the layers y = x + tanh(x W1) W2, forward and backward in one straight program. Intermediates
// are kept, or computed again behind a barrier.
static void gradients(int checkpoint, lxla_tensor *first, lxla_tensor *w1, lxla_tensor *w2, lxla_tensor *grads) {
  lxla_tensor x[LAYERS + 1] = {snapshot(*first)}, h[LAYERS];
  for (int i = 0; i < LAYERS; i++) {
    lxla_tensor y;
    h[i] = hidden(x[i], w1[i]);
    y = product(h[i], w2[i]);
    x[i + 1] = binary(ADD, x[i], y);
    RELEASE(y);
  }
  lxla_tensor dy = snapshot(x[LAYERS]);
  for (int i = LAYERS - 1; i >= 0; i--) {
    if (checkpoint) {
      lxla_tensor out[2];
      OK(lxla_optimization_barrier((lxla_tensor[]){x[i], dy}, 2, out));
      RELEASE(x[i], dy, h[i]);
      x[i] = out[0], dy = out[1];
      h[i] = hidden(x[i], w1[i]);
    }
    lxla_tensor ht = turned(h[i]), xt = turned(x[i]), w1t = turned(w1[i]), w2t = turned(w2[i]);
    lxla_tensor dh = product(dy, w2t), square = binary(MUL, h[i], h[i]), minus = scalar(MUL, square, -1),
                slope = scalar(ADD, minus, 1);
    lxla_tensor dz = binary(MUL, dh, slope), dx = product(dz, w1t);
    grads[2 * i] = product(xt, dz);
    grads[2 * i + 1] = product(ht, dy);
    lxla_tensor next = binary(ADD, dy, dx);
    RELEASE(ht, xt, w1t, w2t, dh, square, minus, slope, dz, dx, dy);
    dy = next;
  }
  RELEASE(dy);
  OK(lxla_tensor_release_many(x, LAYERS + 1));
  OK(lxla_tensor_release_many(h, LAYERS));
}

TEST(a_barrier_makes_a_checkpoint_save_memory_in_a_straight_program) {
  env = new_env();
  device = XLA(0);
  lxla_tensor x = weights(DIMS(ROWS, WIDTH), 1), w1[LAYERS], w2[LAYERS], grads[2][2 * LAYERS];
  for (int i = 0; i < LAYERS; i++) {
    w1[i] = weights(DIMS(WIDTH, HIDDEN), 0.1);
    w2[i] = weights(DIMS(HIDDEN, WIDTH), 0.01 * (i + 1));
  }
  OK(lxla_mark_step(env, XLA(0), 1));
  lxla_memory_stats stats[2];
  for (int checkpoint = 0; checkpoint < 2; checkpoint++) {
    gradients(checkpoint, &x, w1, w2, grads[checkpoint]);
    stats[checkpoint].struct_size = sizeof *stats;
    OK(lxla_compiled_memory(env, XLA(0), grads[checkpoint], 2 * LAYERS, &stats[checkpoint]));
  }
  printf("  temporaries: %" PRIu64 " bytes kept, %" PRIu64 " with a checkpoint\n", stats[0].temp_bytes,
         stats[1].temp_bytes);
  CHECK(stats[0].temp_bytes > LAYERS * ROWS * HIDDEN * sizeof(float));
  CHECK(stats[1].temp_bytes < 4 * ROWS * HIDDEN * sizeof(float));
  OK(lxla_sync(grads[0], 2 * LAYERS));
  OK(lxla_sync(grads[1], 2 * LAYERS));
  static float kept[WIDTH * HIDDEN], again[WIDTH * HIDDEN];
  for (int i = 0; i < 2 * LAYERS; i++) {
    read_f32(grads[0][i], kept, WIDTH * HIDDEN);
    read_f32(grads[1][i], again, WIDTH * HIDDEN);
    CHECK(memcmp(kept, again, sizeof kept) == 0);
  }
  OK(lxla_tensor_release_many(grads[0], 2 * LAYERS));
  OK(lxla_tensor_release_many(grads[1], 2 * LAYERS));
  OK(lxla_tensor_release_many(w1, LAYERS));
  OK(lxla_tensor_release_many(w2, LAYERS));
  RELEASE(x);
  OK(lxla_env_release(env));
}

TEST(barriers_are_passed_in_loops_and_by_donated_buffers) {
  env = new_env();
  device = XLA(0);
  // An in-place update: the buffer passes the barrier and is donated to the sum.
  lxla_tensor t = ARRAY(F32, float, DIMS(3), 1, 2, 3), u = ARRAY(F32, float, DIMS(3), 5, 5, 5), out[2];
  OK(lxla_mark_step(env, XLA(0), 1));
  for (int i = 0; i < 3; i++) {
    OK(lxla_optimization_barrier((lxla_tensor[]){t, u}, 2, out));
    lxla_tensor sum = binary(ADD, out[0], out[1]);
    OK(lxla_tensor_assign(t, sum));
    RELEASE(out[0], out[1], sum);
    EQUAL(step(env), 1);
  }
  HAS(t, F32, float, DIMS(3), 16, 17, 18);
  // A program that is only a barrier, with two equal results.
  OK(lxla_optimization_barrier((lxla_tensor[]){u, u}, 2, out));
  OK(lxla_mark_step(env, XLA(0), 1));
  OK(lxla_binary_scalar_inplace(ADD, out[0], 1));
  OK(lxla_mark_step(env, XLA(0), 1));
  HAS(out[0], F32, float, DIMS(3), 6, 6, 6);
  HAS(out[1], F32, float, DIMS(3), 5, 5, 5);
  // A barrier in the body of a scan: 1, 2, 3 summed.
  lxla_tensor c = placeholder(env, F32, SCALAR), x = placeholder(env, F32, SCALAR), carry, ys,
              xs = ARRAY(F32, float, DIMS(3), 1, 2, 3);
  OK(lxla_optimization_barrier((lxla_tensor[]){c, x}, 2, out));
  lxla_tensor sum = binary(ADD, out[0], out[1]), start = ARRAY(F32, float, SCALAR, 0);
  lxla_computation body = traced(TENSORS(c, x), TENSORS(sum, out[0]));
  OK(lxla_scan(body, &start, 1, &xs, 1, 3, 0, &carry, &ys, 1));
  HAS(carry, F32, float, SCALAR, 6);
  HAS(ys, F32, float, DIMS(3), 0, 1, 3);
  OK(lxla_computation_release(body));
  RELEASE(u, c, x, xs, sum, start, out[0], out[1]);
  no_live_bytes(env);
  OK(lxla_env_release(env));
}
