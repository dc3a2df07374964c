// Trains a small network on real handwritten digits: 64-256-256-10, ReLU, softmax cross-entropy, SGD with momentum.
//
//   train_digits examples/data/digits.csv [epochs [curve.txt]] [--mesh data=4]
//
// With a third argument, writes a line "loss" for each step and "accuracy" for each epoch to that file. On a mesh, each
// device computes with its part of the batch and a copy of the network.
//
// Every operation below only records; lxla_gradients records the backward pass. lxla_mark_step, once a batch, hands
// what was recorded to XLA: the first time it is compiled, after that the compiled program is found again, and it
// writes the new parameters over the old ones.
#include "mesh.h"

#include <math.h>
#include <time.h>
#include <unistd.h>

enum { PIXELS = 64, HIDDEN = 256, CLASSES = 10, LAYERS = 3, BATCH = 128, HELD_OUT = 360, MOST_IMAGES = 4096 };
static const int64_t SIZES[LAYERS + 1] = {PIXELS, HIDDEN, HIDDEN, CLASSES};
static const double MOMENTUM = 0.9, FIRST_RATE = 0.05;

static const lxla_env env = {0};                   // the current environment, else the default one
static lxla_device device = {LXLA_DEVICE_XLA, 0};  // its first accelerator; a mesh with --mesh

// --- Data ----------------------------------------------------------------------------------------------------------

typedef struct {
  int count;
  float (*pixels)[PIXELS];   // 0 to 1
  float (*labels)[CLASSES];  // one-hot
} images;

static images load(const char *path) {
  images set = {0, malloc(MOST_IMAGES * sizeof *set.pixels), calloc(MOST_IMAGES, sizeof *set.labels)};
  FILE *file = fopen(path, "r");
  if (!file || !set.pixels || !set.labels) {
    fprintf(stderr, "cannot read %s\n", path);
    exit(1);
  }
  int value;
  while (set.count < MOST_IMAGES && fscanf(file, "%d", &value) == 1) {
    for (int i = 0; i < PIXELS; i++) {
      set.pixels[set.count][i] = (float)value / 16;
      if (fscanf(file, ",%d", &value) != 1) break;
    }
    if (value < 0 || value >= CLASSES) break;
    set.labels[set.count++][value] = 1;
  }
  fclose(file);
  if (set.count <= HELD_OUT + BATCH) {
    fprintf(stderr, "%s: only %d images\n", path, set.count);
    exit(1);
  }
  return set;
}

static uint64_t random_state = 0x9E3779B97F4A7C15u;

static double uniform(void) {
  random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
  return (double)(random_state >> 11) / 9007199254740992.0;
}

static double normal(void) {
  double radius = sqrt(-2 * log(1 - uniform()));  // a statement of its own: C leaves open which operand comes first
  return radius * cos(2 * 3.14159265358979 * uniform());
}

// --- The network ---------------------------------------------------------------------------------------------------

// Each function records one operation. Its operands stay the caller's to release.
static lxla_tensor binary(int32_t op, lxla_tensor a, lxla_tensor b) {
  lxla_tensor out;
  TRY(lxla_binary(op, a, b, &out));
  return out;
}

static lxla_tensor unary(int32_t op, lxla_tensor x) {
  lxla_tensor out;
  TRY(lxla_unary(op, x, &out));
  return out;
}

static lxla_tensor scaled(lxla_tensor x, double factor) {
  lxla_tensor out;
  TRY(lxla_binary_scalar(LXLA_BINARY_MULTIPLY, x, factor, &out));
  return out;
}

static lxla_tensor matmul(lxla_tensor a, lxla_tensor b) {
  lxla_tensor out;
  TRY(lxla_matmul(a, b, &out));
  return out;
}

static lxla_tensor reduced(int32_t op, lxla_tensor x, int64_t axis, int32_t keep) {
  lxla_tensor out;
  TRY(lxla_reduce(op, x, &axis, 1, keep, &out));
  return out;
}

static void drop(lxla_tensor x) { TRY(lxla_tensor_release(x)); }

static lxla_tensor from_host(const float *data, int64_t rows, int64_t columns) {
  lxla_tensor out;
  const int64_t dims[2] = {rows, columns};
  TRY(lxla_tensor_from_host(env, device, LXLA_DTYPE_F32, dims, 2, data, (size_t)(rows * columns) * sizeof *data, &out));
  return out;
}

