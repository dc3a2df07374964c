// Trains a model of PyTorch, which `torch.export.save` wrote, without PyTorch and without Python.
//
//   pytorch MODEL.pt2 [--shapes 32x784] [--csv FILE] [--steps N] [--rate R] [--below N] [--device cpu] [--save FOLDER]
//
// The first output of the model is a loss, a number, or scores of classes, [rows, classes]: then the loss is their mean
// cross entropy. Without --csv the inputs are random numbers, and labels too. A row of the CSV fills the inputs, in the
// order of the file, and the label is its last column. The weights are trained by AdamW. A step is one computation of
// inputs, rates, weights and moments, traced once: it runs on cpu without a plugin as well.
//
// At the end, FOLDER has weights.safetensors, with the names of the model, for `load_state_dict`, and trained.jax, the
// trained model for JAX. Ends with status 0 if the loss fell.
#include "frontend.h"
#include "losses.h"
#include "optimizer.h"

#include <errno.h>
#include <sys/stat.h>

enum { MOST = 4096, MOST_AXES = 16, MOST_NAME = 256, MOST_COLUMNS = 1 << 16 };

typedef struct {
  const char *model, *csv, *save, *shapes;
  int64_t steps, below;
  double rate;
} options;

static int usage(const char *name) {
  fprintf(
      stderr,
      "usage: %s MODEL.pt2 [--shapes 32x784] [--csv FILE] [--steps N] [--rate R] [--below N] [--device cpu|xla]\n"
      "       [--save FOLDER]\n\n"
      "  --shapes LIST   shapes of all inputs, for a model with free sizes: one for each input, sizes with x between\n"
      "                  them; a scalar is an empty shape, as in 32x784,,10\n"
      "  --csv FILE      numbers: the inputs of each row, in the order of the model; the last column is the label\n"
      "  --steps N       training steps (100)\n"
      "  --rate R        largest learning rate (0.001)\n"
      "  --below N       random integers are less than this (4)\n"
      "  --device NAME   xla (the default), or cpu, without a plugin\n"
      "  --save FOLDER   for the weights and the trained model\n",
      name);
  return 2;
}

// --- The model -----------------------------------------------------------------------------------------------------

// A parameter, captured value or result of the model.
typedef struct {
  int32_t dtype;
  size_t rank;
  int64_t dims[MOST_AXES];
  char kind[16], name[MOST_NAME], updates[MOST_NAME];
  int trainable;
} value;

typedef struct {
  value *values;
  size_t n;
} list;

typedef struct {
  lxla_computation computation, lifted;  // with captured weights, and with weights as parameters
  list parameters, captured, results;
  int has_key;  // the last parameter is a key of random numbers
} model;

// Copies the text of a member of the object that ends at `end`; an empty text if it has no such member.
static void member(const char *object, const char *end, const char *key, char *out, size_t most) {
  const char *at = strstr(object, key);
  out[0] = 0;
  if (!at || at > end) return;
  at += strlen(key);
  size_t n = strcspn(at, "\"");
  CHECK(n < most);
  memcpy(out, at, n), out[n] = 0;
}

// Reads a list of the description of a computation, such as
// {"captured":[{"dims":[2,3],"dtype":"f32","kind":"parameter","name":"w","trainable":true}],...}
static list parse_list(const char *json, const char *key) {
  list out = {memory(MOST * sizeof *out.values), 0};
  const char *at = strstr(json, key);
  CHECK(at);
  for (at += strlen(key); *at == '{' || *at == ','; at++) {
    if (*at == ',') continue;
    const char *end = strchr(at, '}'), *dims = strstr(at, "\"dims\":[");
    CHECK(end && dims && dims < end && out.n < MOST);
    value *v = &out.values[out.n++];
    for (dims += strlen("\"dims\":["); *dims != ']'; dims += *dims == ',') {
      CHECK(v->rank < MOST_AXES);
      v->dims[v->rank++] = strtoll(dims, (char **)&dims, 10);
    }
    char dtype[16];
    member(at, end, "\"dtype\":\"", dtype, sizeof dtype);
    for (v->dtype = 1; strcmp(lxla_dtype_name(v->dtype), dtype) != 0; v->dtype++) CHECK(v->dtype < 64);
    member(at, end, "\"kind\":\"", v->kind, sizeof v->kind);
    member(at, end, "\"name\":\"", v->name, sizeof v->name);
    member(at, end, "\"updates\":\"", v->updates, sizeof v->updates);
    const char *trainable = strstr(at, "\"trainable\":true");
    v->trainable = trainable && trainable < end;
    at = end;
  }
  return out;
}

