// Computations that are compiled as objects: chapter Executables of lazyxla.h, X1 to X5 of docs/behaviours.md.
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "computation.h"

enum { N = 4, THREADS = 8, RUNS = 200 };

static const lxla_device CPU = {LXLA_DEVICE_CPU, 0};

// f(x, y) = (x * y + w, x + 1), where w is captured.
typedef struct {
  lxla_env env;
  lxla_device device;
  lxla_tensor w;
  lxla_computation f;
} model;

static lxla_tensor on(lxla_env env, lxla_device device, const float *values) {
  lxla_tensor out;
  OK(lxla_tensor_from_host(env, device, LXLA_DTYPE_F32, DIMS(N), values, N * sizeof(float), &out));
  return out;
}

static lxla_tensor hole(lxla_env env, lxla_device device) {
  lxla_tensor out;
  OK(lxla_tensor_placeholder(env, device, LXLA_DTYPE_F32, DIMS(N), &out));
  return out;
}

static const float W[N] = {10, 20, 30, 40}, X[N] = {1, 2, 3, 4}, Y[N] = {2, 2, 5, -1};
static const float FIRST[N] = {12, 24, 45, 36}, SECOND[N] = {2, 3, 4, 5};

static void fill(model *m) {
  m->w = on(m->env, m->device, W);
  lxla_tensor x = hole(m->env, m->device), y = hole(m->env, m->device), xy = binary(MUL, x, y);
  lxla_tensor results[] = {binary(ADD, xy, m->w), scalar(ADD, x, 1)};
  OK(lxla_computation_trace((lxla_tensor[]){x, y}, 2, results, 2, &m->f));
  RELEASE(x, y, xy, results[0], results[1]);
}

static model new_model(lxla_device device) {
  model m = {.env = new_env(), .device = device};
  fill(&m);
  return m;
}

static void end(model m) {
  RELEASE(m.w);
  OK(lxla_computation_release(m.f));
  OK(lxla_env_release(m.env));
}

static lxla_executable compiled(lxla_computation f, lxla_device device, const size_t *donated, size_t n) {
  lxla_executable_options options = {.struct_size = sizeof options};
  OK(lxla_executable_options_init(&options));
  options.donated = donated;
  options.n_donated = n;
  lxla_executable out;
  OK(lxla_executable_compile(f, device, &options, &out));
  return out;
}

static void has(lxla_tensor t, const float *wanted) {
  float values[N];
  read_f32(t, values, N);
  for (int i = 0; i < N; i++) EQUAL(values[i], wanted[i]);
}

static void each(void (*test)(lxla_device device)) {
  test(CPU);
  test(XLA(0));
}

static void values_on(lxla_device device) {
  model m = new_model(device);
  lxla_executable e = compiled(m.f, device, NULL, 0);
  lxla_tensor in[] = {on(m.env, device, X), on(m.env, device, Y)}, out[2], lazily[2];
  OK(lxla_computation_call(m.f, in, 2, lazily, 2));
  uint64_t compiles = counter(m.env, "UncachedCompile");
  for (int i = 0; i < 3; i++) {
    OK(lxla_executable_run(e, in, 2, out, 2));
    has(out[0], FIRST);
    has(out[1], SECOND);
    RELEASE(out[0], out[1]);
  }
  EQUAL(counter(m.env, "UncachedCompile"), compiles);
  has(lazily[0], FIRST);
  has(lazily[1], SECOND);
  float first[N], second[N];
  const void *inputs[] = {X, Y};
  void *outputs[] = {first, second};
  const size_t sizes[] = {sizeof X, sizeof Y};
  OK(lxla_executable_run_host(e, inputs, sizes, 2, outputs, sizes, 2));
  CHECK(!memcmp(first, FIRST, sizeof first) && !memcmp(second, SECOND, sizeof second));
  char *text;
  OK(lxla_executable_describe(e, &text));
  CHECK(strstr(text, "\"name\":\"executable ") && strstr(text, "\"operations\":3"));
  // The plugin's estimate; on cpu, three operations on N elements.
  const char *cost = strstr(text, "\"cost\":{"), *flops = cost ? strstr(cost, "\"flops\":") : NULL;
  CHECK(flops && strstr(cost, "\"bytes_accessed\":") && atof(flops + strlen("\"flops\":")) >= N);
  if (device.kind == LXLA_DEVICE_CPU) CHECK(strstr(cost, "\"source\":\"counted\""));
  lxla_string_free(text);
  RELEASE(in[0], in[1], lazily[0], lazily[1]);
  OK(lxla_executable_release(e));
  end(m);
}