// The same for a row of each image: on a mesh, each device gets some of the rows.
static lxla_tensor batch(const float *data, int64_t rows, int64_t columns) {
  const int64_t dims[2] = {rows, columns};
  return mesh_from_host(device, LXLA_DTYPE_F32, dims, 2, data, (size_t)(rows * columns) * sizeof *data, "data,-");
}

typedef struct {
  lxla_tensor weight, bias;  // [in, out], [1, out]
  lxla_tensor weight_momentum, bias_momentum;
} layer;

static lxla_tensor zeros(int64_t rows, int64_t columns) {
  lxla_tensor out;
  const int64_t dims[2] = {rows, columns};
  TRY(lxla_tensor_full(env, device, LXLA_DTYPE_F32, dims, 2, 0, &out));
  return mesh_split(out, "");
}

static void initialise(layer *layers) {
  for (int i = 0; i < LAYERS; i++) {
    int64_t in = SIZES[i], out = SIZES[i + 1];
    float *weight = malloc((size_t)(in * out) * sizeof *weight);
    if (!weight) exit(1);
    for (int64_t k = 0; k < in * out; k++) weight[k] = (float)(normal() * sqrt(2.0 / (double)in));
    layers[i] = (layer){from_host(weight, in, out), zeros(1, out), zeros(in, out), zeros(1, out)};
    free(weight);
  }
}

// Records the forward pass, and returns the scores.
static lxla_tensor forward(const layer *layers, lxla_tensor x) {
  lxla_tensor activation;
  TRY(lxla_tensor_snapshot(x, &activation));
  for (int i = 0; i < LAYERS; i++) {
    lxla_tensor product = matmul(activation, layers[i].weight);
    lxla_tensor sum = binary(LXLA_BINARY_ADD, product, layers[i].bias);
    drop(product), drop(activation);
    activation = sum;
    if (i + 1 < LAYERS) {
      TRY(lxla_activation(LXLA_ACTIVATION_RELU, sum, &activation));
      drop(sum);
    }
  }
  return activation;
}

// Records the mean cross-entropy of softmax(scores). What is subtracted from all scores of an image does not change it,
// so that the derivative need not go through the highest score.
static lxla_tensor cross_entropy(lxla_tensor scores, lxla_tensor labels) {
  lxla_tensor most = reduced(LXLA_REDUCE_MAX, scores, 1, 1), highest;
  TRY(lxla_stop_gradient(most, &highest));
  lxla_tensor shifted = binary(LXLA_BINARY_SUBTRACT, scores, highest);
  lxla_tensor powers = unary(LXLA_UNARY_EXPONENTIAL, shifted), total = reduced(LXLA_REDUCE_SUM, powers, 1, 1);
  lxla_tensor log_total = unary(LXLA_UNARY_LOG, total), log_p = binary(LXLA_BINARY_SUBTRACT, shifted, log_total);
  lxla_tensor picked = binary(LXLA_BINARY_MULTIPLY, labels, log_p), sum;
  TRY(lxla_reduce(LXLA_REDUCE_SUM, picked, (const int64_t[]){0, 1}, 2, 0, &sum));
  lxla_tensor loss = scaled(sum, -1.0 / BATCH);
  const lxla_tensor done[] = {most, highest, shifted, powers, total, log_total, log_p, picked, sum};
  TRY(lxla_tensor_release_many(done, sizeof done / sizeof *done));
  return loss;
}

// Records momentum = MOMENTUM * momentum + gradient; parameter -= rate * momentum. In place: the step donates both old
// buffers.
static void update(lxla_tensor parameter, lxla_tensor momentum, lxla_tensor gradient, double rate) {
  TRY(lxla_binary_scalar_inplace(LXLA_BINARY_MULTIPLY, momentum, MOMENTUM));
  TRY(lxla_binary_inplace(LXLA_BINARY_ADD, momentum, gradient));
  lxla_tensor change = scaled(momentum, rate);
  TRY(lxla_binary_inplace(LXLA_BINARY_SUBTRACT, parameter, change));
  drop(change);
}

