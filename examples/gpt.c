// Trains a small language model on real text: a decoder-only transformer over characters, as GPT-2. Layer norm before
// attention and before the MLP, learned positions, tied output projection; AdamW, warm-up, cosine schedule, clipping.
//
//   gpt examples/data/genesis_exodus.txt [--steps N] [--policy dots] ...
//
// (`gpt` alone lists the options.) The loss is traced once, on placeholders, with the layers as one lxla_scan over
// stacked weights; lxla_computation_value_and_grad differentiates it under a checkpoint policy. A step calls the result
// on the parameters and records AdamW; lxla_mark_step runs both as one program, which writes the new parameters and
// moments over the old ones. Then the parameters are saved, loaded, and write a few lines.
//
// --report gpt.html writes a page that shows the steps, compiles, programs and tensors of the run (lxla_report).
//
// With --mesh data=2,model=2, batches are split over data, heads and hidden units over model: the same program on other
// places.
//
// Ends with status 0 if the loss on the held-out tail of the text fell below --bound. benches/jax_gpt.py is the same
// program in JAX: same random numbers, same batches.
#include "gpt_model.h"
#include "optimizer.h"
#include "text.h"

#include <stddef.h>
#include <time.h>

enum { MOST_EVALUATIONS = 40, MOST_PROMPT = 1024 };

// --- Options -------------------------------------------------------------------------------------------------------

typedef struct {
  int64_t layers, width, heads, context, batch, steps, warmup, seed, every, characters;
  double rate, decay, clip, temperature, bound;
  const char *text, *policy, *prompt, *save, *curve, *mesh, *report;
  int bench;
} options;

static const struct {
  const char *name;
  char kind;  // i: int64_t, d: double, s: text, f: a flag without a value
  size_t at;
  const char *means;
} OPTIONS[] = {
    {"--layers", 'i', offsetof(options, layers), "number of layers"},
    {"--width", 'i', offsetof(options, width), "elements of a position, a multiple of the heads"},
    {"--heads", 'i', offsetof(options, heads), "heads of attention"},
    {"--context", 'i', offsetof(options, context), "characters that a position can see"},
    {"--batch", 'i', offsetof(options, batch), "windows of text in a step"},
    {"--steps", 'i', offsetof(options, steps), "training steps"},
    {"--warmup", 'i', offsetof(options, warmup), "steps in which the learning rate rises"},
    {"--rate", 'd', offsetof(options, rate), "highest learning rate"},
    {"--decay", 'd', offsetof(options, decay), "weight decay of matrices"},
    {"--clip", 'd', offsetof(options, clip), "largest norm of the gradients"},
    {"--seed", 'i', offsetof(options, seed), "of weights, batches and samples"},
    {"--policy", 's', offsetof(options, policy),
     "what the backward pass does not compute again: all, dots, named, none"},
    {"--every", 'i', offsetof(options, every), "steps from one line of progress to the next"},
    {"--bound", 'd', offsetof(options, bound), "validation loss that has to be reached"},
    {"--curve", 's', offsetof(options, curve), "file for the loss of each step"},
    {"--save", 's', offsetof(options, save), "file for the parameters"},
    {"--prompt", 's', offsetof(options, prompt), "text to continue"},
    {"--characters", 'i', offsetof(options, characters), "how many to write"},
    {"--temperature", 'd', offsetof(options, temperature), "of the sampling; 0: the likeliest character"},
    {"--mesh", 's', offsetof(options, mesh), "axes of a mesh of devices, such as data=2,model=2"},
    {"--report", 's', offsetof(options, report), "file for a page that shows where time and memory went"},
    {"--bench", 'f', offsetof(options, bench), "waits for each step, and prints the median time"},
};
enum { OPTION_COUNT = sizeof OPTIONS / sizeof *OPTIONS };

static const struct {
  const char *name;
  int32_t policy;
} POLICIES[] = {{"all", LXLA_CHECKPOINT_SAVE_ALL},
                {"none", LXLA_CHECKPOINT_SAVE_NONE},
                {"dots", LXLA_CHECKPOINT_SAVE_DOTS},
                {"named", LXLA_CHECKPOINT_SAVE_NAMED}};

static int32_t policy_of(const options *o) {
  for (size_t i = 0; i < sizeof POLICIES / sizeof *POLICIES; i++)
    if (!strcmp(o->policy, POLICIES[i].name)) return POLICIES[i].policy;
  return 0;
}

