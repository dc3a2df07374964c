// Causes of another compile in a loop: the rate, the optimizer's state, the loss's handle, a random key, a mask.
#include "frontend.h"

enum { ROWS = 8, COLUMNS = 2, STEPS = 30, MASKS = 20, ELEMENTS = 64 };

typedef struct {
  lxla_tensor weights, momentum;
} model;

static lxla_tensor x, target;

static uint64_t compiles(void) { return counter(env, "UncachedCompile"); }

// [recipe]
// One step of gradient descent with momentum. The rate is a tensor of rank 0 from the host: an operand, so its value is
// not part of the program.
static lxla_tensor record_step(model *m, float rate_now) {
  lxla_tensor rate, loss, gradient;
  TRY(lxla_tensor_from_host(env, device, LXLA_DTYPE_F32, NULL, 0, &rate_now, sizeof rate_now, &rate));
  lxla_tensor prediction = matmul(x, m->weights), error = binary(LXLA_BINARY_SUBTRACT, prediction, target);
  lxla_tensor square = binary(LXLA_BINARY_MULTIPLY, error, error);
  TRY(lxla_mean(square, NULL, 0, 0, &loss));
  TRY(lxla_gradients(&loss, 1, NULL, &m->weights, 1, &gradient));
  TRY(lxla_binary_scalar_inplace(LXLA_BINARY_MULTIPLY, m->momentum, 0.9));
  TRY(lxla_binary_inplace(LXLA_BINARY_ADD, m->momentum, gradient));
  lxla_tensor update = binary(LXLA_BINARY_MULTIPLY, m->momentum, rate);
  TRY(lxla_binary_inplace(LXLA_BINARY_SUBTRACT, m->weights, update));
  RELEASE(rate, prediction, error, square, gradient, update);
  return loss;
}
// [recipe end]

static model new_model(int how) {
  const float zeros[COLUMNS] = {0};
  model m = {from_floats(device, DIMS(COLUMNS, 1), zeros), {0}};
  // [recipe]
  if (how == 0) {  // recorded: the first step computes the zeros, and is another program than the second one
    TRY(lxla_tensor_full(env, device, LXLA_DTYPE_F32, DIMS(COLUMNS, 1), 0, &m.momentum));
  } else if (how == 1) {  // from the host: ready, as the results of a step are
    TRY(lxla_tensor_from_host(env, device, LXLA_DTYPE_F32, DIMS(COLUMNS, 1), zeros, sizeof zeros, &m.momentum));
  } else {  // recorded, and computed before the first step: a small program of its own
    TRY(lxla_tensor_full(env, device, LXLA_DTYPE_F32, DIMS(COLUMNS, 1), 0, &m.momentum));
    TRY(lxla_sync(&m.momentum, 1));
  }
  // [recipe end]
  return m;
}

// Trains with another rate in each step. `read_every` is the number of steps after which the loss is read.
static uint64_t train(int how, int read_every) {
  const uint64_t before = compiles();
  model m = new_model(how);
  for (int i = 0; i < STEPS; i++) {
    float value;
    // [recipe]
    lxla_tensor loss = record_step(&m, 0.05f / (float)(1 + i));
    const int is_read = i % read_every == 0;
    if (!is_read) RELEASE(loss);  // released before the step: a program without the loss
    TRY(lxla_mark_step(env, device, 0));
    if (is_read) {  // alive at the step: a program whose result is the loss
      TRY(lxla_tensor_read(loss, &value, sizeof value));
      RELEASE(loss);
    }
    // [recipe end]
  }
  RELEASE(m.weights, m.momentum);
  return compiles() - before;
}

static void check_training(void) {
  // [recipe]
  CHECK(train(1, 1) == 1);   // momentum from the host, the loss read in every step: one program
  CHECK(train(0, 1) == 1);   // momentum recorded: the first step is another program; the others are known by now
  CHECK(train(2, 1) == 1);   // momentum synced: its own small program
  CHECK(train(1, 10) == 1);  // the loss released in most steps: one more program, for these
  // [recipe end]
}

// [recipe]
// The next key and a key for now, of a key on the device.
static lxla_tensor split_key(lxla_tensor *key) {
  lxla_tensor keys, next, now, flat[2];
  TRY(lxla_random_split(LXLA_RNG_THREE_FRY, *key, 2, &keys));
  TRY(lxla_slice_axis(keys, 0, 0, 1, 1, &flat[0]));
  TRY(lxla_slice_axis(keys, 0, 1, 2, 1, &flat[1]));
  TRY(lxla_reshape(flat[0], DIMS(2), &next));
  TRY(lxla_reshape(flat[1], DIMS(2), &now));
  RELEASE(keys, flat[0], flat[1], *key);
  *key = next;
  return now;
}
// [recipe end]