TEST(x1_an_executable_computes_the_values_of_the_computation) { each(values_on); }

// Changes to a captured tensor and the end of the computation change no executable.
static void captured_on(lxla_device device) {
  model m = new_model(device);
  lxla_executable e = compiled(m.f, device, NULL, 0);
  lxla_tensor zero = on(m.env, device, (float[N]){0}), in[] = {on(m.env, device, X), on(m.env, device, Y)}, out[2];
  OK(lxla_tensor_assign(m.w, zero));
  OK(lxla_tensor_write(m.w, Y, sizeof Y));
  uint64_t copies = counter(m.env, "TransferToDevice");
  OK(lxla_computation_release(m.f));
  for (int i = 0; i < 2; i++) {
    OK(lxla_executable_run(e, in, 2, out, 2));
    has(out[0], FIRST);
    RELEASE(out[0], out[1]);
  }
  EQUAL(counter(m.env, "TransferToDevice"), copies);
  RELEASE(zero, in[0], in[1], m.w);
  OK(lxla_executable_release(e));
  OK(lxla_env_release(m.env));
}

TEST(x1_captured_values_are_copied_once) { each(captured_on); }

// A computation of cpu tensors, for an XLA device; pending captured values and pending inputs.
TEST(x1_captured_values_go_to_the_device) {
  model m = new_model(CPU);
  lxla_executable e = compiled(m.f, XLA(0), NULL, 0);
  lxla_tensor x = on(m.env, XLA(0), X), twice = scalar(MUL, x, 2), half = scalar(MUL, twice, 0.5), out[2];
  lxla_tensor y = on(m.env, XLA(0), Y), sum = binary(ADD, y, x), again = binary(SUB, sum, x);
  EQUAL(state_of(half), LXLA_STATE_PENDING);
  OK(lxla_executable_run(e, (lxla_tensor[]){half, again}, 2, out, 2));
  has(out[0], FIRST);
  has(out[1], SECOND);
  RELEASE(x, twice, half, y, sum, again, out[0], out[1]);
  OK(lxla_executable_release(e));
  end(m);
}

// The results are inputs of the next run, and operands.
TEST(x1_results_are_tensors_like_others) {
  model m = new_model(XLA(0));
  lxla_executable e = compiled(m.f, XLA(0), NULL, 0);
  OK(lxla_executable_retain(e));
  OK(lxla_executable_release(e));
  lxla_tensor x = on(m.env, XLA(0), X), y = on(m.env, XLA(0), Y), out[2];
  for (int i = 0; i < 20; i++) {
    OK(lxla_executable_run(e, (lxla_tensor[]){x, y}, 2, out, 2));
    RELEASE(x, out[0]);
    x = out[1];
  }
  // In flight, the executable ends.
  OK(lxla_executable_run(e, (lxla_tensor[]){x, y}, 2, out, 2));
  OK(lxla_executable_release(e));
  lxla_tensor more = scalar(ADD, out[1], 0);
  has(more, (float[N]){22, 23, 24, 25});
  RELEASE(x, y, out[0], out[1], more);
  REFUSED(lxla_executable_run(e, &x, 1, out, 2), LXLA_INVALID_HANDLE, "executable");
  end(m);
}

TEST(x2_a_donated_input_is_consumed_unless_it_is_held) {
  model m = new_model(XLA(0));
  lxla_executable e = compiled(m.f, XLA(0), (size_t[]){0, 1}, 2);
  lxla_tensor x = on(m.env, XLA(0), X), y = on(m.env, XLA(0), Y), kept = snapshot(y), out[2];
  uint64_t donated = counter(m.env, "DonatedBuffers");
  OK(lxla_executable_run(e, (lxla_tensor[]){x, y}, 2, out, 2));
  CHECK(counter(m.env, "DonatedBuffers") == donated + 1);
  has(out[0], FIRST);
  has(out[1], SECOND);
  float values[N];
  REFUSED(lxla_tensor_read(x, values, sizeof values), LXLA_FAILED_PRECONDITION, "donated to executable ");
  has(y, Y);
  has(kept, Y);
  RELEASE(out[0], out[1], kept);
  REFUSED(lxla_executable_run(e, (lxla_tensor[]){x, y}, 2, out, 2), LXLA_FAILED_PRECONDITION, "inputs[0]");
  has(y, Y);
  // A pending operation reads it; one tensor is two inputs.
  OK(lxla_tensor_write(x, X, sizeof X));
  lxla_tensor later = scalar(ADD, x, 1);
  OK(lxla_executable_run(e, (lxla_tensor[]){x, y}, 2, out, 2));
  has(x, X);
  has(later, SECOND);
  REFUSED(lxla_tensor_read(y, values, sizeof values), LXLA_FAILED_PRECONDITION, "take a snapshot");
  RELEASE(out[0], out[1], later);
  OK(lxla_executable_run(e, (lxla_tensor[]){x, x}, 2, out, 2));
  has(x, X);
  has(out[0], (float[N]){11, 24, 39, 56});
  RELEASE(x, y, out[0], out[1]);
  OK(lxla_executable_release(e));
  end(m);
}