// Records one training step: forward, backward, update. Returns the loss.
static lxla_tensor train(layer *layers, lxla_tensor x, lxla_tensor labels, double rate) {
  lxla_tensor parameters[2 * LAYERS], gradients[2 * LAYERS];
  for (int i = 0; i < LAYERS; i++) parameters[2 * i] = layers[i].weight, parameters[2 * i + 1] = layers[i].bias;
  lxla_tensor scores = forward(layers, x), loss = cross_entropy(scores, labels);
  TRY(lxla_gradients(&loss, 1, NULL, parameters, 2 * LAYERS, gradients));  // of what is pending: before the update
  for (int i = 0; i < LAYERS; i++) {
    update(layers[i].weight, layers[i].weight_momentum, gradients[2 * i], rate);
    update(layers[i].bias, layers[i].bias_momentum, gradients[2 * i + 1], rate);
  }
  TRY(lxla_tensor_release_many(gradients, 2 * LAYERS));
  drop(scores);
  return loss;
}

// Returns the share of images whose highest score is that of their label.
static double accuracy(const layer *layers, float (*pixels)[PIXELS], float (*labels)[CLASSES], int count) {
  lxla_tensor x = batch(pixels[0], count, PIXELS), result = forward(layers, x);
  float (*scores)[CLASSES] = malloc((size_t)count * sizeof *scores);
  if (!scores) exit(1);
  TRY(lxla_tensor_read(result, scores, (size_t)count * sizeof *scores));
  int right = 0;
  for (int i = 0; i < count; i++) {
    int best = 0;
    for (int c = 1; c < CLASSES; c++)
      if (scores[i][c] > scores[i][best]) best = c;
    right += labels[i][best] == 1;
  }
  free(scores);
  drop(x), drop(result);
  return (double)right / count;
}

// --- Training and telling ------------------------------------------------------------------------------------------

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static uint64_t counter(const char *name) {
  uint64_t value;
  TRY(lxla_env_counter(env, name, &value));
  return value;
}

// Shows progress: a bar that redraws itself on a terminal, or a line now and then in a log.
static void show(int epoch, int epochs, float loss, double held_out, double steps_per_second) {
  enum { WIDTH = 24 };
  int terminal = isatty(STDOUT_FILENO), filled = epoch * WIDTH / epochs, every = epochs > 8 ? epochs / 8 : 1;
  if (!terminal && epoch % every != 0 && epoch != epochs && epoch != 1) return;
  char bar[WIDTH + 1];
  for (int i = 0; i < WIDTH; i++) bar[i] = i < filled ? '#' : '.';
  bar[WIDTH] = 0;
  printf("%s  epoch %3d/%d [%s]  loss %.4f  held-out accuracy %.4f  %5.0f steps/s%s", terminal ? "\r" : "", epoch,
         epochs, bar, loss, held_out, steps_per_second, terminal && epoch < epochs ? "" : "\n");
  fflush(stdout);
}