// Reads shapes as in 32x784,32. Returns their number; 0 for no text.
static size_t parse_shapes(const char *text, size_t *ranks, int64_t *dims) {
  size_t n = 0, total = 0;
  for (const char *at = text; at; n++) {
    CHECK(n < MOST && total + MOST_AXES < MOST);
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

static model imported(const options *o) {
  static size_t ranks[MOST];
  static int64_t dims[MOST];
  lxla_import_options wanted = {.struct_size = sizeof wanted};
  TRY(lxla_import_options_init(&wanted));
  wanted.n_parameters = parse_shapes(o->shapes, ranks, dims);
  wanted.ranks = ranks, wanted.dims = dims;
  model m = {.has_key = 0};
  TRY(lxla_computation_import_file(env, o->model, &wanted, &m.computation));
  TRY(lxla_computation_lift(m.computation, &m.lifted));
  char *json;
  TRY(lxla_computation_describe(m.computation, &json));
  m.parameters = parse_list(json, "\"parameters\":["), m.captured = parse_list(json, "\"captured\":[");
  m.results = parse_list(json, "\"results\":[");
  lxla_string_free(json);
  m.has_key = m.parameters.n > 0 && !strcmp(m.parameters.values[m.parameters.n - 1].kind, "key");
  return m;
}

static int is_float(int32_t dtype) { return strchr("fb", lxla_dtype_name(dtype)[0]) != NULL; }

static int64_t count_of(const value *v) {
  int64_t count = 1;
  for (size_t i = 0; i < v->rank; i++) count *= v->dims[i];
  return count;
}

// --- Data ----------------------------------------------------------------------------------------------------------

// Rows of numbers: the inputs of one example, then its label.
typedef struct {
  double *numbers;
  int64_t rows, columns;
} table;

static table read_csv(const char *path) {
  table t = {NULL, 0, 0};
  FILE *file = fopen(path, "r");
  int64_t column = 0, room = 0, n = 0;
  double number;
  for (int c = 0; file && fscanf(file, "%lf", &number) == 1;) {
    if (n == room) CHECK((t.numbers = realloc(t.numbers, (size_t)(room = room * 2 + 1024) * sizeof number)));
    t.numbers[n++] = number, column++;
    while ((c = fgetc(file)) == ' ' || c == '\r') continue;
    if (c == ',') continue;
    if (t.rows++ == 0) t.columns = column;
    if (column != t.columns || t.columns > MOST_COLUMNS) break;
    column = 0;
  }
  if (!file || column != 0 || t.rows == 0 || fclose(file) != 0) {
    fprintf(stderr, "%s: cannot be read, or line %lld has not as many numbers as the first one\n", path,
            (long long)t.rows);
    exit(1);
  }
  return t;
}

static double random_number(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return (*state >> 8) / (double)(1 << 24);
}

// Makes a tensor of numbers, converted to the dtype of a value.
static lxla_tensor tensor_of(const value *v, const float *numbers) {
  lxla_tensor wide = from_floats(device, v->dims, v->rank, numbers), out;
  TRY(lxla_convert(wide, v->dtype, &out));
  RELEASE(wide);
  return out;
}

// The labels of scores [rows, classes]. `rows` is the size of the first axis of the inputs.
static value labels_for(const value *scores) {
  value v = {.dtype = LXLA_DTYPE_S32, .rank = scores->rank - 1};
  memcpy(v.dims, scores->dims, v.rank * sizeof *v.dims);
  return v;
}

// Fills the inputs of a step, and the labels if the model has scores, from rows of the table or at random.
static size_t make_batch(const options *o, const model *m, const table *t, int64_t step, const value *labels,
                         lxla_tensor *out) {
  size_t n = m->parameters.n - (size_t)m->has_key, made = 0;
  int64_t from = 0;  // the first column of the input
  uint32_t state = (uint32_t)step;
  for (size_t i = 0; i < n + (labels != NULL); i++) {
    const value *v = i < n ? &m->parameters.values[i] : labels;
    const int64_t count = count_of(v), rows = v->rank ? v->dims[0] : 1, width = rows ? count / rows : 0;
    if (t->rows && from + width > t->columns) {
      fprintf(stderr, "%s: rows have %lld numbers; want more for input %zu of the model\n", o->csv,
              (long long)t->columns, i);
      exit(1);
    }
    float *numbers = memory((size_t)count * sizeof *numbers);
    for (int64_t k = 0; k < count; k++) {
      const int64_t row = t->rows ? (step * rows + k / width) % t->rows : 0;
      const int64_t column = i < n ? from + k % width : t->columns - 1;
      if (t->rows) numbers[k] = (float)t->numbers[row * t->columns + column];
      else if (is_float(v->dtype)) numbers[k] = (float)(2 * random_number(&state) - 1);
      else
        numbers[k] =
            (float)floor(random_number(&state) * (double)(v == labels ? m->results.values[0].dims[v->rank] : o->below));
    }
    out[made++] = tensor_of(v, numbers);
    free(numbers);
    from += width;
  }
  if (m->has_key) {
    const uint32_t key[2] = {7, (uint32_t)step};
    TRY(lxla_tensor_from_host(env, device, LXLA_DTYPE_U32, DIMS(2), key, sizeof key, &out[made++]));
  }
  return made;
}

// --- Training ------------------------------------------------------------------------------------------------------

static lxla_tensor placeholder_of(const value *v, int32_t dtype) {
  lxla_tensor out;
  TRY(lxla_tensor_placeholder(env, device, dtype, v->dims, v->rank, &out));
  return out;
}

// Places among the captured values of the values that are trained, and of what each result updates.
typedef struct {
  size_t trained[MOST], n;
  size_t updated[MOST], by[MOST], n_updates;
} plan;

static plan plan_of(const model *m) {
  static plan p;
  for (size_t i = 0; i < m->captured.n; i++)
    if (m->captured.values[i].trainable) p.trained[p.n++] = i;
  for (size_t k = 0; k < m->results.n; k++)
    for (size_t i = 0; i < m->captured.n && m->results.values[k].updates[0]; i++)
      if (!strcmp(m->results.values[k].updates, m->captured.values[i].name))
        p.updated[p.n_updates] = i, p.by[p.n_updates++] = k;
  CHECK(p.n > 0);
  return p;
}

// Traces a step: batch, three rates, captured values, moments m and v -> loss, trained values, m, v, updated values.
static lxla_computation trace_step(const model *m, const plan *p, const value *labels) {
  const adamw o = {.beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .decay = 0, .clip = 1};
  const value scalar = {.rank = 0};
  lxla_tensor *in = memory(5 * MOST * sizeof *in), *out = memory(4 * MOST * sizeof *out), *forward = in + 4 * MOST;
  size_t n_in = 0, n_out = 1, given = m->parameters.n - (size_t)m->has_key;
  for (size_t i = 0; i < given; i++)
    in[n_in++] = placeholder_of(&m->parameters.values[i], m->parameters.values[i].dtype);
  if (labels) in[n_in++] = placeholder_of(labels, labels->dtype);
  if (m->has_key) in[n_in++] = placeholder_of(&m->parameters.values[given], LXLA_DTYPE_U32);
  adamw_rates rates;
  rates.size = in[n_in++] = placeholder_of(&scalar, LXLA_DTYPE_F32);
  rates.root = in[n_in++] = placeholder_of(&scalar, LXLA_DTYPE_F32);
  rates.decay = in[n_in++] = placeholder_of(&scalar, LXLA_DTYPE_F32);
  lxla_tensor *weights = in + n_in, *moments = weights + m->captured.n;
  for (size_t i = 0; i < m->captured.n; i++, n_in++)
    weights[i] = placeholder_of(&m->captured.values[i], m->captured.values[i].dtype);
  for (size_t i = 0; i < 2 * p->n; i++, n_in++)
    moments[i] = placeholder_of(&m->captured.values[p->trained[i % p->n]], LXLA_DTYPE_F32);

  // The call has the inputs, the key and the weights.
  size_t n_call = 0;
  for (size_t i = 0; i < given; i++) forward[n_call++] = in[i];
  if (m->has_key) forward[n_call++] = in[given + (labels != NULL)];
  for (size_t i = 0; i < m->captured.n; i++) forward[n_call++] = weights[i];
  lxla_tensor *made = memory(m->results.n * sizeof *made), trained[MOST], gradients[MOST], loss, total;
  TRY(lxla_computation_call(m->lifted, forward, n_call, made, m->results.n));
  if (labels) loss = mean_cross_entropy(made[0], in[given]);
  else TRY(lxla_convert(made[0], LXLA_DTYPE_F32, &loss));
  TRY(lxla_reduce(LXLA_REDUCE_SUM, loss, NULL, 0, 0, &total));
  for (size_t i = 0; i < p->n; i++) trained[i] = weights[p->trained[i]];
  TRY(lxla_gradients(&total, 1, NULL, trained, p->n, gradients));
  lxla_tensor factor = clip_factor(gradients, p->n, o.clip);
  out[0] = total;
  for (size_t i = 0; i < p->n; i++) {
    lxla_tensor next[3];
    adamw_update(&o, &rates, factor, trained[i], gradients[i], moments[i], moments[p->n + i], 0, next);
    for (int k = 0; k < 3; k++) out[1 + (size_t)k * p->n + i] = next[k];
  }
  n_out += 3 * p->n;
  for (size_t i = 0; i < p->n_updates; i++) out[n_out + i] = made[p->by[i]];
  lxla_computation step;
  TRY(lxla_computation_trace(in, n_in, out, n_out + p->n_updates, &step));
  TRY(lxla_tensor_release_many(in, n_in));
  TRY(lxla_tensor_release_many(out, n_out));
  TRY(lxla_tensor_release_many(made, m->results.n));
  TRY(lxla_tensor_release_many(gradients, p->n));
  RELEASE(loss, factor);
  free(in), free(out), free(made);
  return step;
}

// Trains the weights in place. Stores the losses of the first and of the last step.
static void train(const options *o, const model *m, const value *labels, lxla_tensor *weights, float losses[2]) {
  const plan p = plan_of(m);
  const adamw rates_of = {.beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .decay = 0, .clip = 1};
  const table t = o->csv ? read_csv(o->csv) : (table){NULL, 0, 0};
  lxla_computation step = trace_step(m, &p, labels);
  lxla_tensor *moments = memory(2 * p.n * sizeof *moments), *in = memory(4 * MOST * sizeof *in);
  for (size_t i = 0; i < 2 * p.n; i++) {
    const value *v = &m->captured.values[p.trained[i % p.n]];
    TRY(lxla_tensor_full(env, device, LXLA_DTYPE_F32, v->dims, v->rank, 0, &moments[i]));
  }
  size_t n_out = 1 + 3 * p.n + p.n_updates;
  lxla_tensor *out = memory(n_out * sizeof *out);
  for (int64_t k = 0; k < o->steps; k++) {
    // Without data, one batch is learned.
    size_t n = make_batch(o, m, &t, t.rows ? k : 0, labels, in), own = n + 3;
    adamw_rates rates = make_rates(env, device, &rates_of, warmup_cosine(o->rate, k, 10, o->steps), k);
    in[n++] = rates.size, in[n++] = rates.root, in[n++] = rates.decay;
    for (size_t i = 0; i < m->captured.n; i++) in[n++] = weights[i];
    for (size_t i = 0; i < 2 * p.n; i++) in[n++] = moments[i];
    TRY(lxla_computation_call(step, in, n, out, n_out));
    for (size_t i = 0; i < p.n; i++) TRY(lxla_tensor_assign(weights[p.trained[i]], out[1 + i]));
    for (size_t i = 0; i < 2 * p.n; i++) TRY(lxla_tensor_assign(moments[i], out[1 + p.n + i]));
    for (size_t i = 0; i < p.n_updates; i++) TRY(lxla_tensor_assign(weights[p.updated[i]], out[1 + 3 * p.n + i]));
    TRY(lxla_tensor_release_many(out + 1, n_out - 1));
    TRY(lxla_tensor_release_many(in, own));
    if (device.kind == LXLA_DEVICE_XLA) TRY(lxla_mark_step(env, device, 0));
    if (k % 10 == 0 || k == o->steps - 1) {
      losses[k > 0] = first_value(out[0], 1);
      printf("\rstep %5lld of %lld  loss %.5f", (long long)k + 1, (long long)o->steps, (double)losses[k > 0]);
      fflush(stdout);
    }
    RELEASE(out[0]);
  }
  printf("\n");
  TRY(lxla_tensor_release_many(moments, 2 * p.n));
  TRY(lxla_computation_release(step));
  free(moments), free(in), free(out), free(t.numbers);
}

// --- Results -------------------------------------------------------------------------------------------------------

static const char *path_in(const char *folder, const char *file) {
  static char path[4096];
  CHECK(snprintf(path, sizeof path, "%s/%s", folder, file) < (int)sizeof path);
  return path;
}

// Saves parameters and buffers under the names that they have in the model.
static void save_weights(const options *o, const model *m, const lxla_tensor *weights) {
  const char *names[MOST];
  lxla_tensor values[MOST];
  size_t n = 0;
  for (size_t i = 0; i < m->captured.n; i++)
    if (strcmp(m->captured.values[i].kind, "constant") != 0)
      names[n] = m->captured.values[i].name, values[n++] = weights[i];
  TRY(lxla_save(path_in(o->save, "weights.safetensors"), names, values, n));
}

// Exports the model with the weights as they are now. Its results are the outputs, without the values that it updates.
static void export_model(const options *o, const model *m, const lxla_tensor *weights) {
  lxla_tensor *in = memory((m->parameters.n + m->captured.n) * sizeof *in), *out = memory(m->results.n * sizeof *out);
  size_t n_outputs = 0;
  for (size_t i = 0; i < m->parameters.n; i++)
    in[i] = placeholder_of(&m->parameters.values[i], m->parameters.values[i].dtype);
  memcpy(in + m->parameters.n, weights, m->captured.n * sizeof *in);
  while (n_outputs < m->results.n && !m->results.values[n_outputs].updates[0]) n_outputs++;
  TRY(lxla_computation_call(m->lifted, in, m->parameters.n + m->captured.n, out, m->results.n));
  lxla_computation trained;
  TRY(lxla_computation_trace(in, m->parameters.n, out, n_outputs, &trained));
  lxla_export_options wanted = {.struct_size = sizeof wanted};
  TRY(lxla_export_options_init(&wanted));
  wanted.format = LXLA_EXPORT_JAX;
  TRY(lxla_computation_export(trained, &wanted, path_in(o->save, "trained.jax")));
  TRY(lxla_computation_release(trained));
  TRY(lxla_tensor_release_many(in, m->parameters.n));
  TRY(lxla_tensor_release_many(out, m->results.n));
  free(in), free(out);
}

// --- Everything ----------------------------------------------------------------------------------------------------

static int run(const options *o) {
  model m = imported(o);
  CHECK(m.results.n > 0);
  const value *first = &m.results.values[0];
  if (!is_float(first->dtype) || (count_of(first) != 1 && first->rank < 2)) {
    fprintf(stderr, "%s: its first output is neither a loss nor scores of classes\n", o->model);
    return 2;
  }
  value labels = {0}, *wanted = NULL;
  if (count_of(first) != 1) labels = labels_for(first), wanted = &labels;
  lxla_tensor *weights = memory(m.captured.n * sizeof *weights);
  for (size_t i = 0; i < m.captured.n; i++) {
    lxla_tensor captured;
    TRY(lxla_computation_captured(m.computation, i, &captured));
    TRY(lxla_tensor_to_device(captured, device, &weights[i]));
    RELEASE(captured);
  }
  printf("%s: %zu inputs, %zu captured values, %zu results\n", o->model, m.parameters.n, m.captured.n, m.results.n);
  float losses[2] = {0, 0};
  train(o, &m, wanted, weights, losses);
  if (o->save) {
    if (mkdir(o->save, 0777) != 0 && errno != EEXIST) {
      fprintf(stderr, "%s: cannot make the folder: %s\n", o->save, strerror(errno));
      return 1;
    }
    save_weights(o, &m, weights);
    export_model(o, &m, weights);
    printf("saved in %s: weights.safetensors, trained.jax\n", o->save);
  }
  TRY(lxla_tensor_release_many(weights, m.captured.n));
  TRY(lxla_computation_release(m.lifted));
  TRY(lxla_computation_release(m.computation));
  free(weights), free(m.parameters.values), free(m.captured.values), free(m.results.values);
  return losses[1] < losses[0] ? 0 : 1;
}

static int parse(int argc, char **argv, options *o) {
  *o = (options){.steps = 100, .below = 4, .rate = 0.001};
  if (argc < 2 || argv[1][0] == '-' || argc % 2 != 0) return 0;
  o->model = argv[1];
  for (int i = 2; i < argc; i += 2) {
    const char *name = argv[i], *given = argv[i + 1];
    char *end = NULL;
    if (!strcmp(name, "--csv")) o->csv = given;
    else if (!strcmp(name, "--save")) o->save = given;
    else if (!strcmp(name, "--shapes")) o->shapes = given;
    else if (!strcmp(name, "--device") && !strcmp(given, "cpu")) device = (lxla_device){LXLA_DEVICE_CPU, 0};
    else if (!strcmp(name, "--device") && !strcmp(given, "xla")) continue;
    else if (!strcmp(name, "--steps") && (o->steps = strtoll(given, &end, 10)) > 1 && !*end) continue;
    else if (!strcmp(name, "--below") && (o->below = strtoll(given, &end, 10)) > 0 && !*end) continue;
    else if (!strcmp(name, "--rate") && (o->rate = strtod(given, &end)) > 0 && !*end) continue;
    else return 0;
  }
  return 1;
}

int main(int argc, char **argv) {
  setenv("TF_CPP_MIN_LOG_LEVEL", "1", 0);  // hides the plugin's log
  options o;
  return parse(argc, argv, &o) ? run(&o) : usage(argv[0]);
}