static uint64_t draw(void) {
  const uint64_t before = compiles();
  const uint32_t seed[2] = {0, 42};
  lxla_tensor key;
  TRY(lxla_tensor_from_host(env, device, LXLA_DTYPE_U32, DIMS(2), seed, sizeof seed, &key));
  for (int i = 0; i < MASKS; i++) {
    float value;
    // [recipe]
    lxla_tensor numbers, now = split_key(&key);
    TRY(lxla_random_uniform(LXLA_RNG_THREE_FRY, now, LXLA_DTYPE_F32, NULL, 0, 0, 1, &numbers));
    TRY(lxla_tensor_read(numbers, &value, sizeof value));  // computes the next key, too, which shares the split
    RELEASE(numbers, now);
    // [recipe end]
    CHECK(0 <= value && value < 1);
  }
  RELEASE(key);
  return compiles() - before;
}

static void check_keys(void) {
  // [recipe]
  CHECK(draw() == 1);  // one program
  // [recipe end]
}

// [recipe]
static int32_t count_of(lxla_tensor mask) {  // a program of its own, the same for every mask
  lxla_tensor numbers, sum;
  int32_t count;
  TRY(lxla_convert(mask, LXLA_DTYPE_S32, &numbers));
  TRY(lxla_reduce(LXLA_REDUCE_SUM, numbers, NULL, 0, 0, &sum));
  TRY(lxla_tensor_read(sum, &count, sizeof count));
  RELEASE(numbers, sum);
  return count;
}

static int64_t bucket(int64_t count) {  // the smallest power of two that is not less
  int64_t capacity = 1;
  while (capacity < count) capacity *= 2;
  return capacity;
}

// x[mask], then zeros up to `capacity`: the shape depends on the capacity alone.
static lxla_tensor selected(lxla_tensor values, lxla_tensor mask, int64_t capacity) {
  lxla_tensor zero, out;
  TRY(lxla_tensor_full(env, device, LXLA_DTYPE_F32, NULL, 0, 0, &zero));
  TRY(lxla_mask_select(values, mask, capacity, zero, LXLA_DTYPE_S32, &out, NULL));
  RELEASE(zero);
  return out;
}
// [recipe end]

// Sums of the squares of selected values, of masks with 1 to MASKS elements.
static uint64_t select_all(int has_buckets) {
  const uint64_t before = compiles();
  float numbers[ELEMENTS];
  for (int i = 0; i < ELEMENTS; i++) numbers[i] = 1;
  lxla_tensor values = from_floats(device, DIMS(ELEMENTS), numbers);
  for (int i = 0; i < MASKS; i++) {
    uint8_t bits[ELEMENTS] = {0};
    for (int k = 0; k <= i; k++) bits[3 * k] = 1;
    lxla_tensor mask, sum;
    TRY(lxla_tensor_from_host(env, device, LXLA_DTYPE_PRED, DIMS(ELEMENTS), bits, sizeof bits, &mask));
    const int32_t count = count_of(mask);
    lxla_tensor chosen = selected(values, mask, has_buckets ? bucket(count) : count);
    lxla_tensor square = binary(LXLA_BINARY_MULTIPLY, chosen, chosen);
    TRY(lxla_reduce(LXLA_REDUCE_SUM, square, NULL, 0, 0, &sum));
    CHECK(first_value(sum, 1) == (float)(i + 1));
    RELEASE(mask, chosen, square, sum);
  }
  RELEASE(values);
  return compiles() - before;
}

static void check_masks(void) {
  // [recipe]
  CHECK(select_all(1) == 1 + 6);      // the count; capacities 1, 2, 4, 8, 16, 32
  CHECK(select_all(0) == MASKS - 5);  // a program for each size; those of 1, 2, 4, 8 and 16 are known by now
  // [recipe end]
}

int main(void) {
  float x_values[ROWS * COLUMNS], targets[ROWS];
  for (int i = 0; i < ROWS; i++) {
    x_values[2 * i] = 1, x_values[2 * i + 1] = (float)i / ROWS;
    targets[i] = 3 - 2 * x_values[2 * i + 1];
  }
  x = from_floats(device, DIMS(ROWS, COLUMNS), x_values);
  target = from_floats(device, DIMS(ROWS, 1), targets);
  check_training();
  check_keys();
  check_masks();
  RELEASE(x, target);
  return 0;
}
