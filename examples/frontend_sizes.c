// Sizes that change: training on texts of any length, and a server of prompts of any length, by programs for bounds.
#include "frontend.h"

enum { SYMBOLS = 11, WIDTH = 8, TEXTS = 40, LONGEST = 60, CACHE = 64, PROMPTS = 12, WRITTEN = 4 };

static lxla_tensor random_floats(const int64_t *dims, size_t rank, unsigned seed) {
  float values[SYMBOLS * WIDTH];
  size_t count = 1;
  for (size_t i = 0; i < rank; i++) count *= (size_t)dims[i];
  for (size_t i = 0; i < count; i++)
    values[i] = (float)((seed = seed * 1103515245u + 12345u) >> 8 & 0xFFFF) / 65536 - 0.5f;
  return from_floats(device, dims, rank, values);
}

// A text of `length` symbols, in which every third one says the class.
static lxla_tensor text(int64_t length, int32_t class) {
  int32_t symbols[LONGEST];
  for (int i = 0; i < length; i++) symbols[i] = i % 3 ? i % 7 : class ? 10 : 9;
  lxla_tensor out;
  TRY(lxla_tensor_from_host(env, device, LXLA_DTYPE_S32, &length, 1, symbols, (size_t)length * sizeof *symbols, &out));
  return out;
}

static lxla_tensor integer(int32_t value) {
  lxla_tensor out;
  TRY(lxla_tensor_from_host(env, device, LXLA_DTYPE_S32, NULL, 0, &value, sizeof value, &out));
  return out;
}

// [recipe]
// The squared error of the score of a text: the mean of its symbols' rows, times the weights. Written for any length.
static lxla_tensor loss_of(lxla_tensor symbols, double wanted, lxla_tensor table, lxla_tensor weights) {
  lxla_tensor rows, mean, loss;
  TRY(lxla_take(table, symbols, 0, &rows));
  TRY(lxla_mean(rows, DIMS(0), 0, &mean));
  lxla_tensor score = matmul(mean, weights), error = binary_scalar(LXLA_BINARY_SUBTRACT, score, wanted);
  TRY(lxla_binary(LXLA_BINARY_MULTIPLY, error, error, &loss));
  RELEASE(rows, mean, score, error);
  return loss;
}

static float train(lxla_tensor symbols, double wanted, lxla_tensor *parameters) {
  lxla_tensor gradients[2], loss = loss_of(symbols, wanted, parameters[0], parameters[1]);
  TRY(lxla_gradients(&loss, 1, NULL, parameters, 2, gradients));
  for (int i = 0; i < 2; i++) {
    lxla_tensor update = binary_scalar(LXLA_BINARY_MULTIPLY, gradients[i], 0.3);
    TRY(lxla_binary_inplace(LXLA_BINARY_SUBTRACT, parameters[i], update));
    RELEASE(update, gradients[i]);
  }
  TRY(lxla_mark_step(env, device, 0));
  float value = first_value(loss, 1);
  RELEASE(loss);
  return value;
}
// [recipe end]