static int set(options *o, const char *name, const char *value, int *used) {
  for (int i = 0; i < OPTION_COUNT; i++) {
    void *at = (char *)o + OPTIONS[i].at;
    if (strcmp(name, OPTIONS[i].name)) continue;
    *used = OPTIONS[i].kind != 'f';
    if (*used && !value) return 0;
    switch (OPTIONS[i].kind) {
      case 'i': *(int64_t *)at = atoll(value); break;
      case 'd': *(double *)at = atof(value); break;
      case 's': *(const char **)at = value; break;
      default: *(int *)at = 1;
    }
    return 1;
  }
  return 0;
}

static int parse(int argc, char **argv, options *o) {
  *o = (options){.layers = 4,
                 .width = 128,
                 .heads = 4,
                 .context = 64,
                 .batch = 16,
                 .steps = 600,
                 .warmup = 50,
                 .seed = 1,
                 .every = 50,
                 .characters = 300,
                 .rate = 3e-3,
                 .decay = 0.1,
                 .clip = 1,
                 .temperature = 0.7,
                 .bound = 2.0,
                 .policy = "dots",
                 .prompt = "And God said",
                 .save = "gpt.safetensors"};
  if (argc < 2) return 0;
  o->text = argv[1];
  for (int i = 2, used; i < argc; i += 1 + used)
    if (!set(o, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &used)) return 0;
  return o->layers > 0 && o->heads > 0 && o->width > 0 && o->width % o->heads == 0 && o->context > 0 && o->batch > 0 &&
         o->steps > 0 && o->warmup >= 0 && o->every > 0 && o->characters >= 0 && o->temperature >= 0 && policy_of(o) &&
         *o->prompt && strlen(o->prompt) < MOST_PROMPT;
}

