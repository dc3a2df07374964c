// Trains a network on handwritten digits in several processes: each has its own plugin, a copy of the parameters and a
// part of every batch; the gradients are summed by MPI inside of the compiled step.
//
//   mpirun -n 4 data_parallel_mpi examples/data/digits.csv [steps]
//
// Then process 0 trains a second copy alone, with the whole batches. The losses must be equal but for rounding, and the
// parameters of all processes in every bit.
#include "lazyxla_mpi.h"
#include "frontend.h"

#include <time.h>

enum { PIXELS = 64, HIDDEN = 128, CLASSES = 10, BATCH = 128, IMAGES = 1280, PARAMETERS = 4 };
static const int64_t DIMENSIONS[PARAMETERS][2] = {{PIXELS, HIDDEN}, {1, HIDDEN}, {HIDDEN, CLASSES}, {1, CLASSES}};

static float pixels[IMAGES][PIXELS], labels[IMAGES][CLASSES];

static void load(const char *path) {
  FILE *file = fopen(path, "r");
  CHECK(file != NULL);
  for (int i = 0, value; i < IMAGES; i++) {
    for (int k = 0; k < PIXELS; k++) {
      CHECK(fscanf(file, "%d,", &value) == 1);
      pixels[i][k] = (float)value / 16;
    }
    CHECK(fscanf(file, "%d", &value) == 1 && value >= 0 && value < CLASSES);
    labels[i][value] = 1;
  }
  fclose(file);
}

// Makes the parameters from numbers that are equal in all processes.
static void initialise(lxla_tensor *parameters) {
  uint32_t state = 1;
  for (int i = 0; i < PARAMETERS; i++) {
    size_t n = (size_t)(DIMENSIONS[i][0] * DIMENSIONS[i][1]);
    float *values = memory(n * sizeof *values);
    for (size_t k = 0; k < n && DIMENSIONS[i][0] > 1; k++) {
      state = state * 1664525 + 1013904223;
      values[k] = ((float)(state >> 8) / (1 << 24) - 0.5f) * 0.3f;
    }
    parameters[i] = from_floats(device, DIMENSIONS[i], 2, values);
    free(values);
  }
}

static lxla_tensor reduced(int32_t op, lxla_tensor x, int32_t keep) {
  lxla_tensor out;
  TRY(lxla_reduce(op, x, (const int64_t[]){1}, 1, keep, &out));
  return out;
}

// Records the cross-entropy of some images, as their share of the mean over the whole batch.
static lxla_tensor loss_of(const lxla_tensor *parameters, lxla_tensor x, lxla_tensor y) {
  lxla_tensor a = matmul(x, parameters[0]), b = binary(LXLA_BINARY_ADD, a, parameters[1]), hidden, share;
  TRY(lxla_activation(LXLA_ACTIVATION_RELU, b, &hidden));
  lxla_tensor c = matmul(hidden, parameters[2]), scores = binary(LXLA_BINARY_ADD, c, parameters[3]);
  lxla_tensor powers = unary(LXLA_UNARY_EXPONENTIAL, scores), total = reduced(LXLA_REDUCE_SUM, powers, 1);
  lxla_tensor log_total = unary(LXLA_UNARY_LOG, total), log_p = binary(LXLA_BINARY_SUBTRACT, scores, log_total);
  lxla_tensor picked = binary(LXLA_BINARY_MULTIPLY, y, log_p), sum;
  TRY(lxla_reduce(LXLA_REDUCE_SUM, picked, (const int64_t[]){0, 1}, 2, 0, &sum));
  share = binary_scalar(LXLA_BINARY_MULTIPLY, sum, -1.0 / BATCH);
  RELEASE(a, b, hidden, c, scores, powers, total, log_total, log_p, picked, sum);
  return share;
}

static void replace(lxla_tensor *x, lxla_tensor by) {
  RELEASE(*x);
  *x = by;
}