// On cpu, runs consume nothing.
TEST(x2_on_cpu_a_donated_input_stays) {
  model m = new_model(CPU);
  lxla_executable e = compiled(m.f, CPU, (size_t[]){0}, 1);
  lxla_tensor x = on(m.env, CPU, X), y = on(m.env, CPU, Y), out[2];
  OK(lxla_executable_run(e, (lxla_tensor[]){x, y}, 2, out, 2));
  has(x, X);
  RELEASE(x, y, out[0], out[1]);
  OK(lxla_executable_release(e));
  end(m);
}

static void refusals_on(lxla_device device) {
  model m = new_model(device);
  lxla_executable e = compiled(m.f, device, NULL, 0), none_made = {0};
  lxla_executable_options options = {.struct_size = sizeof options, .donated = (size_t[]){0, 0}, .n_donated = 2};
  REFUSED(lxla_executable_compile(m.f, device, &options, &none_made), LXLA_INVALID_ARGUMENT, "options.donated[1]");
  options.donated = (size_t[]){1, 2};
  REFUSED(lxla_executable_compile(m.f, device, &options, &none_made), LXLA_INVALID_ARGUMENT, "there are 2 parameters");
  EQUAL(none_made.id, 0);
  lxla_tensor x = on(m.env, device, X), y = on(m.env, device, Y), out[2] = {{0}, {0}}, bad, p = hole(m.env, device);
  lxla_tensor other = on(m.env, device.kind == LXLA_DEVICE_CPU ? XLA(0) : CPU, X);
  OK(lxla_tensor_from_host(m.env, device, LXLA_DTYPE_F32, DIMS(2), X, 2 * sizeof(float), &bad));
  REFUSED(lxla_executable_run(e, &x, 1, out, 2), LXLA_INVALID_ARGUMENT, "n_inputs: 1 given; want 2");
  REFUSED(lxla_executable_run(e, TENSORS(x, y), out, 1), LXLA_INVALID_ARGUMENT, "n_outputs: 1 given; want 2");
  REFUSED(lxla_executable_run(e, TENSORS(x, bad), out, 2), LXLA_INVALID_ARGUMENT, "inputs[1]: f32[2] given");
  REFUSED(lxla_executable_run(e, TENSORS(x, other), out, 2), LXLA_INVALID_ARGUMENT, "inputs[1]: it is on");
  REFUSED(lxla_executable_run(e, TENSORS(p, y), out, 2), LXLA_FAILED_PRECONDITION, "inputs[0]");
  REFUSED(lxla_executable_run(e, TENSORS(x, none), out, 2), LXLA_INVALID_HANDLE, "inputs[1]");
  EQUAL(out[0].id, 0);
  float values[N], seconds[N];
  const void *inputs[] = {X, Y};
  void *outputs[] = {values, seconds};
  const size_t sizes[] = {sizeof X, sizeof X}, wrong[] = {sizeof X, sizeof X + 1};
  REFUSED(lxla_executable_run_host(e, inputs, wrong, 2, outputs, sizes, 2), LXLA_INVALID_ARGUMENT,
          "input_sizes[1]: 17");
  REFUSED(lxla_executable_run_host(e, inputs, sizes, 2, outputs, wrong, 2), LXLA_INVALID_ARGUMENT,
          "output_sizes[1]: 17");
  REFUSED(lxla_executable_run_host(e, inputs, sizes, 2, outputs, sizes, 1), LXLA_INVALID_ARGUMENT, "n_outputs");
  inputs[1] = NULL;
  REFUSED(lxla_executable_run_host(e, inputs, sizes, 2, outputs, sizes, 2), LXLA_NULL_ARGUMENT, "inputs[1]");
  inputs[1] = Y;
  outputs[0] = NULL;
  REFUSED(lxla_executable_run_host(e, inputs, sizes, 2, outputs, sizes, 2), LXLA_NULL_ARGUMENT, "outputs[0]");
  OK(lxla_tracing_begin(m.env, device));
  REFUSED(lxla_executable_run(e, TENSORS(x, y), out, 2), LXLA_FAILED_PRECONDITION, "inputs");
  REFUSED(lxla_executable_compile(m.f, device, NULL, &none_made), LXLA_FAILED_PRECONDITION, "f: ");
  OK(lxla_tracing_abandon());
  RELEASE(x, y, bad, p, other);
  end(m);
  outputs[0] = values;
  REFUSED(lxla_executable_run_host(e, inputs, sizes, 2, outputs, sizes, 2), LXLA_FAILED_PRECONDITION, "released");
  OK(lxla_executable_release(e));
}

