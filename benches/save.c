// Measures saves: lxla_save against a plain write of the same bytes, and training with asynchronous saves against
// training without. bench_save [MB [FOLDER]]: MB of f32 to write (1000; 0: training only), below FOLDER (the current
// one).
#include "bench.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { TENSORS = 200, PAIRS = 11, BLOCK_BYTES = 1 << 20 };  // of a whole save
enum { WIDTH = 1024, ROWS = 8, MOST_LAYERS = 24 };          // of the network: layers of WIDTH x WIDTH, 4 MB each
enum { STEPS = 40, BLOCKS = 12, EVERY = 20, MOST_STEPS = STEPS * BLOCKS };

static char path[4096], plain_path[4096], kept_path[4096];

static lxla_tensor from_host(const float *data, int64_t rows, int64_t columns) {
  const int64_t dims[2] = {rows, columns};
  lxla_tensor t;
  OK(lxla_tensor_from_host(env, device, LXLA_DTYPE_F32, dims, 2, data, (size_t)(rows * columns) * sizeof *data, &t));
  return t;
}

// Fills with random values, which a disk can neither compress nor store as holes.
static void fill(float *values, size_t n) {
  static uint64_t state = 0x9E3779B97F4A7C15u;
  for (size_t i = 0; i < n; i++) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    values[i] = (float)(state >> 40) / (1 << 24) - 0.5f;
  }
}

// Writes as dd conv=fsync does: blocks of 1 MB, then waits for the disk.
static void write_plainly(const char *name, const void *values, size_t bytes) {
  int file = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0666);
  if (file < 0) STOP("cannot write %s", name);
  for (const char *at = values, *end = at + bytes; at < end;) {
    ssize_t written = write(file, at, end - at < BLOCK_BYTES ? (size_t)(end - at) : BLOCK_BYTES);
    if (written <= 0) STOP("cannot write %s", name);
    at += written;
  }
  if (fsync(file) || close(file)) STOP("cannot write %s", name);
}

static double mean(const double *samples, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += samples[i];
  return sum / n;
}

// --- A whole save --------------------------------------------------------------------------------------------------

typedef struct {
  lxla_tensor tensors[TENSORS];
  char names[TENSORS][24];
  const char *name_list[TENSORS];
  float *values;  // of all tensors, concatenated
  size_t bytes;
} content;

static content make_content(double megabytes) {
  size_t each = (size_t)(megabytes * 1e6) / TENSORS / sizeof(float);
  static content c;
  c.bytes = each * TENSORS * sizeof(float);
  c.values = malloc(c.bytes);
  if (!c.values || !each) STOP("no room for %zu bytes", c.bytes);
  fill(c.values, each * TENSORS);
  for (int i = 0; i < TENSORS; i++) {
    c.tensors[i] = from_host(c.values + (size_t)i * each, 1, (int64_t)each);
    snprintf(c.names[i], sizeof c.names[i], "layers.%d.weight", i);
    c.name_list[i] = c.names[i];
  }
  return c;
}

static double plain_write(const content *c) {
  double start = now();
  write_plainly(plain_path, c->values, c->bytes);
  return now() - start;
}

static double library_save(const content *c) {
  double start = now();
  OK(lxla_save(path, c->name_list, c->tensors, TENSORS));
  return now() - start;
}

// Measures a write, without the removal of the earlier file and without the disk's pending work.
static double measured(double (*write_it)(const content *), const content *c) {
  remove(path), remove(plain_path);
  sync();
  return write_it(c);
}

static double least(const double *samples, int n) {
  double found = samples[0];
  for (int i = 1; i < n; i++) found = samples[i] < found ? samples[i] : found;
  return found;
}

// Microseconds for so many bytes are megabytes a second. The least is told too: whatever disturbs makes it slower.
static void whole_saves(double megabytes) {
  content c = make_content(megabytes);
  double plain[PAIRS], save[PAIRS], ratios[PAIRS], bytes = (double)c.bytes;
  for (int pair = -1; pair < PAIRS; pair++) {  // the first pair warms up
    double taken[2];                           // by the plain write, by the save: either goes first in turn
    for (int turn = 0; turn < 2; turn++) {
      int which = (turn + pair) & 1;
      taken[which] = measured(which ? library_save : plain_write, &c);
    }
    if (pair >= 0) plain[pair] = taken[0], save[pair] = taken[1], ratios[pair] = taken[0] / taken[1];
  }
  remove(path), remove(plain_path);
  double p = median(plain, PAIRS), s = median(save, PAIRS), p_least = least(plain, PAIRS), s_least = least(save, PAIRS);
  printf("| %.0f MB in %d tensors | lxla_save | plain write with fsync | ratio |\n|---|---|---|---|\n", bytes / 1e6,
         TENSORS);
  printf("| median of %d | %.0f MB/s | %.0f MB/s | %.2f |\n", PAIRS, bytes / s, bytes / p, p / s);
  printf("| fastest | %.0f MB/s | %.0f MB/s | %.2f |\n", bytes / s_least, bytes / p_least, p_least / s_least);
  printf("| median of the ratios of pairs | | | %.2f |\n\n", median(ratios, PAIRS));
  OK(lxla_tensor_release_many(c.tensors, TENSORS));
  free(c.values);
}

