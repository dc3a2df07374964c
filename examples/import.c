// Imports a program that JAX, PyTorch or TensorFlow exported, runs it, trains it on, and exports it again.
//
//   import examples/models/digits.jax --digits examples/data/digits.csv [--steps N] [--save FOLDER]
//   import FILE_OR_FOLDER [--shapes 32x784,32] [--device cpu]
//
// The first form takes the network of examples/models/export_digits.py, a file of jax.export with weights and a free
// batch. Its accuracy is computed on cpu, without a plugin. On images that are shifted by a pixel it is poor: so the
// last layer is trained on such images, by gradients through the imported function. The weights are saved, and the
// trained network is exported for JAX, with its backward pass, and as a folder.
//
// The second form takes any program: it is described, imported for the shapes that are given, and called on random
// numbers.
//
// Ends with status 0 if the trained network is as good as it has to be.
#include "frontend.h"
#include "losses.h"
#include "optimizer.h"

#include <errno.h>
#include <sys/stat.h>

enum { PIXELS = 64, CLASSES = 10, BATCH = 128, MOST_IMAGES = 4096, HELD_OUT = 5, MOST_VALUES = 1024, MOST_AXES = 64 };
static const lxla_device CPU = {LXLA_DEVICE_CPU, 0};

typedef struct {
  const char *program, *digits, *save, *shapes;
  int64_t steps;
  lxla_device on;
} options;

static int usage(const char *name) {
  fprintf(stderr,
          "usage: %s examples/models/digits.jax --digits examples/data/digits.csv [--steps N] [--save FOLDER]\n"
          "       %s PROGRAM [--shapes 32x784,32] [--device cpu|xla]\n\n"
          "PROGRAM is a file of jax.export, StableHLO as text or bytecode, or a folder of PyTorch/XLA.\n"
          "  --digits FILE   evaluates and trains the program, a classifier of the images of this file\n"
          "  --steps N       training steps (200)\n"
          "  --save FOLDER   for the weights and the exports of the trained program (tuned_digits)\n"
          "  --shapes LIST   shapes of all parameters, for a program with free sizes: one for each parameter,\n"
          "                  sizes with x between them; a scalar is an empty shape, as in 32x784,,10\n"
          "  --device NAME   where the program is called: cpu, without a plugin (the default), or xla\n",
          name, name);
  return 2;
}

// --- Programs ------------------------------------------------------------------------------------------------------

// Prints a JSON object: each member, and each object in a list that is a member, on a line of its own.
static void print_json(const char *json) {
  int depth = 0, quoted = 0, column = 0;
  for (const char *c = json; *c; c++, column++) {
    if (*c == '"' && (c == json || c[-1] != '\\')) quoted = !quoted;
    int opens = !quoted && (*c == '{' || *c == '['), closes = !quoted && (*c == '}' || *c == ']');
    int comma = !quoted && *c == ',';
    depth -= closes;
    if (opens && *c == '{' && depth == 2) printf("\n    "), column = 4;
    putchar(*c);
    depth += opens;
    if (depth == 1 && (opens || comma)) printf("\n  "), column = 2;
    if (depth == 2 && comma && column > 100 && c[1] != '{') printf("\n    "), column = 4;
  }
  putchar('\n');
}

static void describe(const char *path) {
  char *json;
  TRY(lxla_module_describe_file(path, &json));
  printf("%s holds\n", path);
  print_json(json);
  fflush(stdout);  // before the message of a failure
  lxla_string_free(json);
}

// Imports a program for parameters of these shapes; n 0: the program has no free sizes.
static lxla_computation imported(const char *path, const size_t *ranks, const int64_t *dims, size_t n) {
  lxla_import_options wanted = {.struct_size = sizeof wanted};
  TRY(lxla_import_options_init(&wanted));
  wanted.ranks = ranks, wanted.dims = dims, wanted.n_parameters = n;
  lxla_computation computation;
  TRY(lxla_computation_import_file(env, path, &wanted, &computation));
  return computation;
}

// --- Any program ---------------------------------------------------------------------------------------------------

// Reads shapes as in 32x784,32. Returns their number; 0 for no text.
static size_t parse_shapes(const char *text, size_t *ranks, int64_t *dims) {
  size_t n = 0, total = 0;
  for (const char *at = text; at; n++) {
    CHECK(n < MOST_VALUES && total < MOST_VALUES * MOST_AXES - MOST_AXES);
    for (ranks[n] = 0; *at && *at != ','; ranks[n]++) {
      char *end;
      dims[total++] = strtoll(at, &end, 10);
      if (end == at || (*end && *end != ',' && *end != 'x') || ranks[n] == MOST_AXES) {
        fprintf(stderr, "--shapes: \"%s\" given; want sizes with x between them, such as 32x784,32\n", text);
        exit(2);
      }
      at = end + (*end == 'x');
    }
    at = *at ? at + 1 : NULL;
  }
  return n;
}