TEST(x3_what_does_not_fit_is_refused_by_name) { each(refusals_on); }

// The mesh "a=2" of two devices: of f(x, y) = (x * y + w, sum of x), x is split by a constraint, y is replicated, and w
// is captured, split. Runs on tensors and on the host, with donation; another mesh and other shardings are refused.
TEST(x6_executables_of_meshes_split_what_constraints_state) {
  lxla_env_options options = default_options();
  options.device_count = 3;
  lxla_env env;
  OK(lxla_env_create(&options, &env));
  lxla_mesh mesh, other;
  lxla_device place, elsewhere, cpu = CPU;
  OK(lxla_mesh_create(env, (const char *[]){"a"}, (int64_t[]){2}, 1, NULL, &mesh));
  OK(lxla_mesh_create(env, (const char *[]){"b"}, (int64_t[]){3}, 1, NULL, &other));
  OK(lxla_mesh_device(mesh, &place));
  OK(lxla_mesh_device(other, &elsewhere));
  lxla_tensor p = hole(env, place), q = hole(env, place), w, split, product, total;
  OK(lxla_tensor_from_host_sharded(mesh, LXLA_DTYPE_F32, DIMS(N), W, sizeof W, "a", &w));
  OK(lxla_sharding_constraint(p, "a", &split));
  product = binary(MUL, split, q);
  OK(lxla_reduce(LXLA_REDUCE_SUM, split, NULL, 0, 0, &total));
  lxla_tensor results[] = {binary(ADD, product, w), total};
  lxla_computation f;
  OK(lxla_computation_trace((lxla_tensor[]){p, q}, 2, results, 2, &f));
  RELEASE(p, q, w, split, product, total, results[0]);
  lxla_executable_options donating = {.struct_size = sizeof donating};
  OK(lxla_executable_options_init(&donating));
  donating.donated = (const size_t[]){0};
  donating.n_donated = 1;
  lxla_executable e;
  REFUSED(lxla_executable_compile(f, cpu, NULL, &e), LXLA_INVALID_ARGUMENT, "f: traced on the mesh a=2");
  REFUSED(lxla_executable_compile(f, elsewhere, NULL, &e), LXLA_INVALID_ARGUMENT, "f: traced on the mesh a=2");
  OK(lxla_executable_compile(f, place, &donating, &e));
  char *json;
  OK(lxla_executable_describe(e, &json));
  CHECK(strstr(json, "\"sharding\":\"a\"") && strstr(json, "\"sharding\":\"-\""));
  lxla_string_free(json);

  lxla_tensor x, y, wrong, out[2];
  OK(lxla_tensor_from_host_sharded(mesh, LXLA_DTYPE_F32, DIMS(N), X, sizeof X, "a", &x));
  y = on(env, place, Y);
  wrong = on(env, place, X);
  REFUSED(lxla_executable_run(e, TENSORS(wrong, y), out, 2), LXLA_INVALID_ARGUMENT,
          "inputs[0]: it has the sharding \"-\"; executable");
  const uint64_t compiles = counter(env, "UncachedCompile"), before = counter(env, "DonatedBuffers");
  OK(lxla_executable_run(e, TENSORS(x, y), out, 2));
  float got[N], sum;
  OK(lxla_tensor_read(out[0], got, sizeof got));
  OK(lxla_tensor_read(out[1], &sum, sizeof sum));
  CHECK(!memcmp(got, FIRST, sizeof got) && sum == 10);
  EQUAL(counter(env, "DonatedBuffers"), before + 1);
  REFUSED(lxla_tensor_read(x, got, sizeof got), LXLA_FAILED_PRECONDITION, "executable");
  RELEASE(x, out[0], out[1]);
  float host[N], of_host = 0;
  OK(lxla_executable_run_host(e, (const void *[]){X, Y}, (const size_t[]){sizeof X, sizeof Y}, 2,
                              (void *[]){host, &of_host}, (const size_t[]){sizeof host, sizeof of_host}, 2));
  CHECK(!memcmp(host, FIRST, sizeof host) && of_host == 10);
  EQUAL(counter(env, "UncachedCompile"), compiles);
  RELEASE(y, wrong);
  OK(lxla_executable_release(e));
  OK(lxla_computation_release(f));
  OK(lxla_mesh_release(mesh));
  OK(lxla_mesh_release(other));
  OK(lxla_env_release(env));
}