// [recipe]
// Attention of new symbols, the first of which is at position `at`, over the keys and values so far: writes theirs into
// the caches, and returns the symbol that follows the last one.
static lxla_tensor next_symbol(lxla_tensor symbols, int32_t at, lxla_tensor table, lxla_tensor *keys,
                               lxla_tensor *values) {
  lxla_tensor rows, starts[] = {integer(at), integer(0)}, written[2], masked, share, seen, places, own;
  TRY(lxla_take(table, symbols, 0, &rows));
  TRY(lxla_dynamic_update_slice(*keys, rows, starts, 2, &written[0]));
  TRY(lxla_dynamic_update_slice(*values, rows, starts, 2, &written[1]));
  RELEASE(*keys, *values);
  *keys = written[0], *values = written[1];
  lxla_tensor columns = transpose(*keys), scores = matmul(rows, columns);

  // A symbol sees the ones up to its own place.
  int64_t count;
  TRY(lxla_tensor_dims(symbols, &count, 1));
  TRY(lxla_iota(env, device, LXLA_DTYPE_S32, DIMS(count, CACHE), 1, &places));
  TRY(lxla_iota(env, device, LXLA_DTYPE_S32, DIMS(count, CACHE), 0, &own));
  TRY(lxla_binary_inplace(LXLA_BINARY_ADD, own, starts[0]));
  TRY(lxla_compare(LXLA_COMPARE_LE, places, own, &seen));
  const lxla_scalar hidden = {.dtype = LXLA_DTYPE_F32, .value.f = -1e30};
  TRY(lxla_select_with_scalars(seen, scores, NULL, (lxla_tensor){0}, &hidden, &masked));
  TRY(lxla_softmax(masked, 1, &share));
  lxla_tensor mixed = matmul(share, *values), symbol_columns = transpose(table), all = matmul(mixed, symbol_columns);
  lxla_tensor last, best;
  TRY(lxla_slice(all, (int64_t[]){count - 1, 0}, (int64_t[]){count, SYMBOLS}, NULL, 2, &last));
  TRY(lxla_argmax(last, 1, 0, LXLA_DTYPE_S32, &best));
  RELEASE(rows, columns, starts[0], starts[1], masked, share, seen, places, own, scores, mixed, symbol_columns, all,
          last);
  return best;
}
// [recipe end]

int main(void) {
  lxla_tensor parameters[] = {random_floats(DIMS(SYMBOLS, WIDTH), 1), random_floats(DIMS(WIDTH), 2)};
  // [recipe]
  // Four bounds in each doubling: 16, 20, 24, 28, 32, 40, 48, 56, 64. A length between two bounds uses the larger one.
  TRY(lxla_env_set_option(env, "dynamic_sizes", "buckets"));
  TRY(lxla_env_set_option(env, "dynamic_exact", "false"));
  float first = 0, last = 0;
  for (int i = 0; i < TEXTS; i++) {
    int64_t length = 1 + i * 37 % LONGEST;
    lxla_tensor symbols = text(length, i % 2);
    last = train(symbols, i % 2, parameters);
    if (i == 0) first = last;
    RELEASE(symbols);
  }
  CHECK(last < first);
  // 40 lengths: one program for each of 9 bounds, one for the first length, and one for a text of one symbol, whose
  // mean is another program.
  CHECK(counter(env, "UncachedCompile") <= 11 && counter(env, "DynamicRefused") == 0);
  // [recipe end]

  uint64_t before = counter(env, "UncachedCompile");
  // [recipe]
  for (int i = 0; i < PROMPTS; i++) {
    lxla_tensor keys, values, prompt = text(1 + i * 29 % LONGEST, 0);
    int64_t at;
    TRY(lxla_tensor_dims(prompt, &at, 1));
    TRY(lxla_tensor_full(env, device, LXLA_DTYPE_F32, DIMS(CACHE, WIDTH), 0, &keys));
    TRY(lxla_tensor_full(env, device, LXLA_DTYPE_F32, DIMS(CACHE, WIDTH), 0, &values));
    lxla_tensor symbol = next_symbol(prompt, 0, parameters[0], &keys, &values);
    for (int written = 0; written < WRITTEN && at < CACHE; written++, at++) {
      TRY(lxla_sync((const lxla_tensor[]){symbol, keys, values}, 3));
      lxla_tensor next = next_symbol(symbol, (int32_t)at, parameters[0], &keys, &values);
      RELEASE(symbol);
      symbol = next;
    }
    RELEASE(prompt, keys, values, symbol);
  }
  // [recipe end]
  printf("%u compiles for %d prompts\n", (unsigned)(counter(env, "UncachedCompile") - before), PROMPTS);
  RELEASE(parameters[0], parameters[1]);
  return 0;
}