// The dtype and the shape of the next value in a list of the description of a computation.
typedef struct {
  int32_t dtype;
  size_t rank;
  int64_t dims[MOST_AXES];
} type;

// Reads {"dims":[2,3],"dtype":"f32"} at `json`, and returns the place behind it.
static const char *parse_type(const char *json, type *out) {
  const char *dims = strstr(json, "\"dims\":["), *dtype = strstr(json, "\"dtype\":\"");
  CHECK(dims && dtype);
  dims += strlen("\"dims\":["), dtype += strlen("\"dtype\":\"");
  for (out->rank = 0; *dims != ']'; dims += *dims == ',') {
    CHECK(out->rank < MOST_AXES);
    out->dims[out->rank++] = strtoll(dims, (char **)&dims, 10);
  }
  size_t length = strcspn(dtype, "\"");
  for (out->dtype = 1;; out->dtype++) {
    CHECK(out->dtype < 64);
    const char *name = lxla_dtype_name(out->dtype);
    if (strlen(name) == length && !memcmp(name, dtype, length)) break;
  }
  return strchr(json, '}') + 1;
}

// Returns random numbers from -1 to 1, or zeros of integers and preds, which may be indices or choose a branch.
static lxla_tensor input(lxla_device on, const type *t, uint32_t number) {
  int is_number = strchr("fbc", lxla_dtype_name(t->dtype)[0]) != NULL;  // floats, bf16, complex numbers
  const uint32_t seed[2] = {0, number};
  lxla_tensor key, numbers, converted;
  if (!is_number) {
    TRY(lxla_tensor_full(env, on, t->dtype, t->dims, t->rank, 0, &numbers));
    return numbers;
  }
  TRY(lxla_tensor_from_host(env, on, LXLA_DTYPE_U32, DIMS(2), seed, sizeof seed, &key));
  TRY(lxla_random_uniform(LXLA_RNG_THREE_FRY, key, LXLA_DTYPE_F32, t->dims, t->rank, -1, 1, &numbers));
  TRY(lxla_convert(numbers, t->dtype, &converted));
  RELEASE(key, numbers);
  return converted;
}

static void print_result(size_t number, lxla_tensor x) {
  int32_t dtype;
  size_t rank;
  int64_t dims[MOST_AXES];
  TRY(lxla_tensor_dtype(x, &dtype));
  TRY(lxla_tensor_rank(x, &rank));
  TRY(lxla_tensor_dims(x, dims, MOST_AXES));
  int is_complex = lxla_dtype_name(dtype)[0] == 'c';
  lxla_tensor wide, norm;
  TRY(lxla_convert(x, is_complex ? LXLA_DTYPE_C128 : LXLA_DTYPE_F64, &wide));
  TRY(lxla_norm(wide, 2, NULL, 0, 0, &norm));
  double value;
  TRY(lxla_tensor_read(norm, &value, sizeof value));
  printf("  result %zu: %s[", number, lxla_dtype_name(dtype));
  for (size_t i = 0; i < rank; i++) printf(i ? ",%lld" : "%lld", (long long)dims[i]);
  printf("], norm %.9g\n", value);
  RELEASE(wide, norm);
}

// Calls a program on random numbers, and prints shapes and norms of the results.
static void run_any(const options *o) {
  size_t ranks[MOST_VALUES], n, n_results, n_captured;
  int64_t *dims = memory(MOST_VALUES * MOST_AXES * sizeof *dims);
  size_t n_shapes = parse_shapes(o->shapes, ranks, dims);
  lxla_computation computation = imported(o->program, ranks, dims, n_shapes);
  free(dims);
  TRY(lxla_computation_info(computation, &n, &n_results, &n_captured));
  lxla_tensor *in = memory(n * sizeof *in), *out = memory(n_results * sizeof *out);
  char *json;
  TRY(lxla_computation_describe(computation, &json));
  const char *at = strstr(json, "\"parameters\":[");
  CHECK(at);
  for (size_t i = 0; i < n; i++) {
    type t;
    at = parse_type(at, &t);
    in[i] = input(o->on, &t, (uint32_t)i);
  }
  lxla_string_free(json);
  TRY(lxla_computation_call(computation, in, n, out, n_results));
  printf("imported: %zu parameters, %zu captured values; of random numbers it is\n", n, n_captured);
  for (size_t i = 0; i < n_results; i++) print_result(i, out[i]);
  TRY(lxla_tensor_release_many(in, n));
  TRY(lxla_tensor_release_many(out, n_results));
  TRY(lxla_computation_release(computation));
  free(in), free(out);
}