static int usage(const char *program) {
  fprintf(stderr, "usage: %s TEXT [OPTION VALUE] ...\n", program);
  for (int i = 0; i < OPTION_COUNT; i++) fprintf(stderr, "  %-14s %s\n", OPTIONS[i].name, OPTIONS[i].means);
  return 2;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// --- Training ------------------------------------------------------------------------------------------------------

typedef struct {
  lxla_tensor parameters[PARAMETERS], m[PARAMETERS], v[PARAMETERS];
} state;

static void release_state(state *s) {
  TRY(lxla_tensor_release_many(s->parameters, PARAMETERS));
  TRY(lxla_tensor_release_many(s->m, PARAMETERS));
  TRY(lxla_tensor_release_many(s->v, PARAMETERS));
}

// Records one step, and returns its loss.
static lxla_tensor record_step(const options *o, state *s, lxla_computation value_and_grad, const batch *b,
                               int64_t step) {
  const adamw how = {.beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .decay = o->decay, .clip = o->clip};
  lxla_tensor in[PARAMETERS + 2], out[1 + PARAMETERS];
  memcpy(in, s->parameters, sizeof s->parameters);
  in[PARAMETERS] = b->tokens, in[PARAMETERS + 1] = b->targets;
  TRY(lxla_computation_call(value_and_grad, in, PARAMETERS + 2, out, 1 + PARAMETERS));
  begin("adamw");
  adamw_rates rates = make_rates(env, device, &how, warmup_cosine(o->rate, step, o->warmup, o->steps), step);
  lxla_tensor factor = clip_factor(out + 1, PARAMETERS, how.clip);
  for (int i = 0; i < PARAMETERS; i++) {
    begin(NAMES[i]);
    adamw_apply(&how, &rates, factor, s->parameters[i], out[1 + i], s->m[i], s->v[i], is_matrix(i));
    end();
  }
  end();
  release_rates(rates);
  RELEASE(factor);
  TRY(lxla_tensor_release_many(out + 1, PARAMETERS));
  return out[0];
}

// Returns the mean loss over consecutive windows of the held-out text.
static double validate(const options *o, const corpus *c, const lxla_tensor *parameters, lxla_computation loss) {
  int64_t batches = (c->length - c->training - 1) / (o->batch * o->context);
  if (batches > MOST_EVALUATIONS) batches = MOST_EVALUATIONS;
  int64_t *starts = memory((size_t)o->batch * sizeof *starts);
  double total = 0;
  for (int64_t i = 0; i < batches; i++) {
    for (int64_t k = 0; k < o->batch; k++) starts[k] = c->training + (i * o->batch + k) * o->context;
    batch b = batch_at(c, starts, o->batch, o->context);
    lxla_tensor in[PARAMETERS + 2], out;
    float value;
    memcpy(in, parameters, PARAMETERS * sizeof *in);
    in[PARAMETERS] = b.tokens, in[PARAMETERS + 1] = b.targets;
    TRY(lxla_computation_call(loss, in, PARAMETERS + 2, &out, 1));
    TRY(lxla_tensor_read(out, &value, sizeof value));
    total += (double)value;
    RELEASE(b.tokens, b.targets, out);
  }
  free(starts);
  return total / (double)batches;
}

// Prints the temporary memory of the step that is pending, where the plugin tells it. Compiles it, and runs nothing.
static void print_memory(const options *o) {
  lxla_memory_stats stats = {.struct_size = sizeof stats};
  lxla_status status = lxla_compiled_memory(env, device, NULL, 0, &stats);
  if (status == LXLA_UNIMPLEMENTED) return;
  TRY(status);
  printf("  policy %s: temporaries of a step take %.2f MB\n", o->policy, 1e-6 * (double)stats.temp_bytes);
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// Figures of a training run.
typedef struct {
  uint64_t compiled, least_donated;
  double median;  // seconds a step, if each was waited for
} run;

// Trains for all steps. The loss is read, which waits for its step, where it is shown, and with --curve or --bench.
static run train(const options *o, const corpus *c, state *s, lxla_computation value_and_grad) {
  FILE *curve = o->curve ? fopen(o->curve, "w") : NULL;
  CHECK(curve || !o->curve);
  double *times = memory((size_t)o->steps * sizeof *times), since = seconds();
  uint64_t random_state = (uint64_t)o->seed + 1;
  int64_t shown = 0;
  run r = {counter(env, "UncachedCompile"), UINT64_MAX, 0};
  for (int64_t step = 0; step < o->steps; step++) {
    double start = seconds();
    uint64_t donated = counter(env, "DonatedBuffers");
    batch b = random_batch(c, o->batch, o->context, &random_state);
    lxla_tensor loss = record_step(o, s, value_and_grad, &b, step);
    RELEASE(b.tokens, b.targets);
    if (step == 0) print_memory(o);
    TRY(lxla_mark_step(env, device, 0));
    donated = counter(env, "DonatedBuffers") - donated;
    if (donated < r.least_donated) r.least_donated = donated;
    int show = step == 0 || (step + 1) % o->every == 0;
    if (show || curve || o->bench) {
      float value;
      TRY(lxla_tensor_read(loss, &value, sizeof value));
      if (curve) fprintf(curve, "loss %.9g\n", (double)value);
      if (show) {
        double tokens = (double)((step + 1 - shown) * o->batch * o->context) / (seconds() - since);
        printf("  step %5lld  loss %.4f  rate %.2e  %.0f tokens/s\n", (long long)step + 1, (double)value,
               warmup_cosine(o->rate, step, o->warmup, o->steps), tokens);
        fflush(stdout);
        since = seconds(), shown = step + 1;
      }
    }
    RELEASE(loss);  // after the step: released before, it would be no output of it, which is another program
    times[step] = seconds() - start;
  }
  TRY(lxla_wait(env, device));
  r.compiled = counter(env, "UncachedCompile") - r.compiled;
  if (o->bench) qsort(times, (size_t)o->steps, sizeof *times, by_value), r.median = times[o->steps / 2];
  free(times);
  CHECK(!curve || fclose(curve) == 0);
  return r;
}

// --- Writing -------------------------------------------------------------------------------------------------------

// Prints the prompt and what the model continues it with: the last `context` characters at most are its input.
static void write_text(const options *o, const model *m, const corpus *c, const lxla_tensor *parameters) {
  int64_t length = (int64_t)strlen(o->prompt);
  int32_t *text = memory((size_t)(length + o->characters + o->context) * sizeof *text);
  for (int64_t i = 0; i < length; i++) {
    text[i] = c->id_of[(unsigned char)o->prompt[i]];
    if (text[i] < 0) {
      fprintf(stderr, "the prompt has a character that the text does not have: '%c'\n", o->prompt[i]);
      exit(1);
    }
  }
  const uint32_t seed[2] = {0, (uint32_t)o->seed};
  lxla_computation sampler = trace_sampler(m, o->temperature);
  lxla_tensor in[PARAMETERS + 3], out[2], key;
  TRY(lxla_tensor_from_host(env, device, LXLA_DTYPE_U32, DIMS(2), seed, sizeof seed, &key));
  memcpy(in, parameters, PARAMETERS * sizeof *in);
  printf("\n%s", o->prompt);
  for (int64_t i = 0; i < o->characters; i++, length++) {
    int64_t first = length > o->context ? length - o->context : 0;
    const int32_t position = (int32_t)(length - first - 1);
    in[PARAMETERS] = from_ids(text + first, DIMS(1, o->context)), in[PARAMETERS + 1] = from_ids(&position, NULL, 0);
    in[PARAMETERS + 2] = key;
    TRY(lxla_computation_call(sampler, in, PARAMETERS + 3, out, 2));
    TRY(lxla_mark_step(env, device, 0));
    TRY(lxla_tensor_read(out[0], &text[length], sizeof *text));
    CHECK(text[length] >= 0 && text[length] < c->symbols);
    putchar(c->symbol[text[length]]);
    RELEASE(in[PARAMETERS], in[PARAMETERS + 1], out[0], key);
    key = out[1];
  }
  printf("\n\n");
  RELEASE(key);
  TRY(lxla_computation_release(sampler));
  free(text);
}

// --- Everything ----------------------------------------------------------------------------------------------------

// Saves the parameters, and loads them back to where they were.
static void through_file(const char *path, lxla_tensor *parameters) {
  TRY(lxla_save(path, NAMES, parameters, PARAMETERS));
  TRY(lxla_tensor_release_many(parameters, PARAMETERS));
  for (int i = 0; i < PARAMETERS; i++) TRY(lxla_load(env, device, path, NAMES[i], &parameters[i]));
  place(parameters);
  TRY(lxla_mark_step(env, device, 0));
}

static void describe(const options *o, const model *m, const corpus *c) {
  int64_t parameters = 0;
  for (int i = 0; i < PARAMETERS; i++) parameters += elements_of(m, i);
  printf("lazyxla %s: %lld layers, width %lld, %lld heads, context %lld, batch %lld: %lld parameters\n", lxla_version(),
         (long long)o->layers, (long long)o->width, (long long)o->heads, (long long)o->context, (long long)o->batch,
         (long long)parameters);
  printf("  %lld characters to train, %lld held out, %d symbols\n", (long long)c->training,
         (long long)(c->length - c->training), c->symbols);
}

static int tell(const options *o, const run *r, double first, double last, double loaded) {
  // On a mesh, sums over devices may be in another order each time.
  double tolerance = o->mesh ? 1e-6 * last : 0;
  int donated = r->least_donated >= 3 * PARAMETERS, fell = last < first && last < o->bound;
  int same = fabs(loaded - last) <= tolerance;
  printf("  validation loss      %.4f, was %.4f; has to be below %.4g\n", last, first, o->bound);
  printf("  from the file        %.4f: %s\n", loaded, same ? "the same" : "NOT THE SAME");
  printf("  buffers donated      %llu each step; parameters and moments are %d\n", (unsigned long long)r->least_donated,
         3 * PARAMETERS);
  printf("  programs compiled    %llu for %lld steps\n", (unsigned long long)r->compiled, (long long)o->steps);
  if (o->bench) printf("  time per step        %.2f ms (median; waited for)\n", 1e3 * r->median);
  return donated && fell && same && r->compiled <= 2 ? 0 : 1;
}

int main(int argc, char **argv) {
  setenv("TF_CPP_MIN_LOG_LEVEL", "1", 0);  // hides the plugin's log
  options o;
  if (!parse(argc, argv, &o)) return usage(argv[0]);
  if (o.mesh) device = mesh_open(o.mesh);
  if (o.report) TRY(lxla_env_set_option(env, "timeline", "true"));
  corpus c = load_text(o.text);
  if (c.training <= o.context || c.length - c.training <= o.batch * o.context) {
    fprintf(stderr, "%s: too short, with %lld characters\n", o.text, (long long)c.length);
    return 1;
  }
  const model m = {o.layers, o.width, o.heads, o.context, c.symbols};
  describe(&o, &m, &c);
  lxla_computation loss = trace_loss(&m, o.batch), value_and_grad = differentiate(loss, policy_of(&o));
  state s;
  initialise(&m, (uint64_t)o.seed, s.parameters);
  for (int i = 0; i < PARAMETERS; i++) s.m[i] = filled(&m, i, 0), s.v[i] = filled(&m, i, 0);
  place(s.parameters), place(s.m), place(s.v);
  TRY(lxla_mark_step(env, device, 1));
  mesh_show(NAMES[QKV_WEIGHT], s.parameters[QKV_WEIGHT]);

  double first = validate(&o, &c, s.parameters, loss);
  run r = train(&o, &c, &s, value_and_grad);
  double last = validate(&o, &c, s.parameters, loss);
  through_file(o.save, s.parameters);
  double loaded = validate(&o, &c, s.parameters, loss);
  write_text(&o, &m, &c, s.parameters);
  int status = tell(&o, &r, first, last, loaded);
  if (o.report) TRY(lxla_report(env, o.report));

  release_state(&s);
  TRY(lxla_computation_release(loss));
  TRY(lxla_computation_release(value_and_grad));
  free(c.ids);
  CHECK(noted.count == 0 && counter(env, "LiveBytes") == 0);
  mesh_close();
  return status;
}
