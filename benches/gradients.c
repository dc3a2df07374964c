// Measures the host time of recording a loss and its gradients anew, as each step of a training loop does: the backward
// pass by hand, and by lxla_gradients. Prints microseconds of each and their ratio, medians of rounds in turn.
#include "bench.h"

enum { LAYERS = 6, ROUNDS = 41, TURNS = 100, WIDTH = 64, BATCH = 32 };

// Tensors to release at the end of a turn.
static lxla_tensor made[256];
static size_t count;

static lxla_tensor noted(lxla_tensor x) { return made[count++] = x; }

#define RECORD(function, ...)        \
  do {                               \
    lxla_tensor out;                 \
    OK(function(__VA_ARGS__, &out)); \
    return noted(out);               \
  } while (0)

static lxla_tensor binary(int32_t op, lxla_tensor a, lxla_tensor b) { RECORD(lxla_binary, op, a, b); }
static lxla_tensor scaled(lxla_tensor x, double by) { RECORD(lxla_binary_scalar, LXLA_BINARY_MULTIPLY, x, by); }
static lxla_tensor matmul(lxla_tensor a, lxla_tensor b) { RECORD(lxla_matmul, a, b); }
static lxla_tensor turned(lxla_tensor x) { RECORD(lxla_transpose, x, (int64_t[]){1, 0}, 2); }
static lxla_tensor tanh_of(lxla_tensor x) { RECORD(lxla_unary, LXLA_UNARY_TANH, x); }
static lxla_tensor sum(lxla_tensor x, const int64_t *axes, size_t n) {
  RECORD(lxla_reduce, LXLA_REDUCE_SUM, x, axes, n, 0);
}

typedef struct {
  lxla_tensor x, y, w[LAYERS], b[LAYERS];
} network;

typedef struct {
  lxla_tensor loss, inputs[LAYERS + 1], difference;
} passed;

static passed forward(const network *n) {
  passed p = {.inputs[0] = n->x};
  for (int i = 0; i < LAYERS; i++)
    p.inputs[i + 1] = tanh_of(binary(LXLA_BINARY_ADD, matmul(p.inputs[i], n->w[i]), n->b[i]));
  p.difference = binary(LXLA_BINARY_SUBTRACT, p.inputs[LAYERS], n->y);
  lxla_tensor square = binary(LXLA_BINARY_MULTIPLY, p.difference, p.difference);
  p.loss = scaled(sum(square, (int64_t[]){0, 1}, 2), 1.0 / (BATCH * WIDTH));
  return p;
}

static void by_hand(const network *n) {
  passed p = forward(n);
  lxla_tensor gradient = scaled(p.difference, 2.0 / (BATCH * WIDTH));
  for (int i = LAYERS - 1; i >= 0; i--) {
    lxla_tensor h = p.inputs[i + 1], slope, one;
    OK(lxla_binary_with_scalar(LXLA_BINARY_SUBTRACT, binary(LXLA_BINARY_MULTIPLY, h, h),
                               &(lxla_scalar){.dtype = LXLA_DTYPE_F32, .value.f = 1}, 1, &one));
    slope = noted(one);
    gradient = binary(LXLA_BINARY_MULTIPLY, gradient, slope);
    matmul(turned(p.inputs[i]), gradient);
    sum(gradient, (int64_t[]){0}, 1);
    if (i > 0) gradient = matmul(gradient, turned(n->w[i]));
  }
}

static void by_library(const network *n) {
  passed p = forward(n);
  lxla_tensor xs[2 * LAYERS], gradients[2 * LAYERS];
  for (int i = 0; i < LAYERS; i++) xs[2 * i] = n->w[i], xs[2 * i + 1] = n->b[i];
  OK(lxla_gradients(&p.loss, 1, NULL, xs, 2 * LAYERS, gradients));
  for (int i = 0; i < 2 * LAYERS; i++) noted(gradients[i]);
}

// Microseconds of one recording.
static double measured(void record(const network *), const network *n) {
  double start = now();
  for (int i = 0; i < TURNS; i++) {
    count = 0;
    record(n);
    OK(lxla_tensor_release_many(made, count));
  }
  return (now() - start) / TURNS;
}

static lxla_tensor data(const int64_t *dims, size_t rank) {
  lxla_tensor out;
  OK(lxla_tensor_full(env, device, LXLA_DTYPE_F32, dims, rank, 0.1, &out));
  return out;
}

int main(void) {
  network n = {.x = data((int64_t[]){BATCH, WIDTH}, 2), .y = data((int64_t[]){BATCH, WIDTH}, 2)};
  for (int i = 0; i < LAYERS; i++) n.w[i] = data((int64_t[]){WIDTH, WIDTH}, 2), n.b[i] = data((int64_t[]){WIDTH}, 1);
  OK(lxla_mark_step(env, device, 1));
  double hand[ROUNDS], library[ROUNDS], ratio[ROUNDS];
  for (int i = -1; i < ROUNDS; i++) {
    double first = measured(by_hand, &n), second = measured(by_library, &n);
    if (i >= 0) hand[i] = first, library[i] = second, ratio[i] = second / first;
  }
  printf("%d layers: by hand %.1f us, by lxla_gradients %.1f us, ratio %.2f\n", LAYERS, median(hand, ROUNDS),
         median(library, ROUNDS), median(ratio, ROUNDS));
  OK(lxla_tensor_release_many(n.w, LAYERS));
  OK(lxla_tensor_release_many(n.b, LAYERS));
  OK(lxla_tensor_release(n.x));
  OK(lxla_tensor_release(n.y));
  return 0;
}