// Arrays without elements, whose pointers may be NULL; a result that is a parameter; no captured values.
static void empty_on(lxla_device device) {
  lxla_env env = new_env();
  lxla_tensor p, q, sum;
  OK(lxla_tensor_placeholder(env, device, LXLA_DTYPE_F32, DIMS(0, 3), &p));
  OK(lxla_tensor_placeholder(env, device, LXLA_DTYPE_S32, DIMS(2), &q));
  OK(lxla_reduce(LXLA_REDUCE_SUM, p, NULL, 0, 0, &sum));
  lxla_computation f;
  OK(lxla_computation_trace((lxla_tensor[]){p, q}, 2, (lxla_tensor[]){sum, q, p}, 3, &f));
  lxla_executable e = compiled(f, device, (size_t[]){1}, 1);
  const int32_t given[] = {7, -8};
  float total = 1;
  int32_t same[2] = {0};
  const void *inputs[] = {NULL, given};
  void *outputs[] = {&total, same, NULL};
  OK(lxla_executable_run_host(e, inputs, (size_t[]){0, 8}, 2, outputs, (size_t[]){4, 8, 0}, 3));
  EQUAL(total, 0);
  EQUAL(same[0], 7);
  EQUAL(same[1], -8);
  EQUAL(given[1], -8);
  RELEASE(p, q, sum);
  OK(lxla_computation_release(f));
  OK(lxla_executable_release(e));
  OK(lxla_env_release(env));
}

TEST(x1_arrays_without_elements) { each(empty_on); }

static lxla_executable shared_executable;

static void *run_often(void *arg) {
  const float start = (float)(size_t)arg;
  for (int i = 0; i < RUNS; i++) {
    float x[N], first[N], second[N];
    for (int j = 0; j < N; j++) x[j] = start + (float)(i + j);
    const void *inputs[] = {x, Y};
    void *outputs[] = {first, second};
    const size_t sizes[] = {sizeof x, sizeof x};
    OK(lxla_executable_run_host(shared_executable, inputs, sizes, 2, outputs, sizes, 2));
    for (int j = 0; j < N; j++) {
      EQUAL(first[j], x[j] * Y[j] + W[j]);
      EQUAL(second[j], x[j] + 1);
    }
  }
  return NULL;
}

static void threads_on(lxla_device device) {
  model m = new_model(device);
  shared_executable = compiled(m.f, device, (size_t[]){0}, 1);
  pthread_t threads[THREADS];
  for (size_t i = 0; i < THREADS; i++) CHECK(!pthread_create(&threads[i], NULL, run_often, (void *)(1000 * i)));
  for (size_t i = 0; i < THREADS; i++) CHECK(!pthread_join(threads[i], NULL));
  OK(lxla_executable_release(shared_executable));
  end(m);
}

TEST(x4_many_threads_run_one_executable) { each(threads_on); }

// An output may be an input.
TEST(x4_host_memory_may_be_both_input_and_output) {
  model m = new_model(XLA(0));
  lxla_executable e = compiled(m.f, XLA(0), NULL, 0);
  float x[N], y[N];
  memcpy(x, X, sizeof x);
  memcpy(y, Y, sizeof y);
  const size_t sizes[] = {sizeof x, sizeof y};
  OK(lxla_executable_run_host(e, (const void *[]){x, y}, sizes, 2, (void *[]){y, x}, sizes, 2));
  CHECK(!memcmp(y, FIRST, sizeof y) && !memcmp(x, SECOND, sizeof x));
  OK(lxla_executable_release(e));
  end(m);
}

static char path[64];

static const char *saved(lxla_executable e) {
  snprintf(path, sizeof path, "/tmp/lxla_executable_%d", (int)getpid());
  OK(lxla_executable_save(e, path));
  return path;
}