// Runs a training step with images `first` to `first + count`. Returns the loss of the whole batch.
static float step(lxla_tensor *parameters, int first, int count, int is_shared) {
  lxla_tensor x = from_floats(device, (const int64_t[]){count, PIXELS}, 2, pixels[first]);
  lxla_tensor y = from_floats(device, (const int64_t[]){count, CLASSES}, 2, labels[first]);
  lxla_tensor loss = loss_of(parameters, x, y), gradients[PARAMETERS];
  TRY(lxla_gradients(&loss, 1, NULL, parameters, PARAMETERS, gradients));
  for (int i = 0; i <= PARAMETERS && is_shared; i++) {
    lxla_tensor *part = i < PARAMETERS ? &gradients[i] : &loss, whole;
    TRY(lxla_mpi_allreduce(*part, LXLA_REDUCE_SUM, &whole));
    replace(part, whole);
  }
  for (int i = 0; i < PARAMETERS; i++) {
    lxla_tensor change = binary_scalar(LXLA_BINARY_MULTIPLY, gradients[i], 0.2);
    TRY(lxla_binary_inplace(LXLA_BINARY_SUBTRACT, parameters[i], change));
    RELEASE(change, gradients[i]);
  }
  TRY(lxla_mark_step(env, device, 1));
  float value = first_value(loss, 1);
  RELEASE(x, y, loss);
  return value;
}

// Checks that all processes have the same bits.
static void check_equal(lxla_tensor x, int64_t elements, int32_t size) {
  lxla_tensor row, all;
  TRY(lxla_reshape(x, DIMS(1, elements), &row));
  TRY(lxla_mpi_allgather(row, 0, &all));
  size_t bytes = (size_t)elements * sizeof(float);
  char *values = memory(bytes * (size_t)size);
  TRY(lxla_tensor_read(all, values, bytes * (size_t)size));
  for (int32_t p = 1; p < size; p++) CHECK(memcmp(values, values + (size_t)p * bytes, bytes) == 0);
  free(values);
  RELEASE(row, all);
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *times, int n) {
  qsort(times, (size_t)n, sizeof *times, by_value);
  return times[n / 2];
}

int main(int argc, char **argv) {
  setenv("TF_CPP_MIN_LOG_LEVEL", "1", 0);  // hides the plugin's log
  int steps = argc > 2 ? atoi(argv[2]) : 100;
  if (argc < 2 || steps < 2) {
    fprintf(stderr, "usage: mpirun -n 4 %s examples/data/digits.csv [steps]\n", argv[0]);
    return 2;
  }
  load(argv[1]);
  int32_t rank, size;
  TRY(lxla_mpi_start(env, NULL));
  TRY(lxla_mpi_rank(env, &rank, &size));
  CHECK(BATCH % size == 0);
  int part = BATCH / size;
  lxla_tensor shared[PARAMETERS], alone[PARAMETERS];
  initialise(shared), initialise(alone);
  float *losses = memory((size_t)steps * sizeof *losses);
  double *times = memory((size_t)steps * sizeof *times);
  for (int i = 0; i < steps; i++) {
    double start = seconds();
    losses[i] = step(shared, i * BATCH % IMAGES + rank * part, part, 1);
    times[i] = seconds() - start;
  }
  for (int i = 0; i < PARAMETERS; i++) check_equal(shared[i], DIMENSIONS[i][0] * DIMENSIONS[i][1], size);
  TRY(lxla_mark_step(env, device, 1));  // in all processes: the next steps are of process 0 alone
  double time_shared = median(times, steps);
  for (int i = 0; i < steps && rank == 0; i++) {
    double start = seconds();
    float expected = step(alone, i * BATCH % IMAGES, BATCH, 0);
    times[i] = seconds() - start;
    CHECK(fabsf(losses[i] - expected) <= 1e-4f * (expected + 0.01f) * (float)(i < 20 ? 1 : 20));
    if (i % 20 == 0 || i + 1 == steps)
      printf("step %3d: loss %.6f in %d processes, %.6f in one\n", i + 1, losses[i], size, expected);
  }
  if (rank == 0)
    printf("parameters equal in %d processes; a step takes %.0f us, and %.0f us in one process with the whole batch\n",
           size, time_shared * 1e6, median(times, steps) * 1e6);
  CHECK(losses[steps - 1] < losses[0]);
  free(losses), free(times);
  TRY(lxla_tensor_release_many(shared, PARAMETERS));
  TRY(lxla_tensor_release_many(alone, PARAMETERS));
  TRY(lxla_mpi_stop(env));
  return 0;
}