// --- Beside training -----------------------------------------------------------------------------------------------

typedef struct {
  int layers;
  lxla_tensor weights[MOST_LAYERS], x;
  char names[MOST_LAYERS][16];
  const char *name_list[MOST_LAYERS];
} network;

static network make_network(int layers) {
  static float values[WIDTH * WIDTH];
  static network net;
  net.layers = layers;
  for (int i = 0; i < layers; i++) {
    fill(values, WIDTH * WIDTH);
    net.weights[i] = from_host(values, WIDTH, WIDTH);
    snprintf(net.names[i], sizeof net.names[i], "weight.%d", i);
    net.name_list[i] = net.names[i];
  }
  net.x = from_host(values, ROWS, WIDTH);
  return net;
}

// Records a training step: multiplies by each weight, and updates it by an outer product, as SGD does. All weights are
// donated.
static void record(const network *net) {
  lxla_tensor x, y, product, turned, change;
  OK(lxla_tensor_snapshot(net->x, &x));
  for (int i = 0; i < net->layers; i++) {
    OK(lxla_matmul(x, net->weights[i], &product));
    OK(lxla_unary(LXLA_UNARY_TANH, product, &y));
    OK(lxla_transpose(x, (const int64_t[]){1, 0}, 2, &turned));
    OK(lxla_matmul(turned, y, &change));
    OK(lxla_binary_scalar_inplace(LXLA_BINARY_MULTIPLY, change, 1e-4));
    OK(lxla_binary_inplace(LXLA_BINARY_SUBTRACT, net->weights[i], change));
    OK(lxla_tensor_release_many((const lxla_tensor[]){x, product, turned, change}, 4));
    x = y;
  }
  OK(lxla_tensor_release(x));
}

static void step(const network *net) {
  record(net);
  OK(lxla_mark_step(env, device, 1));
}

// Load beside the training: nothing, a thread that writes as many bytes (the unavoidable cost of any background save),
// or lxla_save_async.
enum { NOTHING, PLAIN, SAVE, SIDES };

// Steps; of those, the ones that found a write on its way; and the ones before which one started, that start included.
typedef struct {
  double all[MOST_STEPS], during[MOST_STEPS], first[MOST_STEPS], call[MOST_STEPS];
  int all_count, during_count, first_count;
} times;

static struct {
  pthread_t thread;
  int started;
  atomic_int done;
  const void *values;
  size_t bytes;
} writer;

static void *writing(void *nothing) {
  write_plainly(plain_path, writer.values, writer.bytes);
  if (rename(plain_path, kept_path)) STOP("cannot write %s", kept_path);
  atomic_store(&writer.done, 1);
  return nothing;
}

static lxla_save_ticket ticket;

static void end_write(int side) {
  if (side == PLAIN && writer.started) pthread_join(writer.thread, NULL), writer.started = 0;
  if (side != SAVE) return;
  if (ticket.id) OK(lxla_save_wait(ticket));
  OK(lxla_save_ticket_release(ticket));
  ticket.id = 0;
}

// Starts a write; waits for the one before it if that is still under way.
static void start_write(int side, const network *net) {
  end_write(side);
  if (side == SAVE) OK(lxla_save_async(path, net->name_list, net->weights, (size_t)net->layers, &ticket));
  if (side != PLAIN) return;
  atomic_store(&writer.done, 0);
  if (pthread_create(&writer.thread, NULL, writing, NULL)) STOP("cannot start a thread");
  writer.started = 1;
}

static int is_writing(int side) {
  int32_t done = 1;
  if (side == PLAIN && writer.started) done = atomic_load(&writer.done);
  if (side == SAVE && ticket.id) OK(lxla_save_done(ticket, &done));
  return !done;
}