// Loads the file in another process, with these variables, and checks the values and how often it compiled.
static void in_child(const char *variables, const char *device, unsigned compiles, unsigned recompiled) {
  char command[256], line[256], wanted[256];
  snprintf(command, sizeof command, "%s exec %s %s %s", variables, LXLA_EXECUTABLE_CHILD, path, device);
  FILE *child = popen(command, "r");
  CHECK(child && fgets(line, sizeof line, child));
  EQUAL(pclose(child), 0);
  int n = snprintf(wanted, sizeof wanted, "%u %u", compiles, recompiled);
  for (int i = 0; i < N; i++) n += snprintf(wanted + n, sizeof wanted - n, " %g %g", FIRST[i], SECOND[i]);
  if (strncmp(line, wanted, (size_t)n)) FAIL("%s: got %s, want %s", command, line, wanted);
}

TEST(x5_another_process_runs_a_saved_executable) {
  model m = new_model(XLA(0));
  lxla_executable e = compiled(m.f, XLA(0), (size_t[]){1}, 1);
  saved(e);
  in_child("", "xla:0", 0, 0);
  in_child("", "cpu", 0, 0);
  // Other options of the plugin, and code that others could have written.
  in_child("XLA_FLAGS=--xla_cpu_enable_fast_min_max=true", "xla:0", 1, 1);
  CHECK(!chmod(path, 0666));
  in_child("", "xla:0", 1, 1);
  CHECK(!chmod(path, 0644));
  in_child("", "xla:0", 0, 0);
  OK(lxla_executable_release(e));
  // A loaded executable can be saved again, donates the same inputs, and its file also loads on cpu.
  lxla_executable again, third;
  uint64_t compiles = counter(m.env, "UncachedCompile");
  OK(lxla_executable_load(m.env, XLA(0), path, &again));
  OK(lxla_executable_save(again, path));
  in_child("", "xla:0", 0, 0);
  EQUAL(counter(m.env, "UncachedCompile"), compiles);
  lxla_tensor x = on(m.env, XLA(0), X), y = on(m.env, XLA(0), Y), out[2];
  OK(lxla_executable_run(again, TENSORS(x, y), out, 2));
  has(out[0], FIRST);
  has(x, X);
  float values[N];
  REFUSED(lxla_tensor_read(y, values, sizeof values), LXLA_FAILED_PRECONDITION, "donated to executable ");
  RELEASE(x, y, out[0], out[1]);
  OK(lxla_executable_load(m.env, CPU, path, &third));
  OK(lxla_executable_save(third, path));
  in_child("", "cpu", 0, 0);
  in_child("", "xla:0", 1, 1);
  OK(lxla_executable_release(again));
  OK(lxla_executable_release(third));
  unlink(path);
  end(m);
}

// f(x, y) = (x * y + w, x + 1) on the mesh "a=2" of two devices, where a constraint splits x, and w is captured, split.
static model new_model_on(lxla_env env, lxla_mesh mesh) {
  model m = {.env = env};
  OK(lxla_mesh_device(mesh, &m.device));
  OK(lxla_tensor_from_host_sharded(mesh, LXLA_DTYPE_F32, DIMS(N), W, sizeof W, "a", &m.w));
  lxla_tensor x = hole(env, m.device), y = hole(env, m.device), split;
  OK(lxla_sharding_constraint(x, "a", &split));
  lxla_tensor product = binary(MUL, split, y), results[] = {binary(ADD, product, m.w), scalar(ADD, split, 1)};
  OK(lxla_computation_trace((lxla_tensor[]){x, y}, 2, results, 2, &m.f));
  RELEASE(x, y, split, product, results[0], results[1]);
  return m;
}

// Loads the file on a device of this process, checks the values on host memory and the shardings, and how often that
// compiled.
static void loads_on(lxla_env env, lxla_device device, uint64_t compiles, uint64_t recompiled, const char *sharding) {
  compiles += counter(env, "UncachedCompile");
  recompiled += counter(env, "ExecutableRecompiled");
  lxla_executable loaded;
  OK(lxla_executable_load(env, device, path, &loaded));
  char *json;
  OK(lxla_executable_describe(loaded, &json));
  if (sharding) CHECK(strstr(json, sharding));
  lxla_string_free(json);
  float first[N], second[N];
  const size_t sizes[] = {sizeof X, sizeof Y};
  OK(lxla_executable_run_host(loaded, (const void *[]){X, Y}, sizes, 2, (void *[]){first, second}, sizes, 2));
  CHECK(!memcmp(first, FIRST, sizeof first) && !memcmp(second, SECOND, sizeof second));
  EQUAL(counter(env, "UncachedCompile"), compiles);
  EQUAL(counter(env, "ExecutableRecompiled"), recompiled);
  OK(lxla_executable_release(loaded));
}