// --- Digits --------------------------------------------------------------------------------------------------------

typedef struct {
  int count;
  float (*pixels)[PIXELS];  // 0 to 1
  int32_t *labels;
} images;

// Reads the images to train on and those that are held out: every fifth one, as export_digits.py does.
static void load(const char *path, images out[2]) {
  for (int part = 0; part < 2; part++)
    out[part] = (images){0, memory(MOST_IMAGES * sizeof *out->pixels), memory(MOST_IMAGES * sizeof *out->labels)};
  FILE *file = fopen(path, "r");
  int value;
  for (int n = 0; file && n < MOST_IMAGES && fscanf(file, "%d", &value) == 1; n++) {
    images *part = &out[n % HELD_OUT == HELD_OUT - 1];
    for (int i = 0; i < PIXELS; i++) {
      part->pixels[part->count][i] = (float)value / 16;
      if (fscanf(file, ",%d", &value) != 1) break;
    }
    if (value < 0 || value >= CLASSES) break;
    part->labels[part->count++] = value;
  }
  if (!file || fclose(file) != 0 || out[0].count < BATCH || out[1].count == 0) {
    fprintf(stderr, "%s: cannot be read, or has too few images\n", path);
    exit(1);
  }
}

// Moves the images by one pixel to the right and downwards.
static void shift(images set) {
  enum { SIZE = 8 };
  for (int i = 0; i < set.count; i++) {
    float *pixels = set.pixels[i];
    for (int k = PIXELS - 1; k >= 0; k--) pixels[k] = k >= SIZE && k % SIZE > 0 ? pixels[k - SIZE - 1] : 0;
  }
}

static lxla_computation imported_for(const char *path, int64_t count) {
  const size_t rank = 2;
  return imported(path, &rank, (const int64_t[]){count, PIXELS}, 1);
}

static lxla_tensor pixels_of(lxla_device on, const images *set) {
  return from_floats(on, DIMS(set->count, PIXELS), set->pixels[0]);
}

static lxla_tensor labels_of(lxla_device on, const images *set) {
  lxla_tensor out;
  const size_t bytes = (size_t)set->count * sizeof *set->labels;
  TRY(lxla_tensor_from_host(env, on, LXLA_DTYPE_S32, DIMS(set->count), set->labels, bytes, &out));
  return out;
}

// Returns the share of images with the highest score at their label.
static double share_right(lxla_tensor scores, const images *set) {
  lxla_tensor best;
  int32_t *classes = memory((size_t)set->count * sizeof *classes);
  TRY(lxla_argmax(scores, -1, 0, LXLA_DTYPE_S32, &best));
  TRY(lxla_tensor_read(best, classes, (size_t)set->count * sizeof *classes));
  int right = 0;
  for (int i = 0; i < set->count; i++) right += classes[i] == set->labels[i];
  RELEASE(best);
  free(classes);
  return (double)right / set->count;
}

static double accuracy_on_cpu(lxla_computation model, const images *set) {
  lxla_tensor x = pixels_of(CPU, set), scores;
  TRY(lxla_computation_call(model, &x, 1, &scores, 1));
  double share = share_right(scores, set);
  RELEASE(x, scores);
  return share;
}

// The weights of a network: captured values of its program.
typedef struct {
  lxla_tensor values[MOST_VALUES];
  size_t n, matrix, bias;  // places of the last layer
} network;

// Returns the weights on the XLA device. The last layer has an element, or a column, for each class.
static network weights_of(lxla_computation model) {
  network w = {.matrix = MOST_VALUES, .bias = MOST_VALUES};
  size_t parameters, results;
  TRY(lxla_computation_info(model, &parameters, &results, &w.n));
  CHECK(w.n < MOST_VALUES);
  for (size_t i = 0; i < w.n; i++) {
    lxla_tensor captured;
    size_t rank;
    int64_t dims[MOST_AXES];
    TRY(lxla_computation_captured(model, i, &captured));
    TRY(lxla_tensor_rank(captured, &rank));
    TRY(lxla_tensor_dims(captured, dims, MOST_AXES));
    if (rank == 2 && dims[1] == CLASSES) w.matrix = i;
    if (rank == 1 && dims[0] == CLASSES) w.bias = i;
    TRY(lxla_tensor_to_device(captured, device, &w.values[i]));
    RELEASE(captured);
  }
  CHECK(w.matrix < w.n && w.bias < w.n);
  return w;
}