// Shuffles the images: the file is ordered by writer, and the held-out part must include all writers.
static void mix(images set) {
  for (int i = set.count - 1; i > 0; i--) {
    int k = (int)(uniform() * (i + 1));
    float pixels[PIXELS], labels[CLASSES];
    memcpy(pixels, set.pixels[i], sizeof pixels), memcpy(labels, set.labels[i], sizeof labels);
    memcpy(set.pixels[i], set.pixels[k], sizeof pixels), memcpy(set.labels[i], set.labels[k], sizeof labels);
    memcpy(set.pixels[k], pixels, sizeof pixels), memcpy(set.labels[k], labels, sizeof labels);
  }
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// Prints what the training took. Sorts the times of the steps.
static void summarize(double held_out, uint64_t donated, int epochs, int steps, double *times) {
  qsort(times, (size_t)steps, sizeof *times, by_value);
  printf("\n  held-out accuracy    %.4f\n", held_out);
  printf("  programs compiled    %llu in all, for %d steps and %d evaluations\n",
         (unsigned long long)counter("UncachedCompile"), steps, epochs);
  printf("  cache hits           %llu\n", (unsigned long long)counter("CachedCompile"));
  printf("  buffers donated      %llu each step: all %d parameters and momenta\n", (unsigned long long)donated,
         4 * LAYERS);
  printf("  live bytes           %.2f MB at most\n", (double)counter("PeakLiveBytes") / 1e6);
  printf("  time per step        %.0f us (median; loss read back every step)\n", times[steps / 2] * 1e6);
}

static void shuffle(int *order, int count) {
  for (int i = count - 1; i > 0; i--) {
    int k = (int)(uniform() * (i + 1)), swap = order[i];
    order[i] = order[k], order[k] = swap;
  }
}

int main(int argc, char **argv) {
  setenv("TF_CPP_MIN_LOG_LEVEL", "1", 0);  // hides the plugin's log
  if (argc > 3 && !strcmp(argv[argc - 2], "--mesh")) device = mesh_open(argv[argc - 1]), argc -= 2;
  int epochs = argc > 2 ? atoi(argv[2]) : 40;
  if (argc < 2 || epochs < 1) {
    fprintf(stderr, "usage: %s examples/data/digits.csv [epochs [curve.txt]] [--mesh data=4]\n", argv[0]);
    return 2;
  }
  FILE *curve = argc > 3 ? fopen(argv[3], "w") : NULL;
  if (argc > 3 && !curve) {
    fprintf(stderr, "cannot write %s\n", argv[3]);
    return 2;
  }
  images set = load(argv[1]);
  mix(set);
  int training = set.count - HELD_OUT, batches = training / BATCH, steps = epochs * batches, step = 0;
  int *order = malloc((size_t)training * sizeof *order);
  double *times = malloc((size_t)steps * sizeof *times);
  static float pixels[BATCH][PIXELS], labels[BATCH][CLASSES];
  if (!order || !times) return 1;
  for (int i = 0; i < training; i++) order[i] = i;

  printf("lazyxla %s: %d training images, %d held out, %d epochs of %d steps\n", lxla_version(), training, HELD_OUT,
         epochs, batches);
  layer layers[LAYERS];
  initialise(layers);
  TRY(lxla_mark_step(env, device, 1));
  mesh_show("the first weight", layers[0].weight);
  TRY(lxla_env_metrics_reset(env));

  float loss_value = 0;
  double held_out = 0;
  uint64_t least_donated = UINT64_MAX;
  for (int epoch = 1; epoch <= epochs; epoch++) {
    shuffle(order, training);
    double busy = 0;
    for (int b = 0; b < batches; b++, step++) {
      for (int i = 0; i < BATCH; i++) {
        memcpy(pixels[i], set.pixels[order[b * BATCH + i]], sizeof *pixels);
        memcpy(labels[i], set.labels[order[b * BATCH + i]], sizeof *labels);
      }
      double start = seconds();
      uint64_t donated = counter("DonatedBuffers");
      double rate =
          FIRST_RATE * (1 - 0.9 * step / steps);  // a rate that changes every step costs one more compile, ever
      lxla_tensor x = batch(pixels[0], BATCH, PIXELS), y = batch(labels[0], BATCH, CLASSES);
      lxla_tensor loss = train(layers, x, y, rate);
      drop(x), drop(y);
      TRY(lxla_mark_step(env, device, 0));
      donated = counter("DonatedBuffers") - donated;
      if (donated < least_donated) least_donated = donated;
      TRY(lxla_tensor_read(loss, &loss_value, sizeof loss_value));  // waits for the step, which has computed it
      drop(loss);
      if (curve) fprintf(curve, "loss %.9g\n", loss_value);
      times[step] = seconds() - start;
      busy += times[step];
    }
    held_out = accuracy(layers, set.pixels + training, set.labels + training, HELD_OUT);
    if (curve) fprintf(curve, "accuracy %.9g\n", held_out);
    show(epoch, epochs, loss_value, held_out, batches / busy);
  }

  if (curve && fclose(curve) != 0) return 1;
  summarize(held_out, least_donated, epochs, steps, times);
  for (int i = 0; i < LAYERS; i++)
    drop(layers[i].weight), drop(layers[i].bias), drop(layers[i].weight_momentum), drop(layers[i].bias_momentum);
  mesh_close();
  free(order), free(times), free(set.pixels), free(set.labels);
  return held_out >= 0.96 && least_donated == 4 * LAYERS ? 0 : 1;
}