// A file of a mesh is for meshes of the same axes on any devices; what is saved on one device is replicated on a mesh.
TEST(x6_executables_of_meshes_are_saved_and_loaded) {
  lxla_env_options options = default_options();
  options.device_count = 3;
  lxla_env env;
  OK(lxla_env_create(&options, &env));
  lxla_mesh mesh, turned, other;
  OK(lxla_mesh_create(env, (const char *[]){"a"}, (int64_t[]){2}, 1, NULL, &mesh));
  OK(lxla_mesh_create(env, (const char *[]){"a"}, (int64_t[]){2}, 1, (int32_t[]){2, 0}, &turned));
  OK(lxla_mesh_create(env, (const char *[]){"b"}, (int64_t[]){2}, 1, NULL, &other));
  lxla_device at_turned, at_other;
  OK(lxla_mesh_device(turned, &at_turned));
  OK(lxla_mesh_device(other, &at_other));
  model m = new_model_on(env, mesh);
  lxla_executable e = compiled(m.f, m.device, (size_t[]){0}, 1), loaded = {0};
  saved(e);
  in_child("", "a=2", 0, 0);
  loads_on(env, m.device, 0, 0, "\"sharding\":\"a\"");
  loads_on(env, at_turned, 1, 1, "\"sharding\":\"a\"");
  REFUSED(lxla_executable_load(env, at_other, path, &loaded), LXLA_INVALID_ARGUMENT,
          "device: the mesh b=2 given; the program is for the mesh a=2");
  REFUSED(lxla_executable_load(env, XLA(0), path, &loaded), LXLA_INVALID_ARGUMENT,
          "device: xla:0 given; the program is for the mesh a=2");
  REFUSED(lxla_executable_load(env, CPU, path, &loaded), LXLA_INVALID_ARGUMENT, "device: cpu given");
  // A loaded executable is saved again, and consumes the donated input.
  OK(lxla_executable_load(env, m.device, path, &loaded));
  OK(lxla_executable_save(loaded, path));
  in_child("", "a=2", 0, 0);
  lxla_tensor x, y = on(env, m.device, Y), out[2];
  OK(lxla_tensor_from_host_sharded(mesh, LXLA_DTYPE_F32, DIMS(N), X, sizeof X, "a", &x));
  REFUSED(lxla_executable_run(loaded, TENSORS(y, y), out, 2), LXLA_INVALID_ARGUMENT, "has the sharding \"-\"");
  OK(lxla_executable_run(loaded, TENSORS(x, y), out, 2));
  has(out[0], FIRST);
  has(out[1], SECOND);
  float values[N];
  REFUSED(lxla_tensor_read(x, values, sizeof values), LXLA_FAILED_PRECONDITION, "donated to executable ");
  RELEASE(x, y, out[0], out[1]);
  OK(lxla_executable_release(loaded));
  OK(lxla_executable_release(e));
  RELEASE(m.w);
  OK(lxla_computation_release(m.f));

  model one = {.env = env, .device = XLA(0)};
  fill(&one);
  e = compiled(one.f, XLA(0), NULL, 0);
  saved(e);
  loads_on(env, m.device, 1, 1, "\"sharding\":\"-\"");
  loads_on(env, XLA(0), 0, 0, NULL);
  OK(lxla_executable_release(e));
  unlink(path);
  OK(lxla_mesh_release(mesh));
  OK(lxla_mesh_release(turned));
  OK(lxla_mesh_release(other));
  end(one);
}

// A plugin may not serialize what it has loaded: code that comes from the disk cache is saved whole, too.
TEST(x5_a_program_of_the_disk_cache_is_saved) {
  char folder[] = "/tmp/lxla_executables_XXXXXX", command[64];
  CHECK(mkdtemp(folder));
  for (int i = 0; i < 2; i++) {
    lxla_env_options options = default_options();
    options.cache_dir = folder;
    model m = {.device = XLA(0)};
    OK(lxla_env_create(&options, &m.env));
    fill(&m);
    lxla_executable e = compiled(m.f, XLA(0), NULL, 0);
    EQUAL(counter(m.env, "PersistentCacheHit"), i);
    saved(e);
    in_child("", "xla:0", 0, 0);
    OK(lxla_executable_release(e));
    end(m);
  }
  unlink(path);
  snprintf(command, sizeof command, "rm -r %s", folder);
  EQUAL(system(command), 0);
}

static int fails;