// Records a call of a program with its weights as parameters.
static lxla_tensor scores_of(lxla_computation lifted, lxla_tensor x, const network *w) {
  lxla_tensor in[MOST_VALUES] = {x}, scores;
  memcpy(in + 1, w->values, w->n * sizeof *in);
  TRY(lxla_computation_call(lifted, in, w->n + 1, &scores, 1));
  return scores;
}

static double accuracy(lxla_computation lifted, const network *w, const images *set) {
  lxla_tensor x = pixels_of(device, set), scores = scores_of(lifted, x, w);
  double share = share_right(scores, set);
  RELEASE(x, scores);
  return share;
}

static lxla_tensor zeros_like(lxla_tensor x) {
  size_t rank;
  int64_t dims[MOST_AXES];
  lxla_tensor out;
  TRY(lxla_tensor_rank(x, &rank));
  TRY(lxla_tensor_dims(x, dims, MOST_AXES));
  TRY(lxla_tensor_full(env, device, LXLA_DTYPE_F32, dims, rank, 0, &out));
  return out;
}

// Trains the last layer by AdamW. Returns the loss of the last step.
static float train(lxla_computation lifted, const network *w, const images *set, int64_t steps, FILE *curve) {
  const adamw o = {.beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .decay = 0, .clip = 1};
  const lxla_tensor last[2] = {w->values[w->matrix], w->values[w->bias]};
  lxla_tensor m[2], v[2], gradients[2];
  for (int i = 0; i < 2; i++) m[i] = zeros_like(last[i]), v[i] = zeros_like(last[i]);
  float value = 0;
  for (int64_t step = 0; step < steps; step++) {
    images batch = {BATCH, memory(BATCH * sizeof *batch.pixels), memory(BATCH * sizeof *batch.labels)};
    for (int i = 0; i < BATCH; i++) {
      int64_t from = (step * BATCH + i) % set->count;
      memcpy(batch.pixels[i], set->pixels[from], sizeof *batch.pixels), batch.labels[i] = set->labels[from];
    }
    lxla_tensor x = pixels_of(device, &batch), labels = labels_of(device, &batch);
    lxla_tensor scores = scores_of(lifted, x, w), loss = mean_cross_entropy(scores, labels);
    TRY(lxla_gradients(&loss, 1, NULL, last, 2, gradients));
    lxla_tensor factor = clip_factor(gradients, 2, o.clip);
    adamw_rates rates = make_rates(env, device, &o, warmup_cosine(0.01, step, 10, steps), step);
    for (int i = 0; i < 2; i++) adamw_apply(&o, &rates, factor, last[i], gradients[i], m[i], v[i], 0);
    RELEASE(x, labels, scores, gradients[0], gradients[1], factor);
    release_rates(rates);
    TRY(lxla_mark_step(env, device, 0));
    TRY(lxla_tensor_read(loss, &value, sizeof value));
    if (curve) fprintf(curve, "%.9g\n", (double)value);
    RELEASE(loss);
    free(batch.pixels), free(batch.labels);
  }
  RELEASE(m[0], m[1], v[0], v[1]);
  return value;
}

// --- Files ---------------------------------------------------------------------------------------------------------

static const char *path_in(const char *folder, const char *name) {
  static char path[4096];
  CHECK(snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path);
  return path;
}

// Saves weights under their numbers among the captured values of the program.
static void save_weights(const char *path, const network *w) {
  char texts[MOST_VALUES][24];
  const char *names[MOST_VALUES];
  for (size_t i = 0; i < w->n; i++) snprintf(texts[i], sizeof texts[i], "%zu", i), names[i] = texts[i];
  TRY(lxla_save(path, names, w->values, w->n));
}

// Saves images, their scores, and the gradient of the loss by the pixels: what JAX has to compute of the export.
static void save_values(const char *path, lxla_computation lifted, const network *w, const images *set) {
  static const char *const NAMES[] = {"pixels", "labels", "scores", "gradient"};
  lxla_tensor x = pixels_of(device, set), labels = labels_of(device, set), gradient;
  lxla_tensor scores = scores_of(lifted, x, w), loss = mean_cross_entropy(scores, labels);
  TRY(lxla_gradients(&loss, 1, NULL, &x, 1, &gradient));
  TRY(lxla_save(path, NAMES, (const lxla_tensor[]){x, labels, scores, gradient}, 4));
  RELEASE(x, labels, scores, loss, gradient);
}

