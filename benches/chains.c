// Compares lazy with native tensors on the same chain of elementwise operations, in one run. Lazy: recording, and a
// step that is waited for, its program in the cache. Native: the operations themselves.
#include "bench.h"

static const int LENGTHS[] = {1, 3, 10, 30, 100};
static const int64_t ELEMENTS[] = {8, 1000, 100000, 1000000};
enum { LENGTH_COUNT = sizeof LENGTHS / sizeof *LENGTHS, ELEMENT_COUNT = sizeof ELEMENTS / sizeof *ELEMENTS };
enum { ROUNDS = 15, SAMPLE_US = 3000 };
static const lxla_device cpu = {LXLA_DEVICE_CPU, 0};

typedef struct {
  double native, lazy, ratio;  // us for one chain, and native / lazy
} figures;

static lxla_tensor input(lxla_device where, int64_t elements, float step) {
  float *data = malloc((size_t)elements * sizeof *data);
  lxla_tensor t;
  if (!data) STOP("no memory");
  for (int64_t i = 0; i < elements; i++) data[i] = 0.5f + step * (float)(i % 1000);
  OK(lxla_tensor_from_host(env, where, LXLA_DTYPE_F32, &elements, 1, data, (size_t)elements * sizeof *data, &t));
  free(data);
  return t;
}

// Records add, multiply, tanh in turn; with `reduction`, a sum over all elements at the end.
static lxla_tensor chain(int length, int reduction, lxla_tensor start, lxla_tensor y) {
  lxla_tensor x, next;
  OK(lxla_tensor_snapshot(start, &x));
  for (int i = 0; i < length; i++) {
    if (reduction && i == length - 1) {
      OK(lxla_reduce(LXLA_REDUCE_SUM, x, (const int64_t[]){0}, 1, 0, &next));
    } else if (i % 3 == 2) {
      OK(lxla_unary(LXLA_UNARY_TANH, x, &next));
    } else {
      OK(lxla_binary(i % 3 ? LXLA_BINARY_MULTIPLY : LXLA_BINARY_ADD, x, y, &next));
    }
    OK(lxla_tensor_release(x));
    x = next;
  }
  return x;
}

// One of the two ways: its operands, and the number of runs in one sample.
typedef struct {
  lxla_device where;
  lxla_tensor x, y;
  int turns;
  double samples[ROUNDS];
} way;

static double us_per_chain(const way *w, int length, int reduction, int turns) {
  double start = now();
  for (int i = 0; i < turns; i++) {
    lxla_tensor result = chain(length, reduction, w->x, w->y);
    OK(lxla_mark_step(env, w->where, 1));  // does nothing on cpu
    OK(lxla_tensor_release(result));
  }
  return (now() - start) / turns;
}

static void prepare(way *w, lxla_device where, int length, int reduction, int64_t elements) {
  w->where = where, w->x = input(where, elements, 0), w->y = input(where, elements, 4e-4f);
  us_per_chain(w, length, reduction, 2);  // compiles
  w->turns = (int)(SAMPLE_US / us_per_chain(w, length, reduction, 3)) + 1;
}

static double value(const way *w, int length, int reduction, int64_t elements) {
  static float values[1000000];
  lxla_tensor result = chain(length, reduction, w->x, w->y);
  int64_t size = reduction ? 1 : elements;
  OK(lxla_tensor_read(result, values, (size_t)size * sizeof *values));
  OK(lxla_tensor_release(result));
  return values[size - 1];
}

static figures measure(int length, int reduction, int64_t elements) {
  static way native, lazy;
  double ratios[ROUNDS];
  prepare(&native, cpu, length, reduction, elements), prepare(&lazy, device, length, reduction, elements);
  double a = value(&native, length, reduction, elements), b = value(&lazy, length, reduction, elements);
  if (!(a - b < 1e-3 * a && b - a < 1e-3 * a)) STOP("%d operations on %d: %g and %g", length, (int)elements, a, b);
  for (int i = 0; i < ROUNDS; i++) {
    native.samples[i] = us_per_chain(&native, length, reduction, native.turns);
    lazy.samples[i] = us_per_chain(&lazy, length, reduction, lazy.turns);
    ratios[i] = native.samples[i] / lazy.samples[i];
  }
  const lxla_tensor done[] = {native.x, native.y, lazy.x, lazy.y};
  OK(lxla_tensor_release_many(done, 4));
  return (figures){median(native.samples, ROUNDS), median(lazy.samples, ROUNDS), median(ratios, ROUNDS)};
}

static void print_head(const char *what) {
  printf("%s\n\n| operations |", what);
  for (int e = 0; e < ELEMENT_COUNT; e++) printf(" f32[%lld] |", (long long)ELEMENTS[e]);
  printf("\n|---|");
  for (int e = 0; e < ELEMENT_COUNT; e++) printf("---|");
  printf("\n");
}

static void print(const char *what, figures all[LENGTH_COUNT][ELEMENT_COUNT]) {
  char head[256];
  snprintf(head, sizeof head, "%s: time native / time lazy (above 1: lazy is faster)", what);
  print_head(head);
  for (int l = 0; l < LENGTH_COUNT; l++) {
    printf("| %d |", LENGTHS[l]);
    for (int e = 0; e < ELEMENT_COUNT; e++) printf(" %.2f |", all[l][e].ratio);
    printf("\n");
  }
  snprintf(head, sizeof head, "\n%s: us native, us lazy", what);
  print_head(head);
  for (int l = 0; l < LENGTH_COUNT; l++) {
    printf("| %d |", LENGTHS[l]);
    for (int e = 0; e < ELEMENT_COUNT; e++) printf(" %.4g, %.4g |", all[l][e].native, all[l][e].lazy);
    printf("\n");
  }
  printf("\n");
}

int main(void) {
  setenv("TF_CPP_MIN_LOG_LEVEL", "1", 0);
  static const char *const KINDS[] = {"add, multiply, tanh in turn", "the same, the last one a sum over everything"};
  for (int reduction = 0; reduction < 2; reduction++) {
    figures all[LENGTH_COUNT][ELEMENT_COUNT];
    for (int l = 0; l < LENGTH_COUNT; l++)
      for (int e = 0; e < ELEMENT_COUNT; e++) all[l][e] = measure(LENGTHS[l], reduction, ELEMENTS[e]);
    print(KINDS[reduction], all);
  }
  return 0;
}
