// Measures steps on meshes of CPU devices.
//
//   bench_mesh                 a cached step on a mesh of 4, against the same text straight through PJRT, sharded
//   bench_mesh digits.csv N    the training step of examples/train_digits.c on a mesh of N; see jax_mesh_digits.py
#include "digits.h"
#include "pjrt.h"

enum { DEVICES = 4, ARGUMENTS = 64, ROWS = 8, TURNS = 400 };

// --- Host time of a cached step ---

static lxla_tensor input(float value) {
  float data[ROWS];
  for (int i = 0; i < ROWS; i++) data[i] = value;
  return mesh_from_host(device, LXLA_DTYPE_F32, (int64_t[]){ROWS}, 1, data, sizeof data, "data");
}

// Arguments and outputs of the bare execute, for each device.
typedef struct {
  PJRT_Buffer *in[DEVICES][ARGUMENTS], *out[DEVICES][ARGUMENTS];
} raw_buffers;

static void raw_inputs(raw_buffers *raw) {
  const float data[ROWS / DEVICES] = {1, 1};
  for (int d = 0; d < DEVICES; d++)
    for (int i = 0; i < ARGUMENTS; i++)
      raw->in[d][i] = pjrt_buffer_on(pjrt_devices[d], PJRT_Buffer_Type_F32, (int64_t[]){ROWS / DEVICES}, 1, data);
}

// Frees what the run made, or takes it in place of the arguments that it consumed.
static void take_outputs(raw_buffers *raw, int outputs) {
  for (int d = 0; d < DEVICES; d++)
    for (int i = 0; i < outputs; i++) {
      if (outputs == 1) {
        pjrt_destroy(raw->out[d][i]);
      } else {
        pjrt_destroy(raw->in[d][i]);
        raw->in[d][i] = raw->out[d][i];
      }
    }
}

// Records a sum of all arguments, or an update in place of each.
static lxla_tensor recorded(lxla_tensor *t, int outputs) {
  lxla_tensor sum = {0};
  if (outputs == 1) {
    TRY(lxla_tensor_snapshot(t[0], &sum));
    for (int i = 1; i < ARGUMENTS; i++) TRY(lxla_binary_inplace(LXLA_BINARY_ADD, sum, t[i]));
  } else {
    for (int i = 0; i < outputs; i++) TRY(lxla_binary_inplace(LXLA_BINARY_ADD, t[i], t[i]));
  }
  return sum;
}

static void arguments(int outputs) {
  static raw_buffers raw;
  lxla_tensor t[ARGUMENTS];
  PJRT_Buffer *const *in[DEVICES], **out[DEVICES];
  PJRT_Event *done[DEVICES];
  for (int i = 0; i < ARGUMENTS; i++) t[i] = input(1);
  raw_inputs(&raw);
  for (int d = 0; d < DEVICES; d++) in[d] = raw.in[d], out[d] = raw.out[d];
  double host[TURNS], whole[TURNS], bare_host[TURNS], bare_whole[TURNS];
  PJRT_LoadedExecutable *executable = NULL;
  for (int turn = -3; turn < TURNS; turn++) {
    lxla_tensor sum = recorded(t, outputs);
    if (!executable) {
      char *text;
      TRY(lxla_step_stablehlo(env, device, &text));
      executable = pjrt_compile_partitioned(text, DEVICES);
      lxla_string_free(text);
    }
    double start = now();
    TRY(lxla_mark_step(env, device, 0));
    double stepped = now();
    TRY(lxla_wait(env, device));
    double waited = now();
    pjrt_enqueue(executable, DEVICES, in, ARGUMENTS, out, done);
    take_outputs(&raw, outputs);
    double enqueued = now();
    pjrt_await(done, DEVICES);
    double end = now();
    TRY(lxla_tensor_release(sum));
    if (turn < 0) continue;
    host[turn] = stepped - start, whole[turn] = waited - start;
    bare_host[turn] = enqueued - waited, bare_whole[turn] = end - waited;
  }
  double a = median(host, TURNS), b = median(bare_host, TURNS), c = median(whole, TURNS), d = median(bare_whole, TURNS);
  printf(
      "| mesh of %d, %d arguments, %d outputs: host time of a cached step | %.1f us, bare execute %.1f us: ratio %.2f "
      "|\n",
      DEVICES, ARGUMENTS, outputs, a, b, a / b);
  printf("| the same, waited | %.1f us, bare %.1f us: ratio %.2f |\n", c, d, c / d);
  TRY(lxla_tensor_release_many(t, ARGUMENTS));
}

// --- Digits ---

// Prints one line: devices, microseconds of a step, of which recording.
static void digits(const char *path, int devices) {
  images set = load(path);
  layer layers[LAYERS];
  initialise(layers);
  lxla_tensor x = batch(set.pixels[0], BATCH, PIXELS), y = batch(set.labels[0], BATCH, CLASSES);
  TRY(lxla_mark_step(env, device, 1));
  static double record[TURNS], step[TURNS];
  for (int turn = -20; turn < TURNS; turn++) {
    double start = now();
    lxla_tensor loss = train(layers, x, y, 0);  // a rate of 0 keeps the numbers the same
    double ready = now();
    TRY(lxla_mark_step(env, device, 1));
    drop(loss);
    double end = now();
    if (turn >= 0) record[turn] = ready - start, step[turn] = end - start;
  }
  printf("digits %d %.1f %.1f\n", devices, median(step, TURNS), median(record, TURNS));
}

int main(int argc, char **argv) {
  setenv("TF_CPP_MIN_LOG_LEVEL", "1", 0);
  int devices = argc > 2 ? atoi(argv[2]) : DEVICES;
  char text[32];
  snprintf(text, sizeof text, "data=%d", devices);
  device = mesh_open(text);
  if (argc > 2) {
    digits(argv[1], devices);
    return 0;
  }
  pjrt_start_with(DEVICES);
  printf("| what | medians of %d |\n|---|---|\n", TURNS);
  arguments(1);
  arguments(ARGUMENTS);
  return 0;
}