// A write before every `every`th step; with 0 before each step that finds the one before ended. Gives the mean step.
// Waits at the end for the write in progress, so that it does not slow the next block down.
static double block(const network *net, int side, int every, times *t) {
  for (int i = 0; i < STEPS; i++) {
    int under_way = is_writing(side), starts = side != NOTHING && (every ? i % every == 0 : !under_way);
    double start = now(), called = start;
    if (starts) start_write(side, net), called = now();
    step(net);
    double taken = now() - start;
    t->all[t->all_count++] = taken;
    if (starts) t->call[t->first_count] = called - start, t->first[t->first_count++] = taken;
    else if (under_way) t->during[t->during_count++] = taken;
  }
  end_write(side);
  return mean(t->all + t->all_count - STEPS, STEPS);
}

static double percent(double with, double without) { return (with / without - 1) * 100; }

// `ratio` is that of the mean to the mean of training beside nothing. What one write costs: the time beyond that,
// shared out.
static void print_side(const char *name, times *t, double ratio, double alone) {
  double middle = median(t->all, t->all_count), average = mean(t->all, t->all_count);
  printf("| %s | %.2f ms, %+.1f %% | %.2f ms, %+.1f %% |", name, middle / 1e3, percent(middle, alone), average / 1e3,
         percent(ratio, 1));
  if (!t->first_count) {
    printf(" | | |\n");
    return;
  }
  double first = median(t->first, t->first_count), beyond = average - average / ratio;
  printf(" %.2f ms, %+.0f %% (%.0f us) |", first / 1e3, percent(first, alone), median(t->call, t->first_count));
  if (t->during_count) {
    double during = median(t->during, t->during_count);
    printf(" %.2f ms, %+.0f %% (%d of %d)", during / 1e3, percent(during, alone), t->during_count, t->all_count);
  }
  printf(" | %.1f ms |\n", beyond * t->all_count / t->first_count / 1e3);
}

static void beside_training(int layers, int every) {
  network net = make_network(layers);
  writer.bytes = (size_t)layers * WIDTH * WIDTH * sizeof(float);
  float *values = malloc(writer.bytes);
  if (!values) STOP("no room for %zu bytes", writer.bytes);
  fill(values, writer.bytes / sizeof *values);
  writer.values = values;
  static times t[SIDES];
  double ratios[SIDES][BLOCKS];
  for (int side = 0; side < SIDES; side++)
    block(&net, side, every, &t[side]);  // warms up: the compile, the files, the memory
  memset(t, 0, sizeof t);
  for (int i = 0; i < BLOCKS; i++) {
    double means[SIDES];
    for (int k = 0; k < SIDES; k++) means[(i + k) % SIDES] = block(&net, (i + k) % SIDES, every, &t[(i + k) % SIDES]);
    for (int side = 0; side < SIDES; side++) ratios[side][i] = means[side] / means[NOTHING];
  }
  remove(path), remove(kept_path);
  char when[40] = "as soon as the last has ended";
  if (every) snprintf(when, sizeof when, "every %dth step", every);
  printf(
      "| %.0f MB written %s, beside | step, median | mean | steps that start one (the call) | later ones that find one "
      "| "
      "cost of one |\n|---|---|---|---|---|---|\n",
      (double)writer.bytes / 1e6, when);
  double alone = median(t[NOTHING].all, t[NOTHING].all_count);
  static const char *const names[SIDES] = {"nothing", "a plain thread", "lxla_save_async"};
  for (int side = 0; side < SIDES; side++) print_side(names[side], &t[side], median(ratios[side], BLOCKS), alone);
  printf("\n");
  for (int i = 0; i < net.layers; i++) OK(lxla_tensor_release(net.weights[i]));
  OK(lxla_tensor_release(net.x));
  free(values);
}

int main(int argc, char **argv) {
  setenv("TF_CPP_MIN_LOG_LEVEL", "1", 0);
  double megabytes = argc > 1 ? atof(argv[1]) : 1000;
  const char *folder = argc > 2 ? argv[2] : ".";
  snprintf(path, sizeof path, "%s/bench_save.safetensors", folder);
  snprintf(plain_path, sizeof plain_path, "%s/bench_save.plain", folder);
  snprintf(kept_path, sizeof kept_path, "%s/bench_save.kept", folder);
  if (megabytes > 0) whole_saves(megabytes);
  beside_training(6, EVERY);
  beside_training(MOST_LAYERS, EVERY);
  beside_training(6, 0);
  return 0;
}