// Exports a network with its weights as they are now, for `count` images.
static void export_network(const char *folder, lxla_computation lifted, const network *w, int64_t count) {
  static const char *const PARAMETER[] = {"pixels"}, *const RESULT[] = {"scores"};
  lxla_tensor x = placeholder(DIMS(count, PIXELS)), scores = scores_of(lifted, x, w);
  lxla_computation tuned;
  TRY(lxla_computation_trace(&x, 1, &scores, 1, &tuned));
  lxla_export_options wanted = {.struct_size = sizeof wanted};
  TRY(lxla_export_options_init(&wanted));
  wanted.parameter_names = PARAMETER, wanted.n_parameter_names = 1;
  wanted.result_names = RESULT, wanted.n_result_names = 1;
  wanted.format = LXLA_EXPORT_FOLDER;
  TRY(lxla_computation_export(tuned, &wanted, path_in(folder, "tuned")));
  wanted.format = LXLA_EXPORT_JAX, wanted.vjp_order = 1;
  TRY(lxla_computation_export(tuned, &wanted, path_in(folder, "tuned.jax")));
  TRY(lxla_computation_release(tuned));
  RELEASE(x, scores);
}

// --- Everything ----------------------------------------------------------------------------------------------------

static int run_digits(const options *o) {
  images sets[2];
  load(o->digits, sets);
  const images *training = &sets[0], *held_out = &sets[1];
  lxla_computation model = imported_for(o->program, held_out->count), for_batch = imported_for(o->program, BATCH);
  double first = accuracy_on_cpu(model, held_out);
  printf("held-out accuracy of the import     %.4f on cpu, %d images\n", first, held_out->count);

  network w = weights_of(model);
  lxla_computation lifted, lifted_batch;
  TRY(lxla_computation_lift(model, &lifted));
  TRY(lxla_computation_lift(for_batch, &lifted_batch));
  if (mkdir(o->save, 0777) != 0 && errno != EEXIST) {
    fprintf(stderr, "%s: cannot make the folder: %s\n", o->save, strerror(errno));
    exit(1);
  }
  save_weights(path_in(o->save, "imported.safetensors"), &w);

  shift(sets[0]), shift(sets[1]);
  double shifted = accuracy(lifted, &w, held_out);
  printf("the same of shifted images          %.4f\n", shifted);
  FILE *curve = fopen(path_in(o->save, "losses.txt"), "w");
  CHECK(curve);
  float loss = train(lifted_batch, &w, training, o->steps, curve);
  CHECK(fclose(curve) == 0);
  double tuned = accuracy(lifted, &w, held_out);
  printf("after %4lld steps of the last layer  %.4f, loss %.4f\n", (long long)o->steps, tuned, (double)loss);

  save_weights(path_in(o->save, "tuned.safetensors"), &w);
  save_values(path_in(o->save, "values.safetensors"), lifted, &w, held_out);
  export_network(o->save, lifted, &w, held_out->count);
  printf("saved in %s: tuned.jax for JAX, with the backward pass; tuned, a folder; weights\n", o->save);

  TRY(lxla_tensor_release_many(w.values, w.n));
  const lxla_computation all[] = {model, for_batch, lifted, lifted_batch};
  for (int i = 0; i < 4; i++) TRY(lxla_computation_release(all[i]));
  for (int i = 0; i < 2; i++) free(sets[i].pixels), free(sets[i].labels);
  return first >= 0.97 && shifted < 0.6 && tuned >= 0.85 ? 0 : 1;
}

static int parse(int argc, char **argv, options *o) {
  *o = (options){.save = "tuned_digits", .steps = 200, .on = CPU};
  if (argc < 2 || argv[1][0] == '-' || argc % 2 != 0) return 0;
  o->program = argv[1];
  for (int i = 2; i < argc; i += 2) {
    const char *name = argv[i], *value = argv[i + 1];
    char *end = NULL;
    if (!strcmp(name, "--digits")) o->digits = value;
    else if (!strcmp(name, "--save")) o->save = value;
    else if (!strcmp(name, "--shapes")) o->shapes = value;
    else if (!strcmp(name, "--device") && !strcmp(value, "xla")) o->on = device;
    else if (!strcmp(name, "--device") && !strcmp(value, "cpu")) o->on = CPU;
    else if (!strcmp(name, "--steps") && (o->steps = strtoll(value, &end, 10)) > 0 && !*end) continue;
    else return 0;
  }
  return !(o->digits && o->shapes);
}

int main(int argc, char **argv) {
  setenv("TF_CPP_MIN_LOG_LEVEL", "1", 0);  // hides the plugin's log
  options o;
  if (!parse(argc, argv, &o)) return usage(argv[0]);
  describe(o.program);
  int status = 0;
  if (o.digits) status = run_digits(&o);
  else run_any(&o);
  return status;
}