static int32_t twice(const lxla_kernel_call *call, void *user) {
  (void)user;
  if (fails) {
    snprintf(call->error, call->error_size, "planted");
    return LXLA_OUT_OF_RANGE;
  }
  for (int i = 0; i < N; i++) ((float *)call->outputs[0].data)[i] = 2 * ((const float *)call->inputs[0].data)[i];
  return 0;
}

// A kernel that fails fails the run, and consumes nothing. No file holds kernels, and steps put those with effects in
// order.
static void kernels_on(lxla_device device) {
  lxla_env env = new_env();
  const int32_t f32 = LXLA_DTYPE_F32;
  const size_t rank = 1;
  lxla_kernel_options options = {.struct_size = sizeof options};
  for (int pure = 1; pure >= 0; pure--) {
    OK(lxla_kernel_options_init(&options));
    options.pure = pure ? LXLA_ON : LXLA_OFF;
    lxla_tensor p = hole(env, device), y, out = {0}, x = on(env, device, X);
    OK(lxla_host_call(env, twice, NULL, &options, &p, 1, &f32, &rank, (int64_t[]){N}, 1, &y));
    lxla_computation f = traced(&p, 1, &y, 1);
    if (pure) {
      lxla_executable e = compiled(f, device, (size_t[]){0}, 1);
      fails = 1;
      REFUSED(lxla_executable_run(e, &x, 1, &out, 1), LXLA_OUT_OF_RANGE, "planted");
      fails = 0;
      has(x, X);
      OK(lxla_executable_run(e, &x, 1, &out, 1));
      has(out, (float[N]){2, 4, 6, 8});
      RELEASE(out);
      REFUSED(lxla_executable_save(e, "/tmp/lxla_kernel"), LXLA_UNIMPLEMENTED, "kernels");
      OK(lxla_executable_release(e));
    } else {
      lxla_executable e;
      REFUSED(lxla_executable_compile(f, device, NULL, &e), LXLA_UNIMPLEMENTED, "kernel with effects");
    }
    RELEASE(p, y, x);
    OK(lxla_computation_release(f));
  }
  OK(lxla_env_release(env));
}

TEST(x3_kernels) { each(kernels_on); }

static void write_file(const char *bytes, size_t size) {
  FILE *f = fopen(path, "w");
  CHECK(f && fwrite(bytes, 1, size, f) == size && !fclose(f));
}

// Every byte changed, every length, other files.
static void damages_on(lxla_device device) {
  model m = new_model(device);
  lxla_executable e = compiled(m.f, device, (size_t[]){1}, 1), loaded = {0};
  FILE *f = fopen(saved(e), "r");
  static char whole[1 << 20], bytes[1 << 20];
  CHECK(f);
  size_t size = fread(whole, 1, sizeof whole, f);
  fclose(f);
  CHECK(size > 200 && size < sizeof whole);
  size_t pace = size / 300 + 1;
  for (size_t at = 0; at < size; at += at < 256 ? 1 : pace) {
    memcpy(bytes, whole, size);
    bytes[at] ^= 4;
    write_file(bytes, size);
    lxla_status status = lxla_executable_load(m.env, device, path, &loaded);
    EQUAL(status, at < 16 ? LXLA_INVALID_ARGUMENT : LXLA_DATA_LOSS);
    CHECK(strstr(lxla_last_error_message(), path));
    write_file(whole, at);
    status = lxla_executable_load(m.env, device, path, &loaded);
    EQUAL(status, at < 16 ? LXLA_INVALID_ARGUMENT : LXLA_DATA_LOSS);
  }
  memcpy(bytes, whole, size);
  bytes[size] = 0;
  write_file(bytes, size + 1);
  REFUSED(lxla_executable_load(m.env, device, path, &loaded), LXLA_DATA_LOSS, "damaged");
  REFUSED(lxla_executable_load(m.env, device, "/nowhere/x", &loaded), LXLA_NOT_FOUND, "/nowhere/x");
  REFUSED(lxla_executable_load(m.env, device, "/tmp", &loaded), LXLA_INVALID_ARGUMENT, "/tmp");
  REFUSED(lxla_executable_save(e, "/nowhere/x"), LXLA_NOT_FOUND, "/nowhere/x");
  EQUAL(loaded.id, 0);
  write_file(whole, size);
  OK(lxla_executable_load(m.env, device, path, &loaded));
  OK(lxla_executable_release(loaded));
  OK(lxla_executable_release(e));
  unlink(path);
  end(m);
}

TEST(x5_damaged_files_are_refused) { each(damages_on); }
